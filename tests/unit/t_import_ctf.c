/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CTF trace laid out as LTTng lays out those of the kernel, written here:
 * LTTng's own modules are not there on each kernel.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "collect/source.h"
#include "model/calls/calls.h"
#include "model/model.h"
#include "unit.h"

#ifdef HAVE_BABELTRACE2

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 8; align = 8; signed = true; encoding = UTF8; } := text_t;\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"	packet.header := struct { uint32_t magic; uint32_t stream_id; }; };\n"
	"env { domain = \"kernel\"; tracer_name = \"lttng-modules\"; };\n"
	"clock { name = monotonic; freq = 1000000000; offset_s = 1700000000; };\n"
	"typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := time_t;\n"
	"stream { id = 0;\n"
	"	event.header := struct { uint32_t id; time_t timestamp; };\n"
	"	event.context := struct { int32_t _tid; int32_t _pid; text_t _procname[8]; };\n"
	"	packet.context := struct { time_t timestamp_begin; time_t timestamp_end;\n"
	"		uint64_t content_size; uint64_t packet_size; uint64_t events_discarded;\n"
	"		uint32_t cpu_id; }; };\n"
	"event { name = \"syscall_entry_read\"; id = 0; stream_id = 0;\n"
	"	fields := struct { uint32_t _fd; }; };\n"
	"event { name = \"syscall_exit_read\"; id = 1; stream_id = 0;\n"
	"	fields := struct { int64_t _ret; }; };\n"
	"event { name = \"sched_switch\"; id = 2; stream_id = 0;\n"
	"	fields := struct { int32_t _prev_tid; int64_t _prev_state;\n"
	"		int32_t _next_tid; }; };\n"
	"event { name = \"irq_handler_entry\"; id = 3; stream_id = 0;\n"
	"	fields := struct { int32_t _irq; }; };\n";

static void add_event(struct buf *b, uint32_t id, uint64_t ns, int32_t tid)
{
	int32_t pid = 40;

	buf_add(b, &id, sizeof(id));
	buf_add(b, &ns, sizeof(ns));
	buf_add(b, &tid, sizeof(tid));
	buf_add(b, &pid, sizeof(pid));
	buf_add(b, "server\0", 8);
}

static void add_read(struct buf *b, uint64_t begin_ns, uint64_t end_ns, int32_t tid, int64_t ret)
{
	uint32_t fd = 3;

	add_event(b, 0, begin_ns, tid);
	buf_add(b, &fd, sizeof(fd));
	if (!end_ns)
		return;
	add_event(b, 1, end_ns, tid);
	buf_add(b, &ret, sizeof(ret));
}

static void add_switch(struct buf *b, uint64_t ns, int32_t prev, int64_t state, int32_t next)
{
	add_event(b, 2, ns, prev);
	buf_add(b, &prev, sizeof(prev));
	buf_add(b, &state, sizeof(state));
	buf_add(b, &next, sizeof(next));
}

/* One packet of one CPU around the events. */
static void write_stream(const char *dir, const struct buf *events, uint32_t cpu, uint64_t lost)
{
	struct __attribute__((packed)) {
		uint32_t magic, stream;
		uint64_t begin, end, content, packet, discarded;
		uint32_t cpu;
	} head = {0xc1fc1fc1, 0, 0, 1 << 30, 0, 0, lost, cpu};
	char path[160];
	int fd;

	head.content = head.packet = (sizeof(head) + events->len) * 8;
	snprintf(path, sizeof(path), "%s/channel0_%u", dir, cpu);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	OK(fd >= 0 && file_write_all(fd, (void *)&head, sizeof(head)) == 0 &&
	   file_write_all(fd, events->data, events->len) == 0);
	close(fd);
}

/* session/kernel, as lttng create makes it. */
static void make_dir(char *root, char *kernel, size_t size)
{
	char path[160];
	int fd;

	OK(mkdtemp(root));
	snprintf(kernel, size, "%s/kernel", root);
	OK(mkdir(kernel, 0755) == 0);
	snprintf(path, sizeof(path), "%s/metadata", kernel);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	OK(fd >= 0 && file_write_all(fd, metadata, strlen(metadata)) == 0);
	close(fd);
}

static void remove_dir(const char *root)
{
	char path[160];
	static const char *const names[] = {"/kernel/metadata", "/kernel/channel0_0",
					    "/kernel/channel0_1", "/kernel", ""};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, names[i]);
		(void)!remove(path);
	}
}

