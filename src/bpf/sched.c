/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The states of tracked threads, and each wait with its waker.
 *
 * switch-out	closes RUN; opens RUNQ (preempted) or WAIT (sleeps, classified)
 * waking	WAIT becomes RUNQ, the waker is noted; first waking wins
 * switch-in	closes RUNQ and puts the WIRE_WAIT record into the batch of the CPU
 *
 * A waker may come while the thread is on its way to sleep: the thread is
 * off its queue but sched_switch was not traced yet.  Such a waking is kept
 * aside (early_*) and used at switch-in only when none came after the
 * switch-out; a waking that hit a thread which then did not sleep is so
 * dropped by itself.
 *
 * Not every switch and waking is seen on every machine: some kernels hide
 * those that happen on top of certain tasks.  Where the states do not follow
 * each other, the scheduler's own times of arrival and run-queue delay fill
 * in what was missed.
 */

#define NOT_TOLD (~0ull)

struct hu_kstacks_map {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(u32));
	__uint(value_size, KSTACK_DEPTH * sizeof(u64));
} hu_kstacks SEC(".maps");

/*
 * The time of a switch.  The scheduler closes its books with the run queue's
 * clock, read before it chose the next task; the tracepoint comes 1 to 20 us
 * later.  So that run and run-queue times agree with the kernel's own, its
 * clock is taken, shifted by its smallest distance to CLOCK_MONOTONIC.  The
 * two clocks drift apart by some ppm: only the last two windows count.
 */
static __always_inline u64 switch_time(struct runners *r, u64 clock, u64 ktime)
{
	s64 delta = ktime - clock;

	if (ktime - r->window_ns > CLOCK_WINDOW_NS) {
		r->off_before = r->window_ns ? r->off : delta;
		r->off = delta;
		r->window_ns = ktime;
	} else if (delta < r->off) {
		r->off = delta;
	}
	return clock + (r->off < r->off_before ? r->off : r->off_before);
}

/* The same, with CLOCK_MONOTONIC read only now and then: that costs 33 ns. */
static __always_inline u64 switch_now(struct runners *r, u64 clock)
{
	u64 ktime;

	if (r->window_ns && clock - r->checked < CLOCK_CHECK_NS)
		return clock + (r->off < r->off_before ? r->off : r->off_before);
	ktime = bpf_ktime_get_ns();
	r->checked = clock;
	return clock ? switch_time(r, clock, ktime) : ktime;
}

static __always_inline u64 rq_clock(struct task_struct *p)
{
	if (!bpf_core_field_exists(p->se.cfs_rq) || !bpf_core_field_exists(struct cfs_rq, rq))
		return 0;
	return AS(task_struct, p)->se.cfs_rq->rq->clock;
}

static __always_inline bool is_throttled(struct task_struct *p)
{
	return bpf_core_field_exists(p->throttled) && p->throttled;
}

/*
 * How long p has been runnable since it was last off CPU, by the scheduler's
 * own book; clock is the run queue's.  NOT_TOLD where the kernel keeps none.
 */
static __always_inline u64 queued_ns(struct task_struct *p, const struct thr *t, u64 clock)
{
	u64 queued, ns;

	if (!bpf_core_field_exists(p->sched_info.last_queued) || !clock)
		return NOT_TOLD;
	queued = p->sched_info.last_queued;
	ns = p->sched_info.run_delay - t->delay_ns;
	return queued ? ns + since(queued, clock) : ns;
}

/*
 * Waits go to the ring in batches: taking a place in it costs more than all
 * else that is done for a wait.  Only sched_switch and hu_flush come here, both
 * with interrupts off.
 */
struct wait_batch {
	struct wire_wait waits[BATCH_CNT];
};

struct hu_batches_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct wait_batch);
} hu_batches SEC(".maps");

static __noinline int batch_flush(struct runners *r, struct wait_batch *b)
{
	u32 cnt;

	if (!r || !b)
		return 0;
	cnt = r->batch_cnt;
	r->batch_cnt = 0;
	if (!cnt || cnt > BATCH_CNT)
		return 0;
	if (bpf_ringbuf_output(&hu_ring, b, cnt * sizeof(b->waits[0]), ring_flags()))
		__sync_fetch_and_add(&loss_cnt[HU_LOSS_RING], cnt);
	return 0;
}

