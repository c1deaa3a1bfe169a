/* SPDX-License-Identifier: Apache-2.0 */
/* Slices and sums of request types, their way to the keeper, and the store of them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "requests/live/live_sums.h"
#include "serve/keep/db.h"
#include "serve/keep/db_requests.h"
#include "serve/keep/request_rows.h"
#include "serve/spans/kept_types.h"
#include "serve/spans/span_link.h"
#include "trace_make.h"
#include "unit.h"

#define MS INT64_C(1000000)
#define MINUTE (60 * NS_PER_SEC)

/* A request of 20 ms and a call of call_ms in it. */
static void request(struct live_types *l, struct made *m, uint64_t id, int64_t call_ms)
{
	made_clear(m);
	made_span(m, 1, 0, "shop/GET a", 0, (20 + call_ms) * MS);
	made_span(m, 2, 1, "db/SELECT", 10 * MS, (10 + call_ms) * MS);
	m->spans.items[0].flags = id % 10 ? 0 : SPANF_ERROR;
	m->trace.id.lo = id;
	live_types_add(l, made_trace(m));
}

static void keep(void *ctx, const struct live_slice *s)
{
	*(struct live_slice *)ctx = *s;
}

static struct live_slice make_slice(int64_t call_ms)
{
	struct made m = {0};
	struct live_types *l = live_types_new(&m.strings);
	struct live_slice s = {0};

	for (uint64_t i = 1; i <= 100; i++)
		request(l, &m, i, call_ms + (int64_t)i % 5 * 10);
	live_types_take(l, keep, &s);
	live_types_free(l);
	made_release(&m);
	return s;
}

TEST(live_slices_have_time_and_variance)
{
	struct live_slice s = make_slice(30);
	struct live_edges edges = {0};
	struct live_sums sums = {0};
	struct live_view v;

	EQ_S(s.service, "shop");
	EQ_S(s.name, "GET a");
	EQ_U(s.cnt, 100);
	EQ_U(s.failed_cnt, 10);
	EQ_U(s.max_ns, 90 * MS);
	live_sums_slice(&sums, &edges, &s);
	live_sums_slice(&sums, &edges, &s);
	live_sums_view(&sums, &edges, &v);
	EQ_U(v.cnt, 200);
	EQ_U(v.mean_ns, 70 * MS);
	NEAR((double)v.p50_ns, 70e6, 7e6);
	NEAR((double)v.p99_ns, 90e6, 9e6);
	EQ_S(v.time.name, "in db SELECT");
	NEAR(v.time.share, 50.0 / 70, 0.001);
	EQ_S(v.variance.name, "in db SELECT");
	NEAR(v.variance.share, 1, 0.001);
}

