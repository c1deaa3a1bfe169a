/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PER_PROCESS_H
#define PER_PROCESS_H
/*
 * For commands that look at each chosen process once and show it on its own.
 * One that cannot be looked at is named and skipped when there are more.
 */
#include <stdint.h>

struct err;
struct json;
struct target;

struct per_process {
	const struct target *target;
	/* Shows one process: an object in j, or where j is NULL as the command likes. */
	int (*show)(void *ctx, uint32_t tgid, struct json *j, struct err *err);
	/* Further members of the document, after its "processes"; or NULL. */
	void (*tail)(void *ctx, struct json *j);
	void *ctx;
};

/* 0 when one could be shown, else the last error. */
int per_process_text(const struct per_process *p, struct err *err);

/* Prints the document when one could be shown. */
int per_process_json(const struct per_process *p, const char *schema, struct err *err);

#endif /* PER_PROCESS_H */
