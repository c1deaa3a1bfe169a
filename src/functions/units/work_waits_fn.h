/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_WORK_WAITS_FN_H
#define FUNCTIONS_WORK_WAITS_FN_H
/*
 * What is known beforehand of where threads wait for work (units.h), by the
 * keys of their calls: where they did when signatures were learnt, or whether
 * requests were open while they waited there.  A loop that is held up sleeps
 * longest, and with a bug often, at the very place that holds it up; by its
 * calls alone that looks like home.
 *
 *	struct homes h = {0};  homes_of_sigs (learnt_homes.h) or homes_of_held
 *	homes_ask, homes_nobody;  homes_release
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct appfns;
struct held;

enum home_known { HOME_UNKNOWN = 0, HOME_KNOWN, HOME_NOT };

struct home_sum { double home, other; }; /* waits, or nanoseconds, of either kind */

struct homes {
	VEC(struct home_sum) sums;
	struct hmap by_key;	/* to place in sums plus one */
	double held_ns;		/* requests' time, in these and computing */
};

/* The sum of a key, 0 to begin with; valid until the next is asked for. */
struct home_sum *homes_sum(struct homes *h, uint64_t key);

void homes_of_held(struct homes *h, const struct held *held, const struct appfns *fns);
void homes_release(struct homes *h);

/* key: as call_key gives it; h may be NULL. */
enum home_known homes_ask(const struct homes *h, uint64_t key);

/* It is known where requests spent their time, and none of it was in that function. */
bool homes_nobody(const struct homes *h, uint64_t key);

#endif /* FUNCTIONS_WORK_WAITS_FN_H */
