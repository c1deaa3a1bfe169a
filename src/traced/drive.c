/* SPDX-License-Identifier: Apache-2.0 */
#include "traced/drive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "requests/forest/space.h"

enum {
	LEARN_CNT = 110,	/* enough for a first decision: see MOST_CNT */
	LOOK_CNT = 40,		/* twice the least: rounds end within a second at 50 requests/s */
	LEARN_LEAST = 60,	/* shares of the variance are then known to a tenth or two */
	LEARN_TRIES = 4,	/* where nothing stood out; then it is calm */
	LOOK_MIN = 20,
	PRICED_MIN = 4,
	TRACED_S = 100,		/* requests a second: more are no better evidence, and cost */
	/*
	 * So that a look has 20 requests, and five looks are done with what was learnt: it is
	 * from the same requests that are slow, and what is left is to tell where they vary.
	 */
	MOST_CNT = 320,
};

#define LEARN_NS (12 * NS_PER_SEC)	/* with LEARN_LEAST requests it goes on after so long, */
#define LEARN_LONG_NS (24 * NS_PER_SEC)	/* with LOOK_MIN after so long */
#define LOOK_NS (3 * NS_PER_SEC)	/* a decision with LOOK_MIN waits for no more */
#define PACE_NS (500 * NS_PER_MS)	/* how often cost and rate are looked at */
#define SHARE_FIRST 0.1		/* until the rate is known */
#define SHARE_MIN 0.0005
/* A hypothesis is believed at 5 %: as many missing spans could make or hide one. */
#define DROPPED_MAX 0.05
/* A request has its root and one or more parents beside leaves, whose loss nobody sees. */
#define INCOMPLETE_MAX 0.10
#define AHEAD_S 2.0
#define MAX_AIM 0.9 /* of what may be spent: the export of the last spans is not paid yet */
#define QUEUE_MAX 0.5

struct pace {			/* at the last look at cost and rate */
	uint64_t begin_ns, ns;
	uint64_t traced_cnt;
	double span_ns;
	double request_ns;	/* what a traced request costs; 0: not known yet */
};

struct drive {
	struct drive_opts opts;
	struct board *board;
	struct points *points;
	struct strtab *strings;
	struct space *space;
	struct control *control;
	struct control_round round;
	enum drive_phase phase;
	uint64_t epoch;			/* requests of this one and later ones are evidence */
	uint64_t begin_ns, look_ns;	/* of the phase; when the last decision was made */
	uint32_t fresh_cnt;		/* requests since then */
	double share;
	struct pace pace;
	struct drive_counts counts;
	uint32_t learn_tries;
	uint32_t on_cnt, most_on_cnt, point_cnt, always_cnt;
	double on_sum;			/* of on_cnt, by requests of the search */
	uint64_t on_requests;
	VEC(struct board_point) on;
	VEC(struct trace *) learnt;	/* all were on in them: evidence for any decision */
	struct arena arena;
};

void drive_free(struct drive *d)
{
	if (!d)
		return;
	control_free(d->control);
	space_free(d->space);
	vec_release(&d->on);
	vec_release(&d->learnt);
	arena_release(&d->arena);
	free(d);
}

enum drive_phase drive_phase(const struct drive *d)
{
	return d->phase;
}

/* ---- what is on */

static void on_make(struct drive *d)
{
	vec_clear(&d->on);
	for (uint32_t p = 0; p < d->points->items.cnt && d->on.cnt < BOARD_ON_MAX; p++) {
		const struct point *at = &d->points->items.items[p];

		if (space_has(d->space, p) && control_wants(d->control, p))
			vec_push(&d->on, ((struct board_point){strtab_str(d->strings, at->service),
							       strtab_str(d->strings, at->name)}));
	}
}

static void publish(struct drive *d)
{
	struct board_state s = {.type = d->opts.type, .is_on = d->phase != DRIVE_DONE,
				.all = d->phase == DRIVE_LEARN, .share = d->share};

	if (d->phase == DRIVE_SEARCH) {
		s.on = d->on.items;
		s.on_cnt = d->on_cnt = (uint32_t)d->on.cnt;
		if (d->on_cnt > d->most_on_cnt)
			d->most_on_cnt = d->on_cnt;
	}
	d->epoch = board_set(d->board, &s);
}

/* ---- requests */

static void learn(struct drive *d, const struct trace *t)
{
	struct trace *copy = trace_copy_to(arena_alloc(&d->arena, trace_copy_bytes(t)), t);

	d->counts.learnt_cnt++;
	(void)space_add(d->space, copy); /* what it cannot use it counts */
	vec_push(&d->learnt, copy);
}

