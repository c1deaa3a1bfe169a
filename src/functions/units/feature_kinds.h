/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_FEATURE_KINDS_H
#define FUNCTIONS_FEATURE_KINDS_H
/*
 * What units are compared by: one dimension for each call that the window
 * has, without the noise (normalize.h), and one for the time between calls.  Also
 * what kind of waiting a call is good for, by its name: the same in every
 * program.
 */
#include <stdbool.h>
#include <stdint.h>

#include "functions/units/normalize.h"

struct arena;
struct model;

/*
 * The last numbers are no calls: in a set of calls, as bits, they say that of
 * the unit only blocking calls are known (PART_BITS).  They are so many that no
 * such unit is ever like one of which all are.
 */
enum { DIMS_MAX = 512, DIMS_CALLS_MAX = 504, DIM_OWN = 0, DIM_NONE = UINT16_MAX };
#define PART_BITS (UINT64_C(0xff) << 56)

static inline void set_make_part(uint64_t *bits)
{
	bits[DIMS_MAX / 64 - 1] |= PART_BITS;
}

static inline bool set_is_part(const uint64_t *bits)
{
	return bits[DIMS_MAX / 64 - 1] & PART_BITS;
}

enum call_class {
	CALL_PLAIN = 0,		/* not one to wait for work in */
	CALL_SET,		/* waits for one of several: epoll, poll, select */
	CALL_ACCEPT,
	CALL_READ,		/* may wait for what somebody sends */
	CALL_FUTEX,
	CALL_SLEEP,
	CALL_REST,		/* signals, children, pause */
	CALL_END,		/* does not return: the thread ends */
};

struct dims {			/* index 0 is DIM_OWN */
	uint16_t *of_nr;	/* by nr; DIM_NONE: noise, or never called */
	uint16_t nr_of[DIMS_MAX];
	uint8_t cls[DIMS_MAX];	/* enum call_class */
	uint8_t *noise;		/* by nr */
	uint32_t cnt;
	uint64_t folded_cnt;	/* calls of a kind over DIMS_CALLS_MAX: left out like noise */
};

void dims_make(struct dims *d, const struct model *m, struct arena *arena);

enum call_class call_class_of(const char *name);

#endif /* FUNCTIONS_FEATURE_KINDS_H */
