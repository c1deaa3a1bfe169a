/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEEN_STACKS_H
#define SEEN_STACKS_H
/*
 * Where the engines of waits and of stacks meet: waits at the place where the
 * one says that a thread waits for work are left out by the other.
 */
#include <stdbool.h>

struct arena;
struct model;
struct stacks_result;
struct waits_result;

/* Stacks of the chosen processes, in the arena; idle: waits for work too. */
struct stacks_result *stacks_seen(const struct model *m, const struct waits_result *w, bool idle,
				  struct arena *arena);

/* Rows of waits for work alone: what a page can show beside the others. */
struct stacks_result *stacks_seen_idle(const struct model *m, const struct waits_result *w,
				       struct arena *arena);

#endif /* SEEN_STACKS_H */