void drive_take(struct drive *d, const struct gathered *t)
{
	struct drive_counts *c = &d->counts;

	if (!t->epoch)
		c->foreign_cnt++;
	else if (t->epoch < d->epoch)
		c->old_cnt++;
	else if (!t->is_whole)
		c->incomplete_cnt++;
	else if (d->phase == DRIVE_DONE)
		return;
	else {
		c->trace_cnt++;
		d->fresh_cnt++;
		if (d->phase == DRIVE_LEARN) {
			learn(d, &t->trace);
		} else {
			control_add(d->control, &t->trace);
			d->on_sum += d->on_cnt;
			d->on_requests++;
		}
	}
}

/* ---- decisions */

static void search_begin(struct drive *d, uint64_t now_ns)
{
	const struct control_opts opts = {.min_cnt = LOOK_MIN, .most_cnt = MOST_CNT};
	struct control_counts counts;

	d->control = control_new(d->space, &opts, d->points, d->strings);
	VEC_FOREACH(&d->learnt, t)
		control_add(d->control, *t);
	control_counts(d->control, &counts);
	d->point_cnt = counts.point_cnt;
	d->always_cnt = counts.always_cnt;
	d->phase = DRIVE_SEARCH;
	d->begin_ns = now_ns;
	d->fresh_cnt = (uint32_t)d->learnt.cnt;
	/* few tracepoints cost less than all: at least what is always on, and two to try */
	if (d->point_cnt)
		d->pace.request_ns *= fmin(1, (d->always_cnt + 2.0) / d->point_cnt);
}

static bool look_due(const struct drive *d, uint64_t now_ns)
{
	return d->fresh_cnt >= d->opts.look_cnt ||
	       (d->fresh_cnt >= LOOK_MIN && now_ns - d->look_ns >= LOOK_NS);
}

/* With few requests nothing may stand out: some more, with all on, and once more. */
static bool learn_again(struct drive *d, uint64_t now_ns)
{
	if (d->round.located_cnt || !d->learnt.cnt || d->learn_tries + 1 >= LEARN_TRIES)
		return false;
	d->learn_tries++;
	control_free(d->control);
	d->control = NULL;
	d->round = (struct control_round){.round = d->round.round};
	d->phase = DRIVE_LEARN;
	d->begin_ns = now_ns;
	d->opts.learn_cnt = (uint32_t)d->learnt.cnt + LEARN_CNT;
	d->fresh_cnt = (uint32_t)d->learnt.cnt;
	return true;
}

/* Nothing of a type stands out, and nothing is being tried. */
static bool is_calm(const struct drive *d)
{
	bool calm = false;

	for (uint32_t i = 0; i < d->round.decision_cnt; i++)
		calm |= d->round.decisions[i].kind == DECIDE_CALM;
	return calm && d->on_cnt <= d->always_cnt;
}

static bool decide(struct drive *d, uint64_t now_ns)
{
	uint64_t before = d->epoch;

	control_decide(d->control, &d->round);
	d->look_ns = now_ns;
	d->fresh_cnt = 0;
	if ((d->round.finished || is_calm(d)) && !learn_again(d, now_ns) && d->round.finished)
		d->phase = DRIVE_DONE;
	if (d->control)
		on_make(d);
	publish(d);
	return d->epoch != before || d->phase == DRIVE_DONE;
}

/* Does the space have enough requests of the type, by its name. */
static bool is_known(const struct drive *d)
{
	struct arena scratch = {0};
	struct space_view v;
	bool known = false;

	space_view(d->space, &scratch, &v);
	for (uint32_t i = 0; i < v.type_cnt && !known; i++) {
		const struct point *p = &d->points->items.items[v.types[i].point];

		known = v.types[i].trace_cnt >= LOOK_MIN &&
			strcmp(strtab_str(d->strings, p->name), d->opts.type) == 0;
	}
	arena_release(&scratch);
	return known;
}

struct drive *drive_new(const struct drive_opts *opts, struct board *board, struct points *points,
			struct strtab *strings)
{
	struct drive *d = xcalloc(1, sizeof(*d));

	d->opts = *opts;
	d->opts.learn_cnt = opts->learn_cnt ? opts->learn_cnt : LEARN_CNT;
	d->opts.look_cnt = opts->look_cnt ? opts->look_cnt : LOOK_CNT;
	d->board = board;
	d->points = points;
	d->strings = strings;
	d->space = space_new(points, strings);
	d->share = SHARE_FIRST;
	if (opts->known)
		space_merge(d->space, opts->known);
	d->opts.known = NULL;
	if (is_known(d)) {
		search_begin(d, 0);
		on_make(d);
	}
	publish(d);
	return d;
}

const struct space *drive_space(const struct drive *d)
{
	return d->space;
}

/* ---- cost and rate */

/* A traced request's cost, from those since the last time that there were some. */
static void price(struct pace *p, const struct board_summary *s)
{
	double now_ns;

	if (s->traced_cnt < p->traced_cnt + PRICED_MIN)
		return;
	now_ns = (s->span_ns - p->span_ns) / (double)(s->traced_cnt - p->traced_cnt);
	p->request_ns = p->request_ns > 0 ? (p->request_ns + now_ns) / 2 : now_ns;
	p->span_ns = s->span_ns;
	p->traced_cnt = s->traced_cnt;
}

