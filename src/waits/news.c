/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait for news: a long poll, a job to be had, a message to be read.
 *
 * They are open while nobody works on them and nobody was asked, as before a limit.
 * What ends them tells the two apart.  Who holds a place under a limit works, sleeps
 * or waits for somebody, and the loop wakes by that when it lets the next one in.  News
 * come from another client: the loop wakes by what that one sends, and answers those
 * that wait.
 */
#include "waits/engine.h"

/* Of the time of those whose end was seen; some may come just when another client does. */
#define NEWS_SHARE 0.9
/* Fewer may be chance. */
#define NEWS_MIN 3

/* The wait of t that ended last before at, of those that are told one by one; NULL: none. */
static const struct wait *wait_before(const struct model *m, uint32_t t, uint64_t at)
{
	const struct thread *th = &m->threads[t];
	const struct wait *best = NULL;

	for (uint32_t i = th->first_long; i < th->first_long + th->long_len; i++) {
		const struct wait *w = &m->long_waits[i];

		if (w->real_end_ns <= at && (!best || w->real_end_ns > best->real_end_ns))
			best = w;
	}
	return best;
}

static bool is_of_client(const struct model *m, uint32_t res)
{
	return res != NO_IDX && m->res[res].kind == RES_SOCKET && m->res[res].role == ROLE_SERVER;
}

bool waits_for_news(const struct engine *e, uint32_t proc)
{
	const struct model *m = e->m;
	double all = 0, news = 0;
	uint32_t cnt = 0;

	for (size_t i = 0; i < m->turn_cnt; i++) {
		const struct ev_turn *n = &m->turns[i];
		uint32_t t = model_thread_by_tid(m, n->h.tid);
		const struct wait *w;

		if (n->role != ROLE_SERVER || t == NO_IDX || m->threads[t].proc != proc)
			continue;
		w = wait_before(m, t, n->h.ts_ns);
		/* slept with it open, and not before it came */
		if (!w || !wait_is_home(e, w) || w->real_end_ns + n->service_ns <= n->h.ts_ns)
			continue;
		all += (double)n->service_ns;
		if (w->waker_ctx == WAKER_NET && is_of_client(m, w->first_io) &&
		    w->first_io != model_res_by_id(m, n->res)) {
			news += (double)n->service_ns;
			cnt++;
		}
	}
	return cnt >= NEWS_MIN && news >= NEWS_SHARE * all;
}
