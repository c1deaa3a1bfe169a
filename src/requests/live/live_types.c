/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/live/live_types.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "requests/graph/critical.h"
#include "requests/graph/critical_fast.h"
#include "requests/graph/graph.h"
#include "requests/tree/tree.h"
#include "requests/stats/histograms.h"
#include "requests/stats/path.h"
#include "trace/points.h"

#define UNIT_BITS 10	   /* the finest bucket is a microsecond */
#define PATHS_MAX 4096	   /* whose edges' places are known; more are forgotten, all of them */
#define TO_US(ns) ((double)(ns) / 1000)

struct edge_sum {
	struct edge_key key;
	uint64_t hash, cnt;
	double sum_us, sum_xt;
};

struct live_type {
	struct live_slice slice;	/* without its edges */
	uint32_t point, detail;
	VEC(struct edge_sum) edges;	/* the first: other */
	struct hmap by_edge;
};

struct known_path {		/* of one exact path: where its edges are summed */
	uint32_t type;
	uint32_t first, cnt;	/* in columns */
};

struct live_types {
	struct strtab *strings;
	struct points points;
	struct arena arena;	/* of one trace */
	struct graph_stats graph_stats;
	struct live_types_stats stats;
	VEC(struct live_type) types;
	struct hmap by_type;
	VEC(struct known_path) paths;
	VEC(uint32_t) columns;
	struct hmap by_path;
	struct live_slice out;
};

static uint32_t live_bucket(uint64_t ns)
{
	uint32_t bucket = bucket_of(ns >> UNIT_BITS, LIVE_BITS);

	return bucket < LIVE_BUCKETS ? bucket : LIVE_BUCKETS - 1;
}

uint64_t live_bucket_low(uint32_t bucket)
{
	return bucket_low(bucket, LIVE_BITS) << UNIT_BITS;
}

struct live_types *live_types_new(struct strtab *strings)
{
	struct live_types *l = xcalloc(1, sizeof(*l));

	l->strings = strings;
	return l;
}

static void forget_paths(struct live_types *l)
{
	vec_clear(&l->paths);
	vec_clear(&l->columns);
	hmap_clear(&l->by_path);
}

static void forget_types(struct live_types *l)
{
	VEC_FOREACH(&l->types, t) {
		vec_release(&t->edges);
		hmap_release(&t->by_edge);
	}
	vec_clear(&l->types);
	hmap_clear(&l->by_type);
	forget_paths(l);
}

void live_types_forget(struct live_types *l)
{
	forget_types(l);
	points_release(&l->points);
	l->points = (struct points){0};
}

void live_types_free(struct live_types *l)
{
	if (!l)
		return;
	live_types_forget(l);
	vec_release(&l->types);
	vec_release(&l->paths);
	vec_release(&l->columns);
	hmap_release(&l->by_type);
	hmap_release(&l->by_path);
	arena_release(&l->arena);
	free(l);
}

/* ---- adding */

/* The index of the type, UINT32_MAX: there is no room for it. */
static uint32_t type_of(struct live_types *l, const struct graph *graph)
{
	struct live_type *t;
	uint64_t idx;

	if (hmap_get(&l->by_type, graph->type_hash, &idx))
		return (uint32_t)idx;
	if (l->types.cnt >= LIVE_TYPES_MAX)
		return UINT32_MAX;
	t = vec_add(&l->types);
	t->slice.hash = graph->type_hash;
	t->point = graph->type_point;
	t->detail = graph->type_detail;
	(void)vec_add(&t->edges);
	hmap_put(&l->by_type, graph->type_hash, l->types.cnt - 1);
	return (uint32_t)l->types.cnt - 1;
}

static uint64_t point_of(const struct live_types *l, uint32_t point)
{
	return point == REQUEST_POINT_NONE ? 0 : l->points.items.items[point].hash;
}

