/* SPDX-License-Identifier: Apache-2.0 */
/* Two sets of requests, and one request against its kind: as text and as JSON. */
#include <math.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/forest/forest_out.h"
#include "report/requests/requests_json.h"
#include "report/requests/requests_text.h"
#include "report/requests/thread_lanes.h"
#include "report/forest/waterfall.h"
#include "requests/diff/changes.h"
#include "requests/diff/key_changes.h"

enum {
	EDGES_TOP = 8,
	OWNERS_TOP = 3,
	PATHS_TOP = 4,
	TYPES_TOP = 6,
	SAME_TOP = 2,		/* types that are shown though they have not changed */
	KEYS_TOP = 3,
	ROWS_TEXT = 40,
	ROWS_JSON = 400,
};

/* An edge that makes less of a change is not worth a line, nor are so few that fail. */
static const double TOLD_PART = 0.01, FAILED_PART = 0.01;

/* Less of what a request takes longer than others is not its path's, but its own. */
static const double PATH_PART = 0.1;

/* Column ends, from the right. */
enum { COL_SHARE = 12, COL_DELTA = 22, COL_BAD = 33, COL_GOOD = 43 };

static const char *signed_ns(char *out, double ns)
{
	char t[FMT_MAX];

	if (fabs(ns) < 1)
		snprintf(out, FMT_MAX, "0");
	else
		snprintf(out, FMT_MAX, "%s%s", ns < 0 ? "-" : "+", fmt_ns(t, (uint64_t)fabs(ns)));
	return out;
}

static const char *percent(char *out, double share)
{
	if (isnan(share))
		snprintf(out, FMT_MAX, "-");
	else
		snprintf(out, FMT_MAX, "%.0f %%", fabs(share) < 0.005 ? 0 : 100 * share);
	return out;
}

static void edge_cell(const struct requests_view *v, struct pen *p, const struct edge_key *k,
		      unsigned width, enum pen_style style)
{
	CLEANUP(buf_release) struct buf b = {0};

	pen_to(p, 4);
	requests_edge_words(v, k, width, &b);
	pen_cut(p, style, width, buf_str(&b));
}

static void heads(struct pen *p, const char *first, const char *second)
{
	pen_to(p, 4);
	pen_text(p, PEN_DIM, "between");
	pen_right(p, PEN_DIM, p->columns - COL_BAD, first);
	pen_right(p, PEN_DIM, p->columns - COL_DELTA, second);
	pen_right(p, PEN_DIM, p->columns - COL_SHARE, "more");
	pen_right(p, PEN_DIM, p->columns, "share of it");
	pen_nl(p);
}

/* ---- --diff, text */

static bool is_sure(const struct edge_change *e)
{
	return e->low_ns > 0 || e->high_ns < 0;
}

static void put_figures(struct pen *p, double good_ns, double bad_ns, double delta_ns,
			double share, bool sure)
{
	char t[FMT_MAX];

	pen_right(p, PEN_PLAIN, p->columns - COL_BAD, fmt_ns(t, (uint64_t)good_ns));
	pen_right(p, PEN_PLAIN, p->columns - COL_DELTA, fmt_ns(t, (uint64_t)bad_ns));
	pen_right(p, !sure ? PEN_DIM : delta_ns > 0 ? PEN_BAD : PEN_GOOD,
		  p->columns - COL_SHARE, signed_ns(t, delta_ns));
	pen_right(p, PEN_PLAIN, p->columns, percent(t, share));
	pen_nl(p);
}

/* Called more often, it took longer on many edges, and on none of them much. */
static bool is_by_owner(const struct type_change *c)
{
	return c->owner_cnt && c->edge_cnt &&
	       fabs(c->owners[0].delta_ns) > REQUESTS_OWNER_AHEAD * fabs(c->edges[0].delta_ns);
}

