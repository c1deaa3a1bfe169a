/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a watch, and the bound on it.
 *
 * For MEASURE_NS of a phase the kernel times our programs; the rate found
 * there is taken for the phase, and for those like it in the next second.
 * Only differences count, so it does not matter who else has the kernel time
 * programs, or when.  Programs, the calls of them, our own CPU time and the
 * start are the cost; it is held against the CPU time in use on the machine,
 * or one CPU's if that is more.
 *
 * Over the bound, detail is shed by levels, one more at each phase.  A phase
 * is either a slice in which nothing is shed, or the stretch up to the next.
 * Slices are a fair sample: their distance varies at random, so that nothing
 * periodic keeps in step with them.
 */
#include "collect/call_cost.h"
#include "collect/live/live_cost.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/proc/host.h"
#include "collect/live/live_int.h"
#include "heldup.skel.h"
#include "reads/reads.h"

#define MEASURE_NS (30 * NS_PER_MS)
#define REMEASURE_NS (900 * NS_PER_MS)
/* Waits and requests of 50 ms must mostly fit into a slice. */
#define SLICE_NS (100 * NS_PER_MS)
/* The first is longer: roles, stacks and conversations are all new. */
#define FIRST_SLICE_NS (250 * NS_PER_MS)
#define LAST_SLICE_NS (150 * NS_PER_MS)
/* A run for a thread that is not watched, with its call: no shedding makes it cheaper. */
#define FOREIGN_NS (15.0 + CALL_NS)
#define PROBE_RUNS 64 /* of an empty program: what the timing itself takes */
#define HORIZON_NS (10 * NS_PER_SEC) /* without an end the cost is to be made up for in so long */
/* A start that took all that the watch may cost must not blind it: this part is always left. */
#define LEFT_MIN 0.5
/* To time so many takes about a thousandth of a CPU. */
#define HOT_TURNS_PER_SEC 5000ull
#define JUMP 2 /* so far over the bound three levels are taken at once */
#define EASE 0.5 /* less is shed once the cost is under this part of what it may be */

struct level {
	uint32_t shed;
	unsigned every; /* one part in so many of the time is a slice */
};

/* In the order in which detail is worth least. */
static const struct level levels[] = {
	{0, 1},
	{SHED_STACKS, 4},
	{SHED_STACKS | SHED_WAKERS, 4},
	{SHED_STACKS | SHED_WAKERS | SHED_TIMING, 4},
	{SHED_STACKS | SHED_WAKERS | SHED_TIMING | SHED_SHORT, 4},
	/* with less a busy loop is not seen to sleep often enough to be known as one */
	{SHED_STACKS | SHED_WAKERS | SHED_TIMING | SHED_SHORT, 8},
};
#define LEVEL_MAX (sizeof(levels) / sizeof(levels[0]) - 1)

struct live_cost {
	unsigned level;
	uint32_t shed;		 /* now */
	uint64_t phase_end_ns, coarse_begin_ns;
	int stats_fd;		 /* -1: not measuring */
	bool measured;		 /* in this phase */
	struct bpf_cost before;
	uint64_t measure_ns;	 /* began */
	double timing_ns;	 /* of one run, by the timing itself; < 0 not known */
	double rate[2];		 /* ns of cost in a ns, in slices and between */
	uint64_t rate_ns[2];	 /* when they were measured last */
	unsigned at_level[2];
	double foreign;		 /* of that: for threads that are not watched */
	uint64_t foreign_cnt;	 /* runs for these, when the measuring began */
	uint64_t told_ns;	 /* up to here cost_ns is summed */
	double cost_ns;		 /* of programs */
	uint64_t busy_ns;	 /* of the host when it began */
	uint64_t seed;
};

static uint64_t own_cpu_ns(void)
{
	struct ev_self self = {0};

	host_self(&self);
	return self.cpu_ns;
}

/* An empty program, timed: its time is that of the timing. */
static double timing_find(struct live *l)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int fd = bpf_program__fd(l->bpf.skel->progs.hu_nothing);
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	for (int i = 0; i < PROBE_RUNS; i++)
		bpf_prog_test_run_opts(fd, &opts);
	if (bpf_obj_get_info_by_fd(fd, &info, &len) < 0 || !info.run_cnt)
		return 0;
	return (double)info.run_time_ns / (double)info.run_cnt;
}

static double *rate_now(struct live_cost *c)
{
	return &c->rate[c->shed != 0];
}

static void cost_sum(struct live_cost *c, uint64_t now)
{
	if (*rate_now(c) < 0) /* the first phase: summed when it is known */
		return;
	c->cost_ns += *rate_now(c) * (double)(now - c->told_ns);
	c->told_ns = now;
}

static uint64_t foreign_runs(const struct live *l)
{
	struct run_cnts runs;

	live_bpf_runs(&l->bpf, &runs);
	return runs.cnt[RUN_FOREIGN];
}

/*
 * Switching the timing on and off interrupts all CPUs, and there are forty programs to
 * ask: where nothing was changed it is done once in REMEASURE_NS.
 */
