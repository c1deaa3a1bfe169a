/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "trace/points.h"
#include "report/lines/pen.h"
#include "report/forest/waterfall.h"

enum { SPANS_MAX = 8 };

struct scene {
	struct strtab strings;
	struct points points;
	struct arena arena;
	struct span spans[SPANS_MAX];
	struct trace trace;
	struct waterfall w;
};

static void scene_release(struct scene *s)
{
	strtab_release(&s->strings);
	points_release(&s->points);
	arena_release(&s->arena);
}

/* Times are in milliseconds. */
static struct span *span(struct scene *s, uint64_t parent, const char *service, const char *name,
			 int64_t begin, int64_t end)
{
	struct span *new = &s->spans[s->trace.span_cnt++];

	*new = (struct span){.id = s->trace.span_cnt, .parent = parent, .kind = SPAN_INTERNAL,
			     .service = strtab_add(&s->strings, service),
			     .name = strtab_add(&s->strings, name),
			     .begin_ns = begin * 1000000, .end_ns = end * 1000000};
	return new;
}

static void make(struct scene *s)
{
	const struct waterfall_env env = {.strings = &s->strings, .points = &s->points,
					  .arena = &s->arena};

	s->trace.id = (struct trace_id){.lo = 0xab};
	s->trace.spans = s->spans;
	EQ_I(waterfall_make(&s->trace, &env, &s->w), 0);
}

static void fork_scene(struct scene *s)
{
	span(s, 1, "b", "long", 10, 90);
	s->spans[0].id = 2;
	span(s, 0, "a", "root", 0, 100);
	s->spans[1].id = 1;
	span(s, 1, "a", "short", 10, 40);
	span(s, 2, "b", "inner", 20, 60);
	make(s);
}

TEST(waterfall_has_rows_below_their_parents)
{
	CLEANUP(scene_release) struct scene s = {0};
	static const char *const names[] = {"root", "short", "long", "inner"};
	static const uint32_t depths[] = {0, 1, 1, 2};
	int64_t path_ns = 0;

	fork_scene(&s);
	EQ_U(s.w.row_cnt, 4);
	EQ_I(s.w.total_ns, 100000000);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t row = 0;

		while (row < 3 && strcmp(s.w.rows[row].name, names[i]) != 0)
			row++;
		EQ_S(s.w.rows[row].name, names[i]);
		EQ_U(s.w.rows[row].depth, depths[i]);
		if (s.w.rows[row].parent != WATERFALL_NO_ROW)
			OK(s.w.rows[row].parent < row);
		path_ns += s.w.rows[row].path_ns;
	}
	EQ_I(path_ns, s.w.total_ns);
}

TEST(waterfall_text_marks_the_path)
{
	CLEANUP(scene_release) struct scene s = {0};
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen = {.out = &out, .ascii = true, .columns = 60};

	fork_scene(&s);
	waterfall_text(&s.w, 10, &pen);
	EQ_S(buf_str(&out),
	     "  a root      ####----------------------------####  20.0 ms\n"
	     "    b long       ####---------------###########     40.0 ms\n"
	     "      inner          ###############                40.0 ms\n"
	     "    short        ------------\n");
}

TEST(waterfall_text_says_what_is_left_out)
{
	CLEANUP(scene_release) struct scene s = {0};
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen = {.out = &out, .columns = 60};
	bool keep[SPANS_MAX];

	fork_scene(&s);
	EQ_U(waterfall_pick(&s.w, 2, keep), 2);
	OK(keep[0]);
	waterfall_text(&s.w, 2, &pen);
	HAS(buf_str(&out), "b long");
	HAS(buf_str(&out), "… 2 spans more, 40.0 ms of the path");
	EQ_U(waterfall_pick(&s.w, 3, keep), 3);
	EQ_U(waterfall_pick(&s.w, 100, keep), 4);
}

TEST(waterfall_of_instants_has_a_row_for_each_service)
{
	CLEANUP(scene_release) struct scene s = {0};
	struct span_ref after = {.kind = SPAN_REF_AFTER};
	struct span_ref refs[3];

	for (int i = 0; i < 4; i++) {
		struct span *e = span(&s, 0, i == 1 || i == 2 ? "b" : "a", "event", 10 * i, 10 * i);

		e->flags = SPANF_POINT;
		if (i) {
			after.span = s.spans[i - 1].id;
			refs[i - 1] = after;
			e->ref_idx = (uint32_t)i - 1;
			e->ref_cnt = 1;
		}
	}
	for (int i = 0; i < 3; i++)
		refs[i].trace = (struct trace_id){.lo = 0xab};
	s.trace.refs = refs;
	s.trace.ref_cnt = 3;
	make(&s);
	OK(s.w.is_lanes);
	EQ_U(s.w.row_cnt, 2);
	EQ_I(s.w.rows[0].path_ns + s.w.rows[1].path_ns, 30000000);
	EQ_S(s.w.rows[1].service, "b");
	EQ_I(s.w.rows[1].begin_ns, 10000000);
	EQ_I(s.w.rows[1].end_ns, 20000000);
}

TEST(waterfall_text_survives_any_width)
{
	CLEANUP(scene_release) struct scene s = {0};

	fork_scene(&s);
	for (unsigned columns = 0; columns < 200; columns++) {
		CLEANUP(buf_release) struct buf out = {0};
		struct pen pen = {.out = &out, .columns = columns};

		ROW(columns);
		waterfall_text(&s.w, 10, &pen);
		EQ_U(pen.line_cnt, 4);
		for (const char *at = buf_str(&out), *nl; (nl = strchr(at, '\n')); at = nl + 1) {
			CLEANUP(buf_release) struct buf line = {0};

			buf_add(&line, at, (size_t)(nl - at));
			OK(pen_width(buf_str(&line)) <= (columns < 40 ? 40 : columns));
		}
	}
}
