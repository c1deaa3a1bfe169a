/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/ui.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "ui/view.h"

static struct ui_page *page_of(struct ui *ui)
{
	return &ui->pages[ui->depth];
}

const struct ui_page *ui_page(const struct ui *ui)
{
	return &ui->pages[ui->depth];
}

const struct table *ui_table(const struct ui *ui)
{
	return table_get(ui->pages[ui->depth].kind);
}

struct ui *ui_new(void)
{
	struct ui *ui = xcalloc(1, sizeof(*ui));

	ui_open(ui, TABLE_THREADS);
	return ui;
}

void ui_free(struct ui *ui)
{
	if (!ui)
		return;
	if (ui->has_filter)
		regfree(&ui->filter);
	vec_release(&ui->rows);
	free(ui);
}

void ui_message(struct ui *ui, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ui->message, sizeof(ui->message), fmt, ap);
	va_end(ap);
}

static void page_init(struct ui_page *p, enum table_kind kind)
{
	*p = (struct ui_page){.kind = kind, .sort = table_get(kind)->sort};
	snprintf(p->crumb, sizeof(p->crumb), "%s", table_get(kind)->name);
}

void ui_open(struct ui *ui, enum table_kind kind)
{
	ui->depth = 0;
	page_init(&ui->pages[0], kind);
}

int ui_filter(struct ui *ui, const char *text, struct err *err)
{
	regex_t re;
	char why[128];
	int rc;

	if (*text) {
		rc = regcomp(&re, text, REG_EXTENDED | REG_NOSUB | REG_ICASE);
		if (rc) {
			regerror(rc, &re, why, sizeof(why));
			return err_usage(err, "filter '%s': %s", text, why);
		}
	}
	if (ui->has_filter)
		regfree(&ui->filter);
	ui->has_filter = *text != 0;
	if (*text)
		ui->filter = re;
	snprintf(ui->filter_text, sizeof(ui->filter_text), "%s", text);
	return 0;
}

/* Keeps the selection on the screen. */
static void scroll(struct ui *ui)
{
	struct ui_page *p = page_of(ui);
	uint32_t cnt = (uint32_t)ui->rows.cnt, room = ui->page_rows ? ui->page_rows : 1;

	if (p->sel >= cnt)
		p->sel = cnt ? cnt - 1 : 0;
	if (p->top > p->sel)
		p->top = p->sel;
	if (p->sel >= p->top + room)
		p->top = p->sel - room + 1;
	if (p->top + room > cnt)
		p->top = cnt > room ? cnt - room : 0;
}

void ui_refresh(struct ui *ui, const struct view *v)
{
	struct ui_page *p = page_of(ui);
	const struct table *t = table_get(p->kind);
	uint32_t at = 0;

	p->scope.filter = ui->has_filter ? &ui->filter : NULL;
	p->scope.hide_idle = ui->hide_idle;
	table_select(t, v, &p->scope, p->sort, p->reverse, &ui->rows);
	VEC_FOREACH(&ui->rows, row) {
		if (p->locked && t->id(v, *row) == p->sel_id)
			p->sel = at;
		at++;
	}
	scroll(ui);
}

static void select_row(struct ui *ui, const struct view *v, int64_t row)
{
	struct ui_page *p = page_of(ui);
	int64_t last = (int64_t)ui->rows.cnt - 1;

	if (last < 0)
		return;
	p->sel = (uint32_t)(row < 0 ? 0 : row > last ? last : row);
	p->locked = p->sel > 0;
	p->sel_id = ui_table(ui)->id(v, ui->rows.items[p->sel]);
	scroll(ui);
}

static struct ui_page *push(struct ui *ui, enum table_kind kind)
{
	if (ui->depth + 1 >= UI_DEPTH) {
		memmove(&ui->pages[1], &ui->pages[2], (UI_DEPTH - 2) * sizeof(ui->pages[0]));
		ui->depth--;
	}
	ui->depth++;
	page_init(page_of(ui), kind);
	return page_of(ui);
}

static void open_thread(struct ui *ui, uint32_t tid, const char *comm)
{
	struct ui_page *p = push(ui, TABLE_PAIRS);

	p->scope.by_tid = true;
	p->scope.tid = tid;
	snprintf(p->crumb, sizeof(p->crumb), "%s/%u", comm, tid);
}

