/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces as Jaeger's query service and user interface write them: one trace,
 * a list of them, or {"data": [...]}; also one span a document, with its
 * process inside, as the storage in Elasticsearch has it.
 *
 * A span names its process by a key ("p1") that the trace explains in
 * "processes", which stands behind the spans more often than not.  So spans
 * wait (pending.h) until the trace's object ends; those whose process is known
 * by then need not when many wait.
 *
 * The first CHILD_OF of the same trace is the parent, each further one a link;
 * FOLLOWS_FROM is an order that nobody waits for.  Logs become points.
 */
#include "spans/reading.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "spans/parse/json_docs.h"
#include "spans/pending.h"

enum {
	NESTING_MAX = 4,	/* of traces in "data", "trace" or lists */
	PROCESSES_MAX = 1 << 16, /* of one trace */
	PENDING_ENOUGH = 1 << 16, /* spans that wait although their processes are known */
	REF_CHILD = 1000,	/* beside enum span_ref_kind, until the trace is known */
};

#define US INT64_C(1000)

struct process {
	uint32_t service, host;
	uint32_t attr_idx, attr_cnt;
};

/* A log of the span being read: the span's id may stand behind it. */
struct note {
	int64_t at_ns;
	uint32_t name;
	uint32_t attr_idx, attr_cnt;
};

struct tag {
	uint32_t key;		/* string id */
	struct tok_str text;	/* in buf; of numbers and truth values too */
	bool is_text, is_num, is_bool;
	double num;
	char buf[ATTR_TEXT_MAX + 1];
};

struct jaeger {
	struct json_docs *docs;
	struct reading *r;
	struct jsontok *t;
	struct pending *pending;
	struct making m, point;
	uint64_t process;		/* the span's: hash of its key; 0: none */
	int64_t duration_ns;
	bool has_begin, has_duration, has_span;
	VEC(struct note) notes;
	VEC(struct attr) note_attrs;
	struct trace_id trace;		/* of the object that is open */
	bool has_processes;
	struct hmap by_key;		/* hash of the key -> index in processes */
	VEC(struct process) processes;
	struct making process_tags;	/* attrs of all processes */
	uint32_t key_kind, key_error, key_status, key_hostname, key_event, key_message;
	unsigned nesting;
};

/* ---- tags */

static void tag_value(struct jaeger *j, struct tag *tag)
{
	struct tok_str text;

	switch (jsontok_kind(j->t)) {
	case TOK_STR:
		if (!jsontok_str(j->t, &text))
			return;
		tag->is_text = true;
		tag->text = (struct tok_str){tag->buf, text.len};
		/* one byte more than is kept tells that it is too long */
		if (text.len > sizeof(tag->buf))
			tag->text.len = sizeof(tag->buf);
		memcpy(tag->buf, text.s, tag->text.len);
		break;
	case TOK_NUM:
		tag->is_num = jsontok_f64(j->t, &tag->num);
		break;
	case TOK_BOOL: {
		bool truth;

		tag->is_bool = jsontok_bool(j->t, &truth);
		tag->num = tag->is_bool && truth;
		break;
	}
	default:
		jsontok_skip(j->t);
	}
}

static bool take_tag(struct jaeger *j, struct tag *tag)
{
	struct docs_key key;
	struct tok_str name;

	tag->key = 0;
	tag->num = 0;
	tag->is_text = tag->is_num = tag->is_bool = false;
	if (!jsontok_obj(j->t))
		return false;
	while (docs_key(j->t, &key)) {
		if (tok_is(&key, "key") && jsontok_str(j->t, &name))
			tag->key = reading_name(j->r, name.s, name.len);
		else if (tok_is(&key, "value"))
			tag_value(j, tag);
	}
	return tag->key != 0;
}

static bool tag_says(const struct tag *tag, const char *text)
{
	return tag->is_text && tag->text.len == strlen(text) &&
	       strncasecmp(tag->buf, text, tag->text.len) == 0;
}

