/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/paths/path_cost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/call_cost.h"
#include "collect/proc/host.h"
#include "reads/reads.h"
#include "store/event.h"

#define TIMING_NS 35.0 /* of a run, what the timing itself takes: bench/programs */

static uint64_t busy_now(void)
{
	struct ev_host host = {0};

	host_read(&host);
	return host.cpu_busy_ns;
}

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

void path_cost_begin(struct path_cost *c, struct bpf_object *obj)
{
	c->on = true;
	c->stats_fd = reads_open_stats();
	c->begin_ns = clock_mono_ns();
	c->own_ns = clock_self_cpu_ns();
	c->busy_ns = busy_now();
	programs(obj, &c->run_ns, &c->run_cnt);
}

void path_cost_end(struct path_cost *c, struct bpf_object *obj)
{
	uint64_t ns, cnt;
	double took, gone, runs, busy;

	programs(obj, &ns, &cnt);
	if (c->stats_fd >= 0)
		close(c->stats_fd);
	runs = (double)(cnt - c->run_cnt);
	took = (double)(ns - c->run_ns) - runs * TIMING_NS;
	took = (took > 0 ? took : 0) + runs * CALL_NS;
	took += (double)(clock_self_cpu_ns() - c->own_ns);
	gone = (double)(clock_mono_ns() - c->begin_ns) + 1;
	busy = (double)(busy_now() - c->busy_ns);
	c->on = false;
	c->end_ns = clock_mono_ns();
	c->took_ns = took;
	c->used_ns = busy > gone ? busy : gone;
	c->share = c->took_ns / c->used_ns;
}
