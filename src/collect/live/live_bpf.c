/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading and attaching.  What a kernel has is asked from its BTF, hook by
 * hook, never from its version; a program whose hook is missing is left out
 * and named in missing[].  Nothing is pinned: all goes when the descriptors
 * close, also after kill -9.
 */
#include "collect/live/live_int.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "collect/flight/flight_int.h"
#include "collect/target/guard.h"
#include "collect/live/hooks.h"
#include "collect/live/kbtf.h"
#include "collect/live/kbtf_subset.h"
#include "heldup.skel.h"
#include "plain.skel.h"

#define ENDS_MAX 4096 /* conversations; fewer where their per-CPU sums would pass ENDS_BYTES */
#define ENDS_BYTES (16 << 20)
#define REPORTS_PER_TICK 1024 /* threads; reporting 5,000 took a third of our time */
#define ITER_BUF_BYTES (128 * 1024)
#define THREADS_SPARE 4096
#define VERIFIER_STATS 4 /* BPF_LOG_STATS of the kernel: time and instructions, two lines */

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[1024];

	/* what the verifier says of a program it took: bench/start reads that */
	if (level == LIBBPF_DEBUG && !strstr(fmt, "PROG LOAD LOG"))
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	log_debug("%s", line);
	return 0;
}

/* Name of the tracepoint of a tp_btf program, NULL for others. */
static const char *tp_name(const struct bpf_program *prog)
{
	const char *sec = bpf_program__section_name(prog);

	return strncmp(sec, "tp_btf/", 7) == 0 ? sec + 7 : NULL;
}

/* Name of the function of a program that stands in for a tracepoint, NULL for others. */
static const char *old_name(const struct bpf_program *prog)
{
	const char *sec = bpf_program__section_name(prog);

	if (strncmp(sec, "fexit/", 6) == 0)
		return sec + 6;
	return strncmp(sec, "fentry/", 7) == 0 ? sec + 7 : NULL;
}

static bool is_of_calls(const char *name)
{
	return strcmp(name, "sys_enter") == 0 || strcmp(name, "sys_exit") == 0;
}

/* Threads that come and go have to be known to both. */
static bool is_of_tasks(const char *name)
{
	return strncmp(name, "sched_process_", 14) == 0;
}

static bool has_tp(const struct kbtf *k, const char *name)
{
	return kbtf_trace_args(k, name) >= 0;
}

static int64_t preempt_off(const struct kbtf *k)
{
	int64_t rq = kbtf_percpu_off(k, "runqueues");
	int64_t count = kbtf_percpu_off(k, "__preempt_count"), member;

	if (rq < 0)
		return 0;
	if (count >= 0)
		return count - rq;
	count = kbtf_percpu_off(k, "pcpu_hot");
	member = kbtf_member_off(k, "pcpu_hot", "preempt_count");
	return count < 0 || member < 0 ? 0 : count + member - rq;
}

void live_bpf_missing(struct live_bpf *b, const char *name)
{
	if (b->missing_cnt < LIVE_MISSING_MAX)
		b->missing[b->missing_cnt++] = name;
}

/* Is a missing hook made up for by another? */
static bool is_replaced(const struct live_bpf *b, const struct kbtf *k, const struct hook *hook)
{
	const struct hook *by = hook && hook->instead ? hooks_find(hook->instead) : NULL;

	if (!by)
		return false;
	return by->kind == HOOK_FUNC ? b->old_socks : has_tp(k, by->name);
}

/* The functions that stand in for socket tracepoints, where this kernel has them. */
static bool choose_old(struct live_bpf *b, const struct kbtf *k)
{
	struct bpf_program *prog;
	bool any = false;

	bpf_object__for_each_program(prog, b->skel->obj) {
		const char *name = old_name(prog);

		if (!name || !kbtf_has_func(k, name))
			continue;
		bpf_program__set_autoload(prog, true);
		any = true;
	}
	return any;
}

/* Their maps take no memory where no calls are recorded. */
static void no_calls(struct heldup_bpf *skel)
{
	bpf_map__set_max_entries(skel->maps.hu_call_slots, 1);
	bpf_map__set_max_entries(skel->maps.hu_call_tasks, 1);
	bpf_map__set_max_entries(skel->maps.hu_call_fds, 1);
	bpf_map__set_max_entries(skel->maps.hu_call_stacks, 1);
	bpf_program__set_autoload(skel->progs.hu_sys_enter, false);
	bpf_program__set_autoload(skel->progs.hu_sys_exit, false);
	bpf_program__set_autoload(skel->progs.hu_iter_calls, false);
}

