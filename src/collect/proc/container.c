/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/proc/container.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"

enum { ID_LEN = 64, ID_SHOWN = 12, ID_PREFIX_MIN = 4, PART_MAX = 256 };

static void copy(char *dst, size_t size, const char *text, size_t len)
{
	if (len >= size)
		len = size - 1;
	memcpy(dst, text, len);
	dst[len] = '\0';
}

#define COPY(dst, text, len) copy(dst, sizeof(dst), text, len)

static bool is_id(const char *s, size_t len)
{
	if (len != ID_LEN)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)s[i]) && (s[i] < 'a' || s[i] > 'f'))
			return false;
	return true;
}

/* systemd writes a '-' within a name as \x2d. */
static size_t unescape(char *s, size_t len)
{
	size_t to = 0;

	for (size_t i = 0; i < len; i++) {
		if (len - i >= 4 && memcmp(s + i, "\\x2d", 4) == 0) {
			s[to++] = '-';
			i += 3;
		} else {
			s[to++] = s[i];
		}
	}
	s[to] = '\0';
	return to;
}

static bool take_prefixed(const char *part, size_t len, const char *prefix, struct container *c)
{
	size_t skip = strlen(prefix);

	if (len <= skip || memcmp(part, prefix, skip) != 0)
		return false;
	COPY(c->name, part + skip, len - skip);
	COPY(c->id, part + skip, len - skip);
	return true;
}

/* "RUNTIME-ID.scope", "ID", "lxc.payload.NAME", "machine-NAME.scope" */
static bool take_container(char *part, size_t len, const char *parent, size_t parent_len,
			   struct container *c)
{
	static const char scope[] = ".scope";
	const char *id = len > ID_LEN ? part + len - ID_LEN : part;
	bool scoped = len > sizeof(scope) &&
		      memcmp(part + len - sizeof(scope) + 1, scope, sizeof(scope) - 1) == 0;

	if (take_prefixed(part, len, "lxc.payload.", c)) {
		COPY(c->runtime, "lxc", 3);
		return true;
	}
	if (scoped) {
		len = unescape(part, len - sizeof(scope) + 1);
		id = len > ID_LEN ? part + len - ID_LEN : part;
		if (take_prefixed(part, len, "machine-", c)) {
			COPY(c->runtime, "nspawn", 6);
			return true;
		}
	}
	if (!is_id(id, (size_t)(part + len - id)) || (id > part && id[-1] != '-'))
		return false;
	COPY(c->id, id, ID_LEN);
	c->name[0] = '\0';
	if (id > part)
		COPY(c->runtime, part, (size_t)(id - part) - 1);
	else
		COPY(c->runtime, parent, strncmp(parent, "docker", parent_len) == 0 ? 6 : 0);
	return true;
}

/* "podUID", "kubepods-burstable-podUID.slice" with '_' for '-' */
static bool take_pod(const char *part, size_t len, struct container *c)
{
	static const char slice[] = ".slice";
	const char *at = part;

	if (len > sizeof(slice) && memcmp(part + len - sizeof(slice) + 1, slice,
					  sizeof(slice) - 1) == 0) {
		len -= sizeof(slice) - 1;
		for (const char *p = part; p + 4 < part + len; p++)
			if (memcmp(p, "-pod", 4) == 0)
				at = p + 1;
	}
	len -= (size_t)(at - part);
	if (len < 35 || len > 39 || memcmp(at, "pod", 3) != 0)
		return false;
	for (size_t i = 3; i < len; i++)
		if (!isxdigit((unsigned char)at[i]) && at[i] != '-' && at[i] != '_')
			return false;
	COPY(c->pod_uid, at + 3, len - 3);
	for (char *p = c->pod_uid; *p; p++)
		*p = *p == '_' ? '-' : *p;
	return true;
}

