/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STACKS_OUT_H
#define STACKS_OUT_H
/*
 * Renders what stacks/ found.  Each appends to out.  modes is a set of
 * 1 << enum stacks_mode; arena holds what is made on the way.
 */
#include <stdio.h>

struct arena;
struct buf;
struct json;
struct pen;
struct stacks_result;

struct stacks_view {
	const struct stacks_result *r;
	const struct stacks_result *base; /* what r is compared with, NULL */
	const struct stacks_result *idle; /* for a page: what r leaves out, waits for work; NULL */
	unsigned modes;
	unsigned nodes_max;	/* of a page's flame graph; 0: 150,000 */
	struct arena *arena;
};

/* Short tables, under one screen; with a base the functions that changed most. */
void stacks_text(const struct stacks_view *v, struct pen *pen);

/* One object, docs/stacks.schema.json; to file as it grows when that is not NULL. */
void stacks_json(const struct stacks_view *v, struct buf *out, FILE *file);

/* A page of its own with the flame graph. */
void stacks_html(const struct stacks_view *v, struct buf *out);

/* The page's data, an object. */
void stacks_page_data(const struct stacks_view *v, struct buf *out);

/* Key "flame" for a page's data: the trees that page script flame.js draws. */
void flame_json(const struct stacks_view *v, struct json *j);

/* The JSON schema as text: docs/stacks.schema.json, put in by the Makefile. */
extern const char embed_stacks_schema_json[];

#endif /* STACKS_OUT_H */
