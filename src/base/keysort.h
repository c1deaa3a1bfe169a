/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KEYSORT_H
#define KEYSORT_H
/*
 * A stable sort of small items by a 64-bit number: faster than qsort on few
 * or nearly sorted items (one pass when they are in order already), linear or
 * n log n on any others.
 */
#include <stddef.h>
#include <stdint.h>

struct keyed {
	uint64_t key;
	uint32_t idx;
	uint32_t pad;
};

/* Smallest key first, equal ones in the order they came; tmp has room for cnt items. */
void keysort(struct keyed *items, struct keyed *tmp, size_t cnt);

/* A key that sorts as the signed number does. */
static inline uint64_t keysort_signed(int64_t value)
{
	return (uint64_t)value ^ (UINT64_C(1) << 63);
}

#endif /* KEYSORT_H */
