/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `heldup top`: views of src/ui on a terminal, or as text.
 *
 * The terminal loop sleeps in poll on the keyboard, the feed and the stop
 * signal; it draws after each of them.  A capture has no feed to poll: there
 * the clock gives a tick a second while it plays.
 */
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "cli/opts/cmd.h"
#include "cli/files/file_kind.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/options.h"
#include "cli/opts/select_opts.h"
#include "collect/source.h"
#include "ui/cells.h"
#include "ui/feed.h"
#include "ui/screen.h"
#include "ui/ui.h"
#include "ui/view.h"

/* Batches and tables of this size go back to the system when they are dropped. */
enum { BIG_BYTES = 256 << 10 };

enum { BATCH_COLUMNS = 132, COLUMNS_MIN = 40, COLUMNS_MAX = 1000, INTERVAL_MIN_MS = 100 };

struct top_opts {
	struct select_opts select;
	struct input_opts input;
	struct output_opts output;
	uint64_t interval_ns;
	int64_t ticks, rows, columns;
	int view;
	const char *sort, *filter;
	bool batch, reverse, hide_idle;
};

struct top {
	const struct top_opts *opts;
	struct feed *feed;
	struct ui *ui;
	struct view *view;
	struct cells cells;
	bool has_view;
};

static const char *const view_names[] = {"threads", "resources", "processes", "pairs", NULL};

static const struct opt top_opt_table[] = {
	OPT_GROUP(select_opt_table, struct top_opts, select),
	OPT_GROUP(input_opt_table, struct top_opts, input),
	{.type = OPT_DURATION, .short_name = 's', .long_name = "interval", .metavar = "TIME",
	 .help = "set the length of a tick", .def = "1s", OPT_AT(struct top_opts, interval_ns)},
	{.type = OPT_CHOICE, .long_name = "view", .metavar = "VIEW",
	 .help = "begin with this page", .def = "threads", .choices = view_names,
	 OPT_AT(struct top_opts, view)},
	{.type = OPT_STRING, .long_name = "sort", .metavar = "COLUMN",
	 .help = "sort by the column of this title",
	 OPT_AT(struct top_opts, sort)},
	{.type = OPT_FLAG, .short_name = 'r', .long_name = "reverse",
	 .help = "sort the other way round", OPT_AT(struct top_opts, reverse)},
	{.type = OPT_STRING, .long_name = "filter", .metavar = "RE",
	 .help = "show only rows whose names match", OPT_AT(struct top_opts, filter)},
	{.type = OPT_FLAG, .long_name = "hide-idle",
	 .help = "hide threads that neither ran nor woke in the tick",
	 OPT_AT(struct top_opts, hide_idle)},
	{.type = OPT_FLAG, .short_name = 'b', .long_name = "batch",
	 .help = "print ticks as text (default without a terminal)",
	 OPT_AT(struct top_opts, batch)},
	{.type = OPT_INT, .short_name = 'n', .long_name = "ticks", .metavar = "N",
	 .help = "end after N ticks, 0: never", .def = "0",
	 OPT_AT(struct top_opts, ticks)},
	{.type = OPT_INT, .long_name = "rows", .metavar = "N",
	 .help = "with --batch: print at most N rows, 0: all", .def = "0",
	 OPT_AT(struct top_opts, rows)},
	{.type = OPT_INT, .long_name = "columns", .metavar = "N",
	 .help = "with --batch: set the width, 0: $COLUMNS or 132", .def = "0",
	 OPT_AT(struct top_opts, columns)},
	OPT_GROUP(color_opt_table, struct top_opts, output),
	OPT_END,
};

static struct ui_info info_of(struct top *t)
{
	struct feed_state s = feed_state(t->feed);

	return (struct ui_info){
		.live = s.live,
		.ended = s.ended,
		.tick = s.tick,
		.tick_cnt = s.tick_cnt,
		.source = t->opts->input.path,
		.kept_ns = s.kept_ns,
		.kept_bytes = s.kept_bytes,
	};
}

static uint32_t batch_columns(const struct top_opts *opts)
{
	const char *env = getenv("COLUMNS");
	long n = opts->columns ? (long)opts->columns : env ? strtol(env, NULL, 10) : BATCH_COLUMNS;

	return (uint32_t)(n < COLUMNS_MIN ? BATCH_COLUMNS : n > COLUMNS_MAX ? COLUMNS_MAX : n);
}