static struct model *model_of(const char *path)
{
	struct model *m = model_new(NULL);
	struct event_sink sink = model_sink(m);
	struct source *src = NULL;
	struct err err = {0};

	if (source_file(path, &src, &err) < 0)
		FAIL("%s", err.msg);
	while (source_step(src, &sink, &err) > 0)
		;
	source_free(src);
	model_finish(m);
	EQ_U(m->bad_event_cnt, 0);
	return m;
}

static struct call call_of(const struct model *m, uint32_t tid, uint32_t at)
{
	uint32_t thread = model_thread_by_tid(m, tid);

	OK(thread != NO_IDX && at < m->calls->runs[thread].cnt);
	return m->calls->calls[m->calls->runs[thread].first + at];
}

TEST(import_ctf)
{
	char root[] = "/tmp/heldup-unit-XXXXXX", kernel[64];
	struct buf one = {0}, two = {0};
	struct model *m;
	struct call c;

	make_dir(root, kernel, sizeof(kernel));
	add_read(&one, 1000, 5000, 41, 7);
	add_switch(&one, 6000, 41, 0, 0);
	add_read(&one, 7000, 9000, 41, -11);
	add_event(&one, 3, 9500, 41);
	buf_add(&one, &(int32_t){1}, 4);
	add_read(&one, 10000, 0, 41, 0); /* never returns */
	add_read(&two, 2000, 0, 42, 0);
	add_switch(&two, 2500, 42, 1, 0);
	add_event(&two, 1, 8000, 42);
	buf_add(&two, &(int64_t){0}, 8);
	add_switch(&two, 20000, 42, 1, 0);
	write_stream(kernel, &one, 0, 0);
	write_stream(kernel, &two, 1, 0);
	m = model_of(root);
	remove_dir(root);

	EQ_U(m->calls->cnt, 4);
	EQ_S(m->calls->reason, "LTTng");
	EQ_U(m->calls->flags, WINDOWF_FOREIGN | WINDOWF_SWITCHES);
	EQ_U(m->calls->skipped_cnt, 1); /* the interrupt */
	EQ_U(m->calls->begin_ns, UINT64_C(1700000000000001000));
	c = call_of(m, 41, 0);
	EQ_U(c.nr, SYS_read);
	EQ_U(c.dur_ns, 4000);
	EQ_U(c.cpu, 0);
	EQ_U(c.result, CALL_OK);
	c = call_of(m, 41, 1);
	EQ_U(c.result, CALL_AGAIN);
	EQ_U(c.flags, CALLF_SWITCHED);
	c = call_of(m, 41, 2);
	EQ_U(c.result, CALL_UNFINISHED);
	EQ_U(c.dur_ns, 10000);
	c = call_of(m, 42, 0);
	EQ_U(c.result, CALL_NONE);
	EQ_U(c.dur_ns, 6000);
	EQ_U(c.flags, CALLF_BLOCKED);
	EQ_U(m->threads[c.thread].tgid, 40);
	EQ_S(m->threads[c.thread].comm, "server");
	model_free(m);
	buf_release(&one);
	buf_release(&two);
}

/* Whatever byte is wrong: an error or a shorter trace, and this process lives. */
TEST(import_ctf_damaged)
{
	char root[] = "/tmp/heldup-unit-XXXXXX", kernel[64];
	struct buf one = {0};
	unsigned refused = 0;

	make_dir(root, kernel, sizeof(kernel));
	for (int i = 0; i < 20; i++)
		add_read(&one, 1000 + (uint64_t)i * 100, 1050 + (uint64_t)i * 100, 41, 7);
	for (size_t at = 0; at < one.len; at += one.len / 12) {
		struct source *src = NULL;
		struct err err = {0};
		char keep = one.data[at];

		one.data[at] = (char)(keep ^ 0x5a);
		write_stream(kernel, &one, 0, at);
		one.data[at] = keep;
		if (source_file(root, &src, &err) < 0) {
			refused++;
			continue;
		}
		source_free(src);
		model_free(model_of(root));
	}
	OK(refused < 12);
	remove_dir(root);
	buf_release(&one);
}

#endif

TEST(import_dir_without_a_trace)
{
	char root[] = "/tmp/heldup-unit-XXXXXX";
	struct source *src = NULL;
	struct err err = {0};

	OK(mkdtemp(root));
	OK(source_file(root, &src, &err) < 0);
	HAS(err.msg, "is a directory, not a heldup capture");
	OK(rmdir(root) == 0);
}
