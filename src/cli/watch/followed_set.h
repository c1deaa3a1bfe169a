/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOLLOWED_SET_H
#define FOLLOWED_SET_H
/*
 * What is known of followed processes before their first event, for each new slice:
 * the ports that they listen on, and which switch between tasks without the kernel.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct paths;

struct followed_set {		/* all zero is valid */
	struct hmap ports, switching;
};

/* p: the present slice's, which learns it, too. */
void followed_port(struct followed_set *f, struct paths *p, uint16_t port);
void followed_switches(struct followed_set *f, struct paths *p, uint32_t tgid);
bool followed_serves(const struct followed_set *f, uint16_t port);

/* For the next slice; to be given to paths_free. */
struct paths *followed_paths(const struct followed_set *f);
void followed_release(struct followed_set *f);

#endif /* FOLLOWED_SET_H */
