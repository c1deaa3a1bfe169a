/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frozen rings to events.
 *
 * A ring that has gone round tells all calls that ended after its oldest
 * record did, so the window begins at the youngest of these ends.  Records
 * hold the low bits of a time only: those from before the older of two marks,
 * which are a window old or more, are left out by their place.
 */
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/flight/flight_int.h"
#include "collect/live/live_stacks.h"
#include "collect/proc/procfs.h"
#include "heldup.skel.h"
#include "store/event_calls.h"

#define BEGIN_MASK ((1ull << CALL_BEGIN_BITS) - 1)

struct dump {
	struct live *l;
	struct live_flight *f;
	uint64_t begin_ns, end_ns;
	struct {
		struct ev_calls ev;
		struct ev_call calls[EVENT_CALLS_MAX];
	} batch;
};

static void batch_put(struct dump *d)
{
	struct ev_calls *ev = &d->batch.ev;

	if (!ev->cnt)
		return;
	ev->h = (struct event_hdr){
		.size = (uint16_t)(sizeof(*ev) + ev->cnt * sizeof(d->batch.calls[0])),
		.kind = EV_CALLS,
		.ts_ns = d->end_ns,
	};
	emit_put(&d->l->emit, &ev->h);
	ev->cnt = 0;
}

/* EV_CALL_NAME, once. */
static void flight_name_put(struct live *l, unsigned nr, uint64_t ts_ns)
{
	uint64_t bit = 1ull << (nr & 63);
	struct ev_call_name ev = {.nr = nr};
	const char *name = flight_call_name(nr);

	if (!name || nr >= SYS_NR_MAX || l->flight->named[nr / 64] & bit)
		return;
	l->flight->named[nr / 64] |= bit;
	ev.name = emit_str(&l->emit, name);
	EMIT(&l->emit, &ev, EV_CALL_NAME, 0, ts_ns);
}

static void call_put(struct dump *d, const struct ev_call *call)
{
	flight_name_put(d->l, call->nr, d->end_ns);
	d->batch.calls[d->batch.ev.cnt++] = *call;
	if (d->batch.ev.cnt == EVENT_CALLS_MAX)
		batch_put(d);
}

uint64_t flight_rec_begin(const struct call_rec *r, uint64_t now)
{
	return now - ((now - (r->when >> CALL_STACK_BITS)) & BEGIN_MASK);
}

static uint64_t rec_begin(const struct dump *d, const struct call_rec *r)
{
	return flight_rec_begin(r, d->end_ns);
}

uint64_t flight_rec_dur(const struct call_rec *r)
{
	uint64_t dur = r->what >> CALL_DUR_AT;

	return (dur & CALL_DUR_MAX) << 10 * (dur >> CALL_DUR_BITS);
}

const struct call_rec *flight_rec(const struct live_flight *f, uint32_t cpu, uint64_t at)
{
	return &f->ring[(size_t)cpu * f->ring_cnt + (at & (f->ring_cnt - 1))];
}

/* The first record of a CPU that is there and is not too old. */
static uint64_t first_of(const struct live_flight *f, uint32_t cpu)
{
	uint64_t head = f->heads[cpu].head;
	uint64_t first = head > f->ring_cnt ? head - f->ring_cnt : 0;

	for (int i = 1; i >= 0; i--) {
		const struct flight_mark *m = &f->marks[i];

		if (m->heads && f->freeze_ns - m->ts_ns >= f->opts.window_ns)
			return m->heads[cpu] > first ? m->heads[cpu] : first;
	}
	return first;
}

static void window_find(struct dump *d)
{
	struct live_flight *f = d->f;

	d->end_ns = f->freeze_ns;
	d->begin_ns = d->end_ns - f->start_ns > f->opts.window_ns ? d->end_ns - f->opts.window_ns
								  : f->start_ns;
	f->report.wanted_ns = d->end_ns - d->begin_ns;
	for (uint32_t cpu = 0; cpu < f->cpu_cnt; cpu++) {
		uint64_t head = f->heads[cpu].head, first = first_of(f, cpu);
		const struct call_rec *r = flight_rec(f, cpu, first);
		uint64_t end = rec_begin(d, r) + flight_rec_dur(r);

		f->report.all_cnt += head;
		if (head - first >= f->ring_cnt && end > d->begin_ns)
			d->begin_ns = end < d->end_ns ? end : d->end_ns;
	}
	f->report.window_ns = d->end_ns - d->begin_ns;
}

static bool is_in(const struct dump *d, const struct call_rec *r)
{
	uint64_t begin = rec_begin(d, r);

	return begin + flight_rec_dur(r) >= d->begin_ns && begin <= d->end_ns;
}

