/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/paths/paths_watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/stop.h"
#include "base/path_limit.h"
#include "collect/live/kbtf.h"
#include "collect/live/kbtf_subset.h"
#include "collect/paths/path_cost.h"
#include "collect/paths/path_procs.h"
#include "collect/paths/path_rounds.h"
#include "collect/proc/procfs.h"
#include "collect/target/guard.h"
#include "collect/select.h"
#include "collect/target/target.h"
#include "paths.skel.h"
#include "reads/reads.h"
#include "wire/path_events.h"

#define OTHERS_MAX 64 /* processes beside those chosen whose memory may be read */
#define DRAIN_NS (20 * NS_PER_MS)
#define AWAY_NS (100 * NS_PER_MS)	/* until a stop is seen */
/* A slice is to have requests of this length whole, however much it costs. */
#define SLICE_MIN_NS (20.0 * NS_PER_MS)
#define SLICE_MAX_NS (200.0 * NS_PER_MS)
#define PROBE_NS (20 * NS_PER_MS)	/* after so long the first slice is judged */
#define JUDGE_NS (100 * NS_PER_MS)	/* and again after so long: to judge costs, too */
#define CYCLE_NS (2.0 * NS_PER_SEC)	/* from slice to slice */
#define CYCLES_MIN 4			/* a short watch has some slices, too */
#define ATTACH_NS (3.0 * NS_PER_MS)	/* CPU time, to detach and attach programs */
#define PAUSE_MAX_NS (10 * NS_PER_SEC)
#define TRACE_UPROBE_MULTI 48		/* libbpf 1.1 has no name for it */

typedef VEC(uint32_t) watch_procs;

struct watch {
	const struct paths_watch_opts *opts;
	const struct paths_sink *sink;
	struct target target;
	struct paths_bpf *skel;
	struct ring_buffer *ring;
	struct hmap seen;	/* processes that the sink has */
	uint64_t in_slice;	/* records */
	struct path_cost cost;
	struct path_rounds rounds;	/* of a search */
	uint64_t step_ns;	/* then the sink's step is due */
	uint64_t judge_ns;	/* then the present slice is judged */
	double slice_rate;	/* what a ns of the last slice cost */
	struct paths_watched out;
};

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[1024];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	log_debug("%s", line);
	return 0;
}

static void process_tell(struct watch *w, uint32_t tgid)
{
	char comm[PROCFS_COMM_LEN];

	if (hmap_get(&w->seen, tgid, NULL))
		return;
	hmap_put(&w->seen, tgid, 1);
	procfs_comm(tgid, comm);
	w->sink->process(w->sink->ctx, tgid, comm, path_proc_switches(tgid));
}

static int on_records(void *ctx, void *data, size_t size)
{
	struct watch *w = ctx;
	const struct path_event *e = data;

	if (size % sizeof(*e))
		w->out.bad_cnt++;
	for (size_t i = 0; i < size / sizeof(*e); i++) {
		if (e[i].kind == PATH_POINT && e[i].point.round == PATH_PRICE_ROUND)
			continue;
		if (w->in_slice >= PATHS_EVENTS_MAX) {
			w->out.lost_cnt++;
			continue;
		}
		w->in_slice++;
		w->out.event_cnt++;
		process_tell(w, e[i].tgid);
		w->sink->event(w->sink->ctx, &e[i]);
	}
	return 0;
}

static int open_skel(struct watch *w, const struct kbtf *k, struct kbtf_subset *types,
		     struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts,
		    .btf_custom_path = *types->path ? types->path : NULL);
	int rc;

	w->skel = paths_bpf__open_opts(&opts);
	if (!w->skel)
		return err_errno(err, -errno, "open the BPF programs");
	rc = kbtf_subset_fill(types, k, w->skel->obj);
	if (rc < 0)
		return err_errno(err, rc, "write the kernel's types for the BPF programs");
	w->skel->rodata->pw_prev_state = kbtf_trace_args(k, "sched_switch") >= 5;
	if (kbtf_trace_args(k, "sock_recv_length") >= 0)
		return 0;
	return err_rights(err, -ENOTSUP, "this kernel has no tracepoint sock_recv_length "
			  "(Linux 6.3): requests cannot be followed");
}

