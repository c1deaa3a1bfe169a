/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/runtimes/runtime_watch.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/timed/timed_call.h"
#include "base/vec.h"
#include "collect/proc/procfs.h"
#include "collect/runtimes/runtime_find.h"
#include "collect/runtimes/runtime_stacks.h"
#include "wire/runtimes.h"

#define LOOK_COST_PART 100	     /* a hundredth of one CPU at most, */
#define ALWAYS_COST_PART 400	     /* by a watch that does not end a quarter of that, */
#define LOOK_BURST_NS (50 * (int64_t)NS_PER_MS) /* and at first so much: names are all new */
/*
 * Threads that run: names of new functions may take a twentieth of the time, most of
 * which is waiting for the reader; at first so much, for all are new.
 */
#define WORDS_COST_PART 20
#define WORDS_BURST_NS (500 * (int64_t)NS_PER_MS)
#define RANGES_GAP_NS NS_PER_SEC     /* between two readings of a process' mappings */
#define FIND_GAP_NS (5 * NS_PER_SEC) /* between two tries of one that could not be read */

struct look {
	uint64_t begin_ns, end_ns; /* asleep at both and between */
	uint32_t stack;
	uint32_t lock, holder_tid; /* lock: index + 1, 0 none */
};

struct lock {
	uint64_t key, addr;
	char *name;
};

struct thread {
	uint32_t tid;
	uint64_t anchor;   /* as the kernel side knows it */
	uint64_t switches; /* at the last look */
	uint32_t last;	   /* looks so far */
	struct look looks[RUNTIME_LOOKS];
};

struct proc {
	uint32_t tgid;		     /* 0: free */
	struct runtime_found *found; /* NULL: to be found */
	struct mixed_loop loops[RUNTIME_LOOP_MAX];
	size_t loop_cnt;
	struct hmap tids; /* in its pid namespace, to ours */
	uint64_t ranges_ns, find_ns;
	bool in_ns;
};

struct runtime_watch {
	runtime_place_fn *place;
	void *ctx;
	VEC(struct proc) procs;
	struct hmap by_tgid; /* index + 1 */
	VEC(struct thread) threads;
	struct hmap by_tid; /* index + 1 */
	VEC(struct lock) locks;
	struct hmap by_lock; /* key to index + 1 */
	struct runtime_stacks *stacks;
	struct runtime_maps maps; /* .shapes below 0: there are none */
	uint64_t last_ns;
	uint64_t cost_part;	/* one in so many of the time is for looks */
	int64_t left_ns; /* that looks may take; below 0: the last took more than there was */
	int64_t words_left_ns; /* ... and names of what runs */
	struct runtime_counts counts;
};

struct runtime_watch *runtime_watch_new(runtime_place_fn *place, void *ctx, bool always)
{
	struct runtime_watch *w = xcalloc(1, sizeof(*w));

	w->place = place;
	w->ctx = ctx;
	w->maps = (struct runtime_maps){-1, -1};
	w->stacks = runtime_stacks_new();
	w->words_left_ns = WORDS_BURST_NS;
	w->cost_part = always ? ALWAYS_COST_PART : LOOK_COST_PART;
	return w;
}

static void found_free(struct proc *p)
{
	if (p->found)
		runtime_found_release(p->found);
	free(p->found);
	p->found = NULL;
	hmap_release(&p->tids);
}

void runtime_watch_free(struct runtime_watch *w)
{
	if (!w)
		return;
	VEC_FOREACH(&w->procs, p)
		found_free(p);
	vec_release(&w->procs);
	vec_release(&w->threads);
	hmap_release(&w->by_tgid);
	hmap_release(&w->by_tid);
	VEC_FOREACH(&w->locks, lock)
		free(lock->name);
	vec_release(&w->locks);
	hmap_release(&w->by_lock);
	runtime_stacks_free(w->stacks);
	free(w);
}

static struct proc *proc_of(const struct runtime_watch *w, uint32_t tgid)
{
	uint64_t at;

	return hmap_get(&w->by_tgid, tgid, &at) ? &w->procs.items[at - 1] : NULL;
}

void runtime_watch_add(struct runtime_watch *w, uint32_t tgid)
{
	struct proc *p = proc_of(w, tgid);
	size_t at = 0;

	if (p) {
		p->ranges_ns = 0;
		if (p->found && !p->found->proc)
			p->find_ns = 0;
		return;
	}
	while (at < w->procs.cnt && w->procs.items[at].tgid)
		at++;
	if (at >= RUNTIME_PROCS_MAX) {
		w->counts.over_cnt++;
		return;
	}
	if (at == w->procs.cnt)
		(void)vec_add(&w->procs);
	w->procs.items[at] = (struct proc){.tgid = tgid};
	hmap_put(&w->by_tgid, tgid, at + 1);
}

