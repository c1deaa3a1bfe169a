/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record for each request type, with its paths, contexts and samples, in
 * vectors found by hash.  A view sorts; nothing else depends on the order in
 * which things came.  Where the bound of paths or samples is reached, what has
 * the smallest hash stays: a choice that all orders and all merges agree on.
 */
#include "requests/forest/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"
#include "requests/graph/span_ends.h"
#include "requests/forest/space_int.h"

/* Beside enum sides: the space has the operation. */
#define LISTED 0x80

/*
 * A root starts one of so many of the traces that it is in.  Where more than a
 * tenth of the requests fell to pieces, nothing is to be learnt from them; and
 * a tracepoint of which less than a tenth are requests of their own is called
 * by others so often that what is wrong with it shows there.
 */
#define ROOT_TRACES 10

struct path {
	struct space_path p; /* steps: owned */
};

struct sample {
	uint64_t rank; /* hash of the id: the smallest stay */
	struct trace trace; /* arrays owned */
};

struct stype {
	struct space_type t;
	VEC(struct path) paths;
	VEC(struct space_context) contexts;
	VEC(struct sample) samples;
	struct hmap by_path, by_context;
};

struct space {
	struct points *points;
	struct strtab *strings;
	VEC(struct stype) types;
	VEC(struct space_point) seen; /* by point */
	VEC(struct space_key) keys;
	struct hmap by_type, by_key;
	VEC(uint8_t) key_cnt; /* by point */
	struct arena scratch;
	uint64_t trace_cnt, bad_trace_cnt;
	uint64_t path_dropped_cnt, context_dropped_cnt, key_dropped_cnt, type_dropped_cnt;
};

struct space *space_new(struct points *points, struct strtab *strings)
{
	struct space *s = xcalloc(1, sizeof(*s));

	s->points = points;
	s->strings = strings;
	return s;
}

static void trace_drop(struct trace *t)
{
	free((void *)t->spans);
	free((void *)t->refs);
}

static void stype_release(struct stype *t)
{
	for (size_t i = 0; i < t->paths.cnt; i++)
		free((void *)t->paths.items[i].p.steps);
	for (size_t i = 0; i < t->samples.cnt; i++)
		trace_drop(&t->samples.items[i].trace);
	vec_release(&t->paths);
	vec_release(&t->contexts);
	vec_release(&t->samples);
	hmap_release(&t->by_path);
	hmap_release(&t->by_context);
}

void space_free(struct space *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->types.cnt; i++)
		stype_release(&s->types.items[i]);
	vec_release(&s->types);
	vec_release(&s->seen);
	vec_release(&s->keys);
	vec_release(&s->key_cnt);
	hmap_release(&s->by_type);
	hmap_release(&s->by_key);
	arena_release(&s->scratch);
	free(s);
}

static struct stype *type_find(const struct space *s, uint64_t hash)
{
	uint64_t at;

	return hmap_get(&s->by_type, hash, &at) ? &s->types.items[at] : NULL;
}

void space_put_type(struct space *s, const struct space_type *type)
{
	struct stype *t = type_find(s, type->hash);

	if (!t && s->types.cnt >= SPACE_TYPES_MAX) {
		s->type_dropped_cnt += type->trace_cnt;
		return;
	}
	if (!t) {
		hmap_put(&s->by_type, type->hash, s->types.cnt);
		t = vec_add(&s->types);
		t->t.hash = type->hash;
		t->t.point = type->point;
	}
	t->t.trace_cnt += type->trace_cnt;
	t->t.sum_ns += type->sum_ns;
	t->t.sum_sq_ns += type->sum_sq_ns;
	s->trace_cnt += type->trace_cnt;
}

static struct space_point *point_at(struct space *s, uint32_t point)
{
	while (s->seen.cnt <= point) {
		struct space_point *p = vec_add(&s->seen);

		p->point = (uint32_t)s->seen.cnt - 1;
	}
	return &s->seen.items[point];
}

void space_put_point(struct space *s, const struct space_point *point)
{
	struct space_point *p = point_at(s, point->point);

	p->sync |= point->sync;
	p->stray_sync |= point->stray_sync;
	p->span_cnt += point->span_cnt;
	p->stray_cnt += point->stray_cnt;
	p->trace_cnt += point->trace_cnt;
	p->root_cnt += point->root_cnt;
}

