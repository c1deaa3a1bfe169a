/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/graph/synthetic_root.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/bug.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "trace/trace.h"

/* Ordered by references to other spans, as events of X-Trace are. */
static bool is_referring(const struct trace *trace, const struct span *span)
{
	for (uint32_t i = 0; i < span->ref_cnt; i++) {
		if (trace->refs[span->ref_idx + i].kind != SPAN_REF_LINK)
			return true;
	}
	return false;
}

static bool is_parentless(const struct trace *trace, const struct span *span)
{
	return !span->parent && !is_referring(trace, span);
}

/* Most traces have one: then nothing is sorted. */
static uint32_t count_roots(const struct trace *trace)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		const struct span *span = &trace->spans[i];

		cnt += !(span->flags & SPANF_POINT) && is_parentless(trace, span);
	}
	return cnt;
}

static int by_id(const void *a, const void *b)
{
	CMP(*(const uint64_t *)a, *(const uint64_t *)b);
	return 0;
}

static uint64_t *ids_sorted(const struct trace *trace, struct arena *arena)
{
	uint64_t *ids = ARENA_ARRAY(arena, uint64_t, (size_t)trace->span_cnt + 1);

	for (uint32_t i = 0; i < trace->span_cnt; i++)
		ids[i] = trace->spans[i].id;
	qsort(ids, trace->span_cnt, sizeof(*ids), by_id);
	return ids;
}

struct tops {
	const struct trace *trace;
	const uint64_t *ids;	/* sorted */
	bool orphans;		/* there is no root: those whose parent is not there are tops */
};

static bool is_top(const struct tops *t, const struct span *span)
{
	if (!span->parent)
		return is_parentless(t->trace, span);
	return t->orphans && !is_referring(t->trace, span) &&
	       !bsearch(&span->parent, t->ids, t->trace->span_cnt, sizeof(*t->ids), by_id);
}

/* Halves of one call (Zipkin) and spans that are there twice have one id, and are one. */
static uint32_t count_tops(const struct tops *t, struct arena *arena)
{
	uint64_t *ids = ARENA_ARRAY(arena, uint64_t, (size_t)t->trace->span_cnt + 1);
	uint32_t cnt = 0, ret = 0;

	for (uint32_t i = 0; i < t->trace->span_cnt; i++) {
		const struct span *span = &t->trace->spans[i];

		if (!(span->flags & SPANF_POINT) && is_top(t, span))
			ids[cnt++] = span->id;
	}
	qsort(ids, cnt, sizeof(*ids), by_id);
	for (uint32_t i = 0; i < cnt; i++)
		ret += !i || ids[i] != ids[i - 1];
	return ret;
}

/* An id that no span has and that is the same in every run. */
static uint64_t free_id(const struct tops *t)
{
	uint64_t id = hash_pair(t->trace->id.hi, t->trace->id.lo);

	while (!id || bsearch(&id, t->ids, t->trace->span_cnt, sizeof(*t->ids), by_id))
		id = hash_u64(id + 1);
	return id;
}

/* Over all tops; its clock is that of the first of them. */
static struct span make(const struct tops *t, struct strtab *strings)
{
	const struct span *first = NULL;
	struct span root = {
		.id = free_id(t),
		.service = strtab_add(strings, STAND_IN_SERVICE),
		.name = strtab_add(strings, STAND_IN_NAME),
	};

	for (uint32_t i = 0; i < t->trace->span_cnt; i++) {
		const struct span *span = &t->trace->spans[i];
		bool open = span->flags & SPANF_OPEN;

		if (!is_top(t, span))
			continue;
		if (!first || span->begin_ns < first->begin_ns ||
		    (span->begin_ns == first->begin_ns && span->id < first->id))
			first = span;
		if (span->end_ns > root.end_ns)
			root.end_ns = span->end_ns;
		if (span->begin_ns > root.end_ns)
			root.end_ns = span->begin_ns;
		root.flags |= open ? SPANF_OPEN : 0;
	}
	BUG_ON(!first); /* there are several tops */
	root.begin_ns = first->begin_ns;
	root.host = first->host;
	return root;
}

static void put(const struct tops *t, struct strtab *strings, struct arena *arena,
		struct trace *ret)
{
	const struct trace *trace = t->trace;
	struct span *spans = ARENA_ARRAY(arena, struct span, (size_t)trace->span_cnt + 1);
	struct span root = make(t, strings);

	spans[0] = root;
	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		spans[i + 1] = trace->spans[i];
		if (is_top(t, &trace->spans[i]))
			spans[i + 1].parent = root.id;
	}
	*ret = *trace;
	ret->spans = spans;
	ret->span_cnt++;
}

void stand_in(const struct trace *trace, struct strtab *strings, struct arena *arena,
	      struct stand_in_stats *stats, struct trace *ret)
{
	struct tops tops = {.trace = trace};
	uint32_t cnt = count_roots(trace);

	*ret = *trace;
	if (cnt == 1 || !trace->span_cnt || trace->span_cnt == UINT32_MAX)
		return;
	tops.orphans = !cnt;
	tops.ids = ids_sorted(trace, arena);
	cnt = count_tops(&tops, arena);
	if (cnt < 2)
		return;
	if (tops.orphans) {
		stats->rootless_cnt++;
		stats->orphan_cnt += cnt;
	} else {
		stats->extra_root_cnt += cnt - 1;
	}
	stats->trace_cnt++;
	put(&tops, strings, arena, ret);
}
