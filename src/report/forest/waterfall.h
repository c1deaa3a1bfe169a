/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATERFALL_H
#define WATERFALL_H
/*
 * One request as bars over time: a row for each span below its parent, and in
 * it the parts during which the critical path ran there.  A trace of instants
 * (an event graph) has a row for each service instead.
 *
 *	waterfall_make, then waterfall_text or waterfall_json
 *
 * All lives in the arena given; texts are borrowed from the string table.
 */
#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

struct arena;
struct json;
struct pen;
struct points;
struct strtab;

enum { WATERFALL_NO_ROW = UINT32_MAX };

struct waterfall_part {		/* the path was here; from the request's begin */
	int64_t begin_ns, end_ns;
};

struct waterfall_row {
	const char *service, *name;
	uint32_t parent;	/* row, always one further up; WATERFALL_NO_ROW: none */
	uint32_t depth;
	int64_t begin_ns, end_ns;
	int64_t path_ns;	/* sum of its parts */
	uint32_t part_idx, part_cnt;
	uint8_t flags;		/* enum span_flags */
};

struct waterfall {
	struct trace_id id;
	const struct waterfall_row *rows;
	const struct waterfall_part *parts;
	uint32_t row_cnt;
	int64_t total_ns;
	bool is_lanes;		/* rows are services, not spans */
};

/* Context of a drawing, besides the trace. */
struct waterfall_env {
	const struct strtab *strings;
	struct points *points;
	struct arena *arena;
};

/* -errno of the graph when it has none: no start, no end. */
int waterfall_make(const struct trace *t, const struct waterfall_env *env,
		   struct waterfall *ret_waterfall);

/*
 * Of which at most max rows are shown: the first, and those in which the path
 * spent the most, with what is above them.  keep has room for all rows;
 * returns how many are kept.
 */
uint32_t waterfall_pick(const struct waterfall *w, uint32_t max, bool *keep);

/* Lines of the pen's width; max_rows as in waterfall_pick. */
void waterfall_text(const struct waterfall *w, uint32_t max_rows, struct pen *p);

/* An object; at most max_rows rows, "omitted" says how many more there are. */
void waterfall_json(const struct waterfall *w, uint32_t max_rows, struct json *j);

/* As people write it: 16 or 32 hexadecimal digits, which fit into out. */
enum { TRACE_ID_TEXT = 33 };
const char *trace_id_text(const struct trace_id *id, char out[TRACE_ID_TEXT]);

#endif /* WATERFALL_H */
