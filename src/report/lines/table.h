/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TABLE_H
#define TABLE_H
/*
 * A table for a terminal: columns as wide as their cells need, at most max;
 * the last one wraps at the end of the screen.  Where the screen is too narrow for
 * all of them, each row, and the heads, go over several lines alike.
 *
 *	table_init, table_cell for each cell in reading order, table_print,
 *	table_release
 */
#include <stddef.h>

#include "base/arena.h"
#include "base/vec.h"

struct pen;

struct column {
	const char *head;
	int right;	/* 1: numbers */
	unsigned max;	/* a longer cell is cut; 0: no limit */
};

struct table {
	struct arena arena;
	const struct column *columns;	/* borrowed */
	size_t column_cnt;
	VEC(const char *) cells;
};

void table_init(struct table *t, const struct column *columns, size_t column_cnt);
void table_release(struct table *t);
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Title, heads and rows; omitted_cnt rows more are said to exist.  Nothing without rows. */
void table_print(const struct table *t, struct pen *p, const char *title, size_t omitted_cnt);

#endif /* TABLE_H */
