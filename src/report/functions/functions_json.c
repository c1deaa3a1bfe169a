/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "functions/functions.h"
#include "model/calls/calls.h"
#include "report/functions/functions_out.h"
#include "verdict/agreement.h"

static const char *call_name(const struct functions_result *r, unsigned nr)
{
	return nr == NR_OWN ? "" : model_call_name(r->m, nr);
}

static const char *const reason_names[] = {"neighbour", "centre", "rare", "long-kind",
					   "baseline", "stuck", "rests", "unfelt"};
static const char *const outside_names[] = {"none", "disk", "cpu", "all-threads"};

static void json_window(struct json *j, const struct functions_result *r)
{
	const struct model *m = r->m;
	time_t begin = (time_t)(m->meta.real_ns / NS_PER_SEC);
	struct tm tm = {0};
	char date[32] = "";

	if (gmtime_r(&begin, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_kobj(j, "window");
	json_ku64(j, "length_ns", r->end_ns - r->begin_ns);
	json_kstr(j, "begin", date);
	json_kstr(j, "selection", m->selection);
	json_kstr(j, "command", m->cmdline);
	json_kstr(j, "source", m->calls->reason);
	json_ku64(j, "calls", r->call_cnt);
	json_ku64(j, "calls_with_stack", r->stack_cnt);
	json_ku64(j, "calls_ignored", r->noise_cnt);
	json_ku64(j, "calls_over_kinds", r->folded_cnt);
	json_ku64(j, "calls_lost", r->lost_cnt);
	json_ku64(j, "away_ns", r->away_ns);
	json_ku64(j, "blocking_only_ns", r->part_ns);
	json_ku64(j, "long_only_ns", r->coarse_ns);
	json_ku64(j, "blocking_only_calls", r->part_cnt);
	json_ku64(j, "lines_skipped", r->skipped_cnt);
	json_obj_end(j);
}

static void json_sums(struct json *j, const struct functions_result *r)
{
	json_kobj(j, "sums");
	json_ku64(j, "units", r->unit_cnt);
	json_ku64(j, "abnormal_units", r->abnormal_cnt);
	json_ku64(j, "idle_units", r->idle_cnt);
	json_ku64(j, "torn_units", r->torn_cnt);
	json_ku64(j, "patterns", r->pattern_cnt);
	json_ku64(j, "clusters", r->cluster_cnt);
	json_ku64(j, "busy_ns", r->busy_ns);
	json_ku64(j, "harm_ns", r->harm_ns);
	json_ku64(j, "held_ns", r->held_ns);
	json_ku64(j, "memory_bytes", r->mem_bytes);
	json_kbool(j, "by_signatures", r->by_signatures);
	json_kbool(j, "baseline", r->baseline);
	json_obj_end(j);
}

static void json_evidence(struct json *j, const struct functions_result *r,
			  const struct fn_evidence *e)
{
	CLEANUP(buf_release) struct buf words = {0};

	functions_evidence_words(r, e, &words);
	json_obj(j);
	json_kstr(j, "kind", dev_kind_name(e->kind));
	json_kstr(j, "call", call_name(r, e->nr));
	json_kbool(j, "self", e->self);
	json_ku64(j, "harm_ns", e->harm_ns);
	json_ku64(j, "usual_ns", e->usual_ns);
	json_ku64(j, "calls", e->cnt);
	json_ku64(j, "units", e->unit_cnt);
	json_kstr(j, "episode", e->episode);
	json_kstr(j, "words", buf_str(&words));
	json_obj_end(j);
}

static void json_fn(struct json *j, const struct functions_result *r, const struct fn_report *f)
{
	json_obj(j);
	json_ku64(j, "rank", f->rank);
	json_kstr(j, "name", f->name);
	json_kstr(j, "module", f->module);
	json_kf64_dec(j, "score", f->score, 4);
	json_kf64_dec(j, "self", f->self, 4);
	json_kf64_dec(j, "harm_share", f->harm_share, 4);
	json_kf64_dec(j, "usual_share", f->usual_share, 4);
	json_kf64_dec(j, "held_share", f->held_share, 4);
	json_ku64(j, "tie", f->tie);
	json_ku64(j, "tie_size", f->tie_cnt);
	json_karr(j, "evidence");
	for (uint32_t i = 0; i < f->evidence_cnt; i++)
		json_evidence(j, r, &f->evidence[i]);
	json_arr_end(j);
	json_karr(j, "units");
	for (uint32_t i = 0; i < f->unit_cnt; i++)
		json_u64(j, f->units[i]);
	json_arr_end(j);
	json_obj_end(j);
}

static void json_thread(struct json *j, const char *key, const struct model *m, uint32_t thread)
{
	if (thread == NO_IDX) {
		json_knull(j, key);
		return;
	}
	json_kobj(j, key);
	json_ku64(j, "pid", m->threads[thread].tgid);
	json_ku64(j, "tid", m->threads[thread].tid);
	json_kstr(j, "name", m->threads[thread].comm);
	json_obj_end(j);
}

static void json_dev(struct json *j, const struct functions_result *r, const struct unit_dev *d)
{
	json_obj(j);
	json_kstr(j, "kind", dev_kind_name(d->kind));
	json_kstr(j, "call", call_name(r, d->nr));
	json_ku64(j, "calls", d->cnt);
	json_kf64_dec(j, "usual_calls", (double)d->usual_cnt, 2);
	json_ku64(j, "mean_ns", d->mean_ns);
	json_ku64(j, "max_ns", d->max_ns);
	json_ku64(j, "usual_ns", d->usual_ns);
	json_ku64(j, "harm_ns", d->harm_ns);
	json_obj_end(j);
}

static void json_idx(struct json *j, const char *key, uint32_t idx)
{
	if (idx == NO_IDX)
		json_knull(j, key);
	else
		json_ku64(j, key, idx);
}

static void json_unit(struct json *j, const struct functions_result *r,
		      const struct unit_report *u)
{
	json_obj(j);
	json_thread(j, "thread", r->m, u->thread);
	json_ku64(j, "begin_ns", u->begin_ns - r->begin_ns);
	json_ku64(j, "ns", u->end_ns - u->begin_ns);
	json_ku64(j, "calls", u->cnt);
	json_idx(j, "cluster", u->cluster);
	json_kf64_dec(j, "score", (double)u->score, 2);
	json_ku64(j, "harm_ns", u->harm_ns);
	json_karr(j, "reasons");
	for (unsigned i = 0; i < sizeof(reason_names) / sizeof(*reason_names); i++)
		if (u->reasons >> i & 1)
			json_str(j, reason_names[i]);
	json_arr_end(j);
	json_karr(j, "deviations");
	for (uint32_t i = 0; i < u->dev_cnt; i++)
		json_dev(j, r, &u->devs[i]);
	json_arr_end(j);
	json_idx(j, "before", u->before);
	json_idx(j, "next", u->next);
	json_thread(j, "waits_for", r->m, u->waits_for);
	json_obj_end(j);
}

static void json_cluster(struct json *j, const struct functions_result *r,
			 const struct cluster_report *c)
{
	json_obj(j);
	json_karr(j, "calls");
	for (uint32_t i = 0; i < c->nr_cnt; i++)
		json_str(j, call_name(r, c->nrs[i]));
	json_arr_end(j);
	json_ku64(j, "patterns", c->pattern_cnt);
	json_ku64(j, "units", c->unit_cnt);
	json_ku64(j, "abnormal_units", c->abnormal_cnt);
	json_ku64(j, "usual_ns", c->usual_ns);
	json_kbool(j, "small", c->small);
	json_obj_end(j);
}

static void json_outside(struct json *j, const struct functions_result *r)
{
	const struct outside_report *o = &r->outside;

	json_kobj(j, "outside");
	json_kstr(j, "kind", outside_names[o->kind]);
	json_ku64(j, "threads_hit", o->hit_cnt);
	json_ku64(j, "threads", o->thread_cnt);
	json_ku64(j, "onset_ns", o->onset_ns > r->begin_ns ? o->onset_ns - r->begin_ns : 0);
	json_ku64(j, "spread_ns", o->spread_ns);
	json_kf64_dec(j, "share", o->share, 4);
	json_kstr(j, "who", o->who);
	json_obj_end(j);
}

void functions_agreement_json(struct json *j, const struct agreement *a)
{
	if (!a) {
		json_knull(j, "agreement");
		return;
	}
	json_kobj(j, "agreement");
	json_kstr(j, "kind", agreement_name(a->kind));
	json_kstr(j, "verdict", a->verdict);
	json_kstr(j, "chain_ends_in", a->end);
	json_kstr(j, "first", a->first);
	json_kstr(j, "words", a->words);
	json_obj_end(j);
}

void functions_not_told_json(struct json *j, const struct functions_result *r)
{
	json_karr(j, "not_told");
	for (uint32_t bit = 1; functions_thin_name(bit); bit <<= 1) {
		if (!(r->thin & bit))
			continue;
		json_obj(j);
		json_kstr(j, "name", functions_thin_name(bit));
		json_kstr(j, "words", functions_thin_text(bit));
		json_obj_end(j);
	}
	json_arr_end(j);
}

void functions_object(const struct functions_view *v, struct json *j)
{
	const struct functions_result *r = v->r;

	json_obj(j);
	json_kstr(j, "schema", "heldup/functions/1");
	json_window(j, r);
	json_sums(j, r);
	if (r->total_fn_cnt)
		json_ku64(j, "total_functions", r->total_fn_cnt);
	else
		json_knull(j, "total_functions");
	json_ku64(j, "seen_functions", r->seen_fn_cnt);
	json_ku64(j, "candidates", r->candidate_cnt);
	json_outside(j, r);
	functions_agreement_json(j, v->agreement);
	json_karr(j, "functions");
	for (size_t i = 0; i < r->fn_cnt; i++)
		json_fn(j, r, &r->fns[i]);
	json_arr_end(j);
	json_karr(j, "units");
	for (size_t i = 0; i < r->unit_report_cnt; i++)
		json_unit(j, r, &r->units[i]);
	json_arr_end(j);
	json_karr(j, "clusters");
	for (size_t i = 0; i < r->cluster_cnt; i++)
		json_cluster(j, r, &r->clusters[i]);
	json_arr_end(j);
	functions_not_told_json(j, r);
	json_obj_end(j);
}

void functions_json(const struct functions_view *v, struct buf *out, FILE *file)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	if (file)
		json_to_file(&j, file);
	functions_object(v, &j);
	json_finish(&j);
}
