/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JSON_DOCS_H
#define JSON_DOCS_H
/*
 * Files of JSON documents, one or many, and what is alike in the formats of
 * spans that are JSON.
 */
#include <stdbool.h>
#include <stdint.h>

#include "spans/parse/jsontok.h"
#include "spans/reading.h"

struct json_docs {
	struct reading *r;
	struct jsontok t;
	uint64_t base;		/* of the first document in the file */
	uint64_t waiting_cnt;	/* spans that were understood and not yet handed on */
};

enum { DOCS_KEY_MAX = JSONTOK_PAD }; /* more than any key that a reader knows has */

/* A key that stays while its value is read: its text is cut, its len is not. */
struct docs_key {
	const char *s;
	size_t len;
	char text[DOCS_KEY_MAX];
};

/* As jsontok_key. */
bool docs_key(struct jsontok *t, struct docs_key *ret);

/*
 * Calls doc for each document; it reads one value of docs->t and returns 0 or
 * what ends the reading (a sink's error).  Where the text is no JSON it is
 * taken up again at the next line that begins a document; damage after which
 * no span comes any more ends the reading as reading_cut does.
 */
int json_docs_read(struct reading *r, int (*doc)(struct json_docs *docs, void *ctx), void *ctx);

/* Offset of the next value in the file. */
uint64_t json_off(const struct json_docs *docs);

/*
 * A span lacks what it must have: counted as bad, with the first value that had
 * the wrong type as the reason where there is one, else "expected WHAT, found none".
 */
void json_span_bad(struct json_docs *docs, uint64_t off, const char *what);

/* The value that stands next, whatever it is, as an attribute. */
void json_attr(struct json_docs *docs, struct making *m, uint32_t key);

/* A string, a number as written or a truth value as text; false: another value, skipped. */
bool json_text(struct jsontok *t, char *buf, size_t cap, struct tok_str *ret);

/* A time of the unit, a number or a number in a string; false: it is none or does not fit. */
bool json_time(struct jsontok *t, int64_t unit_ns, int64_t *ret_ns);

#endif /* JSON_DOCS_H */
