/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of text, and what becomes of them where the screen is narrow. */
#include "unit.h"

#include "base/buf.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"

static void print(unsigned columns, struct buf *out)
{
	static const struct column cols[] = {
		{.head = "process"}, {.head = "requests", .right = 1}, {.head = "p50", .right = 1},
		{.head = "longest", .right = 1}, {.head = "what it does"},
	};
	struct pen pen = {.out = out, .columns = columns};
	struct table t;

	buf_clear(out);
	table_init(&t, cols, sizeof(cols) / sizeof(*cols));
	for (unsigned i = 0; i < 2; i++) {
		table_cell(&t, "backend");
		table_cell(&t, "%u", i ? 7 : 1234);
		table_cell(&t, "%u ms", 9 + i);
		table_cell(&t, "%s", i ? "" : "884 ms");
		table_cell(&t, "%s", i ? "" : "waits for a socket and reads it");
	}
	table_print(&t, &pen, "WHO", 0);
	table_release(&t);
}

TEST(table_rows_break_alike_where_they_do_not_fit)
{
	struct buf out = {0};

	print(80, &out);
	HAS(buf_str(&out), " process  requests    p50  longest  what it does\n"
	    " backend      1234   9 ms   884 ms  waits for a socket and reads it\n");
	print(40, &out);
	EQ_S(buf_str(&out), "\nWHO\n"
	     " process  requests    p50  longest\n"
	     "    what it does\n"
	     " backend      1234   9 ms   884 ms\n"
	     "    waits for a socket and reads it\n"
	     " backend         7  10 ms\n");
	buf_release(&out);
}

/* A cell is never wider than the screen, and what is left of it says that it was cut. */
TEST(table_cuts_what_is_wider_than_the_screen)
{
	static const struct column cols[] = {{.head = "name"}, {.head = "cnt", .right = 1}};
	struct buf out = {0};
	struct pen pen = {.out = &out, .columns = 40};
	struct table t;

	table_init(&t, cols, 2);
	table_cell(&t, "%s", "a_name_that_is_longer_than_a_screen_of_forty_columns");
	table_cell(&t, "5");
	table_print(&t, &pen, "T", 0);
	HAS(buf_str(&out), "\n a_name_that_is_longer_than_a_screen_of…\n      5\n");
	table_release(&t);
	buf_release(&out);
}
