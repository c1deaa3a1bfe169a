/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fmt.h"
#include "explore/explore.h"
#include "explore/timelines.h"
#include "report/explore/explore_out.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"

#define OTHER_SHARE 0.2	/* a part with less is no reason of its own */

static void line(struct pen *p, const char *head, const char *text)
{
	pen_text(p, PEN_HEAD, head);
	pen_to(p, EXPLORE_INDENT);
	pen_wrap(p, PEN_PLAIN, EXPLORE_INDENT, 0, text);
	pen_nl(p);
}

#define LINE(p, head, ...)                                                  \
	do {                                                                \
		struct buf line_ = {0};                                     \
		buf_printf(&line_, __VA_ARGS__);                               \
		line((p), (head), buf_str(&line_));                         \
		buf_release(&line_);                                        \
	} while (0)

static void requests_line(const struct explore_view *v, struct pen *p)
{
	const struct explore_result *r = v->r;
	char p50[FMT_MAX], p99[FMT_MAX], slow[FMT_MAX], where[32], others[64] = "";

	if (v->port)
		snprintf(where, sizeof(where), "port %u", v->port);
	else
		snprintf(where, sizeof(where), "a unix socket");
	if (v->other_cnt)
		snprintf(others, sizeof(others), "; %" PRIu64 " on other ports are left out",
			 v->other_cnt);
	if (r->varies)
		LINE(p, "REQUESTS", "%" PRIu64 " on %s: p50 %s, p99 %s, CV %.2f; %" PRIu64
		     " are slow (%s and more)%s", r->request_cnt, where, fmt_ns(p50, r->p50_ns),
		     fmt_ns(p99, r->p99_ns), r->cv, r->slow_cnt, fmt_ns(slow, r->slow_ns), others);
	else
		LINE(p, "REQUESTS", "%" PRIu64 " on %s: p50 %s, p99 %s, CV %.2f; all take "
		     "alike%s",
		     r->request_cnt, where, fmt_ns(p50, r->p50_ns), fmt_ns(p99, r->p99_ns), r->cv,
		     others);
}

static void rare_line(const struct explore_view *v, struct pen *p)
{
	char t[FMT_MAX];

	if (v->r->rare_ns)
		LINE(p, "", "the two slowest (up to %s) are too rare to search for, and left out: "
		     "heldup why names rare stalls", fmt_ns(t, v->r->rare_ns));
}

static void found_line(const struct explore_view *v, struct pen *p)
{
	const struct explore_result *r = v->r;
	const char *of = r->varies ? "of the time that slow requests take longer"
				   : "of the time of requests";
	char share[FMT_MAX];

	fmt_share(share, r->point.share < 1 ? r->point.share : 1);
	if (r->top < v->graph->fn_cnt && r->after)
		LINE(p, "HELD UP BY", "%s (%s), after %s returned: %s %s",
		     v->graph->fns[r->top].name, v->graph->fns[r->top].module,
		     v->graph->fns[r->callee].name, share, of);
	else if (r->inner < v->graph->fn_cnt)
		LINE(p, "HELD UP BY", "%s (%s), in %s (%s): %s %s", v->graph->fns[r->top].name,
		     v->graph->fns[r->top].module, v->graph->fns[r->inner].name,
		     v->graph->fns[r->inner].module, share, of);
	else if (r->top < v->graph->fn_cnt)
		LINE(p, "HELD UP BY", "%s (%s): %s %s", v->graph->fns[r->top].name,
		     v->graph->fns[r->top].module, share, of);
	else if (r->top == PART_ASK && r->asker != EXPLORE_NONE)
		LINE(p, "HELD UP BY", "the answer of %s, asked for in %s (%s): %s %s",
		     *v->asked ? v->asked : "another process", v->graph->fns[r->asker].name,
		     v->graph->fns[r->asker].module, share, of);
	else if (r->top == PART_ASK && *v->asked)
		LINE(p, "HELD UP BY", "the answer of %s: %s %s", v->asked, share, of);
	else
		LINE(p, "HELD UP BY", "%s: %s %s", explore_top_words(v, r->top), share, of);
}

