/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "collect/resources/local_addr.h"
#include "collect/resources/resource_names.h"
#include "collect/proc/procfs.h"
#include "unit.h"
#include "wire/wire.h"

TEST(names_addresses)
{
	char out[NAMES_ADDR_LEN];
	uint8_t v4[16] = {127, 0, 0, 1}, any[16] = {0}, one[16] = {[15] = 1};
	uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 5};

	EQ_S(names_addr(out, AF_INET, v4, 5432), "127.0.0.1:5432");
	EQ_S(names_addr(out, AF_INET, any, 65535), "0.0.0.0:65535");
	EQ_S(names_addr(out, AF_INET6, one, 80), "[::1]:80");
	EQ_S(names_addr(out, AF_INET6, any, 80), "[::]:80");
	EQ_S(names_addr(out, AF_INET6, mapped, 80), "10.0.0.5:80");
	EQ_S(names_addr(out, AF_NETLINK, one, 80), "?");
	memset(one, 0xff, sizeof(one));
	EQ_S(names_addr(out, AF_INET6, one, 65535),
	     "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535");
}

TEST(names_services)
{
	static const struct {
		const char *line;
		int found;
		unsigned port;
	} rows[] = {
		{"redis\t\t6379/tcp\n", 1, 6379},
		{"http 80/tcp www # comment", 1, 80},
		{"# only 1/tcp", 0, 0},
		{"", 0, 0},
		{"name", 0, 0},
		{"name ", 0, 0},
		{"name 80", 0, 0},
		{"name 80/", 0, 0},
		{"name 0/tcp", 0, 0},
		{"name 65536/tcp", 0, 0},
		{"name 99999999999999999999/tcp", 0, 0},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 80/tcp", 0, 0},
		{"name 80/averylongprotocolname", 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[24] = "", proto[8] = "";
		uint16_t port = 0;
		ROW(i);
		EQ_I(names_parse_service(rows[i].line, name, sizeof(name), &port, proto,
					 sizeof(proto)), rows[i].found);
		EQ_U(port, rows[i].port);
	}
}

/* A name is shown as it is, but for what a terminal would obey. */
TEST(names_are_cleaned)
{
	struct names *n = names_new();
	struct wire_res w = {.kind = RES_FILE, .fd = -1, .name = "evil\x1b[2J\n\x7f"};

	EQ_S(names_res(n, &w), "evil?[2J??");
	memset(w.name, 'x', sizeof(w.name)); /* without an end */
	EQ_U(strlen(names_res(n, &w)), sizeof(w.name));
	names_free(n);
}

TEST(names_of_own_descriptors)
{
	struct names *n = names_new();
	char path[] = "/tmp/heldup-unit-XXXXXX";
	int fd = mkstemp(path), fds[2];
	struct stat st;
	struct wire_res w = {.kind = RES_FILE, .tgid = (uint32_t)getpid(), .fd = fd,
			     .name = "dentry"};

	OK(fd >= 0 && pipe(fds) == 0 && fstat(fd, &st) == 0);
	w.ino = st.st_ino;
	EQ_S(names_res(n, &w), path);
	w.ino = st.st_ino + 1; /* the number was given to another file meanwhile */
	EQ_S(names_res(n, &w), "dentry");
	w.ino = st.st_ino;
	unlink(path);
	HAS(names_res(n, &w), " (deleted)");
	w = (struct wire_res){.kind = RES_PIPE, .tgid = (uint32_t)getpid(), .fd = fds[0]};
	OK(fstat(fds[0], &st) == 0);
	w.ino = st.st_ino;
	EQ_S(names_res(n, &w), "pipe");
	names_free(n);
}

TEST(names_sockets)
{
	struct names *n = names_new();
	struct wire_res w = {.kind = RES_SOCKET, .fd = -1, .family = AF_INET, .lport = 40000,
			     .rport = 5432, .laddr = {127, 0, 0, 2}, .raddr = {127, 0, 0, 3}};

	w.role = ROLE_CLIENT;
	EQ_S(names_res(n, &w), "127.0.0.3:5432");
	w.role = ROLE_SERVER;
	EQ_S(names_res(n, &w), "127.0.0.2:40000");
	w.role = ROLE_LISTEN;
	EQ_S(names_res(n, &w), "127.0.0.2:40000");
	w = (struct wire_res){.kind = RES_SOCKET, .fd = -1, .family = AF_UNIX};
	EQ_S(names_res(n, &w), "unix socket");
	snprintf(w.name, sizeof(w.name), "@abstract");
	EQ_S(names_res(n, &w), "@abstract");
	names_free(n);
}

/* An address of our own that nobody can ask at says less than what kind of socket it is. */
TEST(names_unconnected_sockets)
{
	struct wire_res w = {.kind = RES_SOCKET, .fd = -1, .family = AF_INET6, .lport = 55175,
			     .sotype = SOCK_DGRAM};
	struct names *n = names_new();

	EQ_S(names_res(n, &w), "udp port 55175");
	w.role = ROLE_LISTEN;
	EQ_S(names_res(n, &w), "[::]:55175");
	names_free(n);
}

TEST(local_addresses)
{
	const char *trie = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.5\n"
			   "        /32 host LOCAL\n     |-- 10.0.0.55\n"
			   "        /32 link BROADCAST\n"
			   "     |-- 10.0.0.6";
	const char *inet6 = "00000000000000000000000000000001 01 80 10 80       lo\n"
			    "fe80000000000000000000000000";
	uint8_t yes[4] = {10, 0, 0, 5}, cast[4] = {10, 0, 0, 55}, cut[4] = {10, 0, 0, 6};
	uint8_t one[16] = {[15] = 1}, link[16] = {0xfe, 0x80};

	OK(local_addr_in_fib_trie(trie, yes));
	OK(!local_addr_in_fib_trie(trie, cast));
	OK(!local_addr_in_fib_trie(trie, cut));
	OK(!local_addr_in_fib_trie("", yes));
	OK(local_addr_in_if_inet6(inet6, one));
	OK(!local_addr_in_if_inet6(inet6, link));
	OK(local_addr_is_loopback(AF_INET6, one));
	OK(!local_addr_is_loopback(AF_INET, yes));
}
