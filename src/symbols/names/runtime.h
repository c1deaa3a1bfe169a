/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_H
#define RUNTIME_H
/*
 * Runtimes that make or interpret code, which no file's symbols name: which one
 * a process has, known by the files it maps, and what makes it tell its names.
 */
#include <stdbool.h>

struct runtime {
	const char *name;	/* "Java" */
	bool (*is_file)(const char *base_name);
	const char *how;	/* what gives names, for a person */
	bool can_ask;		/* jvm_perfmap can ask a running one */
};

/* Runtime of a file's name without folders; NULL for one that belongs to none. */
const struct runtime *runtime_of_file(const char *base_name);

/* Advice for a runtime, given its file (Python's has its version). */
const char *runtime_advice(const struct runtime *r, const char *base_name);

#endif /* RUNTIME_H */