void space_put_key(struct space *s, const struct space_key *key)
{
	uint64_t id = hash_pair(key->point, key->key), at;

	while (s->key_cnt.cnt <= key->point)
		vec_push(&s->key_cnt, 0);
	if (!hmap_get(&s->by_key, id, &at)) {
		if (s->key_cnt.items[key->point] >= SPACE_KEYS_MAX) {
			s->key_dropped_cnt += key->seen_cnt;
			return;
		}
		s->key_cnt.items[key->point]++;
		at = s->keys.cnt;
		hmap_put(&s->by_key, id, at);
		vec_push(&s->keys, ((struct space_key){.point = key->point, .key = key->key}));
	}
	s->keys.items[at].seen_cnt += key->seen_cnt;
	s->keys.items[at].num_cnt += key->num_cnt;
}

/* The one of the largest hash goes when there are too many: its place, or -1 when new is it. */
static int64_t path_room(struct space *s, struct stype *t, const struct space_path *new)
{
	size_t worst = 0;

	if (t->paths.cnt < SPACE_PATHS_MAX) {
		(void)vec_add(&t->paths);
		return (int64_t)t->paths.cnt - 1;
	}
	for (size_t i = 1; i < t->paths.cnt; i++)
		if (t->paths.items[i].p.hash > t->paths.items[worst].p.hash)
			worst = i;
	if (t->paths.items[worst].p.hash < new->hash) {
		s->path_dropped_cnt += new->critical_cnt + new->branch_cnt;
		return -1;
	}
	s->path_dropped_cnt += t->paths.items[worst].p.critical_cnt +
			       t->paths.items[worst].p.branch_cnt;
	hmap_del(&t->by_path, t->paths.items[worst].p.hash);
	free((void *)t->paths.items[worst].p.steps);
	return (int64_t)worst;
}

void space_put_path(struct space *s, uint64_t type, const struct space_path *path)
{
	struct stype *t = type_find(s, type);
	struct space_path *p;
	struct space_step *steps;
	uint64_t at;

	if (!t || path->step_cnt == 0 || path->step_cnt > SPACE_STEPS_MAX)
		return;
	if (!hmap_get(&t->by_path, path->hash, &at)) {
		int64_t room = path_room(s, t, path);

		if (room < 0)
			return;
		at = (uint64_t)room;
		hmap_put(&t->by_path, path->hash, at);
		steps = xmalloc(path->step_cnt * sizeof(*steps));
		memcpy(steps, path->steps, path->step_cnt * sizeof(*steps));
		t->paths.items[at].p = *path;
		t->paths.items[at].p.steps = steps;
		return;
	}
	p = &t->paths.items[at].p;
	p->critical_cnt += path->critical_cnt;
	p->branch_cnt += path->branch_cnt;
	if (p->step_cnt != path->step_cnt)
		return;
	steps = (struct space_step *)p->steps;
	for (uint32_t i = 0; i < p->step_cnt; i++) {
		steps[i].sum_ns += path->steps[i].sum_ns;
		steps[i].sum_sq_ns += path->steps[i].sum_sq_ns;
	}
}

uint32_t space_context(struct space *s, uint64_t type, const struct space_context *c)
{
	struct stype *t = type_find(s, type);
	uint64_t id = hash_pair(c->parent, c->point), at;

	if (!t)
		return UINT32_MAX;
	if (!hmap_get(&t->by_context, id, &at)) {
		if (t->contexts.cnt >= SPACE_CONTEXTS_MAX) {
			s->context_dropped_cnt += c->span_cnt;
			return UINT32_MAX;
		}
		at = t->contexts.cnt;
		hmap_put(&t->by_context, id, at);
		vec_push(&t->contexts, ((struct space_context){c->point, c->parent, 0, 0, 0}));
	}
	t->contexts.items[at].span_cnt += c->span_cnt;
	t->contexts.items[at].sum_ns += c->sum_ns;
	t->contexts.items[at].sum_sq_ns += c->sum_sq_ns;
	return (uint32_t)at;
}

void space_put_contexts(struct space *s, uint64_t type, const struct space_context *contexts,
			uint32_t cnt)
{
	uint32_t *at = xcalloc(cnt + 1, sizeof(*at));

	for (uint32_t i = 0; i < cnt; i++) {
		struct space_context c = contexts[i];

		at[i] = UINT32_MAX;
		if (c.parent != UINT32_MAX) {
			if (c.parent >= i || at[c.parent] == UINT32_MAX)
				continue;
			c.parent = at[c.parent];
		}
		at[i] = space_context(s, type, &c);
	}
	free(at);
}

