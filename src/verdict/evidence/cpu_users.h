/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CPU_USERS_H
#define CPU_USERS_H
/* Users of the CPUs while the target waited for one, and threads that leave none to others. */
#include "verdict/context/context.h"

/*
 * Time by who had the CPU: the target, its children beside the requests, processes that it
 * talks to, others.
 */
struct cpu_users {
	double own, beside, peers, others;
	const struct culprit *child, *peer; /* the largest of theirs, NULL none */
};

/* Fills k->beside: processes that a target forked for something that no request waits for. */
void children_beside(struct context *k);
/* After children_beside. */
struct cpu_users cpu_users(const struct context *k);
/* Neither target, nor peer, nor heldup. */
bool is_neighbour(const struct context *k, const struct culprit *u);

/*
 * Who ran while the target waited for a CPU, processes of one name together, whoever of
 * the target waited: by time, without heldup.  first->culprit 0: nobody did.
 */
struct ran { const struct culprit *first; double ns; bool more; };
struct ran *who_ran(const struct context *k, size_t *ret_cnt);
void culprit_lines(struct context *k, struct finding *f);

/* It runs or wants to nearly all of its life; of the window, too. */
bool never_rests(const struct thread *th);
bool thread_is_full(const struct context *k, uint32_t thread);
/* The cost of a fork to the one that goes on writing. */
void copies_line(struct context *k, struct finding *f);

#endif /* CPU_USERS_H */
