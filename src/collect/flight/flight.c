/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the freeze: all programs are loaded, but only those of the calls and
 * of processes that come and go are attached.  At the freeze these leave and,
 * for a while, the others come: the capture then also has what the threads
 * wait for and where they run.
 */
#include "collect/flight/flight.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "collect/flight/flight_int.h"
#include "collect/live/live_stacks.h"
#include "wire/stacks.h"
#include "heldup.skel.h"

#define DEFAULT_WINDOW_NS (300 * NS_PER_SEC)
#define DEFAULT_THEN_NS (3 * NS_PER_SEC)
#define DEFAULT_SLOW_NS NS_PER_MS
#define MEMORY_MAX_BYTES (16ull << 30)
#define BLOCKING_BYTES (64ull << 20) /* five minutes of 10,000 waits a second, packed */
#define MEMORY_MIN_BYTES (1ull << 20)
#define STEP_NS NS_PER_SEC
#define STACKS_MAX_BYTES (64u << 20)
#define SAMPLES_KEPT (1u << 18) /* 8 MiB: five minutes of eight CPUs that never rest */
#define WAIT_MS 100 /* a signal that comes between the look and the wait is seen after this */

/* Time in which the kernel ends its work on a call that began before the programs went. */
#define SETTLE_US 2000

static uint64_t default_memory(const struct flight_opts *o)
{
	uint64_t share = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 32;
	uint64_t most = o->blocking ? BLOCKING_BYTES : 256 << 20;

	return share < most ? share : most;
}

/* A ring for seconds of all calls: 3 s of 300,000 a second fit. */
static uint64_t ring_bytes(const struct flight_opts *o)
{
	return o->blocking ? o->memory_bytes / 4 : o->memory_bytes;
}

int flight_open(struct live *l, struct err *err)
{
	struct live_flight *f = l->flight;
	struct flight_opts *o = &f->opts;
	int cpus = libbpf_num_possible_cpus();
	uint64_t each;

	o->window_ns = o->window_ns ? o->window_ns : DEFAULT_WINDOW_NS;
	o->slow_ns = o->slow_ns ? o->slow_ns : DEFAULT_SLOW_NS;
	o->then_ns = o->then_ns ? o->then_ns : DEFAULT_THEN_NS;
	o->memory_bytes = o->memory_bytes ? o->memory_bytes : default_memory(o);
	if (o->window_ns > FLIGHT_WINDOW_MAX_NS)
		return err_usage(err, "a window of calls is at most an hour");
	if (o->memory_bytes > MEMORY_MAX_BYTES || o->memory_bytes < MEMORY_MIN_BYTES)
		return err_usage(err, "memory for calls: 1M to 16G");
	if (cpus < 1 || cpus > FLIGHT_CPUS_MAX)
		return err_set(err, -ENOTSUP, "calls of so many CPUs cannot be recorded");
	each = ring_bytes(o) / sizeof(struct call_rec) / cpus;
	for (f->ring_cnt = 64; f->ring_cnt * 2 <= each; f->ring_cnt *= 2)
		;
	f->cpu_cnt = cpus;
	f->duty.before = xcalloc(cpus, sizeof(*f->duty.before));
	if (o->blocking)
		flight_keep_open(f);
	return 0;
}

void flight_settings(struct live_flight *f, struct heldup_bpf *skel)
{
	static const uint8_t kinds[] = {[FLIGHT_STACKS_SLOW] = CALL_STACKS_SLOW,
					[FLIGHT_STACKS_NONE] = CALL_STACKS_NONE,
					[FLIGHT_STACKS_ALL] = CALL_STACKS_ALL};

	bpf_map__set_max_entries(skel->maps.hu_call_ring, f->cpu_cnt * f->ring_cnt);
	bpf_map__set_max_entries(skel->maps.hu_call_heads, f->cpu_cnt);
	skel->rodata->with_calls = 1;
	skel->rodata->call_ring_mask = f->ring_cnt - 1;
	skel->rodata->call_others = f->opts.blocking || f->opts.max_cost > 0;
	skel->rodata->call_slow_ns = f->opts.slow_ns;
	if (skel->rodata->with_stacks)
		skel->rodata->call_stacks = kinds[f->opts.stacks];
	flight_info_fill(skel->rodata->call_info, skel->rodata->call_errs);
}

static size_t map_bytes(const struct bpf_map *map)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return ((size_t)bpf_map__value_size(map) * bpf_map__max_entries(map) + page - 1) &
	       ~(page - 1);
}

static int map_one(struct live *l, const struct bpf_map *map, const void *ret_at)
{
	size_t len = map_bytes(map);
	void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return -errno;
	memcpy((void *)(uintptr_t)ret_at, &at, sizeof(at));
	l->flight->report.memory_bytes += len;
	return 0;
}

