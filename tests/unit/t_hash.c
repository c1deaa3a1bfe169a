/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

TEST(hmap_empty)
{
	struct hmap m = {0};
	struct hmap_entry e;
	size_t pos = 0;

	OK(!hmap_get(&m, 0, NULL));
	OK(!hmap_del(&m, 0));
	OK(!hmap_next(&m, &pos, &e));
	hmap_clear(&m);
	hmap_release(&m);
}

TEST(hmap_keys_at_the_edges)
{
	static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63};
	struct hmap m = {0};
	uint64_t value;

	for (size_t i = 0; i < 5; i++)
		hmap_put(&m, keys[i], i + 100);
	for (size_t i = 0; i < 5; i++) {
		ROW(i);
		OK(hmap_get(&m, keys[i], &value));
		EQ_U(value, i + 100);
	}
	EQ_U(m.cnt, 5);
	hmap_put(&m, 0, 7);
	EQ_U(m.cnt, 5);
	OK(hmap_get(&m, 0, &value));
	EQ_U(value, 7);
	*hmap_slot(&m, 9) += 3;
	OK(hmap_get(&m, 9, &value));
	EQ_U(value, 3);
	hmap_release(&m);
}

/* Against an array, with keys from a small range so that deletes meet runs. */
TEST(hmap_agrees_with_an_array)
{
	enum { RANGE = 600 };
	uint64_t want[RANGE] = {0}; /* 0: not there */
	struct hmap m = {0};
	struct hmap_entry e;
	size_t cnt = 0, seen = 0, pos = 0;

	srand(7);
	for (uint64_t step = 1; step < 200000; step++) {
		uint64_t key = (uint64_t)rand() % RANGE, value = 0;

		if (rand() % 2) {
			cnt += !want[key];
			want[key] = step;
			hmap_put(&m, key, step);
		} else {
			bool had = want[key] != 0;

			cnt -= had;
			want[key] = 0;
			EQ_I(hmap_del(&m, key), had);
		}
		key = (uint64_t)rand() % RANGE;
		EQ_I(hmap_get(&m, key, &value), want[key] != 0);
		EQ_U(value, want[key]);
		EQ_U(m.cnt, cnt);
	}
	for (; hmap_next(&m, &pos, &e); seen++)
		EQ_U(e.value, want[e.key]);
	EQ_U(seen, cnt);
	hmap_release(&m);
}

TEST(strtab_gives_each_string_one_number)
{
	struct strtab t = {0};
	char name[32];

	EQ_U(strtab_add(&t, ""), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "name-%u", i);
		EQ_U(strtab_add(&t, name), i + 1);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "name-%u", i);
		ROW(i);
		EQ_U(strtab_add(&t, name), i + 1);
		EQ_S(strtab_str(&t, i + 1), name);
	}
	EQ_S(strtab_str(&t, 0), "");
	EQ_S(strtab_str(&t, 5001), "");
	strtab_release(&t);
}

TEST(strtab_prefixes_are_strings_of_their_own)
{
	struct strtab t = {0};

	EQ_U(strtab_add(&t, "abc"), 1);
	EQ_U(strtab_addn(&t, "abc", 2), 2);
	EQ_U(strtab_addn(&t, "ab\0cd", 5), 2);
	EQ_U(strtab_addn(&t, "abcdef", 3), 1);
	EQ_S(strtab_str(&t, 2), "ab");
	strtab_release(&t);
}

TEST(strtab_counts_what_it_refuses)
{
	struct strtab t = {.max_cnt = 2};

	EQ_U(strtab_add(&t, "a"), 1);
	EQ_U(strtab_add(&t, "b"), 2);
	EQ_U(strtab_add(&t, "c"), 0);
	EQ_U(strtab_add(&t, "a"), 1);
	EQ_U(t.refused_cnt, 1);
	strtab_release(&t);
}
