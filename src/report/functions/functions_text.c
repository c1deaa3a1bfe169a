/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One screen: what the window holds, the functions with the reason of each,
 * the worst execution units, what remains unknown.  --explain shows one
 * function's units call by call.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "functions/functions.h"
#include "model/calls/calls.h"
#include "report/functions/functions_out.h"
#include "report/lines/pen.h"
#include "verdict/agreement.h"

enum { TOP_DEFAULT = 10, UNITS_TOP = 4, TIE_SHOWN = 4, CALLS_SHOWN = 40, CLUSTERS_TOP = 5 };

/* Column ends and begins. */
enum { COL_RANK = 4, COL_SCORE = 11, COL_HARM = 19, COL_NAME = 21, COL_WHY = 60, COL_INDENT = 23,
       NARROW_INDENT = 6 };

/* The longest of them is shown where it is so many times the mean. */
#define APART 2

static const char *call_name(const struct functions_result *r, unsigned nr)
{
	return nr == NR_OWN ? "" : model_call_name(r->m, nr);
}

/* The longest call was felt; the mean of many short ones beside it hides it. */
static void longest_words(const struct unit_dev *d, const char *of, struct buf *out)
{
	bool apart = d->max_ns >= APART * d->mean_ns && d->mean_ns;
	char t[FMT_MAX];

	buf_printf(out, "%s%s", fmt_ns(t, apart ? d->max_ns : d->mean_ns), of);
	if (apart)
		buf_printf(out, ", %s on average", fmt_ns(t, d->mean_ns));
	if (d->usual_ns)
		buf_printf(out, ", usually %s", fmt_ns(t, d->usual_ns));
}

static void functions_dev_words(const struct functions_result *r, const struct unit_dev *d,
				struct buf *out)
{
	const char *name = call_name(r, d->nr);
	char t[FMT_MAX];

	switch (d->kind) {
	case DEV_MORE:
		buf_printf(out, "%s %s calls, ", fmt_count(t, d->cnt), name);
		if (d->usual_cnt < 0.5f)
			buf_adds(out, "usually none");
		else
			buf_printf(out, "usually %.0f", (double)d->usual_cnt);
		break;
	case DEV_SLOWER:
		buf_printf(out, "%s takes ", name);
		longest_words(d, "", out);
		break;
	case DEV_NEVER:
		buf_printf(out, "%s did not return for %s", name, fmt_ns(t, d->mean_ns));
		break;
	case DEV_OWN:
		longest_words(d, " between two calls", out);
		break;
	default:
		buf_printf(out, "no call for %s", fmt_ns(t, d->mean_ns));
	}
}

void functions_evidence_words(const struct functions_result *r, const struct fn_evidence *e,
			      struct buf *out)
{
	const char *name = call_name(r, e->nr);
	char t[FMT_MAX], u[FMT_MAX];

	switch (e->kind) {
	case DEV_MORE:
		buf_printf(out, "more %s calls: %s in %s units", name, fmt_count(t, e->cnt),
			   fmt_count(u, e->unit_cnt));
		break;
	case DEV_SLOWER:
		buf_printf(out, "slower %s: %s in %s units", name, fmt_count(t, e->cnt),
			   fmt_count(u, e->unit_cnt));
		break;
	case DEV_NEVER:
		buf_printf(out, "%s never returned", name);
		break;
	case DEV_OWN:
		buf_adds(out, "more time without calls");
		break;
	case DEV_ENDS:
		buf_adds(out, "the wait chain of heldup why ends in it");
		return;
	case DEV_HELD:
	case DEV_WORKS:
		buf_printf(out, "%s %s of their time, %s",
			   e->kind == DEV_HELD ? "requests wait in it"
					       : "it works for requests",
			   fmt_share(u, r->held_ns ? (double)e->harm_ns / (double)r->held_ns : 0),
			   fmt_ns(t, e->harm_ns));
		return;
	default:
		buf_adds(out, "runs without making calls");
	}
	buf_printf(out, ", %s", fmt_ns(t, e->harm_ns));
}

