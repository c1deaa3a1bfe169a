/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_H
#define CGROUPS_H
/*
 * Limits and throttling of the cgroups that watched processes are in, v1
 * and v2 at once.  A limit may sit on any ancestor: all up to the root are
 * read, those without limit, throttling or members are left out.
 *
 *	cgroups_new, cgroups_emit at the start, each tick and at the end,
 *	cgroups_free
 *
 * One EV_CGROUP per path: controllers of v1 that have the same path are
 * joined.  Its id is the cgroup v2 id (inode) where the path exists there,
 * else a hash of the path with the top bit set.
 */
#include <stddef.h>
#include <stdint.h>

struct cgroups;
struct emit;

#define CGROUPS_MAX 1024     /* paths read at one time */
#define CGROUPS_THREAD_MAX 256 /* threads per process whose own cgroup is looked at */

struct cgroups *cgroups_new(void);
void cgroups_free(struct cgroups *c);

/* ev_cgroup.tgid is the first of tgids that is inside: give the targets before the peers. */
void cgroups_emit(struct cgroups *c, struct emit *e, const uint32_t *tgids, size_t tgid_cnt,
		  uint64_t ts_ns);

/*
 * Path of a process for ev_task.cgroup: its v2 path, or where that is the
 * root the deepest of its v1 paths.  "" when gone.  Borrowed until the next call.
 */
const char *cgroups_path_of(struct cgroups *c, uint32_t tgid);

/* Mount points by controller, for -g and doctor; "" where not mounted. */
const char *cgroups_mount_v2(const struct cgroups *c);
const char *cgroups_mount_v1(const struct cgroups *c, const char *controller);

/*
 * Processes of a cgroup and its children.  path: absolute directory,
 * relative to any cgroup mount, or where there is no such, the tail of a
 * path ("nginx.service", a container's id).  Count, at most max_cnt, or -ENOENT.
 */
int cgroups_procs(const struct cgroups *c, const char *path, uint32_t *ret_tgids, size_t max_cnt);

/* Directory of a systemd unit below the hierarchy that systemd keeps: -ENOENT, -ENOTSUP. */
int cgroups_unit_dir(const struct cgroups *c, const char *unit, char *ret_path, size_t path_len);

#endif /* CGROUPS_H */
