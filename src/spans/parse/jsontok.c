/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window buf[pos..len) holds what was read and not yet taken; buf[len] and
 * the bytes behind it are 0, so that scans stop there without counting, and
 * then ask whether it was the end of the window (more) or a NUL of the input.
 * Filling moves the rest to the front; it grows only for a string that does
 * not fit.  A string is handed out where it stands, unescaped in place, with
 * its closing quote turned into NUL.
 */
#include "spans/parse/jsontok.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/alloc.h"
#include "base/bug.h"
#include "base/err.h"
#include "spans/spans_input.h"
#include "spans/parse/jsontext.h"

enum {
	WINDOW_BYTES = 128 << 10, /* large enough that moving the rest costs nothing */
	PAD_BYTES = JSONTOK_PAD,  /* scans read 16 at a time */
	LEVEL_OBJ = 1,
	LEVEL_FULL = 2, /* has an item: the next needs a comma */
};

void jsontok_init(struct jsontok *t, jsontok_fill_fn fill, void *ctx)
{
	*t = (struct jsontok){.fill = fill, .ctx = ctx, .cap = WINDOW_BYTES};
	t->buf = xmalloc(t->cap + PAD_BYTES);
	memset(t->buf, 0, PAD_BYTES);
}

static ssize_t fill_mem(void *ctx, char *buf, size_t cap)
{
	struct jsontok *t = ctx;
	size_t len = t->mem_len < cap ? t->mem_len : cap;

	if (!len)
		return 0;
	memcpy(buf, t->mem, len);
	t->mem += len;
	t->mem_len -= len;
	return (ssize_t)len;
}

void jsontok_init_mem(struct jsontok *t, const char *text, size_t len)
{
	jsontok_init(t, fill_mem, t);
	t->mem = text;
	t->mem_len = len;
}

static ssize_t fill_in(void *ctx, char *buf, size_t cap)
{
	struct spans_in *in = ctx;
	size_t len = in_fill(in, 1);

	len = len < cap ? len : cap;
	if (len) /* an empty input has no window */
		memcpy(buf, in->at, len);
	in->at += len;
	return (ssize_t)len;
}

void jsontok_init_in(struct jsontok *t, struct spans_in *in)
{
	jsontok_init(t, fill_in, in);
	t->base_off = in_off(in);
}

void jsontok_release(struct jsontok *t)
{
	free(t->buf);
	free(t->key);
	t->buf = t->key = NULL;
}

/* ---- errors */

/* Describes the window's begin, for people. */
static const char *found(const struct jsontok *t, char *text, size_t size)
{
	unsigned char c = t->pos < t->len ? (unsigned char)t->buf[t->pos] : 0;

	if (t->pos >= t->len)
		return "the end of the input";
	if (c > ' ' && c < 0x7f)
		snprintf(text, size, "'%c'", c);
	else
		snprintf(text, size, "byte 0x%02x", c);
	return text;
}

static bool set_broken(struct jsontok *t, int code, const char *expected)
{
	char text[16];

	if (t->code)
		return false;
	t->code = code;
	t->err_off = jsontok_off(t);
	snprintf(t->msg, sizeof(t->msg), "expected %s, found %s", expected,
		 found(t, text, sizeof(text)));
	return false;
}

static bool broken(struct jsontok *t, const char *expected)
{
	return set_broken(t, -EBADMSG, expected);
}

int jsontok_error(const struct jsontok *t, struct err *err)
{
	if (!t->code)
		return 0;
	if (t->dead)
		return err_errno(err, t->code, "offset %llu: read", (unsigned long long)t->err_off);
	return err_set(err, t->code, "offset %llu: %s", (unsigned long long)t->err_off, t->msg);
}

static void note_miss(struct jsontok *t, uint64_t off, const char *expected, const char *what)
{
	if (t->missed)
		return;
	t->missed = true;
	t->miss_off = off;
	snprintf(t->miss, sizeof(t->miss), "expected %s, found %s", expected, what);
}

