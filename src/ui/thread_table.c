/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/thread_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "ui/cells.h"
#include "ui/view.h"

enum { COLS_MAX = 32, TEXT_MIN = 6 };

struct key {
	double num;
	const char *text;
	uint64_t id;
	uint32_t row;
};

const struct table *table_get(enum table_kind kind)
{
	return &table_defs[kind];
}

int table_col_by_key(const struct table *t, char key)
{
	for (size_t i = 0; i < t->col_cnt; i++)
		if (t->cols[i].key && t->cols[i].key == toupper((unsigned char)key))
			return (int)i;
	return -1;
}

int table_col_by_title(const struct table *t, const char *title)
{
	for (size_t i = 0; i < t->col_cnt; i++)
		if (t->cols[i].key && !strcasecmp(t->cols[i].title, title))
			return (int)i;
	return -1;
}

static bool passes(const struct table *t, const struct view *v, uint32_t row,
		   const struct scope *s, struct buf *names)
{
	if (!t->belongs(v, row, s))
		return false;
	if (!s->filter)
		return true;
	buf_clear(names);
	t->names(v, row, names);
	return regexec(s->filter, buf_str(names), 0, NULL, 0) == 0;
}

static int cmp_id(const struct key *a, const struct key *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

static int cmp_up(const void *pa, const void *pb)
{
	const struct key *a = pa, *b = pb;
	int d = a->num < b->num ? -1 : a->num > b->num;

	if (!d && a->text)
		d = strcmp(a->text, b->text);
	return d ? d : cmp_id(a, b);
}

static int cmp_down(const void *pa, const void *pb)
{
	const struct key *a = pa, *b = pb;
	int d = a->num < b->num ? 1 : a->num > b->num ? -1 : 0;

	if (!d && a->text)
		d = strcmp(b->text, a->text);
	return d ? d : cmp_id(a, b);
}

static struct key key_of(const struct col *col, const struct table *t, const struct view *v,
			 uint32_t row)
{
	struct key k = {.row = row, .id = t->id(v, row)};
	struct buf b = {0};

	if (col->num) {
		k.num = col->num(v, row);
		return k;
	}
	if (col->text)
		col->text(v, row, &b);
	k.text = buf_detach(&b);
	return k;
}

void table_select(const struct table *t, const struct view *v, const struct scope *s,
		  size_t sort, bool reverse, row_vec *out)
{
	const struct col *col = &t->cols[sort];
	VEC(struct key) keys = {0};
	uint32_t cnt = t->cnt(v);
	struct buf names = {0};
	bool up = !!(col->flags & COL_ASC) != reverse;

	for (uint32_t row = 0; row < cnt; row++)
		if (passes(t, v, row, s, &names))
			vec_push(&keys, key_of(col, t, v, row));
	if (up)
		vec_sort(&keys, cmp_up);
	else
		vec_sort(&keys, cmp_down);
	vec_clear(out);
	VEC_FOREACH(&keys, k) {
		vec_push(out, k->row);
		free((char *)k->text);
	}
	vec_release(&keys);
	buf_release(&names);
}

static uint32_t columns_used(const struct table *t, const uint32_t *widths)
{
	uint32_t used = 0;

	for (size_t i = 0; i < t->col_cnt; i++)
		used += widths[i] + (widths[i] && i);
	return used;
}

static void drop(const struct table *t, unsigned level, uint32_t width, uint32_t *widths)
{
	for (size_t i = t->col_cnt; i-- > 0 && columns_used(t, widths) > width;)
		if (t->cols[i].flags & level)
			widths[i] = 0;
}

/* The widest text gives way first; numbers stay whole. */
static void shrink(const struct table *t, uint32_t width, uint32_t *widths)
{
	while (columns_used(t, widths) > width) {
		size_t widest = t->col_cnt;

		for (size_t i = 0; i < t->col_cnt; i++)
			if (!(t->cols[i].flags & COL_RIGHT) && widths[i] > TEXT_MIN &&
			    (widest == t->col_cnt || widths[i] > widths[widest]))
				widest = i;
		if (widest == t->col_cnt)
			return;
		widths[widest]--;
	}
}

/* Width of each column at this line width; 0 where it is left out. */
static void lay_out(const struct table *t, uint32_t width, uint32_t *ret_widths)
{
	uint32_t used, flex = 0;

	for (size_t i = 0; i < t->col_cnt; i++) {
		ret_widths[i] = t->cols[i].width;
		flex += !!(t->cols[i].flags & COL_FLEX);
	}
	drop(t, COL_DROP1, width, ret_widths);
	drop(t, COL_DROP2, width, ret_widths);
	drop(t, COL_DROP3, width, ret_widths);
	drop(t, COL_DROP4, width, ret_widths);
	shrink(t, width, ret_widths);
	used = columns_used(t, ret_widths);
	for (size_t i = 0; i < t->col_cnt && width > used; i++)
		if (t->cols[i].flags & COL_FLEX)
			ret_widths[i] += (width - used) / flex;
}

static unsigned cell_flags_of(const struct col *col)
{
	return (col->flags & COL_RIGHT ? CELL_RIGHT : 0) |
	       (col->flags & COL_TAIL ? CELL_TAIL : 0);
}

void table_head(const struct table *t, size_t sort, bool reverse, struct cells *out)
{
	uint32_t widths[COLS_MAX];

	lay_out(t, out->width, widths);
	cells_line(out);
	for (size_t i = 0; i < t->col_cnt; i++) {
		const struct col *col = &t->cols[i];
		struct buf title = {0};

		if (!widths[i])
			continue;
		if (i)
			cells_put(out, LOOK_BAR, 0, 1, " ");
		buf_adds(&title, col->title);
		if (i == sort)
			buf_addch(&title, !!(col->flags & COL_ASC) != reverse ? '^' : 'v');
		cells_put(out, LOOK_BAR, cell_flags_of(col), widths[i], buf_str(&title));
		buf_release(&title);
	}
	cells_put(out, LOOK_BAR, CELL_FILL, 0, "");
}

void table_row(const struct table *t, const struct view *v, uint32_t row, bool selected,
	       struct cells *out)
{
	uint32_t widths[COLS_MAX];
	struct buf text = {0};

	lay_out(t, out->width, widths);
	cells_line(out)->selected = selected;
	for (size_t i = 0; i < t->col_cnt; i++) {
		const struct col *col = &t->cols[i];

		if (!widths[i])
			continue;
		if (i)
			cells_put(out, LOOK_PLAIN, 0, 1, " ");
		if (col->draw) {
			col->draw(v, row, widths[i], out);
			continue;
		}
		buf_clear(&text);
		col->text(v, row, &text);
		cells_put(out, !strcmp(buf_str(&text), ".") ? LOOK_DIM :
			  col->group ? LOOK_GROUP + col->group - 1 : LOOK_PLAIN,
			  cell_flags_of(col), widths[i], buf_str(&text));
	}
	cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
	buf_release(&text);
}
