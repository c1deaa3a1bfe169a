/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three tables from inode to the processes that hold it: sockets, read ends
 * and write ends of pipes.  A value packs two process ids, the first two
 * that were seen, since a parent often keeps what its child uses.
 *
 * Tables are filled by passes over /proc/PID/fd.  A pass over all processes
 * empties them first, so what is closed is forgotten.
 */
#include "collect/resources/peers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "collect/resources/netlink_diag.h"
#include "collect/proc/fdscan.h"
#include "collect/resources/local_addr.h"
#include "collect/proc/procfs.h"
#include "collect/resources/resindex.h"
#include "reads/reads.h"
#include "wire/wire.h"

#define PASS_COST_FACTOR 400
#define CACHE_MAX 8192
#define NOT_LOCAL UINT64_MAX

struct netns {
	uint64_t id;	/* inode of ns/net */
	uint32_t tgid;	/* one process inside */
	int fd;		/* -1 not open */
};

struct pass {
	uint64_t done_ns, cost_ns;
};

struct peers {
	const struct resindex *index;
	struct hmap socks, pipe_readers, pipe_writers;
	struct hmap watched;	/* tgids */
	struct pass watched_pass, full_pass;
	struct netns netns[PEERS_NETNS_MAX];
	size_t netns_cnt;
	uint64_t skipped_cnt;
	struct hmap netns_by_tgid;
	struct hmap listeners;	/* address and namespace to tgid, or NOT_LOCAL */
	uint64_t cached_ns;	/* the two above are valid for PEERS_KEEP_NS from here */
	uint64_t budget, budget_ns; /* searches left, when last added to */
	uint64_t pass_fd_cnt;
	uint32_t pass_tgid;
};

struct peers *peers_new(const struct resindex *index)
{
	struct peers *p = xcalloc(1, sizeof(*p));

	p->index = index;
	p->budget = PEERS_BURST;
	p->budget_ns = p->cached_ns = clock_mono_ns();
	return p;
}

void peers_free(struct peers *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->netns_cnt; i++) {
		if (p->netns[i].fd >= 0)
			close(p->netns[i].fd);
	}
	hmap_release(&p->socks);
	hmap_release(&p->pipe_readers);
	hmap_release(&p->pipe_writers);
	hmap_release(&p->watched);
	hmap_release(&p->netns_by_tgid);
	hmap_release(&p->listeners);
	free(p);
}

const struct resindex *peers_index(const struct peers *p)
{
	return p->index;
}

uint64_t peers_skipped_cnt(const struct peers *p)
{
	return p->skipped_cnt;
}

void peers_watch(struct peers *p, const uint32_t *tgids, size_t tgid_cnt)
{
	for (size_t i = 0; i < tgid_cnt; i++) {
		if (!hmap_get(&p->watched, tgids[i], NULL)) {
			hmap_put(&p->watched, tgids[i], 1);
			p->watched_pass = (struct pass){0};
		}
	}
}

static void forget_old(struct peers *p)
{
	uint64_t now = clock_mono_ns();

	if (now - p->cached_ns < PEERS_KEEP_NS && p->listeners.cnt < CACHE_MAX &&
	    p->netns_by_tgid.cnt < CACHE_MAX)
		return;
	hmap_clear(&p->netns_by_tgid);
	hmap_clear(&p->listeners);
	p->cached_ns = now;
}

/* True when one more search may be paid for. */
static bool take_budget(struct peers *p)
{
	uint64_t now = clock_mono_ns();
	uint64_t more = (now - p->budget_ns) / (NS_PER_SEC / PEERS_PER_SEC);

	if (more) {
		p->budget = p->budget + more < PEERS_BURST ? p->budget + more : PEERS_BURST;
		p->budget_ns = now;
	}
	if (p->budget) {
		p->budget--;
		return true;
	}
	p->skipped_cnt++;
	return false;
}

uint64_t peers_netns(struct peers *p, uint32_t tgid)
{
	uint64_t id;

	forget_old(p);
	if (hmap_get(&p->netns_by_tgid, tgid, &id))
		return id;
	id = procfs_ns(tgid, "net");
	hmap_put(&p->netns_by_tgid, tgid, id);
	return id;
}

