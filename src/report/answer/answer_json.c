/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "model/model.h"
#include "report/explore/explore_out.h"
#include "report/answer.h"
#include "report/answer/answer_functions.h"
#include "report/answer/answer_tail.h"
#include "report/answer/change.h"
#include "report/facts.h"
#include "report/answer/json_parts.h"
#include "verdict/agreement.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

static void json_verdict(struct json *j, const struct verdict *v)
{
	const struct finding *f = &v->findings[0];

	json_kobj(j, "verdict");
	json_finding(j, f);
	json_kstr(j, "of", f->of_tail ? "tail" : "mean");
	json_obj_end(j);
	json_findings(j, "candidates", v->candidates, v->candidate_cnt);
	json_findings(j, "findings", v->findings, v->finding_cnt);
	json_chain(j, f);
	json_strings(j, "evidence", f->evidence, f->evidence_cnt);
	json_strings(j, "refute", f->refute, f->refute_cnt);
	json_strings(j, "unseen", v->unseen, v->unseen_cnt);
	changes_json(j, v);
}

static void json_window(struct json *j, const struct answer *a)
{
	const struct model *m = a->model;
	time_t begin = (time_t)(m->meta.real_ns / NS_PER_SEC);
	struct tm tm = { 0 };
	char date[32] = "";

	if (gmtime_r(&begin, &tm))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_kobj(j, "window");
	json_kf64_dec(j, "watched_share", 1, 3);
	json_ku64(j, "kept_ns", m->kept_ns);
	json_kobj(j, "shed_ns");
	for (unsigned i = 0; i < SHED_BIT_CNT; i++)
		json_ku64(j, shed_name(i), m->coarse_ns[i]);
	json_obj_end(j);
	json_kstr(j, "begin", date);
	json_ku64(j, "tick_ns", m->meta.tick_ns);
	json_ku64(j, "cpus", m->meta.cpu_cnt);
	json_kstr(j, "kernel", given(m->kernel));
	json_kstr(j, "host", given(m->hostname));
	json_kstr(j, "selection", given(m->selection));
	json_kstr(j, "command", given(m->cmdline));
	json_kstr(j, "demand", facts_demand_noun(a));
	json_ku64(j, "demand_ns", a->waits->demand_ns);
	json_ku64(j, "length_ns", facts_window_ns(a));
	json_ku64(j, "requests", a->waits->total.turns);
	json_ku64(j, "p50_ns", a->waits->total.p50_ns);
	json_ku64(j, "p99_ns", a->waits->total.p99_ns);
	json_ku64(j, "max_ns", a->waits->total.answer_max_ns);
	json_obj_end(j);
}

static void json_self(struct json *j, const struct answer *a)
{
	const struct model *m = a->model;

	json_kobj(j, "self");
	json_ku64(j, "events", m->self.events);
	json_ku64(j, "bytes", m->self.bytes);
	json_ku64(j, "cpu_ns", m->self.cpu_ns);
	json_ku64(j, "start_cpu_ns", m->start_cpu_ns);
	json_kf64_dec(j, "cpu_cores", facts_self_cpu(a), 5);
	json_ku64(j, "bpf_runs", m->self.bpf_runs);
	json_ku64(j, "bpf_ns", m->self.bpf_ns);
	json_kf64_dec(j, "bpf_cores", facts_self_bpf(a), 5);
	json_ku64(j, "bound_ns", m->self.bound_ns);
	json_ku64(j, "rss_bytes", m->self.rss_bytes);
	json_ku64(j, "rss_max_bytes", m->self.rss_max_bytes);
	json_ku64(j, "map_bytes", m->self.map_bytes);
	json_ku64(j, "lost", facts_lost_cnt(a));
	json_kobj(j, "losses");
	for (unsigned i = 0; i < LOSS_CNT; i++)
		json_ku64(j, facts_loss_name(i), m->loss.cnt[i]);
	json_obj_end(j);
	json_ku64(j, "sequence_gaps", m->seq_gap_cnt);
	json_ku64(j, "unknown_kinds", m->unknown_kind_cnt);
	json_ku64(j, "bad_events", m->bad_event_cnt);
	json_ku64(j, "waits_summed_only", m->waits_dropped_cnt);
	json_ku64(j, "cascades_cut", a->waits->cut_cnt);
	json_obj_end(j);
}

static void json_notes(struct json *j, const struct model *m)
{
	static const char *const kinds[] = { "other", "missing-hook", "limit", "info" };

	json_karr(j, "notes");
	for (size_t i = 0; i < m->note_cnt; i++) {
		uint32_t kind = m->note_kinds[i];

		json_obj(j);
		json_kstr(j, "kind", kinds[kind <= NOTE_INFO ? kind : 0]);
		json_kstr(j, "text", m->notes[i]);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_explored(struct json *j, const struct answer *a)
{
	if (!a->explore && !a->explore_problem)
		return;
	json_kobj(j, "explore");
	if (a->explore)
		explore_json_parts(j, a->explore);
	json_kstr(j, "problem", a->explore_problem);
	json_kstr(j, "agreement", a->explored ? agreement_name(a->explored->kind) : NULL);
	json_kstr(j, "words", a->explored ? a->explored->words : NULL);
	json_obj_end(j);
}

void json_answer_parts(struct json *j, const struct answer *a, const struct row_limits *limits)
{
	json_kstr(j, "schema", "heldup/why/1");
	json_kstr(j, "subject", given(a->verdict->subject));
	json_verdict(j, a->verdict);
	answer_tail_json(j, a);
	if (a->functions)
		answer_functions_json(j, a);
	json_explored(j, a);
	json_tables(j, a, limits);
	json_notes(j, a->model);
	json_self(j, a);
	json_window(j, a);
}

void answer_json(const struct answer *a, struct buf *out, FILE *file)
{
	/* every thread; of what grows with their square, the largest */
	static const struct row_limits limits = {
		.resources = 2000, .edges = 2000, .causes = 1000, .locks = 500, .ends = 2000,
		.takers = 500,
	};
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	if (file)
		json_to_file(&j, file);
	json_obj(&j);
	json_answer_parts(&j, a, &limits);
	json_obj_end(&j);
	json_finish(&j);
}
