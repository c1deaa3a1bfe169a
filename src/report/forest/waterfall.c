/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a trace to rows.  The order and the nesting are those of the spans'
 * parents; times are the graph's, so after the correction of clocks, and the
 * parts are the critical path's edges, each in the row of the span that ran
 * during it.
 */
#include "report/forest/waterfall.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/graph/critical.h"
#include "requests/graph/graph.h"

struct maker {
	const struct trace *t;
	const struct waterfall_env *env;
	struct graph g;
	struct cpath path;
	uint32_t *row_of;		/* by span */
	struct waterfall_row *rows;
	uint32_t row_cnt;
	struct waterfall_part *parts;
};

static bool has_nodes(const struct maker *m, uint32_t span)
{
	return !(m->g.spans[span].flags & GSPAN_DROPPED);
}

static int64_t span_begin(const struct maker *m, uint32_t span)
{
	return m->g.nodes[m->g.spans[span].entry].at_ns;
}

static int64_t span_end(const struct maker *m, uint32_t span)
{
	return m->g.nodes[m->g.spans[span].exit].at_ns;
}

/* ---- rows of spans */

struct sibling {	/* the children of one are neighbours, in order of their begin */
	uint32_t parent;	/* span, or the number of spans for the roots */
	uint32_t span;
	int64_t begin_ns;
};

static int siblings_cmp(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;

	CMP(x->parent, y->parent);
	CMP(x->begin_ns, y->begin_ns);
	CMP(x->span, y->span);
	return 0;
}

static void row_add(struct maker *m, uint32_t span, uint32_t parent_row)
{
	const struct span *s = &m->t->spans[span];

	m->row_of[span] = m->row_cnt;
	m->rows[m->row_cnt++] = (struct waterfall_row){
		.service = strtab_str(m->env->strings, s->service),
		.name = strtab_str(m->env->strings, s->name),
		.parent = parent_row,
		.depth = parent_row == WATERFALL_NO_ROW ? 0 : m->rows[parent_row].depth + 1,
		.begin_ns = span_begin(m, span), .end_ns = span_end(m, span), .flags = s->flags,
	};
}

/* The children of one span, last first, onto the stack. */
static uint32_t push_children(const struct sibling *all, const uint32_t *first, uint32_t slot,
			      uint32_t *stack, uint32_t depth)
{
	for (uint32_t i = first[slot + 1]; i-- > first[slot];)
		stack[depth++] = all[i].span;
	return depth;
}

/* Depth first; the parents are the graph's, among which there are no circles. */
static void rows_of_spans(struct maker *m)
{
	uint32_t cnt = m->t->span_cnt, depth = 0, kept = 0;
	struct sibling *all = ARENA_ARRAY(m->env->arena, struct sibling, cnt);
	uint32_t *first = ARENA_ARRAY(m->env->arena, uint32_t, (size_t)cnt + 2);
	uint32_t *stack = ARENA_ARRAY(m->env->arena, uint32_t, cnt);

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t up = m->g.spans[i].parent;

		if (has_nodes(m, i))
			all[kept++] = (struct sibling){
				.parent = up < cnt && has_nodes(m, up) ? up : cnt,
				.span = i, .begin_ns = span_begin(m, i)};
	}
	qsort(all, kept, sizeof(*all), siblings_cmp);
	for (uint32_t i = 0; i < kept; i++)
		first[all[i].parent + 1]++;
	for (uint32_t i = 0; i <= cnt; i++)
		first[i + 1] += first[i];
	depth = push_children(all, first, cnt, stack, depth);
	while (depth) {
		uint32_t span = stack[--depth], up = m->g.spans[span].parent;

		row_add(m, span, up < cnt ? m->row_of[up] : WATERFALL_NO_ROW);
		depth = push_children(all, first, span, stack, depth);
	}
}

/* ---- rows of services, for traces of instants */

static bool mostly_instants(const struct trace *t)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < t->span_cnt; i++)
		cnt += (t->spans[i].flags & SPANF_POINT) != 0;
	return cnt * 2 > t->span_cnt;
}

