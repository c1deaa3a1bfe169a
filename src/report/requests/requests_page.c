/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the page: what the page draws and no more, and each text,
 * tracepoint and request once.  requests.js knows the order of the fields
 * (`unpack`); for programs there is --json.
 *
 *	strings		texts; 0 is ""
 *	points		[service, name] of each
 *	traces		[id, total, waterfall or null], for the examples of paths
 *	types, problems, ...
 */
#include <math.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/vec.h"
#include "trace/points.h"
#include "report/json_points.h"
#include "report/requests/requests_json.h"
#include "report/forest/waterfall.h"

enum {
	ROWS_MAX = 120,		/* of a waterfall; the page first shows half of them */
	DRAWN_TYPES = 40,	/* with waterfalls: the first groups of the first types */
	DRAWN_GROUPS = 8,
	EDGES_MAX = 60,		/* of a group: those with most of the variance */
	OWNERS_MAX = 30,
	KEYS_MAX = 6,
	VALUES_MAX = 8,
	UNITS_MAX = 100000,	/* to which a waterfall's times are right: far under a pixel */
};

struct example {
	const struct request_copy *copy;
	bool drawn;
};

struct page_data {
	const struct requests_view *v;
	struct json *j;
	struct strtab strings;		/* 0 is "" here too */
	uint32_t *point_numbers;	/* by point, 0: not in the page, else 1 + its number */
	VEC(uint32_t) points;
	VEC(struct example) traces;
};

static void put_share(struct json *j, double value)
{
	if (isfinite(value))
		json_f64_dec(j, value, 4);
	else
		json_null(j);
}

static void put_ns(struct json *j, double ns)
{
	if (isfinite(ns))
		json_i64(j, llround(ns));
	else
		json_null(j);
}

static void put_text(struct page_data *d, const char *text)
{
	json_u64(d->j, strtab_add(&d->strings, text));
}

/* -1: "other". */
static void put_point(struct page_data *d, uint32_t point)
{
	if (point >= d->v->points->items.cnt) {
		json_i64(d->j, -1);
		return;
	}
	if (!d->point_numbers[point]) {
		vec_push(&d->points, point);
		d->point_numbers[point] = (uint32_t)d->points.cnt;
	}
	json_u64(d->j, d->point_numbers[point] - 1);
}

static void put_latency(struct json *j, const struct latency *l)
{
	json_karr(j, "latency");
	json_u64(j, l->cnt);
	put_ns(j, l->p50_ns);
	put_ns(j, l->p95_ns);
	put_ns(j, l->p99_ns);
	put_share(j, l->cv);
	json_arr_end(j);
}

/* ---- parts of a group */

static void put_edge(struct page_data *d, const struct request_group *g, uint32_t idx)
{
	const struct request_edge *e = &g->edges[idx];
	struct json *j = d->j;

	json_arr(j);
	json_u64(j, idx);
	put_point(d, e->key.from);
	json_u64(j, e->key.from_kind);
	put_point(d, e->key.to);
	json_u64(j, e->key.to_kind);
	json_u64(j, e->key.occurrence);
	json_u64(j, e->present_cnt);
	put_ns(j, e->latency.mean_ns);
	put_ns(j, e->latency.p50_ns);
	put_ns(j, e->latency.p95_ns);
	put_ns(j, e->latency.p99_ns);
	put_ns(j, e->latency.max_ns);
	put_share(j, e->time_share);
	put_share(j, e->share);
	put_share(j, e->share_low);
	put_share(j, e->share_high);
	put_share(j, e->trimmed_share);
	put_share(j, e->tail_share);
	put_ns(j, e->excess_ns);
	json_arr_end(j);
}

