/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bound on what recording costs (flight_opts.max_cost): where all calls
 * would cost more, the two hooks are there for a part of the time only.
 *
 * Any program at all system calls has a price that it cannot avoid, and a
 * server that does little else but call pays it for each: so the hooks have
 * to leave.  A phase begins by attaching them; its rate of calls, on the CPU
 * that had most, decides how long they stay away after it.  What is missed then
 * is estimated from that rate, counted as lost and reported.
 */
#include <string.h>

#include "base/clock.h"
#include "collect/flight/flight_int.h"
#include "heldup.skel.h"

/*
 * Both hooks, of a call that is recorded and of one of another thread, which
 * costs little less: what the kernel does before it comes to a program is most
 * of it.  Measured with `bench/cost`: with 300 and 200 nginx, which
 * of the servers there loses most by a call, lost 1.0 to 1.1 times what was
 * allowed (0.7 to 1.4 times); others, with less, half of it to two thirds.
 */
#define CALL_COST_NS 360.0
#define OTHER_COST_NS 240.0
/* Shorter ones hold less than a request of a slow server, and to attach has its price too. */
#define PHASE_NS (200 * NS_PER_MS)
#define AWAY_MAX_NS (10 * NS_PER_SEC)

/* Since the phase began: calls recorded, and what the CPU with most paid for all calls. */
static uint64_t calls_since(const struct live_flight *f, double *ret_most_ns)
{
	uint64_t all = 0;

	*ret_most_ns = 0;
	for (uint32_t cpu = 0; cpu < f->cpu_cnt; cpu++) {
		const struct call_head *now = &f->heads[cpu], *then = &f->duty.before[cpu];
		uint64_t n = now->head - then->head;
		double paid_ns = (double)n * CALL_COST_NS +
				 (double)(now->other_cnt - then->other_cnt) * OTHER_COST_NS;

		all += n;
		*ret_most_ns = paid_ns > *ret_most_ns ? paid_ns : *ret_most_ns;
	}
	return all;
}

void flight_phase_begin(struct live_flight *f, uint64_t now)
{
	memcpy(f->duty.before, f->heads, f->cpu_cnt * sizeof(*f->heads));
	f->duty.begin_ns = now;
}

static void phase_end(struct live *l, uint64_t now)
{
	struct live_flight *f = l->flight;
	struct flight_duty *d = &f->duty;
	uint64_t took_ns = now - d->begin_ns;
	double most_ns;
	uint64_t all = calls_since(f, &most_ns);
	double away_ns = most_ns / f->opts.max_cost - (double)took_ns;

	if (away_ns < PHASE_NS / 10.0) {
		flight_phase_begin(f, now);
		return;
	}
	d->rate = (double)all / (double)took_ns;
	d->away_ns = now;
	d->back_ns = now + (away_ns < AWAY_MAX_NS ? (uint64_t)away_ns : AWAY_MAX_NS);
	f->report.lost_cnt += live_bpf_calls_off(&l->bpf);
}

/* Notes a time without hooks in a ring: old ones leave the window too. */
static void away_add(struct live_flight *f, uint64_t now)
{
	struct flight_duty *d = &f->duty;

	d->gaps[d->gap_cnt++ % FLIGHT_GAPS] = (struct flight_gap){
		.begin_ns = d->away_ns,
		.end_ns = now,
		.lost_cnt = (uint64_t)(d->rate * (double)(now - d->away_ns)),
	};
	d->back_ns = 0;
}

int flight_duty_back(struct live *l, uint64_t now, struct err *err)
{
	struct live_flight *f = l->flight;

	away_add(f, now);
	l->bpf.skel->bss->call_phase_ns = now;
	l->bpf.skel->bss->call_phase++;
	flight_phase_begin(f, now);
	return live_bpf_attach(&l->bpf, ATTACH_BACK, err);
}

int flight_duty(struct live *l, uint64_t now, struct err *err)
{
	struct live_flight *f = l->flight;
	struct flight_duty *d = &f->duty;

	if (f->opts.max_cost <= 0)
		return 0;
	if (!d->begin_ns)
		flight_phase_begin(f, now);
	if (!d->back_ns && now - d->begin_ns >= PHASE_NS)
		phase_end(l, now);
	return d->back_ns && now >= d->back_ns ? flight_duty_back(l, now, err) : 0;
}

void flight_duty_end(struct live_flight *f)
{
	f->duty.was_away = f->duty.back_ns != 0;
	if (f->duty.was_away)
		away_add(f, f->freeze_ns);
}

uint64_t flight_duty_lost(const struct live_flight *f, uint64_t since_ns, uint64_t *ret_away_ns)
{
	const struct flight_duty *d = &f->duty;
	size_t cnt = d->gap_cnt < FLIGHT_GAPS ? d->gap_cnt : FLIGHT_GAPS;
	uint64_t lost = 0;

	*ret_away_ns = 0;
	for (size_t i = 0; i < cnt; i++) {
		const struct flight_gap *g = &d->gaps[i];
		uint64_t begin = g->begin_ns > since_ns ? g->begin_ns : since_ns;

		if (g->end_ns <= begin)
			continue;
		*ret_away_ns += g->end_ns - begin;
		lost += (uint64_t)((double)g->lost_cnt * (double)(g->end_ns - begin) /
				   (double)(g->end_ns - g->begin_ns));
	}
	return lost;
}
