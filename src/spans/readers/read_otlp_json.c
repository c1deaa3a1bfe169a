/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP in JSON: one request, or one on each line as the Collector's file
 * exporter and the file exporters of the SDKs write them; and what Tempo's API
 * answers, which calls resourceSpans batches.  Names in lowerCamelCase or
 * snake_case; ids in hex or, as protobuf's own mapping has them, in base64;
 * integers as numbers or strings; enums as numbers or names.
 *
 * What of a span is needed to place it (ids, times, name) must be right; an
 * attribute, event or link that is not what it should be is dropped alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "spans/spans_input.h"
#include "spans/parse/jsontok.h"
#include "spans/readers/otlp.h"
#include "spans/reading.h"

struct json {
	struct otlp o;
	struct jsontok t;
	char text[NAME_MAX_LEN]; /* a value or an event's name until its object is closed */
};

/* ---- ids */

enum { TRACE_ID_LEN = 16, SPAN_ID_LEN = 8 };

/* By character: the digit's value and HEX; 0: no digit. */
enum { HEX = 0x10 };
static const uint8_t hex_values[256] = {
	['0'] = 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19,
	['A'] = 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
	['a'] = 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
};

static bool from_hex(const char *s, uint8_t *bytes, size_t cnt)
{
	unsigned all = HEX;

	for (size_t i = 0; i < cnt; i++) {
		unsigned hi = hex_values[(uint8_t)s[2 * i]];
		unsigned lo = hex_values[(uint8_t)s[2 * i + 1]];

		all &= hi & lo;
		bytes[i] = (uint8_t)(hi << 4 | (lo & 15));
	}
	return all == HEX;
}

static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static bool from_base64(const char *s, size_t len, uint8_t *bytes, size_t cnt)
{
	uint32_t bits = 0;
	size_t out = 0;
	int have = 0;

	while (len && s[len - 1] == '=')
		len--;
	if (len != (cnt * 8 + 5) / 6)
		return false;
	for (size_t i = 0; i < len; i++) {
		int v = base64_value(s[i]);

		if (v < 0)
			return false;
		bits = bits << 6 | (uint32_t)v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			if (out < cnt)
				bytes[out++] = (uint8_t)(bits >> have);
		}
	}
	return out == cnt;
}

static bool id_bytes(const struct tok_str *s, uint8_t *bytes, size_t cnt)
{
	if (s->len == cnt * 2)
		return from_hex(s->s, bytes, cnt);
	return from_base64(s->s, s->len, bytes, cnt);
}

static void read_trace_id(struct json *j, struct trace_id *ret)
{
	uint8_t bytes[TRACE_ID_LEN];
	struct tok_str s;

	if (!jsontok_str(&j->t, &s))
		return;
	if (id_bytes(&s, bytes, sizeof(bytes))) {
		ret->hi = otlp_id8(bytes);
		ret->lo = otlp_id8(bytes + 8);
	} else {
		jsontok_expected(&j->t, "a trace's id of 32 hex digits");
	}
}

static void read_span_id(struct json *j, bool may_be_none, uint64_t *ret)
{
	uint8_t bytes[SPAN_ID_LEN];
	struct tok_str s;

	if (may_be_none && jsontok_kind(&j->t) == TOK_NULL) {
		jsontok_skip(&j->t);
		return;
	}
	if (!jsontok_str(&j->t, &s) || (may_be_none && s.len == 0))
		return;
	if (id_bytes(&s, bytes, sizeof(bytes)))
		*ret = otlp_id8(bytes);
	else
		jsontok_expected(&j->t, "a span's id of 16 hex digits");
}

/* ---- attributes */

/* key is either spelling of a field's name. */
#define named(key, camel, snake) (tok_is(key, camel) || tok_is(key, snake))

