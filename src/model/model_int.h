/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_MODEL_INT_H
#define MODEL_MODEL_INT_H
/*
 * The inside of the model, shared by the files of src/model only.
 *
 * Waits of one tick are gathered raw in a batch.  At the tick the batch is
 * ordered by thread and time (batch.c), each thread's time is laid into
 * exclusive states (account.c), and the waits go to the bounded store and
 * the sums (sums.c).  Other records go to tables of first and last value
 * (tables.c).  model_finish (model_finish.c) publishes all of it.
 */
#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/keep/pieces.h"
#include "model/slices.h"
#include "model/stack.h"

enum {
	MODEL_WAITS_DEFAULT = 100000,
	MODEL_WAITS_LIMIT = 1 << 24,
	MODEL_SLICES_DEFAULT = 600,
	LONG_PART = 4,		/* of max_waits, for long ones of the whole window */
	COARSE_MAX = 1 << 16,	/* intervals: two hours of eight a second */
	BATCH_MAX = 1 << 15,	/* waits gathered before they are worked in without a tick */
	THREADS_MAX = 1 << 16, PROCS_MAX = 1 << 14,
	RES_MAX = 1 << 16,
	PAIRS_MAX = 1 << 16,
	RES_TICKS_MAX = 1 << 16,
	FILE_TICKS_MAX = 1 << 14,
	STR_ID_MAX = 1 << 20,
	STR_BYTES_MAX = 16 << 20,
	TABLE_MAX = 1 << 13,	/* rows of each table of tables.c */
	TURNS_MAX = 1 << 14,
	NOTES_MAX = 256,
	MODULES_MAX = 1 << 12,
	STACKS_MAX = 1 << 16,
	FRAMES_MAX = 1 << 21,	/* of all stacks together: 16 MiB */
	FNS_MAX = 1 << 17,
	STACK_SUMS_MAX = 1 << 16,
	SAMPLES_MAX = 1 << 16,
	TIME_BITS = 62,		/* a time above is damage; differences and their sums fit int64_t */
};

/* Time that model_finish laid in for the state in progress; taken out again later. */
struct tail {
	uint64_t from, to;
	uint32_t res;
	uint16_t flags;
	uint8_t st, op;
};

/* How one tracked thread's time has been laid out so far. */
struct track {
	uint32_t thread;	/* idx */
	uint32_t row;		/* in the slices, NO_IDX */
	uint64_t begin_ns;	/* its life in the window */
	uint64_t sure_ns;	/* laid out up to here */
	uint64_t seen_ns;	/* last completed wait ended */
	int64_t ns[ST_CNT];	/* sum == sure_ns - begin_ns */
	int64_t iowait_ns, unint_ns;
	uint64_t wait_cnt;
	int64_t *base;		/* kernel-side sums at begin_ns, then iowait, unint; NULL: 0 */
	uint32_t next_seq;
	bool begun, seq_known, based, pend_set, long_set, tells;
	struct ev_wait pend;	/* still waiting when last heard of */
	uint32_t pend_res;
	struct tail tail;
	uint32_t set;		/* epoll or poll set that the last wait was in, NO_IDX */
	uint64_t set_ns;	/* how long */
	struct wait last_long;	/* if long_set: what was read after it is not known yet */
};

struct mthread {
	uint32_t track;		/* idx, NO_IDX: not tracked */
	uint32_t comm;
	uint64_t task_ns;	/* first task record, 0 none */
	uint64_t exit_ns;	/* 0: alive */
	uint64_t start_boot_ns;
	bool has_first, snap_new;
};

struct mproc {
	uint32_t comm, exe, cgroup;
	bool comm_main;		/* comm is the main thread's */
	bool has_first;
};

struct raw_wait {
	struct ev_wait e;
	uint32_t thread, res, io, waker;
};

/*
 * In front of a hash table: most look-ups are of what was looked up a moment
 * ago.  Places are plus one, 0 is empty; the user compares the key itself.
 */
enum { MEMO_CNT = 16384 };
struct memo {
	uint32_t at[MEMO_CNT];
};

/* Cumulative records: the first and last seen of each key. */
#define TABLE(type)                                                   \
	struct {                                                      \
		struct hmap idx;                                      \
		VEC(struct { type first; type last; }) rows;          \
	}

struct raw_sample {
	uint64_t ts_ns;
	uint32_t tid, stack, cnt; /* stack: idx */
	uint16_t cpu;
};

struct code {
	VEC(struct module) modules;
	VEC(struct stack) stacks;
	VEC(struct fn) fns;
	VEC(struct raw_sample) samples; /* the newest */
	VEC(struct raw_sample) sampled; /* summed by thread and stack */
	VEC(struct stack_sum) sums;
	struct arena frames;	/* of the stacks */
	size_t frame_cnt;
	/* places plus one, by id, and by the mix of a key */
	struct hmap by_module, by_stack, by_frame, by_sum, by_sampled;
};

struct model_priv {
	uint32_t max_waits;
	bool no_rows, newest;
	bool begun, has_meta;
	uint64_t tick_ns, last_ns; /* last_ns: newest time seen */

	VEC(const char *) strs;
	struct arena str_arena;

	VEC(struct thread) threads;
	VEC(struct mthread) mthreads;
	VEC(struct track) tracks;
	VEC(struct proc) procs;
	VEC(struct mproc) mprocs;
	VEC(struct res) res;
	struct hmap by_tid, by_tgid, by_res;
	struct memo tid_memo, res_memo, pair_memo, row_memo;
	uint32_t settled_threads, settled_procs, settled_res; /* sorted so far */

	VEC(struct raw_wait) batch;
	VEC(uint32_t) order, starts;
	struct slices slices;