static void put_head(struct pen *p, const char *title, const char *more)
{
	pen_nl(p);
	pen_text(p, PEN_HEAD, title);
	pen_text(p, PEN_DIM, "  ");
	pen_wrap(p, PEN_DIM, 2, 1, more);
	pen_nl(p);
}

static void put_subject(struct pen *p, const struct functions_result *r)
{
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX], u[FMT_MAX], v[FMT_MAX];

	buf_printf(&b, "%s%s%s", r->m->selection, r->m->selection[0] ? ", " : "",
		   fmt_ns(t, r->part_ns ? r->part_ns : r->end_ns - r->begin_ns));
	if (r->part_ns)
		buf_printf(&b, " of blocking calls, %s of all calls",
			   fmt_ns(u, r->end_ns - r->begin_ns - r->part_ns - r->away_ns));
	buf_printf(&b, ", %s calls", fmt_count(u, r->call_cnt));
	if (r->m->calls->reason[0])
		buf_printf(&b, " (%s)", r->m->calls->reason);
	buf_printf(&b, " in %s execution units of %s kinds, %s abnormal", fmt_count(t, r->unit_cnt),
		   fmt_count(u, r->cluster_cnt), fmt_count(v, r->abnormal_cnt));
	pen_wrap(p, PEN_BOLD, 0, 2, buf_str(&b));
	pen_nl(p);
}

void functions_outside_words(const struct functions_result *r, struct buf *out)
{
	const struct outside_report *o = &r->outside;
	char t[FMT_MAX];

	if (o->kind && o->words) {
		buf_printf(out, "The cause lies outside: %s", o->words);
		return;
	}
	switch (o->kind) {
	case OUTSIDE_NONE:
		return;
	case OUTSIDE_DISK:
		buf_printf(out, "The cause lies outside: %s uses the disk more, and %s of the "
			   "harm is in slower calls to it.", o->who, fmt_share(t, o->share));
		break;
	case OUTSIDE_CPU:
		buf_printf(out, "The cause lies outside: threads wait for CPUs that %s has.",
			   o->who);
		break;
	default:
		buf_printf(out, "The cause may lie outside: %u of %u threads were hit at once, "
			   "in calls with no function in common.", o->hit_cnt, o->thread_cnt);
	}
}

static void put_outside(struct pen *p, const struct functions_result *r)
{
	CLEANUP(buf_release) struct buf b = {0};

	functions_outside_words(r, &b);
	if (!b.len)
		return;
	pen_nl(p);
	pen_wrap(p, PEN_BAD, 0, 3, buf_str(&b));
	pen_nl(p);
	pen_text(p, PEN_DIM, "The functions below are those it shows in.");
	pen_nl(p);
}

static void put_agreement(struct pen *p, const struct agreement *a)
{
	if (!a || !*a->words)
		return;
	pen_wrap(p, a->kind == AGREE_DIFFER ? PEN_BAD : PEN_DIM, 0, 4, a->words);
	pen_nl(p);
}

static void put_fn_name(struct pen *p, const struct fn_report *f)
{
	unsigned width = COL_WHY - COL_NAME - 1, name = (unsigned)strlen(f->name);

	if (p->columns < PEN_NARROW)
		width = p->columns - COL_NAME;
	pen_to(p, COL_NAME);
	pen_cut_middle(p, f->rank == 1 ? PEN_BOLD : PEN_PLAIN, width, f->name);
	if (name + 3 < width) {
		pen_text(p, PEN_DIM, " ");
		pen_cut(p, PEN_DIM, width - name - 1, f->module);
	}
}

double functions_share(const struct fn_report *f)
{
	if (!f->evidence_cnt)
		return f->usual_share;
	return f->evidence[0].kind >= DEV_HELD ? f->held_share : f->harm_share;
}

