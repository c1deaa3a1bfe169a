/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOREST_FILE_H
#define FOREST_FILE_H
/*
 * A hypothesis forest to bytes and back, and two of them as one.  No files:
 * cli/files/packed_file.h writes them so that a crash leaves the old or the new one.
 *
 * The bytes depend on what the forest says only, never on numbers of
 * tracepoints or strings.  docs/forest-file.md describes them.
 */
#include <stddef.h>

#include "requests/forest/forest.h"

struct arena;
struct buf;
struct err;
struct points;
struct strtab;

#define FOREST_FILE_WHAT "forest"
enum {
	FOREST_FILE_VERSION = 4,
	FOREST_FILE_TREES_MAX = 1 << 12,
	FOREST_FILE_NODES_MAX = 1 << 12,	/* of one tree */
	FOREST_FILE_GROUPS_MAX = 1 << 16,	/* of one node */
	FOREST_FILE_EDGES_MAX = 1 << 14,	/* of one group */
	FOREST_FILE_KEYS_MAX = 1 << 12,		/* of one node */
	FOREST_FILE_DECISIONS_MAX = 1 << 20,
};

/* Appends to out. */
void forest_write(const struct forest *f, const struct points *points,
		  const struct strtab *strings, struct buf *out);

/*
 * Any bytes may be given: -EINVAL with the offset for what is no forest.
 * Tracepoints and strings are added to points and strings; the rest of ret
 * lives in arena.
 */
int forest_read(const void *bytes, size_t len, struct points *points, struct strtab *strings,
		struct arena *arena, struct forest *ret, struct err *err);

/*
 * b after a, as of one search: nodes are the same that have the same
 * tracepoints and signs up to the root, groups those with the same hash in
 * them.  Counts and histograms add, means and shares are weighted by requests,
 * an interval of shares is as wide as both; b's rounds follow a's, and where
 * a thing can only be one or the other, b's is taken.  Both have the same
 * points; the result lives in arena and borrows of a and b.
 */
void forest_merge(const struct forest *a, const struct forest *b, const struct points *points,
		  const struct strtab *strings, struct arena *arena, struct forest *ret);

#endif /* FOREST_FILE_H */
