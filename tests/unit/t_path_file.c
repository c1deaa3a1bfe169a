/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/files/path_file.h"
#include "collect/paths/paths_watch.h"
#include "unit.h"
#include "wire/path_events.h"

struct seen {
	VEC(struct path_event) events;
	uint32_t port_cnt, process_cnt, slice_cnt;
	char comm[32];
};

static void put_port(void *ctx, uint16_t port)
{
	((struct seen *)ctx)->port_cnt += port == 80;
}

static void put_process(void *ctx, uint32_t tgid, const char *comm, bool switches)
{
	struct seen *s = ctx;

	s->process_cnt += tgid == 7 && switches;
	memcpy(s->comm, comm, strlen(comm) + 1);
}

static void put_event(void *ctx, const struct path_event *e)
{
	vec_push(&((struct seen *)ctx)->events, *e);
}

static void slice_end(void *ctx)
{
	((struct seen *)ctx)->slice_cnt++;
}

static const struct path_event events[] = {
	{.kind = PATH_RECV, .ns = 5, .tid = 8, .tgid = 7, .sock = {.cookie = 3, .bytes = 9}},
	{.kind = PATH_SEND, .ns = 6, .tid = 8, .tgid = 7, .sock = {.cookie = 3, .seq = 77}},
};

static void write_all(struct buf *out)
{
	const struct path_file_head head = {.offset_ns = 1000, .host = "front"};
	const struct paths_watched w = {.selection = "pid 7 (web)", .begin_ns = 1, .end_ns = 9,
					.followed_ns = 4, .event_cnt = 2, .lost_cnt = 1,
					.slice_cnt = 1, .cost_share = 0.25};

	path_file_begin(out, &head);
	path_file_port(out, 80);
	path_file_process(out, 7, "web", true);
	for (size_t i = 0; i < 2; i++)
		OK(path_file_event(out, &events[i]));
	path_file_slice_end(out);
	path_file_end(out, &w);
}

static int read_all(const struct buf *b, size_t len, struct seen *s, struct paths_watched *w)
{
	const struct paths_sink sink = {.ctx = s, .port = put_port, .process = put_process,
					.event = put_event, .slice_end = slice_end};
	struct path_file_head head;
	struct err err = {0};
	int code = path_file_head(b->data, len, &head, &err);

	if (code == 0) {
		EQ_S(head.host, "front");
		EQ_I(head.offset_ns, 1000);
		code = path_file_play(b->data, len, &sink, w, &err);
	}
	OK(code == 0 || *err.msg);
	return code;
}

TEST(path_file_reads_what_was_written)
{
	struct buf b = {0};
	struct seen s = {0};
	struct paths_watched w;

	write_all(&b);
	EQ_I(read_all(&b, b.len, &s, &w), 0);
	EQ_U(s.port_cnt + s.process_cnt + s.slice_cnt, 3);
	EQ_S(s.comm, "web");
	EQ_U(s.events.cnt, 2);
	OK(memcmp(s.events.items, events, sizeof(events)) == 0);
	EQ_S(w.selection, "pid 7 (web)");
	EQ_U(w.followed_ns, 4);
	EQ_U(w.lost_cnt, 1);
	OK(w.cost_share == 0.25);
	buf_release(&b);
	vec_release(&s.events);
}

/* Cut anywhere, and with any byte changed: refused or read, never a crash. */
TEST(path_file_cut_and_damaged)
{
	struct buf b = {0};
	struct seen s = {0};
	struct paths_watched w;

	write_all(&b);
	for (size_t len = 0; len < b.len; len++)
		EQ_I(read_all(&b, len, &s, &w), -EBADMSG);
	buf_addch(&b, 'x');
	EQ_I(read_all(&b, b.len, &s, &w), -EBADMSG);
	vec_release(&s.events);
	buf_release(&b);
}

TEST(path_file_with_events_that_cannot_be)
{
	const struct path_event bad[] = {
		{.kind = 99, .tid = 1, .tgid = 1},
		{.kind = PATH_GAP, .tid = 1, .tgid = 1},
		{.kind = PATH_RECV, .tid = PATH_PID_MAX + 1, .tgid = 1},
		{.kind = PATH_RECV, .tid = 1, .tgid = 1, .ns = UINT64_MAX},
		{.kind = PATH_WAIT, .tid = 1, .tgid = 1, .ns = 5, .wait = {.off_ns = 6}},
		{.kind = PATH_CLONE, .tid = 1, .tgid = 1, .clone = {.tgid = UINT32_MAX}},
	};
	const struct path_file_head head = {.offset_ns = 1000, .host = "front"};
	const struct paths_watched none = {.selection = "none"};
	struct buf b = {0};
	struct seen s = {0};
	struct paths_watched w;

	path_file_begin(&b, &head);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		path_file_event(&b, &bad[i]);
	path_file_end(&b, &none);
	EQ_I(read_all(&b, b.len, &s, &w), 0);
	EQ_U(s.events.cnt, 0);
	EQ_U(w.bad_cnt, sizeof(bad) / sizeof(*bad));
	buf_release(&b);
}
