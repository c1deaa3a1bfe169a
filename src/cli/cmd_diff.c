/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two findings, times or captures: their verdicts, and what differs, as `heldup why
 * --baseline` has it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/files/file_answers.h"
#include "cli/kept/kept.h"
#include "cli/kept/past.h"
#include "cli/opts/cmd.h"
#include "cli/opts/file_rights.h"
#include "cli/watch/run.h"
#include "collect/select.h"
#include "report/answer.h"
#include "report/answer/answer_diff.h"
#include "report/lines/pen.h"
#include "serve/judge.h"
#include "serve/keep/db.h"
#include "verdict/verdict.h"

#define TIME_NS (60 * NS_PER_SEC) /* of a time without an end */

struct diff_opts {
	struct kept_opts kept;
	const char *service;
	bool verbose;
};

enum side_kind { SIDE_FILE, SIDE_FINDING, SIDE_TIME };

struct side {
	const char *word;	/* as it was given */
	enum side_kind kind;
	const char *of;
	struct cut_time time;
	struct past past;
	struct run run;
};

static void side_release(struct side *s)
{
	run_release(&s->run);
	past_release(&s->past);
}

static int finding_side(const struct diff_opts *o, struct side *s, struct cli *cli,
			struct err *err)
{
	uint64_t id = strtoull(s->word, NULL, 10);
	struct db_finding f = {0};
	struct db *db = NULL;
	int rc = kept_open(o->kept.state, &db, err);

	if (rc < 0)
		return rc;
	rc = db_finding(db, id, &f);
	db_close(db);
	if (rc < 0)
		return err_set(err, rc, "there is no finding %s: heldup log lists them", s->word);
	if (!f.capture_bytes)
		return err_set(err, -ENODATA, "finding %s has no capture any more", s->word);
	judge_path(o->kept.state, id, JUDGE_CAPTURE, s->past.path, sizeof(s->past.path));
	s->time = (struct cut_time){f.judged_from_ns, f.judged_until_ns};
	s->of = arena_printf(&cli->arena, "finding %s of %s", s->word, f.service);
	return 0;
}

/* "03:10", a minute from then on, or "03:10..03:12". */
static int time_parse(struct side *s, struct cli *cli, struct err *err)
{
	const char *dots = strstr(s->word, "..");
	const char *from = dots ? arena_strndup(&cli->arena, s->word, (size_t)(dots - s->word))
				: s->word;
	uint64_t now = clock_real_ns();
	int rc = kept_time_parse(from, now, &s->time.from_ns, err);

	s->time.until_ns = s->time.from_ns + TIME_NS;
	if (rc == 0 && dots)
		rc = kept_time_parse(dots + 2, now, &s->time.until_ns, err);
	if (rc == 0 && s->time.until_ns <= s->time.from_ns)
		rc = err_usage(err, "'%s' ends before it begins", s->word);
	if (rc < 0 && !dots)
		return err_usage(err, "'%s' is no finding's number, no time (03:10, 03:10..03:12, "
				      "5min) and no file", s->word);
	return rc;
}

static int time_find(const struct diff_opts *o, struct side *s, struct cli *cli, struct err *err)
{
	const struct past_opts past = {.since = s->word, .state = o->kept.state};
	const struct select_opts select = {.comm = o->service};
	int rc = past_find(&past, &select, &s->time, &cli->arena, &s->past, err);

	s->of = s->past.from;
	return rc;
}

static int side_of(const struct diff_opts *o, struct side *s, struct cli *cli, struct err *err)
{
	if (s->word[strspn(s->word, "0123456789")] == '\0') {
		s->kind = SIDE_FINDING;
		return finding_side(o, s, cli, err);
	}
	if (file_answers(s->word, err) < 0)
		return err->code;
	if (access(s->word, F_OK) == 0) {
		s->kind = SIDE_FILE;
		snprintf(s->past.path, sizeof(s->past.path), "%s", s->word);
		s->of = s->word;
		return 0;
	}
	s->kind = SIDE_TIME;
	return time_parse(s, cli, err);
}

static int run_side(struct side *s, struct cli *cli, struct err *err)
{
	int rc = run_file(s->past.path, &s->time, &cli->arena, &s->run, err);

	if (s->kind == SIDE_TIME) {
		const char *of = s->of;

		past_release(&s->past);
		s->of = of;
	}
	return rc;
}

