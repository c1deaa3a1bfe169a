/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/resources/netlink_diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "collect/proc/procfs.h"
#include "reads/ops.h"
#include "reads/reads.h"

#define RECV_BUF_BYTES (32 * 1024) /* the kernel makes no larger piece of a dump */

int diag_open(uint32_t tgid)
{
	if (!tgid || procfs_ns(tgid, "net") == procfs_ns((uint32_t)getpid(), "net"))
		return open_diag_here();
	return reads_open_diag(tgid);
}

/*
 * Less than a segment lies there unsent though there is room for it, and
 * something is on its way: Nagle's algorithm keeps it back until the other end
 * has acknowledged that.
 */
static bool is_held_back(const struct tcp_info *t)
{
	return t->tcpi_notsent_bytes && t->tcpi_notsent_bytes < t->tcpi_snd_mss &&
	       t->tcpi_unacked && t->tcpi_unacked < t->tcpi_snd_cwnd;
}

static void take_tcp_info(struct diag_sock *s, const void *data, size_t len)
{
	struct tcp_info info = {0};

	memcpy(&info, data, len < sizeof(info) ? len : sizeof(info));
	s->has_info = true;
	s->sent_ago_ms = info.tcpi_last_data_sent;
	s->recv_ago_ms = info.tcpi_last_data_recv;
	s->received_bytes = info.tcpi_bytes_received;
	s->acked_bytes = info.tcpi_bytes_acked;
	s->sent_segs = info.tcpi_data_segs_out;
	s->held_back = is_held_back(&info);
}

static bool inet_sock(const struct nlmsghdr *nlh, struct diag_sock *s)
{
	const struct inet_diag_msg *msg = NLMSG_DATA(nlh);

	if (nlh->nlmsg_len < NLMSG_LENGTH(sizeof(*msg)))
		return false;
	*s = (struct diag_sock){.family = msg->idiag_family,
				.state = msg->idiag_state,
				.lport = ntohs(msg->id.idiag_sport),
				.rport = ntohs(msg->id.idiag_dport),
				.ino = msg->idiag_inode,
				.rqueue = msg->idiag_rqueue,
				.wqueue = msg->idiag_wqueue};
	memcpy(s->laddr, msg->id.idiag_src, sizeof(s->laddr));
	memcpy(s->raddr, msg->id.idiag_dst, sizeof(s->raddr));
	int left = (int)(nlh->nlmsg_len - NLMSG_LENGTH(sizeof(*msg)));
	for (const struct rtattr *a = (const void *)(msg + 1); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		if (a->rta_type == INET_DIAG_INFO)
			take_tcp_info(s, RTA_DATA(a), RTA_PAYLOAD(a));
	}
	return true;
}

static void take_path(struct diag_sock *s, const char *data, size_t len)
{
	if (len > DIAG_PATH_LEN)
		len = DIAG_PATH_LEN;
	for (size_t i = 0; i < len; i++) /* abstract names begin with, and may hold, NULs */
		s->path[i] = data[i] ? data[i] : '@';
	if (len && data[0]) /* a path ends at its first NUL */
		s->path[strnlen(data, len)] = '\0';
}

static bool unix_sock(const struct nlmsghdr *nlh, struct diag_sock *s)
{
	const struct unix_diag_msg *msg = NLMSG_DATA(nlh);

	if (nlh->nlmsg_len < NLMSG_LENGTH(sizeof(*msg)))
		return false;
	*s = (struct diag_sock){.family = AF_UNIX,
				.state = msg->udiag_state,
				.type = msg->udiag_type,
				.ino = msg->udiag_ino};
	int left = (int)(nlh->nlmsg_len - NLMSG_LENGTH(sizeof(*msg)));
	for (const struct rtattr *a = (const void *)(msg + 1); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		size_t len = RTA_PAYLOAD(a);
		if (a->rta_type == UNIX_DIAG_NAME)
			take_path(s, RTA_DATA(a), len);
		else if (a->rta_type == UNIX_DIAG_PEER && len >= sizeof(s->peer_ino))
			memcpy(&s->peer_ino, RTA_DATA(a), sizeof(s->peer_ino));
		else if (a->rta_type == UNIX_DIAG_RQLEN && len >= sizeof(struct unix_diag_rqlen)) {
			struct unix_diag_rqlen queue;
			memcpy(&queue, RTA_DATA(a), sizeof(queue));
			s->rqueue = queue.udiag_rqueue;
			s->wqueue = queue.udiag_wqueue;
		}
	}
	return true;
}

