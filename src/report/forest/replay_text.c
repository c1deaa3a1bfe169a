/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "report/lines/pen.h"
#include "report/forest/replay_out.h"
#include "report/lines/table.h"
#include "requests/graph/span_ends.h"

enum { LOCATED_SHOWN = 3, DECISIONS_SHOWN = 60 };

void replay_point_name(const struct replay_view *v, uint32_t point, struct buf *out)
{
	const struct point *p;

	if (point >= v->points->items.cnt) {
		buf_adds(out, "?");
		return;
	}
	p = &v->points->items.items[point];
	if (p->service)
		buf_printf(out, "%s ", strtab_str(v->strings, p->service));
	buf_adds(out, strtab_str(v->strings, p->name));
}

static const char *const kinds[] = {[NODE_ENTRY] = " begins", [NODE_EXIT] = " ends",
				    [NODE_NOTE] = ""};

static void put_event(const struct replay_view *v, const struct forest_event *e, struct buf *out)
{
	replay_point_name(v, e->point, out);
	if (e->kind < sizeof(kinds) / sizeof(*kinds))
		buf_adds(out, kinds[e->kind]);
}

static bool is_inside(const struct forest_event *from, const struct forest_event *to)
{
	return from->point == to->point && from->kind == NODE_ENTRY && to->kind == NODE_EXIT;
}

/* An edge inside of one span is named by that span. */
static void put_edge(const struct replay_view *v, const struct forest_event *from,
		     const struct forest_event *to, struct buf *out)
{
	if (is_inside(from, to)) {
		replay_point_name(v, from->point, out);
		return;
	}
	put_event(v, from, out);
	buf_adds(out, " -> ");
	put_event(v, to, out);
}

static void put_head(const struct replay_view *v, struct pen *pen)
{
	char t[FMT_MAX], n[FMT_MAX];

	pen_fmt(pen, PEN_BOLD, "%zu request%s replayed", v->input->live_cnt,
		v->input->live_cnt == 1 ? "" : "s");
	pen_fmt(pen, PEN_PLAIN, ", %u in a round; learnt from %s%s of %s on average", v->batch,
		v->split ? "another " : v->input->learn == v->input->live ? "the same " : "",
		fmt_count(n, v->learnt_cnt), fmt_ns(t, (uint64_t)v->mean_ns));
	if (v->stopped)
		pen_text(pen, PEN_DOUBT, " (stopped: a part of what there is)");
	pen_nl(pen);
}

static void put_law(const struct replay_view *v, const struct injection *j, struct buf *out)
{
	char t[FMT_MAX];

	fmt_ns(t, (uint64_t)j->ns);
	if (j->law == INJECT_UNIFORM)
		buf_printf(out, "0 to %s", t);
	else if (j->law == INJECT_CONSTANT)
		buf_adds(out, t);
	else if (j->text)
		buf_printf(out, "%s where %s is %s", t, strtab_str(v->strings, j->key),
			   strtab_str(v->strings, (uint32_t)j->text));
	else
		buf_printf(out, "%s times %s", t, strtab_str(v->strings, j->key));
	if (j->share_ppm)
		buf_printf(out, ", in %s of the requests",
			   fmt_share(t, (double)j->share_ppm / 1e6));
	if (j->together)
		buf_printf(out, ", drawn with group %u", j->together);
}

static void put_plan(const struct replay_view *v, struct pen *pen)
{
	const struct inject_plan *plan = v->input->plan;

	for (uint32_t i = 0; plan && i < plan->cnt; i++) {
		const struct injection *j = &plan->items[i];
		CLEANUP(buf_release) struct buf text = {0};

		buf_printf(&text, "%s %s %s ", j->where == INJECT_EXIT ? "at the end of"
								      : "at the begin of",
			   strtab_str(v->strings, j->service), strtab_str(v->strings, j->name));
		put_law(v, j, &text);
		pen_text(pen, PEN_PLAIN, "slowed: ");
		pen_wrap(pen, PEN_PLAIN, 8, 0, buf_str(&text));
		pen_nl(pen);
	}
}

