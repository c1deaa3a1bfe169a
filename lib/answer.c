/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heldup's answer, JSON (docs/explore-protocol.md).  Keys that are not known are passed over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { DEPTH_MAX = 16, NUMBER_MAX = 32 };

struct scan {
	const char *at, *end;
	bool bad;
};

static char next(struct scan *s)
{
	while (s->at < s->end && strchr(" \t\r\n", *s->at))
		s->at++;
	if (s->at == s->end) {
		s->bad = true;
		return '\0';
	}
	return *s->at;
}

static bool take(struct scan *s, char c)
{
	if (s->bad || next(s) != c)
		return false;
	s->at++;
	return true;
}

static void want(struct scan *s, char c)
{
	if (!take(s, c))
		s->bad = true;
}

static void put_utf8(char *out, size_t cap, size_t *len, unsigned code)
{
	char bytes[4];
	size_t n = 0;

	if (code < 0x80) {
		bytes[n++] = (char)code;
	} else if (code < 0x800) {
		bytes[n++] = (char)(0xc0 | code >> 6);
		bytes[n++] = (char)(0x80 | (code & 0x3f));
	} else {
		bytes[n++] = (char)(0xe0 | code >> 12);
		bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
		bytes[n++] = (char)(0x80 | (code & 0x3f));
	}
	for (size_t i = 0; i < n && *len + 1 < cap; i++)
		out[(*len)++] = bytes[i];
}

static unsigned escaped(struct scan *s)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	char c = *s->at++, digits[5] = "";
	const char *found = strchr(from, c);

	if (c != 'u')
		return found && c ? (unsigned char)to[found - from] : (unsigned char)c;
	if (s->end - s->at < 4) {
		s->bad = true;
		return 0;
	}
	memcpy(digits, s->at, 4);
	s->at += 4;
	return (unsigned)strtoul(digits, NULL, 16);
}

/* Cut at cap - 1 bytes; a name that is longer than it may be matches nothing. */
static void text(struct scan *s, char *out, size_t cap)
{
	size_t len = 0;

	want(s, '"');
	while (!s->bad && s->at < s->end && *s->at != '"') {
		if (*s->at != '\\') {
			if (len + 1 < cap)
				out[len++] = *s->at;
			s->at++;
		} else if (++s->at == s->end) {
			s->bad = true;
		} else {
			put_utf8(out, cap, &len, escaped(s));
		}
	}
	out[len] = '\0';
	want(s, '"');
}

static double number(struct scan *s)
{
	char digits[NUMBER_MAX] = "", *end;
	size_t len = 0;
	double v;

	(void)next(s);
	while (!s->bad && s->at < s->end && strchr("+-.0123456789eE", *s->at) &&
	       len < sizeof(digits) - 1)
		digits[len++] = *s->at++;
	v = strtod(digits, &end);
	s->bad |= end == digits || v < 0;
	return s->bad ? 0 : v;
}

static bool word(struct scan *s, const char *want_word)
{
	size_t len = strlen(want_word);

	(void)next(s);
	if (s->bad || (size_t)(s->end - s->at) < len || memcmp(s->at, want_word, len) != 0)
		return false;
	s->at += len;
	return true;
}

static void pass_over(struct scan *s, int depth)
{
	char ignored[2], open = next(s), close = open == '{' ? '}' : ']';

	if (depth > DEPTH_MAX)
		s->bad = true;
	if (s->bad || word(s, "true") || word(s, "false") || word(s, "null"))
		return;
	if (open == '"') {
		text(s, ignored, sizeof(ignored));
	} else if (open == '{' || open == '[') {
		s->at++;
		while (!s->bad && !take(s, close)) {
			if (open == '{') {
				text(s, ignored, sizeof(ignored));
				want(s, ':');
			}
			pass_over(s, depth + 1);
			if (next(s) != close)
				want(s, ',');
		}
	} else {
		(void)number(s);
	}
}

static bool truth(struct scan *s)
{
	bool yes = word(s, "true");

	s->bad |= !yes && !word(s, "false");
	return yes;
}

static void point_enable(struct type_state *t, const char *name)
{
	for (uint32_t i = 0; i < point_cnt; i++)
		if (strcmp(points[i]->name, name) == 0)
			t->on[i / 64] |= UINT64_C(1) << (i % 64);
}

static void names(struct scan *s, struct type_state *t)
{
	char name[TYPE_NAME_MAX * 2];

	want(s, '[');
	while (!s->bad && !take(s, ']')) {
		text(s, name, sizeof(name));
		point_enable(t, name);
		if (next(s) != ']')
			want(s, ',');
	}
}

/* The members of an object, each with its key. */
static bool member(struct scan *s, char *key, size_t cap, bool first)
{
	if (take(s, '}'))
		return false;
	if (!first)
		want(s, ',');
	text(s, key, cap);
	want(s, ':');
	return !s->bad;
}

static void type_parse(struct scan *s, struct type_state *t)
{
	char key[32];
	bool first = true;

	*t = (struct type_state){.share_ppm = 1000000};
	want(s, '{');
	for (; member(s, key, sizeof(key), first); first = false) {
		double share;

		if (strcmp(key, "type") == 0) {
			text(s, t->name, sizeof(t->name));
		} else if (strcmp(key, "share") == 0) {
			share = number(s);
			t->share_ppm = share < 1 ? (uint32_t)(share * 1e6) : 1000000;
		} else if (strcmp(key, "all") == 0) {
			t->all = truth(s);
		} else if (strcmp(key, "on") == 0) {
			names(s, t);
		} else {
			pass_over(s, 0);
		}
	}
	t->hash = text_hash(t->name);
}

static void types(struct scan *s, struct state *ret)
{
	struct type_state over;

	want(s, '[');
	while (!s->bad && !take(s, ']')) {
		type_parse(s, ret->type_cnt < TYPES_MAX ? &ret->types[ret->type_cnt++] : &over);
		if (next(s) != ']')
			want(s, ',');
	}
}

int state_parse(const char *data, size_t len, struct state *ret, struct terms *ret_terms)
{
	struct scan s = {data, data + len, false};
	struct state *st = calloc(1, sizeof(*st));
	double version = 0, lease = 0, again = 0;
	char key[32];
	bool first = true, good;

	if (!st)
		return -ENOMEM;
	want(&s, '{');
	for (; member(&s, key, sizeof(key), first); first = false) {
		if (strcmp(key, "version") == 0)
			version = number(&s);
		else if (strcmp(key, "epoch") == 0)
			st->epoch = (uint64_t)number(&s);
		else if (strcmp(key, "lease_ms") == 0)
			lease = number(&s);
		else if (strcmp(key, "again_ms") == 0)
			again = number(&s);
		else if (strcmp(key, "types") == 0)
			types(&s, st);
		else
			pass_over(&s, 0);
	}
	good = !s.bad && version >= 1 && version < 2 && lease >= 1 && lease <= 60000 &&
	       again <= lease / 2;
	if (good) {
		*ret = *st;
		*ret_terms = (struct terms){(uint32_t)lease, (uint32_t)again};
	}
	free(st);
	return good ? 0 : -EBADMSG;
}