/* Kernels that are locked down may refuse the one that costs least. */
static void choose_sock_iter(struct live_bpf *b, const struct kbtf *k)
{
	bool socks = has_tp(k, "sock_recv_length") || b->old_socks;
	uint32_t id = socks ? kbtf_func_id(k, "bpf_iter_bpf_sk_storage_map") : 0;

	if (socks && !b->open_files)
		b->open_files = !id || hooks_probe_iter(id) < 0;
	bpf_program__set_autoload(b->skel->progs.hu_iter_sock, socks && !b->open_files);
	bpf_program__set_autoload(b->skel->progs.hu_iter_file, socks && b->open_files);
}

/* Leaves out the programs whose tracepoint this kernel lacks. */
static int choose_programs(struct live_bpf *b, const struct kbtf *k, bool old, struct err *err)
{
	struct bpf_program *prog;

	b->old_socks = old && !has_tp(k, "sock_recv_length") && choose_old(b, k);

	bpf_object__for_each_program(prog, b->skel->obj) {
		const char *name = tp_name(prog);
		const struct hook *hook;

		if (!name || has_tp(k, name) || is_of_calls(name))
			continue;
		hook = hooks_find(name);
		if (hook && hook->required)
			return err_rights(err, -ENOTSUP, "this kernel has no tracepoint %s", name);
		bpf_program__set_autoload(prog, false);
		if (!is_replaced(b, k, hook))
			live_bpf_missing(b, name);
	}
	choose_sock_iter(b, k);
	if (has_tp(k, "block_io_start"))
		bpf_program__set_autoload(b->skel->progs.hu_bio_queue, false);
	if (b->flight && !has_tp(k, "sys_enter"))
		return err_rights(err, -ENOTSUP, "this kernel has no tracepoints of system calls");
	if (!b->flight)
		no_calls(b->skel);
	return 0;
}

/* They run at each segment that comes. */
static void no_arrivals(struct heldup_bpf *skel)
{
	bpf_program__set_autoload(skel->progs.hu_data_ready, false);
	bpf_program__set_autoload(skel->progs.hu_old_sock_def_readable, false);
}

/* Their maps take no memory where no stacks are asked for. */
static void no_stacks(struct heldup_bpf *skel)
{
	bpf_map__set_max_entries(skel->maps.hu_modules, 1);
	bpf_map__set_max_entries(skel->maps.hu_tables, 1);
	bpf_map__set_max_entries(skel->maps.hu_sets, 1);
	bpf_map__set_max_entries(skel->maps.hu_maps, 1);
	bpf_map__set_max_entries(skel->maps.hu_fresh, 1);
	bpf_map__set_max_entries(skel->maps.hu_programs, 1);
	bpf_map__set_max_entries(skel->maps.hu_stack_seen, 1);
	bpf_map__set_max_entries(skel->maps.hu_call_stacks, 1);
	bpf_map__set_max_entries(skel->maps.hu_walks, 1);
	bpf_program__set_autoload(skel->progs.hu_sample, false);
}