void runtime_watch_forget(struct runtime_watch *w, uint32_t tgid)
{
	struct proc *p = proc_of(w, tgid);

	if (!p)
		return;
	if (w->maps.shapes >= 0)
		bpf_map_delete_elem(w->maps.shapes, &tgid);
	found_free(p);
	*p = (struct proc){0};
	hmap_del(&w->by_tgid, tgid);
}

bool runtime_watch_may(const struct runtime_watch *w, uint32_t tgid)
{
	const struct proc *p = proc_of(w, tgid);

	return p && (!p->found || p->found->proc);
}

/* ---- looking */

static void loops_place(struct runtime_watch *w, struct proc *p)
{
	struct runtime_range loops[RUNTIME_LOOP_MAX];

	p->loop_cnt = runtime_loops(p->found->proc, loops);
	for (size_t i = 0; i < p->loop_cnt; i++) {
		uint64_t start = w->place(w->ctx, p->tgid, loops[i].start);

		p->loops[i] = (struct mixed_loop){start, start + loops[i].end - loops[i].start};
	}
}

static struct thread *thread_of(struct runtime_watch *w, uint32_t tid)
{
	uint64_t *slot;

	if (w->threads.cnt >= RUNTIME_KNOWN_MAX) { /* the next look finds those that live */
		w->threads.cnt = 0;
		hmap_clear(&w->by_tid);
	}
	slot = hmap_slot(&w->by_tid, tid);
	if (!*slot) {
		*vec_add(&w->threads) = (struct thread){.tid = tid};
		*slot = w->threads.cnt;
	}
	return &w->threads.items[*slot - 1];
}

static void shape_put(struct runtime_watch *w, const struct proc *p)
{
	struct rt_shape shape;

	if (w->maps.shapes >= 0 && runtime_kernel_shape(p->found->proc, &shape) &&
	    bpf_map_update_elem(w->maps.shapes, &p->tgid, &shape, BPF_ANY) < 0)
		w->counts.over_cnt++;
}

static void anchor_put(struct runtime_watch *w, uint32_t tid, uint64_t anchor)
{
	struct thread *t;

	if (w->maps.threads < 0)
		return;
	t = thread_of(w, tid);
	if (t->anchor != anchor &&
	    bpf_map_update_elem(w->maps.threads, &tid, &anchor, BPF_ANY) == 0)
		t->anchor = anchor;
}

static void find(struct runtime_watch *w, struct proc *p, uint64_t now)
{
	if (p->found && (p->found->proc || !p->found->lang || now < p->find_ns))
		return;
	found_free(p);
	p->found = xcalloc(1, sizeof(*p->found));
	p->find_ns = now + FIND_GAP_NS;
	p->ranges_ns = now;
	if (runtime_find(p->tgid, p->found) < 0 || !p->found->proc)
		return;
	p->in_ns = procfs_ns_tid(p->tgid) != 0;
	loops_place(w, p);
	shape_put(w, p);
}

static void ranges_again(struct proc *p, uint64_t now)
{
	if (p->ranges_ns && now - p->ranges_ns < RANGES_GAP_NS)
		return;
	runtime_found_ranges(p->found);
	p->ranges_ns = now;
}

/* Interpreters keep the number that a thread has in its own pid namespace. */
static uint32_t tid_of(struct proc *p, uint32_t ns_tid)
{
	uint64_t tid;

	if (!p->in_ns || !ns_tid)
		return ns_tid;
	if (hmap_get(&p->tids, ns_tid, &tid))
		return (uint32_t)tid;
	if (p->tids.cnt >= RUNTIME_THREAD_MAX)
		hmap_clear(&p->tids);
	tid = procfs_tid_from_ns(p->tgid, ns_tid);
	hmap_put(&p->tids, ns_tid, tid);
	return (uint32_t)tid;
}

/* Notes what the thread waits for, if that is a lock of the runtime's own. */
static void lock_take(struct runtime_watch *w, struct proc *p, const struct runtime_list *list,
		      struct look *ret)
{
	struct runtime_lock lock;

	if (runtime_lock_of(list->proc, list->elems, list->cnt, &lock)) {
		uint64_t key = hash_pair(hash_pair(p->tgid, lock.addr),
					 hash_bytes(buf_str(&lock.name), lock.name.len)) | 1;
		uint64_t at = 0;

		if (!hmap_get(&w->by_lock, key, &at) && w->locks.cnt < RUNTIME_LOCKS_MAX) {
			vec_push(&w->locks, ((struct lock){.key = key, .addr = lock.addr,
							   .name = xstrdup(buf_str(&lock.name))}));
			at = w->locks.cnt;
			hmap_put(&w->by_lock, key, at);
		}
		w->counts.over_cnt += !at;
		ret->lock = (uint32_t)at;
		ret->holder_tid = tid_of(p, lock.holder_ns_tid);
	}
	buf_release(&lock.name);
}

