/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bars in a terminal:
 *
 *	frontend HTTP GET /hotels   ████────────────────███   9.1 ms
 *	  search Search/Nearby          ──████████──          4.0 ms
 *
 * A full block is where the critical path ran, a line where the span was open
 * and the path elsewhere; the number is the path's time in the row.  Without
 * UTF-8 they are # and -.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/json.h"
#include "report/lines/pen.h"
#include "report/forest/waterfall.h"

enum {
	LABEL_MAX = 46,		/* columns; a third of the screen if that is less */
	NUMBER_WIDTH = 9,
	INDENT_MAX = 12,	/* deeper rows show by their order alone */
	BAR_MIN = 12,
};

enum cell { CELL_NONE, CELL_OPEN, CELL_PATH };

struct scale {
	int64_t total_ns;
	unsigned width;
};

static int64_t cell_ns(const struct scale *s, unsigned cell)
{
	return (int64_t)((__int128)s->total_ns * cell / s->width);
}

static unsigned cell_of(const struct scale *s, int64_t ns)
{
	__int128 cell = s->total_ns > 0 ? (__int128)ns * s->width / s->total_ns : 0;

	return cell < 0 ? 0 : cell >= s->width ? s->width - 1 : (unsigned)cell;
}

static int64_t overlap(int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
	int64_t from = a0 > b0 ? a0 : b0, to = a1 < b1 ? a1 : b1;

	return to > from ? to - from : 0;
}

/* Adds each part's time to the cells it lies in. */
static void parts_in_cells(const struct waterfall *w, const struct waterfall_row *r,
			   const struct scale *s, int64_t *in)
{
	for (uint32_t i = 0; i < r->part_cnt; i++) {
		const struct waterfall_part *p = &w->parts[r->part_idx + i];

		for (unsigned c = cell_of(s, p->begin_ns); c <= cell_of(s, p->end_ns); c++)
			in[c] += overlap(p->begin_ns, p->end_ns, cell_ns(s, c),
					 cell_ns(s, c + 1));
	}
}

/*
 * A cell is the path's if at least half of what the row has of it is; a row
 * on the path always has one, the fullest, or many short visits would not show.
 */
static void row_cells(const struct waterfall *w, const struct waterfall_row *r,
		      const struct scale *s, unsigned char *cells, int64_t *in)
{
	unsigned from = cell_of(s, r->begin_ns), to = cell_of(s, r->end_ns), fullest = from;
	bool any = false;

	memset(cells, CELL_NONE, s->width);
	memset(in, 0, s->width * sizeof(*in));
	parts_in_cells(w, r, s, in);
	for (unsigned c = from; c <= to; c++) {
		int64_t own = overlap(r->begin_ns, r->end_ns, cell_ns(s, c), cell_ns(s, c + 1));

		if (own == 0 && c > from)
			continue;
		cells[c] = in[c] > 0 && in[c] * 2 >= own ? CELL_PATH : CELL_OPEN;
		any |= cells[c] == CELL_PATH;
		if (in[c] > in[fullest])
			fullest = c;
	}
	if (!any && in[fullest] > 0)
		cells[fullest] = CELL_PATH;
}

static void put_cells(struct pen *p, const unsigned char *cells, unsigned width)
{
	static const char *const glyphs[2][3] = {{" ", "─", "█"}, {" ", "-", "#"}};
	CLEANUP(buf_release) struct buf run = {0};

	while (width && cells[width - 1] == CELL_NONE)
		width--;
	for (unsigned c = 0, end; c < width; c = end) {
		buf_clear(&run);
		for (end = c; end < width && cells[end] == cells[c]; end++)
			buf_adds(&run, glyphs[p->ascii][cells[c]]);
		pen_text(p, cells[c] == CELL_PATH ? PEN_BAD : PEN_DIM, buf_str(&run));
	}
}

/* The service only where it is not the one above: a trace stays long in one. */
static void put_label(struct pen *p, const struct waterfall *w, const struct waterfall_row *r,
		      unsigned width)
{
	unsigned indent = r->depth * 2 < INDENT_MAX ? r->depth * 2 : INDENT_MAX, used;
	const char *above = r->parent == WATERFALL_NO_ROW ? "" : w->rows[r->parent].service;

	pen_to(p, 2 + indent);
	if (strcmp(above, r->service) != 0 || !r->name[0]) {
		pen_cut(p, r->name[0] ? PEN_DIM : PEN_PLAIN,
			r->name[0] ? (width - indent) / 2 : width - indent, r->service);
		pen_text(p, PEN_PLAIN, " ");
	}
	used = p->col - 2;
	if (used < width)
		pen_cut(p, r->flags & SPANF_ERROR ? PEN_DOUBT : PEN_PLAIN, width - used, r->name);
	pen_to(p, width + 3);
}