	VEC(struct wait) waits, longs;
	uint32_t max_longs;
	uint64_t long_take_ns;	/* shorter ones are not taken in */
	struct pieces pieces;	/* what waits holds the waits of */
	VEC(struct kept) kept;
	VEC(struct wait) view;	/* the waits on the view clock, where it is not the real one */
	VEC(struct pair) pairs;
	VEC(struct res_tick) res_ticks;
	VEC(struct file_tick) file_ticks;
	struct hmap by_file_tick;
	size_t rows_kept;	/* when some were last dropped */
	struct hmap by_pair, by_res_tick, by_kstack, kstack_idx;
	VEC(struct kstack) kstacks;

	TABLE(struct ev_end) ends;
	TABLE(struct ev_culprit) culprits;
	TABLE(struct ev_disk) disks;
	TABLE(struct ev_dev) devs;
	TABLE(struct ev_cgroup) cgroups;
	TABLE(struct ev_sock) socks;
	TABLE(struct ev_member) members;
	TABLE(struct ev_listen) listens;
	struct hmap listen_sum, listen_seen; /* by key of listens: backlogs, snapshots */
	struct hmap listen_min; /* ... smallest backlog */
	TABLE(struct ev_host) hosts;
	VEC(struct ev_turn) turns;
	VEC(struct ev_conn) conns_first, conns_last;
	uint64_t conns_first_ns, conns_last_ns;
	VEC(uint32_t) notes, note_kinds;
	struct code code;
	struct calls *calls;

	struct arena labels;	/* names made up for resources */
	struct arena pub;	/* what the last model_finish published */
};

/* lookups.c: idx, made when new; NO_IDX for id 0 and a full table.  cls: of a wait on it. */
uint32_t model_thread_get(struct model *m, uint32_t tid, uint32_t tgid);
uint32_t model_res_get(struct model *m, uint64_t id, unsigned cls);
uint32_t model_proc_get(struct model *m, uint32_t tgid);
uint32_t model_thread_new(struct model *m, uint32_t tid, uint32_t tgid); /* another life */

/* The thread's track, made when new; its pointer dies with the next one made. */
struct track *model_track_get(struct model *m, uint32_t thread);

/* batch.c */
void batch_put(struct model *m, const struct ev_wait *ev);
void batch_work(struct model *m);

/* account.c */
void account_begin(struct model *m, struct track *t, uint64_t first_off_ns);
void account_wait(struct model *m, struct track *t, const struct ev_wait *w, uint32_t res,
		  uint64_t to_ns);
void account_snap(struct model *m, struct track *t, unsigned st_now, uint16_t flags);
void account_run(struct model *m, struct track *t, uint64_t to_ns);
void account_tail(struct model *m, struct track *t, uint64_t end_ns);
void account_untail(struct model *m, struct track *t);

/* sums.c */
void sums_wait(struct model *m, struct track *t, const struct raw_wait *w);
void sums_time(struct model *m, uint32_t thread, uint32_t res, unsigned cls, unsigned op,
	       uint64_t from, uint64_t to, int sign);
uint32_t sums_waker(struct model *m, const struct ev_wait *e);
struct wait sums_kept(struct model *m, const struct track *t, const struct raw_wait *raw);
void sums_file(struct model *m, struct track *t, const struct raw_wait *raw);
void sums_trim(struct model *m);
void sums_publish(struct model *m);
/* whole_waits.c, long_waits.c, view_clock.c, continued_answers.c: after all records */
void whole_add(struct model *m, struct track *t, const struct wait *w);
void whole_coarse(struct model *m, uint64_t begin_ns, uint64_t end_ns);
void longs_add(struct model *m, struct track *t, const struct wait *w);
void longs_publish(struct model *m);
void kept_publish(struct model *m);
void rests_publish(struct model *m);
void last_reads_publish(struct model *m);

/* tables.c */
bool table_add(struct model *m, const struct event_hdr *ev);
void tables_publish(struct model *m);
uint64_t tables_listen_key(const struct ev_listen *e);
void tables_release(struct model_priv *p);
size_t tables_bytes(const struct model_priv *p);

/* stack_sums.c */
bool code_add(struct model *m, const struct event_hdr *ev);
uint32_t code_stack_get(struct model *m, uint32_t id);
void code_stacks_of(struct model *m, const struct ev_wait *e, struct wait *w);
void code_wait(struct model *m, const struct wait *w);
void code_publish(struct model *m);
size_t code_bytes(const struct model_priv *p);
void code_release(struct model_priv *p);

/* calls.c; threads: rows for all that made calls */
struct calls *calls_new(struct model *m, uint32_t max_calls);
bool calls_add(struct model *m, const struct event_hdr *ev);
bool calls_add_coarse(struct model *m, const struct ev_coarse *e);
void calls_add_wait(struct model *m, const struct ev_wait *e);
void calls_threads(struct model *m);
void calls_publish(struct model *m);
size_t calls_bytes(const struct calls *c);
void calls_free(struct calls *c);

/* label.c: a name for a resource that came without one. */
const char *label_res(const struct model *m, const struct res *r, struct arena *a);

/* Copies a record of any length into one of this version: the missing tail is zero. */
#define EV_LOAD(ev, to) model_load((ev), (to), sizeof(*(to)))
void model_load(const struct event_hdr *ev, void *to, size_t to_size);

/* true when a cumulative counter was already running when the window began. */
bool model_is_base(const struct model *m, uint64_t first_ns);

static inline uint64_t since(uint64_t last, uint64_t first)
{
	return last >= first ? last - first : last;
}
#endif /* MODEL_MODEL_INT_H */
