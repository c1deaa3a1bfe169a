/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tape (tape.h) folds what lies before the part into what its first interval
 * begins with.  After its last interval there are still events that say what lies in
 * it: names that came late, and waits that had begun, which end as pending ones when
 * the part does.  That interval's tick is held back for them.
 */
#include "store/cut.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "store/event_calls.h"
#include "store/tape.h"

struct cut {
	struct tape *tape;
	struct cut_time time;
	uint64_t from_ns, until_ns;	/* as CLOCK_MONOTONIC */
	uint64_t real_off_ns;		/* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t boot_off_ns;
	uint64_t begin_ns, end_ns;	/* of the capture so far */
	struct ev_tick tick;		/* the part's last, once is_over */
	uint64_t last_ns;		/* ts_ns of the part's last */
	struct hmap waiting;		/* threads whose last wait is known */
	bool is_over;
};

struct cut *cut_new(const struct cut_time *time)
{
	struct cut *c = xcalloc(1, sizeof(*c));

	c->tape = tape_new(&(struct tape_opts){.max_bytes = CUT_BYTES_MAX, .packed = true});
	c->time = *time;
	c->until_ns = UINT64_MAX;
	return c;
}

void cut_free(struct cut *c)
{
	if (!c)
		return;
	tape_free(c->tape);
	hmap_release(&c->waiting);
	free(c);
}

static uint64_t mono(const struct cut *c, uint64_t real_ns)
{
	return real_ns > c->real_off_ns ? real_ns - c->real_off_ns : 0;
}

static void take_meta(struct cut *c, const struct event_hdr *ev)
{
	struct ev_meta meta = {0};

	memcpy(&meta, ev, ev->size < sizeof(meta) ? ev->size : sizeof(meta));
	c->real_off_ns = meta.real_ns - ev->ts_ns;
	c->boot_off_ns = meta.boot_off_ns;
	c->begin_ns = c->last_ns = ev->ts_ns;
	c->from_ns = c->time.from_ns ? mono(c, c->time.from_ns) : 0;
	c->until_ns = c->time.until_ns ? mono(c, c->time.until_ns) : UINT64_MAX;
}

/* The next interval, as long as this one, would lie outside for the most part. */
static bool is_last(const struct cut *c, const struct ev_tick *tick)
{
	uint64_t begin_ns = tick->begin_ns ? tick->begin_ns : c->last_ns;
	uint64_t ns = tick->h.ts_ns > begin_ns ? tick->h.ts_ns - begin_ns : 0;

	return c->until_ns != UINT64_MAX && tick->h.ts_ns + ns / 2 > c->until_ns;
}

static uint64_t clipped(uint64_t ns, uint64_t from_ns, uint64_t until_ns)
{
	return ns < from_ns ? from_ns : ns > until_ns ? until_ns : ns;
}

/* In which time calls are known: of the part alone. */
static void put_calls(struct cut *c, const struct event_hdr *ev)
{
	uint64_t from_ns = tape_begin_ns(c->tape), until_ns = c->is_over ? c->last_ns : ev->ts_ns;
	struct ev_calls_part part;
	struct ev_window window;

	if (ev->kind == EV_WINDOW && ev->size >= sizeof(window)) {
		memcpy(&window, ev, sizeof(window));
		window.h.size = sizeof(window);
		window.h.ts_ns = until_ns;
		window.begin_ns = clipped(window.begin_ns, from_ns, until_ns);
		tape_add(c->tape, &window.h);
	} else if (ev->kind == EV_CALLS_PART && ev->size >= sizeof(part)) {
		memcpy(&part, ev, sizeof(part));
		part.h.size = sizeof(part);
		part.begin_ns = clipped(part.begin_ns, from_ns, until_ns);
		if (part.end_ns)
			part.end_ns = clipped(part.end_ns, from_ns, until_ns);
		tape_add(c->tape, &part.h);
	}
}

