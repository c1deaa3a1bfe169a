/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait for news: a long poll, a job to be had, a message to be read.
 *
 * They are open while nobody works on them and nobody was asked, as before a limit.
 * What ends them tells the two apart.  Who holds a place under a limit works, sleeps
 * or waits for somebody, and the loop wakes by that when it lets the next one in.  News
 * come from another client: the loop wakes by what that one sends, and answers those
 * that wait.  Or from the application itself, for all at once: a line before a limit
 * gets shorter by those that are let in.
 */
#include "waits/waits_int.h"

/* Share of waits' time whose end was seen; some may come just when another client does. */
#define NEWS_SHARE 0.9
/* Fewer may be chance. */
#define NEWS_MIN 3
/* Answered by one wake-up of the loop: sends of a few microseconds each. */
#define AT_ONCE_NS 5000000
/* So many that wait are enough to tell a line from a crowd. */
#define CROWD_MAX 64

/* The wait of t that ended last before at, of those that are kept one by one; NULL: none. */
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

/*
 * Of those that waited with it, one at least, nobody waits on.  The turns are about in
 * the order of their ends; at is the index of one.
 */
static bool all_go_at_once(const struct model *m, size_t at)
{
	const struct ev_turn *n = &m->turns[at];
	uint32_t with = 1;

	for (size_t i = at; i > 0 && i + CROWD_MAX > at; i--) {
		if (m->turns[i - 1].h.ts_ns + AT_ONCE_NS < n->h.ts_ns)
			break;
		with += m->turns[i - 1].tgid == n->tgid && m->turns[i - 1].role == n->role;
	}
	for (size_t i = at + 1; i < m->turn_cnt && i < at + CROWD_MAX; i++) {
		const struct ev_turn *o = &m->turns[i];

		if (o->tgid != n->tgid || o->role != n->role ||
		    o->h.ts_ns - o->service_ns >= n->h.ts_ns)
			continue;
		if (o->h.ts_ns > n->h.ts_ns + AT_ONCE_NS)
			return false;
		with++;
	}
	return with > 1;
}

/* The loop of t was woken by a client, and not by the one whose request res is of. */
static bool ends_by_another(const struct model *m, const struct wait *w, uint64_t res)
{
	return w->waker_ctx == WAKER_NET && res_is_server(m, w->first_io) &&
	       w->first_io != model_res_by_id(m, res);
}

enum news waits_for_news(const struct engine *e, uint32_t proc)
{
	const struct model *m = e->m;
	double all = 0, news = 0, own = 0;
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
		if (ends_by_another(m, w, n->res) || all_go_at_once(m, i)) {
			news += (double)n->service_ns;
			own += w->waker_ctx == WAKER_NET ? 0 : (double)n->service_ns;
			cnt++;
		}
	}
	if (cnt < NEWS_MIN || news < NEWS_SHARE * all)
		return NEWS_NONE;
	return 2 * own > news ? NEWS_OWN : NEWS_CLIENTS;
}