/* Those that surely changed by what is worth a line, the first in any case. */
static void put_edge_changes(const struct requests_view *v, struct pen *p,
			     const struct type_change *c)
{
	double least_ns = c->edge_cnt ? TOLD_PART * fmax(fabs(c->delta_ns),
							 fabs(c->edges[0].delta_ns)) : 0;
	uint32_t top = v->top ? (uint32_t)v->top : is_by_owner(c) ? OWNERS_TOP : EDGES_TOP;
	uint32_t shown = 0;

	for (uint32_t i = 0; i < c->edge_cnt && shown < top; i++) {
		const struct edge_change *e = &c->edges[i];

		if (i && (!is_sure(e) || fabs(e->delta_ns) < least_ns))
			continue;
		edge_cell(v, p, &e->key, p->columns - COL_GOOD - 5,
			  !is_sure(e) ? PEN_DIM : shown++ ? PEN_PLAIN : PEN_BOLD);
		put_figures(p, e->good_ns, e->bad_ns, e->delta_ns,
			    c->mean_changed ? e->share : NAN, is_sure(e));
	}
	if (shown < c->edge_cnt) {
		pen_fmt(p, PEN_DIM, "    … %u more edges that changed less, or not surely",
			c->edge_cnt - shown);
		pen_nl(p);
	}
}

static void put_owner_changes(const struct requests_view *v, struct pen *p,
			      const struct type_change *c)
{
	if (!is_by_owner(c))
		return;
	for (uint32_t i = 0; i < c->owner_cnt && i < OWNERS_TOP; i++) {
		CLEANUP(buf_release) struct buf name = {0};
		const struct owner_change *o = &c->owners[i];

		if (i && fabs(o->delta_ns) < TOLD_PART * fabs(c->delta_ns))
			break;
		buf_adds(&name, "while ");
		requests_point_words(v, o->point, &name);
		buf_adds(&name, " runs");
		if (fabs(o->bad_times.mean - o->good_times.mean) >= 0.05)
			buf_printf(&name, ", %.1f → %.1f times", o->good_times.mean,
				   o->bad_times.mean);
		pen_to(p, 4);
		pen_cut(p, i ? PEN_PLAIN : PEN_BOLD, p->columns - COL_GOOD - 5, buf_str(&name));
		put_figures(p, o->good_ns, o->bad_ns, o->delta_ns, o->share, true);
	}
}

static void put_path_change(const struct requests_view *v, struct pen *p,
			    const struct type_change *c, const struct path_change *pc)
{
	CLEANUP(buf_release) struct buf b = {0};
	const struct request_group *g = pc->bad_group != REQUEST_ALL
		? &v->diff->bad->types[c->bad_type].groups[pc->bad_group]
		: &v->diff->good->types[c->good_type].groups[pc->good_group];
	char s[FMT_MAX], t[FMT_MAX], u[FMT_MAX];

	fmt_share(s, pc->good_share);
	fmt_share(t, pc->bad_share);
	if (pc->good_group == REQUEST_ALL)
		buf_printf(&b, "%s of the requests take a path that none took before", t);
	else if (pc->bad_group == REQUEST_ALL)
		buf_printf(&b, "no request takes a path any more that %s took", s);
	else
		buf_printf(&b, "%s of the requests take a path that %s took before", t, s);
	buf_printf(&b, "; it takes %s", fmt_ns(u, (uint64_t)g->latency.p50_ns));
	if (g->edge_cnt) {
		buf_adds(&b, ", most of it ");
		requests_time_words(v, g, 60, &b);
	}
	requests_what_words(v, g, &b);
	pen_to(p, 4);
	pen_wrap(p, PEN_PLAIN, 6, 2, buf_str(&b));
	pen_nl(p);
}

/* Not where one of the two is next to nothing: then the edges say it all. */
static void put_why(struct pen *p, const struct type_change *c)
{
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX], u[FMT_MAX];

	if (fabs(c->other_paths_ns) <= 0.1 * fabs(c->delta_ns))
		return;
	buf_printf(&b, "%s of it since requests take other paths, %s since the same paths take "
		   "longer or shorter", signed_ns(t, c->other_paths_ns),
		   signed_ns(u, c->same_paths_ns));
	requests_put_line(p, PEN_PLAIN, buf_str(&b));
}

/* Requests that fail sooner or later than others do change the mean too. */
static void put_failed(struct pen *p, const struct request_group *good,
		       const struct request_group *bad)
{
	double was = (double)good->failed_cnt / (double)good->latency.cnt;
	double is = (double)bad->failed_cnt / (double)bad->latency.cnt;
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX], u[FMT_MAX];

	if (fabs(is - was) < FAILED_PART)
		return;
	buf_printf(&b, "%s of the requests failed, before %s", fmt_share(t, is),
		   fmt_share(u, was));
	requests_put_line(p, PEN_BAD, buf_str(&b));
}

