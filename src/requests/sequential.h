/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEQUENTIAL_H
#define SEQUENTIAL_H
/*
 * Looking again and again at growing evidence without being fooled: each look
 * may spend a part of the whole search's chance of a wrong decision, less and
 * less, so that all looks there can ever be stay under it.
 */
#include <stdint.h>

/* What the look (from 1) may spend of alpha: alpha * 6 / (pi look)², which adds to alpha. */
double sequential_alpha(double alpha, uint32_t look);

/* Chance of a z as great or greater; 1 for one that cannot be told. */
double sequential_p(double value, double error);

#endif /* SEQUENTIAL_H */
