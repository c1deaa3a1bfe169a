/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's packed numbers (UNSIGNED5: six bits a byte, the lowest first) and its
 * tables from bytecodes to lines: steps of both, a byte for a small one.
 */
#include "symbols/runtimes/hotspot.h"

#define SEVERAL 192 /* a byte from here on is followed by another */
#define BYTES_MAX 5
#define BITS 6
#define LINE_MAX 65535

uint32_t hotspot_unsigned5(const uint8_t **at, const uint8_t *end, bool no_zero)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < BYTES_MAX && *at < end; i++) {
		uint8_t byte = *(*at)++;

		value += (uint32_t)(byte - (no_zero && byte)) << (i * BITS);
		if (byte < SEVERAL)
			break;
	}
	return value;
}

static int32_t signed5(const uint8_t **at, const uint8_t *end, bool no_zero)
{
	uint32_t value = hotspot_unsigned5(at, end, no_zero);

	return (int32_t)(value >> 1) ^ -(int32_t)(value & 1);
}

uint32_t hotspot_line(const uint8_t *table, size_t len, uint32_t bci, bool no_zero)
{
	const uint8_t *at = table, *end = table + len;
	int64_t where = 0, line = 0, best = -1, best_line = 0;

	while (at < end && *at) {
		uint8_t byte = *at++;

		if (byte == 255) {
			where += signed5(&at, end, no_zero);
			line += signed5(&at, end, no_zero);
		} else {
			where += byte >> 3;
			line += byte & 7;
		}
		if (where <= (int64_t)bci && where >= best) {
			best = where;
			best_line = line;
		}
		if (where == (int64_t)bci)
			break;
	}
	return best_line > 0 && best_line <= LINE_MAX ? (uint32_t)best_line : 0;
}