/* "edges" in the order in which they are drawn, then those that only keys speak of. */
static void put_edges(struct page_data *d, const struct request_group *g, uint32_t key_cnt)
{
	uint32_t shown = g->edge_cnt < EDGES_MAX ? g->edge_cnt : EDGES_MAX;

	json_ku64(d->j, "edge_cnt", g->edge_cnt);
	json_karr(d->j, "edges");
	for (uint32_t i = 0; i < shown; i++)
		put_edge(d, g, g->by_share[i]);
	json_arr_end(d->j);
	json_karr(d->j, "key_edges");
	for (uint32_t i = 0; i < key_cnt; i++) {
		if (g->keys[i].edge != REQUEST_ALL)
			put_edge(d, g, g->keys[i].edge);
	}
	json_arr_end(d->j);
}

static void put_owners(struct page_data *d, const struct request_group *g)
{
	struct json *j = d->j;

	json_karr(j, "owners");
	for (uint32_t i = 0; i < g->owner_cnt && i < OWNERS_MAX; i++) {
		const struct request_owner *o = &g->owners[i];

		json_arr(j);
		put_point(d, o->point);
		json_u64(j, o->edge_cnt);
		put_ns(j, o->mean_ns);
		put_share(j, o->time_share);
		put_share(j, o->share);
		put_share(j, o->share_low);
		put_share(j, o->share_high);
		json_arr_end(j);
	}
	json_arr_end(j);
}

static void put_value(struct page_data *d, const struct key_value *x)
{
	CLEANUP(buf_release) struct buf text = {0};
	struct json *j = d->j;

	if (x->decimals && x->low == x->high)
		buf_printf(&text, "%.*f", x->decimals, x->low);
	json_arr(j);
	if (x->str || x->truth || text.len) {
		json_str(j, x->str ? strtab_str(d->v->strings, x->str)
			    : text.len ? buf_str(&text)
			    : x->low != 0 ? "true" : "false");
		json_null(j);
	} else {
		json_f64(j, x->low);
		json_f64(j, x->high);
	}
	json_u64(j, x->cnt);
	put_ns(j, x->mean_ns);
	json_arr_end(j);
}

static void put_key(struct page_data *d, const struct request_key *k)
{
	CLEANUP(buf_release) struct buf words = {0};
	struct json *j = d->j;

	requests_key_words(d->v, k, &words);
	json_arr(j);
	put_text(d, strtab_str(d->v->strings, k->key));
	put_point(d, k->point);
	put_text(d, buf_str(&words));
	json_i64(j, k->edge == REQUEST_ALL ? -1 : (int64_t)k->edge);
	json_u64(j, k->alias_cnt);
	json_arr(j);
	for (uint32_t i = 0; i < k->value_cnt && i < VALUES_MAX; i++)
		put_value(d, &k->values[i]);
	json_arr_end(j);
	json_arr_end(j);
}

/* Those that explain come first; the others are not drawn. */
static uint32_t keys_drawn(const struct request_group *g)
{
	uint32_t cnt = 0;

	while (cnt < g->key_cnt && cnt < KEYS_MAX && g->keys[cnt].explains)
		cnt++;
	return cnt;
}

static void put_common(struct page_data *d, const struct request_group *g)
{
	struct json *j = d->j;

	json_karr(j, "bins");
	for (uint32_t i = 0; i < g->bin_cnt; i++)
		put_text(d, strtab_str(d->v->strings, g->bins[i].label));
	json_arr_end(j);
	json_karr(j, "rules");
	for (uint32_t i = 0; i < g->rule_cnt; i++) {
		json_arr(j);
		put_point(d, g->rules[i].point);
		json_u64(j, g->rules[i].times);
		json_bool(j, g->rules[i].holds);
		json_arr_end(j);
	}
	json_arr_end(j);
}

/* Compares the traces too: one may have several requests, begun by its messages. */
static bool same_request(const struct request_copy *a, const struct request_copy *b)
{
	return trace_id_cmp(&a->id, &b->id) == 0 && a->total_ns == b->total_ns;
}

static void put_copy(struct page_data *d, const char *key, const struct request_copy *c,
		     bool drawn)
{
	size_t at = 0;

	while (at < d->traces.cnt && !same_request(d->traces.items[at].copy, c))
		at++;
	if (at == d->traces.cnt)
		vec_push(&d->traces, ((struct example){.copy = c}));
	d->traces.items[at].drawn |= drawn;
	json_karr(d->j, key);
	json_u64(d->j, at);
	put_share(d->j, c->percentile);
	json_arr_end(d->j);
}