void functions_why_words(const struct functions_result *r, const struct fn_report *f,
			 struct buf *out)
{
	if (f->evidence_cnt) {
		functions_evidence_words(r, &f->evidence[0], out);
		if (!f->evidence[0].self)
			buf_adds(out, " (called)");
	} else {
		buf_adds(out, "its part of the time; nothing in it is unusual");
	}
	if (f->tie)
		buf_printf(out, "; same as %u more", f->tie_cnt - 1);
}

static void put_fn(struct pen *p, const struct functions_result *r, const struct fn_report *f)
{
	CLEANUP(buf_release) struct buf why = {0};
	char t[FMT_MAX];

	pen_right(p, PEN_BOLD, COL_RANK, (snprintf(t, sizeof(t), "%u", f->rank), t));
	pen_right(p, PEN_PLAIN, COL_SCORE, (snprintf(t, sizeof(t), "%.2f", f->score), t));
	pen_right(p, PEN_PLAIN, COL_HARM, fmt_share(t, functions_share(f)));
	put_fn_name(p, f);
	if (p->columns >= PEN_NARROW)
		pen_to(p, COL_WHY);
	functions_why_words(r, f, &why);
	pen_last(p, PEN_PLAIN, NARROW_INDENT, buf_str(&why));
	pen_nl(p);
}

static void put_fns(struct pen *p, const struct functions_view *v)
{
	const struct functions_result *r = v->r;
	size_t top = v->top ? v->top : TOP_DEFAULT;
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX];

	if (r->thin & THIN_NO_HARM)
		buf_adds(&b, "nothing stands out: by where time goes");
	else
		buf_printf(&b, "%s more than usual", fmt_ns(t, r->harm_ns));
	if (r->total_fn_cnt)
		buf_printf(&b, ", %zu of %s functions listed", r->fn_cnt,
			   fmt_count(t, r->total_fn_cnt));
	put_head(p, "FUNCTIONS", buf_str(&b));
	if (!r->fn_cnt)
		return;
	pen_right(p, PEN_DIM, COL_RANK, "rank");
	pen_right(p, PEN_DIM, COL_SCORE, "score");
	pen_right(p, PEN_DIM, COL_HARM, "share");
	pen_to(p, COL_NAME);
	pen_text(p, PEN_DIM, "function");
	if (p->columns >= PEN_NARROW)
		pen_to(p, COL_WHY);
	pen_text(p, PEN_DIM, p->columns >= PEN_NARROW ? "why" : ", why");
	pen_nl(p);
	for (size_t i = 0; i < r->fn_cnt && i < top; i++)
		put_fn(p, r, &r->fns[i]);
	if (r->fn_cnt > top) {
		pen_fmt(p, PEN_DIM, "  %s %zu more: see --top or --json", p->ascii ? "..." : "…",
			r->fn_cnt - top);
		pen_nl(p);
	}
}

static void thread_words(const struct functions_result *r, uint32_t thread, struct buf *out)
{
	const struct thread *t = &r->m->threads[thread];

	buf_printf(out, "%s %u", t->comm[0] ? t->comm : "thread", t->tid);
}

static void put_unit(struct pen *p, const struct functions_result *r, const struct unit_report *u)
{
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX];

	pen_right(p, PEN_PLAIN, COL_SCORE, fmt_ns(t, u->begin_ns > r->begin_ns
						   ? u->begin_ns - r->begin_ns : 0));
	pen_right(p, PEN_PLAIN, COL_HARM, fmt_ns(t, u->harm_ns));
	pen_to(p, COL_NAME);
	thread_words(r, u->thread, &b);
	buf_adds(&b, ": ");
	for (uint32_t i = 0; i < u->dev_cnt; i++) {
		if (i)
			buf_adds(&b, "; ");
		functions_dev_words(r, &u->devs[i], &b);
	}
	if (u->waits_for != NO_IDX) {
		buf_adds(&b, "; waits for ");
		thread_words(r, u->waits_for, &b);
	}
	if (u->reasons & UNIT_RESTS)
		buf_adds(&b, " (most likely waits for work)");
	else if (u->reasons & UNIT_RARE)
		buf_adds(&b, " (rare: nothing to compare it with)");
	pen_last(p, PEN_PLAIN, NARROW_INDENT, buf_str(&b));
	pen_nl(p);
}

