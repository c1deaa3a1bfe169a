/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the events of the live source as they come, one line each, for the
 * tests of exactness: build/tests/watch SECONDS RING_BYTES PID...
 *
 *	thread TID TS SINCE RUN RUNQ EXEC DELAY KLOCK RECLAIM WAIT_CNT C0 C1 ...
 *	wait TID OFF WAKE END CLASS OP CTX FLAGS WAKER OWNER RES SEQ SYSNR STACK WAKER_STACK
 *	res ID KIND ROLE INO PEER NAME
 *	note TEXT
 *	loss C0 C1 ...		self CPU_NS EVENTS MAP_BYTES	end ...	disk ...
 *
 * From the environment: WATCH_STACKS (enum stacks_mode), WATCH_STACK_IDS,
 * WATCH_TICK_MS, WATCH_OPEN_FILES, WATCH_DEBUG.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/stop.h"
#include "collect/select.h"
#include "collect/source.h"
#include "store/event.h"

#define PIDS_MAX 64

struct watch {
	char *strs[65536];
};

static const char *str(const struct watch *w, uint32_t id)
{
	return id < 65536 && w->strs[id] ? w->strs[id] : "";
}

static void show_thread(const struct ev_thread *e)
{
	printf("thread %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %" PRIu64 " %" PRIu64,
	       e->h.tid, e->h.ts_ns, e->since_ns, e->run_ns, e->runq_ns, e->exec_ns,
	       e->run_delay_ns, e->klock_ns, e->reclaim_ns, e->wait_cnt);
	for (int i = 0; i < WAIT_CLASS_CNT; i++)
		printf(" %" PRIu64, e->wait_ns[i]);
	putchar('\n');
}

static void show_wait(const struct ev_wait *e)
{
	printf("wait %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %u %u %u %u %" PRIx64
	       " %u %d %u %u\n",
	       e->h.tid, e->off_ns, e->wake_ns, e->h.ts_ns, e->cls, e->op, e->waker_ctx, e->flags,
	       e->waker_tid, e->owner_tid, e->res, e->seq, e->sysnr,
	       e->ustack, e->waker_stack);
}

static void show_loss(const struct ev_loss *e)
{
	printf("loss");
	for (int i = 0; i < LOSS_CNT; i++)
		printf(" %" PRIu64, e->cnt[i]);
	putchar('\n');
}

static void show_module(const struct watch *w, const struct ev_module *e)
{
	printf("module %u %u %" PRIx64 " %s\n", e->id, e->kind, e->base_vaddr, str(w, e->path));
}

/* The user's frames, then the kernel's. */
static void show_stack(const struct ev_stack *e)
{
	const uint64_t *frames = (const void *)(e + 1);

	printf("stack %u %u %u %u", e->id, e->h.tid, e->tgid, e->end);
	for (uint32_t i = 0; i < e->user_cnt; i++)
		printf(" %u:%" PRIx64, FRAME_MODULE(frames[e->kernel_cnt + i]),
		       (uint64_t)FRAME_OFF(frames[e->kernel_cnt + i]));
	for (uint32_t i = 0; i < e->kernel_cnt; i++)
		printf(" k:%" PRIx64, frames[i]);
	printf("\n");
}

static void show_end(const struct watch *w, const struct ev_end *e)
{
	printf("end %u %u %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %" PRIu64 " %s\n",
	       e->tgid, e->role, e->lport, e->rport, e->turns, e->service_ns, e->queue_ns,
	       e->idle_ns, e->open_now, e->open_oldest_ns, e->rx_bytes, str(w, e->name));
}

static int put(void *ctx, const struct event_hdr *h)
{
	struct watch *w = ctx;

	if (h->kind == EV_STR) {
		const struct ev_str *e = (const void *)h;

		if (e->id < 65536)
			w->strs[e->id] = strndup((const char *)(e + 1), e->len);
	} else if (h->kind == EV_THREAD) {
		show_thread((const void *)h);
	} else if (h->kind == EV_WAIT) {
		show_wait((const void *)h);
	} else if (h->kind == EV_MODULE) {
		show_module(w, (const void *)h);
	} else if (h->kind == EV_STACK) {
		show_stack((const void *)h);
	} else if (h->kind == EV_SAMPLE) {
		const struct ev_sample *e = (const void *)h;

		printf("sample %u %u %u\n", e->h.tid, e->tgid, e->stack);
	} else if (h->kind == EV_FRAME) {
		const struct ev_frame *e = (const void *)h;

		printf("frame %" PRIx64 " %s\n", e->frame, str(w, e->fn));
	} else if (h->kind == EV_LOSS) {
		show_loss((const void *)h);
	} else if (h->kind == EV_END) {
		show_end(w, (const void *)h);
	} else if (h->kind == EV_RES) {
		const struct ev_res *e = (const void *)h;

		printf("res %" PRIx64 " %u %u %" PRIu64 " %u %s\n", e->res, e->kind, e->role,
		       e->ino, e->peer_tgid, str(w, e->name));
	} else if (h->kind == EV_SELF) {
		const struct ev_self *e = (const void *)h;

		printf("self %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", e->cpu_ns,
		       e->events, e->map_bytes, e->rss_max_bytes);
	} else if (h->kind == EV_NOTE) {
		printf("note %s\n", str(w, ((const struct ev_note *)h)->text));
	} else if (h->kind == EV_COARSE) {
		const struct ev_coarse *e = (const void *)h;

		printf("coarse %" PRIu64 " %" PRIu64 " %u\n", e->begin_ns, e->end_ns, e->shed);
	} else if (h->kind == EV_TICK) {
		printf("tick %" PRIu64 "\n", h->ts_ns);
		fflush(stdout);
	}
	return 0;
}

static uint64_t number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
	static struct watch watch;
	struct event_sink sink = {.put = put, .ctx = &watch};
	struct select_opts select = {0};
	struct watch_opts opts = {.select = &select, .cmdline = "watch"};
	struct source *src;
	struct err err = {0};
	int32_t pids[PIDS_MAX];
	int rc;

	if (argc < 4 || argc > PIDS_MAX)
		return 2;
	opts.duration_ns = strtoull(argv[1], NULL, 10) * 1000000000;
	opts.ring_bytes = strtoul(argv[2], NULL, 10);
	opts.stacks = number("WATCH_STACKS");
	opts.stack_ids_max = (uint32_t)number("WATCH_STACK_IDS");
	opts.tick_ns = number("WATCH_TICK_MS") * 1000000;
	opts.open_files = (uint32_t)number("WATCH_OPEN_FILES");
	opts.max_cost_ppm = (uint32_t)number("WATCH_MAX_COST_PPM");
	log_set_level(getenv("WATCH_DEBUG") ? LOG_DEBUG : LOG_WARN);
	for (int i = 3; i < argc; i++)
		pids[select.pids.cnt++] = (int32_t)strtol(argv[i], NULL, 10);
	select.pids.items = pids;
	stop_init();
	rc = source_live(&opts, &src, &err);
	while (rc >= 0 && (rc = source_step(src, &sink, &err)) > 0)
		;
	if (rc < 0) {
		fprintf(stderr, "watch: %s\n", err.msg);
		return err.kind == ERR_RIGHTS ? 77 : 1;
	}
	source_free(src);
	return 0;
}