/* As the hash of an edge of requests.h, but all edges between the same two are one. */
static uint32_t edge_of(const struct live_types *l, struct live_type *t,
			const struct edge_key *key)
{
	uint64_t hash = hash_pair(hash_pair(point_of(l, key->from) + key->from_kind,
					    point_of(l, key->to) + key->to_kind),
				  point_of(l, key->owner)), idx;
	struct edge_sum *e;

	if (key->owner == REQUEST_POINT_NONE)
		return 0;
	if (hmap_get(&t->by_edge, hash, &idx))
		return (uint32_t)idx;
	if (t->edges.cnt > LIVE_EDGES_MAX)
		return 0;
	e = vec_add(&t->edges);
	e->key = *key;
	e->hash = hash;
	hmap_put(&t->by_edge, hash, t->edges.cnt - 1);
	return (uint32_t)t->edges.cnt - 1;
}

/* The place of a path's edges in the sums: known from the last such path, or found now. */
static const struct known_path *path_known(struct live_types *l, const struct graph *graph,
					   const struct cpath *cpath, struct path *path)
{
	uint64_t key = hash_pair(graph->type_hash, cpath->hash), idx;
	struct known_path *known;
	uint32_t type;

	if (hmap_get(&l->by_path, key, &idx) && l->paths.items[idx].cnt == path->edge_cnt)
		return &l->paths.items[idx];
	if (l->paths.cnt >= PATHS_MAX)
		forget_paths(l);
	type = type_of(l, graph);
	if (type == UINT32_MAX)
		return NULL;
	path_name_edges(path, cpath, &l->points, &l->arena);
	known = vec_add(&l->paths);
	*known = (struct known_path){type, (uint32_t)l->columns.cnt, path->edge_cnt};
	for (uint32_t i = 0; i < path->edge_cnt; i++)
		vec_push(&l->columns, edge_of(l, &l->types.items[type], &path->keys[i]));
	hmap_put(&l->by_path, key, l->paths.cnt - 1);
	return known;
}

static void add_total(struct live_slice *s, const struct trace *trace, int64_t total_ns,
		      bool failed)
{
	uint64_t ns = (uint64_t)total_ns;

	if (!s->cnt || ns > s->max_ns) {
		s->max_ns = ns;
		s->slowest = trace->id;
	}
	s->cnt++;
	s->sum_us += TO_US(ns);
	s->sum_sq += TO_US(ns) * TO_US(ns);
	s->hist[live_bucket(ns)]++;
	if (!failed)
		return;
	s->failed_cnt++;
	s->failed = trace->id;
}

void live_types_add(struct live_types *l, const struct trace *trace)
{
	struct tree_ctx ctx = {&l->points, l->strings, &l->arena, &l->graph_stats};
	const struct known_path *known;
	struct live_type *t;
	struct graph graph;
	struct cpath cpath;
	struct path path;

	arena_clear(&l->arena);
	if (quick_path(&ctx, trace, NULL, &graph, &cpath) < 0) {
		l->stats.bad_cnt++;
		return;
	}
	path_of(&trace->id, &cpath, &l->arena, &path);
	known = path_known(l, &graph, &cpath, &path);
	if (!known) {
		l->stats.type_over_cnt++;
		return;
	}
	t = &l->types.items[known->type];
	for (uint32_t i = 0; i < path.edge_cnt; i++) {
		struct edge_sum *e = &t->edges.items[l->columns.items[known->first + i]];

		e->cnt++;
		e->sum_us += TO_US(path.took_ns[i]);
		e->sum_xt += TO_US(path.took_ns[i]) * TO_US(path.total_ns);
	}
	add_total(&t->slice, trace, path.total_ns,
		  trace->spans[graph.root_span].flags & SPANF_ERROR);
}

/* ---- giving out */

