/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VERDICT_OUTSIDE_H
#define VERDICT_OUTSIDE_H
/*
 * The verdict on waits, for the search for functions to blame: where
 * it is sure that a neighbour or a limit is behind most of the time, no
 * function is.
 */
struct outside_report;
struct verdict;

/* Kind OUTSIDE_NONE where it is not so.  Strings of *ret are the verdict's. */
void verdict_outside(const struct verdict *v, struct outside_report *ret);

#endif /* VERDICT_OUTSIDE_H */
