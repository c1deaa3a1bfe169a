/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/live/hooks.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define LOG_BYTES 4096

const struct hook hooks_table[] = {
	{"sched_switch", 0, HOOK_TP_BTF, true, NULL,
	 "states and waits of threads: runtime, rq_time, every wait", NULL},
	{"sched_waking", 0, HOOK_TP_BTF, true, NULL, "wakers, rq_time, futex_wake_count", NULL},
	{"sched_wakeup_new", 0, HOOK_TP_BTF, false, NULL, "rq_time of a thread's first wait", NULL},
	{"sched_process_fork", 0, HOOK_TP_BTF, true, NULL, "threads and children that start",
	 NULL},
	{"sched_process_exec", 0, HOOK_TP_BTF, false, NULL, "names after exec", NULL},
	{"sched_process_exit", 0, HOOK_TP_BTF, true, NULL, "the end of threads", NULL},
	{"contention_begin", 0, HOOK_TP_BTF, false, NULL, "waits for kernel locks",
	 "Linux 5.19 or later"},
	{"contention_end", 0, HOOK_TP_BTF, false, NULL, "waits for kernel locks",
	 "Linux 5.19 or later"},
	{"block_io_start", 0, HOOK_TP_BTF, false, "block_rq_issue",
	 "sector_count with its submitter", "Linux 6.5 or later"},
	{"block_io_done", 0, HOOK_TP_BTF, false, "block_rq_complete", "disk latency",
	 "Linux 6.5 or later"},
	{"block_rq_issue", 0, HOOK_TP_BTF, false, NULL, "sector_count on older kernels", NULL},
	{"block_rq_complete", 0, HOOK_TP_BTF, false, NULL, "disk latency on older kernels", NULL},
	{"mm_vmscan_direct_reclaim_begin", 0, HOOK_TP_BTF, false, NULL, "direct reclaim", NULL},
	{"mm_vmscan_direct_reclaim_end", 0, HOOK_TP_BTF, false, NULL, "direct reclaim", NULL},
	{"mm_vmscan_memcg_reclaim_begin", 0, HOOK_TP_BTF, false, NULL,
	 "reclaim at a cgroup's memory limit", NULL},
	{"mm_vmscan_memcg_reclaim_end", 0, HOOK_TP_BTF, false, NULL,
	 "reclaim at a cgroup's memory limit", NULL},
	{"balance_dirty_pages", 0, HOOK_TP_BTF, false, NULL,
	 "writers held back because too much is unwritten", NULL},
	{"posix_lock_inode", 0, HOOK_TP_BTF, false, NULL,
	 "file locks (fcntl) that are asked for again and again", NULL},
	{"flock_lock_inode", 0, HOOK_TP_BTF, false, NULL,
	 "file locks (flock) that are asked for again and again", NULL},
	{"block_bio_queue", 0, HOOK_TP_BTF, false, NULL, "submitter of block I/O on older kernels",
	 NULL},
	{"block_rq_merge", 0, HOOK_TP_BTF, false, NULL,
	 "requests that were merged: they seem in flight for ever", NULL},
	{"sock_recv_length", 0, HOOK_TP_BTF, false, "inet_recvmsg",
	 "requests on sockets and their times", "Linux 6.3 or later"},
	{"sock_send_length", 0, HOOK_TP_BTF, false, "inet_sendmsg",
	 "requests on sockets and their times", "Linux 6.3 or later"},
	{"sk_data_ready", 0, HOOK_TP_BTF, false, "sock_def_readable",
	 "how long requests wait before they are read", "Linux 6.3 or later"},
	{"inet_recvmsg", 0, HOOK_FUNC, false, NULL,
	 "requests on sockets of older kernels", NULL},
	{"inet6_recvmsg", 0, HOOK_FUNC, false, NULL,
	 "requests on sockets of older kernels", NULL},
	{"inet_sendmsg", 0, HOOK_FUNC, false, NULL,
	 "requests on sockets of older kernels", NULL},
	{"inet6_sendmsg", 0, HOOK_FUNC, false, NULL,
	 "requests on sockets of older kernels", NULL},
	{"unix_stream_recvmsg", 0, HOOK_FUNC, false, NULL,
	 "requests on sockets of older kernels", NULL},
	{"unix_stream_sendmsg", 0, HOOK_FUNC, false, NULL,
	 "requests on sockets of older kernels", NULL},
	{"unix_dgram_recvmsg", 0, HOOK_FUNC, false, NULL,
	 "requests on sockets of older kernels", NULL},
	{"unix_dgram_sendmsg", 0, HOOK_FUNC, false, NULL,
	 "requests on sockets of older kernels", NULL},
	{"sock_def_readable", 0, HOOK_FUNC, false, NULL,
	 "how long requests wait on older kernels", NULL},
	{"inet_sock_set_state", 0, HOOK_TP_BTF, false, NULL,
	 "ports that are opened, connections that end", NULL},
	{"sys_enter", 0, HOOK_TP_BTF, false, NULL, "recordings of system calls", NULL},
	{"sys_exit", 0, HOOK_TP_BTF, false, NULL, "recordings of system calls", NULL},
	{"bpf_sk_storage_map", 0, HOOK_ITER, false, "task_file", "requests open at the end", NULL},
	{"task_file", 0, HOOK_ITER, false, NULL, "the same where that one is refused", NULL},
	{"task", 0, HOOK_ITER, true, NULL, "threads already asleep, counters each second",
	 "Linux 5.8 or later"},
	{"ring buffer", BPF_MAP_TYPE_RINGBUF, HOOK_MAP, true, NULL, "all records",
	 "Linux 5.8 or later"},
	{"task storage", BPF_MAP_TYPE_TASK_STORAGE, HOOK_MAP, true, NULL, "states of threads",
	 "Linux 5.11 or later"},
	{"stack trace", BPF_MAP_TYPE_STACK_TRACE, HOOK_MAP, false, NULL,
	 "kernel functions of uninterruptible sleeps", NULL},
	{"map of maps", BPF_MAP_TYPE_ARRAY_OF_MAPS, HOOK_MAP, false, NULL,
	 "stacks of user code without frame pointers", NULL},
	{"perf_event", 0, HOOK_CLOCK, false, NULL, "samples of what runs on the CPUs",
	 "perf events, switched on in the kernel"},
	{"bpf_task_pt_regs", BPF_FUNC_task_pt_regs, HOOK_HELPER, true, NULL,
	 "the system call a thread sleeps in", "Linux 5.15 or later"},
	{"bpf_get_current_task_btf", BPF_FUNC_get_current_task_btf, HOOK_HELPER, true, NULL,
	 "the waker of a thread", "Linux 5.11 or later"},
};
const size_t hooks_cnt = sizeof(hooks_table) / sizeof(hooks_table[0]);