static void stacks_put(struct dump *d)
{
	struct live_flight *f = d->f;
	CLEANUP_FREE uint64_t *used = xcalloc(FLIGHT_STACK_WORDS, sizeof(*used));

	for (uint32_t cpu = 0; cpu < f->cpu_cnt; cpu++)
		for (uint64_t at = first_of(f, cpu); at < f->heads[cpu].head; at++) {
			const struct call_rec *r = flight_rec(f, cpu, at);
			uint32_t id = r->when & CALL_STACK_MASK;

			if (id && is_in(d, r))
				used[id / 64] |= 1ull << (id & 63);
		}
	flight_samples_mark(f, d->begin_ns, used);
	flight_stacks_put(d->l, used);
	flight_samples_put(d->l, d->begin_ns);
}

static void ring_put(struct dump *d, uint32_t cpu)
{
	struct live_flight *f = d->f;

	for (uint64_t at = first_of(f, cpu); at < f->heads[cpu].head; at++) {
		const struct call_rec *r = flight_rec(f, cpu, at);
		uint64_t begin = rec_begin(d, r), dur = flight_rec_dur(r);
		unsigned nr = r->what >> CALL_NR_AT & CALL_NR_MAX;
		uint8_t kind = r->what >> CALL_KIND_AT & 15;
		struct ev_call call = {
			.begin_ns = begin,
			.dur_ns = dur,
			.tid = r->what >> CALL_TID_AT & CALL_TID_MAX,
			.nr = (uint16_t)nr,
			.cpu = (uint16_t)cpu,
			.result = r->what >> CALL_RESULT_AT & 7,
			.kind = flight_kind(nr, kind),
			.flags = r->what & (CALL_BLOCKED | CALL_SWITCHED),
		};

		if (!is_in(d, r))
			continue;
		call.stack = live_stack_id(d->l, r->when & CALL_STACK_MASK);
		call.flags |= kind ? CALLF_KEY : 0;
		call.flags |= begin < d->begin_ns || begin <= f->seeded_ns ? CALLF_BEFORE : 0;
		f->report.call_cnt++;
		call_put(d, &call);
	}
}

/* A thread that was in no call when the recording began looks like one that was. */
static bool nr_of_sleeper(uint32_t tid, uint16_t *ret_nr)
{
	struct procfs_syscall call;

	if (procfs_syscall(tid, &call) < 0 || call.nr < 0 || call.nr >= CALL_NR_FOREIGN)
		return false;
	*ret_nr = (uint16_t)call.nr;
	return true;
}

/* While the hooks were away it may have begun any call. */
static bool is_stale(const struct dump *d, const struct call_slot *s)
{
	const struct live_flight *f = d->f;

	if (!f->duty.gap_cnt)
		return false;
	return !s->begin_ns || f->duty.was_away ||
	       (uint8_t)((s->state >> 1) ^ d->l->bpf.skel->bss->call_phase) & 0x7f;
}

static void slots_put(struct dump *d)
{
	for (uint32_t i = 0; i < CALL_SLOTS; i++) {
		const struct call_slot *s = &d->f->slots[i];
		bool unseen;
		struct ev_call call = {
			.begin_ns = s->begin_ns,
			.tid = s->tid,
			.nr = s->nr,
			.cpu = UINT16_MAX,
			.stack = live_stacks_asleep(d->l, s->tid),
			.result = CALL_UNFINISHED,
			.flags = s->state & 1 ? CALLF_SWITCHED : 0,
		};

		if (!s->tid || s->tid > CALL_TID_MAX)
			continue;
		d->f->report.thread_cnt++;
		if (d->f->opts.blocking && d->f->duty.was_away)
			continue; /* its wait tells */
		if (is_stale(d, s)) {
			call.begin_ns = d->l->bpf.skel->bss->call_phase_ns;
			call.nr = CALL_NR_NONE;
		}
		if (!call.begin_ns || call.begin_ns > d->end_ns)
			continue;
		unseen = call.nr == CALL_NR_NONE;
		if (unseen && !nr_of_sleeper(s->tid, &call.nr))
			continue;
		call.dur_ns = d->end_ns - call.begin_ns;
		call.flags |= unseen || call.begin_ns < d->begin_ns ? CALLF_BEFORE : 0;
		d->f->report.unfinished_cnt++;
		call_put(d, &call);
	}
}

