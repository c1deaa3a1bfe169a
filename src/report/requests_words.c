/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "model/points.h"
#include "report/pen.h"
#include "report/requests_out.h"
#include "requests/critical.h"

enum { VALUES_SHOWN = 5, NAME_MIN = 8 };

/* So much more than the first edge must all edges of a tracepoint carry to be told instead. */
static const double OWNER_AHEAD = 1.5;

bool requests_type_shown(const struct requests_view *v, uint32_t type)
{
	return !v->type_shown || v->type_shown[type];
}

const struct request_group *requests_problem_group(const struct requests_view *v,
						   const struct request_problem *p)
{
	const struct request_type *t = &v->r->types[p->type];

	return p->group == REQUEST_ALL ? t->all : &t->groups[p->group];
}

const char *request_problem_kind_name(uint8_t kind)
{
	static const char *const names[] = {[PROBLEM_VARIANCE] = "variance",
					    [PROBLEM_SLOW] = "slow", [PROBLEM_PATHS] = "paths"};

	return names[kind];
}

void requests_point_words(const struct requests_view *v, uint32_t point, struct buf *out)
{
	const struct point *p;
	const char *service, *name;

	if (point >= v->points->items.cnt) {
		buf_adds(out, "other");
		return;
	}
	p = &v->points->items.items[point];
	service = strtab_str(v->strings, p->service);
	name = strtab_str(v->strings, p->name);
	buf_printf(out, "%s%s%s", service, service[0] && name[0] ? " " : "", name);
}

/* The end of a name tells more than its middle, which is what goes. */
static void add_cut(struct buf *out, const char *name, unsigned width)
{
	CLEANUP(buf_release) struct buf clean = {0};
	unsigned all, head, at = 0;

	pen_clean(&clean, name, false);
	all = pen_width(buf_str(&clean));
	if (!width || all <= width) {
		buf_add(out, buf_str(&clean), clean.len);
		return;
	}
	head = (width - 1) / 2;
	for (const char *s = buf_str(&clean); *s; s++) {
		bool first = ((unsigned char)*s & 0xc0) != 0x80;

		if (first && at == head)
			buf_adds(out, "…");
		if (at < head || at > all - (width - 1 - head) ||
		    (first && at == all - (width - 1 - head)))
			buf_addch(out, *s);
		at += first;
	}
}

/* Between two that are called it is neither that ran, but their caller. */
static void add_owner(const struct requests_view *v, const struct edge_key *k, struct buf *out)
{
	if (k->owner == k->from || k->owner == k->to || k->owner >= v->points->items.cnt)
		return;
	buf_adds(out, " (in ");
	requests_point_words(v, k->owner, out);
	buf_adds(out, ")");
}

static const struct point *point_at(const struct requests_view *v, uint32_t point)
{
	static const struct point other;

	return point < v->points->items.cnt ? &v->points->items.items[point] : &other;
}

/* What both ends have in common, a service or a name, is said once. */
static void end_words(const struct requests_view *v, const struct edge_key *k, bool is_from,
		      struct buf *out)
{
	const struct point *from = point_at(v, k->from), *to = point_at(v, k->to);
	bool same_name = from->name == to->name && from->service != to->service;
	uint8_t kind = is_from ? k->from_kind : k->to_kind;

	if (is_from && same_name)
		buf_adds(out, strtab_str(v->strings, from->service));
	else if (!is_from && from->service == to->service && from->name != to->name &&
		 strtab_str(v->strings, to->name)[0])
		buf_adds(out, strtab_str(v->strings, to->name));
	else
		requests_point_words(v, is_from ? k->from : k->to, out);
	if (kind == NODE_EXIT)
		buf_adds(out, " end");
}

static bool is_inside(const struct edge_key *k)
{
	return k->from == k->to && k->from_kind == NODE_ENTRY && k->to_kind == NODE_EXIT;
}

/* As they are when there is room, else as much of each as is fair. */
static void share_room(unsigned room, unsigned *a, unsigned *b)
{
	unsigned half = room / 2;

	if (!room || *a + *b <= room)
		return;
	if (*a < half)
		*b = room - *a;
	else if (*b < half)
		*a = room - *b;
	else
		*a = half, *b = room - half;
}

static void edge_words(const struct requests_view *v, const struct edge_key *k, unsigned width,
		       const char *between, struct buf *out)
{
	CLEANUP(buf_release) struct buf from = {0};
	CLEANUP(buf_release) struct buf to = {0};
	char again[16] = "";
	unsigned taken, from_width, to_width;

	if (k->occurrence)
		snprintf(again, sizeof(again), " #%u", k->occurrence + 1u);
	taken = pen_width(between) + pen_width(again);
	if (is_inside(k)) {
		requests_point_words(v, k->from, &from);
		buf_adds(out, "in ");
		add_cut(out, buf_str(&from), width > NAME_MIN + taken ? width - taken : 0);
		buf_adds(out, again);
		return;
	}
	end_words(v, k, true, &from);
	end_words(v, k, false, &to);
	from_width = pen_width(buf_str(&from));
	to_width = pen_width(buf_str(&to));
	share_room(width > 2 * NAME_MIN + taken ? width - taken : 0, &from_width, &to_width);
	add_cut(out, buf_str(&from), from_width);
	buf_adds(out, between);
	add_cut(out, buf_str(&to), to_width);
	buf_adds(out, again);
	if (!width)
		add_owner(v, k, out);
}

void requests_edge_words(const struct requests_view *v, const struct edge_key *k,
			 unsigned width, struct buf *out)
{
	edge_words(v, k, width, " → ", out);
}

