/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every name here was chosen by somebody else: a path, a comm, an abstract
 * socket.  They are bounded, cleaned of control characters and never used
 * to open anything.
 */
#include "collect/resources/resource_names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/proc/procfs.h"
#include "reads/reads.h"
#include "wire/wire.h"

#define DEV_CACHE_MAX 4096
#define SERVICE_MAX 8192
#define SERVICES_FILE_MAX (1024 * 1024)
#define KERNEL_MAJOR(dev) ((dev) >> 20)
#define KERNEL_MINOR(dev) ((dev) & 0xfffffu)

struct service {
	uint16_t port;
	bool udp;
	char name[24];
};

struct names {
	struct buf out;
	struct hmap dev_names; /* dev to id in strs */
	struct strtab strs;
	VEC(struct service) services;
	bool services_read;
};

struct names *names_new(void)
{
	return xcalloc(1, sizeof(struct names));
}

void names_free(struct names *n)
{
	if (!n)
		return;
	buf_release(&n->out);
	hmap_release(&n->dev_names);
	strtab_release(&n->strs);
	vec_release(&n->services);
	free(n);
}

/* Becomes the answer of the running call. */
static const char *answer(struct names *n, const char *text, size_t len)
{
	buf_clear(&n->out);
	for (size_t i = 0; i < len && text[i]; i++) {
		unsigned char c = (unsigned char)text[i];
		buf_addch(&n->out, c < 0x20 || c == 0x7f ? '?' : (char)c);
	}
	return buf_str(&n->out);
}

const char *names_clean(struct names *n, const char *text)
{
	return answer(n, text, PATH_MAX);
}

/* Link text of the descriptor if it still is this inode; false otherwise. */
static bool fd_link(const struct wire_res *w, char *out, size_t cap)
{
	uint64_t ino;

	if (w->fd < 0 || !w->tgid || procfs_fd(w->tgid, w->fd, out, cap, &ino) < 0)
		return false;
	/* the device is not compared: overlayfs and btrfs show another than the superblock has */
	return w->ino == 0 || ino == w->ino;
}

/*
 * Line "start-end perms offset major:minor inode   path": the path, when
 * device and inode are those wanted; NULL otherwise.
 */
static const char *maps_path(const char *line, uint32_t dev, uint64_t ino)
{
	char perms[8];
	unsigned long start, end, off, inode;
	unsigned major, minor;
	int used = 0;

	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &start, &end, perms, &off, &major, &minor,
		   &inode, &used) != 7 || !used)
		return NULL;
	if (inode != ino || major != KERNEL_MAJOR(dev) || minor != KERNEL_MINOR(dev))
		return NULL;
	return line + used;
}

