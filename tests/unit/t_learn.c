/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stacks to functions, to invocations, to signatures.
 */
#include "unit.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/units/app_frames.h"
#include "functions/sig/invoke.h"
#include "functions/sig/learn.h"
#include "functions/units/normalize.h"
#include "functions/sig/sig.h"
#include "model/calls/calls.h"
#include "model/stack.h"
#include "store/event_calls.h"
#include "synth.h"

enum { NR_READ = 0, NR_WRITE = 1, NR_OPEN = 2, NR_CLOSE = 3, NR_MMAP = 9, NR_POLL = 7 };

static struct synth *world(void)
{
	static const struct { uint32_t nr; const char *name; } names[] = {
		{NR_READ, "read"}, {NR_WRITE, "write"}, {NR_OPEN, "openat"},
		{NR_CLOSE, "close"}, {NR_MMAP, "mmap"}, {NR_POLL, "poll"}};
	struct synth *s = synth_new(1000);

	synth_thread(s, 10, 10, "prog");
	synth_thread(s, 11, 10, "prog");
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct ev_call_name *e = synth_event(s, EV_CALL_NAME, sizeof(*e), 0);

		e->nr = names[i].nr;
		e->name = synth_str(s, names[i].name);
	}
	return s;
}

/* stack NULL: none was taken. */
static void call(struct synth *s, uint32_t tid, double at_ms, uint16_t nr, const char *stack)
{
	struct { struct ev_calls head; struct ev_call call; } *ev;

	ev = synth_event(s, EV_CALLS, sizeof(*ev), at_ms);
	ev->head.cnt = 1;
	ev->call = (struct ev_call){.begin_ns = synth_ns(s, at_ms), .dur_ns = 1000, .tid = tid,
				    .nr = nr, .cpu = 0xffff, .result = CALL_OK,
				    .stack = stack ? synth_stack(s, 10, stack) : 0};
}

static const struct model *whole(struct synth *s)
{
	struct ev_window *w = synth_event(s, EV_WINDOW, sizeof(*w), 999);

	w->begin_ns = synth_ns(s, 0);
	w->flags = WINDOWF_STACKS | WINDOWF_ALL_STACKS;
	return synth_model(s);
}

static const char *app_text(const struct appfns *a, const struct model *m, uint32_t id,
			    struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < m->stack_cnt; i++) {
		if (m->stacks[i].id != id)
			continue;
		for (uint32_t k = 0; k < a->stacks[i].cnt; k++)
			text = arena_printf(arena, "%s%s ", text,
					    a->fns[a->stacks[i].frames[k].fn].name);
	}
	return text;
}

TEST(appfn_first_frame_that_is_no_system_library)
{
	static const struct { const char *stack, *want; } rows[] = {
		{"vfs_read@k;read@libc.so.6;fill;work;main;start@libc.so.6", "fill work main "},
		{"read@libc.so.6;get@libstdc++.so.6;work;main", "work main "},
		{"write@libc.so.6;cb;qsort@libc.so.6;work;main", "cb work main "},
		{"read@libc.so.6;SSL_read@libssl.so.3;work", "SSL_read work "},
		{"read@libc.so.6;tiny+work;main", "tiny work main "},
		{"futex@libc.so.6", ""},
		{"read@libc.so.6;readBytes@libjava.so;java.io.In.read()@j;int app.Main.run()@j;"
		 "call@libjvm.so;main", "int app.Main.run() "},
		{"read@libc.so.6;[anon]@j;int app.Main.run()@j;main", "int app.Main.run() "},
		{"futex@libc.so.6;park@libjvm.so;void java.lang.Thread.run()@j;call@libjvm.so",
		 "void java.lang.Thread.run() "},
		{"read@libc.so.6;uv_read@node;JS:~readSync node:fs:7:1@j;JS:*load /srv/a.js:1:2@j",
		 "JS:*load /srv/a.js:1:2 "},
	};
	enum { ROWS = sizeof(rows) / sizeof(*rows) };
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = world();
	uint32_t ids[ROWS];
	const struct model *m;
	struct appfns *a;

	for (unsigned i = 0; i < ROWS; i++)
		ids[i] = synth_stack(s, 10, rows[i].stack);
	m = whole(s);
	a = appfns_make(m, &arena);
	for (unsigned i = 0; i < ROWS; i++) {
		ROW(i);
		EQ_S(app_text(a, m, ids[i], &arena), rows[i].want);
	}
	synth_free(s);
}

