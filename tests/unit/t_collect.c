/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "collect/live/bpf_links.h"
#include "collect/emit.h"
#include "collect/proc/fdscan.h"
#include "collect/proc/host.h"
#include "collect/code/ksyms.h"
#include "collect/resources/epoll_members.h"
#include "collect/resources/resource_names.h"
#include "collect/resources/peers.h"
#include "collect/resources/resindex.h"
#include "collect/resources/sockdiag.h"
#include "reads/ops.h"
#include "unit.h"
#include "wire/wire.h"

TEST(members_tfd_lines)
{
	struct member_line m = {.fd = 99};

	EQ_I(members_parse_tfd("tfd:        5 events:       19 data: ffffffff00000005  pos:0 "
			       "ino:61af sdev:7\n", &m), 0);
	EQ_I(m.fd, 5);
	EQ_U(m.events, 0x19);
	EQ_U(m.ino, 0x61af);
	EQ_U(m.dev, 7);
	static const char *const bad[] = {
		"", "tfd:", "tfd: x events: 1 ino:1 sdev:1", "tfd: 5 events: 19 data: 5",
		"tfd: 99999999999 events: 1 ino:1 sdev:1",
		"tfd: 5 events: 111111111 ino:1 sdev:1",
		"tfd: 5 events: 1 ino:11111111111111111 sdev:1",
		"tfd: 5 events: 1 ino: sdev:1", "pos:\t0",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ROW(i);
		EQ_I(members_parse_tfd(bad[i], &m), -EINVAL);
		EQ_I(m.fd, 5);
	}
}

TEST(fdscan_links)
{
	struct read_fds_item item = {0};

	EQ_I(read_fd_link("socket:[123]", &item), 0);
	EQ_U(item.ino, 123);
	OK(!(item.flags & READ_FD_PIPE));
	EQ_I(read_fd_link("pipe:[4]", &item), 0);
	OK(item.flags & READ_FD_PIPE);
	EQ_I(read_fd_link("pipe:[]", &item), -EINVAL);
	EQ_I(read_fd_link("pipe:[4", &item), -EINVAL);
	EQ_I(read_fd_link("/tmp/pipe:[4]", &item), -EINVAL);
	EQ_I(read_fd_link("socket:[99999999999999999999]", &item), -EINVAL);
	EQ_I(read_fd_link("", &item), -EINVAL);
}

TEST(attached_fdinfo)
{
	EQ_U(attached_parse_fdinfo("link_type:\traw_tracepoint\nprog_tag:\t1\nprog_id:\t42\n"), 42);
	EQ_U(attached_parse_fdinfo("prog_id:\t99999999999999"), 0);
	EQ_U(attached_parse_fdinfo("prog_id:"), 0);
	EQ_U(attached_parse_fdinfo(""), 0);
}

static const char *ksyms_text =
	"ffffffff81000000 T _text\n"
	"ffffffff81000100 T __schedule\n"
	"ffffffff81000200 T schedule\n"
	"ffffffff81000300 t io_schedule_timeout\n"
	"ffffffff81000400 T jbd2_log_wait_commit\n"
	"ffffffff81000500 t __pfx_ext4_sync_file\n"
	"ffffffff81000510 t ext4_sync_file\t[ext4]\n"
	"ffffffff81000600 D some_data\n"
	"ffffffff81000700 T do_syscall_64\n"
	"broken\n\n0000000000000000 T hidden\nffffffff8100zzzz T odd\nffffffff81000800 T ";

static struct ksyms *ksyms_of_text(void)
{
	char path[] = "/tmp/heldup-unit-XXXXXX";
	int fd = mkstemp(path);
	struct ksyms *ks = ksyms_new_from(path);

	OK(fd >= 0 && write(fd, ksyms_text, strlen(ksyms_text)) == (ssize_t)strlen(ksyms_text));
	close(fd);
	OK(ksyms_usable(ks));
	unlink(path);
	return ks;
}

TEST(ksyms_tells_own_programs)
{
	EQ_S(ksyms_own_program("bpf_prog_6deef7357e7b4530_hu_switch"), "hu_switch");
	OK(!ksyms_own_program("bpf_prog_6deef7357e7b4530_other"));
	OK(!ksyms_own_program("do_epoll_wait"));
}

