/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resting, so that a watch costs no more than it may (watch_opts.max_cost_ppm).
 *
 * In the first COST_NS of a turn the kernel is asked to time our programs,
 * which then tells what share of the CPU time in use they take.  A turn ends
 * with a tick.  Where they take more than they may, a rest follows that is as
 * long as it takes for turn and rest together to cost what they may.
 * src/bpf/rest.c says what becomes of the threads and requests meanwhile.
 *
 * What the kernel counts by itself (CPU time, disks, cgroups) goes on in a
 * rest: the events that carry it pass a filter, which takes off what was
 * counted in rests.
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/stop.h"
#include "collect/host.h"
#include "collect/live_int.h"
#include "collect/live_rest.h"
#include "collect/live_stacks.h"
#include "heldup.skel.h"

#define COST_NS (120 * NS_PER_MS)  /* some 10 ticks of the kernel's CPU accounting */
#define TURN_NS (500 * NS_PER_MS)  /* waits and requests of 100 ms must fit in, several times */
#define REST_MAX_NS (5 * NS_PER_SEC)
#define REST_MIN_NS (20 * NS_PER_MS) /* a shorter one costs more than it saves */
#define REST_STEP_MS 50
#define SETTLE_US 200 /* programs that run as the rest begins have ended */
#define STOP_NS 100000 /* the clock stops after the last of them read it */
#define COST_EVERY 3 /* turns between rests of which one is timed: timing costs a quarter more */
/*
 * The kernel times the programs without what it takes to call them, and
 * without what code and data pushed out of the caches cost later.  Measured
 * with `bench/turns`, a turn takes 1.6 to 2.3 times the time in programs.
 */
#define CALL_FACTOR 1.8

/* What is to be taken off the counts of one source: a device, a cgroup, ... */
struct rest_skip {
	uint64_t raw[24], skip[24];
};

struct live_rest {
	struct event_sink sink, *out;
	struct hmap idx; /* kind and source to index + 1 */
	VEC(struct rest_skip) skips;
	bool resuming;
	int stats_fd;	 /* -1: the kernel does not time programs for us */
	uint64_t cost_begin_ns, cost_bpf_ns, cost_busy_ns;
	double cost;	 /* share of the CPU time in use, < 0 not known */
	unsigned untimed; /* turns since the last that was timed */
	uint64_t turn_begin_ns; /* CLOCK_MONOTONIC */
	double bpf_share; /* of one CPU, while watching */
	uint64_t bpf_ns;  /* in the turns that are over */
};

/* The cumulative fields of an event: adjacent uint64_t. */
struct counts { size_t off; unsigned cnt; uint64_t key; };

static bool counts_of(const struct event_hdr *ev, struct counts *ret)
{
	const struct ev_disk *disk = (const void *)ev;

	switch (ev->kind) {
	case EV_DEV:
		*ret = (struct counts){offsetof(struct ev_dev, busy_ns), 2,
				       ((const struct ev_dev *)ev)->dev};
		return true;
	case EV_DISK: /* the largest latency, which follows, is no count */
		*ret = (struct counts){offsetof(struct ev_disk, ios), 3,
				       hash_pair((uint64_t)disk->tgid << 32 | ev->tid,
						 (uint64_t)disk->dev << 32 | disk->op)};
		return true;
	case EV_CGROUP:
		*ret = (struct counts){offsetof(struct ev_cgroup, nr_periods), 3,
				       ((const struct ev_cgroup *)ev)->id};
		return true;
	case EV_HOST:
		*ret = (struct counts){offsetof(struct ev_host, cpu_busy_ns), 16, 0};
		return true;
	default:
		return false;
	}
}

/* Memory free is no count. */
static bool is_level(const struct event_hdr *ev, unsigned i)
{
	return ev->kind == EV_HOST &&
	       i == (offsetof(struct ev_host, mem_avail_bytes) -
		     offsetof(struct ev_host, cpu_busy_ns)) / sizeof(uint64_t);
}

