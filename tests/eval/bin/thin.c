/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes of a capture with all calls and all waits what `heldup record --calls`
 * would have kept of the same time: blocking calls, and all calls of the end.
 *
 *	build/tests/thin IN OUT [SECONDS [SLICE_MS PERIOD_MS]]
 *
 * SECONDS of all calls at the end (default 3).  With a slice, waits under
 * WAIT_SHORT_NS are there in the first SLICE_MS of each PERIOD_MS only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collect/source.h"
#include "store/capture.h"
#include "store/event_calls.h"

#define WAIT_SHORT_NS 1000000

struct thin {
	struct event_sink out;
	uint64_t begin_ns, end_ns, border_ns; /* of the window */
	uint64_t slice_ns, period_ns;
};

static int find_window(void *ctx, const struct event_hdr *ev)
{
	struct thin *t = ctx;

	if (ev->kind == EV_WINDOW) {
		t->begin_ns = ((const struct ev_window *)ev)->begin_ns;
		t->end_ns = ev->ts_ns;
	}
	return 0;
}

static int put(struct thin *t, const struct event_hdr *ev)
{
	return t->out.put(t->out.ctx, ev);
}

static int put_part(struct thin *t, uint64_t begin_ns, uint64_t end_ns)
{
	struct ev_calls_part e = {.h = {sizeof(e), EV_CALLS_PART, 0, 0, t->begin_ns},
				  .begin_ns = begin_ns, .end_ns = end_ns};

	return put(t, &e.h);
}

/* Calls that began before the border go; one that goes on after it has no begin. */
static int put_calls(struct thin *t, const struct event_hdr *ev)
{
	struct {
		struct ev_calls head;
		struct ev_call calls[EVENT_CALLS_MAX];
	} to;
	uint32_t cnt = 0;

	memcpy(&to, ev, ev->size);
	for (uint32_t i = 0; i < to.head.cnt; i++) {
		struct ev_call c = to.calls[i];

		if (c.begin_ns + c.dur_ns <= t->border_ns)
			continue;
		if (c.begin_ns < t->border_ns) {
			c.dur_ns -= t->border_ns - c.begin_ns;
			c.begin_ns = t->border_ns;
			c.flags |= CALLF_BLOCKED;
		}
		to.calls[cnt++] = c;
	}
	to.head.cnt = cnt;
	to.head.h.size = (uint16_t)(sizeof(to.head) + cnt * sizeof(to.calls[0]));
	return cnt ? put(t, &to.head.h) : 0;
}

static bool in_slice(const struct thin *t, uint64_t ns)
{
	return !t->period_ns || (ns - t->begin_ns) % t->period_ns < t->slice_ns;
}

static int put_coarse(struct thin *t)
{
	int rc = 0;

	for (uint64_t at = t->begin_ns; t->period_ns && at < t->end_ns && rc >= 0;
	     at += t->period_ns) {
		struct ev_coarse e = {.h = {sizeof(e), EV_COARSE, 0, 0, t->end_ns},
				      .begin_ns = at + t->slice_ns, .end_ns = at + t->period_ns,
				      .shed = SHED_SHORT};

		rc = put(t, &e.h);
	}
	return rc;
}

static int put_window(struct thin *t, const struct event_hdr *ev)
{
	struct ev_window w;
	int rc;

	memcpy(&w, ev, sizeof(w));
	w.flags |= WINDOWF_BLOCKING;
	rc = put_coarse(t);
	if (rc >= 0)
		rc = put_part(t, t->begin_ns, t->border_ns);
	return rc < 0 ? rc : put(t, &w.h);
}

static int thin_put(void *ctx, const struct event_hdr *ev)
{
	struct thin *t = ctx;
	const struct ev_wait *w = (const void *)ev;
	int rc;

	switch (ev->kind) {
	case EV_META:
		rc = put(t, ev);
		return rc < 0 ? rc : put_part(t, t->begin_ns, 0);
	case EV_CALLS:
		return put_calls(t, ev);
	case EV_WINDOW:
		return put_window(t, ev);
	case EV_WAIT:
		return ev->ts_ns - w->off_ns < WAIT_SHORT_NS && !in_slice(t, w->off_ns)
			       ? 0 : put(t, ev);
	default:
		return put(t, ev);
	}
}

static int pump(const char *path, struct event_sink sink, struct err *err)
{
	struct source *src;
	int code = source_file(path, &src, err);

	if (code < 0)
		return code;
	while ((code = source_step(src, &sink, err)) > 0)
		;
	source_free(src);
	return code;
}

int main(int argc, char **argv)
{
	const struct capture_opts opts = {.force = true};
	struct thin t = {0};
	struct capture *cap;
	struct err err = {0};
	double seconds = argc > 3 ? strtod(argv[3], NULL) : 3;
	int code;

	if (argc < 3)
		return 2;
	t.slice_ns = argc > 5 ? (uint64_t)(strtod(argv[4], NULL) * 1e6) : 0;
	t.period_ns = argc > 5 ? (uint64_t)(strtod(argv[5], NULL) * 1e6) : 0;
	code = pump(argv[1], (struct event_sink){find_window, &t}, &err);
	t.border_ns = t.end_ns - (uint64_t)(seconds * 1e9);
	if (t.border_ns < t.begin_ns || t.border_ns > t.end_ns)
		t.border_ns = t.begin_ns;
	if (code >= 0)
		code = capture_create(argv[2], &opts, &cap, &err);
	if (code >= 0) {
		t.out = capture_sink(cap);
		code = pump(argv[1], (struct event_sink){thin_put, &t}, &err);
		if (capture_finish(cap, &err) < 0)
			code = err.code;
		capture_free(cap);
	}
	if (code < 0)
		fprintf(stderr, "thin: %s\n", err.msg);
	return code < 0;
}
