/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/opts/options.h"

const struct cmd *cmd_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static const struct opt help_opt_table[] = {
	{.type = OPT_FLAG, .short_name = 'h', .long_name = "help", .help = "print this help"},
	OPT_END,
};

void cmd_usage(const struct cmd *cmd, unsigned columns, struct buf *out)
{
	buf_printf(out, "usage: heldup %s [options]%s%s\n\n%s\n", cmd->name, cmd->args ? " " : "",
		   cmd->args ? cmd->args : "", cmd->about);
	buf_adds(out, "\noptions:\n");
	if (cmd->opts)
		opt_help(cmd->opts, columns, out);
	opt_help(help_opt_table, columns, out);
	if (cmd->examples)
		buf_printf(out, "\nexamples:\n%s\n", cmd->examples);
}

void cmd_opts_each(const struct cmd *cmd, void (*each)(void *ctx, const struct opt *o), void *ctx)
{
	if (cmd->opts)
		opt_each(cmd->opts, each, ctx);
	opt_each(help_opt_table, each, ctx);
}

int cli_fail(const struct cli *cli, const struct err *err)
{
	fflush(stdout);
	fprintf(stderr, "heldup %s: %s\n", cli->cmd->name, err->msg);
	switch (err->kind) {
	case ERR_USAGE:
		return CLI_USAGE;
	case ERR_RIGHTS:
		return CLI_RIGHTS;
	case ERR_FAILED:
		break;
	}
	return CLI_FAILED;
}
