/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of strace.  A line is, with what its options add,
 *
 *	[pid 12] | 12 | 12<comm>   12:00:00.1 | 1690000000.1 | 0.1   name(...) = 3 <0.1>
 *
 * or the half of one (<unfinished ...>, <... name resumed>), the end of a
 * thread (+++), a signal (---), or a frame of the stack of the line before.
 * So a call is held until the next line that is not a frame.
 *
 * Without -T a call is said to last until its thread's next line: too long by
 * what the thread does between calls, and never too short.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "collect/import/import_int.h"

#define DAY_NS (86400 * NS_PER_SEC)
#define EPOCH_MIN_NS (UINT64_C(1) << 27) * NS_PER_SEC /* 1974: smaller is since the line before */
enum { PID_MAX = 1 << 22, LINE_NS = 1000 };

struct strace {
	struct import *im;
	uint32_t main_tid;	/* of lines that name none */
	uint64_t now_ns;
	uint64_t tod_ns, day_ns;
	bool timed, has_dur;	/* some lines have a time, a length */
	bool held;
	bool held_dur;		/* its length is known */
	struct ev_call call;	/* held */
	uint32_t half_tid;	/* of a call whose line was cut in two by a message of strace */
};

struct line {
	uint32_t tid;
	bool timed;
	struct text comm;
	struct text rest;
};

/* ---- the parts of a line */

static bool take_clock(struct text *t, uint64_t *ret_ns)
{
	struct text s = *t;
	uint64_t hour, minute, ns;

	if (!take_uint(&s, &hour) || !take_char(&s, ':') || hour > 23 || !take_uint(&s, &minute) ||
	    !take_char(&s, ':') || minute > 59 || !take_seconds(&s, &ns) || ns > DAY_NS)
		return false;
	*t = s;
	*ret_ns = (hour * 60 + minute) * 60 * NS_PER_SEC + ns;
	return true;
}

static void take_comm(struct text *t, struct text *ret)
{
	const char *end;

	if (!text_is(t, '<'))
		return;
	end = text_find(t, ">");
	if (!end)
		return;
	*ret = (struct text){t->at + 1, end};
	t->at = end + 1;
}

static bool take_pid(struct text *t, struct line *l)
{
	struct text s = *t;
	uint64_t pid;
	bool bracket = take_word(&s, "[pid");

	take_space(&s);
	if (!take_uint(&s, &pid) || pid == 0 || pid > PID_MAX)
		return false;
	take_comm(&s, &l->comm);
	if (bracket ? !take_char(&s, ']') : !text_is(&s, ' '))
		return false;
	take_space(&s);
	*t = s;
	l->tid = (uint32_t)pid;
	return true;
}

/* "0.1" is the time since the line before, "1690000000.1" that since 1970. */
static bool take_time(struct strace *s, struct text *t)
{
	uint64_t ns;

	if (take_clock(t, &ns)) {
		if (ns + DAY_NS / 2 < s->tod_ns)
			s->day_ns += DAY_NS;
		s->tod_ns = ns;
		s->now_ns = s->day_ns + ns;
	} else if (take_seconds(t, &ns)) {
		s->now_ns = ns >= EPOCH_MIN_NS ? ns : s->now_ns + ns;
	} else {
		return false;
	}
	take_space(t);
	if (take_word(t, "(+")) { /* both */
		const char *end = text_find(t, ")");

		t->at = end ? end + 1 : t->at;
		take_space(t);
	}
	return true;
}

static struct line split(struct strace *s, struct text t)
{
	struct line l = {.tid = s->main_tid};

	take_space(&t);
	take_pid(&t, &l);
	l.timed = take_time(s, &t);
	if (!l.timed)
		s->now_ns += LINE_NS;
	s->timed |= l.timed;
	while (text_is(&t, '[')) { /* -i: the address, -n: the number */
		const char *end = text_find(&t, "]");

		if (!end)
			break;
		t.at = end + 1;
		take_space(&t);
	}
	l.rest = t;
	return l;
}