/* Its coarse clock ticks once a jiffy. */
static uint64_t jiffy_ns(void)
{
	struct timespec ts = {0};

	clock_getres(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_nsec ? (uint64_t)ts.tv_nsec : 4 * NS_PER_MS;
}

/*
 * Room for threads: twice those that the machine has now and some thousand,
 * max at most.  All of it is allocated at once.
 */
static uint32_t thread_room(uint32_t max)
{
	CLEANUP_FCLOSE FILE *file = fopen("/proc/loadavg", "re");
	uint32_t cnt = 0;

	if (!file || fscanf(file, "%*s %*s %*s %*u/%u", &cnt) != 1 || cnt > max / 2)
		return max;
	return 2 * cnt + THREADS_SPARE < max ? 2 * cnt + THREADS_SPARE : max;
}

static void settings(struct live_bpf *b, const struct kbtf *k, const struct watch_opts *opts)
{
	struct heldup_bpf *skel = b->skel;
	int cpus = libbpf_num_possible_cpus();

	live_sys_fill(skel->rodata->sys_kind);
	skel->rodata->sys_sendto = SYS_sendto;
	skel->rodata->sys_sendmsg = SYS_sendmsg;
	skel->rodata->sys_sendmmsg = SYS_sendmmsg;
	skel->rodata->self_tgid = getpid();
	skel->rodata->max_threads = thread_room(opts->max_threads);
	bpf_map__set_max_entries(skel->maps.hu_thrs, skel->rodata->max_threads + 1);
	skel->rodata->ring_half = opts->ring_bytes / 2;
	skel->rodata->has_prev_state = kbtf_trace_args(k, "sched_switch") >= 5;
	skel->rodata->has_data_ready = opts->arrivals;
	skel->rodata->jiffy_ns = jiffy_ns();
	skel->rodata->has_io_start = has_tp(k, "block_io_start");
	skel->rodata->has_io_done = has_tp(k, "block_io_done");
	skel->rodata->only_target = opts->only_target != 0;
	skel->rodata->preempt_off = preempt_off(k);
	skel->rodata->with_stacks = b->no_stacks ? STACKS_OFF : opts->stacks;
	if (b->no_stacks)
		no_stacks(skel);
	if (b->flight)
		flight_settings(b->flight, skel);
	bpf_map__set_max_entries(skel->maps.hu_ring, opts->ring_bytes);
	if (cpus > ENDS_BYTES / ENDS_MAX / (int)sizeof(struct wire_end))
		bpf_map__set_max_entries(skel->maps.hu_ends,
					 ENDS_BYTES / cpus / sizeof(struct wire_end));
}

/* One record, or a batch of them. */
static int on_record(void *ctx, void *data, size_t size)
{
	struct live_bpf *b = ctx;
	size_t off = 0;

	b->drained_bytes += size;
	while (size - off >= sizeof(struct wire_hdr)) {
		const struct wire_hdr *h = (const void *)((char *)data + off);

		if (h->size < sizeof(*h) || h->size > size - off)
			break;
		b->fn(b->ctx, h, h->size);
		off += h->size;
	}
	if (off < size)
		b->bad_cnt++;
	return 0;
}

/*
 * The programs that do not walk are the others' in all but that: same maps,
 * same variables (t_source compares them), so one skeleton serves both.
 */
static struct heldup_bpf *skel_open(bool no_stacks, const struct kbtf_subset *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts,
		    .kernel_log_level = log_shows(LOG_DEBUG) ? VERIFIER_STATS : 0,
		    .btf_custom_path = *types->path ? types->path : NULL);
	struct heldup_bpf *skel;
	int rc;

	if (!no_stacks)
		return heldup_bpf__open_opts(&opts);
	skel = xcalloc(1, sizeof(*skel));
	rc = heldup_bpf__create_skeleton(skel);
	if (rc == 0) {
		skel->skeleton->data = (void *)plain_bpf__elf_bytes(&skel->skeleton->data_sz);
		rc = bpf_object__open_skeleton(skel->skeleton, &opts);
	}
	if (rc == 0)
		return skel;
	heldup_bpf__destroy(skel);
	errno = -rc;
	return NULL;
}

/*
 * The map of variables that begin as 0, 4 MiB of them: libbpf would write all
 * the zeros into the one it makes, which takes 10 ms.
 */
static void zeros_make(struct heldup_bpf *skel)
{
	struct bpf_map *map = skel->maps.bss;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(map));
	CLEANUP_CLOSE int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, bpf_map__name(map),
					      sizeof(uint32_t), bpf_map__value_size(map), 1, &opts);

	if (fd >= 0 && bpf_map__reuse_fd(map, fd) < 0)
		log_debug("variables are written one by one: %s", strerror(errno));
}

static int load_skel(struct live_bpf *b, const struct kbtf *k, struct kbtf_subset *types)
{
	int rc = kbtf_subset_fill(types, k, b->skel->obj);

	return rc < 0 ? rc : heldup_bpf__load(b->skel);
}

