/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte says who reads the others: the reader of one format, by the
 * format's number from '0', or, for any other byte, whoever finds the format
 * (and the packing) to be its own.  What comes out must be what trace.h says.
 */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "base/err.h"
#include "base/hash.h"
#include "spans/spans_input.h"
#include "spans/reading.h"
#include "spans/spans.h"

struct seen {
	struct strtab strings;
	uint64_t span_cnt, point_cnt;
};

static void check_attr(const struct strtab *strings, const struct attr *a)
{
	BUG_ON(!a->key || a->key > strings->cnt);
	if (a->type == ATTR_STR)
		BUG_ON(!a->str || a->str > strings->cnt ||
		       strlen(strtab_str(strings, (uint32_t)a->str)) > ATTR_TEXT_MAX);
	else if (a->type == ATTR_BOOL)
		BUG_ON(a->num != 0 && a->num != 1);
	else
		BUG_ON(a->type != ATTR_NUM || !isfinite(a->num));
}

static int take(void *ctx, const struct trace_id *trace, const struct span *s,
		const struct attr *attrs, const struct span_ref *refs)
{
	struct seen *seen = ctx;
	const struct strtab *strings = &seen->strings;

	BUG_ON(!trace->hi && !trace->lo);
	BUG_ON(!s->id || s->id == s->parent);
	BUG_ON(s->begin_ns < 0 || s->end_ns < s->begin_ns);
	BUG_ON(s->service > strings->cnt || s->name > strings->cnt || s->host > strings->cnt);
	BUG_ON(s->kind > SPAN_CONSUMER || s->flags > SPANF_READ || s->rank);
	BUG_ON(s->attr_idx || s->ref_idx);
	BUG_ON(s->attr_cnt > ATTRS_MAX || s->ref_cnt > REFS_MAX);
	BUG_ON((s->flags & SPANF_OPEN) && s->begin_ns != s->end_ns);
	for (uint32_t i = 0; i < s->attr_cnt; i++)
		check_attr(strings, &attrs[i]);
	for (uint32_t i = 0; i < s->ref_cnt; i++)
		BUG_ON(!refs[i].span || refs[i].kind > SPAN_REF_AFTER);
	seen->span_cnt++;
	seen->point_cnt += (s->flags & SPANF_POINT) != 0;
	return 0;
}

static void by_reader(const struct spans_reader *reader, const uint8_t *data, size_t size,
		      const struct span_sink *sink, struct spans_stats *stats)
{
	static const struct spans_opts opts;
	struct seen *seen = sink->ctx;
	struct spans_in *in = in_bytes(data, size);
	struct reading r = {in, &opts, &seen->strings, sink, stats};
	int rc;

	reader->matches((const char *)in->at, in_fill(in, HEAD_MIN));
	rc = reader->read(&r);
	BUG_ON(rc < 0 && !stats->cut);
	in_free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = {0};
	struct span_sink sink = {.ctx = &seen, .span = take};
	const struct spans_reader *reader;
	struct spans_stats stats = {0};
	struct err err = {0};

	if (size < 1)
		return 0;
	reader = data[0] >= '0' && data[0] < '0' + SPANS_FORMAT_CNT
		? spans_reader_of(data[0] - '0') : NULL;
	if (reader)
		by_reader(reader, data + 1, size - 1, &sink, &stats);
	else
		BUG_ON(spans_read_bytes(data + 1, size - 1, "fuzz", NULL, &seen.strings, &sink,
					&stats, &err) < 0 && !strstr(err.msg, "offset"));
	BUG_ON(stats.span_cnt != seen.span_cnt || stats.point_cnt != seen.point_cnt);
	BUG_ON(stats.bad_shown_cnt > SPANS_BAD_SHOWN || stats.bad_shown_cnt > stats.bad_cnt);
	strtab_release(&seen.strings);
	return 0;
}
