/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHED_H
#define SHED_H
/*
 * What of the window is known less exactly than the rest, in words, and how
 * wrong a figure can be for that.
 */
#include <stddef.h>

struct context;

enum { SHED_LINES_MAX = 6 };

/* Lines of the not seen list, in the context's arena, SHED_LINES_MAX at most; how many. */
size_t shed_lines(struct context *k, const char **ret_lines);

/*
 * Twice the standard error of a state's share of the targets' time, or of that
 * of others as far as demand was passed on to them, sleeps in which no request
 * was open left out; the largest of all states, from how much the
 * parts of kept time differ.  Below 0: there is but one part.
 */
double shed_error(struct context *k);

#endif /* SHED_H */
