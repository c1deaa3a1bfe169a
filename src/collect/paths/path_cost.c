/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/paths/path_cost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/call_cost.h"
#include "collect/proc/host.h"
#include "reads/reads.h"

#define TIMING_NS 35.0 /* of a run, what the timing itself takes: bench/programs */
#define TIME_NS (200 * NS_PER_MS)
#define TIME_EVERY_NS NS_PER_SEC
/* Until it is seen: 2 us were measured, the first slice has to touch new memory as well. */
#define EVENT_NS 2000.0
#define EVENTS_MIN 1000 /* of fewer the time of one says nothing */
#define OFF_NS 15.0 /* a run that records nothing, without its call */
#define DRAIN_NS 200.0 /* an event's, before it is analysed */

static void programs(struct bpf_object *obj, uint64_t *ret_ns, uint64_t *ret_cnt)
{
	struct bpf_program *prog;

	*ret_ns = *ret_cnt = 0;
	bpf_object__for_each_program(prog, obj) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) < 0)
			continue;
		*ret_ns += info.run_time_ns;
		*ret_cnt += info.run_cnt;
	}
}

void path_cost_start(struct path_cost *c, struct bpf_object *obj, uint32_t max_ppm)
{
	*c = (struct path_cost){.obj = obj, .may = max_ppm / 1e6, .event_ns = EVENT_NS,
				.begin_ns = clock_mono_ns(), .own_ns = clock_self_cpu_ns(),
				.busy_ns = host_busy_ns(), .stats_fd = -1};
}

static void timing_begin(struct path_cost *c, uint64_t now)
{
	c->stats_fd = reads_open_stats();
	c->timed_ns = now;
	programs(c->obj, &c->run_ns, &c->run_cnt);
}

/* A new rate; returns what the timing itself took, a cost as long as it lasts. */
static double timing_read(struct path_cost *c, uint64_t now)
{
	uint64_t ns, cnt;
	double runs, took;

	programs(c->obj, &ns, &cnt);
	runs = (double)(cnt - c->run_cnt);
	took = (double)(ns - c->run_ns) - runs * TIMING_NS;
	took = (took > 0 ? took : 0) + runs * CALL_NS;
	if (now > c->timed_ns) {
		c->rate = took / (double)(now - c->timed_ns);
		c->off_rate = runs * (CALL_NS + OFF_NS) / (double)(now - c->timed_ns);
	}
	return runs * TIMING_NS;
}

static void sum(struct path_cost *c, uint64_t now)
{
	c->programs_ns += c->rate * (double)(now - c->summed_ns);
	c->summed_ns = now;
}

static void timing_end(struct path_cost *c, uint64_t now)
{
	double timing_ns = timing_read(c, now);

	if (c->stats_fd >= 0)
		close(c->stats_fd);
	c->timed_ns = 0;
	c->programs_ns += timing_ns;
	sum(c, now);
}

void path_cost_follow(struct path_cost *c)
{
	c->slice_ns = c->summed_ns = clock_mono_ns();
	timing_begin(c, c->slice_ns);
}

void path_cost_tick(struct path_cost *c)
{
	uint64_t now = clock_mono_ns();

	if (c->timed_ns && now - c->timed_ns > TIME_NS) {
		timing_end(c, now);
	} else if (!c->timed_ns && now - c->summed_ns > TIME_EVERY_NS) {
		sum(c, now);
		timing_begin(c, now);
	}
}

void path_cost_rest(struct path_cost *c)
{
	uint64_t now = clock_mono_ns();

	if (c->timed_ns)
		timing_end(c, now);
	else
		sum(c, now);
}

void path_cost_called(struct path_cost *c, uint64_t ns)
{
	c->programs_ns += c->off_rate * (double)ns;
}

void path_cost_analysed(struct path_cost *c, uint64_t event_cnt, uint64_t own_ns)
{
	if (event_cnt >= EVENTS_MIN)
		c->event_ns = DRAIN_NS + (double)own_ns / (double)event_cnt;
}

void path_cost_points(struct path_cost *c, double ns)
{
	c->programs_ns += ns;
}

double path_cost_rate(struct path_cost *c, uint64_t event_cnt)
{
	uint64_t now = clock_mono_ns();

	if (c->timed_ns)
		timing_read(c, now);
	return c->rate + (double)event_cnt * c->event_ns / (double)(now - c->slice_ns + 1);
}

double path_cost_spent(const struct path_cost *c)
{
	return c->programs_ns + (double)(clock_self_cpu_ns() - c->own_ns);
}

double path_cost_used(const struct path_cost *c)
{
	double gone = (double)(clock_mono_ns() - c->begin_ns) + 1;
	double busy = (double)(host_busy_ns() - c->busy_ns);

	return busy > gone ? busy : gone;
}
