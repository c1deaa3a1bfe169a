/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAY_H
#define SAY_H
/*
 * Words of a finding: lines of evidence, what would refute it, what is missing, and the
 * names of threads, times and resources in them.  All text is in the context's arena.
 */
#include "verdict/context/context.h"

enum { FINDING_LINES = 8 };	/* lines of evidence and of refutation at most; more are dropped */

/* Adds a line of printf text to f->evidence or f->refute. */
void say(struct context *k, struct finding *f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void refute(struct context *k, struct finding *f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* f's class should show this, and it was not seen: costs by levels.  The costliest is kept. */
void lack(struct context *k, struct finding *f, unsigned by, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* "1.5 ms" */
const char *ns_text(struct context *k, double ns);
/* "conn (tid 3 of pid 1)"; "an unknown thread" of NO_IDX */
const char *thread_label(struct context *k, uint32_t thread);
/* pid 0 and comm "" of NO_IDX */
struct party party_of(const struct model *m, uint32_t thread);
/* Sets f's resource; leaves it for NO_IDX. */
void name_res(struct context *k, struct finding *f, uint32_t res);

#endif /* SAY_H */
