/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a cgroup, and the cgroup of a systemd unit. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "collect/proc/cgroups.h"
#include "collect/proc/cgroups_int.h"
#include "collect/proc/procfs.h"

#define CGROUP1_MAGIC 0x27e0eb
#define CGROUP2_MAGIC 0x63677270
#define DEPTH_MAX 24
#define DIR_MAX 8192		   /* directories visited in one search */
#define PROCS_MAX (1024 * 1024)	   /* bytes of one cgroup.procs */
#define FIND_PATH_MAX 2048

struct walk {
	size_t dir_cnt;
	/* <0 stops the walk */
	int (*visit)(struct walk *w, const char *dir, const char *name);
	uint32_t *tgids;
	size_t cnt, max_cnt;
	const char *unit;    /* or the tail of a path */
	bool is_tail_found;
	char *found;
	size_t found_len;
};

static int walk_dir(struct walk *w, const char *dir, unsigned depth)
{
	const char *slash = strrchr(dir, '/');

	if (++w->dir_cnt > DIR_MAX || depth > DEPTH_MAX)
		return 0;
	int ret = w->visit(w, dir, slash ? slash + 1 : dir);
	if (ret)
		return ret;
	CLEANUP_CLOSEDIR DIR *d = opendir(dir);
	if (!d)
		return 0; /* removed meanwhile */
	for (struct dirent *ent; (ent = readdir(d));) {
		char path[FIND_PATH_MAX];
		if (ent->d_name[0] == '.' || (ent->d_type != DT_DIR && ent->d_type != DT_UNKNOWN))
			continue;
		int len = snprintf(path, sizeof(path), "%s/%s", dir, ent->d_name);
		struct stat st;
		if (len < 0 || (size_t)len >= sizeof(path))
			continue;
		if (ent->d_type == DT_UNKNOWN && (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
			continue;
		ret = walk_dir(w, path, depth + 1);
		if (ret)
			return ret;
	}
	return 0;
}

static void add_tgid(struct walk *w, uint32_t tgid)
{
	for (size_t i = w->cnt; i-- > 0;) {
		if (w->tgids[i] == tgid)
			return;
	}
	if (tgid && w->cnt < w->max_cnt)
		w->tgids[w->cnt++] = tgid;
}

/* cgroup.procs refuses to be read in a threaded v2 cgroup; its threads can be. */
static int visit_procs(struct walk *w, const char *dir, const char *name)
{
	CLEANUP(buf_release) struct buf b = {0};
	char path[FIND_PATH_MAX + 32];
	int threads = 0;

	(void)name;
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	int ret = file_read(path, PROCS_MAX, &b, NULL);
	if (ret == -EOPNOTSUPP) {
		threads = 1;
		snprintf(path, sizeof(path), "%s/cgroup.threads", dir);
		ret = file_read(path, PROCS_MAX, &b, NULL);
	}
	if (ret < 0 && ret != -E2BIG)
		return 0;
	for (const char *p = buf_str(&b); *p;) {
		uint64_t id;
		if (procfs_parse_u64(p, UINT32_MAX, &id, NULL) == 0)
			add_tgid(w, threads ? procfs_tgid((uint32_t)id) : (uint32_t)id);
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	return 0;
}

static bool is_cgroup_dir(const char *path)
{
	struct statfs fs;
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && statfs(path, &fs) == 0 &&
	       (fs.f_type == CGROUP1_MAGIC || fs.f_type == CGROUP2_MAGIC);
}

/* A directory whose path ends in what was asked for; its children belong to it. */
static int visit_tail(struct walk *w, const char *dir, const char *name)
{
	size_t dir_len = strlen(dir), len = strlen(w->unit);
	struct walk inner = {
		.visit = visit_procs, .tgids = w->tgids, .cnt = w->cnt, .max_cnt = w->max_cnt};

	(void)name;
	if (dir_len <= len || dir[dir_len - len - 1] != '/' ||
	    strcmp(dir + dir_len - len, w->unit) != 0)
		return 0;
	w->is_tail_found = true;
	walk_dir(&inner, dir, 0);
	w->cnt = inner.cnt;
	return 0;
}

static int procs_by_tail(const struct cgroups *c, struct walk *w, const char *path)
{
	w->visit = visit_tail;
	w->unit = path;
	for (size_t i = 0; *path && i < c->mounts.cnt; i++) {
		w->dir_cnt = 0;
		walk_dir(w, c->mounts.items[i].dir, 0);
	}
	return w->is_tail_found ? (int)w->cnt : -ENOENT;
}

int cgroups_procs(const struct cgroups *c, const char *path, uint32_t *ret_tgids, size_t max_cnt)
{
	struct walk w = {.visit = visit_procs, .tgids = ret_tgids, .max_cnt = max_cnt};
	char dir[FIND_PATH_MAX];
	bool found = false;

	if (path[0] == '/' && is_cgroup_dir(path)) {
		walk_dir(&w, path, 0);
		return (int)w.cnt;
	}
	while (*path == '/')
		path++;
	/* in a v1 machine the same path may exist below several controllers: all of them count */
	for (size_t i = 0; i < c->mounts.cnt; i++) {
		int len = snprintf(dir, sizeof(dir), "%s/%s", c->mounts.items[i].dir, path);
		if (len < 0 || (size_t)len >= sizeof(dir) || !*path || !is_cgroup_dir(dir))
			continue;
		found = true;
		walk_dir(&w, dir, 0);
	}
	return found ? (int)w.cnt : procs_by_tail(c, &w, path);
}

static int visit_unit(struct walk *w, const char *dir, const char *name)
{
	if (strcmp(name, w->unit) != 0)
		return 0;
	return snprintf(w->found, w->found_len, "%s", dir) < (int)w->found_len ? 1 : 0;
}

int cgroups_unit_dir(const struct cgroups *c, const char *unit, char *ret_path, size_t path_len)
{
	char name[256];
	const char *const controllers[] = {NULL, "name=systemd"};
	struct walk w = {
		.visit = visit_unit, .unit = name, .found = ret_path, .found_len = path_len};

	if (strchr(unit, '/'))
		return -ENOENT;
	int len = snprintf(name, sizeof(name), strchr(unit, '.') ? "%s" : "%s.service", unit);
	if (len < 0 || (size_t)len >= sizeof(name))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		const struct cgroup_mount *m = cgroup_mounts_find(&c->mounts, controllers[i]);
		if (m && walk_dir(&w, m->dir, 0) == 1)
			return 0;
	}
	/* systemd makes this directory exactly when it is the init system */
	return access("/run/systemd/system", F_OK) == 0 ? -ENOENT : -ENOTSUP;
}