static __always_inline void send_wait(struct thr *t, u64 now, struct runners *r)
{
	u32 zero = 0;
	struct wait_batch *b = bpf_map_lookup_elem(&hu_batches, &zero);
	struct wire_wait *w;

	if (!b)
		return;
	if (!r->batch_cnt)
		r->batch_ns = now;
	w = &b->waits[r->batch_cnt & (BATCH_CNT - 1)];
	wait_fill(w, t, now);
	t->seq++;
	w->cpu = bpf_get_smp_processor_id();
	if (++r->batch_cnt >= BATCH_CNT || since(r->batch_ns, now) > BATCH_NS)
		batch_flush(r, b);
}

/* User space runs it on each CPU before it reads the sums. */
SEC("raw_tp")
int hu_flush(void *ctx __attribute__((unused)))
{
	u32 zero = 0;

	jiffy_sample = bpf_jiffies64();
	blames_flush();
	batch_flush(this_cpu(), bpf_map_lookup_elem(&hu_batches, &zero));
	return 0;
}

/* Adds the finished wait to the sums of its class. */
static __always_inline void sum_wait(struct thr *t, u64 ns)
{
	t->wait_ns[t->cls & 31] += ns;
	if (t->flags & WAITF_IOWAIT)
		t->iowait_ns += ns;
	if (t->flags & WAITF_UNINT)
		t->unint_ns += ns;
	t->wait_cnt++;
}

/* When the sleep that ends now became a wait for the CPU. */
static __always_inline void wake_settle(struct thr *t, u64 now, u64 queued)
{
	u64 off_for = since(t->off_ns, now);

	if (t->state == THR_WAIT && t->early_ns) {
		t->wake_ns = t->off_ns;
		t->waker_tid = t->early_tid;
		t->waker_tgid = t->early_tgid;
		t->waker_ctx = t->early_ctx;
		t->flags |= t->early_flags;
	}
	if (queued != NOT_TOLD)
		t->wake_ns = queued < off_for ? now - queued : t->off_ns;
	else if (!t->wake_ns || t->wake_ns > now)
		t->wake_ns = now;
}

/* Closes the off-CPU period of t in the sums; returns its run-queue part. */
static __always_inline u64 off_close(struct thr *t, u64 now, u64 queued)
{
	u64 from = t->off_ns;

	if (t->state == THR_RUN) { /* its switch-out was not seen */
		t->run_ns += since(t->state_ns, now);
		t->off_ns = from = now;
		t->flags = WAITF_PREEMPTED;
	} else if (t->state == THR_NEW) {
		t->off_ns = from = t->state_ns;
	} else if (t->cls == WAIT_THROTTLE && t->state == THR_WAIT) {
		t->wake_ns = from = now;
		sum_wait(t, since(t->off_ns, now));
	} else if (!(t->flags & WAITF_PREEMPTED)) {
		wake_settle(t, now, queued);
		from = t->wake_ns;
		sum_wait(t, since(t->off_ns, from));
	}
	t->runq_ns += since(from, now);
	return since(from, now);
}

/* Waits of t that are shorter are in the sums only. */
static __always_inline u64 told_from_ns(const struct thr *t)
{
	if (t->light)
		return LIGHT_MIN_NS;
	return shed & SHED_SHORT ? WAIT_LONG_NS : 0;
}

/* clock: of the run queue, at now. */
__noinline int switch_in(struct thr *t, u64 now, u64 clock, u64 queued, struct runners *r)
{
	struct tio *io;
	u64 runq_ns;

	if (!t || !r)
		return 0;
	io = tio_of(t->tid);
	t->ver++;
	runq_ns = off_close(t, now, queued);
	t->state = THR_RUN;
	t->early_ns = 0;
	t->state_ns = now;
	t->ver++;
	if (io->last_io_ns && waits_for_net(t->cls))
		io->last_io_ns = now;
	if (runq_ns > CULPRIT_MIN_NS)
		blame_wait(t->tgid, clock - runq_ns, clock);
	if (t->flags & WAITF_PREEMPTED && runq_ns < SHORT_PREEMPT_NS)
		return 0;
	if (since(t->off_ns, now) < told_from_ns(t))
		return 0;
	send_wait(t, now, r);
	t->io_res = 0;
	if (t->flags & WAITF_PREEMPTED)
		return 0;
	/* what comes next belongs to this wait, through all preemptions */
	io->first_io = t->trigger;
	t->trigger = 0;
	io->polled = t->cls == WAIT_EPOLL || t->cls == WAIT_POLL;
	return 0;
}

/* p leaves the CPU and was not seen to come: make up for it. */
static __noinline int missed_switch_in(struct task_struct *p, struct thr *t, u64 now, u64 clock,
				       struct runners *r)
{
	u64 in_ns = now, queued = NOT_TOLD, ran_ns;

