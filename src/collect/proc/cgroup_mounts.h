/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUP_MOUNTS_H
#define CGROUP_MOUNTS_H
/*
 * Where the cgroup hierarchies are mounted, from /proc/self/mountinfo.
 * Used by cgroups.c and cgroup_find.c only.
 */
#include <stddef.h>

#define CGROUP_MOUNT_MAX 32

struct cgroup_mount {
	char *dir;	   /* mount point */
	char *root;	   /* of the hierarchy that is mounted there: "/" but in containers */
	char *controllers; /* ",cpu,cpuacct," or ",name=systemd,"; "" for v2 */
};

struct cgroup_mounts {
	struct cgroup_mount items[CGROUP_MOUNT_MAX];
	size_t cnt;
};

/* Text of a mountinfo file; lines that are no cgroup mounts are passed over. */
void cgroup_mounts_parse(struct cgroup_mounts *m, const char *text);
void cgroup_mounts_read(struct cgroup_mounts *m);
void cgroup_mounts_release(struct cgroup_mounts *m);

/* controller NULL: v2.  NULL where it is not mounted. */
const struct cgroup_mount *cgroup_mounts_find(const struct cgroup_mounts *m,
					      const char *controller);

/* Directory of a cgroup path as /proc/PID/cgroup gives it; -ENOENT outside of the mount. */
int cgroup_mount_dir(const struct cgroup_mount *m, const char *path, char *out, size_t out_len);

#endif /* CGROUP_MOUNTS_H */
