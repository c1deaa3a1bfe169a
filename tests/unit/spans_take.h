/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPANS_TAKE_H
#define SPANS_TAKE_H
/*
 * What spans_read gives, kept: for the tests of the readers.
 *
 *	struct taken t = {0};  take_text(&t, text);  t.spans[0]...;  taken_release(&t);
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "spans/reading.h"
#include "spans/spans.h"
#include "unit.h"

struct taken {
	struct strtab strings;
	struct spans_stats stats;
	struct spans_opts opts;
	struct err err;
	struct span *spans;
	struct trace_id *traces;
	size_t cnt, cap;
	unsigned asked_cnt;		/* how often progress was */
	VEC(struct attr) attrs;		/* of all; span.attr_idx says where */
	VEC(struct span_ref) refs;
};

static inline int take_span(void *ctx, const struct trace_id *trace, const struct span *span,
			    const struct attr *attrs, const struct span_ref *refs)
{
	struct taken *t = ctx;
	struct span s = *span;

	EQ_U(s.attr_idx + s.ref_idx, 0);
	s.attr_idx = (uint32_t)t->attrs.cnt;
	s.ref_idx = (uint32_t)t->refs.cnt;
	for (uint32_t i = 0; i < s.attr_cnt; i++)
		vec_push(&t->attrs, attrs[i]);
	for (uint32_t i = 0; i < s.ref_cnt; i++)
		vec_push(&t->refs, refs[i]);
	if (t->cnt == t->cap) {
		t->cap = 2 * t->cap + 16;
		t->spans = reallocarray(t->spans, t->cap, sizeof(s));
		t->traces = reallocarray(t->traces, t->cap, sizeof(*trace));
	}
	t->traces[t->cnt] = *trace;
	t->spans[t->cnt++] = s;
	return 0;
}

static inline int take_bytes(struct taken *t, const void *data, size_t len)
{
	struct span_sink sink = {.ctx = t, .span = take_span};

	return spans_read_bytes(data, len, "test", &t->opts, &t->strings, &sink, &t->stats,
				&t->err);
}

static inline int take_text(struct taken *t, const char *text)
{
	return take_bytes(t, text, strlen(text));
}

/* With ' for ", which C would have escaped. */
static inline int take_json(struct taken *t, const char *text)
{
	char *json = strdup(text);
	int rc;

	for (char *at = json; (at = strchr(at, '\'')); at++)
		*at = '"';
	rc = take_bytes(t, json, strlen(json));
	free(json);
	return rc;
}

static inline const struct attr *taken_attr(const struct taken *t, size_t span, const char *key)
{
	const struct span *s = &t->spans[span];

	for (uint32_t i = s->attr_idx; i < s->attr_idx + s->attr_cnt; i++)
		if (strcmp(strtab_str(&t->strings, t->attrs.items[i].key), key) == 0)
			return &t->attrs.items[i];
	FAIL("span %zu has no '%s'", span, key);
}

static inline const char *taken_text(const struct taken *t, size_t span, const char *key)
{
	const struct attr *a = taken_attr(t, span, key);

	EQ_U(a->type, ATTR_STR);
	return strtab_str(&t->strings, (uint32_t)a->str);
}

static inline double taken_num(const struct taken *t, size_t span, const char *key)
{
	const struct attr *a = taken_attr(t, span, key);

	OK(a->type != ATTR_STR);
	return a->num;
}

static inline void taken_release(struct taken *t)
{
	strtab_release(&t->strings);
	vec_release(&t->attrs);
	vec_release(&t->refs);
	free(t->spans);
	free(t->traces);
}

#endif /* SPANS_TAKE_H */