/* Threads that came and went; of those that are left the iterator tells. */
static void tasks_put(struct dump *d)
{
	struct live_flight *f = d->f;
	uint64_t head = d->l->bpf.skel->bss->call_task_head;
	uint64_t at = head > CALL_TASKS ? head - CALL_TASKS : 0;

	for (; at < head; at++) {
		struct wire_task w = f->tasks[at & (CALL_TASKS - 1)];

		if (w.hdr.kind != WIRE_TASK || (w.op == TASK_EXIT && w.hdr.ts_ns < d->begin_ns))
			continue;
		if (w.op == TASK_EXIT) { /* it may have begun before what is remembered */
			w.op = TASK_SEEN;
			w.hdr.ts_ns = d->begin_ns;
			live_task(d->l, &w);
			w = f->tasks[at & (CALL_TASKS - 1)];
		}
		live_task(d->l, &w);
	}
}

/* Writes the time without hooks: nothing, or what blocked. */
static void gap_put(struct dump *d, uint64_t begin_ns, uint64_t end_ns)
{
	struct ev_calls_away away = {.begin_ns = begin_ns, .end_ns = end_ns};
	struct ev_calls_part part = {.begin_ns = begin_ns, .end_ns = end_ns};

	if (!d->f->opts.blocking) {
		EMIT(&d->l->emit, &away, EV_CALLS_AWAY, 0, d->end_ns);
		return;
	}
	EMIT(&d->l->emit, &part, EV_CALLS_PART, 0, d->end_ns);
	d->f->report.part_ns += end_ns - begin_ns;
}

static void gaps_put(struct dump *d)
{
	const struct flight_duty *duty = &d->f->duty;
	size_t cnt = duty->gap_cnt < FLIGHT_GAPS ? duty->gap_cnt : FLIGHT_GAPS;

	for (size_t i = 0; i < cnt; i++) {
		const struct flight_gap *g = &duty->gaps[i];

		if (g->end_ns <= d->begin_ns)
			continue;
		if (d->f->opts.blocking && g->begin_ns < d->begin_ns)
			gap_put(d, d->begin_ns, g->end_ns);
		else
			gap_put(d, g->begin_ns, g->end_ns);
	}
}

/*
 * The window begins where the tape does.  Where the ring holds less, or was not
 * written to yet, blocking calls are all there is.
 */
static uint64_t keep_put(struct dump *d)
{
	struct live_flight *f = d->f;
	uint64_t begin_ns = flight_keep_play(d->l);

	if (begin_ns > d->begin_ns)
		d->begin_ns = begin_ns < d->end_ns ? begin_ns : d->end_ns;
	if (begin_ns < d->begin_ns)
		gap_put(d, begin_ns, d->begin_ns);
	f->report.wanted_ns = d->end_ns - d->l->start_ns;
	if (f->report.wanted_ns > f->opts.window_ns)
		f->report.wanted_ns = f->opts.window_ns;
	f->report.window_ns = d->end_ns - begin_ns;
	return begin_ns;
}

void flight_dump(struct live *l)
{
	struct live_flight *f = l->flight;
	struct dump *d = xcalloc(1, sizeof(*d));
	struct ev_window ev = {.flags = WINDOWF_SWITCHES | WINDOWF_KINDS};

	d->l = l;
	d->f = f;
	window_find(d);
	ev.begin_ns = f->opts.blocking ? keep_put(d) : d->begin_ns;
	if (l->stacks && f->opts.stacks != FLIGHT_STACKS_NONE)
		ev.flags |= f->opts.stacks == FLIGHT_STACKS_ALL
				    ? WINDOWF_STACKS | WINDOWF_ALL_STACKS : WINDOWF_STACKS;
	if (!f->opts.blocking) /* the live source reported them */
		tasks_put(d);
	if (l->stacks)
		stacks_put(d);
	for (uint32_t cpu = 0; cpu < f->cpu_cnt; cpu++)
		ring_put(d, cpu);
	slots_put(d);
	batch_put(d);
	gaps_put(d);
	if (!f->opts.blocking)
		f->report.lost_cnt += flight_duty_lost(f, d->begin_ns, &f->report.away_ns);
	ev.flags |= f->report.part_ns ? WINDOWF_BLOCKING : 0;
	ev.lost_cnt = f->report.lost_cnt;
	ev.reason = emit_str(&l->emit, f->report.reason);
	EMIT(&l->emit, &ev, EV_WINDOW, 0, d->end_ns);
	live_stacks_step(l, d->end_ns);
	live_stacks_tick(l, d->end_ns, true);
	f->report.no_slot_cnt = (uint32_t)l->bpf.skel->bss->call_no_slot;
	if (f->opts.report)
		*f->opts.report = f->report;
	free(d);
}