static void sample_keep(struct sample *to, uint64_t rank, const struct trace *from)
{
	struct span *spans = xmalloc((from->span_cnt + 1) * sizeof(*spans));
	struct span_ref *refs = xmalloc((from->ref_cnt + 1) * sizeof(*refs));

	if (from->span_cnt)
		memcpy(spans, from->spans, from->span_cnt * sizeof(*spans));
	if (from->ref_cnt)
		memcpy(refs, from->refs, from->ref_cnt * sizeof(*refs));
	for (uint32_t i = 0; i < from->span_cnt; i++)
		spans[i].attr_idx = spans[i].attr_cnt = 0;
	*to = (struct sample){.rank = rank, .trace = *from};
	to->trace.spans = spans;
	to->trace.refs = refs;
	to->trace.attrs = NULL;
	to->trace.attr_cnt = 0;
}

static bool rank_before(uint64_t a, const struct trace_id *a_id, const struct sample *b)
{
	return a != b->rank ? a < b->rank : trace_id_cmp(a_id, &b->trace.id) < 0;
}

void space_put_sample(struct space *s, uint64_t type, const struct trace *sample)
{
	struct stype *t = type_find(s, type);
	uint64_t rank = hash_pair(sample->id.hi, sample->id.lo);
	size_t worst = 0;

	if (!t || sample->span_cnt == 0 || sample->span_cnt > SPACE_SAMPLE_SPANS_MAX)
		return;
	for (size_t i = 0; i < t->samples.cnt; i++) {
		const struct sample *have = &t->samples.items[i];

		if (!trace_id_cmp(&have->trace.id, &sample->id))
			return;
		if (rank_before(t->samples.items[worst].rank,
				&t->samples.items[worst].trace.id, have))
			worst = i;
	}
	if (t->samples.cnt < SPACE_SAMPLES_MAX) {
		sample_keep(vec_add(&t->samples), rank, sample);
		return;
	}
	if (!rank_before(rank, &sample->id, &t->samples.items[worst]))
		return;
	trace_drop(&t->samples.items[worst].trace);
	sample_keep(&t->samples.items[worst], rank, sample);
}

void space_lesson_begin(struct space *s, const struct trace *t, struct space_lesson *ret)
{
	arena_clear(&s->scratch);
	*ret = (struct space_lesson){.space = s, .trace = t, .points = s->points,
				     .strings = s->strings, .arena = &s->scratch};
}

void space_bad_trace(struct space *s)
{
	s->bad_trace_cnt++;
}

void space_put_counts(struct space *s, const struct space_view *counts)
{
	s->bad_trace_cnt += counts->bad_trace_cnt;
	s->path_dropped_cnt += counts->path_dropped_cnt;
	s->context_dropped_cnt += counts->context_dropped_cnt;
	s->key_dropped_cnt += counts->key_dropped_cnt;
	s->type_dropped_cnt += counts->type_dropped_cnt;
}

void space_merge(struct space *s, const struct space *from)
{
	struct arena a = {0};
	struct space_view v;

	space_view(from, &a, &v);
	for (uint32_t i = 0; i < v.type_cnt; i++) {
		const struct space_type *t = &v.types[i];

		space_put_type(s, t);
		space_put_contexts(s, t->hash, t->contexts, t->context_cnt);
		for (uint32_t k = 0; k < t->path_cnt; k++)
			space_put_path(s, t->hash, &t->paths[k]);
		for (uint32_t k = 0; k < t->sample_cnt; k++)
			space_put_sample(s, t->hash, &t->samples[k]);
	}
	for (uint32_t i = 0; i < v.point_cnt; i++)
		space_put_point(s, &v.points[i]);
	for (uint32_t i = 0; i < v.key_cnt; i++)
		space_put_key(s, &v.keys[i]);
	space_put_counts(s, &v);
	arena_release(&a);
}

/* ---- the view */

static int path_cmp(const void *a, const void *b)
{
	const struct space_path *x = a, *y = b;

	CMP(y->critical_cnt, x->critical_cnt);
	CMP(y->branch_cnt, x->branch_cnt);
	CMP(x->hash, y->hash);
	return 0;
}

static int sample_cmp(const void *a, const void *b)
{
	const struct trace *x = a, *y = b;

	return trace_id_cmp(&x->id, &y->id);
}

static int type_cmp(const void *a, const void *b)
{
	const struct space_type *x = a, *y = b;

	CMP(x->hash, y->hash);
	return 0;
}

static int point_cmp(const void *a, const void *b, void *ctx)
{
	const struct space *s = ctx;
	const struct space_point *x = a, *y = b;

	return points_cmp(s->points, s->strings, x->point, y->point);
}

