/* SPDX-License-Identifier: Apache-2.0 */
/* Findings from spans: one for a trouble, beside those of the kernel's side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "serve/keep/db.h"
#include "serve/settings.h"
#include "serve/spans/span_trouble.h"
#include "serve/trouble.h"
#include "unit.h"

#define NOW (UINT64_C(1800000000) * NS_PER_SEC)

struct said {
	unsigned begin_cnt, end_cnt, join_cnt;
	struct db_finding last;
};

static void say(void *ctx, const char *event, const struct db_finding *f)
{
	struct said *s = ctx;

	s->begin_cnt += strcmp(event, "begins") == 0;
	s->end_cnt += strcmp(event, "ends") == 0;
	s->join_cnt += strcmp(event, "joins") == 0;
	s->last = *f;
}

static void drop(const char *dir)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	EQ_I(system(command), 0);
}

static void count(void *ctx, const struct db_finding *f)
{
	(void)f;
	++*(unsigned *)ctx;
}

static const struct shift_found found = {
	.now_ns = 55000000, .usual_ns = 20000000,
	.edge = {.share = 0.98, .mean_ns = 35000000, .name = "in db SELECT"},
};

TEST(span_trouble_is_one_finding_of_a_service)
{
	const struct span_trouble_type a = {1, "shop", "GET /cart"}, b = {2, "shop", "GET /pay"};
	char dir[] = "/tmp/heldup-trouble-XXXXXX";
	struct db_filter all = {0};
	struct said s = {0};
	struct span_troubles *t;
	struct err err = {0};
	struct db *db;
	unsigned cnt = 0;

	OK(mkdtemp(dir) != NULL);
	EQ_I(db_open(dir, true, &db, &err), 0);
	t = span_troubles_new(db, say, &s);
	span_trouble_step(t, &a, SHIFT_BEGINS, &found, NOW);
	span_trouble_step(t, &b, SHIFT_BEGINS, &found, NOW + NS_PER_SEC);
	EQ_U(s.begin_cnt, 1);
	EQ_S(s.last.reason, "GET /cart: p50 55.0 ms, usually 20.0 ms; in db SELECT +35.0 ms");
	EQ_S(s.last.confidence, "high");
	span_trouble_step(t, &a, SHIFT_ENDS, &found, NOW + 10 * NS_PER_SEC);
	EQ_U(s.end_cnt, 0); /* the other one is still slower */
	span_trouble_step(t, &b, SHIFT_ENDS, &found, NOW + 20 * NS_PER_SEC);
	EQ_U(s.end_cnt, 1);
	span_trouble_step(t, &a, SHIFT_BEGINS, &found, NOW + 60 * NS_PER_SEC);
	EQ_U(s.last.again_cnt, 1);
	EQ_I(db_findings(db, &all, count, &cnt), 0);
	EQ_U(cnt, 1);
	EQ_U(span_troubles_left_out(t), 0);
	span_troubles_free(t);
	db_close(db);
	drop(dir);
}

TEST(span_trouble_joins_that_of_the_kernels_side)
{
	const struct span_trouble_type a = {1, "shop", "GET /cart"};
	struct db_finding kernels = {.service = "shop-web", .rule = "slow", .begin_ns = NOW,
				     .last_ns = NOW};
	char dir[] = "/tmp/heldup-trouble-XXXXXX";
	struct said s = {0};
	struct span_troubles *t;
	struct err err = {0};
	struct db *db;

	OK(mkdtemp(dir) != NULL);
	EQ_I(db_open(dir, true, &db, &err), 0);
	EQ_I(db_finding_put(db, &kernels), 0);
	t = span_troubles_new(db, say, &s);
	span_trouble_step(t, &a, SHIFT_BEGINS, &found, NOW + NS_PER_SEC);
	EQ_U(s.begin_cnt, 0);
	EQ_U(s.join_cnt, 1);
	EQ_U(s.last.id, kernels.id);
	span_trouble_step(t, &a, SHIFT_ENDS, &found, NOW + 20 * NS_PER_SEC);
	EQ_U(s.end_cnt, 0);
	span_troubles_free(t);
	db_close(db);
	drop(dir);
}

static void no_order(void *ctx, uint32_t service, const struct link_order *order)
{
	(void)service;
	(void)order;
	++*(unsigned *)ctx;
}

TEST(span_trouble_is_taken_over_by_the_kernels_side)
{
	const struct span_trouble_type a = {1, "shop", "GET /cart"};
	const struct link_service web = {.name = "shop-web", .pid = 1};
	const struct second crash = {.process_cnt = 1, .crash_cnt = 1};
	char dir[] = "/tmp/heldup-trouble-XXXXXX";
	struct settings settings;
	struct said s = {0};
	struct span_troubles *t;
	struct findings *f;
	struct err err = {0};
	struct db_filter all = {0};
	struct db_finding got;
	struct db *db;
	unsigned cnt = 0, ordered = 0;

	OK(mkdtemp(dir) != NULL);
	EQ_I(db_open(dir, true, &db, &err), 0);
	settings_init(&settings);
	settings.state = dir;
	f = findings_new(&settings, db, no_order, &ordered);
	t = span_troubles_new(db, say, &s);
	findings_service(f, 0, &web);
	span_trouble_step(t, &a, SHIFT_BEGINS, &found, NOW);
	findings_second(f, 0, &crash, NOW + 5 * NS_PER_SEC);
	EQ_U(ordered, 1);
	EQ_I(db_findings(db, &all, count, &cnt), 0);
	EQ_U(cnt, 1);
	EQ_I(db_finding(db, s.last.id, &got), 0);
	EQ_S(got.rule, "crashed");
	EQ_S(got.service, "shop-web");
	HAS(got.reason, "; spans: GET /cart: p50 55.0 ms");
	EQ_U(got.begin_ns, s.last.begin_ns); /* it began with the spans */
	span_trouble_step(t, &a, SHIFT_ENDS, &found, NOW + 20 * NS_PER_SEC);
	EQ_U(s.end_cnt, 0);
	EQ_I(db_finding(db, s.last.id, &got), 0);
	EQ_U(got.end_ns, 0); /* its end is the kernel's side's to see */
	span_troubles_free(t);
	findings_free(f);
	settings_release(&settings);
	db_close(db);
	drop(dir);
}
