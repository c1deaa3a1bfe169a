/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules.  What a second is compared with is the median of the last sound
 * RULES_LEARN seconds of the same service, plus its spread (median absolute
 * deviation, scaled to a standard deviation): a service that always varies is
 * not in trouble when it does, a deploy that makes it slower for good is one
 * finding and then the new usual, since a finding that lasts is learnt from
 * after LEARN_AGAIN seconds.
 *
 * Each condition must hold for some seconds in a row: one second of a busy
 * neighbour, a checkpoint or a collection is no trouble.  rule_defs has how long,
 * and why it rarely errs.
 */
#include "serve/notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"

/* Fewer seconds say little of what is usual. */
#define LEARN_MIN 20

/* Fewer answers in a window make a quantile of one or two of them. */
#define ANSWERS_MIN 20

/*
 * What a person may feel, and over what a scheduler or a disk does now and then to one
 * request of a hundred.  An answer of microseconds that takes ten of them is no trouble yet.
 */
#define P50_FLOOR_NS (5 * NS_PER_MS)
#define P99_FLOOR_NS (50 * NS_PER_MS)

/* Histogram buckets are a factor of 1.4 apart: less than 3 may be two steps of noise. */
#define P50_TIMES 3
#define P99_TIMES 4
#define SPREADS 8 /* as the flight recorder's detector: flight_anomaly.h */

/* A request open so long is stuck unless such ones are usual: clients give up soon after. */
#define STUCK_NS (2 * NS_PER_SEC)
#define STUCK_TIMES 4

/* Answers that stop are odd only where seconds without any are rare. */
#define SILENT_NS NS_PER_SEC
#define QUIET_SHARE 0.1

/*
 * Open requests that grow: three times as many as there ever were, not counting the last
 * seconds, which are of the growth where it is slow.  Fewer are what a burst leaves.
 */
#define OPEN_FLOOR 20
#define OPEN_TIMES 3
#define OPEN_GROWTH 1.25 /* within the window */
#define OPEN_LAG 15

/* Seconds without any condition after which a trouble is over. */
#define CALM 5
#define LEARN_AGAIN 600

struct judging {
	const struct rules *r;
	const struct second *s;
	uint64_t p50_ns, p99_ns, oldest_ns, bound_ns;
	uint64_t answers;	/* of the window */
	struct usual { double median, spread, most; } p50, p99, oldest, open;
	uint32_t open_cnt;
	double quiet_share;	/* of seconds without an answer */
	char *reason;		/* written by a condition that holds */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, size_t cnt)
{
	qsort(v, cnt, sizeof(*v), by_value);
	return cnt & 1 ? v[cnt / 2] : (v[cnt / 2 - 1] + v[cnt / 2]) / 2;
}

static struct usual usual_of(double *v, size_t cnt)
{
	struct usual u = {0};

	if (!cnt)
		return u;
	u.median = median(v, cnt);
	u.most = v[cnt - 1];
	for (size_t i = 0; i < cnt; i++)
		v[i] = v[i] > u.median ? v[i] - u.median : u.median - v[i];
	u.spread = 1.4826 * median(v, cnt);
	return u;
}

static size_t learnt_cnt(const struct rules *r)
{
	return r->learnt_cnt < RULES_LEARN ? r->learnt_cnt : RULES_LEARN;
}

/* The number of seconds that were learnt after it. */
static uint32_t age_of(const struct rules *r, size_t at)
{
	return (r->learnt_cnt - 1 - (uint32_t)at) % RULES_LEARN;
}

static void learn_open(struct judging *j)
{
	double open[RULES_LEARN];
	size_t cnt = learnt_cnt(j->r), with = 0;

	for (size_t i = 0; i < cnt; i++)
		if (age_of(j->r, i) >= OPEN_LAG)
			open[with++] = (double)j->r->learnt[i].open_cnt;
	j->open = usual_of(open, with);
}

static void learn_usual(struct judging *j)
{
	double p50[RULES_LEARN], p99[RULES_LEARN], oldest[RULES_LEARN];
	size_t cnt = learnt_cnt(j->r), with = 0, quiet = 0;

	for (size_t i = 0; i < cnt; i++) {
		const struct learnt_second *l = &j->r->learnt[i];

		oldest[i] = (double)l->oldest_ns;
		quiet += l->answer_cnt == 0;
		if (!l->p99_ns)
			continue;
		p50[with] = (double)l->p50_ns;
		p99[with++] = (double)l->p99_ns;
	}
	j->quiet_share = cnt ? (double)quiet / (double)cnt : 1;
	j->p50 = usual_of(p50, with >= LEARN_MIN ? with : 0);
	j->p99 = usual_of(p99, with >= LEARN_MIN ? with : 0);
	j->oldest = usual_of(oldest, cnt);
	learn_open(j);
}

static bool crashed(const struct judging *j)
{
	if (!j->s->crash_cnt)
		return false;
	snprintf(j->reason, RULES_REASON_LEN, "%u process%s of it ended by a signal",
		 j->s->crash_cnt, j->s->crash_cnt == 1 ? "" : "es");
	return true;
}

