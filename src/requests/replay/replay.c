/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame: what is shown to whom, and what counts as found.  A truth is
 * found by the located edge that its tracepoint owns, that is, ran in; to be
 * one of the edge's two ends is not enough, since an edge between a caller
 * and a callee would then blame both.
 */
#include "requests/replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "requests/replay/replay_int.h"
#include "requests/graph/mask.h"

enum {
	/* Enough for a mean within some 10 % where times vary as much as they are long. */
	BATCH = 100,
	/*
	 * rounds that one showing must last in a search, but not with fewer
	 * requests than are looked at
	 */
	ONCE_ROUNDS = 16,
	ONCE_BATCH_MIN = 20,
	ROUNDS_MAX = 50,
};

static const char *const strategies[REPLAY_STRATEGIES] = {
	[REPLAY_HEDGE] = "hedge",     /* ours: the fewest tracepoints that can be expected */
	[REPLAY_FLAT] = "flat",	      /* the paper's: the middle tracepoint by happens-before */
	[REPLAY_HIERARCHICAL] = "hierarchical", /* the paper's: the middle child span */
	[REPLAY_RANDOM] = "random",   /* any tracepoint, one a round */
	[REPLAY_VARIANCE] = "variance", /* the paper's published code: the edge of most variance */
	[REPLAY_SHIFT] = "shift",     /* the edge whose mean moved most */
	[REPLAY_ASTRAEA] = "astraea", /* beliefs of each span's use, sampled by them */
	[REPLAY_ALL] = "all-on",      /* all on: the edge of most covariance with the whole */
};

const char *replay_strategy_name(enum replay_strategy strategy)
{
	return strategies[strategy];
}