/* 0, or -errno of the load with nothing left behind. */
static int load(struct live_bpf *b, const struct kbtf *k, const struct watch_opts *opts,
		bool old, struct err *err)
{
	CLEANUP(kbtf_subset_close) struct kbtf_subset types = kbtf_subset_open();
	int rc;

	b->missing_cnt = 0;
	b->skel = skel_open(b->no_stacks, &types);
	if (!b->skel)
		return err_errno(err, -errno, "open the BPF programs");
	rc = choose_programs(b, k, old, err);
	if (rc < 0)
		return rc;
	if (!opts->arrivals)
		no_arrivals(b->skel);
	settings(b, k, opts);
	zeros_make(b->skel);
	rc = load_skel(b, k, &types);
	if (rc < 0 && b->old_socks) { /* trampolines are refused where the kernel is locked down */
		log_debug("without functions in place of socket tracepoints: %s", strerror(-rc));
		heldup_bpf__destroy(b->skel);
		return load(b, k, opts, false, err);
	}
	if (rc < 0 && !b->no_stacks && !opts->stacks_or_fail) {
		log_debug("without stacks: %s", strerror(-rc));
		heldup_bpf__destroy(b->skel);
		b->no_stacks = true;
		return load(b, k, opts, true, err);
	}
	if (rc == -EPERM || rc == -EACCES)
		return err_rights(err, -EPERM, "may not load BPF programs: run as root (sudo)");
	if (rc == -EMFILE)
		return err_set(err, rc, "too few files may be open for the BPF programs: "
			       "raise the limit (ulimit -n 1024)");
	if (rc < 0)
		return err_rights(err, -ENOTSUP, "the kernel refused the BPF programs: %s",
				  strerror(-rc));
	return 0;
}

int live_bpf_open(struct live_bpf *b, const struct watch_opts *opts, struct err *err)
{
	struct kbtf *k;
	int rc;

	log_mark("begin");
	libbpf_set_print(print_libbpf);
	b->no_stacks = !opts->stacks;
	b->open_files = opts->open_files;
	k = kbtf_new(NULL);
	if (!k)
		return err_rights(err, -ENOTSUP,
				  "this kernel has no type information (/sys/kernel/btf/vmlinux)");
	log_mark("types");
	rc = load(b, k, opts, true, err);
	kbtf_free(k);
	log_mark("load");
	if (rc < 0)
		return rc;
	b->ring = ring_buffer__new(bpf_map__fd(b->skel->maps.hu_ring), on_record, b, NULL);
	if (!b->ring)
		return err_errno(err, -errno, "open the ring buffer");
	return 0;
}

/* NULL where sockets are not watched. */
static struct bpf_link *attach_sock_iter(struct live_bpf *b)
{
	union bpf_iter_link_info info = {0};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));

	if (b->open_files)
		return bpf_program__fd(b->skel->progs.hu_iter_file) < 0
			       ? NULL
			       : bpf_program__attach_iter(b->skel->progs.hu_iter_file, NULL);
	if (bpf_program__fd(b->skel->progs.hu_iter_sock) < 0)
		return NULL;
	info.map.map_fd = bpf_map__fd(b->skel->maps.hu_socks);
	return bpf_program__attach_iter(b->skel->progs.hu_iter_sock, &opts);
}

static bool is_wanted(const char *name, enum live_attach what)
{
	if (what == ATTACH_BACK)
		return is_of_calls(name);
	return what == ATTACH_ALL ||
	       (is_of_calls(name) || is_of_tasks(name)) == (what == ATTACH_CALLS);
}

static void keep_link(struct live_bpf *b, struct bpf_program *prog, struct bpf_link *link)
{
	const char *name = tp_name(prog) ? tp_name(prog) : old_name(prog);

	if (is_of_calls(name)) {
		b->call_links[strcmp(name, "sys_exit") == 0] = link;
		return;
	}
	if (prog == b->skel->progs.hu_recv) {
		b->recv_prog = prog;
		b->recv_link = link;
		return;
	}
	BUG_ON(b->link_cnt == LIVE_LINK_MAX);
	if (prog == b->skel->progs.hu_switch)
		b->switch_link = link;
	else
		b->links[b->link_cnt++] = link;
}

static int attach_programs(struct live_bpf *b, enum live_attach what, struct err *err)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, b->skel->obj) {
		const char *name = tp_name(prog) ? tp_name(prog) : old_name(prog);
		const struct hook *hook = name ? hooks_find(name) : NULL;
		struct bpf_link *link;

		if (!name || bpf_program__fd(prog) < 0 || !is_wanted(name, what))
			continue;
		link = bpf_program__attach(prog);
		if (link) {
			keep_link(b, prog, link);
			continue;
		}
		if (hook && (hook->required || is_of_calls(name)))
			return err_rights(err, -ENOTSUP, "attach to %s: %s", name,
					  strerror(errno));
		live_bpf_missing(b, name);
	}
	return 0;
}

