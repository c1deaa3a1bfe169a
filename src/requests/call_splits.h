/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALL_SPLITS_H
#define CALL_SPLITS_H
/*
 * Which calls part the slow requests of a type from the quick ones, without good
 * requests to compare with: some end early, some try again, some ask one more.
 *
 * By the law of total variance that of a type's requests is what lies between
 * those that make a call so many times (once, twice, 4, 8 ...) and the others,
 * and what lies within the two, which is all that edges can have by taking
 * longer or shorter.  So a call with more than half has more than any edge.
 *
 * A call counts whether it is on the critical path or not: which of two branches
 * was the last is for the edges to tell.
 */
#include "requests/stats/result.h"

struct arena;
struct requests_result;

/* Looks at types that vary by more than the result's cv_min; all lives in arena. */
void call_splits_find(const struct requests_result *result, struct arena *arena,
		      struct call_splits *ret);

#endif /* CALL_SPLITS_H */
