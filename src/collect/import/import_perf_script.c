/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of perf script, of raw_syscalls or syscalls, with sched_switch or
 * without, with call chains or without:
 *
 *	comm 12/13 [001] 14145.598443:  raw_syscalls:sys_exit: NR 59 = 0
 *		ffffffff81415e9c syscall_exit_work+0xbc ([kernel.kallsyms])
 *		           1ab70 _start+0x0 (/usr/lib/ld.so)
 *
 * A stack comes after its event and ends with an empty line, so what it
 * belongs to waits for the next line that is not of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "collect/import/import_int.h"

enum { INLINED_MAX = 32, INLINED_BYTES = 1 << 16 };

struct perf_script {
	struct import *im;
	bool stacking;		/* the stack of the last event is read */
	uint32_t stack_tid;	/* whose */
	bool held;
	struct ev_call call;	/* returned; it takes the stack if it has none */
	struct text inlined_fn[INLINED_MAX]; /* inlined into the next frame, in inlined_text */
	uint32_t inlined_cnt;
	struct buf inlined_text;
};

enum event { LINE_ENTER, LINE_LEAVE, LINE_SWITCH, LINE_OTHER };

struct line {
	struct text comm;
	uint32_t pid, tid;	/* pid 0: not known */
	uint16_t cpu;
	uint64_t ns;
	enum event event;
	struct text name;	/* of the call, when the event names it */
	struct text rest;
};

/* The last word of a text comes off. */
static struct text take_last(struct text *t)
{
	struct text word = {t->end, t->end};

	text_trim(t);
	word.at = word.end = t->end;
	while (word.at > t->at && word.at[-1] != ' ' && word.at[-1] != '\t')
		word.at--;
	t->end = word.at;
	return word;
}

/* From the end: the comm may have any characters. */
static bool split_head(struct text t, struct line *l)
{
	struct text word = take_last(&t);
	uint64_t value;

	if (!take_seconds(&word, &l->ns) || !take_char(&word, ':') || word.at != word.end)
		return false;
	word = take_last(&t);
	l->cpu = IMPORT_NO_CPU;
	if (take_char(&word, '[')) {
		if (!take_uint(&word, &value))
			return false;
		l->cpu = value < IMPORT_NO_CPU ? (uint16_t)value : IMPORT_NO_CPU;
		word = take_last(&t);
	}
	if (!take_uint(&word, &value) || value > UINT32_MAX)
		return false;
	l->tid = (uint32_t)value;
	if (take_char(&word, '/')) {
		l->pid = l->tid;
		if (!take_uint(&word, &value) || value > UINT32_MAX)
			return false;
		l->tid = (uint32_t)value;
	}
	text_trim(&t);
	l->comm = t;
	return word.at == word.end;
}

static bool split(struct text t, struct line *l)
{
	static const struct {
		const char *text;
		enum event event;
		bool named;
	} rows[] = {
		{"raw_syscalls:sys_enter: ", LINE_ENTER, false},
		{"raw_syscalls:sys_exit: ", LINE_LEAVE, false},
		{"syscalls:sys_enter_", LINE_ENTER, true},
		{"syscalls:sys_exit_", LINE_LEAVE, true},
		{"sched:sched_switch: ", LINE_SWITCH, false},
	};
	const char *at = text_find(&t, ": "), *name;
	size_t len;

	*l = (struct line){.event = LINE_OTHER};
	if (!at || !split_head(text_to(&t, at + 1), l))
		return false;
	l->rest = text_from(&t, at + 1);
	take_space(&l->rest);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!take_word(&l->rest, rows[i].text))
			continue;
		if (rows[i].named) {
			len = take_name(&l->rest, &name);
			if (!len || !take_char(&l->rest, ':'))
				return true;
			l->name = (struct text){name, name + len};
		}
		l->event = rows[i].event;
		break;
	}
	return true;
}

/* ---- stacks */

