/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a resource as reports show it. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "model/model_int.h"

static const char *comm_of(const struct model *m, uint32_t tgid)
{
	uint32_t at = model_proc_by_tgid(m, tgid);

	return at == NO_IDX || !m->priv->procs.items[at].comm[0] ? NULL
								  : m->priv->procs.items[at].comm;
}

static const char *addr_text(const struct res *r, const uint8_t *addr, char *out)
{
	if (!inet_ntop(r->family, addr, out, INET6_ADDRSTRLEN))
		return "?";
	return out;
}

static const char *label_socket(const struct res *r, struct arena *a)
{
	char addr[INET6_ADDRSTRLEN];
	const char *proto = r->sotype == SOCK_DGRAM ? "udp" : "tcp";
	const char *fmt = r->family == AF_INET6 ? "%s [%s]:%u" : "%s %s:%u";

	if (r->family == AF_UNIX)
		return arena_printf(a, "unix socket %llu", (unsigned long long)r->ino);
	if (r->family != AF_INET && r->family != AF_INET6)
		return r->ino ? arena_printf(a, "socket %llu", (unsigned long long)r->ino)
			      : "socket";
	if (r->role == ROLE_LISTEN || r->rport == 0)
		return arena_printf(a, "%s port %u", proto, r->lport);
	if (r->role == ROLE_SERVER)
		return arena_printf(a, fmt, "client", addr_text(r, r->raddr, addr), r->rport);
	return arena_printf(a, fmt, proto, addr_text(r, r->raddr, addr), r->rport);
}

static const char *label_numbered(const struct res *r, const char *what, struct arena *a)
{
	return r->ino ? arena_printf(a, "%s %llu", what, (unsigned long long)r->ino) : what;
}

static const char *label_owned(const struct model *m, const struct res *r, const char *what,
			       struct arena *a)
{
	const char *comm = comm_of(m, r->tgid);

	if (comm)
		return arena_printf(a, "%s of %s", what, comm);
	return r->tgid ? arena_printf(a, "%s of pid %u", what, r->tgid) : what;
}

static const char *label_futex(const struct model *m, const struct res *r, struct arena *a)
{
	const char *comm = comm_of(m, r->tgid);

	if (comm)
		return arena_printf(a, "futex 0x%llx of %s", (unsigned long long)r->ino, comm);
	return arena_printf(a, "futex 0x%llx", (unsigned long long)(r->ino ? r->ino : r->id));
}

/* kernel dev_t: 20 bits of minor */
static const char *label_dev(const struct res *r, const char *what, struct arena *a)
{
	return arena_printf(a, "%s %u:%u", what, r->dev >> 20, r->dev & 0xfffff);
}

const char *label_res(const struct model *m, const struct res *r, struct arena *a)
{
	switch (r->kind) {
	case RES_FUTEX:
		return label_futex(m, r, a);
	case RES_PIPE:
		return r->ino ? arena_printf(a, "pipe:[%llu]", (unsigned long long)r->ino)
			      : "pipe";
	case RES_SOCKET:
		return label_socket(r, a);
	case RES_EPOLL:
		return label_owned(m, r, "epoll", a);
	case RES_POLLSET:
		return label_owned(m, r, "poll set", a);
	case RES_FILE:
		return label_numbered(r, "file", a);
	case RES_CHARDEV:
		return label_dev(r, "device", a);
	case RES_DISK:
		return label_dev(r, "disk", a);
	case RES_EVENTFD:
		return label_owned(m, r, "event file", a);
	case RES_TIMER:
		return "timer";
	case RES_CHILD:
		return label_owned(m, r, "child", a);
	case RES_KLOCK:
		return arena_printf(a, "kernel lock 0x%llx",
				    (unsigned long long)(r->ino ? r->ino : r->id));
	case RES_MEMORY:
		return "memory";
	case RES_CPU:
		return "cpu";
	case RES_IOURING:
		return label_owned(m, r, "io_uring", a);
	case RES_SYSV:
		return label_numbered(r, "System V object", a);
	default:
		return arena_printf(a, "resource 0x%llx", (unsigned long long)r->id);
	}
}
