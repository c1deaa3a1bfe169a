/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections that are refused.  Who then sleeps for a while and tries again waits for
 * who should listen there, not for the timer: a mark on the thread, as for file locks
 * (filelock.c).  Seen where the refusal comes inside of the call, as on one host.
 */
#define TCP_STATE_SYN_SENT 2

/* Is the current task in connect()?  Else an interrupt on top of it brought the refusal. */
static __always_inline bool is_connecting(void)
{
	struct sysregs s;
	u32 nr;

	sysregs_read((struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()), &s);
	nr = s.nr;
	return nr < SYS_NR_MAX && sys_kind[MASKED(nr, SYS_NR_MAX - 1)] == SYSK_CONNECT;
}

/* Counts a refusal for a connection that never was. */
static __always_inline void refusal_count(u32 tgid, const struct wire_res *d)
{
	struct wire_end_key key = {0};
	struct wire_end *end;
	u32 idx;

	key.tgid = tgid;
	key.family = d->family;
	key.role = ROLE_CLIENT;
	key.rport = d->rport;
	__builtin_memcpy(key.raddr, d->raddr, sizeof(key.raddr));
	idx = end_find(&key, d->name);
	end = idx ? bpf_map_lookup_elem(&hu_ends, &idx) : NULL;
	if (end)
		end->refused++;
}

static __noinline int connect_refused(struct sock *sk)
{
	struct thr *t = thr_of(bpf_get_current_task_btf());
	struct wire_res d;

	if (!t || t->light || !sk || !is_connecting())
		return 0;
	__builtin_memset(&d, 0, sizeof(d));
	res_sock(&d, sk);
	refusal_count(t->tgid, &d);
	/* each try has a socket of its own: the address stands for them */
	d.res = res_id(RES_SOCKET, mix64(*(u64 *)d.raddr) ^ mix64(*(u64 *)(d.raddr + 8)), d.rport);
	t->refused_ns = bpf_ktime_get_ns();
	t->refused_res = d.res;
	t->refused_tgid = 0;
	t->refused_cls = WAIT_SOCKET;
	if (!res_is_new(d.res))
		return 0;
	hdr_fill(&d.hdr, WIRE_RES, sizeof(d), t->tid, t->refused_ns);
	d.tgid = t->tgid;
	d.kind = RES_SOCKET;
	d.role = ROLE_CLIENT;
	d.fd = -1;
	if (bpf_ringbuf_output(&hu_ring, &d, sizeof(d), ring_flags()))
		count_loss(HU_LOSS_RING);
	return 0;
}
