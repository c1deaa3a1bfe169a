/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_MATCH_H
#define PATH_MATCH_H
/*
 * Which potential path of the search space a group's visible path can be: its
 * events are a subsequence of it, as of the expression .*A.*B.*C.*  Of several
 * the one seen most often when it was learnt; ties by hash.
 */
#include <stdint.h>

#include "requests/forest/forest.h"
#include "requests/forest/space.h"

/* Path that fits best, FOREST_NONE if none does; ret_steps: where each event (cnt) is in it. */
uint32_t match_path(const struct space_type *type, const struct forest_event *events,
		    uint32_t cnt, uint32_t *ret_steps);

#endif /* PATH_MATCH_H */