static void end_stack(struct perf_script *p)
{
	uint32_t stack = p->stacking ? import_stack_end(p->im) : 0;
	struct import_thread *t;

	p->inlined_cnt = 0;
	p->stacking = false;
	if (p->held) {
		p->held = false;
		p->call.stack = p->call.stack ? p->call.stack : stack;
		import_call(p->im, &p->call);
		return;
	}
	t = stack ? import_thread(p->im, p->stack_tid) : NULL;
	if (t && t->open)
		t->call.stack = stack;
}

static void begin_stack(struct perf_script *p, const struct line *l)
{
	p->stacking = true;
	p->stack_tid = l->tid;
	import_stack_begin(p->im, l->pid ? l->pid : l->tid);
}

/* Inlined functions stand before the one that they are inlined into, innermost first. */
static void put_frame(struct perf_script *p, struct import_frame *f)
{
	for (uint32_t i = 0; i < p->inlined_cnt; i++) {
		struct import_frame in = *f;

		in.fn = p->inlined_fn[i];
		in.depth = p->inlined_cnt - i;
		import_stack_frame(p->im, &in);
	}
	p->inlined_cnt = 0;
	import_stack_frame(p->im, f);
}

static void keep_inlined(struct perf_script *p, const struct text *fn)
{
	size_t at;

	if (p->inlined_cnt == INLINED_MAX)
		return;
	if (p->inlined_cnt == 0) {
		buf_clear(&p->inlined_text);
		buf_reserve(&p->inlined_text, INLINED_BYTES); /* it must not move */
	}
	at = p->inlined_text.len;
	if (at + text_len(fn) >= INLINED_BYTES)
		return;
	buf_add(&p->inlined_text, fn->at, text_len(fn));
	p->inlined_fn[p->inlined_cnt++] = (struct text){
		p->inlined_text.data + at, p->inlined_text.data + at + text_len(fn)};
}

/* "  7f12 fn+0x1a (/lib/x.so)"; false when it is none. */
static bool frame_line(struct perf_script *p, struct text t)
{
	struct import_frame f = {0};
	const char *at;

	if (take_space(&t) == 0 || !take_hex(&t, &f.addr) || take_space(&t) == 0 ||
	    t.at == t.end || t.end[-1] != ')')
		return false;
	if (!p->stacking)
		return true;
	if (!take_path(&t, &f.path))
		return false;
	f.fn = t;
	at = text_find_last(&t, "+0x");
	if (at) {
		t.at = at + 1;
		take_hex(&t, &f.off);
		f.fn.end = at;
	}
	if (text_len(&f.path) == 7 && memcmp(f.path.at, "inlined", 7) == 0) {
		keep_inlined(p, &f.fn);
		return true;
	}
	f.kernel = f.addr >> 63;
	put_frame(p, &f);
	return true;
}

/* ---- events */

static int call_nr(struct perf_script *p, struct line *l)
{
	uint64_t nr;

	if (text_len(&l->name))
		return import_nr(p->im, l->name.at, text_len(&l->name));
	if (!take_word(&l->rest, "NR ") || !take_uint(&l->rest, &nr))
		return -1;
	return import_nr_known(p->im, nr);
}

static bool enter(struct perf_script *p, struct line *l)
{
	struct import_thread *t = import_thread(p->im, l->tid);
	int nr = call_nr(p, l);

	if (nr < 0)
		return false;
	if (!t)
		return true;
	import_task(p->im, t, l->pid, l->comm.at, text_len(&l->comm));
	t->cpu = l->cpu;
	import_enter(p->im, t, nr, l->ns);
	return true;
}

/* " = -11" or " 0x10" */
static bool take_value(struct text *t, int64_t *ret)
{
	uint64_t value;
	bool minus;

	take_space(t);
	if (take_char(t, '='))
		take_space(t);
	minus = take_char(t, '-');
	if (t->end - t->at > 2 && t->at[1] == 'x' ? !take_hex(t, &value) : !take_uint(t, &value))
		return false;
	*ret = minus ? -(int64_t)(value & INT64_MAX) : (int64_t)value;
	return true;
}

