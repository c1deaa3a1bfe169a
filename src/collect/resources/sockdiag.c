/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over each network namespace: first the listeners (which also
 * tell the role of a connection: its local port is listened on or not), then
 * the connections, summed into groups by process, role and address.  An
 * inode names the socket; peers.c knows which watched process holds it.
 */
#include "collect/resources/sockdiag.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "base/clock.h"
#include "collect/resources/netlink_diag.h"
#include "collect/emit.h"
#include "collect/resources/resource_names.h"
#include "collect/resources/peers.h"
#include "collect/proc/procfs.h"
#include "collect/resources/resindex.h"
#include "reads/reads.h"
#include "wire/wire.h"

#define GROUP_MAX 4096
#define SOCKSTAT_MAX 65536
#define SILENT_MIN_MS 50 /* who speaks first has spoken by then, unless it is held up */

struct conn_group {
	struct ev_conn ev;
	uint64_t key;
	struct diag_sock sample; /* one of its sockets, to find the other end by */
};

struct sockdiag {
	struct names *names;
	struct peers *peers;
	VEC(struct conn_group) groups;
	struct hmap group_by_key; /* to index */
	struct hmap served;	  /* listening: port, or inode of a unix path's hash */
	uint64_t over_cnt;	  /* sockets over GROUP_MAX groups */
	struct hmap told;	  /* failures that have been noted */
	uint64_t first_mono_ns;	  /* first snapshot */
	/* while a pass runs: */
	struct emit *e;
	uint64_t ts_ns;
	unsigned what;
};

struct sockdiag *sockdiag_new(struct names *names, struct peers *peers)
{
	struct sockdiag *s = xcalloc(1, sizeof(*s));

	s->names = names;
	s->peers = peers;
	return s;
}

void sockdiag_free(struct sockdiag *s)
{
	if (!s)
		return;
	vec_release(&s->groups);
	hmap_release(&s->group_by_key);
	hmap_release(&s->served);
	hmap_release(&s->told);
	free(s);
}

static void note_once(struct sockdiag *s, uint64_t id, enum note_kind what, const char *text)
{
	if (hmap_get(&s->told, id, NULL))
		return;
	hmap_put(&s->told, id, 1);
	emit_note(s->e, what, s->ts_ns, "%s", text);
}

static int take_listener(void *ctx, const struct diag_sock *sock)
{
	struct sockdiag *s = ctx;
	char addr[NAMES_ADDR_LEN];

	if (sock->family == AF_UNIX)
		hmap_put(&s->served, hash_bytes(sock->path, strlen(sock->path)), 1);
	else
		hmap_put(&s->served, sock->lport, 1);
	uint32_t tgid = peers_watched_owner(s->peers, sock->ino);
	if (!tgid || !(s->what & SOCKDIAG_LISTEN))
		return 0;
	const char *name = sock->family == AF_UNIX
				   ? names_clean(s->names, sock->path)
				   : names_addr(addr, sock->family, sock->laddr, sock->lport);
	struct ev_listen ev = {.tgid = tgid,
			       .backlog = sock->rqueue,
			       .backlog_max = sock->wqueue,
			       .name = emit_str(s->e, name),
			       .family = sock->family,
			       .lport = sock->lport,
			       .res = resindex_find_sock(peers_index(s->peers), sock->ino)};
	EMIT(s->e, &ev, EV_LISTEN, 0, s->ts_ns);
	return 0;
}

static bool is_server(const struct sockdiag *s, const struct diag_sock *sock)
{
	if (sock->family != AF_UNIX)
		return hmap_get(&s->served, sock->lport, NULL);
	/* an accepted unix socket carries the path of its listener */
	return sock->path[0] &&
	       hmap_get(&s->served, hash_bytes(sock->path, strlen(sock->path)), NULL);
}

static struct conn_group *group_of(struct sockdiag *s, const struct diag_sock *sock, uint32_t tgid)
{
	struct ev_conn id = {.tgid = tgid, .family = sock->family};

