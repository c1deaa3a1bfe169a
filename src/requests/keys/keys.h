/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KEYS_H
#define KEYS_H
/*
 * Which values that spans carry go with the latency: by a group's sample
 * (attr_samples.h), each variable against the total and against the edge that
 * carries most of the variance.
 *
 * Significance is by ranks, so that no single slow request makes any: for
 * numbers Spearman's correlation, for texts, truth values and numbers of few
 * values the F test of the ranks between values.  Strength is by nanoseconds,
 * as variance is: Pearson's r, or the root of eta squared, less what chance
 * gives that many values.  All tests of one answer share one false discovery
 * rate (Benjamini and Hochberg).
 *
 * Not tested are variables that do not vary, that too few requests have, that
 * are names of single requests (ids, addresses, times: nearly each request has
 * its own), and all but one of those that always vary together.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "requests/stats/result.h"

struct arena;
struct key_vars;
struct points;
struct samples;
struct strtab;

enum {
	KEY_CNT_MIN = 20,	/* requests that have it: fewer do not show a correlation of 0.6 */
	KEY_VALUES_MAX = 64,	/* texts kept apart in a test; rarer ones are one value, "other" */
	KEY_LISTED_MAX = 12,	/* of a group; values: of a key */
	KEY_RANGES = 5,		/* that numbers are shown in, by equal counts */
	KEY_VALUES_TOLD = 5,
};

struct key_test {
	struct request_key key;
	uint64_t values_hash;	/* the same for variables that always have the same value */
	uint64_t text_hash;	/* of tracepoint and key */
	uint32_t owner;		/* index of its group in struct key_tests */
	bool near;		/* at the tracepoint whose edge it is */
};

struct key_tests {
	VEC(struct key_test) items;
	VEC(struct request_group *) groups;
	uint64_t id_cnt;	/* variables passed over as ids */
};

/* The names of the variables of samples, and the false discovery rate allowed. */
struct key_space {
	const struct key_vars *vars;
	const struct points *points;
	const struct strtab *strings;
	double q_max;
};

void key_tests_release(struct key_tests *t);

/*
 * Puts down the tests of one group, which is to stay where it is until keys_judge; its
 * leaves have these samples.
 */
void keys_test(const struct key_space *space, const struct samples *const *samples,
	       uint32_t samples_cnt, struct arena *arena, struct key_tests *tests,
	       struct request_group *group);

/* Decides all tests together and gives each group its keys. */
void keys_judge(const struct key_space *space, struct key_tests *tests, struct arena *arena);

#endif /* KEYS_H */