static bool is_measured(const struct live_cost *c, uint64_t now)
{
	unsigned kind = c->shed != 0;

	return c->rate[kind] >= 0 && c->at_level[kind] == c->level &&
	       now - c->rate_ns[kind] < REMEASURE_NS;
}

static void measure_begin(struct live *l, uint64_t now)
{
	struct live_cost *c = l->cost;

	c->measured = true;
	if (is_measured(c, now))
		return;
	c->stats_fd = reads_open_stats();
	if (c->stats_fd < 0)
		return;
	if (c->timing_ns < 0)
		c->timing_ns = timing_find(l);
	live_bpf_cost(&l->bpf, &c->before);
	c->foreign_cnt = foreign_runs(l);
	c->measure_ns = now;
}

static void measure_end(struct live *l, uint64_t now)
{
	struct live_cost *c = l->cost;
	struct bpf_cost after;
	double runs, ns, rate;

	live_bpf_cost(&l->bpf, &after);
	close(c->stats_fd);
	c->stats_fd = -1;
	runs = (double)(after.run_cnt - c->before.run_cnt);
	ns = (double)(after.run_ns - c->before.run_ns) - runs * c->timing_ns;
	rate = ((ns > 0 ? ns : 0) + runs * CALL_NS) / (double)(now - c->measure_ns);
	*rate_now(c) = *rate_now(c) < 0 ? rate : (*rate_now(c) + rate) / 2;
	c->rate_ns[c->shed != 0] = now;
	c->at_level[c->shed != 0] = c->level;
	c->foreign = (double)(foreign_runs(l) - c->foreign_cnt) * FOREIGN_NS /
		     (double)(now - c->measure_ns);
	cost_sum(c, now);
}

/* The CPU time in use on the machine since the watch began, or one CPU's if that is more. */
static double used_ns(const struct live *l, uint64_t now)
{
	double busy = (double)(host_busy_ns() - l->cost->busy_ns);
	double gone = (double)(now - l->start_ns) + 1;

	return busy > gone ? busy : gone;
}

/*
 * What the programs may take in the time ahead, and what they would: for the
 * watched threads, which is what shedding can change.  Our own CPU time goes on
 * as it was.  A part is always left to the programs: where they take less than
 * that, as on a quiet server, shedding would win next to nothing.
 */
static void budget(struct live *l, uint64_t now, double *ret_may, double *ret_takes)
{
	struct live_cost *c = l->cost;
	double part = l->opts.max_cost_ppm / 1e6, gone = (double)(now - l->start_ns) + 1;
	double use = used_ns(l, now), own = (double)own_cpu_ns();
	double own_rate = (own - (double)l->start_cpu_ns) / gone;
	double ahead = l->end_ns != UINT64_MAX && l->end_ns > now ? (double)(l->end_ns - now)
								   : (double)HORIZON_NS;
	double left = part * use * (1 + ahead / gone) - own - own_rate * ahead - c->cost_ns +
		      c->foreign * gone;
	double least = LEFT_MIN * part * use / gone * ahead;
	unsigned every = levels[c->level].every;
	double slices = c->rate[0] > 0 ? c->rate[0] : 0;
	double between = c->rate[1] > 0 ? c->rate[1] : slices;

	*ret_may = left > least ? left : least;
	/* a quiet target beside a busy neighbour is charged for its own events alone */
	*ret_takes = ahead * (slices / every + between * (every - 1) / every - c->foreign);
}

static void level_choose(struct live *l, uint64_t now)
{
	struct live_cost *c = l->cost;
	double may, takes;

	budget(l, now, &may, &takes);
	if (takes > may && c->level < LEVEL_MAX)
		c->level += takes > JUMP * may && c->level + 3 <= LEVEL_MAX ? 3 : 1;
	else if (takes < EASE * may && c->level > 0)
		c->level--;
	else
		return;
	log_debug("cost: %.2f of %.2f ms ahead, level %u", takes / 1e6, may / 1e6, c->level);
}

/*
 * hu_recv stays where requests are few, for that wins nothing, and where many
 * come by unix sockets, which keep no time of arrival.
 */
static uint32_t shed_possible(struct live *l, uint32_t shed, uint64_t now)
{
	uint64_t all = 0, other = 0, hot = HOT_TURNS_PER_SEC * (now - l->start_ns) / NS_PER_SEC;

	if (!(shed & SHED_TIMING))
		return shed;
	live_ends_sum(l);
	VEC_FOREACH(&l->ends, e) {
		all += e->turns.sum.turns;
		other += e->key.uid ? e->turns.sum.turns : 0;
	}
	if (l->bpf.recv_prog && l->bpf.sock_iter && all > hot && other * 10 <= all)
		return shed;
	return shed & ~SHED_TIMING;
}

