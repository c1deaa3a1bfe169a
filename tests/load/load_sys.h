/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_SYS_H
#define LOAD_SYS_H
/*
 * Files, cgroups (v1 or v2, whichever holds the controller) and a network
 * namespace for the programs that need them.  All but load_read_file run in
 * the supervisor, before the fork of who uses them; load_exit undoes them.
 * What this machine does not allow ends the program as skipped, aloud.
 */
#include "load.h"

#include <sys/statvfs.h>
#include <sys/sysmacros.h>

/* On a real disk: never on a tmpfs, where neither O_DIRECT nor fsync means anything. */
LOAD_FN const char *load_dir(void)
{
	const char *base = getenv("LOAD_DIR");

	if (load.dir[0])
		return load.dir;
	snprintf(load.dir, sizeof(load.dir), "%s/load.XXXXXX", base ? base : "/var/tmp");
	if (!mkdtemp(load.dir)) {
		load.dir[0] = 0;
		load_die("mkdtemp: %s", strerror(errno));
	}
	return load.dir;
}

LOAD_FN const char *load_path(const char *name)
{
	snprintf(load.file, sizeof(load.file), "%s/%s", load_dir(), name);
	return load.file;
}

/* A file of incompressible bytes, on the disk and out of the page cache when this returns. */
LOAD_FN void load_make_file(const char *path, size_t mib)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t *buf = malloc(1 << 20), x = 88172645463325252u;
	struct statvfs vfs;

	if (fd < 0 || !buf || fstatvfs(fd, &vfs))
		load_die("%s: %s", path, strerror(errno));
	if (vfs.f_bavail * vfs.f_frsize < (mib + 512) << 20)
		load_skip("not enough room on the disk");
	for (size_t i = 0; i < mib; i++) {
		for (size_t w = 0; w < (1 << 20) / sizeof(*buf); w++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			buf[w] = x;
		}
		if (write(fd, buf, 1 << 20) != 1 << 20)
			load_die("%s: %s", path, strerror(errno));
	}
	free(buf);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

LOAD_FN int load_put(const char *dir, const char *file, const char *value)
{
	char path[512];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Number after `key` in a cgroup or proc file; a NULL key: the first number. */
LOAD_FN long load_read_file(const char *path, const char *key)
{
	char line[512];
	long v = -1;
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		size_t n = key ? strlen(key) : 0;

		if (key && strncmp(line, key, n))
			continue;
		v = strtol(line + n, NULL, 10);
		break;
	}
	if (f)
		fclose(f);
	return v;
}

/*
 * Makes load.cgroup under the v1 mount of `controller`, else under v2; one a
 * program.  Returns 1 for v1, 2 for v2.
 */
LOAD_FN int load_cgroup(const char *controller, const char *v2_controller)
{
	char root[64], enable[32];

	snprintf(root, sizeof(root), "/sys/fs/cgroup/%s", controller);
	snprintf(load.cgroup, sizeof(load.cgroup), "%s/load-%d", root, (int)getpid());
	if (access(root, F_OK) == 0 && mkdir(load.cgroup, 0755) == 0)
		return 1;
	snprintf(enable, sizeof(enable), "+%s", v2_controller);
	load_put("/sys/fs/cgroup", "cgroup.subtree_control", enable);
	snprintf(load.cgroup, sizeof(load.cgroup), "/sys/fs/cgroup/load-%d", (int)getpid());
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 &&
	    mkdir(load.cgroup, 0755) == 0)
		return 2;
	load.cgroup[0] = 0;
	load_skip("no cgroup can be made for this controller (not root, or not mounted)");
}

LOAD_FN void load_cgroup_set(const char *file, const char *value)
{
	if (load_put(load.cgroup, file, value))
		load_skip("the cgroup does not take the limit");
}

/* Moves the calling process; a child calls this first thing. */
LOAD_FN void load_cgroup_enter(void)
{
	if (load_put(load.cgroup, "cgroup.procs", "0"))
		load_fail("cgroup.procs");
}

/* Whole disk under `path` as MAJOR:MINOR (a partition's limits are set on its disk). */
LOAD_FN void load_disk_of(const char *path, char *ret_dev, size_t size, char *ret_name)
{
	char link[96], real[256], *slash;
	unsigned maj, min;
	struct stat st;
	ssize_t n;

	if (stat(path, &st))
		load_die("%s: %s", path, strerror(errno));
	maj = major(st.st_dev);
	min = minor(st.st_dev);
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", maj, min);
	n = readlink(link, real, sizeof(real) - 1);
	if (n < 0)
		load_skip("the file system is not on a block device");
	real[n] = 0;
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u/partition", maj, min);
	slash = strrchr(real, '/');
	if (access(link, F_OK) == 0) {
		*slash = 0;
		slash = strrchr(real, '/');
		snprintf(link, sizeof(link), "/sys/block/%.60s/dev", slash + 1);
		FILE *f = fopen(link, "re");

		if (!f || fscanf(f, "%u:%u", &maj, &min) != 2)
			load_skip("the disk of the partition is not known");
		fclose(f);
	}
	snprintf(ret_dev, size, "%u:%u", maj, min);
	snprintf(ret_name, size, "%.30s", slash + 1);
}

#endif /* LOAD_SYS_H */
