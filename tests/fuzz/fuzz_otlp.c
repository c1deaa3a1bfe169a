/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte tells which reader, protobuf's or JSON's, gets the rest, and the options. */
#include "fuzz.h"

#include "base/bug.h"
#include "base/hash.h"
#include "spans/spans_input.h"
#include "spans/reading.h"

static int take(void *ctx, const struct trace_id *trace, const struct span *s,
		const struct attr *attrs, const struct span_ref *refs)
{
	const struct strtab *strings = ctx;

	BUG_ON(!trace->hi && !trace->lo);
	BUG_ON(!s->id || s->parent == s->id || s->begin_ns < 0 || s->end_ns < s->begin_ns);
	BUG_ON(s->kind > SPAN_CONSUMER || s->attr_idx || s->ref_idx || s->rank);
	BUG_ON(s->service > strings->cnt || s->name > strings->cnt || s->host > strings->cnt);
	BUG_ON(s->attr_cnt > ATTRS_MAX || s->ref_cnt > REFS_MAX);
	for (uint32_t i = 0; i < s->attr_cnt; i++) {
		BUG_ON(!attrs[i].key || attrs[i].key > strings->cnt || attrs[i].type > ATTR_BOOL);
		BUG_ON(attrs[i].type == ATTR_STR && (!attrs[i].str || attrs[i].str > strings->cnt));
		BUG_ON(attrs[i].type == ATTR_BOOL && attrs[i].num != 0 && attrs[i].num != 1);
	}
	for (uint32_t i = 0; i < s->ref_cnt; i++)
		BUG_ON(refs[i].kind != SPAN_REF_LINK || !refs[i].span);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spans_opts opts = {.no_events = size && (data[0] & 2)};
	struct strtab strings = {0};
	struct span_sink sink = {.ctx = &strings, .span = take};
	struct spans_stats stats = {0};
	struct reading r = {.opts = &opts, .strings = &strings, .sink = &sink, .stats = &stats};
	const struct spans_reader *reader;
	int rc;

	if (!size)
		return 0;
	reader = data[0] & 1 ? &reader_otlp_json : &reader_otlp_proto;
	r.in = in_bytes(data + 1, size - 1);
	in_fill(r.in, HEAD_MIN);
	rc = reader->read(&r);
	BUG_ON(rc > 0 || (rc < 0 && !stats.cut));
	in_free(r.in);
	strtab_release(&strings);
	return 0;
}
