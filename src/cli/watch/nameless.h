/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NAMELESS_H
#define NAMELESS_H
/*
 * Which packages would name the functions of a verdict that are addresses, for a
 * process that still runs, by the lists of the dpkg in its root; and what names
 * those that its runtime made.
 */
struct arena;
struct verdict;

/* Says so in v; nothing changes where neither is known. */
void nameless_packages(struct verdict *v, struct arena *arena);

#endif /* NAMELESS_H */
