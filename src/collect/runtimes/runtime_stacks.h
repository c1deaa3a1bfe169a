/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_STACKS_H
#define RUNTIME_STACKS_H
/*
 * Stacks of interpreted programs as they were read, and the names of their
 * frames: a module for the program's own functions and one for its libraries,
 * per language; a frame is one function at one line.
 *
 *	runtime_stacks_new, _add for each list of frames read, _at, _emit, _free
 *
 * A name is known by the address of the code and asked again after
 * RUNTIME_CHECK_NS: an interpreter may have put another function there.
 *
 * Bounds: RUNTIME_STACKS_MAX stacks with RUNTIME_FRAMES_MAX frames, RUNTIME_NAMES_MAX
 * names and as many places; what is over them is counted.
 */
#include <stddef.h>
#include <stdint.h>

#include "collect/runtimes/mixed_stack.h"

struct buf;
struct emit;
struct runtime_proc;
struct runtime_lang;
struct runtime_stacks;

#define RUNTIME_STACKS_MAX 65536
#define RUNTIME_FRAMES_MAX (1u << 21) /* 32 MiB */
#define RUNTIME_NAMES_MAX 262144
#define RUNTIME_CHECK_NS UINT64_C(1000000000)
#define RUNTIME_MODULE(lang_idx, is_library) (65534u - 2 * (uint32_t)(lang_idx) - (is_library))

struct runtime_list { /* as chain_follow puts it out */
	struct runtime_proc *proc;
	const struct runtime_lang *lang;
	uint64_t key; /* of the process: addresses are its own */
	const uint8_t *elems;
	size_t cnt;
};

struct runtime_stacks *runtime_stacks_new(void);
void runtime_stacks_free(struct runtime_stacks *s);

/* The number of the stack from 1; 0: it is damaged, over a bound, or empty. */
uint32_t runtime_stacks_add(struct runtime_stacks *s, const struct runtime_list *list,
			    uint64_t now);

/* Its frames, innermost first; borrowed until the next add. */
const struct mixed_frame *runtime_stacks_at(const struct runtime_stacks *s, uint32_t nr,
					    size_t *ret_cnt);

/* EV_MODULE and EV_FRAME of what was named since the last call. */
void runtime_stacks_emit(struct runtime_stacks *s, struct emit *e, uint64_t now);

struct runtime_stacks_counts {
	uint64_t damaged_cnt; /* lists with something in them that is no frame */
	uint64_t over_cnt;    /* over a bound */
};
struct runtime_stacks_counts runtime_stacks_counts(const struct runtime_stacks *s);

#endif /* RUNTIME_STACKS_H */
