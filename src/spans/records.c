/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many files hold a trace's spans side by side: what is sorted are
 * runs of records of one trace, by the upper half of the id's hash, then,
 * for the few that share it, by hash and id.
 */
#include "spans/records.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "base/hash.h"

void records_release(struct records *r)
{
	free(r->data);
	vec_release(&r->runs);
	*r = (struct records){0};
}

void records_clear(struct records *r)
{
	r->len = 0;
	r->cnt = 0;
	vec_clear(&r->runs);
}

void record_walk_release(struct record_walk *w)
{
	vec_release(&w->runs);
	vec_release(&w->tmp);
	vec_release(&w->found);
	vec_release(&w->sorted);
	vec_release(&w->spans);
	vec_release(&w->attrs);
	vec_release(&w->refs);
}

uint64_t records_cost(uint64_t bytes, uint64_t cnt)
{
	return bytes + cnt * 3 * sizeof(struct keyed);
}

uint64_t record_hash(const struct trace_id *id)
{
	return hash_pair(id->hi, id->lo);
}

size_t record_size(const struct span *span)
{
	return sizeof(struct record) + span->attr_cnt * sizeof(struct attr) +
	       span->ref_cnt * sizeof(struct span_ref);
}

static void run_begin(struct records *r, const struct trace_id *trace)
{
	struct keyed run = {
		.key = record_hash(trace) & ~(uint64_t)UINT32_MAX,
		.idx = (uint32_t)r->len,
		.pad = (uint32_t)(r->len >> 32),
	};

	vec_push(&r->runs, run);
	r->last = *trace;
}

void records_add(struct records *r, const struct trace_id *trace, const struct span *span,
		 const struct attr *attrs, const struct span_ref *refs)
{
	size_t size = record_size(span);
	struct record *to;

	if (!r->cnt || trace->lo != r->last.lo || trace->hi != r->last.hi)
		run_begin(r, trace);
	vec_last(&r->runs)->key++;

	if (r->cap - r->len < size) {
		r->cap = r->cap * 2 > r->len + size ? r->cap * 2 : r->len + size + (1 << 16);
		r->data = xrealloc(r->data, r->cap);
	}
	to = (struct record *)(r->data + r->len);
	*to = (struct record){.size = (uint32_t)size, .trace = *trace, .span = *span};
	to->span.attr_idx = to->span.ref_idx = 0;
	if (span->attr_cnt)
		memcpy(to + 1, attrs, span->attr_cnt * sizeof(*attrs));
	if (span->ref_cnt)
		memcpy((char *)(to + 1) + span->attr_cnt * sizeof(*attrs), refs,
		       span->ref_cnt * sizeof(*refs));
	r->len += size;
	r->cnt++;
}

bool record_is_whole(const struct record *record)
{
	return record->span.attr_cnt <= ASSEMBLE_ATTRS_MAX &&
	       record->span.ref_cnt <= ASSEMBLE_REFS_MAX &&
	       record->size == record_size(&record->span);
}

static const struct record *run_at(const struct records *r, const struct keyed *run)
{
	return (const struct record *)(r->data + ((uint64_t)run->pad << 32 | run->idx));
}

static bool same_trace(const struct record *a, const struct record *b)
{
	return a->trace.lo == b->trace.lo && a->trace.hi == b->trace.hi;
}

static int by_trace(const void *a, const void *b, void *records)
{
	const struct record *x = run_at(records, a), *y = run_at(records, b);

	CMP(record_hash(&x->trace), record_hash(&y->trace));
	CMP(x->trace.hi, y->trace.hi);
	CMP(x->trace.lo, y->trace.lo);
	CMP(x, y);
	return 0;
}

static bool same_half(const struct keyed *a, const struct keyed *b)
{
	return a->key >> 32 == b->key >> 32;
}

/* Those that share the half of the hash are nearly always of one trace. */
static void runs_sort(const struct records *r, struct record_walk *w)
{
	size_t cnt = r->runs.cnt;
	struct keyed *runs;

	vec_reserve(&w->runs, cnt);
	vec_reserve(&w->tmp, cnt);
	runs = w->runs.items;
	w->runs.cnt = cnt;
	memcpy(runs, r->runs.items, cnt * sizeof(*runs));
	keysort(runs, w->tmp.items, cnt);
	for (size_t from = 0, to; from < cnt; from = to) {
		bool mixed = false;

		for (to = from + 1; to < cnt && same_half(&runs[to], &runs[from]); to++)
			mixed |= !same_trace(run_at(r, &runs[from]), run_at(r, &runs[to]));
		if (mixed)
			qsort_r(&runs[from], to - from, sizeof(*runs), by_trace,
				(void *)(uintptr_t)r);
	}
}

/* Runs of spans with the same begin: by id, then by what does not depend on when texts came. */
static int by_rest(const void *a, const void *b)
{
	const struct record *const *p = a, *const *q = b;
	const struct span *x = &(*p)->span, *y = &(*q)->span;

	CMP(x->id, y->id);
	CMP(x->end_ns, y->end_ns);
	CMP(x->parent, y->parent);
	CMP(x->kind, y->kind);
	CMP(x->flags, y->flags);
	CMP((*p)->size, (*q)->size);
	return memcmp(*p, *q, (*p)->size);
}