static void rows_of_services(struct maker *m)
{
	struct hmap rows = {0};

	for (uint32_t i = 0; i < m->g.node_cnt; i++) {
		const struct gnode *n = &m->g.nodes[i];
		uint64_t *slot;
		struct waterfall_row *r;

		slot = hmap_slot(&rows, m->t->spans[n->span].service);
		if (!*slot) {
			row_add(m, n->span, WATERFALL_NO_ROW);
			*slot = m->row_cnt;
			m->rows[m->row_cnt - 1].name = "";
		}
		r = &m->rows[*slot - 1];
		m->row_of[n->span] = (uint32_t)*slot - 1;
		if (n->at_ns < r->begin_ns)
			r->begin_ns = n->at_ns;
		if (n->at_ns > r->end_ns)
			r->end_ns = n->at_ns;
	}
	hmap_release(&rows);
}

/* ---- parts */

static void parts_make(struct maker *m)
{
	size_t cnt;
	const struct csection *sections = critical_sections(&m->path, m->env->arena, &cnt);
	uint32_t at = 0;

	for (size_t i = 0; i < cnt; i++)
		m->rows[m->row_of[sections[i].span]].part_cnt++;
	for (uint32_t r = 0; r < m->row_cnt; r++) {
		m->rows[r].part_idx = at;
		at += m->rows[r].part_cnt;
		m->rows[r].part_cnt = 0;
	}
	m->parts = ARENA_ARRAY(m->env->arena, struct waterfall_part, cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct csection *s = &sections[i];
		struct waterfall_row *r = &m->rows[m->row_of[s->span]];

		r->path_ns += s->end_ns - s->begin_ns;
		m->parts[r->part_idx + r->part_cnt++] = (struct waterfall_part){
			.begin_ns = s->begin_ns, .end_ns = s->end_ns};
	}
}

int waterfall_make(const struct trace *t, const struct waterfall_env *env,
		   struct waterfall *ret_waterfall)
{
	struct maker m = {.t = t, .env = env};
	struct graph_stats stats = {0};
	bool lanes = mostly_instants(t);
	int code = graph_build(t, env->points, env->strings, env->arena, &m.g, &stats);

	if (code == 0)
		code = critical_path(&m.g, env->points, env->arena, &m.path);
	if (code < 0)
		return code;
	m.row_of = ARENA_ARRAY(env->arena, uint32_t, t->span_cnt);
	memset(m.row_of, 0xff, t->span_cnt * sizeof(*m.row_of));
	m.rows = ARENA_ARRAY(env->arena, struct waterfall_row, t->span_cnt);
	if (lanes)
		rows_of_services(&m);
	else
		rows_of_spans(&m);
	parts_make(&m);
	*ret_waterfall = (struct waterfall){.id = t->id, .rows = m.rows, .row_cnt = m.row_cnt,
					    .parts = m.parts, .total_ns = m.path.total_ns,
					    .is_lanes = lanes};
	return 0;
}

/* ---- choosing */

struct candidate {
	int64_t path_ns;
	uint32_t row;
};

static int candidates_cmp(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	CMP(y->path_ns, x->path_ns);
	CMP(x->row, y->row);
	return 0;
}

/* Whether there is room for this row with all above it that are not kept yet. */
static bool fits(const struct waterfall *w, const bool *keep, uint32_t row, uint32_t room)
{
	for (; row != WATERFALL_NO_ROW && !keep[row]; row = w->rows[row].parent)
		if (room-- == 0)
			return false;
	return true;
}

uint32_t waterfall_pick(const struct waterfall *w, uint32_t max, bool *keep)
{
	struct candidate *c = xcalloc((size_t)w->row_cnt + 1, sizeof(*c));
	uint32_t kept = 0;

	memset(keep, 0, w->row_cnt * sizeof(*keep));
	for (uint32_t i = 0; i < w->row_cnt; i++)
		c[i] = (struct candidate){.row = i, .path_ns = i ? w->rows[i].path_ns : INT64_MAX};
	qsort(c, w->row_cnt, sizeof(*c), candidates_cmp);
	for (uint32_t i = 0; i < w->row_cnt && kept < max; i++) {
		uint32_t row = c[i].row;

		if (!fits(w, keep, row, max - kept))
			continue;
		for (; row != WATERFALL_NO_ROW && !keep[row]; row = w->rows[row].parent) {
			keep[row] = true;
			kept++;
		}
	}
	free(c);
	return kept;
}

const char *trace_id_text(const struct trace_id *id, char out[TRACE_ID_TEXT])
{
	if (id->hi)
		snprintf(out, TRACE_ID_TEXT, "%016" PRIx64 "%016" PRIx64, id->hi, id->lo);
	else
		snprintf(out, TRACE_ID_TEXT, "%016" PRIx64, id->lo);
	return out;
}