const struct hook *hooks_find(const char *name)
{
	for (size_t i = 0; i < hooks_cnt; i++) {
		if (strcmp(hooks_table[i].name, name) == 0)
			return &hooks_table[i];
	}
	return NULL;
}

const char *hooks_kind_name(enum hook_kind kind)
{
	switch (kind) {
	case HOOK_TP_BTF:
		return "tracepoint";
	case HOOK_ITER:
		return "iterator";
	case HOOK_MAP:
		return "map type";
	case HOOK_HELPER:
		return "helper";
	case HOOK_FUNC:
		return "function";
	case HOOK_CLOCK:
		return "clock";
	}
	return "?";
}

/* Not HOOKS_PREFIX: these are no part of a run, and go a moment after they are closed. */
#define PROBE_NAME "heldup_probe"

/* Separates the errors that the person can act on; everything else is "refused". */
static int probe_error(int err)
{
	return err == -EPERM || err == -EACCES ? -EPERM : -ENOTSUP;
}

struct probe_prog {
	enum bpf_attach_type attach_type;
	uint32_t btf_id;
	const struct bpf_insn *insns;
	size_t insn_cnt;
	char *log;
};

/* Descriptor of the program or -errno. */
static int load(const struct probe_prog *p)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = p->attach_type,
		    .attach_btf_id = p->btf_id, .log_level = p->log ? 1 : 0, .log_buf = p->log,
		    .log_size = p->log ? LOG_BYTES : 0);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, PROBE_NAME, "Dual BSD/GPL",
			       p->insns, p->insn_cnt, &opts);
	return fd < 0 ? -errno : fd;
}

static const struct bpf_insn return_0[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
	{.code = BPF_JMP | BPF_EXIT},
};

