/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "collect/source.h"
#include "model/model.h"
#include "store/capture.h"
#include "store/check.h"
#include "store/event_calls.h"
#include "store/format.h"
#include "synth.h"
#include "unit.h"

static char dir[] = "/tmp/heldup-unit-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[256];
	static bool made;

	if (!made)
		OK(mkdtemp(dir) != NULL);
	made = true;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void remove_dir(void)
{
	char cmd[300];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	EQ_I(system(cmd), 0);
}

static struct synth *small_world(void)
{
	struct synth *s = synth_new(3000);

	synth_thread(s, 10, 10, "srv");
	synth_thread(s, 11, 10, "worker");
	synth_res(s, 7, RES_FUTEX, "big lock");
	for (int i = 0; i < 10; i++)
		synth_wait(s, 11, WAIT_FUTEX, 7, i * 300, i * 300 + 200, i * 300 + 201, 10);
	synth_end(s, 10, ROLE_SERVER, 80, 100, 500);
	return s;
}

/* The small world as a capture; the file's bytes in out. */
static void write_world(const char *path, struct buf *out)
{
	struct synth *s = small_world();
	struct event_sink sink;
	struct capture *c;
	struct err err = {0};

	EQ_I(capture_create(path, NULL, &c, &err), 0);
	sink = capture_sink(c);
	EQ_I(synth_play(s, &sink), 0);
	EQ_I(capture_finish(c, &err), 0);
	capture_free(c);
	synth_free(s);
	if (out)
		EQ_I(file_read(path, 1 << 20, out, &err), 0);
}

static void write_bytes(const char *path, const void *data, size_t len)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	EQ_I(file_write_all(fd, data, len), 0);
}

struct seen {
	uint64_t event_cnt, tick_cnt, wait_cnt;
	struct model *model;
};

static int seen_put(void *ctx, const struct event_hdr *ev)
{
	struct seen *s = ctx;

	s->event_cnt++;
	s->tick_cnt += ev->kind == EV_TICK;
	s->wait_cnt += ev->kind == EV_WAIT;
	model_add(s->model, ev);
	return 0;
}

/* Opens and reads all; the error of either.  seen->model is the caller's to free. */
static int read_all(const char *path, struct seen *seen, struct err *err)
{
	struct event_sink sink = {.put = seen_put, .ctx = seen};
	struct source *src;
	int rc = source_file(path, &src, err);

	*seen = (struct seen){.model = model_new(NULL)};
	if (rc < 0)
		return rc;
	while ((rc = source_step(src, &sink, err)) > 0)
		;
	source_free(src);
	model_finish(seen->model);
	return rc;
}

static bool has_note(const struct model *m, const char *part)
{
	for (size_t i = 0; i < m->note_cnt; i++)
		if (strstr(m->notes[i], part))
			return true;
	return false;
}

TEST(capture_gives_back_what_it_took)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	struct synth *s = small_world();
	const struct model *want = synth_model(s);
	const char *path = in_dir("a.hup");
	struct seen seen;
	struct err err = {0};

	write_world(path, &bytes);
	OK(bytes.len < 4096);
	EQ_I(read_all(path, &seen, &err), 0);
	EQ_U(seen.tick_cnt, 3);
	EQ_U(seen.wait_cnt, 10);
	EQ_U(seen.model->note_cnt, 0);
	EQ_U(seen.model->wait_cnt, want->wait_cnt);
	OK(memcmp(seen.model->waits, want->waits, want->wait_cnt * sizeof(*want->waits)) == 0);
	EQ_S(seen.model->res[0].name, "big lock");
	EQ_S(seen.model->cmdline, "synth");
	EQ_U(seen.model->end_ns, want->end_ns);
	model_free(seen.model);
	synth_free(s);
	remove_dir();
}

TEST(capture_cut_anywhere_is_read_as_far_as_it_goes)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	const char *path = in_dir("cut.hup");
	uint64_t most = 0;

	write_world(path, &bytes);
	for (size_t cut = 0; cut < bytes.len; cut++) {
		struct err err = {0};
		struct seen seen;
		int rc;

		ROW(cut);
		write_bytes(path, bytes.data, cut);
		rc = read_all(path, &seen, &err);
		if (cut < sizeof(struct capture_header)) {
			EQ_I(rc, -EBADMSG);
			HAS(err.msg, cut < 8 ? "is not a heldup capture" : "cut inside its header");
		} else {
			EQ_I(rc, 0);
			OK(has_note(seen.model, "is not complete, the file is cut: read to byte"));
			OK(seen.event_cnt >= most);
			most = seen.event_cnt;
		}
		model_free(seen.model);
	}
	OK(most > 10);
	remove_dir();
}

