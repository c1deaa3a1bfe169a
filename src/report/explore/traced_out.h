/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACED_OUT_H
#define TRACED_OUT_H
/*
 * Renders what a search in programs with tracepoints of their own found (traced/drive.h): what
 * holds requests up, the keys that explain it, what was tried, what it cost, and that all is off.
 */
#include <stdbool.h>
#include <stdint.h>

struct board_summary;
struct buf;
struct drive_result;
struct forest_view;
struct gather_stats;
struct pen;

struct traced_view {
	const char *type, *listen;
	const struct drive_result *r;
	const struct forest_view *forest;	/* points and strings are its; f NULL: none */
	const struct board_summary *agents;	/* after the end */
	const struct gather_stats *spans;
	uint64_t refused_span_cnt;		/* by the receiver: bad ones, and over a limit */
	uint64_t took_ns, off_ns;		/* all of it; of that, until all were off */
	double max_cost;
};

void traced_text(const struct traced_view *v, struct pen *pen);
/* An object as docs/explore.schema.json says under "traced". */
void traced_json(const struct traced_view *v, struct buf *out);

/* "found", "lost", "calm", ...: enum drive_doubt for machines. */
const char *traced_end_name(unsigned doubt);

#endif /* TRACED_OUT_H */
