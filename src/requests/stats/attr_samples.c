/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/stats/attr_samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "trace/points.h"
#include "requests/stats/path.h"

void key_vars_release(struct key_vars *v)
{
	vec_release(&v->items);
	hmap_release(&v->by_pair);
}

void samples_release(struct samples *s)
{
	VEC_FOREACH(&s->heap, sample)
		free(*sample);
	vec_release(&s->heap);
}

static int sample_cmp(const struct sample *a, const struct sample *b)
{
	CMP(a->hash, b->hash);
	CMP(trace_id_cmp(&a->id, &b->id), 0);
	CMP(a->total_ns, b->total_ns);	/* of one trace there may be several requests */
	return 0;
}

static void sift_down(struct samples *s, size_t i)
{
	struct sample **h = s->heap.items;

	for (size_t child = 2 * i + 1; child < s->heap.cnt; i = child, child = 2 * i + 1) {
		struct sample *moved = h[i];

		if (child + 1 < s->heap.cnt && sample_cmp(h[child + 1], h[child]) > 0)
			child++;
		if (sample_cmp(h[child], moved) <= 0)
			return;
		h[i] = h[child];
		h[child] = moved;
	}
}

/* Takes it over; returns by how many there are more. */
static int heap_put(struct samples *s, struct sample *new)
{
	struct sample **h;

	if (s->heap.cnt == SAMPLES_MAX) {
		if (sample_cmp(new, s->heap.items[0]) >= 0) {
			free(new);
			return 0;
		}
		free(s->heap.items[0]);
		s->heap.items[0] = new;
		sift_down(s, 0);
		return 0;
	}
	vec_push(&s->heap, new);
	h = s->heap.items;
	for (size_t i = s->heap.cnt - 1; i && sample_cmp(h[i], h[(i - 1) / 2]) > 0;
	     i = (i - 1) / 2) {
		struct sample *moved = h[i];

		h[i] = h[(i - 1) / 2];
		h[(i - 1) / 2] = moved;
	}
	return 1;
}

bool samples_want(const struct samples *s, const struct path *path)
{
	struct sample like = {.hash = path->id_hash, .id = path->id};

	return s->heap.cnt < SAMPLES_MAX || sample_cmp(&like, s->heap.items[0]) < 0;
}

static struct key_var *var_of(struct key_vars *vars, uint32_t point, uint32_t key)
{
	uint64_t *slot, pair = (uint64_t)point << 32 | key;
	uint64_t old;

	if (!hmap_get(&vars->by_pair, pair, &old)) {
		if (vars->items.cnt >= KEY_VARS_MAX)
			return NULL;
		vec_push(&vars->items, ((struct key_var){.point = point, .key = key}));
		slot = hmap_slot(&vars->by_pair, pair);
		*slot = old = vars->items.cnt - 1;
	}
	return &vars->items.items[old];
}

/* Most variables of a request are those of others before it: found without the table. */
static struct key_var *var_of_quick(struct key_vars *vars, uint32_t point, uint32_t key)
{
	uint64_t pair = (uint64_t)point << 32 | key;
	struct key_var_near *near = &vars->near[(point * 31 + key) % KEY_VARS_NEAR];
	struct key_var *v;

	if (near->idx && near->pair == pair)
		return &vars->items.items[near->idx - 1];
	v = var_of(vars, point, key);
	if (v)
		*near = (struct key_var_near){pair, (uint64_t)(v - vars->items.items) + 1};
	return v;
}

struct values {
	struct sample_value items[SAMPLE_VALUES_MAX];
	uint32_t cnt;
};

/* Ends do not lie before begins that far: what wraps is not a length anyway. */
static int64_t length_ns(const struct span *span)
{
	return (int64_t)((uint64_t)span->end_ns - (uint64_t)span->begin_ns);
}

/* Puts the value down, unless a longer span had the variable. */
static void note(struct key_vars *vars, struct values *values, const struct span *span,
		 uint32_t point, const struct attr *attr)
{
	struct key_var *v = var_of_quick(vars, point, attr->key);
	int64_t ns = length_ns(span);
	bool again = v && v->seen_no == vars->request_no;

	if (!v || (!again && values->cnt >= SAMPLE_VALUES_MAX)) {
		vars->refused_cnt++;
		return;
	}
	if (again && (ns < v->seen_ns || (ns == v->seen_ns && span->id >= v->seen_span)))
		return;
	if (!again)
		v->seen_idx = values->cnt++;
	v->seen_no = vars->request_no;
	v->seen_ns = ns;
	v->seen_span = span->id;
	values->items[v->seen_idx] = (struct sample_value){
		.var = (uint32_t)(v - vars->items.items), .type = attr->type,
		.decimals = attr->decimals};
	if (attr->type == ATTR_STR)
		values->items[v->seen_idx].str = attr->str;
	else
		values->items[v->seen_idx].num = attr->num;
}