/*
 * The share of requests that are traced: as many as are of use, and no more than may be
 * spent over all of the search, with what was spent and what the next AHEAD_S will bring.
 */
static void pace(struct drive *d, uint64_t now_ns, const struct board_summary *s)
{
	double seconds = (double)(now_ns - d->pace.begin_ns) / 1e9, share = d->share;
	double requests_s = (double)s->request_cnt / seconds, may;

	price(&d->pace, s);
	d->pace.ns = now_ns;
	if (!s->request_cnt || !s->traced_cnt)
		return;
	share = fmin(1, TRACED_S / requests_s);
	if (d->opts.max_cost > 0 && s->cpu_ns > 0 && d->pace.request_ns > 0) {
		may = MAX_AIM * d->opts.max_cost * s->cpu_ns;
		if (s->ask_ns > 0.4 * may)
			board_wait(d->board, BOARD_WAIT_MAX_MS);
		may = (may - s->ask_ns) * (1 + AHEAD_S / seconds) - s->span_ns;
		share = fmin(share, may / (d->pace.request_ns * requests_s * AHEAD_S));
	}
	d->share = fmax(share, SHARE_MIN);
	publish(d);
}

static bool learnt_enough(const struct drive *d, uint64_t gone_ns)
{
	return d->fresh_cnt >= d->opts.learn_cnt ||
	       (d->fresh_cnt >= LEARN_LEAST && gone_ns >= LEARN_NS) ||
	       (d->fresh_cnt >= LOOK_MIN && gone_ns >= LEARN_LONG_NS);
}

bool drive_step(struct drive *d, uint64_t now_ns)
{
	struct board_summary s;

	if (d->phase == DRIVE_DONE)
		return false;
	board_summary(d->board, now_ns, &s);
	if (!d->begin_ns)
		d->begin_ns = d->look_ns = now_ns;
	if (!s.agent_cnt || !d->pace.begin_ns)
		d->pace.begin_ns = d->pace.ns = now_ns;
	if (s.agent_cnt && now_ns - d->pace.ns >= PACE_NS)
		pace(d, now_ns, &s);
	if (d->control)
		control_pause(d->control, s.queue > QUEUE_MAX);
	if (d->phase == DRIVE_LEARN) {
		if (!learnt_enough(d, now_ns - d->begin_ns))
			return false;
		search_begin(d, now_ns);
		return decide(d, now_ns);
	}
	return look_due(d, now_ns) && decide(d, now_ns);
}

void drive_end(struct drive *d)
{
	d->phase = DRIVE_DONE;
	publish(d);
}

/* ---- result */

static double part(uint64_t cnt, uint64_t of)
{
	return of ? (double)cnt / (double)of : 0;
}

static enum drive_doubt doubt_of(const struct drive *d, const struct board_summary *s,
				 const struct drive_counts *c)
{
	if (!s->agent_cnt)
		return DRIVE_NO_AGENT;
	if (c->dropped_share > DROPPED_MAX || c->incomplete_share > INCOMPLETE_MAX)
		return DRIVE_LOST;
	if (c->trace_cnt < LOOK_MIN)
		return c->old_cnt > c->trace_cnt ? DRIVE_OLD : DRIVE_NO_REQUEST;
	if (d->round.located_cnt)
		return DRIVE_SURE;
	return d->round.finished ? DRIVE_CALM : DRIVE_OPEN;
}

void drive_result(const struct drive *d, uint64_t now_ns, struct arena *arena,
		  struct drive_result *ret)
{
	struct board_summary s;

	board_summary(d->board, now_ns, &s);
	*ret = (struct drive_result){
		.phase = d->phase, .round_cnt = d->round.round, .point_cnt = d->point_cnt,
		.always_cnt = d->always_cnt, .most_on_cnt = d->most_on_cnt,
		.mean_on = d->on_requests ? d->on_sum / (double)d->on_requests : 0,
		.located = d->round.located, .located_cnt = d->round.located_cnt,
		.forest = d->control ? control_forest(d->control, arena) : NULL,
		.counts = d->counts, .share = d->share,
		.cost_share = s.cpu_ns > 0 ? (s.span_ns + s.ask_ns) / s.cpu_ns : 0};
	ret->counts.incomplete_share =
		part(d->counts.incomplete_cnt, d->counts.incomplete_cnt + d->counts.trace_cnt);
	ret->counts.dropped_share = part(s.dropped_cnt, s.recorded_cnt);
	ret->doubt = doubt_of(d, &s, &ret->counts);
}

uint32_t drive_owner(const struct control_located *l)
{
	if (l->owner != FOREST_NONE)
		return l->owner;
	return l->from.point == l->to.point ? l->from.point : FOREST_NONE;
}