TEST(ksyms_names_and_frames)
{
	struct ksyms *ks = ksyms_of_text();
	struct buf b = {0};
	uint64_t ips[] = {0xffffffff81000150, 0xffffffff81000210, 0xffffffff81000333,
			  0xffffffff81000410, 0xffffffff81000599, 0xffffffff81000720,
			  0xffffffff81000000};

	EQ_S(ksyms_name(ks, 0xffffffff8100040f), "jbd2_log_wait_commit");
	EQ_S(ksyms_name(ks, 0xffffffff80ffffff), "");
	EQ_U(ksyms_frames(ks, ips, 7, &b), 2);
	EQ_S(buf_str(&b), "jbd2_log_wait_commit;ext4_sync_file");
	buf_clear(&b);
	EQ_U(ksyms_frames(ks, ips, 3, &b), 0);
	EQ_S(buf_str(&b), "");
	uint64_t deep[40];
	for (size_t i = 0; i < 40; i++)
		deep[i] = 0xffffffff81000410;
	EQ_U(ksyms_frames(ks, deep, 40, &b), KSYMS_FRAME_MAX);
	buf_release(&b);
	ksyms_free(ks);
}

TEST(resindex_tells_kinds_apart)
{
	struct resindex x = {0};
	struct wire_res w = {.kind = RES_SOCKET, .ino = 5, .dev = 8, .res = 100};

	resindex_add(&x, &w);
	w = (struct wire_res){.kind = RES_PIPE, .ino = 5, .magic = 0x50495045, .res = 101};
	resindex_add(&x, &w);
	w = (struct wire_res){.kind = RES_FILE, .ino = 5, .dev = 8, .res = 102};
	resindex_add(&x, &w);
	w = (struct wire_res){.kind = RES_FUTEX, .ino = 6, .dev = 8, .res = 103};
	resindex_add(&x, &w);
	EQ_U(resindex_find_sock(&x, 5), 100);
	EQ_U(resindex_find_pipe(&x, 5), 101);
	EQ_U(resindex_find(&x, 8, 5), 102);
	EQ_U(resindex_find(&x, 9, 5), 0);
	EQ_U(resindex_find(&x, 8, 6), 0);
	EQ_U(resindex_find_sock(&x, 0), 0);
	resindex_release(&x);
}

struct seen {
	size_t strs, listens, conns, members, notes;
	struct ev_conn conn[8];
	struct ev_listen listen;
	int fail_after;
};

static int take(void *ctx, const struct event_hdr *ev)
{
	struct seen *seen = ctx;

	OK(ev->size % 8 == 0);
	if (seen->fail_after && --seen->fail_after == 0)
		return -ENOSPC;
	if (ev->kind == EV_CONN && seen->conns < 8)
		seen->conn[seen->conns] = *(const struct ev_conn *)ev;
	if (ev->kind == EV_LISTEN)
		seen->listen = *(const struct ev_listen *)ev;
	seen->strs += ev->kind == EV_STR;
	seen->conns += ev->kind == EV_CONN;
	seen->listens += ev->kind == EV_LISTEN;
	seen->members += ev->kind == EV_MEMBER;
	seen->notes += ev->kind == EV_NOTE;
	return 0;
}

TEST(emit_strings_once)
{
	struct seen seen = {0};
	struct event_sink sink = {.put = take, .ctx = &seen};
	struct emit e = {0};
	char *huge = malloc(100000);

	OK(huge);
	memset(huge, 'x', 99999);
	huge[99999] = '\0';
	emit_to(&e, &sink);
	EQ_U(emit_str(&e, NULL), 0);
	EQ_U(emit_str(&e, ""), 0);
	uint32_t id = emit_str(&e, "one");
	OK(id != 0);
	EQ_U(emit_str(&e, "one"), id);
	EQ_U(seen.strs, 1);
	OK(emit_str(&e, huge) != 0);
	emit_note(&e, NOTE_INFO, 1, "%s", huge);
	EQ_U(seen.notes, 1);
	EQ_I(e.error, 0);
	emit_release(&e);
	free(huge);
}

