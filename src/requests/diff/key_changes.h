/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KEY_CHANGES_H
#define KEY_CHANGES_H
/*
 * Of two sets of requests, a good and a bad one: which values of which keys go
 * with what changed (changes.h).  By the samples of both (attr_samples.h), in one of
 * two ways:
 *
 * slower	What the bad requests took is held against what the good ones with
 *	the same value took (with a value that the good ones have not: against all of
 *	them).  A key explains where that differs between its values: one tenant's
 *	requests became slow, those of a new version are.  What was slow with the same
 *	values before does not show.
 * shifted	Values that took long in the good requests already are more
 *	frequent in the bad ones: fewer hits of a cache, longer lists.
 *
 * Significance is by means and their errors, each value's own, so that one stalled
 * request makes no more than doubt: of slower by Welch's analysis of variance, of
 * shifted by t; all of one answer share a false discovery rate.  Looked at are
 * types whose mean has surely changed.
 */
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct requests;
struct requests_diff;

enum {
	KEY_CHANGES_MAX = 8,		/* of a type */
	KEY_CHANGE_VALUES_MAX = 12,	/* of a key */
};

enum key_change_kind { KEY_CHANGE_SLOWER, KEY_CHANGE_SHIFTED };

struct value_change {	/* requests with one value, or range of values */
	uint32_t str;		/* string id; 0: see low and high */
	bool truth;		/* false or true, low says which */
	double low, high;
	uint16_t decimals;	/* struct key_value's */
	uint32_t good_cnt, bad_cnt;
	double good_ns, bad_ns;	/* means of the whole time; NAN: none has it */
	double weight;		/* its part of what the key explains; adds to 1 over all */
};

struct key_change {
	uint32_t point, key;	/* as in struct request_key */
	uint8_t kind;		/* enum key_change_kind */
	bool ranges;		/* values are ranges, in their order; else by weight */
	uint32_t good_cnt, bad_cnt;	/* sampled requests that have it */
	double good_ns, bad_ns;	/* means of those */
	double strength;	/* slower: root of eta squared, 0..1; shifted: of the change, 0.. */
	double shift_ns;	/* shifted: of the mean's change, that these values make */
	double p, q;
	uint32_t alias_cnt;	/* more keys whose values always come with these */
	uint32_t distinct_cnt;	/* values */
	const struct value_change *values;
	uint32_t value_cnt;
	uint32_t told_cnt;	/* of them, from the first on, that surely make a difference */
};

struct key_changes {	/* of one type */
	const struct key_change *items;	/* strongest first */
	uint32_t cnt;
};

/*
 * By type as in d, which is of both sets' answers (requests_finish); these still
 * hold what they were given.
 */
const struct key_changes *key_changes_make(const struct requests *good,
					   const struct requests *bad,
					   const struct requests_diff *d, struct arena *arena);

#endif /* KEY_CHANGES_H */
