/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On-CPU samples: user space opens a clock on each CPU that runs this program
 * some 99 times a second, whatever runs there.  Samples of watched processes
 * are sent; they are rare enough to be walked each time.
 */

SEC("perf_event")
int hu_sample(void *ctx)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u32 tgid = cur->tgid;
	u64 now = bpf_ktime_get_ns();
	struct wire_sample *w;
	u32 id;

	if (!with_stacks || !cur->pid || !bpf_map_lookup_elem(&hu_procs, &tgid))
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
	w->pad = 0;
	bpf_ringbuf_submit(w, ring_flags());
	return 0;
}
