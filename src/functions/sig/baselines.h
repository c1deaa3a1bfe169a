/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_BASELINES_H
#define FUNCTIONS_BASELINES_H
/*
 * What kinds of work were usual while signatures were learnt, kept beside them
 * (struct sig_base).  They stand in where a window has too few units of a kind
 * to tell by itself what is usual: there they override PerfScope's rule for
 * clusters of fewer than four.  They do not stand in where it has enough, for
 * the machine that was learnt on is another.
 */
#include <stdint.h>

struct arena;
struct cluster;
struct profile;
struct sig_builder;
struct sigs;

/* Puts down the clusters of p that are large enough to have a middle. */
void bases_learn(struct sig_builder *b, const struct profile *p);

/* Those of s as clusters in the dimensions of p; *ret_cnt may be 0. */
const struct cluster *bases_clusters(const struct sigs *s, const struct profile *p,
				     struct arena *arena, uint32_t *ret_cnt);

#endif /* FUNCTIONS_BASELINES_H */