static bool has_changed(const struct type_change *c)
{
	return c->good_type == REQUEST_ALL || c->bad_type == REQUEST_ALL || c->mean_changed ||
	       c->edges_changed || c->spread_changed;
}

/* Writes the spread, which the mean hides. */
static void put_spread(const struct requests_view *v, struct pen *p, const struct type_change *c)
{
	const struct request_group *good = v->diff->good->types[c->good_type].all;
	const struct request_group *bad = v->diff->bad->types[c->bad_type].all;
	const struct latency *g = &good->latency, *l = &bad->latency;
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX], u[FMT_MAX];

	buf_printf(&b, "p50 %s → %s", fmt_ns(t, (uint64_t)g->p50_ns),
		   fmt_ns(u, (uint64_t)l->p50_ns));
	buf_printf(&b, ", p95 %s → %s", fmt_ns(t, (uint64_t)g->p95_ns),
		   fmt_ns(u, (uint64_t)l->p95_ns));
	buf_printf(&b, ", p99 %s → %s, CV %.2f → %.2f", fmt_ns(t, (uint64_t)g->p99_ns),
		   fmt_ns(u, (uint64_t)l->p99_ns), g->cv, l->cv);
	if (c->mean_changed) {
		requests_put_line(p, PEN_PLAIN, buf_str(&b));
		return;
	}
	buf_adds(&b, ": the mean has not surely changed");
	if (c->spread_changed) {
		buf_adds(&b, ", how much they vary has");
		requests_variance_words(v, bad, &b);
	}
	requests_put_line(p, c->spread_changed ? PEN_BOLD : PEN_DIM, buf_str(&b));
}

static void put_type_change(const struct requests_view *v, struct pen *p, uint32_t type)
{
	const struct type_change *c = &v->diff->types[type];
	const struct request_type *good = &v->diff->good->types[c->good_type];
	const struct request_type *bad = &v->diff->bad->types[c->bad_type];
	CLEANUP(buf_release) struct buf b = {0};
	char t[FMT_MAX], u[FMT_MAX], n[FMT_MAX], m[FMT_MAX];
	char d[FMT_MAX], low[FMT_MAX], high[FMT_MAX];

	buf_printf(&b, "the mean was %s (%s request%s) and is %s (%s request%s): %s, "
		   "with 95 %% certainty %s to %s",
		   fmt_ns(u, (uint64_t)good->all->latency.mean_ns),
		   fmt_count(m, good->all->latency.cnt), good->all->latency.cnt == 1 ? "" : "s",
		   fmt_ns(t, (uint64_t)bad->all->latency.mean_ns),
		   fmt_count(n, bad->all->latency.cnt), bad->all->latency.cnt == 1 ? "" : "s",
		   signed_ns(d, c->delta_ns),
		   signed_ns(low, c->low_ns), signed_ns(high, c->high_ns));
	requests_put_head(p, strtab_str(v->strings, bad->name), "");
	put_failed(p, good->all, bad->all);
	requests_put_line(p, PEN_BOLD, buf_str(&b));
	put_spread(v, p, c);
	if (!has_changed(c))
		return;
	put_why(p, c);
	heads(p, "good", "bad");
	put_owner_changes(v, p, c);
	put_edge_changes(v, p, c);
	for (uint32_t i = 0; i < c->path_cnt && i < PATHS_TOP; i++)
		if (fabs(c->paths[i].bad_share - c->paths[i].good_share) >= 0.05)
			put_path_change(v, p, c, &c->paths[i]);
	requests_put_key_changes(v, p, type);
	if (!v->diff_keys[type].cnt)
		requests_put_keys(v, p, bad->all, good->all,
				  "  explained, among the bad requests alone, by");
}

static bool is_shown(const struct requests_view *v, uint32_t type)
{
	uint32_t bad = v->diff->types[type].bad_type;

	return bad == REQUEST_ALL ? !v->type_shown : requests_type_shown(v, bad);
}

static void put_change(const struct requests_view *v, struct pen *p, uint32_t type)
{
	const struct type_change *c = &v->diff->types[type];

	if (c->good_type == REQUEST_ALL)
		requests_put_head(p, strtab_str(v->strings,
				  v->diff->bad->types[c->bad_type].name), "is new");
	else if (c->bad_type == REQUEST_ALL)
		requests_put_head(p, strtab_str(v->strings,
				  v->diff->good->types[c->good_type].name), "is gone");
	else
		put_type_change(v, p, type);
}

