/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/clocks/skew.h"

#include "trace_make.h"
#include "unit.h"

/* A request through three hosts, of which the second and the third are off; some time out. */
static void request_make(struct made *m, uint64_t n, int64_t off_b, int64_t off_c)
{
	int64_t at = (int64_t)n * 1000000000, out = 500000 + (int64_t)(hash_u64(n) % 3000000);
	int64_t back = 500000 + (int64_t)(hash_u64(n + 7) % 3000000);
	int64_t end = at + out + 30000000 + back;
	int64_t stop = n % 50 ? end : end - 20000000;	/* the caller gave up */

	made_clear(m);
	made_span(m, 1, 0, "front/get", at, stop)->host = strtab_add(&m->strings, "host-a");
	made_span(m, 2, 1, "back/get", at + out + off_b, end - back + off_b)->host =
		strtab_add(&m->strings, "host-b");
	made_span(m, 3, 2, "store/get", at + out + 5000000 + off_c, end - back - 6000000 + off_c)
		->host = strtab_add(&m->strings, "host-c");
	m->trace.id.lo = n;
}

static const struct skew_result *learn(struct made *m, struct skew *s, uint64_t cnt,
				       uint64_t factor, int64_t off_b, int64_t off_c)
{
	for (uint64_t i = 0; i < cnt; i++) {
		struct trace trace;

		request_make(m, i * factor % cnt, off_b, off_c);
		trace = *made_trace(m);
		trace.id.lo = i * factor % cnt;
		skew_learn(s, &trace);
	}
	return skew_finish(s);
}

TEST(skew_is_learnt_over_many_requests)
{
	static const struct {
		int64_t off_b, off_c;
		uint32_t moved;
	} table[] = {
		{0, 0, 0}, {40000000, 40000000, 2}, {-3600000000000, 0, 1}, {0, 90000000, 1},
		{300000, 0, 0},	/* within a tick */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct made m = {0};
		struct skew *s = skew_new(&m.strings), *other;
		const struct skew_result *r = learn(&m, s, 2000, 1, table[i].off_b,
						    table[i].off_c), *again;

		ROW(i);
		EQ_U(r->host_cnt, table[i].moved);
		for (uint32_t h = 0; h < r->host_cnt; h++) {
			const struct skew_host *host = &r->hosts[h];
			int64_t want = strtab_str(&m.strings, host->host)[5] == 'b'
					       ? -table[i].off_b : -table[i].off_c;

			/* Ways of out and back are alike, to half a millisecond at their least. */
			OK(host->offset_ns - want < 600000 && want - host->offset_ns < 600000);
			OK(host->broken_after * 10 <= host->broken_before);
		}
		other = skew_new(&m.strings);
		again = learn(&m, other, 2000, 7, table[i].off_b, table[i].off_c);
		EQ_U(again->host_cnt, r->host_cnt);
		for (uint32_t h = 0; h < r->host_cnt; h++)
			EQ_I(again->hosts[h].offset_ns, r->hosts[h].offset_ns);
		skew_free(other);
		skew_free(s);
		made_release(&m);
	}
}

TEST(skew_moves_a_host_as_one)
{
	struct made m = {0};
	struct skew *s = skew_new(&m.strings);
	struct trace mended;
	int64_t by;

	EQ_U(learn(&m, s, 500, 1, 40000000, 0)->host_cnt, 1);
	request_make(&m, 3, 40000000, 0);
	skew_mend(s, made_trace(&m), &m.arena, &mended);
	by = mended.spans[1].begin_ns - m.trace.spans[1].begin_ns;
	OK(by < -39000000 && by > -41000000);
	EQ_I(mended.spans[1].end_ns - m.trace.spans[1].end_ns, by);
	EQ_I(mended.spans[0].begin_ns, m.trace.spans[0].begin_ns);
	EQ_I(mended.spans[2].begin_ns, m.trace.spans[2].begin_ns);
	OK(mended.spans[1].begin_ns > mended.spans[0].begin_ns);
	skew_free(s);
	made_release(&m);
}

/* Nobody's clock is wrong when children that nobody waits for outlive their parents. */
TEST(skew_is_not_seen_in_work_left_behind)
{
	struct made m = {0};
	struct skew *s = skew_new(&m.strings);

	for (uint64_t i = 0; i < 500; i++) {
		struct trace trace;

		made_clear(&m);
		made_span(&m, 1, 0, "front/a", 0, 10000000);
		made_span(&m, 2, 1, "back/b", 1000000, 4000000);
		made_span(&m, 3, 1, "back/c", 2000000, 11000000 + 90000 * (int64_t)i);
		trace = *made_trace(&m);
		trace.id.lo = i;
		skew_learn(s, &trace);
	}
	EQ_U(skew_finish(s)->host_cnt, 0);
	skew_free(s);
	made_release(&m);
}

