/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMPORT_TEXT_H
#define IMPORT_TEXT_H
/*
 * A place in a line of another program's trace.  Each take_ function moves it
 * on when what it looks for is there, and leaves it alone when not.  The text
 * is anybody's: nothing is read past end, numbers that do not fit are refused.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	const char *at, *end;
};

static inline bool text_is(const struct text *t, char c)
{
	return t->at < t->end && *t->at == c;
}

static inline size_t text_len(const struct text *t)
{
	return (size_t)(t->end - t->at);
}

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Spaces and tabs; how many. */
size_t take_space(struct text *t);
bool take_char(struct text *t, char c);
bool take_word(struct text *t, const char *word);
bool take_uint(struct text *t, uint64_t *ret);	/* decimal */
bool take_hex(struct text *t, uint64_t *ret);	/* with or without 0x */

/* "12.000345" as ns; digits after the point are optional, those after the ninth are cut. */
bool take_seconds(struct text *t, uint64_t *ret_ns);

/* [a-z0-9_]: the name of a system call.  Its length, 0 when there is none or it is too long. */
size_t take_name(struct text *t, const char **ret_name);

/* The first place in the text from at on: NULL when there is none. */
const char *text_find(const struct text *t, const char *what);
const char *text_find_last(const struct text *t, const char *what);

/* The same with one end cut off. */
struct text text_from(const struct text *t, const char *at);
struct text text_to(const struct text *t, const char *end);
void text_trim(struct text *t);

/*
 * "NAME (PATH)" or "NAME (PATH (deleted))" of a frame, which ends in ')': takes
 * the path off its end.  false when there is none.
 */
bool take_path(struct text *t, struct text *ret_path);

/* The text behind ") = " of a call; false when there is none. *ret_args: what is before. */
bool text_returned(const struct text *t, struct text *ret_args, struct text *ret);

#endif /* IMPORT_TEXT_H */
