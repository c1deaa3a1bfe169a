/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/import/import_text.h"

#include <string.h>

#include "base/clock.h"

enum { NAME_MAX_LEN = 64, DIGITS_MAX = 19 };

size_t take_space(struct text *t)
{
	const char *from = t->at;

	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
		t->at++;
	return (size_t)(t->at - from);
}

bool take_char(struct text *t, char c)
{
	if (!text_is(t, c))
		return false;
	t->at++;
	return true;
}

bool take_word(struct text *t, const char *word)
{
	size_t len;

	if (!text_is(t, *word)) /* nearly always */
		return false;
	len = strlen(word);
	if (text_len(t) < len || memcmp(t->at, word, len) != 0)
		return false;
	t->at += len;
	return true;
}

bool take_uint(struct text *t, uint64_t *ret)
{
	const char *at = t->at;
	uint64_t value = 0;

	for (; at < t->end && is_digit(*at); at++) {
		if (at - t->at >= DIGITS_MAX)
			return false;
		value = value * 10 + (uint64_t)(*at - '0');
	}
	if (at == t->at)
		return false;
	t->at = at;
	*ret = value;
	return true;
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool take_hex(struct text *t, uint64_t *ret)
{
	const char *from = t->at, *at;
	uint64_t value = 0;

	if (t->end - from > 2 && from[0] == '0' && from[1] == 'x')
		from += 2;
	for (at = from; at < t->end && hex_digit(*at) >= 0; at++) {
		if (at - from >= 16)
			return false;
		value = value << 4 | (uint64_t)hex_digit(*at);
	}
	if (at == from)
		return false;
	t->at = at;
	*ret = value;
	return true;
}

bool take_seconds(struct text *t, uint64_t *ret_ns)
{
	struct text s = *t;
	uint64_t whole, part = 0, unit = NS_PER_SEC;

	if (!take_uint(&s, &whole) || whole > UINT64_MAX / 8 / NS_PER_SEC)
		return false;
	if (take_char(&s, '.'))
		for (; s.at < s.end && is_digit(*s.at); s.at++)
			if (unit > 1) {
				unit /= 10;
				part += (uint64_t)(*s.at - '0') * unit;
			}
	*t = s;
	*ret_ns = whole * NS_PER_SEC + part;
	return true;
}

size_t take_name(struct text *t, const char **ret_name)
{
	const char *at = t->at;

	while (at < t->end && (is_digit(*at) || *at == '_' || (*at >= 'a' && *at <= 'z')))
		at++;
	if (at == t->at || at - t->at > NAME_MAX_LEN || is_digit(*t->at))
		return 0;
	*ret_name = t->at;
	t->at = at;
	return (size_t)(at - *ret_name);
}

const char *text_find(const struct text *t, const char *what)
{
	return memmem(t->at, text_len(t), what, strlen(what));
}

const char *text_find_last(const struct text *t, const char *what)
{
	size_t len = strlen(what);

	if (text_len(t) < len)
		return NULL;
	for (const char *at = t->end - len; at >= t->at; at--)
		if (*at == *what && memcmp(at, what, len) == 0)
			return at;
	return NULL;
}

bool take_path(struct text *t, struct text *ret_path)
{
	const char *at = text_find_last(t, " (");

	if (at && t->end - at > 10 && memcmp(at, " (deleted)", 10) == 0) {
		struct text head = text_to(t, at);

		at = text_find_last(&head, " (");
	}
	if (!at)
		return false;
	*ret_path = (struct text){at + 2, t->end - 1};
	t->end = at;
	return true;
}

struct text text_from(const struct text *t, const char *at)
{
	return (struct text){at, t->end};
}

struct text text_to(const struct text *t, const char *end)
{
	return (struct text){t->at, end};
}

void text_trim(struct text *t)
{
	take_space(t);
	while (t->end > t->at && (t->end[-1] == ' ' || t->end[-1] == '\t' || t->end[-1] == '\r'))
		t->end--;
}

bool text_returned(const struct text *t, struct text *ret_args, struct text *ret)
{
	for (const char *at = t->end - 2; at > t->at; at--) {
		const char *before = at;

		if (*at != '=' || at[-1] != ' ' || at[1] != ' ')
			continue;
		while (before > t->at && before[-1] == ' ')
			before--;
		if (before == t->at || before[-1] != ')')
			continue;
		*ret_args = text_to(t, before - 1);
		*ret = text_from(t, at + 2);
		return true;
	}
	return false;
}
