/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Critical paths as other programs read them: folded stacks of the groups, and
 * trace events of the requests that stand for each group.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/vec.h"
#include "report/exports.h"
#include "report/requests/requests_out.h"
#include "report/forest/waterfall.h"

enum { CHAIN_MAX = 256 };	/* spans open at once on a path; deeper ones are left out */

/* ---- folded */

/* Which tracepoint is whose parent, as the group's typical request shows it. */
struct parents {
	struct hmap up;		/* tracepoint to its parent's, plus 1; 0: none */
};

static void parents_release(struct parents *p)
{
	hmap_release(&p->up);
}

static void parents_make(const struct requests_view *v, const struct trace *t, struct parents *p)
{
	struct graph_stats stats = {0};
	struct graph g;

	if (!t || graph_build(t, v->points, v->strings, v->arena, &g, &stats) < 0)
		return;
	for (uint32_t i = 0; i < g.span_cnt; i++) {
		const struct gspan *s = &g.spans[i];
		uint64_t point, up = 0;

		if (s->flags & GSPAN_DROPPED)
			continue;
		point = g.nodes[s->entry].point;
		if (s->parent != GRAPH_NONE && !(g.spans[s->parent].flags & GSPAN_DROPPED))
			up = g.nodes[g.spans[s->parent].entry].point + 1ULL;
		if (!hmap_get(&p->up, point, NULL))
			hmap_put(&p->up, point, up);
	}
}

static uint64_t parent_of(const struct parents *p, uint64_t point)
{
	uint64_t up = 0;

	hmap_get(&p->up, point, &up);
	return up;
}

static void add_edge(const struct requests_view *v, const struct parents *p,
		     const struct request_edge *e, struct buf *out)
{
	CLEANUP(buf_release) struct buf name = {0};
	uint64_t chain[CHAIN_MAX], cnt = 0;

	for (uint64_t at = e->key.owner < REQUEST_POINT_NONE ? e->key.owner + 1ULL : 0;
	     at && cnt < CHAIN_MAX;
	     at = parent_of(p, at - 1)) {
		bool again = false;

		for (uint64_t i = 0; i < cnt; i++)
			again |= chain[i] == at;
		if (again)	/* one that calls itself: by tracepoints this would not end */
			break;
		chain[cnt++] = at;
	}
	while (cnt-- > 0) {
		buf_clear(&name);
		requests_point_words(v, (uint32_t)chain[cnt] - 1, &name);
		buf_addch(out, ';');
		export_folded_name(buf_str(&name), out);
	}
	buf_clear(&name);
	requests_edge_words(v, &e->key, 0, &name);
	buf_addch(out, ';');
	export_folded_name(buf_str(&name), out);
}

void requests_folded(const struct requests_view *v, struct buf *out)
{
	for (uint32_t i = 0; i < v->r->type_cnt; i++) {
		const struct request_type *t = &v->r->types[i];

		for (uint32_t k = 0; requests_type_shown(v, i) && k < t->group_cnt; k++) {
			const struct request_group *g = &t->groups[k];
			CLEANUP(parents_release) struct parents p = {0};

			parents_make(v, g->typical.trace, &p);
			for (uint32_t n = 0; n < g->edge_cnt; n++) {
				const struct request_edge *e = &g->edges[n];
				double ns = e->latency.mean_ns * (double)g->latency.cnt;

				if (ns < 0.5)
					continue;
				export_folded_name(strtab_str(v->strings, t->name), out);
				add_edge(v, &p, e, out);
				buf_printf(out, " %.0f\n", ns);
			}
		}
	}
}

/* ---- trace events */

struct chrome {
	const struct requests_view *v;
	struct json j;
	uint32_t pid;
};

static void put_meta(struct chrome *c, const char *what, uint32_t tid, const char *name)
{
	json_obj(&c->j);
	json_kstr(&c->j, "ph", "M");
	json_kstr(&c->j, "name", what);
	json_ku64(&c->j, "pid", c->pid);
	json_ku64(&c->j, "tid", tid);
	json_kobj(&c->j, "args");
	json_kstr(&c->j, "name", name);
	json_obj_end(&c->j);
	json_obj_end(&c->j);
}

