/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The edges to blame over all request types together (requests/edge_rank.h), and what is called
 * more often than before, which makes none of them slower (requests/diff/changes.h).
 */
#include <math.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/requests/requests_json.h"
#include "report/requests/requests_text.h"
#include "requests/call_splits.h"
#include "requests/diff/changes.h"
#include "requests/edge_rank.h"

enum {
	CALLS_TOP = 3,
	RANK_TOP = 5,
	RANK_JSON_MAX = 100,
	/* From the right: visits, takes, usually, how much slower its service is. */
	COL_VISITS = 38, COL_TAKES = 26, COL_USUALLY = 14,
	COL_BEFORE = 30, COL_NOW = 20,
};

/* Part of the first one's blame, and of the usual: less is not worth a line. */
static const double TOLD_PART = 0.01;

struct edge_key requests_rank_key(const struct edge_rank_row *row)
{
	return (struct edge_key){.from = row->from.point, .to = row->to.point,
				 .owner = REQUEST_POINT_NONE,
				 .from_kind = (uint8_t)row->from.kind,
				 .to_kind = (uint8_t)row->to.kind};
}

static void put_row(const struct requests_view *v, struct pen *p,
		    const struct edge_rank_row *row, bool first)
{
	CLEANUP(buf_release) struct buf name = {0};
	unsigned width = p->columns - COL_VISITS - 14;
	struct edge_key key = requests_rank_key(row);
	char t[FMT_MAX];

	pen_to(p, 4);
	requests_edge_words(v, &key, width, &name);
	pen_cut(p, first ? PEN_BOLD : PEN_PLAIN, width, buf_str(&name));
	pen_right(p, PEN_PLAIN, p->columns - COL_VISITS, fmt_count(t, row->visit_cnt));
	pen_right(p, PEN_BOLD, p->columns - COL_TAKES, fmt_ns(t, (uint64_t)row->mean_ns));
	pen_right(p, PEN_PLAIN, p->columns - COL_USUALLY, fmt_ns(t, (uint64_t)row->usual_ns));
	pen_right(p, PEN_PLAIN, p->columns,
		  (snprintf(t, sizeof(t), "%.1f x", row->service_ratio), t));
	pen_nl(p);
}

/* Counts the groups; the edges of a single one tell as much. */
static uint32_t group_cnt(const struct requests_result *r)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < r->type_cnt; i++)
		cnt += r->types[i].group_cnt;
	return cnt;
}

/* How many of them, the first ones, are to blame for what is worth a line. */
static uint32_t told_cnt(const struct edge_rank_result *r)
{
	uint32_t cnt = 0;

	while (r && cnt < r->row_cnt && r->rows[cnt].score >= TOLD_PART * r->rows[0].score &&
	       r->rows[cnt].more_low_ns >= TOLD_PART * r->rows[cnt].usual_ns)
		cnt++;
	return cnt;
}

static void put_call(const struct requests_view *v, struct pen *p, const struct call_change *c)
{
	CLEANUP(buf_release) struct buf words = {0};
	const struct requests_result *bad = v->diff->bad;
	uint32_t type = v->diff->types[c->type].bad_type;
	char t[FMT_MAX], more[FMT_MAX];

	requests_point_words(v, c->owner->point, &words);
	buf_printf(&words, ", in %s", strtab_str(v->strings, bad->types[type].name));
	pen_to(p, 4);
	pen_cut(p, PEN_PLAIN, p->columns - COL_BEFORE - 12, buf_str(&words));
	snprintf(t, sizeof(t), "%.1f", c->owner->good_times.mean);
	pen_right(p, PEN_PLAIN, p->columns - COL_BEFORE, t);
	snprintf(t, sizeof(t), "%.1f", c->owner->bad_times.mean);
	pen_right(p, PEN_BOLD, p->columns - COL_NOW, t);
	snprintf(more, sizeof(more), "+%s", fmt_ns(t, (uint64_t)c->owner->delta_ns));
	pen_right(p, PEN_BAD, p->columns, more);
	pen_nl(p);
}

static bool call_shown(const struct requests_view *v, const struct call_change *c)
{
	return requests_type_shown(v, v->diff->types[c->type].bad_type);
}

/* The costliest change of the types that are shown, or NULL. */
const struct call_change *requests_first_call(const struct requests_view *v)
{
	for (uint32_t i = 0; v->diff && i < v->diff->call_cnt; i++)
		if (call_shown(v, &v->diff->calls[i]))
			return &v->diff->calls[i];
	return NULL;
}

static void put_calls(const struct requests_view *v, struct pen *p)
{
	uint32_t top = v->top ? (uint32_t)v->top : CALLS_TOP, shown = 0;

	if (!requests_first_call(v))
		return;
	requests_put_head(p, "CALLED MORE OFTEN", "than in the good requests");
	pen_to(p, 4);
	pen_text(p, PEN_DIM, "how often in one request");
	pen_right(p, PEN_DIM, p->columns - COL_BEFORE, "before");
	pen_right(p, PEN_DIM, p->columns - COL_NOW, "now");
	pen_right(p, PEN_DIM, p->columns, "takes more");
	pen_nl(p);
	for (uint32_t i = 0; i < v->diff->call_cnt && shown < top; i++) {
		if (!call_shown(v, &v->diff->calls[i]))
			continue;
		put_call(v, p, &v->diff->calls[i]);
		shown++;
	}
}

