/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOLLOWED_SET_H
#define FOLLOWED_SET_H
/*
 * What is known of followed processes before their first event, for each new slice:
 * the ports that they listen on, which switch between tasks without the kernel, and
 * which connections carry several requests at once.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct paths;

#define FOLLOWED_SHARING_MAX 65536

struct followed_set {		/* all zero is valid */
	struct hmap ports, switching, sharing;
};

/* p: the present slice's, which learns it, too. */
void followed_port(struct followed_set *f, struct paths *p, uint16_t port);
void followed_switches(struct followed_set *f, struct paths *p, uint32_t tgid);
/* After a slice.  Connections over FOLLOWED_SHARING_MAX are found in each slice anew. */
void followed_shares(struct followed_set *f, const struct paths *p);
bool followed_serves(const struct followed_set *f, uint16_t port);

/* For the next slice; to be given to paths_free. */
struct paths *followed_paths(const struct followed_set *f);
void followed_release(struct followed_set *f);

#endif /* FOLLOWED_SET_H */
