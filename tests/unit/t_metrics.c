/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "model/model.h"
#include "report/functions/metrics_out.h"
#include "report/lines/pen.h"
#include "synth.h"
#include "unit.h"
#include "waits/metrics/metrics.h"

/* The value of the metric's row; 0 when there is none. */
static double value_of(const struct metrics_result *r, const char *metric, uint32_t tid)
{
	for (size_t i = 0; i < r->row_cnt; i++)
		if (strcmp(r->rows[i].def->name, metric) == 0 && r->rows[i].tid == tid)
			return r->rows[i].value;
	return 0;
}

/* One of each kind in the last second of two: waits, a pending one, counters, sectors. */
static struct synth *small_world(void)
{
	struct synth *s = synth_new(2000);
	struct ev_thread *ev;

	synth_thread(s, 1, 1, "srv");
	synth_thread(s, 2, 1, "lock");
	synth_thread(s, 3, 1, "disk");
	synth_wait(s, 2, WAIT_FUTEX, 7, 500, 1400, 1450, 1); /* 0.4 of the second one */
	synth_wait(s, 3, WAIT_FILE, 8, 1100, 1350, 1350, 0)->flags = WAITF_UNINT | WAITF_IOWAIT;
	synth_wait(s, 3, WAIT_KLOCK, 9, 1500, 1600, 1600, 0)->flags = WAITF_UNINT;
	synth_pending(s, 1, WAIT_EPOLL, 6, 1250);
	synth_res(s, 6, RES_EPOLL, NULL)->tgid = 1;
	ev = synth_snap(s, 3);
	ev->maj_flt = 12;
	synth_disk(s, 8 << 20, 1, 0, "srv", 160)->h.tid = 3;
	synth_disk(s, 8 << 20, 1, 1, "srv", 8)->h.tid = 3; /* its writes, fewer than another's */
	synth_disk(s, 8 << 20, 1, 1, "srv", 80)->h.tid = 2;
	synth_dev(s, 8 << 20, "sda", 100, 100);
	return s;
}

TEST(metrics_of_a_tick)
{
	struct synth *s = small_world();
	struct metrics *metrics = metrics_new();
	struct arena arena = {0};
	struct metrics_result r = metrics_tick(metrics, synth_model(s), &arena);

	EQ_U(r.end_ns - r.begin_ns, NS_PER_SEC);
	NEAR(value_of(&r, "futex_wait_time", 2), 0.4, 1e-6);
	NEAR(value_of(&r, "futex_wait_count", 2), 1, 1e-6);
	NEAR(value_of(&r, "futex_wake_count", 1), 1, 1e-6);
	NEAR(value_of(&r, "rq_time", 2), 0.05, 1e-6);
	NEAR(value_of(&r, "sleep_time", 2), 0.4, 1e-6);
	NEAR(value_of(&r, "block_time", 3), 0.35, 1e-6);
	NEAR(value_of(&r, "iowait_time", 3), 0.25, 1e-6);
	NEAR(value_of(&r, "sleep_time", 3), 0, 1e-6);
	NEAR(value_of(&r, "runtime", 3), 0.65, 1e-6);
	NEAR(value_of(&r, "epoll_wait_time", 1), 0.75, 1e-6);
	NEAR(value_of(&r, "epoll_wait_count", 1), 0, 1e-6); /* it has not ended */
	NEAR(value_of(&r, "klock_wait_time", 3), 0.1, 1e-6);
	NEAR(value_of(&r, "majflt", 3), 12, 1e-6);
	NEAR(value_of(&r, "sector_count", 3), 168, 1e-6);
	NEAR(value_of(&r, "sector_count", 2), 80, 1e-6);
	metrics_free(metrics);
	arena_release(&arena);
	synth_free(s);
}

TEST(metrics_rows_are_ordered_and_not_zero)
{
	struct synth *s = small_world();
	struct metrics *metrics = metrics_new();
	struct arena arena = {0};
	struct metrics_result r = metrics_tick(metrics, synth_model(s), &arena);

	OK(r.row_cnt > 10);
	for (size_t i = 0; i < r.row_cnt; i++) {
		ROW(i);
		OK(r.rows[i].value > 0);
		if (i && r.rows[i].order == r.rows[i - 1].order)
			OK(r.rows[i].value <= r.rows[i - 1].value);
		else if (i)
			OK(r.rows[i].order > r.rows[i - 1].order);
	}
	metrics_free(metrics);
	arena_release(&arena);
	synth_free(s);
}

