/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running kernel as a source of events.
 *
 * source_live resolves the target, loads and attaches; the first step sends
 * EV_META and seeds the threads.  Each step then drains the ring every
 * DRAIN_MS until a tick is due, runs the iterator for the threads that did
 * something, reads the maps and ends the batch with EV_TICK.  The last step
 * reports all threads, also those that slept through.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/path_limit.h"
#include "base/stop.h"
#include "base/timed/timed_call.h"
#include "collect/proc/cgroups.h"
#include "collect/flight/flight_int.h"
#include "collect/select.h"
#include "collect/target/guard.h"
#include "collect/live/hooks.h"
#include "collect/code/ksyms.h"
#include "collect/live/live_cost.h"
#include "collect/live/live_int.h"
#include "collect/live/live_stacks.h"
#include "collect/resources/resource_names.h"
#include "collect/resources/peers.h"
#include "collect/proc/procfs.h"
#include "collect/resources/sockdiag.h"
#include "reads/reads.h"
#include "symbols/names/debuginfod.h"

#define DRAIN_MS 80
#define DEFAULT_PEERS 16
#define OTHERS_PER_PEER 4 /* one that ends is followed by another */
#define DEFAULT_THREADS 16384
#define DEFAULT_RING_BYTES (4u << 20)

static void emit_meta(struct live *l)
{
	struct utsname un = {0};
	struct ev_meta ev = {
		.real_ns = clock_real_ns(),
		.boot_off_ns = clock_boot_ns() - clock_mono_ns(),
		.tick_ns = l->tick_ns,
		.cpu_cnt = sysconf(_SC_NPROCESSORS_CONF),
		.hz_user = sysconf(_SC_CLK_TCK),
		.self_pid = getpid(),
		.sample_ns = live_sample_ns(l),
	};

	uname(&un);
	ev.cmdline = emit_str(&l->emit, l->opts.cmdline);
	ev.kernel = emit_str(&l->emit, un.release);
	ev.hostname = emit_str(&l->emit, un.nodename);
	ev.version = emit_str(&l->emit, HELDUP_VERSION);
	ev.selection = emit_str(&l->emit, l->target.selection);
	EMIT(&l->emit, &ev, EV_META, 0, l->start_ns);
}

static void emit_missing(struct live *l)
{
	for (uint32_t i = 0; i < l->bpf.missing_cnt; i++) {
		const struct hook *h = hooks_find(l->bpf.missing[i]);

		emit_note(&l->emit, NOTE_MISSING_HOOK, l->start_ns, "no %s on this kernel: %s",
			  l->bpf.missing[i], h ? h->cost : "some times are not separated");
	}
	if (l->opts.stacks && !l->stacks)
		emit_note(&l->emit, NOTE_MISSING_HOOK, l->start_ns,
			  "no stacks: this kernel refused the programs that unwind them");
}

/*
 * The first pass over all threads has named every chosen process that it
 * saw.  Others ended meanwhile, or the kernel keeps them from BPF: some
 * virtual machines do so with their first process.
 */
static int check_seen(struct live *l, struct err *err)
{
	uint32_t seen_cnt = 0;
	size_t missed = 0;

	for (size_t i = 0; i < l->target.cnt; i++) {
		struct live_proc *p = live_proc(l, l->target.tgids[i]);

		if (p->named)
			seen_cnt++;
		else
			missed = i;
		if (!p->named && !target_is_gone(&l->target, i))
			emit_note(&l->emit, NOTE_LIMIT, l->start_ns,
				  "pid %u is not watched: the kernel keeps its threads from BPF",
				  p->tgid);
	}
	if (seen_cnt)
		return 0;
	if (target_is_gone(&l->target, missed))
		return err_set(err, -ESRCH, "pid %u ended before the watch began",
			       l->target.tgids[missed]);
	return err_rights(err, -EPERM,
			  "pid %u cannot be watched: the kernel keeps its threads from BPF; choose "
			  "another process", l->target.tgids[missed]);
}

