/* SPDX-License-Identifier: Apache-2.0 */
/* Turns that were not timed, and from which length on a turn is slow. */
#include <string.h>

#include "base/clock.h"
#include "collect/live/live_requests.h"
#include "unit.h"

/* timed turns of 10 us in the bucket from 8 us on. */
static void add(struct wire_end *e, uint64_t timed, uint64_t untimed)
{
	e->turns += timed;
	e->service_ns += timed * 10000;
	e->queue_ns += timed * 1000;
	e->queue_cnt += timed;
	e->hist[6] += timed;
	e->untimed += untimed;
}

static void add_slow(struct wire_end *e, uint64_t cnt, uint64_t ms)
{
	e->turns += cnt;
	e->service_ns += cnt * ms * NS_PER_MS;
	e->slow_cnt += cnt;
	e->slow_ns += cnt * ms * NS_PER_MS;
	e->hist[36] += cnt; /* from 262 ms on */
}

TEST(live_turns_all_timed)
{
	struct live_turns t = {0};
	struct wire_end e = {0};
	const struct wire_end *all;

	add(&e, 1000, 0);
	all = live_turns_all(&t, &e, 1);
	EQ_U(all->turns, 1000);
	EQ_U(all->service_ns, 10000000);
	add(&e, 500, 0);
	all = live_turns_all(&t, &e, 1);
	EQ_U(all->turns, 1500);
	EQ_U(all->hist[6], 1500);
}

TEST(live_turns_untimed_are_as_those_timed)
{
	struct live_turns t = {0};
	struct wire_end e = {0};
	const struct wire_end *all;

	add(&e, 100, 900);
	add_slow(&e, 3, 300); /* stand for themselves only */
	all = live_turns_all(&t, &e, 1);
	EQ_U(all->turns, 1003);
	EQ_U(all->service_ns, 1000 * 10000 + UINT64_C(900) * NS_PER_MS);
	EQ_U(all->queue_ns, 1000 * 1000);
	EQ_U(all->hist[6], 1000);
	EQ_U(all->hist[36], 3);
}

TEST(live_turns_untimed_wait_for_a_timed_one)
{
	struct live_turns t = {0};
	struct wire_end e = {0};
	const struct wire_end *all;

	add(&e, 10, 0);
	live_turns_all(&t, &e, 1);
	add(&e, 0, 400);
	all = live_turns_all(&t, &e, 1);
	EQ_U(all->turns, 10);
	add_slow(&e, 1, 300);
	all = live_turns_all(&t, &e, 1);
	EQ_U(all->turns, 11);
	add(&e, 100, 0);
	all = live_turns_all(&t, &e, 1);
	EQ_U(all->turns, 10 + 1 + 500);
}

/* A quick one of the tick before: its answer went on, and it is a slow one now. */
TEST(live_turns_turn_out_slow_later)
{
	struct live_turns t = {0};
	struct wire_end e = {0};
	const struct wire_end *all;

	add(&e, 10, 0);
	live_turns_all(&t, &e, 1);
	e.hist[6]--;
	e.hist[36]++;
	e.slow_cnt++;
	e.slow_ns += 300 * NS_PER_MS;
	e.service_ns += 300 * NS_PER_MS - 10000;
	all = live_turns_all(&t, &e, 1);
	EQ_U(all->turns, 10);
	EQ_U(all->hist[6], 9);
	EQ_U(all->hist[36], 1);
	EQ_U(all->service_ns, 9 * 10000 + 300 * NS_PER_MS);
	add(&e, 5, 10);
	all = live_turns_all(&t, &e, 1);
	EQ_U(all->turns, 25);
}

TEST(live_turns_only_counted_are_as_those_looked_at)
{
	struct live_turns t = {0};
	struct wire_end e = {0};
	const struct wire_end *all;

	add(&e, 100, 0);
	add_slow(&e, 1, 300);
	all = live_turns_all(&t, &e, 8);
	EQ_U(all->turns, 801);
	EQ_U(all->hist[6], 800);
	EQ_U(all->hist[36], 1);
}

TEST(live_turns_slow)
{
	struct live_turns t = {0};
	struct wire_end e = {0};

	EQ_U(live_turns_slow_us(&t, NS_PER_SEC), 0);
	add(&e, 100000, 0);
	live_turns_all(&t, &e, 1);
	/* nothing under a millisecond is */
	EQ_U(live_turns_slow_us(&t, 10 * NS_PER_SEC), 1000);
	/* turns of 2 ms: 8 medians where that catches ten a minute, else p99 */
	memset(&t, 0, sizeof(t));
	memset(&e, 0, sizeof(e));
	e.turns = e.hist[22] = 10000;
	add_slow(&e, 20, 300);
	live_turns_all(&t, &e, 1);
	EQ_U(live_turns_slow_us(&t, 60 * NS_PER_SEC), 8 * 3072);
	memset(&t, 0, sizeof(t));
	e.hist[36] = 2;
	live_turns_all(&t, &e, 1);
	EQ_U(live_turns_slow_us(&t, 60 * NS_PER_SEC), 3072);
}
