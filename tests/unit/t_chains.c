/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in memory that nobody vouches for: circles, pointers out of range, no end. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "reads/chains.h"

#define BASE UINT64_C(0x7000)
#define WORDS 4096

static int words_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	memcpy(out, (const char *)ctx + (addr - BASE), len);
	return 0;
}

static long follow(uint64_t *words, const struct chain_item *item, uint64_t stride, char *out,
		   size_t cap)
{
	const struct chain_mem mem = {words_read, words};
	const struct read_chains what = {
		.range_cnt = 1,
		.ranges = {{BASE, BASE + WORDS * 8}},
		.shape = {.step_cnt = 1, .steps = {8}, .elem_len = 16, .next_off = 8,
			  .stride = (uint32_t)stride},
	};

	return chain_follow(&mem, &what, item, out, cap);
}

#define ONE 24 /* of an element put out */
static char out[600 * ONE];

TEST(chains_follow_pointers_to_the_end)
{
	uint64_t words[WORDS] = {[1] = BASE + 80, [10] = 7, [11] = BASE + 160, [20] = 8};
	struct chain_item item = {.anchor = BASE};
	uint64_t value;

	EQ_I(follow(words, &item, 0, out, sizeof(out)), 2);
	memcpy(&value, out + 8, sizeof(value));
	EQ_U(value, 7);
	memcpy(&value, out + ONE, sizeof(value));
	EQ_U(value, BASE + 160);
	words[1] = 0;
	EQ_I(follow(words, &item, 0, out, sizeof(out)), 0);
}

TEST(chains_read_an_array_up_to_its_end)
{
	uint64_t words[WORDS] = {[1] = BASE + 80};
	struct chain_item item = {.anchor = BASE, .until = BASE + 80 + 5 * 16};

	EQ_I(follow(words, &item, 16, out, sizeof(out)), 5);
}

/* A stack: what its thread keeps of it comes first, then its bytes, the last ones alone. */
TEST(chains_put_out_a_head_and_a_part)
{
	uint64_t words[WORDS] = {[2] = BASE + 88, [4] = 5, [5] = 6, [10] = 1, [11] = 2, [12] = 3,
				 [13] = 4};
	struct chain_item item = {.anchor = BASE, .until = BASE + 80 + 24};
	const struct chain_mem mem = {words_read, words};
	struct read_chains what = {
		.range_cnt = 1, .ranges = {{BASE, BASE + WORDS * 8}},
		.shape = {.step_cnt = 1, .steps = {16}, .elem_len = 16, .stride = 16, .back = 8,
			  .head_off = 32, .head_len = 8},
	};
	const uint64_t want[] = {BASE + 32, 5, 0, BASE + 80, 1, 2, BASE + 96, 3, 0};

	EQ_I(chain_follow(&mem, &what, &item, out, sizeof(out)), 3);
	OK(memcmp(out, want, sizeof(want)) == 0);
	words[2] = 0;
	EQ_I(chain_follow(&mem, &what, &item, out, sizeof(out)), 1);
	EQ_I(chain_follow(&mem, &what, &item, out, ONE - 1), -E2BIG);
	what.shape.head_off = WORDS * 8 - 7;
	EQ_I(chain_follow(&mem, &what, &item, out, sizeof(out)), -EFAULT);
}

TEST(chains_put_out_what_an_element_points_to)
{
	uint64_t words[WORDS] = {[1] = BASE + 80, [10] = BASE + 240, [11] = BASE + 160, [30] = 9};
	struct chain_item item = {.anchor = BASE};
	const struct chain_mem mem = {words_read, words};
	const struct read_chains what = {
		.range_cnt = 1, .ranges = {{BASE, BASE + WORDS * 8}},
		.shape = {.step_cnt = 1, .steps = {8}, .elem_len = 24, .next_off = 8,
			  .ref_off = 0, .ref_len = 8},
	};
	const uint64_t want[] = {BASE + 80, BASE + 240, BASE + 160, 9, BASE + 160, 0, 0, 0};

	EQ_I(chain_follow(&mem, &what, &item, out, sizeof(out)), 2);
	OK(memcmp(out, want, sizeof(want)) == 0);
	words[20] = BASE - 8;
	EQ_I(chain_follow(&mem, &what, &item, out, sizeof(out)), -EFAULT);
}

TEST(chains_refuse_what_leads_nowhere)
{
	struct chain_item item = {.anchor = BASE};
	uint64_t words[WORDS] = {[1] = BASE + 80, [11] = BASE + 160, [21] = BASE + 80};

	EQ_I(follow(words, &item, 0, out, sizeof(out)), -ELOOP);
	words[21] = BASE + WORDS * 8 - 8; /* the last does not fit into the range */
	EQ_I(follow(words, &item, 0, out, sizeof(out)), -EFAULT);
	words[21] = UINT64_MAX - 3;
	EQ_I(follow(words, &item, 0, out, sizeof(out)), -EFAULT);
	item.anchor = UINT64_MAX;
	EQ_I(follow(words, &item, 0, out, sizeof(out)), -EFAULT);
}

TEST(chains_end_at_their_limits)
{
	struct chain_item item = {.anchor = BASE};
	uint64_t words[WORDS] = {0};

	words[1] = BASE + 16;
	for (uint32_t i = 2; i + 2 < WORDS; i += 2)
		words[i + 1] = BASE + (i + 2) * 8;
	EQ_I(follow(words, &item, 0, out, sizeof(out)), -E2BIG);
	EQ_I(follow(words, &item, 0, out, 3 * ONE), -E2BIG);
}