static int load(struct watch *w, struct err *err)
{
	CLEANUP(kbtf_subset_close) struct kbtf_subset types = kbtf_subset_open();
	struct kbtf *k = kbtf_new(NULL);
	int rc;

	if (!k)
		return err_rights(err, -ENOTSUP,
				  "this kernel has no type information (/sys/kernel/btf/vmlinux)");
	libbpf_set_print(print_libbpf);
	rc = open_skel(w, k, &types, err);
	kbtf_free(k);
	if (rc < 0)
		return rc;
	w->skel->bss->pw_off = 1;
	bpf_program__set_autoattach(w->skel->progs.pw_point, false);
	bpf_program__set_autoload(w->skel->progs.pw_point, w->sink->round != NULL);
	bpf_program__set_expected_attach_type(w->skel->progs.pw_point, TRACE_UPROBE_MULTI);
	rc = paths_bpf__load(w->skel);
	if (rc == -EPERM || rc == -EACCES)
		return err_rights(err, -EPERM, "may not load BPF programs: run as root (sudo)");
	if (rc < 0)
		return err_rights(err, -ENOTSUP, "the kernel refused the BPF programs: %s",
				  strerror(-rc));
	w->ring = ring_buffer__new(bpf_map__fd(w->skel->maps.pw_ring), on_records, w, NULL);
	if (!w->ring)
		return err_errno(err, -errno, "open the ring buffer");
	return 0;
}

/* From here on the kernel side sees each end: what ended before is followed by nobody. */
static int drop_ended(struct watch *w, struct err *err)
{
	size_t left = w->target.cnt;

	for (size_t i = 0; i < w->target.cnt; i++) {
		uint32_t tgid = w->target.tgids[i];

		if (!target_is_gone(&w->target, i))
			continue;
		__atomic_fetch_and(&w->skel->bss->pw_followed[tgid / 64],
				   ~(UINT64_C(1) << tgid % 64), __ATOMIC_RELAXED);
		left--;
	}
	return left ? 0 : err_set(err, -ESRCH, "pid %u ended before it was followed",
				  w->target.tgids[0]);
}

static int begin(struct watch *w, struct err *err)
{
	int rc = target_resolve(w->opts->select, &w->target, err);

	if (rc < 0)
		return rc;
	rc = load(w, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < w->target.cnt; i++) {
		uint32_t tgid = w->target.tgids[i];

		w->skel->bss->pw_followed[tgid / 64] |= UINT64_C(1) << tgid % 64;
		process_tell(w, tgid);
	}
	path_procs_ports(w->target.tgids, w->target.cnt, w->sink->port, w->sink->ctx);
	rc = paths_bpf__attach(w->skel);
	if (rc < 0)
		return err_rights(err, -ENOTSUP, "attach to the kernel's tracepoints: %s",
				  strerror(-rc));
	rc = drop_ended(w, err);
	if (rc == 0 && w->sink->round)
		rc = path_rounds_start(&w->rounds, bpf_program__fd(w->skel->progs.pw_point),
				       bpf_map__fd(w->skel->maps.pw_hits), err);
	if (rc < 0)
		return rc;
	snprintf(w->out.selection, sizeof(w->out.selection), "%s", w->target.selection);
	return 0;
}

/* All is loaded: what others made is read from now on, with the rights that are left. */
static int rights_give(struct watch *w, struct err *err)
{
	int rc;

	if (w->opts->unfiltered)
		return 0;
	rc = rights_keep(rights_of_watch() | guard_rights() | w->opts->keep);
	if (rc < 0)
		return err_errno(err, rc, "give rights away");
	if (!w->opts->select->all)
		reads_bind(&(struct reads_bound){w->target.tgids, w->target.start_ticks,
						 w->target.cnt, OTHERS_MAX});
	reads_apart();
	rc = w->opts->writes ? path_limit_apply(w->opts->writes) : 0;
	if (rc < 0)
		log_debug("files to be written are not limited: %s", strerror(-rc));
	rc = rights_filter_watch(0);
	if (rc < 0)
		log_debug("system calls are not filtered: %s", strerror(-rc));
	return 0;
}

static void sleep_ns(uint64_t ns)
{
	const struct timespec ts = {.tv_sec = (time_t)(ns / NS_PER_SEC),
				    .tv_nsec = (long)(ns % NS_PER_SEC)};

	nanosleep(&ts, NULL);
}

static void flush(struct watch *w)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU);
	int fd = bpf_program__fd(w->skel->progs.pw_flush), cpus = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < cpus; cpu++) { /* refused where the CPU is offline: fine */
		opts.cpu = (uint32_t)cpu;
		bpf_prog_test_run_opts(fd, &opts);
	}
	ring_buffer__consume(w->ring);
}