TEST(capture_damaged_anywhere_is_told)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	const char *path = in_dir("bad.hup");

	write_world(path, &bytes);
	for (size_t at = 0; at < bytes.len; at++) {
		struct err err = {0};
		struct seen seen;
		int rc;

		ROW(at);
		bytes.data[at] ^= 0x40;
		write_bytes(path, bytes.data, bytes.len);
		bytes.data[at] ^= 0x40;
		rc = read_all(path, &seen, &err);
		if (at < sizeof(struct capture_header))
			EQ_I(rc, -EBADMSG);
		else
			OK(rc == 0 && (has_note(seen.model, "complete, a chunk is damaged") ||
				       has_note(seen.model, "the file is cut")));
		model_free(seen.model);
	}
	remove_dir();
}

/* Rewrites the header's field and its checksum. */
static void with_header(const char *path, struct buf *bytes, unsigned version, uint32_t endian)
{
	struct capture_header h;

	memcpy(&h, bytes->data, sizeof(h));
	h.version = (uint16_t)version;
	h.endian = endian;
	h.crc = crc32_of(&h, offsetof(struct capture_header, crc));
	memcpy(bytes->data, &h, sizeof(h));
	write_bytes(path, bytes->data, bytes->len);
}

TEST(capture_refuses_what_it_cannot_read)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	const char *path = in_dir("x.hup");
	struct err err = {0};
	struct source *src;

	EQ_I(source_file(in_dir("missing"), &src, &err), -ENOENT);
	HAS(err.msg, "No such file");
	EQ_I(source_file(dir, &src, &err), -EISDIR);
	path = in_dir("x.hup");
	write_bytes(path, "", 0);
	EQ_I(source_file(path, &src, &err), -EBADMSG);
	HAS(err.msg, "is not a heldup capture: it is empty");
	write_bytes(path, "#!/bin/sh\necho this is not a capture at all\n", 44);
	EQ_I(source_file(path, &src, &err), -EBADMSG);
	HAS(err.msg, "is not a heldup capture");
	unlink(path);
	write_world(path, &bytes);
	with_header(path, &bytes, CAPTURE_VERSION + 1, CAPTURE_ENDIAN);
	EQ_I(source_file(path, &src, &err), -EBADMSG);
	HAS(err.msg, "has format 2 and this heldup reads format 1");
	with_header(path, &bytes, CAPTURE_VERSION, 0x04030201);
	EQ_I(source_file(path, &src, &err), -EBADMSG);
	HAS(err.msg, "big-endian");
	remove_dir();
}

/* A chunk of raw bytes that are not compressed. */
static void add_chunk(struct buf *b, unsigned type, const void *raw, size_t len)
{
	struct chunk_header h = {.magic = CHUNK_MAGIC, .type = (uint16_t)type,
				 .raw_bytes = (uint32_t)len, .stored_bytes = (uint32_t)len};

	h.crc = crc32_of(raw, len);
	h.header_crc = crc32_of(&h, offsetof(struct chunk_header, header_crc));
	buf_add(b, &h, sizeof(h));
	buf_add(b, raw, len);
}

static void add_header(struct buf *b)
{
	struct capture_header h = {.magic = CAPTURE_MAGIC, .endian = CAPTURE_ENDIAN,
				   .version = CAPTURE_VERSION, .header_bytes = sizeof(h)};

	h.crc = crc32_of(&h, offsetof(struct capture_header, crc));
	buf_add(b, &h, sizeof(h));
}

TEST(capture_skips_what_a_newer_writer_added)
{
	CLEANUP(buf_release) struct buf b = {0};
	struct event_hdr kinds[3] = {
		{sizeof(kinds[0]), 250, 0, 0, 5}, {sizeof(kinds[0]), EV_TICK, 0, 0, 1000},
		{sizeof(kinds[0]), EV_TICK, 0, 0, 2000}};
	const char *path = in_dir("new.hup");
	struct err err = {0};
	struct seen seen;

	add_header(&b);
	add_chunk(&b, 77, "of a newer one", 14);
	add_chunk(&b, CHUNK_EVENTS, kinds, sizeof(kinds));
	add_chunk(&b, CHUNK_END, "", 0);
	write_bytes(path, b.data, b.len);
	EQ_I(read_all(path, &seen, &err), 0);
	EQ_U(seen.model->unknown_kind_cnt, 1);
	EQ_U(seen.tick_cnt, 2);
	OK(has_note(seen.model, "1 parts of a newer heldup skipped"));
	model_free(seen.model);
	remove_dir();
}