static void tag_attr(struct jaeger *j, struct making *m, const struct tag *tag)
{
	if (tag->is_text)
		making_text(j->r, m, tag->key, tag->buf, tag->text.len);
	else if (tag->is_num)
		making_num(j->r, m, tag->key, tag->num);
	else if (tag->is_bool)
		making_bool(j->r, m, tag->key, tag->num != 0);
	else
		j->r->stats->attr_passed_cnt++;
}

static void span_tags(struct jaeger *j)
{
	struct span *s = &j->m.span;
	struct tag tag;

	if (!jsontok_arr(j->t))
		return;
	while (jsontok_item(j->t)) {
		if (!take_tag(j, &tag))
			continue;
		if (tag.key == j->key_kind) {
			s->kind = (uint8_t)kind_named(tag.buf, tag.is_text ? tag.text.len : 0);
			continue;
		}
		if ((tag.key == j->key_error && (tag_says(&tag, "true") || tag.num != 0)) ||
		    (tag.key == j->key_status && tag_says(&tag, "ERROR")))
			s->flags |= SPANF_ERROR;
		tag_attr(j, &j->m, &tag);
	}
}

/* ---- processes */

/* attrs are appended to m's; host and service as far as they are known. */
static void take_process(struct jaeger *j, struct making *m, struct process *ret)
{
	struct docs_key key;
	struct tok_str name;
	struct tag tag;

	*ret = (struct process){0};
	if (!jsontok_obj(j->t))
		return;
	while (docs_key(j->t, &key)) {
		if (tok_is(&key, "serviceName") && jsontok_str(j->t, &name))
			ret->service = reading_name(j->r, name.s, name.len);
		if (!tok_is(&key, "tags") || !jsontok_arr(j->t))
			continue;
		while (jsontok_item(j->t)) {
			if (!take_tag(j, &tag))
				continue;
			if (tag.key == j->key_hostname && tag.is_text)
				ret->host = reading_name(j->r, tag.buf, tag.text.len);
			else
				tag_attr(j, m, &tag);
		}
	}
}

static uint64_t process_key(const struct tok_str *key)
{
	uint64_t hash = hash_bytes(key->s, key->len);

	return hash + (hash == 0);
}

static void take_processes(struct jaeger *j)
{
	struct tok_str key;

	if (!jsontok_obj(j->t))
		return;
	while (jsontok_key(j->t, &key)) {
		uint64_t hash = process_key(&key);
		uint32_t first = (uint32_t)j->process_tags.attrs.cnt;
		struct making one = {0};
		struct process p;

		take_process(j, &one, &p);
		p.attr_idx = first;
		p.attr_cnt = (uint32_t)one.attrs.cnt;
		VEC_FOREACH(&one.attrs, a)
			vec_push(&j->process_tags.attrs, *a);
		making_release(&one);
		if (j->processes.cnt >= PROCESSES_MAX)
			continue; /* its spans are counted as without a service */
		hmap_put(&j->by_key, hash, j->processes.cnt);
		vec_push(&j->processes, p);
	}
	j->has_processes = true;
}

/* ---- one span */

static void take_ref(struct jaeger *j)
{
	struct trace_id trace = {0};
	uint64_t span = 0;
	struct docs_key key;
	struct tok_str v;
	unsigned kind = SPAN_REF_LINK;

	if (!jsontok_obj(j->t))
		return;
	while (docs_key(j->t, &key)) {
		if (tok_is(&key, "refType") && jsontok_str(j->t, &v))
			kind = tok_is(&v, "CHILD_OF") ? REF_CHILD
			       : tok_is(&v, "FOLLOWS_FROM") ? SPAN_REF_FOLLOWS : SPAN_REF_LINK;
		else if (tok_is(&key, "traceID") && jsontok_str(j->t, &v))
			trace = id_trace(v.s, v.len);
		else if (tok_is(&key, "spanID") && jsontok_str(j->t, &v))
			span = id_span(v.s, v.len);
	}
	if (span)
		making_ref(j->r, &j->m, &trace, span, kind);
	else
		j->r->stats->ref_dropped_cnt++;
}

