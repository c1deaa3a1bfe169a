/* SPDX-License-Identifier: Apache-2.0 */
/* Clustering and nearest neighbours against slow ways of saying the same, and scenes. */
#include "functions/functions.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/cluster.h"
#include "functions/learn.h"
#include "functions/outliers.h"
#include "functions/rank.h"
#include "functions/vectors.h"
#include "model/calls.h"
#include "synth.h"
#include "unit.h"

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

/* ---- bins */

TEST(functions_bins_keep_an_eighth)
{
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t random = (uint64_t)any(UINT32_MAX) << 32 | any(UINT32_MAX);
		uint64_t v = i < 4096 ? i : random >> any(64);
		double mid = bin_mid(bin_of(v));

		OK(bin_of(v) < BINS);
		OK(bin_of(v) <= bin_of(v + (v < UINT64_MAX)));
		NEAR(mid, (double)v, (double)v / 8 + 0.5);
	}
}

static double itself(double v)
{
	return v;
}

TEST(functions_spread_is_median_and_mad)
{
	uint32_t bins[BINS] = {0};
	struct spread s = bins_spread(bins, itself);

	EQ_U((unsigned)s.mid, 0);
	bins[1] = 3;
	bins[2] = 4;
	bins[7] = 2;
	/* 1 1 1 2 2 2 2 7 7: middle 2, distances 0 0 0 0 1 1 1 5 5 */
	s = bins_spread(bins, itself);
	NEAR(s.mid, 2, 0);
	NEAR(s.dev, 1.4826, 1e-9);
}

/* ---- clustering */

/* Merges the nearest two, again and again: the definition. */
static void cluster_slow(const uint16_t *dist, uint32_t n, unsigned cut, uint32_t *of)
{
	for (uint32_t i = 0; i < n; i++)
		of[i] = i;
	for (;;) {
		unsigned best = cut + 1;
		uint32_t a = 0, b = 0;

		for (uint32_t x = 0; x < n; x++)
			for (uint32_t y = 0; y < x; y++) {
				unsigned far = 0;

				if (of[x] != x || of[y] != y)
					continue;
				for (uint32_t i = 0; i < n; i++)
					for (uint32_t k = 0; k < n; k++)
						if (of[i] == x && of[k] == y &&
						    dist[i * n + k] > far)
							far = dist[i * n + k];
				if (far < best) {
					best = far;
					a = y;
					b = x;
				}
			}
		if (best > cut)
			return;
		for (uint32_t i = 0; i < n; i++)
			if (of[i] == b)
				of[i] = a;
	}
}

TEST(functions_cluster_is_complete_linkage)
{
	for (unsigned round = 0; round < 300; round++) {
		enum { MAX = 14 };
		uint32_t n = 1 + any(MAX), slow[MAX], fast[MAX];
		uint16_t dist[MAX * MAX] = {0}, order[MAX * MAX], copy[MAX * MAX];
		uint32_t pairs = n * (n - 1) / 2, at = 0;

		ROW(round);
		for (uint32_t i = 0; i < pairs; i++)
			order[i] = (uint16_t)(i + 1);
		for (uint32_t i = 1; i < pairs; i++) { /* distinct distances: no ties */
			uint32_t k = any(i + 1);
			uint16_t t = order[i];

			order[i] = order[k];
			order[k] = t;
		}
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < i; k++)
				dist[i * n + k] = dist[k * n + i] = order[at++];
		memcpy(copy, dist, sizeof(copy));
		cluster_slow(dist, n, pairs / 2, slow);
		cluster_matrix(copy, n, pairs / 2, fast);
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < n; k++)
				EQ_U(fast[i] == fast[k], slow[i] == slow[k]);
	}
}

static void patterns_fill(struct pattern *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		p[i].cnt = 1 + any(5);
		for (unsigned b = 0; b < 12; b++)
			if (any(3) == 0)
				p[i].bits[b % 2] |= UINT64_C(1) << b;
	}
	qsort(p, n, sizeof(*p), pattern_cmp);
}

