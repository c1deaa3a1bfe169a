/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on waits and the functions to blame never contradict each other in silence. */
#include <string.h>

#include "base/arena.h"
#include "functions/functions.h"
#include "functions/rank/chain_end.h"
#include "unit.h"
#include "verdict/agreement.h"
#include "verdict/context/finding.h"

/* A chain of two steps: the first waits in "wait", called by "ask"; the last in "hold". */
struct world {
	struct arena arena;
	struct step_fns fns[2];
	struct step steps[2];
	struct finding f;
	struct verdict v;
	struct fn_report fn;
	struct functions_result r;
};

static void world_init(struct world *w, unsigned cls, const char *first, uint64_t harm_ns)
{
	*w = (struct world){0};
	w->fns[0] = (struct step_fns){ .what = FNS_WAITS, .names = { "wait", "ask" },
				       .modules = { "srv", "srv" }, .name_cnt = 2 };
	w->fns[1] = (struct step_fns){ .what = FNS_RUNS, .names = { "schedule", "hold" },
				       .modules = { "kernel", "srv" }, .name_cnt = 2 };
	w->steps[0] = (struct step){ .fns = &w->fns[0], .fn_cnt = 1 };
	w->steps[1] = (struct step){ .fns = &w->fns[1], .fn_cnt = 1 };
	w->f = (struct finding){ .cls = (uint8_t)cls, .conf = CONF_HIGH, .chain = w->steps,
				 .chain_len = 2, .share = 0.9 };
	w->v = (struct verdict){ .findings = &w->f, .finding_cnt = 1 };
	w->fn = (struct fn_report){ .name = first, .module = "srv", .rank = 1, .score = 0.5 };
	w->r = (struct functions_result){ .fns = &w->fn, .fn_cnt = 1, .busy_ns = 1000,
					  .harm_ns = harm_ns };
}

TEST(agreement_of_verdict_and_functions)
{
	static const struct {
		const char *first;
		unsigned cls;
		uint64_t harm_ns;
		unsigned kind, level;
	} rows[] = {
		{ "hold", FIND_LOCK_HELD, 100, AGREE_SAME, CONF_HIGH },
		{ "ask", FIND_LOCK_HELD, 100, AGREE_SAME, CONF_HIGH },
		{ "other", FIND_LOCK_HELD, 100, AGREE_DIFFER, CONF_MEDIUM },
		{ "other", FIND_HEALTHY, 100, AGREE_SAME, CONF_HIGH },
		{ "other", FIND_HEALTHY, 900, AGREE_DIFFER, CONF_MEDIUM },
		{ "other", FIND_CLIENTS, 900, AGREE_DIFFER, CONF_MEDIUM },
		{ "other", FIND_UNKNOWN, 900, AGREE_NOTHING, CONF_HIGH },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct agreement *a;
		struct world w;

		ROW(i);
		world_init(&w, rows[i].cls, rows[i].first, rows[i].harm_ns);
		a = agreement_make(&w.v, &w.r, &w.arena);
		EQ_U(a->kind, rows[i].kind);
		EQ_U(w.f.conf, rows[i].level);
		EQ_U(w.f.doubt_cnt, rows[i].level == CONF_HIGH ? 0 : 1);
		EQ_S(a->end, "hold");
		OK(*a->words);
		arena_release(&w.arena);
	}
}

/* What has nothing to say for itself follows the waits, which have. */
TEST(agreement_tells_the_end_of_the_chain)
{
	struct functions_opts opts = {0};
	struct world w;

	world_init(&w, FIND_LOCK_HELD, "other", 0);
	agreement_tell(&w.v, &opts, &w.arena);
	EQ_U(opts.end->cnt, 1);
	EQ_S(opts.end->names[0], "hold");
	w.r.thin = THIN_NO_HARM;
	EQ_U(agreement_make(&w.v, &w.r, &w.arena)->kind, AGREE_CHAIN);
	EQ_U(w.f.conf, CONF_HIGH);

	/* nobody is to blame where nothing holds it up */
	opts.end = NULL;
	w.f.cls = FIND_HEALTHY;
	agreement_tell(&w.v, &opts, &w.arena);
	OK(!opts.end);
	arena_release(&w.arena);
}

/* Functions ranked by where time goes, of which the chain's is listed third, or not at all. */
TEST(agreement_puts_the_end_of_the_chain_first)
{
	static const char *const names[] = { "hold", "new" };

	for (unsigned i = 0; i < 2; i++) {
		struct fn_report fns[3] = {
			{ .name = "a", .module = "srv", .rank = 1, .score = 0.2, .place = 0.2 },
			{ .name = "b", .module = "srv", .rank = 2, .score = 0.1, .place = 0.1 },
			{ .name = "hold", .module = "srv", .rank = 3, .score = 0.05 },
		};
		struct functions_result r = { .fns = fns, .fn_cnt = 3, .candidate_cnt = 3 };
		struct chain_end end = { .names = { names[i] }, .modules = { "srv" }, .cnt = 1,
					 .share = 0.9 };
		struct arena arena = {0};

		ROW(i);
		chain_end_first(&r, &end, &arena);
		EQ_S(r.fns[0].name, "a");	/* which calls show */
		r.thin = THIN_NO_HARM;
		chain_end_first(&r, &end, &arena);
		EQ_U(r.fn_cnt, 3 + i);
		EQ_U(r.candidate_cnt, r.fn_cnt);
		EQ_S(r.fns[0].name, names[i]);
		EQ_U(r.fns[0].evidence[0].kind, DEV_ENDS);
		OK(r.fns[0].score > 0.7 && r.fns[0].score <= 1);
		EQ_S(r.fns[1].name, "a");
		for (uint32_t k = 0; k < r.fn_cnt; k++)
			EQ_U(r.fns[k].rank, k + 1);
		arena_release(&arena);
	}
}

/* Tracepoints time requests: where the chain goes elsewhere the verdict is less sure. */
TEST(agreement_of_verdict_and_tracepoints)
{
	static const struct {
		const char *names[2];
		size_t cnt;
		unsigned cls, kind, level;
	} rows[] = {
		{ {"hold"}, 1, FIND_LOCK_HELD, AGREE_SAME, CONF_HIGH },
		{ {"other", "ask"}, 2, FIND_LOCK_HELD, AGREE_SAME, CONF_HIGH },
		{ {"other", "another"}, 2, FIND_LOCK_HELD, AGREE_DIFFER, CONF_MEDIUM },
		{ {"other"}, 1, FIND_HEALTHY, AGREE_NOTHING, CONF_HIGH },
		{ {NULL}, 0, FIND_LOCK_HELD, AGREE_NOTHING, CONF_HIGH },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct agreement *a;
		struct world w;

		ROW(i);
		world_init(&w, rows[i].cls, "hold", 100);
		a = agreement_explored(&w.v, rows[i].names, rows[i].cnt, &w.arena);
		EQ_U(a->kind, rows[i].kind);
		EQ_U(w.f.conf, rows[i].level);
		EQ_U(w.f.doubt_cnt, rows[i].level == CONF_HIGH ? 0 : 1);
		OK(*a->words);
		arena_release(&w.arena);
	}
}
