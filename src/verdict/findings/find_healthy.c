/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing holds it up; and a server that answers nothing since nobody asks. */
#include <sys/socket.h>

#include "verdict/context/say.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/cpu_users.h"
#include "verdict/evidence/owed.h"
#include "verdict/evidence/request_lines.h"
#include "verdict/findings/findings.h"

/* Open on average: half of the time it waits for somebody, and for no request that is known. */
#define ASKED_MIN 0.5

static bool claims_idle(const struct context *k, const struct cause *c)
{
	(void)k;
	return c->kind == CAUSE_IDLE;
}

static bool is_datagram(const struct context *k, uint32_t res)
{
	return res != NO_IDX && k->m->res[res].kind == RES_SOCKET &&
	       k->m->res[res].sotype == SOCK_DGRAM;
}

/* Requests in datagrams are not counted as such. */
static bool hears_datagrams(const struct context *k)
{
	for (size_t i = 0; i < k->m->wait_cnt; i++) {
		const struct wait *w = &k->m->waits[i];

		if ((is_datagram(k, w->res) || is_datagram(k, w->first_io)) &&
		    thread_is_target(k->m, w->thread))
			return true;
	}
	return false;
}

/*
 * It listens, nobody said a word to it, and it asked nobody.  One that only
 * fetches its work elsewhere has a conversation there.
 */
static bool is_unasked(const struct context *k)
{
	bool listens = false;

	for (size_t i = 0; i < k->m->listen_cnt; i++)
		listens |= tgid_is_target(k->m, k->m->listens[i].e.tgid);
	for (size_t i = 0; i < k->m->end_cnt; i++) {
		uint32_t p = k->m->ends[i].proc;

		if (proc_is_target(k->m, p))
			return false;
	}
	return listens && k->w->demand_kind == 2 && !owed(k) && !hears_datagrams(k);
}

/*
 * The threads of a server that nobody asks sleep until their next housekeeping,
 * and wake each other to find that there is nothing to do.  With no request
 * there is nobody whom that holds up.
 */
static void weigh_unasked(struct context *k)
{
	if (!is_unasked(k))
		return;
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		unsigned cls = cause_finding(k, c);

		if (!proc_is_target(k->m, c->entry_proc))
			continue;
		if (cls != FIND_TIMER && !(c->kind == CAUSE_CYCLE && c->lock == NO_IDX))
			continue;
		k->cand[cls].ns -= c->ns;
		k->cand[FIND_HEALTHY].ns += c->ns;
	}
	k->unasked = true;
}

static void explain_healthy(struct context *k, struct finding *f, const struct cand *c)
{
	(void)c;
	f->summary = k->unasked ? "Nothing holds it up: nobody asked it anything."
				: "Nothing holds it up.";
	request_lines(k, f);
	busiest_line(k, f);
}

static void refute_healthy(struct context *k, struct finding *f, const struct cand *c)
{
	(void)c;
	refute(k, f, "it is slow at other times: this watch saw only %s",
	       ns_text(k, k->window_ns));
}

/*
 * What is not held up has room for more.  Who answers all that wait when its own clock
 * says so may tell them news, or make them wait.
 */
static void lacks_room(struct context *k, struct finding *f, const struct cand *c)
{
	(void)c;
	if (k->w->ticked_ns > k->demand_ns)
		lack(k, f, 2, "%.1f requests were open on average until the server answered them "
		     "all at once: for news, or to make them wait",
		     k->w->ticked_ns / k->window_ns);
	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (!thread_is_target(k->m, t) || !thread_is_full(k, t))
			continue;
		lack(k, f, 1, "%s never rests", thread_label(k, t));
		return;
	}
	if (k->w->total.out_avg - k->w->total.open_avg >= ASKED_MIN)
		lack(k, f, 1, "%.1f questions to others were open on average, %.1f requests to it",
		     k->w->total.out_avg, k->w->total.open_avg);
	if (k->turns > 0 && k->host_idle < HOST_FULL_IDLE)
		lack(k, f, 1, "the CPUs are only %.0f %% idle", 100 * k->host_idle);
}

static const char *next_healthy(struct context *k, const struct finding *f, const struct cand *c)
{
	(void)f;
	(void)c;
	if (k->turns < 1)
		return "watch it while it is asked something: no request came";
	return arena_printf(k->arena, "look at who asks it, or watch again while it is slow: half "
			    "of %.0f requests took %s here", k->turns,
			    ns_text(k, (double)k->w->total.p50_ns));
}

static bool stall_counts(const struct stall_finding *s)
{
	(void)s;
	return false;
}

static bool yields(const struct context *k, double share, bool felt)
{
	(void)k;
	(void)share;
	(void)felt;
	return true;
}

const struct finding_def finding_healthy = {
	.cls = FIND_HEALTHY,
	.name = "healthy",
	.title = "not held up",
	.claims = claims_idle,
	/* sleeps of its own, and threads that wake each other in a circle */
	.moves_from = 1u << FIND_TIMER | 1u << FIND_LOCK_HELD | 1u << FIND_UNKNOWN |
		      1u << FIND_PEER | 1u << FIND_EXTERNAL,
	.weigh = weigh_unasked,
	.explain = explain_healthy,
	.refute = refute_healthy,
	.lacks = lacks_room,
	.next_step = next_healthy,
	.stall_counts = stall_counts,
	.yields = yields,
	.no_hold_up = true,
	.not_its_own = true,
	.is_held = true,
};
