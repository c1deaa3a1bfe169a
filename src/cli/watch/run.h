/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_H
#define RUN_H
/*
 * One observation and what the engine of waits made of it: a watch, a capture, or a
 * part of a capture's time.
 *
 *	run_file, or run_of for a model that is finished; run_release
 */
#include "model/model.h"
#include "store/cut.h"

struct arena;
struct err;
struct waits_result;

struct run {
	struct model *model;
	struct waits_result *waits; /* in the arena */
	struct cut_time span;	    /* what a part of a capture has; zero: not cut */
	struct cut_time whole;	    /* and what the capture has */
};

extern const struct model_opts run_model; /* what a verdict needs, and no more */

/* time NULL or all-zero: all of it.  -ENODATA where nothing of that time is in it. */
int run_file(const char *path, const struct cut_time *time, struct arena *arena,
	     struct run *ret_run, struct err *err);

struct run run_of(struct model *m, struct arena *arena);
void run_release(struct run *r);

#endif /* RUN_H */
