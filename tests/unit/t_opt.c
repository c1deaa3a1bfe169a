/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/opts/cmd.h"
#include "cli/opts/opt.h"
#include "cli/opts/options.h"
#include "cli/opts/select_opts.h"

struct all_opts {
	struct select_opts select;
	struct window_opts window;
	struct input_opts input;
	struct output_opts output;
	struct baseline_opts baseline;
	struct opt_list sort;
	bool verbose;
};

static const struct opt all_table[] = {
	OPT_GROUP(select_opt_table, struct all_opts, select),
	OPT_GROUP(window_opt_table, struct all_opts, window),
	OPT_GROUP(input_opt_table, struct all_opts, input),
	OPT_GROUP(output_opt_table, struct all_opts, output),
	OPT_GROUP(baseline_opt_table, struct all_opts, baseline),
	{.type = OPT_LIST, .short_name = 's', .long_name = "sort", .metavar = "KEY[,KEY]",
	 .help = "order", OPT_AT(struct all_opts, sort)},
	{.type = OPT_FLAG, .short_name = 'v', .long_name = "verbose", .help = "say more",
	 OPT_AT(struct all_opts, verbose)},
	OPT_END,
};

static struct arena arena;
static struct err err;
static struct opt_parse parse;

/* Splits the line at spaces. */
static int parse_line(const char *line, struct all_opts *o)
{
	char *copy = arena_strdup(&arena, line), *save = NULL;
	char **args = ARENA_ARRAY(&arena, char *, 32);
	int cnt = 0;

	for (char *at = strtok_r(copy, " ", &save); at; at = strtok_r(NULL, " ", &save))
		args[cnt++] = at;
	*o = (struct all_opts){0};
	err = (struct err){0};
	parse = (struct opt_parse){.arena = &arena, .opts = o};
	return opt_parse(all_table, &parse, args, &err);
}

TEST(opt_defaults)
{
	struct all_opts o;

	EQ_I(parse_line("", &o), 0);
	EQ_U(o.window.duration_ns, 10 * NS_PER_SEC);
	EQ_I(o.output.color, COLOR_AUTO);
	OK(select_is_empty(&o.select));
	EQ_I(parse.argc, 0);
	arena_release(&arena);
}

TEST(opt_ways_to_write_a_value)
{
	static const char *const rows[] = {"-d 2s", "-d2s", "--duration 2s", "--duration=2s",
					   "-vd 2s", "-vd2s", "-d 9s -d 2s", "x -d 2s y"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct all_opts o;

		ROW(i);
		EQ_I(parse_line(rows[i], &o), 0);
		EQ_U(o.window.duration_ns, 2 * NS_PER_SEC);
		EQ_I(o.verbose, rows[i][1] == 'v');
	}
	EQ_I(parse.argc, 2);
	EQ_S(parse.argv[1], "y");
	EQ_S(parse.argv[2], NULL);
	arena_release(&arena);
}

TEST(opt_every_kind)
{
	struct all_opts o;

	EQ_I(parse_line("-p 7,8 -p 9 --port 65535 --json --html p.html --color never "
			"-s cpu,io -s lock --baseline b -i - -a --comm ^my.*",
			&o),
	     0);
	EQ_U(o.select.pids.cnt, 3);
	EQ_I(o.select.pids.items[0], 7);
	EQ_I(o.select.pids.items[2], 9);
	EQ_I(o.select.port, 65535);
	EQ_I(o.output.color, COLOR_NEVER);
	OK(o.output.json && o.select.all && !o.verbose);
	EQ_S(o.output.html_path, "p.html");
	EQ_S(o.baseline.path, "b");
	EQ_S(o.input.path, "-");
	EQ_S(o.select.comm, "^my.*");
	EQ_U(o.sort.cnt, 3);
	EQ_S(o.sort.items[1], "io");
	EQ_S(o.sort.items[2], "lock");
	arena_release(&arena);
}

TEST(opt_command_after_dashes)
{
	struct all_opts o;

	EQ_I(parse_line("-v -- sleep -p 1", &o), 0);
	EQ_S(o.select.command[0], "sleep");
	EQ_S(o.select.command[1], "-p");
	EQ_S(o.select.command[3], NULL);
	EQ_U(o.select.pids.cnt, 0);
	EQ_I(parse_line("-v --", &o), 0);
	OK(!o.select.command);
	arena_release(&arena);
}