/* The others have a line together, unless there is nothing else to show. */
void requests_put_diff(const struct requests_view *v, struct pen *p)
{
	uint32_t changed = 0, shown = 0, same = 0;

	for (uint32_t i = 0; i < v->diff->type_cnt; i++)
		changed += is_shown(v, i) && has_changed(&v->diff->types[i]);
	for (uint32_t i = 0; i < v->diff->type_cnt; i++) {
		if (!is_shown(v, i))
			continue;
		if ((changed || v->diff->type_cnt > SAME_TOP) && !v->type_shown &&
		    !has_changed(&v->diff->types[i]))
			same++;
		else if (shown++ < TYPES_TOP)
			put_change(v, p, i);
	}
	if (shown > TYPES_TOP) {
		pen_fmt(p, PEN_DIM, "… %u more types: see --type or --json", shown - TYPES_TOP);
		pen_nl(p);
	}
	if (!same)
		return;
	pen_nl(p);
	pen_fmt(p, changed ? PEN_DIM : PEN_GOOD,
		"%u %stype%s not surely changed: see --type or --json", same,
		changed ? "more " : "", same == 1 ? " has" : "s have");
	pen_nl(p);
}

void requests_put_against(const struct requests_view *v, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};

	requests_input_words(v->base_in, &b);
	pen_text(p, PEN_DIM, "against ");
	pen_wrap(p, PEN_PLAIN, 2, 2, buf_str(&b));
	pen_nl(p);
}

/* ---- --trace, text */

static void put_explain_edge(const struct requests_view *v, struct pen *p,
			     const struct explain_edge *e, bool first)
{
	char t[FMT_MAX];
	double usual = (double)e->took_ns - e->excess_ns;

	edge_cell(v, p, &e->key, p->columns - COL_GOOD - 5, first ? PEN_BOLD : PEN_PLAIN);
	pen_right(p, PEN_PLAIN, p->columns - COL_BAD, fmt_ns(t, (uint64_t)e->took_ns));
	if (e->edge != REQUEST_ALL)
		pen_right(p, PEN_PLAIN, p->columns - COL_DELTA,
			  fmt_ns(t, usual > 0 ? (uint64_t)usual : 0));
	else
		pen_right(p, PEN_DIM, p->columns - COL_DELTA, "none");
	pen_right(p, first && e->excess_ns > 0 ? PEN_BAD : PEN_PLAIN, p->columns - COL_SHARE,
		  signed_ns(t, e->excess_ns));
	pen_right(p, PEN_PLAIN, p->columns, percent(t, e->excess_share));
	pen_nl(p);
}

static void explain_words(const struct requests_view *v, struct buf *out)
{
	const struct request_explain *x = v->explain;
	const struct request_type *t;
	char n[FMT_MAX], ns[FMT_MAX];

	fmt_ns(ns, (uint64_t)x->total_ns);
	if (x->type == REQUEST_ALL) {
		buf_printf(out, "%s; no other request is of its type", ns);
		return;
	}
	t = &v->r->types[x->type];
	buf_printf(out, "%s took %s: longer than %.0f %% of the %s requests of its type",
		   strtab_str(v->strings, t->name), ns, x->type_percentile,
		   fmt_count(n, t->all->latency.cnt));
	if (x->group != REQUEST_ALL)
		buf_printf(out, ", and than %.0f %% of the %s on its path (path %u of %u)",
			   x->percentile, fmt_count(n, t->groups[x->group].latency.cnt),
			   x->group + 1, t->group_cnt);
}

/* Explains the path where it is slow, as the edges on it are as usual. */
static void put_explain_path(const struct requests_view *v, struct pen *p)
{
	const struct request_explain *x = v->explain;
	CLEANUP(buf_release) struct buf b = {0};
	const struct request_group *g;
	char t[FMT_MAX], u[FMT_MAX], w[FMT_MAX];

	if (!x->path_edge_cnt ||
	    x->usual_ns - x->others_ns <= PATH_PART * ((double)x->total_ns - x->others_ns))
		return;
	g = &v->r->types[x->type].groups[x->group];
	buf_printf(&b, "on its path requests usually take %s, on the others %s; most of the "
		   "difference, %s, lies ", fmt_ns(t, (uint64_t)x->usual_ns),
		   fmt_ns(u, (uint64_t)x->others_ns),
		   fmt_ns(w, (uint64_t)g->edges[x->path_edges[0]].excess_ns));
	requests_edge_words(v, &g->edges[x->path_edges[0]].key, 80, &b);
	requests_put_line(p, PEN_PLAIN, buf_str(&b));
}

