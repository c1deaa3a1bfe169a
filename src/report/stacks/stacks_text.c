/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three tables that fit one screen together: functions by time on the CPU,
 * what was waited for with the place in the program, and who ended the waits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/fmt.h"
#include "report/facts.h"
#include "report/lines/pen.h"
#include "report/stacks/stacks_out.h"
#include "stacks/diff.h"
#include "stacks/tops.h"

enum { LINES_ALL = 36, CALLERS_SHOWN = 3 };

/* Column ends. */
enum { COL_SHARE = 7, COL_SECOND = 20, COL_TEXT = 22, COL_INDENT = 24, NARROW_INDENT = 4 };

static double share_of(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

static const char *fn_name(const struct stacks_result *r, uint32_t fn)
{
	return r->fns[fn].name;
}

static void add_fn(struct buf *b, const struct stacks_result *r, uint32_t fn)
{
	buf_adds(b, fn_name(r, fn));
	if (r->fns[fn].kind == FN_KERNEL)
		buf_adds(b, " [kernel]");
}

/* forks: beyond these the callers differ. */
static void add_callers(struct buf *b, const struct stacks_result *r, const uint32_t *fns,
			uint32_t cnt, bool forks, bool ascii)
{
	const char *arrow = ascii ? " < " : " ← ";

	for (uint32_t i = 0; i < cnt && i < CALLERS_SHOWN; i++) {
		if (i)
			buf_adds(b, arrow);
		add_fn(b, r, fns[i]);
	}
	if (!cnt)
		buf_adds(b, r->fns[r->none].name);
	else if (forks && cnt < CALLERS_SHOWN)
		buf_printf(b, "%s[several callers]", arrow);
}

static void put_head(struct pen *p, const char *title, const char *more)
{
	pen_nl(p);
	pen_text(p, PEN_HEAD, title);
	pen_text(p, PEN_DIM, "  ");
	pen_wrap(p, PEN_DIM, 2, 1, more);
	pen_nl(p);
}

static void put_more(struct pen *p, size_t cnt, size_t shown)
{
	if (cnt <= shown)
		return;
	pen_fmt(p, PEN_DIM, "  %s %zu more: see --json or --html", p->ascii ? "..." : "…",
		cnt - shown);
	pen_nl(p);
}

static void put_share(struct pen *p, unsigned end, enum pen_style style, double share)
{
	char t[FMT_MAX];

	pen_right(p, style, end, fmt_share(t, share));
}

/* The names of the columns. */
static void put_columns(struct pen *p, const char *share, const char *second, const char *text)
{
	pen_right(p, PEN_DIM, COL_SHARE, share);
	pen_right(p, PEN_DIM, COL_SECOND, second);
	pen_to(p, COL_TEXT);
	pen_text(p, PEN_DIM, text);
	pen_nl(p);
}

static void on_head(struct pen *p, const struct stacks_result *r)
{
	const struct stacks_sum *s = &r->sums[STACKS_ON];
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX];

	buf_printf(&b, "%s of CPU, %llu samples", fmt_ns(t, s->total_ns),
		   (unsigned long long)s->cnt);
	if (s->cut_ns)
		buf_printf(&b, ", %s in stacks that do not reach main",
			   fmt_share(t, share_of(s->cut_ns, s->scaled_ns)));
	put_head(p, "ON CPU", buf_str(&b));
}

static void put_on(struct pen *p, const struct stacks_view *v, size_t rows)
{
	const struct stacks_sum *s = &v->r->sums[STACKS_ON];
	size_t cnt;
	struct top_fn *tops = tops_make(v->r, STACKS_ON, v->arena, &cnt);

	on_head(p, v->r);
	if (!cnt)
		return;
	put_columns(p, "self", "with callees", "function");
	for (size_t i = 0; i < cnt && i < rows; i++) {
		const struct stack_fn *fn = &v->r->fns[tops[i].fn];

		put_share(p, COL_SHARE, PEN_BOLD, share_of(tops[i].self_ns, s->scaled_ns));
		put_share(p, COL_SECOND, PEN_PLAIN, share_of(tops[i].total_ns, s->scaled_ns));
		pen_to(p, COL_TEXT);
		if (p->columns < PEN_NARROW) { /* the module is what may go */
			pen_last(p, PEN_PLAIN, NARROW_INDENT, fn->name);
			pen_nl(p);
			continue;
		}
		pen_cut(p, PEN_PLAIN, p->columns > p->col + 24 ? p->columns - p->col - 20 : 20,
			fn->name);
		pen_text(p, PEN_DIM, "  ");
		pen_cut(p, PEN_DIM, p->columns > p->col ? p->columns - p->col : 1,
			fn->kind == FN_KERNEL ? "kernel" : fn->kind == FN_JIT && !fn->lang ? "JIT"
									       : fn->module);
		pen_nl(p);
	}
	put_more(p, cnt, rows);
}

