/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NAMES_OPTS_H
#define NAMES_OPTS_H
/*
 * The options of commands that name functions while they watch.
 */
#include <stdbool.h>

#include "cli/opts/opt.h"
#include "symbols/names/symbols.h"

struct select_opts;

struct names_opts {
	bool jit;
	bool no_runtimes; /* watch_opts.no_runtime_names */
	bool lines;
};

extern const struct opt names_opt_table[]; /* --jit, --no-runtime-names, --lines */
extern const struct opt jit_opt_table[];   /* the first two */

/* The second alone, as a field of other options. */
#define OPT_NO_RUNTIMES(of, member)                                                     \
	{.type = OPT_FLAG, .long_name = "no-runtime-names",                             \
	 .help = "read no frames of interpreters from memory", OPT_AT(of, member)}

/*
 * How long a watch may look for names: files that debuginfod sent earlier are
 * found at once, and nothing new is waited for.  o may be NULL.
 */
struct symbols_opts names_opts_symbols(const struct names_opts *o);

/* --jit: asks each Java VM among the selected to write its names; prints what fails. */
void names_opts_ask(const struct names_opts *o, const struct select_opts *select);

#endif /* NAMES_OPTS_H */