static bool silent(const struct judging *j)
{
	char age[FMT_MAX];

	if (j->s->answer_cnt || j->oldest_ns < SILENT_NS || j->quiet_share > QUIET_SHARE ||
	    learnt_cnt(j->r) < LEARN_MIN)
		return false;
	snprintf(j->reason, RULES_REASON_LEN,
		 "no answers, and %u request%s open or unread, the oldest for %s",
		 j->s->open_cnt + j->s->unread_cnt,
		 j->s->open_cnt + j->s->unread_cnt == 1 ? " is" : "s are",
		 fmt_ns(age, j->oldest_ns));
	return true;
}

static bool stuck(const struct judging *j)
{
	char age[FMT_MAX], most[FMT_MAX];

	if (j->oldest_ns < STUCK_NS || (double)j->oldest_ns < STUCK_TIMES * j->oldest.most ||
	    learnt_cnt(j->r) < LEARN_MIN)
		return false;
	snprintf(j->reason, RULES_REASON_LEN,
		 "a request is not answered for %s; before, the oldest was %s",
		 fmt_ns(age, j->oldest_ns), fmt_ns(most, (uint64_t)j->oldest.most));
	return true;
}

static bool refusing(const struct judging *j)
{
	if (!j->s->backlog_max || j->s->backlog_cnt < j->s->backlog_max)
		return false;
	snprintf(j->reason, RULES_REASON_LEN, "%u connections wait to be accepted, as many as may",
		 j->s->backlog_cnt);
	return true;
}

/* Once it is the trouble it lasts while they are so many, growing or not. */
static bool growing(const struct judging *j)
{
	const struct rules *r = j->r;
	const struct second *first = &r->window[r->window_cnt % RULES_WINDOW];
	uint32_t before = first->open_cnt + first->unread_cnt;

	if (j->open_cnt < OPEN_FLOOR || learnt_cnt(r) < LEARN_MIN + OPEN_LAG ||
	    (double)j->open_cnt <= OPEN_TIMES * j->open.most ||
	    (r->rule != RULE_GROWING && (double)j->open_cnt < OPEN_GROWTH * (double)before))
		return false;
	snprintf(j->reason, RULES_REASON_LEN,
		 "%u requests are open, %u five seconds ago; before, at most %.0f were",
		 j->open_cnt, before, j->open.most);
	return true;
}

static bool over_bound(const struct judging *j)
{
	char now[FMT_MAX], bound[FMT_MAX];

	if (!j->bound_ns || j->answers < ANSWERS_MIN || j->p99_ns <= j->bound_ns)
		return false;
	snprintf(j->reason, RULES_REASON_LEN, "p99 is %s, over the bound of %s",
		 fmt_ns(now, j->p99_ns), fmt_ns(bound, j->bound_ns));
	return true;
}

static bool is_over(const struct judging *j, uint64_t now_ns, const struct usual *u, double times)
{
	double now = (double)now_ns;

	return j->answers >= ANSWERS_MIN && u->median > 0 && now > times * u->median &&
	       now > u->median + SPREADS * u->spread;
}

static void over_reason(const struct judging *j, const char *what, uint64_t now_ns,
			const struct usual *u)
{
	char now[FMT_MAX], was[FMT_MAX];

	snprintf(j->reason, RULES_REASON_LEN, "%s is %s, usually %s", what, fmt_ns(now, now_ns),
		 fmt_ns(was, (uint64_t)u->median));
}

static bool slow(const struct judging *j)
{
	if (j->p50_ns < P50_FLOOR_NS || !is_over(j, j->p50_ns, &j->p50, P50_TIMES))
		return false;
	over_reason(j, "p50", j->p50_ns, &j->p50);
	return true;
}

/* Its usual maximum counts too: tails are rare, and one that was there before is no news. */
static bool tail(const struct judging *j)
{
	if (j->p99_ns < P99_FLOOR_NS || !is_over(j, j->p99_ns, &j->p99, P99_TIMES) ||
	    (double)j->p99_ns <= 1.5 * j->p99.most)
		return false;
	over_reason(j, "p99", j->p99_ns, &j->p99);
	return true;
}

static const struct rule_def {
	const char *name;
	bool (*holds)(const struct judging *j);
	uint32_t seconds;	/* in a row */
	const char *reason, *rarely_errs;
} rule_defs[RULE_CNT] = {
	[RULE_NONE] = {.name = "none"},
	[RULE_CRASHED] = {"crashed", crashed, 1, "a crash loses all requests of its process",
			  "signals that people and unit files end processes with do not count"},
	[RULE_SILENT] = {"silent", silent, 3, "a service that hangs answers nobody",
			 "one that is not asked has no request open; seconds without an answer "
			 "must be rare for it"},
	[RULE_STUCK] = {"stuck", stuck, 2, "some hang while others are answered",
			"long polls and subscriptions were open before, and for as long"},
	[RULE_REFUSING] = {"refusing", refusing, 3, "new clients are turned away",
			   "a burst fills the queue for less than a second"},
	[RULE_GROWING] = {"growing", growing, 3, "more comes in than is answered, which p99 of "
			  "what is answered shows late",
			  "three times the most of two minutes, still growing, for three seconds: "
			  "a burst is answered sooner"},
	[RULE_BOUND] = {"bound", over_bound, 3, "a person said so", "their choice"},
	[RULE_SLOW] = {"slow", slow, 3, "most requests take longer",
		       "three times the median and eight spreads over it, of a window of five "
		       "seconds, three times in a row"},
	[RULE_TAIL] = {"tail", tail, 4, "some requests take far longer",
		       "as slow, and over half as much again as the worst of two minutes"},
};

