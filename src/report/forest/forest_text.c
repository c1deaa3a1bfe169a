/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of each request type: the tree of hypotheses, the edges that were found,
 * the keys that go with the time, and what was decided in which round.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "trace/points.h"
#include "report/forest/forest_out.h"
#include "report/forest/waterfall.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"
#include "requests/stats/attr_bins.h"

enum { TOP_DEFAULT = 12, DEPTH_MAX = 32, EDGE_MAX = 70, POINT_MAX = 48, LIST_MAX = 12,
       GROUPS_TOP = 2 };

/* An edge of less than this of the variance and of the time is not worth a line. */
#define SHARE_SHOWN 0.05

static size_t top_of(const struct forest_view *v)
{
	return v->top ? v->top : TOP_DEFAULT;
}

static const char *ms(char *out, double ns)
{
	return fmt_ns(out, ns > 0 ? (uint64_t)llround(ns) : 0);
}

/* ---- the tree */

static bool is_last_child(const struct forest_tree *t, uint32_t node)
{
	for (uint32_t i = node + 1; i < t->node_cnt; i++)
		if (t->nodes[i].parent == t->nodes[node].parent)
			return false;
	return true;
}

/* The branches that lead to a node; ends with it. */
static void put_branches(const struct forest_tree *t, uint32_t node, bool ascii, struct buf *out)
{
	uint32_t way[DEPTH_MAX], depth = 0;

	for (uint32_t n = node; n != FOREST_NONE && t->nodes[n].parent != FOREST_NONE &&
	     depth < DEPTH_MAX; n = t->nodes[n].parent)
		way[depth++] = n;
	while (depth-- > 1)
		buf_adds(out, is_last_child(t, way[depth]) ? "   " : ascii ? "|  " : "│  ");
	if (t->nodes[node].parent != FOREST_NONE)
		buf_adds(out, is_last_child(t, node) ? (ascii ? "`- " : "└─ ")
						     : (ascii ? "|- " : "├─ "));
}

static void node_row(const struct forest_view *v, uint32_t tree, uint32_t node, bool ascii,
		     struct table *table)
{
	const struct forest_tree *t = &v->f->trees[tree];
	const struct forest_node *n = &t->nodes[node];
	CLEANUP(buf_release) struct buf words = {0};
	char cnt[FMT_MAX], mean[FMT_MAX], share[FMT_MAX];

	put_branches(t, node, ascii, &words);
	if (n->parent == FOREST_NONE) {
		buf_adds(&words, "all requests");
	} else {
		buf_adds(&words, n->present ? "with " : "without ");
		forest_sided_words(v, n->point, n->sides, &words);
	}
	table_cell(table, "%s%u", forest_node_walked(v, tree, node) ? "> " : "", node);
	table_cell(table, "%s", buf_str(&words));
	table_cell(table, "%s", fmt_count(cnt, n->trace_cnt));
	table_cell(table, "%s", n->trace_cnt ? ms(mean, n->mean_ns) : "");
	if (n->trace_cnt)
		table_cell(table, "%.2f", n->cv);
	else
		table_cell(table, "%s", "");
	table_cell(table, "%s", n->group_cnt ? fmt_share(share, n->explained) : "");
	table_cell(table, "%s", n->trace_cnt ? forest_status_words(n->status)
						: "none came this way");
}

/* Children follow their parent, as a person reads a tree; returns how many were written. */
static uint32_t put_nodes(const struct forest_view *v, uint32_t tree, uint32_t parent, bool ascii,
			  unsigned depth, struct table *table)
{
	const struct forest_tree *t = &v->f->trees[tree];
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < t->node_cnt; i++) {
		if (t->nodes[i].parent != parent)
			continue;
		node_row(v, tree, i, ascii, table);
		cnt++;
		if (depth < DEPTH_MAX)
			cnt += put_nodes(v, tree, i, ascii, depth + 1, table);
	}
	return cnt;
}

static void put_tree(const struct forest_view *v, uint32_t tree, struct pen *p)
{
	static const struct column columns[] = {
		{.head = "node", .right = 1},	   {.head = "hypothesis", .max = 60},
		{.head = "requests", .right = 1},  {.head = "mean", .right = 1},
		{.head = "CV", .right = 1},	   {.head = "explained", .right = 1},
		{.head = "what it showed"},
	};
	const struct forest_tree *t = &v->f->trees[tree];
	CLEANUP(buf_release) struct buf title = {0};
	char cnt[FMT_MAX], share[FMT_MAX];
	struct table table;
	uint32_t shown;

	forest_tree_words(v, tree, &title);
	buf_printf(&title, ": %s request%s, %s of their variance explained",
		   fmt_count(cnt, t->trace_cnt), t->trace_cnt == 1 ? "" : "s",
		   fmt_share(share, t->explained));
	table_init(&table, columns, sizeof(columns) / sizeof(*columns));
	shown = put_nodes(v, tree, FOREST_NONE, p->ascii, 0, &table);
	table_print(&table, p, buf_str(&title), t->node_cnt - shown);
	table_release(&table);
}

