/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/packages.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "symbols/files/inroot.h"

#define LISTS "/var/lib/dpkg/info"

struct finding {
	const char *const *paths;
	const char **names;
	struct arena *a;
	struct hmap wanted; /* hash of a path to its index + 1 */
	char *text;	    /* PACKAGES_LIST_MAX bytes */
	size_t total, left;
};

/* A file of /usr/lib may be in the list as of /lib, from before these were one. */
static const char *without_usr(const char *path)
{
	return strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
}

static void take_line(struct finding *f, const char *line, size_t len, const char *package)
{
	uint64_t idx;

	if (len > 5 && memcmp(line, "/usr/", 5) == 0) {
		line += 4;
		len -= 4;
	}
	if (!hmap_get(&f->wanted, hash_bytes(line, len), &idx))
		return;
	const char *path = without_usr(f->paths[idx - 1]);
	if (strlen(path) != len || memcmp(path, line, len) != 0 || *f->names[idx - 1])
		return;
	f->names[idx - 1] = arena_strndup(f->a, package, strcspn(package, ":"));
	f->left--;
}

/*
 * dpkg's grammar of names: two or more of a-z 0-9 + - . that begin with a letter
 * or digit.  Whoever owns the root chose the file's name, and a person may paste
 * into a shell what is made of it.
 */
static bool is_package(const char *name, size_t len)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz0123456789+-.";

	return len >= 2 && len < PACKAGES_NAME_MAX && strspn(name, chars) >= len &&
	       !strchr("+-.", name[0]);
}

/* name: "libc6:amd64.list" */
static void take_list(struct finding *f, int dir_fd, const char *name)
{
	CLEANUP_CLOSE int fd = inroot_open_below(dir_fd, name);
	char package[NAME_MAX + 1];
	ssize_t got;
	size_t len = 0;

	if (fd < 0)
		return;
	while (len < PACKAGES_LIST_MAX &&
	       (got = read(fd, f->text + len, PACKAGES_LIST_MAX - len)) > 0)
		len += (size_t)got;
	f->total += len;
	snprintf(package, sizeof(package), "%.*s", (int)(strlen(name) - strlen(".list")), name);
	for (size_t at = 0; at < len;) {
		const char *nl = memchr(f->text + at, '\n', len - at);
		size_t line_len = nl ? (size_t)(nl - f->text) - at : len - at;

		take_line(f, f->text + at, line_len, package);
		at += line_len + 1;
	}
}

int packages_find(const char *root, const char *const *paths, size_t cnt, struct arena *a,
		  const char ***ret_names)
{
	struct finding f = {.paths = paths, .a = a, .left = cnt};
	int dir_fd = inroot_open_dir(root, LISTS);
	CLEANUP_CLOSEDIR DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
	struct dirent *e;
	size_t lists = 0;

	if (!dir)
		return -ENOENT;
	f.names = (const char **)arena_alloc_array(a, cnt + 1, sizeof(*f.names));
	for (size_t i = 0; i < cnt; i++) {
		const char *path = without_usr(paths[i]);

		f.names[i] = "";
		hmap_put(&f.wanted, hash_bytes(path, strlen(path)), i + 1);
	}
	f.text = xmalloc(PACKAGES_LIST_MAX);
	while (f.left && f.total < PACKAGES_TOTAL_MAX && lists < PACKAGES_CNT_MAX &&
	       (e = readdir(dir))) {
		const char *dot = strrchr(e->d_name, '.');
		const char *end = dot ? e->d_name + strcspn(e->d_name, ":") : NULL;

		if (dot && strcmp(dot, ".list") == 0 &&
		    is_package(e->d_name, (size_t)((end < dot ? end : dot) - e->d_name))) {
			take_list(&f, dirfd(dir), e->d_name);
			lists++;
		}
	}
	free(f.text);
	hmap_release(&f.wanted);
	*ret_names = f.names;
	return 0;
}

const char *packages_debug(const char *package, struct arena *a)
{
	static const struct {
		const char *start, *debug;
	} own[] = { /* from before dbgsym packages were made by themselves */
		{"libc6", "libc6-dbg"},
	};
	const char *end;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (strcmp(package, own[i].start) == 0)
			return own[i].debug;
	}
	/* openjdk-17-jre-headless and its sisters have theirs in openjdk-17-dbg */
	if (strncmp(package, "openjdk-", 8) == 0 && (end = strchr(package + 8, '-')))
		return arena_printf(a, "%.*s-dbg", (int)(end - package), package);
	return arena_printf(a, "%s-dbgsym", package);
}
