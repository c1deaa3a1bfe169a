/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUESTS_PICK_POINT_H
#define REQUESTS_PICK_POINT_H
/*
 * Which of the hidden tracepoints to switch on next: pure functions of what
 * can be hidden.  Ties go by the text of the tracepoint.
 *
 * hedge	Switching a span on shows its entry and its exit and cuts the
 *	stretch at both; apart, each cuts once.  For each candidate: one
 *	tracepoint, and what is then still to be expected, over where the trouble
 *	can be; the least wins.  Up to SEARCH_EXACT_MAX events by looking ahead to
 *	the end, over it by the uncertainty that is left.
 * flat		The paper's: the hidden tracepoints of the likeliest way in order
 *	of happens-before; the middle one.
 * hierarchical	The paper's: of the spans right under what encloses both ends;
 *	the middle one, always both sides of it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "requests/forest/forest.h"
#include "requests/forest/hidden_points.h"
#include "requests/forest/space.h"

enum {
	SEARCH_EXACT_MAX = 96,
	SEARCH_STEPS_MAX = 4096,
};

struct search {
	const struct points *points;
	const struct strtab *strings;
	/* enum sides by point */
	const uint8_t *known;	/* of the space */
	const uint8_t *barred;	/* explained nothing, not to be asked for again */
	const uint8_t *paid;	/* or NULL: was on before */
	bool apart;		/* begin and end of a span are asked for each by itself */
	/*
	 * New part of the excess, 0-1: that part can be in
	 * any span; the rest is where the space's own traces have it.
	 */
	double fresh;
	const double *trust;	/* by point, or NULL: from earlier runs, 1 is neutral */
};

struct pick {
	uint32_t point;		/* FOREST_NONE: nothing is hidden there */
	uint8_t sides;		/* what of it is to be on: enum sides */
	uint32_t hidden_cnt;	/* tracepoints that could be picked */
	double cost;		/* tracepoints to be expected until it is found */
};

void search_hedge(const struct search *s, const struct stretches *ways, struct arena *arena,
		  struct pick *ret);

/* path: a potential path; from and to: steps of it.  on: enum sides by point. */
void search_flat(const struct search *s, const struct space_path *path, uint32_t from,
		 uint32_t to, const uint8_t *on, struct pick *ret);
void search_hierarchical(const struct search *s, const struct space_path *path, uint32_t from,
			 uint32_t to, const uint8_t *on, struct pick *ret);

#endif /* REQUESTS_PICK_POINT_H */
