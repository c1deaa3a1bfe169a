/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who wakes: the current task, or an interrupt that happened to run on top of
 * an unrelated one.  The preempt count tells.  On x86 it is a per-CPU variable
 * (inside pcpu_hot from 6.2 to 6.14) whose address cannot be had on kernels
 * without KALLSYMS_ALL; but its distance from the run queue, per-CPU too, is
 * in BTF, and the run queue can be reached from the current task.
 */

#define PC_SERVING_SOFTIRQ 0x100
#define PC_HARDIRQ 0x00ff0000 /* hard interrupt or NMI */

struct waker {
	u32 tid;
	u32 tgid;
	u16 flags; /* enum wait_flags to add */
	u8 ctx;	   /* enum waker_ctx */
	u8 foreign;/* a task that is not tracked and may be a peer */
};

/* Ports that someone listens on. */
struct hu_listen_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct listen_key);
	__type(value, u32);
} hu_listen SEC(".maps");

struct hu_peers_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct peer_cand);
} hu_peers SEC(".maps");

static __always_inline u32 preempt_bits(struct task_struct *cur)
{
	u32 count = 0;

	if (preempt_off) {
		void *rq = AS(task_struct, cur)->se.cfs_rq->rq;

		count = word_at(rq + preempt_off);
	} else if (bpf_core_field_exists(cur->thread_info.preempt_count)) {
		count = cur->thread_info.preempt_count;
	}
	return count;
}

static __always_inline bool waits_for_disk(u8 cls)
{
	return cls == WAIT_FILE || cls == WAIT_FSYNC || cls == WAIT_FAULT || cls == WAIT_AIO ||
	       cls == WAIT_IOURING || cls == WAIT_DIRTY || cls == WAIT_RECLAIM;
}

static __always_inline bool waits_for_net(u8 cls)
{
	return cls == WAIT_SOCKET || cls == WAIT_EPOLL || cls == WAIT_POLL;
}

/* A file may be served by a process, as one of a file system in user space is. */
static __always_inline bool waits_for_process(u8 cls)
{
	return waits_for_net(cls) || cls == WAIT_FILE || cls == WAIT_FSYNC || cls == WAIT_FAULT ||
	       cls == WAIT_FUTEX || cls == WAIT_PIPE || cls == WAIT_EVENT ||
	       cls == WAIT_SYSV || cls == WAIT_FLOCK || cls == WAIT_IOURING;
}

/* Destination of what the current task sends, in the call it is in. */
struct sending {
	bool sends;
	bool remote; /* to another host */
	u16 family;
	u16 port;    /* of the other end */
	u32 netns;
};

/* Is the other end on another host?  Ours have the same address, or a loopback one. */
static __always_inline bool sk_is_remote(struct sock *sk)
{
	u32 to = GET(sk, __sk_common.skc_daddr);

	return GET(sk, __sk_common.skc_family) == KAF_INET &&
	       to != GET(sk, __sk_common.skc_rcv_saddr) && (u8)to != 127;
}

/* The socket behind a descriptor's file. */
static __always_inline struct sock *sock_of(struct file *file)
{
	void *data = GET(file, private_data);
	struct socket *sock = AS(socket, data);

	return GET(sock, sk);
}

static __noinline int sending_find(struct sending *ret)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct file_ref f;
	struct sysregs s;
	struct sock *sk;
	struct net *net;
	u8 kind;

	if (!ret || cur->flags & KPF_KTHREAD)
		return 0;
	sysregs_read((struct pt_regs *)bpf_task_pt_regs(cur), &s);
	if (s.nr < 0 || s.nr >= SYS_NR_MAX)
		return 0;
	kind = sys_kind[s.nr];
	ret->sends = kind == SYSK_WRITE || kind == SYSK_SENDFILE || kind == SYSK_SPLICE ||
		     kind == SYSK_CONNECT || kind == SYSK_IOURING || kind == SYSK_FILE_FD;
	if (!ret->sends || kind == SYSK_IOURING || kind == SYSK_SPLICE)
		return 0;
	/* one that is being closed has no descriptor any more */
	if (!file_of_fd((u64)cur, s.arg[0], &f) || f.kind != RES_SOCKET)
		return 0;
	sk = sock_of(AS(file, f.file));
	ret->family = GET(sk, __sk_common.skc_family);
	ret->port = __builtin_bswap16(GET(sk, __sk_common.skc_dport));
	net = GET(sk, __sk_common.skc_net.net);
	ret->netns = GET(net, ns.inum);
	ret->remote = sk_is_remote(sk);
	return 0;
}

