/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_INT_H
#define CGROUPS_INT_H
/*
 * What cgroups.c, cgroup_find.c and their test share; nobody else includes this.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/proc/cgroup_mounts.h"

struct group;

struct cgroups {
	struct cgroup_mounts mounts;
	VEC(struct group) groups;
	struct strtab group_ids; /* path to index in groups, plus one */
	uint64_t scanned_ns;
	uint64_t scanned_set;	 /* hash of the processes scanned */
	struct buf path;	 /* answer of cgroups_path_of */
	bool told_bound;
};

struct cgroup_line {		 /* borrowed from the line */
	const char *controllers; /* empty for v2 */
	size_t controllers_len;
	const char *path;
	size_t path_len;
};

/* "9:cpu,cpuacct:/a/b"; 0 or -EINVAL. */
int cgroups_parse_line(const char *line, struct cgroup_line *ret_line);

#endif /* CGROUPS_INT_H */
