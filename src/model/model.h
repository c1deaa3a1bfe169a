/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_H
#define MODEL_H
/*
 * What was seen, as the engines need it: processes, threads with their
 * states over time, resources, waits, conversations, disks, the host.
 * Built from events; does no I/O and judges nothing.
 *
 *	model_new, model_add for each event (or model_sink), model_finish,
 *	read the fields, model_free
 *
 * Between ticks of a live view: model_finish may be called again after more
 * model_add; it re-sorts and recomputes, and earlier pointers die.
 *
 * Memory is bounded: opts.max_waits waits are kept whole, as model/view_clock.h says;
 * all are in the sums (thread slices, pair sums).
 * Arrays are indexed by the uint32_t "idx" fields below;
 * NO_IDX is none.
 */
#include <stddef.h>
#include <stdint.h>

#include "model/view_clock.h"
#include "model/machine.h"
#include "store/event.h"

#define NO_IDX UINT32_MAX
#define ST_RUN 0	    /* state numbers: run, runnable, then wait classes */
#define ST_RUNQ 1
#define ST_WAIT 2	    /* ST_WAIT + enum wait_class */
#define ST_CNT (ST_WAIT + WAIT_CLASS_CNT)

struct err;
struct model;

struct model_opts {	    /* zero fields mean defaults */
	uint32_t max_waits; /* default 100000 (8 MiB), limit 1 << 24 */
	uint32_t max_slices;/* ticks kept for timelines; default 600 */
	uint32_t max_calls; /* default 1 << 24 (512 MiB), limit 1 << 26 */
	uint32_t newest_waits; /* 1: waits[] are the newest, not a sample: for a live view */
	uint32_t no_res_ticks; /* 1: res_ticks, file_ticks stay empty: less work */
};

/* One tick of one thread: exclusive states, their sum is the part of the tick it lived. */
struct slice {
	uint64_t begin_ns;
	uint64_t ns[ST_CNT];
	uint64_t iowait_ns, unint_ns;
};

struct wait {		    /* sorted by thread, then off_ns */
	uint64_t off_ns, wake_ns, end_ns; /* wake_ns: became runnable; == off_ns when preempted */
	uint64_t real_off_ns, real_end_ns; /* the same where the view clock is the real one */
	uint32_t thread;    /* idx */
	uint32_t res;	    /* idx, NO_IDX */
	uint32_t first_io;  /* res idx of the first socket received from AFTER this wait, NO_IDX */
	uint32_t waker;	    /* thread idx, NO_IDX when not a known task */
	uint32_t waker_tid;
	uint32_t owner_tid;
	uint32_t kstack;    /* idx in kstacks, NO_IDX */
	uint32_t ustack, waker_stack; /* idx in stacks (model/stack.h), NO_IDX: not taken */
	uint32_t proc_open;
	uint32_t prev_io;   /* as recorded: res idx received from after the wait before this one */
	uint16_t flags, own_open, cpu;
	int16_t sysnr;
	uint8_t cls, op, waker_ctx, pad;
};

struct thread {
	uint32_t tid, tgid, proc; /* proc idx */
	uint32_t ns_tid;
	const char *comm;
	uint32_t flags;	    /* enum task_flags */
	uint64_t begin_ns, end_ns; /* life inside the window */
	uint64_t view_begin_ns, view_end_ns; /* the same on the clock of waits[] */
	uint64_t start_ns;  /* of the thread itself, monotonic, may lie before the window */
	uint8_t tracked;    /* its states are known; else it was only seen as a waker */
	uint8_t exited;
	uint64_t ns[ST_CNT];/* whole window, sum == end_ns - begin_ns */
	uint64_t iowait_ns, unint_ns;
	uint64_t wait_cnt;
	uint64_t exec_ns, run_delay_ns;	/* kernel's own, over the window */
	uint64_t klock_ns, klock_cnt, reclaim_ns, reclaim_cnt;
	uint64_t stall_ns, stall_max_ns, stall_cnt;
	uint64_t maj_flt, min_flt, nvcsw, nivcsw, read_bytes, write_bytes;
	uint32_t first_wait, wait_len; /* run of waits[] */
	uint32_t first_long, long_len; /* run of long_waits[] */
	uint32_t first_slice, slice_len; /* run of slices[] */
	struct ev_thread first, last;/* raw cumulative, first and last seen */
};