static struct rest_skip *skip_of(struct live_rest *r, const struct event_hdr *ev,
				 const struct counts *c)
{
	uint64_t *slot = hmap_slot(&r->idx, hash_pair(c->key, ev->kind));

	if (!*slot) {
		vec_push(&r->skips, (struct rest_skip){0});
		*slot = r->skips.cnt;
	}
	return &r->skips.items[*slot - 1];
}

static int filter(void *ctx, const struct event_hdr *ev)
{
	struct live_rest *r = ctx;
	uint64_t copy[64];
	struct rest_skip *s;
	struct counts c;
	uint64_t *v;

	if (!counts_of(ev, &c) || ev->size > sizeof(copy))
		return r->out->put(r->out->ctx, ev);
	s = skip_of(r, ev, &c);
	memcpy(copy, ev, ev->size);
	v = copy + c.off / sizeof(uint64_t);
	for (unsigned i = 0; i < c.cnt; i++) {
		uint64_t raw = v[i];

		if (is_level(ev, i))
			continue;
		if (r->resuming)
			s->skip[i] += raw - s->raw[i];
		s->raw[i] = raw;
		v[i] = raw - s->skip[i];
	}
	return r->resuming ? 0 : r->out->put(r->out->ctx, (const void *)copy);
}

static uint64_t busy_ns(void)
{
	struct ev_host host = {0};

	host_read(&host);
	return host.cpu_busy_ns;
}

static double may_cost(const struct live *l)
{
	return l->opts.max_cost_ppm / 1e6;
}

static void turn_begin(struct live *l, uint64_t now)
{
	struct live_rest *r = l->rest;

	r->turn_begin_ns = now;
	r->cost_begin_ns = 0;
	r->stats_fd = -1;
	if (r->cost > may_cost(l) && ++r->untimed < COST_EVERY)
		return;
	r->untimed = 0;
	r->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (r->stats_fd < 0)
		return;
	live_bpf_cost(&l->bpf, &r->cost_bpf_ns);
	r->cost_busy_ns = busy_ns();
	r->cost_begin_ns = now;
}

void live_rest_begin(struct live *l)
{
	struct live_rest *r;

	if (!l->opts.max_cost_ppm)
		return;
	r = l->rest = xcalloc(1, sizeof(*r));
	r->sink = (struct event_sink){.put = filter, .ctx = r};
	r->cost = -1;
	turn_begin(l, clock_mono_ns());
}

void live_rest_release(struct live *l)
{
	struct live_rest *r = l->rest;

	if (!r)
		return;
	if (r->stats_fd >= 0)
		close(r->stats_fd);
	hmap_release(&r->idx);
	vec_release(&r->skips);
	free(r);
	l->rest = NULL;
}

struct event_sink *live_rest_sink(struct live *l, struct event_sink *sink)
{
	if (!l->rest)
		return sink;
	l->rest->out = sink;
	return &l->rest->sink;
}

uint64_t live_now(const struct live *l)
{
	const struct heldup_bpf__bss *bss = l->bpf.skel->bss;

	return (bss->rest_since_ns ? bss->rest_since_ns : clock_mono_ns()) - bss->rest_ns;
}

uint64_t live_rested_ns(const struct live *l)
{
	return l->bpf.skel->bss->rest_ns;
}

/* What our programs took in the turn until now. */
static uint64_t turn_bpf_ns(const struct live_rest *r, uint64_t now)
{
	return (uint64_t)(r->bpf_share * (double)(now - r->turn_begin_ns));
}

uint64_t live_rest_bpf_ns(const struct live *l)
{
	uint64_t since = l->bpf.skel->bss->rest_since_ns;

	if (!l->rest)
		return 0;
	return l->rest->bpf_ns + turn_bpf_ns(l->rest, since ? since : clock_mono_ns());
}