int flight_map(struct live *l, struct err *err)
{
	struct live_flight *f = l->flight;
	struct heldup_bpf *skel = l->bpf.skel;
	int rc = map_one(l, skel->maps.hu_call_ring, &f->ring);

	if (rc == 0)
		rc = map_one(l, skel->maps.hu_call_heads, &f->heads);
	if (rc == 0)
		rc = map_one(l, skel->maps.hu_call_slots, &f->slots);
	if (rc == 0)
		rc = map_one(l, skel->maps.hu_call_tasks, &f->tasks);
	f->report.memory_bytes += map_bytes(skel->maps.hu_call_fds);
	return rc < 0 ? err_errno(err, rc, "map the memory for calls") : 0;
}

static void unmap_one(const void *at, const struct bpf_map *map)
{
	if (at)
		munmap((void *)(uintptr_t)at, map_bytes(map));
}

void flight_release(struct live *l)
{
	struct live_flight *f = l->flight;
	struct heldup_bpf *skel = l->bpf.skel;

	if (!f)
		return;
	if (skel) {
		unmap_one(f->ring, skel->maps.hu_call_ring);
		unmap_one(f->heads, skel->maps.hu_call_heads);
		unmap_one(f->slots, skel->maps.hu_call_slots);
		unmap_one(f->tasks, skel->maps.hu_call_tasks);
	}
	flight_keep_release(f);
	for (int i = 0; i < 2; i++)
		free(f->marks[i].heads);
	flight_watch_free(f->watch);
	free(f->duty.before);
	hmap_release(&f->stacks.at);
	vec_release(&f->stacks.bytes);
	vec_release(&f->samples.items);
	free(f);
	l->flight = NULL;
}

void flight_mark(struct live_flight *f, uint64_t now)
{
	struct flight_mark old = f->marks[1];

	if (f->marks[0].ts_ns && now - f->marks[0].ts_ns < f->opts.window_ns)
		return;
	f->marks[1] = f->marks[0];
	f->marks[0] = old;
	if (!old.heads)
		f->marks[0].heads = xcalloc(f->cpu_cnt, sizeof(*old.heads));
	f->marks[0].ts_ns = now;
	for (uint32_t cpu = 0; cpu < f->cpu_cnt; cpu++)
		f->marks[0].heads[cpu] = f->heads[cpu].head;
}

/* Only counts what the first iteration finds: names are written at the freeze. */
static void count_seen(void *ctx, const struct wire_hdr *rec, size_t size)
{
	struct live *l = ctx;

	if (size >= sizeof(struct wire_task) && rec->kind == WIRE_TASK)
		l->flight->seen_cnt++;
}

static void keep_stack(struct live_flight *f, const struct wire_stack *w, size_t size)
{
	struct flight_kept *k = &f->stacks;
	uint64_t *slot;

	size = (size + 7) & ~(size_t)7;
	if (w->id > CALL_STACK_MASK || k->bytes.cnt + size > STACKS_MAX_BYTES) {
		k->lost_cnt++;
		return;
	}
	slot = hmap_slot(&k->at, w->id);
	*slot = k->bytes.cnt + 1;
	vec_reserve(&k->bytes, k->bytes.cnt + size);
	memset(&k->bytes.items[k->bytes.cnt], 0, size);
	memcpy(&k->bytes.items[k->bytes.cnt], w, w->hdr.size);
	k->bytes.cnt += size;
}

static void keep_sample(struct live_flight *f, const struct wire_sample *w)
{
	struct flight_sampled *s = &f->samples;

	if (s->items.cnt < SAMPLES_KEPT)
		vec_push(&s->items, *w);
	else
		s->items.items[s->cnt % SAMPLES_KEPT] = *w;
	s->cnt++;
}

void flight_samples_mark(const struct live_flight *f, uint64_t begin_ns, uint64_t *used)
{
	VEC_FOREACH(&f->samples.items, w)
		if (w->hdr.ts_ns >= begin_ns && w->stack && w->stack <= CALL_STACK_MASK)
			used[w->stack / 64] |= 1ull << (w->stack & 63);
}

void flight_samples_put(struct live *l, uint64_t begin_ns)
{
	const struct flight_sampled *s = &l->flight->samples;
	uint64_t at = s->cnt - s->items.cnt;

	for (; at < s->cnt; at++) {
		const struct wire_sample *w = &s->items.items[at % SAMPLES_KEPT];

		if (w->hdr.ts_ns >= begin_ns)
			live_sample(l, w);
	}
}

/*
 * What the kernel side sends before the freeze: stacks and samples are kept, since no
 * event may come before EV_META, and questions for mappings answered.
 */
static void record_before(void *ctx, const struct wire_hdr *rec, size_t size)
{
	struct live *l = ctx;

	if (rec->kind == WIRE_STACK && size >= WIRE_STACK_BYTES)
		keep_stack(l->flight, (const void *)rec, size);
	else if (rec->kind == WIRE_SAMPLE && size >= sizeof(struct wire_sample))
		keep_sample(l->flight, (const void *)rec);
	else if (rec->kind == WIRE_MAPS && size >= sizeof(struct wire_maps))
		live_stacks_asked(l, (const void *)rec);
}