static void how_line(const struct explore_view *v, struct pen *p)
{
	const struct look_point *at = &v->r->point;
	const char *wait = explore_wait_words(at->wait_kind);
	char slow[FMT_MAX], usual[FMT_MAX], share[FMT_MAX];

	if (v->r->top >= v->graph->fn_cnt)
		return;
	fmt_ns(slow, (uint64_t)at->slow_ns);
	fmt_ns(usual, (uint64_t)at->usual_ns);
	fmt_share(share, at->wait_share);
	if (v->r->varies)
		LINE(p, "", "%s in a slow request, %s in others; entered %.1f times, %.1f in "
		     "others", slow, usual, at->slow_hits, at->usual_hits);
	else
		LINE(p, "", "%s in a request; entered %.1f times", slow, at->slow_hits);
	if (at->wait_share >= 0.1 && wait)
		LINE(p, "", "%s of it asleep, longest in %s", share, wait);
	else if (at->wait_share >= 0.1)
		LINE(p, "", "%s of it asleep", share);
	if (v->r->hot != EXPLORE_NONE)
		LINE(p, "", "most of it in %s, which is called too often to be enabled",
		     v->graph->fns[v->r->hot].name);
}

/* The other end may be on this host: then it can be asked the same. */
static void asked_line(const struct explore_view *v, struct pen *p)
{
	const char *port = strrchr(v->asked, ':');

	if (v->r->top == PART_ASK && port)
		LINE(p, "NEXT", "on the host of %s: heldup explore --port %s", v->asked, port + 1);
}

static void callers_line(const struct explore_view *v, struct pen *p)
{
	struct buf names = {0};

	for (int i = 0; i < EXPLORE_CALLERS && v->r->callers[i] != EXPLORE_NONE; i++) {
		if (i)
			buf_adds(&names, p->ascii ? " <- " : " ← ");
		buf_adds(&names, v->graph->fns[v->r->callers[i]].name);
	}
	if (names.len)
		line(p, "CALLED BY", buf_str(&names));
	buf_release(&names);
}

/* Requests may be slow for more than one reason. */
static void others_line(const struct explore_view *v, struct pen *p)
{
	const struct explore_result *r = v->r;
	const struct look *last = NULL;
	char share[FMT_MAX];

	for (uint32_t i = 0; i < r->round_cnt; i++)
		if (r->rounds[i].top != EXPLORE_NONE)
			last = &r->rounds[i].look;
	for (size_t i = 1; last && i < last->points.cnt; i++) {
		const struct look_point *at = &last->points.items[i];

		if (at->share < OTHER_SHARE)
			break;
		if (at->point != r->top && at->point != r->inner)
			LINE(p, i == 1 ? "AND" : "", "%s: %s", explore_top_words(v, at->point),
			     fmt_share(share, at->share));
	}
}

static void value_lines(const struct explore_view *v, struct pen *p)
{
	for (uint32_t i = 0; i < v->r->value_cnt; i++) {
		const struct explore_value *x = &v->r->values[i];
		char name[64], slow[FMT_MAX], other[FMT_MAX];
		const char *head = i ? "" : "VALUES";

		value_name(x, name, sizeof(name));
		if (x->is_rank && !v->r->varies)
			LINE(p, head, "%s explains the time: rank correlation %.2f", name, x->rho);
		else if (x->is_rank)
			LINE(p, head, "%s explains the time: rank correlation %.2f; p50 %" PRId64
			     " in slow requests, %" PRId64 " in others", name, x->rho,
			     x->slow_p50, x->other_p50);
		else
			LINE(p, head, "%s is %" PRId64 " in %s of slow requests, in %s of others",
			     name, x->value, fmt_share(slow, x->slow_share),
			     fmt_share(other, x->other_share));
	}
}

static const struct column columns[] = {
	{.head = "ROUND", .right = 1}, {.head = "ENABLED", .right = 1},
	{.head = "TOO HOT", .right = 1}, {.head = "REQUESTS", .right = 1},
	{.head = "SLOW", .right = 1}, {.head = "SHARE", .right = 1}, {.head = "LARGEST PART"},
};