bool container_of_path(const char *cgroup, struct container *ret)
{
	const char *parent = "";
	size_t parent_len = 0;
	struct container c = {0};
	bool found = false;

	for (const char *at = cgroup; *at;) {
		size_t len = strcspn(at, "/");
		char part[PART_MAX];

		if (len && len < sizeof(part)) {
			copy(part, sizeof(part), at, len);
			/* the innermost wins: a container may run others */
			found |= take_pod(part, len, &c);
			found |= take_container(part, len, parent, parent_len, &c);
		}
		if (len) {
			parent = at;
			parent_len = len;
		}
		at += len + (at[len] == '/');
	}
	if (found)
		*ret = c;
	return found;
}

/* The text after "key": in JSON, where it is a plain name; false for anything else. */
static bool value_of(const char *text, const char *key, char *dst, size_t size)
{
	char quoted[64];
	const char *at;
	size_t len;

	snprintf(quoted, sizeof(quoted), "\"%s\"", key);
	at = strstr(text, quoted);
	if (!at)
		return false;
	at += strlen(quoted);
	at += strspn(at, " \t\r\n");
	if (*at++ != ':')
		return false;
	at += strspn(at, " \t\r\n");
	if (*at++ != '"')
		return false;
	at += *at == '/'; /* as Docker begins them */
	len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	if (at[len] != '"' || !len || len >= size)
		return false;
	copy(dst, size, at, len);
	return true;
}

/* Files and keys in which runtimes keep what they know of a container; %s: its id. */
static const struct {
	const char *path, *name, *pod, *pod_namespace;
} files[] = {
	{"/var/lib/docker/containers/%s/config.v2.json", "Name", "io.kubernetes.pod.name",
	 "io.kubernetes.pod.namespace"},
	{"/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json",
	 "io.kubernetes.cri.container-name", "io.kubernetes.cri.sandbox-name",
	 "io.kubernetes.cri.sandbox-namespace"},
	{"/run/containers/storage/overlay-containers/%s/userdata/config.json",
	 "io.kubernetes.container.name", "io.kubernetes.pod.name", "io.kubernetes.pod.namespace"},
};

void container_names(struct container *c, const char *root)
{
	if (!is_id(c->id, strlen(c->id)))
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		CLEANUP(buf_release) struct buf text = {0}, path = {0};

		buf_adds(&path, root);
		buf_adds(&path, files[i].path);
		buf_truncate(&path, path.len - strlen(strstr(files[i].path, "%s")));
		buf_adds(&path, c->id);
		buf_adds(&path, strstr(files[i].path, "%s") + 2);
		if (file_read(buf_str(&path), CONTAINER_FILE_MAX, &text, NULL) < 0)
			continue;
		value_of(buf_str(&text), files[i].name, c->name, sizeof(c->name));
		value_of(buf_str(&text), files[i].pod, c->pod, sizeof(c->pod));
		value_of(buf_str(&text), files[i].pod_namespace, c->pod_namespace,
			 sizeof(c->pod_namespace));
		return;
	}
}

bool container_is(const struct container *c, const char *want)
{
	size_t len = strlen(want), space = strlen(c->pod_namespace);

	if (!len)
		return false;
	if (strcmp(c->name, want) == 0 || strcmp(c->id, want) == 0 || strcmp(c->pod, want) == 0 ||
	    strcmp(c->pod_uid, want) == 0)
		return true;
	if (len >= ID_PREFIX_MIN && is_id(c->id, strlen(c->id)) && strncmp(c->id, want, len) == 0)
		return true;
	return *c->pod && strncmp(want, c->pod_namespace, space) == 0 && want[space] == '/' &&
	       strcmp(want + space + 1, c->pod) == 0;
}

void container_describe(const struct container *c, struct buf *out)
{
	const char *gap = "";

	if (*c->id) {
		buf_printf(out, "%s%scontainer", c->runtime, *c->runtime ? " " : "");
		if (*c->name)
			buf_printf(out, " %s", c->name);
		if (strcmp(c->name, c->id) != 0)
			buf_printf(out, *c->name ? " (%.*s)" : " %.*s", ID_SHOWN, c->id);
		gap = ", ";
	}
	if (*c->pod)
		buf_printf(out, "%spod %s%s%s", gap, c->pod_namespace, *c->pod_namespace ? "/" : "",
			   c->pod);
	else if (*c->pod_uid)
		buf_printf(out, "%spod %s", gap, c->pod_uid);
}
