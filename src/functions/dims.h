/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_DIMS_H
#define FUNCTIONS_DIMS_H
/*
 * What units are compared by: one dimension for each call that the window
 * has, without the noise (norm.h), and one for the time between calls.  Also
 * what kind of waiting a call is good for, by its name: the same in every
 * program.
 */
#include <stdint.h>

#include "functions/norm.h"

struct arena;
struct model;

enum { DIMS_MAX = 512, DIM_OWN = 0, DIM_NONE = UINT16_MAX };

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
	uint64_t folded_cnt;	/* calls of a kind over DIMS_MAX: left out like noise */
};

void dims_make(struct dims *d, const struct model *m, struct arena *arena);

enum call_class call_class_of(const char *name);

#endif /* FUNCTIONS_DIMS_H */