TEST(emit_keeps_first_error)
{
	struct seen seen = {.fail_after = 2};
	struct event_sink sink = {.put = take, .ctx = &seen};
	struct emit e = {0};

	emit_to(&e, &sink);
	emit_str(&e, "a");
	emit_str(&e, "b");
	emit_str(&e, "c");
	EQ_I(e.error, -ENOSPC);
	EQ_U(e.event_cnt, 1);
	EQ_U(seen.strs, 1);
	emit_release(&e);
}

static int loopback_listener(uint16_t *ret_port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (void *)&addr, sizeof(addr)) < 0 || listen(fd, 4) < 0 ||
	    getsockname(fd, (void *)&addr, &len) < 0)
		SKIP("no loopback sockets here");
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

static int connected(uint16_t port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	OK(fd >= 0 && connect(fd, (void *)&addr, sizeof(addr)) == 0);
	return fd;
}

/* Two connections to ourselves, one accepted and asked, one left in the backlog. */
TEST(sockdiag_sees_own_sockets)
{
	uint16_t port;
	int listener = loopback_listener(&port);
	int first = connected(port), second = connected(port);
	int server = accept(listener, NULL, NULL);
	struct seen seen = {0};
	struct event_sink sink = {.put = take, .ctx = &seen};
	struct emit e = {0};
	struct resindex x = {0};
	struct names *n = names_new();
	struct peers *p = peers_new(&x);
	struct sockdiag *s = sockdiag_new(n, p);
	uint32_t self = (uint32_t)getpid();

	OK(server >= 0 && second >= 0 && write(first, "ask", 3) == 3);
	emit_to(&e, &sink);
	sockdiag_snapshot(s, &e, &self, 1, SOCKDIAG_LISTEN | SOCKDIAG_CONN, 1);
	if (seen.notes && !seen.listens)
		SKIP("no sock_diag here");
	EQ_U(seen.listens, 1);
	EQ_U(seen.listen.lport, port);
	EQ_U(seen.listen.backlog, 1);
	EQ_U(seen.listen.backlog_max, 4);
	const struct ev_conn *in = NULL, *out = NULL;
	for (size_t i = 0; i < seen.conns && i < 8; i++) {
		if (seen.conn[i].role == ROLE_SERVER && seen.conn[i].lport == port)
			in = &seen.conn[i];
		if (seen.conn[i].role == ROLE_CLIENT && seen.conn[i].rport == port)
			out = &seen.conn[i];
	}
	OK(in && out);
	EQ_U(in->conns, 1);
	EQ_U(in->unread_conns, 1);
	EQ_U(in->unread_bytes, 3);
	EQ_U(out->conns, 2);
	EQ_U(in->peer_tgid, self);
	uint32_t owners[4];
	EQ_U(sockdiag_port_owners(port, owners, 4), 1);
	EQ_U(owners[0], self);
	EQ_U(sockdiag_port_owners(port, owners, 0), 0);
	sockdiag_free(s);
	peers_free(p);
	names_free(n);
	resindex_release(&x);
	emit_release(&e);
}

/* Two small writes, and a client that acknowledges the first no sooner than it must. */
static uint32_t kept_back(int server, int client, uint16_t port, struct emit *e, struct sockdiag *s,
			  struct seen *seen)
{
	uint32_t self = (uint32_t)getpid(), held = 0;
	int off = 0;
	char got[16];