static int key_cmp(const void *a, const void *b, void *ctx)
{
	const struct space *s = ctx;
	const struct space_key *x = a, *y = b;
	int cmp = points_cmp(s->points, s->strings, x->point, y->point);

	return cmp ? cmp : strcmp(strtab_str(s->strings, x->key), strtab_str(s->strings, y->key));
}

struct context_order {
	uint64_t hash; /* of the texts from the root down */
	uint32_t depth, at;
};

static int context_cmp(const void *a, const void *b)
{
	const struct context_order *x = a, *y = b;

	CMP(x->depth, y->depth);
	CMP(x->hash, y->hash);
	return 0;
}

/* Returns a sum of hashes of the contexts, whatever their order. */
static uint64_t contexts_view(const struct space *s, const struct stype *t, struct arena *arena,
			      struct space_type *ret)
{
	uint32_t cnt = (uint32_t)t->contexts.cnt;
	struct space_context *out = ARENA_ARRAY(arena, struct space_context, cnt + 1);
	struct context_order *order = xcalloc(cnt + 1, sizeof(*order));
	uint32_t *place = xcalloc(cnt + 1, sizeof(*place));
	uint64_t sum = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct space_context *c = &t->contexts.items[i];
		uint64_t own = s->points->items.items[c->point].hash;
		bool root = c->parent == UINT32_MAX;

		/* A context's parent was made before it. */
		order[i].hash = hash_pair(root ? t->t.hash : order[c->parent].hash, own);
		order[i].depth = root ? 0 : order[c->parent].depth + 1;
		order[i].at = i;
		sum += order[i].hash;
	}
	if (cnt > 1)
		qsort(order, cnt, sizeof(*order), context_cmp);
	for (uint32_t i = 0; i < cnt; i++)
		place[order[i].at] = i;
	for (uint32_t i = 0; i < cnt; i++) {
		out[i] = t->contexts.items[order[i].at];
		if (out[i].parent != UINT32_MAX)
			out[i].parent = place[out[i].parent];
	}
	free(order);
	free(place);
	ret->contexts = out;
	ret->context_cnt = cnt;
	return sum;
}

static uint64_t type_view(const struct space *s, const struct stype *t, struct arena *arena,
			  struct space_type *ret)
{
	struct space_path *paths = ARENA_ARRAY(arena, struct space_path, t->paths.cnt + 1);
	struct trace *samples = ARENA_ARRAY(arena, struct trace, t->samples.cnt + 1);

	*ret = t->t;
	ret->path_cnt = (uint32_t)t->paths.cnt;
	ret->sample_cnt = (uint32_t)t->samples.cnt;
	for (size_t i = 0; i < t->paths.cnt; i++) {
		paths[i] = t->paths.items[i].p;
		paths[i].steps = arena_dup(arena, paths[i].steps,
					   paths[i].step_cnt * sizeof(*paths[i].steps));
	}
	for (size_t i = 0; i < t->samples.cnt; i++) {
		samples[i] = t->samples.items[i].trace;
		samples[i].spans = arena_dup(arena, samples[i].spans,
					     samples[i].span_cnt * sizeof(*samples[i].spans));
		samples[i].refs = arena_dup(arena, samples[i].refs,
					    samples[i].ref_cnt * sizeof(*samples[i].refs));
	}
	if (ret->path_cnt)
		qsort(paths, ret->path_cnt, sizeof(*paths), path_cmp);
	if (ret->sample_cnt)
		qsort(samples, ret->sample_cnt, sizeof(*samples), sample_cmp);
	ret->paths = paths;
	ret->samples = samples;
	return contexts_view(s, t, arena, ret);
}

static bool space_point_sync(const struct space_point *p)
{
	return p->sync || (p->stray_sync && p->stray_cnt > p->span_cnt / 2);
}

static void points_view(const struct space *s, struct arena *arena, struct space_view *ret)
{
	struct space_point *points = ARENA_ARRAY(arena, struct space_point, s->seen.cnt + 1);
	struct space_key *keys = arena_dup(arena, s->keys.items,
					   s->keys.cnt * sizeof(*s->keys.items));

	for (size_t i = 0; i < s->seen.cnt; i++)
		if (s->seen.items[i].span_cnt)
			points[ret->point_cnt++] = s->seen.items[i];
	ret->key_cnt = (uint32_t)s->keys.cnt;
	if (ret->point_cnt)
		qsort_r(points, ret->point_cnt, sizeof(*points), point_cmp, (void *)s);
	if (ret->key_cnt)
		qsort_r(keys, ret->key_cnt, sizeof(*keys), key_cmp, (void *)s);
	for (uint32_t i = 0; i < ret->point_cnt; i++)
		ret->fingerprint += hash_pair(s->points->items.items[points[i].point].hash,
					      1 + space_point_sync(&points[i]));
	ret->points = points;
	ret->keys = keys;
}

