/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANSWER_H
#define ANSWER_H
/*
 * All that a report of `why` renders.  Renderers compute nothing; they write
 * the same numbers as text, JSON and HTML because they read this one struct.
 */
#include <stdio.h>

struct agreement;
struct arena;
struct buf;
struct explore_view;
struct functions_result;
struct model;
struct stacks_result;
struct verdict;
struct waits_result;

struct answer {
	const struct model *model;
	const struct waits_result *waits;
	const struct verdict *verdict;
	const struct stacks_result *stacks; /* for the page's flame graph, NULL: none */
	const struct stacks_result *idle_stacks; /* what it leaves out: waits for work; NULL */
	struct arena *arena;		    /* for what that makes */
	const struct functions_result *functions; /* NULL: no window of system calls */
	const struct agreement *agreement;	  /* of these with the verdict; the same */
	const struct explore_view *explore;	  /* what tracepoints showed after it; NULL */
	const struct agreement *explored;	  /* of that with the verdict; the same */
	const char *explore_problem;		  /* why there is none though it was asked for */
	const char *when;		    /* which part of the past it is of; NULL: all seen */
};

struct text_opts {
	int colour;	/* 1: SGR sequences */
	int columns;	/* width to fit, 0: 80 */
	int verbose;	/* 1: also the tables behind the verdict */
	int ascii;	/* 1: the terminal does not take UTF-8 */
};

/* Under one screen (24 to 40 lines) unless verbose. */
void answer_text(const struct answer *a, const struct text_opts *opts, struct buf *out);

/*
 * One object, schema "heldup/why/1", described in docs/why.schema.json.  With
 * a file the text goes there as it grows, out is only the way; file may be NULL.
 */
void answer_json(const struct answer *a, struct buf *out, FILE *file);

/* One self-contained page: no network, opens from disk. */
void answer_html(const struct answer *a, struct buf *out);

/* The JSON schema of answer_json as text: docs/why.schema.json, put in by the Makefile. */
extern const char embed_why_schema_json[];

#endif /* ANSWER_H */
