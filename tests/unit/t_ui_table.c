/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <locale.h>

#include "base/err.h"
#include "synth.h"
#include "ui/cells.h"
#include "ui/thread_table.h"
#include "ui/ui.h"
#include "ui/view.h"

/* Thread 11 runs 90 %, 12 half, 13 10 %; all wait on the lock otherwise. */
static struct view *scene(void)
{
	struct synth *s = synth_new(1000);
	struct view *v = view_new();

	synth_thread(s, 10, 10, "server");
	synth_thread(s, 11, 10, "alpha");
	synth_thread(s, 12, 10, "beta");
	synth_thread(s, 13, 10, "gamma");
	synth_thread(s, 20, 20, "other");
	synth_res(s, 7, RES_FUTEX, "lock");
	synth_res(s, 8, RES_FILE, "/var/lib/server/data/segment-0001");
	synth_wait(s, 11, WAIT_FUTEX, 7, 100, 200, 200, 12);
	synth_wait(s, 12, WAIT_FUTEX, 7, 100, 600, 600, 13);
	synth_wait(s, 13, WAIT_FUTEX, 7, 50, 950, 950, 11);
	synth_wait(s, 20, WAIT_FILE, 8, 0, 1000, 1000, 0);
	view_build(v, synth_model(s), NULL, synth_ns(s, 0), synth_ns(s, 1000));
	synth_free(s);
	return v;
}

static void select_rows(const struct view *v, const struct scope *s, const char *title,
			bool reverse, row_vec *rows)
{
	const struct table *t = table_get(TABLE_THREADS);
	int col = table_col_by_title(t, title);

	OK(col >= 0);
	table_select(t, v, s, (size_t)col, reverse, rows);
}

TEST(ui_table_orders_by_a_column)
{
	static const struct {
		const char *title;
		bool reverse;
		uint32_t first, last;
	} rows[] = {
		{"RUN%", false, 11, 20}, {"RUN%", true, 20, 11},  {"run%", false, 11, 20},
		{"LOCK%", false, 13, 20}, {"TID", false, 11, 20}, {"TID", true, 20, 11},
		{"THREAD", false, 11, 20}, {"DISK%", false, 20, 13},
	};
	struct view *v = scene();
	struct scope all = {0};
	row_vec got = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		select_rows(v, &all, rows[i].title, rows[i].reverse, &got);
		EQ_U(got.cnt, v->threads.cnt);
		EQ_U(v->threads.items[got.items[0]].tid, rows[i].first);
		EQ_U(v->threads.items[*vec_last(&got)].tid, rows[i].last);
	}
	vec_release(&got);
	view_free(v);
}

TEST(ui_table_keeps_what_belongs)
{
	struct view *v = scene();
	struct scope s = {.by_tgid = true, .tgid = 20};
	row_vec got = {0};

	select_rows(v, &s, "TID", false, &got);
	EQ_U(got.cnt, 1);
	EQ_U(v->threads.items[got.items[0]].tid, 20);
	s = (struct scope){.by_tid = true, .tid = 12};
	table_select(table_get(TABLE_PAIRS), v, &s, 0, false, &got);
	EQ_U(got.cnt, 1);
	EQ_U(v->pairs.items[got.items[0]].waker.tid, 13);
	s = (struct scope){.by_res = true, .res = 7};
	table_select(table_get(TABLE_PAIRS), v, &s, 0, false, &got);
	EQ_U(got.cnt, 3);
	vec_release(&got);
	view_free(v);
}

TEST(ui_table_filters_by_name_and_resource)
{
	static const struct {
		const char *re;
		size_t cnt;
	} rows[] = {{"alpha", 1}, {"ALPHA", 1}, {"lock", 3}, {"segment", 1}, {"^12 ", 1},
		    {"alpha|beta", 2}, {"nothing", 0}};
	struct view *v = scene();
	struct ui *ui = ui_new();
	struct err err = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ROW(i);
		EQ_I(ui_filter(ui, rows[i].re, &err), 0);
		ui_refresh(ui, v);
		EQ_U(ui->rows.cnt, rows[i].cnt);
	}
	OK(ui_filter(ui, "(", &err) < 0);
	HAS(err.msg, "filter '('");
	EQ_I(ui_filter(ui, "", NULL), 0);
	ui_refresh(ui, v);
	EQ_U(ui->rows.cnt, v->threads.cnt);
	ui_free(ui);
	view_free(v);
}

TEST(ui_table_sort_keys_are_used_once)
{
	for (int k = 0; k < TABLE_CNT; k++) {
		const struct table *t = table_get((enum table_kind)k);

		OK(t->cols[t->sort].key != 0);
		for (size_t i = 0; i < t->col_cnt; i++) {
			ROW(k * 100 + (int)i);
			if (t->cols[i].key)
				EQ_I(table_col_by_key(t, t->cols[i].key), (int)i);
			OK(t->cols[i].draw || t->cols[i].text);
			OK(!t->cols[i].key || t->cols[i].text);
		}
	}
}

TEST(ui_table_fits_any_width)
{
	struct view *v = scene();
	struct cells c = {0};

	for (uint32_t width = 1; width < 250; width += 7)
		for (int k = 0; k < TABLE_CNT; k++) {
			const struct table *t = table_get((enum table_kind)k);

			ROW(width * 10 + (uint32_t)k);
			cells_begin(&c, width);
			table_head(t, t->sort, false, &c);
			table_row(t, v, 0, false, &c);
			for (size_t i = 0; i < c.cnt; i++) {
				EQ_U(c.lines.items[i].width, width);
				EQ_U(cells_width(buf_str(&c.lines.items[i].text)), width);
			}
		}
	cells_release(&c);
	view_free(v);
}

TEST(ui_cells_cut_and_align)
{
	static const struct {
		const char *text;
		uint32_t width;
		unsigned flags;
		const char *want;
	} rows[] = {
		{"abc", 5, 0, "abc  |"},
		{"abc", 5, CELL_RIGHT, "  abc|"},
		{"abcdefgh", 5, 0, "abcd~|"},
		{"/a/long/path", 6, CELL_TAIL, "~/path|"},
		{"no/path", 5, CELL_TAIL, "no/p~|"},
		{"a\tb\033[1mc", 10, 0, "a?b?[1mc  |"},
		{"\xff\xfe", 3, 0, "?? |"},
		{"", 2, 0, "  |"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cells c = {0};
		struct buf out = {0};

		ROW(i);
		cells_begin(&c, 20);
		cells_line(&c);
		cells_put(&c, LOOK_PLAIN, rows[i].flags, rows[i].width, rows[i].text);
		cells_put(&c, LOOK_PLAIN, 0, 0, "|");
		buf_adds(&out, buf_str(&c.lines.items[0].text));
		EQ_S(buf_str(&out), rows[i].want);
		buf_release(&out);
		cells_release(&c);
	}
}

TEST(ui_cells_know_wide_letters)
{
	struct cells c = {0};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		SKIP("no C.UTF-8 locale");
	EQ_U(cells_width("\xe6\x97\xa5\xe6\x9c\xac"), 4);
	cells_begin(&c, 20);
	cells_line(&c);
	cells_put(&c, LOOK_PLAIN, 0, 4, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e");
	EQ_S(buf_str(&c.lines.items[0].text), "\xe6\x97\xa5~ ");
	EQ_U(c.lines.items[0].width, 4);
	cells_release(&c);
}
