/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/parse/json_docs.h"

#include <stdio.h>

#include "spans/spans_input.h"

uint64_t json_off(const struct json_docs *docs)
{
	return docs->base + jsontok_off(&docs->t);
}

bool docs_key(struct jsontok *t, struct docs_key *ret)
{
	struct tok_str key;

	if (!jsontok_key(t, &key))
		return false;
	ret->len = key.len;
	/* always as much, which is quickest: behind the window stand as many bytes */
	if (key.len)
		memcpy(ret->text, key.s, sizeof(ret->text));
	ret->s = ret->text;
	return true;
}

/* Goes on behind a place that is no JSON; false: nothing follows it. */
static bool resume(struct jsontok *t)
{
	while (jsontok_next_line(t)) {
		enum tok_kind kind = jsontok_kind(t);

		if (kind == TOK_OBJ || kind == TOK_ARR)
			return true;
	}
	return false;
}

static uint64_t progress(const struct json_docs *docs)
{
	return docs->r->stats->span_cnt + docs->waiting_cnt;
}

int json_docs_read(struct reading *r, int (*doc)(struct json_docs *docs, void *ctx), void *ctx)
{
	struct json_docs docs = {.r = r, .base = in_off(r->in)};
	struct jsontok *t = &docs.t;
	struct spans_bad first = {0};
	uint64_t spans_then = 0;
	bool damaged = false;
	int rc = 0;

	jsontok_init(t, in_read, r->in);
	for (;;) {
		const char *why;
		uint64_t off;

		while (rc == 0 && jsontok_more(t))
			rc = doc(&docs, ctx);
		if (damaged && progress(&docs) != spans_then) {
			reading_bad(r, first.off, "%s", first.why);
			damaged = false;
		}
		if (rc < 0 || !jsontok_broken(t))
			break;
		if (!damaged) {
			first.off = docs.base + t->err_off;
			snprintf(first.why, sizeof(first.why), "%.*s", SPANS_WHY_MAX - 1, t->msg);
			spans_then = progress(&docs);
			damaged = true;
		}
		jsontok_take_miss(t, &off, &why);
		if (!resume(t))
			break;
	}
	jsontok_release(t);
	if (rc == 0 && damaged)
		rc = reading_cut(r, first.off, "%s", first.why);
	return rc;
}

void json_span_bad(struct json_docs *docs, uint64_t off, const char *what)
{
	uint64_t miss_off;
	const char *miss;

	if (jsontok_broken(&docs->t))
		return; /* the document is said to be damaged */
	if (jsontok_take_miss(&docs->t, &miss_off, &miss))
		reading_bad(docs->r, docs->base + miss_off, "%s: %s", what, miss);
	else
		reading_bad(docs->r, off, "%s: expected one, found none", what);
}

void json_attr(struct json_docs *docs, struct making *m, uint32_t key)
{
	struct jsontok *t = &docs->t;
	struct tok_str text;
	double num;
	bool truth;

	switch (jsontok_kind(t)) {
	case TOK_STR:
		if (jsontok_str(t, &text))
			making_text(docs->r, m, key, text.s, text.len);
		break;
	case TOK_NUM:
		if (jsontok_f64(t, &num))
			making_num(docs->r, m, key, num);
		break;
	case TOK_BOOL:
		if (jsontok_bool(t, &truth))
			making_bool(docs->r, m, key, truth);
		break;
	default:
		docs->r->stats->attr_passed_cnt++;
		jsontok_skip(t);
	}
}

bool json_text(struct jsontok *t, char *buf, size_t cap, struct tok_str *ret)
{
	bool truth;
	double num;

	switch (jsontok_kind(t)) {
	case TOK_STR:
		return jsontok_str(t, ret);
	case TOK_NUM:
		if (!jsontok_f64(t, &num))
			return false;
		snprintf(buf, cap, "%.17g", num);
		break;
	case TOK_BOOL:
		if (!jsontok_bool(t, &truth))
			return false;
		snprintf(buf, cap, "%s", truth ? "true" : "false");
		break;
	default:
		jsontok_skip(t);
		return false;
	}
	*ret = (struct tok_str){buf, strlen(buf)};
	return true;
}

bool json_time(struct jsontok *t, int64_t unit_ns, int64_t *ret_ns)
{
	int64_t v;

	if (!jsontok_i64(t, &v))
		return false;
	if (__builtin_mul_overflow(v, unit_ns, &v)) {
		jsontok_expected(t, "a time before the year 2262");
		return false;
	}
	*ret_ns = v;
	return true;
}
