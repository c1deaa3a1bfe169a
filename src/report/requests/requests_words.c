/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "trace/points.h"
#include "report/lines/pen.h"
#include "report/requests/requests_out.h"
#include "requests/graph/critical.h"
#include "requests/stats/attr_samples.h"

enum {
	VALUE_WIDTH = 40,
	NAME_MIN = 8,
	TAIL_CNT_MIN = 200,	/* of fewer the slowest in a hundred are one */
	CAUSES_MAX = 3,		/* of the variance, in a sentence */
};

/* Beside the first cause of the variance: what has a fifth is one too, as in a search. */
static const double CAUSE_SHARE = 0.2;

/* So much over the slowest of twenty, the slowest of a hundred are worth a word. */
static const double TAIL_FAR = 2;

bool requests_type_shown(const struct requests_view *v, uint32_t type)
{
	return !v->type_shown || v->type_shown[type];
}

static const struct request_group *requests_problem_group(const struct requests_view *v,
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

/* Writes once what both ends have in common, a service or a name. */
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

	if (k->occurrence == EDGE_ALL)
		snprintf(again, sizeof(again), " (all)");
	else if (k->occurrence)
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
	       g->owners[0].share > REQUESTS_OWNER_AHEAD * g->edges[g->by_share[0]].share;
}

/* Sorts equal means by the larger part of the variance: owners are in that order. */
void requests_time_words(const struct requests_view *v, const struct request_group *g,
			 unsigned width, struct buf *out)
{
	const struct request_edge *edge = &g->edges[g->by_time[0]];
	const struct request_owner *most = NULL;

	for (uint32_t i = 0; i < g->owner_cnt; i++)
		if (!most || g->owners[i].time_share > most->time_share)
			most = &g->owners[i];
	if (most && most->edge_cnt > 1 &&
	    most->time_share > REQUESTS_OWNER_AHEAD * edge->time_share) {
		buf_adds(out, "while ");
		requests_point_words(v, most->point, out);
		buf_adds(out, " runs");
	} else {
		requests_edge_words(v, &edge->key, width, out);
	}
}

static bool is_first_rule(const struct request_group *g, uint32_t rule)
{
	for (uint32_t i = 0; i < rule; i++)
		if (g->rules[i].point == g->rules[rule].point)
			return false;
	return true;
}

/* All that is known of how often its paths go through one tracepoint. */
static void times_words(const struct requests_view *v, const struct request_group *g,
			uint32_t point, struct buf *out)
{
	uint32_t least = 0, most = UINT32_MAX;

	for (uint32_t i = 0; i < g->rule_cnt; i++) {
		const struct path_rule *r = &g->rules[i];

		if (r->point != point)
			continue;
		if (r->holds && r->times > least)
			least = r->times;
		if (!r->holds && r->times - 1 < most)
			most = r->times - 1;
	}
	buf_adds(out, most ? "; through " : "; not through ");
	requests_point_words(v, point, out);
	if (least > 1 && most == UINT32_MAX)
		buf_printf(out, " %u times or more", least);
	else if (least == most && most)
		buf_printf(out, " %u time%s", most, most == 1 ? "" : "s");
	else if (least && most < UINT32_MAX)
		buf_printf(out, " %u to %u times", least, most);
	else if (most && most < UINT32_MAX)
		buf_printf(out, " at most %u time%s", most, most == 1 ? "" : "s");
}

void requests_what_words(const struct requests_view *v, const struct request_group *g,
			 struct buf *out)
{
	for (uint32_t i = 0; i < g->bin_cnt; i++) {
		buf_printf(out, "; %s in ", strtab_str(v->strings, g->bins[i].label));
		requests_point_words(v, g->bins[i].point, out);
	}
	for (uint32_t i = 0; i < g->rule_cnt; i++)
		if (is_first_rule(g, i))
			times_words(v, g, g->rules[i].point, out);
}

static void where_words(const struct requests_view *v, const struct edge_key *k,
			struct buf *out)
{
	if (!is_inside(k))
		buf_adds(out, "between ");
	edge_words(v, k, 0, " and ", out);
}