struct proc {
	uint32_t tgid, ppid;
	const char *comm, *exe, *cgroup;
	uint64_t cgroup_id;
	uint8_t target, peer, kthread; /* chosen by the user; a peer of those; kernel thread */
	uint8_t watcher;	       /* heldup: no neighbour of anybody */
	uint32_t first_thread, thread_cnt; /* run of proc_threads[] */
	/* over the window: */
	uint64_t open_ns, out_ns, unread_ns; /* integrals: request-nanoseconds */
	uint32_t open_last, out_last, unread_last;
	uint32_t stale_conns;	   /* of unread_last: since before the window */
	uint64_t rss_bytes, swap_bytes;
	uint64_t died_ns;	   /* of a signal: when its last thread ended */
	uint32_t died_of;	   /* that signal, 0: it did not */
	struct ev_proc first, last;
};

struct res {
	uint64_t id;
	uint8_t kind, role;
	uint16_t family, sotype, lport, rport;
	uint32_t tgid, dev, fd_or_neg, magic, netns;
	uint64_t ino, aux;
	uint8_t laddr[16], raddr[16];
	const char *name;   /* as a person knows it; never NULL: made up if need be */
	uint32_t peer_tgid; /* 0 unknown or on another host */
	const char *peer_comm;
	uint64_t peer_res;  /* id of the other end, 0 unknown */
	uint32_t peer;	    /* res idx of the other end, NO_IDX */
	/* sums over the window, all threads: */
	uint64_t wait_ns, wait_cnt, wake_cnt;
	uint32_t waiter_cnt, waker_cnt; /* distinct threads */
	uint32_t both_cnt;  /* threads that both waited and woke */
	uint8_t labelled;   /* the model's own: its name was looked at */
};

/* Sum of waits of one thread on one resource ended by one waker. */
struct pair {
	uint32_t thread, res, waker; /* idx; waker NO_IDX: see ctx */
	uint8_t cls, ctx, op, pad;
	uint64_t ns, max_ns, cnt;
	uint64_t iowait_ns;
};

/* One tick of one pair's (thread, res, class): what `metrics` prints. */
struct res_tick {
	uint64_t begin_ns;
	uint32_t thread, res;
	uint8_t cls, op;
	uint16_t pad;
	uint64_t wait_ns, wait_cnt, wake_cnt; /* wake_cnt: wake-ups this thread did on res */
};

/* Waits in an epoll or poll set that one file ended, in the tick in which that was learnt. */
struct file_tick {
	uint64_t begin_ns;
	uint32_t thread, set, file, pad; /* idx: thread, res, res */
	uint64_t wait_ns, wait_cnt;
};

struct end {		    /* conversation, over the window */
	uint32_t proc;
	uint8_t role;
	uint16_t family, lport, rport;
	uint8_t raddr[16];
	const char *name;   /* "127.0.0.1:6379", unix path, ... */
	uint32_t peer_tgid;
	const char *peer_comm;
	uint64_t turns, service_ns, answer_max_ns, queue_ns, queue_cnt, idle_ns;
	uint64_t txblock_ns, txblock_cnt, rx_bytes, tx_bytes, partial_cnt, conns;
	uint64_t open_now, open_oldest_ns, open_sum_ns;
	uint64_t open_tick_ns;	/* as in struct ev_end */
	/* TCP connections without an answer since before the window: see struct ev_conn */
	uint64_t stale_cnt, stale_first_cnt, stale_oldest_ns, conns_last;
	uint64_t refused_cnt;	/* connections that the other end refused */
	uint64_t silent_cnt;	/* connections that wait for the first word, at one end of it */
	uint64_t hist[EVENT_HIST_CNT];
	struct ev_end first, last;
};

struct member {
	uint32_t set, file; /* res idx, file may be NO_IDX */
	uint64_t ino;
	uint32_t tgid;
	int32_t fd;
	uint32_t events;
	const char *name;
};

struct kstack { uint32_t id; const char *frames; /* "fn;fn;...", innermost first */ };
struct sock { struct ev_sock e; uint32_t res; };
struct listen {
	struct ev_listen e; /* largest backlog */
	double backlog_avg; uint32_t backlog_min; /* over the snapshots; min 0 of just one */
};

