/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPTIONS_H
#define OPTIONS_H
/*
 * Groups of options that commands share, beside select_opts.h.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/opts/opt.h"
#include "report/lines/pen.h"

struct arena;
struct buf;
struct err;

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

/* A watch that would cost more of the CPU time in use looks only part of the time. */
struct cost_opts {
	uint32_t max_ppm; /* 0: any */
};

/* OPT_CUSTOM: per cent of the CPU time in use, to ppm. */
int cost_parse(void *dst, const char *text, struct arena *arena, struct err *err);

extern const struct opt cost_opt_table[];     /* --max-cost, default 1 */
extern const struct opt window_opt_table[];   /* -d, default 10s */
extern const struct opt input_opt_table[];    /* -i */
extern const struct opt baseline_opt_table[]; /* --baseline */
extern const struct opt json_opt_table[];     /* --json, --json-schema */
extern const struct opt html_opt_table[];     /* --html */
extern const struct opt color_opt_table[];    /* --color */
extern const struct opt output_opt_table[];   /* the three above */

/* "64M", "1G", "300000", up to 1 TiB; -EINVAL for anything else, 0 too. */
int size_parse(const char *text, uint64_t *ret_bytes);

/* Colour for this stream: the option, else NO_COLOR, CLICOLOR_FORCE, else whether it is a TTY. */
bool output_has_color(const struct output_opts *o, FILE *stream);

/* Width of the terminal on standard output, else COLUMNS, else as given. */
unsigned output_columns(unsigned otherwise);

/*
 * Prints text, or o's JSON, which is left as it is, to standard output.  Lines of text are
 * wrapped where its width is known and they are wider; see report/lines/wrap.h.
 */
void output_print(const struct output_opts *o, const struct buf *out);
void output_text(const struct buf *out);

/* Standard output is a terminal that does not take UTF-8.  Takes on the locale of the user. */
bool output_is_ascii(void);

/* For text on standard output, by way of out; columns where that is no terminal. */
struct pen output_pen(const struct output_opts *o, struct buf *out, unsigned columns);

#endif /* OPTIONS_H */
