/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

/* Newer than the oldest headers we build with. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

#define ON_FILES LANDLOCK_ACCESS_FS_WRITE_FILE
#define ON_READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ON_FILES_3 LANDLOCK_ACCESS_FS_TRUNCATE
#define MAKE_NODES                                                                                 \
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                            \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO)
#define ON_DIRS                                                                                    \
	(LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | MAKE_NODES |             \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM)

/* A watch reads these by path, beside what it may write: each with its reason. */
static const char *const host_places[] = {
	"/proc", "/sys",	    /* threads and their times; cgroups, disks */
	"/dev/null", "/dev/urandom",
	"/etc/services",	    /* names of ports */
	"/etc/localtime", "/usr/share/zoneinfo",
	"/run/systemd",		    /* is it there? */
	/* names of containers */
	"/run/containers", "/run/containerd", "/var/lib/docker/containers",
	"/var/lib/heldup",	    /* signatures */
};

struct path_limit {
	int rules;
	uint64_t on_files, on_dirs; /* what this kernel knows of it */
	uint64_t on_reads;	    /* 0: reading is not limited */
};

/* Only the field that each version has: later ones limit the network and signals. */
struct handled {
	uint64_t fs;
};

struct path_limit *path_limit_new(bool reads)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);
	struct path_limit *w;
	struct handled handled;

	if (version < 1)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	w->on_files = ON_FILES | (version >= 3 ? ON_FILES_3 : 0);
	w->on_dirs = ON_DIRS | (version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0);
	w->on_reads = reads ? ON_READS : 0;
	handled.fs = w->on_files | w->on_dirs | w->on_reads;
	w->rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (w->rules >= 0)
		return w;
	free(w);
	return NULL;
}

void path_limit_close(struct path_limit **w)
{
	if (!*w)
		return;
	close((*w)->rules);
	free(*w);
	*w = NULL;
}

void path_limit_share(struct path_limit *w)
{
	fcntl(w->rules, F_SETFD, 0);
}

void path_limit_unshare(struct path_limit *w)
{
	fcntl(w->rules, F_SETFD, FD_CLOEXEC);
}

/* The path, or the nearest directory above it that is there. */
static int open_nearest(const char *path)
{
	CLEANUP_FREE char *at = xstrdup(path);

	for (;;) {
		int fd = open(*at ? at : ".", O_PATH | O_CLOEXEC);
		char *slash;

		if (fd >= 0 || errno != ENOENT)
			return fd < 0 ? -errno : fd;
		slash = strrchr(at, '/');
		if (!slash && !*at)
			return -ENOENT;
		if (slash == at)
			return open("/", O_PATH | O_CLOEXEC);
		*(slash ? slash : at) = '\0';
	}
}

static int rule_add(const struct path_limit *w, int fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};

	if (syscall(SYS_landlock_add_rule, w->rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

/* A file of a directory is replaced through its directory. */
static int open_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");

	return open(dir, O_PATH | O_CLOEXEC);
}

int path_limit_allow(struct path_limit *w, const char *path)
{
	CLEANUP_CLOSE int fd = open_nearest(path);
	uint64_t reads = w->on_reads, access = w->on_files;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode)) {
		close(fd);
		fd = open_parent(path);
		if (fd < 0)
			return -errno;
	}
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		access |= w->on_dirs;
	else
		reads &= ~(uint64_t)LANDLOCK_ACCESS_FS_READ_DIR;
	return rule_add(w, fd, access | reads);
}

int path_limit_allow_reading(struct path_limit *w, const char *path)
{
	CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	uint64_t reads = w->on_reads;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		reads &= ~(uint64_t)LANDLOCK_ACCESS_FS_READ_DIR;
	return reads ? rule_add(w, fd, reads) : 0;
}

void path_limit_allow_host(struct path_limit *w)
{
	for (size_t i = 0; i < sizeof(host_places) / sizeof(host_places[0]); i++)
		path_limit_allow_reading(w, host_places[i]);
}

int path_limit_apply(const struct path_limit *w)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, w->rules, 0) < 0)
		return -errno;
	return 0;
}
