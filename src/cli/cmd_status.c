/* SPDX-License-Identifier: Apache-2.0 */
/* Prints, as `heldup` without arguments does, the services now, and the last findings. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fmt.h"
#include "base/json.h"
#include "base/vec.h"
#include "cli/kept/kept.h"
#include "cli/opts/cmd.h"
#include "report/lines/pen.h"
#include "report/lines/table.h"
#include "serve/db.h"
#include "serve/serve.h"

#define OLD_NS (30 * NS_PER_SEC) /* a service of which nothing came for so long */
#define FINDINGS_SHOWN 5
#define FINDINGS_LOOKED_AT 1000

struct status_opts {
	struct kept_opts kept;
};

struct fact {
	char name[64];
	uint64_t value;
};

struct status {
	VEC(struct db_service) services;
	VEC(struct db_finding) findings; /* the newest first */
	uint64_t now_ns;
	bool runs;
	VEC(struct fact) facts;
};

static void add_service(void *ctx, const struct db_service *s)
{
	struct status *st = ctx;

	vec_push(&st->services, *s);
}

static void add_finding(void *ctx, const struct db_finding *f)
{
	struct status *st = ctx;

	vec_push(&st->findings, *f);
}

static void add_fact(void *ctx, const char *name, uint64_t value)
{
	struct status *st = ctx;
	struct fact *f = vec_add(&st->facts);

	snprintf(f->name, sizeof(f->name), "%s", name);
	f->value = value;
}

static uint64_t fact_of(const struct status *st, const char *name)
{
	VEC_FOREACH(&st->facts, f)
		if (strcmp(f->name, name) == 0)
			return f->value;
	return 0;
}

/* The finding that lasts; NULL: none does. */
static const struct db_finding *open_of(const struct status *st, const char *service)
{
	VEC_FOREACH(&st->findings, f)
		if (!f->end_ns && strcmp(f->service, service) == 0)
			return f;
	return NULL;
}

static const char *state_of(const struct status *st, const struct db_service *s)
{
	if (!st->runs || s->seen_ns + OLD_NS < st->now_ns)
		return "not watched";
	if (open_of(st, s->name))
		return "held up";
	return s->pid ? "sound" : "not running";
}

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
		const struct db_finding *f = open_of(st, s->name);

		table_cell(&t, "%s", s->name);
		table_cell(&t, "%s", state_of(st, s));
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

/* "heldup serve costs 0.8 % of a CPU, 41.0 MiB and 12.0 MiB of the kernel's" */
static void print_cost(const struct status *st, struct pen *pen)
{
	uint64_t since = fact_of(st, "since_ns"), now = fact_of(st, "now_ns");
	uint64_t cpu = fact_of(st, "watch_cpu_ns") + fact_of(st, "bpf_cpu_ns") +
		       fact_of(st, "keep_cpu_ns") + fact_of(st, "judge_cpu_ns");
	char share[FMT_MAX], memory[FMT_MAX], maps[FMT_MAX];

	if (!st->runs || now <= since)
		return;
	pen_fmt(pen, PEN_DIM, "heldup serve costs %s of a CPU, %s, and %s of the kernel's",
		fmt_share(share, (double)cpu / (double)(now - since)),
		fmt_bytes(memory, fact_of(st, "memory_bytes")),
		fmt_bytes(maps, fact_of(st, "map_bytes")));
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
	pen_nl(&pen);
	pen_text(&pen, PEN_HEAD, st->findings.cnt ? "Last findings" : "No findings");
	pen_nl(&pen);
	VEC_FOREACH(&st->findings, f)
		if (cnt++ < FINDINGS_SHOWN)
			kept_finding_text(f, st->now_ns, &pen);
	if (cnt)
		pen_text(&pen, PEN_DIM, "heldup show N: all of one; heldup log: more of them");
	if (cnt)
		pen_nl(&pen);
	print_cost(st, &pen);
	output_print(&o->output, &out);
}

static void json_service(const struct status *st, const struct db_service *s, struct json *j)
{
	const struct db_finding *f = open_of(st, s->name);

	json_obj(j);
	json_kstr(j, "name", s->name);
	json_kstr(j, "what", s->what);
	json_kstr(j, "state", state_of(st, s));
	json_ku64(j, "pid", s->pid);
	json_ku64(j, "seen_ns", s->seen_ns);
	json_ku64(j, "answers", s->answer_cnt);
	json_ku64(j, "p50_ns", s->p50_ns);
	json_ku64(j, "p99_ns", s->p99_ns);
	json_ku64(j, "open", s->open_cnt);
	json_key(j, "finding");
	if (f)
		json_u64(j, f->id);
	else
		json_null(j);
	json_obj_end(j);
}

static void print_json(const struct status *st)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct json j;

	json_init(&j, &out, JSON_PRETTY);
	json_to_file(&j, stdout);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/status/1");
	json_kbool(&j, "runs", st->runs);
	json_karr(&j, "services");
	VEC_FOREACH(&st->services, s)
		json_service(st, s, &j);
	json_arr_end(&j);
	json_karr(&j, "findings");
	for (size_t i = 0; i < st->findings.cnt && i < FINDINGS_SHOWN; i++) {
		json_obj(&j);
		kept_finding_json(&st->findings.items[i], &j);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	json_kobj(&j, "self");
	VEC_FOREACH(&st->facts, f)
		json_ku64(&j, f->name, f->value);
	json_obj_end(&j);
	json_obj_end(&j);
	json_finish(&j);
}

static int status_main(struct cli *cli, int argc, char **argv)
{
	const struct status_opts *o = cli->opts;
	struct db_filter filter = {.max_cnt = FINDINGS_LOOKED_AT};
	struct status st = {.now_ns = clock_real_ns(), .runs = serve_runs(o->kept.state)};
	struct err err = {0};
	struct db *db = NULL;
	int rc = kept_open(o->kept.state, &db, &err);

	(void)argc;
	(void)argv;
	if (rc < 0)
		return cli_fail(cli, &err);
	rc = db_services(db, add_service, &st);
	if (rc == 0)
		rc = db_findings(db, &filter, add_finding, &st);
	if (rc == 0)
		rc = db_facts(db, add_fact, &st);
	db_close(db);
	if (rc < 0)
		err_errno(&err, rc, "read what is kept in '%s'", o->kept.state);
	else if (o->kept.output.json)
		print_json(&st);
	else
		print_text(&st, &o->kept);
	vec_release(&st.services);
	vec_release(&st.findings);
	vec_release(&st.facts);
	return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

static const struct opt status_opt_table[] = {
	OPT_GROUP(state_opt_table, struct status_opts, kept),
	OPT_GROUP(json_opt_table, struct status_opts, kept.output),
	OPT_GROUP(color_opt_table, struct status_opts, kept.output),
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
