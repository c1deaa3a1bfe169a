/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "explore/explore.h"
#include "explore/timelines.h"
#include "report/explore/explore_out.h"

static void fn_put(struct json *j, const struct explore_view *v, const char *key, uint32_t fn)
{
	if (fn >= v->graph->fn_cnt) {
		json_knull(j, key);
		return;
	}
	json_kobj(j, key);
	json_kstr(j, "name", v->graph->fns[fn].name);
	json_kstr(j, "module", v->graph->fns[fn].module);
	json_obj_end(j);
}

static void part_put(struct json *j, const struct explore_view *v, const struct look_point *p)
{
	json_obj(j);
	json_kstr(j, "part", explore_top_words(v, p->point));
	fn_put(j, v, "function", p->point);
	json_kf64_dec(j, "share", p->share, 4);
	json_kf64_dec(j, "slow_ns", p->slow_ns, 0);
	json_kf64_dec(j, "usual_ns", p->usual_ns, 0);
	json_kf64_dec(j, "slow_hits", p->slow_hits, 3);
	json_kf64_dec(j, "usual_hits", p->usual_hits, 3);
	json_kf64_dec(j, "asleep_share", p->wait_share, 4);
	json_kstr(j, "asleep_in", explore_wait_words(p->wait_kind));
	json_obj_end(j);
}

static void values_put(struct json *j, const struct explore_result *r)
{
	char name[64];

	json_karr(j, "values");
	for (uint32_t i = 0; i < r->value_cnt; i++) {
		const struct explore_value *x = &r->values[i];

		json_obj(j);
		json_kstr(j, "name", value_name(x, name, sizeof(name)));
		json_kstr(j, "by", x->is_rank ? "rank" : "same");
		json_kf64_dec(j, "rank_correlation", x->rho, 3);
		if (x->is_rank)
			json_knull(j, "value");
		else
			json_ki64(j, "value", x->value);
		json_kf64_dec(j, "slow_share", x->slow_share, 4);
		json_kf64_dec(j, "other_share", x->other_share, 4);
		json_ki64(j, "slow_p50", x->slow_p50);
		json_ki64(j, "other_p50", x->other_p50);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void rounds_put(struct json *j, const struct explore_view *v)
{
	json_karr(j, "rounds");
	for (uint32_t i = 0; i < v->r->round_cnt; i++) {
		const struct explore_round *r = &v->r->rounds[i];

		json_obj(j);
		json_karr(j, "on");
		for (uint32_t k = 0; k < r->on_cnt; k++)
			json_str(j, v->graph->fns[r->on[k]].name);
		json_arr_end(j);
		json_ku64(j, "too_hot", r->hot_cnt);
		json_ku64(j, "requests", r->look.request_cnt);
		json_ku64(j, "slow", r->look.slow_cnt);
		json_kbool(j, "evidence", r->top != EXPLORE_NONE);
		json_karr(j, "parts");
		for (size_t k = 0; k < r->look.points.cnt && k < 8; k++)
			part_put(j, v, &r->look.points.items[k]);
		json_arr_end(j);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void requests_put(struct json *j, const struct explore_view *v)
{
	const struct explore_result *r = v->r;

	json_kobj(j, "requests");
	json_ku64(j, "port", v->port);
	json_ku64(j, "count", r->request_cnt);
	json_ku64(j, "slow", r->slow_cnt);
	json_ku64(j, "on_other_ports", v->other_cnt);
	json_kbool(j, "varies", r->varies);
	json_kf64_dec(j, "cv", r->cv, 3);
	json_ku64(j, "p50_ns", r->p50_ns);
	json_ku64(j, "p99_ns", r->p99_ns);
	json_ku64(j, "slow_from_ns", r->slow_ns);
	json_ku64(j, "too_rare_ns", r->rare_ns);
	json_obj_end(j);
}

static void found_put(struct json *j, const struct explore_view *v)
{
	const struct explore_result *r = v->r;

	if (r->top == EXPLORE_NONE) {
		json_knull(j, "held_up_by");
		return;
	}
	json_kobj(j, "held_up_by");
	json_kstr(j, "part", explore_top_words(v, r->top));
	fn_put(j, v, "function", r->top);
	fn_put(j, v, "after", r->after ? r->callee : EXPLORE_NONE);
	fn_put(j, v, "mostly_in", r->inner != EXPLORE_NONE ? r->inner : r->hot);
	fn_put(j, v, "asked_in", r->asker);
	json_kstr(j, "asked", r->top == PART_ASK && *v->asked ? v->asked : NULL);
	json_karr(j, "callers");
	for (int i = 0; i < EXPLORE_CALLERS && r->callers[i] != EXPLORE_NONE; i++)
		json_str(j, v->graph->fns[r->callers[i]].name);
	json_arr_end(j);
	json_key(j, "evidence");
	part_put(j, v, &r->point);
	values_put(j, r);
	json_obj_end(j);
}

static void cost_put(struct json *j, const struct explore_view *v)
{
	json_kobj(j, "cost");
	json_ku64(j, "took_ns", v->took_ns);
	json_ku64(j, "stacks_ns", v->stacks_ns);
	json_ku64(j, "samples", v->sample_cnt);
	json_ku64(j, "followed_ns", v->followed_ns);
	json_ku64(j, "events_lost", v->lost_cnt);
	json_kf64_dec(j, "share", v->cost_share, 5);
	json_kf64_dec(j, "allowed_share", v->cost_may, 5);
	json_ku64(j, "hits", v->hit_cnt);
	json_kf64_dec(j, "hit_ns", v->fast_ns, 0);
	json_kf64_dec(j, "stepped_hit_ns", v->slow_ns, 0);
	json_ku64(j, "functions", v->function_cnt);
	json_ku64(j, "functions_seen", v->seen_cnt);
	json_ku64(j, "functions_refused", v->refused_cnt);
	json_ku64(j, "functions_on", v->r->ever_cnt);
	json_obj_end(j);
	json_kobj(j, "after");
	json_ku64(j, "places_compared", v->compared_cnt);
	json_ku64(j, "places_unread", v->uncompared_cnt);
	json_ku64(j, "bytes_differ", v->differ_bytes);
	json_ku64(j, "processes_left_out", v->left_out_cnt);
	json_obj_end(j);
}

void explore_json_parts(struct json *j, const struct explore_view *v)
{
	json_kstr(j, "schema", "heldup/explore/1");
	json_kstr(j, "selection", v->selection);
	json_kstr(j, "end", explore_end_word(v->r->end));
	requests_put(j, v);
	found_put(j, v);
	rounds_put(j, v);
	cost_put(j, v);
}

void explore_json(const struct explore_view *v, struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	json_obj(&j);
	explore_json_parts(&j, v);
	json_obj_end(&j);
	json_finish(&j);
}
