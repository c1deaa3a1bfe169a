/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOLD_H
#define FOLD_H
/*
 * Names of spans that hold an id ("GET /user/17/orders") become their route
 * ("GET /user/{id}/orders"): else each request is a type of its own, and of one
 * request nothing can be said.  Not for attributes' values, but for those that
 * name the request (struct fold's keys): they are what varies.
 *
 *	fold_new, fold_span for every span, fold_free
 *
 * An id is, between slashes, as a value of a query or behind a colon: a number.
 * Anywhere: a date, a UUID, a run of FOLD_RUN_MIN digits, a hexadecimal number of FOLD_HEX_MIN
 * digits, a random token (fold.c).  Versions and addresses (digits and dots) and
 * what stands in braces stay.  Where the instrumentation says http.route or
 * url.template, that is taken for the path in the name.
 *
 * The answer for a name depends on the name, its route and the rules alone.
 */
#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

struct buf;
struct fold;
struct strtab;

enum {
	FOLD_RUN_MIN = 4,	/* three may be a status, four a year or a port: no loss */
	FOLD_PIECE_MIN = 3,	/* of a piece of a path: order-123 */
	FOLD_HEX_MIN = 8,	/* the shortest that are in use: half of a 64 bit id */
	FOLD_TOKEN_MIN = 14,	/* shorter ones look like words */
	FOLD_JOINED_MIN = 20,	/* with dashes in it; 16 bytes are 22 */
	FOLD_RULES_MAX = 64,
};

/* The attributes that name the route: all that is asked of attributes. */
#define FOLD_ROUTE_KEY "http.route"
#define FOLD_TEMPLATE_KEY "url.template"

struct fold_rule {		/* what re (extended, known to compile) matches becomes text */
	const char *re, *text;
};

struct fold_opts {		/* borrowed until fold_free */
	const struct fold_rule *rules;	/* applied first, in order */
	uint32_t rule_cnt;
	bool keep_ids;		/* only the rules */
};

/* strings is borrowed until fold_free, opts may be NULL. */
struct fold *fold_new(const struct fold_opts *opts, struct strtab *strings);

/* NULL is fine. */
void fold_free(struct fold *f);

/*
 * *span is changed in place.  Returns its attributes: attrs, or a copy that is
 * good until the next call.
 */
const struct attr *fold_span(struct fold *f, struct span *span, const struct attr *attrs);

/* Different names that were changed. */
uint64_t fold_cnt(const struct fold *f);

/* Appends what the built-in rules make of a name. */
void fold_ids(const char *name, struct buf *out);

#endif /* FOLD_H */
