/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_COST_H
#define PATH_COST_H
/*
 * The cost of following: the time of the BPF programs, as the kernel times them, with
 * the calls of them, and our own CPU time, against the CPU time in use on the machine
 * or one CPU's if that is more.
 */
#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

struct path_cost {
	/* after _end: */
	double share;
	double took_ns, used_ns; /* the two that share is of */
	uint64_t begin_ns, end_ns;
	bool on;		/* between _begin and _end */
	double after_ns;	/* the caller's: CPU time for what was measured, spent later */
	/* own: */
	int stats_fd;
	uint64_t run_ns, run_cnt, own_ns, busy_ns;
};

void path_cost_begin(struct path_cost *c, struct bpf_object *obj);
/* Sets share; where the kernel does not time programs, by our own CPU time alone. */
void path_cost_end(struct path_cost *c, struct bpf_object *obj);

#endif /* PATH_COST_H */
