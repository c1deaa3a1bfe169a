/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSONTEXT_H
#define JSONTEXT_H
/*
 * What the strings, numbers and words of JSON mean, once their text is at
 * hand whole.  Finding them is jsontok.h's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSONTEXT_NUM_MAX = 400 }; /* the longest double without exponent has 326 characters */

enum jsontext_word {
	JSONTEXT_TRUE,
	JSONTEXT_FALSE,
	JSONTEXT_NULL,
	JSONTEXT_NAN, /* this and the next two are no JSON, but are written */
	JSONTEXT_INF,
	JSONTEXT_MINUS_INF,
	JSONTEXT_NO_WORD,
};

enum jsontext_word jsontext_word(const char *s, size_t len);

/*
 * In place, as no escape is shorter than what it stands for: the new length,
 * SIZE_MAX when an escape is not JSON's.  No backslash is the last byte, and
 * str[len] can be written: it becomes NUL.
 */
size_t jsontext_unescape(char *str, size_t len);

/* The number nearest to the text, NaN and the infinities too; false when it is none. */
bool jsontext_double(const char *s, size_t len, double *ret);

/*
 * A whole number under 2^64 away from 0: exact where it is digits only, with a
 * fraction or exponent as the double it is nearest to.
 */
bool jsontext_int(const char *s, size_t len, bool *ret_minus, uint64_t *ret);

#endif /* JSONTEXT_H */
