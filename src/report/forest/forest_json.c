/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "trace/points.h"
#include "report/forest/forest_out.h"
#include "report/json_points.h"
#include "report/forest/waterfall.h"
#include "requests/stats/attr_bins.h"

static void json_point(struct json *j, const struct forest_view *v, const char *key,
		       uint32_t point)
{
	if (point >= v->points->items.cnt) {
		json_knull(j, key);
		return;
	}
	json_kobj(j, key);
	json_point_names(j, v->points, v->strings, point);
	json_obj_end(j);
}

static void json_trace_id(struct json *j, const char *key, const struct trace_id *id)
{
	char text[TRACE_ID_TEXT];

	json_kstr(j, key, id->hi || id->lo ? trace_id_text(id, text) : NULL);
}

static void json_event(struct json *j, const struct forest_view *v, const char *key,
		       const struct forest_event *e)
{
	if (e->point == FOREST_NONE) {
		json_knull(j, key);
		return;
	}
	json_kobj(j, key);
	json_point(j, v, "point", e->point);
	json_kstr(j, "kind", forest_kind_name(e->kind));
	json_obj_end(j);
}

static void json_times(struct json *j, const struct forest_times *t)
{
	unsigned first = 0, last = FOREST_BUCKETS;

	while (last && !t->buckets[last - 1])
		last--;
	while (first < last && !t->buckets[first])
		first++;
	json_kobj(j, "times");
	json_ku64(j, "count", t->cnt);
	json_kf64_dec(j, "mean_ns", t->mean_ns, 0);
	json_kf64_dec(j, "sd_ns", t->sd_ns, 0);
	json_kf64_dec(j, "min_ns", t->min_ns, 0);
	json_kf64_dec(j, "max_ns", t->max_ns, 0);
	json_ku64(j, "first_bucket", first);
	json_karr(j, "buckets");
	for (; first < last; first++)
		json_u64(j, t->buckets[first]);
	json_arr_end(j);
	json_obj_end(j);
}

/* A number that may be unknown, said by being below 0. */
static void json_known(struct json *j, const char *key, double value)
{
	if (value < 0)
		json_knull(j, key);
	else
		json_kf64_dec(j, key, value, 0);
}

static void json_edge(struct json *j, const struct forest_view *v, const struct forest_edge *e)
{
	json_obj(j);
	json_event(j, v, "from", &e->from);
	json_event(j, v, "to", &e->to);
	json_point(j, v, "owner", e->owner);
	json_ku64(j, "hidden_points", e->hidden_cnt);
	json_kf64_dec(j, "share_time", e->share_time, 4);
	json_kf64_dec(j, "share_variance", e->share_variance, 4);
	json_kf64_dec(j, "share_low", e->share_low, 4);
	json_kf64_dec(j, "share_high", e->share_high, 4);
	json_known(j, "usual_ns", e->usual_ns);
	json_times(j, &e->times);
	json_obj_end(j);
}

static void json_group(struct json *j, const struct forest_view *v, const struct forest_group *g)
{
	json_obj(j);
	json_hash(j, "path", g->hash);
	json_kbool(j, "variable", g->variable);
	json_kbool(j, "slow", g->slow);
	json_trace_id(j, "representative", &g->representative);
	json_trace_id(j, "fastest", &g->fastest);
	json_trace_id(j, "slowest", &g->slowest);
	json_times(j, &g->times);
	json_karr(j, "bins");
	for (uint32_t i = 0; i < g->bin_cnt; i++) {
		json_obj(j);
		json_point(j, v, "point", g->bins[i].point);
		json_kstr(j, "bin", strtab_str(v->strings, g->bins[i].label));
		json_obj_end(j);
	}
	json_arr_end(j);
	json_karr(j, "edges");
	for (uint32_t i = 0; i < g->edge_cnt; i++)
		json_edge(j, v, &g->edges[i]);
	json_arr_end(j);
	json_obj_end(j);
}

static void json_forest_key(struct json *j, const struct forest_view *v,
			    const struct forest_key *k)
{
	json_obj(j);
	json_point(j, v, "point", k->point);
	json_kstr(j, "key", strtab_str(v->strings, k->key));
	json_kbool(j, "numeric", k->numeric);
	json_kf64_dec(j, "strength", k->strength, 4);
	json_kf64(j, "p", k->p);
	json_kf64(j, "q", k->q);
	json_ku64(j, "requests", k->cnt);
	json_obj_end(j);
}

static void json_index(struct json *j, const char *key, uint32_t index)
{
	if (index == FOREST_NONE)
		json_knull(j, key);
	else
		json_ku64(j, key, index);
}

static void json_node(struct json *j, const struct forest_view *v, uint32_t tree, uint32_t node)
{
	const struct forest_node *n = &v->f->trees[tree].nodes[node];

	json_obj(j);
	json_ku64(j, "node", node);
	json_index(j, "parent", n->parent);
	json_index(j, "other", n->other);
	json_point(j, v, "point", n->point);
	json_kstr(j, "sides", forest_sides_name(n->sides));
	json_kbool(j, "present", n->present);
	json_kstr(j, "status", forest_status_name(n->status));
	json_ku64(j, "round", n->round);
	json_ku64(j, "requests", n->trace_cnt);
	json_kf64_dec(j, "mean_ns", n->mean_ns, 0);
	json_kf64_dec(j, "cv", n->cv, 4);
	json_kf64_dec(j, "explained", n->explained, 4);
	json_kf64_dec(j, "split", n->split, 4);
	json_ku64(j, "requests_not_grouped", n->other_trace_cnt);
	json_ku64(j, "requests_left_out", n->refused_cnt);
	json_ku64(j, "edges_over_bound", n->edge_over_cnt);
	json_kbool(j, "walked", forest_node_walked(v, tree, node));
	json_karr(j, "groups");
	for (uint32_t i = 0; i < n->group_cnt; i++)
		json_group(j, v, &n->groups[i]);
	json_arr_end(j);
	json_karr(j, "keys");
	for (uint32_t i = 0; i < n->key_cnt; i++)
		json_forest_key(j, v, &n->keys[i]);
	json_arr_end(j);
	json_obj_end(j);
}

