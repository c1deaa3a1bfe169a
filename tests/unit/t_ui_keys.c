/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/buf.h"
#include "synth.h"
#include "ui/cells.h"
#include "ui/ui.h"
#include "ui/view.h"

/* waiter waits on the lock for holder, holder on a file for the disk. */
static struct view *scene(double from_ms)
{
	struct synth *s = synth_new(2000);
	struct view *v = view_new();

	synth_thread(s, 10, 10, "server");
	synth_thread(s, 11, 10, "waiter");
	synth_thread(s, 12, 10, "holder");
	synth_thread(s, 30, 30, "busy");
	synth_res(s, 7, RES_FUTEX, "lock");
	synth_res(s, 8, RES_FILE, "/data/log");
	for (int tick = 0; tick < 2; tick++) {
		double at = 1000 * tick;

		synth_wait(s, 11, WAIT_FUTEX, 7, at + 100, at + 900, at + 900, 12);
		synth_irq_wait(s, 12, WAIT_FSYNC, 8, at + 200, at + 890, at + 890, WAKER_BLOCK);
		synth_wait(s, 30, WAIT_TIMER, 0, at + 10, at + 20, at + 20, 0);
	}
	view_build(v, synth_model(s), NULL, synth_ns(s, from_ms), synth_ns(s, from_ms + 1000));
	synth_free(s);
	return v;
}

static enum ui_act press(struct ui *ui, const struct view *v, const char *keys)
{
	enum ui_act act = UI_NONE;

	for (; *keys; keys++)
		act = ui_key(ui, v, *keys == '\r' ? UK_ENTER : *keys == '\b' ? UK_BACK : *keys);
	return act;
}

static const char *screen_text(struct ui *ui, const struct view *v, struct buf *out)
{
	struct ui_info info = {.live = true};
	struct cells c = {0};

	ui_render(ui, v, &info, 120, 24, &c);
	buf_clear(out);
	cells_text(&c, out);
	for (size_t i = 0; i < c.cnt; i++)
		EQ_U(c.lines.items[i].width, 120);
	EQ_U(c.cnt, 24);
	cells_release(&c);
	return buf_str(out);
}

TEST(ui_keys_drill_from_thread_to_waker)
{
	struct view *v = scene(1000);
	struct ui *ui = ui_new();
	struct buf out = {0};

	screen_text(ui, v, &out);
	press(ui, v, "/waiter\r\r");
	EQ_U(ui->depth, 1);
	OK(ui_page(ui)->scope.by_tid);
	EQ_S(ui_page(ui)->crumb, "waiter/11");
	press(ui, v, "/\b\b\b\b\b\b\r");
	OK(!ui->has_filter);
	HAS(screen_text(ui, v, &out), "waiter/11 of server/10: run 20.0 % lock 80.0 %");
	press(ui, v, "\r");
	EQ_S(ui_page(ui)->crumb, "lock");
	HAS(screen_text(ui, v, &out), "futex: 1 waited 800 ms, the longest 800 ms");
	press(ui, v, "\r");
	EQ_S(ui_page(ui)->crumb, "holder/12");
	HAS(screen_text(ui, v, &out), "/data/log");
	press(ui, v, "\r\r");
	HAS(ui->message, "[disk]");
	EQ_U(ui->depth, 4);
	press(ui, v, "\b\b\b\b");
	EQ_U(ui->depth, 0);
	press(ui, v, "\b");
	HAS(ui->message, "first page");
	buf_release(&out);
	ui_free(ui);
	view_free(v);
}

TEST(ui_keys_follow_the_selected_thread)
{
	struct view *v = scene(0), *next = scene(1000);
	struct ui *ui = ui_new();

	ui->page_rows = 10;
	ui_refresh(ui, v);
	ui_key(ui, v, UK_END);
	ui_key(ui, v, UK_UP);
	EQ_U(ui_page(ui)->sel, ui->rows.cnt - 2);
	press(ui, v, "r");
	EQ_U(ui_page(ui)->sel, 1);
	ui_refresh(ui, next);
	EQ_U(ui_page(ui)->sel, 1);
	ui_free(ui);
	view_free(v);
	view_free(next);
}

TEST(ui_keys_order)
{
	struct view *v = scene(0);
	struct ui *ui = ui_new();
	size_t first;

	ui_refresh(ui, v);
	first = ui_page(ui)->sort;
	press(ui, v, ">");
	OK(ui_page(ui)->sort != first);
	press(ui, v, "<");
	EQ_U(ui_page(ui)->sort, first);
	press(ui, v, "L");
	EQ_S(ui_table(ui)->cols[ui_page(ui)->sort].title, "LOCK%");
	EQ_U(v->threads.items[ui->rows.items[0]].tid, 11);
	press(ui, v, "L");
	OK(ui_page(ui)->reverse);
	ui_free(ui);
	view_free(v);
}

TEST(ui_keys_acts_and_prompts)
{
	struct view *v = scene(0);
	struct ui *ui = ui_new();
	struct buf out = {0};

	ui_refresh(ui, v);
	EQ_I(press(ui, v, "q"), UI_QUIT);
	EQ_I(press(ui, v, "]"), UI_STEP);
	EQ_I(ui->step, 10);
	EQ_I(press(ui, v, ","), UI_STEP);
	EQ_I(ui->step, -1);
	press(ui, v, " ");
	OK(ui->paused);
	HAS(screen_text(ui, v, &out), "[paused]");
	press(ui, v, " ?");
	OK(!ui->paused && ui->help);
	HAS(screen_text(ui, v, &out), "Backspace      back");
	press(ui, v, "?n");
	HAS(screen_text(ui, v, &out), "not watched");
	press(ui, v, "n/(\r");
	HAS(ui->message, "filter '('");
	press(ui, v, "w");
	EQ_I(ui->prompt, PROMPT_WRITE);
	ui_key(ui, v, UK_ESC);
	EQ_I(ui->prompt, PROMPT_NONE);
	EQ_I(press(ui, v, "w.x\r"), UI_WRITE);
	EQ_S(ui->text, "heldup-top.capture.x");
	buf_release(&out);
	ui_free(ui);
	view_free(v);
}

TEST(ui_keys_any_key_at_any_size)
{
	static const uint32_t sizes[][2] = {{1, 1}, {20, 5}, {80, 24}, {300, 80}};
	static const int keys[] = {UK_UP, UK_DOWN, UK_PAGE_UP, UK_PAGE_DOWN, UK_HOME, UK_END,
				   UK_LEFT, UK_RIGHT, UK_ENTER, UK_BACK, UK_ESC, UK_TAB};
	struct view *v = scene(0), *none = view_new();
	struct ui *ui = ui_new();
	struct ui_info info = {.source = "x"};
	struct cells c = {0};
	uint32_t rnd = 1;

	none->host.hostname = none->host.kernel = none->host.selection = none->host.disk = "";
	for (int i = 0; i < 20000; i++) {
		const struct view *now = i / 500 % 2 ? none : v;
		int key;

		rnd = rnd * 1664525 + 1013904223;
		key = rnd >> 31 ? keys[(rnd >> 8) % 12] : (int)(32 + (rnd >> 8) % 95);
		ROW(i);
		ui_refresh(ui, now);
		ui_key(ui, now, key);
		ui_render(ui, now, &info, sizes[i / 100 % 4][0], sizes[i / 100 % 4][1], &c);
	}
	cells_release(&c);
	ui_free(ui);
	view_free(v);
	view_free(none);
}