static void put_group(struct page_data *d, const struct request_group *g, bool drawn)
{
	uint32_t keys = keys_drawn(g);
	struct json *j = d->j;

	json_obj(j);
	json_hash(j, "hash", g->hash);
	json_ku64(j, "paths", g->path_cnt);
	json_kbool(j, "decided", g->decided);
	json_key(j, "type_share");
	put_share(j, g->type_share);
	json_ku64(j, "failed", g->failed_cnt);
	json_key(j, "variance_share");
	put_share(j, g->variance_share);
	put_latency(j, &g->latency);
	put_common(d, g);
	put_edges(d, g, keys);
	put_owners(d, g);
	json_karr(j, "keys");
	for (uint32_t i = 0; i < keys; i++)
		put_key(d, &g->keys[i]);
	json_arr_end(j);
	put_copy(d, "typical", &g->typical, drawn);
	put_copy(d, "fast", &g->fast, drawn);
	put_copy(d, "slow", &g->slow, drawn);
	json_obj_end(j);
}

/* ---- types */

static bool has_problem(const struct requests_view *v, uint32_t type, uint32_t group)
{
	for (uint32_t i = 0; i < v->r->problem_cnt; i++)
		if (v->r->problems[i].type == type && v->r->problems[i].group == group)
			return true;
	return false;
}

static void put_levels(struct json *j, const struct request_type *t)
{
	json_karr(j, "levels");
	for (uint32_t i = 0; i < t->level_cnt; i++) {
		const struct request_level *l = &t->levels[i];

		json_obj(j);
		json_kstr(j, "level", request_level_name(l->level));
		json_kbool(j, "merged", l->merged);
		json_ku64(j, "groups", l->group_cnt);
		json_key(j, "between_share");
		put_share(j, l->between_share);
		json_obj_end(j);
	}
	json_arr_end(j);
}

/* Puts the keys of a type: for one path its own; with edges of the type, which is not drawn. */
static void put_type_keys(struct page_data *d, const struct request_type *t)
{
	json_karr(d->j, "keys");
	for (uint32_t i = 0; t->group_cnt > 1 && i < keys_drawn(t->all); i++) {
		struct request_key key = t->all->keys[i];

		key.edge = REQUEST_ALL;
		put_key(d, &key);
	}
	json_arr_end(d->j);
}

static void put_type(struct page_data *d, uint32_t type)
{
	const struct request_type *t = &d->v->r->types[type];
	struct json *j = d->j;

	json_obj(j);
	json_kstr(j, "name", strtab_str(d->v->strings, t->name));
	json_ku64(j, "requests", t->all->latency.cnt);
	put_latency(j, &t->all->latency);
	json_key(j, "between_share");
	put_share(j, t->between_share);
	json_key(j, "within_share");
	put_share(j, t->within_share);
	json_ku64(j, "failed", t->all->failed_cnt);
	json_ku64(j, "begun_by_messages", t->all->message_cnt);
	put_levels(j, t);
	put_type_keys(d, t);
	json_karr(j, "groups");
	for (uint32_t i = 0; i < t->group_cnt; i++)
		put_group(d, &t->groups[i], type < DRAWN_TYPES &&
			  (i < DRAWN_GROUPS || has_problem(d->v, type, i)));
	json_arr_end(j);
	json_obj_end(j);
}

/* ---- requests */

static int64_t in_units(int64_t ns, int64_t unit)
{
	return (ns + (ns < 0 ? -unit / 2 : unit / 2)) / unit;
}