/* What the programs take, of the CPU time in use or of one CPU if that is more. */
void live_rest_step(struct live *l, uint64_t now)
{
	struct live_rest *r = l->rest;
	uint64_t bpf_ns, busy;
	double cost;

	if (!r || !r->cost_begin_ns || now < r->cost_begin_ns + COST_NS)
		return;
	live_bpf_cost(&l->bpf, &bpf_ns);
	busy = busy_ns() - r->cost_busy_ns;
	if (busy < now - r->cost_begin_ns)
		busy = now - r->cost_begin_ns;
	cost = (double)(bpf_ns - r->cost_bpf_ns) / (double)busy * CALL_FACTOR;
	r->bpf_share = (double)(bpf_ns - r->cost_bpf_ns) / (double)(now - r->cost_begin_ns);
	r->cost = r->cost < 0 ? cost : (r->cost + cost) / 2;
	r->cost_begin_ns = 0;
	close(r->stats_fd);
	r->stats_fd = -1;
	if (r->cost > may_cost(l) && r->turn_begin_ns + TURN_NS > now)
		l->next_tick_ns = live_now(l) + r->turn_begin_ns + TURN_NS - now;
}

/* How long to rest after the turn that ends now; 0: not at all. */
static uint64_t rest_len(const struct live *l, uint64_t now)
{
	const struct live_rest *r = l->rest;
	uint64_t turn = now - r->turn_begin_ns, len, left;

	if (r->cost <= may_cost(l) || l->stopping)
		return 0;
	len = (uint64_t)((double)turn * (r->cost / may_cost(l) - 1));
	if (len > REST_MAX_NS)
		len = REST_MAX_NS;
	if (l->end_ns != UINT64_MAX) { /* there is a turn at the end */
		left = l->end_ns > now ? l->end_ns - now : 0;
		if (left < TURN_NS)
			return 0;
		if (len > left - TURN_NS)
			len = left - TURN_NS;
	}
	return len < REST_MIN_NS ? 0 : len;
}

/* Before the tick that ends a turn. */
void live_rest_pause(struct live *l)
{
	struct live_rest *r = l->rest;
	uint64_t now = clock_mono_ns();

	if (!r)
		return;
	l->rest_until_ns = rest_len(l, now);
	if (!l->rest_until_ns)
		return;
	l->rest_until_ns += now;
	__atomic_store_n(&l->bpf.skel->bss->rest_since_ns, now + STOP_NS, __ATOMIC_SEQ_CST);
	usleep(SETTLE_US);
}

/* After that tick: the rest, and the begin of the next turn. */
void live_rest_sleep(struct live *l)
{
	struct heldup_bpf__bss *bss = l->bpf.skel->bss;
	struct live_rest *r = l->rest;
	uint64_t now, slept;
	int rc;

	if (!r)
		return;
	now = clock_mono_ns();
	r->bpf_ns += turn_bpf_ns(r, l->rest_until_ns ? bss->rest_since_ns : now);
	if (!l->rest_until_ns) {
		turn_begin(l, now);
		return;
	}
	live_bpf_rest(&l->bpf);
	while ((now = clock_mono_ns()) < l->rest_until_ns && !l->stopping && !stop_requested() &&
	       !target_ended(&l->target, NULL)) {
		uint64_t left_ms = (l->rest_until_ns - now) / NS_PER_MS + 1;

		live_bpf_wait(&l->bpf, left_ms < REST_STEP_MS ? (int)left_ms : REST_STEP_MS);
		live_bpf_drain(&l->bpf);
	}
	rc = live_bpf_rise(&l->bpf);
	if (rc < 0) {
		emit_note(&l->emit, NOTE_MISSING_HOOK, live_now(l),
			  "the watch ended after a rest: its programs could not be attached "
			  "again (%s)", strerror(-rc));
		l->stopping = 1;
	}
	r->resuming = true;
	live_maps_resume(l);
	r->resuming = false;
	bss->resuming = 1;
	if (l->bpf.sock_iter)
		live_bpf_iterate(&l->bpf, l->bpf.sock_iter, 0);
	live_bpf_iterate(&l->bpf, l->bpf.task_iter, 0);
	bss->resuming = 0;
	now = clock_mono_ns();
	slept = now - bss->rest_since_ns;
	bss->jiffy_off -= slept;
	bss->rest_ns += slept;
	__atomic_store_n(&bss->rest_since_ns, 0, __ATOMIC_SEQ_CST);
	l->rest_until_ns = 0;
	turn_begin(l, now);
	l->next_tick_ns = live_now(l) + TURN_NS;
}
