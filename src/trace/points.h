/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POINTS_H
#define POINTS_H
/*
 * Tracepoints: what names a place in the code that can be switched on and
 * off.  A span's service and name together are one; its entry and its exit
 * are switched as one.  Each has a small number (in order of first meeting,
 * so never to be printed, stored, hashed or sorted by) and a hash of its text
 * that is the same in every run and process.
 *
 *	struct points p = {0};  points_add ...  points_release
 */
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct point {
	uint32_t service, name;	/* string ids */
	uint64_t hash;		/* of the two texts */
};

struct point_near {
	uint64_t name;		/* as in by_name */
	uint32_t idx;		/* of the tracepoint, and 1; 0: none */
	uint32_t pad;
};

enum { POINTS_NEAR = 512 };	/* a site of a dozen services has some hundred tracepoints */

struct points {
	VEC(struct point) items;
	struct hmap by_name;
	struct point_near near[POINTS_NEAR];	/* of those met last: most are met again soon */
};

void points_release(struct points *p);

/* The number of the tracepoint, from 0; strings is where the two ids are from. */
uint32_t points_add(struct points *p, const struct strtab *strings, uint32_t service,
		    uint32_t name);

/* By the texts: < 0, 0, > 0.  How tracepoints are ordered where nothing else orders them. */
int points_cmp(const struct points *p, const struct strtab *strings, uint32_t a, uint32_t b);

/* Hash of (service, name) as texts; what points_add keeps. */
uint64_t point_hash(const char *service, const char *name);

#endif /* POINTS_H */
