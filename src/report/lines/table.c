/* SPDX-License-Identifier: Apache-2.0 */
#include "report/lines/table.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "report/lines/pen.h"

enum {
	TABLE_COLUMNS_MAX = 16,
	GAP = 2,	/* between two columns */
	INDENT = 4,	/* of the second line of a row and those after it */
	WRAP_MIN = 16,	/* what the last column has at least where it is wrapped */
};

struct place {		/* where a column stands in each row */
	unsigned line, begin, width;
};

void table_init(struct table *t, const struct column *columns, size_t column_cnt)
{
	BUG_ON(column_cnt > TABLE_COLUMNS_MAX);
	*t = (struct table){ .columns = columns, .column_cnt = column_cnt };
}

void table_release(struct table *t)
{
	arena_release(&t->arena);
	vec_release(&t->cells);
}

void table_cell(struct table *t, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf clean = { 0 };
	const char *cell;
	va_list ap;

	va_start(ap, fmt);
	cell = arena_vprintf(&t->arena, fmt, ap);
	va_end(ap);
	pen_clean(&clean, cell, false);
	cell = arena_strdup(&t->arena, buf_str(&clean));
	vec_push(&t->cells, cell);
}

static void measure(const struct table *t, unsigned *width)
{
	BUG_ON(!t->column_cnt);
	for (size_t c = 0; c < t->column_cnt; c++)
		width[c] = pen_width(t->columns[c].head);
	for (size_t i = 0; i < t->cells.cnt; i++) {
		unsigned w = pen_width(t->cells.items[i]);
		size_t c = i % t->column_cnt;

		if (t->columns[c].max && w > t->columns[c].max)
			w = t->columns[c].max;
		if (w > width[c])
			width[c] = w;
	}
}

/* Least width of a column on a line: the last one wraps, but its head does not. */
static unsigned needed(const struct table *t, size_t c, unsigned width)
{
	unsigned head = pen_width(t->columns[c].head), least = head > WRAP_MIN ? head : WRAP_MIN;
	bool wraps = c + 1 == t->column_cnt && !t->columns[c].right;

	return wraps && width > least ? least : width;
}

/*
 * All columns on one line where they fit; else rows go over several lines, in all rows at the
 * same columns.  Returns how many lines.
 */
static unsigned lay_out(const struct table *t, const struct pen *p, struct place *ret)
{
	unsigned columns = p->columns > PEN_COLUMNS_MIN ? p->columns : PEN_COLUMNS_MIN;
	unsigned width[TABLE_COLUMNS_MAX], line = 0, at = 1;

	measure(t, width);
	for (size_t c = 0; c < t->column_cnt; c++) {
		if (c && at + needed(t, c, width[c]) > columns) {
			line++;
			at = INDENT;
		}
		if (at + needed(t, c, width[c]) > columns)
			width[c] = columns - at;
		ret[c] = (struct place){line, at, width[c]};
		at += width[c] + GAP;
	}
	return line + 1;
}

static void print_cell(struct pen *p, const struct column *col, const struct place *place,
		       const char *cell, bool last)
{
	unsigned w = pen_width(cell);

	pen_to(p, place->begin);
	if (last && !col->right) {
		pen_wrap(p, PEN_PLAIN, p->col + 2, 0, cell);
		return;
	}
	if (col->right && w < place->width)
		pen_to(p, place->begin + place->width - w);
	pen_cut(p, PEN_PLAIN, place->width, cell);
}

static void print_heads(const struct table *t, struct pen *p, const struct place *place)
{
	for (size_t c = 0; c < t->column_cnt; c++) {
		if (c && place[c].line != place[c - 1].line)
			pen_nl(p);
		pen_to(p, place[c].begin);
		if (t->columns[c].right)
			pen_right(p, PEN_DIM, place[c].begin + place[c].width, t->columns[c].head);
		else
			pen_text(p, PEN_DIM, t->columns[c].head);
	}
	pen_nl(p);
}

static bool is_empty_line(const struct table *t, const char *const *cells,
			  const struct place *place, unsigned line)
{
	for (size_t c = 0; c < t->column_cnt; c++)
		if (place[c].line == line && cells[c][0])
			return false;
	return true;
}

static void print_row(const struct table *t, struct pen *p, const char *const *cells,
		      const struct place *place, unsigned line_cnt)
{
	for (unsigned line = 0; line < line_cnt; line++) {
		if (line && is_empty_line(t, cells, place, line))
			continue;
		for (size_t c = 0; c < t->column_cnt; c++)
			if (place[c].line == line)
				print_cell(p, &t->columns[c], &place[c], cells[c],
					   c + 1 == t->column_cnt);
		pen_nl(p);
	}
}

void table_print(const struct table *t, struct pen *p, const char *title, size_t omitted_cnt)
{
	struct place place[TABLE_COLUMNS_MAX];
	unsigned line_cnt;

	if (!t->cells.cnt)
		return;
	line_cnt = lay_out(t, p, place);
	pen_nl(p);
	pen_text(p, PEN_HEAD, title);
	pen_nl(p);
	print_heads(t, p, place);
	for (size_t i = 0; i + t->column_cnt <= t->cells.cnt; i += t->column_cnt)
		print_row(t, p, &t->cells.items[i], place, line_cnt);
	if (omitted_cnt) {
		pen_fmt(p, PEN_DIM, "  and %zu more: see --json", omitted_cnt);
		pen_nl(p);
	}
}