/* Programs that are not called at all between two slices: a call costs, too. */
static int records_attach(struct watch *w)
{
	struct paths_bpf *skel = w->skel;
	struct {
		struct bpf_program *prog;
		struct bpf_link **link;
	} all[] = {{skel->progs.pw_switch, &skel->links.pw_switch},
		   {skel->progs.pw_waking, &skel->links.pw_waking},
		   {skel->progs.pw_send, &skel->links.pw_send},
		   {skel->progs.pw_recv, &skel->links.pw_recv},
		   {skel->progs.pw_state, &skel->links.pw_state}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!*all[i].link)
			*all[i].link = bpf_program__attach(all[i].prog);
		if (!*all[i].link)
			return -errno;
	}
	return 0;
}

static void records_detach(struct watch *w)
{
	struct bpf_link **const links[] = {
		&w->skel->links.pw_switch, &w->skel->links.pw_waking, &w->skel->links.pw_send,
		&w->skel->links.pw_recv, &w->skel->links.pw_state};

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		bpf_link__destroy(*links[i]);
		*links[i] = NULL;
	}
}

static void step(struct watch *w, uint64_t now)
{
	if (!w->sink->step || now < w->step_ns)
		return;
	w->step_ns = now + AWAY_NS;
	w->sink->step(w->sink->ctx, now - w->out.begin_ns, w->out.event_cnt);
}

/* So long a slice costs in CYCLE_NS what it may, and not over what is left until end_ns. */
static uint64_t slice_length(const struct watch *w, uint64_t end_ns)
{
	const struct path_cost *c = &w->cost;
	uint64_t now = clock_mono_ns();
	double used = path_cost_used(c), per_ns = used / (double)(now - c->begin_ns + 1);
	double cycle = CYCLE_NS, left, ns;

	if (end_ns != UINT64_MAX && cycle > (double)(end_ns - c->begin_ns) / CYCLES_MIN)
		cycle = (double)(end_ns - c->begin_ns) / CYCLES_MIN;
	ns = c->may * per_ns * cycle / w->slice_rate;
	ns = ns > SLICE_MAX_NS ? SLICE_MAX_NS : ns < SLICE_MIN_NS ? SLICE_MIN_NS : ns;
	left = c->may * (used + per_ns * (double)(end_ns - now)) - path_cost_spent(c) - ATTACH_NS;
	if (end_ns != UINT64_MAX && ns * w->slice_rate > left)
		ns = left > 0 ? left / w->slice_rate : 0;
	return (uint64_t)ns;
}

static bool may_go_on(const struct watch *w)
{
	const struct path_cost *c = &w->cost;
	double gone = (double)(clock_mono_ns() - c->begin_ns + 1);

	return !c->may || w->slice_rate * gone <= c->may * path_cost_used(c);
}

/* As long as it costs no more than it may there is one slice, else the slice has an end. */
static uint64_t slice_until(struct watch *w, uint64_t begin_ns, uint64_t until, uint64_t end_ns)
{
	uint64_t now = clock_mono_ns(), ns;

	if (!w->cost.may || until != end_ns || now < w->judge_ns || w->sink->round)
		return until;
	w->judge_ns = now + JUDGE_NS;
	w->slice_rate = path_cost_rate(&w->cost, w->in_slice);
	if (may_go_on(w))
		return until;
	ns = slice_length(w, end_ns);
	return begin_ns + ns < end_ns ? begin_ns + ns : end_ns;
}

static void points_charge(struct watch *w)
{
	double before = w->rounds.cost_ns;

	path_rounds_count(&w->rounds);
	path_cost_points(&w->cost, w->rounds.cost_ns - before);
}

/* So much all may have cost until now: as if it took PATHS_SEARCH_NS at least. */
static double search_may(const struct watch *w)
{
	const struct path_cost *c = &w->cost;
	double gone = (double)(clock_mono_ns() - c->begin_ns + 1), used = path_cost_used(c);

	return c->may * (gone < PATHS_SEARCH_NS ? used / gone * PATHS_SEARCH_NS : used);
}

/* A search's round is done: there is enough, or it cost what it may. */
static bool round_is_done(struct watch *w, uint64_t ns)
{
	uint32_t point = 0;
	double hits_s = 0;

	points_charge(w);
	if (w->cost.may && path_rounds_over(&w->rounds, &point, &hits_s)) {
		w->sink->hot(w->sink->ctx, point, hits_s);
		return true;
	}
	if (ns > (uint64_t)SLICE_MAX_NS && w->cost.may &&
	    path_cost_spent(&w->cost) > search_may(w))
		return true;
	return w->sink->enough(w->sink->ctx);
}

