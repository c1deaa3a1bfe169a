/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event graphs of X-Trace: [{"id": TASK, "reports": [EVENT...]}].  In the newer
 * form an event is a map of values with EventID and ParentEventID (signed
 * decimals); in the older each value is a list of one text, the event's id is
 * the end of X-Trace and its parents stand in Edge.  Each event becomes a point
 * that happened after its parents.
 *
 * HRT counts nanoseconds of the host's own clock, Timestamp milliseconds since
 * 1970.  A host's HRT is laid on the calendar so that no event is before the
 * millisecond it names, which needs all events of the host: they wait
 * (pending.h) until the graph ends.
 */
#include "spans/reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "spans/parse/json_docs.h"
#include "spans/pending.h"

enum {
	NESTING_MAX = 3,
	ID_LEN = 16,		/* hexadecimal digits of an event's id at the end of X-Trace */
	NUMBER_MAX = 32,	/* characters of a number's text */
};

#define MS INT64_C(1000000)

/* Offset of a host's clock to the calendar's; by the host's string id. */
struct clock {
	int64_t ahead_ns;
};

struct xtrace {
	struct json_docs *docs;
	struct reading *r;
	struct jsontok *t;
	struct pending *pending;
	struct making m;
	struct trace_id task;
	int64_t hrt_ns, stamp_ns;	/* -1: not known */
	/* string ids; what of them names the place is decided at the event's end */
	uint32_t process, agent, class, source, label, operation;
	struct hmap by_host;		/* host + 1 -> index in clocks */
	VEC(struct clock) clocks;
	unsigned nesting;
};

/* ---- the values of an event */

static uint64_t decimal_id(const char *s, size_t len)
{
	char copy[NUMBER_MAX], *end;
	long long v;

	if (!len || len >= sizeof(copy))
		return id_span(s, len);
	memcpy(copy, s, len);
	copy[len] = 0;
	v = strtoll(copy, &end, 10);
	return *end ? id_span(s, len) : (uint64_t)v;
}

static void add_parent(struct xtrace *x, const struct tok_str *v, bool decimal)
{
	uint64_t id = decimal ? decimal_id(v->s, v->len) : id_span(v->s, v->len);

	if (id) /* the first event's edge is 0 */
		making_ref(x->r, &x->m, &(struct trace_id){0}, id, SPAN_REF_AFTER);
}

/* The last part of a name with dots in it, as of a Java class. */
static uint32_t last_part(struct xtrace *x, const struct tok_str *v)
{
	const char *dot = memrchr(v->s, '.', v->len);
	size_t skip = dot ? (size_t)(dot + 1 - v->s) : 0;

	return reading_name(x->r, v->s + skip, v->len - skip);
}

static void x_trace_id(struct xtrace *x, const struct tok_str *v)
{
	size_t head = v->len > ID_LEN ? v->len - ID_LEN : 0;

	x->m.span.id = id_span(v->s + head, v->len - head);
	/* two digits of version and flags, the task, the event */
	if (head > 2)
		x->m.trace = id_trace(v->s + 2, head - 2);
}

/* A key that says who, when or after what; false: another. */
static bool order_key(struct xtrace *x, const struct tok_str *key, const struct tok_str *v)
{
	int64_t ns;

	if (tok_is(key, "EventID"))
		x->m.span.id = decimal_id(v->s, v->len);
	else if (tok_is(key, "X-Trace"))
		x_trace_id(x, v);
	else if (tok_is(key, "TaskID"))
		x->m.trace = id_trace(v->s, v->len);
	else if (tok_is(key, "ParentEventID") || tok_is(key, "Edge"))
		add_parent(x, v, key->s[0] == 'P');
	else if (tok_is(key, "HRT"))
		x->hrt_ns = time_parse(v->s, v->len, 1, &ns) && ns >= 0 ? ns : -1;
	else if (tok_is(key, "Timestamp"))
		x->stamp_ns = time_parse(v->s, v->len, MS, &ns) && ns >= 0 ? ns : -1;
	else
		return false;
	return true;
}

