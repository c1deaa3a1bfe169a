/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables as CPython itself made them: co_lnotab of 3.9, co_linetable of 3.10 and
 * 3.11, of this function, and what co_lines() says of it there.
 *
 *	def f(a):		# line 1
 *	    b = g(a)
 *	    for i in b:
 *	        h(i)
 *	    return b		# line 5
 */
#include "unit.h"

#include "symbols/runtimes/cpython.h"

static const uint8_t table_9[] = {
	0, 1, 8, 1, 8, 1, 10, 1};
static const uint8_t table_10[] = {
	8, 1, 8, 1, 10, 1, 4, 1};
static const uint8_t table_11[] = {
	128, 0, 221, 8, 9, 136, 33, 137, 4, 140, 4, 128, 65, 216, 13, 14, 240, 0, 1, 5, 13, 240,
	0, 1, 5, 13, 136, 1, 221, 8, 9, 136, 33, 137, 4, 140, 4, 136, 4, 136, 4, 216, 11, 12,
	128, 72};

static const struct row {
	enum cpython_lines kind;
	const uint8_t *table;
	size_t len;
	uint64_t at;
	uint32_t line;
} rows[] = {
	{CPYTHON_LNOTAB, table_9, sizeof(table_9), 0, 2},
	{CPYTHON_LNOTAB, table_9, sizeof(table_9), 8, 3},
	{CPYTHON_LNOTAB, table_9, sizeof(table_9), 16, 4},
	{CPYTHON_LNOTAB, table_9, sizeof(table_9), 26, 5},
	{CPYTHON_PAIRS, table_10, sizeof(table_10), 0, 2},
	{CPYTHON_PAIRS, table_10, sizeof(table_10), 8, 3},
	{CPYTHON_PAIRS, table_10, sizeof(table_10), 16, 4},
	{CPYTHON_PAIRS, table_10, sizeof(table_10), 26, 5},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 0, 1},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 2, 2},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 14, 2},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 16, 2},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 20, 2},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 30, 2},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 32, 3},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 34, 3},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 36, 3},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 38, 3},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 40, 4},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 52, 4},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 54, 4},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 58, 4},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 68, 4},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 70, 4},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 72, 5},
	{CPYTHON_LOCATIONS, table_11, sizeof(table_11), 74, 5},
};

TEST(cpython_lines_are_those_of_co_lines)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		ROW(i);
		EQ_U(cpython_line(r->kind, r->table, r->len, 1, r->at), r->line);
	}
}

TEST(cpython_lines_of_damaged_tables_are_unknown_or_some_line)
{
	uint8_t bytes[64];
	uint64_t seed = 1;

	for (unsigned round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			bytes[i] = (uint8_t)(seed >> 56);
		}
		for (unsigned kind = 0; kind < 3; kind++)
			OK(cpython_line(kind, bytes, seed >> 32 & 63, (uint32_t)seed,
					seed >> 40 & 255) <= INT32_MAX);
	}
	EQ_U(cpython_line(CPYTHON_LOCATIONS, bytes, 0, 1, 0), 0);
	EQ_U(cpython_line(CPYTHON_PAIRS, bytes, 0, 1, 0), 0);
}