void space_view(const struct space *s, struct arena *arena, struct space_view *ret)
{
	struct space_type *types = ARENA_ARRAY(arena, struct space_type, s->types.cnt + 1);

	*ret = (struct space_view){
		.types = types,
		.type_cnt = (uint32_t)s->types.cnt,
		.trace_cnt = s->trace_cnt,
		.path_dropped_cnt = s->path_dropped_cnt,
		.context_dropped_cnt = s->context_dropped_cnt,
		.key_dropped_cnt = s->key_dropped_cnt,
		.type_dropped_cnt = s->type_dropped_cnt,
		.bad_trace_cnt = s->bad_trace_cnt,
	};
	points_view(s, arena, ret);
	for (size_t i = 0; i < s->types.cnt; i++)
		ret->fingerprint += type_view(s, &s->types.items[i], arena, &types[i]);
	if (ret->type_cnt)
		qsort(types, ret->type_cnt, sizeof(*types), type_cmp);
}

/* ---- does a trace fit */

static bool context_find(const struct stype *t, uint32_t parent, uint32_t point, uint32_t *ret)
{
	uint64_t at;

	if (!hmap_get(&t->by_context, hash_pair(parent, point), &at))
		return false;
	*ret = (uint32_t)at;
	return true;
}

/* The context of a span, found from the root down. */
static bool context_fits(const struct stype *t, const struct graph *g, uint32_t span,
			 uint32_t *chain)
{
	uint32_t cnt = 0, at = UINT32_MAX;

	for (uint32_t up = span; up != GRAPH_NONE; up = g->spans[up].parent)
		chain[cnt++] = up;
	while (cnt)
		if (!context_find(t, at, g->nodes[g->spans[chain[--cnt]].entry].point, &at))
			return false;
	return true;
}

void space_fit(const struct space *s, const struct trace *t, struct space_fit *ret)
{
	struct graph_stats stats = {0};
	struct arena a = {0};
	struct graph g;
	const struct stype *type;
	uint32_t *chain;

	*ret = (struct space_fit){.span_cnt = t->span_cnt};
	if (graph_build(t, s->points, s->strings, &a, &g, &stats) == 0) {
		type = type_find(s, g.type_hash);
		ret->new_type = !type;
		chain = ARENA_ARRAY(&a, uint32_t, g.span_cnt + 1);
		for (uint32_t i = 0; i < g.span_cnt; i++) {
			if (g.spans[i].flags & GSPAN_DROPPED)
				continue;
			ret->new_point_cnt += !space_has(s, g.nodes[g.spans[i].entry].point);
			ret->new_context_cnt += !type || !context_fits(type, &g, i, chain);
		}
	}
	arena_release(&a);
}

bool space_has(const struct space *s, uint32_t point)
{
	return point < s->seen.cnt && s->seen.items[point].span_cnt > 0;
}

bool space_point_always(const struct space_point *p)
{
	return space_point_sync(p) || (p->root_cnt && p->root_cnt >= p->trace_cnt / ROOT_TRACES);
}

/* Notes count as SIDE_BEGIN, spans as SIDE_END, until all are seen. */
void space_sides(const struct space_view *v, uint8_t *ret, uint32_t point_cnt)
{
	memset(ret, 0, point_cnt);
	for (uint32_t t = 0; t < v->type_cnt; t++) {
		for (uint32_t p = 0; p < v->types[t].path_cnt; p++) {
			const struct space_path *path = &v->types[t].paths[p];

			for (uint32_t i = 0; i < path->step_cnt; i++)
				ret[path->steps[i].point] |=
					path->steps[i].kind == NODE_NOTE ? SIDE_BEGIN : SIDE_END;
		}
	}
	for (uint32_t i = 0; i < v->point_cnt; i++) {
		uint8_t *of = &ret[v->points[i].point];

		*of = *of == SIDE_BEGIN ? LISTED | SIDE_BEGIN : LISTED | SIDES_BOTH;
	}
	for (uint32_t p = 0; p < point_cnt; p++)
		ret[p] = ret[p] & LISTED ? ret[p] & SIDES_BOTH : 0;
}

bool space_always(const struct space *s, uint32_t point)
{
	return space_has(s, point) && space_point_always(&s->seen.items[point]);
}
