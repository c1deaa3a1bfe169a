/* SPDX-License-Identifier: Apache-2.0 */
/* Prints, as `heldup` without arguments does, the services now, and the last findings. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/json.h"
#include "cli/kept/kept.h"
#include "cli/kept/request_table.h"
#include "cli/opts/cmd.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"
#include "serve/keep/db.h"
#include "serve/serve.h"
#include "serve/keep/status.h"

#define REQUESTS_SHOWN 8

struct status_opts {
	struct kept_opts kept;
};

static void print_services(const struct status *st, struct pen *pen)
{
	static const struct column columns[] = {
		{"service", 0, 24}, {"state", 0, 0},  {"since", 0, 0}, {"answers/s", 1, 0},
		{"p50", 1, 0},	    {"p99", 1, 0},    {"open", 1, 0},  {"held up by", 0, 0},
	};
	struct table t;
	char since[KEPT_TIME_LEN], p50[FMT_MAX], p99[FMT_MAX], cnt[FMT_MAX];

	table_init(&t, columns, sizeof(columns) / sizeof(*columns));
	VEC_FOREACH(&st->services, s) {
		const struct db_finding *f = status_open(st, s->name);

		table_cell(&t, "%s", s->name);
		table_cell(&t, "%s", status_state(st, s));
		table_cell(&t, "%s", f ? kept_time(f->begin_ns, st->now_ns, since) : "");
		table_cell(&t, "%s", fmt_count(cnt, s->answer_cnt));
		table_cell(&t, "%s", s->p50_ns ? fmt_ns(p50, s->p50_ns) : "");
		table_cell(&t, "%s", s->p99_ns ? fmt_ns(p99, s->p99_ns) : "");
		table_cell(&t, "%llu", (unsigned long long)s->open_cnt);
		table_cell(&t, "%s", f ? *f->title ? f->title : f->reason : s->what);
	}
	table_print(&t, pen, "Services", 0);
	table_release(&t);
}

/* The types with the most requests. */
static void print_requests(const struct status *st, struct pen *pen)
{
	uint32_t cnt;

	pen_nl(pen);
	cnt = request_table_print(&st->requests, REQUEST_WINDOW * NS_PER_SEC, REQUESTS_SHOWN,
				  "Requests of the last five minutes, from spans", pen);
	if (cnt > REQUESTS_SHOWN) {
		pen_fmt(pen, PEN_DIM, "%u types more: heldup requests --since 5m",
			cnt - REQUESTS_SHOWN);
		pen_nl(pen);
	}
}

/* "heldup serve costs 0.8 % of a CPU, 41.0 MiB and 12.0 MiB of the kernel's" */
static void print_cost(const struct status *st, struct pen *pen)
{
	uint64_t since = status_fact(st, "since_ns"), now = status_fact(st, "now_ns");
	uint64_t cpu = status_fact(st, "watch_cpu_ns") + status_fact(st, "bpf_cpu_ns") +
		       status_fact(st, "keep_cpu_ns") + status_fact(st, "judge_cpu_ns");
	char share[FMT_MAX], memory[FMT_MAX], maps[FMT_MAX];

	if (!st->runs || now <= since)
		return;
	pen_fmt(pen, PEN_DIM, "heldup serve costs %s of a CPU, %s, and %s of the kernel's",
		fmt_share(share, (double)cpu / (double)(now - since)),
		fmt_bytes(memory, status_fact(st, "memory_bytes")),
		fmt_bytes(maps, status_fact(st, "map_bytes")));
	VEC_FOREACH(&st->facts, f)
		if (f->value && (strncmp(f->name, "lost_", 5) == 0 ||
				 strncmp(f->name, "left_out_", 9) == 0 ||
				 strncmp(f->name, "refused_", 8) == 0))
			pen_fmt(pen, PEN_DIM, "; %s: %llu", f->name, (unsigned long long)f->value);
	pen_nl(pen);
}

static void print_text(const struct status *st, const struct kept_opts *o)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct pen pen = output_pen(&o->output, &out, 110);
	size_t cnt = 0;

	if (!st->runs)
		pen_text(&pen, PEN_BAD, "heldup serve does not run: this is what was kept. Begin "
					"with sudo heldup serve, or systemctl enable --now heldup");
	if (!st->runs)
		pen_nl(&pen);
	print_services(st, &pen);
	if (st->requests.rows.cnt)
		print_requests(st, &pen);
	pen_nl(&pen);
	pen_text(&pen, PEN_HEAD, st->findings.cnt ? "Last findings" : "No findings");
	pen_nl(&pen);
	for (; cnt < st->findings.cnt && cnt < STATUS_FINDINGS; cnt++)
		kept_finding_text(&st->findings.items[cnt], st->now_ns, &pen);
	if (cnt)
		pen_text(&pen, PEN_DIM, "heldup show N: all of one; heldup log: more of them");
	if (cnt)
		pen_nl(&pen);
	print_cost(st, &pen);
	output_print(&o->output, &out);
}

static void print_json(const struct status *st)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct json j;

	json_init(&j, &out, JSON_PRETTY);
	json_to_file(&j, stdout);
	json_obj(&j);
	status_json(st, &j);
	json_obj_end(&j);
	json_finish(&j);
}

static int status_main(struct cli *cli, int argc, char **argv)
{
	const struct status_opts *o = cli->opts;
	CLEANUP(status_release) struct status st = {0};
	struct err err = {0};
	struct db *db = NULL;
	int rc = kept_open(o->kept.state, &db, &err);

	(void)argc;
	(void)argv;
	if (rc < 0)
		return cli_fail(cli, &err);
	rc = status_read(db, serve_runs(o->kept.state), &st);
	db_close(db);
	if (rc < 0)
		err_errno(&err, rc, "read what is kept in '%s'", o->kept.state);
	else if (o->kept.output.json)
		print_json(&st);
	else
		print_text(&st, &o->kept);
	return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt status_opt_table[] = {
	OPT_GROUP(kept_opt_table, struct status_opts, kept),
	OPT_END,
};

extern const char embed_status_schema_json[];

const struct cmd cmd_status = {
	.name = "status",
	.help = "say how the services are that heldup serve watches",
	.about = "One line for each service: its state now, since when, and what holds it up;\n"
		 "then the last findings.  `heldup` without arguments prints the same.",
	.examples = "  sudo heldup                 # how is this host?\n"
		    "  sudo heldup status --json | jq '.services[] | select(.state != \"sound\")'",
	.json_schema = embed_status_schema_json,
	.opts = status_opt_table,
	.opts_size = sizeof(struct status_opts),
	.run = status_main,
};