static void look_take(struct runtime_watch *w, struct proc *p, struct thread *t,
		      const struct chain_out *head, const void *elems)
{
	struct runtime_list list = {.proc = p->found->proc, .lang = p->found->lang,
				    .key = p->tgid, .elems = elems, .cnt = head->cnt};
	struct look *last = &t->looks[(t->last - 1) % RUNTIME_LOOKS], *next;

	if (head->state == CHAIN_SAME) {
		if (t->last)
			last->end_ns = head->end_ns;
		return;
	}
	if (head->state != CHAIN_READ) {
		w->counts.ran_cnt += head->state == CHAIN_RUNS;
		w->counts.bad_cnt += head->state == CHAIN_BAD;
		return;
	}
	w->counts.look_cnt++;
	t->switches = head->switches;
	next = &t->looks[t->last++ % RUNTIME_LOOKS];
	*next = (struct look){
		.begin_ns = head->begin_ns, .end_ns = head->end_ns,
		.stack = runtime_stacks_add(w->stacks, &list, head->begin_ns)};
	lock_take(w, p, &list, next);
}

/* Lists that were damaged, or whose code was: either may lie in memory mapped since. */
static uint64_t bad_cnt(const struct runtime_watch *w)
{
	return w->counts.bad_cnt + runtime_stacks_counts(w->stacks).damaged_cnt;
}

/* Takes what one call put out. */
static void lists_take(struct runtime_watch *w, struct proc *p, const struct chain_item *items,
		       size_t cnt, const struct buf *out)
{
	size_t one = sizeof(uint64_t) + runtime_elem_len(p->found->proc), at = 0;
	uint64_t bad = bad_cnt(w);

	for (size_t i = 0; i < cnt; i++) {
		struct chain_out head;

		if (out->len - at < sizeof(head))
			return;
		memcpy(&head, out->data + at, sizeof(head));
		at += sizeof(head);
		if ((out->len - at) / one < head.cnt)
			return;
		look_take(w, p, thread_of(w, items[i].tid), &head, out->data + at);
		at += head.cnt * one;
	}
	if (bad_cnt(w) > bad)
		ranges_again(p, clock_mono_ns());
}

/* As many lists as one call has room for, however long they are. */
static size_t items_max(const struct runtime_proc *r)
{
	size_t one = sizeof(struct chain_out) +
		     CHAIN_LEN_MAX * (sizeof(uint64_t) + runtime_elem_len(r));

	return TIMED_CALL_OUT_MAX / one < CHAIN_ITEMS ? TIMED_CALL_OUT_MAX / one : CHAIN_ITEMS;
}

static void proc_look(struct runtime_watch *w, struct proc *p)
{
	CLEANUP_FREE struct runtime_thread *threads = xcalloc(RUNTIME_THREAD_MAX, sizeof(*threads));
	const struct chain_shape *shape = runtime_shape(p->found->proc);
	long cnt = runtime_threads(p->found->proc, threads, RUNTIME_THREAD_MAX);
	struct chain_item items[CHAIN_ITEMS];
	size_t n = 0, max = items_max(p->found->proc);

	if (cnt < 0)
		ranges_again(p, clock_mono_ns());
	for (long i = 0; i < cnt; i++) {
		CLEANUP(buf_release) struct buf out = {0};
		uint32_t tid = tid_of(p, threads[i].ns_tid);

		if (!threads[i].ns_tid && cnt == 1)
			tid = p->tgid;
		if (tid)
			anchor_put(w, tid, threads[i].anchor);
		if (tid)
			items[n++] = (struct chain_item){
				.anchor = threads[i].anchor, .until = threads[i].until, .tid = tid,
				.switches = thread_of(w, tid)->switches};
		if (!n || (n < max && i + 1 < cnt))
			continue;
		if (runtime_found_lists(p->found, shape, items, n, &out) >= 0)
			lists_take(w, p, items, n, &out);
		n = 0;
	}
}

void runtime_watch_emit(struct runtime_watch *w, struct emit *e, uint64_t now)
{
	runtime_stacks_emit(w->stacks, e, now);
}

