/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans lie in blocks of one pool, a list of them for each trace; traces stand
 * in two queues, with root and without, the one that is quiet for longest
 * first, so that what is complete is found at their heads.
 */
#include "spans/live/open_traces.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/vec.h"

#define BLOCK_SPANS 4 /* half of all traces have no more */
#define MAX_BYTES (32u << 20)
#define QUIET_NS UINT64_C(6000000000)
#define ROOTLESS_NS UINT64_C(15000000000)
#define GIVEN_SLOTS (1 << 17) /* ids of traces given out last, a megabyte */
#define NONE UINT32_MAX

struct block {
	struct span spans[BLOCK_SPANS];
	uint32_t next;		/* of its trace, or of those that are free */
	uint32_t cnt;
};

struct open_trace {
	struct trace_id id;
	uint64_t key, last_ns;
	uint32_t prev, next;	/* in its queue; next also of those that are free */
	uint32_t first, last;	/* blocks */
	uint32_t span_cnt;
	uint32_t has_root;
};

struct queue {
	uint32_t first, last;
};

struct open_traces {
	struct open_traces_opts opts;
	struct open_traces_stats stats;
	struct block *blocks;
	uint32_t block_cnt, block_max, free_block;
	VEC(struct open_trace) traces;
	uint32_t free_trace;
	struct queue queues[2];	/* by has_root */
	struct hmap by_key;
	uint64_t *given;
	VEC(struct span) scratch;
};

struct open_traces *open_traces_new(const struct open_traces_opts *opts)
{
	struct open_traces *o = xcalloc(1, sizeof(*o));

	o->opts = *opts;
	if (!o->opts.max_bytes)
		o->opts.max_bytes = MAX_BYTES;
	if (!o->opts.quiet_ns)
		o->opts.quiet_ns = QUIET_NS;
	if (!o->opts.rootless_ns)
		o->opts.rootless_ns = ROOTLESS_NS;
	o->block_max = (uint32_t)(o->opts.max_bytes / sizeof(struct block)) + 1;
	o->blocks = xcalloc(o->block_max, sizeof(*o->blocks));
	o->given = xcalloc(GIVEN_SLOTS, sizeof(*o->given));
	o->free_block = o->free_trace = NONE;
	for (int i = 0; i < 2; i++)
		o->queues[i] = (struct queue){NONE, NONE};
	return o;
}

void open_traces_free(struct open_traces *o)
{
	if (!o)
		return;
	free(o->blocks);
	free(o->given);
	vec_release(&o->traces);
	vec_release(&o->scratch);
	hmap_release(&o->by_key);
	free(o);
}

/* ---- queues */

static void leave(struct open_traces *o, uint32_t idx)
{
	struct open_trace *t = &o->traces.items[idx];
	struct queue *q = &o->queues[t->has_root];

	if (t->prev != NONE)
		o->traces.items[t->prev].next = t->next;
	else
		q->first = t->next;
	if (t->next != NONE)
		o->traces.items[t->next].prev = t->prev;
	else
		q->last = t->prev;
}

static void enter(struct open_traces *o, uint32_t idx)
{
	struct open_trace *t = &o->traces.items[idx];
	struct queue *q = &o->queues[t->has_root];

	t->prev = q->last;
	t->next = NONE;
	if (q->last != NONE)
		o->traces.items[q->last].next = idx;
	else
		q->first = idx;
	q->last = idx;
}

/* ---- giving out */

static void give(struct open_traces *o, uint32_t idx)
{
	struct open_trace *t = &o->traces.items[idx];
	struct trace trace = {.id = t->id, .span_cnt = t->span_cnt};
	uint32_t at = t->first, next;

	vec_clear(&o->scratch);
	vec_reserve(&o->scratch, t->span_cnt);
	for (; at != NONE; at = next) {
		struct block *b = &o->blocks[at];

		memcpy(o->scratch.items + o->scratch.cnt, b->spans, b->cnt * sizeof(*b->spans));
		o->scratch.cnt += b->cnt;
		next = b->next;
		b->next = o->free_block;
		o->free_block = at;
	}
	trace.spans = o->scratch.items;
	o->stats.trace_cnt++;
	o->stats.rootless_cnt += !t->has_root;
	o->given[t->key & (GIVEN_SLOTS - 1)] = t->key;
	leave(o, idx);
	hmap_del(&o->by_key, t->key);
	t->next = o->free_trace;
	o->free_trace = idx;
	o->opts.trace(o->opts.ctx, &trace);
}