/* ---- what was found in the nodes */

static bool has_children(const struct forest_tree *t, uint32_t node)
{
	for (uint32_t i = node + 1; i < t->node_cnt; i++)
		if (t->nodes[i].parent == node)
			return true;
	return false;
}

static void edge_row(const struct forest_view *v, uint32_t node, const struct forest_group *g,
		     const struct forest_edge *e, bool ascii, struct table *table)
{
	CLEANUP(buf_release) struct buf words = {0};
	char a[FMT_MAX], b[FMT_MAX];

	forest_edge_words(v, &e->from, &e->to, ascii, &words);
	for (uint32_t i = 0; i < g->bin_cnt; i++)
		buf_printf(&words, "%s%s", i ? ", " : "; ",
			   strtab_str(v->strings, g->bins[i].label));
	table_cell(table, "%u", node);
	table_cell(table, "%s", fmt_count(a, g->times.cnt));
	table_cell(table, "%s", buf_str(&words));
	table_cell(table, "%.0f %%", fmt_percent(e->share_variance));
	if (isfinite(e->share_low) && isfinite(e->share_high))
		table_cell(table, "%.0f..%.0f %%", fmt_percent(e->share_low),
			   fmt_percent(e->share_high));
	else
		table_cell(table, "%s", "");
	table_cell(table, "%s", fmt_share(a, e->share_time));
	table_cell(table, "%s", ms(b, e->times.mean_ns));
	table_cell(table, "%s", e->usual_ns < 0 ? "" : ms(a, e->usual_ns));
	table_cell(table, "%u", e->hidden_cnt);
}

static void put_edges(const struct forest_view *v, uint32_t tree, struct pen *p)
{
	static const struct column columns[] = {
		{.head = "node", .right = 1},	     {.head = "requests", .right = 1},
		{.head = "edge", .max = EDGE_MAX},   {.head = "of variance", .right = 1},
		{.head = "95 %", .right = 1},	     {.head = "of time", .right = 1},
		{.head = "takes", .right = 1},	     {.head = "usually", .right = 1},
		{.head = "off in it", .right = 1},
	};
	const struct forest_tree *t = &v->f->trees[tree];
	struct table table;
	size_t shown = 0, more = 0;

	table_init(&table, columns, sizeof(columns) / sizeof(*columns));
	for (uint32_t i = 0; i < t->node_cnt; i++) {
		const struct forest_node *n = &t->nodes[i];

		if (has_children(t, i) || n->status == HYP_CALM)
			continue;
		for (uint32_t k = 0; k < n->group_cnt && k < GROUPS_TOP; k++) {
			const struct forest_group *g = &n->groups[k];

			for (uint32_t e = 0; e < g->edge_cnt; e++) {
				if (!(g->variable || g->slow) ||
				    (g->edges[e].share_variance < SHARE_SHOWN &&
				     g->edges[e].share_time < SHARE_SHOWN))
					continue;
				if (shown++ < top_of(v))
					edge_row(v, i, g, &g->edges[e], p->ascii, &table);
				else
					more++;
			}
		}
	}
	table_print(&table, p, "where the time and its variance are", more);
	table_release(&table);
}

static void put_keys(const struct forest_view *v, uint32_t tree, struct pen *p)
{
	static const struct column columns[] = {
		{.head = "node", .right = 1}, {.head = "key", .max = POINT_MAX},
		{.head = "at", .max = POINT_MAX}, {.head = "strength", .right = 1},
		{.head = "chance", .right = 1}, {.head = "requests", .right = 1},
	};
	const struct forest_tree *t = &v->f->trees[tree];
	struct table table;
	size_t shown = 0, more = 0;

	table_init(&table, columns, sizeof(columns) / sizeof(*columns));
	for (uint32_t i = 0; i < t->node_cnt; i++) {
		for (uint32_t k = 0; k < t->nodes[i].key_cnt; k++) {
			const struct forest_key *key = &t->nodes[i].keys[k];
			CLEANUP(buf_release) struct buf at = {0};
			char cnt[FMT_MAX];

			if (shown++ >= top_of(v)) {
				more++;
				continue;
			}
			forest_point_words(v, key->point, &at);
			table_cell(&table, "%u", i);
			table_cell(&table, "%s", strtab_str(v->strings, key->key));
			table_cell(&table, "%s", buf_str(&at));
			table_cell(&table, "%s%.2f",
				   key->numeric ? "r = " : p->ascii ? "eta2 = " : "η² = ",
				   key->strength);
			table_cell(&table, "%.1g", key->q);
			table_cell(&table, "%s", fmt_count(cnt, key->cnt));
		}
	}
	table_print(&table, p, "keys whose values go with the time", more);
	table_release(&table);
}