static double first_begin_s(const struct trace *trace)
{
	int64_t first_ns = INT64_MAX;

	for (uint32_t i = 0; i < trace->span_cnt; i++)
		if (trace->spans[i].begin_ns < first_ns)
			first_ns = trace->spans[i].begin_ns;
	return (double)first_ns / 1e9;
}

/* A slowdown over time is reported as any other key is. */
static void note_start(struct key_vars *vars, const struct trace *trace, uint32_t point,
		       struct values *ret)
{
	const struct span whole = {.begin_ns = 0};
	struct attr start = {.key = vars->start_key, .type = ATTR_NUM,
			     .num = first_begin_s(trace)};

	note(vars, ret, &whole, point, &start);
}

static void collect(struct key_vars *vars, const struct trace *trace, struct points *points,
		    const struct strtab *strings, struct values *ret)
{
	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		const struct span *span = &trace->spans[i];
		uint32_t point = points_add(points, strings, span->service, span->name);
		struct attr host = {.key = vars->host_key, .type = ATTR_STR, .str = span->host};
		struct attr error = {.key = vars->error_key,
				     .type = ATTR_BOOL,
				     .num = span->flags & SPANF_ERROR ? 1 : 0};

		if (span->host)
			note(vars, ret, span, point, &host);
		note(vars, ret, span, point, &error);
		for (uint32_t a = 0; a < span->attr_cnt; a++)
			note(vars, ret, span, point, &trace->attrs[span->attr_idx + a]);
	}
}

uint32_t samples_add(struct samples *s, const struct trace *trace, const struct path *path,
		     struct key_vars *vars, struct points *points, const struct strtab *strings)
{
	size_t took = path->edge_cnt * sizeof(*path->took_ns);
	size_t edges = path->edge_cnt * sizeof(*path->hashes);
	struct values values;
	struct sample *new;
	char *at;

	values.cnt = 0;
	vars->request_no++;
	note_start(vars, trace, path->type_point, &values);
	collect(vars, trace, points, strings, &values);
	new = xmalloc(sizeof(*new) + took + edges + values.cnt * sizeof(*values.items));
	at = (char *)(new + 1);
	*new = (struct sample){.hash = path->id_hash,
			       .id = path->id,
			       .total_ns = path->total_ns,
			       .took_ns = memcpy(at, path->took_ns, took),
			       .edges = memcpy(at + took, path->hashes, edges),
			       .values = memcpy(at + took + edges, values.items,
						values.cnt * sizeof(*values.items)),
			       .edge_cnt = path->edge_cnt,
			       .value_cnt = values.cnt};
	return (uint32_t)heap_put(s, new);
}

/* Notes the value of one span first, for collect; false: it has none such. */
static bool span_value(const struct trace *trace, const struct key_vars *vars,
		       const struct span *span, uint32_t key, struct attr *ret)
{
	if (key == vars->host_key && span->host) {
		*ret = (struct attr){.key = key, .type = ATTR_STR, .str = span->host};
		return true;
	}
	if (key == vars->error_key) {
		*ret = (struct attr){.key = key, .type = ATTR_BOOL,
				     .num = span->flags & SPANF_ERROR ? 1 : 0};
		return true;
	}
	for (uint32_t a = 0; a < span->attr_cnt; a++) {
		*ret = trace->attrs[span->attr_idx + a];
		if (ret->key == key)
			return true;
	}
	return false;
}

bool samples_value(const struct trace *trace, const struct key_vars *vars, struct points *points,
		   const struct strtab *strings, uint32_t type_point, uint32_t point,
		   uint32_t key, struct attr *ret)
{
	const struct span *best = NULL;
	int64_t best_ns = 0;
	struct attr has;

	if (point == type_point && key == vars->start_key) {
		*ret = (struct attr){.key = key, .type = ATTR_NUM, .num = first_begin_s(trace)};
		return true;
	}
	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		const struct span *s = &trace->spans[i];
		int64_t ns = length_ns(s);

		if (points_add(points, strings, s->service, s->name) != point ||
		    (best && (ns < best_ns || (ns == best_ns && s->id >= best->id))) ||
		    !span_value(trace, vars, s, key, &has))
			continue;
		best = s;
		best_ns = ns;
		*ret = has;
	}
	return best;
}

uint32_t samples_drop(struct samples *s, uint64_t limit)
{
	size_t kept = 0, all = s->heap.cnt;

	for (size_t i = 0; i < all; i++) {
		if (s->heap.items[i]->hash > limit)
			free(s->heap.items[i]);
		else
			s->heap.items[kept++] = s->heap.items[i];
	}
	s->heap.cnt = kept;
	for (size_t i = kept / 2; i-- > 0;)
		sift_down(s, i);
	return (uint32_t)(all - kept);
}

uint32_t samples_move(struct samples *to, struct samples *from)
{
	uint32_t gone = 0;

	VEC_FOREACH(&from->heap, sample)
		gone += !heap_put(to, *sample);
	vec_release(&from->heap);
	return gone;
}
