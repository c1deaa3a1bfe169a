/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KEY_OPTS_H
#define KEY_OPTS_H
/*
 * --key: attributes whose values tell requests apart, for all commands that
 * have it.
 *
 *	in the option struct:	struct key_list keys;
 *	in the table:		.parse = key_parse, OPT_AT(struct x, keys)
 */
#include <stdint.h>

#include "requests/bins.h"

struct arena;
struct err;

enum { KEYS_MAX = 64, BOUNDS_MAX = 32 };

struct key_list {
	struct key_spec specs[KEYS_MAX];
	uint32_t cnt;
};

/* [LABEL=]NAME[:BOUND,...]; a colon that no number follows belongs to the name. */
int key_parse(void *dst, const char *text, struct arena *arena, struct err *err);

/* -EINVAL unless all of the text is one number in the bounds. */
int number_parse(const char *text, double min, double max, double *ret);

#endif /* KEY_OPTS_H */