static void put_explain_keys(const struct requests_view *v, struct pen *p)
{
	const struct request_explain *x = v->explain;

	for (uint32_t i = 0; i < x->key_cnt && i < KEYS_TOP; i++) {
		CLEANUP(buf_release) struct buf b = {0};
		const struct explain_key *k = &x->keys[i];
		char t[FMT_MAX], u[FMT_MAX];

		if (!i)
			requests_put_line(p, PEN_DIM, "has what slow requests have");
		requests_explain_key_words(v, k, &b);
		buf_printf(&b, ": with %s %s on average, all %s", k->value->low < k->value->high
			   ? "values near it" : "it",
			   fmt_ns(t, (uint64_t)k->value->mean_ns),
			   fmt_ns(u, (uint64_t)k->key->mean_ns));
		pen_to(p, 4);
		pen_wrap(p, PEN_PLAIN, 6, 2, buf_str(&b));
		pen_nl(p);
	}
}

void requests_put_explain(const struct requests_view *v, struct pen *p)
{
	const struct request_explain *x = v->explain;
	CLEANUP(buf_release) struct buf b = {0};
	uint32_t top = v->top ? (uint32_t)v->top : EDGES_TOP;
	char id[TRACE_ID_TEXT];

	requests_put_head(p, "REQUEST", trace_id_text(&v->trace->id, id));
	explain_words(v, &b);
	requests_put_line(p, PEN_BOLD, buf_str(&b));
	if (v->trace_more_cnt) {
		pen_fmt(p, PEN_DIM, "  %u more request%s of this trace, begun by its messages: "
			"--type shows one", v->trace_more_cnt, v->trace_more_cnt == 1 ? "" : "s");
		pen_nl(p);
	}
	put_explain_path(v, p);
	heads(p, "took", "usually");
	for (uint32_t i = 0; i < x->edge_cnt && i < top; i++)
		put_explain_edge(v, p, &x->edges[x->by_excess[i]], i == 0);
	if (x->edge_cnt > top) {
		pen_fmt(p, PEN_DIM, "    … %u more edges", x->edge_cnt - top);
		pen_nl(p);
	}
	put_explain_keys(v, p);
	pen_nl(p);
	requests_put_waterfall(v, p, v->trace, ROWS_TEXT, "this");
	thread_lanes_text(v->trace, v->strings, p);
	if (v->forest) {
		requests_put_head(p, "ITS WAY THROUGH THE SEARCH", v->forest->path);
		forest_text(v->forest, p);
	}
}

/* ---- JSON */

static void index_or_null(struct json *j, const char *key, uint32_t idx)
{
	if (idx == REQUEST_ALL)
		json_knull(j, key);
	else
		json_ku64(j, key, idx);
}

static void json_explain_edge(const struct requests_view *v, struct json *j,
			      const struct explain_edge *e)
{
	json_obj(j);
	requests_json_edge_key(v, &e->key, j);
	index_or_null(j, "edge", e->edge);
	json_ki64(j, "begin_ns", e->begin_ns);
	json_ki64(j, "took_ns", e->took_ns);
	requests_json_num(j, "percentile", e->percentile, 2);
	requests_json_num(j, "robust_z", e->robust_z, 3);
	requests_json_num(j, "excess_ns", e->excess_ns, 0);
	requests_json_num(j, "excess_share", e->excess_share, 5);
	json_obj_end(j);
}

static void json_explain_waterfall(const struct requests_view *v, struct json *j)
{
	const struct waterfall_env env = {.strings = v->strings, .points = v->points,
					  .arena = v->arena};
	struct waterfall w;

	json_key(j, "waterfall");
	if (waterfall_make(v->trace, &env, &w) == 0)
		waterfall_json(&w, ROWS_JSON, j);
	else
		json_null(j);
}

