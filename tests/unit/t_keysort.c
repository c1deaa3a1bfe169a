/* SPDX-License-Identifier: Apache-2.0 */
#include "base/keysort.h"

#include <stdlib.h>

#include "base/hash.h"
#include "unit.h"

TEST(keysort_is_sorted_and_stable)
{
	static const size_t cnts[] = {0, 1, 2, 15, 16, 17, 100, 2047, 2048, 50000};
	static const uint64_t spreads[] = {1, 3, 1000, UINT64_MAX};
	struct keyed *items = malloc(50000 * sizeof(*items)), *tmp = malloc(50000 * sizeof(*tmp));

	for (size_t c = 0; c < sizeof(cnts) / sizeof(*cnts); c++) {
		for (size_t s = 0; s < 4; s++) {
			ROW(10 * c + s);
			for (size_t i = 0; i < cnts[c]; i++)
				items[i] = (struct keyed){hash_u64(i) % spreads[s], (uint32_t)i, 0};
			keysort(items, tmp, cnts[c]);
			for (size_t i = 1; i < cnts[c]; i++) {
				OK(items[i - 1].key < items[i].key ||
				   (items[i - 1].key == items[i].key &&
				    items[i - 1].idx < items[i].idx));
			}
			for (size_t i = 0; i < cnts[c]; i++)
				EQ_U(items[i].key, hash_u64(items[i].idx) % spreads[s]);
		}
	}
	OK(keysort_signed(-1) < keysort_signed(0) && keysort_signed(0) < keysort_signed(1));
	free(items);
	free(tmp);
}