static void put_slice(struct chrome *c, const struct waterfall_row *r, uint32_t tid,
		      int64_t begin_ns, int64_t end_ns)
{
	CLEANUP(buf_release) struct buf name = {0};

	buf_printf(&name, "%s%s%s", r->service, r->service[0] && r->name[0] ? " " : "", r->name);
	json_obj(&c->j);
	json_kstr(&c->j, "ph", "X");
	json_kstr(&c->j, "name", buf_str(&name));
	json_ku64(&c->j, "pid", c->pid);
	json_ku64(&c->j, "tid", tid);
	json_kf64_dec(&c->j, "ts", (double)begin_ns / 1e3, 3);
	json_kf64_dec(&c->j, "dur", (double)(end_ns - begin_ns) / 1e3, 3);
	json_kobj(&c->j, "args");
	json_kf64_dec(&c->j, "critical path, us", (double)r->path_ns / 1e3, 3);
	json_kbool(&c->j, "failed", r->flags & SPANF_ERROR);
	json_obj_end(&c->j);
	json_obj_end(&c->j);
}

struct placed {		/* a row in order of its begin */
	int64_t begin_ns, end_ns;
	uint32_t row;
};

static int placed_cmp(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	CMP(x->begin_ns, y->begin_ns);
	CMP(y->end_ns, x->end_ns);
	CMP(x->row, y->row);
	return 0;
}

struct lane {		/* a track: slices in it lie beside or inside of each other */
	VEC(int64_t) open;	/* ends of those that are open, outermost first */
};

static bool lane_takes(struct lane *l, const struct placed *p)
{
	while (l->open.cnt && l->open.items[l->open.cnt - 1] <= p->begin_ns)
		l->open.cnt--;
	return !l->open.cnt || l->open.items[l->open.cnt - 1] >= p->end_ns;
}

/* Overlapping spans go to different tracks; the track numbers begin with 2, 1 is the path. */
static void put_rows(struct chrome *c, const struct waterfall *w)
{
	struct placed *p = ARENA_ARRAY(c->v->arena, struct placed, (size_t)w->row_cnt + 1);
	VEC(struct lane) lanes = {0};

	for (uint32_t i = 0; i < w->row_cnt; i++)
		p[i] = (struct placed){.begin_ns = w->rows[i].begin_ns,
				       .end_ns = w->rows[i].end_ns, .row = i};
	qsort(p, w->row_cnt, sizeof(*p), placed_cmp);
	for (uint32_t i = 0; i < w->row_cnt; i++) {
		size_t lane = 0;

		while (lane < lanes.cnt && !lane_takes(&lanes.items[lane], &p[i]))
			lane++;
		if (lane == lanes.cnt)
			vec_add(&lanes);
		vec_push(&lanes.items[lane].open, p[i].end_ns);
		put_slice(c, &w->rows[p[i].row], (uint32_t)lane + 2, p[i].begin_ns, p[i].end_ns);
	}
	VEC_FOREACH(&lanes, l)
		vec_release(&l->open);
	vec_release(&lanes);
}

static void put_copy(struct chrome *c, const struct request_type *t, uint32_t group,
		     const char *what, const struct request_copy *copy)
{
	const struct waterfall_env env = {.strings = c->v->strings, .points = c->v->points,
					  .arena = c->v->arena};
	CLEANUP(buf_release) struct buf name = {0};
	struct waterfall w;
	char id[TRACE_ID_TEXT];

	if (!copy->trace || waterfall_make(copy->trace, &env, &w) < 0)
		return;
	c->pid++;
	buf_printf(&name, "%s, path %u: %s %s", strtab_str(c->v->strings, t->name), group + 1,
		   what, trace_id_text(&copy->id, id));
	put_meta(c, "process_name", 0, buf_str(&name));
	put_meta(c, "thread_name", 1, "critical path");
	for (uint32_t r = 0; r < w.row_cnt; r++)
		for (uint32_t i = 0; i < w.rows[r].part_cnt; i++) {
			const struct waterfall_part *part = &w.parts[w.rows[r].part_idx + i];

			put_slice(c, &w.rows[r], 1, part->begin_ns, part->end_ns);
		}
	put_rows(c, &w);
}

void requests_chrome(const struct requests_view *v, struct buf *out)
{
	struct chrome c = {.v = v};

	json_init(&c.j, out, JSON_SHOWN);
	json_obj(&c.j);
	json_kstr(&c.j, "displayTimeUnit", "ms");
	json_karr(&c.j, "traceEvents");
	for (uint32_t i = 0; i < v->r->type_cnt; i++) {
		const struct request_type *t = &v->r->types[i];

		for (uint32_t k = 0; requests_type_shown(v, i) && k < t->group_cnt; k++) {
			put_copy(&c, t, k, "slow", &t->groups[k].slow);
			put_copy(&c, t, k, "typical", &t->groups[k].typical);
			put_copy(&c, t, k, "fast", &t->groups[k].fast);
		}
	}
	json_arr_end(&c.j);
	json_obj_end(&c.j);
	json_finish(&c.j);
}
