/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/opts/guess.h"

#include <string.h>

enum { NAME_MAX_LEN = 32, PREFIX_MIN = 2 };

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/* Letters missing, too many, exchanged, or swapped with their neighbour. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][NAME_MAX_LEN + 1]; /* of the letter before the last, the last, this */

	for (size_t j = 0; j <= b_len; j++)
		rows[1][j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		rows[2][0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			rows[2][j] = min3(rows[1][j] + 1, rows[2][j - 1] + 1,
					  rows[1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    rows[0][j - 2] + 1 < rows[2][j])
				rows[2][j] = rows[0][j - 2] + 1;
		}
		memcpy(rows[0], rows[1], sizeof(rows[0]));
		memcpy(rows[1], rows[2], sizeof(rows[1]));
	}
	return rows[1][b_len];
}

void guess_try(struct guess *g, const char *name)
{
	size_t len = strlen(g->word), name_len = strlen(name);
	unsigned wrong;

	if (!len || len > NAME_MAX_LEN || name_len > NAME_MAX_LEN)
		return;
	wrong = distance(g->word, len, name, name_len);
	if (wrong > (name_len + 2) / 3) {
		if (len < PREFIX_MIN || strncmp(g->word, name, len) != 0)
			return;
		wrong = NAME_MAX_LEN; /* a beginning of it, behind all that are near */
	}
	if (!g->best || wrong < g->wrong) {
		g->best = name;
		g->wrong = wrong;
	}
}
