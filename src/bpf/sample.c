/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On-CPU samples: user space opens a clock on each CPU that runs this program
 * some 99 times a second, whatever runs there.  Samples of watched processes
 * are sent and walked each time, which costs 10 to 20 us.  While stacks are
 * shed one in SAMPLE_EVERY stands for the others; of a thread that has run on
 * without a break each is sent, for it may be what others wait for.
 */
#define SAMPLE_EVERY 4
#define RUNS_ON_NS (10 * 1000 * NSEC_PER_USEC)

/* How many samples the present one of t stands for, 0: another stands for it. */
static __always_inline u32 sample_weight(const struct thr *t, u64 now)
{
	struct runners *r = this_cpu();

	if (!(shed & SHED_STACKS) || !r || (t && since(t->state_ns, now) >= RUNS_ON_NS))
		return 1;
	return ++r->samples % SAMPLE_EVERY ? 0 : SAMPLE_EVERY;
}

SEC("perf_event")
int hu_sample(void *ctx)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u32 tgid = cur->tgid;
	u64 now = bpf_ktime_get_ns();
	struct wire_sample *w;
	u32 id, cnt;

	if (!with_stacks || !cur->pid || !bpf_map_lookup_elem(&hu_procs, &tgid))
		return 0;
	cnt = sample_weight(thr_of(cur), now);
	if (!cnt)
		return 0;
	id = stack_walk(ctx, cur, NULL, false, now);
	w = bpf_ringbuf_reserve(&hu_ring, sizeof(*w), 0);
	if (!w) {
		count_loss(HU_LOSS_SAMPLES);
		return 0;
	}
	hdr_fill(&w->hdr, WIRE_SAMPLE, sizeof(*w), cur->pid, now);
	w->tgid = tgid;
	w->stack = id;
	w->cpu = bpf_get_smp_processor_id();
	w->cnt = cnt;
	bpf_ringbuf_submit(w, ring_flags());
	return 0;
}
