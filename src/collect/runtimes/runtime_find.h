/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_FIND_H
#define RUNTIME_FIND_H
/*
 * The runtime of a process: found by the files it maps, opened, and its memory
 * read through the reader (reads/), within what may be read without waiting for
 * a device: private memory, shared memory without a name, ordinary files.
 *
 *	runtime_find, runtime_found_lists ..., runtime_found_release
 */
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "reads/chains.h"
#include "symbols/runtimes/runtimes.h"

struct buf;

#define RUNTIME_RANGES_MAX 16384 /* of a process: thousands of threads have a stack each */

struct runtime_found {
	uint32_t tgid;
	const struct runtime_lang *lang; /* NULL: it has none that is known */
	struct runtime_proc *proc;	 /* NULL: problem says why */
	struct err problem;
	VEC(struct chain_range) ranges;
	uint32_t range_cut;		 /* ranges over RUNTIME_RANGES_MAX */
};

/*
 * ret is all zero; it keeps its address while proc is used.  0, also where there is
 * no runtime or none that can be read; -errno where its mappings could not be.
 */
int runtime_find(uint32_t tgid, struct runtime_found *ret);

/* Reads the ranges anew: the process may have mapped more. */
int runtime_found_ranges(struct runtime_found *f);

/* The lists of items, of which there are at most CHAIN_ITEMS, appended. */
long runtime_found_lists(struct runtime_found *f, const struct chain_shape *shape,
			 const struct chain_item *items, size_t cnt, struct buf *out);

void runtime_found_release(struct runtime_found *f);

#endif /* RUNTIME_FIND_H */