static void put_units(struct pen *p, const struct functions_result *r)
{
	if (!r->unit_report_cnt)
		return;
	put_head(p, "WORST PIECES OF WORK", "");
	pen_right(p, PEN_DIM, COL_SCORE, "at");
	pen_right(p, PEN_DIM, COL_HARM, "cost");
	pen_to(p, COL_NAME);
	pen_text(p, PEN_DIM, "thread, and what was unlike the others");
	pen_nl(p);
	for (size_t i = 0; i < r->unit_report_cnt && i < UNITS_TOP; i++)
		put_unit(p, r, &r->units[i]);
}

static void put_line(struct pen *p, enum pen_style style, const char *text)
{
	pen_text(p, style, "  ");
	pen_wrap(p, style, 2, 2, text);
	pen_nl(p);
}

static void put_thin(struct pen *p, const struct functions_result *r)
{
	char t[FMT_MAX];

	if (!r->thin && !r->skipped_cnt)
		return;
	put_head(p, "NOT TOLD", "");
	for (uint32_t bit = 1; functions_thin_text(bit); bit <<= 1)
		if (r->thin & bit)
			put_line(p, PEN_DIM, functions_thin_text(bit));
	if (r->away_ns) {
		pen_fmt(p, PEN_DIM, "  not recorded: %s of it, about", fmt_ns(t, r->away_ns));
		pen_fmt(p, PEN_DIM, " %s calls, and", fmt_count(t, r->lost_cnt));
		pen_fmt(p, PEN_DIM, " %s execution units in part (--max-cost)",
			fmt_count(t, r->torn_cnt));
		pen_nl(p);
	} else if (r->lost_cnt) {
		pen_fmt(p, PEN_DIM, "  %s calls were lost", fmt_count(t, r->lost_cnt));
		pen_nl(p);
	}
	if (r->folded_cnt) {
		pen_fmt(p, PEN_DIM, "  %s calls of kinds over that limit were left out",
			fmt_count(t, r->folded_cnt));
		pen_nl(p);
	}
	if (r->skipped_cnt) {
		pen_fmt(p, PEN_DIM, "  %s lines or records were not understood",
			fmt_count(t, r->skipped_cnt));
		pen_nl(p);
	}
}

/* ---- --explain */

static const struct {
	uint32_t bit;
	const char *words;
} reasons[] = {
	{UNIT_NEIGHBOUR, "far from its nearest neighbours"},
	{UNIT_CENTRE, "far from the middle of its kind"},
	{UNIT_RARE, "one of fewer than four of its kind, which is a prior and no finding"},
	{UNIT_LONG_KIND, "of a kind that takes far longer than the usual one"},
	{UNIT_BASELINE, "compared with what was usual when all was well"},
	{UNIT_STUCK, "stuck"},
	{UNIT_RESTS, "most likely idle"},
	{UNIT_UNFELT, "counts less, since no request waits for this thread"},
};

static void put_unit_reasons(struct pen *p, const struct unit_report *u)
{
	CLEANUP(buf_release) struct buf b = {0};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (u->reasons & reasons[i].bit)
			buf_printf(&b, "%s%s", b.len ? ", " : "abnormal: ", reasons[i].words);
	buf_printf(&b, "; distance %.1f", (double)u->score);
	pen_to(p, COL_NAME);
	pen_wrap(p, PEN_DIM, COL_NAME, 2, buf_str(&b));
	pen_nl(p);
}

/* "epoll_wait read×3 write": runs of one call are one word. */
static void calls_words(const struct functions_result *r, uint32_t first, uint32_t cnt,
			struct buf *out)
{
	const struct call *calls = r->m->calls->calls;
	unsigned words = 0;