/* 1: the dump is over; 0: more to come; <0 failed; fn's own non-zero is passed on. */
static int handle_batch(const uint8_t *data, size_t len, bool is_unix, diag_fn fn, void *ctx)
{
	const struct nlmsghdr *nlh;

	for (size_t off = 0; off + sizeof(*nlh) <= len; off += NLMSG_ALIGN(nlh->nlmsg_len)) {
		struct diag_sock sock;
		nlh = (const void *)(data + off);
		if (nlh->nlmsg_len < sizeof(*nlh) || nlh->nlmsg_len > len - off)
			return -EPROTO;
		if (nlh->nlmsg_type == NLMSG_DONE)
			return 1;
		if (nlh->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *msg = NLMSG_DATA(nlh);
			if (nlh->nlmsg_len < NLMSG_LENGTH(sizeof(*msg)))
				return -EPROTO;
			return msg->error ? msg->error : 1;
		}
		if (!(is_unix ? unix_sock(nlh, &sock) : inet_sock(nlh, &sock)))
			return -EPROTO;
		int ret = fn(ctx, &sock);
		if (ret)
			return ret;
		if (!(nlh->nlmsg_flags & NLM_F_MULTI))
			return 1;
	}
	return 0;
}

static int receive(int fd, bool is_unix, diag_fn fn, void *ctx)
{
	CLEANUP_FREE void *data = xmalloc(RECV_BUF_BYTES);

	for (;;) {
		ssize_t len = recv(fd, data, RECV_BUF_BYTES, 0);
		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return len < 0 ? -errno : -EPROTO;
		int ret = handle_batch(data, (size_t)len, is_unix, fn, ctx);
		if (ret)
			return ret == 1 ? 0 : ret;
	}
}

static int request(int fd, const void *body, size_t len, bool dump)
{
	struct {
		struct nlmsghdr nlh;
		uint8_t body[128];
	} msg = {0};

	msg.nlh.nlmsg_len = (uint32_t)NLMSG_LENGTH(len);
	msg.nlh.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	msg.nlh.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | (dump ? NLM_F_DUMP : 0));
	memcpy(msg.body, body, len);
	return send(fd, &msg, msg.nlh.nlmsg_len, 0) < 0 ? -errno : 0;
}

/* A dump stopped half-way leaves answers behind: they are read to the end. */
struct stop_guard {
	diag_fn fn;
	void *ctx;
	int stopped;
};

static int until_stopped(void *ctx, const struct diag_sock *sock)
{
	struct stop_guard *guard = ctx;

	if (!guard->stopped)
		guard->stopped = guard->fn(guard->ctx, sock);
	return 0;
}

static int dump(int fd, const void *body, size_t len, bool is_unix, diag_fn fn, void *ctx)
{
	struct stop_guard guard = {.fn = fn, .ctx = ctx};
	int ret = request(fd, body, len, true);

	if (ret == 0)
		ret = receive(fd, is_unix, until_stopped, &guard);
	return ret ? ret : guard.stopped;
}

int diag_inet(int fd, const struct diag_inet_query *q, diag_fn fn, void *ctx)
{
	struct inet_diag_req_v2 req = {
		.sdiag_family = (uint8_t)q->family,
		.sdiag_protocol = (uint8_t)q->proto,
		.idiag_states = q->states,
		.idiag_ext = q->want_info ? 1 << (INET_DIAG_INFO - 1) : 0,
	};

	return dump(fd, &req, sizeof(req), false, fn, ctx);
}

int diag_unix(int fd, uint32_t states, diag_fn fn, void *ctx)
{
	struct unix_diag_req req = {
		.sdiag_family = AF_UNIX,
		.udiag_states = states,
		.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN,
	};

	return dump(fd, &req, sizeof(req), true, fn, ctx);
}

static int keep_one(void *ctx, const struct diag_sock *sock)
{
	*(struct diag_sock *)ctx = *sock;
	return 0;
}

int diag_find_tcp(int fd, const struct diag_sock *ends, struct diag_sock *ret_sock)
{
	struct diag_sock found = {0};
	struct inet_diag_req_v2 req = {
		.sdiag_family = (uint8_t)ends->family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = UINT32_MAX,
		.id = {
			.idiag_sport = htons(ends->lport),
			.idiag_dport = htons(ends->rport),
			.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
		},
	};

	memcpy(req.id.idiag_src, ends->laddr, sizeof(req.id.idiag_src));
	memcpy(req.id.idiag_dst, ends->raddr, sizeof(req.id.idiag_dst));
	int ret = request(fd, &req, sizeof(req), false);
	if (ret == 0)
		ret = receive(fd, false, keep_one, &found);
	if (ret < 0)
		return ret;
	if (!found.family)
		return -ENOENT;
	*ret_sock = found;
	return 0;
}

int diag_find_unix(int fd, uint32_t ino, struct diag_sock *ret_sock)
{
	struct diag_sock found = {0};
	struct unix_diag_req req = {
		.sdiag_family = AF_UNIX,
		.udiag_ino = ino,
		.udiag_states = UINT32_MAX,
		.udiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
		.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN,
	};

	int ret = request(fd, &req, sizeof(req), false);
	if (ret == 0)
		ret = receive(fd, true, keep_one, &found);
	if (ret < 0)
		return ret;
	if (!found.ino)
		return -ENOENT;
	*ret_sock = found;
	return 0;
}
