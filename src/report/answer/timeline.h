/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMELINE_H
#define TIMELINE_H
/*
 * The states of the busiest threads over the window, cut into equal columns:
 * from the waits where those were kept in full, from the ticks' sums before.
 *
 *	"timeline": {"columns", "states": [...], "hidden",
 *		     "rows": [[thread, [[columns, state, share, ...], ...]], ...]}
 *
 * thread is the row in "threads", shares are in parts of TIMELINE_PARTS and
 * runs of equal columns are one item.  Bounded by TIMELINE_ROWS_MAX and
 * TIMELINE_RUNS_MAX; what those leave out is counted in "hidden".
 */

enum {
	TIMELINE_COLUMNS = 240,
	TIMELINE_PARTS = 20,
	TIMELINE_ROWS_MAX = 400,
	TIMELINE_RUNS_MAX = 60000,
};

struct answer;
struct json;

void timeline_json(struct json *j, const struct answer *a);

#endif /* TIMELINE_H */
