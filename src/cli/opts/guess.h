/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GUESS_H
#define GUESS_H
/*
 * Which of the known names a mistyped word was meant to be, for "did you mean".
 *
 *	struct guess g = {.word = "wyh"};
 *	guess_try(&g, "why") ... g.best is "why", or NULL where none is near
 *
 * Near is: one letter in three wrong at most (missing, too many, another, or
 * two swapped), or a beginning of at least two letters.
 */

struct guess {
	const char *word;
	const char *best; /* borrowed from guess_try; NULL: none is near */
	unsigned wrong;	  /* letters of it */
};

void guess_try(struct guess *g, const char *name);

#endif /* GUESS_H */