void open_traces_step(struct open_traces *o, uint64_t now_ns)
{
	const uint64_t quiet_ns[2] = {o->opts.rootless_ns, o->opts.quiet_ns};

	for (int i = 0; i < 2; i++) {
		while (o->queues[i].first != NONE) {
			uint32_t idx = o->queues[i].first;

			if (o->traces.items[idx].last_ns + quiet_ns[i] > now_ns)
				break;
			give(o, idx);
		}
	}
}

/* Memory is full: of the two that are quiet for longest the one that is nearer to its end. */
static void give_early(struct open_traces *o)
{
	uint32_t rooted = o->queues[1].first, rootless = o->queues[0].first;
	bool root = rooted != NONE &&
		    (rootless == NONE ||
		     o->traces.items[rooted].last_ns + o->opts.quiet_ns <=
			     o->traces.items[rootless].last_ns + o->opts.rootless_ns);

	o->stats.early_cnt++;
	give(o, root ? rooted : rootless);
}

/* ---- taking in */

static uint32_t block_new(struct open_traces *o)
{
	uint32_t at = o->free_block;

	if (at != NONE)
		o->free_block = o->blocks[at].next;
	else
		at = o->block_cnt++;
	o->blocks[at].next = NONE;
	o->blocks[at].cnt = 0;
	return at;
}

static bool is_full(const struct open_traces *o)
{
	return o->free_block == NONE && o->block_cnt >= o->block_max;
}

static uint32_t trace_new(struct open_traces *o, const struct trace_id *id, uint64_t key)
{
	uint32_t idx = o->free_trace;

	if (idx != NONE)
		o->free_trace = o->traces.items[idx].next;
	else
		(void)vec_add(&o->traces), idx = (uint32_t)o->traces.cnt - 1;
	o->traces.items[idx] = (struct open_trace){.id = *id, .key = key};
	o->traces.items[idx].first = o->traces.items[idx].last = block_new(o);
	hmap_put(&o->by_key, key, idx);
	return idx;
}

/* The trace of a span, out of its queue; NONE: it is not to be kept. */
static uint32_t trace_of(struct open_traces *o, const struct trace_id *id)
{
	uint64_t key = hash_pair(id->hi, id->lo), idx;

	if (!hmap_get(&o->by_key, key, &idx)) {
		if (o->given[key & (GIVEN_SLOTS - 1)] == key) {
			o->stats.late_cnt++;
			return NONE;
		}
		return trace_new(o, id, key);
	}
	if (o->traces.items[idx].span_cnt >= OPEN_TRACE_SPANS_MAX) {
		o->stats.cut_cnt++;
		return NONE;
	}
	leave(o, (uint32_t)idx);
	o->stats.joined_cnt += o->traces.items[idx].has_root;
	return (uint32_t)idx;
}

bool open_traces_add(struct open_traces *o, const struct trace_id *trace,
		     const struct span *span, uint64_t now_ns)
{
	struct open_trace *t;
	struct block *b;
	uint32_t idx;

	if (is_full(o))
		give_early(o);
	idx = trace_of(o, trace);
	if (idx == NONE)
		return false;
	t = &o->traces.items[idx];
	if (o->blocks[t->last].cnt == BLOCK_SPANS) {
		uint32_t more = is_full(o) ? NONE : block_new(o);

		if (more == NONE) { /* its own trace was the last that could be given out */
			enter(o, idx);
			o->stats.cut_cnt++;
			return false;
		}
		o->blocks[t->last].next = more;
		t->last = more;
	}
	b = &o->blocks[t->last];
	b->spans[b->cnt] = *span;
	b->spans[b->cnt].attr_cnt = b->spans[b->cnt].ref_cnt = 0;
	b->cnt++;
	t->span_cnt++;
	t->has_root |= !span->parent;
	t->last_ns = now_ns;
	enter(o, idx);
	return true;
}

void open_traces_rename(struct open_traces *o, uint32_t (*name)(void *ctx, uint32_t id),
			void *ctx)
{
	for (int i = 0; i < 2; i++) {
		for (uint32_t idx = o->queues[i].first; idx != NONE;
		     idx = o->traces.items[idx].next) {
			for (uint32_t at = o->traces.items[idx].first; at != NONE;
			     at = o->blocks[at].next) {
				struct block *b = &o->blocks[at];

				for (uint32_t k = 0; k < b->cnt; k++) {
					struct span *s = &b->spans[k];

					s->service = name(ctx, s->service);
					s->name = name(ctx, s->name);
					s->host = name(ctx, s->host);
				}
			}
		}
	}
}

const struct open_traces_stats *open_traces_stats(struct open_traces *o)
{
	o->stats.open_cnt = o->by_key.cnt;
	return &o->stats;
}
