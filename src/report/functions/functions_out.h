/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUNCTIONS_OUT_H
#define FUNCTIONS_OUT_H
/*
 * Renders what functions/ found.  Each appends to out and computes nothing.
 */
#include <stddef.h>
#include <stdio.h>

struct agreement;
struct arena;
struct buf;
struct functions_result;
struct json;
struct pen;

struct functions_view {
	const struct functions_result *r;
	size_t top;		/* functions shown in text; 0: ten */
	size_t explain;		/* rank whose evidence is shown in full; 0: none */
	const struct agreement *agreement; /* with the verdict on waits; NULL: there is none */
};

/* Under one screen, but for --explain. */
void functions_text(const struct functions_view *v, struct pen *pen);

/* One object, docs/functions.schema.json; to file as it grows when that is not NULL. */
void functions_json(const struct functions_view *v, struct buf *out, FILE *file);

/* A page of its own. */
void functions_html(const struct functions_view *v, struct buf *out);

/* The object that is both the JSON and the page's data. */
void functions_object(const struct functions_view *v, struct json *j);

/* "12.0 fsync calls, usually 1", "a recvfrom that did not return for 8.00 s", ... */
struct fn_evidence;
struct fn_report;
struct unit_dev;
void functions_evidence_words(const struct functions_result *r, const struct fn_evidence *e,
			      struct buf *out);

/* The strongest evidence of a function, and the part that it speaks of: of harm, or of time. */
void functions_why_words(const struct functions_result *r, const struct fn_report *f,
			 struct buf *out);
double functions_share(const struct fn_report *f);

/* That the cause lies outside of the program; adds nothing where it does not. */
void functions_outside_words(const struct functions_result *r, struct buf *out);

/* The key "agreement" and its object; null of NULL. */
void functions_agreement_json(struct json *j, const struct agreement *a);

/* The key "not_told" and its array. */
void functions_not_told_json(struct json *j, const struct functions_result *r);

/* The JSON schema as text: docs/functions.schema.json, put in by the Makefile. */
extern const char embed_functions_schema_json[];
extern const char embed_functions_js[];

#endif /* FUNCTIONS_OUT_H */
