/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder that is always on (flight_opts.blocking): the live source runs
 * from the beginning, and its events go to a tape of bounded size and age
 * instead of to the sink.  Its waits tell of each call that blocked; those of a
 * watch without a recorder do so too (watch_opts.blocking).
 *
 * The hooks of all calls are there
 *
 *	for PROBE_NS at the beginning and each AGAIN_NS, to count the calls of
 *	the whole machine, which pay for the hooks as the chosen ones do;
 *	on, while these are fewer than FEW_PER_S;
 *	from what freezes it on, for opts.then_ns.
 *
 * At the end the tape is played to the sink, flight_dump.c adds all calls and
 * says for which times there are none.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "collect/flight/flight_int.h"
#include "heldup.skel.h"
#include "store/event_calls.h"
#include "store/tape.h"

/*
 * The pair of hooks costs a call 150 to 350 ns (docs/flight-overhead.md): at so
 * many it is a tenth to two tenths of a per cent of one CPU.
 */
#define FEW_PER_S 5000
#define PROBE_NS (150 * NS_PER_MS)  /* a look of this length each minute costs nobody anything */
#define LOOK_NS NS_PER_SEC	    /* while they stay: short bursts do not drive them away */
#define AGAIN_NS (60 * NS_PER_SEC)

static int keep_put(void *ctx, const struct event_hdr *ev)
{
	struct flight_keep *k = ctx;

	if (!k->tape)
		return k->out->put(k->out->ctx, ev);
	tape_add(k->tape, ev);
	return 0;
}

struct event_sink *flight_sink(struct live *l, struct event_sink *out)
{
	struct flight_keep *k = l->flight && l->flight->opts.blocking ? &l->flight->keep : NULL;

	if (!k)
		return out;
	k->out = out;
	k->in = (struct event_sink){.put = keep_put, .ctx = k};
	return &k->in;
}

static void name_put(struct live *l, unsigned nr)
{
	struct ev_call_name ev = {.nr = nr};
	const char *name = flight_call_name(nr);

	if (!name)
		return;
	ev.name = emit_str(&l->emit, name);
	EMIT(&l->emit, &ev, EV_CALL_NAME, 0, l->start_ns);
}

void flight_keep_begin(struct live *l)
{
	struct live_flight *f = l->flight;
	struct ev_calls_part part = {.begin_ns = l->start_ns};

	if (f ? !f->opts.blocking : !l->opts.blocking)
		return;
	if (f)
		l->end_ns = UINT64_MAX;
	EMIT(&l->emit, &part, EV_CALLS_PART, 0, l->start_ns);
	for (unsigned nr = 0; nr < SYS_NR_MAX; nr++)
		name_put(l, nr);
	if (f)
		memset(f->named, 0xff, sizeof(f->named));
}

void flight_keep_end(struct live *l, uint64_t now)
{
	struct ev_calls_part part = {.begin_ns = l->start_ns, .end_ns = now};
	struct ev_window ev = {.begin_ns = l->start_ns,
			       .flags = WINDOWF_SWITCHES | WINDOWF_KINDS | WINDOWF_BLOCKING};

	if (l->flight || !l->opts.blocking)
		return;
	ev.flags |= l->stacks ? WINDOWF_STACKS : 0;
	EMIT(&l->emit, &part, EV_CALLS_PART, 0, now);
	EMIT(&l->emit, &ev, EV_WINDOW, 0, now);
}

void flight_keep_open(struct live_flight *f)
{
	/* the rest is the ring's */
	f->keep.tape = tape_new(&(struct tape_opts){
		.max_bytes = f->opts.memory_bytes - (uint64_t)f->ring_cnt * f->cpu_cnt *
							    sizeof(struct call_rec),
		.keep_ns = f->opts.window_ns,
		.packed = true,
	});
}

void flight_keep_release(struct live_flight *f)
{
	tape_free(f->keep.tape);
	f->keep.tape = NULL;
}

/* From here on events go to the sink, after all that were kept. */
uint64_t flight_keep_play(struct live *l)
{
	struct flight_keep *k = &l->flight->keep;
	uint64_t begin_ns = tape_begin_ns(k->tape);
	int rc = tape_replay_open(k->tape, k->out);

	l->flight->report.memory_bytes += tape_bytes(k->tape);
	flight_keep_release(l->flight);
	if (rc < 0 && l->emit.error >= 0)
		l->emit.error = rc;
	return begin_ns;
}

/* Rate of the whole machine, since the phase began. */
static double calls_per_s(const struct live_flight *f, uint64_t now)
{
	uint64_t cnt = 0;

	for (uint32_t cpu = 0; cpu < f->cpu_cnt; cpu++)
		cnt += f->heads[cpu].head - f->duty.before[cpu].head +
		       f->heads[cpu].other_cnt - f->duty.before[cpu].other_cnt;
	return (double)cnt * 1e9 / (double)(now - f->duty.begin_ns);
}

/* Lets the hooks go where they cost too much, and looks again later. */
static int probe(struct live *l, uint64_t now, struct err *err)
{
	struct live_flight *f = l->flight;
	struct flight_duty *d = &f->duty;

	if (!d->begin_ns)
		flight_phase_begin(f, now);
	if (d->back_ns)
		return now >= d->back_ns ? flight_duty_back(l, now, err) : 0;
	if (f->keep.fired_ns || now - d->begin_ns < (f->keep.is_few ? LOOK_NS : PROBE_NS))
		return 0;
	f->keep.is_few = calls_per_s(f, now) <= FEW_PER_S;
	if (f->keep.is_few) {
		flight_phase_begin(f, now);
		return 0;
	}
	d->away_ns = now;
	d->back_ns = now + AGAIN_NS;
	f->report.lost_cnt += live_bpf_calls_off(&l->bpf);
	return 0;
}

/* Keeps all calls on for a while longer, so that what is there to see is seen. */
static int fired(struct live *l, uint64_t now, struct err *err)
{
	struct live_flight *f = l->flight;
	bool then = f->opts.then_ns != FLIGHT_NO_THEN && flight_alive(l) &&
		    !target_ended(&l->target, NULL);

	f->keep.fired_ns = now;
	l->end_ns = then ? now + f->opts.then_ns : now;
	return then && f->duty.back_ns ? flight_duty_back(l, now, err) : 0;
}

int flight_turn(struct live *l, uint64_t now, struct err *err)
{
	struct live_flight *f = l->flight;

	if (!f || f->freeze_ns)
		return 0;
	flight_mark(f, now);
	if (!f->opts.blocking)
		return 0;
	if (!f->keep.fired_ns &&
	    flight_is_time(l, now, f->report.reason, sizeof(f->report.reason)))
		return fired(l, now, err);
	return probe(l, now, err);
}

bool flight_takes_stop(struct live *l)
{
	struct live_flight *f = l->flight;

	if (!f)
		return false;
	if (f->opts.blocking && !f->keep.fired_ns)
		f->keep.stop_asked = 1;
	return f->freeze_ns || f->opts.blocking;
}
