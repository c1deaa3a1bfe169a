/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace becomes a graph, the graph a critical path, the path a member of its
 * type's leaf.  What is known of a leaf can be merged with any other's, so
 * that how leaves are put together to groups can wait until all are known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/cmp.h"
#include "trace/points.h"
#include "requests/stats/attr_bins.h"
#include "requests/graph/path_hash.h"
#include "requests/graph/critical_fast.h"
#include "requests/requests_int.h"
#include "requests/graph/synthetic_root.h"
#include "requests/tree/tree.h"

static void leaf_free(struct leaf *leaf)
{
	vec_release(&leaf->bins);
	acc_release(&leaf->acc);
	samples_release(&leaf->samples);
	copies_release(&leaf->copies);
	free(leaf);
}

void type_forget_answer(struct type *type)
{
	acc_release(&type->all);
	VEC_FOREACH(&type->owned, acc) {
		acc_release(*acc);
		free(*acc);
	}
	vec_release(&type->owned);
	vec_release(&type->groups);
}

void type_free(struct type *type)
{
	if (!type)
		return;
	type_free(type->united);
	type_forget_answer(type);
	VEC_FOREACH(&type->leaves, leaf)
		leaf_free(*leaf);
	vec_release(&type->leaves);
	hmap_release(&type->by_shape);
	call_counts_release(&type->calls);
	free(type);
}

uint64_t type_cnt(const struct type *type)
{
	uint64_t cnt = 0;

	VEC_FOREACH(&type->leaves, leaf)
		cnt += (*leaf)->acc.cnt;
	return cnt;
}

struct requests *requests_new(const struct requests_opts *opts, struct strtab *strings,
			      struct points *points)
{
	struct requests *r = xcalloc(1, sizeof(*r));

	r->strings = strings;
	r->points = points;
	if (opts)
		r->opts = *opts;
	if (!(r->opts.cv_min > 0))
		r->opts.cv_min = 0.10;
	if (!(r->opts.slow_pct > 0))
		r->opts.slow_pct = 95;
	/* Under 20 the slowest 5 % are not one member, and a CV is 16 % off (1 / sqrt(2 n)). */
	if (!r->opts.min_cnt)
		r->opts.min_cnt = 20;
	if (!(r->opts.q_max > 0))
		r->opts.q_max = 0.01;
	r->sample_limit = UINT64_MAX;
	r->vars.host_key = strtab_add(strings, "host");
	r->vars.error_key = strtab_add(strings, "error");
	r->vars.start_key = strtab_add(strings, SAMPLES_START_KEY);
	return r;
}

void requests_free(struct requests *r)
{
	if (!r)
		return;
	VEC_FOREACH(&r->types, type)
		type_free(*type);
	vec_release(&r->types);
	hmap_release(&r->by_hash);
	key_vars_release(&r->vars);
	arena_release(&r->scratch);
	free(r);
}

int requests_path(struct requests *r, const struct trace *trace, struct graph *ret_graph,
		  struct cpath *ret_cpath)
{
	const struct key_specs keys = {r->opts.keys, r->opts.key_cnt};
	struct tree_ctx ctx = {r->points, r->strings, &r->scratch, &r->graph_stats};

	arena_clear(&r->scratch);
	return quick_path(&ctx, trace, bins_of(&keys, trace, r->strings, &r->scratch), ret_graph,
			  ret_cpath);
}

static struct type *type_of(struct requests *r, const struct graph *graph)
{
	const struct point *root = &r->points->items.items[graph->type];
	struct type *type;
	uint64_t idx;

	if (hmap_get(&r->by_hash, graph->type_hash, &idx))
		return r->types.items[idx];
	if (r->types.cnt >= REQUEST_TYPES_MAX)
		return NULL;
	type = xcalloc(1, sizeof(*type));
	type->hash = graph->type_hash;
	type->point = graph->type_point;
	type->detail = graph->type_detail;
	type->stood_in = !strcmp(strtab_str(r->strings, root->service), STAND_IN_SERVICE);
	hmap_put(&r->by_hash, type->hash, r->types.cnt);
	vec_push(&r->types, type);
	return type;
}

/* The leaf of an exact path that was there before, or NULL. */
static struct leaf *leaf_known(const struct type *type, uint64_t exact)
{
	uint64_t idx;

	if (type->level != CSHAPE_EXACT || !hmap_get(&type->by_shape, exact, &idx))
		return NULL;
	return type->leaves.items[idx];
}

struct leaf *leaf_of(struct type *type, const uint64_t *shape)
{
	struct leaf *leaf;
	uint64_t idx;

	if (hmap_get(&type->by_shape, shape[type->level], &idx))
		return type->leaves.items[idx];
	leaf = xcalloc(1, sizeof(*leaf));
	memcpy(leaf->shape, shape, sizeof(leaf->shape));
	leaf->group = REQUEST_ALL;
	hmap_put(&type->by_shape, shape[type->level], type->leaves.cnt);
	vec_push(&type->leaves, leaf);
	return leaf;
}

static int by_shape(const void *a, const void *b, void *ctx)
{
	const struct leaf *x = *(struct leaf *const *)a, *y = *(struct leaf *const *)b;
	const uint32_t *level = ctx;

	CMP(x->shape[*level], y->shape[*level]);
	return 0;
}

void leaves_sort(struct type *type)
{
	if (type->leaves.cnt > 1)
		qsort_r(type->leaves.items, type->leaves.cnt, sizeof(*type->leaves.items),
			by_shape, &type->level);
	for (size_t i = 0; i < type->leaves.cnt; i++)
		hmap_put(&type->by_shape, type->leaves.items[i]->shape[type->level], i);
}