/* " <0.000012>" at the end comes off. */
static bool take_duration(struct text *t, uint64_t *ret_ns)
{
	struct text s;
	const char *at = t->end;

	if (t->end - t->at < 4 || t->end[-1] != '>')
		return false;
	while (at > t->at && at[-1] != '<' && t->end - at < 32)
		at--;
	if (at == t->at || at[-1] != '<')
		return false;
	s = (struct text){at, t->end - 1};
	if (!take_seconds(&s, ret_ns) || s.at != s.end)
		return false;
	t->end = at - 1;
	text_trim(t);
	return true;
}

/* The first argument when it is a descriptor: 3</var/log/x>, 4<TCP:[...]>. */
static void take_kind(struct strace *s, struct text args, struct ev_call *call)
{
	uint64_t fd;

	if (!take_uint(&args, &fd) || !take_char(&args, '<'))
		return;
	call->kind = (uint8_t)import_kind(&args);
	if (call->kind == RES_NONE)
		return;
	call->flags |= CALLF_KEY;
	s->im->flags |= WINDOWF_KINDS;
}

/* ---- calls */

/* Without -T: what the thread returned from lasted until now. */
static void settle(struct strace *s, struct import_thread *t)
{
	if (!t->open || t->call.result == CALL_UNFINISHED)
		return;
	t->open = false;
	t->call.dur_ns = s->now_ns > t->call.begin_ns ? s->now_ns - t->call.begin_ns : 0;
	import_call(s->im, &t->call);
}

static void release_held(struct strace *s)
{
	struct import_thread *t;

	if (!s->held)
		return;
	s->held = false;
	s->call.stack = import_stack_end(s->im);
	import_stack_begin(s->im, 0);
	if (s->held_dur) {
		import_call(s->im, &s->call);
		return;
	}
	t = import_thread(s->im, s->call.tid);
	if (t) {
		t->open = true;
		t->call = s->call;
	}
}

static void hold(struct strace *s, const struct import_thread *t, const struct ev_call *call,
		 bool has_dur)
{
	s->held = true;
	s->call = *call;
	s->held_dur = has_dur;
	import_stack_begin(s->im, t->tgid ? t->tgid : t->tid);
}

/* A child's process is its parent's when it is a thread. */
static void born(struct strace *s, uint32_t parent, int64_t child)
{
	struct import_thread *t;
	uint32_t tgid, comm;

	if (child <= 0 || child > PID_MAX)
		return;
	t = import_thread(s->im, parent);
	if (!t)
		return;
	tgid = t->makes_thread ? (t->tgid ? t->tgid : t->tid) : (uint32_t)child;
	comm = t->comm;
	t = import_thread(s->im, (uint32_t)child);
	if (!t)
		return;
	import_task(s->im, t, tgid, NULL, 0);
	t->comm = t->comm ? t->comm : comm;
}

/* The base name of the program that execve's arguments name. */
static struct text program_of(struct text args)
{
	const char *end, *name;

	if (!take_char(&args, '"'))
		return (struct text){args.at, args.at};
	end = text_find(&args, "\"");
	args.end = end ? end : args.end;
	name = text_find_last(&args, "/");
	return text_from(&args, name ? name + 1 : args.at);
}

/* The beginning of a call: what some of them do when they succeed. */
static void foresee(struct strace *s, struct import_thread *t, struct text name, struct text args)
{
	struct import_thread next = {0};
	struct text program;

	t->makes_thread = false;
	t->new_comm = 0;
	if (take_word(&name, "clone")) {
		t->makes_thread = text_find(&args, "CLONE_THREAD") != NULL;
	} else if (take_word(&name, "execve")) {
		program = program_of(args);
		import_task(s->im, &next, 0, program.at, text_len(&program));
		t->new_comm = next.comm;
	}
}

