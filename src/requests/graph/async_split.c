/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/graph/async_split.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "trace/trace.h"

#define NO_SPAN UINT32_MAX

struct by_id {
	uint64_t id;
	uint32_t span;
	bool top;	/* of a part: whose children go with it rather than with its twin */
};

struct detaching {
	const struct trace *trace;
	struct arena *arena;
	struct by_id *ids;	/* sorted */
	uint32_t *part;		/* by span: the top of its part, NO_SPAN: what is left */
	uint32_t *tops;
	uint32_t top_cnt;
};

/* The reference to the span that it is said to follow, or NULL. */
static const struct span_ref *follows(const struct trace *t, const struct span *s)
{
	for (uint32_t i = 0; i < s->ref_cnt; i++) {
		const struct span_ref *ref = &t->refs[s->ref_idx + i];

		if (ref->kind == SPAN_REF_FOLLOWS &&
		    ((!ref->trace.hi && !ref->trace.lo) || !trace_id_cmp(&ref->trace, &t->id)))
			return ref;
	}
	return NULL;
}

static uint64_t begun_by(const struct trace *t, const struct span *s)
{
	const struct span_ref *ref = s->parent ? NULL : follows(t, s);

	return ref ? ref->span : s->parent;
}

/* Most traces have none, and need no table. */
static bool may_have(const struct trace *t)
{
	for (uint32_t i = 0; i < t->span_cnt; i++)
		if (t->spans[i].kind == SPAN_CONSUMER && begun_by(t, &t->spans[i]))
			return true;
	return false;
}

/* Those of one id in an order of their own, whatever that of the trace is. */
static int by_id(const void *a, const void *b, void *ctx)
{
	const struct by_id *x = a, *y = b;
	const struct span *spans = ctx, *s = &spans[x->span], *t = &spans[y->span];

	CMP(x->id, y->id);
	CMP(y->top, x->top);
	CMP(s->begin_ns, t->begin_ns);
	CMP(s->end_ns, t->end_ns);
	CMP(s->parent, t->parent);
	CMP(s->kind, t->kind);
	return 0;
}

static void sort_ids(struct detaching *d)
{
	qsort_r(d->ids, d->trace->span_cnt, sizeof(*d->ids), by_id, (void *)d->trace->spans);
}