static void put_edges(const struct requests_view *v, struct pen *p)
{
	const struct edge_rank_result *r = v->rank;
	uint32_t top = v->top ? (uint32_t)v->top : RANK_TOP, cnt = told_cnt(r);

	if (!cnt || (!v->diff && group_cnt(v->r) < 2))
		return;
	requests_put_head(p, "EDGES TO BLAME",
			  v->diff ? "over all request types, against the good requests"
				  : "over all request types, against what is usual for each edge");
	pen_to(p, 4);
	pen_text(p, PEN_DIM, "between");
	pen_right(p, PEN_DIM, p->columns - COL_VISITS, "visits");
	pen_right(p, PEN_DIM, p->columns - COL_TAKES, "takes");
	pen_right(p, PEN_DIM, p->columns - COL_USUALLY, "usually");
	pen_right(p, PEN_DIM, p->columns, "its service");
	pen_nl(p);
	for (uint32_t i = 0; i < cnt && i < top; i++)
		put_row(v, p, &r->rows[i], i == 0);
}

/* Writes what costs more first. */
void requests_put_rank(const struct requests_view *v, struct pen *p)
{
	const struct edge_rank_result *r = v->rank;
	const struct call_change *call = requests_first_call(v);
	const struct structure_change *structure = requests_first_structure(v);
	const struct call_split *split = requests_first_split(v);
	const struct edge_rank_row *row = told_cnt(r) ? &r->rows[0] : NULL;
	struct {
		double cost_ns;
		void (*put)(const struct requests_view *v, struct pen *p);
	} parts[] = {
		{row ? row->more_low_ns * (double)row->visit_cnt : 0, put_edges},
		{call ? call->cost_ns : 0, put_calls},
		{structure ? structure->cost_ns : 0, requests_put_structure},
		{split ? split->cost_ns : 0, requests_put_splits},
	};
	const int cnt = sizeof(parts) / sizeof(*parts);

	for (int left = cnt, best; left; left--) {
		best = 0;
		for (int i = 1; i < cnt; i++)
			if (parts[i].cost_ns > parts[best].cost_ns)
				best = i;
		if (parts[best].put)
			parts[best].put(v, p);
		parts[best].put = NULL;
		parts[best].cost_ns = -1;
	}
	requests_put_aside(v, p);
}

static void json_row(const struct requests_view *v, struct json *j,
		     const struct edge_rank_row *row)
{
	static const char *const usual[] = {[EDGE_USUAL_GOOD] = "good",
					    [EDGE_USUAL_GOOD_PEERS] = "good-peers",
					    [EDGE_USUAL_OWN] = "own",
					    [EDGE_USUAL_PEERS] = "peers",
					    [EDGE_USUAL_FILLED] = "filled"};
	struct edge_key key = requests_rank_key(row);

	json_obj(j);
	requests_json_edge_key(v, &key, j);
	json_ku64(j, "visits", row->visit_cnt);
	json_ku64(j, "good_visits", row->good_visit_cnt);
	json_ki64(j, "mean_ns", llround(row->mean_ns));
	json_ki64(j, "usual_ns", llround(row->usual_ns));
	json_ki64(j, "more_low_ns", llround(row->more_low_ns));
	json_kstr(j, "usual", usual[row->usual]);
	json_kf64_dec(j, "service_ratio", row->service_ratio, 4);
	json_kf64_dec(j, "score", row->score, 0);
	json_obj_end(j);
}

void requests_json_rank(const struct requests_view *v, struct json *j)
{
	json_karr(j, "edges_to_blame");
	for (uint32_t i = 0; v->rank && i < v->rank->row_cnt && i < RANK_JSON_MAX; i++)
		json_row(v, j, &v->rank->rows[i]);
	json_arr_end(j);
}

void requests_json_calls(const struct requests_view *v, struct json *j)
{
	json_karr(j, "called_more");
	for (uint32_t i = 0; v->diff && i < v->diff->call_cnt && i < RANK_JSON_MAX; i++) {
		CLEANUP(buf_release) struct buf words = {0};
		const struct call_change *c = &v->diff->calls[i];
		uint32_t type = v->diff->types[c->type].bad_type;

		if (!call_shown(v, c))
			continue;
		requests_point_words(v, c->owner->point, &words);
		json_obj(j);
		json_kstr(j, "tracepoint", buf_str(&words));
		json_kstr(j, "type", strtab_str(v->strings, v->diff->bad->types[type].name));
		json_kf64_dec(j, "good_times", c->owner->good_times.mean, 3);
		json_kf64_dec(j, "bad_times", c->owner->bad_times.mean, 3);
		json_ki64(j, "delta_ns", llround(c->owner->delta_ns));
		json_ki64(j, "cost_ns", llround(c->cost_ns));
		json_obj_end(j);
	}
	json_arr_end(j);
}