const char *rule_name(enum rule rule)
{
	return rule < RULE_CNT ? rule_defs[rule].name : "none";
}

static void window_sum(const struct rules *r, uint64_t *ret_hist, uint64_t *ret_answers)
{
	uint32_t cnt = r->window_cnt < RULES_WINDOW ? r->window_cnt : RULES_WINDOW;

	memset(ret_hist, 0, EVENT_HIST_CNT * sizeof(*ret_hist));
	*ret_answers = 0;
	for (uint32_t i = 0; i < cnt; i++) {
		for (unsigned b = 0; b < EVENT_HIST_CNT; b++) {
			ret_hist[b] += r->window[i].hist[b];
			*ret_answers += r->window[i].hist[b];
		}
	}
}

static uint64_t window_quantile(const struct rules *r, double q)
{
	uint64_t hist[EVENT_HIST_CNT], answers;

	window_sum(r, hist, &answers);
	return second_quantile_ns(hist, q);
}

uint64_t rules_p50_ns(const struct rules *r)
{
	return window_quantile(r, 0.5);
}

uint64_t rules_p99_ns(const struct rules *r)
{
	return window_quantile(r, 0.99);
}

static void judging_init(struct judging *j, const struct rules *r, const struct second *s,
			 uint64_t bound_ns)
{
	uint64_t hist[EVENT_HIST_CNT];

	*j = (struct judging){.r = r, .s = s, .bound_ns = bound_ns,
			      .open_cnt = s->open_cnt + s->unread_cnt};
	window_sum(r, hist, &j->answers);
	j->p50_ns = second_quantile_ns(hist, 0.5);
	j->p99_ns = second_quantile_ns(hist, 0.99);
	j->oldest_ns = s->open_oldest_ns > s->unread_oldest_ns ? s->open_oldest_ns
							       : s->unread_oldest_ns;
	learn_usual(j);
}

void rules_learn(struct rules *r, const struct learnt_second *l)
{
	r->learnt[r->learnt_cnt++ % RULES_LEARN] = *l;
}

static void learn(struct rules *r, const struct judging *j)
{
	bool enough = j->answers >= ANSWERS_MIN;

	rules_learn(r, &(struct learnt_second){
		.p50_ns = enough ? j->p50_ns : 0,
		.p99_ns = enough ? j->p99_ns : 0,
		.oldest_ns = j->oldest_ns,
		.answer_cnt = (uint32_t)j->s->answer_cnt,
		.open_cnt = j->open_cnt,
	});
}

/* The first rule whose condition held long enough; *ret_any: some condition holds now. */
static enum rule look(struct rules *r, struct judging *j, char *ret_reason, bool *ret_any)
{
	char reason[RULES_REASON_LEN];
	enum rule fired = RULE_NONE;

	j->reason = reason;
	*ret_any = false;
	for (int i = RULE_NONE + 1; i < RULE_CNT; i++) {
		bool holds = rule_defs[i].holds(j);

		*ret_any |= holds;
		r->bad_cnt[i] = holds ? r->bad_cnt[i] + 1 : 0;
		if (!fired && r->bad_cnt[i] >= rule_defs[i].seconds) {
			fired = (enum rule)i;
			snprintf(ret_reason, RULES_REASON_LEN, "%s", reason);
		}
	}
	return fired;
}

enum rules_step rules_second(struct rules *r, const struct second *s, uint64_t p99_bound_ns,
			     uint64_t *ret_since_ns, char reason[RULES_REASON_LEN])
{
	struct judging j;
	enum rule fired;
	bool any;

	r->window[r->window_cnt++ % RULES_WINDOW] = *s;
	judging_init(&j, r, s, p99_bound_ns);
	fired = look(r, &j, reason, &any);
	r->calm_cnt = any ? 0 : r->calm_cnt + 1;
	if (!r->rule && fired) {
		uint64_t seconds_ns = r->bad_cnt[fired] * NS_PER_SEC;

		r->rule = fired;
		*ret_since_ns = j.oldest_ns > seconds_ns ? j.oldest_ns : seconds_ns;
		return RULES_BEGINS;
	}
	if (!any || (r->rule && r->bad_cnt[r->rule] > LEARN_AGAIN))
		learn(r, &j);
	if (!r->rule)
		return RULES_SOUND;
	if (r->calm_cnt < CALM)
		return RULES_LASTS;
	*ret_since_ns = r->calm_cnt * NS_PER_SEC;
	r->rule = RULE_NONE;
	return RULES_ENDS;
}
