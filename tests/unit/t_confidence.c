/* SPDX-License-Identifier: Apache-2.0 */
/* How sure a finding is, from made evidence. */
#include <stdio.h>

#include "functions/functions.h"
#include "judged.h"
#include "unit.h"
#include "verdict/confidence.h"

/* Nothing speaks against it. */
static const struct grounds sure = { .seconds = 10, .seen = 1000, .share = 0.95, .second = 0.02 };

static unsigned level(struct grounds g)
{
	uint8_t by[DOUBT_CNT];

	return confidence_level(&g, by);
}

TEST(confidence_from_made_evidence)
{
#define G(t, n, s1, s2, ...) \
	{ .seconds = (t), .seen = (n), .share = (s1), .second = (s2), __VA_ARGS__ }
	static const struct { const char *what; unsigned level; struct grounds g; } rows[] = {
		{ "sure", CONF_HIGH, G(10, 1000, 0.95, 0.02) },
		{ "two seconds", CONF_MEDIUM, G(2, 1000, 0.95, 0.02) },
		{ "two seconds and ten requests", CONF_LOW, G(2, 10, 0.95, 0.02) },
		{ "ten requests", CONF_MEDIUM, G(10, 10, 0.95, 0.02) },
		{ "ten requests, always open", CONF_HIGH, G(10, 10, 0.95, 0.02, .always = true) },
		{ "one stall", CONF_LOW, G(10, 1, 0.95, 0.02, .of_tail = true) },
		{ "two stalls", CONF_MEDIUM, G(10, 2, 0.95, 0.02, .of_tail = true) },
		{ "three stalls", CONF_HIGH, G(10, 3, 0.95, 0.02, .of_tail = true) },
		{ "some lost", CONF_MEDIUM, G(10, 1000, 0.95, 0.02, .lost = 0.06) },
		{ "much lost", CONF_LOW, G(10, 1000, 0.95, 0.02, .lost = 0.3) },
		{ "half explained", CONF_MEDIUM, G(10, 1000, 0.5, 0.02) },
		{ "a third explained", CONF_LOW, G(10, 1000, 0.33, 0.02) },
		{ "clients, 41 %", CONF_LOW, G(10, 1000, 0.41, 0.25) },
		{ "a second, half", CONF_MEDIUM, G(10, 1000, 0.64, 0.33) },
		{ "a second, equal", CONF_LOW, G(10, 1000, 0.48, 0.48) },
		{ "less than its error more", CONF_MEDIUM, G(10, 1000, 0.65, 0.02, .error = 0.1) },
		{ "exact", CONF_HIGH, G(10, 1000, 0.65, 0.02, .error = 0.01) },
		{ "how exact is not known", CONF_MEDIUM, G(10, 1000, 0.95, 0.02, .error = -1) },
		{ "a request hangs", CONF_MEDIUM, G(10, 1000, 0.95, 0.02, .open = 1) },
		{ "few slow ones", CONF_HIGH, G(10, 1000, 0.95, 0.02, .slow = 0.001) },
		{ "slow ones", CONF_MEDIUM, G(10, 1000, 0.95, 0.02, .slow = 0.02) },
		{ "many slow ones", CONF_LOW, G(10, 1000, 0.95, 0.02, .slow = 0.2) },
		{ "no second, inexact", CONF_HIGH, G(10, 1000, 0.95, 0, .error = 0.3) },
		{ "evidence missing", CONF_MEDIUM, G(10, 1000, 0.95, 0.02, .lacks = 1) },
		{ "its evidence missing", CONF_LOW, G(10, 1000, 0.95, 0.02, .lacks = 2) },
		{ "may be its work", CONF_MEDIUM, G(10, 1000, 0.95, 0.02, .small = true) },
		{ "unknown", CONF_LOW, G(10, 1000, 0.95, 0.02, .inconclusive = true) },
	};
#undef G

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (level(rows[i].g) != rows[i].level)
			FAIL("%s: %u, not %u", rows[i].what, level(rows[i].g), rows[i].level);
	}
}

/* Worse in one respect. */
static void worsen(struct grounds *g, unsigned how, double by)
{
	switch (how) {
	case 0: g->seconds *= 1 - by; break;
	case 1: g->seen = (uint64_t)((double)g->seen * (1 - by)); break;
	case 2: g->always = false; break;
	case 3: g->lost += by * (1 - g->lost); break;
	case 4: g->error = by > 0.9 ? -1 : g->error < 0 ? -1 : g->error + by; break;
	case 5: g->share *= 1 - by; break;
	case 6: g->second += by * (1 - g->second); break;
	case 7: g->open += 1 + (uint64_t)(10 * by); break;
	case 8: g->lacks += g->lacks < 2; break;
	case 9: g->small = true; break;
	case 10: g->slow += by / 10; break;
	default: g->inconclusive = true; break;
	}
}

