/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line: which one service is to blame, by the time that its edges take
 * (requests/service_blame.h) or by what it calls (requests/diff/changes.h, call_splits.h).
 */
#include <math.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/json.h"
#include "trace/points.h"
#include "report/requests/requests_json.h"
#include "report/requests/requests_text.h"
#include "requests/call_splits.h"
#include "requests/diff/changes.h"
#include "requests/edge_rank.h"
#include "requests/service_blame.h"

enum { SERVICES_JSON_MAX = 20 };

/* Part of all request time: a loss of less is not worth looking for. */
static const double WORTH_PART = 0.01;

/* Calls with more than half of the variance have more than all edges together. */
static const double MOST_PART = 0.5;

/* the service to blame, by the time that its edges take, or by what it calls */
struct first {
	const struct service_blame *edges;		/* else one of the next four, or none */
	const struct structure_change *structure;
	const struct call_change *calls;
	const struct call_split *split;
	const struct type_change *reached;	/* its first edge has got on the path */
	double cost_ns, over_ns;	/* what it makes of the time, and what all do */
	uint32_t service;
};

static uint32_t service_of(const struct requests_view *v, uint32_t point)
{
	return point < v->points->items.cnt ? v->points->items.items[point].service : 0;
}

/*
 * The type that lost most by a branch that nobody waited for in the good requests: of its edges
 * there is no time on their paths that could be held against what they take now.
 */
static const struct type_change *reached_of(const struct requests_view *v, double *ret_cost_ns)
{
	const struct type_change *worst = NULL;

	*ret_cost_ns = 0;
	for (uint32_t i = 0; v->diff && i < v->diff->type_cnt; i++) {
		const struct type_change *t = &v->diff->types[i];
		double cost;

		if (t->good_type == REQUEST_ALL || t->bad_type == REQUEST_ALL || !t->mean_changed ||
		    !t->edge_cnt || t->edges[0].good_ns > 0 || t->edges[0].low_ns <= 0 ||
		    !requests_type_shown(v, t->bad_type))
			continue;
		cost = fmin(t->edges[0].delta_ns, t->delta_ns) *
		       (double)v->diff->bad->types[t->bad_type].all->latency.cnt;
		if (cost > *ret_cost_ns) {
			*ret_cost_ns = cost;
			worst = t;
		}
	}
	return worst;
}

/*
 * Structural change counts where it costs more than what the service takes longer by its edges;
 * without good requests, structure where more of the variance lies there than in edges.
 */
static struct first first_of(const struct requests_view *v)
{
	const struct structure_change *structure = requests_first_structure(v);
	const struct call_change *call = requests_first_call(v);
	const struct call_split *split = requests_first_split(v);
	const struct service_blames *b = v->blames;
	struct first f = {.over_ns = b->over_ns};
	double reached_ns;
	const struct type_change *reached = reached_of(v, &reached_ns);

	if (b->cnt && b->over_ns > WORTH_PART * b->total_ns) {
		f.edges = &b->items[0];
		f.service = f.edges->service;
		f.cost_ns = f.edges->over_ns;
	}
	if (structure && structure->cost_ns > fmax(f.cost_ns, WORTH_PART * b->total_ns)) {
		f = (struct first){.structure = structure, .cost_ns = structure->cost_ns,
				   .service = service_of(v, structure->parent),
				   .over_ns = b->over_ns + structure->cost_ns};
	}
	if (call && call->cost_ns > fmax(f.cost_ns, WORTH_PART * b->total_ns)) {
		f = (struct first){.calls = call, .cost_ns = call->cost_ns,
				   .service = service_of(v, call->owner->bad_times.parent),
				   .over_ns = b->over_ns + call->cost_ns};
	}
	/* of few good requests some edges are on no path by chance: only where nothing else is */
	if (reached && !(f.cost_ns > 0) && reached_ns > WORTH_PART * b->total_ns) {
		f = (struct first){.reached = reached, .cost_ns = reached_ns,
				   .service = service_of(v, reached->edges[0].key.owner),
				   .over_ns = b->over_ns + reached_ns};
	}
	if (split && v->r->splits.share > MOST_PART && split->cost_ns > WORTH_PART * b->total_ns) {
		f = (struct first){.split = split, .cost_ns = split->cost_ns,
				   .service = service_of(v, split->parent),
				   .over_ns = b->over_ns + split->cost_ns};
	}
	return f;
}

static void calls_words(const struct requests_view *v, const struct call_change *c,
			struct buf *out)
{
	char t[FMT_MAX];