void runtime_watch_step(struct runtime_watch *w, struct emit *e, uint64_t now)
{
	uint64_t begin_ns, cost_ns;

	w->left_ns += w->last_ns ? (int64_t)((now - w->last_ns) / w->cost_part) : LOOK_BURST_NS;
	w->left_ns = w->left_ns < LOOK_BURST_NS ? w->left_ns : LOOK_BURST_NS;
	if (w->last_ns)
		w->words_left_ns += (int64_t)((now - w->last_ns) / WORDS_COST_PART);
	if (w->words_left_ns > WORDS_BURST_NS)
		w->words_left_ns = WORDS_BURST_NS;
	w->last_ns = now;
	for (size_t i = 0; i < w->procs.cnt; i++)
		if (w->procs.items[i].tgid)
			find(w, &w->procs.items[i], now);
	if (w->left_ns <= 0)
		return;
	begin_ns = clock_mono_ns();
	for (size_t i = 0; i < w->procs.cnt; i++)
		if (w->procs.items[i].found && w->procs.items[i].found->proc)
			proc_look(w, &w->procs.items[i]);
	runtime_watch_emit(w, e, now);
	cost_ns = clock_mono_ns() - begin_ns;
	w->counts.cost_ns += cost_ns;
	w->counts.round_cnt++;
	w->left_ns -= (int64_t)cost_ns;
}

/* ---- threads that run */

void runtime_watch_running(struct runtime_watch *w, const struct runtime_maps *maps)
{
	w->maps = *maps;
}

/* Names are asked for at once: the code may be gone soon. */
uint32_t runtime_watch_words(struct runtime_watch *w, uint32_t tgid, const uint64_t *words,
			     size_t cnt, uint64_t now)
{
	struct proc *p = proc_of(w, tgid);
	CLEANUP(buf_release) struct buf elems = {0};
	struct runtime_list list = {.key = tgid};
	uint64_t begin_ns = clock_mono_ns();
	uint32_t stack;
	long got;

	if (!p || !p->found || !p->found->proc)
		return 0;
	if (w->words_left_ns <= 0) {
		w->counts.over_cnt++;
		return 0;
	}
	list.proc = p->found->proc;
	list.lang = p->found->lang;
	got = runtime_kept(list.proc, words, cnt, &elems);
	if (got <= 0)
		return 0;
	list.elems = (const uint8_t *)elems.data;
	list.cnt = (size_t)got;
	stack = runtime_stacks_add(w->stacks, &list, now);
	w->words_left_ns -= (int64_t)(clock_mono_ns() - begin_ns);
	return stack;
}

/* ---- what was found */

static const struct look *look_in(const struct runtime_watch *w, const struct runtime_wait *wait)
{
	const struct thread *t;
	uint64_t at;

	if (!hmap_get(&w->by_tid, wait->tid, &at))
		return NULL;
	t = &w->threads.items[at - 1];
	for (uint32_t i = 0; i < RUNTIME_LOOKS && i < t->last; i++)
		if (t->looks[i].begin_ns >= wait->begin_ns && t->looks[i].end_ns <= wait->end_ns)
			return &t->looks[i];
	return NULL;
}

uint32_t runtime_watch_find(const struct runtime_watch *w, const struct runtime_wait *wait)
{
	const struct look *look = look_in(w, wait);

	return look ? look->stack : 0;
}

bool runtime_watch_lock(const struct runtime_watch *w, const struct runtime_wait *wait,
			struct runtime_held *ret)
{
	const struct look *look = look_in(w, wait);
	const struct lock *lock;

	if (!look || !look->lock)
		return false;
	lock = &w->locks.items[look->lock - 1];
	*ret = (struct runtime_held){.key = lock->key, .addr = lock->addr,
				     .holder_tid = look->holder_tid, .name = lock->name};
	return true;
}

void runtime_watch_parts(const struct runtime_watch *w, uint32_t tgid, uint32_t stack,
			 struct mixed_parts *ret)
{
	const struct proc *p = proc_of(w, tgid);

	ret->frames = runtime_stacks_at(w->stacks, stack, &ret->frame_cnt);
	ret->loops = p ? p->loops : NULL;
	ret->loop_cnt = p ? p->loop_cnt : 0;
	ret->by_native = p && p->found && p->found->proc && runtime_by_native(p->found->proc);
	ret->loops_merge = p && p->found && p->found->proc && runtime_loops_merge(p->found->proc);
}

void runtime_watch_counts(const struct runtime_watch *w, struct runtime_counts *ret)
{
	struct runtime_stacks_counts s = runtime_stacks_counts(w->stacks);

	*ret = w->counts;
	ret->bad_cnt += s.damaged_cnt;
	ret->over_cnt += s.over_cnt;
}

bool runtime_watch_seen(const struct runtime_watch *w, size_t idx, struct runtime_seen *ret)
{
	const struct proc *p;

	if (idx >= w->procs.cnt)
		return false;
	p = &w->procs.items[idx];
	*ret = (struct runtime_seen){.tgid = p->tgid, .lang = "", .version = "", .problem = ""};
	if (!p->found || !p->found->lang)
		return true;
	ret->lang = runtime_lang_name(p->found->lang);
	if (p->found->proc)
		ret->version = runtime_version(p->found->proc);
	else
		ret->problem = p->found->problem.msg;
	return true;
}