TEST(opt_errors_are_one_line_that_helps)
{
	static const struct {
		const char *line, *msg;
	} rows[] = {
		{"--durtion 2s", "unknown option '--durtion' (did you mean --duration?)"},
		{"--zzz", "unknown option '--zzz'"},
		{"-Z", "unknown option '-Z'"},
		{"-vZ", "unknown option '-Z'"},
		{"--dur 2s", "unknown option '--dur' (did you mean --duration?)"},
		{"-d", "option '-d' needs TIME"},
		{"--duration", "option '--duration' needs TIME"},
		{"--json=1", "option '--json' takes no value"},
		{"-d x", "-d: 'x' is not a duration (say 10s, 500ms or 2m)"},
		{"-d 0", "-d: '0' is shorter than 10.0 ms"},
		{"-d 9ms", "-d: '9ms' is shorter than 10.0 ms"},
		{"--port 0", "--port: '0' is not between 1 and 65535"},
		{"--port 65536", "--port: '65536' is not between 1 and 65535"},
		{"--port 8o", "--port: '8o' is not a number"},
		{"-p 0", "-p: '0' is not a process id"},
		{"-p 12,", "-p: '' is not a process id"},
		{"-p -1", "-p: '-1' is not a process id"},
		{"-p 99999999999", "-p: '99999999999' is not a process id"},
		{"-p 2147483648", "-p: '2147483648' is not a process id"},
		{"--pid=1x", "--pid: '1x' is not a process id"},
		{"--color blue", "--color: 'blue' is not one of: auto, always, never"},
		{"--comm (", "--comm: '(' is not a regular expression: Unmatched ( or \\("},
		{"--html=", "--html: the value is empty"},
		{"-s a,,b", "-s: 'a,,b' has an empty part"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct all_opts o;

		ROW(i);
		EQ_I(parse_line(rows[i].line, &o), -EINVAL);
		EQ_S(err.msg, rows[i].msg);
		EQ_I(err.kind, ERR_USAGE);
	}
	arena_release(&arena);
}

TEST(opt_too_many_pids)
{
	struct all_opts o;
	struct buf line = {0};

	buf_adds(&line, "-p 1");
	for (int i = 1; i < SELECT_PIDS_MAX; i++)
		buf_adds(&line, ",1");
	EQ_I(parse_line(buf_str(&line), &o), 0);
	EQ_U(o.select.pids.cnt, SELECT_PIDS_MAX);
	buf_adds(&line, ",1");
	EQ_I(parse_line(buf_str(&line), &o), -EINVAL);
	buf_release(&line);
	arena_release(&arena);
}

TEST(select_is_one_way)
{
	static const struct {
		const char *line;
		int code;
	} rows[] = {
		{"", -EINVAL},	  {"-p 1", 0},	{"-a", 0},	  {"-p 1 -a", -EINVAL},
		{"--port 80", 0}, {"-u x", 0},	{"-g x -u y", -EINVAL}, {"-- true", 0},
		{"--comm x -- true", -EINVAL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct all_opts o;

		ROW(i);
		EQ_I(parse_line(rows[i].line, &o), 0);
		EQ_I(select_check(&o.select, &err), rows[i].code);
	}
	arena_release(&arena);
}

TEST(opt_help_shows_each_option_on_lines_of_at_most_80)
{
	struct buf out = {0};

	opt_help(all_table, 0, &out);
	HAS(buf_str(&out), "  -d, --duration TIME     watch for so long");
	HAS(buf_str(&out), "(default 10s)\n");
	HAS(buf_str(&out), "\n  -- CMD ARGS             start this command and watch it\n");
	HAS(buf_str(&out), "\n      --json              print JSON\n");
	for (const char *at = buf_str(&out); *at; at += strcspn(at, "\n") + 1)
		OK(strcspn(at, "\n") <= 80);
	buf_release(&out);
}

static void help_is_short(void *ctx, const struct opt *o)
{
	if (o->help && strlen(o->help) > OPT_HELP_MAX)
		FAIL("%s: help of %zu characters: %s", (const char *)ctx, strlen(o->help), o->help);
}

TEST(opt_helps_are_short)
{
	for (size_t i = 0; commands[i]; i++) {
		OK(strlen(commands[i]->help) <= OPT_HELP_MAX);
		opt_each(commands[i]->opts, help_is_short, (void *)commands[i]->name);
	}
}

TEST(color_follows_option_then_environment)
{
	static const struct {
		int when;
		const char *no_color, *force;
		bool want;
	} rows[] = {
		{COLOR_ALWAYS, "1", NULL, true}, {COLOR_NEVER, NULL, "1", false},
		{COLOR_AUTO, NULL, NULL, false}, {COLOR_AUTO, NULL, "1", true},
		{COLOR_AUTO, "1", "1", false},	 {COLOR_AUTO, "", "1", true},
		{COLOR_AUTO, NULL, "0", false},
	};
	FILE *file = tmpfile();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct output_opts o = {.color = rows[i].when};

		ROW(i);
		unsetenv("NO_COLOR");
		unsetenv("CLICOLOR_FORCE");
		if (rows[i].no_color)
			setenv("NO_COLOR", rows[i].no_color, 1);
		if (rows[i].force)
			setenv("CLICOLOR_FORCE", rows[i].force, 1);
		EQ_I(output_has_color(&o, file), rows[i].want);
	}
	fclose(file);
}
