/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder called from programs at sys_enter and sys_exit, without the rest
 * of heldup, for t_calls: build/tests/at_call MODE PID...  until SIGINT.
 *
 *	call TID TS enter|exit NR STACK
 *	stack ID TID TGID END MODULE:OFF...	as of build/tests/watch
 *	module ID KIND BASE PATH
 *	walks TAKEN REUSED OVER_BUDGET
 *
 * MODE is enum stacks_mode.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "collect/code/code.h"
#include "collect/emit.h"
#include "store/event.h"
#include "symbols/names/symbols.h"
#include "wire/wire.h"
#include "wire/conf.h"
#include "wire/stacks.h"

#include "at_call.h"
#include "at_call.skel.h"

#define READ_MS 50

struct seen {
	struct emit emit;
	struct code *code;
};

static int put(void *ctx, const struct event_hdr *h)
{
	struct seen *s = ctx;

	if (h->kind == EV_MODULE) {
		const struct ev_module *e = (const void *)h;

		printf("module %u %u %" PRIx64 " %s\n", e->id, e->kind, e->base_vaddr,
		       strtab_str(&s->emit.strs, e->path));
	}
	return 0;
}

static void show_stack(const struct wire_stack *w)
{
	printf("stack %u %u %u %u", w->id, w->hdr.tid, w->tgid, w->end);
	for (uint32_t i = 0; i < w->user_cnt; i++)
		printf(" %u:%" PRIx64, FRAME_MODULE(w->frames[i]),
		       (uint64_t)FRAME_OFF(w->frames[i]));
	for (uint32_t i = 0; i < w->kernel_cnt; i++)
		printf(" k:%" PRIx64, (uint64_t)w->frames[w->user_cnt + i]);
	putchar('\n');
}

static int on_record(void *ctx, void *data, size_t size)
{
	const struct wire_hdr *h = data;
	struct seen *s = ctx;

	(void)size;
	if (h->kind == AT_CALL) {
		const struct at_call *w = data;

		printf("call %u %" PRIu64 " %s %lld %u\n", h->tid, (uint64_t)h->ts_ns,
		       w->what == AT_ENTER ? "enter" : "exit", (long long)w->nr, w->stack);
	} else if (h->kind == WIRE_STACK) {
		show_stack(data);
	} else if (h->kind == WIRE_MAPS) {
		code_ask(s->code, data, clock_mono_ns());
	}
	return 0;
}

static void show_walks(const struct at_call_bpf *skel)
{
	int cpus = libbpf_num_possible_cpus();
	size_t size = bpf_map__value_size(skel->maps.hu_stk_cpu);
	CLEANUP_FREE char *values = xcalloc(cpus > 0 ? cpus : 1, size);
	uint64_t n[UNWC_CNT] = {0};
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.hu_stk_cpu), &zero, values) < 0)
		return;
	for (int cpu = 0; cpu < cpus; cpu++)
		for (int i = 0; i < UNWC_CNT; i++)
			n[i] += ((const struct unw_cpu *)(void *)(values + cpu * size))->cnt[i];
	printf("walks %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", n[UNWC_STACKS], n[UNWC_REUSED],
	       n[UNWC_CALL_BUDGET]);
}

static int watch(struct at_call_bpf *skel, struct seen *s, char **pids)
{
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(skel->maps.hu_ring), on_record, s,
						    NULL);

	if (!ring)
		return -errno;
	for (char **p = pids; *p; p++) {
		uint32_t tgid = (uint32_t)strtoul(*p, NULL, 10);
		struct proc_ent e = {0};

		code_scan(s->code, tgid, clock_mono_ns());
		bpf_map_update_elem(bpf_map__fd(skel->maps.hu_procs), &tgid, &e, BPF_ANY);
	}
	code_commit(s->code);
	puts("ready");
	while (!stop_requested()) {
		code_announce(s->code, &s->emit, clock_mono_ns());
		fflush(stdout);
		ring_buffer__poll(ring, READ_MS);
		ring_buffer__consume(ring); /* stacks come without a wake-up */
		code_step(s->code, clock_mono_ns());
	}
	ring_buffer__free(ring);
	show_walks(skel);
	return 0;
}

int main(int argc, char **argv)
{
	struct at_call_bpf *skel = at_call_bpf__open();
	struct seen s = {0};
	struct event_sink sink = {.put = put, .ctx = &s};
	struct code_fds fds;
	struct symbols *syms;
	int rc;

	if (argc < 3 || !skel)
		return 2;
	stop_init();
	skel->rodata->with_stacks = (uint8_t)strtoul(argv[1], NULL, 10);
	rc = at_call_bpf__load(skel);
	if (rc == 0)
		rc = at_call_bpf__attach(skel);
	if (rc < 0) {
		fprintf(stderr, "at_call: %s\n", strerror(-rc));
		return rc == -EPERM ? 77 : 1;
	}
	fds = (struct code_fds){
		.modules = bpf_map__fd(skel->maps.hu_modules),
		.tables = bpf_map__fd(skel->maps.hu_tables),
		.sets = bpf_map__fd(skel->maps.hu_sets),
		.procs = bpf_map__fd(skel->maps.hu_maps),
		.fresh = bpf_map__fd(skel->maps.hu_fresh),
		.programs = bpf_map__fd(skel->maps.hu_programs),
	};
	syms = symbols_new(NULL);
	emit_to(&s.emit, &sink);
	s.code = code_new(&fds, syms);
	rc = watch(skel, &s, argv + 2);
	code_free(s.code);
	symbols_free(syms);
	emit_release(&s.emit);
	at_call_bpf__destroy(skel);
	return rc < 0;
}