void jsontok_expected(struct jsontok *t, const char *what)
{
	note_miss(t, t->value_off, what, "another value");
}

bool jsontok_take_miss(struct jsontok *t, uint64_t *ret_off, const char **ret_text)
{
	if (!t->missed)
		return false;
	t->missed = false;
	*ret_off = t->miss_off;
	*ret_text = t->miss;
	return true;
}

/* ---- the window */

/*
 * Reads more behind what is there, which moves to the front.  False at the
 * end, when reading fails, and when the window is full and as large as it may
 * get: the caller tells these apart by asking t->ended and t->code.
 */
static bool more(struct jsontok *t)
{
	ssize_t got;

	if (t->ended || t->dead)
		return false;
	if (t->pos) {
		memmove(t->buf, t->buf + t->pos, t->len - t->pos);
		t->base_off += t->pos;
		t->len -= t->pos;
		t->pos = 0;
	}
	if (t->len == t->cap) {
		if (t->cap >= JSONTOK_STR_MAX)
			return false;
		t->cap *= 2;
		t->buf = xrealloc(t->buf, t->cap + PAD_BYTES);
	}
	got = t->fill(t->ctx, t->buf + t->len, t->cap - t->len);
	t->ended = got <= 0;
	if (got < 0) {
		set_broken(t, (int)got, "");
		t->dead = true;
	}
	t->len += got > 0 ? (size_t)got : 0;
	memset(t->buf + t->len, 0, PAD_BYTES);
	return got > 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The first byte that is not blank, not taken; 0 at the end and when broken. */
static inline char peek(struct jsontok *t)
{
	if (t->code)
		return 0;
	for (;;) {
		char c = t->buf[t->pos];

		if ((unsigned char)c > ' ')
			return c;
		if (is_blank(c))
			t->pos++;
		else if (t->pos < t->len || !more(t))
			return 0;
	}
}

/* n bytes stand in the window; n is small. */
static bool have(struct jsontok *t, size_t n)
{
	while (t->len - t->pos < n)
		if (!more(t))
			return false;
	return true;
}

/* ---- strings */

/* The first quote, backslash or NUL from s on; there is one. */
static inline const char *str_stop(const char *s)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');

	for (;; s += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)s);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash));
		int mask = _mm_movemask_epi8(
			_mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_setzero_si128())));

		if (mask)
			return s + __builtin_ctz((unsigned)mask);
	}
#else
	return s + strcspn(s, "\"\\");
#endif
}

struct str_scan {
	bool keep;    /* the string is asked for: it is to stay in the window */
	bool escaped; /* it has escapes */
	bool cut;     /* its begin is no longer in the window */
};

/*
 * The closing quote of the string that begins at pos: how far from pos it is,
 * or 0.  pos moves on when the string is cut.
 */
static size_t str_end(struct jsontok *t, struct str_scan *scan)
{
	size_t i = 1;

	for (;;) {
		const char *at = t->buf + t->pos;
		const char *stop = str_stop(at + i);

		i = (size_t)(stop - at);
		if (*stop == '"')
			return i;
		if (*stop == '\\') {
			scan->escaped = true;
			if (t->pos + i + 1 < t->len) {
				i += 2;
				continue;
			}
		} else if (t->pos + i < t->len) {
			t->pos += i;
			broken(t, "no NUL in a string");
			return 0;
		}
		if (scan->keep && more(t))
			continue;
		if (t->ended || t->dead) {
			t->pos = t->len;
			broken(t, "the string's closing quote");
			return 0;
		}
		/* One byte stays before i, as the opening quote does. */
		scan->keep = false;
		scan->cut = true;
		t->pos += i - 1;
		i = 1;
		more(t);
	}
}