static const char *mapped_file(struct names *n, const struct wire_res *w)
{
	CLEANUP(buf_release) struct buf b = {0};

	if (!w->tgid || !w->ino || reads_maps(w->tgid, w->tgid, true, &b) <= 0)
		return NULL;
	for (const char *line = buf_str(&b); line && *line;) {
		const char *found = maps_path(line, w->dev, w->ino);
		size_t len = found ? strcspn(found, "\n") : 0;

		if (len)
			return answer(n, found, len);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return NULL;
}

/* The file among the process's descriptors: block I/O knows the inode, not the number. */
static const char *opened_file(struct names *n, const struct wire_res *w)
{
	char link[PATH_MAX];

	if (!w->tgid || !w->ino || reads_opened(w->tgid, w->ino, link, sizeof(link)) < 0)
		return NULL;
	return names_clean(n, link);
}

static const char *file_name(struct names *n, const struct wire_res *w)
{
	char link[PATH_MAX];

	if (fd_link(w, link, sizeof(link)))
		return names_clean(n, link);
	const char *mapped = w->fd < 0 ? mapped_file(n, w) : NULL;
	if (!mapped && w->fd < 0)
		mapped = opened_file(n, w);
	return mapped ? mapped : answer(n, w->name, sizeof(w->name));
}

/* "anon_inode:[eventpoll]" becomes "eventpoll"; "anon_inode:bpf-map" "bpf-map". */
static const char *anon_name(struct names *n, const struct wire_res *w)
{
	char link[PATH_MAX];
	const char *text = w->name;
	size_t len = strnlen(w->name, sizeof(w->name));

	if (fd_link(w, link, sizeof(link))) {
		text = link;
		len = strlen(link);
	}
	if (len > 11 && strncmp(text, "anon_inode:", 11) == 0) {
		text += 11;
		len -= 11;
	}
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	return answer(n, text, len);
}

static const char *pipe_name(struct names *n, const struct wire_res *w)
{
	char link[PATH_MAX];

	if (fd_link(w, link, sizeof(link)) && strncmp(link, "pipe:[", 6) != 0)
		return names_clean(n, link);
	return w->name[0] ? answer(n, w->name, sizeof(w->name)) : names_clean(n, "pipe");
}

static bool is_any(unsigned family, const uint8_t *addr)
{
	static const uint8_t any[16];

	return memcmp(addr, any, family == AF_INET ? 4 : 16) == 0;
}

static const char *socket_name(struct names *n, const struct wire_res *w)
{
	char text[NAMES_ADDR_LEN];

	if (w->family == AF_UNIX) {
		if (w->name[0])
			return answer(n, w->name, sizeof(w->name));
		return names_clean(n, w->role == ROLE_PAIR ? "unix socket pair" : "unix socket");
	}
	if (w->family == AF_INET || w->family == AF_INET6) {
		bool remote = w->rport && w->role != ROLE_SERVER && w->role != ROLE_LISTEN;

		/* whom it talks to is not known, and it is no address to be found at */
		if (!remote && w->role != ROLE_LISTEN && is_any(w->family, w->laddr)) {
			snprintf(text, sizeof(text), "%s port %u",
				 w->sotype == SOCK_DGRAM ? "udp" : "tcp", w->lport);
			return names_clean(n, text);
		}
		return names_clean(n, names_addr(text, w->family, remote ? w->raddr : w->laddr,
						remote ? w->rport : w->lport));
	}
	return names_clean(n, w->family == AF_NETLINK ? "netlink socket" : "socket");
}

const char *names_res(struct names *n, const struct wire_res *w)
{
	switch (w->kind) {
	case RES_FILE:
	case RES_CHARDEV:
		return file_name(n, w);
	case RES_PIPE:
		return pipe_name(n, w);
	case RES_SOCKET:
		return socket_name(n, w);
	case RES_EPOLL:
	case RES_EVENTFD:
	case RES_IOURING:
		return anon_name(n, w);
	case RES_DISK:
		return names_clean(n, names_dev(n, w->dev));
	default:
		return answer(n, w->name, sizeof(w->name));
	}
}

const char *names_dev(struct names *n, uint32_t dev)
{
	char path[64], link[PATH_MAX], plain[32];
	uint64_t id;

	if (hmap_get(&n->dev_names, dev, &id))
		return strtab_str(&n->strs, (uint32_t)id);
	snprintf(plain, sizeof(plain), "%u:%u", KERNEL_MAJOR(dev), KERNEL_MINOR(dev));
	snprintf(path, sizeof(path), "/sys/dev/block/%s", plain);
	ssize_t len = readlink(path, link, sizeof(link) - 1);
	const char *name = plain;
	if (len > 0) {
		link[len] = '\0';
		name = file_base_name(link);
	}
	if (n->dev_names.cnt >= DEV_CACHE_MAX) {
		hmap_clear(&n->dev_names);
		strtab_release(&n->strs);
		n->strs = (struct strtab){0};
	}
	uint32_t str = strtab_add(&n->strs, name);
	hmap_put(&n->dev_names, dev, str);
	return strtab_str(&n->strs, str);
}

int names_parse_service(const char *line, char *ret_name, size_t name_len, uint16_t *ret_port,
			char *ret_proto, size_t proto_len)
{
	size_t len = strcspn(line, " \t\n#");
	const char *port = line + len;
	const char *end;
	uint64_t value;

	port += strspn(port, " \t");
	if (len == 0 || procfs_parse_u64(port, UINT16_MAX, &value, &end) < 0 || *end != '/')
		return 0;
	size_t plen = strcspn(++end, " \t\n#");
	if (!value || !plen || len >= name_len || plen >= proto_len)
		return 0;
	snprintf(ret_name, name_len, "%.*s", (int)len, line);
	snprintf(ret_proto, proto_len, "%.*s", (int)plen, end);
	*ret_port = (uint16_t)value;
	return 1;
}

static void services_read(struct names *n)
{
	CLEANUP(buf_release) struct buf b = {0};

	n->services_read = true;
	if (file_read("/etc/services", SERVICES_FILE_MAX, &b, NULL) < 0)
		return; /* minimal systems have none: ports stay numbers */
	for (const char *line = buf_str(&b); line && *line && n->services.cnt < SERVICE_MAX;) {
		struct service s = {0};
		char proto[8];
		if (names_parse_service(line, s.name, sizeof(s.name), &s.port, proto,
					sizeof(proto))) {
			s.udp = strcmp(proto, "udp") == 0;
			if (s.udp || strcmp(proto, "tcp") == 0)
				vec_push(&n->services, s);
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
}

const char *names_service(struct names *n, uint16_t port, const char *proto)
{
	bool udp = strcmp(proto, "udp") == 0;

	if (!n->services_read)
		services_read(n);
	VEC_FOREACH(&n->services, s) {
		if (s->port == port && s->udp == udp)
			return names_clean(n, s->name);
	}
	return "";
}

const char *names_exe(struct names *n, uint32_t tgid)
{
	char exe[PATH_MAX];

	return names_clean(n, procfs_exe(tgid, exe, sizeof(exe)));
}

const char *names_comm(struct names *n, uint32_t tid)
{
	char comm[PROCFS_COMM_LEN];

	procfs_comm(tid, comm);
	return names_clean(n, comm);
}

char *names_addr(char out[NAMES_ADDR_LEN], uint16_t family, const uint8_t *addr, uint16_t port)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN] = "?";

	if (family == AF_INET6 && memcmp(addr, mapped, sizeof(mapped)) == 0) {
		family = AF_INET;
		addr += sizeof(mapped);
	}
	if (family != AF_INET && family != AF_INET6) {
		snprintf(out, NAMES_ADDR_LEN, "?");
		return out;
	}
	inet_ntop(family, addr, text, sizeof(text));
	snprintf(out, NAMES_ADDR_LEN, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
	return out;
}
