/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Once a tick over all threads of the system: begins to track the threads of
 * watched processes that are not tracked yet (WIRE_TASK), and reports the
 * sums of those that did something since the last tick (WIRE_THREAD, and the
 * wait they are in as a pending WIRE_WAIT).
 *
 * A thread may switch while it is being seeded.  Its struct thr is born in state
 * THR_NEW, which the scheduler hooks overwrite; what the iterator saw is put
 * in only if that has not happened.
 */

struct scratch {
	struct thr thr;
	struct wire_thread thread;
	struct wire_wait wait;
	struct wire_task task;
};

struct hu_scratch_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} hu_scratch SEC(".maps");

static __always_inline bool snapshot(struct thr *ret, struct thr *t)
{
	int i;

	for (i = 0; i < 4; i++) {
		u32 ver = *(volatile u32 *)&t->ver;

		bpf_probe_read_kernel(ret, sizeof(*ret), t);
		if (!(ver & 1) && ret->ver == ver && *(volatile u32 *)&t->ver == ver)
			return true;
	}
	return false;
}

/* Finds out what p does now, for t to begin with. */
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
	futex_learn(p);
	classify(p, t, kstate, false);
	return THR_WAIT;
}

static __noinline int seed(struct task_struct *p, struct thr *t, u64 now)
{
	u32 state;

	t->tgid = p->tgid;
	t->since_ns = now;
	__sync_fetch_and_add(&seed_cnt, 1);
	t->flags = WAITF_BEFORE_START;
	state = state_read(p, t, now);
	__sync_val_compare_and_swap(&t->state, THR_NEW, state);
	return 0;
}

#define TICK_NS 10000000 /* of /proc, whatever the kernel's own ticks are */

/* The entry of p's process; none where that is not the one that was chosen. */
static __always_inline struct proc_ent *chosen(struct task_struct *p)
{
	u32 tgid = p->tgid, ticks = (u32)(p->group_leader->start_boottime / TICK_NS);
	struct proc_ent *e = bpf_map_lookup_elem(&hu_procs, &tgid);

	if (e && e->start_ticks && e->start_ticks != ticks) {
		bpf_map_delete_elem(&hu_procs, &tgid);
		return NULL;
	}
	return e;
}

/* Starts tracking p if its process is watched. */
static __always_inline struct thr *begin(struct task_struct *p)
{
	struct proc_ent *e = p->exit_state ? NULL : chosen(p);
	struct thr *t;

	if (!e)
		return NULL;
	if (thread_cnt >= max_threads) {
		count_loss(HU_LOSS_TASK_STORAGE);
		return NULL;
	}
	t = thr_make(p);
	if (!t) {
		count_loss(HU_LOSS_TASK_STORAGE);
		return NULL;
	}
	__sync_fetch_and_add(&thread_cnt, 1);
	t->unannounced = e->flags & ~TASKF_LIGHT;
	tio_clear(p->pid);
	t->light = !!(e->flags & TASKF_LIGHT);
	seed(p, t, bpf_ktime_get_ns());
	return t;
}

/*
 * The iterator calls again for the same thread when the buffer overflows and
 * drops what the call wrote: so this record is written alone, and is done
 * when the write succeeds.
 */
static __always_inline int announce(struct seq_file *seq, struct task_struct *p, struct thr *t,
				    struct scratch *s)
{
	task_fill(&s->task, p, TASK_SEEN, t->unannounced, t->since_ns);
	if (with_stacks && t->state == THR_WAIT && t->flags & WAITF_BEFORE_START && has_user(p))
		userregs_read((void *)bpf_task_pt_regs(p), &s->task.pc, &s->task.sp, &s->task.bp);
	if (bpf_seq_write(seq, &s->task, sizeof(s->task)) == 0)
		t->unannounced = 0;
	return 0;
}

/* A client may turn out to be a server of ours as well. */
static __always_inline void look_again(struct thr *t)
{
	u32 tgid = t->tgid;
	struct proc_ent *e = bpf_map_lookup_elem(&hu_procs, &tgid);

	t->light = e && e->flags & TASKF_LIGHT;
	if (!t->light)
		__sync_fetch_and_add(&seed_cnt, 1);
}

SEC("iter/task")
int hu_iter_task(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *p = ctx->task;
	u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&hu_scratch, &zero);
	struct thr *t;
	u64 now;

	if (!p || !s)
		return 0;
	t = thr_of(p);
	if (!t)
		t = begin(p);
	if (!t)
		return 0;
	if (t->light)
		look_again(t);
	if (t->unannounced)
		return announce(seq, p, t, s);
	if (t->state == THR_WAIT && t->state_ns < tick_since_ns)
		return 0;
	/* of very many threads some at each tick: the waits tell of the others */
	if (tick_since_ns && report_turns > 1 && t->tid % report_turns != report_turn)
		return 0;
	if (!snapshot(&s->thr, t))
		return 0;
	now = bpf_ktime_get_ns();
	thread_fill(&s->thread, p, &s->thr, now);
	bpf_seq_write(seq, &s->thread, sizeof(s->thread));
	if (s->thr.state == THR_WAIT || s->thr.state == THR_RUNQ) {
		wait_fill(&s->wait, &s->thr, now);
		s->wait.flags |= WAITF_PENDING;
		bpf_seq_write(seq, &s->wait, sizeof(s->wait));
	}
	return 0;
}

/* Over all threads: gives a slot to those of watched processes, and names each that has one. */
SEC("iter/task")
int hu_iter_calls(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *p = ctx->task;
	u32 zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&hu_scratch, &zero);

	if (!p || !s)
		return 0;
	if (p->exit_state || !chosen(p))
		return 0;
	slot_take(p, bpf_ktime_get_ns());
	task_fill(&s->task, p, TASK_SEEN, TASKF_TARGET, bpf_ktime_get_ns());
	if (with_stacks && p->__state & KSTATE_SLEEPS && has_user(p))
		userregs_read((void *)bpf_task_pt_regs(p), &s->task.pc, &s->task.sp, &s->task.bp);
	bpf_seq_write(seq, &s->task, sizeof(s->task));
	return 0;
}
