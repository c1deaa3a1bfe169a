/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCENE_H
#define SCENE_H
/*
 * Scenes of calls: what one worker of a server calls, request by request, and
 * which functions are to blame.  A stack of NULL: none was taken.
 *
 *	begin;  call, request ...;  judge_scene;  synth_free(c.s)
 */
#include "base/arena.h"
#include "functions/functions.h"
#include "model/calls/calls.h"
#include "synth.h"
#include "unit.h"

enum { NR_POLL = 1, NR_READ, NR_WRITE, NR_FSYNC, NR_STAT, NR_MMAP, NR_FUTEX };

struct scene {
	struct synth *s;
	struct ev_call calls[EVENT_CALLS_MAX];
	uint32_t cnt;
	double now;		/* ms */
};

static inline void flush(struct scene *c)
{
	size_t size = sizeof(struct ev_calls) + c->cnt * sizeof(struct ev_call);
	struct ev_calls *ev = synth_event(c->s, EV_CALLS, size, 0);

	ev->cnt = c->cnt;
	memcpy(ev + 1, c->calls, c->cnt * sizeof(struct ev_call));
	c->cnt = 0;
}

static inline struct ev_call *call(struct scene *c, unsigned nr, double ms, const char *stack)
{
	struct ev_call *to;

	if (c->cnt == EVENT_CALLS_MAX)
		flush(c);
	to = &c->calls[c->cnt++];
	*to = (struct ev_call){.begin_ns = synth_ns(c->s, c->now), .dur_ns = (uint64_t)(ms * 1e6),
			       .tid = 11, .nr = (uint16_t)nr, .cpu = 0xffff};
	to->stack = stack ? synth_stack(c->s, 10, stack) : 0;
	if (ms > 0.05)
		to->flags |= CALLF_BLOCKED;
	c->now += ms + 0.001;
	return to;
}

static inline void begin(struct scene *c)
{
	static const struct { unsigned nr; const char *name; } names[] = {
		{NR_POLL, "epoll_wait"}, {NR_READ, "read"}, {NR_WRITE, "write"},
		{NR_FSYNC, "fsync"}, {NR_STAT, "stat"}, {NR_MMAP, "mmap"}, {NR_FUTEX, "futex"}};

	*c = (struct scene){.s = synth_new(100000)};
	synth_thread(c->s, 10, 10, "srv");
	synth_thread(c->s, 11, 10, "worker");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct ev_call_name *ev = synth_event(c->s, EV_CALL_NAME, sizeof(*ev), 0);

		ev->nr = names[i].nr;
		ev->name = synth_str(c->s, names[i].name);
	}
}

#define LOOP "epoll_wait@libc.so.6;loop;main"
#define READ "read@libc.so.6;take;serve;loop;main"
#define WRITE "write@libc.so.6;reply;serve;loop;main"

static inline void request(struct scene *c, unsigned stats, double sync_ms)
{
	call(c, NR_POLL, 5, LOOP);
	call(c, NR_READ, 0.01, READ);
	for (unsigned i = 0; i < stats; i++)
		call(c, NR_STAT, 0.01, "stat@libc.so.6;look_up;find;serve;loop;main");
	if (sync_ms > 0)
		call(c, NR_FSYNC, sync_ms, "fsync@libc.so.6;save;serve;loop;main");
	call(c, NR_WRITE, 0.02, WRITE);
}

static inline const struct functions_result *judge_scene(struct scene *c, struct arena *arena,
						  const struct functions_opts *o)
{
	struct ev_window *w = synth_event(c->s, EV_WINDOW, sizeof(*w), c->now);

	w->begin_ns = synth_ns(c->s, 0);
	w->flags = WINDOWF_SWITCHES | WINDOWF_ALL_STACKS;
	flush(c);
	return functions_analyse(synth_model(c->s), NULL, o, arena);
}

static inline const struct fn_report *fn_named(const struct functions_result *r, const char *name)
{
	for (size_t i = 0; i < r->fn_cnt; i++)
		if (strcmp(r->fns[i].name, name) == 0)
			return &r->fns[i];
	FAIL("%s is not listed", name);
}

#endif /* SCENE_H */