	if (bpf_core_field_exists(p->sched_info.last_arrival)) {
		ran_ns = since(p->sched_info.last_arrival, clock);
		in_ns = ran_ns < since(t->off_ns, now) ? now - ran_ns : t->off_ns;
		queued = p->sched_info.run_delay - t->delay_ns;
	}
	switch_in(t, in_ns, clock - (now - in_ns), queued, r);
	return 0;
}

/* Back to waiting for sockets: what kept the thread until now is over. */
static __always_inline void stall_end(u32 tid, u64 now)
{
	struct tio *io = tio_of(tid);

	if (io->last_io_ns)
		stall_note(io, now);
}

/* The current task leaves the CPU. */
__noinline int switch_out(struct thr *t, u32 state, u64 now)
{
	struct task_struct *p = bpf_get_current_task_btf();

	if (!t)
		return 0;
	t->ver++;
	if (t->state <= THR_RUN)
		t->run_ns += since(t->state_ns, now);
	t->state_ns = now;
	t->off_ns = now;
	t->wake_ns = 0;
	t->flags = 0;
	t->kstack = -1;
	t->stack = t->waker_stack = 0;
	t->waker_tid = t->waker_tgid = 0;
	t->waker_ctx = WAKER_NONE;
	t->off_open = tio_of(t->tid)->own_open;
	if (bpf_core_field_exists(p->sched_info.run_delay))
		t->delay_ns = p->sched_info.run_delay;
	if (!(state & KSTATE_SLEEPS)) {
		/* op and res stay: mostly the call that it was in before comes again */
		t->flags = WAITF_PREEMPTED;
		t->cls = WAIT_OTHER;
		t->state = THR_RUNQ;
		if (is_throttled(p)) {
			t->cls = WAIT_THROTTLE;
			t->flags = 0;
			t->state = THR_WAIT;
		}
	} else {
		t->proc_open = proc_open[t->tgid & OPEN_MASK];
		t->again = same_call(p, t, state) ? CALL_SAME : CALL_OTHER;
		if (t->again == CALL_SAME && may_reuse(t)) {
			t->again = CALL_REUSED;
			t->cls = t->call_cls;
		} else {
			classify(p, t, state, true);
			t->call_cls = t->cls;
		}
		if (waits_for_net(t->cls))
			tio_of(t->tid)->home_ns = now;
		if (t->cls == WAIT_EPOLL || t->cls == WAIT_POLL)
			stall_end(t->tid, now);
		t->state = THR_WAIT;
	}
	t->ver++;
	return 0;
}

static __always_inline void note_kstack(void *ctx, struct thr *t)
{
	t->kstack = bpf_get_stackid(ctx, &hu_kstacks, 0);
	if (t->kstack < 0)
		count_loss(HU_LOSS_KSTACK);
}

/* The last switch of a thread: its sums would be gone before the next tick. */
static __noinline int thread_gone(struct task_struct *p, struct thr *t, u64 now)
{
	struct wire_thread *w;

	__sync_fetch_and_add(&thread_cnt, -1);
	w = bpf_ringbuf_reserve(&hu_ring, sizeof(*w), 0);
	if (w) {
		thread_fill(w, p, t, now);
		bpf_ringbuf_submit(w, ring_flags());
	} else {
		count_loss(HU_LOSS_RING);
	}
	thr_end(t);
	return 0;
}

/* The thread of a task, NULL: not tracked, or idle. */
static __always_inline struct thr *thr_switched(struct task_struct *task)
{
	return task->pid ? thr_of(task) : NULL;
}

/* Is t, which goes to sleep, in a place that it was not found in lately? */
static __always_inline bool place_is_new(struct task_struct *p, struct thr *t)
{
	if (t->again == CALL_OTHER || !t->place_known)
		t->place_known = !stack_is_new(p, t);
	return !t->place_known;
}

static __always_inline void leave(u64 *ctx, struct task_struct *prev, struct thr *t, u64 now,
				  u64 clock, struct runners *r)
{
	bool preempt = ctx[0];
	u32 state = has_prev_state ? (u32)ctx[3] : prev->__state;

	/* some kernels pass the old state of a task that a signal kept awake */
	if (preempt || !prev->__state)
		state = 0;
	if (t->state > THR_RUN)
		missed_switch_in(prev, t, now, clock, r);
	switch_out(t, state, now);
	if (t->flags & WAITF_UNINT)
		note_kstack(ctx, t);
	if (with_stacks && !t->light && t->state == THR_WAIT && state & KSTATE_SLEEPS &&
	    !(state & KSTATE_DEAD) &&
	    (shed & SHED_STACKS ? place_is_new(prev, t) : stack_due(t, STACK_WAIT, t->res, now)))
		t->stack = stack_of(ctx, t, STACK_WAIT, now);
	if (state & KSTATE_DEAD)
		thread_gone(prev, t, now);
}

