/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FOREST_OUT_H
#define FOREST_OUT_H
/*
 * Renders a hypothesis forest (requests/forest/forest.h).  Each appends to out and
 * computes nothing but where one request stands among others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/trace.h"
#include "requests/forest/forest.h"

struct buf;
struct json;
struct pen;
struct points;
struct strtab;

struct forest_walked_point {
	uint32_t point;
	bool on_path;		/* the critical one */
	struct forest_sight sight;
};

struct forest_walked {		/* --trace: one request, and where it comes through */
	struct trace_id id;
	int64_t total_ns;
	uint32_t tree;		/* FOREST_NONE: there is none of its type */
	const uint32_t *nodes;	/* of the tree, the root first */
	uint32_t node_cnt;
	const struct forest_walked_point *points;	/* its tracepoints, by when it came there */
	uint32_t point_cnt;
};

struct forest_view {
	const struct forest *f;
	const struct points *points;
	const struct strtab *strings;
	const char *path;		/* of the file, for titles */
	const bool *tree_shown;		/* by tree; NULL: all */
	size_t top;			/* rows of a table in text; 0: a few */
	const struct forest_walked *walked;	/* NULL: not asked for */
};

void forest_text(const struct forest_view *v, struct pen *pen);

/* One object, docs/forest.schema.json; to file as it grows when that is not NULL. */
void forest_json(const struct forest_view *v, struct buf *out, FILE *file);

/* A page of its own, on which the trees can be opened and walked. */
void forest_html(const struct forest_view *v, struct buf *out);

/* The object that is both the JSON and the page's data. */
void forest_object(const struct forest_view *v, struct json *j);

/* An array of the walked request's tracepoints. */
void forest_walked_points(const struct forest_view *v, struct json *j);

/* ---- words, for the renderers */

bool forest_tree_shown(const struct forest_view *v, uint32_t tree);
bool forest_node_walked(const struct forest_view *v, uint32_t tree, uint32_t node);

/* "service name"; the tree's adds its hash where two trees have the same. */
void forest_point_words(const struct forest_view *v, uint32_t point, struct buf *out);
/* "begin of service name"; of both sides the name alone. */
void forest_sided_words(const struct forest_view *v, uint32_t point, uint32_t sides,
			struct buf *out);
void forest_tree_words(const struct forest_view *v, uint32_t tree, struct buf *out);

/* "a → b", "a end → b", "in a". */
void forest_edge_words(const struct forest_view *v, const struct forest_event *from,
		       const struct forest_event *to, bool ascii, struct buf *out);

const char *forest_seen_name(enum forest_seen seen);	/* for machines: "always" */
const char *forest_seen_words(enum forest_seen seen);
const char *forest_status_name(uint8_t status);		/* for machines: "localised" */
const char *forest_status_words(uint8_t status);
const char *forest_decision_name(uint32_t kind);	/* for machines: "on" */
const char *forest_decision_words(uint32_t kind);

/* Share of the times that are under ns; in a bucket they are held to be spread evenly. */
double forest_times_under(const struct forest_times *t, double ns);

/* The JSON schema as text: docs/forest.schema.json, put in by the Makefile. */
extern const char embed_forest_schema_json[];
extern const char embed_forest_js[];
extern const char embed_forest_css[];

#endif /* FOREST_OUT_H */
