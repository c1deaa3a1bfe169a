/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that listen on a port, in any network name space. */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/resources/netlink_diag.h"
#include "collect/proc/fdscan.h"
#include "collect/proc/procfs.h"
#include "collect/resources/sockdiag.h"

#define NETNS_MAX 256
#define FD_MAX 1000000 /* descriptors read in all; asked once, by a person */

struct port_search {
	uint16_t port;
	struct hmap netns;     /* seen */
	struct hmap inodes;    /* of the sockets that own the port */
	uint32_t *tgids;
	size_t cnt, max_cnt;
	uint64_t fd_cnt;
	bool hit;
};

static int take_socket(void *ctx, const struct diag_sock *sock)
{
	struct port_search *search = ctx;

	if (sock->lport == search->port && sock->ino)
		hmap_put(&search->inodes, sock->ino, 1);
	return 0;
}

static int look_into_netns(void *ctx, uint32_t tgid)
{
	struct port_search *search = ctx;
	uint64_t ns = procfs_ns(tgid, "net");
	struct diag_inet_query q = {.states = 1u << DIAG_LISTEN};

	if (!ns || hmap_get(&search->netns, ns, NULL) || search->netns.cnt >= NETNS_MAX)
		return 0;
	hmap_put(&search->netns, ns, 1);
	CLEANUP_CLOSE int fd = diag_open(tgid);
	if (fd < 0)
		return 0;
	for (unsigned i = 0; i < 4; i++) {
		q.family = i & 1 ? AF_INET6 : AF_INET;
		q.proto = i & 2 ? IPPROTO_UDP : IPPROTO_TCP;
		q.states = 1u << (i & 2 ? DIAG_CLOSE : DIAG_LISTEN);
		diag_inet(fd, &q, take_socket, search);
	}
	return 0;
}

static int is_wanted(void *ctx, const struct fdscan_item *item)
{
	struct port_search *search = ctx;

	search->hit = !item->is_pipe && hmap_get(&search->inodes, item->ino, NULL);
	return search->hit;
}

static int look_into_process(void *ctx, uint32_t tgid)
{
	struct port_search *search = ctx;

	search->hit = false;
	long cnt = fdscan(tgid, FD_MAX - search->fd_cnt, is_wanted, search, NULL);
	if (cnt > 0)
		search->fd_cnt += (uint64_t)cnt;
	if (search->hit)
		search->tgids[search->cnt++] = tgid;
	return search->cnt >= search->max_cnt;
}

size_t sockdiag_port_owners(uint16_t port, uint32_t *ret_tgids, size_t max_cnt)
{
	struct port_search search = {.port = port, .tgids = ret_tgids, .max_cnt = max_cnt};

	if (!max_cnt)
		return 0;
	procfs_each_id(0, look_into_netns, &search);
	if (search.inodes.cnt)
		procfs_each_id(0, look_into_process, &search);
	hmap_release(&search.netns);
	hmap_release(&search.inodes);
	return search.cnt;
}
