/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEARCH_H
#define SEARCH_H
/*
 * Search in sorted arrays.
 */
#include <stddef.h>

/*
 * How many items from the first on are such as the condition says, which has
 * the item as *it and holds for no item after one that it does not hold for:
 *
 *	after = SORTED_PREFIX(rows, row_cnt, it, it->pc <= pc);
 *
 * rows[after - 1] is the last one at or before pc, if after is not 0.
 */
#define SORTED_PREFIX(items, cnt, it, condition)                \
	({                                                      \
		size_t low_ = 0, high_ = (cnt);                 \
                                                                \
		while (low_ < high_) {                          \
			size_t mid_ = low_ + (high_ - low_) / 2; \
			__auto_type it = &(items)[mid_];        \
                                                                \
			if (condition)                          \
				low_ = mid_ + 1;                \
			else                                    \
				high_ = mid_;                   \
		}                                               \
		low_;                                           \
	})

#endif /* SEARCH_H */
