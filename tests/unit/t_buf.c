/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

TEST(buf_empty_is_a_string)
{
	struct buf b = {0};

	EQ_S(buf_str(&b), "");
	buf_clear(&b);
	buf_truncate(&b, 0);
	buf_release(&b);
	EQ_S(buf_str(&b), "");
}

TEST(buf_keeps_every_byte_while_it_grows)
{
	struct buf b = {0};

	for (int i = 0; i < 10000; i++)
		buf_printf(&b, "%d,", i % 10);
	EQ_U(b.len, 20000);
	for (size_t i = 0; i < b.len; i++) {
		ROW(i);
		EQ_I(b.data[i], i % 2 ? ',' : '0' + (int)(i / 2 % 10));
	}
	EQ_I(b.data[b.len], 0);
	buf_truncate(&b, 3);
	EQ_S(buf_str(&b), "0,1");
	DIES(buf_truncate(&b, 4));
	buf_release(&b);
}

TEST(buf_printf_of_exactly_the_room_left)
{
	for (int len = 50; len < 140; len++) {
		struct buf b = {0};

		ROW(len);
		buf_printf(&b, "%*s", len, "x");
		EQ_U(b.len, (size_t)len);
		EQ_U(strlen(buf_str(&b)), (size_t)len);
		OK(b.cap > b.len);
		buf_release(&b);
	}
}

TEST(buf_detach_hands_over)
{
	struct buf b = {0};
	char *empty = buf_detach(&b), *full;

	EQ_S(empty, "");
	buf_addn(&b, '-', 3);
	full = buf_detach(&b);
	EQ_S(full, "---");
	EQ_U(b.cap, 0);
	free(empty);
	free(full);
}

TEST(arena_is_zeroed_and_aligned)
{
	struct arena a = {0};

	for (size_t size = 0; size < 9000; size += 37) {
		char *ptr = arena_alloc(&a, size);

		ROW(size);
		EQ_U((uintptr_t)ptr % 16, 0);
		for (size_t i = 0; i < size; i++)
			EQ_I(ptr[i], 0);
		memset(ptr, 0xaa, size);
	}
	arena_clear(&a);
	EQ_U(a.used_bytes, 0);
	EQ_I(*(char *)arena_alloc(&a, 1), 0);
	arena_release(&a);
	EQ_U(a.held_bytes, 0);
}

TEST(arena_items_do_not_overlap)
{
	struct arena a = {0};
	unsigned *at[2000];

	for (unsigned i = 0; i < 2000; i++) {
		at[i] = ARENA_ARRAY(&a, unsigned, i % 97 + 1);
		for (unsigned k = 0; k <= i % 97; k++)
			at[i][k] = i;
	}
	for (unsigned i = 0; i < 2000; i++)
		for (unsigned k = 0; k <= i % 97; k++)
			EQ_U(at[i][k], i);
	OK(a.held_bytes >= a.used_bytes);
	arena_release(&a);
}

TEST(arena_strings)
{
	struct arena a = {0};

	EQ_S(arena_strdup(&a, ""), "");
	EQ_S(arena_strndup(&a, "abcdef", 3), "abc");
	EQ_S(arena_strndup(&a, "ab", 30), "ab");
	EQ_S(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
	EQ_S(arena_dup(&a, "bytes", 6), "bytes");
	DIES(arena_alloc_array(&a, SIZE_MAX / 2, 4));
	arena_release(&a);
}

static int int_cmp(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

TEST(vec_push_sort_pop)
{
	VEC(int) v = {0};
	int sum = 0;

	vec_sort(&v, int_cmp);
	for (int i = 0; i < 1000; i++)
		vec_push(&v, (i * 37) % 1000);
	vec_sort(&v, int_cmp);
	for (int i = 0; i < 1000; i++)
		EQ_I(v.items[i], i);
	VEC_FOREACH(&v, item)
		sum += *item;
	EQ_I(sum, 499500);
	EQ_I(vec_pop(&v), 999);
	EQ_I(*vec_last(&v), 998);
	*vec_add(&v) += 5;
	EQ_I(*vec_last(&v), 5);
	vec_clear(&v);
	DIES((void)vec_pop(&v));
	vec_release(&v);
	OK(!v.items);
}
