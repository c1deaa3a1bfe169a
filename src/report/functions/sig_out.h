/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIG_OUT_H
#define SIG_OUT_H
/*
 * Renders what is in a file of signatures.  Each appends to out.
 */
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct buf;
struct pen;
struct sigs;

struct sig_view {
	const struct sigs *sigs;
	const char *name;	/* of the file */
	const char *const *wanted; /* functions whose name holds one of these; none: the busiest */
	size_t wanted_cnt;
};

/* Summary, modules, groups and functions, about a screen unless some are wanted. */
void sig_text(const struct sig_view *v, struct pen *pen);

/* One object, docs/learn.schema.json; of the functions only those wanted, if any are. */
void sig_json(const struct sig_view *v, struct buf *out);

/* This function is wanted; all are when none is named. */
bool sig_wanted(const struct sig_view *v, const char *fn);

extern const char embed_learn_schema_json[];

#endif /* SIG_OUT_H */
