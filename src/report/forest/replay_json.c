/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/json_points.h"
#include "report/forest/replay_out.h"

static void put_point(struct json *j, const struct replay_view *v, const char *key, uint32_t point)
{
	CLEANUP(buf_release) struct buf name = {0};

	if (point == FOREST_NONE) {
		json_knull(j, key);
		return;
	}
	replay_point_name(v, point, &name);
	json_kstr(j, key, buf_str(&name));
}

static void put_event(struct json *j, const struct replay_view *v, const char *key,
		      const struct forest_event *e)
{
	if (e->point == FOREST_NONE) {
		json_knull(j, key);
		return;
	}
	json_kobj(j, key);
	put_point(j, v, "point", e->point);
	json_kstr(j, "kind", forest_kind_name(e->kind));
	json_obj_end(j);
}

static void put_points(struct json *j, const struct replay_view *v)
{
	json_karr(j, "points");
	for (uint32_t i = 0; i < v->space->point_cnt; i++) {
		const struct space_point *p = &v->space->points[i];

		json_obj(j);
		put_point(j, v, "name", p->point);
		json_kbool(j, "always_on", space_point_always(p));
		json_ku64(j, "spans", p->span_cnt);
		json_ku64(j, "requests", p->trace_cnt);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void put_injected(struct json *j, const struct replay_view *v)
{
	static const char *const laws[] = {[INJECT_UNIFORM] = "uniform",
					   [INJECT_CONSTANT] = "constant", [INJECT_BY_KEY] = "key"};
	const struct inject_plan *plan = v->input->plan;

	json_karr(j, "injected");
	for (uint32_t i = 0; plan && i < plan->cnt; i++) {
		const struct injection *in = &plan->items[i];

		json_obj(j);
		json_kstr(j, "service", strtab_str(v->strings, in->service));
		json_kstr(j, "name", strtab_str(v->strings, in->name));
		json_kstr(j, "at", in->where == INJECT_EXIT ? "exit" : "entry");
		json_kstr(j, "law", laws[in->law]);
		json_kf64_dec(j, "ns", (double)in->ns, 0);
		json_kstr(j, "key", in->key ? strtab_str(v->strings, in->key) : NULL);
		json_kf64(j, "share", in->share_ppm ? (double)in->share_ppm / 1e6 : 1);
		json_ku64(j, "together", in->together);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void put_located(struct json *j, const struct replay_view *v,
			const struct replay_result *res)
{
	json_karr(j, "located");
	for (uint32_t i = 0; i < res->located_cnt; i++) {
		const struct replay_located *l = &res->located[i];

		json_obj(j);
		put_event(j, v, "from", &l->from);
		put_event(j, v, "to", &l->to);
		put_point(j, v, "owner", l->owner);
		json_ku64(j, "round", l->round);
		json_kf64_dec(j, "share", l->share, 6);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void put_truths(struct json *j, const struct replay_view *v,
		       const struct replay_result *res)
{
	json_karr(j, "truths");
	for (uint32_t i = 0; i < res->truth_cnt; i++) {
		const struct replay_truth *t = &res->truths[i];

		json_obj(j);
		put_point(j, v, "point", t->point);
		json_kf64_dec(j, "share", t->share, 6);
		json_kbool(j, "felt", t->felt);
		if (t->rank) {
			json_ku64(j, "rank", t->rank);
			json_ku64(j, "round", t->round);
		} else {
			json_knull(j, "rank");
			json_knull(j, "round");
		}
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void put_decisions(struct json *j, const struct replay_view *v,
			  const struct replay_result *res)
{
	static const char *const kinds[] = {
		[DECIDE_ON] = "on", [DECIDE_OFF] = "off", [DECIDE_LOCALISED] = "localised",
		[DECIDE_CALM] = "calm", [DECIDE_WAIT] = "wait", [DECIDE_STOP] = "stop",
	};

	json_karr(j, "decisions");
	for (uint32_t i = 0; i < res->decision_cnt; i++) {
		const struct forest_decision *d = &res->decisions[i];

		json_obj(j);
		json_ku64(j, "round", d->round);
		json_kstr(j, "kind", d->kind < sizeof(kinds) / sizeof(*kinds) ? kinds[d->kind]
									      : NULL);
		put_point(j, v, "point", d->point);
		json_kstr(j, "sides", d->point == FOREST_NONE ? NULL :
				      forest_sides_name(d->sides));
		put_event(j, v, "from", &d->from);
		put_event(j, v, "to", &d->to);
		json_ku64(j, "requests", d->trace_cnt);
		json_kf64_dec(j, "cv", d->cv, 4);
		json_kf64_dec(j, "share_of_variance", d->share_variance, 4);
		json_kf64_dec(j, "share_of_time", d->share_time, 4);
		json_kstr(j, "why", d->why);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void put_result(struct json *j, const struct replay_view *v,
		       const struct replay_result *res)
{
	json_obj(j);
	json_kstr(j, "strategy", replay_strategy_name(res->strategy));
	json_ku64(j, "rounds", res->round_cnt);
	json_kbool(j, "ended", res->ended);
	if (res->truth_cnt)
		json_kbool(j, "right", res->right);
	else
		json_knull(j, "right");
	json_ku64(j, "requests", res->trace_cnt);
	json_ku64(j, "other_type_requests", res->other_type_cnt);
	json_ku64(j, "spans", res->span_cnt);
	json_ku64(j, "seen_spans", res->seen_span_cnt);
	json_ku64(j, "points", res->point_cnt);
	json_ku64(j, "always_on", res->always_cnt);
	json_kf64_dec(j, "enabled", res->enabled_cnt, 3);
	json_kf64_dec(j, "enabled_share",
		      res->point_cnt ? res->enabled_cnt / res->point_cnt : 0, 6);
	json_kf64_dec(j, "on_share",
		      res->point_cnt ? (res->enabled_cnt + res->always_cnt) / res->point_cnt : 0,
		      6);
	json_kf64_dec(j, "on_at_end", res->on_cnt, 3);
	json_ku64(j, "least", res->least_cnt);
	json_ku64(j, "slowed_spans", res->hits.span_cnt);
	json_ku64(j, "slowed_ns", res->hits.delay_ns);
	put_located(j, v, res);
	put_truths(j, v, res);
	put_decisions(j, v, res);
	json_obj_end(j);
}

void replay_json(const struct replay_view *v, struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/replay/1");
	json_kstr(&j, "version", HELDUP_VERSION);
	json_ku64(&j, "requests", v->input->live_cnt);
	json_ku64(&j, "learnt_requests", v->learnt_cnt);
	json_kf64_dec(&j, "learnt_mean_ns", v->mean_ns, 0);
	json_kbool(&j, "stopped", v->stopped);
	json_ku64(&j, "batch", v->batch);
	json_kstr(&j, "tracepoints", v->apart ? "sides" : "spans");
	put_points(&j, v);
	put_injected(&j, v);
	json_karr(&j, "strategies");
	for (size_t i = 0; i < v->result_cnt; i++)
		put_result(&j, v, &v->results[i]);
	json_arr_end(&j);
	json_obj_end(&j);
	json_finish(&j);
}
