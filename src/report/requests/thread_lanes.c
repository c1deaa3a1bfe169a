/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of cells, as wide as the pen:
 *
 *	nginx 1234   ██────────────██
 *	php 77         ████L──██
 *
 * A cell is what the thread did longest in it; later spans lie over earlier ones, inner
 * over outer.
 */
#include "report/requests/thread_lanes.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/vec.h"
#include "report/lines/pen.h"
#include "trace/trace.h"

enum { LANES_MAX = 16, LABEL = 24, WAITS_TOP = 3, CELLS_MIN = 20 };
enum cell { CELL_NONE, CELL_WORKS, CELL_ASKS, CELL_WAITS, CELL_CNT };

struct lane {
	uint32_t service;
	uint64_t thread;	/* string id */
	unsigned char *cells;
};

struct lanes {
	const struct trace *t;
	const struct strtab *strings;
	VEC(struct lane) items;
	unsigned width;
	int64_t begin_ns, total_ns;
};

/* String id of the value of the span's attribute, 0: it has none. */
static uint64_t attr_of(const struct lanes *l, const struct span *s, const char *key)
{
	for (uint32_t i = 0; i < s->attr_cnt; i++) {
		const struct attr *a = &l->t->attrs[s->attr_idx + i];

		if (a->type == ATTR_STR && strcmp(strtab_str(l->strings, a->key), key) == 0)
			return a->str;
	}
	return 0;
}

static struct lane *lane_of(struct lanes *l, const struct span *s, uint64_t thread)
{
	struct lane *lane;

	VEC_FOREACH(&l->items, known) {
		if (known->thread == thread && known->service == s->service)
			return known;
	}
	if (l->items.cnt == LANES_MAX)
		return NULL;
	lane = vec_add(&l->items);
	*lane = (struct lane){.service = s->service, .thread = thread,
			      .cells = xcalloc(l->width, 1)};
	return lane;
}

static unsigned cell_of(const struct lanes *l, int64_t ns)
{
	__int128 cell = l->total_ns > 0 ? (__int128)(ns - l->begin_ns) * l->width / l->total_ns : 0;

	return cell < 0 ? 0 : cell >= l->width ? l->width - 1 : (unsigned)cell;
}

static void span_take(struct lanes *l, const struct span *s)
{
	uint64_t thread = attr_of(l, s, s->kind == SPAN_SERVER ? "worker" : "thread");
	struct lane *lane = thread ? lane_of(l, s, thread) : NULL;
	enum cell what = s->kind == SPAN_SERVER ? CELL_WORKS : s->kind == SPAN_CLIENT ? CELL_ASKS
										      : CELL_WAITS;

	if (lane)
		memset(lane->cells + cell_of(l, s->begin_ns), (int)what,
		       cell_of(l, s->end_ns) - cell_of(l, s->begin_ns) + 1);
}

static void put_lane(const struct lanes *l, const struct lane *lane, struct pen *p)
{
	static const char *const glyphs[2][CELL_CNT] = {{" ", "█", "─", "w"}, {" ", "#", "-", "w"}};
	static const enum pen_style styles[CELL_CNT] = {PEN_PLAIN, PEN_GOOD, PEN_DIM, PEN_BAD};
	char label[128];

	snprintf(label, sizeof(label), "%s %s", strtab_str(l->strings, lane->service),
		 strtab_str(l->strings, (uint32_t)lane->thread));
	pen_to(p, 2);
	pen_cut_middle(p, PEN_PLAIN, LABEL - 2, label);
	pen_to(p, LABEL + 1);
	for (unsigned c = 0; c < l->width; c++)
		pen_text(p, styles[lane->cells[c]], glyphs[p->ascii][lane->cells[c]]);
	pen_nl(p);
}

/* "waits 12.3 ms: lock, held by a request of 10.0.0.7:5000, woken by thread 12" */
static void put_wait(const struct lanes *l, const struct span *s, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};
	uint64_t by = attr_of(l, s, "held by a request of");
	uint64_t waker = attr_of(l, s, "woken by thread");
	char took[FMT_MAX];

	buf_printf(&b, "thread %s waits %s: %s",
		   strtab_str(l->strings, (uint32_t)attr_of(l, s, "thread")),
		   fmt_ns(took, (uint64_t)(s->end_ns - s->begin_ns)),
		   strtab_str(l->strings, s->name));
	if (by)
		buf_printf(&b, ", held by a request of %s", strtab_str(l->strings, (uint32_t)by));
	if (waker)
		buf_printf(&b, ", woken by thread %s", strtab_str(l->strings, (uint32_t)waker));
	pen_to(p, 2);
	pen_wrap(p, PEN_PLAIN, 4, 2, buf_str(&b));
	pen_nl(p);
}

static void put_waits(const struct lanes *l, struct pen *p)
{
	int64_t below_ns = INT64_MAX;

	for (int n = 0; n < WAITS_TOP; n++) {
		const struct span *longest = NULL;

		for (uint32_t i = 0; i < l->t->span_cnt; i++) {
			const struct span *s = &l->t->spans[i];
			int64_t ns = s->end_ns - s->begin_ns;

			if (s->kind == SPAN_INTERNAL && attr_of(l, s, "thread") && ns < below_ns &&
			    (!longest || ns > longest->end_ns - longest->begin_ns))
				longest = s;
		}
		if (!longest)
			return;
		put_wait(l, longest, p);
		below_ns = longest->end_ns - longest->begin_ns;
	}
}

void thread_lanes_text(const struct trace *t, const struct strtab *strings, struct pen *p)
{
	unsigned columns = p->columns < PEN_COLUMNS_MIN ? PEN_COLUMNS_MIN : p->columns;
	struct lanes l = {.t = t, .strings = strings, .begin_ns = INT64_MAX};
	int64_t end_ns = INT64_MIN;

	l.width = columns > LABEL + 2 + CELLS_MIN ? columns - LABEL - 2 : CELLS_MIN;
	for (uint32_t i = 0; i < t->span_cnt; i++) {
		l.begin_ns = t->spans[i].begin_ns < l.begin_ns ? t->spans[i].begin_ns : l.begin_ns;
		end_ns = t->spans[i].end_ns > end_ns ? t->spans[i].end_ns : end_ns;
	}
	l.total_ns = t->span_cnt ? end_ns - l.begin_ns : 0;
	for (int pass = 0; pass < 2; pass++) {	/* requests below what is in them */
		for (uint32_t i = 0; i < t->span_cnt; i++) {
			if ((t->spans[i].kind != SPAN_SERVER) == pass)
				span_take(&l, &t->spans[i]);
		}
	}
	if (l.items.cnt) {
		pen_nl(p);
		pen_text(p, PEN_DIM, p->ascii ? "  its threads; #: works on it, -: asks, w: waits"
					      : "  its threads; █: works on it, ─: asks, w: waits");
		pen_nl(p);
	}
	VEC_FOREACH(&l.items, lane) {
		put_lane(&l, lane, p);
		free(lane->cells);
	}
	put_waits(&l, p);
	vec_release(&l.items);
}
