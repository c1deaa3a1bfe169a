/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What could have refuted a finding, and how much each doubt costs.  First the
 * rule, which knows numbers only; then where the numbers come from; then what
 * each class should show beside the time that speaks for it.
 */
#include "verdict/confidence.h"

#include <string.h>

#include "verdict/context/say.h"
#include "verdict/context/tail.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/negligible.h"
#include "verdict/evidence/owed.h"
#include "verdict/evidence/shed.h"
#include "verdict/findings/findings.h"

/*
 * Housekeeping comes by the second or every few: in less there is one spell of it, or none.
 * Five seconds, of which the begin and the end may be cut.
 */
#define WATCH_MIN 4.5
/* The rule of three: where all of n did the same, up to 3/n of all may not, a tenth here. */
#define REQUESTS_MIN 30
/* Three stalls of one cause leave little doubt; two may be chance. */
#define STALLS_MIN 3
/* With more than this lost, sums may lean either way; with a fifth they tell little. */
#define LOST_SOME 0.05
#define LOST_MUCH 0.20
/* Explained with room for an error; and less than what speaks for something else. */
#define SHARE_SURE 0.6
#define SHARE_DOUBT 0.4
/* From the p99 on people speak of a slow server. */
#define SLOW_MIN 0.01
/* From the p90 on it is no tail any more: something holds these up that was not seen. */
#define SLOW_MANY 0.1

static uint8_t share_cost(const struct grounds *g, double error)
{
	double share = g->share - error;

	return share < SHARE_DOUBT ? 2 : share < SHARE_SURE;
}

static uint8_t second_cost(const struct grounds *g, double error)
{
	double share = g->share - error, second = g->second + error;

	if (g->second <= 0)
		return 0;
	return second >= share ? 2 : 2 * second >= share;
}

static uint8_t seen_cost(const struct grounds *g)
{
	if (g->of_tail)
		return g->seen < 2 ? 2 : g->seen < STALLS_MIN;
	return !g->always && g->seen < REQUESTS_MIN;
}

unsigned confidence_level(const struct grounds *g, uint8_t by[DOUBT_CNT])
{
	double error = g->error > 0 ? g->error : 0;
	unsigned sum = 0;

	by[DOUBT_TIME] = g->seconds < WATCH_MIN;
	by[DOUBT_REQUESTS] = seen_cost(g);
	by[DOUBT_LOST] = g->lost > LOST_MUCH ? 2 : g->lost > LOST_SOME;
	by[DOUBT_SAMPLE] = g->error < 0;
	by[DOUBT_SHARE] = share_cost(g, error);
	by[DOUBT_SECOND] = second_cost(g, error);
	by[DOUBT_OPEN] = g->open > 0;
	by[DOUBT_SLOW] = g->slow >= SLOW_MANY ? 2 : g->slow >= SLOW_MIN;
	by[DOUBT_EVIDENCE] = g->lacks;
	by[DOUBT_SMALL] = g->small;
	by[DOUBT_INCONCLUSIVE] = g->inconclusive ? 2 : 0;
	for (unsigned i = 0; i < DOUBT_CNT; i++)
		sum += by[i];
	return sum >= CONF_HIGH - CONF_LOW ? CONF_LOW : CONF_HIGH - sum;
}

/* ---- where the numbers come from ---- */

/* Evidence about the watch as a whole, beside the finding's own. */
struct rest {
	double error, lost, slow;
	uint64_t hang, hang_ms;	/* requests that hang, the oldest for */
};

static double share_of(const struct context *k, double ns)
{
	return k->demand_ns > 0 ? ns / k->demand_ns : 0;
}

static bool holds_up(unsigned cls)
{
	return cls != FIND_HEALTHY && cls != FIND_UNKNOWN;
}

/* The candidate that explains most beside a class; NULL none.  Slow clients are no ill. */
static const struct cand *next_of(const struct context *k, unsigned cls)
{
	const struct cand *best = NULL;

	for (unsigned i = 0; i < FIND_CNT; i++) {
		const struct cand *c = &k->cand[i];

		if (i != cls && holds_up(i) && c->ns > 0 &&
		    !(i == FIND_CLIENTS && cls == FIND_HEALTHY) &&
		    (!best || c->ns > best->ns))
			best = c;
	}
	return best;
}

/*
 * Owed an answer for longer than nearly all took, and than anybody takes for no
 * delay.  Who asks and never gets an answer is in no figure of those answered.
 */
