/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of a service whose host has its wall clock set while it is in trouble. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "serve/keep/db.h"
#include "serve/settings.h"
#include "serve/trouble.h"
#include "unit.h"

#define DAY_NS (INT64_C(24) * 3600 * (int64_t)NS_PER_SEC)
#define SECONDS_MAX 200

static void order(void *ctx, uint32_t service, const struct link_order *o)
{
	(void)service;
	OK(o->finding == 1);
	++*(unsigned *)ctx;
}

static struct second answers(uint64_t each_ns)
{
	struct second s = {.answer_cnt = 100, .service_ns = 100 * each_ns, .process_cnt = 1};
	unsigned i = 0;

	while (i + 1 < EVENT_HIST_CNT && UINT64_C(1000) << (i / 2) < each_ns)
		i++;
	s.hist[i] = 100;
	return s;
}

/* Gives seconds until the finding begins, or ends; how many. */
static unsigned give(struct findings *f, struct db *db, uint64_t *now, uint64_t each_ns, bool end)
{
	struct second s = answers(each_ns);
	struct db_finding got;
	unsigned cnt = 0;

	for (; cnt < SECONDS_MAX; cnt++) {
		findings_second(f, 0, &s, *now += NS_PER_SEC);
		if (db_finding(db, 1, &got) == 0 && (end ? got.end_ns != 0 : got.begin_ns != 0))
			break;
	}
	OK(cnt < SECONDS_MAX);
	return cnt;
}

/* In trouble for five seconds, in which the clock is set by so much. */
static void trouble(int64_t by_ns)
{
	char dir[] = "/tmp/heldup-trouble-XXXXXX", cmd[64];
	uint64_t now = 400 * (uint64_t)DAY_NS;
	struct second bad = answers(80 * NS_PER_MS);
	struct settings settings;
	struct link_service s = {.name = "web", .what = "port 80"};
	struct db_finding got;
	struct findings *f;
	struct err err = {0};
	struct db *db;
	unsigned orders = 0;

	OK(mkdtemp(dir));
	settings_init(&settings);
	settings.state = dir;
	settings.services[0] = (struct serve_service){.name = "web", .p99_ns = 20 * NS_PER_MS};
	settings.service_cnt = 1;
	EQ_I(db_open(dir, true, &db, &err), 0);
	f = findings_new(&settings, db, order, &orders);
	findings_service(f, 0, &s);
	give(f, db, &now, 80 * NS_PER_MS, false);
	EQ_U(orders, 1);
	now += (uint64_t)by_ns;
	if (by_ns)
		findings_clock_set(f, by_ns);
	for (unsigned i = 0; i < 5; i++)
		findings_second(f, 0, &bad, now += NS_PER_SEC);
	give(f, db, &now, NS_PER_MS, true);
	EQ_U(orders, 1); /* not judged again at once */
	EQ_I(db_finding(db, 1, &got), 0);
	OK(got.end_ns - got.begin_ns > 5 * NS_PER_SEC);
	OK(got.end_ns - got.begin_ns < 30 * NS_PER_SEC);
	OK(got.end_ns <= now && now - got.end_ns < 60 * NS_PER_SEC);
	findings_free(f);
	db_close(db);
	settings_release(&settings);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	EQ_I(system(cmd), 0);
}

TEST(trouble_lasts_as_long_whatever_the_wall_clock_does)
{
	static const int64_t by_ns[] = {0, DAY_NS, -DAY_NS, 300 * DAY_NS, -300 * DAY_NS};

	for (size_t i = 0; i < sizeof(by_ns) / sizeof(by_ns[0]); i++) {
		ROW(i);
		trouble(by_ns[i]);
	}
}