TEST(live_slices_cross_only_when_sound)
{
	struct span_msg msg = {.kind = SPAN_MSG_SLICE}, got;
	int pair[2];

	EQ_I(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	msg.u.slice = make_slice(30);
	OK(span_link_put(pair[0], &msg));
	EQ_I(span_link_get(pair[1], &got), 1);
	EQ_U(got.u.slice.cnt, 100);
	memset(msg.u.slice.edges[0].name, 'x', LIVE_EDGE_LEN);
	span_link_put(pair[0], &msg);
	EQ_I(span_link_get(pair[1], &got), 1);
	EQ_U(strlen(got.u.slice.edges[0].name), LIVE_EDGE_LEN - 1);
	msg.u.slice.edges[0].sum_us = NAN;
	span_link_put(pair[0], &msg);
	EQ_I(span_link_get(pair[1], &got), -EBADMSG);
	msg.u.slice = make_slice(30);
	msg.u.slice.sum_us = 1e300;
	span_link_put(pair[0], &msg);
	EQ_I(span_link_get(pair[1], &got), -EBADMSG);
	msg.u.slice = make_slice(30);
	msg.u.slice.hist[3]++;
	span_link_put(pair[0], &msg);
	EQ_I(span_link_get(pair[1], &got), -EBADMSG);
	msg.kind = 99;
	span_link_put(pair[0], &msg);
	EQ_I(span_link_get(pair[1], &got), -EBADMSG);
	EQ_I(send(pair[0], "x", 1, 0), 1);
	EQ_I(span_link_get(pair[1], &got), -EBADMSG);
	EQ_I(span_link_get(pair[1], &got), 0);
	close(pair[0]);
	EQ_I(span_link_get(pair[1], &got), -EPIPE);
}

struct rows {
	unsigned cnt;
	struct db_request by_window[3];
};

static void take_row(void *ctx, const struct db_request *r)
{
	struct rows *rows = ctx;

	if (rows->cnt < 3)
		rows->by_window[rows->cnt] = *r;
	rows->cnt++;
}

static struct rows rows_of(struct db *db)
{
	struct rows rows = {0};

	EQ_I(db_requests(db, take_row, &rows), 0);
	EQ_U(rows.cnt, 3);
	return rows;
}

static uint64_t since(struct db *db, uint64_t since_ns, uint64_t now_ns)
{
	struct request_rows rows = {0};
	uint64_t cnt;

	EQ_I(request_rows_since(db, since_ns, now_ns, &rows), 0);
	EQ_U(rows.rows.cnt, 1);
	EQ_S(rows.rows.items[0].view.time.name, "in db SELECT");
	cnt = rows.rows.items[0].view.cnt;
	request_rows_release(&rows);
	return cnt;
}

TEST(live_windows_forget_and_outlive_a_restart)
{
	const uint64_t begin = UINT64_C(1800000000) * NS_PER_SEC;
	char dir[] = "/tmp/heldup-live-XXXXXX", command[64];
	struct live_slice s = make_slice(30);
	struct kept_types *k;
	struct err err = {0};
	struct rows rows;
	struct db *db;

	OK(mkdtemp(dir) != NULL);
	EQ_I(db_open(dir, true, &db, &err), 0);
	k = kept_types_new(db, NULL, begin);
	for (uint64_t minute = 0; minute < 120; minute++) {
		kept_types_slice(k, &s, begin + minute * MINUTE);
		kept_types_put(k, begin + minute * MINUTE);
	}
	rows = rows_of(db);
	EQ_U(rows.by_window[0].view.cnt, 500);
	EQ_U(rows.by_window[1].view.cnt, 6000);
	EQ_U(rows.by_window[2].view.cnt, 12000);
	EQ_S(rows.by_window[0].view.time.name, "in db SELECT");
	EQ_U(kept_types_left_out(k), 0);
	EQ_U(since(db, begin + 110 * MINUTE, begin + 119 * MINUTE), 1000);
	EQ_U(since(db, begin, begin + 119 * MINUTE), 12000); /* hours, then minutes */
	kept_types_free(k);
	k = kept_types_new(db, NULL, begin + 119 * 60 * NS_PER_SEC);
	kept_types_slice(k, &s, begin + 119 * 60 * NS_PER_SEC);
	kept_types_put(k, begin + 119 * 60 * NS_PER_SEC);
	rows = rows_of(db);
	EQ_U(rows.by_window[2].view.cnt, 12100);
	EQ_S(rows.by_window[2].view.time.name, "in db SELECT");
	kept_types_free(k);
	db_close(db);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	EQ_I(system(command), 0);
}

TEST(live_windows_stand_a_clock_that_is_set)
{
	const uint64_t begin = UINT64_C(1800000000) * NS_PER_SEC, hour = 60 * MINUTE;
	char dir[] = "/tmp/heldup-live-XXXXXX", command[64];
	const int64_t steps[] = {0, -2, 1, -30, 25, 3, -1, 0};
	struct live_slice s = make_slice(30);
	struct kept_types *k;
	struct err err = {0};
	struct rows rows;
	struct db *db;

	OK(mkdtemp(dir) != NULL);
	EQ_I(db_open(dir, true, &db, &err), 0);
	k = kept_types_new(db, NULL, begin);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		uint64_t now = begin + (uint64_t)steps[i] * hour;

		ROW(i);
		kept_types_slice(k, &s, now);
		kept_types_put(k, now);
		rows = rows_of(db);
		OK(rows.by_window[0].view.cnt >= 100);
		OK(rows.by_window[2].view.cnt <= 100 * (i + 1));
		OK(rows.by_window[0].covered_ns <= 300 * NS_PER_SEC);
	}
	kept_types_free(k);
	db_close(db);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	EQ_I(system(command), 0);
}
