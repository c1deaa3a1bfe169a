/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FMT_H
#define FMT_H
/*
 * Numbers as a person reads them.  Each writes into out, FMT_MAX bytes that
 * the caller gives, and returns out, so that it can stand in a printf.
 *
 *	char t[FMT_MAX];
 *	printf("%s\n", fmt_ns(t, wait_ns));
 *
 * Three significant digits; never for machines: JSON has plain numbers.
 */
#include <stdint.h>

enum { FMT_MAX = 24 };

char *fmt_ns(char *out, uint64_t ns);		/* 0, 940 ns, 1.24 ms, 10.0 s, 3 m 20 s */
char *fmt_bytes(char *out, uint64_t bytes);	/* 512 B, 4.00 KiB, 1.50 GiB */
char *fmt_count(char *out, uint64_t cnt);	/* 950, 12.3 k, 4.56 M */
char *fmt_share(char *out, double share);	/* 0.031 -> 3.1 %, 0.5 -> 50 % */
double fmt_percent(double share);		/* 0.314 -> 31, for "%.0f"; never -0 */

#endif /* FMT_H */