static void print_tick(struct top *t)
{
	const struct ui_page *p = ui_page(t->ui);
	const struct table *table = ui_table(t->ui);
	struct ui_info info = info_of(t);
	size_t cnt;
	struct buf out = {0};

	ui_refresh(t->ui, t->view);
	cnt = t->ui->rows.cnt;
	if (t->opts->rows && (size_t)t->opts->rows < cnt)
		cnt = (size_t)t->opts->rows;
	cells_begin(&t->cells, batch_columns(t->opts));
	t->cells.fold = 1;
	ui_header(t->view, &info, false, &t->cells);
	table_head(table, p->sort, p->reverse, &t->cells);
	for (size_t i = 0; i < cnt; i++)
		table_row(table, t->view, t->ui->rows.items[i], false, &t->cells);
	cells_text(&t->cells, &out);
	if (cnt < t->ui->rows.cnt)
		buf_printf(&out, "... %zu rows more\n", t->ui->rows.cnt - cnt);
	buf_addch(&out, '\n');
	fputs(buf_str(&out), stdout);
	fflush(stdout);
	buf_release(&out);
}

static void wait_feed(struct top *t, int timeout_ms)
{
	struct pollfd fds[2] = {
		{.fd = feed_fd(t->feed), .events = POLLIN},
		{.fd = stop_fd(), .events = POLLIN},
	};

	poll(fds, 2, timeout_ms);
}

/* One more tick: 1 there is one, 0 the end, <0 failed. */
static int next_tick(struct top *t, struct err *err)
{
	struct feed_state s = feed_state(t->feed);
	int rc;

	if (!s.live) {
		rc = t->has_view && s.ended ? 0 : feed_step(t->feed, 1, err);
		return rc <= 0 ? rc : feed_take(t->feed, &t->view);
	}
	for (;;) {
		if (feed_take(t->feed, &t->view))
			return 1;
		s = feed_state(t->feed);
		if (s.failed)
			feed_error(t->feed, err);
		if (s.ended)
			return s.failed ? -EIO : feed_take(t->feed, &t->view);
		wait_feed(t, 1000);
		if (stop_requested())
			return 0;
	}
}

static int run_batch(struct top *t, struct err *err)
{
	int rc = 1;

	for (int64_t n = 0; t->opts->ticks == 0 || n < t->opts->ticks; n++) {
		rc = next_tick(t, err);
		if (rc <= 0 || stop_requested())
			break;
		t->has_view = true;
		print_tick(t);
		if (ferror(stdout))
			break;
	}
	return rc < 0 ? rc : 0;
}

static void write_capture(struct top *t)
{
	struct err err = {0};

	if (feed_write(t->feed, t->ui->text, &err) < 0)
		ui_message(t->ui, "not written: %s", err.msg);
	else
		ui_message(t->ui, "written: heldup why -i %s", t->ui->text);
}

static int step(struct top *t, int64_t by, struct err *err)
{
	int rc;

	if (feed_state(t->feed).live) {
		ui_message(t->ui, "only a capture (-i FILE) can be moved in");
		return 0;
	}
	rc = feed_step(t->feed, by, err);
	if (rc > 0 && feed_take(t->feed, &t->view))
		ui_refresh(t->ui, t->view);
	t->has_view |= rc > 0;
	return rc < 0 ? rc : 0;
}

/* All keys typed so far: 1 go on, 0 quit, <0 failed. */
static int take_keys(struct top *t, struct screen *screen, struct err *err)
{
	int key, rc;

	while ((key = screen_key(screen)) != 0) {
		switch (ui_key(t->ui, t->view, key)) {
		case UI_QUIT:
			return 0;
		case UI_WRITE:
			write_capture(t);
			break;
		case UI_STEP:
			t->ui->paused = !feed_state(t->feed).live;
			rc = step(t, t->ui->step, err);
			if (rc < 0)
				return rc;
			break;
		case UI_NONE:
			break;
		}
	}
	return 1;
}

static void show(struct top *t, struct screen *screen)
{
	struct ui_info info = info_of(t);
	uint32_t width, height;

	screen_size(screen, &width, &height);
	if (!t->has_view) {
		cells_begin(&t->cells, width);
		cells_line(&t->cells);
		cells_put(&t->cells, LOOK_BOLD, 0, 0, "heldup top: waiting for the first tick");
	} else {
		ui_render(t->ui, t->view, &info, width, height, &t->cells);
	}
	screen_show(screen, &t->cells);
}

/* Takes the newest view (live) or plays on (capture); false: the source failed. */
static bool advance(struct top *t, uint64_t *next_ns, struct err *err)
{
	struct feed_state s = feed_state(t->feed);

	if (!s.live) {
		uint64_t now = clock_mono_ns();

		if (t->ui->paused || now < *next_ns)
			return true;
		*next_ns = now + t->opts->interval_ns;
		return s.ended && t->has_view ? true : step(t, 1, err) == 0;
	}
	if (s.failed)
		feed_error(t->feed, err);
	if (!t->ui->paused && feed_take(t->feed, &t->view)) {
		t->has_view = true;
		ui_refresh(t->ui, t->view);
	}
	return !s.failed;
}

