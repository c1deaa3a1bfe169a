/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of other programs.  Those in traces/ are of one program, which makes
 * two threads that share a lock and a child, by the tools of Debian 12; what
 * is expected of them was counted with grep, for strace
 *
 *	grep -vE 'resumed>|\+\+\+|---|^ > |^, |^ => |Process [0-9]+ attached$' | grep -c '('
 *
 * and for perf the lines of calls that end, and those that only begin or end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/file.h"
#include "collect/source.h"
#include "model/calls/calls.h"
#include "model/model.h"
#include "model/stack.h"
#include "unit.h"

#define TRACES "tests/unit/traces/"
#define S UINT64_C(1000000000)

static struct model *model_of(const char *path)
{
	struct model *m = model_new(NULL);
	struct event_sink sink = model_sink(m);
	struct source *src = NULL;
	struct err err = {0};
	int rc = source_file(path, &src, &err);

	if (rc < 0)
		FAIL("%s: %s", path, err.msg);
	while ((rc = source_step(src, &sink, &err)) > 0)
		;
	OK(rc == 0);
	source_free(src);
	model_finish(m);
	EQ_U(m->bad_event_cnt, 0);
	EQ_U(m->unknown_kind_cnt, 0);
	return m;
}

static struct model *model_of_text(const char *text)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct model *m;
	char path[40];

	OK(fd >= 0 && file_write_all(fd, text, strlen(text)) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	m = model_of(path);
	close(fd);
	return m;
}

static const struct call *call_at(const struct model *m, uint32_t tid, uint32_t at)
{
	uint32_t thread = model_thread_by_tid(m, tid);

	OK(thread != NO_IDX && at < m->calls->runs[thread].cnt);
	return &m->calls->calls[m->calls->runs[thread].first + at];
}

static bool has_note(const struct model *m, const char *part)
{
	for (size_t i = 0; i < m->note_cnt; i++)
		if (strstr(m->notes[i], part))
			return true;
	return false;
}