/* No two sets of a cluster are too far from each other, and no two clusters could be one. */
TEST(functions_cluster_cut_is_tight)
{
	for (unsigned round = 0; round < 100; round++) {
		enum { MAX = 60 };
		struct pattern p[MAX];
		uint32_t n = 1 + any(MAX), of[MAX], cnt;

		ROW(round);
		memset(p, 0, sizeof(p));
		patterns_fill(p, n);
		cnt = cluster_patterns(p, n, of);
		for (uint32_t a = 0; a < cnt; a++)
			for (uint32_t b = 0; b <= a; b++) {
				unsigned far = 0;

				for (uint32_t i = 0; i < n; i++)
					for (uint32_t k = 0; k < n; k++)
						if (of[i] == a && of[k] == b &&
						    pattern_distance(&p[i], &p[k]) > far)
							far = pattern_distance(&p[i], &p[k]);
				OK(a == b ? far <= CLUSTER_DIAMETER : far > CLUSTER_DIAMETER);
			}
	}
}

/* ---- nearest neighbours */

static double at_axis(const struct point *p, const struct coord *c, unsigned axis)
{
	for (uint32_t i = 0; i < p->cnt; i++)
		if (c[p->first + i].axis == axis)
			return c[p->first + i].at;
	return 0;
}

static int cmp_double(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

/* Each unit by itself, all distances sorted. */
static double knn_slow(const struct point *p, uint32_t n, const struct coord *c, uint32_t at)
{
	double all[512], sum = 0;
	uint32_t cnt = 0, k;

	for (uint32_t i = 0; i < n; i++)
		for (uint64_t u = i == at; u < p[i].unit_cnt; u++) {
			double d = 0;

			for (unsigned axis = 0; axis < 8; axis++)
				d += pow(at_axis(&p[i], c, axis) - at_axis(&p[at], c, axis), 2);
			all[cnt++] = sqrt(d);
		}
	qsort(all, cnt, sizeof(*all), cmp_double);
	k = cnt < KNN_K ? cnt : KNN_K;
	for (uint32_t i = 0; i < k; i++)
		sum += all[i];
	return k ? sum / k : 0;
}

TEST(functions_knn_is_that_of_single_units)
{
	for (unsigned round = 0; round < 200; round++) {
		struct point p[40];
		struct coord c[40 * 8];
		uint32_t n = 1 + any(40), cnt = 0;

		ROW(round);
		memset(p, 0, sizeof(p));
		for (uint32_t i = 0; i < n; i++) {
			p[i].first = cnt;
			p[i].unit_cnt = 1 + any(7);
			for (unsigned axis = 0; axis < 8; axis++)
				if (any(3) == 0)
					c[cnt++] = (struct coord){(uint16_t)axis,
								  (int16_t)(any(20) - 9)};
			p[i].cnt = cnt - p[i].first;
		}
		knn_scores(p, n, c);
		for (uint32_t i = 0; i < n; i++)
			NEAR((double)p[i].score, knn_slow(p, n, c, i), 1e-4);
	}
}

/* ---- ranking */

TEST(functions_score_puts_the_guilty_first)
{
	/* only harm; harm and all usual work; part of the harm only; none */
	NEAR(rank_score(1, 1, 0), 1, 1e-12);
	NEAR(rank_score(1, 1, 1), sqrt(0.5), 1e-12);
	NEAR(rank_score(0.25, 0.25, 0), 0.5, 1e-12);
	NEAR(rank_score(0, 0, 0.5), 0, 0);
	OK(rank_score(0.5, 0.5, 0) > rank_score(0.5, 0.5, 0.1));
}

/* ---- scenes */

enum { NR_POLL = 1, NR_READ, NR_WRITE, NR_FSYNC, NR_STAT, NR_MMAP, NR_FUTEX };

struct scene {
	struct synth *s;
	struct ev_call calls[EVENT_CALLS_MAX];
	uint32_t cnt;
	double now;		/* ms */
};

static void flush(struct scene *c)
{
	size_t size = sizeof(struct ev_calls) + c->cnt * sizeof(struct ev_call);
	struct ev_calls *ev = synth_event(c->s, EV_CALLS, size, 0);

	ev->cnt = c->cnt;
	memcpy(ev + 1, c->calls, c->cnt * sizeof(struct ev_call));
	c->cnt = 0;
}

static struct ev_call *call(struct scene *c, unsigned nr, double ms, const char *stack)
{
	struct ev_call *to;

	if (c->cnt == EVENT_CALLS_MAX)
		flush(c);
	to = &c->calls[c->cnt++];
	*to = (struct ev_call){.begin_ns = synth_ns(c->s, c->now), .dur_ns = (uint64_t)(ms * 1e6),
			       .tid = 11, .nr = (uint16_t)nr, .cpu = 0xffff};
	to->stack = stack ? synth_stack(c->s, 10, stack) : 0;
	if (ms > 0.05)
		to->flags |= CALLF_BLOCKED;
	c->now += ms + 0.001;
	return to;
}

static void begin(struct scene *c)
{
	static const struct { unsigned nr; const char *name; } names[] = {
		{NR_POLL, "epoll_wait"}, {NR_READ, "read"}, {NR_WRITE, "write"},
		{NR_FSYNC, "fsync"}, {NR_STAT, "stat"}, {NR_MMAP, "mmap"}, {NR_FUTEX, "futex"}};

	*c = (struct scene){.s = synth_new(100000)};
	synth_thread(c->s, 10, 10, "srv");
	synth_thread(c->s, 11, 10, "worker");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct ev_call_name *ev = synth_event(c->s, EV_CALL_NAME, sizeof(*ev), 0);

		ev->nr = names[i].nr;
		ev->name = synth_str(c->s, names[i].name);
	}
}