static bool hangs(const struct context *k, const struct ev_conn *c, uint64_t ms)
{
	uint32_t p = model_proc_by_tgid(k->m, c->tgid);

	return proc_is_target(k->m, p) && ms * 1000000 > WAITS_STALL_NS &&
	       ms * 1000000 > k->w->total.p99_ns;
}

static void hanging(const struct context *k, struct rest *r)
{
	const struct wreq *q = &k->w->total;

	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		bool owed = c->role == ROLE_SERVER;
		uint32_t cnt = owed ? c->owe_reply : c->await_reply;
		uint64_t ms = owed ? c->oldest_owe_ms : c->oldest_await_ms;

		if (!cnt || !hangs(k, c, ms))
			continue;
		r->hang += cnt;
		r->hang_ms = ms > r->hang_ms ? ms : r->hang_ms;
	}
	if (!r->hang && is_owed(k)) {
		r->hang = q->owed_cnt ? q->owed_cnt : 1;
		r->hang_ms = (q->owed_cnt ? q->stale_oldest_ns : q->open_oldest_ns) / 1000000;
	}
}

static struct rest rest_of(struct context *k, const struct tail *t)
{
	const struct model *m = k->m;
	double lost = (double)(m->loss.cnt[LOSS_RING] + m->loss.cnt[LOSS_SEQ]);
	double all = (double)(m->wait_cnt + m->waits_dropped_cnt) + lost;
	struct rest r = { .lost = all > 0 ? lost / all : 0 };

	if (m->kept_ns < m->end_ns - m->begin_ns)
		r.error = shed_error(k);
	if (t && t->requests)
		r.slow = (double)(t->slow_cnt > t->late_cnt ? t->slow_cnt : t->late_cnt) /
			 (double)t->requests;
	hanging(k, &r);
	return r;
}

/* Time per request that is not felt, as the thresholds of the verdict have it. */
#define SMALL_NS 5e6

static double each_ns(const struct context *k, const struct finding *f)
{
	return k->turns > 0 ? f->share * k->demand_ns / k->turns : k->window_ns;
}

static struct grounds grounds_of(const struct context *k, const struct finding *f,
				 const struct rest *r)
{
	const struct cand *next = next_of(k, f->cls);
	bool healthy = f->cls == FIND_HEALTHY, requests = k->w->demand_kind == 1;
	struct grounds g = { .seconds = k->window_ns / 1e9, .lost = r->lost, .error = r->error,
			     .share = f->share, .lacks = f->lacks };

	/* which of several it is may be in doubt, what it is is not */
	if (k->cand[f->cls].more_ns > 0)
		g.share = share_of(k, k->cand[f->cls].ns);
	g.seen = (uint64_t)k->turns + k->w->total.open_now;
	g.always = requests || !healthy ? k->demand_ns >= k->window_ns : false;
	g.second = next ? share_of(k, next->ns) : 0;
	g.small = finding_def(f->cls)->may_be_work && each_ns(k, f) < SMALL_NS;
	switch (f->cls) {
	case FIND_UNKNOWN:
		g.inconclusive = true;
		g.share = 1;
		g.second = 0;
		break;
	case FIND_HEALTHY:
		/* where demand is negligible it may be anything */
		g.share = !next || is_negligible(k, next) ? 1 :
			  share_of(k, k->cand[FIND_HEALTHY].ns);
		g.second = g.share < 1 ? g.second : 0;
		g.seen = requests ? g.seen : 0;
		g.open = r->hang;
		g.slow = r->slow;
		break;
	case FIND_CLIENTS:
		g.open = r->hang;
		g.slow = r->slow;
		break;
	}
	/* a pool is named beside what fills it: both hold of the same time */
	if (k->pool.ns > 0 && f->cls == k->pool.cls)
		g.second = 0;
	/* no sum of time speaks against what the threads themselves show */
	if (finding_def(f->cls)->is_certain) {
		g.second = 0;
		g.always = true;
	}
	return g;
}

static struct grounds grounds_of_stall(const struct context *k, const struct stall_finding *s,
				       const struct rest *r)
{
	/* who computes long in a request of its own may be meant to */
	return (struct grounds){ .seconds = k->window_ns / 1e9, .of_tail = true, .seen = s->cnt,
				 .lost = r->lost, .share = s->f.share, .lacks = s->f.lacks,
				 .inconclusive = finding_def(s->f.cls)->stall_is_vague };
}

