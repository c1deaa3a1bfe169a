/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds that every strategy goes through: what it is shown, and what it switches on. */
#include "base/hash.h"
#include "requests/graph/mask.h"
#include "requests/replay/replay_int.h"

uint32_t replay_count(const struct replay *r, uint32_t sides)
{
	return r->opts.control.apart ? sides_cnt((uint8_t)sides) : sides != 0;
}

void replay_trace(struct replay *r, uint32_t round, uint32_t nth, struct arena *arena,
		  struct trace *ret, struct inject_hits *hits)
{
	uint64_t at = (uint64_t)(round - 1) * r->opts.batch + nth;
	const struct trace *t = r->in.live[r->order[at % r->in.live_cnt]];
	struct inject_plan plan;

	*ret = *t;
	if (!r->in.plan)
		return;
	plan = *r->in.plan;
	plan.seed = hash_pair(plan.seed, hash_pair(r->opts.seed, at / r->in.live_cnt));
	inject_trace(t, &plan, arena, ret, hits);
}

void replay_show(struct replay_job *job, const struct trace *full, struct arena *arena,
		 struct trace *ret)
{
	struct replay *r = job->r;

	trace_strip(full, job->on, r->in.points, r->in.strings, arena, ret);
	job->ret->trace_cnt++;
	job->ret->span_cnt += full->span_cnt;
	job->ret->seen_span_cnt += ret->span_cnt;
}

bool replay_next_round(struct replay_job *job)
{
	const struct replay_opts *o = &job->r->opts;
	struct replay_result *ret = job->ret;

	if (ret->ended || ret->round_cnt >= o->rounds_max)
		return false;
	ret->stopped = o->goes_on && !o->goes_on(o->ctx, ret->strategy, ret->round_cnt + 1);
	ret->round_cnt += !ret->stopped;
	return !ret->stopped;
}

void replay_switch_on(struct replay_job *job, struct sided one)
{
	job->on[one.point] |= one.sides;
	job->ever[one.point] |= one.sides & ~job->r->always[one.point];
}
