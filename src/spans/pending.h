/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PENDING_H
#define PENDING_H
/*
 * Spans that cannot be handed on yet, because what they need stands further
 * down in the file: Jaeger's processes come after the spans that name them.
 *
 *	pending_new;  pending_add ...;  pending_take;  pending_free
 *
 * Up to PENDING_BYTES stay in memory; what is more goes to a file without a
 * name (in TMPDIR or /var/tmp) and is read back in order.
 */
#include <stddef.h>
#include <stdint.h>

struct making;
struct pending;

enum { PENDING_BYTES = 32 << 20 };

struct pending *pending_new(void);
void pending_free(struct pending *p);

/* m is copied, with a word of the caller's.  0 or the -errno of writing the file. */
int pending_add(struct pending *p, const struct making *m, uint64_t word);

size_t pending_cnt(const struct pending *p);

/*
 * Hands on all that were added, in order, and is then empty.  take may change
 * m; what it returns < 0 ends it.
 */
int pending_take(struct pending *p, int (*take)(void *ctx, struct making *m, uint64_t word),
		 void *ctx);

#endif /* PENDING_H */