/* Follows until `until`, a stop, as many records as a slice may have, or a cost over the bound. */
static void follow(struct watch *w, uint64_t until, uint64_t end_ns)
{
	uint64_t begin_ns, now, own_ns;

	w->in_slice = 0;
	w->skel->bss->pw_slice++;
	path_cost_follow(&w->cost);
	begin_ns = now = clock_mono_ns();
	w->judge_ns = begin_ns + PROBE_NS;
	__atomic_store_n(&w->skel->bss->pw_off, 0, __ATOMIC_SEQ_CST);
	log_debug("following begins");
	while (now < until && !stop_requested() && w->in_slice < PATHS_EVENTS_MAX) {
		sleep_ns(until - now < DRAIN_NS ? until - now : DRAIN_NS);
		ring_buffer__consume(w->ring);
		path_cost_tick(&w->cost);
		until = slice_until(w, begin_ns, until, end_ns);
		now = clock_mono_ns();
		step(w, now);
		if (w->sink->round && round_is_done(w, now - begin_ns))
			break;
	}
	__atomic_store_n(&w->skel->bss->pw_off, 1, __ATOMIC_SEQ_CST);
	w->slice_rate = path_cost_rate(&w->cost, w->in_slice);
	path_cost_rest(&w->cost);
	w->out.followed_ns += clock_mono_ns() - begin_ns;
	own_ns = clock_self_cpu_ns();
	flush(w);
	w->out.slice_cnt++;
	w->sink->slice_end(w->sink->ctx);
	path_cost_analysed(&w->cost, w->in_slice, clock_self_cpu_ns() - own_ns);
}

/* How long to look away so that all that was spent is in that time what it may be. */
static uint64_t pause_ns(const struct watch *w)
{
	const struct path_cost *c = &w->cost;
	double used = path_cost_used(c), gone = (double)(clock_mono_ns() - c->begin_ns + 1);
	double ns;

	if (!c->may)
		return 0;
	ns = (path_cost_spent(c) / c->may - used) * gone / used;
	if (ns < 0)
		return 0;
	return ns > (double)PAUSE_MAX_NS ? PAUSE_MAX_NS : (uint64_t)ns;
}

/*
 * false: the end of the watch came.  Programs stay attached where it costs less to
 * call them than to detach and attach them.
 */
static bool look_away(struct watch *w, uint64_t until, uint64_t end_ns)
{
	uint64_t begin_ns = clock_mono_ns(), now = begin_ns;
	bool detach;

	if (until > end_ns)
		until = end_ns;
	detach = until > now && (double)(until - now) * w->cost.off_rate > ATTACH_NS;
	if (detach)
		records_detach(w);
	for (; now < until && !stop_requested(); now = clock_mono_ns()) {
		sleep_ns(until - now < AWAY_NS ? until - now : AWAY_NS);
		step(w, now);
	}
	if (!detach)
		path_cost_called(&w->cost, now - begin_ns);
	return now < end_ns && !stop_requested();
}

/* The next slice, where the cost of the last one leaves room for it. */
static int follow_again(struct watch *w, uint64_t end_ns)
{
	uint64_t ns = may_go_on(w) ? UINT64_MAX : slice_length(w, end_ns), now;
	int rc;

	if (ns < SLICE_MIN_NS / 2) {	/* too little is left to be worth a slice */
		look_away(w, end_ns, end_ns);
		return 0;
	}
	rc = records_attach(w);
	now = clock_mono_ns();
	if (rc == 0)
		follow(w, now < end_ns && ns < end_ns - now ? now + ns : end_ns, end_ns);
	return rc;
}

/* Processes that tracepoints are for: those that are followed and there. */
static void followed_now(const struct watch *w, watch_procs *ret)
{
	struct hmap_entry e;

	vec_clear(ret);
	for (size_t pos = 0; hmap_next(&w->seen, &pos, &e);)
		if (kill((pid_t)e.key, 0) == 0 || errno == EPERM)
			vec_push(ret, (uint32_t)e.key);
}

