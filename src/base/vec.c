/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <stdint.h>

#include "base/alloc.h"

void *vec_grow_items(void *items, size_t *cap, size_t need, size_t item_size)
{
	size_t fresh = *cap ? *cap : 8;

	BUG_ON(need > SIZE_MAX / 4 / item_size);
	while (fresh < need)
		fresh *= 2;
	items = xreallocarray(items, fresh, item_size);
	*cap = fresh;
	return items;
}
