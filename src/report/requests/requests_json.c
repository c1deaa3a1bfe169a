/* SPDX-License-Identifier: Apache-2.0 */
/* docs/requests.schema.json says what each key means. */
#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json.h"
#include "trace/points.h"
#include "report/json_points.h"
#include "report/requests/requests_json.h"
#include "report/forest/waterfall.h"

enum {
	PAIRS_MAX = 10,
};

void requests_json_num(struct json *j, const char *key, double value, int decimals)
{
	if (!isfinite(value))
		json_knull(j, key);
	else if (!decimals)
		json_ki64(j, key, llround(value));
	else
		json_kf64_dec(j, key, value, decimals);
}

static void share(struct json *j, const char *key, double value)
{
	requests_json_num(j, key, value, 5);
}

static void time_ns(struct json *j, const char *key, double ns)
{
	requests_json_num(j, key, ns, 0);
}

/* ---- input */

static void json_file(struct json *j, const struct requests_file *f)
{
	const struct spans_stats *s = &f->stats;

	json_obj(j);
	json_kstr(j, "path", f->path);
	json_kstr(j, "format", f->unread ? NULL : spans_format_name(s->format));
	json_kstr(j, "packed", s->packed_as);
	json_ku64(j, "bytes", s->plain_bytes);
	json_ku64(j, "spans", s->span_cnt);
	json_ku64(j, "points", s->point_cnt);
	json_ku64(j, "bad", s->bad_cnt);
	json_karr(j, "first_bad");
	for (uint32_t i = 0; i < s->bad_shown_cnt; i++) {
		json_obj(j);
		json_ku64(j, "offset", s->bad[i].off);
		json_kstr(j, "why", s->bad[i].why);
		json_obj_end(j);
	}
	json_arr_end(j);
	if (s->cut) {
		json_kobj(j, "cut_at");
		json_ku64(j, "offset", s->cut_at.off);
		json_kstr(j, "why", s->cut_at.why);
		json_obj_end(j);
	} else {
		json_knull(j, "cut_at");
	}
	json_obj_end(j);
}

/* none: of a piece of time without that end. */
static void json_time(struct json *j, const char *key, int64_t ns, int64_t none)
{
	if (ns == none)
		json_knull(j, key);
	else
		json_ki64(j, key, ns);
}

static void json_clock(const struct requests_view *v, struct json *j, const struct skew_host *h)
{
	CLEANUP(buf_release) struct buf words = {0};

	json_obj(j);
	json_kstr(j, "host", strtab_str(v->strings, h->host));
	json_ki64(j, "offset_ns", h->offset_ns);
	json_kstr(j, "reference", strtab_str(v->strings, h->reference));
	json_kstr(j, "against", strtab_str(v->strings, h->against));
	if (h->sure_ns >= 0)
		json_ki64(j, "sure_ns", h->sure_ns);
	else
		json_knull(j, "sure_ns");
	json_time(j, "from_ns", h->from_ns, INT64_MIN);
	json_time(j, "to_ns", h->to_ns, INT64_MAX);
	json_kbool(j, "times_by_own_clock", h->by_own);
	if (h->drift != 0) {
		json_kf64(j, "drift_ppm", h->drift * 1e6);
		json_ki64(j, "offset_at_ns", h->at_ns);
	} else {
		json_knull(j, "drift_ppm");
		json_knull(j, "offset_at_ns");
	}
	json_ku64(j, "calls", h->bound_cnt);
	json_ku64(j, "impossible_before", h->broken_before);
	json_ku64(j, "impossible_after", h->broken_after);
	requests_clock_words(v, h, &words);
	json_kstr(j, "words", buf_str(&words));
	json_obj_end(j);
}

static void json_unsettled(const struct requests_view *v, struct json *j,
			   const struct skew_unsettled *u)
{
	CLEANUP(buf_release) struct buf words = {0};

	json_obj(j);
	json_kstr(j, "host", strtab_str(v->strings, u->host));
	json_kstr(j, "against", strtab_str(v->strings, u->against));
	json_ku64(j, "calls", u->bound_cnt);
	json_ku64(j, "impossible", u->impossible_cnt);
	requests_unsettled_words(v, u, &words);
	json_kstr(j, "words", buf_str(&words));
	json_obj_end(j);
}

