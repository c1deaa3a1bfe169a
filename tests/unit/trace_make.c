/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_make.h"

#include <string.h>

#include "base/buf.h"
#include "requests/graph/path_hash.h"
#include "requests/graph/critical_fast.h"
#include "requests/tree/tree.h"
#include "unit.h"

struct span *made_span(struct made *m, uint64_t id, uint64_t parent, const char *point,
		       int64_t begin, int64_t end)
{
	struct span *span = vec_add(&m->spans);
	const char *slash = strchr(point, '/');

	OK(slash != NULL);
	span->id = id;
	span->parent = parent;
	span->begin_ns = begin;
	span->end_ns = end;
	span->service = strtab_addn(&m->strings, point, (size_t)(slash - point));
	span->name = strtab_add(&m->strings, slash + 1);
	span->ref_idx = (uint32_t)m->refs.cnt;
	span->attr_idx = (uint32_t)m->attrs.cnt;
	return span;
}

void made_ref(struct made *m, uint64_t to, enum span_ref_kind kind)
{
	struct span_ref ref = {.trace = {1, 2}, .span = to, .kind = kind};

	vec_push(&m->refs, ref);
	vec_last(&m->spans)->ref_cnt++;
}

void made_attr(struct made *m, const char *key, const char *value)
{
	struct attr *attr = vec_add(&m->attrs);

	attr->key = strtab_add(&m->strings, key);
	attr->type = ATTR_STR;
	attr->str = strtab_add(&m->strings, value);
	vec_last(&m->spans)->attr_cnt++;
}

const struct trace *made_trace(struct made *m)
{
	m->trace = (struct trace){
		.id = {1, 2},
		.spans = m->spans.items,
		.attrs = m->attrs.items,
		.refs = m->refs.items,
		.span_cnt = (uint32_t)m->spans.cnt,
		.attr_cnt = (uint32_t)m->attrs.cnt,
		.ref_cnt = (uint32_t)m->refs.cnt,
	};
	return &m->trace;
}

void made_path(struct made *m)
{
	EQ_I(graph_build(made_trace(m), &m->points, &m->strings, &m->arena, &m->graph, &m->stats),
	     0);
	EQ_I(critical_path(&m->graph, &m->points, &m->arena, &m->path), 0);
}

bool made_same_quick(struct made *m, const uint64_t *bins)
{
	struct graph_stats general = {0}, quick = {0};
	struct tree_ctx ctx = {&m->points, &m->strings, &m->arena, &quick};
	struct graph graph;
	struct cpath path;

	EQ_I(graph_build(&m->trace, &m->points, &m->strings, &m->arena, &graph, &general), 0);
	EQ_I(quick_path(&ctx, &m->trace, bins, &graph, &path), 0);
	OK(!memcmp(&general, &quick, sizeof(quick)));
	EQ_U(path.step_cnt, m->path.step_cnt);
	OK(!memcmp(path.steps, m->path.steps, path.step_cnt * sizeof(*path.steps)));
	EQ_I(path.total_ns, m->path.total_ns);
	EQ_I(graph.total_ns, m->graph.total_ns);
	EQ_U(graph.root_span, m->graph.root_span);
	EQ_U(graph.span_cnt, m->graph.span_cnt);
	EQ_U(graph.type, m->graph.type);
	EQ_U(graph.type_span, m->graph.type_span);
	EQ_U(graph.type_point, m->graph.type_point);
	EQ_U(graph.type_detail, m->graph.type_detail);
	EQ_U(graph.type_hash, m->graph.type_hash);
	m->graph.bins = bins;
	cshapes_make(&m->graph, &m->points, &m->arena, &m->path);
	EQ_U(path.hash, m->path.hash);
	EQ_U(path.shape[CSHAPE_EXACT], path.hash);
	cshapes_make(&graph, &m->points, &m->arena, &path);
	OK(!memcmp(path.shape, m->path.shape, sizeof(path.shape)));
	return !graph.nodes;
}

const char *made_steps(struct made *m)
{
	struct buf out = {0};
	const char *text;

	for (uint32_t i = 0; i < m->path.step_cnt; i++) {
		const struct point *point = &m->points.items.items[m->path.steps[i].point];

		buf_printf(&out, "%s%s/%s%c", i ? " " : "", strtab_str(&m->strings, point->service),
			 strtab_str(&m->strings, point->name), "><."[m->path.steps[i].kind]);
	}
	text = arena_strdup(&m->arena, buf_str(&out));
	buf_release(&out);
	return text;
}

void made_shuffle(struct made *m, uint64_t seed)
{
	for (size_t i = m->spans.cnt; i > 1; i--) {
		size_t with = hash_pair(seed, i) % i;
		struct span span = m->spans.items[i - 1];

		m->spans.items[i - 1] = m->spans.items[with];
		m->spans.items[with] = span;
	}
}

void made_clear(struct made *m)
{
	vec_clear(&m->spans);
	vec_clear(&m->refs);
	vec_clear(&m->attrs);
	arena_clear(&m->arena);
	m->stats = (struct graph_stats){0};
}

void made_release(struct made *m)
{
	vec_release(&m->spans);
	vec_release(&m->refs);
	vec_release(&m->attrs);
	arena_release(&m->arena);
	points_release(&m->points);
	strtab_release(&m->strings);
}