static void found_sort(struct record_walk *w)
{
	size_t cnt = w->found.cnt;
	struct keyed *keys;

	/* The runs are in use: these go behind them. */
	vec_reserve(&w->runs, w->runs.cnt + cnt);
	vec_reserve(&w->tmp, cnt);
	vec_reserve(&w->sorted, cnt);
	keys = w->runs.items + w->runs.cnt;
	for (size_t i = 0; i < cnt; i++)
		keys[i] = (struct keyed){keysort_signed(w->found.items[i]->span.begin_ns),
					 (uint32_t)i, 0};
	keysort(keys, w->tmp.items, cnt);
	for (size_t i = 0; i < cnt; i++)
		w->sorted.items[i] = w->found.items[keys[i].idx];
	for (size_t from = 0, to; from < cnt; from = to) {
		for (to = from + 1; to < cnt && keys[to].key == keys[from].key;)
			to++;
		if (to - from > 1)
			qsort(&w->sorted.items[from], to - from, sizeof(*w->sorted.items), by_rest);
	}
	w->sorted.cnt = cnt;
}

static void span_take(struct record_walk *w, const struct record *record)
{
	const struct attr *attrs = (const struct attr *)(record + 1);
	const struct span_ref *refs = (const struct span_ref *)(attrs + record->span.attr_cnt);
	struct span span = record->span;

	span.attr_idx = (uint32_t)w->attrs.cnt;
	span.ref_idx = (uint32_t)w->refs.cnt;
	vec_reserve(&w->attrs, w->attrs.cnt + span.attr_cnt);
	if (span.attr_cnt)
		memcpy(w->attrs.items + w->attrs.cnt, attrs, span.attr_cnt * sizeof(*attrs));
	w->attrs.cnt += span.attr_cnt;
	for (uint32_t i = 0; i < span.ref_cnt; i++)
		vec_push(&w->refs, refs[i]);
	vec_push(&w->spans, span);
}

static int trace_give(struct record_walk *w, int (*trace)(void *, const struct trace *),
		      void *ctx, struct assembler_stats *stats)
{
	struct trace whole = {.id = w->found.items[0]->trace};
	const struct record *last = NULL;

	found_sort(w);
	vec_clear(&w->spans);
	vec_clear(&w->attrs);
	vec_clear(&w->refs);
	for (size_t i = 0; i < w->sorted.cnt; i++) {
		const struct record *record = w->sorted.items[i];

		if (last && last->size == record->size && !memcmp(last, record, last->size)) {
			stats->duplicate_cnt++;
			continue;
		}
		if (w->spans.cnt == ASSEMBLE_SPANS_MAX) {
			stats->cut_span_cnt += w->sorted.cnt - i;
			stats->cut_trace_cnt++;
			break;
		}
		span_take(w, record);
		last = record;
	}
	whole.spans = w->spans.items;
	whole.attrs = w->attrs.items;
	whole.refs = w->refs.items;
	whole.span_cnt = (uint32_t)w->spans.cnt;
	whole.attr_cnt = (uint32_t)w->attrs.cnt;
	whole.ref_cnt = (uint32_t)w->refs.cnt;
	stats->trace_cnt++;
	stats->span_cnt += whole.span_cnt;
	if (whole.span_cnt > stats->largest_spans)
		stats->largest_spans = whole.span_cnt;
	return trace(ctx, &whole);
}

enum { AHEAD = 12, LINE = 64, LINES = 3 };

/* Runs lie far apart: memory takes longer to answer than a few of them to take. */
static void run_fetch(const struct records *r, const struct record_walk *w, size_t run)
{
	const unsigned char *at;

	if (run >= w->runs.cnt)
		return;
	at = (const unsigned char *)run_at(r, &w->runs.items[run]);
	for (int i = 0; i < LINES; i++)
		__builtin_prefetch(at + (ptrdiff_t)i * LINE);
}

static void run_take(const struct records *r, struct record_walk *w, const struct keyed *run)
{
	const struct record *record = run_at(r, run);

	for (uint32_t cnt = (uint32_t)run->key; cnt > 0; cnt--) {
		vec_push(&w->found, record);
		record = (const struct record *)((const char *)record + record->size);
	}
}

int records_walk(const struct records *r, struct record_walk *w,
		 int (*trace)(void *ctx, const struct trace *trace), void *ctx,
		 struct assembler_stats *stats)
{
	if (!r->len)
		return 0;
	runs_sort(r, w);
	for (size_t from = 0, to; from < w->runs.cnt; from = to) {
		int err;

		vec_clear(&w->found);
		for (to = from; to < w->runs.cnt; to++) {
			const struct keyed *run = &w->runs.items[to];

			run_fetch(r, w, to + AHEAD);
			if (to > from && (!same_half(run, run - 1) ||
					  !same_trace(w->found.items[0], run_at(r, run))))
				break;
			run_take(r, w, run);
		}
		err = trace_give(w, trace, ctx, stats);
		if (err < 0)
			return err;
	}
	return 0;
}
