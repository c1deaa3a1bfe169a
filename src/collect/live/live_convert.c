/* SPDX-License-Identifier: Apache-2.0 */
/* The one converter from wire records to stored events. */
#include "base/clock.h"
#include "collect/live/live_int.h"
#include "collect/live/live_stacks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collect/code/ksyms.h"
#include "heldup.skel.h"
#include "wire/stacks.h"

#define KSTACK_DEPTH 24

/* Event id of a kernel stack, sent at its first use; 0 none. */
static uint32_t kstack_id(struct live *l, int32_t id, uint64_t ts_ns)
{
	CLEANUP(buf_release) struct buf frames = {0};
	uint64_t ips[KSTACK_DEPTH] = {0};
	struct ev_kstack ev = {.id = (uint32_t)id + 1};
	uint32_t key = id;
	size_t cnt = 0;

	if (id < 0)
		return 0;
	if (hmap_get(&l->kstacks, ev.id, NULL))
		return ev.id;
	if (bpf_map__lookup_elem(l->bpf.skel->maps.hu_kstacks, &key, sizeof(key), ips, sizeof(ips),
				 0) < 0)
		return 0;
	while (cnt < KSTACK_DEPTH && ips[cnt])
		cnt++;
	hmap_put(&l->kstacks, ev.id, 1);
	ksyms_frames(l->ksyms, ips, cnt, &frames);
	ev.frames = emit_str(&l->emit, buf_str(&frames));
	EMIT(&l->emit, &ev, EV_KSTACK, 0, ts_ns);
	return ev.id;
}

/*
 * Counts records that the ring buffer could not take.  Those of a thread that
 * changed its CPU may come a batch late: what looked lost is taken back.
 */
static void check_seq(struct live *l, const struct wire_wait *w)
{
	uint64_t *next = hmap_find(&l->tids, w->hdr.tid);

	if (!next) /* on its way out: no entry for the dead */
		return;
	if (*next && w->seq < *next - 1) {
		if (l->loss[LOSS_SEQ])
			l->loss[LOSS_SEQ]--;
		return;
	}
	if (*next)
		l->loss[LOSS_SEQ] += w->seq - (*next - 1);
	*next = (uint64_t)w->seq + 2;
}

static void conv_wait(struct live *l, const struct wire_wait *w)
{
	struct ev_wait ev = {
		.off_ns = w->off_ns,
		.wake_ns = w->wake_ns,
		.res = w->res,
		.first_io = w->first_io,
		.tgid = w->tgid,
		.seq = w->seq,
		.waker_tid = w->waker_tid,
		.waker_tgid = w->waker_tgid,
		.owner_tid = live_owner(l, w),
		.sysnr = w->sysnr,
		.cls = w->cls,
		.op = w->op,
		.waker_ctx = w->waker_ctx,
		.flags = w->flags,
		.cpu = w->cpu,
		.own_open = w->own_open,
		.proc_open = w->proc_open,
		.ustack = live_wait_stack(l, w),
		.waker_stack = live_stack_id(l, w->waker_stack),
	};

	if (!(w->flags & WAITF_PENDING))
		check_seq(l, w);
	if (w->waker_ctx == WAKER_TASK)
		live_bystander(l, w->waker_tgid, w->hdr.ts_ns);
	live_wait_lock(l, w, &ev);
	ev.kstack = kstack_id(l, w->kstack, w->hdr.ts_ns);
	EMIT(&l->emit, &ev, EV_WAIT, w->hdr.tid, w->hdr.ts_ns);
}

static void conv_turn(struct live *l, const struct wire_turn *w)
{
	struct ev_turn ev = {
		.res = w->res,
		.queue_ns = w->queue_ns,
		.service_ns = w->service_ns,
		.tgid = w->tgid,
		.first_tid = w->first_tid,
		.role = w->role,
		.flags = w->flags,
	};

	EMIT(&l->emit, &ev, EV_TURN, w->hdr.tid, w->hdr.ts_ns);
}

static void conv_thread(struct live *l, const struct wire_thread *w)
{
	struct ev_thread ev = {
		.since_ns = w->since_ns,
		.run_ns = w->run_ns,
		.runq_ns = w->runq_ns,
		.iowait_ns = w->iowait_ns,
		.unint_ns = w->unint_ns,
		.wait_cnt = w->wait_cnt,
		.exec_ns = w->exec_ns,
		.run_delay_ns = w->run_delay_ns,
		.klock_ns = w->klock_ns,
		.klock_cnt = w->klock_cnt,
		.reclaim_ns = w->reclaim_ns,
		.reclaim_cnt = w->reclaim_cnt,
		.quiet_ns = w->quiet_ms * NS_PER_MS,
		.stall_ns = w->stall_ns,
		.stall_max_ns = w->stall_max_ns,
		.maj_flt = w->maj_flt,
		.min_flt = w->min_flt,
		.read_bytes = w->read_bytes,
		.write_bytes = w->write_bytes,
		.tgid = w->tgid,
		.stall_cnt = w->stall_cnt,
		.nvcsw = w->nvcsw,
		.nivcsw = w->nivcsw,
	};

	memcpy(ev.wait_ns, w->wait_ns, sizeof(w->wait_ns));
	EMIT(&l->emit, &ev, EV_THREAD, w->hdr.tid, w->hdr.ts_ns);
}

void live_convert(void *ctx, const struct wire_hdr *h, size_t size)
{
	static const uint16_t sizes[] = {
		[WIRE_WAIT] = sizeof(struct wire_wait), [WIRE_TASK] = sizeof(struct wire_task),
		[WIRE_RES] = sizeof(struct wire_res),	[WIRE_TURN] = sizeof(struct wire_turn),
		[WIRE_THREAD] = sizeof(struct wire_thread), [WIRE_SOCK] = sizeof(struct wire_sock),
		[WIRE_STACK] = WIRE_STACK_BYTES,	[WIRE_SAMPLE] = sizeof(struct wire_sample),
		[WIRE_MAPS] = sizeof(struct wire_maps),
	};
	struct live *l = ctx;

	if (size < sizeof(*h) || h->kind >= sizeof(sizes) / sizeof(sizes[0]) || !h->kind ||
	    size < sizes[h->kind]) {
		l->bpf.bad_cnt++;
		return;
	}
	switch (h->kind) {
	case WIRE_WAIT:
		conv_wait(l, (const void *)h);
		return;
	case WIRE_TASK:
		live_task(l, (const void *)h);
		return;
	case WIRE_RES:
		live_res(l, (const void *)h);
		return;
	case WIRE_TURN:
		conv_turn(l, (const void *)h);
		return;
	case WIRE_THREAD:
		conv_thread(l, (const void *)h);
		return;
	case WIRE_SOCK:
		live_sock(l, (const void *)h);
		return;
	case WIRE_STACK:
		live_stack(l, (const void *)h, size);
		return;
	case WIRE_SAMPLE:
		live_sample(l, (const void *)h);
		return;
	case WIRE_MAPS:
		live_stacks_asked(l, (const void *)h);
		return;
	}
}
