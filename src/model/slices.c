/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slices: one row of ticks for each tracked thread, all rows of the
 * same width in one array, so that a thread's slices lie side by side and
 * are published where they are.  The array is bounded: with many threads
 * fewer ticks are kept, the newest.  The last tick is always open.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/model_int.h"

enum { WIDTH_FIRST = 16 };

void slices_release(struct slices *s)
{
	free(s->items);
	vec_release(&s->begins);
	*s = (struct slices){0};
}

size_t slices_bytes(const struct slices *s)
{
	return s->cap * sizeof(*s->items) + s->begins.cap * sizeof(*s->begins.items);
}

static void drop_oldest(struct slices *s, uint32_t cnt)
{
	if (cnt == 0)
		return;
	for (uint32_t r = 0; r < s->rows; r++) {
		struct slice *row = s->items + (size_t)r * s->width;

		memmove(row, row + cnt, (s->width - cnt) * sizeof(*row));
		memset(row + s->width - cnt, 0, cnt * sizeof(*row));
	}
	memmove(s->begins.items, s->begins.items + cnt,
		(s->begins.cnt - cnt) * sizeof(*s->begins.items));
	s->begins.cnt -= cnt;
}

/* Lays the rows out anew; ticks that no longer fit are dropped first. */
static void set_width(struct slices *s, uint32_t width)
{
	uint32_t keep = width < s->width ? width : s->width;
	struct slice *items = xcalloc((size_t)s->rows * width + 1, sizeof(*items));

	if (s->begins.cnt > width)
		drop_oldest(s, (uint32_t)s->begins.cnt - width);
	for (uint32_t r = 0; r < s->rows; r++)
		memcpy(items + (size_t)r * width, s->items + (size_t)r * s->width,
		       keep * sizeof(*items));
	free(s->items);
	s->items = items;
	s->cap = (size_t)s->rows * width + 1;
	s->width = width;
}

static void make_room_for_tick(struct slices *s)
{
	uint32_t wider = s->width * 2 < s->width_max ? s->width * 2 : s->width_max;

	if (s->begins.cnt < s->width)
		return;
	if (wider > s->width && (uint64_t)s->rows * wider <= SLICES_TOTAL_MAX)
		set_width(s, wider);
	else
		drop_oldest(s, s->width > 4 ? s->width / 4 : 1);
}

void slices_tick(struct slices *s, uint64_t end_ns)
{
	if (s->width == 0)
		s->width = WIDTH_FIRST < s->width_max ? WIDTH_FIRST : s->width_max;
	make_room_for_tick(s);
	vec_push(&s->begins, end_ns);
}

uint32_t slices_row(struct slices *s)
{
	size_t need;

	if ((uint64_t)(s->rows + 1) * s->width > SLICES_TOTAL_MAX) {
		if (s->width < 4)
			return NO_IDX;
		set_width(s, s->width / 2);
	}
	need = (size_t)(s->rows + 1) * s->width;
	if (need > s->cap) {
		size_t cap = need + need / 8;

		s->items = xreallocarray(s->items, cap, sizeof(*s->items));
		s->cap = cap;
	}
	memset(s->items + need - s->width, 0, s->width * sizeof(*s->items));
	return s->rows++;
}

static size_t tick_at(const struct slices *s, uint64_t ns)
{
	size_t i = s->begins.cnt;

	while (i > 0 && s->begins.items[i - 1] > ns)
		i--;
	return i; /* one past the tick; 0: before all that are kept */
}

struct slice *slices_at(struct slices *s, uint32_t row, uint64_t ns)
{
	size_t i = tick_at(s, ns);

	return i == 0 ? NULL : s->items + (size_t)row * s->width + i - 1;
}

uint64_t slices_tick_begin(const struct slices *s, uint64_t ns, uint64_t *ret_end)
{
	size_t i = tick_at(s, ns);

	*ret_end = i < s->begins.cnt ? s->begins.items[i] : UINT64_MAX;
	return i == 0 ? 0 : s->begins.items[i - 1];
}
