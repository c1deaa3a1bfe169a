/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SO_FAR_H
#define SO_FAR_H
/*
 * What `heldup why` would say of what was seen so far, for a line of `top`, and
 * which waits are for work: a pool's thread that nobody gave anything sleeps on
 * a futex as one does that waits for a lock.
 *
 *	so_far_new, so_far_judge at each tick, so_far_to_view, so_far_free
 *
 * Judging takes at most 1 of SO_FAR_COST of a core: a tick too early keeps what
 * was found before.
 */
#include <stdbool.h>

struct model;
struct so_far;
struct view;

enum { SO_FAR_COST = 50 };

struct so_far *so_far_new(void);
void so_far_free(struct so_far *s);

/* m is finished.  always: whatever it costs. */
void so_far_judge(struct so_far *s, const struct model *m, bool always);

/* Puts the line into a view just built, and its waits for work apart. */
void so_far_to_view(const struct so_far *s, struct view *v);

#endif /* SO_FAR_H */