static void open_res(struct ui *ui, const struct view_res *r)
{
	struct ui_page *p = push(ui, TABLE_PAIRS);

	p->scope.by_res = true;
	p->scope.res = r->id;
	snprintf(p->crumb, sizeof(p->crumb), "%s", r->name);
}

/* From a wait to what is behind it: its resource, and from there its waker. */
static void open_pair(struct ui *ui, const struct view *v, const struct view_pair *p)
{
	const struct scope *s = &page_of(ui)->scope;
	uint32_t row;

	if (!s->by_res && p->res != NO_IDX) {
		open_res(ui, &v->res.items[p->res]);
		return;
	}
	if (p->waker.tid == 0) { /* an interrupt, or nobody yet */
		ui_message(ui, p->waker.ctx == WAKER_NONE ? "no waker was seen yet"
			   : "ended by %s: no thread to follow", view_waker_text(&p->waker));
		return;
	}
	row = view_thread_by_tid(v, p->waker.tid);
	if (row == NO_IDX)
		ui_message(ui, "thread %u (%s) is not watched", p->waker.tid, p->waker.comm);
	else
		open_thread(ui, p->waker.tid, v->threads.items[row].comm);
}

static void enter(struct ui *ui, const struct view *v)
{
	struct ui_page *p = page_of(ui);
	uint32_t row;

	if (p->sel >= ui->rows.cnt)
		return;
	row = ui->rows.items[p->sel];
	p->sel_id = table_get(p->kind)->id(v, row);
	p->locked = true;
	switch (p->kind) {
	case TABLE_THREADS:
		open_thread(ui, v->threads.items[row].tid, v->threads.items[row].comm);
		break;
	case TABLE_RES:
		open_res(ui, &v->res.items[row]);
		break;
	case TABLE_PROCS:
		p = push(ui, TABLE_THREADS);
		p->scope.by_tgid = true;
		p->scope.tgid = v->procs.items[row].tgid;
		snprintf(p->crumb, sizeof(p->crumb), "%s/%u", v->procs.items[row].comm,
			 v->procs.items[row].tgid);
		break;
	case TABLE_PAIRS:
		open_pair(ui, v, &v->pairs.items[row]);
		break;
	case TABLE_CNT:
		break;
	}
	ui_refresh(ui, v);
}

static void back(struct ui *ui, const struct view *v)
{
	if (ui->depth > 0)
		ui->depth--;
	else
		ui_message(ui, "this is the first page; q quits");
	ui_refresh(ui, v);
}

static void sort_by(struct ui *ui, const struct view *v, int col)
{
	struct ui_page *p = page_of(ui);

	if (col < 0)
		return;
	p->reverse = p->sort == (size_t)col ? !p->reverse : false;
	p->sort = (size_t)col;
	ui_refresh(ui, v);
}

/* The next column with a sort key, left or right. */
static void sort_move(struct ui *ui, const struct view *v, int by)
{
	const struct table *t = ui_table(ui);
	int col = (int)page_of(ui)->sort, cnt = (int)t->col_cnt;

	do
		col = (col + by + cnt) % cnt;
	while (!t->cols[col].key);
	page_of(ui)->reverse = false;
	page_of(ui)->sort = (size_t)col;
	ui_refresh(ui, v);
}

static void end_prompt(struct ui *ui, const struct view *v)
{
	struct err err = {0};

	if (ui->prompt == PROMPT_FILTER && ui_filter(ui, ui->text, &err) < 0)
		ui_message(ui, "%s", err.msg);
	ui->prompt = PROMPT_NONE;
	ui_refresh(ui, v);
}

static enum ui_act prompt_key(struct ui *ui, const struct view *v, int key)
{
	size_t len = strlen(ui->text);