static const char *sym_text(const struct model *m, uint16_t nr)
{
	return nr == SYM_NONE ? "-" : model_call_name(m, nr);
}

/* "read write,read": the sequences of a function, most frequent first where it matters. */
static const char *seqs_text(const struct model *m, const struct fn_calls *fn,
			     struct arena *arena)
{
	const char *text = "";

	VEC_FOREACH(&fn->seqs.seqs, q) {
		text = arena_printf(arena, "%s%s%llux", text, text[0] ? "," : "",
				    (unsigned long long)q->cnt);
		for (unsigned i = 0; i < q->len; i++)
			text = arena_printf(arena, "%s %s", text, sym_text(
					    m, fn->seqs.syms.items[q->first + i]));
	}
	return text;
}

static const char *invoked_text(struct synth *s, const char *name, struct arena *arena)
{
	const struct model *m = whole(s);
	struct appfns *a = appfns_make(m, arena);
	uint32_t cnt;
	const char **names = model_call_names(m, arena, &cnt), *text = "none";
	struct invoked in;

	invoked_make(&in, m, a, norm_noise(names, cnt, arena));
	for (size_t i = 0; i < a->fn_cnt; i++)
		if (strcmp(a->fns[i].name, name) == 0)
			text = seqs_text(m, &in.fns[i], arena);
	invoked_release(&in);
	return text;
}

TEST(invoke_ends_with_a_change_further_out)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = world();

	/* work is called twice, with a poll of its caller between; a thread's calls are its own */
	call(s, 10, 1, NR_READ, "read@libc.so.6;work;main");
	call(s, 11, 1.5, NR_POLL, "poll@libc.so.6;loop;thread");
	call(s, 10, 2, NR_MMAP, "mmap@libc.so.6;work;main");
	call(s, 10, 3, NR_READ, "read@libc.so.6;work;main");
	call(s, 10, 4, NR_WRITE, "write@libc.so.6;work;main");
	call(s, 10, 5, NR_POLL, "poll@libc.so.6;main");
	call(s, 10, 6, NR_READ, "read@libc.so.6;work;main");
	EQ_S(invoked_text(s, "work", &arena), "1x read write,1x read");
	EQ_S(invoked_text(s, "main", &arena), "1x read write poll read");
	EQ_S(invoked_text(s, "loop", &arena), "1x poll");
	synth_free(s);
}

TEST(invoke_counts_for_two_callers_only)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = world();

	call(s, 10, 1, NR_READ, "read@libc.so.6;a;b;c;d");
	call(s, 10, 2, NR_WRITE, "write@libc.so.6;b;c;d");
	EQ_S(invoked_text(s, "a", &arena), "1x read");
	EQ_S(invoked_text(s, "b", &arena), "1x read write");
	EQ_S(invoked_text(s, "c", &arena), "1x read write");
	EQ_S(invoked_text(s, "d", &arena), "1x write");
	synth_free(s);
}

TEST(invoke_leaves_a_gap_for_calls_further_in)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = world();

	call(s, 10, 1, NR_OPEN, "openat@libc.so.6;d;main");
	call(s, 10, 2, NR_READ, "read@libc.so.6;a;b;c;d;main");
	call(s, 10, 3, NR_READ, "read@libc.so.6;a;b;c;d;main");
	call(s, 10, 4, NR_CLOSE, "close@libc.so.6;d;main");
	call(s, 10, 5, NR_READ, "read@libc.so.6;a;b;c;d;main");
	EQ_S(invoked_text(s, "d", &arena), "1x openat - close");
	EQ_S(invoked_text(s, "c", &arena), "2x read");
	synth_free(s);
}

TEST(invoke_ends_where_no_stack_is_known)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = world();

	call(s, 10, 1, NR_READ, "read@libc.so.6;work;main");
	call(s, 10, 2, NR_WRITE, NULL);
	call(s, 10, 3, NR_CLOSE, "close@libc.so.6;work;main");
	EQ_S(invoked_text(s, "work", &arena), "1x read,1x close");
	synth_free(s);
}