/* Cut between characters; what a terminal would act on is a question mark. */
static void copy_text(char *to, size_t size, const char *text)
{
	size_t left = strlen(text), at = 0;

	while (left) {
		uint32_t cp;
		size_t len = utf8_decode(text, left, &cp);
		bool shown = len && !utf8_is_unsafe(cp);

		len += !len;
		if (at + len >= size)
			break;
		if (!shown)
			to[at++] = '?';
		else
			memcpy(to + at, text, len), at += len;
		text += len;
		left -= len;
	}
	to[at] = '\0';
}

static void point_name(const struct live_types *l, uint32_t point, struct buf *out)
{
	const struct point *p = &l->points.items.items[point];

	buf_printf(out, "%s %s", strtab_str(l->strings, p->service),
		   strtab_str(l->strings, p->name));
}

/* "in shop GET /cart until db SELECT", "in db SELECT": what ran, and between which two events. */
static void edge_name(const struct live_types *l, const struct edge_key *key, char *to)
{
	CLEANUP(buf_release) struct buf name = {0};

	buf_adds(&name, "in ");
	point_name(l, key->owner, &name);
	if (key->from != key->owner) {
		buf_adds(&name, key->from_kind == NODE_EXIT ? " after " : " since ");
		point_name(l, key->from, &name);
	}
	if (key->to != key->owner) {
		buf_adds(&name, key->to_kind == NODE_ENTRY ? " until " : " until the end of ");
		point_name(l, key->to, &name);
	}
	copy_text(to, LIVE_EDGE_LEN, buf_str(&name));
}

static int by_time(const void *a, const void *b)
{
	const struct edge_sum *x = a, *y = b;

	CMP(y->sum_us, x->sum_us);
	CMP(x->hash, y->hash);
	return 0;
}

static double cov(const struct edge_sum *e, const struct live_slice *s)
{
	return e->sum_xt - e->sum_us * s->sum_us / (double)s->cnt;
}

/* Half of those given are those with the most time, the others those that vary most. */
static void give_edges(struct live_types *l, struct live_type *t, struct live_slice *out)
{
	struct edge_sum *edges = t->edges.items + 1;
	size_t cnt = t->edges.cnt - 1;

	if (cnt > 1)
		qsort(edges, cnt, sizeof(*edges), by_time);
	for (size_t i = LIVE_EDGES_GIVEN / 2; i < cnt && i < LIVE_EDGES_GIVEN; i++) {
		size_t most = i;

		for (size_t k = i + 1; k < cnt; k++)
			if (cov(&edges[k], &t->slice) > cov(&edges[most], &t->slice))
				most = k;
		if (most != i) {
			struct edge_sum e = edges[i];

			edges[i] = edges[most];
			edges[most] = e;
		}
	}
	for (size_t i = 0; i < cnt && i < LIVE_EDGES_GIVEN; i++) {
		struct live_edge *e = &out->edges[out->edge_cnt++];

		e->hash = edges[i].hash;
		e->cnt = edges[i].cnt;
		e->sum_us = edges[i].sum_us;
		e->sum_xt = edges[i].sum_xt;
		edge_name(l, &edges[i].key, e->name);
	}
}

static void give(struct live_types *l, struct live_type *t)
{
	const struct point *p = &l->points.items.items[t->point];
	struct live_slice *out = &l->out;
	CLEANUP(buf_release) struct buf name = {0};

	*out = t->slice;
	buf_adds(&name, strtab_str(l->strings, p->name));
	if (t->detail && !strstr(buf_str(&name), strtab_str(l->strings, t->detail)))
		buf_printf(&name, " %s", strtab_str(l->strings, t->detail));
	copy_text(out->name, sizeof(out->name), buf_str(&name));
	copy_text(out->service, sizeof(out->service), strtab_str(l->strings, p->service));
	give_edges(l, t, out);
}

void live_types_take(struct live_types *l, void (*slice)(void *ctx, const struct live_slice *s),
		     void *ctx)
{
	VEC_FOREACH(&l->types, t) {
		give(l, t);
		slice(ctx, &l->out);
	}
	forget_types(l);
}

const struct live_types_stats *live_types_stats(const struct live_types *l)
{
	return &l->stats;
}