/* Whatever the rest is like, more missing never makes it surer. */
TEST(confidence_never_rises_with_doubt)
{
	uint64_t seed = 7;

	for (int i = 0; i < 20000; i++) {
		struct grounds g = sure;
		unsigned before = CONF_HIGH;

		g.of_tail = i & 1;
		g.always = i & 2;
		for (int step = 0; step < 12; step++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			/* not knowing how exact a share is hides what a known error costs */
			if (g.error > 0 && (seed >> 33) % 12 == 4)
				continue;
			worsen(&g, (seed >> 33) % 12, (double)(seed >> 40 & 0xff) / 256);
			OK(level(g) <= before);
			before = level(g);
		}
	}
}

/* A thread's requests wait for a file; the disk under it is at work for busy_ms of 10 s. */
static struct synth *file_world(double busy_ms)
{
	struct synth *s = synth_new(10000);

	synth_thread(s, 20, 20, "srv");
	synth_res(s, 30, RES_FILE, "data");
	for (int i = 0; i < 100; i++)
		synth_irq_wait(s, 20, WAIT_FILE, 30, i * 100 + 1, i * 100 + 95, i * 100 + 95,
			       WAKER_BLOCK);
	synth_dev(s, 8, "sda", busy_ms, busy_ms);
	return s;
}

/* Files that lie on no disk, as a file system of the network's, are waited for as well. */
TEST(confidence_in_a_disk_needs_a_busy_one)
{
	struct judged j;

	judge(&j, file_world(9500));
	EQ_S(finding_name(j.v->findings[0].cls), "disk-own");
	EQ_U(j.v->findings[0].conf, CONF_HIGH);
	EQ_U(j.v->findings[0].doubt_cnt, 0);
	judged_release(&j);

	judge(&j, file_world(500));
	EQ_S(finding_name(j.v->findings[0].cls), "unknown");
	EQ_U(j.v->findings[0].conf, CONF_LOW);
	judged_release(&j);
}

/* One that nobody asked holds nobody up, but nothing could have shown otherwise. */
TEST(confidence_in_health_needs_requests)
{
	struct judged j;
	struct synth *s = synth_new(10000);

	synth_thread(s, 20, 20, "srv");
	synth_pending(s, 20, WAIT_EPOLL, 0, 1);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "healthy");
	EQ_U(j.v->findings[0].conf, CONF_MEDIUM);
	EQ_S(j.v->findings[0].doubts[0], "no requests were seen");
	judged_release(&j);
}

/* A CPU that several workers of one program take, each a little. */
TEST(confidence_adds_up_a_neighbours_processes)
{
	struct judged j;
	struct synth *s = synth_new(6000);

	synth_thread(s, 20, 20, "srv");
	for (int i = 0; i < 60; i++)
		synth_preempted(s, 20, i * 100 + 1, i * 100 + 90)->own_open = 1;
	for (uint32_t t = 0; t < 4; t++)
		synth_culprit(s, 20, 30 + t, "burn", 1300);
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "cpu-neighbour");
	EQ_U(j.v->findings[0].doubt_cnt, 0);
	EQ_U(j.v->findings[0].conf, CONF_HIGH);
	judged_release(&j);
}

static bool has_doubt(const struct finding *f, const char *text)
{
	for (size_t i = 0; i < f->doubt_cnt; i++)
		if (strstr(f->doubts[i], text))
			return true;
	return false;
}

/* One pause for each request, or several: who sleeps again before it goes on, polls. */
TEST(confidence_in_a_sleep_that_is_repeated)
{
	for (int again = 0; again < 2; again++) {
		struct synth *s = synth_new(6000);
		struct judged j;

		synth_thread(s, 20, 20, "srv");
		synth_sock(s, 5, ROLE_SERVER, 0x7f000001, 80);
		for (int i = 0; i < 60; i++) {
			struct ev_turn *turn = synth_event(s, EV_TURN, sizeof(*turn), i * 100 + 95);

			turn->res = 5;
			turn->role = ROLE_SERVER;
			turn->h.tid = turn->first_tid = 20;
			synth_irq_wait(s, 20, WAIT_TIMER, 0, i * 100 + 5, i * 100 + 50,
				       i * 100 + 50, WAKER_TIMER)->own_open = 1;
			synth_irq_wait(s, 20, again ? WAIT_TIMER : WAIT_SOCKET, again ? 0 : 5,
				       i * 100 + 51, i * 100 + 94, i * 100 + 94,
				       again ? WAKER_TIMER : WAKER_NET)->own_open = again;
		}
		synth_end(s, 20, ROLE_SERVER, 80, 60, again ? 5400 : 2700);
		synth_proc(s, 20)->open_ns = again ? 5400000000ULL : 2700000000ULL;
		judge(&j, s);
		ROW(again);
		EQ_S(finding_name(j.v->findings[0].cls), "timer");
		EQ_U(has_doubt(&j.v->findings[0], "sleeps again and again"), again);
		judged_release(&j);
	}
}
