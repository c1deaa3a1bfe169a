/* SPDX-License-Identifier: Apache-2.0 */
/* One finding that heldup serve keeps, and all that why shows of its capture. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/kept/kept.h"
#include "cli/opts/cmd.h"
#include "cli/opts/dispatch.h"
#include "report/lines/pen.h"
#include "serve/keep/db.h"
#include "serve/judge.h"
#include "serve/keep/status.h"
#include "store/cut.h"

struct show_opts {
	struct kept_opts kept;
	const char *html_path;
	bool verbose;
};

static int id_parse(const char *text, uint64_t *ret, struct err *err)
{
	char *end;
	unsigned long long id;

	if (!text)
		return err_usage(err, "give the number of a finding: heldup log lists them");
	id = strtoull(text, &end, 10);
	if (*end || !id || *text == '-')
		return err_usage(err, "'%s' numbers no finding: heldup log lists them", text);
	*ret = id;
	return 0;
}

static void print_finding(const struct show_opts *o, const struct db_finding *f)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct json j;

	if (o->kept.output.json) {
		json_init(&j, &out, JSON_PRETTY);
		json_obj(&j);
		json_kstr(&j, "schema", "heldup/show/1");
		status_finding_json(f, &j);
		json_obj_end(&j);
		json_finish(&j);
	} else {
		struct pen pen = output_pen(&o->kept.output, &out, 100);

		kept_finding_text(f, clock_real_ns(), &pen);
		if (f->capture_bytes)
			pen_nl(&pen);
	}
	output_print(&o->kept.output, &out);
	fflush(stdout);
}

/* All that heldup why shows of the finding's capture, of the time that was judged. */
static int why(const struct show_opts *o, const struct db_finding *f)
{
	const struct cut_time time = {f->judged_from_ns, f->judged_until_ns};
	char capture[4096], arg_i[] = "-i", arg_v[] = "--verbose", arg_html[] = "--html";
	char *args[6 + JUDGE_TIME_ARGS] = {arg_i, judge_path(o->kept.state, f->id, JUDGE_CAPTURE,
							     capture, sizeof(capture))};
	struct judge_time room;
	unsigned cnt = 2 + judge_time_args(&time, &room, args + 2);

	if (o->verbose)
		args[cnt++] = arg_v;
	if (o->html_path) {
		args[cnt++] = arg_html;
		args[cnt++] = (char *)(uintptr_t)o->html_path;
	}
	return cmd_run(cmd_find("why"), args);
}

static int show_main(struct cli *cli, int argc, char **argv)
{
	const struct show_opts *o = cli->opts;
	struct db_finding f = {0};
	struct err err = {0};
	struct db *db = NULL;
	uint64_t id = 0;
	int rc = id_parse(argc ? argv[0] : NULL, &id, &err);

	if (rc == 0)
		rc = kept_open(o->kept.state, &db, &err);
	if (rc == 0) {
		rc = db_finding(db, id, &f);
		if (rc < 0)
			err_set(&err, rc, "there is no finding %llu: heldup log lists them",
				(unsigned long long)id);
	}
	db_close(db);
	if (rc < 0)
		return cli_fail(cli, &err);
	print_finding(o, &f);
	if (o->kept.output.json || !f.capture_bytes)
		return CLI_OK;
	return why(o, &f);
}

static const struct opt show_opt_table[] = {
	{.type = OPT_STRING, .long_name = "html", .metavar = "FILE",
	 .help = "write the page of heldup why, too", OPT_AT(struct show_opts, html_path)},
	{.type = OPT_FLAG, .short_name = 'v', .long_name = "verbose",
	 .help = "print the tables behind the verdict, too", OPT_AT(struct show_opts, verbose)},
	OPT_GROUP(kept_opt_table, struct show_opts, kept),
	OPT_END,
};

extern const char embed_show_schema_json[];

const struct cmd cmd_show = {
	.name = "show",
	.help = "show a finding that heldup serve keeps, with its capture",
	.args = "N",
	.about = "Prints what was noticed and, from the capture that was kept, all that\n"
		 "`heldup why` prints. With --json the finding alone.",
	.examples = "  sudo heldup show 12               # as heldup log numbers them\n"
		    "  sudo heldup show 12 --html a.html # and its page",
	.json_schema = embed_show_schema_json,
	.opts = show_opt_table,
	.opts_size = sizeof(struct show_opts),
	.max_args = 1,
	.run = show_main,
};
