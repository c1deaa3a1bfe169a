/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYMBOLS_UNWIND_H
#define SYMBOLS_UNWIND_H
/*
 * The unwinder in user space: the same steps as src/bpf/unwind/unwind_user.c, for what is
 * not in the kernel's reach (a stopped process, a core) and as its measure.
 * What lies where, and what memory holds, the caller says.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/unwind.h"

struct cfi_table;

enum { UNWIND_REG_CNT = 16 };

struct unwind_regs {
	uint64_t reg[UNWIND_REG_CNT]; /* DWARF's order, see wire/unwind.h */
	uint64_t pc;
};

struct unwind_place {
	const struct cfi_table *table; /* NULL: none, frames have a frame pointer */
	uint64_t base;		       /* pc - base is what the table counts in */
};

struct unwind_ops {
	void *ctx;
	/* false: nothing executable is there */
	bool (*find)(void *ctx, uint64_t pc, struct unwind_place *ret);
	/* len bytes at addr, of the stack or of code; false when they cannot be read */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
};

struct unwind_frame {
	uint64_t pc; /* where it stands, or where it will return to */
	uint64_t cfa; /* 0 in the last */
	bool exact;  /* the first, and what a signal interrupted: names look up pc, else pc - 1 */
	bool guessed; /* its caller was found by the frame pointer alone */
};

/* At most max frames, innermost first, and why there are no more. */
enum unw_end unwind_walk(const struct unwind_ops *ops, const struct unwind_regs *regs,
			 struct unwind_frame *ret_frames, size_t max, size_t *ret_cnt);

#endif /* SYMBOLS_UNWIND_H */
