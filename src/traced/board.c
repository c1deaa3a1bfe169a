/* SPDX-License-Identifier: Apache-2.0 */
#include "traced/board.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/vec.h"

struct board_agent {
	char service[64], instance[64];
	uint64_t first_ns, last_ns;	/* when it asked */
	uint64_t epoch;		/* of the state that it has */
	uint32_t on_cnt, point_cnt;
	bool waits;			/* for an answer, with what it reported */
	double queue;			/* how full: 0 to 1 */
	double span_ns;			/* what a span costs it */
	/* since it started */
	uint64_t recorded_cnt, dropped_cnt, request_cnt, traced_cnt, own_ns, ask_ns, cpu_ns;
	/* the same when it was first met */
	uint64_t recorded_0, dropped_0, request_0, traced_0, own_0, ask_0, cpu_0;
};

struct board {
	uint64_t epoch;
	uint32_t wait_ms;
	bool changed;		/* since board_due said so */
	uint64_t due_ns;	/* when it did */
	struct board_state state;
	struct arena texts;	/* of the state's points */
	VEC(struct board_agent) agents;
	uint64_t over_cnt;
};

struct board *board_new(void)
{
	struct board *b = xcalloc(1, sizeof(*b));

	/* Agents may have that of another heldup, a moment ago: a greater one is another. */
	b->epoch = clock_real_ns() / NS_PER_SEC;
	b->wait_ms = BOARD_WAIT_MS;
	return b;
}

void board_free(struct board *b)
{
	if (!b)
		return;
	vec_release(&b->agents);
	arena_release(&b->texts);
	free(b);
}

void board_wait(struct board *b, uint32_t wait_ms)
{
	b->wait_ms = wait_ms < BOARD_WAIT_MAX_MS ? wait_ms : BOARD_WAIT_MAX_MS;
}

bool board_due(struct board *b, uint64_t now_ns)
{
	if (!b->changed && now_ns - b->due_ns < b->wait_ms * NS_PER_MS)
		return false;
	b->changed = false;
	b->due_ns = now_ns;
	return true;
}

static bool same_points(const struct board_state *a, const struct board_state *b)
{
	if (a->is_on != b->is_on || a->all != b->all || a->on_cnt != b->on_cnt)
		return false;
	for (uint32_t i = 0; i < a->on_cnt; i++)
		if (strcmp(a->on[i].name, b->on[i].name) != 0 ||
		    strcmp(a->on[i].service, b->on[i].service) != 0)
			return false;
	return true;
}

uint64_t board_set(struct board *b, const struct board_state *state)
{
	struct board_point *on;

	if (same_points(&b->state, state)) {
		b->changed |= b->state.share > state->share;
		b->state.share = state->share;
		return b->epoch;
	}
	arena_clear(&b->texts);
	b->state = *state;
	on = ARENA_ARRAY(&b->texts, struct board_point, state->on_cnt + 1);
	for (uint32_t i = 0; i < state->on_cnt; i++)
		on[i] = (struct board_point){arena_strdup(&b->texts, state->on[i].service),
					     arena_strdup(&b->texts, state->on[i].name)};
	b->state.on = on;
	b->changed = true;
	return ++b->epoch;
}

/* ---- what agents report */

/* A number of at least 0; what is none of these is 0. */
static double number(const char *text, double most)
{
	char *end;
	double v = text ? strtod(text, &end) : 0;

	return !text || end == text || !isfinite(v) || v < 0 ? 0 : fmin(v, most);
}

static struct board_agent *agent_of(struct board *b, const char *service, const char *instance)
{
	struct board_agent *a;

	VEC_FOREACH(&b->agents, known)
		if (strcmp(known->service, service) == 0 && strcmp(known->instance, instance) == 0)
			return known;
	if (b->agents.cnt == BOARD_AGENTS_MAX) {
		b->over_cnt++;
		return NULL;
	}
	a = vec_add(&b->agents);
	snprintf(a->service, sizeof(a->service), "%s", service);
	snprintf(a->instance, sizeof(a->instance), "%s", instance);
	return a;
}

#define COUNT_MAX 9e15

