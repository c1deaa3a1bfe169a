/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSONTOK_H
#define JSONTOK_H
/*
 * A pull tokenizer for JSON: the caller asks for what it expects next, nothing
 * is built in memory, and a document may be longer than memory.  Several
 * documents may follow each other, on lines of their own or not.
 *
 *	struct jsontok t;
 *	struct tok_str key, text;
 *
 *	jsontok_init(&t, fill, ctx);
 *	while (jsontok_more(&t)) {
 *		if (!jsontok_obj(&t))
 *			continue;
 *		while (jsontok_key(&t, &key))
 *			if (tok_is(&key, "name"))
 *				jsontok_str(&t, &text);
 *			else if (tok_is(&key, "spans") && jsontok_arr(&t))
 *				while (jsontok_item(&t))
 *					read_span(&t);
 *	}
 *	if (jsontok_broken(&t)) ...
 *	jsontok_release(&t);
 *
 * A value that nobody reads is skipped by the next jsontok_key or _item, and
 * jsontok_leave skips what is left of an object or array.
 *
 * Two kinds of errors.  A value of another type than asked for is a *miss*: it
 * is skipped, the call says false, and the first miss is kept for
 * jsontok_take_miss; the rest can be read.  What is not JSON, or over a limit
 * of nesting, *breaks* the document: everything says false from then on, until
 * jsontok_next_line goes on with a later line.
 *
 * The grammar between the values that are skipped is not checked beyond quotes
 * and brackets.  Raw control characters in strings are taken as they are; no
 * string holds a NUL (\u0000 becomes U+FFFD, as half a surrogate pair does).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct err;
struct spans_in;

enum {
	JSONTOK_PAD = 32,	     /* bytes that may be read from where a string begins */
	JSONTOK_DEPTH_MAX = 128,     /* objects and arrays in each other */
	JSONTOK_STR_MAX = 4 << 20,   /* bytes of a string that is asked for, escaped */
	JSONTOK_MISS_MAX = 160,
};

enum tok_kind {
	TOK_END = 0, /* no value: the end of the input, or broken */
	TOK_OBJ,
	TOK_ARR,
	TOK_STR,
	TOK_NUM, /* NaN and Infinity, as some writers have them, too */
	TOK_BOOL,
	TOK_NULL,
};

/* NUL terminated; borrowed until the next call for the same tokenizer, a key until the next key. */
struct tok_str {
	const char *s;
	size_t len;
};

/* At most cap bytes into buf: how many, 0 at the end, -errno. */
typedef ssize_t (*jsontok_fill_fn)(void *ctx, char *buf, size_t cap);

struct jsontok { /* the fields are jsontok.c's */
	char *buf;
	size_t cap, pos, len; /* what is read and not yet asked for: pos to len */
	uint64_t base_off;    /* of buf[0] in the input */
	uint64_t value_off;   /* where the value that was read last began */
	char *key;
	size_t key_cap;
	jsontok_fill_fn fill;
	void *ctx;
	const char *mem; /* jsontok_init_mem: what is left of it */
	size_t mem_len;
	bool ended, due, dead; /* due: a value stands next; dead: cannot be read on */
	int code;	       /* -errno once broken */
	unsigned depth;
	uint8_t levels[JSONTOK_DEPTH_MAX];
	bool missed;
	uint64_t miss_off;
	char miss[JSONTOK_MISS_MAX];
	uint64_t err_off;
	char msg[JSONTOK_MISS_MAX];
};

void jsontok_init(struct jsontok *t, jsontok_fill_fn fill, void *ctx);
/* The whole input is in memory and stays there until the end. */
void jsontok_init_mem(struct jsontok *t, const char *text, size_t len);
/* Reads the rest of in ahead of the values; offsets go on from in_off(in). */
void jsontok_init_in(struct jsontok *t, struct spans_in *in);
void jsontok_release(struct jsontok *t);

/* Another document begins; one that was not read to its end is left first. */
bool jsontok_more(struct jsontok *t);

/* Kind of the next value, which is not taken. */
enum tok_kind jsontok_kind(struct jsontok *t);

/* Goes into an object; then its keys, until false closes it. */
bool jsontok_obj(struct jsontok *t);
bool jsontok_key(struct jsontok *t, struct tok_str *ret_key);
/* The same for an array and its items. */
bool jsontok_arr(struct jsontok *t);
bool jsontok_item(struct jsontok *t);
/* Skips the rest of the innermost object or array that is open, and closes it. */
void jsontok_leave(struct jsontok *t);

/*
 * Values; *ret is untouched when false.  Numbers may stand in a string, and an
 * integer may have a fraction or exponent as long as it is one.
 */
bool jsontok_str(struct jsontok *t, struct tok_str *ret);
bool jsontok_u64(struct jsontok *t, uint64_t *ret);
bool jsontok_i64(struct jsontok *t, int64_t *ret);
bool jsontok_f64(struct jsontok *t, double *ret);
bool jsontok_bool(struct jsontok *t, bool *ret);
void jsontok_skip(struct jsontok *t);

/* A miss of the caller's: the value read last is not what it should be ("a trace id in hex"). */
void jsontok_expected(struct jsontok *t, const char *what);

/* The first miss since the last call: where, and "expected X, found Y" (borrowed). */
bool jsontok_take_miss(struct jsontok *t, uint64_t *ret_off, const char **ret_text);

/* Bytes of the input that were taken. */
static inline uint64_t jsontok_off(const struct jsontok *t)
{
	return t->base_off + t->pos;
}

static inline bool jsontok_broken(const struct jsontok *t)
{
	return t->code != 0;
}

/* "offset N: expected X, found Y"; returns the code, 0 when nothing is broken. */
int jsontok_error(const struct jsontok *t, struct err *err);

/*
 * Forgets the document that is open and goes to the next line that begins with
 * a bracket, as the lines inside of a printed document do not; false: the end.
 */
bool jsontok_next_line(struct jsontok *t);

/* str is a literal. */
#define tok_is(tok, str) \
	((tok)->len == sizeof(str) - 1 && memcmp((tok)->s, "" str, sizeof(str) - 1) == 0)

#endif /* JSONTOK_H */