TEST(capture_checks_records_at_the_border)
{
	struct {
		struct event_hdr tick;
		struct ev_str str;
		char text[8];
		struct ev_task ok, no_str;
		struct event_hdr broken;
	} evs = {
		.tick = {sizeof(evs.tick), EV_TICK, 0, 0, 1000},
		.str = {.h = {sizeof(evs.str) + 8, EV_STR, 0, 0, 0}, .id = 3, .len = 5},
		.text = "hello",
		.ok = {.h = {sizeof(evs.ok), EV_TASK, 0, 9, 1100}, .comm = 3},
		.no_str = {.h = {sizeof(evs.ok), EV_TASK, 0, 10, 1100}, .comm = 4},
		.broken = {.size = 4000, .kind = EV_TASK, .tid = 11},
	};
	CLEANUP(buf_release) struct buf b = {0};
	const char *path = in_dir("recs.hup");
	struct err err = {0};
	struct seen seen;

	add_header(&b);
	add_chunk(&b, CHUNK_EVENTS, &evs, sizeof(evs));
	add_chunk(&b, CHUNK_END, "", 0);
	write_bytes(path, b.data, b.len);
	EQ_I(read_all(path, &seen, &err), 0);
	EQ_U(seen.model->thread_cnt, 1);
	EQ_S(seen.model->threads[0].comm, "hello");
	OK(has_note(seen.model, "1 damaged records skipped"));
	OK(has_note(seen.model, "a record is damaged"));
	model_free(seen.model);
	remove_dir();
}

/* One record of 64 bytes, as a hostile file may hold it. */
union code_record {
	struct event_hdr h;
	struct ev_module module;
	struct ev_stack stack;
	struct ev_frame frame;
	struct ev_sample sample;
	struct ev_calls calls;
	struct ev_call_name call_name;
	struct ev_window window;
	uint64_t words[8];
};

TEST(capture_checks_stacks_and_names_at_the_border)
{
	static const struct {
		union code_record r;
		enum event_verdict want;
	} rows[] = {
		{{.module = {.h = {64, EV_MODULE, 0, 0, 5}, .id = 1}}, EVENT_PASS},
		{{.module = {.h = {64, EV_MODULE, 0, 0, 5}, .id = EVENT_MODULE_MAX,
			     .build_id_len = 20}}, EVENT_PASS},
		{{.module = {.h = {64, EV_MODULE, 0, 0, 5}, .id = 0}}, EVENT_SKIP},
		{{.module = {.h = {64, EV_MODULE, 0, 0, 5}, .id = 65535}}, EVENT_SKIP},
		{{.module = {.h = {64, EV_MODULE, 0, 0, 5}, .id = 1, .build_id_len = 21}},
		 EVENT_SKIP},
		{{.module = {.h = {56, EV_MODULE, 0, 0, 5}, .id = 1}}, EVENT_SKIP},
		{{.module = {.h = {64, EV_MODULE, 0, 0, 5}, .id = 1, .path = 9}}, EVENT_SKIP},
		{{.stack = {.h = {64, EV_STACK, 0, 0, 5}, .id = 1, .user_cnt = 4}}, EVENT_PASS},
		{{.stack = {.h = {64, EV_STACK, 0, 0, 5}, .id = 1, .user_cnt = 1,
			    .kernel_cnt = 3}}, EVENT_PASS},
		{{.stack = {.h = {64, EV_STACK, 0, 0, 5}, .id = 1, .user_cnt = 4,
			    .kernel_cnt = 1}}, EVENT_SKIP},
		{{.stack = {.h = {64, EV_STACK, 0, 0, 5}, .id = 1, .user_cnt = 65535,
			    .kernel_cnt = 65535}}, EVENT_SKIP},
		{{.stack = {.h = {64, EV_STACK, 0, 0, 5}, .id = 0, .user_cnt = 4}}, EVENT_SKIP},
		{{.stack = {.h = {64, EV_STACK, 0, 0, 5}, .id = EVENT_STACK_MAX + 1,
			    .user_cnt = 4}}, EVENT_SKIP},
		{{.stack = {.h = {64, EV_STACK, 0, 0, 5}, .id = 1}}, EVENT_SKIP},
		{{.stack = {.h = {24, EV_STACK, 0, 0, 5}, .id = 1, .user_cnt = 1}}, EVENT_SKIP},
		{{.frame = {.h = {48, EV_FRAME, 0, 0, 5}, .fn = 3}}, EVENT_PASS},
		{{.frame = {.h = {48, EV_FRAME, 0, 0, 5}, .fn = 4}}, EVENT_SKIP},
		{{.frame = {.h = {48, EV_FRAME, 0, 0, 5}, .fn = 3, .file = 4}}, EVENT_SKIP},
		{{.frame = {.h = {48, EV_FRAME, 0, 0, 5}, .fn = 3, .depth = 65}}, EVENT_SKIP},
		{{.frame = {.h = {40, EV_FRAME, 0, 0, 5}, .fn = 3}}, EVENT_SKIP},
		{{.sample = {.h = {32, EV_SAMPLE, 0, 7, 5}, .stack = 1, .cnt = 1}}, EVENT_PASS},
		{{.sample = {.h = {24, EV_SAMPLE, 0, 7, 5}, .stack = 1}}, EVENT_SKIP},
		{{.calls = {.h = {56, EV_CALLS, 0, 0, 5}, .cnt = 1}}, EVENT_PASS},
		{{.calls = {.h = {56, EV_CALLS, 0, 0, 5}, .cnt = 2}}, EVENT_SKIP},
		{{.calls = {.h = {56, EV_CALLS, 0, 0, 5}, .cnt = ~0u}}, EVENT_SKIP},
		{{.calls = {.h = {16, EV_CALLS, 0, 0, 5}}}, EVENT_SKIP},
		{{.call_name = {.h = {24, EV_CALL_NAME, 0, 0, 5}, .name = 3}}, EVENT_PASS},
		{{.call_name = {.h = {24, EV_CALL_NAME, 0, 0, 5}, .name = 4}}, EVENT_SKIP},
		{{.window = {.h = {48, EV_WINDOW, 0, 0, 5}, .reason = 4}}, EVENT_SKIP},
	};
	struct {
		struct ev_str s;
		char text[8];
	} str = {{.h = {32, EV_STR, 0, 0, 0}, .id = 3, .len = 2}, "fn"};
	struct event_check c = {0};
	uint64_t skipped = 0;

	EQ_I(event_check(&c, &str, sizeof(str)), EVENT_PASS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ROW(i);
		EQ_I(event_check(&c, &rows[i].r, sizeof(rows[i].r)), rows[i].want);
		skipped += rows[i].want == EVENT_SKIP;
	}
	EQ_U(c.skipped_cnt, skipped);
	event_check_release(&c);
}