static void json_explain_key(const struct requests_view *v, struct json *j,
			     const struct explain_key *k)
{
	CLEANUP(buf_release) struct buf words = {0};
	CLEANUP(buf_release) struct buf where = {0};
	CLEANUP(buf_release) struct buf value = {0};

	requests_explain_key_words(v, k, &words);
	requests_explain_value_words(v, k, &value);
	requests_point_words(v, k->key->point, &where);
	json_obj(j);
	json_kstr(j, "key", strtab_str(v->strings, k->key->key));
	json_kstr(j, "tracepoint", buf_str(&where));
	json_kstr(j, "words", buf_str(&words));
	json_kstr(j, "value", buf_str(&value));
	json_kbool(j, "of_type", k->of_type);
	json_ku64(j, "requests", k->value->cnt);
	requests_json_num(j, "mean_ns", k->value->mean_ns, 0);
	requests_json_num(j, "excess_ns", k->excess_ns, 0);
	json_obj_end(j);
}

static void json_explain_decided(const struct forest_view *fv, uint32_t tree, uint32_t node,
				 struct json *j)
{
	json_karr(j, "decided");
	for (uint32_t i = 0; i < fv->f->decision_cnt; i++) {
		CLEANUP(buf_release) struct buf what = {0};
		const struct forest_decision *d = &fv->f->decisions[i];

		if (d->tree != tree || d->node != node || d->kind == DECIDE_WAIT)
			continue;
		if (d->point != FOREST_NONE)
			forest_sided_words(fv, d->point, d->sides, &what);
		else if (d->from.point != FOREST_NONE && d->to.point != FOREST_NONE)
			forest_edge_words(fv, &d->from, &d->to, false, &what);
		json_obj(j);
		json_ku64(j, "round", d->round);
		json_kstr(j, "decision", forest_decision_name(d->kind));
		json_kstr(j, "words", forest_decision_words(d->kind));
		json_kstr(j, "what", buf_str(&what));
		json_kstr(j, "because", d->why ? d->why : "");
		json_obj_end(j);
	}
	json_arr_end(j);
}