/* Its return. */
static void learn(struct strace *s, struct import_thread *t, struct text name, int64_t value)
{
	if (take_word(&name, "clone") || take_word(&name, "fork") || take_word(&name, "vfork"))
		born(s, t->tid, value);
	else if (value == 0 && t->new_comm && take_word(&name, "execve")) {
		t->comm = t->new_comm;
		t->told = false;
	}
}

static void whole_call(struct strace *s, struct import_thread *t, int nr, struct text name,
		       struct text rest)
{
	struct ev_call call = {.begin_ns = s->now_ns, .tid = t->tid, .nr = (uint16_t)nr,
			       .cpu = IMPORT_NO_CPU};
	bool has_dur = take_duration(&rest, &call.dur_ns);
	struct text args, returned;
	int64_t value;

	s->has_dur |= has_dur;
	take_kind(s, rest, &call);
	if (!text_returned(&rest, &args, &returned)) { /* to be continued, or the end is missing */
		import_enter(s->im, t, nr, s->now_ns);
		t->call.kind = call.kind;
		t->call.flags |= call.flags;
		foresee(s, t, name, rest);
		s->half_tid = t->tid;
		return;
	}
	call.result = (uint8_t)import_result_text(nr, returned, &value);
	if (t->open) /* its return was not seen */
		import_leave(s->im, t, t->call.nr, s->now_ns, CALL_UNKNOWN);
	foresee(s, t, name, args);
	hold(s, t, &call, has_dur);
	learn(s, t, name, value);
	if (!s->timed)
		s->now_ns += call.dur_ns;
}

/* The second half.  t may have no open call: then it began before the trace. */
static void rest_of_call(struct strace *s, struct import_thread *t, int nr, struct text name,
			 struct text rest)
{
	uint64_t dur_ns = 0;
	bool has_dur = take_duration(&rest, &dur_ns), open = t->open && t->call.nr == nr;
	struct text args = {rest.at, rest.at}, returned;
	struct ev_call call = {.tid = t->tid, .nr = (uint16_t)nr, .cpu = IMPORT_NO_CPU,
			       .flags = CALLF_BEFORE, .begin_ns = s->im->first_ns};
	int64_t value = -1;

	s->has_dur |= has_dur;
	if (import_never_returns(nr))
		return; /* it was put out when it began */
	if (open)
		call = t->call;
	else if (has_dur && dur_ns < s->now_ns)
		call.begin_ns = s->now_ns - dur_ns;
	call.result = CALL_UNKNOWN;
	if (text_returned(&rest, &args, &returned))
		call.result = (uint8_t)import_result_text(nr, returned, &value);
	call.dur_ns = has_dur ? dur_ns
			      : s->now_ns > call.begin_ns ? s->now_ns - call.begin_ns : 0;
	t->open = false;
	hold(s, t, &call, true);
	learn(s, t, name, value);
}

static bool ends_half(struct text *t)
{
	static const char *const ends[] = {"<unfinished ...>", "<detached ...>"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t len = strlen(ends[i]);

		if (text_len(t) >= len && memcmp(t->end - len, ends[i], len) == 0) {
			t->end -= len;
			return true;
		}
	}
	return false;
}

/* The text from a call's name on; false when it is none. */
static bool call_line(struct strace *s, struct import_thread *t, struct text rest)
{
	bool resumed = take_word(&rest, "<... ");
	struct text name;
	const char *at;
	size_t len = take_name(&rest, &at);
	struct ev_call call = {0};
	int nr;

	if (len == 0 || (resumed ? !take_word(&rest, " resumed>") : !take_char(&rest, '(')))
		return false;
	nr = import_nr(s->im, at, len);
	if (nr < 0)
		return false;
	name = (struct text){at, at + len};
	if (resumed) {
		rest_of_call(s, t, nr, name, rest);
		return true;
	}
	if (!ends_half(&rest)) {
		whole_call(s, t, nr, name, rest);
		return true;
	}
	take_kind(s, rest, &call);
	import_enter(s->im, t, nr, s->now_ns);
	t->call.kind = call.kind;
	t->call.flags |= call.flags;
	foresee(s, t, name, rest);
	return true;
}

