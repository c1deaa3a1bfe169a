/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/frozen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "serve/services.h"
#include "store/capture.h"
#include "store/event.h"
#include "store/event_calls.h"
#include "store/tape.h"
#include "wire/kinds.h"

struct frozen {
	struct tape *tape;
	const struct services *services;
	struct ev_calls_part part; /* the last with an end */
	uint64_t window_ns;	   /* ts_ns of the last EV_WINDOW */
	uint64_t tick_ns;	   /* and of the last EV_TICK */
	bool is_full;
	uint32_t str_max;	   /* the highest number of a string */
};

struct writing {
	const struct frozen *f;
	struct capture *cap;
	struct err *err;
	uint32_t service;
	uint64_t begin_ns;
};

struct frozen *frozen_new(size_t max_bytes, uint64_t keep_ns, const struct services *services)
{
	struct frozen *f = xcalloc(1, sizeof(*f));

	f->tape = tape_new(&(struct tape_opts){.max_bytes = max_bytes, .keep_ns = keep_ns,
					       .packed = true});
	f->services = services;
	return f;
}

void frozen_free(struct frozen *f)
{
	if (!f)
		return;
	tape_free(f->tape);
	free(f);
}

/*
 * A window of calls ends at each full tick.  Its end stands once in a capture, of the last
 * one: that it begins (an EV_CALLS_PART without an end) stays in the tape's base.
 */
void frozen_put(struct frozen *f, const struct event_hdr *ev)
{
	const struct ev_calls_part *part = (const void *)ev;

	if (ev->kind == EV_CALLS_PART && ev->size >= sizeof(*part) && part->end_ns) {
		f->part = *part;
		return;
	}
	if (ev->kind == EV_WINDOW)
		f->window_ns = ev->ts_ns;
	if (ev->kind == EV_STR && ((const struct ev_str *)ev)->id > f->str_max)
		f->str_max = ((const struct ev_str *)ev)->id;
	if (ev->kind == EV_TICK) {
		f->is_full = f->window_ns > f->tick_ns;
		f->tick_ns = ev->ts_ns;
	}
	tape_add(f->tape, ev);
}

bool frozen_is_full(const struct frozen *f)
{
	return f->is_full;
}

uint64_t frozen_begin_ns(const struct frozen *f)
{
	return tape_begin_ns(f->tape);
}

uint64_t frozen_end_ns(const struct frozen *f)
{
	return f->tick_ns;
}

static int put_task(struct writing *w, const struct ev_task *ev)
{
	struct ev_task mine;

	if (ev->h.size != sizeof(mine) || !(ev->flags & (TASKF_TARGET | TASKF_PEER)))
		return capture_put(w->cap, &ev->h, w->err);
	mine = *ev;
	mine.flags &= ~(uint32_t)(TASKF_TARGET | TASKF_PEER);
	mine.flags |= services_of(w->f->services, ev->tgid) == (int)w->service ? TASKF_TARGET
									       : TASKF_PEER;
	return capture_put(w->cap, &mine.h, w->err);
}

static int put_window(struct writing *w, const struct ev_window *ev)
{
	struct ev_calls_part part = w->f->part;
	struct ev_window window;
	int rc;

	if (ev->h.ts_ns != w->f->window_ns || ev->h.size < sizeof(window))
		return 0;
	window = *ev;
	window.h.size = sizeof(window);
	if (window.begin_ns < w->begin_ns)
		window.begin_ns = w->begin_ns;
	if (part.begin_ns < w->begin_ns)
		part.begin_ns = w->begin_ns;
	rc = capture_put(w->cap, &part.h, w->err);
	return rc < 0 ? rc : capture_put(w->cap, &window.h, w->err);
}

static int put_meta(struct writing *w, const struct ev_meta *ev)
{
	const struct service *s = &w->f->services->items[w->service];
	struct ev_meta meta = *ev;
	struct {
		struct ev_str s;
		char text[256];
	} str = {0};
	int len = snprintf(str.text, sizeof(str.text), "%s", s->name);
	int rc;

	str.s.id = meta.selection = w->f->str_max + 1;
	str.s.len = (uint32_t)len;
	str.s.h = (struct event_hdr){.kind = EV_STR, .ts_ns = ev->h.ts_ns,
				     .size = (uint16_t)((sizeof(str.s) + (size_t)len + 7) & ~7u)};
	rc = capture_put(w->cap, &str.s.h, w->err);
	return rc < 0 ? rc : capture_put(w->cap, &meta.h, w->err);
}

static int writing_put(void *ctx, const struct event_hdr *ev)
{
	struct writing *w = ctx;

	switch (ev->kind) {
	case EV_META:
		return put_meta(w, (const struct ev_meta *)ev);
	case EV_TASK:
		return put_task(w, (const struct ev_task *)ev);
	case EV_WINDOW:
		return put_window(w, (const struct ev_window *)ev);
	default:
		return capture_put(w->cap, ev, w->err);
	}
}

int frozen_write(const struct frozen *f, uint32_t service, const char *path,
		 uint64_t *ret_bytes, struct err *err)
{
	struct writing w = {.f = f, .err = err, .service = service,
			    .begin_ns = tape_begin_ns(f->tape)};
	struct event_sink sink = {.put = writing_put, .ctx = &w};
	int rc = capture_create(path, NULL, &w.cap, err), end;

	if (rc < 0)
		return rc;
	rc = tape_replay(f->tape, &sink);
	end = rc < 0 ? rc : capture_finish(w.cap, err);
	if (end == 0)
		*ret_bytes = capture_stats(w.cap)->stored_bytes;
	capture_free(w.cap);
	return end;
}
