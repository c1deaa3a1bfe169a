/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_H
#define CHECK_H
/*
 * The border between a file and the program: says of each record whether it
 * may pass.  What passes is whole, fits its kind, and names only strings that
 * were given before it.
 *
 *	struct event_check c = {0};  event_check ...  event_check_release
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/event.h"

enum event_verdict {
	EVENT_PASS = 0,
	EVENT_SKIP = 1,	   /* whole, but damaged inside: counted, go on after it */
	EVENT_BROKEN = 2,  /* its length cannot be: nothing after it can be found */
};

struct event_check {
	VEC(uint64_t) strs;	/* bit set: the string was given */
	uint32_t str_max;	/* the highest */
	uint64_t skipped_cnt;
};

void event_check_release(struct event_check *c);

/* data: left bytes at 8-byte alignment. */
enum event_verdict event_check(struct event_check *c, const void *data, size_t left);

#endif /* CHECK_H */