/* Nor when all of them begin late and many outlive it: a queue is between the two. */
TEST(skew_is_not_seen_in_a_queue)
{
	struct made m = {0};
	struct skew *s = skew_new(&m.strings);

	for (uint64_t i = 0; i < 500; i++) {
		int64_t begin = 1200000 + (int64_t)(hash_u64(i) % 1000000);
		struct trace trace;

		made_clear(&m);
		made_span(&m, 1, 0, "front/a", 0, 10000000);
		made_span(&m, 2, 1, "back/b", begin, i % 5 < 2 ? 11100000 : 7000000);
		trace = *made_trace(&m);
		trace.id.lo = i;
		skew_learn(s, &trace);
	}
	EQ_U(skew_finish(s)->host_cnt, 0);
	skew_free(s);
	made_release(&m);
}

/* Ten hours of requests; how far the clocks of two hosts are off at a time of them. */
enum { HOURS = 10, REQUESTS = 3000 };
#define HOUR_NS INT64_C(3600000000000)
#define STEP_NS INT64_C(5000000000)

static int64_t none(int64_t t)
{
	return t * 0;
}

static int64_t set_forward(int64_t t)
{
	return t < 3 * HOUR_NS ? 0 : STEP_NS;
}

/* By half an hour: times of a twentieth of the requests are there twice. */
static int64_t set_back(int64_t t)
{
	return t < 6 * HOUR_NS ? 0 : -HOUR_NS / 2;
}

static int64_t set_and_back(int64_t t)
{
	return t < 4 * HOUR_NS || t > 6 * HOUR_NS ? 0 : STEP_NS;
}

/* Seven times, each by something else. */
static int64_t set_often(int64_t t)
{
	return (int64_t)(hash_u64((uint64_t)(t / (HOUR_NS * HOURS / 8))) % 9) * STEP_NS;
}

/* 80 ppm: 2.88 s in all. */
static int64_t drifting(int64_t t)
{
	return t / 12500;
}

/* The same, and set right every two and a half hours. */
static int64_t drifting_and_set(int64_t t)
{
	return t % (HOUR_NS * 5 / 2) / 12500;
}

static int64_t wild(int64_t t)
{
	return (int64_t)(hash_u64((uint64_t)t) % 1000) * STEP_NS - 500 * STEP_NS;
}

struct clocks {
	const char *what;
	int64_t (*off_a)(int64_t t), (*off_b)(int64_t t);
	uint32_t rows, rows_max;	/* of what is told */
	uint32_t wrong_max;		/* requests whose offset is not right to a millisecond */
	bool unsettled;
};

static int64_t time_of_request(uint64_t n)
{
	return (int64_t)n * (HOURS * HOUR_NS / REQUESTS);
}

static void timed_make(struct made *m, uint64_t n, const struct clocks *c)
{
	int64_t at = time_of_request(n), a = c->off_a(at), b = c->off_b(at);
	int64_t out = 500000 + (int64_t)(hash_u64(n) % 3000000);
	int64_t back = 500000 + (int64_t)(hash_u64(n + 7) % 3000000);

	made_clear(m);
	made_span(m, 1, 0, "front/get", at + a, at + a + out + 30000000 + back)->host =
		strtab_add(&m->strings, "host-a");
	made_span(m, 2, 1, "back/get", at + b + out, at + b + out + 30000000)->host =
		strtab_add(&m->strings, "host-b");
	made_trace(m);
	m->trace.id.lo = n;
}

/* Requests of which the two clocks are further apart than a millisecond once they are mended. */
static uint32_t count_wrong(struct made *m, struct skew *s, const struct clocks *c)
{
	uint32_t wrong = 0;

	for (uint64_t n = 0; n < REQUESTS; n++) {
		struct trace mended;
		int64_t at = time_of_request(n), left;

		timed_make(m, n, c);
		skew_mend(s, &m->trace, &m->arena, &mended);
		left = mended.spans[1].begin_ns - mended.spans[0].begin_ns -
		       (m->trace.spans[1].begin_ns - c->off_b(at) -
			m->trace.spans[0].begin_ns + c->off_a(at));
		wrong += left > 1000000 || left < -1000000;
	}
	return wrong;
}

