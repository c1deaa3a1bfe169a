/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUEST_OPTS_H
#define REQUEST_OPTS_H
/*
 * What tells requests apart, and which of them are a problem: for all commands
 * that look at requests.
 *
 *	in the option struct:	struct key_list keys; double cv, slow_pct; struct fold_list fold;
 *	in the table:		.parse = key_parse, OPT_AT(struct x, keys) ...
 *				OPT_GROUP(fold_opt_table, struct x, fold)
 */
#include <stdint.h>

#include "cli/opts/opt.h"
#include "requests/stats/attr_bins.h"
#include "spans/fold.h"

struct arena;
struct err;

enum { KEYS_MAX = 64, BOUNDS_MAX = 32, PATHS_MAX = 256 };

struct path_list {
	char *items[PATHS_MAX];
	uint32_t cnt;
};

struct fold_list {
	struct fold_rule rules[FOLD_RULES_MAX];
	uint32_t cnt;
	bool keep_ids;
};

extern const struct opt fold_opt_table[];

/* Borrows list. */
struct fold_opts fold_list_opts(const struct fold_list *list);

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