/* Writes where the group takes longer than the others of its type, and by how much: "24.0 ms". */
static void excess_words(const struct requests_view *v, const struct request_group *g,
			 const char *before, const char *after, struct buf *out)
{
	const struct request_edge *edge = NULL;
	const struct request_owner *owner = NULL;
	char t[FMT_MAX];

	for (uint32_t i = 0; i < g->edge_cnt; i++)
		if (!edge || g->edges[i].excess_ns > edge->excess_ns)
			edge = &g->edges[i];
	for (uint32_t i = 0; i < g->owner_cnt; i++)
		if (!owner || g->owners[i].excess_ns > owner->excess_ns)
			owner = &g->owners[i];
	if (!edge || !(edge->excess_ns > 0))
		return;
	if (owner && owner->edge_cnt > 1 &&
	    owner->excess_ns > REQUESTS_OWNER_AHEAD * edge->excess_ns) {
		buf_printf(out, "%s%s%swhile ", before, fmt_ns(t, (uint64_t)owner->excess_ns),
			   after);
		requests_point_words(v, owner->point, out);
		buf_adds(out, " runs");
		return;
	}
	buf_printf(out, "%s%s%s", before, fmt_ns(t, (uint64_t)edge->excess_ns), after);
	where_words(v, &edge->key, out);
}

static bool is_cause(double share, double low)
{
	return share >= CAUSE_SHARE && low > 0;
}

/* Writes the tracepoints, or the edges, which have most of the group's variance. */
void requests_variance_words(const struct requests_view *v, const struct request_group *g,
			     struct buf *out)
{
	const struct request_edge *e;
	char t[FMT_MAX];

	if (!g->edge_cnt)
		return;
	if (requests_by_owner(g)) {
		buf_printf(out, "; %s of the variance arises while ",
			   fmt_share(t, g->owners[0].share));
		requests_point_words(v, g->owners[0].point, out);
		buf_adds(out, " runs");
		for (uint32_t i = 1; i < g->owner_cnt && i < CAUSES_MAX; i++) {
			if (!is_cause(g->owners[i].share, g->owners[i].share_low))
				return;
			buf_printf(out, ", %s while ", fmt_share(t, g->owners[i].share));
			requests_point_words(v, g->owners[i].point, out);
			buf_adds(out, " runs");
		}
		return;
	}
	e = &g->edges[g->by_share[0]];
	buf_printf(out, "; %s of the variance lies ", fmt_share(t, e->share));
	where_words(v, &e->key, out);
	for (uint32_t i = 1; i < g->edge_cnt && i < CAUSES_MAX; i++) {
		e = &g->edges[g->by_share[i]];
		if (!is_cause(e->share, e->share_low))
			return;
		buf_printf(out, ", %s ", fmt_share(t, e->share));
		where_words(v, &e->key, out);
	}
}

/* " (tenant=acme in api GET /)": what its paths have that others have not. */
static void apart_words(const struct requests_view *v, const struct request_group *g,
			struct buf *out)
{
	CLEANUP(buf_release) struct buf b = {0};

	requests_what_words(v, g, &b);
	if (b.len > 2)
		buf_printf(out, " (%s)", buf_str(&b) + 2);
}

static void slow_path_words(const struct requests_view *v, const struct request_problem *p,
			    const struct request_type *t, struct buf *out)
{
	const struct request_group *g = &t->groups[p->slow_group];
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	buf_printf(out, "; on path %u", p->slow_group + 1);
	apart_words(v, g, out);
	buf_printf(out, " %s of the requests take %s, %s more than the others",
		   fmt_share(a, g->type_share), fmt_ns(b, (uint64_t)g->latency.mean_ns),
		   fmt_ns(c, (uint64_t)p->excess_ns));
	excess_words(v, g, ", ", " of it ", out);
}

/* "in 9.1 ms to 20 ms", and what a few take where that is far more. */
static void spread_words(const struct latency *l, struct buf *out)
{
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	buf_printf(out, " in %s to %s", fmt_ns(a, (uint64_t)l->p05_ns),
		   fmt_ns(b, (uint64_t)l->p95_ns));
	if (l->cnt >= TAIL_CNT_MIN && l->p99_ns > TAIL_FAR * l->p95_ns)
		buf_printf(out, ", one in a hundred over %s", fmt_ns(c, (uint64_t)l->p99_ns));
}