static void read_value(struct json *j, struct otlp_value *ret)
{
	struct jsontok *t = &j->t;
	struct tok_str key, s;
	bool truth;
	double num;

	*ret = (struct otlp_value){0};
	if (!jsontok_obj(t))
		return;
	while (jsontok_key(t, &key)) {
		if (named(&key, "stringValue", "string_value")) {
			if (!jsontok_str(t, &s))
				continue;
			*ret = (struct otlp_value){OTLP_TEXT, j->text, s.len, 0};
			memcpy(j->text, s.s, s.len < sizeof(j->text) ? s.len : sizeof(j->text));
		} else if (named(&key, "intValue", "int_value") ||
			   named(&key, "doubleValue", "double_value")) {
			if (jsontok_f64(t, &num))
				*ret = (struct otlp_value){.kind = OTLP_NUM, .num = num};
		} else if (named(&key, "boolValue", "bool_value")) {
			if (jsontok_bool(t, &truth))
				*ret = (struct otlp_value){.kind = OTLP_BOOL, .num = truth};
		} else {
			*ret = (struct otlp_value){.kind = OTLP_OTHER};
		}
	}
	/* Only names are kept longer than the texts of attributes. */
	if (ret->len > sizeof(j->text))
		ret->len = sizeof(j->text);
}

static void read_attrs(struct json *j, void (*add)(struct json *, uint32_t, struct otlp_value *))
{
	struct jsontok *t = &j->t;
	struct tok_str key, s;

	if (!jsontok_arr(t))
		return;
	while (jsontok_item(t)) {
		struct otlp_value value = {0};
		uint32_t id = 0;

		if (!jsontok_obj(t))
			continue;
		while (jsontok_key(t, &key))
			if (tok_is(&key, "key") && jsontok_str(t, &s))
				id = otlp_name(&j->o, s.s, s.len);
			else if (tok_is(&key, "value"))
				read_value(j, &value);
		if (!jsontok_broken(t))
			add(j, id, &value);
	}
}

static void add_to_span(struct json *j, uint32_t key, struct otlp_value *value)
{
	otlp_span_attr(&j->o, key, value);
}

static void add_to_resource(struct json *j, uint32_t key, struct otlp_value *value)
{
	const char *name = strtab_str(j->o.r->strings, key);

	otlp_resource_attr(&j->o, name, strlen(name), value);
}

/* ---- what a span holds */

static void read_event(struct json *j)
{
	struct jsontok *t = &j->t;
	struct tok_str key, s;
	uint64_t at_ns = 0;
	size_t len = 0;

	if (!jsontok_obj(t))
		return;
	while (jsontok_key(t, &key)) {
		if (named(&key, "timeUnixNano", "time_unix_nano")) {
			jsontok_u64(t, &at_ns);
		} else if (tok_is(&key, "name") && jsontok_str(t, &s)) {
			len = s.len < sizeof(j->text) ? s.len : sizeof(j->text);
			memcpy(j->text, s.s, len);
		}
	}
	if (!jsontok_broken(t))
		otlp_event(&j->o, at_ns, j->text, len);
}

static void read_link(struct json *j)
{
	struct jsontok *t = &j->t;
	struct trace_id trace = {0};
	struct tok_str key;
	uint64_t span = 0;

	if (!jsontok_obj(t))
		return;
	while (jsontok_key(t, &key))
		if (named(&key, "traceId", "trace_id"))
			read_trace_id(j, &trace);
		else if (named(&key, "spanId", "span_id"))
			read_span_id(j, true, &span);
	if (jsontok_broken(t))
		return;
	if (span)
		making_ref(j->o.r, &j->o.making, &trace, span, SPAN_REF_LINK);
	else
		j->o.r->stats->ref_dropped_cnt++;
}

/* A number or a name. */
static void read_kind(struct json *j)
{
	struct tok_str s;
	uint64_t kind;

	if (jsontok_kind(&j->t) == TOK_STR) {
		if (jsontok_str(&j->t, &s))
			j->o.making.span.kind = (uint8_t)kind_named(s.s, s.len);
	} else if (jsontok_u64(&j->t, &kind)) {
		j->o.making.span.kind = (uint8_t)otlp_kind(kind);
	}
}