static void put_inside(struct cut *c, const struct event_hdr *ev)
{
	const struct ev_tick *tick = (const void *)ev;

	if (ev->kind == EV_META)
		take_meta(c, ev);
	if (ev->kind == EV_TICK && ev->size >= offsetof(struct ev_tick, rest_ns)) {
		c->is_over = is_last(c, tick);
		c->last_ns = c->end_ns = ev->ts_ns;
		if (c->is_over) {
			memcpy(&c->tick, ev, ev->size < sizeof(c->tick) ? ev->size
									: sizeof(c->tick));
			c->tick.h.size = sizeof(c->tick);
			return;
		}
	}
	if (ev->kind == EV_WINDOW || ev->kind == EV_CALLS_PART)
		put_calls(c, ev);
	else
		tape_add(c->tape, ev);
	if (ev->kind == EV_TICK)
		tape_forget(c->tape, c->from_ns);
}

/* The wait that a thread is in when the part ends, which it does not see the end of. */
static void put_wait(struct cut *c, const struct event_hdr *ev)
{
	uint64_t end_ns = c->last_ns;
	struct ev_wait w = {0};

	memcpy(&w, ev, ev->size < sizeof(w) ? ev->size : sizeof(w));
	if (ev->ts_ns < w.off_ns || ev->ts_ns - w.off_ns > ev->ts_ns || w.off_ns >= end_ns ||
	    hmap_get(&c->waiting, ev->tid, NULL))
		return;
	hmap_put(&c->waiting, ev->tid, 1);
	w.h.size = sizeof(w);
	w.h.ts_ns = end_ns;
	w.flags |= WAITF_PENDING;
	if (w.wake_ns > end_ns) { /* nobody had woken it yet */
		w.wake_ns = 0;
		w.waker_tid = w.waker_tgid = w.waker_stack = 0;
		w.waker_ctx = WAKER_NONE;
	}
	tape_add(c->tape, &w.h);
}

static void put_task(struct cut *c, const struct event_hdr *ev)
{
	struct ev_task task = {0};

	memcpy(&task, ev, ev->size < sizeof(task) ? ev->size : sizeof(task));
	if (task.op == TASK_EXIT || task.start_boot_ns >= c->last_ns + c->boot_off_ns)
		return;
	task.h.size = sizeof(task);
	task.h.ts_ns = c->last_ns;
	tape_add(c->tape, &task.h);
}

static void put_after(struct cut *c, const struct event_hdr *ev)
{
	switch (ev->kind) {
	case EV_STR:
	case EV_RES:
	case EV_KSTACK:
	case EV_MODULE:
	case EV_STACK:
	case EV_FRAME:
	case EV_CALL_NAME:
	case EV_MEMBER:
		tape_add(c->tape, ev);
		break;
	case EV_TASK:
		put_task(c, ev);
		break;
	case EV_WAIT:
		put_wait(c, ev);
		break;
	case EV_WINDOW:
	case EV_CALLS_PART:
		put_calls(c, ev);
		break;
	case EV_TICK:
		c->end_ns = ev->ts_ns;
		break;
	default:
		break;
	}
}

static int cut_put(void *ctx, const struct event_hdr *ev)
{
	struct cut *c = ctx;

	if (c->is_over)
		put_after(c, ev);
	else
		put_inside(c, ev);
	return 0;
}

struct event_sink cut_sink(struct cut *c)
{
	return (struct event_sink){.put = cut_put, .ctx = c};
}

int cut_replay(struct cut *c, struct event_sink *sink)
{
	if (c->is_over) {
		tape_add(c->tape, &c->tick.h);
		tape_forget(c->tape, c->from_ns);
	}
	return tape_replay(c->tape, sink);
}

bool cut_span(const struct cut *c, struct cut_time *ret)
{
	uint64_t begin_ns = tape_begin_ns(c->tape);

	*ret = (struct cut_time){begin_ns + c->real_off_ns, c->last_ns + c->real_off_ns};
	return begin_ns && begin_ns < c->last_ns && c->until_ns > c->begin_ns;
}

bool cut_whole(const struct cut *c, struct cut_time *ret)
{
	*ret = (struct cut_time){c->begin_ns + c->real_off_ns, c->end_ns + c->real_off_ns};
	return c->begin_ns && c->begin_ns < c->end_ns;
}