	id.role = is_server(s, sock) ? ROLE_SERVER : ROLE_CLIENT;
	if (sock->family == AF_UNIX) {
		id.peer_tgid = peers_sock_owner(s->peers, sock->peer_ino);
	} else if (id.role == ROLE_SERVER) {
		id.lport = sock->lport;
	} else {
		id.rport = sock->rport;
		memcpy(id.raddr, sock->raddr, sizeof(id.raddr));
	}
	uint64_t key = hash_bytes(&id, sizeof(id)), idx;
	if (hmap_get(&s->group_by_key, key, &idx))
		return &s->groups.items[idx];
	if (s->groups.cnt >= GROUP_MAX) {
		s->over_cnt++;
		return NULL;
	}
	hmap_put(&s->group_by_key, key, s->groups.cnt);
	struct conn_group *fresh = vec_add(&s->groups);
	fresh->ev = id;
	fresh->key = key;
	fresh->sample = *sock;
	return fresh;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Sums are kept in 32 bits: the largest stays instead of a wrapped one. */
static void add_u32(uint32_t *sum, uint32_t value)
{
	*sum = *sum > UINT32_MAX - value ? UINT32_MAX : *sum + value;
}

/* Takes the times at which each side last sent, as TCP knows them. */
static void take_times(const struct sockdiag *s, struct ev_conn *ev, const struct diag_sock *sock)
{
	uint64_t watched_ms = (clock_mono_ns() - s->first_mono_ns) / NS_PER_MS;
	bool came_before = sock->recv_ago_ms > watched_ms;
	bool sent_before = sock->sent_ago_ms > watched_ms;
	bool both = sock->state == DIAG_ESTABLISHED; /* who has closed awaits nothing */

	ev->held_conns += sock->held_back;
	ev->stale_conns += sock->rqueue > 0 && sock->received_bytes && came_before;
	/* where nothing was sent the kernel counts from the connection's begin */
	ev->silent_conns += both && !sock->received_bytes && !sock->sent_segs &&
			    sock->sent_ago_ms >= SILENT_MIN_MS;
	/*
	 * The kernel counts in ticks: equal times say nothing about the order,
	 * but what was never sent, or never came, does.
	 */
	if (sock->received_bytes &&
	    (sock->recv_ago_ms < sock->sent_ago_ms || !sock->sent_segs)) {
		ev->owe_reply++;
		ev->owe_stale += both && came_before;
		ev->owe_first += both && came_before && !sock->sent_segs;
		ev->oldest_owe_ms = max_u32(ev->oldest_owe_ms, sock->recv_ago_ms);
	} else if (sock->sent_segs &&
		   (sock->sent_ago_ms < sock->recv_ago_ms || !sock->received_bytes)) {
		ev->await_reply++;
		ev->await_stale += both && sent_before;
		ev->oldest_await_ms = max_u32(ev->oldest_await_ms, sock->sent_ago_ms);
	}
}

static int take_conn(void *ctx, const struct diag_sock *sock)
{
	struct sockdiag *s = ctx;
	uint32_t tgid = peers_watched_owner(s->peers, sock->ino);
	struct conn_group *g = tgid ? group_of(s, sock, tgid) : NULL;

	if (!g)
		return 0;
	struct ev_conn *ev = &g->ev;
	ev->conns++;
	ev->unread_conns += sock->rqueue > 0;
	add_u32(&ev->unread_bytes, sock->rqueue);
	ev->unsent_conns += sock->wqueue > 0;
	add_u32(&ev->unsent_bytes, sock->wqueue);
	if (sock->has_info)
		take_times(s, ev, sock);
	return 0;
}

/* The process at the other end of a whole group, found from one of its sockets. */
static void find_group_peer(struct sockdiag *s, struct conn_group *g)
{
	const struct diag_sock *sock = &g->sample;
	struct wire_res w = {.tgid = g->ev.tgid,
			     .kind = RES_SOCKET,
			     .role = g->ev.role,
			     .family = sock->family,
			     .sotype = SOCK_STREAM,
			     .lport = sock->lport,
			     .rport = sock->rport,
			     .ino = sock->ino,
			     .aux = sock->peer_ino};
	struct peer peer;

	memcpy(w.laddr, sock->laddr, sizeof(w.laddr));
	memcpy(w.raddr, sock->raddr, sizeof(w.raddr));
	if (peers_find(s->peers, &w, &peer) < 0)
		return;
	g->ev.peer_tgid = peer.tgid;
	g->ev.peer_comm = emit_str(s->e, names_clean(s->names, peer.comm));
}

static void emit_groups(struct sockdiag *s)
{
	VEC_FOREACH(&s->groups, g) {
		find_group_peer(s, g);
		EMIT(s->e, &g->ev, EV_CONN, 0, s->ts_ns);
	}
	if (s->over_cnt)
		emit_note(s->e, NOTE_LIMIT, s->ts_ns,
			  "connections: %llu are not listed (more than %u different peers)",
			  (unsigned long long)s->over_cnt, GROUP_MAX);
}

/* "TCP: inuse 123 orphan ..." */
static uint64_t inuse_cnt(uint32_t tgid, const char *file, const char *key)
{
	CLEANUP(buf_release) struct buf b = {0};
	uint64_t cnt = 0;

	reads_text(tgid, file, SOCKSTAT_MAX, &b);
	const char *line = strstr(buf_str(&b), key);
	if (line)
		procfs_parse_u64(line + strlen(key), UINT64_MAX, &cnt, NULL);
	return cnt;
}

static bool too_many(struct sockdiag *s, uint32_t tgid)
{
	char text[160];
	uint64_t cnt = inuse_cnt(tgid, "net/sockstat", "TCP: inuse ") +
		       inuse_cnt(tgid, "net/sockstat6", "TCP6: inuse ");

	if (cnt <= SOCKDIAG_DETAIL_MAX)
		return false;
	snprintf(text, sizeof(text),
		 "%llu TCP sockets: connections are not listed one by one (bound %d)",
		 (unsigned long long)cnt, SOCKDIAG_DETAIL_MAX);
	note_once(s, hash_u64(SOCKDIAG_DETAIL_MAX), NOTE_LIMIT, text);
	return true;
}

static int dump_listeners(struct sockdiag *s, int fd)
{
	struct diag_inet_query q = {.family = AF_INET,
				    .proto = IPPROTO_TCP,
				    .states = 1u << DIAG_LISTEN};
	int ret = diag_inet(fd, &q, take_listener, s);

	q.family = AF_INET6;
	if (ret == 0)
		ret = diag_inet(fd, &q, take_listener, s);
	/* unix_diag is a module of its own and may be missing */
	if (ret == 0 && diag_unix(fd, 1u << DIAG_LISTEN, take_listener, s) < 0)
		note_once(s, hash_u64(AF_UNIX), NOTE_MISSING_HOOK,
			  "unix sockets cannot be listed (kernel module unix_diag): "
			  "modprobe unix_diag");
	return ret;
}

static int dump_conns(struct sockdiag *s, int fd)
{
	struct diag_inet_query q = {.family = AF_INET,
				    .proto = IPPROTO_TCP,
				    .states = 1u << DIAG_ESTABLISHED | 1u << DIAG_CLOSE_WAIT,
				    .want_info = true};
	int ret = diag_inet(fd, &q, take_conn, s);

	q.family = AF_INET6;
	if (ret == 0)
		ret = diag_inet(fd, &q, take_conn, s);
	if (ret == 0)
		diag_unix(fd, 1u << DIAG_ESTABLISHED, take_conn, s);
	return ret;
}

static void snapshot_netns(struct sockdiag *s, uint32_t tgid)
{
	char text[200];
	int fd = peers_diag(s->peers, tgid);
	int ret = fd < 0 ? fd : 0;

	hmap_clear(&s->served);
	hmap_clear(&s->group_by_key);
	vec_clear(&s->groups);
	s->over_cnt = 0;
	if (ret == 0)
		ret = dump_listeners(s, fd);
	if (ret == 0 && s->what & SOCKDIAG_CONN && !too_many(s, tgid)) {
		ret = dump_conns(s, fd);
		emit_groups(s);
	}
	if (ret == 0 || ret == -ESRCH)
		return;
	if (fd >= 0)
		peers_diag_drop(s->peers, fd);
	snprintf(text, sizeof(text),
		 "sockets of pid %u cannot be listed: %s%s", tgid, strerror(-ret),
		 ret == -EPERM ? " (entering its network namespace needs CAP_SYS_ADMIN)" : "");
	note_once(s, hash_u64((uint64_t)-ret), NOTE_MISSING_HOOK, text);
}

void sockdiag_snapshot(struct sockdiag *s, struct emit *e, const uint32_t *tgids, size_t tgid_cnt,
		       unsigned what, uint64_t ts_ns)
{
	uint64_t seen[SOCKDIAG_NETNS_MAX];
	size_t seen_cnt = 0;

	s->e = e;
	s->ts_ns = ts_ns;
	s->what = what;
	if (!s->first_mono_ns)
		s->first_mono_ns = clock_mono_ns();
	peers_watch(s->peers, tgids, tgid_cnt);
	for (size_t i = 0; i < tgid_cnt; i++) {
		uint64_t ns = peers_netns(s->peers, tgids[i]);
		bool known = ns == 0;
		for (size_t k = 0; k < seen_cnt && !known; k++)
			known = seen[k] == ns;
		if (known)
			continue;
		if (seen_cnt == SOCKDIAG_NETNS_MAX) {
			note_once(s, hash_u64(SOCKDIAG_NETNS_MAX), NOTE_LIMIT,
				  "more than 16 network namespaces: sockets of the rest are not "
				  "listed");
			break;
		}
		seen[seen_cnt++] = ns;
		snapshot_netns(s, tgids[i]);
	}
	s->e = NULL;
}