static void put_row(struct pen *p, const struct waterfall *w, const struct waterfall_row *r,
		    unsigned label, const struct scale *s)
{
	CLEANUP_FREE unsigned char *cells = xmalloc(s->width);
	CLEANUP_FREE int64_t *in = xmalloc(s->width * sizeof(*in));
	char t[FMT_MAX];

	put_label(p, w, r, label);
	row_cells(w, r, s, cells, in);
	put_cells(p, cells, s->width);
	if (r->path_ns > 0)
		pen_right(p, PEN_PLAIN, label + 3 + s->width + NUMBER_WIDTH,
			  fmt_ns(t, (uint64_t)r->path_ns));
	pen_nl(p);
}

static unsigned label_width(const struct waterfall *w, const bool *keep, unsigned columns)
{
	unsigned widest = 10, most = columns / 3 < LABEL_MAX ? columns / 3 : LABEL_MAX;

	for (uint32_t i = 0; i < w->row_cnt; i++) {
		const struct waterfall_row *r = &w->rows[i];
		unsigned width = pen_width(r->service) + pen_width(r->name) + 1 +
				 (r->depth * 2 < INDENT_MAX ? r->depth * 2 : INDENT_MAX);

		if (keep[i] && width > widest)
			widest = width;
	}
	return widest < most ? widest : most;
}

void waterfall_text(const struct waterfall *w, uint32_t max_rows, struct pen *p)
{
	CLEANUP_FREE bool *keep = xmalloc(w->row_cnt + 1);
	uint32_t kept = waterfall_pick(w, max_rows, keep);
	unsigned columns = p->columns < PEN_COLUMNS_MIN ? PEN_COLUMNS_MIN : p->columns;
	unsigned label = label_width(w, keep, columns);
	struct scale s = {.total_ns = w->total_ns, .width = columns - label - 4 - NUMBER_WIDTH};
	int64_t omitted_ns = 0;
	char t[FMT_MAX];

	for (uint32_t i = 0; i < w->row_cnt; i++) {
		if (keep[i])
			put_row(p, w, &w->rows[i], label, &s);
		else
			omitted_ns += w->rows[i].path_ns;
	}
	if (kept < w->row_cnt) {
		pen_fmt(p, PEN_DIM, "  … %u %s more, %s of the path", w->row_cnt - kept,
			w->is_lanes ? "services" : "spans", fmt_ns(t, (uint64_t)omitted_ns));
		pen_nl(p);
	}
}

/* ---- JSON */

static void json_row(const struct waterfall *w, const struct waterfall_row *r,
		     const uint32_t *number, struct json *j)
{
	json_obj(j);
	json_kstr(j, "service", r->service);
	json_kstr(j, "name", r->name);
	if (r->parent == WATERFALL_NO_ROW)
		json_knull(j, "parent");
	else
		json_ku64(j, "parent", number[r->parent]);
	json_ku64(j, "depth", r->depth);
	json_ki64(j, "begin_ns", r->begin_ns);
	json_ki64(j, "end_ns", r->end_ns);
	json_ki64(j, "path_ns", r->path_ns);
	json_kbool(j, "error", r->flags & SPANF_ERROR);
	json_karr(j, "path");
	for (uint32_t i = 0; i < r->part_cnt; i++) {
		json_arr(j);
		json_i64(j, w->parts[r->part_idx + i].begin_ns);
		json_i64(j, w->parts[r->part_idx + i].end_ns);
		json_arr_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
}

void waterfall_json(const struct waterfall *w, uint32_t max_rows, struct json *j)
{
	CLEANUP_FREE bool *keep = xmalloc(w->row_cnt + 1);
	CLEANUP_FREE uint32_t *number = xmalloc((w->row_cnt + 1) * sizeof(*number));
	uint32_t kept = waterfall_pick(w, max_rows, keep), next = 0;
	char id[TRACE_ID_TEXT];

	json_obj(j);
	json_kstr(j, "trace", trace_id_text(&w->id, id));
	json_ki64(j, "total_ns", w->total_ns);
	json_kstr(j, "rows_are", w->is_lanes ? "services" : "spans");
	json_ku64(j, "omitted", w->row_cnt - kept);
	json_karr(j, "rows");
	for (uint32_t i = 0; i < w->row_cnt; i++) {
		if (!keep[i])
			continue;
		number[i] = next++;
		json_row(w, &w->rows[i], number, j);
	}
	json_arr_end(j);
	json_obj_end(j);
}