/* Looks at what was left out when t went to sleep; its place may be known. */
static __noinline int turned_out_long(struct task_struct *p, struct thr *t)
{
	if (t->again == CALL_REUSED) {
		classify(p, t, KSTATE_INTERRUPTIBLE, false);
		t->again = CALL_SAME;
	}
	if (with_stacks && !t->stack)
		t->stack = stack_recall(p, t);
	return 0;
}

static __always_inline void come(struct task_struct *next, struct thr *t, u64 now, u64 at,
				 u64 clock, struct runners *r)
{
	if (!t->light && t->state > THR_RUN && !(t->flags & WAITF_PREEMPTED) &&
	    since(t->off_ns, now) >= WAIT_LONG_NS)
		turned_out_long(next, t);
	switch_in(t, now, at, queued_ns(next, t, clock), r);
}

/* A switch between two threads that are not tracked ends at once: most are of others. */
SEC("tp_btf/sched_switch")
int hu_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct runners *r = this_cpu();
	u64 clock, at;
	struct thr *t;
	bool own;

	if (!r)
		return 0;
	clock = rq_clock(next);
	at = clock ? clock : bpf_ktime_get_ns();
	count_run(RUN_SWITCH);
	note_runner(r, prev, at);
	t = thr_switched(prev);
	own = t != NULL;
	if (t)
		leave(ctx, prev, t, switch_now(r, clock), at, r);
	t = thr_switched(next);
	runner_is(r, next, t);
	if (t)
		come(next, t, switch_now(r, clock), at, clock, r);
	else if (!own)
		count_run(RUN_FOREIGN);
	return 0;
}

static __noinline u32 waker_stack(void *ctx, u64 now)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct thr *t = thr_of(cur);

	return t && !t->light ? stack_of(ctx, t, STACK_WAKER, now) : 0;
}

/*
 * Was p on a CPU a moment ago?  Then its wait is short, and t, whose lines are
 * in the cache of the CPU that p sleeps on, is left alone: at switch-in the
 * scheduler's own book says how long p was runnable.
 */
static __always_inline bool ran_lately(struct task_struct *p, u64 now)
{
	struct runners *r = this_cpu();
	u64 clock;

	if (!bpf_core_field_exists(p->sched_info.last_arrival) || !r || !r->window_ns)
		return false;
	clock = now - (r->off < r->off_before ? r->off : r->off_before);
	return since(p->sched_info.last_arrival, clock) < WAIT_LONG_NS;
}

/* The waker of a short wait is shed. */
static __always_inline void wake_short(struct thr *t, u64 now)
{
	t->ver++;
	t->wake_ns = now;
	t->state_ns = now;
	t->state = THR_RUNQ;
	t->ver++;
}

