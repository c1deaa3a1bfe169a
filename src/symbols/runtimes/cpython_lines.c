/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's tables from instructions to lines.  All are lists of steps: so many
 * bytes of code on, so many lines on.
 */
#include "symbols/runtimes/cpython.h"

#include <stdbool.h>

#define NO_LINE (-128) /* of PEP 626 */
#define UNIT 2	       /* bytes of an instruction word */

/* A damaged table may lead anywhere: a line is a positive number. */
static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t from_lnotab(const uint8_t *t, size_t len, int64_t line, uint64_t at)
{
	uint64_t addr = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		addr += t[i];
		if (addr > at)
			break;
		line += (int8_t)t[i + 1];
	}
	return line_of(line);
}

static uint32_t from_pairs(const uint8_t *t, size_t len, int64_t line, uint64_t at)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		int64_t delta = t[i + 1] < 128 ? t[i + 1] : (int64_t)t[i + 1] - 256;

		end += t[i];
		line += delta == NO_LINE ? 0 : delta;
		if (at < end)
			return delta == NO_LINE ? 0 : line_of(line);
	}
	return 0;
}

struct bytes {
	const uint8_t *at, *end;
};

/* Six bits a byte, the lowest first; bit 6: more follow. */
static uint64_t varint(struct bytes *b)
{
	uint64_t value = 0;
	unsigned shift = 0;

	while (b->at < b->end && shift < 36) {
		uint8_t one = *b->at++;

		value |= (uint64_t)(one & 63) << shift;
		shift += 6;
		if (!(one & 64))
			break;
	}
	return value;
}

static int64_t signed_varint(struct bytes *b)
{
	uint64_t value = varint(b);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* An entry begins at a byte whose bit 7 is set; what else it has is skipped. */
static uint32_t from_locations(const uint8_t *t, size_t len, int64_t line, uint64_t at)
{
	struct bytes b = {t, t + len};
	uint64_t end = 0;

	while (b.at < b.end) {
		uint8_t head = *b.at++, code = head >> 3 & 15;
		bool none = code == 15;

		if (!(head & 128))
			return 0;
		end += ((head & 7) + 1) * UNIT;
		if (code == 13 || code == 14)
			line += signed_varint(&b);
		else if (code >= 10 && code <= 12)
			line += code - 10;
		if (at < end)
			return none ? 0 : line_of(line);
		while (b.at < b.end && !(*b.at & 128))
			b.at++;
	}
	return 0;
}

uint32_t cpython_line(enum cpython_lines kind, const uint8_t *table, size_t len, uint32_t first,
		      uint64_t at)
{
	if (kind == CPYTHON_LNOTAB)
		return from_lnotab(table, len, first, at);
	if (kind == CPYTHON_PAIRS)
		return from_pairs(table, len, first, at);
	return from_locations(table, len, first, at);
}