static void recv_set(struct live *l, bool off)
{
	struct heldup_bpf__bss *bss = l->bpf.skel->bss;

	if (!!bss->recv_off == off)
		return;
	if (off) {
		bss->recv_off = 1;
		live_bpf_recv(&l->bpf, false);
		return;
	}
	if (live_bpf_recv(&l->bpf, true) < 0)
		return;
	bss->resuming = 1;
	live_bpf_iterate(&l->bpf, l->bpf.sock_iter, 0);
	bss->resuming = 0;
	bss->recv_off = 0;
}

static void coarse_put(struct live *l, uint64_t now)
{
	struct live_cost *c = l->cost;
	/* a short wait that began before, or ends after, is not whole either */
	struct ev_coarse ev = {.begin_ns = c->coarse_begin_ns - WAIT_LONG_NS,
			       .end_ns = now + WAIT_LONG_NS, .shed = c->shed};

	if (c->shed)
		EMIT(&l->emit, &ev, EV_COARSE, 0, now);
}

static void shed_set(struct live *l, uint32_t shed, uint64_t now)
{
	struct live_cost *c = l->cost;

	if (shed == c->shed)
		return;
	recv_set(l, shed & SHED_TIMING);
	__atomic_store_n(&l->bpf.skel->bss->shed, shed, __ATOMIC_SEQ_CST);
	now = clock_mono_ns() > now ? clock_mono_ns() : now;
	coarse_put(l, now);
	c->shed = shed;
	c->coarse_begin_ns = now;
}

/* Half as much again or less, at random. */
static uint64_t vary(struct live_cost *c, uint64_t ns)
{
	c->seed = c->seed * 6364136223846793005ull + 1442695040888963407ull;
	return ns / 2 + (ns >> 16) * (c->seed >> 48);
}

static void phase_begin(struct live *l, uint64_t now)
{
	struct live_cost *c = l->cost;
	const struct level *lv;
	bool slice = c->shed != 0;
	uint64_t len = SLICE_NS;

	cost_sum(c, now);
	if (l->opts.max_cost_ppm)
		level_choose(l, now);
	lv = &levels[c->level];
	if (!slice && lv->shed)
		len = vary(c, SLICE_NS * (lv->every - 1));
	shed_set(l, slice ? 0 : shed_possible(l, lv->shed, now), now);
	c->phase_end_ns = now + len;
	/* the watch ends with a slice */
	if (c->shed && l->end_ns != UINT64_MAX && c->phase_end_ns + LAST_SLICE_NS > l->end_ns)
		c->phase_end_ns = l->end_ns - LAST_SLICE_NS;
	if (!c->shed && l->end_ns != UINT64_MAX && c->phase_end_ns + LAST_SLICE_NS > l->end_ns)
		c->phase_end_ns = l->end_ns;
	c->measured = false;
}

void live_cost_begin(struct live *l)
{
	struct live_cost *c = l->cost = xcalloc(1, sizeof(*c));
	uint64_t now = clock_mono_ns();

	c->stats_fd = -1;
	c->timing_ns = c->rate[0] = c->rate[1] = -1;
	c->busy_ns = host_busy_ns();
	c->told_ns = l->start_ns;
	c->phase_end_ns = now + FIRST_SLICE_NS;
	c->seed = now ^ (uint64_t)getpid() << 32;
	l->start_cpu_ns = own_cpu_ns();
}

void live_cost_release(struct live *l)
{
	if (l->cost && l->cost->stats_fd >= 0)
		close(l->cost->stats_fd);
	free(l->cost);
	l->cost = NULL;
}

void live_cost_step(struct live *l, uint64_t now)
{
	struct live_cost *c = l->cost;

	if (!c)
		return;
	if (c->stats_fd >= 0 && now >= c->measure_ns + MEASURE_NS)
		measure_end(l, now);
	if (c->stats_fd < 0 && now >= c->phase_end_ns)
		phase_begin(l, now);
	else if (c->stats_fd < 0 && !c->measured)
		measure_begin(l, now);
}

uint64_t live_cost_next_ns(const struct live *l)
{
	const struct live_cost *c = l->cost;

	if (!c)
		return UINT64_MAX;
	if (c->stats_fd >= 0)
		return c->measure_ns + MEASURE_NS;
	return c->measured ? c->phase_end_ns : 0;
}

void live_cost_end(struct live *l, uint64_t now)
{
	struct live_cost *c = l->cost;

	if (!c)
		return;
	if (c->stats_fd >= 0)
		measure_end(l, now);
	cost_sum(c, now);
	shed_set(l, 0, now);
	c->phase_end_ns = UINT64_MAX;
	c->measured = true;
}

uint64_t live_cost_bpf_ns(const struct live *l)
{
	const struct live_cost *c = l->cost;
	uint64_t now = clock_mono_ns();
	double rate = c ? c->rate[c->shed != 0] : 0;

	if (!c)
		return 0;
	return (uint64_t)(c->cost_ns + (rate > 0 ? rate * (double)(now - c->told_ns) : 0));
}

uint64_t live_cost_bound_ns(const struct live *l)
{
	if (!l->cost || !l->opts.max_cost_ppm)
		return 0;
	return (uint64_t)(l->opts.max_cost_ppm / 1e6 * used_ns(l, clock_mono_ns()));
}
