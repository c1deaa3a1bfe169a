/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"

#include "base/buf.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "report/pen.h"

enum { TABLE_COLUMNS_MAX = 16 };

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

static void print_cell(struct pen *p, const struct column *col, unsigned width, const char *cell,
		       bool last)
{
	unsigned end = p->col + width, w = pen_width(cell);

	if (last && !col->right) {
		pen_wrap(p, PEN_PLAIN, p->col + 2, 0, cell);
		return;
	}
	if (col->right && w < width)
		pen_to(p, end - w);
	pen_cut(p, PEN_PLAIN, width, cell);
}

void table_print(const struct table *t, struct pen *p, const char *title, size_t omitted_cnt)
{
	unsigned width[TABLE_COLUMNS_MAX], end;

	if (!t->cells.cnt)
		return;
	measure(t, width);
	pen_nl(p);
	pen_text(p, PEN_HEAD, title);
	pen_nl(p);
	for (size_t c = 0; c < t->column_cnt; c++) {
		pen_to(p, p->col + 1);
		end = p->col + width[c];
		if (t->columns[c].right)
			pen_right(p, PEN_DIM, end, t->columns[c].head);
		else
			pen_text(p, PEN_DIM, t->columns[c].head);
		if (c + 1 < t->column_cnt)
			pen_to(p, end + 1);
	}
	pen_nl(p);
	BUG_ON(!t->column_cnt);
	for (size_t i = 0; i < t->cells.cnt; i++) {
		size_t c = i % t->column_cnt;
		bool last = c + 1 == t->column_cnt;

		pen_to(p, p->col + 1);
		end = p->col + width[c];
		print_cell(p, &t->columns[c], width[c], t->cells.items[i], last);
		if (last)
			pen_nl(p);
		else
			pen_to(p, end + 1);
	}
	if (omitted_cnt) {
		pen_fmt(p, PEN_DIM, "  and %zu more: see --json", omitted_cnt);
		pen_nl(p);
	}
}