/* The window and nothing else: its time is the time of the capture. */
static int dump_only(struct live *l)
{
	struct live_flight *f = l->flight;
	struct ev_tick ev;

	l->start_ns = f->freeze_ns - f->start_ns > f->opts.window_ns
			      ? f->freeze_ns - f->opts.window_ns : f->start_ns;
	emit_meta(l);
	if (*l->target.note)
		emit_note(&l->emit, NOTE_INFO, l->start_ns, "%s", l->target.note);
	live_bpf_iterate(&l->bpf, l->bpf.calls_iter, 0);
	live_stacks_step(l, f->freeze_ns);
	flight_dump(l);
	ev = (struct ev_tick){.begin_ns = l->start_ns};
	EMIT(&l->emit, &ev, EV_TICK, 0, f->freeze_ns);
	l->stage = LIVE_DONE;
	return 0;
}

/* Only now are all programs in place: what happens from here on is seen. */
static int begin(struct live *l, struct err *err)
{
	int rc;

	l->start_ns = clock_mono_ns();
	l->tick_begin_ns = l->start_ns;
	l->next_tick_ns = l->start_ns + l->tick_ns;
	l->end_ns = l->opts.duration_ns ? l->start_ns + l->opts.duration_ns : UINT64_MAX;
	emit_meta(l);
	flight_keep_begin(l);
	log_mark("first event");
	emit_missing(l);
	live_stacks_step(l, l->start_ns);
	if (*l->target.note)
		emit_note(&l->emit, NOTE_INFO, l->start_ns, "%s", l->target.note);
	for (size_t i = 0; i < l->target.cnt; i++) {
		live_proc(l, l->target.tgids[i])->flags = TASKF_TARGET;
		live_listen(l, l->target.tgids[i]);
		rc = live_bpf_watch(&l->bpf, l->target.tgids[i], TASKF_TARGET,
				    l->target.start_ticks[i]);
		if (rc < 0 && rc != -EEXIST)
			l->loss[LOSS_TASK_STORAGE]++;
	}
	rc = live_bpf_iterate(&l->bpf, l->bpf.task_iter, 0);
	if (rc < 0)
		return err_errno(err, rc, "read the task iterator");
	rc = check_seen(l, err);
	if (rc < 0)
		return rc;
	if (l->flight && !l->flight->start_ns) {
		rc = flight_begin(l, err);
		if (rc < 0)
			return rc;
	}
	live_bpf_flush(&l->bpf); /* sets its coarse clock */
	live_cost_begin(l);
	live_maps_begin(l);
	live_stacks_begin(l);
	l->stage = LIVE_RUNS;
	return target_go(&l->target, err);
}

/* Once for each: whoever hangs so is rarely the server's fault, and often its trouble. */
static void emit_hung(struct live *l, uint64_t now)
{
	uint32_t pid;

	for (; (pid = timed_call_hung(l->hung_told)) != 0; l->hung_told++)
		emit_note(&l->emit, NOTE_LIMIT, now,
			  "pid %u hangs in the kernel: its mappings and memory could not be read "
			  "within %.1f s (its mmap lock is held, or a file system does not "
			  "answer); its functions and locks are unknown", pid,
			  (double)TIMED_CALL_NS / NS_PER_SEC);
}

/* Children that read for this process and that something else than heldup ended. */
static void emit_losses(struct live *l, uint64_t now)
{
	struct timed_losses lost = timed_call_losses();

	if (lost.died_cnt > l->died_told)
		emit_note(&l->emit, NOTE_LIMIT, now,
			  "heldup's child that reads /proc and memory ended %u times before its "
			  "time and was started again: names or stacks may be missing",
			  lost.died_cnt - l->died_told);
	if (lost.keeper_cnt > l->keepers_told)
		emit_note(&l->emit, NOTE_LIMIT, now,
			  "heldup's child that keeps the rights to read of other processes ended: "
			  "from then on names, stacks and locks are missing");
	if (lost.bound_cnt && !l->bound_told)
		emit_note(&l->emit, NOTE_LIMIT, now,
			  "memory is read of no more processes beside the chosen ones: the holders "
			  "of some locks and some names are missing");
	l->bound_told = lost.bound_cnt;
	l->died_told = lost.died_cnt;
	l->keepers_told = lost.keeper_cnt;
}