/* ---- decisions */

static void decision_row(const struct forest_view *v, const struct forest_decision *d,
			 bool ascii, struct table *table)
{
	CLEANUP(buf_release) struct buf what = {0};
	char cnt[FMT_MAX];

	if (d->point != FOREST_NONE)
		forest_sided_words(v, d->point, d->sides, &what);
	else if (d->from.point != FOREST_NONE && d->to.point != FOREST_NONE)
		forest_edge_words(v, &d->from, &d->to, ascii, &what);
	table_cell(table, "%u", d->round);
	if (d->node == FOREST_NONE)
		table_cell(table, "%s", "");
	else
		table_cell(table, "%u", d->node);
	table_cell(table, "%s", forest_decision_words(d->kind));
	table_cell(table, "%s", buf_str(&what));
	table_cell(table, "%s", d->trace_cnt ? fmt_count(cnt, d->trace_cnt) : "");
	table_cell(table, "%s", d->why ? d->why : "");
}

static void put_decisions(const struct forest_view *v, uint32_t tree, struct pen *p)
{
	static const struct column columns[] = {
		{.head = "round", .right = 1}, {.head = "node", .right = 1}, {.head = "decision"},
		{.head = "what", .max = EDGE_MAX}, {.head = "on requests", .right = 1},
		{.head = "because"},
	};
	struct table table;
	size_t shown = 0, more = 0;

	table_init(&table, columns, sizeof(columns) / sizeof(*columns));
	for (uint32_t i = 0; i < v->f->decision_cnt; i++) {
		const struct forest_decision *d = &v->f->decisions[i];

		if (d->tree != tree || d->kind == DECIDE_WAIT)
			continue;
		if (shown++ < top_of(v))
			decision_row(v, d, p->ascii, &table);
		else
			more++;
	}
	table_print(&table, p, "what was decided", more);
	table_release(&table);
}

/* ---- the tracepoints of one request */

static void point_row(const struct forest_view *v, const struct forest_walked_point *point,
		      struct table *table)
{
	CLEANUP(buf_release) struct buf words = {0};
	const struct forest_decision *by = point->sight.by;

	forest_sided_words(v, point->point, point->sight.seen ? point->sight.sides : 0, &words);
	table_cell(table, "%s", buf_str(&words));
	table_cell(table, "%s", point->on_path ? "on it" : "");
	table_cell(table, "%s", forest_seen_words(point->sight.seen));
	if (by)
		table_cell(table, "%u", by->round);
	else
		table_cell(table, "%s", "");
	table_cell(table, "%s", by && by->why ? by->why : "");
}

static void put_points(const struct forest_view *v, struct pen *p)
{
	static const struct column columns[] = {
		{.head = "tracepoint", .max = POINT_MAX}, {.head = "path"}, {.head = "was"},
		{.head = "round", .right = 1}, {.head = "because"},
	};
	const struct forest_walked *w = v->walked;
	struct table table;
	size_t shown = 0;

	table_init(&table, columns, sizeof(columns) / sizeof(*columns));
	for (; shown < w->point_cnt && shown < top_of(v); shown++)
		point_row(v, &w->points[shown], &table);
	table_print(&table, p, "its tracepoints, and whether they were on", w->point_cnt - shown);
	table_release(&table);
}

/* ---- the whole */

static void put_useless(const struct forest_view *v, struct pen *p)
{
	CLEANUP(buf_release) struct buf words = {0};
	CLEANUP_FREE uint8_t *told = xcalloc(v->points->items.cnt + 1, sizeof(*told));
	size_t cnt = 0;

	for (uint32_t i = 0; i < v->f->decision_cnt; i++) {
		const struct forest_decision *d = &v->f->decisions[i];

		if (d->kind != DECIDE_OFF || d->point >= v->points->items.cnt ||
		    !(d->sides & ~told[d->point]))
			continue;
		told[d->point] |= (uint8_t)d->sides;
		if (cnt++ >= LIST_MAX)
			continue;
		buf_adds(&words, cnt > 1 ? "; " : "");
		forest_sided_words(v, d->point, d->sides, &words);
	}
	if (!cnt)
		return;
	pen_nl(p);
	pen_text(p, PEN_HEAD, "switched off again, having explained nothing or no more");
	if (cnt > LIST_MAX)
		pen_fmt(p, PEN_DIM, "  %zu, the first %d:", cnt, LIST_MAX);
	pen_nl(p);
	pen_text(p, PEN_PLAIN, "  ");
	pen_wrap(p, PEN_PLAIN, 2, 6, buf_str(&words));
	pen_nl(p);
}