bool requests_by_owner(const struct request_group *g)
{
	return g->decided && g->owner_cnt && g->owners[0].edge_cnt > 1 &&
	       g->owners[0].share_low > 0 &&
	       g->owners[0].share > OWNER_AHEAD * g->edges[g->by_share[0]].share;
}

void requests_what_words(const struct requests_view *v, const struct request_group *g,
			 struct buf *out)
{
	for (uint32_t i = 0; i < g->bin_cnt; i++) {
		buf_printf(out, "; %s in ", strtab_str(v->strings, g->bins[i].label));
		requests_point_words(v, g->bins[i].point, out);
	}
	for (uint32_t i = 0; i < g->rule_cnt; i++) {
		const struct path_rule *r = &g->rules[i];

		buf_adds(out, r->holds ? "; through " : "; not through ");
		requests_point_words(v, r->point, out);
		if (r->times > 1)
			buf_printf(out, " %u times or more", r->times);
	}
}

static void first_edge_words(const struct requests_view *v, const struct request_problem *p,
			     const struct request_group *g, struct buf *out)
{
	const struct request_edge *e;
	char t[FMT_MAX];

	if (!p->edge_cnt)
		return;
	e = &g->edges[p->edges[0]];
	if (p->kind == PROBLEM_SLOW)
		buf_printf(out, ", most of the extra time, %s, lies ",
			   fmt_ns(t, e->excess_ns > 0 ? (uint64_t)e->excess_ns
						      : (uint64_t)e->latency.mean_ns));
	else if (requests_by_owner(g)) {
		buf_printf(out, "; %s of the variance arises while ",
			   fmt_share(t, g->owners[0].share));
		requests_point_words(v, g->owners[0].point, out);
		buf_adds(out, " runs");
		return;
	} else
		buf_printf(out, "; %s of the variance lies ", fmt_share(t, e->share));
	if (!is_inside(&e->key))
		buf_adds(out, "between ");
	edge_words(v, &e->key, 0, " and ", out);
}

void requests_problem_words(const struct requests_view *v, const struct request_problem *p,
			    struct buf *out)
{
	const struct request_type *t = &v->r->types[p->type];
	const struct request_group *g = requests_problem_group(v, p);
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	buf_printf(out, "%s: ", strtab_str(v->strings, t->name));
	switch (p->kind) {
	case PROBLEM_VARIANCE:
		buf_printf(out, "%s requests take %s in %s to %s (CV %.2f)",
			   fmt_count(a, g->latency.cnt),
			   g->path_cnt > 1 ? "much the same path" : "the same path",
			   fmt_ns(b, (uint64_t)g->latency.p05_ns),
			   fmt_ns(c, (uint64_t)g->latency.p95_ns), g->latency.cv);
		break;
	case PROBLEM_SLOW:
		buf_printf(out, "%s requests on one path steadily take %s, %s more than nearly "
			   "all of the others", fmt_count(a, g->latency.cnt),
			   fmt_ns(b, (uint64_t)g->latency.p50_ns),
			   fmt_ns(c, p->excess_ns > 0 ? (uint64_t)p->excess_ns : 0));
		break;
	default:
		buf_printf(out, "which path a request takes decides: %s of the variance is "
			   "between %u paths", fmt_share(a, t->between_share), t->group_cnt);
		return;
	}
	first_edge_words(v, p, g, out);
	if (p->kind == PROBLEM_VARIANCE && g->by_outliers)
		buf_adds(out, " (a few requests make it)");
}

void requests_key_words(const struct requests_view *v, const struct request_key *k,
			struct buf *out)
{
	(void)v;
	if (k->kind == KEY_NUMERIC)
		buf_printf(out, "r %.2f (ranks %.2f)", k->r, k->rank_r);
	else
		buf_printf(out, "η² %.2f, %u values", k->eta2, k->distinct_cnt);
	if (k->q < 1e-12)
		buf_adds(out, ", q < 1e-12");
	else
		buf_printf(out, ", q %.2g", k->q);
}

static void add_number(struct buf *out, double x)
{
	buf_printf(out, fabs(x) < 1e7 && x == floor(x) ? "%.0f" : "%.3g", x);
}

void requests_key_values_words(const struct requests_view *v, const struct request_key *k,
			       struct buf *out)
{
	char t[FMT_MAX];

	for (uint32_t i = 0; i < k->value_cnt && i < VALUES_SHOWN; i++) {
		const struct key_value *x = &k->values[i];

		buf_adds(out, i ? ", " : "");
		if (x->str) {
			add_cut(out, strtab_str(v->strings, x->str), 24);
		} else {
			add_number(out, x->low);
			if (x->high > x->low) {
				buf_adds(out, "..");
				add_number(out, x->high);
			}
		}
		buf_printf(out, ": %s", fmt_ns(t, x->mean_ns > 0 ? (uint64_t)x->mean_ns : 0));
	}
	if (k->value_cnt > VALUES_SHOWN)
		buf_adds(out, ", …");
}

const char *request_level_name(uint8_t level)
{
	static const char *const names[] = {
		[CSHAPE_EXACT] = "exact", [CSHAPE_REPEATS] = "repeats folded",
		[CSHAPE_UNORDERED] = "any order", [CSHAPE_POINTS] = "same tracepoints",
		[CSHAPE_ENTRIES] = "same services entered", [CSHAPE_TYPE] = "the type",
	};

	return level < CSHAPE_CNT ? names[level] : "other";
}
