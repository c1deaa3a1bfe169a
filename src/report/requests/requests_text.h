/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REQUESTS_TEXT_H
#define REQUESTS_TEXT_H
/*
 * What the parts of the text of `heldup requests` share; for others there is
 * requests_out.h.
 */
#include "report/lines/pen.h"
#include "report/requests/requests_out.h"

struct call_change;
struct call_split;
struct structure_change;

/* A line between sections: the title, and more in dim. */
void requests_put_head(struct pen *p, const char *title, const char *more);

/* Indented by two, wrapped. */
void requests_put_line(struct pen *p, enum pen_style style, const char *text);

/* "a.json: Jaeger JSON, 3.1 MiB, 4.40 k spans, 400 requests" */
void requests_input_words(const struct requests_input *in,
			  struct buf *out);

/* Nothing for a trace that is NULL or has no path. */
void requests_put_waterfall(const struct requests_view *v, struct pen *p,
			    const struct trace *t, uint32_t max_rows, const char *what);

void requests_put_explain(const struct requests_view *v, struct pen *p);	/* --trace */
void requests_put_against(const struct requests_view *v, struct pen *p);	/* --diff: GOOD */
void requests_put_diff(const struct requests_view *v, struct pen *p);		/* --diff */
/* The keys of g that explain; without those that explain but as well, unless that is NULL. */
void requests_put_keys(const struct requests_view *v, struct pen *p,
		       const struct request_group *g, const struct request_group *told,
		       const char *title);
/* Which keys go with what changed in a type of v->diff. */
void requests_put_key_changes(const struct requests_view *v, struct pen *p, uint32_t type);
/* The one service to blame: the first line. */
void requests_put_blame(const struct requests_view *v, struct pen *p);
/* The first of the shown calls that are made more often, left out or new, or NULL. */
const struct call_change *requests_first_call(const struct requests_view *v);
const struct structure_change *requests_first_structure(const struct requests_view *v);
void requests_put_structure(const struct requests_view *v, struct pen *p);
void requests_put_aside(const struct requests_view *v, struct pen *p);
void requests_structure_words(const struct requests_view *v, const struct structure_change *s,
			      struct buf *out);
/* Without --diff: what calls part slow requests from quick ones; likewise. */
const struct call_split *requests_first_split(const struct requests_view *v);
void requests_put_splits(const struct requests_view *v, struct pen *p);
void requests_split_words(const struct requests_view *v, const struct call_split *s,
			  struct buf *out);

/* The edges to blame over all types; nothing where there is but one group. */
void requests_put_rank(const struct requests_view *v, struct pen *p);

#endif /* REQUESTS_TEXT_H */