static const char *requests_text(struct context *k, const struct grounds *g)
{
	if (!g->of_tail && !g->seen)
		return "no requests were seen";
	return arena_printf(k->arena, "only %llu %s%s", (unsigned long long)g->seen,
			    g->of_tail ? "stall" : "request", g->seen == 1 ? " was seen"
								      : "s were seen");
}

static const char *second_text(struct context *k, const struct finding *f)
{
	const struct cand *next = next_of(k, f->cls);

	return arena_printf(k->arena, "%s explains %.0f %% beside it",
			    next ? finding_title(next->cls) : "another cause",
			    100 * (next ? share_of(k, next->ns) : 0));
}

static const char *doubt_text(struct context *k, const struct finding *f, const struct grounds *g,
			      const struct rest *r, unsigned doubt)
{
	switch (doubt) {
	case DOUBT_TIME:
		return arena_printf(k->arena, "watched for %.1f s only", g->seconds);
	case DOUBT_REQUESTS:
		return requests_text(k, g);
	case DOUBT_LOST:
		return arena_printf(k->arena, "%.0f %% of the records were lost", 100 * g->lost);
	case DOUBT_SAMPLE:
		return "shares are of one stretch of time";
	case DOUBT_SHARE:
		return arena_printf(k->arena, "%.0f %% of the time is not explained%s",
				    100 - 100 * g->share, g->error < 0.005 ? "" :
				    arena_printf(k->arena, ", +-%.0f %%", 100 * g->error));
	case DOUBT_SECOND:
		return second_text(k, f);
	case DOUBT_OPEN:
		return arena_printf(k->arena, "%llu request%s wait%s for an answer, the oldest for "
				    "%s", (unsigned long long)g->open, g->open == 1 ? "" : "s",
				    g->open == 1 ? "s" : "", ns_text(k, r->hang_ms * 1e6));
	case DOUBT_SLOW:
		return arena_printf(k->arena, "%.1f %% of the requests were slow, and no cause "
				    "was found", 100 * g->slow);
	case DOUBT_EVIDENCE:
		return f->lack;
	case DOUBT_SMALL:
		return arena_printf(k->arena, "it is %s of a request, which may be its usual work",
				    ns_text(k, each_ns(k, f)));
	default:
		return "what the time went into was not seen, or two causes are as likely";
	}
}

static void judge(struct context *k, struct finding *f, const struct grounds *g,
		  const struct rest *r)
{
	uint8_t by[DOUBT_CNT];

	f->conf = (uint8_t)confidence_level(g, by);
	f->doubts = ARENA_ARRAY(k->arena, const char *, DOUBT_CNT + 1);
	for (unsigned cost = 2; cost; cost--) {
		for (unsigned i = 0; i < DOUBT_CNT; i++)
			if (by[i] == cost)
				f->doubts[f->doubt_cnt++] = doubt_text(k, f, g, r, i);
	}
}

void confidence_judge(struct context *k, struct verdict *v)
{
	struct rest r = rest_of(k, v->tail);

	for (size_t i = 0; i < v->finding_cnt + v->candidate_cnt; i++) {
		struct finding *f = i < v->finding_cnt ? &v->findings[i]
						       : &v->candidates[i - v->finding_cnt];
		struct grounds g;

		if (f->of_tail)
			continue;
		g = grounds_of(k, f, &r);
		judge(k, f, &g, &r);
	}
	for (size_t i = 0; v->tail && i < v->tail->stall_cnt; i++) {
		struct stall_finding *s = &v->tail->stalls[i];
		struct grounds g = grounds_of_stall(k, s, &r);

		judge(k, &s->f, &g, &r);
		if (!s->heads)
			continue;
		v->findings[0].conf = s->f.conf;
		v->findings[0].doubts = s->f.doubts;
		v->findings[0].doubt_cnt = s->f.doubt_cnt;
	}
}

/* ---- the other engine ---- */

void confidence_differs(struct verdict *v, const char *what, const char *first,
			struct arena *arena)
{
	struct finding *f = &v->findings[0];
	const char **doubts = ARENA_ARRAY(arena, const char *, f->doubt_cnt + 1);

	for (size_t i = 0; i < f->doubt_cnt; i++)
		doubts[i] = f->doubts[i];
	doubts[f->doubt_cnt++] = arena_printf(arena, "%s point elsewhere: %s first",
					      what, first);
	f->doubts = doubts;
	f->conf = f->conf > CONF_LOW ? f->conf - 1 : CONF_LOW;
}
