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
	u8 foreign;/* a task that is not tracked and may be drawn in */
};

struct hu_peers_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct peer_cand);
} hu_peers SEC(".maps");

/* The last data that came for a watched socket on this CPU. */
struct arrival {
	u64 at_ns;
	u64 jiffy; /* not 0: at_ns is only so exact */
	u64 res;
	u32 remote; /* from another host */
	u32 role;   /* enum sock_role */
};

struct hu_arrival_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct arrival);
} hu_arrival SEC(".maps");

#define ARRIVAL_NS (20 * NSEC_PER_USEC) /* from the data to the wake-up it causes */

/* NULL when none came just now. */
static __always_inline struct arrival *arrival_now(u64 now)
{
	u32 zero = 0;
	struct arrival *a = bpf_map_lookup_elem(&hu_arrival, &zero);

	if (!has_data_ready || !a)
		return NULL;
	if (a->jiffy)
		return a->jiffy == bpf_jiffies64() ? a : NULL;
	return now - a->at_ns < ARRIVAL_NS ? a : NULL;
}

static __always_inline bool came_from_afar(u64 now)
{
	struct arrival *a = arrival_now(now);

	return a && a->remote;
}

static __always_inline u32 preempt_bits(struct task_struct *cur)
{
	u32 count = 0;

	if (preempt_off) {
		void *rq = cur->se.cfs_rq->rq;

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

static __always_inline bool waits_for_process(u8 cls)
{
	return waits_for_net(cls) || cls == WAIT_FUTEX || cls == WAIT_PIPE || cls == WAIT_EVENT ||
	       cls == WAIT_SYSV || cls == WAIT_FLOCK || cls == WAIT_IOURING;
}

/* Is the current task inside a call that sends?  Then network softirq may be its own. */
static __always_inline bool current_sends(struct task_struct *cur)
{
	struct sysregs s;
	u8 kind;

	if (cur->flags & KPF_KTHREAD)
		return false;
	sysregs_read((struct pt_regs *)bpf_task_pt_regs(cur), &s);
	if (s.nr < 0 || s.nr >= SYS_NR_MAX)
		return false;
	kind = sys_kind[s.nr];
	return kind == SYSK_WRITE || kind == SYSK_SENDFILE || kind == SYSK_SPLICE ||
	       kind == SYSK_CONNECT || kind == SYSK_IOURING || kind == SYSK_FILE_FD;
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

static __always_inline void waker_find(struct thr *t, struct waker *w, u64 now)
{
	struct task_struct *cur = bpf_get_current_task_btf();
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
		if (w->ctx != WAKER_NET || !current_sends(cur) || came_from_afar(now))
			return;
		w->flags = WAITF_PEER_CTX;
		w->tid = cur->pid;
		w->tgid = cur->tgid;
	}
	if (!only_target && !(cur->flags & KPF_KTHREAD) && waits_for_process(t->cls) &&
	    cur->tgid != t->tgid && !thr_of(cur))
		w->foreign = 1;
}

/* The file that the current task writes to, as the one who polls it names it; 0 unknown. */
static __noinline u64 written_res(struct thr *t)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct file_ref f;
	struct socket *sock;
	struct sock *sk;
	struct unix_sock *u;
	struct sysregs s;
	struct file *file;
	u8 kind;

	sysregs_read((struct pt_regs *)bpf_task_pt_regs(cur), &s);
	if (!t || s.nr < 0 || s.nr >= SYS_NR_MAX)
		return 0;
	kind = sys_kind[s.nr];
	if (kind != SYSK_WRITE && kind != SYSK_SENDFILE && kind != SYSK_FILE_FD)
		return 0;
	if (!file_of_fd(cur, s.arg[0], &f))
		return 0;
	if (f.kind != RES_SOCKET) {
		res_describe_file(t, &f, t->off_ns);
		return f.res;
	}
	/* a unix socket: the other end is polled; inet does not come here */
	file = f.file;
	sock = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(sock, sk);
	if (BPF_CORE_READ(sk, __sk_common.skc_family) != KAF_UNIX)
		return 0;
	u = (struct unix_sock *)sk;
	sk = BPF_CORE_READ(u, peer);
	return sk ? res_id(RES_SOCKET, BPF_CORE_READ(sk, sk_socket, file, f_inode, i_ino), 0) : 0;
}

/* Which file of a poll or epoll set ends the wait of t. */
static __always_inline u64 trigger_find(struct thr *t, const struct waker *w, u64 now)
{
	struct arrival *a = arrival_now(now);

	if (a)
		return a->res;
	return w->ctx == WAKER_TASK && w->tid ? written_res(t) : 0;
}

/* Remembers an untracked waker process; user space decides whether to draw it in. */
static __always_inline void waker_cand(struct thr *t, const struct waker *w)
{
	u64 ns = since(t->off_ns, t->wake_ns);
	struct peer_cand *c, fresh = {.wait_ns = ns, .cnt = 1};
	struct arrival *a;
	u32 tgid = w->tgid;

	if (!w->foreign || tgid == self_tgid)
		return;
	a = arrival_now(t->wake_ns);
	fresh.client_cnt = a && a->role == ROLE_SERVER;
	c = bpf_map_lookup_elem(&hu_peers, &tgid);
	if (c) {
		__sync_fetch_and_add(&c->client_cnt, fresh.client_cnt);
		__sync_fetch_and_add(&c->wait_ns, ns);
		__sync_fetch_and_add(&c->cnt, 1);
	} else {
		bpf_map_update_elem(&hu_peers, &tgid, &fresh, BPF_NOEXIST);
	}
}
