/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef REGS_H
#define REGS_H
/*
 * The registers that a thread saved when it entered the kernel: number and
 * arguments of its system call.  The only file here that knows the machine.
 */
#include "ktypes.h"

struct sysregs {
	s64 nr; /* -1: no system call active (page fault, interrupt) */
	u64 arg[4];
};

#if defined(__TARGET_ARCH_x86)

struct pt_regs {
	unsigned long r10;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long cs;
} __attribute__((preserve_access_index));

#define COMPAT_CS 0x23

static __always_inline void sysregs_read(const struct pt_regs *regs, struct sysregs *ret)
{
	ret->nr = regs->cs == COMPAT_CS ? -2 : (s64)(s32)regs->orig_ax;
	ret->arg[0] = regs->di;
	ret->arg[1] = regs->si;
	ret->arg[2] = regs->dx;
	ret->arg[3] = regs->r10;
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
}

#else
#error "regs.h does not know this machine"
#endif

#endif /* REGS_H */