static void run_tick(struct live *l, uint64_t begin_ns, bool last)
{
	struct ev_tick ev = {.begin_ns = begin_ns};
	bool full = last || l->is_full_asked;
	uint64_t now;

	l->owner_asked = 0;
	live_bpf_flush(&l->bpf);
	live_bpf_drain(&l->bpf);
	live_peers(l);
	l->is_full_asked = false;
	if (full) /* threads first seen now announce themselves, then report */
		live_bpf_iterate(&l->bpf, l->bpf.task_iter, UINT64_MAX);
	live_bpf_iterate(&l->bpf, l->bpf.task_iter, full ? 0 : begin_ns);
	live_ends_begin(l);
	if (l->bpf.sock_iter)
		live_bpf_iterate(&l->bpf, l->bpf.sock_iter, begin_ns);
	if (last)
		live_bpf_end_waits(&l->bpf);
	live_bpf_drain(&l->bpf);
	now = clock_mono_ns();
	live_maps_tick(l, now, full);
	live_procs_purge(l);
	if (last && l->flight) {
		flight_freeze(l, stop_requested() ? "asked for" : l->alive_cnt
				 ? "the time was up" : "the watched process ended");
		flight_dump(l);
	}
	if (full)
		flight_keep_end(l, now);
	emit_hung(l, now);
	emit_losses(l, now);
	EMIT(&l->emit, &ev, EV_TICK, 0, now);
}

/*
 * The recording is over: for a while everything else is watched.  What is not
 * there any more cannot be.
 */
static int watch_then(struct live *l, struct err *err)
{
	uint64_t then_ns = l->flight->opts.then_ns;
	int rc;

	flight_retarget(l);
	if (then_ns == FLIGHT_NO_THEN || !l->target.cnt)
		return dump_only(l);
	l->opts.duration_ns = then_ns;
	l->stopping = 0;
	rc = live_bpf_attach(&l->bpf, ATTACH_REST, err);
	return rc < 0 ? rc : begin(l, err);
}

/* Until a tick is due.  true: it is the last. */
static bool watch_turn(struct live *l)
{
	uint64_t now, next, left_ms;

	while ((now = clock_mono_ns()) < l->end_ns && now < l->next_tick_ns &&
	       !l->stopping && l->emit.error >= 0) {
		live_cost_step(l, now);
		next = live_cost_next_ns(l);
		next = next < l->next_tick_ns ? next : l->next_tick_ns;
		next = next < l->end_ns ? next : l->end_ns;
		left_ms = next > now ? (next - now) / NS_PER_MS + 1 : 0;
		live_bpf_wait(&l->bpf, left_ms < DRAIN_MS ? (int)left_ms : DRAIN_MS);
		live_bpf_drain(&l->bpf);
		live_stacks_step(l, now);
		if (flight_turn(l, now, NULL) < 0 || target_ended(&l->target, NULL) ||
		    (stop_requested() && !flight_takes_stop(l)))
			l->stopping = 1;
	}
	return l->stopping || now >= l->end_ns;
}

static void next_tick(struct live *l)
{
	uint64_t now = clock_mono_ns();

	l->tick_begin_ns = now < l->next_tick_ns ? now : l->next_tick_ns;
	while (l->next_tick_ns <= now)
		l->next_tick_ns += l->tick_ns;
}

