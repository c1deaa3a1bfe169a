/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/shed.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "verdict/weigh.h"

/* Time by state in one stretch: the ratio estimator's y for each state, and their sum, its x. */
struct part {
	double ns[ST_CNT], all_ns;
};

static void lay(const struct model *m, struct part *parts, const struct wait *w, unsigned st,
		uint64_t from, uint64_t to)
{
	size_t i = 0, high = m->kept_cnt;

	while (high - i > 1) { /* the stretch that from lies in */
		size_t mid = i + (high - i) / 2;

		*(m->kept[mid].view_ns <= from ? &i : &high) = mid;
	}
	for (; i < m->kept_cnt && from < to; i++) {
		uint64_t end = i + 1 < m->kept_cnt ? m->kept[i + 1].view_ns : m->view_end_ns;
		double ns = (double)((to < end ? to : end) - from);

		ns *= w->own_open ? w->own_open : 1;
		parts[i].ns[st] += ns;
		parts[i].all_ns += ns;
		from = end;
	}
}

static void lay_waits(const struct court *k, struct part *parts)
{
	const struct model *m = k->m;
	bool open = false;

	for (size_t i = 0; i < m->wait_cnt && !open; i++)
		open = m->waits[i].own_open && thread_is_target(m, m->waits[i].thread);
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];

		if (!thread_is_target(m, w->thread) || (open && !w->own_open))
			continue;
		lay(m, parts, w, ST_WAIT + w->cls, w->off_ns, w->wake_ns);
		lay(m, parts, w, ST_RUNQ, w->wake_ns, w->end_ns);
	}
}

static double error_of(const struct part *parts, size_t cnt, unsigned st)
{
	double y = 0, x = 0, sum_sq = 0;

	for (size_t i = 0; i < cnt; i++) {
		y += parts[i].ns[st];
		x += parts[i].all_ns;
	}
	if (x <= 0)
		return 0;
	for (size_t i = 0; i < cnt; i++) {
		double off = parts[i].ns[st] - y / x * parts[i].all_ns;

		sum_sq += off * off;
	}
	return 2 * sqrt(sum_sq * (double)cnt / (double)(cnt - 1)) / x;
}

double shed_error(struct court *k)
{
	size_t cnt = k->m->kept_cnt;
	struct part *parts;
	double most = 0;

	if (cnt < 2)
		return -1;
	parts = xcalloc(cnt, sizeof(*parts));
	lay_waits(k, parts);
	for (unsigned st = 0; st < ST_CNT; st++) {
		double err = error_of(parts, cnt, st);

		most = err > most ? err : most;
	}
	free(parts);
	return most > 1 ? 1 : most;
}

static const char *kept_line(struct court *k)
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

size_t shed_lines(struct court *k, const char **ret_lines)
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
