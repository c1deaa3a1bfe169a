/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many files hold a trace's spans side by side: what is sorted are
 * runs of records of one trace, by the upper half of the id's hash, then,
 * for the few that share it, by hash and id.
 */
#include "spans/assemble_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
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
	vec_release(&w->spans);
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

/* Bytes of the record. */
static size_t record_size(const struct span *span)
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
	to->trace = *trace;
	to->span = *span;
	to->span.attr_idx = (uint32_t)size;
	to->span.ref_idx = 0;
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
	       record->span.attr_idx == record_size(&record->span);
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

/* Spans with the same begin: by id, then by what does not depend on when texts came. */
static int by_rest(const void *a, const void *b, void *found)
{
	const struct record *const *records = found;
	const struct record *p = records[((const struct keyed *)a)->idx];
	const struct record *q = records[((const struct keyed *)b)->idx];
	const struct span *x = &p->span, *y = &q->span;

	CMP(x->id, y->id);
	CMP(x->end_ns, y->end_ns);
	CMP(x->parent, y->parent);
	CMP(x->kind, y->kind);
	CMP(x->flags, y->flags);
	CMP(x->attr_idx, y->attr_idx);
	return memcmp(p, q, record_bytes(p));
}

/* Which of found comes when. */
static const struct keyed *found_sort(struct record_walk *w)
{
	size_t cnt = w->found.cnt;
	struct keyed *keys;

	/* The runs are in use: these go behind them. */
	vec_reserve(&w->runs, w->runs.cnt + cnt);
	vec_reserve(&w->tmp, cnt);
	keys = w->runs.items + w->runs.cnt;
	for (size_t i = 0; i < cnt; i++)
		keys[i] = (struct keyed){keysort_signed(w->found.items[i]->span.begin_ns),
					 (uint32_t)i, 0};
	keysort(keys, w->tmp.items, cnt);
	for (size_t from = 0, to; from < cnt; from = to) {
		for (to = from + 1; to < cnt && keys[to].key == keys[from].key;)
			to++;
		if (to - from > 1)
			qsort_r(&keys[from], to - from, sizeof(*keys), by_rest,
				(void *)w->found.items);
	}
	return keys;
}

/* The attributes stay where they are. */
static void span_take(const struct records *r, struct record_walk *w, const struct record *record)
{
	const struct attr *attrs = (const struct attr *)(record + 1);
	const struct span_ref *refs = (const struct span_ref *)(attrs + record->span.attr_cnt);
	struct span *span = &w->spans.items[w->spans.cnt++];

	*span = record->span;
	span->attr_idx = (uint32_t)(attrs - (const struct attr *)r->data);
	span->ref_idx = (uint32_t)w->refs.cnt;
	for (uint32_t i = 0; i < span->ref_cnt; i++)
		vec_push(&w->refs, refs[i]);
}

static bool is_twin(const struct record *a, const struct record *b)
{
	return a->span.attr_idx == b->span.attr_idx && a->span.id == b->span.id &&
	       !memcmp(a, b, record_bytes(a));
}

static int trace_give(const struct records *r, struct record_walk *w,
		      int (*trace)(void *, const struct trace *), void *ctx,
		      struct assembler_stats *stats)
{
	struct trace whole = {.id = w->found.items[0]->trace,
			      .attrs = (const struct attr *)r->data};
	const struct keyed *order = found_sort(w);
	const struct record *last = NULL;

	vec_clear(&w->spans);
	vec_clear(&w->refs);
	vec_reserve(&w->spans, w->found.cnt);
	for (size_t i = 0; i < w->found.cnt; i++) {
		const struct record *record = w->found.items[order[i].idx];

		if (last && is_twin(last, record)) {
			stats->duplicate_cnt++;
			continue;
		}
		if (w->spans.cnt == ASSEMBLE_SPANS_MAX) {
			stats->cut_span_cnt += w->found.cnt - i;
			stats->cut_trace_cnt++;
			break;
		}
		span_take(r, w, record);
		whole.attr_cnt += record->span.attr_cnt;
		last = record;
	}
	whole.spans = w->spans.items;
	whole.refs = w->refs.items;
	whole.span_cnt = (uint32_t)w->spans.cnt;
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
		record = (const struct record *)((const char *)record + record_bytes(record));
	}
}

int records_walk(const struct records *r, struct record_walk *w,
		 int (*trace)(void *ctx, const struct trace *trace), void *ctx,
		 struct assembler_stats *stats)
{
	if (!r->len)
		return 0;
	BUG_ON(r->len > RECORDS_BYTES_MAX);
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
		err = trace_give(r, w, trace, ctx, stats);
		if (err < 0)
			return err;
	}
	return 0;
}
