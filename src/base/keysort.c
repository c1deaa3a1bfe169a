/* SPDX-License-Identifier: Apache-2.0 */
#include "base/keysort.h"

#include <stdbool.h>
#include <string.h>

enum { KEYSORT_BLOCK = 16 }; /* up to here insertion is the faster one */

static bool in_order(const struct keyed *items, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++) {
		if (items[i].key < items[i - 1].key)
			return false;
	}
	return true;
}

static void insertion(struct keyed *items, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++) {
		struct keyed item = items[i];
		size_t to = i;

		for (; to > 0 && items[to - 1].key > item.key; to--)
			items[to] = items[to - 1];
		items[to] = item;
	}
}

/* from[0..mid) and from[mid..cnt) are sorted; equal keys of the first go first. */
static void merge(const struct keyed *from, size_t mid, size_t cnt, struct keyed *to)
{
	size_t a = 0, b = mid;

	for (size_t i = 0; i < cnt; i++) {
		bool first = a < mid && (b >= cnt || from[a].key <= from[b].key);

		to[i] = first ? from[a++] : from[b++];
	}
}

void keysort(struct keyed *items, struct keyed *tmp, size_t cnt)
{
	struct keyed *from = items, *to = tmp;

	if (in_order(items, cnt))
		return;
	for (size_t at = 0; at < cnt; at += KEYSORT_BLOCK)
		insertion(items + at, cnt - at < KEYSORT_BLOCK ? cnt - at : KEYSORT_BLOCK);
	for (size_t width = KEYSORT_BLOCK; width < cnt; width *= 2) {
		struct keyed *old = from;

		for (size_t at = 0; at < cnt; at += 2 * width) {
			size_t len = cnt - at < 2 * width ? cnt - at : 2 * width;

			merge(from + at, len < width ? len : width, len, to + at);
		}
		from = to;
		to = old;
	}
	if (from != items)
		memcpy(items, from, cnt * sizeof(*items));
}
