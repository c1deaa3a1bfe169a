/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen from top to bottom: five lines of header, folded where it is narrow,
 * the path of pages, one line about what the page is of, the table, the key line.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "ui/cells.h"
#include "ui/ui.h"
#include "ui/view.h"

enum {
	FIRST_COL = 18,
	NARROW = 80, FOLD_HEIGHT = 24, /* a screen on its side: there are lines to spare */
};

static const char *const help_lines[] = {
	"1 2 3 4, Tab   threads, resources, processes, pairs (who waits for whom)",
	"Up Down j k    select a row; PgUp PgDn, Home g, End",
	"Enter          thread -> what it waits on -> who wakes it -> that thread ...",
	"Backspace      back; Esc takes away help, filter, page, in this order",
	"< >            order by the next column left or right; r turns the order round",
	"A ... Z        order by a column: its letter is below",
	"/              filter rows by a regular expression; an empty one shows all",
	"i              hide threads that neither ran nor woke in the tick",
	"space          pause and go on; nothing is lost meanwhile",
	"w              write what was seen since to a capture (heldup why -i FILE)",
	", . [ ]        with -i: back and on by one tick, by ten; also Left, Right",
	"n, ? h, q      what is not seen and why; this help; quit",
	NULL,
};

static const char *clock_text(uint64_t ns, char *out, size_t len)
{
	unsigned long long s = ns / 1000000000;

	snprintf(out, len, "%02llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	return out;
}

static void title_line(const struct view *v, const struct ui_info *info, bool paused,
		       struct cells *out)
{
	const struct view_host *h = &v->host;
	char t[32];

	cells_line(out);
	cells_say(out, LOOK_BOLD, "heldup top");
	if (!info->live)
		cells_say(out, LOOK_WARN, "  %s: tick %llu of %llu%s", info->source,
			     (unsigned long long)info->tick + 1, (unsigned long long)info->tick_cnt,
			     info->ended ? "" : "+");
	if (paused)
		cells_say(out, LOOK_WARN, "  [paused]");
	else if (info->live && info->ended)
		cells_say(out, LOOK_WARN, "  [ended]");
	cells_say(out, LOOK_PLAIN, "  %s  ", clock_text(v->end_ns - v->since_ns, t, sizeof(t)));
	cells_say(out, LOOK_BOLD, "%s", *h->selection ? h->selection : "nothing selected");
	cells_say(out, LOOK_PLAIN, "  on %s, Linux %s  %u thread%s", h->hostname, h->kernel,
		     h->thread_cnt, h->thread_cnt == 1 ? "" : "s");
	if (h->peer_cnt)
		cells_say(out, LOOK_PLAIN, ", %u peer process%s", h->peer_cnt,
			     h->peer_cnt == 1 ? "" : "es");
	cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
}

static void host_line(const struct view *v, struct cells *out)
{
	const struct view_host *h = &v->host;
	char t[FMT_MAX];

	cells_line(out);
	cells_say(out, h->busy > 0.9 ? LOOK_WARN : LOOK_PLAIN, "cpu %.0f %% busy of %u",
		     h->busy * 100, h->cpu_cnt);
	cells_say(out, h->steal > 0.05 ? LOOK_WARN : LOOK_PLAIN, ", %.0f %% stolen",
		     h->steal * 100);
	cells_say(out, LOOK_PLAIN, ", %.0f %% iowait", h->iowait * 100);
	if (*h->disk)
		cells_say(out, h->disk_busy > 0.9 ? LOOK_WARN : LOOK_PLAIN,
			     "   disk %s %.0f %% busy, %.1f in flight", h->disk,
			     h->disk_busy * 100, h->disk_queue);
	else
		cells_say(out, LOOK_PLAIN, "   disk idle");
	if (h->mem_avail_bytes)
		cells_say(out, LOOK_PLAIN, "   %s memory free",
			     fmt_bytes(t, h->mem_avail_bytes));
	cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
}

static void cost_line(const struct view *v, struct cells *out)
{
	const struct view_host *h = &v->host;
	double s = v->end_ns > v->begin_ns ? (double)(v->end_ns - v->begin_ns) / 1e9 : 1;
	char t[FMT_MAX], u[FMT_MAX];

	cells_line(out);
	cells_say(out, LOOK_PLAIN, "requests %.0f/s, %u open, %u unread",
		     (double)h->turns / s, h->open, h->unread);
	cells_say(out, h->lost_tick ? LOOK_WARN : LOOK_PLAIN, "   lost %s of %s events",
		     fmt_count(t, h->lost_tick), fmt_count(u, h->self_events));
	if (h->lost_all)
		cells_say(out, LOOK_PLAIN, " (%s in all)", fmt_count(t, h->lost_all));
	cells_say(out, LOOK_PLAIN, "   own cost %.1f %% of a core, %s", h->self_cpu * 100,
		     fmt_bytes(t, h->self_rss_bytes));
	cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
}

static void unseen_line(const struct view *v, struct cells *out)
{
	char t[FMT_MAX];

	cells_line(out);
	if (v->note_cnt > 1)
		cells_say(out, LOOK_WARN, "not seen (n shows all %zu): ", v->note_cnt);
	else
		cells_say(out, v->note_cnt ? LOOK_WARN : LOOK_DIM, "not seen: ");
	if (v->pairs_from_ns > v->begin_ns)
		cells_say(out, LOOK_WARN, "wakers before the last %s of the tick; ",
			     fmt_ns(t, v->pairs_from_ns < v->end_ns ?
				    v->end_ns - v->pairs_from_ns : 0));
	if (v->note_cnt)
		cells_say(out, LOOK_PLAIN, "%s", v->notes[0]);
	else
		cells_say(out, LOOK_DIM, "waits of processes that are not watched");
	cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
}

static void so_far_line(const struct view *v, struct cells *out)
{
	const char *line = v->so_far && *v->so_far ? v->so_far : "not known yet";

	cells_line(out);
	cells_say(out, LOOK_DIM, "so far: ");
	cells_say(out, v->so_far && *v->so_far ? LOOK_BOLD : LOOK_DIM, "%s", line);
	cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
}

void ui_header(const struct view *v, const struct ui_info *info, bool paused, struct cells *out)
{
	title_line(v, info, paused, out);
	host_line(v, out);
	cost_line(v, out);
	unseen_line(v, out);
	so_far_line(v, out);
}

static void path_line(const struct ui *ui, struct cells *out)
{
	cells_line(out);
	for (unsigned i = 0; i < TABLE_CNT; i++) {
		bool here = ui->pages[0].kind == i;

		cells_printf(out, here ? LOOK_BAR : LOOK_DIM, "%u %s", i + 1,
			     table_get((enum table_kind)i)->name);
		cells_put(out, LOOK_PLAIN, 0, 1, "");
	}
	for (unsigned i = 1; i <= ui->depth; i++)
		cells_printf(out, i == ui->depth ? LOOK_BOLD : LOOK_PLAIN, " > %s",
			     ui->pages[i].crumb);
	cells_printf(out, LOOK_DIM, "  %zu rows", ui->rows.cnt);
	if (ui->has_filter)
		cells_printf(out, LOOK_WARN, "  /%s/", ui->filter_text);
	if (ui->hide_idle)
		cells_put(out, LOOK_WARN, 0, 0, "  idle hidden");
	cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
}

static void thread_line(const struct view *v, uint32_t tid, struct cells *out)
{
	uint32_t row = view_thread_by_tid(v, tid);
	const struct view_thread *t;

	if (row == NO_IDX) {
		cells_printf(out, LOOK_WARN, "thread %u is gone or was not seen in this tick", tid);
		return;
	}
	t = &v->threads.items[row];
	cells_printf(out, LOOK_PLAIN, "%s/%u of %s/%u:", t->comm, t->tid, t->proc_comm, t->tgid);
	for (unsigned g = 0; g < VG_CNT; g++)
		if (t->group_ns[g])
			cells_printf(out, LOOK_GROUP + g, " %s %.1f %%", view_group_name(g),
				     100.0 * (double)t->group_ns[g] / (double)t->life_ns);
}

static void res_line(const struct view *v, uint64_t id, struct cells *out)
{
	uint32_t row = view_res_by_id(v, id);
	const struct view_res *r;
	char t[FMT_MAX], u[FMT_MAX];

	if (row == NO_IDX) {
		cells_put(out, LOOK_WARN, 0, 0, "nobody waited on this resource in this tick");
		return;
	}
	r = &v->res.items[row];
	cells_printf(out, LOOK_PLAIN, "%s: %u waited %s, the longest %s; %u wait now, %u woke",
		     res_kind_name(r->kind), r->waiter_cnt, fmt_ns(t, r->wait_ns),
		     fmt_ns(u, r->max_ns), r->waiting_cnt, r->waker_cnt);
	if (r->waker_ns && r->wait_ns)
		cells_printf(out, LOOK_WARN, "; %.0f %% behind %s/%u",
			     100 * fmin(1, (double)r->waker_ns / (double)r->wait_ns),
			     view_waker_text(&r->waker), r->waker.tid);
}

/* Names the subject of the page; empty on the first pages. */
static void about_line(const struct ui *ui, const struct view *v, struct cells *out)
{
	const struct scope *s = &ui_page(ui)->scope;

	cells_line(out);
	if (s->by_tid)
		thread_line(v, s->tid, out);
	else if (s->by_res)
		res_line(v, s->res, out);
	cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
}

static void key_line(const struct ui *ui, const struct ui_info *info, struct cells *out)
{
	char t[FMT_MAX], u[FMT_MAX];

	cells_line(out);
	if (ui->prompt == PROMPT_FILTER)
		cells_printf(out, LOOK_BAR, "filter: %s_", ui->text);
	else if (ui->prompt == PROMPT_WRITE)
		cells_printf(out, LOOK_BAR, "write the last %s (%s) to: %s_",
			     fmt_ns(t, info->kept_ns), fmt_bytes(u, info->kept_bytes), ui->text);
	else if (ui->message[0])
		cells_put(out, LOOK_WARN, 0, 0, ui->message);
	else
		cells_put(out, LOOK_BAR, 0, 0, info->live ?
			  "?help  /filter  <>order  Enter open  Backspace back  space pause  "
			  "i idle  w write  q quit" :
			  "?help  /filter  <>order  Enter open  Backspace back  space play  "
			  ",. [] ticks  q quit");
	cells_put(out, ui->message[0] ? LOOK_PLAIN : LOOK_BAR, CELL_FILL, 0, "");
}

static void empty_line(struct cells *out)
{
	cells_line(out);
	cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
}

static void help_page(const struct ui *ui, uint32_t rows, struct cells *out)
{
	const struct table *t = ui_table(ui);
	uint32_t used = 0, at = 0;

	for (; used < rows && help_lines[used]; used++) {
		cells_line(out);
		cells_put(out, LOOK_PLAIN, CELL_FILL, 0, help_lines[used]);
	}
	while (used < rows && at < t->col_cnt) {
		cells_line(out);
		for (; at < t->col_cnt && out->lines.items[out->cnt - 1].width + FIRST_COL <=
				out->width; at++) {
			char text[64];

			if (!t->cols[at].key)
				continue;
			snprintf(text, sizeof(text), "%c %s", t->cols[at].key, t->cols[at].title);
			cells_put(out, LOOK_BOLD, 0, FIRST_COL, text);
		}
		cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
		if (out->width < FIRST_COL)
			break;
		used++;
	}
	while (used++ < rows)
		empty_line(out);
}

static void notes_page(const struct view *v, uint32_t rows, struct cells *out)
{
	for (uint32_t i = 0; i < rows; i++) {
		cells_line(out);
		if (i < v->note_cnt)
			cells_put(out, LOOK_PLAIN, 0, 0, v->notes[i]);
		else if (i == v->note_cnt)
			cells_put(out, LOOK_DIM, 0, 0, "Threads of processes that are not watched "
				  "are seen only where they wake a watched one.");
		cells_put(out, LOOK_PLAIN, CELL_FILL, 0, "");
	}
}

static void table_page(const struct ui *ui, const struct view *v, uint32_t rows,
		       struct cells *out)
{
	const struct ui_page *p = ui_page(ui);

	for (uint32_t i = 0; i < rows; i++) {
		uint32_t at = p->top + i;

		if (at < ui->rows.cnt)
			table_row(ui_table(ui), v, ui->rows.items[at], at == p->sel, out);
		else
			empty_line(out);
	}
}

void ui_render(struct ui *ui, const struct view *v, const struct ui_info *info, uint32_t width,
	       uint32_t height, struct cells *out)
{
	enum { MORE = 4 }; /* lines beside header and rows */
	const struct ui_page *p = ui_page(ui);
	uint32_t rows;

	cells_begin(out, width);
	out->fold = width < NARROW && height >= FOLD_HEIGHT;
	ui_header(v, info, ui->paused, out);
	rows = height > out->cnt + MORE ? height - (uint32_t)out->cnt - MORE : 1;
	if (rows != ui->page_rows) {
		ui->page_rows = rows;
		ui_refresh(ui, v);
	}
	path_line(ui, out);
	about_line(ui, v, out);
	table_head(ui_table(ui), p->sort, p->reverse, out);
	if (ui->help)
		help_page(ui, rows, out);
	else if (ui->notes)
		notes_page(v, rows, out);
	else
		table_page(ui, v, rows, out);
	key_line(ui, info, out);
}
