/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of perf trace.  Times are milliseconds, of the call's begin:
 *
 *	  0.196 ( 0.006 ms): sh/160 access(filename: 0xf11bb2a0, mode: R)  = -1 ENOENT (...)
 *	  0.808 (         ): t/165 futex(uaddr: 0x7f85, op: WAIT, val: 2)  ...
 *	  0.808 ( 1.011 ms): t/165  ... [continued]: futex())              = 0
 *	      ? (         ): t/165  ... [continued]: futex())              = 0
 *	                                 fn (/lib/x.so)
 *
 * The last is a frame of the stack of the call above it.  A trace of one
 * thread does not name it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "collect/import/import_int.h"

#define BASE_NS NS_PER_SEC /* what its zero is taken to be */
#define ONE_TID 1
enum { FRAME_INDENT = 20 };

struct perf_trace {
	struct import *im;
	uint64_t now_ns;
	bool held;
	struct ev_call call;
};

struct line {
	bool has_time, has_dur, continued;
	uint64_t begin_ns, dur_ns;
	uint32_t tid;
	struct text comm;
	struct text rest;	/* from the call's name on */
};

static bool take_ms(struct text *t, uint64_t *ret_ns)
{
	uint64_t ns;

	if (!take_seconds(t, &ns))
		return false;
	*ret_ns = ns / 1000;
	return true;
}

/* "0.196 ( 0.006 ms): " */
static bool take_times(struct text *t, struct line *l)
{
	struct text s = *t;

	take_space(&s);
	l->has_time = take_ms(&s, &l->begin_ns);
	l->begin_ns += BASE_NS;
	if ((!l->has_time && !take_char(&s, '?')) || !take_word(&s, " ("))
		return false;
	take_space(&s);
	l->has_dur = take_ms(&s, &l->dur_ns);
	if (!l->has_dur && s.at < s.end && is_digit(*s.at)) { /* below 0, as a huge number */
		const char *end = text_find(&s, " ms): ");

		s.at = end ? end + strlen(" ms") : s.at;
	}
	if ((l->has_dur && !take_word(&s, " ms")) || !take_word(&s, "): "))
		return false;
	*t = s;
	return true;
}

/* "sh/160 ": the name may have blanks and slashes. */
static void take_thread(struct text *t, struct line *l)
{
	struct text s = *t;
	const char *open = text_find(t, "("), *at;
	uint64_t tid;

	l->tid = ONE_TID;
	while ((at = text_find(&s, "/")) && (!open || at < open || text_is(t, '('))) {
		s.at = at + 1;
		if (!take_uint(&s, &tid) || !text_is(&s, ' ') || tid == 0 || tid > UINT32_MAX)
			continue;
		l->tid = (uint32_t)tid;
		l->comm = text_to(t, at);
		text_trim(&l->comm);
		*t = s;
		return;
	}
}

static bool split(struct text t, struct line *l)
{
	*l = (struct line){0};
	if (!take_times(&t, l))
		return false;
	take_thread(&t, l);
	take_space(&t);
	l->continued = take_word(&t, "... [continued]: ");
	l->rest = t;
	return true;
}

/* "fd: 3<pipe:[77]>" as the first argument. */
static void take_kind(struct perf_trace *p, struct text args, struct ev_call *call)
{
	const char *name;
	uint64_t fd;

	if (!take_name(&args, &name) || !take_word(&args, ": ") || !take_uint(&args, &fd) ||
	    !take_char(&args, '<'))
		return;
	call->kind = (uint8_t)import_kind(&args);
	if (call->kind == RES_NONE)
		return;
	call->flags |= CALLF_KEY;
	p->im->flags |= WINDOWF_KINDS;
}

/* clone3 does not show its flags: a thread, until it runs a program of its own. */
static void learn(struct perf_trace *p, struct import_thread *t, struct text name,
		  struct text args, int64_t value)
{
	uint32_t tgid = t->tgid ? t->tgid : t->tid, comm = t->comm;
	bool clone = take_word(&name, "clone");

	if (take_word(&name, "execve")) {
		import_task(p->im, t, t->tid, NULL, 0);
		return;
	}
	if (value <= 0 || value > INT32_MAX || (!clone && !take_word(&name, "vfork") &&
						!take_word(&name, "fork")))
		return;
	if (!clone || (!text_is(&name, '3') && !text_find(&args, "THREAD")))
		tgid = (uint32_t)value;
	t = import_thread(p->im, (uint32_t)value);
	if (!t)
		return;
	import_task(p->im, t, tgid, NULL, 0);
	t->comm = t->comm ? t->comm : comm;
}

static void release_held(struct perf_trace *p)
{
	if (!p->held)
		return;
	p->held = false;
	p->call.stack = import_stack_end(p->im);
	import_call(p->im, &p->call);
}

