/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIEW_H
#define VIEW_H
/*
 * What `top` shows of one tick: threads, resources, processes and wait pairs
 * as plain rows, copied out of the model so that they stay while it goes on.
 * Knows no screen and no sorting: see thread_table.h and render.h.
 *
 *	view_new, view_build for each tick, read the fields, view_free
 *
 * Threads and resources come from the model's slices and res_ticks, which
 * split a wait at the tick; wakers and pairs from the waits kept in full.
 * Where the model kept fewer waits than the tick had, pairs_from_ns says
 * from when on they are complete.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "model/model.h"

struct ticks;

enum view_group {	/* wait classes as the columns show them */
	VG_RUN, VG_RUNQ, VG_LOCK, VG_NET, VG_POLL, VG_DISK, VG_MEM, VG_TIMER, VG_OTHER,
	VG_IDLE,	/* waits for work, of any class: so_far.h knows them */
	VG_CNT
};

struct view_waker {	/* who ended a wait; comm is never NULL */
	uint32_t tid;	/* 0: none known, or an interrupt: see ctx */
	uint8_t ctx;	/* enum waker_ctx; NONE with a tid: the owner of the lock waited for */
	const char *comm;
};

struct view_thread {
	uint32_t tid, tgid;
	const char *comm, *proc_comm;
	uint64_t life_ns;		/* part of the tick it was there */
	uint64_t ns[ST_CNT];
	uint64_t group_ns[VG_CNT];
	uint64_t wait_cnt;		/* waits seen in the tick */
	uint32_t top_res;		/* view res it waited on longest, NO_IDX */
	uint64_t top_ns;
	uint8_t top_cls;
	struct view_waker waker;	/* behind those waits, mostly: view_blame.c */
	uint8_t target, peer, kernel, exited, waiting; /* waiting: asleep at the tick's end */
};

struct view_res {
	uint64_t id;
	const char *name, *peer;	/* peer: process at the other end, "" unknown */
	uint8_t kind, cls;
	uint64_t wait_ns, wait_cnt, wake_cnt, max_ns;
	uint32_t waiter_cnt, waker_cnt, waiting_cnt;
	struct view_waker waker;	/* behind most of the waiting: view_blame.c */
	uint64_t waker_ns;		/* how much; 0 not known */
};

struct view_pair {
	uint32_t thread, tid;		/* view thread */
	uint32_t res;			/* view res, NO_IDX */
	const char *comm;
	struct view_waker waker;
	uint8_t cls;
	uint64_t ns, max_ns, cnt;
	uint32_t waiting_cnt;		/* not ended yet */
};

struct view_proc {
	uint32_t tgid, thread_cnt;
	const char *comm;
	uint64_t life_ns, ns[ST_CNT], group_ns[VG_CNT], wait_cnt;
	uint64_t turns, service_ns;	/* answered in the tick */
	uint32_t open, out, unread;
	uint64_t rss_bytes;
	uint8_t target, peer, kernel;
};

struct view_host {			/* of the tick; shares are of all CPUs, 0 to 1 */
	const char *hostname, *kernel, *selection;
	uint32_t cpu_cnt;
	double busy, iowait, steal, irq;
	const char *disk;		/* busiest device, "" none */
	double disk_busy, disk_queue;
	uint64_t mem_avail_bytes;
	double self_cpu;		/* of one core */
	uint64_t self_rss_bytes, self_events;
	uint64_t lost_tick, lost_all;	/* records, all kinds of loss */
	uint32_t thread_cnt, peer_cnt;	/* threads watched; peer processes */
	uint64_t turns;
	uint32_t open, unread;
};

struct view {
	struct arena arena;
	uint64_t begin_ns, end_ns;
	uint64_t since_ns;		/* start of the observation */
	uint64_t real_ns;		/* wall clock at end_ns */
	uint64_t pairs_from_ns;		/* begin_ns when pairs are complete */
	uint64_t model_bytes;
	VEC(struct view_thread) threads;
	VEC(struct view_res) res;
	VEC(struct view_pair) pairs;
	VEC(struct view_proc) procs;
	struct view_host host;
	const char *so_far;		/* the verdict on what was seen so far, "" none yet */
	const char **notes;		/* what is not seen */
	size_t note_cnt;
};

struct view *view_new(void);
void view_free(struct view *v);

/*
 * Replaces the content by the tick [begin_ns, end_ns).  m is finished.
 * Everything is copied: m may change afterwards.
 */
void view_build(struct view *v, const struct model *m, const struct ticks *ticks,
		uint64_t begin_ns, uint64_t end_ns);

enum view_group view_group_of(unsigned st);
const char *view_group_name(enum view_group g);
char view_group_letter(enum view_group g);

/* Index by kernel id; NO_IDX. */
uint32_t view_thread_by_tid(const struct view *v, uint32_t tid);
uint32_t view_res_by_id(const struct view *v, uint64_t id);

/* "mysqld", "network", "timer", "disk", "" */
const char *view_waker_text(const struct view_waker *w);

#endif /* VIEW_H */
