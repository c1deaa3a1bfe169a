/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "requests/forest/space.h"
#include "requests/graph/mask.h"
#include "trace_make.h"
#include "traced/board.h"
#include "traced/drive.h"
#include "traced/gather.h"
#include "unit.h"

#define T0 (1000 * NS_PER_SEC)

enum { CALLS = 8, TURNS_MAX = 60, TURN_CNT = 40 };

/* Calls one after the other in "top"; that of slow takes 0 to 20 ms longer, as `n` says. */
static const struct trace *request(struct made *m, uint64_t id, int slow)
{
	int64_t at_us = 20;

	made_clear(m);
	made_span(m, 1, 0, "s/top", 0, 0);
	for (int i = 0; i < CALLS; i++) {
		char name[] = "s/a";
		int64_t begin_us = at_us;

		name[2] = (char)('a' + i);
		at_us += 100 + (int64_t)(hash_pair(id, (uint64_t)i) % 20);
		at_us += i == slow ? (int64_t)(hash_pair(id, 77) % 20000) : 0;
		made_span(m, (uint64_t)i + 2, 1, name, begin_us * 1000, at_us * 1000);
		at_us += 5;
	}
	m->spans.items[0].end_ns = at_us * 1000;
	made_trace(m);
	m->trace.id = (struct trace_id){0, id};
	return &m->trace;
}

struct asked {			/* an agent's question */
	const char *epoch, *on, *recorded, *dropped;
};

static const char *arg(void *ctx, const char *name)
{
	const struct asked *q = ctx;
	static const char *const same[][2] = {{"service", "s"}, {"instance", "1"},
					      {"points", "9"}, {"requests", "100"}};

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		if (strcmp(name, same[i][0]) == 0)
			return same[i][1];
	return strcmp(name, "epoch") == 0	? q->epoch
	       : strcmp(name, "on") == 0	? q->on
	       : strcmp(name, "recorded") == 0	? q->recorded
	       : strcmp(name, "dropped") == 0	? q->dropped
						: NULL;
}

/* ---- the search */

struct searching {
	struct made m;
	struct board *board;
	struct drive *drive;
	uint64_t epoch, now_ns, id;
	uint8_t on[256], before[256];	/* by point, as switched now and one change earlier */
	int slow, old_of_10, lost_of_10;
	struct space *known;
};

static void on_read(struct searching *s, const char *json)
{
	bool all = strstr(json, "\"all\": true") || strstr(json, "\"all\":true");

	memcpy(s->before, s->on, sizeof(s->on));
	for (uint32_t p = 0; p < s->m.points.items.cnt; p++) {
		char name[80];

		snprintf(name, sizeof(name), "\"%s\"",
			 strtab_str(&s->m.strings, s->m.points.items.items[p].name));
		s->on[p] = all || strstr(json, name) ? SIDES_BOTH : 0;
	}
}

/* The agent asks: takes the present state. */
static void ask(struct searching *s)
{
	CLEANUP(buf_release) struct buf answer = {0};
	struct asked q = {.epoch = "0", .on = "0", .recorded = "100", .dropped = "0"};
	const char *at;

	EQ_U(board_answer(s->board, s->now_ns, arg, &q, &answer), BOARD_ANSWERED);
	at = strstr(buf_str(&answer), "\"epoch\":");
	OK(at != NULL);
	s->epoch = strtoull(at + strlen("\"epoch\":"), NULL, 10);
	on_read(s, buf_str(&answer));
}

/* One request as what is on shows it, or what was on before; some of its spans may be lost. */
static void send(struct searching *s)
{
	const struct trace *full = request(&s->m, ++s->id, s->slow);
	bool old = (int)(hash_pair(s->id, 5) % 10) < s->old_of_10;
	struct arena a = {0};
	struct trace seen;
	struct gathered g = {.epoch = old ? s->epoch - 1 : s->epoch, .is_whole = true};

	strip_points(full, &s->m.points, &s->m.strings);
	trace_strip(full, old ? s->before : s->on, &s->m.points, &s->m.strings, &a, &seen);
	for (uint32_t i = 0; i < seen.span_cnt; i++)
		if (seen.spans[i].id == 1 && (int)(hash_pair(s->id, 6) % 10) < s->lost_of_10)
			g.is_whole = false;
	g.trace = seen;
	drive_take(s->drive, &g);
	arena_release(&a);
}