/* The string at pos, whose quote was seen.  False when broken or, a miss, too long. */
static bool take_str(struct jsontok *t, struct tok_str *ret)
{
	struct str_scan scan = {.keep = true};
	uint64_t off = jsontok_off(t);
	size_t end = str_end(t, &scan), len;
	char *s = t->buf + t->pos + 1;

	if (!end)
		return false;
	if (scan.cut) {
		t->pos += end + 1;
		note_miss(t, off, "a string under 4 MiB", "a longer one");
		return false;
	}
	len = end - 1;
	s[len] = 0;
	if (scan.escaped)
		len = jsontext_unescape(s, len);
	if (len == SIZE_MAX)
		broken(t, "a string with JSON's escapes");
	t->pos += end + 1;
	if (len == SIZE_MAX)
		return false;
	*ret = (struct tok_str){s, len};
	return true;
}

/* ---- skipping */

static void skip_str(struct jsontok *t)
{
	struct str_scan scan = {0};
	size_t end = str_end(t, &scan);

	if (end)
		t->pos += end + 1;
}

static bool is_scalar_byte(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' ||
	       c == '+' || c == '.';
}

/* How many bytes of a number or word stand at pos, all in the window; at most JSONTEXT_NUM_MAX. */
static size_t scalar_len(struct jsontok *t)
{
	size_t i = 0;

	for (;;) {
		while (is_scalar_byte(t->buf[t->pos + i]))
			i++;
		if (i > JSONTEXT_NUM_MAX)
			break;
		if (t->pos + i < t->len || !more(t))
			return i;
	}
	broken(t, "a number or word of at most 400 characters");
	return 0;
}

static void skip_scalar(struct jsontok *t)
{
	size_t len = scalar_len(t);
	const char *s = t->buf + t->pos;

	if (!len || ((*s < '0' || *s > '9') && *s != '-' &&
		     jsontext_word(s, len) == JSONTEXT_NO_WORD))
		broken(t, "a value");
	else
		t->pos += len;
}

/* Skips to the next quote or bracket, from pos on in the window. */
static void skip_to_struct(struct jsontok *t)
{
	const char *s = t->buf + t->pos;

	/* { } [ ] differ from each other in two bits only; NUL ends the window. */
	while (*s && *s != '"' && (*s & 0xd9) != 0x59)
		s++;
	t->pos = (size_t)(s - t->buf);
}

/* Out of the objects and arrays inside the level the document has now, until it has keep. */
static void skip_levels(struct jsontok *t, unsigned keep)
{
	uint64_t deeper = 0; /* levels over the limit, of which only the number is known */

	while (t->depth > keep && !t->code) {
		char c;

		skip_to_struct(t);
		c = t->buf[t->pos];
		if (c == '"') {
			skip_str(t);
		} else if ((c == '{' || c == '[') && t->depth == JSONTOK_DEPTH_MAX) {
			deeper++;
			t->pos++;
		} else if (c == '{' || c == '[') {
			t->levels[t->depth++] = c == '{' ? LEVEL_OBJ : 0;
			t->pos++;
		} else if ((c == '}' || c == ']') && deeper) {
			deeper--;
			t->pos++;
		} else if (c == '}' || c == ']') {
			if ((t->levels[t->depth - 1] & LEVEL_OBJ) != (c == '}' ? LEVEL_OBJ : 0)) {
				broken(t, c == '}' ? "']'" : "'}'");
				return;
			}
			t->depth--;
			t->pos++;
		} else if (c) {
			t->pos++; /* Y, y, _ and DEL, which look like brackets above */
		} else if (t->pos < t->len || !more(t)) {
			broken(t, "a closing bracket");
		}
	}
}

void jsontok_skip(struct jsontok *t)
{
	char c = peek(t);
	unsigned depth = t->depth;

	t->due = false;
	t->value_off = jsontok_off(t);
	if (c == '"') {
		skip_str(t);
	} else if (c == '{' || c == '[') {
		if (c == '{' ? jsontok_obj(t) : jsontok_arr(t))
			skip_levels(t, depth);
	} else {
		skip_scalar(t);
	}
}

void jsontok_leave(struct jsontok *t)
{
	BUG_ON(t->depth == 0);
	t->due = false;
	skip_levels(t, t->depth - 1);
}

/* ---- structure */

