/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef REGS_H
#define REGS_H
/*
 * The registers that a thread saved when it entered the kernel: number and
 * arguments of its system call.  The only file here that knows the machine.
 */
#include "bpf/ktypes.h"

struct sysregs {
	s64 nr; /* -1: no system call active (page fault, interrupt) */
	u64 arg[5];
	u64 task; /* whose, as a number; only where a reader of this wants it */
};

#if defined(__TARGET_ARCH_x86)

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs;
	unsigned long sp;
} __attribute__((preserve_access_index));

#define COMPAT_CS 0x23

static __always_inline void sysregs_read(const struct pt_regs *regs, struct sysregs *ret)
{
	ret->nr = regs->cs == COMPAT_CS ? -2 : (s64)(s32)regs->orig_ax;
	ret->arg[0] = regs->di;
	ret->arg[1] = regs->si;
	ret->arg[2] = regs->dx;
	ret->arg[3] = regs->r10;
	ret->arg[4] = regs->r8;
}

/* Reads the position of the user side; false for a 32-bit process. */
static __always_inline bool userregs_read(const struct pt_regs *regs, u64 *pc, u64 *sp, u64 *bp)
{
	*pc = regs->ip;
	*sp = regs->sp;
	*bp = regs->bp;
	return regs->cs != COMPAT_CS;
}

/* All of them, by their DWARF numbers. */
static __always_inline void userregs_all(const struct pt_regs *regs, u64 *ret)
{
	ret[0] = regs->ax;
	ret[1] = regs->dx;
	ret[2] = regs->cx;
	ret[3] = regs->bx;
	ret[4] = regs->si;
	ret[5] = regs->di;
	ret[6] = regs->bp;
	ret[7] = regs->sp;
	ret[8] = regs->r8;
	ret[9] = regs->r9;
	ret[10] = regs->r10;
	ret[11] = regs->r11;
	ret[12] = regs->r12;
	ret[13] = regs->r13;
	ret[14] = regs->r14;
	ret[15] = regs->r15;
}

/* The address that pthread_self() returns. */
static __always_inline u64 pthread_of(const struct task_struct *p)
{
	return p->thread.fsbase;
}

#elif defined(__TARGET_ARCH_arm64)

struct pt_regs {
	u64 regs[31];
	u64 orig_x0;
	s32 syscallno;
} __attribute__((preserve_access_index));

static __always_inline void sysregs_read(const struct pt_regs *regs, struct sysregs *ret)
{
	ret->nr = regs->syscallno;
	ret->arg[0] = regs->orig_x0;
	ret->arg[1] = regs->regs[1];
	ret->arg[2] = regs->regs[2];
	ret->arg[3] = regs->regs[3];
	ret->arg[4] = regs->regs[4];
}

/* No tables are made for this machine: its stacks are the kernel's only. */
static __always_inline bool userregs_read(const struct pt_regs *regs, u64 *pc, u64 *sp, u64 *bp)
{
	return false;
}

static __always_inline void userregs_all(const struct pt_regs *regs, u64 *ret)
{
}

static __always_inline u64 pthread_of(const struct task_struct *p)
{
	return 0;
}

#else
#error "regs.h does not know this machine"
#endif

#endif /* REGS_H */