#define LOOP "epoll_wait@libc.so.6;loop;main"
#define READ "read@libc.so.6;take;serve;loop;main"
#define WRITE "write@libc.so.6;reply;serve;loop;main"

static void request(struct scene *c, unsigned stats, double sync_ms)
{
	call(c, NR_POLL, 5, LOOP);
	call(c, NR_READ, 0.01, READ);
	for (unsigned i = 0; i < stats; i++)
		call(c, NR_STAT, 0.01, "stat@libc.so.6;look_up;find;serve;loop;main");
	if (sync_ms > 0)
		call(c, NR_FSYNC, sync_ms, "fsync@libc.so.6;save;serve;loop;main");
	call(c, NR_WRITE, 0.02, WRITE);
}

static const struct functions_result *judge_scene(struct scene *c, struct arena *arena,
						  const struct functions_opts *o)
{
	struct ev_window *w = synth_event(c->s, EV_WINDOW, sizeof(*w), c->now);

	w->begin_ns = synth_ns(c->s, 0);
	w->flags = WINDOWF_SWITCHES | WINDOWF_ALL_STACKS;
	flush(c);
	return functions_analyse(synth_model(c->s), NULL, o, arena);
}

static const struct fn_report *fn_named(const struct functions_result *r, const char *name)
{
	for (size_t i = 0; i < r->fn_cnt; i++)
		if (strcmp(r->fns[i].name, name) == 0)
			return &r->fns[i];
	FAIL("%s is not listed", name);
}

TEST(functions_many_calls_are_the_callers)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 200; i++)
		request(&c, i % 20 == 7 ? 600 : 2, 0);
	r = judge_scene(&c, &arena, NULL);
	EQ_U(r->unit_cnt, 200);
	EQ_U(r->cluster_cnt, 1);
	EQ_U(r->abnormal_cnt, 10);
	EQ_S(r->fns[0].name, "look_up");
	EQ_S(r->fns[1].name, "find");
	EQ_S(r->fns[2].name, "serve");
	EQ_U(r->fns[0].evidence[0].kind, DEV_MORE);
	EQ_U(r->fns[0].evidence[0].nr, NR_STAT);
	EQ_U(r->fns[0].evidence[0].unit_cnt, 10);
	OK(r->fns[0].evidence[0].self && !r->fns[1].evidence[0].self);
	EQ_U(r->units[0].devs[0].cnt, 600);
	NEAR((double)r->units[0].devs[0].usual_cnt, 2, 0.01);
	EQ_U(r->units[0].thread, model_thread_by_tid(r->m, 11));
	OK(r->fns[0].unit_cnt > 0 && r->fns[0].units[0] < r->unit_report_cnt);
	synth_free(c.s);
}

