/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/proc/cgroup_mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"

#define MOUNTINFO_MAX (4 * 1024 * 1024)
#define OPTION_MAX 256

/* Field nr (from 0) of a line of blank-separated fields; "" past the end. */
static const char *field(const char *line, unsigned nr, size_t *ret_len)
{
	for (; nr && *line && *line != '\n'; nr--) {
		line += strcspn(line, " \n");
		while (*line == ' ')
			line++;
	}
	*ret_len = strcspn(line, " \n");
	return line;
}

static bool is_octal(const char *p)
{
	return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' &&
	       p[2] <= '7';
}

/* mountinfo writes blanks as \040 */
static char *unescape(const char *text, size_t len)
{
	char *out = xmalloc(len + 1);
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 3 < len && is_octal(text + i + 1)) {
			out[used++] = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
					     (text[i + 3] - '0'));
			i += 3;
		} else {
			out[used++] = text[i];
		}
	}
	out[used] = '\0';
	return out;
}

static void add_mount(struct cgroup_mounts *m, const char *line, const char *tail)
{
	size_t dir_len, root_len, type_len, opt_len;
	const char *root = field(line, 3, &root_len);
	const char *dir = field(line, 4, &dir_len);
	const char *type = field(tail, 0, &type_len);
	const char *opts = field(tail, 2, &opt_len);
	bool v2 = type_len == 7 && memcmp(type, "cgroup2", 7) == 0;

	if (!v2 && !(type_len == 6 && memcmp(type, "cgroup", 6) == 0))
		return;
	if (m->cnt == CGROUP_MOUNT_MAX || !dir_len || opt_len > OPTION_MAX)
		return;
	struct cgroup_mount *item = &m->items[m->cnt++];
	item->dir = unescape(dir, dir_len);
	item->root = unescape(root, root_len);
	item->controllers = v2 ? xstrdup("") : xasprintf(",%.*s,", (int)opt_len, opts);
}

void cgroup_mounts_parse(struct cgroup_mounts *m, const char *text)
{
	for (const char *line = text; line && *line;) {
		const char *end = strchr(line, '\n');
		const char *dash = strstr(line, " - ");
		if (dash && (!end || dash < end))
			add_mount(m, line, dash + 3);
		line = end ? end + 1 : NULL;
	}
}

void cgroup_mounts_read(struct cgroup_mounts *m)
{
	CLEANUP(buf_release) struct buf b = {0};

	file_read("/proc/self/mountinfo", MOUNTINFO_MAX, &b, NULL);
	cgroup_mounts_parse(m, buf_str(&b));
}

void cgroup_mounts_release(struct cgroup_mounts *m)
{
	for (size_t i = 0; i < m->cnt; i++) {
		free(m->items[i].dir);
		free(m->items[i].root);
		free(m->items[i].controllers);
	}
	*m = (struct cgroup_mounts){0};
}

const struct cgroup_mount *cgroup_mounts_find(const struct cgroup_mounts *m, const char *controller)
{
	char word[64];

	if (controller)
		snprintf(word, sizeof(word), ",%s,", controller);
	for (size_t i = 0; i < m->cnt; i++) {
		const struct cgroup_mount *item = &m->items[i];
		if (controller ? strstr(item->controllers, word) != NULL : !item->controllers[0])
			return item;
	}
	return NULL;
}

int cgroup_mount_dir(const struct cgroup_mount *m, const char *path, char *out, size_t out_len)
{
	size_t root_len = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);

	if (root_len) {
		if (strncmp(path, m->root, root_len) != 0 ||
		    (path[root_len] != '/' && path[root_len] != '\0'))
			return -ENOENT;
		path += root_len;
	}
	if (strcmp(path, "/") == 0)
		path = "";
	int len = snprintf(out, out_len, "%s%s", m->dir, path);
	return len < 0 || (size_t)len >= out_len ? -ENOENT : 0;
}