static void off_head(struct pen *p, const struct stacks_result *r)
{
	const struct stacks_sum *s = &r->sums[STACKS_OFF];
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX], u[FMT_MAX];

	buf_printf(&b, "%s of threads' waiting", fmt_ns(t, s->total_ns));
	if (s->total_ns)
		buf_printf(&b, ", stacks for %s of it",
			   fmt_share(t, share_of(s->covered_ns, s->total_ns)));
	if (s->idle_ns)
		buf_printf(&b, "; %s of waiting for work left out", fmt_ns(u, s->idle_ns));
	put_head(p, "OFF CPU", buf_str(&b));
}

static void put_spot_head(struct pen *p, const struct stacks_view *v, const struct spot *s,
			  uint64_t all_ns)
{
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX];

	put_share(p, COL_SHARE, PEN_BOLD, share_of(s->ns, all_ns));
	if (s->cnt)
		pen_right(p, PEN_PLAIN, COL_SECOND, fmt_ns(t, s->seen_ns / s->cnt));
	pen_to(p, COL_TEXT);
	buf_adds(&b, fn_name(v->r, s->thread_fn));
	if (s->thread_cnt > 1)
		buf_printf(&b, ", %u threads", s->thread_cnt);
	buf_adds(&b, ": ");
	if (s->st >= ST_WAIT)
		buf_adds(&b, "waits for ");
	buf_adds(&b, fn_name(v->r, s->res_fn));
	if (s->res_cnt > 1)
		buf_printf(&b, " and %u more", s->res_cnt - 1);
	pen_last(p, PEN_KEY, NARROW_INDENT, buf_str(&b));
	pen_nl(p);
}

static void put_line(struct pen *p, const char *text)
{
	pen_to(p, p->columns < PEN_NARROW ? NARROW_INDENT : COL_INDENT);
	pen_last(p, PEN_PLAIN, NARROW_INDENT, text);
	pen_nl(p);
}

static void put_off(struct pen *p, const struct stacks_view *v, size_t rows)
{
	size_t cnt;
	struct spot *spots = spots_make(v->r, STACKS_OFF, v->arena, &cnt);

	off_head(p, v->r);
	if (!cnt)
		return;
	put_columns(p, "share", "each", "thread, what it waits for, and where");
	for (size_t i = 0; i < cnt && i < rows; i++) {
		CLEANUP(buf_release) struct buf b = {0};

		put_spot_head(p, v, &spots[i], v->r->sums[STACKS_OFF].total_ns);
		buf_adds(&b, "in ");
		add_callers(&b, v->r, spots[i].fns, spots[i].fn_cnt, spots[i].forks, p->ascii);
		put_line(p, buf_str(&b));
	}
	put_more(p, cnt, rows);
}

static void put_waker(struct pen *p, const struct stacks_view *v, size_t rows)
{
	const struct stacks_sum *s = &v->r->sums[STACKS_WAKER];
	CLEANUP(buf_release) struct buf head = {0};
	char t[FMT_MAX];
	size_t cnt;
	struct spot *spots = spots_make(v->r, STACKS_WAKER, v->arena, &cnt);

	buf_printf(&head, "the waker's stack is known for %s of the waiting",
		   fmt_share(t, share_of(s->covered_ns, s->total_ns)));
	put_head(p, "ENDED BY", buf_str(&head));
	for (size_t i = 0; i < cnt && i < rows; i++) {
		CLEANUP(buf_release) struct buf b = {0};
		const struct spot *sp = &spots[i];

		put_spot_head(p, v, sp, s->total_ns);
		if (sp->waker_fn != NO_IDX)
			buf_printf(&b, "ended by %s in ", fn_name(v->r, sp->waker_fn));
		else
			buf_adds(&b, "ended in ");
		add_callers(&b, v->r, sp->waker_fns, sp->waker_fn_cnt, sp->waker_forks,
			    p->ascii);
		put_line(p, buf_str(&b));
	}
	put_more(p, cnt, rows);
}

static void put_subject(struct pen *p, const struct model *m)
{
	CLEANUP(buf_release) struct buf b = {0};

	buf_printf(&b, "%s%sfor %.1f s", m->selection, m->selection[0] ? ", " : "",
		   (double)(m->end_ns - m->begin_ns) / 1e9);
	pen_wrap(p, PEN_BOLD, 0, 2, buf_str(&b));
	pen_nl(p);
}