/* The namespace's slot; NULL when there are too many. */
static struct netns *netns_slot(struct peers *p, uint64_t id, uint32_t tgid)
{
	for (size_t i = 0; i < p->netns_cnt; i++) {
		if (p->netns[i].id == id)
			return &p->netns[i];
	}
	if (p->netns_cnt == PEERS_NETNS_MAX)
		return NULL;
	struct netns *fresh = &p->netns[p->netns_cnt++];
	*fresh = (struct netns){.id = id, .tgid = tgid, .fd = -1};
	return fresh;
}

int peers_diag(struct peers *p, uint32_t tgid)
{
	uint64_t id = peers_netns(p, tgid);
	struct netns *ns = id ? netns_slot(p, id, tgid) : NULL;

	if (!ns)
		return id ? -E2BIG : -ESRCH;
	if (ns->fd < 0) {
		int fd = diag_open(tgid);
		if (fd < 0)
			return fd;
		ns->fd = fd;
		ns->tgid = tgid;
	}
	return ns->fd;
}

void peers_diag_drop(struct peers *p, int fd)
{
	for (size_t i = 0; i < p->netns_cnt; i++) {
		if (p->netns[i].fd == fd) {
			close(fd);
			p->netns[i].fd = -1;
		}
	}
}

static void hold(struct peers *p, struct hmap *table, uint64_t ino, uint32_t tgid)
{
	if (p->socks.cnt + p->pipe_readers.cnt + p->pipe_writers.cnt >= PEERS_INODE_MAX &&
	    !hmap_get(table, ino, NULL)) {
		p->skipped_cnt++;
		return;
	}
	uint64_t *slot = hmap_slot(table, ino);
	uint32_t first = (uint32_t)*slot, second = (uint32_t)(*slot >> 32);
	if (first == 0)
		*slot = tgid;
	else if (first != tgid && second == 0)
		*slot |= (uint64_t)tgid << 32;
}

static int hold_item(void *ctx, const struct fdscan_item *item)
{
	struct peers *p = ctx;

	if (!item->is_pipe)
		hold(p, &p->socks, item->ino, p->pass_tgid);
	if (item->readable)
		hold(p, &p->pipe_readers, item->ino, p->pass_tgid);
	if (item->writable)
		hold(p, &p->pipe_writers, item->ino, p->pass_tgid);
	return 0;
}

static void scan_process(struct peers *p, uint32_t tgid)
{
	bool more = false;

	if (p->pass_fd_cnt >= PEERS_FD_MAX) {
		p->skipped_cnt++;
		return;
	}
	p->pass_tgid = tgid;
	long cnt = fdscan(tgid, PEERS_FD_MAX - p->pass_fd_cnt, hold_item, p, &more);
	if (cnt > 0)
		p->pass_fd_cnt += (uint64_t)cnt;
	if (more || cnt == -EACCES || cnt == -EPERM)
		p->skipped_cnt++;
}

static int scan_other(void *ctx, uint32_t tgid)
{
	struct peers *p = ctx;
	uint64_t id = procfs_ns(tgid, "net");

	if (id)
		netns_slot(p, id, tgid);
	if (!hmap_get(&p->watched, tgid, NULL))
		scan_process(p, tgid);
	return 0;
}

static void scan_watched(struct peers *p)
{
	struct hmap_entry entry;

	p->pass_fd_cnt = 0;
	for (size_t pos = 0; hmap_next(&p->watched, &pos, &entry);)
		scan_process(p, (uint32_t)entry.key);
}

/* True when a pass was made: worth looking again. */
static bool run_pass(struct peers *p, struct pass *pass, bool all)
{
	uint64_t now = clock_mono_ns();
	uint64_t pause = pass->cost_ns * PASS_COST_FACTOR;

	if (pause < PEERS_PASS_NS)
		pause = PEERS_PASS_NS;
	if (pass->done_ns && now - pass->done_ns < pause)
		return false;
	if (all) {
		hmap_clear(&p->socks);
		hmap_clear(&p->pipe_readers);
		hmap_clear(&p->pipe_writers);
	}
	scan_watched(p);
	if (all)
		procfs_each_id(0, scan_other, p);
	pass->done_ns = clock_mono_ns();
	pass->cost_ns = pass->done_ns - now;
	if (all)
		p->watched_pass.done_ns = pass->done_ns;
	return true;
}