static void take_refs(struct jaeger *j)
{
	if (!jsontok_arr(j->t))
		return;
	while (jsontok_item(j->t))
		take_ref(j);
}

/* A log's fields: what it is called, and the rest as attributes. */
static void note_fields(struct jaeger *j, struct making *m, uint32_t *ret_name)
{
	bool is_event = false;
	struct tag tag;

	if (!jsontok_arr(j->t))
		return;
	while (jsontok_item(j->t)) {
		if (!take_tag(j, &tag))
			continue;
		if (tag.is_text && (tag.key == j->key_event ||
				    (tag.key == j->key_message && !is_event))) {
			*ret_name = reading_event_name(j->r, tag.buf, tag.text.len);
			is_event |= tag.key == j->key_event;
		} else {
			tag_attr(j, m, &tag);
		}
	}
}

static void take_log(struct jaeger *j)
{
	struct note note = {.at_ns = -1};
	struct docs_key key;

	if (!jsontok_obj(j->t))
		return;
	making_begin(&j->point, 0);
	while (docs_key(j->t, &key)) {
		if (tok_is(&key, "timestamp"))
			json_time(j->t, US, &note.at_ns);
		else if (tok_is(&key, "fields"))
			note_fields(j, &j->point, &note.name);
	}
	if (j->notes.cnt >= POINTS_MAX || note.at_ns < 0) {
		j->r->stats->point_dropped_cnt++;
		return;
	}
	if (!note.name)
		note.name = strtab_add(j->r->strings, "log");
	note.attr_idx = (uint32_t)j->note_attrs.cnt;
	note.attr_cnt = (uint32_t)j->point.attrs.cnt;
	VEC_FOREACH(&j->point.attrs, a)
		vec_push(&j->note_attrs, *a);
	vec_push(&j->notes, note);
}

static void take_logs(struct jaeger *j)
{
	if (j->r->opts->no_events) {
		jsontok_skip(j->t);
		return;
	}
	if (!jsontok_arr(j->t))
		return;
	while (jsontok_item(j->t))
		take_log(j);
}

static void take_inline_process(struct jaeger *j)
{
	struct process p;

	take_process(j, &j->m, &p);
	j->m.span.service = p.service;
	j->m.span.host = p.host;
}

/* true when the key is one of a span's; its value was read then. */
static bool span_key(struct jaeger *j, const struct docs_key *key)
{
	struct span *s = &j->m.span;
	struct tok_str v;

	if (tok_is(key, "traceID")) {
		if (jsontok_str(j->t, &v))
			j->m.trace = id_trace(v.s, v.len);
	} else if (tok_is(key, "spanID")) {
		j->has_span = true;
		if (jsontok_str(j->t, &v))
			s->id = id_span(v.s, v.len);
	} else if (tok_is(key, "parentSpanID")) {
		if (jsontok_str(j->t, &v))
			s->parent = id_span(v.s, v.len);
	} else if (tok_is(key, "operationName")) {
		if (jsontok_str(j->t, &v))
			s->name = reading_name(j->r, v.s, v.len);
	} else if (tok_is(key, "references")) {
		take_refs(j);
	} else if (tok_is(key, "startTime")) {
		j->has_begin = json_time(j->t, US, &s->begin_ns);
	} else if (tok_is(key, "duration")) {
		j->has_duration = json_time(j->t, US, &j->duration_ns);
	} else if (tok_is(key, "tags")) {
		span_tags(j);
	} else if (tok_is(key, "logs")) {
		take_logs(j);
	} else if (tok_is(key, "processID")) {
		if (jsontok_str(j->t, &v))
			j->process = process_key(&v);
	} else if (tok_is(key, "process")) {
		take_inline_process(j);
	} else {
		return false;
	}
	return true;
}

