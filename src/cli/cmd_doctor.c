/* SPDX-License-Identifier: Apache-2.0 */
/* heldup doctor: prints what this kernel and these rights allow. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/opts/cmd.h"
#include "cli/opts/options.h"
#include "collect/live/bpf_links.h"
#include "collect/doctor/doctor.h"

extern const char embed_doctor_schema_json[];

struct doctor_cmd_opts {
	struct output_opts output;
	bool no_self_test;
};

static const struct opt doctor_opt_table[] = {
	{.type = OPT_FLAG, .long_name = "no-self-test",
	 .help = "load no programs; skip the test that kills a child",
	 OPT_AT(struct doctor_cmd_opts, no_self_test)},
	OPT_GROUP(json_opt_table, struct doctor_cmd_opts, output),
	OPT_GROUP(color_opt_table, struct doctor_cmd_opts, output),
	OPT_END,
};

static void put_state(struct buf *out, enum doctor_state state, bool color)
{
	static const char *const paint[] = {"\033[32m", "", "\033[33m", "\033[31m"};

	if (color && *paint[state])
		buf_printf(out, "  %s%-8s\033[0m ", paint[state], doctor_state_name(state));
	else
		buf_printf(out, "  %-8s ", doctor_state_name(state));
}

/* The longest name among the checks of the same group that follow. */
static int name_width(const struct doctor_check *checks, size_t cnt)
{
	size_t width = 0;

	for (size_t i = 0; i < cnt && strcmp(checks[i].group, checks[0].group) == 0; i++)
		width = strlen(checks[i].name) > width ? strlen(checks[i].name) : width;
	return (int)width;
}

static void print_text(const struct doctor_result *r, bool color)
{
	CLEANUP(buf_release) struct buf out = {0};
	const char *group = "", *mend = "";
	int width = 0;

	for (size_t i = 0; i < r->check_cnt; i++) {
		const struct doctor_check *c = &r->checks[i];
		if (strcmp(c->group, group) != 0) {
			buf_printf(&out, "%s%s\n", *group ? "\n" : "", c->group);
			width = name_width(c, r->check_cnt - i);
		}
		group = c->group;
		put_state(&out, c->state, color);
		buf_printf(&out, "%-*s  %s\n", width, c->name, c->detail);
		if (*c->cost)
			buf_printf(&out, "%*s without it: %s\n", width + 12, "", c->cost);
		if (*c->mend && strcmp(c->mend, mend) != 0) /* said once is enough */
			buf_printf(&out, "%*s to mend:    %s\n", width + 12, "", c->mend);
		mend = c->mend;
	}
	if (r->failed_cnt)
		buf_printf(&out, "\nnot enough for heldup why: %zu failed\n", r->failed_cnt);
	else if (r->degraded_cnt)
		buf_printf(&out, "\nenough for heldup why; %zu degraded\n", r->degraded_cnt);
	else
		buf_adds(&out, "\nall that heldup needs is here\n");
	output_text(&out);
}

static void json_attached(struct json *j, const struct attached *a)
{
	json_kobj(j, "attached");
	json_ku64(j, "programs", a->prog_cnt);
	json_ku64(j, "links", a->link_cnt);
	json_ku64(j, "maps", a->map_cnt);
	json_karr(j, "list");
	for (size_t i = 0; i < a->prog_cnt && i < ATTACHED_MAX; i++) {
		json_obj(j);
		json_ku64(j, "id", a->progs[i].id);
		json_kstr(j, "name", a->progs[i].name);
		json_ku64(j, "pid", a->progs[i].pid);
		json_kstr(j, "comm", a->progs[i].comm);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
}

static void print_json(const struct doctor_result *r)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct json j;

	json_init(&j, &out, JSON_PRETTY);
	json_to_file(&j, stdout);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/doctor/1");
	json_kstr(&j, "version", HELDUP_VERSION);
	json_kbool(&j, "works", r->failed_cnt == 0);
	json_ku64(&j, "failed", r->failed_cnt);
	json_ku64(&j, "degraded", r->degraded_cnt);
	json_karr(&j, "checks");
	for (size_t i = 0; i < r->check_cnt; i++) {
		const struct doctor_check *c = &r->checks[i];
		json_obj(&j);
		json_kstr(&j, "group", c->group);
		json_kstr(&j, "name", c->name);
		json_kstr(&j, "state", doctor_state_name(c->state));
		json_kstr(&j, "detail", c->detail);
		json_kstr(&j, "cost", c->cost);
		json_kstr(&j, "mend", c->mend);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	if (r->attached)
		json_attached(&j, r->attached);
	else
		json_knull(&j, "attached");
	json_kbool(&j, "self_tested", r->self_tested);
	json_obj_end(&j);
	json_finish(&j);
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct doctor_cmd_opts *opts = cli->opts;
	struct doctor_opts how = {.no_self_test = opts->no_self_test};
	struct doctor_result r = doctor_run(&cli->arena, &how);

	(void)argc;
	(void)argv;
	if (opts->output.json)
		print_json(&r);
	else
		print_text(&r, output_has_color(&opts->output, stdout));
	return r.failed_cnt ? CLI_RIGHTS : CLI_OK;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.help = "say what this kernel and these rights allow",
	.about = "Tries each thing that heldup needs here: rights, kernel hooks, files.  For what\n"
		 "is missing it says what an answer will lack and which command mends it.\n"
		 "Then a child loads and attaches everything and is killed with -9, and doctor\n"
		 "looks whether anything of it stays in the kernel.\n"
		 "\n"
		 "Ends with 0 where heldup why can work, with 3 where it cannot.",
	.examples = "  sudo heldup doctor          # can heldup work here?\n"
		    "  sudo heldup doctor --json   # the same for a program",
	.json_schema = embed_doctor_schema_json,
	.opts = doctor_opt_table,
	.opts_size = sizeof(struct doctor_cmd_opts),
	.run = run,
};
