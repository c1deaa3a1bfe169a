/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_CODE_H
#define PROCESS_CODE_H
/*
 * What a process can execute, at this moment: the files whose code it maps, as
 * modules of a struct symbols, and code that is in no file.
 *
 *	struct process_code c = {0};
 *	process_code_read ... process_code_name ... process_code_release
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "collect/proc/mappings.h"

struct err;
struct symbol_name;
struct symbols;

enum { PROCESS_CODE_VDSO_MAX = 64 * 1024 };

struct code_file {
	const char *path; /* as the process sees it; "[vdso]", "[anon]" ... */
	uint8_t kind;	  /* enum mapping_kind */
	bool deleted;	  /* replaced or removed since it was mapped */
	uint64_t start;	  /* of the first mapping */
	uint64_t bytes;	  /* mapped executable, of all */
	uint32_t mapping_cnt;
	uint32_t module;  /* 0: none, or it could not be read */
	const char *problem; /* NULL: none */
};

struct process_code {
	uint32_t tgid;
	struct arena arena;
	struct mappings maps;
	VEC(struct code_file) files; /* code without a file is one entry */
};

/* -ESRCH the process is gone, -EACCES (ERR_RIGHTS) it is another user's. */
int process_code_read(struct symbols *s, uint32_t tgid, struct process_code *ret, struct err *err);

/* The name of an address; *ret_file is what it lies in, NULL: nothing executable. */
void process_code_name(const struct process_code *c, struct symbols *s, uint64_t addr,
		       struct symbol_name *ret_name, const struct code_file **ret_file);

/*
 * The package of each file, by dpkg's lists in the root of that process; "" where
 * none is known.  <0: there are no lists.
 */
int process_packages(uint32_t tgid, const char *const *paths, size_t cnt, struct arena *arena,
		     const char ***ret_names);

void process_code_release(struct process_code *c);

#endif /* PROCESS_CODE_H */