struct model {
	struct ev_meta meta;
	const char *cmdline, *kernel, *hostname, *selection;
	uint64_t begin_ns, end_ns; /* the window */
	uint64_t waits_begin_ns;   /* begin_ns; of newest_waits, where they begin */
	const struct kept *kept; size_t kept_cnt; /* by time, at least one */
	uint64_t kept_ns;	   /* all of them together */
	uint64_t view_begin_ns, view_end_ns; /* kept_ns apart; view_end_ns == end_ns */
	uint64_t coarse_ns[SHED_BIT_CNT]; /* by bit of enum shed: how long it was left out */
	uint64_t tick_begin_ns, tick_end_ns; /* the last whole tick; equal: none yet */

	struct thread *threads; size_t thread_cnt;
	struct proc *procs; size_t proc_cnt;
	const uint32_t *proc_threads; /* thread idxs by process, in each ascending */
	struct res *res; size_t res_cnt;
	struct wait *waits; size_t wait_cnt;
	struct wait *long_waits; size_t long_cnt;
	uint64_t long_min_ns;	   /* of this length and more all are there */
	uint64_t long_dropped_cnt; /* shorter ones that are not */
	struct slice *slices; size_t slice_cnt;
	struct pair *pairs; size_t pair_cnt;
	struct res_tick *res_ticks; size_t res_tick_cnt;
	struct file_tick *file_ticks; size_t file_tick_cnt;
	struct end *ends; size_t end_cnt;
	struct ev_turn *turns; size_t turn_cnt;
	struct sock *socks; size_t sock_cnt;	/* last snapshot of each */
	struct culprit *culprits; size_t culprit_cnt;
	struct disk_use *disk_uses; size_t disk_use_cnt;
	struct dev *devs; size_t dev_cnt;
	struct cgroup *cgroups; size_t cgroup_cnt;
	struct member *members; size_t member_cnt;
	struct kstack *kstacks; size_t kstack_cnt;
	struct module *modules; size_t module_cnt; /* these five: model/stack.h */
	struct stack *stacks; size_t stack_cnt;
	struct fn *fns; size_t fn_cnt;
	struct stack_sum *stack_sums; size_t stack_sum_cnt; /* by thread, state, resource */
	struct sample *samples; size_t sample_cnt; /* the newest */
	const struct model_calls *calls; /* model/calls/calls.h; never NULL */
	struct ev_conn *conns_first, *conns_last; size_t conn_first_cnt, conn_last_cnt;
	struct listen *listens; size_t listen_cnt;
	struct ev_host host;	   /* over the window, psi too; memory as last seen */
	struct ev_self self;	   /* last */
	uint64_t start_cpu_ns; /* our own CPU before the watch began: loading and checking BPF */
	struct ev_loss loss;	   /* last */
	const char **notes; uint32_t *note_kinds; size_t note_cnt;

	uint64_t waits_dropped_cnt, seq_gap_cnt, unknown_kind_cnt, bad_event_cnt;
	uint64_t limit_cnt;	   /* things not kept since a table of the model was full */
	uint64_t mem_bytes;	   /* held by the model */
	struct model_priv *priv;
};

/* opts may be NULL. */
struct model *model_new(const struct model_opts *opts);
void model_free(struct model *m);

/* Copies ev.  Cannot fail: what is malformed is counted in bad_event_cnt. */
void model_add(struct model *m, const struct event_hdr *ev);

/* A sink that feeds m; valid as long as m. */
struct event_sink model_sink(struct model *m);

/* Sorts and sums; call before reading. */
void model_finish(struct model *m);

/* String of an id from an event; "" when unknown. */
const char *model_str(const struct model *m, uint32_t id);

/* idx by kernel id, NO_IDX if never seen. */
uint32_t model_thread_by_tid(const struct model *m, uint32_t tid);
uint32_t model_proc_by_tgid(const struct model *m, uint32_t tgid);
uint32_t model_res_by_id(const struct model *m, uint64_t id);

/* Short stable names of enum values, for text and JSON: "futex", "epoll", "net", ... */
const char *wait_class_name(unsigned cls);
unsigned wait_class_resource(unsigned cls); /* enum res_kind, where no more is known */
unsigned wait_class_traits(unsigned cls); /* WAITC_*, 0 of none */
const char *state_name(unsigned st); /* ST_*: "run", "runq", else wait_class_name */
const char *res_kind_name(unsigned kind);
const char *waker_ctx_name(unsigned ctx);
const char *sock_role_name(unsigned role);
const char *shed_name(unsigned bit); /* of enum shed, 0 and on */
#endif /* MODEL_H */
