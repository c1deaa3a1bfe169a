/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_FRAMES_H
#define APP_FRAMES_H
/*
 * Which functions of a stack are the application's.  Left out are the kernel
 * and the system's run-time libraries (C and C++ library, loader, vDSO,
 * compiler support): what every program reaches the kernel through.  The
 * innermost one left is the function that made the call, its "self" function.
 *
 * Where the stack has functions made at run time (a JIT's), the innermost of
 * those is it, and the native code of the run-time system further in counts as
 * a system library; so do the language's own classes (java.*, jdk.*, node:...),
 * unless nothing else is there.
 *
 *	appfns_make: model in, result in the arena
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stacks/stacks.h"

enum { APPFN_CALLERS = 2 };	/* a call counts for its function and so many callers */

struct app_frame {
	uint32_t fn;		/* idx in appfns.fns */
	uint32_t depth;		/* functions further out, of whichever module */
};

struct app_stack {
	const struct app_frame *frames; /* innermost first; frames[0] is self */
	const uint64_t *sites;	/* by depth: where each function is, or calls the next from */
	uint32_t cnt;		/* 0: none is the application's, or no stack is stored */
};

struct appfns {
	const struct stack_fn *fns; size_t fn_cnt; /* distinct (kind, module, name) */
	const struct app_stack *stacks; /* by model stack idx */
	const struct stack_path *paths; /* by model stack idx, all functions */
	const uint64_t *begins, *ends;	/* by fn: ELF addresses seen of it, both 0 not known */
	const uint32_t *modules;	/* by fn: model module idx, NO_IDX */
};

struct appfns *appfns_make(const struct model *m, struct arena *arena);

/*
 * Frame i is where another module called into this one, by a function that has
 * a file: to who calls it a library is one thing, however many functions deep
 * it goes.
 */
bool appfn_is_entry(const struct appfns *a, const struct app_stack *st, uint32_t i);

/* The rule itself, of one function: 1 for the kernel's and the run-time libraries'. */
int appfn_is_system(const struct stack_fn *fn);

#endif /* APP_FRAMES_H */