TEST(functions_slow_calls_are_the_callers)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 200; i++)
		request(&c, 2, i % 20 == 7 ? 80 : 1);
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "save");
	EQ_U(r->fns[0].evidence[0].kind, DEV_SLOWER);
	NEAR((double)r->harm_ns, 10 * 79e6, 10e6);
	EQ_U(r->outside.kind, OUTSIDE_NONE);
	synth_free(c.s);
}

TEST(functions_two_guilty_at_once)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 200; i++)
		request(&c, i % 20 == 3 ? 4000 : 2, i % 20 == 7 ? 50 : 1);
	r = judge_scene(&c, &arena, NULL);
	OK(fn_named(r, "save")->rank <= 3);
	OK(fn_named(r, "look_up")->rank <= 3);
	synth_free(c.s);
}

TEST(functions_a_call_that_never_returns)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;
	struct ev_call *stuck;

	begin(&c);
	for (unsigned i = 0; i < 50; i++)
		request(&c, 2, 1);
	call(&c, NR_POLL, 5, LOOP);
	call(&c, NR_READ, 0.01, READ);
	stuck = call(&c, NR_FUTEX, 9000, "pthread_mutex_lock@libc.so.6;lock_page;serve;loop;main");
	stuck->result = CALL_UNFINISHED;
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "lock_page");
	EQ_U(r->fns[0].evidence[0].kind, DEV_NEVER);
	OK(r->units[0].reasons & UNIT_STUCK);
	synth_free(c.s);
}

TEST(functions_a_wait_for_work_is_no_hang)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 50; i++)
		request(&c, 2, 1);
	call(&c, NR_POLL, 9000, LOOP)->result = CALL_UNFINISHED;
	r = judge_scene(&c, &arena, NULL);
	EQ_U(r->abnormal_cnt, 0);
	EQ_U(r->harm_ns, 0);
	OK(r->thin & THIN_NO_HARM);
	EQ_S(r->fns[0].name, "save"); /* where time goes, and said to be no more than that */
	synth_free(c.s);
}

TEST(functions_a_good_capture_tells_what_all_requests_do)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene bad, good;
	const struct functions_result *r;

	begin(&good);
	for (unsigned i = 0; i < 100; i++)
		request(&good, 2, 3);
	judge_scene(&good, &arena, NULL);
	begin(&bad);
	for (unsigned i = 0; i < 100; i++)
		request(&bad, 200, 3);
	r = judge_scene(&bad, &arena,
			&(struct functions_opts){.good = synth_model(good.s)});
	OK(r->baseline);
	EQ_U(r->abnormal_cnt, 100);
	EQ_S(r->fns[0].name, "look_up");
	OK(r->units[0].reasons & UNIT_BASELINE);
	synth_free(bad.s);
	synth_free(good.s);
}

TEST(functions_without_calls_or_stacks)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	EQ_U(functions_analyse(synth_model(c.s), NULL, NULL, &arena)->thin, THIN_NO_CALLS);
	for (unsigned i = 0; i < 100; i++)
		request(&c, 2, i == 50 ? 90 : 1);
	r = judge_scene(&c, &arena, &(struct functions_opts){.calls_only = true});
	EQ_U(r->fn_cnt, 0);
	OK(r->thin & THIN_NO_SIGNATURES);
	EQ_U(r->abnormal_cnt, 1);
	EQ_U(r->units[0].devs[0].nr, NR_FSYNC);
	synth_free(c.s);
}

/* Signatures of 200 requests with stacks. */
static const struct sigs *learnt(struct scene *c, unsigned sync_ms, struct arena *arena)
{
	begin(c);
	for (unsigned i = 0; i < 200; i++)
		request(c, 2, sync_ms);
	judge_scene(c, arena, NULL);
	return learn_model(synth_model(c->s), NULL, arena, &(struct learn_stats){0});
}