void requests_problem_words(const struct requests_view *v, const struct request_problem *p,
			    struct buf *out)
{
	const struct request_type *t = &v->r->types[p->type];
	const struct request_group *g = requests_problem_group(v, p);
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	buf_printf(out, "%s%s: ", strtab_str(v->strings, t->name),
		   2 * t->all->message_cnt > t->all->latency.cnt ?
			   " (messages begin it, nobody waits)" : "");
	switch (p->kind) {
	case PROBLEM_VARIANCE:
		buf_printf(out, "%s requests take %s", fmt_count(a, g->latency.cnt),
			   g->path_cnt > 1 ? "much the same path" : "the same path");
		apart_words(v, g, out);
		spread_words(&g->latency, out);
		buf_printf(out, " (CV %.2f)", g->latency.cv);
		requests_variance_words(v, g, out);
		if (g->by_outliers)
			buf_adds(out, " (a few requests make it)");
		break;
	case PROBLEM_SLOW:
		buf_printf(out, "%s requests on one path", fmt_count(a, g->latency.cnt));
		apart_words(v, g, out);
		buf_printf(out, " steadily take %s, %s more than nearly all of the others",
			   fmt_ns(b, (uint64_t)g->latency.p50_ns),
			   fmt_ns(c, p->excess_ns > 0 ? (uint64_t)p->excess_ns : 0));
		excess_words(v, g, ", on average ", " more ", out);
		break;
	default:
		buf_printf(out, "which path a request takes decides: %s of the variance is "
			   "between %u paths", fmt_share(a, p->weight), p->path_cnt);
		slow_path_words(v, p, t, out);
	}
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

/* Writes the begin of a range: the next one begins where it ends. */
static void add_clock(struct buf *out, double seconds, bool is_range)
{
	time_t second = (time_t)seconds;
	char text[32] = "?";
	struct tm tm;

	if (fabs(seconds) < 1e12 && gmtime_r(&second, &tm))
		strftime(text, sizeof(text), "%m-%d %H:%M:%S", &tm);
	buf_printf(out, "%s%s", is_range ? "from " : "", text);
}

void requests_value_words(const struct requests_view *v, uint32_t key,
			  const struct key_value *x, struct buf *out)
{
	bool is_time = !strcmp(strtab_str(v->strings, key), SAMPLES_START_KEY);

	if (x->str) {
		add_cut(out, strtab_str(v->strings, x->str), VALUE_WIDTH);
	} else if (x->truth) {
		buf_adds(out, x->low != 0 ? "true" : "false");
	} else if (is_time) {
		add_clock(out, x->low, x->high > x->low);
	} else if (x->decimals && x->low == x->high) {
		buf_printf(out, "%.*f", x->decimals, x->low);
	} else {
		add_number(out, x->low);
		if (x->high > x->low) {
			buf_adds(out, "..");
			add_number(out, x->high);
		}
	}
}

void requests_explain_value_words(const struct requests_view *v, const struct explain_key *k,
				  struct buf *out)
{
	struct key_value value = {.low = k->has.num, .high = k->has.num};

	if (k->has.type == ATTR_STR)
		value = (struct key_value){.str = (uint32_t)k->has.str};
	else
		value.decimals = k->has.decimals;
	value.truth = k->has.type == ATTR_BOOL;
	requests_value_words(v, k->key->key, &value, out);
}

void requests_explain_key_words(const struct requests_view *v, const struct explain_key *k,
				struct buf *out)
{
	buf_printf(out, "%s ", strtab_str(v->strings, k->key->key));
	requests_explain_value_words(v, k, out);
	buf_adds(out, " of ");
	requests_point_words(v, k->key->point, out);
}

/*
 * Of the first cnt values the one to name after before (NULL: first): ranges in
 * their order, others from the slowest on, the one that is listed first of equals.
 */
static const struct key_value *next_value(const struct request_key *k, uint32_t cnt,
					  const struct key_value *before)
{
	const struct key_value *best = NULL;

	if (k->kind == KEY_NUMERIC)
		return before ? before + 1 : k->values;
	for (const struct key_value *x = k->values; x < k->values + cnt; x++) {
		bool later = !before || x->mean_ns < before->mean_ns ||
			     (x->mean_ns <= before->mean_ns && x > before);

		if (later && (!best || x->mean_ns > best->mean_ns))
			best = x;
	}
	return best;
}

void requests_key_values_words(const struct requests_view *v, const struct request_key *k,
			       struct buf *out)
{
	const struct key_value *x = NULL;
	uint32_t cnt = k->told_cnt;
	double rest_ns = k->mean_ns * k->cnt;
	uint64_t rest_cnt = k->cnt;
	char t[FMT_MAX];

	if (cnt + 1 == k->value_cnt && k->value_cnt == k->distinct_cnt)
		cnt++;	/* the one other has a name */
	for (uint32_t i = 0; i < cnt; i++) {
		x = next_value(k, cnt, x);
		if (!x)
			break;
		buf_adds(out, i ? ", " : "");
		requests_value_words(v, k->key, x, out);
		buf_printf(out, ": %s", fmt_ns(t, (uint64_t)fmax(x->mean_ns, 0)));
		rest_ns -= x->mean_ns * (double)x->cnt;
		rest_cnt -= x->cnt;
	}
	if (rest_cnt)
		buf_printf(out, ", others: %s",
			   fmt_ns(t, rest_ns > 0 ? (uint64_t)(rest_ns / (double)rest_cnt) : 0));
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