/* One holder of the inode other than not_tgid, else not_tgid itself if it is one, else 0. */
static uint32_t holder(const struct hmap *table, uint64_t ino, uint32_t not_tgid)
{
	uint64_t value = 0;

	hmap_get(table, ino, &value);
	uint32_t first = (uint32_t)value, second = (uint32_t)(value >> 32);
	return first == not_tgid && second ? second : first;
}

uint32_t peers_watched_owner(struct peers *p, uint64_t ino)
{
	uint32_t tgid = holder(&p->socks, ino, 0);

	if (!tgid && run_pass(p, &p->watched_pass, false))
		tgid = holder(&p->socks, ino, 0);
	return hmap_get(&p->watched, tgid, NULL) ? tgid : 0;
}

uint32_t peers_sock_owner(struct peers *p, uint64_t ino)
{
	uint32_t tgid = holder(&p->socks, ino, 0);

	if (!tgid && run_pass(p, &p->watched_pass, false))
		tgid = holder(&p->socks, ino, 0);
	if (!tgid && run_pass(p, &p->full_pass, true))
		tgid = holder(&p->socks, ino, 0);
	return tgid;
}

static int done(struct peer *ret, uint32_t tgid, uint64_t ino, uint64_t res)
{
	*ret = (struct peer){.tgid = tgid, .ino = ino, .res = res};
	if (!tgid) {
		*ret = (struct peer){0};
		return -ENOENT;
	}
	procfs_comm(tgid, ret->comm);
	return 0;
}

static uint32_t pipe_other(struct peers *p, const struct wire_res *w, bool reads)
{
	return holder(reads ? &p->pipe_writers : &p->pipe_readers, w->ino, w->tgid);
}

static int find_pipe(struct peers *p, const struct wire_res *w, struct peer *ret)
{
	struct reads_fd at;
	char link[64];

	if (w->fd < 0 || reads_fd(w->tgid, w->fd, link, sizeof(link), &at) < 0)
		return done(ret, 0, 0, 0);
	bool reads = at.mode & S_IRUSR;
	uint32_t tgid = pipe_other(p, w, reads);
	if ((!tgid || tgid == w->tgid) && run_pass(p, &p->full_pass, true))
		tgid = pipe_other(p, w, reads);
	/* both ends of an anonymous pipe are one inode, hence one resource */
	return done(ret, tgid, w->ino, w->res);
}

static int find_unix(struct peers *p, const struct wire_res *w, struct peer *ret)
{
	struct diag_sock self;
	uint64_t ino = w->aux;

	if (!ino) {
		int fd = peers_diag(p, w->tgid);
		if (fd < 0 || w->ino > UINT32_MAX)
			return done(ret, 0, 0, 0);
		int err = diag_find_unix(fd, (uint32_t)w->ino, &self);
		if (err == 0)
			ino = self.peer_ino;
		else if (err != -ENOENT)
			peers_diag_drop(p, fd);
	}
	if (!ino)
		return done(ret, 0, 0, 0);
	return done(ret, peers_sock_owner(p, ino), ino, resindex_find_sock(p->index, ino));
}

/* The connection whose local end is our remote one.  0 or -ENOENT. */
static int swapped(struct peers *p, int fd, const struct wire_res *w, struct diag_sock *ret_sock)
{
	struct diag_sock ends = {.family = w->family, .lport = w->rport, .rport = w->lport};

	memcpy(ends.laddr, w->raddr, sizeof(ends.laddr));
	memcpy(ends.raddr, w->laddr, sizeof(ends.raddr));
	int err = diag_find_tcp(fd, &ends, ret_sock);
	if (err < 0 && err != -ENOENT)
		peers_diag_drop(p, fd);
	/* a listener is found too, where there is no such connection */
	return err == 0 && ret_sock->rport == w->lport ? 0 : -ENOENT;
}