static void put_left_out(struct pen *p, uint64_t cnt, const char *what)
{
	char t[FMT_MAX];

	if (!cnt)
		return;
	pen_fmt(p, PEN_DIM, "  %s ", fmt_count(t, cnt));
	pen_wrap(p, PEN_DIM, 4, 0, what);
	pen_nl(p);
}

/* Lists what the nodes of the trees shown do not have. */
static void put_not_seen(const struct forest_view *v, struct pen *p)
{
	uint64_t others = 0, refused = 0, edges = 0;

	for (uint32_t i = 0; i < v->f->tree_cnt; i++) {
		for (uint32_t k = 0; forest_tree_shown(v, i) && k < v->f->trees[i].node_cnt; k++) {
			others += v->f->trees[i].nodes[k].other_trace_cnt;
			refused += v->f->trees[i].nodes[k].refused_cnt;
			edges += v->f->trees[i].nodes[k].edge_over_cnt;
		}
	}
	if (!others && !refused && !edges)
		return;
	pen_nl(p);
	pen_text(p, PEN_HEAD, "not seen, by nodes");
	pen_nl(p);
	put_left_out(p, others, "requests on paths over the bound: counted, and in no group");
	put_left_out(p, refused, "requests without an edge on their path, or over 13 days long: "
		     "left out");
	put_left_out(p, edges, "edges over the bound on kinds of edges: their time counts as that "
		     "of the rest");
}

static void put_walked(const struct forest_view *v, struct pen *p)
{
	const struct forest_walked *w = v->walked;
	const struct forest_node *last;
	char t[FMT_MAX], share[FMT_MAX], cnt[FMT_MAX], id[TRACE_ID_TEXT];
	CLEANUP(buf_release) struct buf words = {0};
	double under = 0, all = 0;

	buf_printf(&words, "request %s took %s", trace_id_text(&w->id, id),
		   ms(t, (double)w->total_ns));
	if (w->tree == FOREST_NONE || !w->node_cnt) {
		buf_adds(&words, "; there is no tree of its type");
	} else {
		last = &v->f->trees[w->tree].nodes[w->nodes[w->node_cnt - 1]];
		for (uint32_t i = 0; i < last->group_cnt; i++) {
			under += (double)last->groups[i].times.cnt *
				 forest_times_under(&last->groups[i].times, (double)w->total_ns);
			all += (double)last->groups[i].times.cnt;
		}
		buf_printf(&words, " and comes through the nodes marked >, down to node %u",
			   w->nodes[w->node_cnt - 1]);
		if (all > 0)
			buf_printf(&words, ", where it is slower than %s of %s",
				   fmt_share(share, under / all),
				   fmt_count(cnt, (uint64_t)llround(all)));
	}
	pen_wrap(p, PEN_BOLD, 0, 3, buf_str(&words));
	pen_nl(p);
}

void forest_text(const struct forest_view *v, struct pen *p)
{
	uint32_t tried = 0, trees = 0;

	for (uint32_t i = 0; i < v->f->tree_cnt; i++) {
		trees += forest_tree_shown(v, i);
		for (uint32_t k = 0; k < v->f->trees[i].node_cnt; k++)
			tried += v->f->trees[i].nodes[k].parent != FOREST_NONE &&
				 v->f->trees[i].nodes[k].present;
	}
	pen_fmt(p, PEN_BOLD, "%u request type%s, %u hypothes%s in %u round%s", v->f->tree_cnt,
		v->f->tree_cnt == 1 ? "" : "s", tried, tried == 1 ? "is" : "es", v->f->round,
		v->f->round == 1 ? "" : "s");
	if (trees < v->f->tree_cnt)
		pen_fmt(p, PEN_DIM, "  %u shown", trees);
	pen_nl(p);
	if (v->walked)
		put_walked(v, p);
	for (uint32_t i = 0; i < v->f->tree_cnt; i++) {
		if (!forest_tree_shown(v, i))
			continue;
		put_tree(v, i, p);
		if (v->walked)
			put_points(v, p);
		put_edges(v, i, p);
		put_keys(v, i, p);
		put_decisions(v, i, p);
	}
	put_useless(v, p);
	put_not_seen(v, p);
}