static void read_status(struct json *j)
{
	struct jsontok *t = &j->t;
	struct tok_str key, s;
	uint64_t code = 0;

	if (!jsontok_obj(t))
		return;
	while (jsontok_key(t, &key)) {
		if (!tok_is(&key, "code"))
			continue;
		if (jsontok_kind(t) != TOK_STR)
			jsontok_u64(t, &code);
		else if (jsontok_str(t, &s) && (tok_is(&s, "STATUS_CODE_ERROR") || tok_is(&s, "2")))
			code = OTLP_STATUS_ERROR;
	}
	if (code == OTLP_STATUS_ERROR)
		j->o.making.span.flags |= SPANF_ERROR;
}

struct span_state {
	uint64_t begin_ns, end_ns;
	bool bad;
	uint64_t bad_off;
	char why[JSONTOK_MISS_MAX];
};

/* Reads a key that must be right; true when key is one of these. */
static bool read_needed(struct json *j, const struct tok_str *key, struct span_state *st)
{
	struct making *m = &j->o.making;
	struct jsontok *t = &j->t;
	struct tok_str s;

	if (named(key, "traceId", "trace_id"))
		read_trace_id(j, &m->trace);
	else if (named(key, "spanId", "span_id"))
		read_span_id(j, false, &m->span.id);
	else if (named(key, "parentSpanId", "parent_span_id"))
		read_span_id(j, true, &m->span.parent);
	else if (named(key, "startTimeUnixNano", "start_time_unix_nano"))
		jsontok_u64(t, &st->begin_ns);
	else if (named(key, "endTimeUnixNano", "end_time_unix_nano"))
		jsontok_u64(t, &st->end_ns);
	else if (!tok_is(key, "name"))
		return false;
	else if (jsontok_str(t, &s))
		m->span.name = otlp_name(&j->o, s.s, s.len);
	return true;
}

static void read_list(struct json *j, void (*one)(struct json *))
{
	if (!jsontok_arr(&j->t))
		return;
	while (jsontok_item(&j->t))
		one(j);
}

/* Reads a key that a span can be without: a miss in it is forgotten. */
static void read_other(struct json *j, const struct tok_str *key)
{
	const char *why;
	uint64_t off;

	if (tok_is(key, "attributes"))
		read_attrs(j, add_to_span);
	else if (tok_is(key, "kind"))
		read_kind(j);
	else if (tok_is(key, "status"))
		read_status(j);
	else if (tok_is(key, "events"))
		read_list(j, read_event);
	else if (tok_is(key, "links"))
		read_list(j, read_link);
	jsontok_take_miss(&j->t, &off, &why);
}

static int read_span(struct json *j)
{
	struct span_state st = {0};
	struct jsontok *t = &j->t;
	struct tok_str key;
	const char *why;

	otlp_span_begin(&j->o, jsontok_off(t));
	if (jsontok_obj(t)) {
		while (jsontok_key(t, &key)) {
			if (!read_needed(j, &key, &st)) {
				read_other(j, &key);
			} else if (jsontok_take_miss(t, &st.bad_off, &why) && !st.bad) {
				st.bad = true;
				memcpy(st.why, why, sizeof(st.why));
			}
		}
	} else if (jsontok_take_miss(t, &st.bad_off, &why)) {
		st.bad = true;
		memcpy(st.why, why, sizeof(st.why));
	}
	if (jsontok_broken(t))
		return 0;
	if (!st.bad)
		return otlp_span_end(&j->o, st.begin_ns, st.end_ns);
	reading_bad(j->o.r, st.bad_off, "%s", st.why);
	return 0;
}

/* ---- down to the spans */

static int read_scope(struct json *j)
{
	struct jsontok *t = &j->t;
	struct tok_str key;
	int rc = 0;

	if (!jsontok_obj(t))
		return 0;
	while (rc == 0 && jsontok_key(t, &key)) {
		if (!tok_is(&key, "spans") || !jsontok_arr(t))
			continue;
		while (rc == 0 && jsontok_item(t))
			rc = read_span(j);
	}
	return rc;
}