void flight_stacks_put(struct live *l, const uint64_t *used)
{
	struct flight_kept *k = &l->flight->stacks;

	for (uint32_t id = 1; id <= CALL_STACK_MASK; id++) {
		const struct wire_stack *w;
		uint64_t at;

		if (!(used[id / 64] >> (id & 63) & 1) || !hmap_get(&k->at, id, &at))
			continue;
		w = (const void *)&k->bytes.items[at - 1];
		live_stack(l, w, w->hdr.size);
	}
}

int flight_begin(struct live *l, struct err *err)
{
	struct live_flight *f = l->flight;
	live_record_fn fn = l->bpf.fn;
	int rc;

	f->start_ns = clock_mono_ns();
	for (size_t i = 0; i < l->target.cnt; i++)
		live_bpf_watch(&l->bpf, l->target.tgids[i], TASKF_TARGET,
			       l->target.start_ticks[i]);
	l->bpf.fn = count_seen;
	rc = live_bpf_iterate(&l->bpf, l->bpf.calls_iter, 0);
	l->bpf.fn = fn;
	if (rc < 0)
		return err_errno(err, rc, "read the task iterator");
	if (!f->seen_cnt)
		return err_rights(err, -EPERM, "the kernel keeps the threads of the chosen "
					       "processes from BPF");
	f->seeded_ns = clock_mono_ns();
	flight_mark(f, f->seeded_ns);
	return 0;
}

bool flight_alive(struct live *l)
{
	uint32_t tgid;

	return bpf_map_get_next_key(bpf_map__fd(l->bpf.skel->maps.hu_procs), NULL, &tgid) == 0;
}

void flight_retarget(struct live *l)
{
	int fd = bpf_map__fd(l->bpf.skel->maps.hu_procs);
	uint32_t prev = 0, tgid;
	size_t cnt = 0;

	while (cnt < TARGET_MAX && bpf_map_get_next_key(fd, cnt ? &prev : NULL, &tgid) == 0) {
		l->target.tgids = xrealloc(l->target.tgids, (cnt + 1) * sizeof(tgid));
		l->target.tgids[cnt++] = prev = tgid;
	}
	l->target.cnt = cnt;
	memset(l->target.start_ticks, 0, TARGET_MAX * sizeof(*l->target.start_ticks));
}

void flight_freeze(struct live *l, const char *reason)
{
	struct live_flight *f = l->flight;

	if (f->freeze_ns)
		return;
	f->report.lost_cnt += live_bpf_calls_off(&l->bpf);
	f->freeze_ns = clock_mono_ns();
	flight_duty_end(f);
	usleep(SETTLE_US);
	if (!*f->report.reason)
		snprintf(f->report.reason, sizeof(f->report.reason), "%s", reason);
}

bool flight_is_time(struct live *l, uint64_t now, char *reason, size_t size)
{
	struct live_flight *f = l->flight;
	const struct flight_trigger *t = f->opts.trigger;

	if (t && now >= f->trigger_ns) {
		f->trigger_ns = now + (t->every_ns ? t->every_ns : NS_PER_SEC);
		if (t->fired(t->ctx, reason, size))
			return true;
	}
	if (flight_watch(f, now, reason, size))
		return true;
	if (stop_requested() || l->stopping || f->keep.stop_asked)
		snprintf(reason, size, "asked for");
	else if (l->opts.duration_ns && now >= f->start_ns + l->opts.duration_ns)
		snprintf(reason, size, "the time was up");
	else if (target_ended(&l->target, NULL) || !flight_alive(l))
		snprintf(reason, size, "the watched process ended");
	else
		return false;
	f->report.is_over = true;
	return true;
}

int flight_wait(struct live *l, struct err *err)
{
	struct live_flight *f = l->flight;
	uint64_t end_ns = clock_mono_ns() + STEP_NS, now;
	char reason[FLIGHT_REASON_LEN] = "";
	int rc;

	if (!f->start_ns) {
		rc = flight_begin(l, err);

		f->fn = l->bpf.fn;
		l->bpf.fn = record_before;
		if (rc == 0)
			rc = target_go(&l->target, err);
		if (rc < 0)
			return rc;
	}
	while ((now = clock_mono_ns()) < end_ns) {
		if (flight_is_time(l, now, reason, sizeof(reason))) {
			flight_freeze(l, reason);
			live_bpf_drain(&l->bpf);
			l->bpf.fn = f->fn;
			return 0;
		}
		flight_mark(f, now);
		rc = flight_duty(l, now, err);
		if (rc < 0)
			return rc;
		if (l->stacks) {
			live_bpf_drain(&l->bpf);
			live_stacks_learn(l, now);
		}
		usleep(WAIT_MS * 1000);
	}
	return 1;
}