/* The nodes of the search that it came through, the root first. */
static void json_explain_forest(const struct requests_view *v, struct json *j)
{
	const struct forest_walked *w = v->forest ? v->forest->walked : NULL;

	if (!w || w->tree == FOREST_NONE) {
		json_knull(j, "search");
		json_knull(j, "search_points");
		return;
	}
	json_karr(j, "search");
	for (uint32_t i = 0; i < w->node_cnt; i++) {
		CLEANUP(buf_release) struct buf point = {0};
		const struct forest_node *n = &v->forest->f->trees[w->tree].nodes[w->nodes[i]];

		forest_sided_words(v->forest, n->point, n->sides, &point);
		json_obj(j);
		json_ku64(j, "node", w->nodes[i]);
		json_kstr(j, "tracepoint", buf_str(&point));
		json_kbool(j, "present", n->present);
		json_kstr(j, "status", forest_status_name(n->status));
		json_kstr(j, "status_words", forest_status_words(n->status));
		json_ku64(j, "requests", n->trace_cnt);
		requests_json_num(j, "mean_ns", n->mean_ns, 0);
		requests_json_num(j, "cv", n->cv, 5);
		json_explain_decided(v->forest, w->tree, w->nodes[i], j);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_key(j, "search_points");
	forest_walked_points(v->forest, j);
}

void requests_json_explain(const struct requests_view *v, struct json *j)
{
	const struct request_explain *x = v->explain;
	char id[TRACE_ID_TEXT];

	if (!x) {
		json_knull(j, "trace");
		return;
	}
	json_kobj(j, "trace");
	json_kstr(j, "id", trace_id_text(&v->trace->id, id));
	json_kstr(j, "type", x->type == REQUEST_ALL
		  ? NULL : strtab_str(v->strings, v->r->types[x->type].name));
	index_or_null(j, "group", x->group);
	json_ki64(j, "total_ns", x->total_ns);
	requests_json_num(j, "percentile", x->percentile, 2);
	requests_json_num(j, "type_percentile", x->type_percentile, 2);
	json_karr(j, "edges");
	for (uint32_t i = 0; i < x->edge_cnt; i++)
		json_explain_edge(v, j, &x->edges[i]);
	json_arr_end(j);
	json_karr(j, "by_excess");
	for (uint32_t i = 0; i < x->edge_cnt; i++)
		json_u64(j, x->by_excess[i]);
	json_arr_end(j);
	requests_json_num(j, "usual_ns", x->usual_ns, 0);
	requests_json_num(j, "others_ns", x->others_ns, 0);
	json_karr(j, "path_edges");
	for (uint32_t i = 0; i < x->path_edge_cnt; i++)
		json_u64(j, x->path_edges[i]);
	json_arr_end(j);
	json_karr(j, "keys");
	for (uint32_t i = 0; i < x->key_cnt; i++)
		json_explain_key(v, j, &x->keys[i]);
	json_arr_end(j);
	json_explain_waterfall(v, j);
	json_explain_forest(v, j);
	json_obj_end(j);
}

static void json_edge_change(const struct requests_view *v, struct json *j,
			     const struct edge_change *e)
{
	json_obj(j);
	requests_json_edge_key(v, &e->key, j);
	requests_json_num(j, "good_ns", e->good_ns, 0);
	requests_json_num(j, "bad_ns", e->bad_ns, 0);
	requests_json_num(j, "delta_ns", e->delta_ns, 0);
	requests_json_num(j, "low_ns", e->low_ns, 0);
	requests_json_num(j, "high_ns", e->high_ns, 0);
	requests_json_num(j, "share", e->share, 5);
	json_obj_end(j);
}

static void json_owner_changes(const struct requests_view *v, struct json *j,
			       const struct type_change *c)
{
	json_karr(j, "owners");
	for (uint32_t i = 0; i < c->owner_cnt; i++) {
		CLEANUP(buf_release) struct buf words = {0};
		const struct owner_change *o = &c->owners[i];

		requests_point_words(v, o->point, &words);
		json_obj(j);
		json_kstr(j, "tracepoint", buf_str(&words));
		requests_json_num(j, "good_ns", o->good_ns, 0);
		requests_json_num(j, "bad_ns", o->bad_ns, 0);
		requests_json_num(j, "good_times", o->good_times.mean, 3);
		requests_json_num(j, "bad_times", o->bad_times.mean, 3);
		requests_json_num(j, "delta_ns", o->delta_ns, 0);
		requests_json_num(j, "share", o->share, 5);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_type_change(const struct requests_view *v, struct json *j, uint32_t type)
{
	const struct type_change *c = &v->diff->types[type];
	const struct request_type *t = c->bad_type != REQUEST_ALL
		? &v->diff->bad->types[c->bad_type] : &v->diff->good->types[c->good_type];

	json_obj(j);
	json_kstr(j, "type", strtab_str(v->strings, t->name));
	json_kstr(j, "in", c->good_type == REQUEST_ALL ? "bad"
			   : c->bad_type == REQUEST_ALL ? "good" : "both");
	requests_json_num(j, "delta_ns", c->delta_ns, 0);
	json_kbool(j, "mean_changed", c->mean_changed);
	json_kbool(j, "edges_changed", c->edges_changed);
	json_kbool(j, "spread_changed", c->spread_changed);
	requests_json_num(j, "other_paths_ns", c->other_paths_ns, 0);
	requests_json_num(j, "same_paths_ns", c->same_paths_ns, 0);
	requests_json_num(j, "low_ns", c->low_ns, 0);
	requests_json_num(j, "high_ns", c->high_ns, 0);
	json_karr(j, "edges");
	for (uint32_t i = 0; i < c->edge_cnt; i++)
		json_edge_change(v, j, &c->edges[i]);
	json_arr_end(j);
	json_owner_changes(v, j, c);
	json_karr(j, "paths");
	for (uint32_t i = 0; i < c->path_cnt; i++) {
		json_obj(j);
		index_or_null(j, "good_group", c->paths[i].good_group);
		index_or_null(j, "bad_group", c->paths[i].bad_group);
		requests_json_num(j, "good_share", c->paths[i].good_share, 5);
		requests_json_num(j, "bad_share", c->paths[i].bad_share, 5);
		json_obj_end(j);
	}
	json_arr_end(j);
	requests_json_key_changes(v, j, type);
	json_obj_end(j);
}

void requests_json_diff(const struct requests_view *v, struct json *j)
{
	CLEANUP(buf_release) struct buf against = {0};

	if (!v->diff) {
		json_knull(j, "against");
		json_knull(j, "diff");
		return;
	}
	requests_input_words(v->base_in, &against);
	json_kstr(j, "against", buf_str(&against));
	json_karr(j, "diff");
	for (uint32_t i = 0; i < v->diff->type_cnt; i++) {
		const struct type_change *c = &v->diff->types[i];

		if (c->bad_type == REQUEST_ALL || requests_type_shown(v, c->bad_type))
			json_type_change(v, j, i);
	}
	json_arr_end(j);
}