static int probe_tp_btf(const struct hook *h, const struct btf *vmlinux)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", h->name);
	int id = btf__find_by_name_kind(vmlinux, type, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -ENOENT;
	struct probe_prog p = {.attach_type = BPF_TRACE_RAW_TP,
			       .btf_id = (uint32_t)id,
			       .insns = return_0,
			       .insn_cnt = 2};
	CLEANUP_CLOSE int prog = load(&p);
	if (prog < 0)
		return probe_error(prog);
	CLEANUP_CLOSE int link = bpf_raw_tracepoint_open(NULL, prog);
	return link < 0 ? probe_error(-errno) : 0;
}

static int probe_iter(const struct hook *h, const struct btf *vmlinux)
{
	char func[128];

	snprintf(func, sizeof(func), "bpf_iter_%s", h->name);
	int id = btf__find_by_name_kind(vmlinux, func, BTF_KIND_FUNC);
	return id < 0 ? -ENOENT : hooks_probe_iter((uint32_t)id);
}

int hooks_probe_iter(uint32_t btf_id)
{
	struct probe_prog p = {.attach_type = BPF_TRACE_ITER,
			       .btf_id = btf_id,
			       .insns = return_0,
			       .insn_cnt = 2};
	CLEANUP_CLOSE int prog = load(&p);
	return prog < 0 ? probe_error(prog) : 0;
}

/* Skips the probe where trampolines are locked down: the load is refused already. */
static int probe_func(const struct hook *h, const struct btf *vmlinux)
{
	int id = btf__find_by_name_kind(vmlinux, h->name, BTF_KIND_FUNC);
	if (id < 0)
		return -ENOENT;
	struct probe_prog p = {.attach_type = BPF_TRACE_FEXIT,
			       .btf_id = (uint32_t)id,
			       .insns = return_0,
			       .insn_cnt = 2};
	CLEANUP_CLOSE int prog = load(&p);
	return prog < 0 ? probe_error(prog) : 0;
}

/*
 * A call with no arguments set is always refused; whether for its arguments
 * or because the helper is unknown, the verifier's words tell.
 */
static int probe_helper(const struct hook *h, const struct btf *vmlinux)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = h->nr},
		return_0[0],
		return_0[1],
	};
	int id = btf__find_by_name_kind(vmlinux, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	if (id < 0)
		return -ENOENT;
	CLEANUP_FREE char *log = xcalloc(1, LOG_BYTES);

	struct probe_prog p = {.attach_type = BPF_TRACE_RAW_TP,
			       .btf_id = (uint32_t)id,
			       .insns = insns,
			       .insn_cnt = 3,
			       .log = log};
	CLEANUP_CLOSE int prog = load(&p);
	if (prog >= 0)
		return 0;
	if (!log[0]) /* the verifier was not reached */
		return probe_error(prog);
	return strstr(log, "invalid func") || strstr(log, "unknown func") ? -ENOENT : 0;
}

int hooks_clock_open(int cpu, uint64_t hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.freq = 1,
		.sample_freq = hz,
		.exclude_idle = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int probe_map(const struct hook *h)
{
	/* without rights each type seems missing: ask for one that every kernel has */
	CLEANUP_CLOSE int plain =
		bpf_map_create(BPF_MAP_TYPE_HASH, PROBE_NAME, 4, 4, 1, NULL);
	if (plain < 0)
		return probe_error(-errno);
	int ret = libbpf_probe_bpf_map_type((enum bpf_map_type)h->nr, NULL);
	return ret > 0 ? 0 : ret == 0 ? -ENOENT : probe_error(ret);
}

static int probe_clock(void)
{
	CLEANUP_CLOSE int clock = hooks_clock_open(0, 1);

	return clock < 0 ? probe_error(clock) : 0;
}

int hooks_probe(const struct hook *h, const struct btf *vmlinux)
{
	if (h->kind == HOOK_MAP)
		return probe_map(h);
	if (h->kind == HOOK_CLOCK)
		return probe_clock();
	if (!vmlinux)
		return -ENOENT;
	switch (h->kind) {
	case HOOK_TP_BTF:
		return probe_tp_btf(h, vmlinux);
	case HOOK_ITER:
		return probe_iter(h, vmlinux);
	case HOOK_HELPER:
		return probe_helper(h, vmlinux);
	case HOOK_FUNC:
		return probe_func(h, vmlinux);
	case HOOK_MAP:
	case HOOK_CLOCK:
		break;
	}
	return -ENOTSUP;
}
