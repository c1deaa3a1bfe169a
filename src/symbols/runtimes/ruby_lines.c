/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ruby's table from instruction words to lines: lines of those words at which an
 * instruction with a line of its own begins, and how many of them lie before a
 * word.  That count is kept for the first 54 words in 7 bits each, then in blocks
 * of 512 bits: the count before the block, that before each 64 of its bits but
 * the first in 9 bits each, and the bits.
 */
#include "symbols/runtimes/ruby.h"

#include "symbols/runtimes/runtimes_int.h"

enum {
	SMALL_CNT = 54, SMALL_IN_WORD = 9, SMALL_BITS = 7, SMALL_LEN = 48,
	BLOCK_BITS = 512, BLOCK_LEN = 80, BLOCK_SUMS = 8, BLOCK_WORDS = 16, SUM_BITS = 9,
};

static int rank_of(const struct runtime_proc *r, uint64_t ranks, uint32_t word, uint32_t *ret)
{
	uint8_t block[BLOCK_LEN];
	uint32_t at = word - SMALL_CNT, part;
	uint64_t sums, bits;
	int rc;

	if (word < SMALL_CNT) {
		rc = runtime_read_u64(r, ranks + word / SMALL_IN_WORD * 8, &bits);
		*ret = bits >> word % SMALL_IN_WORD * SMALL_BITS & 127;
		return rc;
	}
	rc = runtime_read(r, ranks + SMALL_LEN + (uint64_t)(at / BLOCK_BITS) * BLOCK_LEN, block,
			  sizeof(block));
	if (rc < 0)
		return rc;
	part = at % BLOCK_BITS / 64;
	sums = runtime_u64(block, BLOCK_SUMS);
	bits = runtime_u64(block, BLOCK_WORDS + part * 8) << (63 - at % 64);
	*ret = runtime_u32(block, 0) + (uint32_t)__builtin_popcountll(bits);
	if (part)
		*ret += sums >> (part - 1) * SUM_BITS & 511;
	return 0;
}

uint32_t ruby_line(const struct runtime_proc *r, const struct ruby_lines *l, uint32_t word)
{
	uint32_t rank = 1, line;

	if (!l->cnt || (l->cnt > 1 && rank_of(r, l->ranks, word, &rank) < 0))
		return 0;
	if (!rank || rank > l->cnt ||
	    runtime_read_u32(r, l->lines + (uint64_t)(rank - 1) * l->line_len, &line) < 0)
		return 0;
	return line <= INT32_MAX ? line : 0;
}