static void wait_any(struct top *t, uint64_t next_ns)
{
	bool live = feed_fd(t->feed) >= 0;
	struct pollfd fds[3] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = stop_fd(), .events = POLLIN},
		{.fd = live && !t->ui->paused && !feed_state(t->feed).ended ? feed_fd(t->feed) : -1,
		 .events = POLLIN},
	};
	uint64_t now = clock_mono_ns();
	int timeout_ms = live || t->ui->paused ? 5000 : 0;

	if (!timeout_ms)
		timeout_ms = next_ns > now ? (int)((next_ns - now) / NS_PER_MS) + 1 : 1;
	if (!live && feed_state(t->feed).ended && t->has_view)
		timeout_ms = 5000;
	if (poll(fds, 3, timeout_ms) > 0 && fds[0].revents & (POLLHUP | POLLERR))
		stop_now(); /* the terminal went away */
}

static int run_screen(struct top *t, struct screen *screen, struct err *err)
{
	uint64_t next_ns = 0;
	int rc = 1;

	while (rc > 0 && !stop_requested()) {
		if (!advance(t, &next_ns, err))
			return -EIO;
		show(t, screen);
		wait_any(t, next_ns);
		if (t->has_view)
			rc = take_keys(t, screen, err);
		else if (screen_key(screen) == 'q')
			break;
		if (t->opts->ticks && feed_state(t->feed).tick + 1 >= (uint64_t)t->opts->ticks)
			break;
	}
	return rc < 0 ? rc : 0;
}

static int set_up(struct top *t, struct err *err)
{
	const struct top_opts *o = t->opts;
	struct ui_page *p = &t->ui->pages[0];
	int col;

	ui_open(t->ui, (enum table_kind)o->view);
	t->ui->hide_idle = o->hide_idle;
	p->reverse = o->reverse;
	if (o->sort) {
		col = table_col_by_title(ui_table(t->ui), o->sort);
		if (col < 0)
			return err_usage(err, "--sort %s: no such column in %s", o->sort,
					 view_names[o->view]);
		p->sort = (size_t)col;
	}
	if (o->interval_ns < INTERVAL_MIN_MS * NS_PER_MS)
		return err_usage(err, "--interval: at least %d ms", INTERVAL_MIN_MS);
	return o->filter ? ui_filter(t->ui, o->filter, err) : 0;
}

extern const struct cmd cmd_top; /* below */

static int open_feed(struct top *t, struct err *err)
{
	const struct top_opts *o = t->opts;
	struct watch_opts watch = {.select = &o->select, .cmdline = "heldup top",
				   .tick_ns = o->interval_ns,
				   .keep = file_rights_of_outputs(&cmd_top, o) |
					   file_rights_of_path(UI_WRITE_PATH)};
	struct source *src;
	int rc;

	if (o->input.path)
		return feed_file(o->input.path, &t->feed, err) < 0
			       ? file_kind_say(o->input.path, FILE_CAPTURE, err) : 0;
	rc = select_check(&o->select, err);
	if (rc == 0)
		rc = source_live(&watch, &src, err);
	if (rc == 0)
		t->feed = feed_live(src);
	return rc;
}

static int top_loop(struct top *t, struct err *err)
{
	struct screen *screen;
	int rc;

	if (t->opts->batch || !isatty(STDOUT_FILENO))
		return run_batch(t, err);
	rc = screen_open(output_has_color(&t->opts->output, stdout), &screen, err);
	if (rc < 0)
		return rc;
	rc = run_screen(t, screen, err);
	screen_close(screen);
	return rc;
}

static int top_run(struct cli *cli, int argc, char **argv)
{
	struct top_opts *o = cli->opts;
	struct top t = {.opts = o};
	struct err err = {0};
	int rc;

	setlocale(LC_CTYPE, "");
	mallopt(M_MMAP_THRESHOLD, BIG_BYTES);
	t.ui = ui_new();
	t.view = view_new();
	rc = select_words(&o->select, argc, argv, &cli->arena, &err);
	if (rc == 0)
		rc = set_up(&t, &err);
	if (rc == 0)
		rc = open_feed(&t, &err);
	if (rc == 0)
		rc = top_loop(&t, &err);
	feed_free(t.feed);
	view_free(t.view);
	ui_free(t.ui);
	cells_release(&t.cells);
	return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

const struct cmd cmd_top = {
	.name = "top",
	.help = "show live what threads wait for and who wakes them",
	.about = "Shows each second the threads of the selected processes with the share of time\n"
		 "in each state, the resources they wait on, and who ends the waits.  Enter goes\n"
		 "from a thread to its waits, to the resource, to the thread that wakes it.\n"
		 "Where the output is no terminal, or with --batch, each tick is printed as text.",
	.examples = "  heldup top -p 1234                       # one process\n"
		    "  heldup top --port 3306 --view resources  # what its server waits on\n"
		    "  heldup top -i capture                    # a recording, tick by tick\n"
		    "  heldup top -p 1234 -b -n 5 --rows 10     # five ticks as text",
	.args = "[PID | NAME | -- COMMAND ...]",
	.opts = top_opt_table,
	.opts_size = sizeof(struct top_opts),
	.max_args = SELECT_WORDS_MAX,
	.run = top_run,
};