/* What was learnt where there were stacks names the function where there are none. */
TEST(functions_signatures_stand_in_for_stacks)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, bad;
	const struct functions_result *r;
	const struct sigs *sigs;

	sigs = learnt(&good, 1, &arena);
	begin(&bad);
	for (unsigned i = 0; i < 200; i++)
		request(&bad, 2, i % 20 == 7 ? 80 : 1);
	r = judge_scene(&bad, &arena, &(struct functions_opts){.calls_only = true});
	EQ_U(r->fn_cnt, 0);
	r = functions_analyse(synth_model(bad.s), sigs,
			      &(struct functions_opts){.calls_only = true}, &arena);
	OK(r->by_signatures);
	OK(fn_named(r, "save")->rank <= 2);
	EQ_U(fn_named(r, "save")->evidence[0].nr, NR_FSYNC);
	HAS(fn_named(r, "save")->evidence[0].episode, "fsync");
	for (size_t i = 0; i < r->fn_cnt; i++)
		OK(strcmp(r->fns[i].name, "reply") != 0 || r->fns[i].rank > 1);
	synth_free(good.s);
	synth_free(bad.s);
}

static void same_result(const struct functions_result *a, const struct functions_result *b)
{
	EQ_U(a->fn_cnt, b->fn_cnt);
	EQ_U(a->abnormal_cnt, b->abnormal_cnt);
	EQ_U(a->harm_ns, b->harm_ns);
	for (size_t i = 0; i < a->fn_cnt; i++) {
		ROW(i);
		EQ_S(a->fns[i].name, b->fns[i].name);
		EQ_U(a->fns[i].rank, b->fns[i].rank);
		NEAR(a->fns[i].score, b->fns[i].score, 1e-9);
	}
}

/* Stacks and calls come in another order: the result does not tell. */
TEST(functions_order_of_events_does_not_matter)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c[2];
	const struct functions_result *r[2];

	for (unsigned k = 0; k < 2; k++) {
		begin(&c[k]);
		if (k) {
			synth_stack(c[k].s, 10, WRITE);
			synth_stack(c[k].s, 10, "fsync@libc.so.6;save;serve;loop;main");
			synth_stack(c[k].s, 10, "stat@libc.so.6;look_up;find;serve;loop;main");
		}
		for (unsigned i = 0; i < 40; i++)
			request(&c[k], i == 7 || i == 21 ? 30 : 1, i % 13 == 5 ? 20 : 1);
		for (uint32_t i = 0; k && i < c[k].cnt / 2; i++) {
			struct ev_call t = c[k].calls[i];

			c[k].calls[i] = c[k].calls[c[k].cnt - 1 - i];
			c[k].calls[c[k].cnt - 1 - i] = t;
		}
		r[k] = judge_scene(&c[k], &arena, NULL);
	}
	OK(r[0]->fn_cnt > 3);
	same_result(r[0], r[1]);
	synth_free(c[0].s);
	synth_free(c[1].s);
}

/* Calls without a stack of their own are where the thread was seen meanwhile. */
TEST(functions_samples_stand_in_for_stacks)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 60; i++) {
		double from;

		call(&c, NR_POLL, 5, LOOP);
		from = c.now;
		for (unsigned k = 0; k < (i % 20 == 7 ? 3000 : 2); k++)
			call(&c, NR_STAT, 0.01, NULL);
		for (double at = from; at < c.now && i % 20 == 7; at += 5)
			synth_sample(c.s, 11, synth_stack(c.s, 10, "stat@libc.so.6;look_up;serve;"
							  "loop;main"), at, 1);
		call(&c, NR_WRITE, 0.02, WRITE);
	}
	r = judge_scene(&c, &arena, NULL);
	EQ_S(r->fns[0].name, "look_up");
	EQ_U(r->fns[0].evidence[0].nr, NR_STAT);
	synth_free(c.s);
}

/* The paper's rule cuts where another thread comes between. */
TEST(functions_paper_units)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 12; i++) {
		struct ev_call *one = call(&c, NR_READ, 0.01, READ);

		one->tid = i / 3 % 2 ? 10 : 11;
	}
	c.now += 700;
	call(&c, NR_WRITE, 0.01, WRITE)->tid = 10;
	r = judge_scene(&c, &arena, &(struct functions_opts){.units = UNITS_PAPER});
	EQ_U(r->unit_cnt, 5);
	synth_free(c.s);
}

