/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPTIONS_H
#define OPTIONS_H
/*
 * Groups of options that commands share, beside select.h.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/opt.h"

struct window_opts {
	uint64_t duration_ns;
};

struct input_opts {
	const char *path; /* NULL: live */
};

struct baseline_opts {
	const char *path; /* NULL: none */
};

enum color_when {
	COLOR_AUTO = 0,
	COLOR_ALWAYS = 1,
	COLOR_NEVER = 2,
};

struct output_opts {
	bool json;
	bool json_schema;
	const char *html_path;
	int color; /* enum color_when */
};

extern const struct opt window_opt_table[];   /* -d, default 10s */
extern const struct opt input_opt_table[];    /* -i */
extern const struct opt baseline_opt_table[]; /* --baseline */
extern const struct opt json_opt_table[];     /* --json, --json-schema */
extern const struct opt html_opt_table[];     /* --html */
extern const struct opt color_opt_table[];    /* --color */
extern const struct opt output_opt_table[];   /* the three above */

/* Colour for this stream: the option, else NO_COLOR, CLICOLOR_FORCE, else whether it is a TTY. */
bool output_has_color(const struct output_opts *o, FILE *stream);

/* Of the terminal on standard output, else of COLUMNS, else 100. */
int output_columns(void);

#endif /* OPTIONS_H */