static void span_begin(struct jaeger *j, uint64_t off)
{
	making_begin(&j->m, off);
	j->process = 0;
	j->has_begin = j->has_duration = j->has_span = false;
	j->notes.cnt = j->note_attrs.cnt = 0;
}

static int add_notes(struct jaeger *j)
{
	int rc = 0;

	for (size_t i = 0; i < j->notes.cnt && rc == 0; i++) {
		const struct note *n = &j->notes.items[i];

		making_point(&j->point, &j->m, (uint32_t)i, n->at_ns, n->name);
		for (uint32_t a = 0; a < n->attr_cnt; a++)
			vec_push(&j->point.attrs, j->note_attrs.items[n->attr_idx + a]);
		rc = pending_add(j->pending, &j->point, j->process);
	}
	return rc;
}

static int flush(struct jaeger *j);

static int span_end(struct jaeger *j)
{
	struct span *s = &j->m.span;
	uint64_t miss_off;
	const char *miss;
	int rc;

	if (jsontok_broken(j->t))
		return 0;
	if (!s->id || !j->has_begin) {
		json_span_bad(j->docs, j->m.off, s->id ? "startTime" : "spanID");
		return 0;
	}
	jsontok_take_miss(j->t, &miss_off, &miss); /* of what it can do without */
	if (!j->has_duration)
		s->flags |= SPANF_OPEN;
	else if (__builtin_add_overflow(s->begin_ns, j->duration_ns, &s->end_ns))
		s->end_ns = INT64_MAX;
	rc = pending_add(j->pending, &j->m, j->process);
	if (rc == 0)
		rc = add_notes(j);
	if (rc == 0 && j->has_processes && pending_cnt(j->pending) >= PENDING_ENOUGH &&
	    (j->trace.hi || j->trace.lo))
		rc = flush(j);
	return rc;
}

static int take_spans(struct jaeger *j)
{
	struct docs_key key;
	int rc = 0;

	if (!jsontok_arr(j->t))
		return 0;
	while (rc == 0 && jsontok_item(j->t)) {
		span_begin(j, json_off(j->docs));
		if (!jsontok_obj(j->t)) {
			json_span_bad(j->docs, j->m.off, "span");
			continue;
		}
		while (docs_key(j->t, &key))
			span_key(j, &key);
		rc = span_end(j);
	}
	return rc;
}

/* ---- one trace */

static void set_parent(struct making *m)
{
	size_t kept = 0;

	VEC_FOREACH(&m->refs, ref) {
		if (!ref->trace.hi && !ref->trace.lo)
			ref->trace = m->trace;
		if (ref->kind == REF_CHILD) {
			ref->kind = SPAN_REF_LINK;
			if (!m->span.parent && trace_id_cmp(&ref->trace, &m->trace) == 0) {
				m->span.parent = ref->span;
				continue;
			}
		}
		m->refs.items[kept++] = *ref;
	}
	m->refs.cnt = kept;
}

static void set_process(struct jaeger *j, struct making *m, uint64_t key)
{
	const struct process *p;
	uint64_t idx;

	if (m->span.service)
		return; /* its process stood inside */
	if (!key || !hmap_get(&j->by_key, key, &idx)) {
		j->r->stats->no_service_cnt += !(m->span.flags & SPANF_POINT);
		return;
	}
	p = &j->processes.items[idx];
	m->span.service = p->service;
	m->span.host = p->host;
	if (m->span.flags & SPANF_POINT)
		return; /* its span has them */
	for (uint32_t i = 0; i < p->attr_cnt && m->attrs.cnt < ATTRS_MAX; i++)
		vec_push(&m->attrs, j->process_tags.attrs.items[p->attr_idx + i]);
}

