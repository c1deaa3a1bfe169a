/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_H
#define CMD_H
/*
 * A command is one file with one const struct cmd.  To add one:
 *
 * 1. src/cli/cmd_NAME.c defines `const struct cmd cmd_NAME`: its options as
 *    a struct and a table (opt.h), its help, its run function.
 * 2. src/cli/commands.c gets a line for it.
 * 3. docs/NAME.md has its page, with the output of `heldup NAME -h` in a
 *    block between <!-- help --> and <!-- /help -->.
 *
 * tests/house/run tells you if you forgot 2 or 3.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "cli/opts/opt.h"

struct buf;
struct err;
struct cmd;

enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_RIGHTS = 3, /* the rights or the kernel do not allow it */
	CLI_FOUND = 4,	/* answered, and the answer is what --fail-on names */
};

/* The arguments of a command's run function. */
struct cli {
	const struct cmd *cmd;
	void *opts;	    /* the command's options struct, parsed, defaults filled in */
	struct arena arena; /* for whatever lives as long as the run */
};

struct cmd {
	const char *name;
	const char *help;	/* an imperative, lower case, no full stop; see OPT_HELP_MAX */
	const char *args;	/* what stands after the options in the usage line, or NULL */
	const char *about;	/* a paragraph or two for -h, lines of at most 80 columns */
	const char *examples;	/* lines "  command   # what it does", or NULL */
	const char *json_schema;/* what --json-schema prints, or NULL */
	const char *brief_schema; /* the same with --brief, or NULL */
	const struct opt *opts;
	size_t opts_size;
	int max_args;		/* arguments that are no options; more are refused */
	bool files_only;	/* never looks at a process; with -i no command does */
	bool (*looks)(const void *opts); /* but for this: these options choose processes */

	/* argv holds the arguments that are no options; returns an enum cli_exit. */
	int (*run)(struct cli *cli, int argc, char **argv);
};

/* The registry, in the order of the help; ends with NULL. */
extern const struct cmd *const commands[];

/* NULL for a name that is no command. */
const struct cmd *cmd_find(const char *name);

/* The command's options, -h last: what man.c makes pages of. */
void cmd_opts_each(const struct cmd *cmd, void (*each)(void *ctx, const struct opt *o), void *ctx);

/* Appends what `heldup CMD -h` prints on a terminal of so many columns (0: 80). */
void cmd_usage(const struct cmd *cmd, unsigned columns, struct buf *out);

/* Prints the error as one line on stderr and gives the exit status that goes with its kind. */
int cli_fail(const struct cli *cli, const struct err *err);

#endif /* CMD_H */
