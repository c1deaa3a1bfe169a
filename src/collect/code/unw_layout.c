/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text is cut into pages of equal size, and each page gets the rows that begin
 * in it and the one before, which still holds where it begins.  That one is
 * shared with the page before unless a new chunk begins in between.
 */
#include "collect/code/unw_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

#define SHIFT_MAX 12
#define SHIFT_MIN 8
#define PAGES_MAX (1u << 21) /* 512 MiB of text in the smallest pages; the largest seen has 200 */
#define ROWS_AIM 48 /* at most so many in the fullest page, where smaller pages can do that */

_Static_assert(1u << SHIFT_MIN < UNW_PAGE_ROWS_MAX + 1, "one row a byte and the one before");

struct builder {
	const struct unw_row *rows;
	size_t row_cnt;
	uint32_t shift;
	uint32_t page_cnt;
	uint32_t *pages;
	VEC(struct unw_row) slots;
	size_t last; /* index in rows of the last slot */
};

static bool valid(const struct unw_row *rows, size_t cnt, uint32_t text_len)
{
	for (size_t i = 0; i < cnt; i++)
		if (rows[i].pc > text_len || (i && rows[i].pc <= rows[i - 1].pc))
			return false;
	return true;
}

static uint32_t fullest(const struct unw_row *rows, size_t cnt, uint32_t shift)
{
	uint32_t most = 0, here = 0;

	for (size_t i = 0; i < cnt; i++) {
		here = i && rows[i].pc >> shift == rows[i - 1].pc >> shift ? here + 1 : 1;
		if (here > most)
			most = here;
	}
	return most;
}

/* Large pages make a small index, as long as the search in them stays short. */
static uint32_t choose_shift(const struct unw_row *rows, size_t cnt)
{
	uint32_t shift = SHIFT_MAX;

	while (shift > SHIFT_MIN && fullest(rows, cnt, shift) >= ROWS_AIM)
		shift--; /* at SHIFT_MIN no page can have too many */
	return shift;
}

/* Rows [from, to) for one page. */
static void add_page(struct builder *b, uint32_t page, size_t from, size_t to)
{
	uint32_t cnt = (uint32_t)(to - from);
	size_t first = b->slots.cnt;

	if (first && b->last == from)
		first--;
	if (first / UNW_CHUNK_ROWS != (first + cnt - 1) / UNW_CHUNK_ROWS) {
		first = (first / UNW_CHUNK_ROWS + 1) * UNW_CHUNK_ROWS;
		while (b->slots.cnt < first)
			(void)vec_add(&b->slots);
	}
	for (size_t i = from + (b->slots.cnt - first); i < to; i++)
		vec_push(&b->slots, b->rows[i]);
	b->last = to - 1;
	b->pages[page] = (uint32_t)first | cnt << (32 - UNW_PAGE_ROWS_BITS);
}

static int fill(struct builder *b)
{
	size_t next = 0;

	for (uint32_t page = 0; page < b->page_cnt; page++) {
		uint64_t end = (uint64_t)(page + 1) << b->shift;
		size_t from = next ? next - 1 : 0;

		while (next < b->row_cnt && b->rows[next].pc < end)
			next++;
		if (next == from)
			continue; /* before the first row */
		if (b->slots.cnt + (next - from) + UNW_CHUNK_ROWS > UNW_SLOT_MAX)
			return -E2BIG;
		add_page(b, page, from, next);
	}
	return 0;
}

static uint32_t chunks_for(size_t cnt, uint32_t per_chunk)
{
	return (uint32_t)((cnt + per_chunk - 1) / per_chunk);
}

static void pack(const struct builder *b, const struct unw_ext *exts, size_t ext_cnt,
		 uint32_t text_len, struct unw_layout *ret)
{
	uint32_t pages = chunks_for(b->page_cnt, UNW_CHUNK_PAGES);
	uint32_t rows = chunks_for(b->slots.cnt, UNW_CHUNK_ROWS);

	ret->module = (struct unw_module){
		.text_len = text_len,
		.page_cnt = b->page_cnt,
		.row_chunk = pages,
		.ext_chunk = pages + rows,
		.ext_cnt = (uint32_t)ext_cnt,
		.page_shift = b->shift,
	};
	ret->chunk_cnt = pages + rows + chunks_for(ext_cnt, UNW_CHUNK_EXTS);
	ret->chunks = xcalloc(ret->chunk_cnt, sizeof(*ret->chunks));
	memcpy(ret->chunks, b->pages, b->page_cnt * sizeof(*b->pages));
	memcpy(ret->chunks + pages, b->slots.items, b->slots.cnt * sizeof(*b->slots.items));
	if (ext_cnt)
		memcpy(ret->chunks + pages + rows, exts, ext_cnt * sizeof(*exts));
}

int unw_layout_make(const struct unw_row *rows, size_t row_cnt, const struct unw_ext *exts,
		    size_t ext_cnt, uint32_t text_len, struct unw_layout *ret)
{
	struct builder b = {.rows = rows, .row_cnt = row_cnt, .last = SIZE_MAX};
	int rc;

	if (!row_cnt)
		return -ENODATA;
	if (row_cnt > UNW_SLOT_MAX || ext_cnt > UINT16_MAX + 1u)
		return -E2BIG;
	if (!valid(rows, row_cnt, text_len))
		return -EINVAL;
	if (rows[row_cnt - 1].pc == text_len) /* only ends the one before */
		b.row_cnt = --row_cnt;
	b.shift = choose_shift(rows, row_cnt);
	b.page_cnt = (uint32_t)(((uint64_t)text_len + (1u << b.shift) - 1) >> b.shift);
	if (b.page_cnt > PAGES_MAX)
		return -E2BIG;
	b.pages = xcalloc(b.page_cnt, sizeof(*b.pages));
	rc = fill(&b);
	if (rc == 0)
		pack(&b, exts, ext_cnt, text_len, ret);
	free(b.pages);
	vec_release(&b.slots);
	return rc;
}

void unw_layout_release(struct unw_layout *l)
{
	free(l->chunks);
	*l = (struct unw_layout){0};
}

struct unw_row unw_layout_row(const struct unw_layout *l, uint32_t off)
{
	uint32_t page = off >> l->module.page_shift, entry, at, n;
	const struct unw_row *rows;

	if (page >= l->module.page_cnt)
		return (struct unw_row){0};
	entry = l->chunks[page / UNW_CHUNK_PAGES].pages[page % UNW_CHUNK_PAGES];
	at = entry & UNW_SLOT_MASK;
	n = entry >> (32 - UNW_PAGE_ROWS_BITS);
	rows = l->chunks[l->module.row_chunk + at / UNW_CHUNK_ROWS].rows;
	at %= UNW_CHUNK_ROWS;
	for (uint32_t half; n > 1; n -= half) {
		half = n / 2;
		if (rows[at + half].pc <= off)
			at += half;
	}
	if (!n || rows[at].pc > off)
		return (struct unw_row){0};
	return rows[at];
}