	for (uint32_t i = first, end; i < first + cnt; i = end) {
		for (end = i + 1; end < first + cnt && calls[end].nr == calls[i].nr;)
			end++;
		if (++words > CALLS_SHOWN) {
			buf_adds(out, " ...");
			return;
		}
		buf_printf(out, "%s%s", words > 1 ? " " : "", call_name(r, calls[i].nr));
		if (end - i > 1)
			buf_printf(out, "*%u", end - i);
	}
}

static void put_unit_path(struct pen *p, const struct functions_result *r,
			  const struct unit_report *u)
{
	CLEANUP(buf_release) struct buf b = {0};

	pen_to(p, COL_NAME);
	if (u->cnt)
		calls_words(r, u->first, u->cnt, &b);
	else
		buf_adds(&b, "makes no calls");
	pen_wrap(p, PEN_PLAIN, COL_NAME, 4, buf_str(&b));
	pen_nl(p);
}

static void put_link(struct pen *p, const struct functions_result *r, const char *what,
		     uint32_t idx)
{
	pen_to(p, COL_NAME);
	pen_text(p, PEN_DIM, what);
	pen_nl(p);
	put_unit(p, r, &r->units[idx]);
}

static void put_explain(struct pen *p, const struct functions_result *r,
			const struct fn_report *f)
{
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX], u[FMT_MAX], v[FMT_MAX];

	buf_printf(&b, "%s of %s", f->name, f->module);
	put_head(p, "WHY", buf_str(&b));
	pen_fmt(p, PEN_PLAIN, "  %s of the harm passed through it, %s in calls of its own; "
		"%s of the usual time", fmt_share(t, f->harm_share), fmt_share(u, f->self),
		fmt_share(v, f->usual_share));
	pen_nl(p);
	if (r->held_ns) {
		pen_fmt(p, PEN_PLAIN, "  %s of the %s that requests were open",
			fmt_share(t, f->held_share), fmt_ns(u, r->held_ns));
		pen_nl(p);
	}
	for (uint32_t i = 0; i < f->evidence_cnt; i++) {
		buf_clear(&b);
		functions_evidence_words(r, &f->evidence[i], &b);
		if (f->evidence[i].kind < DEV_COST)
			buf_printf(&b, "; %s in normal work", fmt_ns(t, f->evidence[i].usual_ns));
		if (!f->evidence[i].self)
			buf_adds(&b, "; made by functions it called");
		if (f->evidence[i].episode[0])
			buf_printf(&b, "; known by %s", f->evidence[i].episode);
		put_line(p, PEN_PLAIN, buf_str(&b));
	}
	for (uint32_t i = 0; i < f->unit_cnt; i++) {
		const struct unit_report *un = &r->units[f->units[i]];

		put_unit(p, r, un);
		put_unit_reasons(p, un);
		put_unit_path(p, r, un);
		if (i == 0 && un->before != NO_IDX)
			put_link(p, r, "before it:", un->before);
		if (i == 0 && un->next != NO_IDX)
			put_link(p, r, "after it:", un->next);
	}
}

static void explain(struct pen *p, const struct functions_view *v)
{
	bool any = false;

	for (size_t i = 0; i < v->r->fn_cnt; i++) {
		if (v->r->fns[i].rank != v->explain)
			continue;
		put_explain(p, v->r, &v->r->fns[i]);
		any = true;
	}
	if (!any) {
		pen_nl(p);
		pen_fmt(p, PEN_DIM, "no function has rank %zu", v->explain);
		pen_nl(p);
	}
}

void functions_text(const struct functions_view *v, struct pen *p)
{
	if (p->columns < PEN_COLUMNS_MIN)
		p->columns = PEN_COLUMNS_MIN;
	put_subject(p, v->r);
	put_outside(p, v->r);
	put_agreement(p, v->agreement);
	if (v->explain) {
		explain(p, v);
		return;
	}
	put_fns(p, v);
	put_units(p, v->r);
	put_thin(p, v->r);
}