TEST(metrics_epoll_file_wait_is_time_without_data)
{
	struct synth *s = synth_new(1000);
	struct metrics *metrics = metrics_new();
	struct arena arena = {0};
	struct metrics_result r;
	struct ev_member *file;
	struct ev_sock *sock;

	synth_thread(s, 1, 1, "loop");
	synth_sock(s, 20, ROLE_SERVER, 0x7f000001, 4000);
	synth_pending(s, 1, WAIT_EPOLL, 6, 400);
	for (int i = 0; i < 2; i++) {
		file = synth_event(s, EV_MEMBER, sizeof(*file), 10);
		file->set_res = 6;
		file->fd = 10 + i;
		file->tgid = 1;
		file->ino = 500 + (unsigned)i;
		file->file_res = i ? 20 : 0;
		file->name = i ? 0 : synth_str(s, "pipe:[500]");
	}
	sock = synth_event(s, EV_SOCK, sizeof(*sock), 1000);
	sock->res = 20;
	sock->notready_ns = 250 * NS_PER_MS;
	r = metrics_tick(metrics, synth_model(s), &arena);
	for (size_t i = 0, seen = 0; i < r.row_cnt; i++) {
		if (strcmp(r.rows[i].def->name, "epoll_file_wait") != 0)
			continue;
		NEAR(r.rows[i].value, seen ? 0.25 : 0.6, 1e-6);
		EQ_S(r.rows[i].resource, seen ? "client 127.0.0.1:4000" : "pipe:[500]");
		EQ_S(r.rows[i].through, "epoll");
		seen++;
		EQ_U(r.rows[i].tid, 1);
	}
	NEAR(value_of(&r, "epoll_file_wait", 1), 0.6, 1e-6);
	metrics_free(metrics);
	arena_release(&arena);
	synth_free(s);
}

TEST(metrics_text_and_json)
{
	struct synth *s = small_world();
	struct metrics *metrics = metrics_new();
	CLEANUP(buf_release) struct buf text = {0};
	CLEANUP(buf_release) struct buf json = {0};
	struct arena arena = {0};
	const struct model *m = synth_model(s);
	struct metrics_result r = metrics_tick(metrics, m, &arena);
	struct pen pen = {.out = &text, .columns = 140};

	metrics_text(&r, m, 1, &pen);
	HAS(buf_str(&text), "1.00 s");
	HAS(buf_str(&text), "futex_wait_time");
	HAS(buf_str(&text), "0.400");
	HAS(buf_str(&text), "more"); /* a second row of runtime is left out, and counted */
	metrics_json(&r, m, &json);
	HAS(buf_str(&json), "{\"schema\":\"heldup/metrics/1\"");
	HAS(buf_str(&json), "\"metric\":\"sector_count\",\"unit\":\"sectors/s\",\"pid\":1,"
			    "\"tid\":3");
	EQ_U(buf_str(&json)[json.len - 1], '\n');
	metrics_free(metrics);
	arena_release(&arena);
	synth_free(s);
}

TEST(metrics_are_all_in_the_docs)
{
	CLEANUP(buf_release) struct buf docs = {0};
	size_t cnt;
	const struct metric_def *defs = metrics_table(&cnt);

	if (file_read("docs/metrics.md", 1 << 20, &docs, NULL) < 0)
		SKIP("not run from the top of the source");
	for (size_t i = 0; i < cnt; i++) {
		char name[64];
		size_t len;

		ROW(i);
		len = strlen(defs[i].name);
		snprintf(name, sizeof(name), "`%s`", defs[i].name);
		/* "`x_wait_time`, `_count`" stands for both */
		if (len > 6 && strcmp(defs[i].name + len - 6, "_count") == 0 &&
		    !strstr(buf_str(&docs), name))
			snprintf(name, sizeof(name), "`%.*s_time`, `_count`", (int)len - 6,
				 defs[i].name);
		HAS(buf_str(&docs), name);
	}
}