	requests_point_words(v, c->owner->bad_times.parent, out);
	buf_adds(out, " calls ");
	requests_point_words(v, c->owner->point, out);
	buf_printf(out, " %.1f times in a request, before %.1f: %s more",
		   c->owner->bad_times.mean, c->owner->good_times.mean,
		   fmt_ns(t, (uint64_t)c->owner->delta_ns));
}

static void reached_words(const struct requests_view *v, const struct type_change *t,
			  struct buf *out)
{
	char s[FMT_MAX];

	requests_edge_words(v, &t->edges[0].key, 0, out);
	buf_printf(out, " takes %s of each request of %s; no good request waited for it",
		   fmt_ns(s, (uint64_t)t->edges[0].delta_ns),
		   strtab_str(v->strings, v->diff->bad->types[t->bad_type].name));
}

/* "61 % of what requests take longer than usual, 24 % of their time; first in ..." */
static void why_words(const struct requests_view *v, const struct service_blame *b,
		      struct buf *out)
{
	const struct edge_rank_row *row = &v->rank->rows[b->row];
	struct edge_key key = requests_rank_key(row);
	char s[FMT_MAX], t[FMT_MAX];

	buf_printf(out, "%s of what requests take longer than %s, %s of their time; ",
		   fmt_share(s, b->share), v->diff ? "the good ones" : "usual",
		   fmt_share(t, b->time_share));
	requests_edge_words(v, &key, 0, out);
	buf_printf(out, " takes %s, usually %s", fmt_ns(s, (uint64_t)row->mean_ns),
		   fmt_ns(t, (uint64_t)row->usual_ns));
}

static const char *name_of(const struct requests_view *v, uint32_t service)
{
	const char *name = strtab_str(v->strings, service);

	return *name ? name : "(no name)";
}

static void blame_words(const struct requests_view *v, const struct first *f, struct buf *out)
{
	if (!f->edges && !f->structure && !f->calls && !f->split && !f->reached) {
		buf_printf(out, "none: requests hardly take longer than %s",
			   v->diff ? "the good ones" : "usual");
		return;
	}
	buf_printf(out, "%s: ", name_of(v, f->service));
	if (f->edges)
		why_words(v, f->edges, out);
	else if (f->structure)
		requests_structure_words(v, f->structure, out);
	else if (f->split)
		requests_split_words(v, f->split, out);
	else if (f->reached)
		reached_words(v, f->reached, out);
	else
		calls_words(v, f->calls, out);
}

void requests_put_blame(const struct requests_view *v, struct pen *p)
{
	CLEANUP(buf_release) struct buf b = {0};
	struct first f = first_of(v);

	blame_words(v, &f, &b);
	pen_text(p, PEN_HEAD, "SERVICE TO BLAME");
	pen_text(p, PEN_DIM, "  ");
	pen_wrap(p, f.cost_ns > 0 ? PEN_BAD : PEN_PLAIN, 2, 3, buf_str(&b));
	pen_nl(p);
}

static void json_service(const struct requests_view *v, struct json *j,
			 const struct service_blame *b)
{
	json_kstr(j, "service", strtab_str(v->strings, b->service));
	json_kf64_dec(j, "share", b->share, 5);
	json_kf64_dec(j, "time_share", b->time_share, 5);
	json_kf64_dec(j, "slower", b->slower, 4);
	json_kf64_dec(j, "score", b->score, 0);
}

static void json_first(const struct requests_view *v, struct json *j, const struct first *f)
{
	CLEANUP(buf_release) struct buf words = {0};

	blame_words(v, f, &words);
	json_kobj(j, "service_to_blame");
	json_kstr(j, "service", strtab_str(v->strings, f->service));
	json_kstr(j, "by", f->edges || f->reached ? "time" : f->calls ? "calls" : "structure");
	json_kf64_dec(j, "share", f->cost_ns / f->over_ns, 5);
	json_kf64_dec(j, "time_share", f->cost_ns / fmax(v->blames->total_ns, 1), 5);
	json_kstr(j, "words", buf_str(&words));
	json_obj_end(j);
}

void requests_json_blame(const struct requests_view *v, struct json *j)
{
	struct first f = first_of(v);

	if (f.cost_ns > 0)
		json_first(v, j, &f);
	else
		json_knull(j, "service_to_blame");
	json_karr(j, "services_to_blame");
	for (uint32_t i = 0; i < v->blames->cnt && i < SERVICES_JSON_MAX; i++) {
		json_obj(j);
		json_service(v, j, &v->blames->items[i]);
		json_obj_end(j);
	}
	json_arr_end(j);
}