static bool place_key(struct xtrace *x, const struct tok_str *key, const struct tok_str *v)
{
	if (tok_is(key, "Host"))
		x->m.span.host = reading_name(x->r, v->s, v->len);
	else if (tok_is(key, "ProcessName"))
		x->process = reading_name(x->r, v->s, v->len);
	else if (tok_is(key, "Agent"))
		x->agent = reading_name(x->r, v->s, v->len);
	else if (tok_is(key, "Class"))
		x->class = last_part(x, v);
	else if (tok_is(key, "Source"))
		x->source = reading_name(x->r, v->s, v->len);
	else if (tok_is(key, "Label"))
		x->label = reading_event_name(x->r, v->s, v->len);
	else
		return false;
	return true;
}

/* Says nothing of how long something takes: its format, and one more clock. */
static bool is_noise(const struct tok_str *key)
{
	return tok_is(key, "version") || tok_is(key, "Option") || tok_is(key, "NumOptions") ||
	       tok_is(key, "Cycles");
}

static void take_value(struct xtrace *x, const struct tok_str *key, const struct tok_str *v)
{
	if (order_key(x, key, v) || place_key(x, key, v) || is_noise(key))
		return;
	if (tok_is(key, "Operation"))
		x->operation = reading_name(x->r, v->s, v->len);
	making_text(x->r, &x->m, reading_name(x->r, key->s, key->len), v->s, v->len);
}

/* A value may be a list; only that of the parents has more than one that counts. */
static void take_values(struct xtrace *x, const struct tok_str *key)
{
	char number[NUMBER_MAX];
	struct tok_str v;
	bool parents = tok_is(key, "ParentEventID") || tok_is(key, "Edge");

	if (jsontok_kind(x->t) != TOK_ARR) {
		if (json_text(x->t, number, sizeof(number), &v))
			take_value(x, key, &v);
		else
			x->r->stats->attr_passed_cnt++;
		return;
	}
	if (!jsontok_arr(x->t))
		return;
	for (unsigned i = 0; jsontok_item(x->t); i++) {
		if (i && !parents) {
			x->r->stats->attr_passed_cnt++;
			jsontok_leave(x->t);
			return;
		}
		if (json_text(x->t, number, sizeof(number), &v))
			take_value(x, key, &v);
	}
}

/* ---- events */

static struct clock *clock_of(struct xtrace *x, uint32_t host)
{
	uint64_t *slot = hmap_slot(&x->by_host, (uint64_t)host + 1);

	if (!*slot) {
		vec_push(&x->clocks, (struct clock){.ahead_ns = INT64_MIN});
		*slot = x->clocks.cnt;
	}
	return &x->clocks.items[*slot - 1];
}

static void set_times(struct xtrace *x)
{
	struct span *s = &x->m.span;
	struct clock *clock;

	s->begin_ns = x->hrt_ns >= 0 ? x->hrt_ns : x->stamp_ns;
	if (x->hrt_ns < 0 || x->stamp_ns < 0)
		return;
	clock = clock_of(x, s->host);
	if (x->stamp_ns - x->hrt_ns > clock->ahead_ns)
		clock->ahead_ns = x->stamp_ns - x->hrt_ns;
}

static void set_place(struct xtrace *x)
{
	struct span *s = &x->m.span;

	s->service = x->process ? x->process : x->agent ? x->agent : x->class;
	s->name = x->source ? x->source : x->label ? x->label
		: x->operation ? x->operation : x->class;
}