static void clocks_check(const struct clocks *c, uint64_t factor)
{
	struct made m = {0};
	struct skew *s = skew_new(&m.strings);
	const struct skew_result *r;

	for (uint64_t i = 0; i < REQUESTS; i++) {
		timed_make(&m, i * factor % REQUESTS, c);
		skew_learn(s, &m.trace);
	}
	r = skew_finish(s);
	OK(r->host_cnt >= c->rows && r->host_cnt <= c->rows_max);
	OK(count_wrong(&m, s, c) <= c->wrong_max);
	EQ_U(r->unsettled_cnt, c->unsettled);
	for (uint32_t i = 1; i < r->host_cnt; i++) {
		if (r->hosts[i].host == r->hosts[i - 1].host)
			OK(r->hosts[i].from_ns >= r->hosts[i - 1].to_ns);
	}
	skew_free(s);
	made_release(&m);
}

/*
 * A step is found to between two of the 512 calls that are kept, of 3000: at
 * each, some twelve requests may be on the wrong side.
 */
TEST(skew_of_clocks_that_were_set_or_drift)
{
	static const struct clocks table[] = {
		{"right", none, none, 0, 0, 0, false},
		{"set forward", none, set_forward, 1, 1, 12, false},
		{"set back", none, set_back, 1, 1, 12, false},
		{"the first one set forward", set_forward, none, 1, 1, 12, false},
		{"the first one set back", set_back, none, 1, 1, 12, false},
		{"both set", set_back, set_forward, 2, 2, 24, false},
		{"set, and back", none, set_and_back, 1, 1, 24, false},
		{"set often", none, set_often, 5, 8, 84, false},
		{"drifting", none, drifting, 1, 1, 0, false},
		{"drifting the other way", drifting, none, 1, 1, 0, false},
		{"drifting and set right", none, drifting_and_set, 4, 4, 36, false},
		{"any time at all", none, wild, 0, 4, REQUESTS, true},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		ROW(i);
		clocks_check(&table[i], 1);
		clocks_check(&table[i], 7);
	}
}

/* Two hosts near each other: ways of 50 to 450 us; of late calls one is answered too late. */
static void near_make(struct made *m, uint64_t n, int64_t off, int64_t tick, uint64_t late)
{
	int64_t at = (int64_t)n * 1000000000 + (int64_t)(hash_u64(n + 3) % 1000000000);
	int64_t out = 50000 + (int64_t)(hash_u64(n) % 400000);
	int64_t back = 50000 + (int64_t)(hash_u64(n + 7) % 400000), begin, end;

	if (late && n % late == 0)
		back = 50000 - (int64_t)(hash_u64(n + 9) % 9000000);
	made_clear(m);
	begin = at / tick * tick;
	end = (at + out + 5000000 + back) / tick * tick;
	made_span(m, 1, 0, "front/get", begin, end)->host = strtab_add(&m->strings, "host-a");
	begin = (at + out + off) / tick * tick;
	end = (at + out + 5000000 + off) / tick * tick;
	made_span(m, 2, 1, "back/get", begin, end)->host = strtab_add(&m->strings, "host-b");
	m->trace.id.lo = n;
}

TEST(skew_of_less_than_a_millisecond_is_mended_where_clocks_tell_so_much)
{
	static const struct {
		int64_t off, tick;
		uint64_t late;
		uint32_t moved;
	} table[] = {
		{0, 1000, 0, 0},
		{1300000, 1000, 0, 1}, {-1300000, 1000, 0, 1}, {-900000, 1, 0, 1},
		{1000000, 100000, 0, 1},
		{700000, 1000000, 0, 0},	/* its clocks do not say so much */
		{0, 1000, 10, 0},		/* calls that were given up: no offset mends them */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct made m = {0};
		struct skew *s = skew_new(&m.strings);
		const struct skew_result *r;

		ROW(i);
		for (uint64_t n = 0; n < 1000; n++) {
			struct trace trace;

			near_make(&m, n, table[i].off, table[i].tick, table[i].late);
			trace = *made_trace(&m);
			trace.id.lo = n;
			skew_learn(s, &trace);
		}
		r = skew_finish(s);
		EQ_U(r->host_cnt, table[i].moved);
		for (uint32_t h = 0; h < r->host_cnt; h++) {
			int64_t wrong = r->hosts[h].offset_ns + table[i].off;

			OK(wrong < 150000 && wrong > -150000);
			OK(r->hosts[h].broken_after * 100 <= r->hosts[h].bound_cnt);
		}
		skew_free(s);
		made_release(&m);
	}
}