static bool is_loopback(const struct wire_res *w)
{
	return local_addr_is_loopback(w->family, w->raddr);
}

static int find_inet(struct peers *p, const struct wire_res *w, struct peer *ret)
{
	struct diag_sock sock;
	int fd = w->rport ? peers_diag(p, w->tgid) : -ENOENT;

	if (fd < 0)
		return done(ret, 0, 0, 0);
	int err = swapped(p, fd, w, &sock);
	if (err && !is_loopback(w)) {
		uint64_t own = peers_netns(p, w->tgid);
		for (size_t i = 0; i < p->netns_cnt && err; i++) {
			if (p->netns[i].id == own)
				continue;
			fd = peers_diag(p, p->netns[i].tgid);
			err = fd < 0 ? -ENOENT : swapped(p, fd, w, &sock);
		}
	}
	uint32_t tgid = 0;
	uint64_t ino = err ? 0 : sock.ino;
	if (ino)
		tgid = peers_sock_owner(p, ino);
	/* not accepted yet, or too new for the last pass: whoever listens there */
	if (!tgid && w->role != ROLE_SERVER)
		tgid = peers_listener(p, w->tgid, w->family, w->raddr, w->rport);
	return done(ret, tgid, ino, resindex_find_sock(p->index, ino));
}

int peers_find(struct peers *p, const struct wire_res *w, struct peer *ret_peer)
{
	*ret_peer = (struct peer){0};
	if ((w->kind != RES_PIPE && w->kind != RES_SOCKET) || w->role == ROLE_LISTEN ||
	    !take_budget(p))
		return -ENOENT;
	if (w->kind == RES_PIPE)
		return find_pipe(p, w, ret_peer);
	if (w->family == AF_UNIX)
		return find_unix(p, w, ret_peer);
	if ((w->family == AF_INET || w->family == AF_INET6) && w->sotype == SOCK_STREAM)
		return find_inet(p, w, ret_peer);
	return -ENOENT;
}

static uint64_t listener_key(uint64_t netns, const struct diag_sock *ends)
{
	uint64_t key = hash_bytes(ends->laddr, sizeof(ends->laddr));

	return hash_u64(key ^ netns << 16 ^ ends->lport) ^ ends->family;
}

/* 0: nobody seen to listen. */
static uint32_t ask_listener(struct peers *p, uint32_t tgid, const struct diag_sock *ends)
{
	struct diag_sock sock;
	int fd = peers_diag(p, tgid);
	int err = fd < 0 ? fd : diag_find_tcp(fd, ends, &sock);

	if (fd >= 0 && err < 0 && err != -ENOENT)
		peers_diag_drop(p, fd);
	if (err || sock.state != DIAG_LISTEN || !sock.ino)
		return 0;
	return peers_sock_owner(p, sock.ino);
}

uint32_t peers_listener(struct peers *p, uint32_t tgid, uint16_t family, const uint8_t *addr,
			uint16_t port)
{
	struct diag_sock ends = {.family = family, .lport = port, .rport = 1};
	uint64_t found = NOT_LOCAL;

	if (family != AF_INET && family != AF_INET6)
		return 0;
	memcpy(ends.laddr, addr, family == AF_INET ? 4 : 16);
	memcpy(ends.raddr, addr, family == AF_INET ? 4 : 16);
	uint64_t key = listener_key(peers_netns(p, tgid), &ends);
	if (hmap_get(&p->listeners, key, &found))
		return found == NOT_LOCAL ? 0 : (uint32_t)found;
	if (!take_budget(p))
		return 0;
	/* a listener on all addresses would also answer for one of another host */
	if (local_addr_is_local(tgid, family, addr))
		found = ask_listener(p, tgid, &ends);
	if (found) /* an owner not found may be found by the next pass */
		hmap_put(&p->listeners, key, found);
	return found == NOT_LOCAL ? 0 : (uint32_t)found;
}