TEST(capture_does_not_overwrite_what_is_not_one)
{
	static const struct capture_opts force = {.force = true};
	const char *path = in_dir("notes.txt");
	CLEANUP(buf_release) struct buf old = {0};
	struct capture *c = NULL;
	struct err err = {0};

	write_bytes(path, "my notes of the incident", 24);
	EQ_I(capture_create(path, NULL, &c, &err), -EEXIST);
	HAS(err.msg, "is not a heldup capture");
	EQ_I(file_read(path, 100, &old, &err), 0);
	EQ_S(buf_str(&old), "my notes of the incident");
	EQ_I(capture_create(path, &force, &c, &err), 0);
	capture_free(c); /* nothing was recorded: nothing changes */
	buf_clear(&old);
	EQ_I(file_read(path, 100, &old, &err), 0);
	EQ_S(buf_str(&old), "my notes of the incident");
	EQ_I(capture_create(dir, NULL, &c, &err), -EISDIR);
	remove_dir();
}

TEST(capture_keeps_the_old_until_the_new_is_whole)
{
	CLEANUP(buf_release) struct buf before = {0};
	CLEANUP(buf_release) struct buf after = {0};
	const char *path = in_dir("keep.hup");
	struct synth *s = small_world();
	struct event_sink sink;
	struct capture *c;
	struct err err = {0};

	write_world(path, &before);
	EQ_I(capture_create(path, NULL, &c, &err), 0);
	sink = capture_sink(c);
	EQ_I(synth_play(s, &sink), 0);
	EQ_I(file_read(path, 1 << 20, &after, &err), 0);
	OK(before.len == after.len && memcmp(before.data, after.data, before.len) == 0);
	EQ_I(capture_finish(c, &err), 0);
	capture_free(c);
	synth_free(s);
	EQ_I(system("test $(ls /tmp/heldup-unit-*/ | grep -c partial) = 0"), 0);
	remove_dir();
}

TEST(capture_says_that_the_disk_is_full)
{
	struct synth *s = small_world();
	struct event_sink sink;
	struct capture *c = NULL;
	struct err err = {0};
	int rc = capture_create("/dev/full", NULL, &c, &err);

	if (rc == 0) {
		sink = capture_sink(c);
		OK(synth_play(s, &sink) < 0);
		rc = capture_finish(c, &err);
		capture_free(c);
	}
	EQ_I(rc, -ENOSPC);
	HAS(err.msg, "No space left");
	synth_free(s);
}

TEST(capture_unfinished_is_readable)
{
	const char *path = in_dir("crash.hup");
	char partial[300];
	struct synth *s = small_world();
	struct event_sink sink;
	struct capture *c;
	struct err err = {0};
	struct seen seen;

	EQ_I(capture_create(path, NULL, &c, &err), 0);
	sink = capture_sink(c);
	EQ_I(synth_play(s, &sink), 0); /* and then the process is killed */
	snprintf(partial, sizeof(partial), "%s.%d.partial", path, (int)getpid());
	EQ_I(read_all(partial, &seen, &err), 0);
	EQ_U(seen.tick_cnt, 3);
	OK(has_note(seen.model, "is not complete"));
	model_free(seen.model);
	capture_free(c);
	synth_free(s);
	remove_dir();
}