/* The rest of a line that a message of strace cut in two: ", 0x7f00) = 3 <0.1>". */
static bool other_half(struct strace *s, struct text line)
{
	struct import_thread *t = s->half_tid ? import_thread(s->im, s->half_tid) : NULL;
	struct text args, returned, name = {NULL, NULL};
	const char *text;

	s->half_tid = 0;
	if (!t || !t->open)
		return false;
	args = line;
	take_space(&args);
	if (take_word(&args, "<unfinished ...>"))
		return true;
	text = strtab_str(&s->im->names, 0);
	for (uint32_t id = 1; id <= s->im->nrs.cnt; id++)
		if (s->im->nrs.items[id - 1] == t->call.nr)
			text = strtab_str(&s->im->names, id);
	name = (struct text){text, text + strlen(text)};
	if (!text_is(&line, ',') && !text_is(&line, ')') && !take_word(&line, " => "))
		return false;
	args = line;
	take_duration(&args, &(uint64_t){0});
	if (!text_returned(&args, &args, &returned))
		return false;
	rest_of_call(s, t, t->call.nr, name, line);
	return true;
}

/* " > /lib/x.so(fn+0x1a) [0x10d39a]" */
static bool stack_line(struct strace *s, struct text t)
{
	struct import_frame f = {0};
	const char *at;

	if (!take_word(&t, " > "))
		return false;
	if (!s->held)
		return true; /* of a line that was not understood */
	at = text_find_last(&t, " [0x");
	if (!at)
		return true; /* why there is no stack */
	f.path = text_from(&t, at + 2);
	if (!take_hex(&f.path, &f.addr))
		return true;
	t.end = at;
	f.path = t;
	at = text_find(&t, "(");
	while (at && t.end - at > 9 && memcmp(at, "(deleted)", 9) == 0) {
		t.at = at + 1;
		at = text_find(&t, "(");
	}
	if (at && t.end[-1] == ')') {
		f.path.end = at;
		f.fn = (struct text){at + 1, t.end - 1};
		at = text_find_last(&f.fn, "+0x");
		if (at) {
			t = text_from(&f.fn, at + 1);
			take_hex(&t, &f.off);
			f.fn.end = at;
		}
	}
	import_stack_frame(s->im, &f);
	return true;
}

/* "+++ exited with 0 +++", "+++ killed by SIGKILL +++", "+++ superseded by execve in pid 5 +++" */
static bool event_line(struct strace *s, struct import_thread *t, struct text rest)
{
	if (take_word(&rest, "--- "))
		return true;
	if (!take_word(&rest, "+++ "))
		return false;
	if (take_word(&rest, "exited") || take_word(&rest, "killed"))
		import_exit(s->im, t, s->now_ns);
	return true;
}

static bool message_line(struct text line)
{
	return take_word(&line, "strace: ") || take_word(&line, "/usr/bin/strace: ");
}

static void strace_line(void *ctx, struct text line, uint64_t number)
{
	struct strace *s = ctx;
	struct import_thread *t;
	const char *message;
	struct line l;

	if (stack_line(s, line))
		return;
	release_held(s);
	if (text_len(&line) == 0 || message_line(line))
		return;
	if (s->half_tid && other_half(s, line))
		return;
	message = line.end[-1] == 'd' ? text_find_last(&line, "strace: Process ") : NULL;
	if (message)
		line.end = message;
	l = split(s, line);
	if (l.rest.at == l.rest.end) {
		import_skip(s->im, &line, number);
		return;
	}
	import_time(s->im, s->now_ns);
	t = import_thread(s->im, l.tid);
	if (!t)
		return;
	settle(s, t);
	if (text_len(&l.comm))
		import_task(s->im, t, 0, l.comm.at, text_len(&l.comm));
	if (!event_line(s, t, l.rest) && !call_line(s, t, l.rest))
		import_skip(s->im, &line, number);
}

