/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OSPROFILER_H
#define OSPROFILER_H
/*
 * What the two forms in which OSProfiler's traces are kept have in common: the
 * events themselves, and how sub-traces are joined.
 *
 *	struct osp o;  osp_init;
 *	struct osp_span s = {0};
 *	osp_span_begin; osp_event ... (start and stop, or one note);  osp_span_end
 *	osp_join at the end;  osp_release
 *
 * A note with child_id begins work in another trace that nobody waits for
 * until a note or span with wait_for: the other trace becomes a part of this
 * one.  Which notes there are is known at the end only, so spans wait.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "spans/parse/json_docs.h"
#include "spans/reading.h"

enum {
	OSP_TEXT_MAX = 128,	/* of a project's or service's name */
	OSP_LINKS_MAX = 1 << 18, /* notes that begin work, or wait for it */
};

struct osp_span {
	struct making m;
	uint64_t base;		/* the trace's id as that of a span, which roots have as parent */
	uint64_t child, wait;	/* ids as of spans of the traces it begins or waits for; 0 */
	bool has_begin, has_end, is_note;
	bool seen_start, seen_stop;
	char name[NAME_MAX_LEN + 1];		/* without -start and -stop */
	char tracepoint[NAME_MAX_LEN + 1];
	char project[OSP_TEXT_MAX], service[OSP_TEXT_MAX];
};

struct osp_link {
	uint64_t from, to;	/* which is which depends on the list */
	struct trace_id trace;
	uint64_t base;
};

struct osp {
	struct reading *r;
	struct json_docs *docs;	/* set with each document */
	struct pending *pending;
	struct making info;	/* attributes of the event that is read */
	VEC(struct osp_link) begun;	/* child's base -> the noting point */
	VEC(struct osp_link) roots;	/* base -> a root; chained by next_root */
	VEC(uint64_t) next_root;	/* index + 1 in roots */
	struct hmap by_child, by_base, waits;
};

void osp_init(struct osp *o, struct reading *r);
void osp_release(struct osp *o);

void osp_span_begin(struct osp_span *s, uint64_t off);
void osp_span_release(struct osp_span *s);

/* Reads an event, the value that stands next, into s; false: it is no event. */
bool osp_event(struct osp *o, struct osp_span *s);

/* s is whole: it is bad, or waits for osp_join.  < 0: an error that ends the reading. */
int osp_span_end(struct osp *o, struct osp_span *s);

/* Hands on all that waits. */
int osp_join(struct osp *o);

/* v as a text of at most cap - 1 bytes. */
void osp_copy(char *to, size_t cap, const struct tok_str *v);

#endif /* OSPROFILER_H */