/* ---- without stacks */

/* A worker of a pool waits in a futex; what it did last is rarely a stat or an fsync. */
static void bare_request(struct scene *c, unsigned i)
{
	call(c, NR_FUTEX, 5, NULL);
	call(c, NR_READ, 0.01, NULL);
	call(c, NR_WRITE, 0.02, NULL);
	if (i % 40 == 7)
		call(c, NR_STAT, 0.01, NULL);
	if (i % 40 == 27)
		call(c, NR_FSYNC, 0.01, NULL);
}

/* Whatever came before it, a wait that ended was one for work. */
TEST(functions_bare_futex_waits_are_for_work)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene c;
	const struct functions_result *r;

	begin(&c);
	for (unsigned i = 0; i < 400; i++) {
		bare_request(&c, i);
		if (i % 3 == 0) /* wakes somebody: no wait */
			call(&c, NR_FUTEX, 0.005, NULL);
	}
	r = judge_scene(&c, &arena, NULL);
	EQ_U(r->unit_cnt, 400);
	OK(r->harm_ns < 1000000);
	synth_free(c.s);
}

/* One that did not end hangs where no wait for work is known, or where somebody has the lock. */
TEST(functions_bare_futex_that_hangs)
{
	static const struct { unsigned nr, owner; bool hangs; } rows[] = {
		{NR_WRITE, 0, false}, {NR_READ, 0, true}, {NR_WRITE, 10, true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene c;
		const struct functions_result *r;
		struct ev_call *other;

		ROW(i);
		begin(&c);
		other = call(&c, NR_POLL, 11500, NULL);
		other->tid = 10;
		other->result = CALL_UNFINISHED;
		c.now = 0;
		for (unsigned k = 0; k < 400; k++)
			bare_request(&c, k);
		call(&c, NR_FUTEX, 5, NULL);
		call(&c, rows[i].nr, 0.01, NULL);
		if (rows[i].owner)
			synth_pending(c.s, 11, WAIT_FUTEX, 7, c.now)->owner_tid = rows[i].owner;
		call(&c, NR_FUTEX, 9000, NULL)->result = CALL_UNFINISHED;
		r = judge_scene(&c, &arena, NULL);
		EQ_U(r->harm_ns > 8000000000, rows[i].hangs);
		synth_free(c.s);
	}
}

/*
 * A thread that does nothing but wait in a condition variable is a spare one,
 * told by its stack or by there being no owner; one that waits for a mutex is not.
 */
TEST(functions_a_thread_that_only_waits_is_spare)
{
	static const struct { const char *stack; uint32_t owner; bool hangs; } rows[] = {
		{"pthread_cond_timedwait@libc.so.6;spare;main", 0, false},
		{"pthread_mutex_lock@libc.so.6;page;main", 0, true},
		{NULL, 0, false}, {NULL, 11, true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene c;
		const struct functions_result *r;

		ROW(i);
		begin(&c);
		call(&c, NR_FUTEX, 1000, rows[i].stack)->tid = 10;
		call(&c, NR_MMAP, 0.01, rows[i].stack)->tid = 10;
		synth_pending(c.s, 10, WAIT_FUTEX, 7, c.now)->owner_tid = rows[i].owner;
		call(&c, NR_FUTEX, 9000, rows[i].stack)->tid = 10;
		c.calls[c.cnt - 1].result = CALL_UNFINISHED;
		c.now = 0;
		for (unsigned k = 0; k < 200; k++) {
			call(&c, NR_POLL, 40, rows[i].stack ? LOOP : NULL);
			call(&c, NR_WRITE, 0.02, rows[i].stack ? WRITE : NULL);
		}
		call(&c, NR_POLL, 2000, rows[i].stack ? LOOP : NULL)->result = CALL_UNFINISHED;
		r = judge_scene(&c, &arena, NULL);
		EQ_U(r->harm_ns > 8000000000, rows[i].hangs);
		EQ_U(r->harm_ns < 1000000000, !rows[i].hangs);
		synth_free(c.s);
	}
}

#define DIAL "syscall@libc.so.6;dial;serve;loop;main"

/* dial always does an fsync, a stat and a futex; note a write. */
static void dialled(struct scene *c, const char *stack)
{
	call(c, NR_POLL, 5, LOOP);
	call(c, NR_READ, 0.01, READ);
	call(c, NR_FSYNC, 0.01, stack);
	call(c, NR_STAT, 0.01, stack);
	call(c, NR_FUTEX, 0.01, stack);
	call(c, NR_WRITE, 0.02, "write@libc.so.6;note;serve;loop;main");
	call(c, NR_READ, 0.01, READ);
}

static const struct sigs *dial_learn(struct scene *c, struct arena *arena)
{
	begin(c);
	for (unsigned i = 0; i < 200; i++)
		dialled(c, DIAL);
	judge_scene(c, arena, NULL);
	return learn_model(synth_model(c->s), NULL, arena, &(struct learn_stats){0});
}

static const struct functions_result *bare(struct scene *c, const struct sigs *sigs,
					   struct arena *arena)
{
	judge_scene(c, arena, NULL);
	return functions_analyse(synth_model(c->s), sigs,
				 &(struct functions_opts){.calls_only = true}, arena);
}

/* A function that begins again and again never gets to the end of its episode. */
TEST(functions_unfinished_episodes_speak_too)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, bad;
	const struct functions_result *r;
	const struct sigs *sigs = dial_learn(&good, &arena);

	begin(&bad);
	for (unsigned i = 0; i < 200; i++) {
		dialled(&bad, NULL);
		for (unsigned k = 0; k < (i % 20 == 7 ? 300 : 0); k++) {
			call(&bad, NR_FSYNC, 0.01, NULL);
			call(&bad, NR_STAT, 0.01, NULL);
		}
	}
	r = bare(&bad, sigs, &arena);
	EQ_S(r->fns[0].name, "dial");
	HAS(fn_named(r, "dial")->evidence[0].episode, "fsync stat futex");
	OK(fn_named(r, "dial")->harm_share > 0.4);
	synth_free(good.s);
	synth_free(bad.s);
}

/* Calls that nobody made before are told by those before them, and named as what they are. */
TEST(functions_calls_never_learnt_are_the_neighbours)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, bad;
	const struct functions_result *r;
	const struct sigs *sigs;

	sigs = learnt(&good, 0, &arena);
	begin(&bad);
	for (unsigned i = 0; i < 200; i++)
		request(&bad, 2, i % 20 == 7 ? 80 : 1);
	r = bare(&bad, sigs, &arena);
	OK(fn_named(r, "look_up")->rank <= 2);
	EQ_U(fn_named(r, "look_up")->evidence[0].nr, NR_FSYNC);
	synth_free(good.s);
	synth_free(bad.s);
}

