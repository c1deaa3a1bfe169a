/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIVE_INT_H
#define LIVE_INT_H
/*
 * Inside the live source, shared by its files and by no others:
 *
 *	live.c	     the loop: drain, tick, end
 *	live_bpf.c   loads and attaches the programs, reads the iterators
 *	live_convert.c  wire record to event; live_resources.c: names, the other ends, owners
 *	live_cost.c  what it costs, what is shed for that; live_maps.c: maps to events
 *	live_conversations.c  conversations, sockets, listening ports; live_requests.c: all turns
 *	live_peers.c counterpart processes; live_procs.c: processes seen; live_calls.c: calls
 *	live_stacks.c stacks and samples
 *	flight*.c    all system calls, see flight_int.h
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "collect/emit.h"
#include "collect/live/live_requests.h"
#include "collect/resources/resindex.h"
#include "collect/source.h"
#include "collect/target/target.h"
#include "store/event.h"
#include "wire/wire.h"
#include "wire/conf.h"

struct cgroups;
struct err;
struct heldup_bpf;
struct ksyms;
struct names;
struct peers;
struct ring_buffer;
struct bpf_link;
struct bpf_program;
struct sockdiag;
struct live_cost;
struct live_stacks;
struct live_flight;

#define LIVE_MISSING_MAX 32
#define LIVE_LINK_MAX 32

/* Called for each record; size was checked against the buffer, not the kind. */
typedef void (*live_record_fn)(void *ctx, const struct wire_hdr *rec, size_t size);

struct live_bpf {
	struct heldup_bpf *skel;
	struct ring_buffer *ring;
	struct bpf_link *links[LIVE_LINK_MAX];
	uint32_t link_cnt, missing_cnt;
	struct bpf_link *switch_link, *task_iter; /* hu_switch's is apart: it goes first */
	struct bpf_link *calls_iter, *call_links[2]; /* with calls only */
	uint64_t calls_missed;	     /* reported so far by live_bpf_calls_off */
	struct live_flight *flight;  /* NULL: no calls are recorded */
	struct bpf_program *recv_prog; /* may leave and come back; NULL where it is not one */
	struct bpf_link *recv_link;    /* NULL while it is away */
	struct bpf_link *sock_iter; /* NULL where the kernel has no socket hooks */
	const char *missing[LIVE_MISSING_MAX]; /* hooks that could not be attached */
	bool no_stacks;		/* not asked for, or the kernel refused what takes them */
	bool open_files;	/* sock_iter goes through them: hu_iter_file */
	bool old_socks;		/* functions stand in for the socket tracepoints */
	uint64_t drained_bytes;
	uint64_t bad_cnt;	/* records of unknown kind or size */
	live_record_fn fn;
	void *ctx;
};

/* A process that was seen: watched, or was. */
struct live_proc {
	uint32_t tgid;
	uint32_t flags;	 /* enum task_flags */
	uint32_t exe, cgroup; /* strings */
	bool named, in_pidns, gone, refused; /* refused: a counterpart over the bound */
	uint8_t gone_ticks;
	bool light, looked_at; /* TASKF_LIGHT; by live_bystander */
	/* at this tick: requests open here, sent out and not answered, not read yet */
	struct live_sums {
		uint32_t cnt;
		uint64_t ns; /* all ended ones and the ages of the present ones */
	} open, out, unread;
};

/* A conversation, by its index in the kernel side's array. */
struct live_end {
	struct wire_end_key key;
	bool known;
	struct live_turns turns;
	uint64_t open_cnt, open_sum_ns, open_oldest_ns, open_tick_ns; /* in this tick; of all */
};

struct live {
	struct watch_opts opts;
	struct target target;
	struct live_bpf bpf;
	struct emit emit;
	struct names *names;
	struct peers *peers;
	struct resindex resindex;
	struct cgroups *cgroups;
	struct ksyms *ksyms;
	struct sockdiag *sockdiag;
	struct live_stacks *stacks; /* NULL: none are taken */
	struct live_flight *flight; /* NULL: no calls are recorded */
	struct live_cost *cost;
	struct hmap tids;	/* threads that live, to 1 + the next sequence number, 0 none yet */
	struct hmap ns_tids;	/* process and id in its pid namespace, to ours */
	struct hmap kstacks;	/* ids already sent */
	struct hmap sums_told;	/* of culprits, disk users: the count last reported */
	struct hmap culprit_comms; /* tgid to the ms it was read << 32 | string */
	uint64_t map_bytes, map_bytes_ns; /* of the BPF maps, and when they were summed */
	VEC(struct live_proc) procs;
	VEC(uint32_t) procs_free; /* indexes + 1 of empty entries */
	uint32_t bystander_cnt;	/* entries of processes not watched, about */
	struct hmap proc_idx;	/* tgid to index + 1 */
	VEC(struct live_end) ends;
	struct hmap netns_seen;	/* whose listening ports are known */
	uint32_t peer_cnt, alive_cnt;	/* alive: targets still there at the last tick */
	uint64_t loss[LOSS_CNT];
	uint64_t start_ns, tick_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t start_cpu_ns;	/* our own CPU time then */
	uint64_t tick_begin_ns, next_tick_ns;
	uint64_t answer_cnt, quick_cnt; /* RUN_ANSWER, RUN_QUICK at the last sum */
	uint64_t owner_asked;	/* futex owners looked up in this tick */
	uint32_t hung_told, died_told, keepers_told, bound_told; /* timed_call.h: notes were made */
	volatile int stopping;
	bool is_full_asked; /* by source_full */
	int stage;		/* enum live_stage */
};
enum live_stage { LIVE_NEW = 0, LIVE_RUNS = 1, LIVE_DONE = 2 };
/* Which programs: all, those that record calls, all others, the two hooks of calls again. */
enum live_attach { ATTACH_ALL = 0, ATTACH_CALLS = 1, ATTACH_REST = 2, ATTACH_BACK = 3 };

