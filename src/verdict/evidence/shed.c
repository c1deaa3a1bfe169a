/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/shed.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "verdict/context/say.h"
#include "verdict/context/targets.h"

/* Time by state in one stretch, sleeps left out in which nobody had asked. */
struct part {
	double ns[ST_CNT];
};

static size_t part_at(const struct model *m, uint64_t ns)
{
	size_t i = SORTED_PREFIX(m->kept, m->kept_cnt, it, it->view_ns <= ns);

	return i ? i - 1 : 0;
}

static void lay(const struct model *m, struct part *parts, unsigned st, uint64_t from,
		uint64_t to, int sign)
{
	for (size_t i = part_at(m, from); i < m->kept_cnt && from < to; i++) {
		uint64_t end = i + 1 < m->kept_cnt ? m->kept[i + 1].view_ns : m->view_end_ns;

		end = to < end ? to : end;
		parts[i].ns[st] += sign * (double)(end - from);
		from = end;
	}
}

static void lay_thread(const struct model *m, struct part *parts, const struct thread *th,
		       bool asked)
{
	lay(m, parts, ST_RUN, th->view_begin_ns, th->view_end_ns, 1);
	for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
		const struct wait *w = &m->waits[i];

		lay(m, parts, ST_RUN, w->off_ns, w->end_ns, -1);
		lay(m, parts, ST_RUNQ, w->wake_ns, w->end_ns, 1);
		if (!asked || w->own_open)
			lay(m, parts, ST_WAIT + w->cls, w->off_ns, w->wake_ns, 1);
	}
}

/* The targets' threads, or all others that are followed: demand is passed on to them. */
static void lay_all(const struct model *m, struct part *parts, bool targets)
{
	bool asked = false;

	for (size_t i = 0; i < m->wait_cnt && !asked; i++)
		asked = m->waits[i].own_open && thread_is_target(m, m->waits[i].thread) == targets;
	for (uint32_t t = 0; t < m->thread_cnt; t++)
		if (m->threads[t].tracked && thread_is_target(m, t) == targets)
			lay_thread(m, parts, &m->threads[t], asked);
}

/* The ratio estimator: y a state's time in each stretch, x that of all states. */
static double error_of(const struct part *parts, const double *x, size_t cnt, unsigned st)
{
	double y = 0, all = 0, sum_sq = 0;

	for (size_t i = 0; i < cnt; i++) {
		y += parts[i].ns[st];
		all += x[i];
	}
	for (size_t i = 0; i < cnt && all > 0; i++) {
		double off = parts[i].ns[st] - y / all * x[i];

		sum_sq += off * off;
	}
	return all > 0 ? 2 * sqrt(sum_sq * (double)cnt / (double)(cnt - 1)) / all : 0;
}

static double error_among(const struct model *m, bool targets)
{
	size_t cnt = m->kept_cnt;
	struct part *parts = xcalloc(cnt, sizeof(*parts));
	double *x = xcalloc(cnt, sizeof(*x)), most = 0;

	lay_all(m, parts, targets);
	for (size_t i = 0; i < cnt; i++)
		for (unsigned st = 0; st < ST_CNT; st++)
			x[i] += parts[i].ns[st];
	for (unsigned st = 0; st < ST_CNT; st++) {
		double err = error_of(parts, x, cnt, st);

		most = err > most ? err : most;
	}
	free(parts);
	free(x);
	return most > 1 ? 1 : most;
}

/* Part of the demand that ends in threads of others. */
static double passed_on(const struct context *k)
{
	double all = 0, others = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		all += (double)c->ns;
		if (c->thread != NO_IDX && !thread_is_target(k->m, c->thread))
			others += (double)c->ns;
	}
	return all > 0 ? others / all : 0;
}

double shed_error(struct context *k)
{
	double own, others;

	if (k->m->kept_cnt < 2)
		return -1;
	own = error_among(k->m, true);
	others = error_among(k->m, false) * passed_on(k);
	return own > others ? own : others;
}

static const char *kept_line(struct context *k)
{
	const struct model *m = k->m;
	double err = shed_error(k);
	const char *right = err < 0 ? "how exact is not known"
				    : arena_printf(k->arena, "exact to +-%.*f %% of the time",
						   err < 0.1 ? 1 : 0, 100 * err);

	return arena_printf(k->arena,
			    "waits under 1 ms, except in %.*f of %.1f s (%zu stretch%s spread over "
			    "the window): shares and chains are of these, %s",
			    m->kept_ns < 100000000 ? 3 : 1, m->kept_ns / 1e9, k->window_ns / 1e9,
			    m->kept_cnt, m->kept_cnt == 1 ? "" : "es", right);
}

/* NULL for what the line of what is kept tells. */
static const char *const shed_texts[SHED_BIT_CNT] = {
	"stacks of waits under 1 ms",
	NULL,
	"exact times of requests on busy sockets (right to some ms)",
	NULL,
};

size_t shed_lines(struct context *k, const char **ret_lines)
{
	const struct model *m = k->m;
	size_t cnt = 0;

	if (m->kept_ns < m->end_ns - m->begin_ns)
		ret_lines[cnt++] = kept_line(k);
	else if (m->coarse_ns[1] + m->coarse_ns[3])
		ret_lines[cnt++] = "wakers of waits under 1 ms in all of the window: chains of "
				   "short waits end early";
	for (unsigned i = 0; i < SHED_BIT_CNT; i++)
		if (m->coarse_ns[i] && shed_texts[i])
			ret_lines[cnt++] =
				arena_printf(k->arena, "%s, in %.1f of %.1f s, to keep the cost "
					     "down (--max-cost)", shed_texts[i],
					     m->coarse_ns[i] / 1e9, k->window_ns / 1e9);
	if (m->long_dropped_cnt)
		ret_lines[cnt++] =
			arena_printf(k->arena, "%llu waits of 1 ms to %s one by one: those longer "
				     "are all here, these are in the sums",
				     (unsigned long long)m->long_dropped_cnt,
				     ns_text(k, (double)m->long_min_ns));
	return cnt;
}
