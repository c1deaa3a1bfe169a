/* SPDX-License-Identifier: Apache-2.0 */
#ifndef USUAL_SPAN_H
#define USUAL_SPAN_H
/*
 * What an edge took before.  The space keeps a few whole requests of a type,
 * and of all it was learnt from their number, times and squares.  If those few
 * happen to be slow, the edges that make requests slow are too high by their
 * part of it: their mean is moved to what it is over all (the regression
 * estimator of surveys).  So the error falls with all that was learnt, and
 * memory does not grow with it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "requests/forest/evidence.h"

struct hyp_tree;

struct usual_learnt {
	double off_ns;		/* mean over all requests learnt less that of the samples */
	double error_ns;	/* of the mean over all */
	uint32_t cnt;		/* of samples; 0: there is no more known than these */
};

/* Learns from the samples in t->known. */
struct usual_learnt usual_learnt(const struct hyp_tree *t);

struct usual {
	double mean_ns, error_ns;
};

/* The usual time of the class's edge, whose times in the samples are b. */
struct usual usual_of(const struct usual_learnt *l, const struct evidence *e, uint32_t class_idx,
		      const struct beside *b);

double beside_mean(const struct beside *b);
/* Error of the mean. */
double beside_error(const struct beside *b);

#endif /* USUAL_SPAN_H */