/* Writes the part that is the same for all strategies. */
static void put_truths(const struct replay_view *v, struct pen *pen)
{
	const struct replay_result *res = v->results;

	if (!v->result_cnt || !res->truth_cnt)
		return;
	for (uint32_t i = 0; i < res->truth_cnt; i++) {
		CLEANUP(buf_release) struct buf name = {0};
		char s[FMT_MAX];

		if (res->truths[i].felt)
			continue;
		replay_point_name(v, res->truths[i].point, &name);
		pen_fmt(pen, PEN_DOUBT, "hardly felt (%s of the delay on critical paths): ",
			fmt_share(s, res->truths[i].share));
		pen_text(pen, PEN_PLAIN, buf_str(&name));
		pen_nl(pen);
	}
	pen_fmt(pen, PEN_PLAIN, "of those off at first at least %u must be on to tell",
		res->least_cnt);
	pen_nl(pen);
}

static void put_result(const struct replay_view *v, const struct replay_result *res,
		       struct table *t)
{
	CLEANUP(buf_release) struct buf edge = {0};
	double share = res->point_cnt ? res->enabled_cnt / res->point_cnt : 0;
	double with = res->point_cnt ? (res->enabled_cnt + res->always_cnt) / res->point_cnt : 0;
	double seen = res->span_cnt ? (double)res->seen_span_cnt / (double)res->span_cnt : 0;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	if (res->located_cnt) {
		put_edge(v, &res->located[0].from, &res->located[0].to, &edge);
		buf_printf(&edge, " (%s)", fmt_share(a, res->located[0].share));
	}
	table_cell(t, "%s", replay_strategy_name(res->strategy));
	table_cell(t, "%u%s", res->round_cnt, res->ended ? "" : "+");
	table_cell(t, "%.*f", res->strategy == REPLAY_ASTRAEA, res->enabled_cnt);
	table_cell(t, "%s", fmt_share(a, share));
	table_cell(t, "%s", fmt_share(c, with));
	table_cell(t, "%s", fmt_share(b, seen));
	table_cell(t, "%s", !res->truth_cnt ? "" : res->right ? "yes" : "no");
	table_cell(t, "%s", edge.len ? buf_str(&edge) : "nothing");
}

static void put_results(const struct replay_view *v, struct pen *pen)
{
	static const struct column columns[] = {
		{"strategy", 0, 0}, {"rounds", 1, 0}, {"on", 1, 0}, {"share", 1, 0},
		{"with always on", 1, 0},
		{"spans seen", 1, 0}, {"right", 0, 0}, {"located", 0, 0},
	};
	CLEANUP(table_release) struct table t;

	table_init(&t, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < v->result_cnt; i++)
		put_result(v, &v->results[i], &t);
	table_print(&t, pen, "strategies", 0);
}

/* Else "nothing" is found where nothing was looked at. */
static void put_others(const struct replay_view *v, struct pen *pen)
{
	const struct replay_result *most = NULL;
	char a[FMT_MAX], b[FMT_MAX];

	for (size_t i = 0; i < v->result_cnt; i++)
		if (!most || v->results[i].other_type_cnt > most->other_type_cnt)
			most = &v->results[i];
	if (!most || !most->other_type_cnt)
		return;
	pen_fmt(pen, PEN_DOUBT, "%s of the %s requests shown are of types that were not learnt: ",
		fmt_count(a, most->other_type_cnt), fmt_count(b, most->trace_cnt));
	pen_text(pen, PEN_DOUBT, "nothing was looked for in them (has the root another name?)");
	pen_nl(pen);
}

