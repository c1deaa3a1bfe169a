/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/parse/jsontext.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- words */

static const char words[JSONTEXT_NO_WORD][10] = {"true", "false",    "null",
						 "NaN",	 "Infinity", "-Infinity"};

enum jsontext_word jsontext_word(const char *s, size_t len)
{
	for (enum jsontext_word i = 0; i < JSONTEXT_NO_WORD; i++)
		if (strlen(words[i]) == len && memcmp(words[i], s, len) == 0)
			return i;
	return JSONTEXT_NO_WORD;
}

/* ---- strings */

static int hex4(const char *s)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		int c = (unsigned char)s[i], digit = c >= '0' && c <= '9' ? c - '0'
				    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;

		if (digit < 0)
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

static char *put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		*out++ = (char)c;
	} else if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
		*out++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*out++ = (char)(0xe0 | c >> 12);
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out++ = (char)(0x80 | (c & 0x3f));
	} else {
		*out++ = (char)(0xf0 | c >> 18);
		*out++ = (char)(0x80 | (c >> 12 & 0x3f));
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
		*out++ = (char)(0x80 | (c & 0x3f));
	}
	return out;
}

/* Character that \uXXXX at s (behind the u) means; *s goes behind it. -1 when it is not hex. */
static int64_t unicode_escape(const char **s, const char *end)
{
	int c = end - *s >= 4 ? hex4(*s) : -1, low;

	if (c < 0)
		return -1;
	*s += 4;
	if (c >= 0xd800 && c < 0xdc00 && end - *s >= 6 && (*s)[0] == '\\' && (*s)[1] == 'u') {
		low = hex4(*s + 2);
		if (low >= 0xdc00 && low < 0xe000) {
			*s += 6;
			return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return c == 0 || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c;
}

/* The byte that \c stands for, 0 when it is no escape. */
static char plain_escape(char c)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at = c ? strchr(from, c) : NULL;

	return at ? to[at - from] : 0;
}

size_t jsontext_unescape(char *str, size_t len)
{
	const char *s = str, *end = str + len;
	char *out = str;

	while (s < end) {
		int64_t c;

		if (*s != '\\') {
			*out++ = *s++;
			continue;
		}
		s += 2; /* the scan saw that a byte follows */
		if (s[-1] == 'u') {
			c = unicode_escape(&s, end);
			if (c < 0)
				return SIZE_MAX;
			out = put_utf8(out, (uint32_t)c);
		} else {
			*out = plain_escape(s[-1]);
			if (!*out++)
				return SIZE_MAX;
		}
	}
	*out = 0;
	return (size_t)(out - str);
}

/* ---- numbers */

/* Digits, after a sign that the caller took; false when there is more or it is over 64 bits. */
static bool parse_digits(const char *s, size_t len, uint64_t *ret)
{
	uint64_t v = 0;

	if (!len)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned digit = (unsigned)(s[i] - '0');

		if (digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*ret = v;
	return true;
}

/* Up to 15 digits with a point: both m and the power of ten are exact, so the quotient is right. */
static bool parse_short(const char *s, size_t len, double *ret)
{
	static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8,
				      1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
	bool minus = len && *s == '-';
	size_t i = minus, point = len;
	uint64_t m = 0;

	if (len - i > 16 || i == len || s[i] == '.')
		return false;
	for (; i < len; i++) {
		unsigned digit = (unsigned)(s[i] - '0');

		if (digit <= 9)
			m = m * 10 + digit;
		else if (s[i] == '.' && point == len && i + 1 < len)
			point = i;
		else
			return false;
	}
	if (m > UINT64_C(1) << 53)
		return false;
	*ret = (double)m / tens[point == len ? 0 : len - point - 1];
	if (minus)
		*ret = -*ret;
	return true;
}

bool jsontext_double(const char *s, size_t len, double *ret)
{
	static const double values[JSONTEXT_NO_WORD] = {
		[JSONTEXT_NAN] = NAN, [JSONTEXT_INF] = INFINITY, [JSONTEXT_MINUS_INF] = -INFINITY};
	char text[JSONTEXT_NUM_MAX + 1], *end;
	enum jsontext_word word;

	if (parse_short(s, len, ret))
		return true;
	if (!len || len > JSONTEXT_NUM_MAX)
		return false;
	word = jsontext_word(s, len);
	if (word >= JSONTEXT_NAN && word < JSONTEXT_NO_WORD) {
		*ret = values[word];
		return true;
	}
	memcpy(text, s, len);
	text[len] = 0;
	/* strtod reads hex, blanks and words of its own besides. */
	if (strspn(text, "0123456789+-.eE") != len)
		return false;
	*ret = strtod(text, &end);
	return end == text + len;
}

bool jsontext_int(const char *s, size_t len, bool *ret_minus, uint64_t *ret)
{
	bool minus = len > 1 && *s == '-';
	uint64_t v;
	double d;

	if (!parse_digits(s + minus, len - minus, &v)) {
		if (!jsontext_double(s, len, &d))
			return false;
		d = fabs(d);
		if (!(d < 0x1p64) || d != floor(d))
			return false;
		v = (uint64_t)d;
	}
	*ret_minus = minus && v;
	*ret = v;
	return true;
}
