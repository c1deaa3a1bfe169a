/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/explore/traced_out.h"
#include "report/forest/forest_out.h"
#include "traced/drive.h"

static void point_put(const struct traced_view *v, struct json *j, const char *key, uint32_t point)
{
	CLEANUP(buf_release) struct buf name = {0};

	if (point == FOREST_NONE) {
		json_knull(j, key);
		return;
	}
	forest_point_words(v->forest, point, &name);
	json_kstr(j, key, buf_str(&name));
}

static void located_put(const struct traced_view *v, struct json *j)
{
	json_karr(j, "located");
	for (uint32_t i = 0; v->r->doubt == DRIVE_SURE && i < v->r->located_cnt; i++) {
		const struct control_located *l = &v->r->located[i];

		json_obj(j);
		point_put(v, j, "tracepoint", drive_owner(l));
		point_put(v, j, "from", l->from.point);
		point_put(v, j, "to", l->to.point);
		json_kf64_dec(j, "share", l->score, 4);
		json_kf64_dec(j, "excess_ns", l->excess_ns, 0);
		json_ku64(j, "round", l->round);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void keys_put(const struct traced_view *v, struct json *j)
{
	const struct control_located *l = v->r->located;
	const struct forest_node *n;

	json_karr(j, "keys");
	if (v->r->doubt == DRIVE_SURE) {
		n = &v->r->forest->trees[l->tree].nodes[l->node];
		for (uint32_t i = 0; i < n->key_cnt; i++) {
			const struct forest_key *k = &n->keys[i];

			json_obj(j);
			json_kstr(j, "key", strtab_str(v->forest->strings, k->key));
			point_put(v, j, "tracepoint", k->point);
			json_kbool(j, "numeric", k->numeric);
			json_kf64_dec(j, "strength", k->strength, 4);
			json_ku64(j, "requests", k->cnt);
			json_obj_end(j);
		}
	}
	json_arr_end(j);
}

static void requests_put(const struct drive_counts *c, struct json *j)
{
	json_kobj(j, "requests");
	json_ku64(j, "count", c->trace_cnt);
	json_ku64(j, "learnt", c->learnt_cnt);
	json_ku64(j, "older_state", c->old_cnt);
	json_ku64(j, "incomplete", c->incomplete_cnt);
	json_ku64(j, "foreign", c->foreign_cnt);
	json_kf64_dec(j, "incomplete_share", c->incomplete_share, 4);
	json_kf64_dec(j, "spans_dropped_share", c->dropped_share, 4);
	json_obj_end(j);
}

static void cost_put(const struct traced_view *v, struct json *j)
{
	const struct drive_result *r = v->r;

	json_kobj(j, "cost");
	json_ku64(j, "took_ns", v->took_ns);
	json_kf64_dec(j, "share", r->cost_share, 5);
	json_kf64_dec(j, "allowed_share", v->max_cost, 4);
	json_kf64_dec(j, "traced_share", r->share, 4);
	json_ku64(j, "tracepoints", r->point_cnt);
	json_ku64(j, "always_on", r->always_cnt);
	json_ku64(j, "most_on", r->most_on_cnt);
	json_kf64_dec(j, "mean_on", r->mean_on, 2);
	json_ku64(j, "spans", v->agents->recorded_cnt);
	json_ku64(j, "spans_dropped", v->agents->dropped_cnt);
	json_ku64(j, "spans_refused", v->refused_span_cnt + v->spans->dropped_cnt);
	json_ku64(j, "spans_late", v->spans->late_cnt);
	json_obj_end(j);
}

static void after_put(const struct traced_view *v, struct json *j)
{
	json_kobj(j, "after");
	json_ku64(j, "programs", v->agents->agent_cnt);
	json_ku64(j, "programs_off", v->agents->off_cnt);
	json_ku64(j, "programs_silent", v->agents->silent_cnt);
	json_ku64(j, "programs_over_limit", v->agents->over_cnt);
	json_ku64(j, "off_ns", v->off_ns);
	json_obj_end(j);
}

static void decisions_put(const struct traced_view *v, struct json *j)
{
	const struct forest *f = v->r->forest;

	json_karr(j, "decisions");
	for (uint32_t i = 0; f && i < f->decision_cnt; i++) {
		const struct forest_decision *d = &f->decisions[i];

		json_obj(j);
		json_ku64(j, "round", d->round);
		json_kstr(j, "what", forest_decision_name(d->kind));
		point_put(v, j, "tracepoint", d->point);
		json_kstr(j, "why", d->why);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void traced_json(const struct traced_view *v, struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/explore/1");
	json_kobj(&j, "traced");
	json_kstr(&j, "type", v->type);
	json_kstr(&j, "listen", v->listen);
	json_kstr(&j, "end", traced_end_name(v->r->doubt));
	json_ku64(&j, "rounds", v->r->round_cnt);
	requests_put(&v->r->counts, &j);
	located_put(v, &j);
	keys_put(v, &j);
	decisions_put(v, &j);
	cost_put(v, &j);
	after_put(v, &j);
	json_obj_end(&j);
	json_obj_end(&j);
	json_finish(&j);
}
