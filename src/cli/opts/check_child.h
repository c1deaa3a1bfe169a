/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_CHILD_H
#define CHECK_CHILD_H
/*
 * Runs a shell command as often as it is asked to, in a child that starts it:
 * with what the process had (rights, system calls, priority, limits) when the
 * child was made, so that is made before a watch gives any of it away.
 *
 *	check_child_new, for each run _begin and _result until that is not 0, _free
 *
 * One run at a time.  What lasts longer than the limit is ended, with all that
 * it began in its process group; so is what still runs when the parent ends.
 */
#include <stdint.h>

struct check_child;

enum check_end { CHECK_ENDED = 1, CHECK_LATE, CHECK_NOT_RUN };

/* NULL without a process to be had.  command is for sh -c, not copied. */
struct check_child *check_child_new(const char *command, uint64_t limit_ns);
/* NULL is fine. */
void check_child_free(struct check_child *c);

void check_child_begin(struct check_child *c);
/* 0 while it runs, else an enum check_end; with CHECK_ENDED *ret_status as of wait(2). */
int check_child_result(struct check_child *c, int *ret_status);

#endif /* CHECK_CHILD_H */
