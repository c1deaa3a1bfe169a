/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLOCK_H
#define CLOCK_H
/*
 * Clocks and durations, all in nanoseconds.  Events carry mono_ns (the clock
 * of bpf_ktime_get_ns); real_ns is only for showing a date.
 */
#include <stdint.h>

struct err;

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_SEC UINT64_C(1000000000)

uint64_t clock_mono_ns(void);
uint64_t clock_boot_ns(void); /* counts suspended time too: /proc start times */
uint64_t clock_real_ns(void);

/* CPU time that this process used so far, user and system. */
uint64_t clock_self_cpu_ns(void);

/*
 * Reads "10s", "500ms", "2m", "1h30m", "1.5s", "250us", "40ns"; a number
 * without a unit is seconds.  -EINVAL when it is not one, -ERANGE when it is
 * over 1000 days; *ret_ns is then untouched.
 */
int duration_parse(const char *text, uint64_t *ret_ns, struct err *err);

#endif /* CLOCK_H */
