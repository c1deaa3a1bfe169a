/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sockets in use, once a tick, and what is open on them when hu_recv comes back. */

/* Asks TCP about a socket that hu_recv may not have looked at. */
static __noinline int sock_ask_tcp(struct sock *sk, struct sk_ent *e, struct wire_sock *w, u64 now)
{
	u64 came_ns;
	bool read;

	if (!sk || !e || !w || !e->tcp)
		return 0;
	came_ns = now - tcp_came_ns(sk);
	read = tcp_read_seq(sk) != e->rx_seq;
	if (read && came_ns > w->last_rx_ns)
		w->last_rx_ns = came_ns;
	if (tcp_has_unread(sk)) {
		w->unread_since_ns = w->unread_since_ns ? w->unread_since_ns : came_ns;
	} else if (recv_off && e->role == ROLE_SERVER) {
		w->open_since_ns = tcp_owes(sk, e) ? came_ns : 0;
	} else if (recv_off && read && e->role == ROLE_CLIENT) {
		w->open_since_ns = 0;
	}
	return 0;
}

/* hu_recv comes back: which requests are open now? */
static __noinline int sock_resume(struct sock *sk, struct sk_ent *e, u64 now)
{
	bool read;

	if (!sk || !e || !e->tcp)
		return 0;
	read = tcp_read_seq(sk) != e->rx_seq;
	e->left = 0;
	e->said_ns = 0;
	if (e->role == ROLE_CLIENT) {
		if (read)
			e->open_ns = 0;
		return 0;
	}
	if (e->open_ns && (!tcp_owes(sk, e) || tcp_counted(sk, e)))
		turn_drop(e);
	if (e->open_ns || !tcp_owes(sk, e) || tcp_has_unread(sk))
		return 0;
	/* who reads from it mostly is who did before */
	turn_open(e, e->first_tid ? e->first_tid : e->last_tid, now - tcp_came_ns(sk), 0);
	e->idle_add_ns = 0;
	return 0;
}

u32 resuming = 0; /* the iterator sets what is open, and lists nothing */
u32 list_round = 1; /* counts the runs of the iterator */

/* Gives the reader a socket that was in use since it asked last. */
static __noinline int sock_list(struct seq_file *seq, struct sock *sk, struct sk_ent *e)
{
	struct wire_sock w;
	u64 now;

	if (!e || !sk || !seq)
		return 0;
	now = bpf_ktime_get_ns();
	if (resuming)
		return sock_resume(sk, e, now);
	if (e->said_ns && since(e->last_tx_ns, now) >= QUIET_NS)
		answer_over(e, now);
	__builtin_memset(&w, 0, sizeof(w));
	w.open_since_ns = e->open_ns;
	w.unread_since_ns = e->unread_ns;
	w.last_rx_ns = e->last_rx_ns;
	w.last_tx_ns = e->last_tx_ns;
	sock_ask_tcp(sk, e, &w, now);
	if (!w.open_since_ns && !w.unread_since_ns && w.last_rx_ns < tick_since_ns &&
	    w.last_tx_ns < tick_since_ns)
		return 0;
	hdr_fill(&w.hdr, WIRE_SOCK, sizeof(w), e->open_ns ? e->first_tid : e->last_tid, now);
	w.res = e->res;
	w.notready_ns = e->notready_ns;
	if (!e->unread_ns && e->notready_since_ns)
		w.notready_ns += since(e->notready_since_ns, now);
	w.poll_wake_cnt = e->poll_wake_cnt;
	w.tgid = e->tgid;
	w.last_tid = e->last_tid;
	w.role = e->role;
	w.end_idx = e->end_idx;
	bpf_seq_write(seq, &w, sizeof(w));
	return 0;
}

/* Once a tick: the sockets in use.  The reader asks for those active since then. */
SEC("iter/bpf_sk_storage_map")
int hu_iter_sock(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sk_ent *e = ctx->value;
	struct sock *sk = ctx->sk;

	if (e && sk)
		sock_list(ctx->meta->seq, sk, e);
	return 0;
}

/* The same where the kernel refuses that: sockets are found among the open files. */
SEC("?iter/task_file")
int hu_iter_file(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	struct socket *so;
	struct sk_ent *e;
	struct sock *sk;

	if (!file)
		return 0;
	so = bpf_sock_from_file(file);
	sk = so ? so->sk : NULL;
	e = sk ? bpf_sk_storage_get(&hu_socks, sk, 0, 0) : NULL;
	if (!e || e->listed == list_round) /* several processes may have it open */
		return 0;
	e->listed = list_round;
	sock_list(ctx->meta->seq, sk, e);
	return 0;
}
