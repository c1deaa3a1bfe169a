/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPLIT_GROUPS_H
#define SPLIT_GROUPS_H
/*
 * Parts a set of many paths by what makes the greatest difference: whether the
 * path goes through some tracepoint (so many times).  Both parts have members
 * enough, and a difference as great is not there by chance: an F test, at a
 * hundredth over all tracepoints tried.
 */
#include <stdbool.h>
#include <stdint.h>

#include "requests/stats/result.h"

struct arena;
struct points;
struct type;

struct split {
	struct path_rule rule;		/* what those in front have in common */
	uint32_t front_cnt;		/* how many of leaves are */
};

/*
 * leaves are exact paths of type, by index; when they are parted they are put
 * in order, those that the rule holds for in front, else left as they are.
 */
bool split_leaves(const struct type *type, const struct points *points, uint64_t min_cnt,
		  uint32_t *leaves, uint32_t leaf_cnt, struct arena *arena, struct split *ret);

#endif /* SPLIT_GROUPS_H */