static void returned(struct perf_trace *p, struct import_thread *t, const struct line *l,
		     struct ev_call *call)
{
	if (l->has_time) {
		call->begin_ns = l->begin_ns;
		call->dur_ns = l->dur_ns;
	} else { /* began before the trace; its end is not known */
		call->begin_ns = p->im->first_ns;
		call->dur_ns = p->now_ns > call->begin_ns ? p->now_ns - call->begin_ns : 0;
		call->flags |= CALLF_BEFORE;
	}
	if (t->open && t->call.begin_ns != call->begin_ns)
		import_leave(p->im, t, t->call.nr, call->begin_ns, CALL_UNKNOWN);
	else if (t->open)
		call->kind = t->call.kind, call->flags |= t->call.flags;
	t->open = false;
	p->held = true;
	p->call = *call;
	import_stack_begin(p->im, t->tgid ? t->tgid : t->tid);
}

static bool call_line(struct perf_trace *p, const struct line *l, struct import_thread *t)
{
	struct text rest = l->rest, name, args, value_text;
	struct ev_call call = {.tid = t->tid, .cpu = IMPORT_NO_CPU};
	int64_t value = -1;
	const char *at;
	size_t len = take_name(&rest, &at);
	int nr;

	if (len == 0 || !take_char(&rest, '('))
		return false;
	nr = import_nr(p->im, at, len);
	if (nr < 0)
		return false;
	name = (struct text){at, at + len};
	call.nr = (uint16_t)nr;
	take_kind(p, rest, &call);
	if (text_returned(&rest, &args, &value_text)) {
		call.result = (uint8_t)import_result_text(nr, value_text, &value);
		returned(p, t, l, &call);
		learn(p, t, name, args, value);
		return true;
	}
	if (!l->has_time || l->continued || !text_find_last(&rest, "..."))
		return false;
	import_enter(p->im, t, nr, l->begin_ns);
	t->call.kind = call.kind;
	t->call.flags |= call.flags;
	return true;
}

/* "fn (/lib/x.so)", "[0x1234] (/lib/x.so)", "fn+0x10 (/lib/x.so)" */
static bool frame_line(struct perf_trace *p, struct text t)
{
	struct import_frame f = {0};
	const char *at;

	if (take_space(&t) < FRAME_INDENT || t.at == t.end || t.end[-1] != ')')
		return false;
	if (!p->held)
		return true;
	if (!take_path(&t, &f.path))
		return false;
	if (take_char(&t, '[')) {
		take_hex(&t, &f.addr);
	} else {
		f.fn = t;
		at = text_find_last(&t, "+0x");
		if (at) {
			t.at = at + 1;
			take_hex(&t, &f.off);
			f.fn.end = at;
		}
	}
	f.kernel = text_find(&f.path, "[kernel") != NULL;
	import_stack_frame(p->im, &f);
	return true;
}

static void perf_trace_line(void *ctx, struct text line, uint64_t number)
{
	struct perf_trace *p = ctx;
	struct import_thread *t;
	struct text blank = line;
	struct line l;
	uint64_t lost;

	take_space(&blank);
	if (blank.at == blank.end)
		return;
	if (take_word(&line, "LOST ") && take_uint(&line, &lost)) {
		p->im->lost_cnt += lost < UINT32_MAX ? lost : UINT32_MAX;
		return;
	}
	release_held(p);
	if (!split(line, &l)) {
		import_skip(p->im, &line, number);
		return;
	}
	if (l.has_time && l.begin_ns + l.dur_ns > p->now_ns)
		p->now_ns = l.begin_ns + l.dur_ns;
	import_time(p->im, p->now_ns);
	t = import_thread(p->im, l.tid);
	if (!t)
		return;
	if (text_len(&l.comm))
		import_task(p->im, t, 0, l.comm.at, text_len(&l.comm));
	if (!call_line(p, &l, t))
		import_skip(p->im, &line, number);
}

static void perf_trace_any(void *ctx, struct text line, uint64_t number)
{
	struct line l;

	/* a frame and a call both begin with blanks */
	if (!split(line, &l) && frame_line(ctx, line))
		return;
	perf_trace_line(ctx, line, number);
}

static void perf_trace_end(void *ctx)
{
	release_held(ctx);
}

static void *perf_trace_open(struct import *im, struct text peek)
{
	struct perf_trace *p = xcalloc(1, sizeof(*p));

	(void)peek;
	p->im = im;
	p->now_ns = BASE_NS;
	return p;
}

static int perf_trace_looks(struct text line)
{
	struct line l;
	const char *name;

	return split(line, &l) && take_name(&l.rest, &name) && take_char(&l.rest, '(') ? 2 : 0;
}

const struct import_format import_perf_trace = {
	.name = "perf trace",
	.looks = perf_trace_looks,
	.open = perf_trace_open,
	.line = perf_trace_any,
	.end = perf_trace_end,
	.free = free,
};