TEST(invoke_ends_where_runs_are_known_to_end_and_begin)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = world();
	double at = 1;

	/* of two places in one function the second is named with its module, which is the same */
	for (int i = 0; i < 3; i++) {
		call(s, 10, at++, NR_OPEN, "openat@libc.so.6;work;main");
		call(s, 10, at++, NR_CLOSE, "close@libc.so.6;work@prog;main");
		if (i == 0)
			call(s, 10, at++, NR_POLL, "poll@libc.so.6;main");
		call(s, 11, at++, NR_OPEN, "openat@libc.so.6;goes_round;main");
		call(s, 11, at++, NR_CLOSE, "close@libc.so.6;goes_round@prog;main");
	}
	call(s, 10, at++, NR_POLL, "poll@libc.so.6;main");
	EQ_S(invoked_text(s, "work", &arena), "3x openat close");
	EQ_S(invoked_text(s, "goes_round", &arena),
	     "1x openat close openat close openat close");
	synth_free(s);
}

TEST(invoke_cuts_what_never_ends)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct synth *s = world();

	for (int i = 0; i < INVOKE_CALLS_MAX + 1; i++)
		call(s, 10, 1 + i * 0.1, NR_POLL, "poll@libc.so.6;loop");
	for (int i = 0; i < SEQ_LEN_MAX + 2; i++)
		call(s, 11, 1 + i * 0.1, i % 2 ? NR_READ : NR_WRITE, "x@libc.so.6;copy");
	EQ_S(invoked_text(s, "loop", &arena), "2x poll");
	HAS(invoked_text(s, "copy", &arena), ",1x write read");
	synth_free(s);
}

/* main calls each from a place of its own: what is found is what each did. */
static struct sigs *learnt(struct arena *arena, struct learn_stats *ret_stats)
{
	struct synth *s = world();
	struct sigs *sigs;
	double at = 1;

	for (int i = 0; i < 10; i++) {
		call(s, 10, at++, NR_OPEN, "openat@libc.so.6;load;main");
		call(s, 10, at++, NR_READ, "read@libc.so.6;load;main");
		call(s, 10, at++, NR_READ, "read@libc.so.6;load;main");
		call(s, 10, at++, NR_CLOSE, "close@libc.so.6;load;main");
		call(s, 10, at++, NR_OPEN, "openat@libc.so.6;save;main");
		call(s, 10, at++, NR_WRITE, "write@libc.so.6;save;main");
		call(s, 10, at++, NR_CLOSE, "close@libc.so.6;save;main");
	}
	call(s, 10, at++, NR_WRITE, "write@libc.so.6");
	call(s, 10, at++, NR_MMAP, "mmap@libc.so.6;main");
	sigs = learn_model(whole(s), arena, ret_stats);
	synth_free(s);
	return sigs;
}

static const char *episodes_text(const struct sigs *s, const char *fn, struct arena *arena)
{
	const struct sig_fn *f = &s->fns[sig_find(s, NULL, fn)];
	const char *text = "";

	for (uint32_t i = 0; i < f->ep_cnt; i++) {
		const struct episode *e = &s->episodes[f->eps[i].id];

		text = arena_printf(arena, "%s%s", text, i ? "," : "");
		for (unsigned k = 0; k < e->len; k++)
			text = arena_printf(arena, "%s%s%s", text, k ? " " : "",
					    s->call_names[e->syms[k]]);
	}
	return text;
}

TEST(learn_gives_each_function_what_it_did)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct learn_stats st;
	struct sigs *s = learnt(&arena, &st);
	uint32_t load = sig_find(s, "prog", "load"), save = sig_find(s, "prog", "save");

	EQ_U(st.call_cnt, 72);
	EQ_U(st.noise_cnt, 1);
	EQ_U(st.no_app_cnt, 1);
	EQ_U(st.no_stack_cnt, 0);
	EQ_S(episodes_text(s, "load", &arena), "openat read close");
	EQ_S(episodes_text(s, "save", &arena), "openat write close");
	EQ_U(s->fns[load].invocations, 10);
	EQ_U(s->fns[load].self_calls, 40);
	EQ_U(s->fns[load].eps[0].support, 10);
	EQ_U(s->fns[load].eps[0].serial, 10);
	OK(s->fns[load].group != s->fns[save].group);
	OK(s->fns[load].end > s->fns[load].begin);
	EQ_S(s->modules[s->fns[load].module].name, "prog");
}
