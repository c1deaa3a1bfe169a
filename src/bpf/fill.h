/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef FILL_H
#define FILL_H
/* From struct thr and task_struct to the records that cross: the only converter on this side. */
#include "bpf/track.h"

/* Off the CPU without a call to wait in: res and op are those of its last call. */
static __always_inline bool waits_for_cpu(const struct thr *t)
{
	return t->flags & WAITF_PREEMPTED || t->cls == WAIT_THROTTLE;
}

static __always_inline void wait_fill(struct wire_wait *w, const struct thr *t, u64 now)
{
	bool cpu = waits_for_cpu(t);

	hdr_fill(&w->hdr, WIRE_WAIT, sizeof(*w), t->tid, now);
	w->off_ns = t->off_ns;
	w->wake_ns = t->flags & WAITF_PREEMPTED ? 0 : t->wake_ns;
	w->res = cpu ? 0 : t->res;
	w->first_io = tio_of(t->tid)->first_io;
	w->tgid = t->tgid;
	w->seq = t->seq;
	w->waker_tid = t->waker_tid;
	w->waker_tgid = t->waker_tgid;
	w->owner_tid = cpu ? 0 : t->owner_tid;
	w->kstack = t->kstack;
	w->sysnr = cpu ? -1 : t->sysnr;
	w->cls = t->cls;
	w->op = cpu ? 0 : t->op;
	w->waker_ctx = t->waker_ctx;
	w->pad = 0;
	w->flags = t->flags;
	w->cpu = 0;
	w->own_open = t->off_open;
	w->proc_open = t->proc_open;
	w->stack = t->stack;
	w->waker_stack = t->waker_stack;
}

/*
 * Sums up to now: the state in progress is added to what is closed.  A global
 * function: the verifier looks at it once, not once for each way to it.
 */
__noinline int thread_sums(struct wire_thread *w, const struct thr *t, u64 now)
{
	const struct tio *io;
	u64 part, slept = 0;
	u32 i, cls;
	bool born;

	if (!w || !t)
		return 0;
	born = t->state == THR_NEW && t->flags & WAITF_PREEMPTED; /* by fork, not queued yet */
	part = since(t->state_ns, now);
	io = tio_of(t->tid);
	cls = t->cls;
	barrier_var(cls); /* or the verifier does not see that it is what is compared below */
	if (t->state == THR_WAIT)
		slept = part;
	else if (t->state == THR_RUNQ && !(t->flags & WAITF_PREEMPTED))
		slept = since(t->off_ns, t->state_ns);

	w->run_ns = t->run_ns + (t->state <= THR_RUN && !born ? part : 0);
	w->runq_ns = t->runq_ns + (t->state == THR_RUNQ || born ? part : 0);
	for (i = 0; i < WAIT_CLASS_CNT; i++)
		w->wait_ns[i] = t->wait_ns[i];
	if (cls < WAIT_CLASS_CNT)
		w->wait_ns[cls] += slept;
	w->iowait_ns = t->iowait_ns;
	w->unint_ns = t->unint_ns;
	if (t->flags & WAITF_IOWAIT)
		w->iowait_ns += slept;
	if (t->flags & WAITF_UNINT)
		w->unint_ns += slept;
	w->wait_cnt = t->wait_cnt;
	w->klock_ns = t->klock_ns;
	w->klock_cnt = t->klock_cnt;
	w->reclaim_ns = t->reclaim_ns;
	w->reclaim_cnt = t->reclaim_cnt;
	w->stall_ns = io->stall_ns;
	w->stall_max_ns = io->stall_max_ns;
	w->stall_cnt = io->stall_cnt;
	w->since_ns = t->since_ns;
	w->tgid = t->tgid;
	w->state = t->state == THR_WAIT;
	w->quiet_ms = (u32)(since(io->last_io_ns > t->since_ns ? io->last_io_ns : t->since_ns,
				  now) / (1000 * NSEC_PER_USEC));
	return 0;
}

static __always_inline void kcounts_read(struct kcounts *ret, struct task_struct *p)
{
	ret->exec_ns = p->se.sum_exec_runtime;
	ret->run_delay_ns = 0;
	if (bpf_core_field_exists(p->sched_info.run_delay))
		ret->run_delay_ns = p->sched_info.run_delay;
	ret->maj_flt = p->maj_flt;
	ret->min_flt = p->min_flt;
	ret->read_bytes = p->ioac.read_bytes;
	ret->write_bytes = p->ioac.write_bytes;
	ret->nvcsw = p->nvcsw;
	ret->nivcsw = p->nivcsw;
}

static __always_inline void thread_fill(struct wire_thread *w, struct task_struct *p,
					const struct thr *t, u64 now)
{
	struct kcounts k;

	hdr_fill(&w->hdr, WIRE_THREAD, sizeof(*w), t->tid, now);
	thread_sums(w, t, now);
	kcounts_read(&k, p);
	w->exec_ns = k.exec_ns;
	w->run_delay_ns = k.run_delay_ns;
	w->maj_flt = k.maj_flt;
	w->min_flt = k.min_flt;
	w->read_bytes = k.read_bytes;
	w->write_bytes = k.write_bytes;
	w->nvcsw = k.nvcsw;
	w->nivcsw = k.nivcsw;
}

static __always_inline void task_fill(struct wire_task *w, struct task_struct *p, u32 op, u32 flags,
				      u64 now)
{
	hdr_fill(&w->hdr, WIRE_TASK, sizeof(*w), p->pid, now);
	w->start_ns = p->start_boottime;
	w->cgroup_id = BPF_CORE_READ(p, cgroups, dfl_cgrp, kn, id);
	w->tgid = p->tgid;
	w->ppid = BPF_CORE_READ(p, real_parent, tgid);
	w->op = op;
	w->exit_code = op == TASK_EXIT ? p->exit_code : 0;
	w->pad = 0;
	w->flags = flags;
	if (p->flags & KPF_KTHREAD)
		w->flags |= TASKF_KTHREAD;
	else if (p->flags & (KPF_USER_WORKER | KPF_IO_WORKER))
		w->flags |= TASKF_USER_WORKER;
	w->pc = w->sp = w->bp = 0;
	bpf_probe_read_kernel_str(w->comm, sizeof(w->comm), p->comm);
}

#endif /* FILL_H */
