/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/forest_file_read.h"

#include <errno.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/files/file_kind.h"
#include "cli/files/packed_file.h"
#include "trace/points.h"
#include "report/forest/forest_out.h"
#include "requests/graph/critical.h"
#include "requests/forest/forest_file.h"
#include "requests/graph/graph.h"
#include "requests/graph/span_ends.h"

int forest_file_read(const char *path, struct points *points, struct strtab *strings,
		     struct arena *arena, struct forest *ret, struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	int code = packed_file_read(path, &bytes, err);

	if (code < 0)
		return code;
	code = forest_read(bytes.data, bytes.len, points, strings, arena, ret, err);
	if (code < 0)
		err_prefix(err, "%s", path);
	return code < 0 ? file_kind_say(path, FILE_FOREST, err) : 0;
}

/* Each tracepoint once, where the request came there first. */
static void points_take(const struct forest *f, const struct graph *graph, const uint8_t *on_path,
			uint32_t point_cnt, struct arena *arena, struct forest_walked *ret)
{
	const struct forest_sight *sights = forest_sights(f, ret->tree, point_cnt, arena);
	struct forest_walked_point *points =
		ARENA_ARRAY(arena, struct forest_walked_point, point_cnt + 1);
	bool *taken = ARENA_ARRAY(arena, bool, point_cnt + 1);

	for (uint32_t i = 0; i < graph->node_cnt; i++) {
		uint32_t point = graph->nodes[i].point;

		if (taken[point])
			continue;
		taken[point] = true;
		points[ret->point_cnt++] = (struct forest_walked_point){
			.point = point, .on_path = on_path[point], .sight = sights[point]};
	}
	ret->points = points;
}

int forest_walked_make(const struct forest *f, const struct trace *t, struct points *points,
		       const struct strtab *strings, struct arena *arena,
		       struct forest_walked *ret)
{
	struct graph_stats stats = {0};
	struct graph graph;
	struct cpath path;
	uint32_t *nodes, node_cnt;
	uint8_t *on_path;

	if (graph_build(t, points, strings, arena, &graph, &stats) < 0 ||
	    critical_path(&graph, points, arena, &path) < 0)
		return -EINVAL;
	on_path = ARENA_ARRAY(arena, uint8_t, points->items.cnt + 1);
	for (uint32_t i = 0; i < path.step_cnt; i++)
		on_path[path.steps[i].point] |= side_of(path.steps[i].kind);
	*ret = (struct forest_walked){.id = t->id, .total_ns = path.total_ns,
				      .tree = forest_find(f, graph.type_hash)};
	if (ret->tree == FOREST_NONE)
		return 0;
	node_cnt = f->trees[ret->tree].node_cnt;
	nodes = ARENA_ARRAY(arena, uint32_t, node_cnt);
	ret->node_cnt = forest_walk(&f->trees[ret->tree], on_path,
				    (uint32_t)points->items.cnt, nodes, node_cnt);
	ret->nodes = nodes;
	points_take(f, &graph, on_path, (uint32_t)points->items.cnt, arena, ret);
	return 0;
}