static __always_inline void waker_irq(struct waker *w, struct thr *t, bool soft)
{
	w->tid = w->tgid = 0;
	if (waits_for_disk(t->cls))
		w->ctx = WAKER_BLOCK;
	else if (!soft && t->cls == WAIT_SIGNAL)
		w->ctx = WAKER_SELF;
	else if (soft && waits_for_net(t->cls))
		w->ctx = WAKER_NET;
	else
		w->ctx = WAKER_TIMER;
}

static __always_inline void waker_find(struct thr *t, struct waker *w)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct sending to = {0};
	u32 pc = preempt_bits(cur);

	w->flags = 0;
	w->foreign = 0;
	w->ctx = WAKER_TASK;
	w->tid = cur->pid;
	w->tgid = cur->tgid;
	if (pc & PC_HARDIRQ) {
		waker_irq(w, t, false);
		return;
	}
	if (pc & PC_SERVING_SOFTIRQ) {
		waker_irq(w, t, true);
		if (w->ctx != WAKER_NET)
			return;
		/* over loopback the sender itself runs the receiving side */
		sending_find(&to);
		if (!to.sends || to.remote)
			return;
		w->flags = WAITF_PEER_CTX;
		w->tid = cur->pid;
		w->tgid = cur->tgid;
	}
	if (!only_target && !(cur->flags & KPF_KTHREAD) &&
	    (waits_for_process(t->cls) || t->cls == WAIT_STOPPED) &&
	    cur->tgid != t->tgid && !thr_of(cur))
		w->foreign = 1;
}

/* The file that the current task writes to, as the one who polls it names it; 0 unknown. */
static __noinline u64 written_res(struct thr *t)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct file_ref f;
	struct sock *sk;
	struct unix_sock *u;
	struct sysregs s;
	u8 kind;

	sysregs_read((struct pt_regs *)bpf_task_pt_regs(cur), &s);
	if (!t || s.nr < 0 || s.nr >= SYS_NR_MAX)
		return 0;
	kind = sys_kind[s.nr];
	if (kind != SYSK_WRITE && kind != SYSK_SENDFILE && kind != SYSK_FILE_FD)
		return 0;
	if (!file_of_fd((u64)cur, s.arg[0], &f))
		return 0;
	if (f.kind != RES_SOCKET) {
		res_describe_file(t, &f, t->off_ns);
		return f.res;
	}
	/* a unix socket: the other end is polled; inet does not come here */
	sk = sock_of(AS(file, f.file));
	if (GET(sk, __sk_common.skc_family) != KAF_UNIX)
		return 0;
	u = AS(unix_sock, sk);
	sk = GET(u, peer);
	return sk ? res_id(RES_SOCKET, BPF_CORE_READ(sk, sk_socket, file, f_inode, i_ino), 0) : 0;
}

/* Which file of a poll or epoll set ends the wait of t, where its waker wrote to it. */
static __always_inline u64 trigger_find(struct thr *t, const struct waker *w)
{
	return w->ctx == WAKER_TASK && w->tid ? written_res(t) : 0;
}

/* Does the current task send to a port that someone listens on?  Then it is a client. */
static __always_inline bool current_asks(void)
{
	struct sending to = {0};
	struct listen_key lk;

	sending_find(&to);
	if (!to.sends || (to.family != KAF_INET && to.family != KAF_INET6))
		return false;
	lk.netns = to.netns;
	lk.port = to.port;
	return bpf_map_lookup_elem(&hu_listen, &lk) != NULL;
}

/* Remembers an untracked waker process; user space decides whether to draw it in. */
static __always_inline void waker_cand(struct thr *t, const struct waker *w)
{
	u64 ns = since(t->off_ns, t->wake_ns);
	struct peer_cand *c, fresh = {.wait_ns = ns, .cnt = 1};
	u32 tgid = w->tgid;

	if (!w->foreign || tgid == self_tgid)
		return;
	fresh.client_cnt = current_asks();
	c = bpf_map_lookup_elem(&hu_peers, &tgid);
	if (c) {
		__sync_fetch_and_add(&c->client_cnt, fresh.client_cnt);
		__sync_fetch_and_add(&c->wait_ns, ns);
		__sync_fetch_and_add(&c->cnt, 1);
	} else {
		bpf_map_update_elem(&hu_peers, &tgid, &fresh, BPF_NOEXIST);
	}
}