	if (key == UK_ENTER) {
		bool write = ui->prompt == PROMPT_WRITE && len > 0;

		end_prompt(ui, v);
		return write ? UI_WRITE : UI_NONE;
	}
	if (key == UK_ESC)
		ui->prompt = PROMPT_NONE;
	else if (key == UK_BACK && len > 0)
		ui->text[len - 1] = 0;
	else if (key == 'U' - '@') /* ^U */
		ui->text[0] = 0;
	else if (key >= ' ' && key < 256 && key != 127 && len + 1 < sizeof(ui->text)) {
		ui->text[len] = (char)key;
		ui->text[len + 1] = 0;
	}
	return UI_NONE;
}

static void ask(struct ui *ui, enum ui_prompt prompt, const char *text)
{
	ui->prompt = prompt;
	snprintf(ui->text, sizeof(ui->text), "%s", text);
}

static enum ui_act step(struct ui *ui, int by)
{
	ui->step = by;
	return UI_STEP;
}

static bool move_key(struct ui *ui, const struct view *v, int key)
{
	int64_t sel = page_of(ui)->sel, room = ui->page_rows ? ui->page_rows : 1;

	switch (key) {
	case UK_UP:
	case 'k':
		select_row(ui, v, sel - 1);
		return true;
	case UK_DOWN:
	case 'j':
		select_row(ui, v, sel + 1);
		return true;
	case UK_PAGE_UP:
		select_row(ui, v, sel - room);
		return true;
	case UK_PAGE_DOWN:
		select_row(ui, v, sel + room);
		return true;
	case UK_HOME:
	case 'g':
		select_row(ui, v, 0);
		return true;
	case UK_END:
		select_row(ui, v, INT32_MAX);
		return true;
	}
	return false;
}

static void esc(struct ui *ui, const struct view *v)
{
	if (ui->help || ui->notes)
		ui->help = ui->notes = false;
	else if (ui->has_filter)
		ui_filter(ui, "", NULL);
	else if (ui->depth > 0)
		ui->depth--;
	ui_refresh(ui, v);
}

static enum ui_act page_key(struct ui *ui, const struct view *v, int key)
{
	switch (key) {
	case UK_ENTER:
		enter(ui, v);
		break;
	case UK_BACK:
		back(ui, v);
		break;
	case UK_TAB:
		ui_open(ui, (ui->pages[0].kind + 1) % TABLE_CNT);
		ui_refresh(ui, v);
		break;
	case '1':
	case '2':
	case '3':
	case '4':
		ui_open(ui, (enum table_kind)(key - '1'));
		ui_refresh(ui, v);
		break;
	case '<':
		sort_move(ui, v, -1);
		break;
	case '>':
		sort_move(ui, v, 1);
		break;
	case 'r':
		page_of(ui)->reverse = !page_of(ui)->reverse;
		ui_refresh(ui, v);
		break;
	case 'i':
		ui->hide_idle = !ui->hide_idle;
		ui_refresh(ui, v);
		break;
	default:
		if (key < 256 && isupper(key))
			sort_by(ui, v, table_col_by_key(ui_table(ui), (char)key));
	}
	return UI_NONE;
}

enum ui_act ui_key(struct ui *ui, const struct view *v, int key)
{
	ui->message[0] = 0;
	if (ui->prompt != PROMPT_NONE)
		return prompt_key(ui, v, key);
	if (move_key(ui, v, key))
		return UI_NONE;
	switch (key) {
	case 'q':
		return UI_QUIT;
	case ' ':
		ui->paused = !ui->paused;
		return UI_NONE;
	case '?':
	case 'h':
		ui->help = !ui->help;
		return UI_NONE;
	case 'n':
		ui->notes = !ui->notes;
		return UI_NONE;
	case '/':
		ask(ui, PROMPT_FILTER, ui->filter_text);
		return UI_NONE;
	case 'w':
		ask(ui, PROMPT_WRITE, UI_WRITE_PATH);
		return UI_NONE;
	case UK_ESC:
		esc(ui, v);
		return UI_NONE;
	case UK_LEFT:
	case ',':
		return step(ui, -1);
	case UK_RIGHT:
	case '.':
		return step(ui, 1);
	case '[':
		return step(ui, -10);
	case ']':
		return step(ui, 10);
	}
	if (ui->help || ui->notes) {
		ui->help = ui->notes = false;
		return UI_NONE;
	}
	return page_key(ui, v, key);
}