static int live_step(void *ctx, struct event_sink *sink, struct err *err)
{
	struct live *l = ctx;
	bool last;

	if (l->stage == LIVE_DONE)
		return 0;
	emit_to(&l->emit, flight_sink(l, sink));
	if (l->stage == LIVE_NEW) {
		int rc = l->flight && !l->flight->opts.with_waits ? flight_wait(l, err) : 0;

		if (rc == 0)
			rc = l->flight && l->flight->freeze_ns ? watch_then(l, err) : begin(l, err);
		if (rc != 0 || l->stage == LIVE_DONE)
			return rc < 0 ? rc : 1;
	}
	last = watch_turn(l);
	if (last)
		live_cost_end(l, clock_mono_ns());
	run_tick(l, l->tick_begin_ns, last);
	next_tick(l);
	if (l->emit.error < 0)
		return err_errno(err, l->emit.error, "deliver events");
	if (last)
		l->stage = LIVE_DONE;
	else if (!l->alive_cnt && !l->opts.goes_on) /* the next step sends the end batch */
		l->stopping = 1;
	return 1;
}

/* The first stop freezes the window; what comes after that is short and has its own end. */
static void live_stop(void *ctx)
{
	struct live *l = ctx;

	if (!flight_takes_stop(l))
		l->stopping = 1;
}

static void live_full(void *ctx)
{
	struct live *l = ctx;

	l->is_full_asked = true;
}

/* Its threads are announced by the next tick's pass.  A counterpart becomes a chosen one. */
static int live_add(void *ctx, uint32_t tgid)
{
	struct live *l = ctx;
	struct live_proc *p = live_proc(l, tgid);
	int rc;

	if (p->flags & TASKF_TARGET && !p->gone)
		return 0;
	if (p->flags & TASKF_PEER && l->peer_cnt)
		l->peer_cnt--;
	p->flags = TASKF_TARGET;
	p->light = p->refused = false;
	live_listen(l, tgid);
	live_stacks_watch(l, &tgid, 1);
	rc = live_bpf_watch(&l->bpf, tgid, TASKF_TARGET, 0);
	return rc == -EEXIST ? live_bpf_rewatch(&l->bpf, tgid, TASKF_TARGET) : rc;
}

static void live_free(void *ctx)
{
	struct live *l = ctx;

	if (!l)
		return;
	live_stacks_release(l);
	flight_release(l);
	live_cost_release(l);
	live_bpf_release(&l->bpf);
	target_release(&l->target);
	sockdiag_free(l->sockdiag);
	peers_free(l->peers);
	names_free(l->names);
	cgroups_free(l->cgroups);
	ksyms_free(l->ksyms);
	resindex_release(&l->resindex);
	emit_release(&l->emit);
	hmap_release(&l->tids);
	hmap_release(&l->ns_tids);
	hmap_release(&l->kstacks);
	hmap_release(&l->sums_told);
	hmap_release(&l->culprit_comms);
	hmap_release(&l->proc_idx);
	hmap_release(&l->netns_seen);
	vec_release(&l->procs);
	vec_release(&l->procs_free);
	vec_release(&l->ends);
	free(l);
}

static struct live *live_new(const struct watch_opts *opts)
{
	struct live *l = xcalloc(1, sizeof(*l));

	l->opts = *opts;
	if (!l->opts.max_peers)
		l->opts.max_peers = DEFAULT_PEERS;
	if (!l->opts.max_threads)
		l->opts.max_threads = DEFAULT_THREADS;
	if (!l->opts.ring_bytes)
		l->opts.ring_bytes = DEFAULT_RING_BYTES;
	l->tick_ns = opts->tick_ns ? opts->tick_ns : NS_PER_SEC;
	l->bpf.fn = live_convert;
	l->bpf.ctx = l;
	l->names = names_new();
	l->peers = peers_new(&l->resindex);
	l->cgroups = cgroups_new();
	l->ksyms = ksyms_new();
	l->sockdiag = sockdiag_new(l->names, l->peers);
	return l;
}

/* The programs, links and maps take about a hundred. */
#define FILES_MIN 1024

