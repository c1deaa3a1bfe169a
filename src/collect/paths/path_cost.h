/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_COST_H
#define PATH_COST_H
/*
 * The cost of following, from the first slice to the last: the time of the BPF
 * programs, as the kernel times them, with the calls of them, and our own CPU time,
 * against the CPU time in use on the machine or one CPU's if that is more.  The start
 * before it is not in it.
 *
 *	path_cost_start, then for each slice _follow, _tick again and again, _rest and
 *	_analysed
 *
 * Timing costs, too, so programs are timed for a part of a long slice only.  What
 * the events of an open slice will cost when they are analysed is reckoned in.
 */
#include <stdbool.h>
#include <stdint.h>

struct bpf_object;

struct path_cost {
	double may;		/* share of the CPU time in use; 0: any */
	struct bpf_object *obj;
	uint64_t begin_ns, own_ns, busy_ns;	/* when all began */
	double programs_ns;	/* of slices that ended, and of this one until summed_ns */
	double rate;		/* of programs, as last timed: ns in a ns */
	double off_rate;	/* of programs that are called and record nothing */
	double event_ns;	/* to drain and analyse an event, as last seen */
	uint64_t slice_ns, summed_ns;
	uint64_t timed_ns;	/* the timing began; 0: not now */
	int stats_fd;
	uint64_t run_ns, run_cnt;	/* then */
};

void path_cost_start(struct path_cost *c, struct bpf_object *obj, uint32_t max_ppm);

/* A slice begins; is under way; ended. */
void path_cost_follow(struct path_cost *c);
void path_cost_tick(struct path_cost *c);
void path_cost_rest(struct path_cost *c);

/* The programs were called for so long between two slices. */
void path_cost_called(struct path_cost *c, uint64_t ns);

/* The slice's events took so much of our CPU time after it. */
void path_cost_analysed(struct path_cost *c, uint64_t event_cnt, uint64_t own_ns);

/* Tracepoints of a search cost so much on top. */
void path_cost_points(struct path_cost *c, double ns);

/* The cost of a ns of the present slice, with its so many events analysed. */
double path_cost_rate(struct path_cost *c, uint64_t event_cnt);

/* All until now, and the CPU time in use meanwhile. */
double path_cost_spent(const struct path_cost *c);
double path_cost_used(const struct path_cost *c);

#endif /* PATH_COST_H */