int live_bpf_attach(struct live_bpf *b, enum live_attach what, struct err *err)
{
	int rc = attach_programs(b, what, err);

	if (rc < 0)
		return rc;
	if (b->flight && !b->calls_iter) {
		b->calls_iter = bpf_program__attach_iter(b->skel->progs.hu_iter_calls, NULL);
		if (!b->calls_iter)
			return err_rights(err, -ENOTSUP, "task iterator: %s", strerror(errno));
	}
	if (what == ATTACH_CALLS || what == ATTACH_BACK)
		return 0;
	b->sock_iter = attach_sock_iter(b);
	b->task_iter = bpf_program__attach_iter(b->skel->progs.hu_iter_task, NULL);
	if (!b->task_iter)
		return err_rights(err, -ENOTSUP, "task iterator: %s", strerror(errno));
	return 0;
}

uint64_t live_bpf_calls_off(struct live_bpf *b)
{
	struct bpf_program *const progs[2] = {b->skel->progs.hu_sys_enter,
					      b->skel->progs.hu_sys_exit};
	uint64_t missed = 0, before;

	for (int i = 0; i < 2; i++) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);

		bpf_link__destroy(b->call_links[i]);
		b->call_links[i] = NULL;
		if (bpf_obj_get_info_by_fd(bpf_program__fd(progs[i]), &info, &len) == 0 &&
		    info.recursion_misses > missed)
			missed = info.recursion_misses;
	}
	before = b->calls_missed;
	b->calls_missed = missed;
	return missed - before;
}

void live_bpf_release(struct live_bpf *b)
{
	guard_drop();
	bpf_link__destroy(b->call_links[0]);
	bpf_link__destroy(b->call_links[1]);
	bpf_link__destroy(b->calls_iter);
	bpf_link__destroy(b->switch_link);
	for (uint32_t i = 0; i < b->link_cnt; i++)
		bpf_link__destroy(b->links[i]);
	bpf_link__destroy(b->recv_link);
	bpf_link__destroy(b->task_iter);
	bpf_link__destroy(b->sock_iter);
	ring_buffer__free(b->ring);
	heldup_bpf__destroy(b->skel);
	*b = (struct live_bpf){0};
}

static uint64_t coarse_ns(void)
{
	struct timespec ts = {0};

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

void live_bpf_flush(struct live_bpf *b)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU);
	int fd = bpf_program__fd(b->skel->progs.hu_flush), cpus = libbpf_num_possible_cpus();

	guard_check();
	for (int cpu = 0; cpu < cpus; cpu++) { /* refused where the CPU is offline: fine */
		uint64_t at = coarse_ns();

		opts.cpu = cpu;
		if (bpf_prog_test_run_opts(fd, &opts) == 0 && coarse_ns() == at)
			b->skel->bss->jiffy_off =
				at - b->skel->bss->jiffy_sample * b->skel->rodata->jiffy_ns;
	}
}

/*
 * While it goes on, a thread that changes its CPU between the flush of one and of
 * the other leaves a gap in its waits.
 */
void live_bpf_end_waits(struct live_bpf *b)
{
	bpf_link__destroy(b->switch_link);
	b->switch_link = NULL;
	live_bpf_flush(b);
}

bool live_bpf_kname(void *ctx, uint64_t addr, char *ret_name, size_t size)
{
	struct live_bpf *b = ctx;
	uint64_t args[1] = {addr};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	const char *name = b->skel->bss->kname;
	size_t len;

	if (bpf_prog_test_run_opts(bpf_program__fd(b->skel->progs.hu_kname), &opts) < 0)
		return false;
	/* "name [module]", or the address where there is no name */
	len = strcspn(name, " ");
	if (len == 0 || len >= size || !(isalpha((unsigned char)*name) || *name == '_'))
		return false;
	snprintf(ret_name, size, "%.*s", (int)len, name);
	return true;
}

void live_bpf_drain(struct live_bpf *b)
{
	ring_buffer__consume(b->ring);
}

