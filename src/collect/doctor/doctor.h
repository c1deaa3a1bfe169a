/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCTOR_H
#define DOCTOR_H
/*
 * Whether heldup can work here: rights, kernel features and mounts, each
 * tried where that is possible; and whether anything of heldup stays in the
 * kernel after it ends.  Judges, prints nothing.
 *
 *	struct doctor_result r = doctor_run(&arena, &opts);
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct arena;
struct attached;

enum doctor_state {
	DOCTOR_OK = 0,
	DOCTOR_INFO = 1,     /* neither good nor bad */
	DOCTOR_DEGRADED = 2, /* works, and an answer lacks something */
	DOCTOR_FAILED = 3,   /* heldup why cannot work */
};

struct doctor_check {
	enum doctor_state state;
	const char *group;   /* "rights", "kernel", "hooks", "files", "self-test" */
	const char *name;
	const char *detail;  /* what was found */
	const char *cost;    /* what an answer lacks without it, "" */
	const char *mend;    /* command or setting that brings it, "" */
};

struct doctor_result {
	struct doctor_check *checks;
	size_t check_cnt;
	size_t degraded_cnt, failed_cnt;
	struct attached *attached; /* what is loaded now; NULL when it may not be asked */
	bool self_tested;
};

struct doctor_opts {
	bool no_self_test;   /* leave out loading and killing a child */
};

/* Everything lives in arena. */
struct doctor_result doctor_run(struct arena *arena, const struct doctor_opts *opts);

/* "ok", "info", "degraded", "failed" */
const char *doctor_state_name(enum doctor_state state);

/* Inside doctor*.c: */
struct doctor {
	struct arena *arena;
	VEC(struct doctor_check) checks;
};

struct doctor_mend {
	const char *cost, *mend;
};

/* detail is formatted; cost and mend are kept only where the state is worse than INFO. */
void doctor_add(struct doctor *d, enum doctor_state state, const char *group, const char *name,
		const struct doctor_mend *mend, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));

/* doctor_env.c: rights, kernel settings, files. */
void doctor_rights(struct doctor *d);
void doctor_kernel(struct doctor *d);
void doctor_files(struct doctor *d);

/* doctor_self.c: loads in a child, kills it, looks what stays. */
void doctor_self_test(struct doctor *d);

#endif /* DOCTOR_H */
