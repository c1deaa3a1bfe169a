/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_BINS_H
#define FUNCTIONS_BINS_H
/*
 * 256 bins for any number: whole ones to 8, then four to each doubling.  The
 * middle of a bin is at most a ninth off.
 */
#include <stdint.h>

enum { BINS = 256 };
unsigned bin_of(uint64_t value);
double bin_mid(unsigned bin);

/* The median of binned values, and the median of its distances to them, of f(bin_mid). */
struct spread { double mid, dev; };
struct spread bins_spread(const uint32_t *bins, double (*f)(double value));

#endif /* FUNCTIONS_BINS_H */