static void agent_report(struct board_agent *a, uint64_t now_ns,
			 const char *(*arg)(void *ctx, const char *name), void *ctx)
{
	bool first = !a->first_ns;

	if (first)
		a->first_ns = now_ns;
	a->last_ns = now_ns;
	a->epoch = (uint64_t)number(arg(ctx, "epoch"), COUNT_MAX);
	a->on_cnt = (uint32_t)number(arg(ctx, "on"), 1e6);
	a->point_cnt = (uint32_t)number(arg(ctx, "points"), 1e6);
	a->queue = number(arg(ctx, "queue"), 1);
	a->span_ns = number(arg(ctx, "span_ns"), 1e9);
	a->recorded_cnt = (uint64_t)number(arg(ctx, "recorded"), COUNT_MAX);
	a->dropped_cnt = (uint64_t)number(arg(ctx, "dropped"), COUNT_MAX);
	a->request_cnt = (uint64_t)number(arg(ctx, "requests"), COUNT_MAX);
	a->traced_cnt = (uint64_t)number(arg(ctx, "traced"), COUNT_MAX);
	a->own_ns = (uint64_t)number(arg(ctx, "own_ns"), COUNT_MAX);
	a->ask_ns = (uint64_t)number(arg(ctx, "ask_ns"), COUNT_MAX);
	a->cpu_ns = (uint64_t)number(arg(ctx, "cpu_ns"), COUNT_MAX);
	if (!first)
		return;
	a->recorded_0 = a->recorded_cnt;
	a->dropped_0 = a->dropped_cnt;
	a->request_0 = a->request_cnt;
	a->traced_0 = a->traced_cnt;
	a->own_0 = a->own_ns;
	a->ask_0 = a->ask_ns;
	a->cpu_0 = a->cpu_ns;
}

static void names_write(const struct board_state *s, const char *service, struct json *j)
{
	json_karr(j, "on");
	for (uint32_t i = 0; i < s->on_cnt; i++)
		if (strcmp(s->on[i].service, service) == 0)
			json_str(j, s->on[i].name);
	json_arr_end(j);
}

enum board_said board_answer(struct board *b, uint64_t now_ns,
			     const char *(*arg)(void *ctx, const char *name), void *ctx,
			     struct buf *ret)
{
	const char *service = arg(ctx, "service"), *instance = arg(ctx, "instance");
	struct board_agent *a;
	struct json j;

	if (!service || !*service || !instance || !*instance)
		return BOARD_NO_QUESTION;
	a = agent_of(b, service, instance);
	/* the same question once more: what it reports is of when it was sent */
	if (a && !a->waits)
		agent_report(a, now_ns, arg, ctx);
	if (a && !a->waits && a->epoch == b->epoch) {
		a->waits = true;
		return BOARD_WAITS;
	}
	if (a)
		a->waits = false;
	json_init(&j, ret, 0);
	json_obj(&j);
	json_ku64(&j, "version", 1);
	json_ku64(&j, "epoch", b->epoch);
	json_ku64(&j, "lease_ms", BOARD_LEASE_MS);
	json_ku64(&j, "again_ms", BOARD_AGAIN_MS);
	json_karr(&j, "types");
	if (b->state.is_on) {
		json_obj(&j);
		json_kstr(&j, "type", b->state.type);
		json_kf64_dec(&j, "share", b->state.share, 4);
		json_kbool(&j, "all", b->state.all);
		names_write(&b->state, service, &j);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	json_obj_end(&j);
	json_finish(&j);
	return BOARD_ANSWERED;
}

/* A process that started again under its old name counts from 0. */
static uint64_t since(uint64_t now, uint64_t first)
{
	return now >= first ? now - first : now;
}

void board_summary(const struct board *b, uint64_t now_ns, struct board_summary *ret)
{
	*ret = (struct board_summary){.agent_cnt = (uint32_t)b->agents.cnt,
				      .over_cnt = b->over_cnt};
	VEC_FOREACH(&b->agents, a) {
		uint64_t recorded = since(a->recorded_cnt, a->recorded_0);
		bool off = a->epoch == b->epoch && !a->on_cnt;
		bool silent = now_ns - a->last_ns > BOARD_LEASE_MS * NS_PER_MS;

		ret->off_cnt += off;
		ret->silent_cnt += silent && !off;
		ret->point_cnt += a->point_cnt;
		ret->queue = silent ? ret->queue : fmax(ret->queue, a->queue);
		ret->recorded_cnt += recorded;
		ret->dropped_cnt += since(a->dropped_cnt, a->dropped_0);
		ret->request_cnt += since(a->request_cnt, a->request_0);
		ret->traced_cnt += since(a->traced_cnt, a->traced_0);
		ret->span_ns += (double)recorded * a->span_ns +
				(double)since(a->own_ns, a->own_0);
		ret->ask_ns += (double)since(a->ask_ns, a->ask_0);
		ret->cpu_ns += (double)since(a->cpu_ns, a->cpu_0);
	}
}