/* A round of the search; 0: another may follow, 1: there is none, or -errno. */
static int round_run(struct watch *w, uint64_t end_ns, struct err *err)
{
	watch_procs procs = {0};
	struct path_round want = {0};
	uint64_t now, until;
	int rc;

	if (!w->sink->round(w->sink->ctx, &want))
		return 1;
	rc = records_attach(w);
	if (rc < 0)
		return err_errno(err, rc, "attach to the kernel's tracepoints again");
	followed_now(w, &procs);
	rc = path_rounds_on(&w->rounds, &want, procs.items, procs.cnt, w->sink->hot, w->sink->ctx,
			    err);
	vec_release(&procs);
	if (rc == 0) {
		points_charge(w);
		w->skel->bss->pw_round = w->rounds.round;
		if (w->rounds.links.left_out_cnt > w->out.left_out_cnt)
			w->out.left_out_cnt = w->rounds.links.left_out_cnt;
		now = clock_mono_ns();
		until = want.max_ns && now + want.max_ns < end_ns ? now + want.max_ns : end_ns;
		follow(w, until, end_ns);
	}
	points_charge(w);
	path_rounds_off(&w->rounds);
	return rc;
}

/* So long until all that was spent is what it may be. */
static uint64_t search_pause(const struct watch *w)
{
	const struct path_cost *c = &w->cost;
	double gone = (double)(clock_mono_ns() - c->begin_ns + 1), over;

	if (!c->may)
		return 0;
	over = path_cost_spent(c) - search_may(w);
	if (over <= 0)
		return 0;
	over *= gone / path_cost_used(c) / c->may;
	return over > (double)PAUSE_MAX_NS ? PAUSE_MAX_NS : (uint64_t)over;
}

static int search(struct watch *w, uint64_t end_ns, struct err *err)
{
	watch_procs procs = {0};
	int rc = 0;

	w->skel->bss->pw_round = UINT32_MAX;
	w->sink->price(w->sink->ctx, &w->rounds.price);
	while (rc == 0 && clock_mono_ns() < end_ns && !stop_requested()) {
		uint64_t pause = search_pause(w);

		if (pause && !look_away(w, clock_mono_ns() + pause, end_ns))
			break;
		rc = round_run(w, end_ns, err);
	}
	followed_now(w, &procs);
	point_links_differ(w->rounds.ever.items, w->rounds.ever.cnt, procs.items, procs.cnt,
			   &w->out.differ);
	vec_release(&procs);
	w->out.hit_cnt = w->rounds.hit_cnt;
	w->out.price = w->rounds.price;
	return rc < 0 ? rc : 0;
}

static void sums_take(struct watch *w)
{
	w->out.end_ns = clock_mono_ns();
	w->out.lost_cnt += w->skel->bss->pw_lost;
	w->out.cost_share = path_cost_spent(&w->cost) / path_cost_used(&w->cost);
	log_debug("cost: %.1f ms of programs and tracepoints, of these %.1f ms of hits; %.1f ms of "
		  "our own; %.1f s in use", w->cost.programs_ns / 1e6, w->rounds.cost_ns / 1e6,
		  (double)(clock_self_cpu_ns() - w->cost.own_ns) / 1e6,
		  path_cost_used(&w->cost) / 1e9);
}

static int run(struct watch *w, struct err *err)
{
	uint64_t now = clock_mono_ns(), end_ns, pause;
	int rc;

	w->out.begin_ns = now;
	end_ns = w->opts->duration_ns ? now + w->opts->duration_ns : UINT64_MAX;
	path_cost_start(&w->cost, w->skel->obj, w->opts->max_cost_ppm);
	if (w->sink->round) {
		rc = search(w, end_ns, err);
		sums_take(w);
		return rc;
	}
	follow(w, end_ns, end_ns);
	while ((now = clock_mono_ns()) < end_ns && !stop_requested()) {
		pause = pause_ns(w);
		if (pause && !look_away(w, now + pause, end_ns))
			break;
		if (follow_again(w, end_ns) < 0)
			return err_errno(err, -errno, "attach to the kernel's tracepoints again");
	}
	sums_take(w);
	return 0;
}

int paths_watch(const struct paths_watch_opts *opts, const struct paths_sink *sink,
		struct paths_watched *ret, struct err *err)
{
	struct watch w = {.opts = opts, .sink = sink};
	int rc;

	guard_raise();
	reads_start();
	rc = begin(&w, err);
	if (rc == 0)
		rc = rights_give(&w, err);
	if (rc == 0)
		rc = target_go(&w.target, err);
	if (rc == 0)
		rc = run(&w, err);
	if (rc == 0)
		*ret = w.out;
	guard_drop();
	path_rounds_release(&w.rounds);
	ring_buffer__free(w.ring);
	paths_bpf__destroy(w.skel);
	hmap_release(&w.seen);
	target_release(&w.target);
	return rc;
}