static uint32_t summed_columns(const struct leaf *leaf)
{
	/* not leaf->acc.summed: asking for an answer sums up as well */
	return leaf->acc.cnt > ACC_RAW ? (uint32_t)leaf->acc.keys.cnt : 0;
}

void coarsen(struct requests *r, struct type *type)
{
	struct type old = *type;

	type->level++;
	memset(&type->leaves, 0, sizeof(type->leaves));
	memset(&type->by_shape, 0, sizeof(type->by_shape));
	type->column_cnt = 0;
	leaves_sort(&old);
	VEC_FOREACH(&old.leaves, one) {
		struct leaf *from = *one, *to = leaf_of(type, from->shape);

		acc_merge(&to->acc, &from->acc);
		to->failed_cnt += from->failed_cnt;
		to->message_cnt += from->message_cnt;
		r->sample_cnt -= samples_move(&to->samples, &from->samples);
		copies_move(&to->copies, &from->copies);
		leaf_free(from);
	}
	VEC_FOREACH(&type->leaves, leaf)
		type->column_cnt += summed_columns(*leaf);
	vec_release(&old.leaves);
	hmap_release(&old.by_shape);
}

static void halve_samples(struct requests *r)
{
	r->sample_limit /= 2;
	VEC_FOREACH(&r->types, type)
		VEC_FOREACH(&(*type)->leaves, leaf)
			r->sample_cnt -= samples_drop(&(*leaf)->samples, r->sample_limit);
}

static int by_point_and_label(const void *a, const void *b)
{
	const struct path_bin *x = a, *y = b;

	CMP(x->point, y->point);
	CMP(x->label, y->label);
	return 0;
}

/* Notes the names of the bins on the path: all of its members have the same ones. */
static void note_bins(struct requests *r, struct leaf *leaf, const struct trace *trace,
		      const struct cpath *cpath, const struct graph *graph)
{
	const struct key_specs keys = {r->opts.keys, r->opts.key_cnt};
	size_t kept = 0;

	for (uint32_t i = 0; i < cpath->step_cnt; i++) {
		uint32_t span = cpath->steps[i].span;

		if (graph->bins[span])
			bins_name(&keys, trace, span, cpath->steps[i].point, r->strings,
				  &r->scratch, &leaf->bins);
	}
	vec_sort(&leaf->bins, by_point_and_label);
	for (size_t i = 0; i < leaf->bins.cnt; i++)
		if (!kept || by_point_and_label(&leaf->bins.items[kept - 1],
						&leaf->bins.items[i]))
			leaf->bins.items[kept++] = leaf->bins.items[i];
	leaf->bins.cnt = kept;
}

/* The trace is that of the path; graph and cpath are what it came from. */
static void add_to_type(struct requests *r, struct type *type, const struct trace *trace,
			const struct graph *graph, struct cpath *cpath)
{
	struct leaf *leaf = leaf_known(type, cpath->shape[CSHAPE_EXACT]);
	struct path path;
	uint32_t columns;
	bool sampled;

	if (!leaf) {
		cshapes_make(graph, r->points, &r->scratch, cpath);
		leaf = leaf_of(type, cpath->shape);
	}
	path_of(&trace->id, cpath, &r->scratch, &path);
	path.type_point = type->point;
	r->stats.clipped_cnt += path.clipped;
	r->stats.folded_edge_cnt += path.folded_cnt;
	r->stats.united_edge_cnt += path.united_cnt;
	sampled = !r->opts.no_keys && path.id_hash <= r->sample_limit &&
		  samples_want(&leaf->samples, &path);
	if (!leaf->acc.cnt || type->level != CSHAPE_EXACT)
		path_name_edges(&path, cpath, r->points, &r->scratch);
	else
		path.hashes = leaf->acc.hashes.items;	/* all of its members' */
	if (graph->bins && !leaf->acc.cnt && type->level == CSHAPE_EXACT)
		note_bins(r, leaf, trace, cpath, graph);
	leaf->failed_cnt += !!(trace->spans[graph->root_span].flags & SPANF_ERROR);
	leaf->message_cnt += trace->spans[graph->root_span].kind == SPAN_CONSUMER;
	call_counts_add(&type->calls, graph->tree, trace->span_cnt, path.total_ns);
	columns = summed_columns(leaf);
	if (type->level == CSHAPE_EXACT)
		acc_add_same(&leaf->acc, &path);
	else
		acc_add(&leaf->acc, &path);
	type->column_cnt += summed_columns(leaf) - columns;
	if (sampled)
		r->sample_cnt += samples_add(&leaf->samples, trace, &path, &r->vars, r->points,
					     r->strings);
	copies_add(&leaf->copies, trace, path.id_hash, path.total_ns);
	while (r->sample_cnt > SAMPLES_ALL_MAX)
		halve_samples(r);
	while ((type->leaves.cnt > LEAVES_MAX || type->column_cnt > LEAF_COLUMNS_MAX) &&
	       type->level < CSHAPE_TYPE)
		coarsen(r, type);
}

void requests_add(struct requests *r, const struct trace *trace)
{
	struct graph graph;
	struct cpath cpath;
	struct type *type;

	r->last = NULL;
	r->stats.trace_cnt++;
	r->stats.span_cnt += trace->span_cnt;
	if (requests_path(r, trace, &graph, &cpath) < 0) {
		r->stats.bad_cnt++;
		return;
	}
	if (r->opts.rank)
		edge_rank_add(r->opts.rank, r->opts.rank_side, &trace->id, &cpath);
	r->last = type = type_of(r, &graph);
	if (type)
		add_to_type(r, type, trace, &graph, &cpath);
	else
		r->stats.type_over_cnt++;
}