	OK(write(client, "ask", 3) == 3 && read(server, got, sizeof(got)) == 3);
	setsockopt(client, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
	OK(write(server, "head", 4) == 4 && write(server, "body", 4) == 4);
	seen->conns = 0;
	sockdiag_snapshot(s, e, &self, 1, SOCKDIAG_CONN, 1);
	for (size_t i = 0; i < seen->conns && i < 8; i++) {
		if (seen->conn[i].role == ROLE_SERVER && seen->conn[i].lport == port)
			held = seen->conn[i].held_conns;
	}
	for (ssize_t left = 8, n = 1; left > 0 && n > 0; left -= n)
		n = read(client, got, (size_t)left);
	return held;
}

/* The kernel may acknowledge sooner, and we may come late: one of many tries must show it. */
TEST(sockdiag_sees_what_is_kept_back)
{
	uint16_t port;
	int listener = loopback_listener(&port);
	int client = connected(port), server = accept(listener, NULL, NULL), on = 1;
	struct seen seen = {0};
	struct event_sink sink = {.put = take, .ctx = &seen};
	struct emit e = {0};
	struct resindex x = {0};
	struct names *n = names_new();
	struct peers *p = peers_new(&x);
	struct sockdiag *s = sockdiag_new(n, p);
	uint32_t held = 0;

	OK(server >= 0);
	emit_to(&e, &sink);
	for (int i = 0; i < 50 && !held; i++)
		held = kept_back(server, client, port, &e, s, &seen);
	if (seen.notes)
		SKIP("no sock_diag here");
	EQ_U(held, 1);
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (int i = 0; i < 5; i++)
		EQ_U(kept_back(server, client, port, &e, s, &seen), 0);
	sockdiag_free(s);
	peers_free(p);
	names_free(n);
	resindex_release(&x);
	emit_release(&e);
}

TEST(members_of_own_epoll)
{
	struct seen seen = {0};
	struct event_sink sink = {.put = take, .ctx = &seen};
	struct emit e = {0};
	struct resindex x = {0};
	struct names *n = names_new();
	struct members_stat stat = {0};
	int ep = epoll_create1(0), fds[2];
	struct epoll_event want = {.events = EPOLLIN};
	struct wire_res set = {.kind = RES_EPOLL, .res = 9, .tgid = (uint32_t)getpid(), .fd = ep};

	OK(ep >= 0);
	emit_to(&e, &sink);
	for (int i = 0; i < MEMBERS_MAX + 10; i++) {
		if (pipe(fds) < 0)
			SKIP("too few descriptors");
		OK(epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &want) == 0);
	}
	members_epoll(&e, n, &x, &set, 1, &stat);
	EQ_U(stat.emitted_cnt, MEMBERS_MAX);
	EQ_U(stat.over_cnt, 10);
	EQ_U(seen.members, MEMBERS_MAX);
	set.fd = -1;
	members_epoll(&e, n, &x, &set, 1, &stat);
	EQ_U(stat.failed_cnt, 1);
	names_free(n);
	resindex_release(&x);
	emit_release(&e);
}

/* Another process holds the write end of a pipe: it is the peer of the reader. */
TEST(peers_of_a_pipe)
{
	struct resindex x = {0};
	struct peers *p = peers_new(&x);
	struct peer peer;
	struct stat st;
	int fds[2], hold[2];
	char byte;

	OK(pipe(fds) == 0 && pipe(hold) == 0);
	pid_t child = fork();
	if (child == 0) {
		close(hold[1]);
		_exit(read(hold[0], &byte, 1) != 0);
	}
	close(fds[1]);
	OK(child > 0 && fstat(fds[0], &st) == 0);
	struct wire_res w = {.kind = RES_PIPE, .tgid = (uint32_t)getpid(), .fd = fds[0],
			     .ino = st.st_ino, .res = 3};
	uint32_t self = (uint32_t)getpid();
	peers_watch(p, &self, 1);
	EQ_I(peers_find(p, &w, &peer), 0);
	EQ_U(peer.tgid, (uint32_t)child);
	EQ_U(peer.res, 3);
	w.ino = 1;
	EQ_I(peers_find(p, &w, &peer), -ENOENT);
	EQ_U(peer.tgid, 0);
	close(hold[1]);
	peers_free(p);
	resindex_release(&x);
}

TEST(host_has_numbers)
{
	struct ev_host host = {0};
	struct ev_self self = {0};
	uint64_t rss = 0, swap = 0;

	host_read_for(0, &host);
	OK(host.cpu_idle_ns > 0);
	OK(host.mem_avail_bytes > 0);
	host_self(&self);
	OK(self.rss_bytes > 0 && self.rss_max_bytes > 0);
	EQ_I(host_proc_mem((uint32_t)getpid(), &rss, &swap), 0);
	OK(rss > 0);
	EQ_I(host_proc_mem(UINT32_MAX, &rss, &swap), -ESRCH);
}
