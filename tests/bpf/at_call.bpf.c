/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A stack at the entry and at the exit of each system call, for t_calls. */
#pragma clang diagnostic ignored "-Wunused-function" /* the files below have more than is used */

#include "bpf/track.h"

#include "bpf/fill.h"
#include "bpf/regs.h"

#include "bpf/res.c"

#include "bpf/unwind/unwind_user.c"

#include "bpf/unwind/runtime_frames.c"

#include "bpf/unwind/stack_take.c"

#include "at_call.h"

static __always_inline int at_call(u32 what, u64 nr)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns();
	u32 tgid = cur->tgid, stack;
	struct at_call *w;

	if (!bpf_map_lookup_elem(&hu_procs, &tgid))
		return 0;
	stack = stack_at_call(cur, now);
	w = bpf_ringbuf_reserve(&hu_ring, sizeof(*w), 0);
	if (!w) {
		count_loss(HU_LOSS_RING);
		return 0;
	}
	hdr_fill(&w->hdr, AT_CALL, sizeof(*w), cur->pid, now);
	w->stack = stack;
	w->what = what;
	w->nr = nr;
	bpf_ringbuf_submit(w, 0);
	return 0;
}

SEC("tp_btf/sys_enter")
int at_enter(u64 *ctx)
{
	return at_call(AT_ENTER, ctx[1]);
}

SEC("tp_btf/sys_exit")
int at_exit(u64 *ctx)
{
	struct sysregs s;

	sysregs_read((void *)ctx[0], &s);
	return at_call(AT_EXIT, s.nr);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