static void rounds_table(const struct explore_view *v, struct pen *p)
{
	struct table t;
	char share[FMT_MAX];

	table_init(&t, columns, sizeof(columns) / sizeof(*columns));
	for (uint32_t i = 0; i < v->r->round_cnt; i++) {
		const struct explore_round *r = &v->r->rounds[i];
		bool decides = r->top != EXPLORE_NONE;

		table_cell(&t, "%u", i + 1);
		table_cell(&t, "%u", r->on_cnt - r->hot_cnt);
		table_cell(&t, "%u", r->hot_cnt);
		table_cell(&t, "%u", r->look.request_cnt);
		table_cell(&t, "%u", r->look.slow_cnt);
		table_cell(&t, "%s", decides ? fmt_share(share, r->look.points.items[0].share)
					     : "-");
		table_cell(&t, "%s", decides ? explore_top_words(v, r->top)
				     : r->on_cnt ? "too few slow requests to tell"
						 : "nothing was enabled yet");
	}
	table_print(&t, p, "TRIED", 0);
	table_release(&t);
}

static void end_line(const struct explore_view *v, struct pen *p)
{
	switch (v->r->end) {
	case EXPLORE_GOING:
		line(p, "SO FAR", "the time was over, or a stop was asked for, before nothing "
		     "smaller was left: give a longer time with -d");
		break;
	case EXPLORE_ROUNDS:
		line(p, "SO FAR", "the search took as many rounds as it may");
		break;
	case EXPLORE_QUIET:
		line(p, "SO FAR", "no look had enough slow requests to tell: is it slow now?");
		break;
	default:
		break;
	}
}

static void cost_lines(const struct explore_view *v, struct pen *p)
{
	char took[FMT_MAX], cost[FMT_MAX], hits[FMT_MAX], on[FMT_MAX], fast[FMT_MAX], slow[FMT_MAX];
	double share = v->function_cnt ? (double)v->r->ever_cnt / v->function_cnt : 0;

	LINE(p, "COST", "%s of the CPU time in use; %s in all; %s hits at %s, or %s where the "
	     "first instruction is single-stepped", fmt_share(cost, v->cost_share),
	     fmt_ns(took, v->took_ns), fmt_count(hits, v->hit_cnt),
	     fmt_ns(fast, (uint64_t)v->fast_ns), fmt_ns(slow, (uint64_t)v->slow_ns));
	LINE(p, "", "%u of %u functions were enabled (%s); %u seen on stacks, %u of these may "
	     "have no tracepoint%s", v->r->ever_cnt, v->function_cnt, fmt_share(on, share),
	     v->seen_cnt, v->refused_cnt, v->refusals);
	if (v->left_out_cnt)
		LINE(p, "", "%u processes had no tracepoints: others run the same file, and at "
		     "most 16 have some of their own", v->left_out_cnt);
	if (v->lost_cnt)
		LINE(p, "", "%" PRIu64 " events were lost", v->lost_cnt);
	LINE(p, "AFTER", "all are disabled; code compared with its file at %u places: %" PRIu64
	     " bytes differ%s", v->compared_cnt, v->differ_bytes,
	     v->uncompared_cnt ? " (some could not be read)" : "");
}

static void found_lines(const struct explore_view *v, struct pen *p)
{
	requests_line(v, p);
	rare_line(v, p);
	if (v->r->top != EXPLORE_NONE) {
		found_line(v, p);
		how_line(v, p);
		callers_line(v, p);
		asked_line(v, p);
		others_line(v, p);
		value_lines(v, p);
	} else {
		line(p, "HELD UP BY", "not known");
	}
	end_line(v, p);
}

void explore_found_text(const struct explore_view *v, struct pen *p)
{
	found_lines(v, p);
	cost_lines(v, p);
}

void explore_text(const struct explore_view *v, struct pen *p)
{
	pen_text(p, PEN_BOLD, v->selection);
	pen_nl(p);
	pen_nl(p);
	found_lines(v, p);
	rounds_table(v, p);
	pen_nl(p);
	cost_lines(v, p);
}
