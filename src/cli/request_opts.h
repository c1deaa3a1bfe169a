/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUEST_OPTS_H
#define REQUEST_OPTS_H
/*
 * What tells requests apart, and which of them are a problem: for all commands
 * that look at requests.
 *
 *	in the option struct:	struct key_list keys; double cv, slow_pct;
 *	in the table:		.parse = key_parse, OPT_AT(struct x, keys) ...
 */
#include <stdint.h>

#include "requests/bins.h"

struct arena;
struct err;

enum { KEYS_MAX = 64, BOUNDS_MAX = 32, PATHS_MAX = 256 };

struct path_list {
	char *items[PATHS_MAX];
	uint32_t cnt;
};

struct key_list {
	struct key_spec specs[KEYS_MAX];
	uint32_t cnt;
};

/* [LABEL=]NAME[:BOUND,...]; a colon that no number follows belongs to the name. */
int key_parse(void *dst, const char *text, struct arena *arena, struct err *err);

/* One more file, to a struct path_list. */
int path_parse(void *dst, const char *text, struct arena *arena, struct err *err);

/* To a double: a coefficient of variation, and a percentile. */
int cv_parse(void *dst, const char *text, struct arena *arena, struct err *err);
int percentile_parse(void *dst, const char *text, struct arena *arena, struct err *err);

#endif /* REQUEST_OPTS_H */
