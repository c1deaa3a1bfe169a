/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_NETNS_H
#define LOAD_NETNS_H
/*
 * An address that is really not this host's: a network namespace and a veth
 * pair, 10.77.N.1 here and 10.77.N.2 there.  N is the first free one.  Without
 * the right or without `ip` the program is skipped, aloud.
 *
 *	ip = load_netns()	supervisor; removed at the end
 *	load_netns_enter()	a child that serves there (nothing without load_netns)
 */
#include "load.h"

LOAD_FN __attribute__((format(printf, 1, 2))) int load_ip(const char *fmt, ...)
{
	char cmd[256];
	va_list ap;
	sigset_t none, old;
	int rc;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &old);
	rc = system(cmd);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}

LOAD_FN void load_netns_remove(void)
{
	/* the veth goes with the namespace, but asynchronously: take it first */
	load_ip("ip link del %s-h 2>/dev/null", load.netns);
	load_ip("ip netns del %s 2>/dev/null", load.netns);
}

LOAD_FN const char *load_netns(void)
{
	static char addr[32];
	int net;

	if (load_ip("command -v ip >/dev/null 2>&1"))
		load_skip("no ip command (iproute2)");
	for (net = 1; net < 255; net++)
		if (load_ip("ip -4 -o addr show 2>/dev/null | grep -q ' 10\\.77\\.%d\\.'", net))
			break;
	snprintf(load.netns, sizeof(load.netns), "hl%d", (int)getpid() % 100000000);
	if (load_ip("ip netns add %s 2>/dev/null", load.netns))
		load_skip("no network namespace can be made (not root, or not permitted)");
	load.at_end = load_netns_remove;
	if (load_ip("ip link add %s-h type veth peer name %s-n netns %s 2>/dev/null &&"
		    "ip addr add 10.77.%d.1/24 dev %s-h && ip link set %s-h up",
		    load.netns, load.netns, load.netns, net, load.netns, load.netns) ||
	    load_ip("ip -n %s addr add 10.77.%d.2/24 dev %s-n && ip -n %s link set %s-n up &&"
		    "ip -n %s link set lo up", load.netns, net, load.netns, load.netns,
		    load.netns, load.netns))
		load_skip("no veth pair can be made");
	snprintf(addr, sizeof(addr), "10.77.%d.2", net);
	return addr;
}

LOAD_FN void load_netns_enter(void)
{
	char path[64];
	int fd;

	if (!load.netns[0])
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", load.netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		load_fail(path);
	close(fd);
}

#endif /* LOAD_NETNS_H */