static int take_pending(void *ctx, struct making *m, uint64_t word)
{
	struct jaeger *j = ctx;

	if (!m->trace.hi && !m->trace.lo)
		m->trace = j->trace;
	set_parent(m);
	set_process(j, m, word);
	return reading_span(j->r, m);
}

static int flush(struct jaeger *j)
{
	return pending_take(j->pending, take_pending, j);
}

static int take_object(struct jaeger *j);

static int take_list(struct jaeger *j)
{
	int rc = 0;

	if (++j->nesting > NESTING_MAX)
		jsontok_skip(j->t);
	else if (jsontok_kind(j->t) == TOK_OBJ)
		rc = take_object(j);
	else if (jsontok_kind(j->t) == TOK_ARR && jsontok_arr(j->t))
		while (rc == 0 && jsontok_item(j->t))
			rc = take_list(j);
	j->nesting--;
	return rc;
}

static void forget_trace(struct jaeger *j)
{
	j->trace = (struct trace_id){0};
	j->has_processes = false;
	hmap_clear(&j->by_key);
	j->processes.cnt = j->process_tags.attrs.cnt = 0;
}

static int take_object_keys(struct jaeger *j)
{
	struct docs_key key;
	bool inner = false;
	int rc = 0;

	span_begin(j, json_off(j->docs));
	while (rc == 0 && docs_key(j->t, &key)) {
		if (tok_is(&key, "spans")) {
			inner = true;
			rc = take_spans(j);
		} else if (tok_is(&key, "processes")) {
			take_processes(j);
		} else if (tok_is(&key, "data") || tok_is(&key, "trace") ||
			   tok_is(&key, "_source")) {
			inner = true;
			rc = take_list(j);
		} else if (tok_is(&key, "traceID")) {
			span_key(j, &key);
			j->trace = j->m.trace;
		} else if (!inner) {
			span_key(j, &key);
		}
	}
	return rc == 0 && !inner && j->has_span ? span_end(j) : rc;
}

/* A trace, an answer that holds traces, or a span. */
static int take_object(struct jaeger *j)
{
	int rc = pending_cnt(j->pending) ? flush(j) : 0;

	forget_trace(j);
	if (rc == 0 && jsontok_obj(j->t))
		rc = take_object_keys(j);
	return rc == 0 ? flush(j) : rc;
}

static int take_doc(struct json_docs *docs, void *ctx)
{
	struct jaeger *j = ctx;

	j->docs = docs;
	j->t = &docs->t;
	return take_list(j);
}

static int jaeger_read(struct reading *r)
{
	CLEANUP_FREE struct jaeger *j = xcalloc(1, sizeof(*j));
	int rc;

	j->r = r;
	j->pending = pending_new();
	j->key_kind = strtab_add(r->strings, "span.kind");
	j->key_error = strtab_add(r->strings, "error");
	j->key_status = strtab_add(r->strings, "otel.status_code");
	j->key_hostname = strtab_add(r->strings, "hostname");
	j->key_event = strtab_add(r->strings, "event");
	j->key_message = strtab_add(r->strings, "message");
	rc = json_docs_read(r, take_doc, j);
	pending_free(j->pending);
	making_release(&j->m);
	making_release(&j->point);
	making_release(&j->process_tags);
	vec_release(&j->notes);
	vec_release(&j->note_attrs);
	vec_release(&j->processes);
	hmap_release(&j->by_key);
	return rc;
}

static bool jaeger_matches(const char *head, size_t len)
{
	/* an answer may be empty; then its counts tell whose it is */
	return head_is_json(head, len) &&
	       (head_has_key(head, len, "traceID", 5) || head_has_key(head, len, "spanID", 5) ||
		(head_has_key(head, len, "data", 1) && head_has_key(head, len, "total", 1)));
}

const struct spans_reader reader_jaeger = {SPANS_JAEGER, jaeger_matches, jaeger_read};
