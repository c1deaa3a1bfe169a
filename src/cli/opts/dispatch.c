/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/dispatch.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/opts/cmd.h"
#include "cli/opts/file_rights.h"
#include "cli/opts/options.h"
#include "cli/opts/stdout_file.h"

static bool is_given(char **args, const char *option)
{
	for (; *args && strcmp(*args, "--") != 0; args++)
		if (strcmp(*args, option) == 0)
			return true;
	return false;
}

/* -h or --help anywhere before "--" wins over everything else, even wrong options. */
static bool help_is_asked(char **args)
{
	return is_given(args, "-h") || is_given(args, "--help");
}

/* After printing to stdout; a full disk or a closed pipe must not look like a good answer. */
static int print_end(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return CLI_OK;
	fprintf(stderr, "heldup: write to standard output: %s\n", stdout_file_error());
	return CLI_FAILED;
}

static int text_print(const char *text)
{
	fputs(text, stdout);
	return print_end();
}

static bool is_files_only(const struct cmd *cmd, const void *opts)
{
	return cmd->files_only && !(cmd->looks && cmd->looks(opts));
}

static int cmd_start(struct cli *cli, char **args)
{
	const struct cmd *cmd = cli->cmd;
	struct opt_parse parse = {.arena = &cli->arena};
	static const struct opt none[] = {OPT_END};
	struct err err = {0};
	int status;

	cli->opts = arena_alloc(&cli->arena, cmd->opts_size);
	parse.opts = cli->opts;
	if (opt_parse(cmd->opts ? cmd->opts : none, &parse, args, &err) < 0)
		return cli_fail(cli, &err);
	if (parse.argc > cmd->max_args) {
		err_usage(&err, "unexpected argument '%s' (see heldup %s -h)",
			  parse.argv[cmd->max_args], cmd->name);
		return cli_fail(cli, &err);
	}
	if ((is_files_only(cmd, cli->opts) || file_rights_reads_file(cmd->opts, cli->opts)) &&
	    file_rights_drop(args, parse.argv, &err) < 0)
		return cli_fail(cli, &err);
	status = cmd->run(cli, parse.argc, parse.argv);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "heldup %s: write to standard output: %s\n", cmd->name,
			stdout_file_error());
		return status == CLI_OK ? CLI_FAILED : status;
	}
	return status;
}

int cmd_run(const struct cmd *cmd, char **args)
{
	struct cli cli = {.cmd = cmd};
	int status;

	if (help_is_asked(args)) {
		CLEANUP(buf_release) struct buf out = {0};

		cmd_usage(cmd, output_columns(0), &out);
		output_text(&out);
		return print_end();
	}
	if (cmd->brief_schema && is_given(args, "--json-schema") && is_given(args, "--brief"))
		return text_print(cmd->brief_schema);
	if (cmd->json_schema && is_given(args, "--json-schema"))
		return text_print(cmd->json_schema);
	status = cmd_start(&cli, args);
	arena_release(&cli.arena);
	return status;
}