/* Each watched file and process may take a descriptor: as many as we may have. */
static void files_raise(void)
{
	struct rlimit files, more = {.rlim_cur = FILES_MIN, .rlim_max = FILES_MIN};

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	if (files.rlim_max < FILES_MIN && setrlimit(RLIMIT_NOFILE, &more) == 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/*
 * All that was to be loaded, attached and started (the command to be watched) is:
 * what others made is read from now on, with the rights that are left.
 */
static int rights_drop(const struct live *l, const struct watch_opts *opts, struct err *err)
{
	uint64_t keep = rights_of_watch() | guard_rights() | opts->keep;
	uint32_t let = opts->loads_again ? RIGHTS_LET_LOAD : 0;
	int rc;

	if (opts->unfiltered) /* it is done already, or another watch is to do it */
		return 0;
	if (opts->loads_again)
		keep |= rights_of_priority();
	rc = rights_keep(keep);
	if (rc < 0)
		return err_errno(err, rc, "give rights away");
	if (!opts->goes_on && !opts->select->all)
		reads_bind(&(struct reads_bound){l->target.tgids, l->target.start_ticks,
						 l->target.cnt,
						 OTHERS_PER_PEER * l->opts.max_peers});
	reads_apart();
	if (debuginfod_wanted())
		let |= RIGHTS_LET_NET;
	rc = opts->writes ? path_limit_apply(opts->writes) : 0;
	if (rc < 0)
		log_debug("files to be written are not limited: %s", strerror(-rc));
	rc = rights_filter_watch(let);
	if (rc < 0)
		log_debug("system calls are not filtered: %s", strerror(-rc));
	return 0;
}

static int live_open(struct live *l, const struct watch_opts *opts, struct err *err)
{
	bool later = l->flight && !l->flight->opts.with_waits;
	int rc = l->flight ? flight_open(l, err) : 0;

	guard_raise();
	reads_start();
	if (rc == 0)
		rc = target_resolve(opts->select, &l->target, err);
	files_raise(); /* after a command to be watched was forked: it keeps its own limit */
	l->bpf.flight = l->flight;
	if (rc == 0)
		rc = live_bpf_open(&l->bpf, &l->opts, err);
	if (rc == 0 && l->flight)
		rc = flight_map(l, err);
	if (rc == 0)
		rc = live_bpf_attach(&l->bpf, later ? ATTACH_CALLS : ATTACH_ALL, err);
	if (rc < 0)
		return rc;
	ksyms_ask(l->ksyms, live_bpf_kname, &l->bpf);
	live_stacks_open(l);
	live_stacks_clocks(l);
	rc = rights_drop(l, opts, err);
	if (rc == 0) /* which reads their code */
		live_stacks_watch(l, l->target.tgids, l->target.cnt);
	return rc;
}

static int source_make(const struct watch_opts *opts, const struct flight_opts *flight,
		       struct source **ret_src, struct err *err)
{
	static const struct source_ops ops = {
		.step = live_step,
		.stop = live_stop,
		.free = live_free,
		.full = live_full,
		.add = live_add,
	};
	struct live *l = live_new(opts);
	int rc;

	if (flight) {
		l->flight = xcalloc(1, sizeof(*l->flight));
		l->flight->opts = *flight;
		l->flight->opts.with_waits |= flight->blocking;
		if (flight->stacks == FLIGHT_STACKS_ALL)
			l->opts.stacks = STACKS_EACH;
	}
	rc = live_open(l, opts, err);
	if (rc < 0) {
		live_free(l);
		return rc;
	}
	*ret_src = source_new(&ops, l);
	return 0;
}

int source_live(const struct watch_opts *opts, struct source **ret_src, struct err *err)
{
	return source_make(opts, NULL, ret_src, err);
}

int source_flight(const struct watch_opts *watch, const struct flight_opts *opts,
		  struct source **ret_src, struct err *err)
{
	return source_make(watch, opts, ret_src, err);
}