static void json_live(struct json *j, const struct requests_input *in)
{
	const struct requests_live *l = in->live;

	if (!l) {
		json_knull(j, "live");
		return;
	}
	json_kobj(j, "live");
	json_kstr(j, "selection", in->files[0].path);
	json_ku64(j, "watched_ns", l->watched_ns);
	json_ku64(j, "followed_ns", l->followed_ns);
	json_ku64(j, "slices", l->slice_cnt);
	json_ku64(j, "events", l->event_cnt);
	json_ku64(j, "calls", l->call_cnt);
	json_ku64(j, "likely_calls", l->likely_cnt);
	json_ku64(j, "unknown_calls", l->unknown_cnt);
	json_ku64(j, "shared_requests", l->shared_cnt);
	json_ku64(j, "shared_calls", l->shared_call_cnt);
	json_ku64(j, "handshakes", l->setup_cnt);
	json_ku64(j, "joined_requests", l->joined_cnt);
	requests_json_num(j, "cost_share", l->cost_share, 5);
	json_kbool(j, "switches_tasks", l->switches);
	json_obj_end(j);
}

void requests_json_input(const struct requests_view *v, struct json *j)
{
	struct requests_note notes[REQUESTS_NOTES_MAX];
	size_t cnt = requests_notes(v, notes);

	json_kobj(j, "input");
	json_karr(j, "files");
	for (size_t i = 0; i < v->in->file_cnt && !v->in->live; i++)
		json_file(j, &v->in->files[i]);
	json_arr_end(j);
	json_live(j, v->in);
	json_ku64(j, "requests", v->r->stats.trace_cnt);
	json_ku64(j, "spans", v->r->stats.span_cnt);
	json_kbool(j, "stopped", v->in->stopped);
	json_karr(j, "notes");
	for (size_t i = 0; i < cnt; i++) {
		json_obj(j);
		json_kstr(j, "what", notes[i].what);
		json_kstr(j, "words", notes[i].words);
		json_ku64(j, "count", notes[i].cnt);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_karr(j, "clocks");
	for (uint32_t i = 0; i < v->in->clocks.host_cnt; i++)
		json_clock(v, j, &v->in->clocks.hosts[i]);
	json_arr_end(j);
	json_karr(j, "unsettled_clocks");
	for (uint32_t i = 0; i < v->in->clocks.unsettled_cnt; i++)
		json_unsettled(v, j, &v->in->clocks.unsettled[i]);
	json_arr_end(j);
	json_obj_end(j);
}

static void json_settings(const struct requests_view *v, struct json *j)
{
	const struct requests_opts *o = &v->r->opts;

	json_kobj(j, "settings");
	json_kf64(j, "cv", o->cv_min);
	json_kf64(j, "slow_percentile", o->slow_pct);
	json_ku64(j, "min_requests", o->min_cnt);
	json_kf64(j, "q", o->q_max);
	json_obj_end(j);
}

/* ---- parts of a group */

static void json_latency(struct json *j, const struct latency *l)
{
	json_kobj(j, "latency");
	json_ku64(j, "requests", l->cnt);
	time_ns(j, "mean_ns", l->mean_ns);
	time_ns(j, "error_ns", l->error_ns);
	time_ns(j, "sd_ns", l->sd_ns);
	share(j, "cv", l->cv);
	time_ns(j, "min_ns", l->min_ns);
	time_ns(j, "p05_ns", l->p05_ns);
	time_ns(j, "p25_ns", l->p25_ns);
	time_ns(j, "p50_ns", l->p50_ns);
	time_ns(j, "p75_ns", l->p75_ns);
	time_ns(j, "p90_ns", l->p90_ns);
	time_ns(j, "p95_ns", l->p95_ns);
	time_ns(j, "p99_ns", l->p99_ns);
	time_ns(j, "max_ns", l->max_ns);
	json_obj_end(j);
}

static void json_point(const struct requests_view *v, struct json *j, const char *key,
		       uint32_t point)
{
	CLEANUP(buf_release) struct buf words = {0};

	if (point < v->points->items.cnt)
		requests_point_words(v, point, &words);
	json_kstr(j, key, point < v->points->items.cnt ? buf_str(&words) : NULL);
}

static void json_end(const struct requests_view *v, struct json *j, const char *key,
		     uint32_t point, uint8_t kind)
{
	static const char *const kinds[] = {[NODE_ENTRY] = "begin", [NODE_EXIT] = "end",
					    [NODE_NOTE] = "point"};
	if (point >= v->points->items.cnt) {
		json_knull(j, key);
		return;
	}
	json_kobj(j, key);
	json_point_names(j, v->points, v->strings, point);
	json_kstr(j, "kind", kinds[kind]);
	json_obj_end(j);
}

void requests_json_edge_key(const struct requests_view *v, const struct edge_key *k,
			    struct json *j)
{
	CLEANUP(buf_release) struct buf words = {0};

	requests_edge_words(v, k, 0, &words);
	json_kstr(j, "words", buf_str(&words));
	json_end(v, j, "from", k->from, k->from_kind);
	json_end(v, j, "to", k->to, k->to_kind);
	json_point(v, j, "owner", k->owner);
	json_ku64(j, "occurrence", k->occurrence);
}

static void json_edge(const struct requests_view *v, struct json *j,
		      const struct request_edge *e)
{
	json_obj(j);
	requests_json_edge_key(v, &e->key, j);
	json_ku64(j, "present", e->present_cnt);
	time_ns(j, "begin_ns", e->begin_ns);
	json_latency(j, &e->latency);
	share(j, "time_share", e->time_share);
	share(j, "variance_share", e->share);
	share(j, "variance_share_low", e->share_low);
	share(j, "variance_share_high", e->share_high);
	share(j, "trimmed_share", e->trimmed_share);
	share(j, "tail_share", e->tail_share);
	time_ns(j, "excess_ns", e->excess_ns);
	json_obj_end(j);
}

static void json_owner(const struct requests_view *v, struct json *j,
		       const struct request_owner *o)
{
	json_obj(j);
	json_point(v, j, "tracepoint", o->point);
	json_ku64(j, "edges", o->edge_cnt);
	time_ns(j, "mean_ns", o->mean_ns);
	share(j, "time_share", o->time_share);
	share(j, "variance_share", o->share);
	share(j, "variance_share_low", o->share_low);
	share(j, "variance_share_high", o->share_high);
	share(j, "trimmed_share", o->trimmed_share);
	share(j, "tail_share", o->tail_share);
	time_ns(j, "excess_ns", o->excess_ns);
	json_obj_end(j);
}

/* Writes what its paths have in common beyond their shape. */
static void json_common(const struct requests_view *v, struct json *j,
			const struct request_group *g)
{
	json_karr(j, "bins");
	for (uint32_t i = 0; i < g->bin_cnt; i++) {
		json_obj(j);
		json_point(v, j, "tracepoint", g->bins[i].point);
		json_kstr(j, "bin", strtab_str(v->strings, g->bins[i].label));
		json_obj_end(j);
	}
	json_arr_end(j);
	json_karr(j, "rules");
	for (uint32_t i = 0; i < g->rule_cnt; i++) {
		json_obj(j);
		json_point(v, j, "tracepoint", g->rules[i].point);
		json_ku64(j, "times", g->rules[i].times);
		json_kbool(j, "holds", g->rules[i].holds);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void requests_json_value(const struct requests_view *v, const struct key_value *x, struct json *j)
{
	CLEANUP(buf_release) struct buf text = {0};

	if (x->str) {
		json_kstr(j, "value", strtab_str(v->strings, x->str));
	} else if (x->truth) {
		json_kstr(j, "value", x->low != 0 ? "true" : "false");
	} else {
		if (x->decimals && x->low == x->high) {
			buf_printf(&text, "%.*f", x->decimals, x->low);
			json_kstr(j, "value", buf_str(&text));
		}
		json_kf64(j, "low", x->low);
		json_kf64(j, "high", x->high);
	}
}

static void json_value(const struct requests_view *v, struct json *j, const struct key_value *x)
{
	json_obj(j);
	requests_json_value(v, x, j);
	json_ku64(j, "requests", x->cnt);
	time_ns(j, "mean_ns", x->mean_ns);
	time_ns(j, "p50_ns", x->p50_ns);
	share(j, "weight", x->weight);
	json_obj_end(j);
}

static void json_key_of(const struct requests_view *v, struct json *j,
			const struct request_key *k)
{
	CLEANUP(buf_release) struct buf words = {0};
	CLEANUP(buf_release) struct buf where = {0};

	requests_key_words(v, k, &words);
	if (k->point != REQUEST_POINT_NONE)
		requests_point_words(v, k->point, &where);
	json_obj(j);
	json_kstr(j, "key", strtab_str(v->strings, k->key));
	json_kstr(j, "tracepoint", buf_str(&where));
	json_kstr(j, "kind", k->kind == KEY_NUMERIC ? "numeric" : "categorical");
	json_kstr(j, "words", buf_str(&words));
	if (k->edge == REQUEST_ALL)
		json_knull(j, "edge");
	else
		json_ku64(j, "edge", k->edge);
	json_ku64(j, "requests", k->cnt);
	json_ku64(j, "distinct", k->distinct_cnt);
	share(j, "strength", k->strength);
	share(j, "r", k->kind == KEY_NUMERIC ? k->r : NAN);
	share(j, "rank_r", k->kind == KEY_NUMERIC ? k->rank_r : NAN);
	share(j, "eta2", k->kind == KEY_CATEGORICAL ? k->eta2 : NAN);
	json_kf64(j, "p", k->p);
	json_kf64(j, "q", k->q);
	json_kbool(j, "explains", k->explains);
	json_ku64(j, "aliases", k->alias_cnt);
	time_ns(j, "mean_ns", k->mean_ns);
	json_karr(j, "values");
	for (uint32_t i = 0; i < k->value_cnt; i++)
		json_value(v, j, &k->values[i]);
	json_arr_end(j);
	json_obj_end(j);
}

static void json_copy(struct json *j, const char *key, const struct request_copy *c)
{
	char id[TRACE_ID_TEXT];

	json_kobj(j, key);
	json_kstr(j, "trace", trace_id_text(&c->id, id));
	json_ki64(j, "total_ns", c->total_ns);
	share(j, "percentile", c->percentile);
	json_obj_end(j);
}

static void json_order(struct json *j, const char *key, const uint32_t *order, uint32_t cnt)
{
	json_karr(j, key);
	for (uint32_t i = 0; i < cnt; i++)
		json_u64(j, order[i]);
	json_arr_end(j);
}

static void json_group_lists(const struct requests_view *v, struct json *j,
			     const struct request_group *g)
{
	json_karr(j, "edges");
	for (uint32_t i = 0; i < g->edge_cnt; i++)
		json_edge(v, j, &g->edges[i]);
	json_arr_end(j);
	json_karr(j, "owners");
	for (uint32_t i = 0; i < g->owner_cnt; i++)
		json_owner(v, j, &g->owners[i]);
	json_arr_end(j);
	json_order(j, "by_variance", g->by_share, g->edge_cnt);
	json_order(j, "by_time", g->by_time, g->edge_cnt);
	json_karr(j, "pairs");
	for (uint32_t i = 0; i < g->pair_cnt && i < PAIRS_MAX; i++) {
		json_obj(j);
		json_ku64(j, "a", g->pairs[i].a);
		json_ku64(j, "b", g->pairs[i].b);
		share(j, "r", g->pairs[i].r);
		share(j, "variance_share", g->pairs[i].share);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_karr(j, "keys");
	for (uint32_t i = 0; i < g->key_cnt; i++)
		json_key_of(v, j, &g->keys[i]);
	json_arr_end(j);
}

static void json_group(const struct requests_view *v, struct json *j,
		       const struct request_group *g)
{
	json_obj(j);
	json_hash(j, "hash", g->hash);
	json_kstr(j, "level", request_level_name(g->level));
	json_ku64(j, "paths", g->path_cnt);
	json_common(v, j, g);
	json_kbool(j, "decided", g->decided);
	share(j, "effective_requests", g->effective_cnt);
	json_kbool(j, "by_outliers", g->by_outliers);
	share(j, "trimmed_cv", g->trimmed_cv);
	share(j, "type_share", g->type_share);
	json_ku64(j, "failed", g->failed_cnt);
	json_ku64(j, "begun_by_messages", g->message_cnt);
	share(j, "variance_share", g->variance_share);
	json_latency(j, &g->latency);
	json_group_lists(v, j, g);
	json_copy(j, "typical", &g->typical);
	json_copy(j, "fast", &g->fast);
	json_copy(j, "slow", &g->slow);
	json_obj_end(j);
}

/* ---- types and problems */

static void json_type(const struct requests_view *v, struct json *j, uint32_t type)
{
	const struct request_type *t = &v->r->types[type];

	json_obj(j);
	json_kstr(j, "name", strtab_str(v->strings, t->name));
	json_hash(j, "hash", t->hash);
	json_ku64(j, "requests", t->all->latency.cnt);
	json_ku64(j, "usable_requests", t->usable_cnt);
	json_latency(j, &t->all->latency);
	share(j, "between_share", t->between_share);
	share(j, "within_share", t->within_share);
	json_karr(j, "levels");
	for (uint32_t i = 0; i < t->level_cnt; i++) {
		const struct request_level *l = &t->levels[i];

		json_obj(j);
		json_kstr(j, "level", request_level_name(l->level));
		json_kbool(j, "merged", l->merged);
		json_ku64(j, "groups", l->group_cnt);
		json_ku64(j, "usable_requests", l->usable_cnt);
		share(j, "between_share", l->between_share);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_key(j, "all");
	json_group(v, j, t->all);
	json_karr(j, "groups");
	for (uint32_t i = 0; i < t->group_cnt; i++)
		json_group(v, j, &t->groups[i]);
	json_arr_end(j);
	json_obj_end(j);
}

static void json_problem(const struct requests_view *v, struct json *j,
			 const struct request_problem *p, const uint32_t *type_number)
{
	CLEANUP(buf_release) struct buf words = {0};

	requests_problem_words(v, p, &words);
	json_obj(j);
	json_kstr(j, "kind", request_problem_kind_name(p->kind));
	json_kstr(j, "words", buf_str(&words));
	json_ku64(j, "type", type_number[p->type]);
	if (p->group == REQUEST_ALL)
		json_knull(j, "group");
	else
		json_ku64(j, "group", p->group);
	share(j, "weight", p->weight);
	time_ns(j, "cost_ns", p->cost_ns);
	if (p->kind == PROBLEM_PATHS)
		json_ku64(j, "paths", p->path_cnt);
	else
		json_knull(j, "paths");
	time_ns(j, "excess_ns", p->kind != PROBLEM_VARIANCE ? p->excess_ns : NAN);
	if (p->kind == PROBLEM_PATHS)
		json_ku64(j, "slow_group", p->slow_group);
	else
		json_knull(j, "slow_group");
	json_order(j, "edges", p->edges, p->edge_cnt);
	json_obj_end(j);
}

void requests_json_problems(const struct requests_view *v, struct json *j)
{
	uint32_t *number = ARENA_ARRAY(v->arena, uint32_t, v->r->type_cnt + 1), next = 0;

	for (uint32_t i = 0; i < v->r->type_cnt; i++)
		number[i] = requests_type_shown(v, i) ? next++ : next;
	json_karr(j, "problems");
	for (uint32_t i = 0; i < v->r->problem_cnt; i++)
		if (requests_type_shown(v, v->r->problems[i].type))
			json_problem(v, j, &v->r->problems[i], number);
	json_arr_end(j);
}

static void json_object(const struct requests_view *v, struct json *j)
{
	json_obj(j);
	json_kstr(j, "schema", "heldup/requests/1");
	requests_json_blame(v, j);
	requests_json_input(v, j);
	json_settings(v, j);
	json_karr(j, "types");
	for (uint32_t i = 0; i < v->r->type_cnt; i++) {
		if (requests_type_shown(v, i))
			json_type(v, j, i);
	}
	json_arr_end(j);
	requests_json_problems(v, j);
	requests_json_rank(v, j);
	requests_json_calls(v, j);
	requests_json_structure(v, j);
	requests_json_aside(v, j);
	requests_json_splits(v, j);
	requests_json_explain(v, j);
	requests_json_diff(v, j);
	json_obj_end(j);
}

void requests_json(const struct requests_view *v, struct buf *out, FILE *file)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	json_to_file(&j, file);
	json_object(v, &j);
	json_finish(&j);
}