static void json_tree(struct json *j, const struct forest_view *v, uint32_t tree)
{
	const struct forest_tree *t = &v->f->trees[tree];

	json_obj(j);
	json_ku64(j, "tree", tree);
	json_hash(j, "type", t->type);
	json_point(j, v, "point", t->point);
	json_ku64(j, "requests", t->trace_cnt);
	json_kf64_dec(j, "explained", t->explained, 4);
	json_karr(j, "nodes");
	for (uint32_t i = 0; i < t->node_cnt; i++)
		json_node(j, v, tree, i);
	json_arr_end(j);
	json_obj_end(j);
}

static void json_decision(struct json *j, const struct forest_view *v,
			  const struct forest_decision *d)
{
	json_obj(j);
	json_ku64(j, "round", d->round);
	json_kstr(j, "decision", forest_decision_name(d->kind));
	json_index(j, "tree", d->tree);
	json_index(j, "node", d->node);
	json_point(j, v, "point", d->point);
	json_kstr(j, "sides", d->point == FOREST_NONE ? NULL : forest_sides_name(d->sides));
	if (d->group)
		json_hash(j, "path", d->group);
	else
		json_knull(j, "path");
	json_event(j, v, "from", &d->from);
	json_event(j, v, "to", &d->to);
	json_point(j, v, "owner", d->owner);
	json_ku64(j, "hidden_points", d->hidden_cnt);
	json_ku64(j, "requests", d->trace_cnt);
	json_kf64_dec(j, "cv", d->cv, 4);
	json_kf64_dec(j, "mean_ns", d->mean_ns, 0);
	json_known(j, "usual_ns", d->usual_ns);
	json_kf64_dec(j, "share_variance", d->share_variance, 4);
	json_kf64_dec(j, "share_time", d->share_time, 4);
	json_kf64(j, "p", d->p);
	json_kf64_dec(j, "explained", d->explained, 4);
	json_kstr(j, "because", d->why ? d->why : "");
	json_obj_end(j);
}

void forest_walked_points(const struct forest_view *v, struct json *j)
{
	const struct forest_walked *w = v->walked;

	json_arr(j);
	for (uint32_t i = 0; i < w->point_cnt; i++) {
		const struct forest_walked_point *p = &w->points[i];
		const struct forest_decision *by = p->sight.by;

		json_obj(j);
		json_point_names(j, v->points, v->strings, p->point);
		json_kbool(j, "on_path", p->on_path);
		json_kstr(j, "seen", forest_seen_name(p->sight.seen));
		json_kstr(j, "sides", p->sight.seen ? forest_sides_name(p->sight.sides) : NULL);
		json_kstr(j, "seen_words", forest_seen_words(p->sight.seen));
		json_index(j, "round", by ? by->round : FOREST_NONE);
		json_index(j, "tree", by ? by->tree : FOREST_NONE);
		json_index(j, "node", by ? by->node : FOREST_NONE);
		json_kstr(j, "because", by ? by->why : NULL);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_walked(struct json *j, const struct forest_view *v)
{
	const struct forest_walked *w = v->walked;

	if (!w) {
		json_knull(j, "walked");
		return;
	}
	json_kobj(j, "walked");
	json_trace_id(j, "trace", &w->id);
	json_ki64(j, "total_ns", w->total_ns);
	json_index(j, "tree", w->tree);
	json_karr(j, "nodes");
	for (uint32_t i = 0; i < w->node_cnt; i++)
		json_u64(j, w->nodes[i]);
	json_arr_end(j);
	json_key(j, "points");
	forest_walked_points(v, j);
	json_obj_end(j);
}

void forest_object(const struct forest_view *v, struct json *j)
{
	json_obj(j);
	json_kstr(j, "schema", "heldup/forest/1");
	json_kstr(j, "file", v->path);
	json_ku64(j, "rounds", v->f->round);
	json_hash(j, "space", v->f->fingerprint);
	json_walked(j, v);
	json_karr(j, "trees");
	for (uint32_t i = 0; i < v->f->tree_cnt; i++)
		if (forest_tree_shown(v, i))
			json_tree(j, v, i);
	json_arr_end(j);
	json_karr(j, "decisions");
	for (uint32_t i = 0; i < v->f->decision_cnt; i++) {
		const struct forest_decision *d = &v->f->decisions[i];

		if (d->tree == FOREST_NONE || forest_tree_shown(v, d->tree))
			json_decision(j, v, d);
	}
	json_arr_end(j);
	json_obj_end(j);
}

void forest_json(const struct forest_view *v, struct buf *out, FILE *file)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	if (file)
		json_to_file(&j, file);
	forest_object(v, &j);
	json_finish(&j);
}