void live_bpf_wait(struct live_bpf *b, int timeout_ms)
{
	ring_buffer__poll(b->ring, timeout_ms);
}

/* Hands out the whole records in data; what is left of the last is moved to the front. */
static size_t split_records(struct live_bpf *b, char *data, size_t len)
{
	size_t off = 0;

	while (len - off >= sizeof(struct wire_hdr)) {
		const struct wire_hdr *h = (const void *)(data + off);

		if (h->size < sizeof(*h)) {
			b->bad_cnt++;
			return 0;
		}
		if (h->size > len - off)
			break;
		b->fn(b->ctx, h, h->size);
		off += h->size;
	}
	memmove(data, data + off, len - off);
	return len - off;
}

static void next_turn(struct live_bpf *b)
{
	uint32_t turns = b->skel->bss->thread_cnt / REPORTS_PER_TICK + 1;

	b->skel->bss->report_turns = turns;
	b->skel->bss->report_turn = (b->skel->bss->report_turn + 1) % turns;
}

int live_bpf_iterate(struct live_bpf *b, struct bpf_link *iter, uint64_t since_ns)
{
	CLEANUP_FREE char *data = xmalloc(ITER_BUF_BYTES);
	CLEANUP_CLOSE int fd = -1;
	size_t left = 0;
	ssize_t got;

	b->skel->bss->tick_since_ns = since_ns;
	b->skel->data->list_round++;
	if (iter == b->task_iter)
		next_turn(b);
	fd = bpf_iter_create(bpf_link__fd(iter));
	if (fd < 0)
		return -errno;
	while ((got = read(fd, data + left, ITER_BUF_BYTES - left)) > 0)
		left = split_records(b, data, left + got);
	return got < 0 ? -errno : 0;
}

int live_bpf_watch(struct live_bpf *b, uint32_t tgid, uint32_t flags, uint32_t start_ticks)
{
	struct proc_ent e = {.flags = flags, .start_ticks = start_ticks};

	if (bpf_map__update_elem(b->skel->maps.hu_procs, &tgid, sizeof(tgid), &e, sizeof(e),
				 BPF_NOEXIST) < 0)
		return -errno;
	return 0;
}

int live_bpf_rewatch(struct live_bpf *b, uint32_t tgid, uint32_t flags)
{
	struct proc_ent e = {.flags = flags};

	if (bpf_map__update_elem(b->skel->maps.hu_procs, &tgid, sizeof(tgid), &e, sizeof(e),
				 BPF_EXIST) < 0)
		return -errno;
	return 0;
}

void live_bpf_cost(const struct live_bpf *b, struct bpf_cost *ret)
{
	struct bpf_program *prog;

	*ret = (struct bpf_cost){0};
	bpf_object__for_each_program(prog, b->skel->obj) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);

		if (bpf_program__fd(prog) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) < 0)
			continue;
		ret->missed_cnt += info.recursion_misses;
		ret->run_cnt += info.run_cnt;
		ret->run_ns += info.run_time_ns;
	}
}

void live_bpf_runs(const struct live_bpf *b, struct run_cnts *ret)
{
	int cpus = libbpf_num_possible_cpus();
	CLEANUP_FREE struct run_cnts *runs = xcalloc(cpus > 0 ? cpus : 1, sizeof(*runs));
	uint32_t zero = 0;

	*ret = (struct run_cnts){0};
	if (cpus <= 0 || bpf_map_lookup_elem(bpf_map__fd(b->skel->maps.hu_runs), &zero, runs) < 0)
		return;
	for (int c = 0; c < cpus; c++)
		for (int i = 0; i < RUN_CNT; i++)
			ret->cnt[i] += runs[c].cnt[i];
}

int live_bpf_recv(struct live_bpf *b, bool on)
{
	if (!on) {
		bpf_link__destroy(b->recv_link);
		b->recv_link = NULL;
		return 0;
	}
	if (!b->recv_link)
		b->recv_link = bpf_program__attach(b->recv_prog);
	return b->recv_link ? 0 : -errno;
}

uint64_t live_bpf_map_bytes(const struct live_bpf *b)
{
	uint64_t bytes = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, b->skel->obj) {
		CLEANUP_FCLOSE FILE *file = NULL;
		char line[128], path[64];
		unsigned long long one;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "memlock: %llu", &one) == 1)
				bytes += one;
	}
	return bytes;
}
