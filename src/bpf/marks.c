/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Marks that a tracked thread leaves on itself while it is inside a contended
 * kernel lock, direct reclaim or dirty throttling.  A sleep meanwhile is of
 * that class, whatever the system call; time spent spinning is summed apart.
 */

/* The current thread if it is tracked and no interrupt runs on top of it. */
static __always_inline struct thr *thr_current(void)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct thr *t = thr_of(cur);

	if (!t || preempt_bits(cur) & (PC_HARDIRQ | PC_SERVING_SOFTIRQ))
		return NULL;
	count_run(RUN_MARK);
	return t;
}

/*
 * Begin comes twice where a mutex spins before it sleeps.  Inside the slow
 * path a spinlock may be contended too: the outer lock stays the mark.
 */
SEC("tp_btf/contention_begin")
int hu_lock_begin(u64 *ctx)
{
	u64 addr = ctx[0];
	u32 flags = ctx[1];
	struct thr *t = thr_current();

	if (!t)
		return 0;
	if (t->klock_addr && t->klock_addr != addr && flags & LCB_SPIN && !(flags & LCB_MUTEX))
		return 0;
	if (t->klock_addr != addr)
		t->klock_begin_ns = bpf_ktime_get_ns();
	t->klock_addr = addr;
	t->klock_flags = flags;
	return 0;
}

SEC("tp_btf/contention_end")
int hu_lock_end(u64 *ctx)
{
	struct thr *t = thr_current();

	if (!t || t->klock_addr != ctx[0])
		return 0;
	t->klock_ns += since(t->klock_begin_ns, bpf_ktime_get_ns());
	t->klock_cnt++;
	t->klock_addr = 0;
	return 0;
}

static __always_inline int reclaim_begin(void)
{
	struct thr *t = thr_current();

	if (t && !t->reclaim_begin_ns)
		t->reclaim_begin_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int reclaim_end(void)
{
	struct thr *t = thr_current();

	if (!t || !t->reclaim_begin_ns)
		return 0;
	t->reclaim_ns += since(t->reclaim_begin_ns, bpf_ktime_get_ns());
	t->reclaim_cnt++;
	t->reclaim_begin_ns = 0;
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int hu_recl_begin(void *ctx __attribute__((unused)))
{
	return reclaim_begin();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int hu_recl_end(void *ctx __attribute__((unused)))
{
	return reclaim_end();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int hu_mrecl_begin(void *ctx __attribute__((unused)))
{
	return reclaim_begin();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int hu_mrecl_end(void *ctx __attribute__((unused)))
{
	return reclaim_end();
}

/* Comes right before each pause; the next sleep of this thread is that pause. */
SEC("tp_btf/balance_dirty_pages")
int hu_dirty(void *ctx __attribute__((unused)))
{
	struct thr *t = thr_current();

	if (t)
		t->dirty_ns = bpf_ktime_get_ns();
	return 0;
}