static void search(struct searching *s, struct arena *arena, struct drive_result *ret)
{
	const struct drive_opts opts = {.type = "top", .known = s->known};

	s->now_ns = T0;
	s->board = board_new();
	memset(s->on, SIDES_BOTH, sizeof(s->on));
	s->drive = drive_new(&opts, s->board, &s->m.points, &s->m.strings);
	for (int turn = 0; turn < TURNS_MAX && drive_phase(s->drive) != DRIVE_DONE; turn++) {
		ask(s);
		for (int i = 0; i < TURN_CNT; i++)
			send(s);
		s->now_ns += NS_PER_SEC;
		drive_step(s->drive, s->now_ns);
	}
	drive_result(s->drive, s->now_ns, arena, ret);
}

static void search_release(struct searching *s)
{
	drive_free(s->drive);
	board_free(s->board);
	made_release(&s->m);
}

static const char *found(const struct searching *s, const struct drive_result *r)
{
	uint32_t owner = r->located_cnt ? drive_owner(&r->located[0]) : FOREST_NONE;

	return owner == FOREST_NONE
		       ? "-" : strtab_str(&s->m.strings, s->m.points.items.items[owner].name);
}

TEST(traced_search_names_the_slow_call)
{
	struct searching s = {.slow = 3};
	struct arena a = {0};
	struct drive_result r;

	search(&s, &a, &r);
	EQ_U(r.doubt, DRIVE_SURE);
	EQ_S(found(&s, &r), "d");
	OK(r.most_on_cnt < r.point_cnt);
	search_release(&s);
	arena_release(&a);
}

/* Then nothing is learnt again, and what is slower than it was is found though it is so always. */
TEST(traced_search_knows_what_was_learnt_before)
{
	struct searching s = {.slow = 6};
	struct arena a = {0};
	struct drive_result r;

	s.known = space_new(&s.m.points, &s.m.strings);
	for (s.id = 1; s.id <= 100; s.id++)
		OK(space_add(s.known, request(&s.m, s.id, -1)) == 0);
	search(&s, &a, &r);
	EQ_U(r.doubt, DRIVE_SURE);
	EQ_S(found(&s, &r), "g");
	EQ_U(r.counts.learnt_cnt, 0);
	OK(r.located[0].excess_ns > 0);
	OK(drive_space(s.drive) != s.known);
	space_free(s.known);
	search_release(&s);
	arena_release(&a);
}

/* What the old state shows would say of each new tracepoint that no request comes to it. */
TEST(traced_search_with_a_third_under_an_older_state)
{
	struct searching s = {.slow = 5, .old_of_10 = 3};
	struct arena a = {0};
	struct drive_result r;

	search(&s, &a, &r);
	EQ_U(r.doubt, DRIVE_SURE);
	EQ_S(found(&s, &r), "f");
	OK(r.counts.old_cnt > r.counts.trace_cnt / 4);
	search_release(&s);
	arena_release(&a);
}

TEST(traced_search_with_a_fifth_of_roots_lost_cannot_tell)
{
	struct searching s = {.slow = 2, .lost_of_10 = 2};
	struct arena a = {0};
	struct drive_result r;

	search(&s, &a, &r);
	EQ_U(r.doubt, DRIVE_LOST);
	OK(r.counts.incomplete_share > 0.15 && r.counts.incomplete_share < 0.25);
	search_release(&s);
	arena_release(&a);
}

TEST(traced_search_without_a_program_says_so)
{
	struct searching s = {.slow = 2};
	static const struct drive_opts opts = {.type = "top"};
	struct arena a = {0};
	struct drive_result r;

	s.board = board_new();
	s.drive = drive_new(&opts, s.board, &s.m.points, &s.m.strings);
	EQ_U(drive_step(s.drive, T0), false);
	drive_result(s.drive, T0, &a, &r);
	EQ_U(r.doubt, DRIVE_NO_AGENT);
	OK(r.forest == NULL);
	search_release(&s);
	arena_release(&a);
}

/* ---- spans lost on the way and by programs */

struct got {
	uint32_t cnt, whole_cnt, span_cnt;
	uint64_t epoch;
};

static void got_take(void *ctx, const struct gathered *t)
{
	struct got *got = ctx;

	got->cnt++;
	got->whole_cnt += t->is_whole;
	got->span_cnt += t->trace.span_cnt;
	got->epoch = t->epoch;
}

static void put(struct gather *g, uint64_t now_ns, struct made *m, uint32_t span, uint64_t epoch)
{
	struct attr attr = {.key = strtab_add(&m->strings, "heldup.epoch"), .type = ATTR_NUM,
			    .num = (double)epoch};
	struct span one = m->spans.items[span];

	one.attr_idx = one.ref_idx = one.ref_cnt = 0;
	one.attr_cnt = 1;
	OK(gather_span(g, now_ns, &m->trace.id, &one, &attr, NULL));
}