/* The first of that id, or NULL. */
static const struct by_id *find(const struct detaching *d, uint64_t id)
{
	uint32_t low = 0, high = d->trace->span_cnt;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (d->ids[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return id && low < d->trace->span_cnt && d->ids[low].id == id ? &d->ids[low] : NULL;
}

static bool is_produced(const struct detaching *d, const struct span *s)
{
	const struct by_id *at = s->parent ? find(d, s->parent) : NULL;
	const struct by_id *end = d->ids + d->trace->span_cnt;

	for (; at && at < end && at->id == s->parent; at++)
		if (d->trace->spans[at->span].kind == SPAN_PRODUCER)
			return true;
	return false;
}

static int tops_cmp(const void *a, const void *b, void *ctx)
{
	const struct span *spans = ctx;
	const struct span *x = &spans[*(const uint32_t *)a], *y = &spans[*(const uint32_t *)b];

	CMP(x->begin_ns, y->begin_ns);
	CMP(x->end_ns, y->end_ns);
	CMP(x->id, y->id);
	return 0;
}

static void find_tops(struct detaching *d)
{
	const struct trace *t = d->trace;

	d->ids = ARENA_ARRAY(d->arena, struct by_id, t->span_cnt);
	d->tops = ARENA_ARRAY(d->arena, uint32_t, t->span_cnt);
	for (uint32_t i = 0; i < t->span_cnt; i++)
		d->ids[i] = (struct by_id){.id = t->spans[i].id, .span = i};
	sort_ids(d);
	for (uint32_t i = 0; i < t->span_cnt; i++) {
		const struct span *s = &t->spans[d->ids[i].span];
		const struct span_ref *ref = follows(t, s);

		if (s->kind != SPAN_CONSUMER ||
		    (!is_produced(d, s) && !(ref && find(d, ref->span) && ref->span != s->id)))
			continue;
		d->ids[i].top = true;
		d->tops[d->top_cnt++] = d->ids[i].span;
	}
	sort_ids(d);
	qsort_r(d->tops, d->top_cnt, sizeof(*d->tops), tops_cmp, (void *)t->spans);
}

/*
 * Upwards until a top, or what is known already; a ring of parents stays where it is.
 * Each walk ends at what an earlier one has seen, so all of them are linear.
 */
static void find_parts(struct detaching *d)
{
	uint32_t cnt = d->trace->span_cnt;
	uint32_t *walk = ARENA_ARRAY(d->arena, uint32_t, cnt);
	uint32_t *seen = ARENA_ARRAY(d->arena, uint32_t, cnt);

	d->part = ARENA_ARRAY(d->arena, uint32_t, cnt);
	for (uint32_t i = 0; i < d->top_cnt; i++) {
		d->part[d->tops[i]] = d->tops[i];
		seen[d->tops[i]] = NO_SPAN;
	}
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t at = i, depth = 0, part;

		while (at != NO_SPAN && !seen[at]) {
			const struct by_id *up = find(d, begun_by(d->trace, &d->trace->spans[at]));

			seen[at] = i + 1;
			walk[depth++] = at;
			at = up ? up->span : NO_SPAN;
		}
		part = at == NO_SPAN || seen[at] == i + 1 ? NO_SPAN : d->part[at];
		while (depth)
			d->part[walk[--depth]] = part;
	}
}

/* The span's own attributes and references behind those that are there. */
static void put_span(const struct trace *from, uint32_t span, bool top, struct trace *to)
{
	struct span *new = (struct span *)(uintptr_t)&to->spans[to->span_cnt++];
	struct attr *attrs = (struct attr *)(uintptr_t)&to->attrs[to->attr_cnt];
	struct span_ref *refs = (struct span_ref *)(uintptr_t)&to->refs[to->ref_cnt];

	*new = from->spans[span];
	for (uint32_t i = 0; i < new->attr_cnt; i++)
		attrs[i] = from->attrs[new->attr_idx + i];
	if (top) {	/* the whole of its request now */
		new->parent = 0;
		new->ref_cnt = 0;
	}
	for (uint32_t i = 0; i < new->ref_cnt; i++)
		refs[i] = from->refs[new->ref_idx + i];
	new->attr_idx = to->attr_cnt;
	new->ref_idx = to->ref_cnt;
	to->attr_cnt += new->attr_cnt;
	to->ref_cnt += new->ref_cnt;
}

/* Traces by part: what is left is the first, then as tops are. */
static struct trace *parts_make(const struct detaching *d)
{
	const struct trace *t = d->trace;
	struct trace *parts = ARENA_ARRAY(d->arena, struct trace, (size_t)d->top_cnt + 1);
	uint32_t *number = ARENA_ARRAY(d->arena, uint32_t, t->span_cnt);

	for (uint32_t i = 0; i < d->top_cnt; i++)
		number[d->tops[i]] = i + 1;
	for (uint32_t i = 0; i < t->span_cnt; i++) {
		struct trace *p = &parts[d->part[i] == NO_SPAN ? 0 : number[d->part[i]]];

		p->span_cnt++;
		p->attr_cnt += t->spans[i].attr_cnt;
		p->ref_cnt += t->spans[i].ref_cnt;
	}
	for (uint32_t i = 0; i <= d->top_cnt; i++)
		parts[i] = (struct trace){
			.id = t->id,
			.spans = ARENA_ARRAY(d->arena, struct span, parts[i].span_cnt + 1),
			.attrs = ARENA_ARRAY(d->arena, struct attr, parts[i].attr_cnt + 1),
			.refs = ARENA_ARRAY(d->arena, struct span_ref, parts[i].ref_cnt + 1),
		};
	for (uint32_t i = 0; i < t->span_cnt; i++)
		put_span(t, i, d->part[i] == i,
			 &parts[d->part[i] == NO_SPAN ? 0 : number[d->part[i]]]);
	return parts;
}

int detach_each(const struct trace *trace, struct arena *arena, struct detach_stats *stats,
		int (*take)(void *ctx, const struct trace *part), void *ctx)
{
	struct detaching d = {.trace = trace, .arena = arena};
	const struct trace *parts;
	int code = 0;

	if (may_have(trace))
		find_tops(&d);
	if (!d.top_cnt)
		return take(ctx, trace);
	find_parts(&d);
	stats->trace_cnt++;
	stats->part_cnt += d.top_cnt;
	parts = parts_make(&d);
	for (uint32_t i = 0; i <= d.top_cnt && code == 0; i++)
		code = parts[i].span_cnt ? take(ctx, &parts[i]) : 0;
	return code;
}