SEC("tp_btf/sched_waking")
int hu_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct thr *t;
	struct waker w;
	u64 now;

	count_run(RUN_WAKING);
	if (!thr_idx[p->pid & OPEN_MASK]) {
		count_run(RUN_FOREIGN);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (shed & SHED_WAKERS && ran_lately(p, now))
		return 0;
	t = thr_of(p);
	if (!t) {
		count_run(RUN_FOREIGN);
		return 0;
	}
	if (shed & SHED_WAKERS && t->state == THR_WAIT && since(t->off_ns, now) < WAIT_LONG_NS) {
		wake_short(t, now);
		return 0;
	}
	/* a thread frozen in its sleep wakes when it is thawed, whatever arrived before */
	if (p->__state & KSTATE_FROZEN && t->state == THR_WAIT)
		t->cls = WAIT_STOPPED;
	waker_find(t, &w);
	if (t->state != THR_WAIT || t->cls == WAIT_THROTTLE) {
		t->early_tid = w.tid;
		t->early_tgid = w.tgid;
		t->early_ctx = w.ctx;
		t->early_flags = w.flags;
		t->early_ns = now;
		return 0;
	}
	t->ver++;
	t->waker_tid = w.tid;
	t->waker_tgid = w.tgid;
	t->waker_ctx = w.ctx;
	if (with_stacks && (w.ctx == WAKER_TASK || w.flags & WAITF_PEER_CTX) &&
	    (since(t->off_ns, now) > DUE_GAP_NS || stack_due(t, STACK_WAKER, t->res, now)))
		t->waker_stack = waker_stack(ctx, now);
	t->flags |= w.flags;
	t->wake_ns = now;
	t->state_ns = now;
	t->state = THR_RUNQ;
	t->ver++;
	if (t->cls == WAIT_EPOLL || t->cls == WAIT_POLL)
		t->trigger = trigger_find(t, &w);
	waker_cand(t, &w);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int hu_wakeup_new(u64 *ctx)
{
	struct thr *t = thr_of((struct task_struct *)ctx[0]);
	u64 now;

	if (!t || t->state != THR_NEW)
		return 0;
	now = bpf_ktime_get_ns();
	t->ver++;
	/* its record begins here: until now nobody had the CPU that it waited for */
	t->runq_ns += since(t->state_ns, now);
	t->state_ns = t->off_ns = t->wake_ns = now;
	t->state = THR_RUNQ;
	t->ver++;
	return 0;
}

static __always_inline void send_task(struct task_struct *p, u32 op, u32 flags, u64 now)
{
	struct wire_task *w = bpf_ringbuf_reserve(&hu_ring, sizeof(*w), 0);

	if (!w) {
		count_loss(HU_LOSS_RING);
		return;
	}
	task_fill(w, p, op, flags, now);
	bpf_ringbuf_submit(w, ring_flags());
}

SEC("tp_btf/sched_process_fork")
int hu_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 tgid = child->tgid, ptgid = parent->tgid;
	struct proc_ent *e, fresh = {0};
	u64 now = bpf_ktime_get_ns();
	struct thr *t;

	calls_fork(parent, child, now);
	if (thr_evict(child->pid))
		__sync_fetch_and_add(&thread_cnt, -1);
	if (!thr_of(parent))
		return 0;
	e = bpf_map_lookup_elem(&hu_procs, &ptgid);
	fresh.flags = e ? e->flags : TASKF_TARGET;
	if (tgid != ptgid) {
		bpf_map_update_elem(&hu_procs, &tgid, &fresh, BPF_NOEXIST);
		if (with_stacks)
			maps_share(ptgid, tgid);
	}
	if (thread_cnt >= max_threads) {
		count_loss(HU_LOSS_TASK_STORAGE);
		return 0;
	}
	t = thr_make(child);
	if (!t) {
		count_loss(HU_LOSS_TASK_STORAGE);
		return 0;
	}
	__sync_fetch_and_add(&thread_cnt, 1);
	tio_clear(child->pid);
	t->light = !!(fresh.flags & TASKF_LIGHT);
	t->tgid = tgid;
	t->kstack = -1;
	t->sysnr = -1;
	t->flags = WAITF_PREEMPTED;
	t->since_ns = t->state_ns = t->off_ns = now;
	send_task(child, TASK_FORK, fresh.flags & ~TASKF_LIGHT, now);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int hu_exec(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct thr *t = thr_of(p);

	calls_exec(p, ctx[1], bpf_ktime_get_ns());
	if (!t)
		t = thr_renamed(p, ctx[1]);
	if (!t)
		return 0;
	maps_forget(p->tgid);
	send_task(p, TASK_EXEC, 0, bpf_ktime_get_ns());
	if (with_stacks && !t->light)
		maps_ask(bpf_ktime_get_ns());
	return 0;
}

/* Names of processes that ended: one that had the CPU may be gone at the tick. */
struct dead_name {
	char comm[WIRE_COMM_LEN];
};
struct hu_dead_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct dead_name);
} hu_dead SEC(".maps");

SEC("tp_btf/sched_process_exit")
int hu_exit(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct dead_name name;
	struct thr *t;
	u32 tgid = p->tgid;

	calls_exit(p, bpf_ktime_get_ns());
	if (AS(task_struct, p)->signal->live.counter == 0) {
		bpf_probe_read_kernel_str(name.comm, sizeof(name.comm), p->comm);
		bpf_map_update_elem(&hu_dead, &tgid, &name, BPF_ANY);
	}
	/* its threads may all have found the limit reached, and it is listed nevertheless */
	if (AS(task_struct, p)->signal->live.counter == 0) {
		bpf_map_delete_elem(&hu_procs, &tgid);
		maps_forget(tgid);
	}
	t = thr_of(p);
	if (t)
		send_task(p, TASK_EXIT, 0, bpf_ktime_get_ns());
	return 0;
}
