/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/live/bpf_links.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "collect/live/hooks.h"
#include "collect/proc/procfs.h"

#define FDINFO_MAX 4096

/* libbpf names the maps of global data after the object, cut to eight characters. */
#define DATA_MAP_PREFIX "heldup_b."

static bool is_ours(const char *name)
{
	return strncmp(name, HOOKS_PREFIX, strlen(HOOKS_PREFIX)) == 0 ||
	       strncmp(name, DATA_MAP_PREFIX, strlen(DATA_MAP_PREFIX)) == 0;
}

static int read_progs(struct attached *a)
{
	for (uint32_t id = 0;;) {
		if (bpf_prog_get_next_id(id, &id) < 0)
			return errno == ENOENT ? 0 : -errno;
		CLEANUP_CLOSE int fd = bpf_prog_get_fd_by_id(id);
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);
		if (fd < 0) {
			if (errno == ENOENT)
				continue; /* gone between the two calls */
			return -errno;
		}
		if (bpf_obj_get_info_by_fd(fd, &info, &len) < 0 || !is_ours(info.name))
			continue;
		if (a->prog_cnt < ATTACHED_MAX) {
			struct attached_prog *p = &a->progs[a->prog_cnt];
			p->id = id;
			snprintf(p->name, sizeof(p->name), "%s", info.name);
		}
		a->prog_cnt++;
	}
}

static size_t listed(const struct attached *a)
{
	return a->prog_cnt < ATTACHED_MAX ? a->prog_cnt : ATTACHED_MAX;
}

static struct attached_prog *prog_by_id(struct attached *a, uint32_t id)
{
	for (size_t i = 0; i < listed(a); i++) {
		if (a->progs[i].id == id)
			return &a->progs[i];
	}
	return NULL;
}

/* Kernels before 5.8 have no ids for links: the count stays 0. */
static void read_links(struct attached *a)
{
	for (uint32_t id = 0; bpf_link_get_next_id(id, &id) == 0;) {
		CLEANUP_CLOSE int fd = bpf_link_get_fd_by_id(id);
		struct bpf_link_info info = {0};
		uint32_t len = sizeof(info);
		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) < 0)
			continue;
		if (prog_by_id(a, info.prog_id))
			a->link_cnt++;
	}
}

static void read_maps(struct attached *a)
{
	for (uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) {
		CLEANUP_CLOSE int fd = bpf_map_get_fd_by_id(id);
		struct bpf_map_info info = {0};
		uint32_t len = sizeof(info);
		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) < 0)
			continue;
		if (is_ours(info.name))
			a->map_cnt++;
	}
}

uint32_t attached_parse_fdinfo(const char *text)
{
	const char *p = strstr(text, "prog_id:");
	uint64_t id = 0;

	if (!p)
		return 0;
	p += strlen("prog_id:");
	p += strspn(p, " \t");
	return procfs_parse_u64(p, UINT32_MAX, &id, NULL) == 0 ? (uint32_t)id : 0;
}

static int find_held(void *ctx, uint32_t pid)
{
	struct attached *a = ctx;
	char path[128], link[64];

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	CLEANUP_CLOSEDIR DIR *dir = opendir(path);
	if (!dir)
		return 0;
	for (struct dirent *ent; (ent = readdir(dir));) {
		uint64_t fd;
		if (procfs_parse_u64(ent->d_name, INT32_MAX, &fd, NULL) < 0)
			continue;
		ssize_t len = readlinkat(dirfd(dir), ent->d_name, link, sizeof(link) - 1);
		if (len <= 0)
			continue;
		link[len] = '\0';
		if (strncmp(link, "anon_inode:bpf", 14) != 0 &&
		    strncmp(link, "anon_inode:[bpf", 15) != 0)
			continue;
		CLEANUP(buf_release) struct buf b = {0};
		snprintf(path, sizeof(path), "/proc/%u/fdinfo/%llu", pid, (unsigned long long)fd);
		file_read(path, FDINFO_MAX, &b, NULL);
		struct attached_prog *prog = prog_by_id(a, attached_parse_fdinfo(buf_str(&b)));
		if (prog && !prog->pid) {
			prog->pid = pid;
			procfs_comm(pid, prog->comm);
		}
	}
	return 0;
}

int attached_read(struct attached *ret)
{
	*ret = (struct attached){0};
	int err = read_progs(ret);
	if (err)
		return err;
	read_maps(ret);
	if (ret->prog_cnt) {
		read_links(ret);
		procfs_each_id(0, find_held, ret);
	}
	return 0;
}

size_t attached_held_by(const struct attached *list, uint32_t pid)
{
	size_t cnt = 0;

	for (size_t i = 0; i < listed(list); i++)
		cnt += list->progs[i].pid == pid;
	return cnt;
}

bool attached_prog_exists(uint32_t id)
{
	CLEANUP_CLOSE int fd = bpf_prog_get_fd_by_id(id);

	return fd >= 0 || errno != ENOENT;
}
