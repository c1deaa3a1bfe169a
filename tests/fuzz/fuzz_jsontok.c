/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte is how many bytes come into the window at a time, the rest is
 * JSON.  What is said of it must not depend on where it was cut.
 */
#include "fuzz.h"

#include <string.h>

#include "base/bug.h"
#include "base/hash.h"
#include "spans/parse/jsontok.h"

struct feed {
	const uint8_t *data;
	size_t len, step;
};

static ssize_t feed(void *ctx, char *buf, size_t cap)
{
	struct feed *f = ctx;
	size_t len = f->len < f->step ? f->len : f->step;

	len = len < cap ? len : cap;
	memcpy(buf, f->data, len);
	f->data += len;
	f->len -= len;
	return (ssize_t)len;
}

static void mix(uint64_t *hash, uint64_t what)
{
	*hash = hash_pair(*hash, what);
}

static void mix_str(uint64_t *hash, const struct tok_str *s)
{
	BUG_ON(s->s[s->len] != 0 || memchr(s->s, 0, s->len));
	mix(hash, hash_bytes(s->s, s->len));
}

static void walk(struct jsontok *t, uint64_t *hash);

/* A call for the wrong type, a skip or a leave where a text begins with the letter. */
static void walk_member(struct jsontok *t, const struct tok_str *key, uint64_t *hash)
{
	struct tok_str s;
	int64_t i;
	uint64_t u;
	double f;

	switch (key->len ? key->s[0] : 0) {
	case 's':
		jsontok_skip(t);
		break;
	case 'n':
		break; /* not read: skipped by the next key */
	case 'u':
		if (jsontok_u64(t, &u))
			mix(hash, u);
		break;
	case 'i':
		if (jsontok_i64(t, &i))
			mix(hash, (uint64_t)i);
		break;
	case 'f':
		if (jsontok_f64(t, &f) && f == f)
			mix(hash, (uint64_t)(f < 1e15 && f > -1e15 ? (int64_t)f : 1));
		break;
	case 't':
		if (jsontok_str(t, &s))
			mix_str(hash, &s);
		break;
	default:
		walk(t, hash);
	}
}

static void walk_obj(struct jsontok *t, uint64_t *hash)
{
	struct tok_str key;

	if (!jsontok_obj(t))
		return;
	while (jsontok_key(t, &key)) {
		bool leave = tok_is(&key, "leave");

		mix_str(hash, &key);
		walk_member(t, &key, hash);
		if (leave && !jsontok_broken(t)) {
			jsontok_leave(t);
			break;
		}
	}
}

static void walk(struct jsontok *t, uint64_t *hash)
{
	struct tok_str s;
	double f;
	bool yes;

	mix(hash, jsontok_kind(t));
	switch (jsontok_kind(t)) {
	case TOK_OBJ:
		walk_obj(t, hash);
		break;
	case TOK_ARR:
		if (jsontok_arr(t))
			while (jsontok_item(t))
				walk(t, hash);
		break;
	case TOK_STR:
		if (jsontok_str(t, &s))
			mix_str(hash, &s);
		break;
	case TOK_NUM:
		mix(hash, jsontok_f64(t, &f));
		break;
	case TOK_BOOL:
		if (jsontok_bool(t, &yes))
			mix(hash, yes);
		break;
	default:
		jsontok_skip(t);
	}
}

static uint64_t all(const uint8_t *data, size_t len, size_t step)
{
	struct feed f = {data, len, step};
	struct jsontok t;
	uint64_t hash = 0, off;
	const char *why;

	jsontok_init(&t, feed, &f);
	do {
		while (jsontok_more(&t)) {
			walk(&t, &hash);
			if (jsontok_take_miss(&t, &off, &why))
				mix(&hash, off ^ hash_bytes(why, strlen(why)));
		}
		mix(&hash, jsontok_broken(&t) ? hash_bytes(t.msg, strlen(t.msg)) ^ t.err_off : 0);
	} while (jsontok_broken(&t) && jsontok_next_line(&t));
	jsontok_release(&t);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	BUG_ON(all(data + 1, size - 1, 1 + data[0]) != all(data + 1, size - 1, size));
	return 0;
}
