/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHED_H
#define SHED_H
/*
 * What of the window is known less exactly than the rest, in words, and how
 * wrong a figure can be for that.
 */
#include <stddef.h>

struct court;

enum { SHED_LINES_MAX = 6 };

/* Lines of the not seen list, in the court's arena, SHED_LINES_MAX at most; how many. */
size_t shed_lines(struct court *k, const char **ret_lines);

/*
 * Twice the standard error of a state's share of the time that requests were
 * open in threads (or of the threads' time), the largest of all states; told
 * from the stretches of time that are kept.  Below 0: from one no error is told.
 */
double shed_error(struct court *k);

#endif /* SHED_H */