TEST(traced_gather_waits_for_parents_of_other_processes)
{
	struct made m = {0};
	struct gather *g = gather_new(&m.strings);
	struct got got = {0};

	(void)request(&m, 7, 0);
	for (uint32_t i = 1; i <= CALLS; i++)
		put(g, T0, &m, i, 9);
	gather_take(g, T0 + 2 * GATHER_SETTLE_NS, got_take, &got);
	EQ_U(got.cnt, 0);	/* the root is another process's, which exports later */
	put(g, T0 + 2 * GATHER_SETTLE_NS, &m, 0, 8);
	gather_take(g, T0 + 2 * GATHER_SETTLE_NS + 1, got_take, &got);
	EQ_U(got.cnt, 0);
	gather_take(g, T0 + 3 * GATHER_SETTLE_NS, got_take, &got);
	EQ_U(got.cnt, 1);
	EQ_U(got.whole_cnt, 1);
	EQ_U(got.span_cnt, CALLS + 1);
	EQ_U(got.epoch, 8);
	put(g, T0 + 4 * GATHER_SETTLE_NS, &m, 1, 9);
	EQ_U(gather_stats(g)->late_cnt, 1);
	gather_free(g);
	made_release(&m);
}

TEST(traced_gather_gives_up_what_stays_incomplete)
{
	struct made m = {0};
	struct gather *g = gather_new(&m.strings);
	struct got got = {0};

	(void)request(&m, 8, 0);
	put(g, T0, &m, 1, 3);
	gather_take(g, T0 + GATHER_WAIT_NS - 1, got_take, &got);
	EQ_U(got.cnt, 0);
	gather_take(g, T0 + GATHER_WAIT_NS, got_take, &got);
	EQ_U(got.cnt, 1);
	EQ_U(got.whole_cnt, 0);
	gather_free(g);
	made_release(&m);
}

/* ---- the board */

TEST(traced_board_answers_when_something_changes)
{
	struct board *b = board_new();
	CLEANUP(buf_release) struct buf out = {0};
	struct board_point on = {"s", "a"}, other = {"t", "b"};
	struct asked q = {.on = "0"};
	char epoch[32];
	uint64_t now;

	now = board_set(b, &(struct board_state){.type = "top", .is_on = true, .share = 1,
						  .on = &on, .on_cnt = 1});
	snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)now);
	EQ_U(board_answer(b, T0, arg, &q, &out), BOARD_ANSWERED);
	OK(strstr(buf_str(&out), "\"a\"") != NULL);
	q.epoch = epoch;
	EQ_U(board_answer(b, T0, arg, &q, &out), BOARD_WAITS);
	OK(board_due(b, T0));
	OK(!board_due(b, T0 + 1));
	/* the same again changes nothing; another service's point does, for all */
	EQ_U(board_set(b, &(struct board_state){.type = "top", .is_on = true, .share = 1,
					       .on = &on, .on_cnt = 1}), now);
	OK(board_set(b, &(struct board_state){.type = "top", .is_on = true, .share = 1,
					       .on = &other, .on_cnt = 1}) > now);
	OK(board_due(b, T0 + 2));
	buf_clear(&out);
	EQ_U(board_answer(b, T0, arg, &q, &out), BOARD_ANSWERED);
	OK(strstr(buf_str(&out), "\"b\"") == NULL);
	board_free(b);
}

TEST(traced_board_knows_who_is_off)
{
	struct board *b = board_new();
	CLEANUP(buf_release) struct buf out = {0};
	struct board_summary s;
	struct asked q = {.on = "2", .epoch = "1"};
	char epoch[32];

	EQ_U(board_answer(b, T0, arg, &q, &out), BOARD_ANSWERED);
	snprintf(epoch, sizeof(epoch), "%llu",
		 (unsigned long long)board_set(b, &(struct board_state){.is_on = false}));
	board_summary(b, T0, &s);
	EQ_U(s.agent_cnt, 1);
	EQ_U(s.off_cnt, 0);
	q.on = "0";
	EQ_U(board_answer(b, T0, arg, &q, &out), BOARD_ANSWERED);
	board_summary(b, T0 + (BOARD_LEASE_MS + 1) * NS_PER_MS, &s);
	EQ_U(s.off_cnt, 0);
	EQ_U(s.silent_cnt, 1);
	board_free(b);
}
