/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most files hold a trace's spans side by side or nearly: what is sorted are
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
	*r = (struct records){0};
}

void record_walk_release(struct record_walk *w)
{
	vec_release(&w->offs);
	vec_release(&w->keys);
	vec_release(&w->tmp);
	vec_release(&w->found);
	vec_release(&w->sorted);
	vec_release(&w->spans);
	vec_release(&w->attrs);
	vec_release(&w->refs);
}

uint64_t records_cost(uint64_t bytes, uint64_t cnt)
{
	return bytes + cnt * (sizeof(size_t) + 2 * sizeof(struct keyed));
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

void records_add(struct records *r, const struct trace_id *trace, const struct span *span,
		 const struct attr *attrs, const struct span_ref *refs)
{
	size_t size = record_size(span);
	struct record *to;

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

static const struct record *record_at(const struct records *r, size_t off)
{
	return (const struct record *)(r->data + off);
}

static bool same_trace(const struct record *a, const struct record *b)
{
	return a->trace.lo == b->trace.lo && a->trace.hi == b->trace.hi;
}

static void runs_find(const struct records *r, struct record_walk *w)
{
	const struct record *last = NULL;

	vec_clear(&w->offs);
	vec_clear(&w->keys);
	for (size_t off = 0; off < r->len;) {
		const struct record *record = record_at(r, off);

		if (!last || !same_trace(last, record)) {
			uint32_t run = (uint32_t)w->offs.cnt;
			struct keyed key = {record_hash(&record->trace) >> 32, run, 0};

			vec_push(&w->keys, key);
			vec_push(&w->offs, off);
		}
		last = record;
		off += record->size;
	}
	vec_push(&w->offs, r->len);
}

struct sorting {
	const struct records *r;
	const struct record_walk *w;
};

static int by_trace(const void *a, const void *b, void *ctx)
{
	const struct sorting *s = ctx;
	const struct keyed *k = a, *l = b;
	const struct record *x = record_at(s->r, s->w->offs.items[k->idx]);
	const struct record *y = record_at(s->r, s->w->offs.items[l->idx]);

	CMP(record_hash(&x->trace), record_hash(&y->trace));
	CMP(x->trace.hi, y->trace.hi);
	CMP(x->trace.lo, y->trace.lo);
	CMP(k->idx, l->idx);
	return 0;
}

static void runs_sort(const struct records *r, struct record_walk *w)
{
	struct sorting s = {r, w};
	struct keyed *keys = w->keys.items;
	size_t cnt = w->keys.cnt;

	vec_reserve(&w->tmp, cnt);
	keysort(keys, w->tmp.items, cnt);
	for (size_t from = 0, to; from < cnt; from = to) {
		const struct record *first = record_at(r, w->offs.items[keys[from].idx]);
		bool mixed = false;

		for (to = from + 1; to < cnt && keys[to].key == keys[from].key; to++)
			mixed |= !same_trace(first, record_at(r, w->offs.items[keys[to].idx]));
		if (mixed)
			qsort_r(&keys[from], to - from, sizeof(*keys), by_trace, &s);
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

	/* The runs' keys are in use: these go behind them. */
	vec_reserve(&w->keys, w->keys.cnt + cnt);
	vec_reserve(&w->tmp, cnt);
	vec_reserve(&w->sorted, cnt);
	keys = w->keys.items + w->keys.cnt;
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
	for (uint32_t i = 0; i < span.attr_cnt; i++)
		vec_push(&w->attrs, attrs[i]);
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

static void run_take(const struct records *r, struct record_walk *w, uint32_t run)
{
	for (size_t off = w->offs.items[run]; off < w->offs.items[run + 1];) {
		const struct record *record = record_at(r, off);

		vec_push(&w->found, record);
		off += record->size;
	}
}

int records_walk(const struct records *r, struct record_walk *w,
		 int (*trace)(void *ctx, const struct trace *trace), void *ctx,
		 struct assembler_stats *stats)
{
	if (!r->len)
		return 0;
	runs_find(r, w);
	runs_sort(r, w);
	for (size_t from = 0, to; from < w->keys.cnt; from = to) {
		int err;

		vec_clear(&w->found);
		for (to = from; to < w->keys.cnt; to++) {
			uint32_t run = w->keys.items[to].idx;

			if (to > from && !same_trace(w->found.items[0],
						     record_at(r, w->offs.items[run])))
				break;
			run_take(r, w, run);
		}
		err = trace_give(w, trace, ctx, stats);
		if (err < 0)
			return err;
	}
	return 0;
}
