/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace.h"

#include <string.h>

#include "base/bug.h"

size_t trace_copy_bytes(const struct trace *t)
{
	return sizeof(*t) + t->span_cnt * sizeof(*t->spans) + t->attr_cnt * sizeof(*t->attrs) +
	       t->ref_cnt * sizeof(*t->refs);
}

struct trace *trace_copy_to(void *block, const struct trace *from)
{
	struct trace *t = block;
	struct span *spans = (struct span *)(t + 1);
	struct span_ref *refs = (struct span_ref *)(spans + from->span_cnt);
	struct attr *attrs = (struct attr *)(refs + from->ref_cnt);
	uint32_t attr_cnt = 0;

	*t = *from;
	if (from->span_cnt)
		memcpy(spans, from->spans, from->span_cnt * sizeof(*spans));
	if (from->ref_cnt)
		memcpy(refs, from->refs, from->ref_cnt * sizeof(*refs));
	for (uint32_t i = 0; i < from->span_cnt; i++) {
		uint32_t cnt = spans[i].attr_cnt;

		BUG_ON(cnt > from->attr_cnt - attr_cnt);
		if (cnt)
			memcpy(attrs + attr_cnt, from->attrs + spans[i].attr_idx,
			       cnt * sizeof(*attrs));
		spans[i].attr_idx = attr_cnt;
		attr_cnt += cnt;
	}
	t->spans = spans;
	t->refs = refs;
	t->attrs = attrs;
	t->attr_cnt = attr_cnt;
	return t;
}
