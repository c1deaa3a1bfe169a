/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that notice trouble, on seconds made by hand. */
#include <string.h>

#include "base/clock.h"
#include "serve/notice.h"
#include "unit.h"

#define SOUND 60
#define LEARN_LONG 120
#define OPEN_FEW 20 /* fewer are not looked at */

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

static struct second open_of(uint32_t open_cnt)
{
	struct second s = answers(100, NS_PER_MS);

	s.open_cnt = open_cnt - open_cnt / 4;
	s.unread_cnt = open_cnt / 4;
	return s;
}

/* More comes in than is answered: noticed while the answered are as fast as ever. */
TEST(notice_growing)
{
	struct rules r = {0}, slow = {0}, few = {0};
	unsigned at = 0;

	be_sound(&r, open_of(4), SOUND);
	for (unsigned i = 1; i <= 20 && !at; i++)
		at = give(&r, open_of(4 + 10 * i)) == RULES_BEGINS ? i : 0;
	EQ_U(at, 4);
	EQ_U(r.rule, RULE_GROWING);
	for (unsigned i = 0; i < 30; i++) /* as many for long: it lasts */
		EQ_U(give(&r, open_of(44)), RULES_LASTS);
	for (unsigned i = 0; i < 4; i++)
		EQ_U(give(&r, open_of(4)), RULES_LASTS);
	EQ_U(give(&r, open_of(4)), RULES_ENDS);
	/* two more each second */
	be_sound(&slow, open_of(2), SOUND);
	for (unsigned i = at = 0; i < 30 && !at; i++)
		at = give(&slow, open_of(2 + 2 * i)) == RULES_BEGINS ? i : 0;
	OK(at > 5 && at < 15);
	be_sound(&few, open_of(0), SOUND);
	for (unsigned i = 1; i < OPEN_FEW; i++)
		EQ_U(give(&few, open_of(i)), RULES_SOUND);
}

/* Bursts, and many that are usual. */
TEST(notice_open_that_is_usual)
{
	struct rules bursts = {0}, many = {0};

	for (unsigned i = 0; i < 3 * RULES_LEARN; i++) {
		ROW(i);
		EQ_U(give(&bursts, open_of(i % 17 < 2 ? 60 : 3)), RULES_SOUND);
		EQ_U(give(&many, open_of(100 + i % 50)), RULES_SOUND);
	}
}

/*
 * Open requests at the end of each second, recorded by heldup serve: gunicorn with eight
 * threads and a semaphore of two, redis with bursts under a rate that doubles and halves,
 * PostgreSQL, on two CPUs that were busy with other work.  And ten times as many.
 */
TEST(notice_recorded_sound_stretch)
{
	static const char *const recorded[] = {
		"212223222222223223222222222220202122222122222221222222223222222222212222222222"
		"122222222222222222222222212222222222221232222222222222221202222222222222222222",
		"100001000200103000020030002100000101100013100012020061653114320000100000020051"
		"000013000004010020000002212201010100000010010000000011200211021010022000021000",
		"001200010200000202000001000110000001010000000113310001000101000100101000000000"
		"000020000002000000000000000010002000000000000000000000000000000100000000000000",
	};

	for (unsigned i = 0; i < 2 * sizeof(recorded) / sizeof(*recorded); i++) {
		const char *at = recorded[i / 2];
		struct rules r = {0};

		OK(strlen(at) > LEARN_LONG);
		for (unsigned second = 0; at[second]; second++) {
			ROW((int)(i * 1000 + second));
			EQ_U(give(&r, open_of((uint32_t)(at[second] - '0') * (i % 2 ? 10 : 1))),
			     RULES_SOUND);
		}
	}
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
