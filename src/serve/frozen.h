/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FROZEN_H
#define FROZEN_H
/*
 * The minutes before, of all services at once (store/tape.h), and a capture of one
 * service made of them: in it that service's processes are the chosen ones and all
 * others their counterparts, as if `heldup record` had watched that service alone.
 *
 *	frozen_new, frozen_put for each event of the watch;
 *	source_full, a tick later frozen_is_full, then frozen_write; frozen_free
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct event_hdr;
struct frozen;
struct services;

struct frozen *frozen_new(size_t max_bytes, uint64_t keep_ns, const struct services *services);
void frozen_free(struct frozen *f);
void frozen_put(struct frozen *f, const struct event_hdr *ev);

/* The tick that was put last was a full one. */
bool frozen_is_full(const struct frozen *f);

/* Since when it is complete, and until when; CLOCK_MONOTONIC. */
uint64_t frozen_begin_ns(const struct frozen *f);
uint64_t frozen_end_ns(const struct frozen *f);

/* 0 with the size of the file, or -errno: the file is whole or not there. */
int frozen_write(const struct frozen *f, uint32_t service, const char *path,
		 uint64_t *ret_bytes, struct err *err);

#endif /* FROZEN_H */
