/* SPDX-License-Identifier: Apache-2.0 */
#ifndef THREAD_TABLE_H
#define THREAD_TABLE_H
/*
 * The tables of `top`: columns, which rows belong, and their order.
 *
 *	table_get, table_select -> row numbers in order, table_head, table_row
 *
 * To add a column: 1. a line in columns.c, 2. its meaning in docs/top.md;
 * tests/unit/t_ui_table.c tells you of a sort key used twice.
 *
 * Only the rows that are drawn are formatted.
 */
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct buf;
struct cells;
struct view;

enum table_kind { TABLE_THREADS, TABLE_RES, TABLE_PROCS, TABLE_PAIRS, TABLE_CNT };

enum col_flags {
	COL_RIGHT = 1 << 0,
	COL_TAIL = 1 << 1,	/* cut paths at their beginning */
	COL_FLEX = 1 << 2,	/* takes what is left over */
	COL_ASC = 1 << 3,	/* sorted smallest first as a rule */
	/* dropped first where the line is too narrow, from the right */
	COL_DROP1 = 1 << 4,
	COL_DROP2 = 1 << 5,
	COL_DROP3 = 1 << 6,
	COL_DROP4 = 1 << 7,
};

struct col {
	const char *title;
	char key;		/* upper-case letter that sorts by it, 0 none */
	uint8_t width;		/* least, for a COL_FLEX */
	uint8_t flags;
	uint8_t group;		/* enum view_group + 1: has its colour; 0 none */
	double (*num)(const struct view *v, uint32_t row);	/* order; NULL: by text */
	void (*text)(const struct view *v, uint32_t row, struct buf *out);
	/* Instead of text: several pieces in exactly col->width columns. */
	void (*draw)(const struct view *v, uint32_t row, uint32_t width, struct cells *out);
};

struct scope {			/* which rows; all-zero: all */
	uint32_t tid, tgid;
	uint64_t res;
	bool by_tid, by_tgid, by_res;
	const regex_t *filter;	/* on names; NULL none */
	bool hide_idle;		/* threads that neither ran nor woke in the tick */
};

struct table {
	const char *name;	/* "threads", ... : --view and titles */
	const struct col *cols;
	size_t col_cnt;
	uint8_t sort;		/* column sorted by at first */
	uint32_t (*cnt)(const struct view *v);
	uint64_t (*id)(const struct view *v, uint32_t row);	/* the same in the next tick */
	bool (*belongs)(const struct view *v, uint32_t row, const struct scope *s);
	/* what a filter reads */
	void (*names)(const struct view *v, uint32_t row, struct buf *out);
};

typedef VEC(uint32_t) row_vec;

const struct table *table_get(enum table_kind kind);

/* Column by sort key letter (either case), or by title; -1 when there is none. */
int table_col_by_key(const struct table *t, char key);
int table_col_by_title(const struct table *t, const char *title);

/* Fills out with the rows in order. */
void table_select(const struct table *t, const struct view *v, const struct scope *s,
		  size_t sort, bool reverse, row_vec *out);

/* One line each, as wide as out. */
void table_head(const struct table *t, size_t sort, bool reverse, struct cells *out);
void table_row(const struct table *t, const struct view *v, uint32_t row, bool selected,
	       struct cells *out);

/* The tables behind table_get: columns.c. */
extern const struct table table_defs[TABLE_CNT];

#endif /* THREAD_TABLE_H */
