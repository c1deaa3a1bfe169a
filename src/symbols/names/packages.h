/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PACKAGES_H
#define PACKAGES_H
/*
 * Which Debian packages brought some files, and where their debug symbols are:
 * from the lists that dpkg keeps below a root.  The root may be a hostile
 * container's: a list whose name is no package name is not read.
 */
#include <stddef.h>
#include <stdint.h>

struct arena;

enum {
	PACKAGES_LIST_MAX = 8 << 20,   /* bytes of one list; a longer one is left out */
	PACKAGES_TOTAL_MAX = 64 << 20, /* of all; the rest is left out */
	PACKAGES_CNT_MAX = 20000,
	PACKAGES_NAME_MAX = 128,       /* the longest of Debian has 70 */
};

/*
 * For each path the name of its package, "" where no list has it; in a.
 * -ENOENT where there are no such lists: not Debian or one of its children.
 */
int packages_find(const char *root, const char *const *paths, size_t cnt, struct arena *a,
		  const char ***ret_names);

/* Package with the debug symbols of a package: "mariadb-server-dbgsym", "libc6-dbg". */
const char *packages_debug(const char *package, struct arena *a);

#endif /* PACKAGES_H */
