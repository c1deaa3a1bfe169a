/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/call_splits.h"

#include "base/arena.h"
#include "requests/requests.h"

#include "req_make.h"
#include "unit.h"

/* Requests that check, and then call one of the others so many times. */
struct way {
	uint32_t parts;			/* of a hundred */
	uint32_t items, notes, charges;
};

enum { REQUESTS = 400, WAYS = 2 };

/* The charge asks a ledger; all is noisy by a tenth. */
static void request(struct req_maker *m, const struct way *way, int64_t check_us)
{
	int64_t at = 100;
	uint64_t root = req_span(m, 0, "web", "POST /pay", 0, 0), bank;
	int64_t took = check_us + req_random(m, check_us / 5);

	req_span(m, root, "auth", "check", at, at + took);
	at += took + 10;
	for (uint32_t i = 0; i < way->items; i++, at += took) {
		took = 9000 + req_random(m, 2000);
		req_span(m, root, "db", "item", at, at + took);
	}
	for (uint32_t i = 0; i < way->notes; i++)	/* beside what follows */
		req_span(m, root, "log", "note", at, at + 50);
	for (uint32_t i = 0; i < way->charges; i++, at += took) {
		took = 90000 + req_random(m, 20000);
		bank = req_span(m, root, "bank", "charge", at, at + took);
		req_span(m, bank, "ledger", "write", at + 100, at + took - 100);
	}
	m->spans.items[0].end_ns = (at + 100) * 1000;
}

static const struct requests_result *answer(struct req_maker *m, const struct way *ways,
					    int64_t check_us, struct arena *arena)
{
	struct requests *r = requests_new(NULL, &m->strings, &m->points);
	const struct requests_result *ret;

	for (uint64_t i = 0; i < REQUESTS; i++) {
		req_begin(m, 1 + i);
		request(m, &ways[req_random(m, 100) >= ways[0].parts], check_us);
		requests_add(r, req_trace(m));
	}
	ret = requests_finish(r, arena);
	requests_free(r);
	return ret;
}

static void check(const struct way *ways, const char *called, uint32_t times, uint32_t aliases,
		  double low, double high)
{
	struct req_maker m = {.random = 5};
	struct arena arena = {0};
	const struct call_splits *s = &answer(&m, ways, 5000, &arena)->splits;
	const struct call_split *first = s->items;

	OK(s->cnt >= 1);
	EQ_S(strtab_str(&m.strings, m.points.items.items[first->point].name), called);
	EQ_S(strtab_str(&m.strings, m.points.items.items[first->parent].name), "POST /pay");
	EQ_U(first->times, times);
	EQ_U(first->alias_cnt, aliases);
	OK(first->delta_ns > low * 1e6 && first->delta_ns < high * 1e6);
	OK(first->variance_share > 0.5 && first->variance_share <= 1);
	NEAR(s->share, first->variance_share, 1e-9);
	arena_release(&arena);
	req_release(&m);
}

TEST(call_splits_tell_early_ends_and_repeated_calls)
{
	/* what the bank calls is gone with it */
	check((struct way[WAYS]){{80, 0, 0, 0}, {20, 0, 0, 1}}, "charge", 1, 1, 95, 105);
	check((struct way[WAYS]){{80, 1, 0, 0}, {20, 2, 0, 0}}, "item", 2, 0, 9, 11);
	check((struct way[WAYS]){{80, 1, 0, 0}, {20, 20, 0, 0}}, "item", 2, 0, 185, 195);
	check((struct way[WAYS]){{80, 5, 0, 0}, {20, 20, 0, 0}}, "item", 8, 0, 145, 155);
}

/* A call that costs nothing, few that do, and edges that vary more. */
TEST(call_splits_say_nothing_where_edges_vary)
{
	static const struct {
		struct way ways[WAYS];
		int64_t check_us;
	} rows[] = {
		{{{70, 1, 0, 0}, {30, 1, 1, 0}}, 50000},
		{{{97, 0, 0, 0}, {3, 0, 0, 1}}, 50000},
		{{{70, 1, 0, 0}, {30, 2, 0, 0}}, 900000},
		{{{0, 1, 0, 1}, {100, 1, 0, 1}}, 50000},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct req_maker m = {.random = 5 + i};
		struct arena arena = {0};
		const struct requests_result *r = answer(&m, rows[i].ways, rows[i].check_us,
							 &arena);

		ROW(i);
		EQ_U(r->splits.cnt, 0);
		NEAR(r->splits.share, 0, 0);
		arena_release(&arena);
		req_release(&m);
	}
}
