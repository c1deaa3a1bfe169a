/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "ui/cells.h"
#include "ui/ui.h"
#include "ui/view.h"

#if __has_include(<ncurses.h>)

#include <ncurses.h>

enum { PAIR_WARN = VG_CNT + 1 };

struct screen {
	SCREEN *term;
	bool colour;
};

/* A colour of 256, and the one of 8 that stands in for it. */
static const struct {
	short many, few;
} group_colours[VG_CNT] = {
	[VG_RUN] = {40, COLOR_GREEN},	 [VG_RUNQ] = {220, COLOR_YELLOW},
	[VG_LOCK] = {196, COLOR_RED},	 [VG_NET] = {39, COLOR_BLUE},
	[VG_POLL] = {244, COLOR_WHITE},	 [VG_DISK] = {201, COLOR_MAGENTA},
	[VG_MEM] = {208, COLOR_MAGENTA}, [VG_TIMER] = {37, COLOR_CYAN},
	[VG_OTHER] = {250, COLOR_WHITE}, [VG_IDLE] = {240, COLOR_WHITE},
};

static void init_colours(struct screen *s)
{
	bool many;

	if (!s->colour || !has_colors()) {
		s->colour = false;
		return;
	}
	start_color();
	use_default_colors();
	many = COLORS >= 256;
	for (int g = 0; g < VG_CNT; g++)
		init_pair((short)(g + 1), many ? group_colours[g].many : group_colours[g].few, -1);
	init_pair(PAIR_WARN, many ? 214 : COLOR_YELLOW, -1);
}

/* A table is drawn where the cursor can be put: else it would be lines of blanks. */
static bool can_draw(void)
{
	const char *cup = tigetstr("cup");

	return cup && cup != (const char *)-1;
}

int screen_open(bool colour, struct screen **ret_screen, struct err *err)
{
	struct screen *s;
	SCREEN *term;

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return err_set(err, -ENOTTY, "not a terminal: use --batch");
	term = newterm(NULL, stdout, stdin);
	if (!term)
		return err_set(err, -ENOTSUP,
			       "terminal '%s' is not known: set TERM, or use --batch",
			       getenv("TERM") ? getenv("TERM") : "");
	set_term(term);
	if (!can_draw()) {
		delscreen(term);
		return err_set(err, -ENOTSUP,
			       "terminal '%s' cannot draw a table: set TERM, or use --batch",
			       getenv("TERM") ? getenv("TERM") : "");
	}
	s = xcalloc(1, sizeof(*s));
	s->term = term;
	s->colour = colour;
	set_escdelay(50);
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	init_colours(s);
	*ret_screen = s;
	return 0;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	curs_set(1);
	move(LINES - 1, 0); /* where there is no second screen, the prompt comes here */
	clrtoeol();
	refresh();
	endwin();
	delscreen(s->term);
	free(s);
}

void screen_size(const struct screen *s, uint32_t *ret_width, uint32_t *ret_height)
{
	(void)s;
	*ret_width = (uint32_t)(COLS > 0 ? COLS : 80);
	*ret_height = (uint32_t)(LINES > 0 ? LINES : 24);
}

static attr_t attr_of(const struct screen *s, uint8_t look)
{
	switch (look) {
	case LOOK_PLAIN:
		return A_NORMAL;
	case LOOK_BOLD:
		return A_BOLD;
	case LOOK_DIM:
		return A_DIM;
	case LOOK_BAR:
		return A_REVERSE;
	case LOOK_WARN:
		return A_BOLD | (s->colour ? (attr_t)COLOR_PAIR(PAIR_WARN) : 0);
	default:
		return s->colour ? (attr_t)COLOR_PAIR(look - LOOK_GROUP + 1) : A_NORMAL;
	}
}

static void show_line(const struct screen *s, int y, const struct cell_line *line)
{
	move(y, 0);
	for (size_t i = 0; i < line->pieces.cnt; i++) {
		const struct cell_piece *p = &line->pieces.items[i];

		attrset(attr_of(s, p->look) | (line->selected ? A_REVERSE : A_NORMAL));
		addnstr(line->text.data + p->off, (int)p->len);
	}
	attrset(A_NORMAL);
	if ((int)line->width < COLS)
		clrtoeol();
}

void screen_show(struct screen *s, const struct cells *c)
{
	int y = 0;

	for (; y < LINES && (size_t)y < c->cnt; y++)
		show_line(s, y, &c->lines.items[y]);
	move(y < LINES ? y : LINES - 1, 0);
	if (y < LINES)
		clrtobot();
	refresh();
}

int screen_key(struct screen *s)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{KEY_UP, UK_UP},	 {KEY_DOWN, UK_DOWN},	   {KEY_PPAGE, UK_PAGE_UP},
		{KEY_NPAGE, UK_PAGE_DOWN}, {KEY_HOME, UK_HOME},	   {KEY_END, UK_END},
		{KEY_LEFT, UK_LEFT},	 {KEY_RIGHT, UK_RIGHT},	   {KEY_ENTER, UK_ENTER},
		{'\r', UK_ENTER},	 {'\n', UK_ENTER},	   {KEY_BACKSPACE, UK_BACK},
		{127, UK_BACK},		 {8, UK_BACK},		   {27, UK_ESC},
		{'\t', UK_TAB},
	};
	int key;

	(void)s;
	do
		key = getch();
	while (key == KEY_RESIZE);
	if (key == ERR)
		return 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return key < 256 ? key : 0;
}

#else

int screen_open(bool colour, struct screen **ret_screen, struct err *err)
{
	(void)colour;
	(void)ret_screen;
	return err_set(err, -ENOTSUP, "built without ncurses: use --batch");
}

void screen_close(struct screen *s)
{
	(void)s;
}

void screen_size(const struct screen *s, uint32_t *ret_width, uint32_t *ret_height)
{
	(void)s;
	*ret_width = 80;
	*ret_height = 24;
}

void screen_show(struct screen *s, const struct cells *c)
{
	(void)s;
	(void)c;
}

int screen_key(struct screen *s)
{
	(void)s;
	return 0;
}

#endif
