/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STACKS_FNS_H
#define STACKS_FNS_H
/*
 * From frames to functions: each distinct (module, name) once, each stack of
 * the model as a list of them.  For stacks/ and functions/.
 *
 *	struct fns f;  fns_init, fns_note, fns_paths, fns_finish, fns_release
 */
#include <stdbool.h>

#include "base/hash.h"
#include "base/vec.h"
#include "model/model.h"
#include "stacks/stack_fn.h"

struct fns {
	const struct model *m;
	struct arena *arena;
	VEC(struct stack_fn) fns;
	struct hmap by_name;	/* hash of kind, module and name, to place plus one */
	struct hmap by_frame;	/* hash of frame and process, to place in chains plus one */
	VEC(uint32_t) chains;	/* runs of functions, outermost first, each after its length */
	const char **bases;	/* by module idx: base name */
	bool by_definition;	/* set after _init: interpreted functions are one at all lines */
};

void fns_init(struct fns *f, const struct model *m, struct arena *arena);
void fns_release(struct fns *f);

/* Adds an entry that is no function: process, thread, resource, ... */
uint32_t fns_note(struct fns *f, unsigned kind, const char *name);

/* The place of a function of another result. */
uint32_t fns_same(struct fns *f, const struct stack_fn *fn);

/*
 * Is a file of this base name the C library, its threads or its loader: what a program
 * reaches the kernel through?
 */
bool fns_is_libc(const char *base);

/* By stack idx, in the arena. */
struct stack_path *fns_paths(struct fns *f);

#endif /* STACKS_FNS_H */
