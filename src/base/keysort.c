/* SPDX-License-Identifier: Apache-2.0 */
#include "base/keysort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
	KEYSORT_BLOCK = 16,	/* up to here insertion is the faster one */
	KEYSORT_RADIX = 2048,	/* from here on counting bytes is faster than merging */
};

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

	/* Which one is next is not to be guessed: no branch on it. */
	while (a < mid && b < cnt) {
		bool second = from[b].key < from[a].key;

		*to++ = from[second ? b : a];
		a += !second;
		b += second;
	}
	memcpy(to, from + a, (mid - a) * sizeof(*to));
	memcpy(to + (mid - a), from + b, (cnt - b) * sizeof(*to));
}

/* By each byte from the lowest, but those that all keys share. */
static void radix(struct keyed *items, struct keyed *tmp, size_t cnt)
{
	size_t (*counts)[256] = xcalloc(8, sizeof(*counts));
	struct keyed *from = items, *to = tmp;

	for (size_t i = 0; i < cnt; i++) {
		for (int byte = 0; byte < 8; byte++)
			counts[byte][items[i].key >> (8 * byte) & 255]++;
	}
	for (int byte = 0; byte < 8; byte++) {
		size_t *count = counts[byte], sum = 0;
		struct keyed *old = from;

		if (count[items[0].key >> (8 * byte) & 255] == cnt)
			continue;
		for (int i = 0; i < 256; i++) {
			size_t here = count[i];

			count[i] = sum;
			sum += here;
		}
		for (size_t i = 0; i < cnt; i++)
			to[count[from[i].key >> (8 * byte) & 255]++] = from[i];
		from = to;
		to = old;
	}
	if (from != items)
		memcpy(items, from, cnt * sizeof(*items));
	free(counts);
}

static void merges(struct keyed *items, struct keyed *tmp, size_t cnt)
{
	struct keyed *from = items, *to = tmp;

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

void keysort(struct keyed *items, struct keyed *tmp, size_t cnt)
{
	if (in_order(items, cnt))
		return;
	if (cnt < KEYSORT_RADIX)
		merges(items, tmp, cnt);
	else
		radix(items, tmp, cnt);
}