/* Lists what is missing of the stacks themselves. */
static void put_missing(struct pen *p, const struct model *m)
{
	static const struct { uint8_t loss; const char *what; } rows[] = {
		{LOSS_STACK_BUDGET, "waits without a stack: enough were taken"},
		{LOSS_STACK_MAP, "stacks end where the code was not known yet"},
		{LOSS_STACK_CUT, "stacks are deeper than the limit"},
		{LOSS_STACK_READ, "stacks end where memory could not be read"},
		{LOSS_SAMPLES, "samples not stored"},
		{LOSS_FRAME_NAMES, "frames without a name: too many"},
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char t[FMT_MAX];

		if (!m->loss.cnt[rows[i].loss])
			continue;
		if (!any)
			pen_nl(p);
		any = true;
		pen_fmt(p, PEN_DIM, "%s %s", fmt_count(t, m->loss.cnt[rows[i].loss]), rows[i].what);
		pen_nl(p);
	}
	for (size_t i = 0; i < m->note_cnt; i++) {
		if (m->note_kinds[i] != NOTE_LIMIT)
			continue;
		if (!any)
			pen_nl(p);
		any = true;
		pen_wrap(p, PEN_DIM, 0, 2, m->notes[i]);
		pen_nl(p);
	}
}

struct moved { uint32_t fn; double was, is; };

static int cmp_moved(const void *pa, const void *pb)
{
	const struct moved *a = pa, *b = pb;
	double da = a->is > a->was ? a->is - a->was : a->was - a->is;
	double db = b->is > b->was ? b->is - b->was : b->was - b->is;

	CMP(db, da);
	CMP(a->fn, b->fn);
	return 0;
}

static double seconds_of(const struct stacks_result *r)
{
	return (double)(r->m->end_ns - r->m->begin_ns) / 1e9;
}

static void put_moved(struct pen *p, const struct moved *rows, size_t cnt,
		      const struct stack_diff *d, size_t max)
{
	char t[FMT_MAX];

	for (size_t i = 0; i < cnt && i < max; i++) {
		double by = rows[i].is - rows[i].was;
		enum pen_style style = by > 0 ? PEN_BAD : PEN_GOOD;

		pen_fmt(p, style, " %c", by > 0 ? '+' : '-');
		pen_right(p, style, 12, fmt_ns(t, (uint64_t)(by > 0 ? by : -by)));
		pen_right(p, PEN_PLAIN, 23, fmt_ns(t, (uint64_t)rows[i].is));
		pen_right(p, PEN_DIM, 34, fmt_ns(t, (uint64_t)rows[i].was));
		pen_to(p, 36);
		pen_last(p, PEN_PLAIN, NARROW_INDENT, d->fns[rows[i].fn].name);
		pen_nl(p);
	}
}

static void put_diff(struct pen *p, const struct stacks_view *v, unsigned mode, size_t rows)
{
	struct stack_diff *d = diff_make(v->base, v->r, mode, v->arena);
	double was_s = seconds_of(v->base), is_s = seconds_of(v->r);
	struct moved *moved = ARENA_ARRAY(v->arena, struct moved, d->row_cnt + 1);
	CLEANUP(buf_release) struct buf head = {0};
	char t[FMT_MAX], u[FMT_MAX];
	size_t cnt = 0;

	for (size_t i = 0; i < d->row_cnt; i++)
		if (d->rows[i].self_ns[0] || d->rows[i].self_ns[1])
			moved[cnt++] = (struct moved){d->rows[i].fn,
						      (double)d->rows[i].self_ns[0] / was_s,
						      (double)d->rows[i].self_ns[1] / is_s};
	qsort(moved, cnt, sizeof(*moved), cmp_moved);
	buf_printf(&head, "%s a second, was %s",
		   fmt_ns(t, (uint64_t)((double)d->total_ns[1] / is_s)),
		   fmt_ns(u, (uint64_t)((double)d->total_ns[0] / was_s)));
	put_head(p, mode == STACKS_ON ? "ON CPU" : mode == STACKS_OFF ? "OFF CPU" : "ENDED BY",
		 buf_str(&head));
	if (!cnt)
		return;
	pen_right(p, PEN_DIM, 12, "change");
	pen_right(p, PEN_DIM, 23, "now");
	pen_right(p, PEN_DIM, 34, "was");
	pen_to(p, 36);
	pen_text(p, PEN_DIM, "function, per second watched");
	pen_nl(p);
	put_moved(p, moved, cnt, d, rows);
	put_more(p, cnt, rows);
}

static unsigned mode_cnt(unsigned modes)
{
	unsigned cnt = 0;

	for (; modes; modes &= modes - 1)
		cnt++;
	return cnt ? cnt : 1;
}

void stacks_text(const struct stacks_view *v, struct pen *p)
{
	unsigned lines = LINES_ALL / mode_cnt(v->modes);

	put_subject(p, v->r->m);
	for (unsigned mode = 0; mode < STACKS_MODE_CNT; mode++) {
		if (!(v->modes & 1u << mode))
			continue;
		if (v->base)
			put_diff(p, v, mode, lines - 4);
		else if (mode == STACKS_ON)
			put_on(p, v, lines - 4);
		else if (mode == STACKS_OFF)
			put_off(p, v, (lines - 4) / 2);
		else
			put_waker(p, v, (lines - 3) / 2);
	}
	put_missing(p, v->r->m);
}