/* live_bpf.c: all 0 or -errno with err set. */
int live_bpf_open(struct live_bpf *b, const struct watch_opts *opts, struct err *err);
int live_bpf_attach(struct live_bpf *b, enum live_attach what, struct err *err);
/* No call is recorded from here on; returns how many were not, one being recorded then. */
uint64_t live_bpf_calls_off(struct live_bpf *b);
void live_bpf_release(struct live_bpf *b);
/* Puts the waits that the CPUs keep back into the ring. */
void live_bpf_flush(struct live_bpf *b);
/* The same at the end: no wait comes after it. */
void live_bpf_end_waits(struct live_bpf *b);
/* A ksyms_ask_fn; ctx is the struct live_bpf. */
bool live_bpf_kname(void *ctx, uint64_t addr, char *ret_name, size_t size);
/* Records since the last call, to fn. */
void live_bpf_drain(struct live_bpf *b);
void live_bpf_wait(struct live_bpf *b, int timeout_ms);
/* Runs an iterator; threads and sockets unchanged since since_ns are left out (0: all). */
int live_bpf_iterate(struct live_bpf *b, struct bpf_link *iter, uint64_t since_ns);
/* Puts a note about a hook that cannot be had. */
void live_bpf_missing(struct live_bpf *b, const char *name);
/* Watches another process, tracked from the next iteration on; in another way one that is. */
int live_bpf_watch(struct live_bpf *b, uint32_t tgid, uint32_t flags, uint32_t start_ticks);
int live_bpf_rewatch(struct live_bpf *b, uint32_t tgid, uint32_t flags);

/* Sums of all programs: runs that the kernel skipped; runs that it timed and their time. */
struct bpf_cost { uint64_t missed_cnt, run_cnt, run_ns; };
void live_bpf_cost(const struct live_bpf *b, struct bpf_cost *ret);
/* Runs so far of one kind, all CPUs together. */
void live_bpf_runs(const struct live_bpf *b, struct run_cnts *ret);
int live_bpf_recv(struct live_bpf *b, bool on); /* hu_recv away or back; 0 or -errno */
/* Kernel memory of all maps, as the kernel counts it, and of the threads' storage. */
uint64_t live_bpf_map_bytes(const struct live_bpf *b);
void live_convert(void *ctx, const struct wire_hdr *rec, size_t size); /* live_convert.c */

/* live_procs.c.  The entry of a process, made when new; good until the next call. */
struct live_proc *live_proc(struct live *l, uint32_t tgid);
void live_procs_purge(struct live *l);
void live_task(struct live *l, const struct wire_task *w);

/* live_resources.c */
bool live_is_watcher(struct live *l, uint32_t tgid);
void live_bystander(struct live *l, uint32_t tgid, uint64_t ts_ns);
void live_res(struct live *l, const struct wire_res *w);
uint32_t live_owner(struct live *l, const struct wire_wait *w);

/* live_conversations.c.  Around the iteration over sockets: _begin, iterate, _tick. */
void live_listen(struct live *l, uint32_t tgid);
uint8_t live_role(struct live *l, const struct wire_res *w); /* on a listening port: a server's */
void live_sock(struct live *l, const struct wire_sock *w);
void live_ends_begin(struct live *l);
void live_ends_tick(struct live *l, uint64_t now);
void live_ends_sum(struct live *l); /* between ticks: sums, and tells nothing */

/* live_peers.c */
void live_peers(struct live *l);
void live_draw_in(struct live *l, uint32_t tgid, bool client);

/* live_maps.c */
void live_maps_begin(struct live *l);
void live_maps_tick(struct live *l, uint64_t now, bool last);
const char *live_comm(struct live *l, uint32_t tgid); /* valid until the next name */

void live_sys_fill(volatile const uint8_t *kinds); /* live_calls.c */
#endif /* LIVE_INT_H */
