/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_H
#define TESTS_H
/*
 * Distributions and tests that the analysis of requests leans on.  Pure
 * functions of their arguments.
 */
#include <stddef.h>
#include <stdint.h>

/* The regularised incomplete beta function I_x(a, b); a, b > 0, x is cut to 0..1. */
double stats_beta(double a, double b, double x);

/* Chance of a t as far from 0 or farther, either way, with df > 0 degrees of freedom. */
double stats_t_p(double t, double df);

/* The t below which p of the distribution lies; p in 0.5..1. */
double stats_t_quantile(double p, double df);

/* The same for p = 0.975, which errors are made of: those of up to 15 are at hand. */
double stats_t_975(uint32_t df);

/* Chance of an F as great or greater. */
double stats_f_p(double f, double df1, double df2);

/*
 * p value of a correlation of cnt pairs (Pearson, and near enough Spearman), by t;
 * 1 under 4 pairs.
 */
double stats_r_p(double r, uint32_t cnt);

/* Chance that of cnt drawn out of all, of which good are good, hits or more are. */
double stats_hyper_p(uint32_t all, uint32_t good, uint32_t cnt, uint32_t hits);

/*
 * False discovery rates (Benjamini and Hochberg): ret_q[i] is the smallest
 * rate at which test i would still be called a discovery among all cnt.
 */
void stats_fdr(const double *p, size_t cnt, double *ret_q);

/* Ranks from 1, ties get their mean; order is room for cnt numbers. */
void stats_ranks(const double *x, uint32_t cnt, uint32_t *order, double *ret_rank);

/* The same where order is known. */
void stats_ranks_in(const double *x, const uint32_t *order, uint32_t cnt, double *ret_rank);

/* Pearson; 0 where one of them does not vary. */
double stats_r(const double *x, const double *y, uint32_t cnt);

#endif /* TESTS_H */
