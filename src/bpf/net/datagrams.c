/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions in datagrams, from a socket that is not connected: who is asked stands in the
 * call alone.  One whose port nobody chose, and that sends before it is seen to receive,
 * asks; the first that it asks stands for all.
 */
#define SOCK_BINDPORT_LOCK 8

/* Numbers of the calls, written by user space before loading. */
const volatile u32 sys_sendto = 0, sys_sendmsg = 0, sys_sendmmsg = 0;

enum { SENDTO_ADDR = 4, SENDMSG_MSG = 1 };

/* It has a port that the kernel gave it, and no other end. */
static __always_inline bool may_ask_anybody(struct sock *sk)
{
	return sk->sk_protocol == KIPPROTO_UDP && !sk->__sk_common.skc_dport &&
	       !(BPF_CORE_READ_BITFIELD(AS(sock, sk), sk_userlocks) & SOCK_BINDPORT_LOCK);
}

/* The address of a sockaddr in the memory of the caller of sendto or sendmsg, 0 none. */
static __always_inline u64 addr_of_call(void)
{
	struct sysregs s;
	u64 addr = 0;

	sysregs_read((struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()), &s);
	if (s.nr == sys_sendto)
		return s.arg[SENDTO_ADDR];
	/* of many messages the first */
	if ((s.nr != sys_sendmsg && s.nr != sys_sendmmsg) ||
	    bpf_probe_read_user(&addr, sizeof(addr), (void *)s.arg[SENDMSG_MSG]))
		return 0;
	return addr;
}

/* Fills in whom the current call asks; false: it does not say, as a write does not. */
static __noinline int datagram_to(struct wire_res *d)
{
	struct { u16 family, port; u32 in; u8 in6[16]; } to = {0};
	u64 addr = addr_of_call();

	if (!d || !addr || bpf_probe_read_user(&to, 8, (void *)addr))
		return 0;
	if (to.family == KAF_INET6 && bpf_probe_read_user(&to, sizeof(to), (void *)addr))
		return 0;
	if (to.family != d->family || !to.port)
		return 0;
	d->rport = __builtin_bswap16(to.port);
	if (to.family == KAF_INET)
		*(u32 *)d->raddr = to.in;
	else
		__builtin_memcpy(d->raddr, to.in6, sizeof(d->raddr));
	return 1;
}
