/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPLORE_VALUES_H
#define EXPLORE_VALUES_H
/*
 * Which values explain slow requests: arguments of the function that was found, as
 * registers have them at its entry, and facts of the request (bytes, requests in flight).
 *
 * A value explains by rank (Spearman's coefficient, VALUES_RHO at least), or by being the
 * same in nearly all slow requests and in few others.  What looks like an address, the same
 * in all, or is seen in fewer than VALUES_MIN requests says nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
struct timelines;

#define EXPLORE_VALUES_MAX 3
#define VALUES_MIN 20
#define VALUES_RHO 0.7	/* half of the variance of ranks */

enum value_kind {
	VALUE_ARG = 0,		/* of the function: .nth, from 0 */
	VALUE_HITS,		/* how often a request entered the function */
	VALUE_BYTES_IN, VALUE_BYTES_OUT, VALUE_IN_FLIGHT, VALUE_NTH,
	VALUE_KIND_CNT,
};

struct explore_value {
	uint8_t kind;		/* enum value_kind */
	uint8_t nth;
	bool is_rank;		/* else .value is special to slow requests */
	double rho;
	int64_t value;
	double slow_share, other_share; /* of requests that have it */
	int64_t slow_p50, other_p50;
};

/* Strongest first; how many were written. */
uint32_t values_find(const struct timelines *t, const struct pool *p, uint32_t point,
		     struct explore_value *ret, uint32_t max);

/* "argument 2", "bytes in": for people. */
const char *value_name(const struct explore_value *v, char *out, size_t len);

#endif /* EXPLORE_VALUES_H */
