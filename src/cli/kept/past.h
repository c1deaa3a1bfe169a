/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PAST_H
#define PAST_H
/*
 * The past, asked like the present: options that name a part of it, and what an
 * answer says of which part it is.
 */
#include <stdbool.h>

#include "cli/opts/opt.h"
#include "store/cut.h"

struct arena;
struct err;
struct run;
struct verdict;

struct past_opts {
	const char *since, *until;
};

extern const struct opt past_opt_table[]; /* --since, --until */

/* All-zero where neither was given. */
int past_time(const struct past_opts *o, struct cut_time *ret, struct err *err);

/* Before the part there is time enough to compare it with. */
bool past_is_long_before(const struct run *r);

/* "13:42:40 to 13:42:49", NULL where none was asked for; into v goes what of it is missing. */
const char *past_say(const struct run *r, const struct cut_time *asked, struct verdict *v,
		     struct arena *arena);

#endif /* PAST_H */