int replay_strategy_parse(const char *name, enum replay_strategy *ret_strategy)
{
	for (unsigned i = 0; i < REPLAY_STRATEGIES; i++) {
		if (strcmp(strategies[i], name) == 0) {
			*ret_strategy = (enum replay_strategy)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* ---- what is shown */

struct drawn {
	uint64_t hash;
	uint32_t idx;
};

static int by_hash(const void *pa, const void *pb)
{
	const struct drawn *a = pa, *b = pb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->idx > b->idx) - (a->idx < b->idx);
}

static void draw_order(struct replay *r)
{
	struct drawn *drawn = ARENA_ARRAY(&r->arena, struct drawn, r->in.live_cnt);

	for (uint32_t i = 0; i < r->in.live_cnt; i++) {
		const struct trace_id *id = &r->in.live[i]->id;

		drawn[i] = (struct drawn){
			hash_pair(r->opts.seed, hash_pair(id->hi, id->lo)), i};
	}
	if (r->in.live_cnt)
		qsort(drawn, r->in.live_cnt, sizeof(*drawn), by_hash);
	r->order = ARENA_ARRAY(&r->arena, uint32_t, r->in.live_cnt);
	for (uint32_t i = 0; i < r->in.live_cnt; i++)
		r->order[i] = drawn[i].idx;
}

static void set_bounds(struct replay *r)
{
	size_t once = r->in.live_cnt / ONCE_ROUNDS, rounds;

	if (!r->opts.rounds_max)
		r->opts.rounds_max = ROUNDS_MAX;
	if (!r->opts.batch && !r->in.plan)
		r->opts.batch = once < ONCE_BATCH_MIN ? ONCE_BATCH_MIN
				: once < BATCH ? (uint32_t)once : BATCH;
	if (!r->opts.batch)
		r->opts.batch = BATCH;
	/* nor is a request shown twice in one round: four would be taken for a hundred */
	if (!r->in.plan && r->in.live_cnt && r->in.live_cnt < r->opts.batch)
		r->opts.batch = (uint32_t)r->in.live_cnt;
	rounds = r->in.live_cnt / r->opts.batch;
	if (!r->in.plan && rounds < r->opts.rounds_max)
		r->opts.rounds_max = rounds ? (uint32_t)rounds : 1;
}

struct replay *replay_new(const struct replay_input *input, const struct replay_opts *opts)
{
	struct replay *r = xcalloc(1, sizeof(*r));
	struct space_view view;

	r->in = *input;
	r->opts = opts ? *opts : (struct replay_opts){0};
	set_bounds(r);
	r->space = space_new(input->points, input->strings);
	if (input->space)
		space_merge(r->space, input->space);
	for (size_t i = 0; i < input->learn_cnt; i++) {
		if (!input->space)
			space_add(r->space, input->learn[i]);
		strip_points(input->learn[i], input->points, input->strings);
	}
	for (size_t i = 0; i < input->live_cnt; i++)
		strip_points(input->live[i], input->points, input->strings);
	draw_order(r);
	r->point_cnt = (uint32_t)input->points->items.cnt;
	r->known = ARENA_ARRAY(&r->arena, uint8_t, r->point_cnt);
	r->always = ARENA_ARRAY(&r->arena, uint8_t, r->point_cnt);
	space_view(r->space, &r->arena, &view);
	space_sides(&view, r->known, r->point_cnt);
	for (uint32_t p = 0; p < r->point_cnt; p++) {
		r->always[p] = r->known[p] && space_always(r->space, p) ? r->known[p] : 0;
		r->space_cnt += replay_count(r, r->known[p]);
		r->always_cnt += replay_count(r, r->always[p]);
	}
	replay_find_truths(r);
	return r;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	space_free(r->space);
	arena_release(&r->arena);
	free(r);
}

void replay_points(const struct replay *r, uint32_t *ret_cnt, uint32_t *ret_always)
{
	*ret_cnt = r->space_cnt;
	*ret_always = r->always_cnt;
}

uint32_t replay_batch(const struct replay *r)
{
	return r->opts.batch;
}

const struct space *replay_space(const struct replay *r)
{
	return r->space;
}

/* ---- control.h's strategies */

static void keep_located(struct replay_job *job, const struct control_round *round)
{
	struct replay_located *l = ARENA_ARRAY(job->arena, struct replay_located,
					       round->located_cnt);

	for (uint32_t i = 0; i < round->located_cnt; i++) {
		const struct control_located *c = &round->located[i];

		l[i] = (struct replay_located){.from = c->from, .to = c->to, .owner = c->owner,
					       .round = c->round, .share = c->score};
	}
	job->ret->located = l;
	job->ret->located_cnt = round->located_cnt;
}

static void wanted(struct replay_job *job, const struct control *c)
{
	for (uint32_t p = 0; p < job->r->point_cnt; p++) {
		job->on[p] = job->r->known[p] & control_wants(c, p);
		replay_switch_on(job, (struct sided){p, job->on[p]});
	}
}

static void control_run(struct replay_job *job, enum strategy strategy)
{
	struct control_counts counts;
	struct replay *r = job->r;
	struct control_opts opts = r->opts.control;
	struct control_round round = {0};
	struct control *c;
	const struct forest *forest;

	opts.strategy = strategy;
	opts.most_cnt = (uint64_t)r->opts.batch * r->opts.rounds_max;
	c = control_new(r->space, &opts, r->in.points, r->in.strings);
	while (replay_next_round(job)) {
		wanted(job, c);
		for (uint32_t i = 0; i < r->opts.batch; i++) {
			struct arena work = {0};
			struct trace full, seen;

			replay_trace(r, job->ret->round_cnt, i, &work, &full, &job->ret->hits);
			replay_show(job, &full, &work, &seen);
			control_add(c, &seen);
			arena_release(&work);
		}
		control_decide(c, &round);
		job->ret->ended = round.finished;
	}
	keep_located(job, &round);
	wanted(job, c);
	forest = control_forest(c, job->arena);
	job->ret->forest = forest;
	job->ret->decisions = forest->decisions;
	job->ret->decision_cnt = forest->decision_cnt;
	control_counts(c, &counts);
	job->ret->other_type_cnt = counts.other_type_cnt;
	control_free(c);
}

/* ---- what came of it */

static uint32_t owner_of(const struct replay_located *l)
{
	if (l->owner != FOREST_NONE)
		return l->owner;
	return l->from.point == l->to.point ? l->from.point : FOREST_NONE;
}

/* Something was injected there, but hardly anybody felt it: right to find, and not to. */
static bool is_unfelt(const struct replay_result *res, uint32_t point)
{
	for (uint32_t i = 0; i < res->truth_cnt; i++)
		if (res->truths[i].point == point)
			return !res->truths[i].felt;
	return false;
}

/* How many owners there are up to and with the nth edge. */
static uint32_t rank_of(const struct replay_result *res, uint32_t nth)
{
	uint32_t rank = 0;

	for (uint32_t i = 0; i <= nth; i++) {
		bool met = i < nth && is_unfelt(res, owner_of(&res->located[i]));

		for (uint32_t k = 0; k < i && !met; k++)
			met = owner_of(&res->located[k]) == owner_of(&res->located[i]);
		rank += !met;
	}
	return rank;
}

static void find_truth(const struct replay_result *res, struct replay_truth *truth)
{
	for (uint32_t i = 0; i < res->located_cnt; i++) {
		if (owner_of(&res->located[i]) != truth->point)
			continue;
		truth->rank = rank_of(res, i);
		truth->round = res->located[i].round;
		return;
	}
}

static void judge(struct replay_job *job)
{
	struct replay_result *res = job->ret;
	uint32_t felt_cnt = 0;
	bool right = true;

	res->truth_cnt = job->r->truth_cnt;
	res->truths = arena_dup(job->arena, job->r->truths,
				res->truth_cnt * sizeof(*res->truths));
	res->least_cnt = job->r->least_cnt;
	for (uint32_t i = 0; i < res->truth_cnt; i++)
		felt_cnt += res->truths[i].felt;
	for (uint32_t i = 0; i < res->truth_cnt; i++) {
		struct replay_truth *t = (struct replay_truth *)&res->truths[i];

		find_truth(res, t);
		right &= !t->felt || (t->rank && t->rank <= felt_cnt);
	}
	res->right = felt_cnt && right;
}

static void count_enabled(struct replay_job *job)
{
	for (uint32_t p = 0; p < job->r->point_cnt; p++) {
		job->ret->enabled_cnt += replay_count(job->r, job->ever[p]);
		job->ret->on_cnt += replay_count(job->r, job->ever[p] & job->on[p]);
	}
}

void replay_run(struct replay *r, enum replay_strategy strategy, struct arena *arena,
		struct replay_result *ret)
{
	struct replay_job job = {.r = r, .arena = arena, .ret = ret};

	*ret = (struct replay_result){.strategy = strategy, .point_cnt = r->space_cnt,
				      .always_cnt = r->always_cnt};
	if (!r->in.live_cnt)
		return;
	job.on = ARENA_ARRAY(arena, uint8_t, r->point_cnt);
	job.ever = ARENA_ARRAY(arena, uint8_t, r->point_cnt);
	memcpy(job.on, r->always, r->point_cnt);
	switch (strategy) {
	case REPLAY_HEDGE:
		control_run(&job, STRATEGY_HEDGE);
		break;
	case REPLAY_FLAT:
		control_run(&job, STRATEGY_FLAT);
		break;
	case REPLAY_HIERARCHICAL:
		control_run(&job, STRATEGY_HIERARCHICAL);
		break;
	case REPLAY_ASTRAEA:
		replay_astraea_run(&job);
		break;
	default:
		replay_rule_run(&job);
	}
	if (strategy != REPLAY_ASTRAEA)
		count_enabled(&job);
	judge(&job);
}
