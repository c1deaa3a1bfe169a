/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NORMALIZE_H
#define NORMALIZE_H
/*
 * Normalisation: of a thread's system calls, what tells which function made
 * them.  Calls for memory and for the time of day are left out, since whether
 * one is made depends on the allocator's state and on the vDSO; immediate
 * repeats become one symbol, since how often a loop went round depends on the
 * data.  The same rule is used for learning and for finding.
 *
 *	struct norm n = {0};
 *	norm_calls(&n, calls, first, cnt, noise);  n.syms[i], n.first[i], n.reps[i], n.cnt
 *	norm_release(&n)
 *
 * All-zero is valid; norm_calls replaces what was there and keeps the memory.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct call;

#define SYM_NONE UINT16_MAX	/* no call of this capture */

struct norm {
	uint16_t *syms;		/* numbers as in struct call */
	uint32_t *first;	/* idx in calls[] of the symbol's first call */
	uint32_t *reps;		/* how many calls it stands for */
	size_t cnt, cap;
	uint64_t noise_cnt;	/* calls left out */
};

/*
 * gettimeofday, clock_gettime, time, getcpu; mmap and its kin, munmap, mremap,
 * mprotect, madvise, brk; restart_syscall and rt_sigreturn, which no function
 * of the program calls.  sched_yield is none: a loop that yields instead of
 * sleeping is one of the bugs to find.
 */
bool norm_is_noise(const char *call_name);

/* By nr, 1: noise.  names by nr, NULL: not known. */
uint8_t *norm_noise(const char *const *names, uint32_t cnt, struct arena *arena);

/* calls[first .. first + cnt) of one thread.  noise as above, NULL: none is. */
void norm_calls(struct norm *n, const struct call *calls, uint32_t first, uint32_t cnt,
		const uint8_t *noise);
void norm_release(struct norm *n);

#endif /* NORMALIZE_H */