TEST(import_traces_of_tools)
{
	static const struct {
		const char *file, *reason;
		uint64_t calls, threads, stacks, again, none, failed;
		uint32_t flags;
	} rows[] = {
		{"strace-f-ttt-T-yy.txt.gz", "strace", 121, 4, 0, 3, 2, 4, WINDOWF_KINDS},
		{"strace-f-r.txt.gz", "strace", 129, 4, 0, 3, 2, 4, 0},
		{"strace-f-tt-stderr.txt.gz", "strace", 127, 4, 0, 3, 2, 4, 0},
		{"strace-k.txt.gz", "strace", 127, 4, 76, 4, 2, 4, WINDOWF_STACKS},
		{"strace-plain.txt", "strace", 30, 1, 0, 0, 0, 1, 0},
		{"perf-trace.txt.gz", "perf trace", 128, 4, 0, 3, 2, 3, WINDOWF_KINDS},
		{"perf-trace-fp.txt.gz", "perf trace", 129, 4, 42, 3, 2, 3, WINDOWF_STACKS},
		{"perf-script-g.txt.gz", "perf script", 129, 4, 160, 3, 2, 4,
		 WINDOWF_STACKS | WINDOWF_SWITCHES},
		{"perf-script-syscalls.txt.gz", "perf script", 118, 4, 0, 3, 2, 3, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t results[CALL_RESULT_CNT] = {0};
		const struct model_calls *c;
		char path[80];
		struct model *m;

		ROW(i);
		snprintf(path, sizeof(path), TRACES "%s", rows[i].file);
		m = model_of(path);
		c = m->calls;
		for (size_t k = 0; k < c->cnt; k++)
			results[c->calls[k].result]++;
		EQ_S(c->reason, rows[i].reason);
		EQ_U(c->skipped_cnt, 0);
		EQ_U(c->cnt, rows[i].calls);
		EQ_U(m->thread_cnt, rows[i].threads);
		EQ_U(m->stack_cnt, rows[i].stacks);
		EQ_U(results[CALL_AGAIN], rows[i].again);
		EQ_U(results[CALL_NONE], rows[i].none);
		EQ_U(results[CALL_FAILED], rows[i].failed);
		EQ_U(results[CALL_UNFINISHED], 0);
		EQ_U(c->flags, rows[i].flags | WINDOWF_FOREIGN);
		model_free(m);
	}
}

static bool stack_has(const struct model *m, const struct call *call, const char *fn)
{
	const struct stack *s;

	if (call->stack == NO_IDX)
		return false;
	s = &m->stacks[call->stack];
	for (int i = s->kernel_cnt; i < s->kernel_cnt + s->user_cnt; i++) {
		const struct fn *f = model_fn(m, s->frames[i], s->tgid);
		const struct module *mod = model_module(m, s->frames[i]);

		if (f && strcmp(f->name, fn) == 0 && mod && strstr(mod->path, "/srv"))
			return true;
	}
	return false;
}

/* ask reads, work sleeps; a walk by frame pointers misses who calls into libc, here ask. */
TEST(import_stacks_have_functions)
{
	static const struct {
		const char *file, *call, *fn;
		unsigned least;
	} rows[] = {
		{"strace-k.txt.gz", "recvfrom", "ask", 3},
		{"strace-k.txt.gz", "clock_nanosleep", "work", 8},
		{"perf-trace-fp.txt.gz", "recvfrom", "main", 3},
		{"perf-script-g.txt.gz", "recvfrom", "main", 3},
		{"perf-script-g.txt.gz", "clock_nanosleep", "f", 8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned cnt = 0;
		char path[80];
		struct model *m;

		ROW(i);
		snprintf(path, sizeof(path), TRACES "%s", rows[i].file);
		m = model_of(path);
		for (size_t k = 0; k < m->calls->cnt; k++) {
			const struct call *call = &m->calls->calls[k];

			cnt += strcmp(model_call_name(m, call->nr), rows[i].call) == 0 &&
			       stack_has(m, call, rows[i].fn);
		}
		EQ_U(cnt, rows[i].least);
		model_free(m);
	}
}

/* Threads of one process are told from clone, names of programs from execve. */
TEST(import_processes)
{
	struct model *m = model_of(TRACES "strace-f-ttt-T-yy.txt.gz");
	uint32_t of_first = 0, children = 0;

	for (size_t i = 0; i < m->thread_cnt; i++) {
		const struct thread *t = &m->threads[i];

		of_first += t->tgid == m->threads[0].tid;
		children += strcmp(t->comm, "true") == 0 && t->tgid == t->tid;
		OK(t->exited);
	}
	EQ_U(of_first, 3);
	EQ_U(children, 1);
	EQ_S(m->threads[0].comm, "srv");
	model_free(m);
}

TEST(import_switches_and_cpus)
{
	struct model *m = model_of(TRACES "perf-script-g.txt.gz");
	unsigned blocked = 0, sleeps = 0;

	for (size_t i = 0; i < m->calls->cnt; i++) {
		const struct call *c = &m->calls->calls[i];

		OK(c->cpu < 2);
		if (strcmp(model_call_name(m, c->nr), "clock_nanosleep") != 0)
			continue;
		sleeps++;
		blocked += !!(c->flags & CALLF_BLOCKED);
	}
	EQ_U(sleeps, 8);
	EQ_U(blocked, 8);
	model_free(m);
}

TEST(import_strace_halves)
{
	struct model *m = model_of_text(
		"10 1700000000.000000 read(3<pipe:[5]>,  <unfinished ...>\n"
		"11 1700000001.000000 <... futex resumed>) = -1 ETIMEDOUT (Connection timed out) "
		"<4.000000>\n"
		"11 1700000001.500000 futex(0x1, FUTEX_WAIT, 2, NULL <unfinished ...>\n"
		"10 1700000002.000000 <... read resumed>\"x\", 1) = 1 <2.000000>\n"
		"12 1700000002.000000 poll([{fd=3}], 1, 100) = 0 (Timeout) <0.100000>\n"
		"10 1700000003.000000 nanosleep({tv_sec=9}, NULL) = ? ERESTART_RESTARTBLOCK "
		"(Interrupted by signal) <0.250000>\n"
		"10 1700000003.250000 --- SIGINT {si_signo=SIGINT} ---\n"
		"something else\n"
		"12 1700000004.000000 exit(0) = ?\n"
		"12 1700000004.000000 +++ exited with 0 +++\n"
		"10 1700000004.500000 wri");
	const struct call *c = call_at(m, 10, 0);

	EQ_U(m->calls->cnt, 6);
	EQ_U(c->dur_ns, 2 * S);
	EQ_U(c->kind, RES_PIPE);
	EQ_U(c->flags, CALLF_KEY);
	EQ_U(call_at(m, 10, 1)->result, CALL_INTR);
	c = call_at(m, 11, 0); /* began before the trace: its length tells when */
	EQ_U(c->result, CALL_TIMEOUT);
	EQ_U(c->begin_ns, 1699999997 * S);
	OK(c->flags & CALLF_BEFORE);
	c = call_at(m, 11, 1); /* has not returned */
	EQ_U(c->result, CALL_UNFINISHED);
	EQ_U(c->dur_ns, 3 * S);
	EQ_U(call_at(m, 12, 0)->result, CALL_NONE);
	EQ_U(m->calls->begin_ns, 1700000000 * S);
	EQ_U(m->calls->end_ns, 1700000000 * S + 9 * S / 2);
	EQ_U(m->calls->skipped_cnt, 2);
	EQ_U(m->note_cnt, 2);
	OK(has_note(m, "2 lines were not understood, the first is line 8: something else"));
	model_free(m);
}

/* A message of strace in the middle of a line: the other half may be one of two. */
TEST(import_strace_cut_by_a_message)
{
	struct model *m = model_of_text(
		"1700000000.000000 clone(flags=SIGCHLDstrace: Process 8 attached\n"
		", child_tidptr=0x7f) = 8 <0.000100>\n"
		"[pid     7] 1700000001.000000 clone(flags=SIGCHLDstrace: Process 9 attached\n"
		" <unfinished ...>\n"
		"[pid     8] 1700000001.100000 getpid() = 8 <0.000001>\n"
		"[pid     7] 1700000001.500000 <... clone resumed>, child_tidptr=0x7f) = 9 "
		"<0.500000>\n");

	EQ_U(m->calls->cnt, 3);
	EQ_U(m->calls->skipped_cnt, 0);
	EQ_U(call_at(m, 7, 0)->dur_ns, 100000);
	EQ_U(call_at(m, 7, 1)->dur_ns, S / 2);
	EQ_U(call_at(m, 7, 1)->result, CALL_OK);
	model_free(m);
}

TEST(import_strace_clocks)
{
	struct model *m = model_of_text("23:59:59.900000 read(3, \"\", 1) = 1 <0.000010>\n"
					"00:00:00.100000 read(3, \"\", 1) = 1 <0.000010>\n");

	EQ_U(call_at(m, 1, 1)->begin_ns - call_at(m, 1, 0)->begin_ns, S / 5);
	model_free(m);
	m = model_of_text("7     0.000000 read(3, \"\", 1) = 1\n"
			  "7     0.250000 write(3, \"\", 1) = 1\n"
			  "7     0.500000 close(3) = 0\n");
	EQ_U(call_at(m, 7, 1)->begin_ns - call_at(m, 7, 0)->begin_ns, S / 4);
	EQ_U(call_at(m, 7, 1)->dur_ns, S / 2); /* until the next line */
	EQ_U(call_at(m, 7, 2)->dur_ns, 0);
	EQ_U(call_at(m, 7, 2)->result, CALL_OK);
	model_free(m);
}

/* What a machine does not know gets a number above all of a kernel's. */
TEST(import_unknown_names)
{
	struct model *m = model_of_text("9 1700000000.000000 frob(3) = 1 <0.000010>\n"
					"9 1700000000.100000 syscall_0x3e7(3) = 1 <0.000010>\n"
					"9 1700000000.200000 frob(3) = 1 <0.000010>\n");

	OK(call_at(m, 9, 0)->nr >= 1024);
	EQ_U(call_at(m, 9, 0)->nr, call_at(m, 9, 2)->nr);
	EQ_S(model_call_name(m, call_at(m, 9, 0)->nr), "frob");
	EQ_S(model_call_name(m, call_at(m, 9, 1)->nr), "syscall_0x3e7");
	model_free(m);
}

TEST(import_perf_trace_lines)
{
	struct model *m = model_of_text(
		"         ? (         ): a b/1/5  ... [continued]: epoll_wait())  = 1\n"
		"     0.500 (         ): a b/1/5 futex(uaddr: 0x7f, op: WAIT)     ...\n"
		"LOST 7 events!\n"
		"     1.000 ( 0.250 ms): c/6 read(fd: 3<socket:[5]>, count: 9)    = -1 EAGAIN "
		"(Resource temporarily unavailable)\n"
		"     2.000 ( 1.000 ms): c/6 nanosleep(rqtp: 0x1)                 = -1 (unknown) "
		"(INTERNAL ERROR: strerror_r(516, [buf], 128)=22)\n");

	EQ_U(m->calls->cnt, 4);
	EQ_U(m->calls->lost_cnt, 7);
	EQ_S(m->threads[model_thread_by_tid(m, 5)].comm, "a b/1");
	EQ_U(call_at(m, 6, 0)->result, CALL_AGAIN);
	EQ_U(call_at(m, 6, 0)->kind, RES_SOCKET);
	EQ_U(call_at(m, 6, 0)->dur_ns, 250000);
	EQ_U(call_at(m, 6, 1)->result, CALL_INTR);
	EQ_U(call_at(m, 5, 1)->result, CALL_UNFINISHED);
	EQ_U(call_at(m, 5, 1)->dur_ns, 2500000);
	OK(call_at(m, 5, 0)->flags & CALLF_BEFORE);
	model_free(m);
}

TEST(import_perf_script_lines)
{
	struct model *m = model_of_text(
		"tokio rt 1  12/15 [003] 10.000000000: raw_syscalls:sys_enter: NR 0 (3, 7f, 1)\n"
		"tokio rt 1  12/15 [003] 10.100000000: sched:sched_switch: tokio rt 1:15 [120] S "
		"==> swapper/3:0 [120]\n"
		"tokio rt 1  12/15 [002] 10.300000000: raw_syscalls:sys_exit: NR 0 = -110\n"
		"tokio rt 1  12/15 [002] 10.310000000: sched:sched_switch: prev_comm=x prev_pid=15 "
		"prev_prio=120 prev_state=R ==> next_comm=y next_pid=3 next_prio=120\n"
		"tokio rt 1  12/15 [002] 10.400000000: raw_syscalls:sys_enter: NR 1 (3, 7f, 1)\n"
		"kworker/0:1   7 [000] 10.500000000: block:block_rq_issue: 8,0 R\n");
	const struct thread *t = &m->threads[model_thread_by_tid(m, 15)];

	EQ_S(t->comm, "tokio rt 1");
	EQ_U(t->tgid, 12);
	EQ_U(call_at(m, 15, 0)->dur_ns, 3 * S / 10);
	EQ_U(call_at(m, 15, 0)->result, CALL_TIMEOUT);
	EQ_U(call_at(m, 15, 0)->cpu, 3);
	EQ_U(call_at(m, 15, 0)->flags, CALLF_BLOCKED);
	EQ_U(call_at(m, 15, 1)->flags, CALLF_SWITCHED);
	EQ_U(call_at(m, 15, 1)->result, CALL_UNFINISHED);
	EQ_U(m->calls->skipped_cnt, 1);
	model_free(m);
}

static void refused(const char *text, size_t len, const char *why)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct source *src = NULL;
	struct err err = {0};
	char path[40];

	OK(fd >= 0 && file_write_all(fd, text, len) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	OK(source_file(path, &src, &err) < 0);
	HAS(err.msg, why);
	close(fd);
}

TEST(import_refuses_other_text)
{
	static const char *const rows[] = {
		"hello\n", "main(3) is a function\nreturn f(x) = 4\n\n\nmore\nmore\nmore\nmore\n",
		"\n\n\n", "\x1f\x8b", "\x1f\x8bxxxxxxxxxxxxxxxxxx", "12 34 56\n",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		refused(rows[i], strlen(rows[i]), "is not a heldup capture");
	}
	refused("PERFILE2\0\0\0\0\0\0", 14, "perf script -i");
	refused("", 0, "it is empty");
}

/* A packed trace that is cut is read as far as it goes, and says so. */
TEST(import_cut_gzip)
{
	char bytes[4096];
	FILE *f = fopen(TRACES "strace-k.txt.gz", "re");
	int fd = memfd_create("gz", MFD_CLOEXEC);
	struct model *m;
	char path[40];

	OK(f && fd >= 0);
	EQ_U(fread(bytes, 1, sizeof(bytes), f), sizeof(bytes));
	fclose(f);
	OK(file_write_all(fd, bytes, sizeof(bytes)) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	m = model_of(path);
	OK(m->calls->cnt > 10 && m->calls->cnt < 127);
	OK(has_note(m, "packed and damaged or cut: read to line"));
	model_free(m);
	close(fd);
}