/* service, name, parent (-1: none), 1 if it failed, begin, end, then each part's begin and end */
static void put_row(struct page_data *d, const struct waterfall *w, uint32_t row,
		    const uint32_t *number, int64_t unit)
{
	const struct waterfall_row *r = &w->rows[row];
	struct json *j = d->j;

	json_arr(j);
	put_text(d, r->service);
	put_text(d, r->name);
	json_i64(j, r->parent == WATERFALL_NO_ROW ? -1 : (int64_t)number[r->parent]);
	json_u64(j, (r->flags & SPANF_ERROR) != 0);
	json_i64(j, in_units(r->begin_ns, unit));
	json_i64(j, in_units(r->end_ns, unit));
	json_i64(j, r->path_ns);
	for (uint32_t i = 0; i < r->part_cnt; i++) {
		json_i64(j, in_units(w->parts[r->part_idx + i].begin_ns, unit));
		json_i64(j, in_units(w->parts[r->part_idx + i].end_ns, unit));
	}
	json_arr_end(j);
}

/* The unit in ns, what its rows are, how many are left out, rows. */
static void put_waterfall(struct page_data *d, const struct trace *trace)
{
	const struct waterfall_env env = {.strings = d->v->strings, .points = d->v->points,
					  .arena = d->v->arena};
	struct json *j = d->j;
	struct waterfall w;
	uint32_t *number, kept, next = 0;
	int64_t unit = 1;
	bool *keep;

	if (!trace || waterfall_make(trace, &env, &w) < 0) {
		json_null(j);
		return;
	}
	while (w.total_ns / unit > UNITS_MAX)
		unit *= 10;
	keep = ARENA_ARRAY(d->v->arena, bool, w.row_cnt + 1);
	number = ARENA_ARRAY(d->v->arena, uint32_t, w.row_cnt + 1);
	kept = waterfall_pick(&w, ROWS_MAX, keep);
	json_arr(j);
	json_i64(j, unit);
	json_str(j, w.is_lanes ? "services" : "spans");
	json_u64(j, w.row_cnt - kept);
	json_arr(j);
	for (uint32_t i = 0; i < w.row_cnt; i++) {
		if (!keep[i])
			continue;
		number[i] = next++;
		put_row(d, &w, i, number, unit);
	}
	json_arr_end(j);
	json_arr_end(j);
}

static void put_traces(struct page_data *d)
{
	char id[TRACE_ID_TEXT];

	json_karr(d->j, "traces");
	VEC_FOREACH(&d->traces, t) {
		json_arr(d->j);
		json_str(d->j, trace_id_text(&t->copy->id, id));
		json_i64(d->j, t->copy->total_ns);
		put_waterfall(d, t->drawn ? t->copy->trace : NULL);
		json_arr_end(d->j);
	}
	json_arr_end(d->j);
}

/* Last, when all that is used is known. */
static void put_tables(struct page_data *d)
{
	struct json *j = d->j;

	json_karr(j, "points");
	for (size_t i = 0; i < d->points.cnt; i++) {
		const struct point *p = &d->v->points->items.items[d->points.items[i]];

		json_arr(j);
		put_text(d, strtab_str(d->v->strings, p->service));
		put_text(d, strtab_str(d->v->strings, p->name));
		json_arr_end(j);
	}
	json_arr_end(j);
	json_karr(j, "strings");
	for (uint32_t i = 0; i <= d->strings.cnt; i++)
		json_str(j, strtab_str(&d->strings, i));
	json_arr_end(j);
}

void requests_page_object(const struct requests_view *v, struct json *j)
{
	struct page_data d = {.v = v, .j = j,
			      .point_numbers = ARENA_ARRAY(v->arena, uint32_t,
							   v->points->items.cnt + 1)};

	json_obj(j);
	requests_json_input(v, j);
	json_karr(j, "types");
	for (uint32_t i = 0; i < v->r->type_cnt; i++) {
		if (requests_type_shown(v, i))
			put_type(&d, i);
	}
	json_arr_end(j);
	requests_json_problems(v, j);
	requests_json_blame(v, j);
	requests_json_rank(v, j);
	requests_json_calls(v, j);
	requests_json_structure(v, j);
	requests_json_splits(v, j);
	requests_json_explain(v, j);
	requests_json_diff(v, j);
	put_traces(&d);
	put_tables(&d);
	json_obj_end(j);
	strtab_release(&d.strings);
	vec_release(&d.points);
	vec_release(&d.traces);
}