static int take_event(struct xtrace *x)
{
	char key_text[ATTR_TEXT_MAX];
	uint64_t miss_off;
	const char *miss;
	struct tok_str key;

	making_begin(&x->m, json_off(x->docs));
	x->hrt_ns = x->stamp_ns = -1;
	x->process = x->agent = x->class = x->source = x->label = x->operation = 0;
	if (!jsontok_obj(x->t)) {
		json_span_bad(x->docs, x->m.off, "event");
		return 0;
	}
	while (jsontok_key(x->t, &key)) {
		if (key.len >= sizeof(key_text)) {
			x->r->stats->attr_passed_cnt++;
			continue;
		}
		memcpy(key_text, key.s, key.len);
		take_values(x, &(struct tok_str){key_text, key.len});
	}
	if (jsontok_broken(x->t))
		return 0;
	if (!x->m.span.id || (x->hrt_ns < 0 && x->stamp_ns < 0)) {
		json_span_bad(x->docs, x->m.off, x->m.span.id ? "HRT or Timestamp" : "EventID");
		return 0;
	}
	jsontok_take_miss(x->t, &miss_off, &miss);
	x->m.span.flags = SPANF_POINT;
	set_times(x);
	set_place(x);
	return pending_add(x->pending, &x->m, x->hrt_ns >= 0);
}

static int hand_on(void *ctx, struct making *m, uint64_t has_hrt)
{
	struct xtrace *x = ctx;
	uint64_t idx;

	if (x->task.hi || x->task.lo)
		m->trace = x->task;
	VEC_FOREACH(&m->refs, ref)
		ref->trace = m->trace;
	if (has_hrt && hmap_get(&x->by_host, (uint64_t)m->span.host + 1, &idx) &&
	    __builtin_add_overflow(m->span.begin_ns, x->clocks.items[idx - 1].ahead_ns,
				   &m->span.begin_ns))
		m->span.begin_ns = INT64_MAX;
	m->span.end_ns = m->span.begin_ns;
	return reading_span(x->r, m);
}

static int take_events(struct xtrace *x)
{
	int rc = 0;

	if (!jsontok_arr(x->t))
		return 0;
	while (rc == 0 && jsontok_item(x->t))
		rc = take_event(x);
	return rc;
}

static int take_graph(struct xtrace *x)
{
	struct docs_key key;
	struct tok_str v;
	int rc = 0;

	x->task = (struct trace_id){0};
	hmap_clear(&x->by_host);
	x->clocks.cnt = 0;
	jsontok_obj(x->t);
	while (rc == 0 && docs_key(x->t, &key)) {
		if (tok_is(&key, "id") && jsontok_str(x->t, &v))
			x->task = id_trace(v.s, v.len);
		else if (tok_is(&key, "reports"))
			rc = take_events(x);
	}
	return rc == 0 ? pending_take(x->pending, hand_on, x) : rc;
}

static int take_list(struct xtrace *x)
{
	int rc = 0;

	if (++x->nesting > NESTING_MAX)
		jsontok_skip(x->t);
	else if (jsontok_kind(x->t) == TOK_OBJ)
		rc = take_graph(x);
	else if (jsontok_kind(x->t) == TOK_ARR && jsontok_arr(x->t))
		while (rc == 0 && jsontok_item(x->t))
			rc = take_list(x);
	x->nesting--;
	return rc;
}

static int take_doc(struct json_docs *docs, void *ctx)
{
	struct xtrace *x = ctx;

	x->docs = docs;
	x->t = &docs->t;
	x->nesting = 0;
	return take_list(x);
}

static int xtrace_read(struct reading *r)
{
	struct xtrace x = {.r = r, .pending = pending_new()};
	int rc = json_docs_read(r, take_doc, &x);

	pending_free(x.pending);
	making_release(&x.m);
	hmap_release(&x.by_host);
	vec_release(&x.clocks);
	return rc;
}

static bool is_graph(const char *head, size_t len)
{
	return head_is_json(head, len) && head_has_key(head, len, "reports", NESTING_MAX);
}

static bool new_matches(const char *head, size_t len)
{
	return is_graph(head, len) && head_has_key(head, len, "EventID", NESTING_MAX + 2);
}

static bool old_matches(const char *head, size_t len)
{
	return is_graph(head, len) && head_has_key(head, len, "X-Trace", NESTING_MAX + 2);
}

const struct spans_reader reader_xtrace = {SPANS_XTRACE, new_matches, xtrace_read};
const struct spans_reader reader_xtrace_old = {SPANS_XTRACE_OLD, old_matches, xtrace_read};
