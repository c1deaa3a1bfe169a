/* SPDX-License-Identifier: Apache-2.0 */
/* The findings that heldup serve keeps. */
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/kept/kept.h"
#include "cli/opts/cmd.h"
#include "report/lines/pen.h"
#include "serve/keep/db.h"
#include "serve/keep/status.h"

struct log_opts {
	struct kept_opts kept;
	const char *since, *service;
	int64_t rows;
};

struct printing {
	struct pen pen;
	uint64_t now_ns, cnt;
};

static void each_text(void *ctx, const struct db_finding *f)
{
	struct printing *p = ctx;

	p->cnt++;
	kept_finding_text(f, p->now_ns, &p->pen);
}

static int print(const struct log_opts *o, struct db *db, const struct db_filter *filter)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct printing p = {.now_ns = clock_real_ns()};
	struct json j;
	int rc;

	if (o->kept.output.json) {
		json_init(&j, &out, JSON_PRETTY);
		json_obj(&j);
		rc = status_log_json(db, filter, &j);
		json_obj_end(&j);
		json_finish(&j);
	} else {
		p.pen = output_pen(&o->kept.output, &out, 100);
		rc = db_findings(db, filter, each_text, &p);
		if (!p.cnt)
			buf_adds(&out, "no findings\n");
	}
	output_print(&o->kept.output, &out);
	return rc;
}

static int log_main(struct cli *cli, int argc, char **argv)
{
	const struct log_opts *o = cli->opts;
	struct db_filter filter = {.service = o->service, .max_cnt = (uint32_t)o->rows};
	struct err err = {0};
	struct db *db = NULL;
	int rc = o->since ? kept_time_parse(o->since, clock_real_ns(), &filter.since_ns, &err) : 0;

	(void)argc;
	(void)argv;
	if (rc == 0)
		rc = kept_open(o->kept.state, &db, &err);
	if (rc == 0) {
		rc = print(o, db, &filter);
		if (rc < 0)
			err_errno(&err, rc, "read what is kept in '%s'", o->kept.state);
	}
	db_close(db);
	return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt log_opt_table[] = {
	{.type = OPT_STRING, .long_name = "since", .metavar = "TIME",
	 .help = "show what lasted until then: 03:10, a date, or 90m ago",
	 OPT_AT(struct log_opts, since)},
	{.type = OPT_STRING, .long_name = "service", .metavar = "NAME",
	 .help = "show only services with NAME in their name", OPT_AT(struct log_opts, service)},
	{.type = OPT_INT, .short_name = 'n', .long_name = "rows", .metavar = "N",
	 .help = "show the N newest, 0: all", .def = "20", .min = 0, .max = 1000000,
	 OPT_AT(struct log_opts, rows)},
	OPT_GROUP(kept_opt_table, struct log_opts, kept),
	OPT_END,
};

extern const char embed_log_schema_json[];

const struct cmd cmd_log = {
	.name = "log",
	.help = "list the findings that heldup serve keeps",
	.about = "One finding a trouble, the newest first: when, for how long, which service,\n"
		 "what holds it up, and what was noticed.",
	.examples = "  sudo heldup log                         # the newest 20\n"
		    "  sudo heldup log --since 03:10           # what was wrong since then\n"
		    "  sudo heldup log --service postgres --json",
	.json_schema = embed_log_schema_json,
	.opts = log_opt_table,
	.opts_size = sizeof(struct log_opts),
	.run = log_main,
};
