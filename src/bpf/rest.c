/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Resting.  At high rates of switches and socket calls even a short program at
 * each costs more than a watch may, so user space lets all of them return at
 * once for most of the time (live_rest.c).  The clock of what is recorded
 * (watch_ns) stands still meanwhile: what comes out reads like a shorter watch
 * without gaps.
 *
 * What went on through the rest unchanged goes on: a thread that did not leave
 * or enter its CPU, a request on a socket that nothing was read from or written
 * to.  Others begin anew, as at the start: their wait ends, without a waker.
 *
 * The iterators do it, in the order: rest_since_ns is set, a tick (what the
 * kernel counts is noted in at_rest), the rest, sockets and then threads once
 * more with resuming set, rest_ns grows, rest_since_ns is cleared.
 */

/* What p does now, for t to begin with. */
static __noinline int state_read(struct task_struct *p, struct thr *t, u64 now)
{
	u32 kstate = p->__state;

	t->state_ns = t->off_ns = now;
	t->kstack = -1;
	if (bpf_core_field_exists(p->sched_info.run_delay))
		t->delay_ns = p->sched_info.run_delay;
	if (p->on_cpu)
		return THR_RUN;
	if (!(kstate & KSTATE_SLEEPS)) {
		t->flags |= WAITF_PREEMPTED;
		return THR_RUNQ;
	}
	classify(p, t, kstate, false);
	return THR_WAIT;
}

static __always_inline bool went_on(struct task_struct *p, const struct thr *t)
{
	if (t->state == THR_NEW || t->switches != (u32)(p->nvcsw + p->nivcsw))
		return false;
	return (t->state == THR_RUN) == !!p->on_cpu;
}

/* The state that t was in ends now; its wait, if it was one, is told. */
static __always_inline bool state_close(struct seq_file *seq, struct thr *t, struct wire_wait *w,
					u64 now)
{
	bool waits = t->state >= THR_RUNQ && !(t->flags & WAITF_PREEMPTED);

	if (waits) {
		if (t->state == THR_WAIT) {
			t->wake_ns = now;
			t->flags |= WAITF_CUT;
		}
		wait_fill(w, t, now);
		if (bpf_seq_write(seq, w, sizeof(*w)))
			return false; /* the buffer is full: the iterator comes again */
		t->seq++;
		sum_wait(t, since(t->off_ns, t->wake_ns));
	}
	if (t->state <= THR_RUN)
		t->run_ns += since(t->state_ns, now);
	else if (t->state == THR_RUNQ)
		t->runq_ns += since(t->state_ns, now);
	return true;
}

static __noinline int thread_anew(struct task_struct *p, struct thr *t, u64 now)
{
	t->flags = 0;
	t->wake_ns = t->early_ns = t->trigger = t->io_res = t->call = 0;
	t->klock_addr = t->reclaim_begin_ns = t->dirty_ns = 0;
	t->waker_tid = t->waker_tgid = t->stack = t->waker_stack = 0;
	t->waker_ctx = WAKER_NONE;
	t->off_open = tio_of(t->tid)->own_open;
	t->proc_open = proc_open[t->tgid & OPEN_MASK];
	t->switches = p->nvcsw + p->nivcsw;
	t->state = state_read(p, t, now);
	return 0;
}

/* t as it is now. */
static __noinline int thread_resume(struct seq_file *seq, struct task_struct *p, struct thr *t,
				    struct wire_wait *w)
{
	u64 now = watch_ns();

	if (!seq || !p || !t || !w)
		return 0;
	if (!went_on(p, t)) {
		if (!state_close(seq, t, w, now))
			return 0;
		thread_anew(p, t, now);
	} else if (t->state == THR_WAIT && !(p->__state & KSTATE_SLEEPS)) {
		t->wake_ns = t->state_ns = now; /* woken, by whom is not known */
		t->state = THR_RUNQ;
	}
	rest_note(p, t);
	return 0;
}

/* What TCP itself knows of a socket. */
struct tcp_now {
	u32 read, written; /* sequence numbers */
	u32 unread;
	s32 received_after; /* jiffies from the last send to the last receive */
};

static __always_inline bool tcp_read(struct sock *sk, struct tcp_now *ret)
{
	struct tcp_sock *tp = (void *)sk;
	struct inet_connection_sock *icsk = (void *)sk;

	if (sk->sk_protocol != KIPPROTO_TCP)
		return false;
	ret->read = BPF_CORE_READ(tp, copied_seq);
	ret->written = BPF_CORE_READ(tp, write_seq);
	ret->unread = BPF_CORE_READ(tp, rcv_nxt) - ret->read;
	ret->received_after = BPF_CORE_READ(icsk, icsk_ack.lrcvtime) - BPF_CORE_READ(tp, lsndtime);
	return true;
}

/*
 * Requests came and went on this socket in the rest.  The last may be open:
 * read and not answered, or asked and not answered.  It counts from now on.
 */
static __always_inline void sock_anew(struct sk_ent *e, const struct tcp_now *tcp, u64 now)
{
	turn_abandon(e);
	e->txblock_ns = e->notready_since_ns = 0;
	if (tcp->unread)
		e->unread_ns = now;
	if ((e->role == ROLE_SERVER && tcp->received_after > 0 && !tcp->unread) ||
	    (e->role == ROLE_CLIENT && tcp->received_after < 0)) {
		e->left = 0;
		turn_open(e, e->last_tid, now);
	}
}

static __noinline int sock_rest(struct sock *sk, struct sk_ent *e)
{
	struct tcp_now tcp = {0};
	bool told;

	if (!sk || !e)
		return 0;
	told = tcp_read(sk, &tcp);
	if (resuming && (!told || tcp.read != e->rx_seq || tcp.written != e->tx_seq))
		sock_anew(e, &tcp, watch_ns());
	e->rx_seq = tcp.read;
	e->tx_seq = tcp.written;
	return 0;
}
