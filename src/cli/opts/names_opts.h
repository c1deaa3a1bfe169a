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
	bool lines;
};

extern const struct opt names_opt_table[]; /* --jit, --lines */
extern const struct opt jit_opt_table[];   /* the first alone */

/*
 * How long a watch may look for names: files that debuginfod sent earlier are
 * found at once, and nothing new is waited for.  o may be NULL.
 */
struct symbols_opts names_opts_symbols(const struct names_opts *o);

/* --jit: asks each Java VM among the selected to write its names; prints what fails. */
void names_opts_ask(const struct names_opts *o, const struct select_opts *select);

#endif /* NAMES_OPTS_H */