static bool leave(struct perf_script *p, struct line *l)
{
	struct import_thread *t = import_thread(p->im, l->tid);
	int64_t value;
	int nr;

	if (t && t->open && take_word(&l->rest, "NR -1 = ")) { /* rt_sigreturn forgot its own */
		import_leave(p->im, t, -1, l->ns, CALL_OK);
		return true;
	}
	nr = call_nr(p, l);
	if (nr < 0 || !take_value(&l->rest, &value))
		return false;
	if (!t || import_never_returns(nr))
		return true;
	import_task(p->im, t, l->pid, l->comm.at, text_len(&l->comm));
	if (t->open && t->call.nr != nr)
		import_leave(p->im, t, t->call.nr, l->ns, CALL_UNKNOWN);
	if (!t->open)
		t->call = (struct ev_call){.begin_ns = p->im->first_ns, .tid = t->tid,
					   .nr = (uint16_t)nr, .cpu = l->cpu,
					   .flags = CALLF_BEFORE};
	t->open = false;
	p->held = true;
	p->call = t->call;
	p->call.result = (uint8_t)import_result(nr, value);
	p->call.dur_ns = l->ns > p->call.begin_ns ? l->ns - p->call.begin_ns : 0;
	return true;
}

/* prev_comm=sh prev_pid=12 prev_prio=120 prev_state=S ==> ..., or sh:12 [120] S ==> ... */
static bool switched(struct perf_script *p, struct text t)
{
	const char *to = text_find(&t, " ==> "), *at;
	bool runs;
	uint64_t tid;

	if (!to)
		return false;
	t.end = to;
	runs = t.end[-1] == 'R' || (t.end[-1] == '+' && t.end - t.at > 1 && t.end[-2] == 'R');
	at = text_find_last(&t, "prev_pid=");
	if (at) {
		t.at = at + strlen("prev_pid=");
	} else {
		at = text_find_last(&t, " [");
		if (!at)
			return false;
		t.end = at;
		at = text_find_last(&t, ":");
		t.at = at ? at + 1 : t.at;
	}
	if (!take_uint(&t, &tid) || tid > UINT32_MAX)
		return false;
	p->im->flags |= WINDOWF_SWITCHES;
	import_switch(p->im, (uint32_t)tid, runs);
	return true;
}

static void perf_script_line(void *ctx, struct text line, uint64_t number)
{
	struct perf_script *p = ctx;
	struct text all = line;
	struct line l;
	bool good = true;

	if (text_is(&line, '\t') || text_is(&line, ' '))
		if (frame_line(p, line))
			return;
	end_stack(p);
	text_trim(&line);
	if (text_len(&line) == 0 || text_is(&line, '#'))
		return;
	if (!split(line, &l)) {
		import_skip(p->im, &all, number);
		return;
	}
	if (l.tid == 0 && l.event != LINE_SWITCH)
		return;
	import_time(p->im, l.ns);
	switch (l.event) {
	case LINE_ENTER:
		good = enter(p, &l);
		break;
	case LINE_LEAVE:
		good = leave(p, &l);
		break;
	case LINE_SWITCH:
		good = switched(p, l.rest);
		break;
	default:
		good = false;
	}
	if (good)
		begin_stack(p, &l);
	else
		import_skip(p->im, &all, number);
}

static void perf_script_end(void *ctx)
{
	end_stack(ctx);
}

static void *perf_script_open(struct import *im, struct text peek)
{
	struct perf_script *p = xcalloc(1, sizeof(*p));

	(void)peek;
	p->im = im;
	return p;
}

static void perf_script_free(void *ctx)
{
	struct perf_script *p = ctx;

	buf_release(&p->inlined_text);
	free(p);
}

static int perf_script_looks(struct text line)
{
	struct line l;

	text_trim(&line);
	return split(line, &l) && l.event != LINE_OTHER ? 2 : 0;
}

const struct import_format import_perf_script = {
	.name = "perf script",
	.looks = perf_script_looks,
	.open = perf_script_open,
	.line = perf_script_line,
	.end = perf_script_end,
	.free = perf_script_free,
};
