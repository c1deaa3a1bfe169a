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
struct select_opts;
struct verdict;

struct past_opts {
	const char *since, *until, *state;
};

extern const struct opt past_opt_table[]; /* --since, --until, --state */

/*
 * Where a part of the past is kept: what a heldup serve that runs has in memory, or the
 * capture of a finding.
 *
 *	past_find, read the file, past_release
 */
struct past {
	char path[4096];
	const char *from;	/* "the last minute of heldup serve", "the capture of finding 3" */
	const char *others;	/* findings with more of it, NULL: none */
	int fd;			/* the file is there while this is open */
};

bool past_is_wanted(const struct past_opts *o);
int past_find(const struct past_opts *o, const struct select_opts *select,
	      const struct cut_time *time, struct arena *arena, struct past *ret, struct err *err);
void past_release(struct past *p);

/* All-zero where neither was given. */
int past_time(const struct past_opts *o, struct cut_time *ret, struct err *err);

/* Before the part there is time enough to compare it with. */
bool past_is_long_before(const struct run *r);

/*
 * "13:42:40 to 13:42:49", NULL where none was asked for; into v goes what of it is missing.
 * p NULL: of a file.
 */
const char *past_say(const struct run *r, const struct cut_time *asked, const struct past *p,
		     struct verdict *v, struct arena *arena);

#endif /* PAST_H */
