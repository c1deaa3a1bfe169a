/* SPDX-License-Identifier: Apache-2.0 */
#include "traced/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

struct waiting {		/* one request */
	struct trace_id id;
	uint64_t last_ns, epoch;
	size_t bytes;
	VEC(struct span) spans;
	VEC(struct attr) attrs;
	VEC(struct span_ref) refs;
};

struct gather {
	uint32_t epoch_key;
	VEC(struct waiting *) waiting;
	struct hmap by_id, gone;	/* hash of the id: idx + 1 of waiting; 1 */
	uint64_t gone_ids[GATHER_GONE_MAX];
	size_t gone_cnt, bytes;
	struct gather_stats stats;
};

struct gather *gather_new(struct strtab *strings)
{
	struct gather *g = xcalloc(1, sizeof(*g));

	g->epoch_key = strtab_add(strings, "heldup.epoch");
	return g;
}

static void waiting_free(struct waiting *w)
{
	vec_release(&w->spans);
	vec_release(&w->attrs);
	vec_release(&w->refs);
	free(w);
}

void gather_free(struct gather *g)
{
	if (!g)
		return;
	VEC_FOREACH(&g->waiting, w)
		waiting_free(*w);
	vec_release(&g->waiting);
	hmap_release(&g->by_id);
	hmap_release(&g->gone);
	free(g);
}

const struct gather_stats *gather_stats(const struct gather *g)
{
	return &g->stats;
}

static uint64_t key_of(const struct trace_id *id)
{
	return hash_pair(id->hi, id->lo);
}

static struct waiting *waiting_of(struct gather *g, const struct trace_id *id)
{
	uint64_t *at = hmap_find(&g->by_id, key_of(id));
	struct waiting *w;

	if (at)
		return g->waiting.items[*at - 1];
	if (g->waiting.cnt == GATHER_TRACES_MAX)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	w->id = *id;
	vec_push(&g->waiting, w);
	hmap_put(&g->by_id, key_of(id), g->waiting.cnt);
	return w;
}

/* Its epoch goes to the request: as an attribute it would part requests by the search itself. */
static void attrs_take(struct gather *g, struct waiting *w, struct span *span,
		       const struct attr *attrs)
{
	uint32_t cnt = span->attr_cnt;

	span->attr_idx = (uint32_t)w->attrs.cnt;
	span->attr_cnt = 0;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct attr *a = &attrs[i];

		if (a->key != g->epoch_key) {
			vec_push(&w->attrs, *a);
			span->attr_cnt++;
		} else if (a->type == ATTR_NUM && a->num >= 1 && a->num < 1e15 &&
			   (!w->epoch || (uint64_t)a->num < w->epoch)) {
			w->epoch = (uint64_t)a->num;
		}
	}
}

bool gather_span(struct gather *g, uint64_t now_ns, const struct trace_id *id,
		 const struct span *span, const struct attr *attrs, const struct span_ref *refs)
{
	size_t bytes = sizeof(*span) + span->attr_cnt * sizeof(*attrs) +
		       span->ref_cnt * sizeof(*refs);
	struct waiting *w;
	struct span *to;

	if (hmap_find(&g->gone, key_of(id))) {
		g->stats.late_cnt++;
		return true;
	}
	w = g->bytes + bytes > GATHER_BYTES_MAX ? NULL : waiting_of(g, id);
	if (!w || w->spans.cnt == GATHER_SPANS_MAX) {
		g->stats.dropped_cnt++;
		return false;
	}
	g->bytes += bytes;
	w->bytes += bytes;
	w->last_ns = now_ns;
	to = vec_add(&w->spans);
	*to = *span;
	attrs_take(g, w, to, attrs);
	to->ref_idx = (uint32_t)w->refs.cnt;
	for (uint32_t i = 0; i < span->ref_cnt; i++)
		vec_push(&w->refs, refs[i]);
	return true;
}

/* A root, and each parent. */
static bool is_whole(const struct waiting *w)
{
	struct hmap ids = {0};
	bool root = false, missing = false;

	VEC_FOREACH(&w->spans, s)
		hmap_put(&ids, s->id, 1);
	VEC_FOREACH(&w->spans, s) {
		root |= !s->parent;
		missing |= s->parent && !hmap_find(&ids, s->parent);
	}
	hmap_release(&ids);
	return root && !missing;
}

/* Late spans of it are known for a while: those of GATHER_GONE_MAX requests. */
static void gone_note(struct gather *g, uint64_t key)
{
	uint64_t *at = &g->gone_ids[g->gone_cnt++ % GATHER_GONE_MAX];

	if (*at)
		hmap_del(&g->gone, *at);
	*at = key;
	hmap_put(&g->gone, key, 1);
}

static void give_out(struct gather *g, const struct waiting *w, bool whole,
		     void (*take)(void *ctx, const struct gathered *t), void *ctx)
{
	const struct gathered out = {
		.trace = {.id = w->id, .spans = w->spans.items, .attrs = w->attrs.items,
			  .refs = w->refs.items, .span_cnt = (uint32_t)w->spans.cnt,
			  .attr_cnt = (uint32_t)w->attrs.cnt, .ref_cnt = (uint32_t)w->refs.cnt},
		.epoch = w->epoch, .is_whole = whole};

	gone_note(g, key_of(&w->id));
	take(ctx, &out);
}

void gather_take(struct gather *g, uint64_t now_ns,
		 void (*take)(void *ctx, const struct gathered *t), void *ctx)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->waiting.cnt; i++) {
		struct waiting *w = g->waiting.items[i];
		bool settled = now_ns - w->last_ns >= GATHER_SETTLE_NS;
		bool whole = settled && is_whole(w);

		if (!whole && now_ns - w->last_ns < GATHER_WAIT_NS) {
			g->waiting.items[kept++] = w;
			hmap_put(&g->by_id, key_of(&w->id), kept);
			continue;
		}
		give_out(g, w, whole, take, ctx);
		hmap_del(&g->by_id, key_of(&w->id));
		g->bytes -= w->bytes;
		waiting_free(w);
	}
	g->waiting.cnt = kept;
}