static int read_scopes(struct json *j)
{
	int rc = 0;

	if (!jsontok_arr(&j->t))
		return 0;
	while (rc == 0 && jsontok_item(&j->t))
		rc = read_scope(j);
	return rc;
}

static void read_resource(struct json *j)
{
	struct tok_str key;

	if (!jsontok_obj(&j->t))
		return;
	while (jsontok_key(&j->t, &key))
		if (tok_is(&key, "attributes"))
			read_attrs(j, add_to_resource);
	otlp_resource_done(&j->o);
}

static bool is_scopes(const struct tok_str *key)
{
	return named(key, "scopeSpans", "scope_spans") ||
	       named(key, "instrumentationLibrarySpans", "instrumentation_library_spans");
}

static int read_resource_spans(struct json *j)
{
	struct jsontok *t = &j->t;
	struct tok_str key;
	int rc = 0, rc_end;

	if (!jsontok_obj(t))
		return 0;
	otlp_resource_begin(&j->o);
	while (rc == 0 && jsontok_key(t, &key))
		if (tok_is(&key, "resource"))
			read_resource(j);
		else if (is_scopes(&key))
			rc = read_scopes(j);
	rc_end = otlp_resource_end(&j->o);
	return rc < 0 ? rc : rc_end;
}

static bool is_resources(const struct tok_str *key)
{
	return named(key, "resourceSpans", "resource_spans") || tok_is(key, "batches");
}

/* A request, or what has one as its trace. */
static int read_request(struct json *j, bool outermost)
{
	struct jsontok *t = &j->t;
	struct tok_str key;
	int rc = 0;

	if (!jsontok_obj(t))
		return 0;
	while (rc == 0 && jsontok_key(t, &key)) {
		/* Tempo's answers, and those of Jaeger's newer API */
		if (outermost && (tok_is(&key, "trace") || tok_is(&key, "result")))
			rc = read_request(j, false);
		if (!is_resources(&key) || !jsontok_arr(t))
			continue;
		while (rc == 0 && jsontok_item(t))
			rc = read_resource_spans(j);
	}
	return rc;
}

/* Counts a malformed value above the spans: all of its content is lost. */
static void count_miss(struct json *j)
{
	const char *why;
	uint64_t off;

	if (jsontok_take_miss(&j->t, &off, &why))
		reading_bad(j->o.r, off, "%s", why);
}

/* A line that is broken costs what it had left; what follows is read if there is any. */
static int after_break(struct json *j)
{
	struct jsontok *t = &j->t;
	uint64_t off = t->err_off;

	if (!jsontok_next_line(t))
		return reading_cut(j->o.r, off, "%s", t->msg);
	reading_bad(j->o.r, off, "%s", t->msg);
	return 0;
}

static int read_documents(struct json *j)
{
	for (;;) {
		int rc = 0;

		while (rc == 0 && jsontok_more(&j->t)) {
			rc = read_request(j, true);
			count_miss(j);
		}
		if (rc == 0 && jsontok_broken(&j->t))
			rc = after_break(j);
		else
			return rc;
		if (rc < 0)
			return rc;
	}
}

static int read_otlp_json(struct reading *r)
{
	struct json j;
	int rc;

	otlp_init(&j.o, r);
	jsontok_init_in(&j.t, r->in);
	rc = read_documents(&j);
	jsontok_release(&j.t);
	otlp_release(&j.o);
	return rc;
}

static bool matches(const char *head, size_t len)
{
	static const char *const keys[] = {"resourceSpans", "resource_spans", "batches"};

	/* Not JSON behind a length, which is read_otlp_proto.c's. */
	if (!len || !*head || !strchr("{ \t\r\n", *head))
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (head_has_key(head, len, keys[i], 2))
			return true;
	return false;
}

const struct spans_reader reader_otlp_json = {SPANS_OTLP_JSON, matches, read_otlp_json};