bool jsontok_more(struct jsontok *t)
{
	if (t->due && !t->depth)
		jsontok_skip(t);
	t->due = false;
	skip_levels(t, 0);
	/* A byte order mark, and the record separators of JSON text sequences. */
	if (jsontok_off(t) == 0 && have(t, 3) && memcmp(t->buf + t->pos, "\xef\xbb\xbf", 3) == 0)
		t->pos += 3;
	while (!peek(t) && !t->code && t->pos < t->len && t->buf[t->pos] == 0x1e)
		t->pos++;
	t->due = peek(t) != 0;
	if (!t->due && !t->code && t->pos < t->len)
		broken(t, "a value");
	return t->due;
}

enum tok_kind jsontok_kind(struct jsontok *t)
{
	switch (peek(t)) {
	case 0:
		return TOK_END;
	case '{':
		return TOK_OBJ;
	case '[':
		return TOK_ARR;
	case '"':
		return TOK_STR;
	case 't':
	case 'f':
		return TOK_BOOL;
	case 'n':
		return TOK_NULL;
	default:
		return TOK_NUM;
	}
}

/* The value that stands next is not what was asked for: it is skipped. */
static bool miss(struct jsontok *t, const char *expected)
{
	static const char *const names[] = {"the end of the input", "an object", "an array",
					    "a string", "a number", "true or false", "null"};
	enum tok_kind kind = jsontok_kind(t);
	uint64_t off = jsontok_off(t);

	if (t->code)
		return false;
	if (kind == TOK_END)
		return broken(t, expected);
	jsontok_skip(t);
	if (!t->code)
		note_miss(t, off, expected, names[kind]);
	return false;
}

static bool enter(struct jsontok *t, char open, uint8_t level, const char *expected)
{
	if (peek(t) != open)
		return miss(t, expected);
	if (t->depth == JSONTOK_DEPTH_MAX)
		return broken(t, "at most 128 levels");
	t->value_off = jsontok_off(t);
	t->due = false;
	t->pos++;
	t->levels[t->depth++] = level;
	return true;
}

bool jsontok_obj(struct jsontok *t)
{
	return enter(t, '{', LEVEL_OBJ, "an object");
}

bool jsontok_arr(struct jsontok *t)
{
	return enter(t, '[', 0, "an array");
}

/* Before a key or item: true when there is one; false at close, which is then taken. */
static bool advance(struct jsontok *t, char close)
{
	uint8_t *level = &t->levels[t->depth - 1];
	char c;

	if (t->due)
		jsontok_skip(t);
	c = peek(t);
	if (c == close) {
		t->pos++;
		t->depth--;
		return false;
	}
	if (!(*level & LEVEL_FULL)) {
		*level |= LEVEL_FULL;
		return c ? true : broken(t, close == '}' ? "a key or '}'" : "a value or ']'");
	}
	if (c != ',')
		return broken(t, close == '}' ? "',' or '}'" : "',' or ']'");
	t->pos++;
	return true;
}

/* Keys are copied, since a caller wants the key while it asks for the value. */
static void keep_key(struct jsontok *t, const struct tok_str *key)
{
	if (key->len + PAD_BYTES > t->key_cap) {
		t->key_cap = key->len + 2 * PAD_BYTES;
		t->key = xrealloc(t->key, t->key_cap);
	}
	if (key->len < PAD_BYTES)
		memcpy(t->key, key->s, PAD_BYTES); /* a known length: no call */
	else
		memcpy(t->key, key->s, key->len + 1);
}

bool jsontok_key(struct jsontok *t, struct tok_str *ret_key)
{
	static const char none[PAD_BYTES];
	struct tok_str key = {none, 0};

	if (t->code)
		return false;
	BUG_ON(t->depth == 0 || !(t->levels[t->depth - 1] & LEVEL_OBJ));
	if (!advance(t, '}'))
		return false;
	if (peek(t) != '"')
		return broken(t, "a key");
	if (!take_str(t, &key) && t->code)
		return false;
	keep_key(t, &key);
	if (peek(t) != ':')
		return broken(t, "':'");
	t->pos++;
	t->due = true;
	*ret_key = (struct tok_str){t->key, key.len};
	return true;
}