/*
 * What heldup serve has in memory is in one file, for one asker at a time: of two times the
 * first is read before the second is asked for.  Rights go once nobody need be asked.
 */
static int sides_run(const struct diff_opts *o, struct side s[2], struct cli *cli, struct err *err)
{
	char *paths[] = {s[0].past.path, s[1].past.path, NULL};
	int first = s[0].kind == SIDE_TIME ? 0 : 1, other = 1 - first, rc = 0;

	if (s[first].kind == SIDE_TIME)
		rc = time_find(o, &s[first], cli, err);
	if (rc == 0 && s[other].kind == SIDE_TIME) {
		rc = run_side(&s[first], cli, err);
		if (rc == 0)
			rc = time_find(o, &s[other], cli, err);
	}
	if (rc == 0)
		rc = file_rights_drop(paths, paths, err);
	for (int i = 0; i < 2 && rc == 0; i++)
		if (!s[i].run.model)
			rc = run_side(&s[i], cli, err);
	return rc;
}

static struct answer answer_of(struct side *s, const struct run *base, struct cli *cli)
{
	struct answer a = {.model = s->run.model, .waits = s->run.waits, .arena = &cli->arena};
	struct verdict *v = verdict_make(s->run.model, s->run.waits, base ? base->model : NULL,
					 base ? base->waits : NULL, &cli->arena);

	a.verdict = v;
	a.when = past_say(&s->run, &s->time, NULL, v, &cli->arena);
	return a;
}

static void print(const struct diff_opts *o, struct side s[2], struct cli *cli)
{
	CLEANUP(buf_release) struct buf out = {0};
	const struct answer a = answer_of(&s[0], NULL, cli), b = answer_of(&s[1], &s[0].run, cli);
	const struct answer_side sa = {&a, s[0].of}, sb = {&b, s[1].of};

	if (o->kept.output.json) {
		answer_diff_json(&sa, &sb, &out);
	} else {
		struct pen pen = output_pen(&o->kept.output, &out, 100);

		answer_diff_text(&sa, &sb, o->verbose, &pen);
	}
	output_print(&o->kept.output, &out);
}

static int diff_main(struct cli *cli, int argc, char **argv)
{
	const struct diff_opts *o = cli->opts;
	struct side s[2] = {{0}, {0}};
	struct err err = {0};
	int rc = argc == 2 ? 0 : err_usage(&err, "give two findings, times or captures: heldup "
						 "diff 3 7");

	for (int i = 0; i < 2 && rc == 0; i++) {
		s[i].word = argv[i];
		rc = side_of(o, &s[i], cli, &err);
	}
	if (rc == 0)
		rc = sides_run(o, s, cli, &err);
	if (rc == 0)
		print(o, s, cli);
	side_release(&s[0]);
	side_release(&s[1]);
	return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt diff_opt_table[] = {
	{.type = OPT_STRING, .long_name = "service", .metavar = "NAME",
	 .help = "of this service, where A or B is a time", OPT_AT(struct diff_opts, service)},
	{.type = OPT_FLAG, .short_name = 'v', .long_name = "verbose",
	 .help = "print all that differs", OPT_AT(struct diff_opts, verbose)},
	OPT_GROUP(kept_opt_table, struct diff_opts, kept),
	OPT_END,
};

extern const char embed_diff_schema_json[];

const struct cmd cmd_diff = {
	.name = "diff",
	.help = "compare two findings, times or captures",
	.args = "A B",
	.about = "A and B are numbers of findings that heldup serve keeps, times (03:10 is the\n"
		 "minute from then on, 03:10..03:12, 5min ago) or captures.  Prints the requests\n"
		 "and the verdict of both, and what differs: answer times, what their time went\n"
		 "into, what was waited for, functions.",
	.examples = "  sudo heldup diff 3 7                          # two findings\n"
		    "  sudo heldup diff 03:10..03:12 04:10..04:12 --service web\n"
		    "  heldup diff good.cap slow.cap                 # two captures",
	.json_schema = embed_diff_schema_json,
	.opts = diff_opt_table,
	.opts_size = sizeof(struct diff_opts),
	.max_args = 2,
	.run = diff_main,
};
