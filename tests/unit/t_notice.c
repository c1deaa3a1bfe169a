/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that notice trouble, on seconds made by hand. */
#include <string.h>

#include "base/clock.h"
#include "serve/notice.h"
#include "unit.h"

#define SOUND 60

/* The bucket of ev_end.hist that a time is in: two to a power of two, from 1 us. */
static unsigned bucket(uint64_t ns)
{
	unsigned i = 0;

	for (; i + 1 < EVENT_HIST_CNT; i++) {
		uint64_t low = UINT64_C(1000) << ((i + 1) / 2);

		if (ns < ((i + 1) & 1 ? low + low / 2 : low))
			break;
	}
	return i;
}

static struct second answers(uint64_t cnt, uint64_t each_ns)
{
	struct second s = {.answer_cnt = cnt, .service_ns = cnt * each_ns, .process_cnt = 1};

	s.hist[bucket(each_ns)] = cnt;
	return s;
}

static enum rules_step give(struct rules *r, struct second s)
{
	char reason[RULES_REASON_LEN];
	uint64_t since;

	return rules_second(r, &s, 0, &since, reason);
}

static void be_sound(struct rules *r, struct second s, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		ROW(i);
		EQ_U(give(r, s), RULES_SOUND);
	}
}

/* Of seconds alike: in which does trouble begin, 0 in none of cnt? */
static unsigned begins_in(struct rules *r, struct second s, unsigned cnt)
{
	for (unsigned i = 1; i <= cnt; i++)
		if (give(r, s) == RULES_BEGINS)
			return i;
	return 0;
}

TEST(notice_silent)
{
	struct second none = {.open_cnt = 4, .open_oldest_ns = 1500 * NS_PER_MS};
	struct rules r = {0}, quiet = {0}, young = {0};

	be_sound(&r, answers(100, NS_PER_MS), SOUND);
	EQ_U(begins_in(&r, none, 10), 3);
	EQ_U(r.rule, RULE_SILENT);
	/* a service that is rarely asked, and one that is not known yet */
	be_sound(&quiet, (struct second){.process_cnt = 1}, SOUND);
	EQ_U(begins_in(&quiet, none, 10), 0);
	be_sound(&young, answers(100, NS_PER_MS), 10);
	EQ_U(begins_in(&young, none, 10), 0);
}

/* Clients that go, and come again, are no trouble. */
TEST(notice_not_asked)
{
	struct rules r = {0};

	be_sound(&r, answers(100, NS_PER_MS), SOUND);
	be_sound(&r, (struct second){.process_cnt = 1}, SOUND);
	be_sound(&r, answers(2000, NS_PER_MS), SOUND);
}

TEST(notice_slow)
{
	struct rules r = {0}, fast = {0}, few = {0};

	be_sound(&r, answers(100, 4 * NS_PER_MS), SOUND);
	be_sound(&r, answers(100, 8 * NS_PER_MS), SOUND); /* twice as slow: not yet */
	OK(begins_in(&r, answers(100, 40 * NS_PER_MS), 15) > 0);
	EQ_U(r.rule, RULE_SLOW);
	be_sound(&fast, answers(100, 20 * NS_PER_US), SOUND);
	EQ_U(begins_in(&fast, answers(100, 2 * NS_PER_MS), SOUND), 0); /* nobody feels it */
	be_sound(&few, answers(2, NS_PER_MS), SOUND);
	EQ_U(begins_in(&few, answers(2, 100 * NS_PER_MS), SOUND), 0); /* too few to say */
}

/* Some of the answers: p50 stays. */
TEST(notice_tail)
{
	struct second s = answers(95, 4 * NS_PER_MS);
	struct rules r = {0};

	s.hist[bucket(400 * NS_PER_MS)] = 5;
	s.answer_cnt = 100;
	be_sound(&r, answers(100, 4 * NS_PER_MS), SOUND);
	OK(begins_in(&r, s, 15) > 0);
	EQ_U(r.rule, RULE_TAIL);
}

/* One bad second is none, and the same tails all the time are what is usual. */
TEST(notice_tails_that_are_usual)
{
	struct second s = answers(95, 4 * NS_PER_MS);
	struct rules r = {0};

	s.hist[bucket(400 * NS_PER_MS)] = 5;
	s.answer_cnt = 100;
	be_sound(&r, s, 2 * SOUND);
}

TEST(notice_stuck)
{
	struct second s = answers(100, NS_PER_MS), poll = s;
	struct rules r = {0}, polls = {0};

	s.open_cnt = 1;
	s.open_oldest_ns = 3 * NS_PER_SEC;
	be_sound(&r, answers(100, NS_PER_MS), SOUND);
	EQ_U(begins_in(&r, s, 10), 2);
	EQ_U(r.rule, RULE_STUCK);
	/* long polls are as old as that all the time */
	poll.open_cnt = 1;
	poll.open_oldest_ns = 25 * NS_PER_SEC;
	for (unsigned i = 0; i < SOUND; i++)
		give(&polls, i < 20 ? answers(100, NS_PER_MS) : answers(100, NS_PER_MS));
	for (unsigned i = 0; i < RULES_LEARN; i++)
		rules_learn(&polls, &(struct learnt_second){.oldest_ns = 25 * NS_PER_SEC,
							    .answer_cnt = 100});
	EQ_U(begins_in(&polls, poll, SOUND), 0);
}

TEST(notice_crash_and_end)
{
	struct second s = answers(100, NS_PER_MS);
	struct rules r = {0};
	unsigned lasted = 0;

	be_sound(&r, s, SOUND);
	s.crash_cnt = 1;
	EQ_U(give(&r, s), RULES_BEGINS);
	s.crash_cnt = 0;
	while (give(&r, s) != RULES_ENDS)
		OK(++lasted < 10);
	EQ_U(lasted, 4);
	EQ_U(give(&r, s), RULES_SOUND);
}

TEST(notice_bound)
{
	struct second s = answers(100, 30 * NS_PER_MS);
	char reason[RULES_REASON_LEN];
	struct rules r = {0};
	uint64_t since;

	EQ_U(rules_second(&r, &s, 20 * NS_PER_MS, &since, reason), RULES_SOUND);
	EQ_U(rules_second(&r, &s, 20 * NS_PER_MS, &since, reason), RULES_SOUND);
	EQ_U(rules_second(&r, &s, 20 * NS_PER_MS, &since, reason), RULES_BEGINS);
	EQ_U(r.rule, RULE_BOUND);
	OK(strstr(reason, "over the bound of 20.0 ms") != NULL);
}

/* A trouble that lasts for good becomes what is usual. */
TEST(notice_new_usual)
{
	struct rules r = {0};
	bool ended = false;

	be_sound(&r, answers(100, 4 * NS_PER_MS), SOUND);
	OK(begins_in(&r, answers(100, 40 * NS_PER_MS), 15) > 0);
	for (unsigned i = 0; i < 900 && !ended; i++)
		ended = give(&r, answers(100, 40 * NS_PER_MS)) == RULES_ENDS;
	OK(ended);
	be_sound(&r, answers(100, 40 * NS_PER_MS), SOUND);
}
