/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UI_H
#define UI_H
/*
 * What a person did so far: the page open, its order, the selected row, the
 * filter.  Takes keys and views, knows no screen: see screen.h.
 *
 *	ui_new, ui_key and ui_refresh as keys and views come, ui_render, ui_free
 *
 * To add a key: 1. a case in ui_key, 2. a line in the help of render.c and in
 * docs/top.md; tests/unit/t_ui_keys.c presses each key of the help.
 */
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/thread_table.h"

struct cells;
struct err;
struct view;

enum { UI_DEPTH = 24, UI_TEXT = 256, UI_CRUMB = 64 };

enum ui_key {		/* a key that is no character; the others are themselves */
	UK_UP = 1000, UK_DOWN, UK_PAGE_UP, UK_PAGE_DOWN, UK_HOME, UK_END, UK_LEFT, UK_RIGHT,
	UK_ENTER, UK_BACK, UK_ESC, UK_TAB
};

enum ui_act {		/* what the caller has to do after a key */
	UI_NONE = 0,
	UI_QUIT,
	UI_WRITE,	/* a capture to ui->text */
	UI_STEP		/* show the tick ui->step further; captures only */
};

enum ui_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_WRITE };

struct ui_page {
	enum table_kind kind;
	struct scope scope;		/* filter and hide_idle are filled in by ui */
	size_t sort;
	bool reverse;
	bool locked;			/* sel_id was chosen: follow it, not the place */
	uint64_t sel_id;
	uint32_t sel, top;		/* rows; top: first on the screen */
	char crumb[UI_CRUMB];		/* how it was reached */
};

struct ui_info {			/* the caller's part of the header */
	bool live, playing, ended;
	uint64_t tick, tick_cnt;	/* shown; known so far (captures) */
	const char *source;		/* file name */
	uint64_t kept_ns, kept_bytes;	/* what `w` would write */
};

struct ui {
	struct ui_page pages[UI_DEPTH];
	unsigned depth;			/* of the page shown: 0 the first */
	bool paused, help, notes, hide_idle, has_filter;
	regex_t filter;
	char filter_text[UI_TEXT];
	enum ui_prompt prompt;
	char text[UI_TEXT];		/* being typed */
	char message[UI_TEXT];		/* shown until the next key */
	int step;
	uint32_t page_rows;		/* rows the last ui_render had room for */
	row_vec rows;			/* of the page shown, in order */
};

/* Path of a capture when the user gives none. */
#define UI_WRITE_PATH "heldup-top.capture"

struct ui *ui_new(void);
void ui_free(struct ui *ui);

/* The first page. */
void ui_open(struct ui *ui, enum table_kind kind);

/* -EINVAL: not a regular expression.  "" takes the filter away. */
int ui_filter(struct ui *ui, const char *text, struct err *err);

/* Selects and orders the rows of a new view (or after a change of page). */
void ui_refresh(struct ui *ui, const struct view *v);

/* v is the view last refreshed with; refreshes where that is needed. */
enum ui_act ui_key(struct ui *ui, const struct view *v, int key);

void ui_message(struct ui *ui, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const struct ui_page *ui_page(const struct ui *ui);
const struct table *ui_table(const struct ui *ui);

/* The whole screen, render.c: height lines of width columns. */
void ui_render(struct ui *ui, const struct view *v, const struct ui_info *info, uint32_t width,
	       uint32_t height, struct cells *out);

/* The lines above the table, also for --batch. */
void ui_header(const struct view *v, const struct ui_info *info, bool paused, struct cells *out);

#endif /* UI_H */
