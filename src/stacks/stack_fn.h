/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STACKS_STACK_FN_H
#define STACKS_STACK_FN_H
/*
 * A function, and a stack as a list of functions: plain values, part of stacks.h
 * and fns.h.
 */
#include <stdint.h>

enum stack_fn_kind {
	FN_USER = 0,
	FN_KERNEL = 1,
	FN_JIT = 2,
	/* not functions: what a path begins and ends with */
	FN_PROC = 3,
	FN_THREAD = 4,
	FN_RES = 5,
	FN_WAKER = 6,		/* between the waiter's functions and the waker's */
	FN_NONE = 7,		/* no stack was taken, or none was stored */
	FN_CUT = 8,		/* the stack's outer part is not known */
};

struct stack_fn {
	const char *name;
	const char *file;	/* of the source, "" unknown */
	const char *module;	/* base name, "" none */
	uint8_t kind;		/* enum stack_fn_kind */
	uint8_t libc;		/* 1: of the C library or the loader */
	uint8_t nameless;	/* 1: called after its module and offset */
	uint8_t lang;		/* enum stack_fn_lang */
};

/* Functions of interpreted programs, in FN_JIT: module is their language. */
enum stack_fn_lang {
	FN_LANG_NONE = 0,
	FN_LANG_APP = 1,	/* the program's own */
	FN_LANG_LIB = 2,	/* came with the language, or as a package */
};

struct stack_path {		/* of one model stack */
	uint32_t *fns;		/* idx in fns, outermost first */
	uint32_t cnt;
	uint32_t user_cnt;	/* of these, before those of the kernel */
};

#endif /* STACKS_STACK_FN_H */
