/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIDDEN_POINTS_H
#define HIDDEN_POINTS_H
/*
 * What lies between two events that are seen one after the other: looked up
 * in whole traces of the search space, each of which was also stripped to what
 * is on.  Where the stripped trace has the edge, the whole one tells which
 * events it hides and how long each part took.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "requests/forest/evidence.h"

enum {
	HIDDEN_STRETCHES_MAX = 64, /* kinds of one edge; the rarest are left out */
	HIDDEN_EVENTS_MAX = 4096,  /* of one stretch */
};

struct known {			/* a sample of the search space */
	struct seen full;
	struct hmap by_span;	/* (span id, point) to index + 1 in the whole trace */
};

/* One way to get from the one end to the other. */
struct stretch {
	const struct forest_event *events; /* hidden ones, event_cnt; not the ends */
	const uint32_t *owners;	   /* of the event_cnt + 1 edges: tracepoints */
	double *mean_ns;	   /* of the edges */
	double *cov;		   /* of the edges with the whole request's time, in ns² */
	uint32_t event_cnt;
	uint32_t cnt;		   /* traces that went this way */
	uint64_t hash;
	double share;		   /* of all the ways */
};

struct stretches {
	struct forest_event from; /* where they begin */
	const struct stretch *items; /* the most frequent first, then by hash */
	uint32_t cnt;
	uint32_t trace_cnt;	   /* samples that have the edge */
};

struct hidden_query {
	const struct known *known; /* known_cnt */
	const struct seen *stripped; /* as many; a path of no steps: not of this node */
	uint32_t known_cnt;
	const uint8_t *on;	   /* enum sides by point */
	const struct points *points;
	struct forest_event from, to;
	uint32_t owner;
};

void known_begin(struct known *k);
void known_release(struct known *k);

/* The answer lives in arena. */
void hidden_find(const struct hidden_query *q, struct arena *arena, struct stretches *ret);

#endif /* HIDDEN_POINTS_H */