static void strace_end(void *ctx)
{
	struct strace *s = ctx;
	struct import *im = s->im;

	release_held(s);
	for (size_t i = 0; i < im->threads.cnt; i++)
		settle(s, &im->threads.items[i]);
	if (!im->begun)
		return;
	if (!s->timed)
		emit_note(&im->emit, NOTE_LIMIT, im->last_ns,
			  "strace: no times in this trace, only the order of calls is known; "
			  "use strace -ttt -T");
	else if (!s->has_dur)
		emit_note(&im->emit, NOTE_LIMIT, im->last_ns,
			  "strace: no lengths of calls in this trace: each is taken to last until "
			  "its thread's next line; use strace -T");
}

/* ---- the beginning of a trace */

/* Lines without a pid are of the first process: its pid is in the first lines as a rule. */
static uint32_t find_main(struct text peek, const char *path)
{
	struct hmap attached = {0};
	uint64_t pid = 0, first = 0;
	uint32_t found = 0;
	const char *dot = strrchr(path, '.');
	struct text suffix = {dot ? dot + 1 : path, path + strlen(path)};

	for (bool begin = true; peek.at < peek.end && !found; begin = false) {
		const char *nl = memchr(peek.at, '\n', text_len(&peek));
		struct text line = text_to(&peek, nl ? nl : peek.end);
		const char *at = text_find(&line, "strace: Process ");

		peek.at = nl ? nl + 1 : peek.end;
		if (at) {
			begin &= at == line.at;
			line.at = at + strlen("strace: Process ");
			if (take_uint(&line, &pid))
				hmap_put(&attached, pid, 1);
			first = begin ? pid : first;
		} else if (take_word(&line, "[pid")) {
			take_space(&line);
			if (take_uint(&line, &pid) && !hmap_get(&attached, pid, NULL))
				found = (uint32_t)pid;
		}
	}
	hmap_release(&attached);
	if (found || first)
		return first && first <= PID_MAX ? (uint32_t)first : found;
	/* strace -ff writes a file for each */
	return dot && take_uint(&suffix, &pid) && suffix.at == suffix.end && pid && pid <= PID_MAX
		       ? (uint32_t)pid : 1;
}

static void *strace_open(struct import *im, struct text peek)
{
	struct strace *s = xcalloc(1, sizeof(*s));

	s->im = im;
	s->now_ns = s->day_ns = DAY_NS;
	s->main_tid = find_main(peek, im->path);
	if (s->main_tid == 0 || s->main_tid > PID_MAX)
		s->main_tid = 1;
	return s;
}

static int strace_looks(struct text line)
{
	struct strace s = {.main_tid = 1};
	struct text args, returned;
	const char *name;
	struct line l;

	if (take_word(&line, "strace: Process "))
		return 2;
	if (take_word(&line, " > "))
		return text_find_last(&line, " [0x") != NULL;
	l = split(&s, line);
	if (take_word(&l.rest, "+++ exited with ") || take_word(&l.rest, "--- SIG"))
		return 2;
	if (take_word(&l.rest, "<... "))
		return text_find(&l.rest, " resumed>") ? 2 : 0;
	if (!take_name(&l.rest, &name) || !take_char(&l.rest, '('))
		return 0;
	take_duration(&l.rest, &(uint64_t){0});
	return ends_half(&l.rest) ? 2 : text_returned(&l.rest, &args, &returned);
}

const struct import_format import_strace = {
	.name = "strace",
	.looks = strace_looks,
	.open = strace_open,
	.line = strace_line,
	.end = strace_end,
	.free = free,
};