/* What a hung call would have been followed by, or came after before the window, is not seen. */
TEST(functions_hung_calls_cut_episodes)
{
	for (unsigned before = 0; before < 2; before++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene good, bad;
		const struct functions_result *r;
		const struct sigs *sigs = dial_learn(&good, &arena);
		struct ev_call *stuck;

		ROW(before);
		begin(&bad);
		for (unsigned i = 0; i < 200; i++)
			dialled(&bad, NULL);
		if (before) {
			call(&bad, NR_POLL, 5, NULL);
			call(&bad, NR_READ, 0.01, NULL);
			call(&bad, NR_FSYNC, 0.01, NULL);
		}
		stuck = call(&bad, NR_STAT, 9000, NULL);
		stuck->result = CALL_UNFINISHED;
		stuck->tid = before ? 11 : 10;
		r = bare(&bad, sigs, &arena);
		OK(fn_named(r, "dial")->rank <= 2); /* its caller's may be seen in full */
		EQ_U(fn_named(r, "dial")->evidence[0].kind, DEV_NEVER);
		HAS(fn_named(r, "dial")->evidence[0].episode, "fsync stat futex");
		EQ_U(r->fns[0].evidence[0].nr, NR_STAT);
		for (size_t i = 0; i < r->fn_cnt; i++) /* note's write is none of it */
			OK(strcmp(r->fns[i].name, "note") != 0);
		synth_free(good.s);
		synth_free(bad.s);
	}
}
