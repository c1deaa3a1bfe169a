/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order by preds where references say otherwise than the clock: of the nodes
 * with nothing left before them always the first by time; when there is none,
 * there is a ring, and the first node that only waits for references loses
 * them.  Times rise to that of the latest pred.
 */
#include "base/arena.h"
#include "base/keysort.h"
#include "requests/graph/graph_int.h"

struct heap {			/* smallest number first */
	uint32_t *items;
	uint32_t cnt;
};

struct ordering {
	struct graph_making *m;
	uint32_t *succ_idx, *succs;
	uint32_t *tree_left, *ref_left;	/* preds not yet done, by node */
	bool *done;
	struct heap ready, stuck;	/* stuck: only references left */
	uint32_t *order;
	uint32_t order_cnt;
};

static void heap_push(struct heap *h, uint32_t item)
{
	uint32_t at = h->cnt++;

	for (; at && h->items[(at - 1) / 2] > item; at = (at - 1) / 2)
		h->items[at] = h->items[(at - 1) / 2];
	h->items[at] = item;
}

static uint32_t heap_pop(struct heap *h)
{
	uint32_t top = h->items[0], item = h->items[--h->cnt], at = 0;

	for (uint32_t child; (child = 2 * at + 1) < h->cnt; at = child) {
		if (child + 1 < h->cnt && h->items[child + 1] < h->items[child])
			child++;
		if (h->items[child] >= item)
			break;
		h->items[at] = h->items[child];
	}
	h->items[at] = item;
	return top;
}

static uint32_t own_preds(const struct graph_making *m, uint32_t node)
{
	return m->nodes[node].pred_cnt - m->ref_preds[node];
}

/* Each as its node times two, and one for a reference: nodes are under 2^24. */
static void succs_make(struct ordering *o)
{
	const struct graph_making *m = o->m;
	struct arena *arena = m->ctx->arena;
	size_t cnt = 0;

	o->succ_idx = ARENA_ARRAY(arena, uint32_t, (size_t)m->node_cnt + 2);
	for (uint32_t i = 0; i < m->node_cnt; i++) {
		cnt += m->nodes[i].pred_cnt;
		for (uint32_t p = 0; p < m->nodes[i].pred_cnt; p++)
			o->succ_idx[m->preds[m->nodes[i].pred_idx + p] + 2]++;
	}
	for (uint32_t i = 2; i < m->node_cnt + 2; i++)
		o->succ_idx[i] += o->succ_idx[i - 1];
	o->succs = ARENA_ARRAY(arena, uint32_t, cnt);
	for (uint32_t i = 0; i < m->node_cnt; i++) {
		for (uint32_t p = 0; p < m->nodes[i].pred_cnt; p++) {
			uint32_t pred = m->preds[m->nodes[i].pred_idx + p];

			/* what is counted up here ends as the begin of the next one's */
			o->succs[o->succ_idx[pred + 1]++] = 2 * i + (p >= own_preds(m, i));
		}
	}
}

/* A pred of node is done, or none were there from the start. */
static void node_check(struct ordering *o, uint32_t node)
{
	if (!o->tree_left[node])
		heap_push(o->ref_left[node] ? &o->stuck : &o->ready, node);
}

static void node_do(struct ordering *o, uint32_t node)
{
	struct gnode *at = &o->m->nodes[node];
	int64_t at_ns = at->at_ns;

	for (uint32_t p = 0; p < at->pred_cnt; p++) {
		int64_t before = o->m->nodes[o->m->preds[at->pred_idx + p]].at_ns;

		if (before > at_ns)
			at_ns = before;
	}
	o->m->ctx->stats->raised_cnt += at_ns != at->at_ns;
	at->at_ns = at_ns;
	o->done[node] = true;
	o->order[o->order_cnt++] = node;
	for (uint32_t i = o->succ_idx[node]; i < o->succ_idx[node + 1]; i++) {
		uint32_t succ = o->succs[i] / 2;

		if (o->done[succ])
			continue;
		if (!(o->succs[i] & 1)) {
			if (!--o->tree_left[succ])
				node_check(o, succ);
		} else if (!--o->ref_left[succ] && !o->tree_left[succ]) {
			heap_push(&o->ready, succ);
		}
	}
}

/* Its references to what is not done are forgotten. */
static void ring_break(struct ordering *o, uint32_t node)
{
	struct gnode *at = &o->m->nodes[node];
	uint32_t *preds = o->m->preds + at->pred_idx, kept = 0;

	for (uint32_t p = 0; p < at->pred_cnt; p++) {
		if (o->done[preds[p]])
			preds[kept++] = preds[p];
	}
	if (!kept)	/* nothing else orders it: it is a part of the request */
		preds[kept++] = o->m->spans[o->m->tree->root].entry;
	at->pred_cnt = kept;
	o->ref_left[node] = 0;
	o->m->ctx->stats->cycle_cnt++;
	node_do(o, node);
}

static void nodes_walk(struct ordering *o)
{
	const struct graph_making *m = o->m;

	for (uint32_t i = 0; i < m->node_cnt; i++) {
		o->tree_left[i] = own_preds(m, i);
		o->ref_left[i] = m->ref_preds[i];
		node_check(o, i);
	}
	while (o->order_cnt < m->node_cnt) {
		if (o->ready.cnt) {
			node_do(o, heap_pop(&o->ready));
		} else {
			uint32_t node = heap_pop(&o->stuck);

			if (!o->done[node])
				ring_break(o, node);
		}
	}
}

/* Nodes in the new order, then by the new times; preds follow. */
static void nodes_reorder(struct graph_making *m, const uint32_t *order)
{
	struct gnode *from = m->nodes;
	uint32_t *first = ARENA_ARRAY(m->ctx->arena, uint32_t, m->node_cnt);
	uint32_t *second = ARENA_ARRAY(m->ctx->arena, uint32_t, m->node_cnt);

	m->nodes = ARENA_ARRAY(m->ctx->arena, struct gnode, m->node_cnt);
	for (uint32_t i = 0; i < m->node_cnt; i++) {
		m->nodes[i] = from[order[i]];
		first[order[i]] = i;
	}
	graph_nodes_sort(m);
	for (uint32_t i = 0; i < m->node_cnt; i++)
		second[m->keys[i].idx] = i;
	for (size_t i = 0; i < m->pred_cnt; i++)
		m->preds[i] = second[first[m->preds[i]]];
}

void graph_order_mend(struct graph_making *m)
{
	struct arena *arena = m->ctx->arena;
	size_t cnt = m->node_cnt;
	struct ordering o = {
		.m = m,
		.tree_left = ARENA_ARRAY(arena, uint32_t, cnt),
		.ref_left = ARENA_ARRAY(arena, uint32_t, cnt),
		.done = ARENA_ARRAY(arena, bool, cnt),
		.ready.items = ARENA_ARRAY(arena, uint32_t, cnt),
		.stuck.items = ARENA_ARRAY(arena, uint32_t, cnt),
		.order = ARENA_ARRAY(arena, uint32_t, cnt),
	};

	succs_make(&o);
	nodes_walk(&o);
	nodes_reorder(m, o.order);
}
