/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UNWIND_H
#define UNWIND_H
/*
 * How to get from a frame to its caller's, as tables: what .eh_frame says,
 * reduced to the three registers that matter.  symbols/unwind/cfi.c makes them, the
 * BPF unwinder and symbols/unwind/unwind.c follow them, in the same steps.
 *
 * A program counter is here the ELF address minus the module's base_vaddr
 * (symbols/files/image.h), so text is below 4 GiB.  A row holds from its pc to that
 * of the next; there is none before the first.
 *
 *	UNW_RSP, UNW_RBP  CFA = rsp or rbp + cfa_off * 8
 *	                  return address at CFA - 8, the caller's rsp is CFA
 *	                  UNW_RBP_SAVED: caller's rbp at CFA + rbp_off * 8, else rbp
 *	UNW_EXT           the rest: exts[cfa_off] says
 *	UNW_LAST          the outermost frame
 *	UNW_NONE          nothing is known: between functions, or a rule of no form here
 */
#ifndef __bpf__
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#else
typedef __s8 s8;
#endif

enum unw_cfa {
	UNW_NONE = 0,
	UNW_RSP = 1,
	UNW_RBP = 2,
	UNW_EXT = 3,
	UNW_LAST = 4,
};
#define UNW_CFA_MASK 0x0f
#define UNW_RBP_SAVED 0x10

struct unw_row {
	u32 pc;
	u16 cfa_off;
	s8 rbp_off;
	u8 kind; /* enum unw_cfa, UNW_RBP_SAVED */
};
_Static_assert(sizeof(struct unw_row) == 8, "unw_row");

/* place of a register of the caller; off is unw_ext's ra_off or rbp_off */
enum unw_base {
	UNW_B_CFA = 0,	/* at CFA + off */
	UNW_B_SAME = 1, /* unchanged */
	UNW_B_RSP = 2,	/* at rsp + off */
	UNW_B_RBP = 3,	/* at rbp + off */
	UNW_B_REG = 4,	/* in register number off (not yet or no longer on the stack) */
};

enum unw_x {
	UNW_X_DEREF = 1,  /* CFA = *(u64 *)(cfa_reg + cfa_off) + (flags >> UNW_X_ADD) * 8 */
	UNW_X_SIGNAL = 2, /* rsp is at a struct ucontext with all registers; its rip is exact */
	UNW_X_PLT = 4,	  /* CFA = rsp + cfa_off + ((pc & 15) >= ra_off ? 8 : 0), RA at CFA - 8 */
	UNW_X_RBX = 8,	  /* RA at CFA - 8; caller's rbx at CFA + ra_off, unchanged if that is 0 */
};
#define UNW_X_ADD 4

/*
 * Registers have DWARF's numbers (rax rdx rcx rbx rsi rdi rbp rsp r8..r15).
 * Others than rsp and rbp are known only in a frame whose pc is exact, and rbx
 * where all frames from there on have UNW_X_RBX: so a file with frames on rbx
 * (ld.so, whose lazy resolver is on many a stack) has it in all its rows.
 * Without UNW_X_DEREF CFA = cfa_reg + cfa_off.
 */
struct unw_ext {
	u8 cfa_reg;
	u8 ra_base;  /* enum unw_base, not UNW_B_SAME */
	u8 rbp_base; /* enum unw_base */
	u8 flags;    /* enum unw_x */
	s32 cfa_off;
	s32 ra_off;
	s32 rbp_off;
};
_Static_assert(sizeof(struct unw_ext) == 16, "unw_ext");

/* Why a walk ended. */
enum unw_end {
	UNW_END_UNKNOWN = 0,
	UNW_END_OUTERMOST = 1, /* it is whole */
	UNW_END_NO_MAP = 2,    /* the pc lies in no known mapping */
	UNW_END_NO_RULE = 3,   /* UNW_NONE, or a register that is not known there */
	UNW_END_BAD_READ = 4,  /* the stack could not be read, or did not grow */
	UNW_END_BAD_PC = 5,
	UNW_END_DEPTH = 6, /* deeper than the limit */
};

#endif /* UNWIND_H */