bool jsontok_item(struct jsontok *t)
{
	if (t->code)
		return false;
	BUG_ON(t->depth == 0 || (t->levels[t->depth - 1] & LEVEL_OBJ));
	t->due = advance(t, ']');
	return t->due;
}

/* ---- values */

bool jsontok_str(struct jsontok *t, struct tok_str *ret)
{
	if (peek(t) != '"')
		return miss(t, "a string");
	t->due = false;
	t->value_off = jsontok_off(t);
	return take_str(t, ret);
}

/* Takes the characters of a number that is due, from a string too; followed by none of a number. */
static bool take_num_text(struct jsontok *t, struct tok_str *ret)
{
	char c = peek(t);
	size_t len;

	if (c == '"')
		return jsontok_str(t, ret);
	if (c == '{' || c == '[' || c == 't' || c == 'f' || c == 'n' || !c)
		return miss(t, "a number");
	len = scalar_len(t);
	if (!len)
		return broken(t, "a value");
	t->due = false;
	t->value_off = jsontok_off(t);
	*ret = (struct tok_str){t->buf + t->pos, len};
	t->pos += len;
	return true;
}

static bool not_a(struct jsontok *t, const char *expected)
{
	bool in_str = t->pos && t->buf[t->pos - 1] == 0;

	if (!t->code)
		note_miss(t, t->value_off, expected, in_str ? "another string" : "another number");
	return false;
}

/* An integer of at most 64 bits; *ret_minus: it is below 0. */
static bool take_int(struct jsontok *t, bool *ret_minus, uint64_t *ret, const char *expected)
{
	struct tok_str s;

	return take_num_text(t, &s) &&
	       (jsontext_int(s.s, s.len, ret_minus, ret) || not_a(t, expected));
}

bool jsontok_u64(struct jsontok *t, uint64_t *ret)
{
	static const char expected[] = "an integer from 0 to 2^64 - 1";
	uint64_t v;
	bool minus;

	if (!take_int(t, &minus, &v, expected))
		return false;
	if (minus)
		return not_a(t, expected);
	*ret = v;
	return true;
}

bool jsontok_i64(struct jsontok *t, int64_t *ret)
{
	static const char expected[] = "an integer of 64 bits";
	uint64_t v;
	bool minus;

	if (!take_int(t, &minus, &v, expected))
		return false;
	if (v > (uint64_t)INT64_MAX + minus)
		return not_a(t, expected);
	*ret = (int64_t)(minus ? 0 - v : v);
	return true;
}

bool jsontok_f64(struct jsontok *t, double *ret)
{
	struct tok_str s;

	return take_num_text(t, &s) && (jsontext_double(s.s, s.len, ret) || not_a(t, "a number"));
}

bool jsontok_bool(struct jsontok *t, bool *ret)
{
	char c = peek(t);
	size_t len;
	enum jsontext_word word;

	if (c != 't' && c != 'f')
		return miss(t, "true or false");
	len = scalar_len(t);
	word = len ? jsontext_word(t->buf + t->pos, len) : JSONTEXT_NO_WORD;
	if (word > JSONTEXT_FALSE)
		return broken(t, "a value");
	t->due = false;
	t->value_off = jsontok_off(t);
	t->pos += len;
	*ret = word == JSONTEXT_TRUE;
	return true;
}

bool jsontok_next_line(struct jsontok *t)
{
	if (t->dead)
		return false;
	t->code = 0;
	t->depth = 0;
	t->due = false;
	for (;;) {
		char *nl = memchr(t->buf + t->pos, '\n', t->len - t->pos);

		if (nl) {
			t->pos = (size_t)(nl + 1 - t->buf);
			if (have(t, 1) && (t->buf[t->pos] == '{' || t->buf[t->pos] == '['))
				return true;
			continue;
		}
		t->pos = t->len;
		if (!more(t))
			return false;
	}
}
