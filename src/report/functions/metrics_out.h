/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRICS_OUT_H
#define METRICS_OUT_H
/*
 * Renders what waits/metrics/metrics.h found in one tick.  Computes nothing; each
 * appends to out.
 */
#include <stddef.h>

struct buf;
struct metrics_result;
struct model;
struct pen;

/* A table of the rows, at most max_rows of each metric (0: all). */
void metrics_text(const struct metrics_result *r, const struct model *m, size_t max_rows,
		  struct pen *pen);

/* One line: an object as docs/metrics.schema.json says. */
void metrics_json(const struct metrics_result *r, const struct model *m, struct buf *out);

#endif /* METRICS_OUT_H */