static void put_located(const struct replay_view *v, const struct replay_result *res,
			struct pen *pen)
{
	for (uint32_t i = 0; i < res->located_cnt && i < LOCATED_SHOWN; i++) {
		const struct replay_located *l = &res->located[i];
		CLEANUP(buf_release) struct buf text = {0};
		char s[FMT_MAX];

		put_edge(v, &l->from, &l->to, &text);
		if (l->owner != FOREST_NONE && !is_inside(&l->from, &l->to)) {
			buf_adds(&text, ", in ");
			replay_point_name(v, l->owner, &text);
		}
		buf_printf(&text, ": %s of the excess, since round %u",
			   fmt_share(s, l->share), l->round);
		pen_text(pen, PEN_GOOD, "located ");
		pen_wrap(pen, PEN_PLAIN, 8, 0, buf_str(&text));
		pen_nl(pen);
	}
}

static void put_decision(const struct replay_view *v, const struct forest_decision *d,
			 struct pen *pen)
{
	static const char *const what[] = {
		[DECIDE_ON] = "on", [DECIDE_OFF] = "off", [DECIDE_LOCALISED] = "located",
		[DECIDE_CALM] = "calm", [DECIDE_WAIT] = "wait", [DECIDE_STOP] = "stop",
	};
	CLEANUP(buf_release) struct buf text = {0};

	if (d->point != FOREST_NONE) {
		if (d->sides == SIDE_BEGIN || d->sides == SIDE_END)
			buf_adds(&text, d->sides == SIDE_BEGIN ? "begin of " : "end of ");
		replay_point_name(v, d->point, &text);
		buf_adds(&text, ": ");
	} else if (d->from.point != FOREST_NONE) {
		put_edge(v, &d->from, &d->to, &text);
		buf_adds(&text, ": ");
	}
	buf_adds(&text, d->why ? d->why : "");
	pen_fmt(pen, PEN_DIM, "%5u  ", d->round);
	pen_text(pen, PEN_BOLD, d->kind < sizeof(what) / sizeof(*what) ? what[d->kind] : "?");
	pen_to(pen, 16);
	pen_wrap(pen, PEN_PLAIN, 16, 0, buf_str(&text));
	pen_nl(pen);
}

/* Waiting is what it does most and tells nothing: counted. */
static void put_decisions(const struct replay_view *v, const struct replay_result *res,
			  struct pen *pen)
{
	uint32_t shown = 0, waits = 0, more = 0;

	if (!res->decision_cnt)
		return;
	pen_nl(pen);
	pen_text(pen, PEN_HEAD, "round  decided");
	pen_nl(pen);
	for (uint32_t i = 0; i < res->decision_cnt; i++) {
		if (res->decisions[i].kind == DECIDE_WAIT) {
			waits++;
		} else if (shown < DECISIONS_SHOWN) {
			put_decision(v, &res->decisions[i], pen);
			shown++;
		} else {
			more++;
		}
	}
	if (waits || more) {
		pen_fmt(pen, PEN_DIM, "%u time%s it waited for more requests", waits,
			waits == 1 ? "" : "s");
		if (more)
			pen_fmt(pen, PEN_DIM, "; %u decisions more", more);
		pen_text(pen, PEN_DIM, " (--json has all)");
		pen_nl(pen);
	}
}

void replay_text(const struct replay_view *v, struct pen *pen)
{
	put_head(v, pen);
	pen_fmt(pen, PEN_PLAIN, "%u tracepoints", v->point_cnt);
	if (v->apart && v->point_cnt > v->space->point_cnt) /* not of instants alone */
		pen_fmt(pen, PEN_PLAIN, " (begins and ends of %u operation%s)",
			v->space->point_cnt, v->space->point_cnt == 1 ? "" : "s");
	pen_fmt(pen, PEN_PLAIN, ", of which %u are always on", v->always_cnt);
	pen_nl(pen);
	put_plan(v, pen);
	put_truths(v, pen);
	put_results(v, pen);
	put_others(v, pen);
	if (v->result_cnt != 1)
		return;
	pen_nl(pen);
	put_located(v, &v->results[0], pen);
	put_decisions(v, &v->results[0], pen);
}
