/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOOKS_H
#define HOOKS_H
/*
 * The kernel hooks that heldup uses, in one table that the loader and
 * `heldup doctor` share: what each is for and what is lost without it.
 *
 * To add one: 1. give it a row in hooks.c, 2. give the program in src/bpf a
 * name that starts with HOOKS_PREFIX, 3. name the program in the row;
 * tests/unit/t_hooks.c tells if the two do not match.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

/*
 * Every BPF program and map of heldup has a name that begins so (the kernel
 * keeps 15 characters).  By it doctor finds what is still attached.
 */
#define HOOKS_PREFIX "hu_"

enum hook_kind {
	HOOK_TP_BTF = 1,     /* typed raw tracepoint: bpf_link, needs BTF */
	HOOK_ITER = 2,	     /* iterator: task, bpf_sk_storage_map, ... */
	HOOK_MAP = 3,	     /* map type: task storage, ring buffer, ... */
	HOOK_HELPER = 4,     /* helper function of the kernel */
	HOOK_CLOCK = 6,	     /* a program that a clock of each CPU runs */
	HOOK_FUNC = 5,	     /* a kernel function, by trampoline: only instead of others */
};

struct hook {
	const char *name;    /* "sched_switch", "block_io_start", "task" */
	int nr;		     /* map type or helper number, else 0 */
	enum hook_kind kind;
	bool required;	     /* without it heldup cannot answer */
	const char *instead; /* name of a hook that replaces it, NULL none */
	const char *cost;    /* what is not seen without it: "disk metrics (sector_count)" */
	const char *mend;    /* command or kernel option that brings it, NULL: newer kernel */
};

extern const struct hook hooks_table[];
extern const size_t hooks_cnt;

/* NULL when there is no such row. */
const struct hook *hooks_find(const char *name);

/* "tracepoint", "iterator", "map type", "helper", "function", "clock" */
const char *hooks_kind_name(enum hook_kind kind);

/*
 * Loads the smallest program or map of that kind, attaches it where that is
 * possible and drops it again: 0 works, -ENOENT the kernel has no such hook,
 * -EPERM rights or lockdown, -ENOTSUP otherwise refused.  vmlinux is the
 * kernel's BTF; NULL makes all but maps -ENOENT.
 */
int hooks_probe(const struct hook *h, const struct btf *vmlinux);

/* The same of an iterator, by the id of its function bpf_iter_NAME in the kernel's BTF. */
int hooks_probe_iter(uint32_t btf_id);

/* A clock of one CPU, off until a program is attached: descriptor, -ENODEV no such CPU, -errno. */
int hooks_clock_open(int cpu, uint64_t hz);

#endif /* HOOKS_H */
