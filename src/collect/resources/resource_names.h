/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOURCE_NAMES_H
#define RESOURCE_NAMES_H
/*
 * Names that a person knows for what the kernel side numbers: paths, block
 * devices, addresses, services.  Looks into /proc/PID (the target's own view
 * of its mounts), /sys/dev and /etc/services.  Never asks DNS.
 *
 *	names_new, names_res for each WIRE_RES, names_free
 *
 * Names are read while the process lives: call soon after the record came.
 * Kept: device names and services, both bounded.  Names come from other
 * programs, so control characters in them are shown as '?'.  Not for use by
 * two threads at a time.
 */
#include <stddef.h>
#include <stdint.h>

struct names;
struct wire_res;

#define NAMES_ADDR_LEN 64

struct names *names_new(void);
void names_free(struct names *n);

/*
 * What ev_res.name should say, "" when nothing better than the numbers is
 * known.  Borrowed until the next call on n.
 *	file	 /var/lib/x/base/1/2 ("… (deleted)" where unlinked)
 *	socket	 client: 127.0.0.1:5432; server: 127.0.0.1:80 (the local end);
 *		 unix: /run/x.sock, @abstract or "unix socket"
 *	pipe	 "pipe", or the FIFO's path
 *	epoll, eventfd, timerfd ...: the anonymous inode's label
 *	disk	 sda, vda1
 */
const char *names_res(struct names *n, const struct wire_res *w);

/* Block device of a kernel dev_t (major << 20 | minor): "vda"; "8:3" where /sys has none. */
const char *names_dev(struct names *n, uint32_t dev);

/* "redis" for 6379 ("tcp" or "udp"); "" when the port has no name. */
const char *names_service(struct names *n, uint16_t port, const char *proto);

/* Base name of the executable, "" for kernel threads and what is gone. */
const char *names_exe(struct names *n, uint32_t tgid);

/* comm of a process or thread id, "" when it is gone. */
const char *names_comm(struct names *n, uint32_t tid);

/* Somebody else's text made fit to be shown: cut at PATH_MAX, control characters as '?'. */
const char *names_clean(struct names *n, const char *text);

/* "127.0.0.1:80", "[::1]:80"; IPv4 inside IPv6 is shown as IPv4.  addr: 4 or 16 bytes. */
char *names_addr(char out[NAMES_ADDR_LEN], uint16_t family, const uint8_t *addr, uint16_t port);

/* One line of /etc/services; 1 when it named a port, 0 otherwise.  For tests. */
int names_parse_service(const char *line, char *ret_name, size_t name_len, uint16_t *ret_port,
			char *ret_proto, size_t proto_len);

#endif /* RESOURCE_NAMES_H */
