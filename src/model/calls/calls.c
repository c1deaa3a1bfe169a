/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls.  They come in runs that are in order by themselves, of one
 * CPU or of one thread, and in any order among each other.  Each thread's go
 * to slabs of its own as they come; model_finish merges the runs in a
 * thread's slabs into one array and gives each slab back when it is empty,
 * so that a call takes little more than its own size at any time.
 *
 * At the bound the slabs whose calls ended first go, and the window begins
 * where the youngest of those ended.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "model/calls/calls.h"
#include "model/calls/calls_int.h"
#include "model/model_int.h"

#define UNSEEN_NAME "call" /* of a number without a call */

enum {
	CALLS_DEFAULT = 1 << 24,
	CALLS_LIMIT = 1 << 26,
	NRS = 1 << 16,
	SLAB_MIN_BYTES = 1 << 10,
	SLAB_MAX_BYTES = 1 << 18, /* by mmap, so that it is really given back */
	SLABS_AT_LEAST = 64,	  /* at the bound: they go whole */
	RUNS_PER_SLAB = 16,	  /* more: it is sorted first */
	TRIM_SHARE = 8,		  /* of the calls that go at the bound */
};

struct slab {
	struct slab *next;
	uint64_t end_ns;	/* latest end of its calls */
	uint32_t cnt, cap;
	uint32_t breaks;	/* calls that begin before the one before them */
	uint32_t runs_left;	/* not yet merged */
	struct call calls[];	/* .thread holds the tid, .stack the id */
};

_Static_assert(sizeof(struct slab) == sizeof(struct call), "a slab's size is a power of two");

struct chain {			/* of one thread */
	uint32_t tid;
	struct slab *first, *last;
	size_t cnt;
	uint64_t last_ns;	/* begin of the newest put */
	bool in_order;
	bool preempted;		/* since the last wait in a call */
};

struct run {			/* inside a slab */
	const struct call *at, *end;
	struct slab *slab;
	uint32_t seq;		/* of equal ones that came first goes first */
};

struct calls {
	struct model_calls pub;
	size_t max_cnt, cnt;	/* cnt: in slabs */
	uint64_t cut_ns;	/* what ended before was dropped */
	uint64_t first_ns, last_ns; /* of all calls */
	bool has_window, dirty;
	struct aways aways, parts, shed, coarse; /* coarse: what of shed is in parts */
	uint64_t parts_ns;	/* parts follow, from here on; 0: none was announced */
	VEC(struct chain) chains;
	struct hmap by_tid;	/* idx + 1 in chains */
	uint32_t last_chain;
	VEC(const char *) names; /* by number, NULL where none was given */
	size_t run_cnt;		/* in pub.runs */
	uint64_t seen[NRS / 64];
	size_t slab_bytes, slab_max_bytes;
	VEC(struct run) runs;	/* while merging */
	uint32_t *stacks;	/* by id, while publishing: idx + 1 */
};

struct calls *calls_new(struct model *m, uint32_t max_calls)
{
	struct calls *c = xcalloc(1, sizeof(*c));

	c->max_cnt = max_calls ? max_calls : CALLS_DEFAULT;
	if (c->max_cnt > CALLS_LIMIT)
		c->max_cnt = CALLS_LIMIT;
	c->slab_max_bytes = SLAB_MAX_BYTES;
	while (c->slab_max_bytes > SLAB_MIN_BYTES &&
	       c->slab_max_bytes / sizeof(struct call) > c->max_cnt / SLABS_AT_LEAST)
		c->slab_max_bytes /= 2;
	c->first_ns = UINT64_MAX;
	c->pub.reason = "";
	m->calls = &c->pub;
	return c;
}

/* ---- slabs */

static struct slab *slab_new(struct calls *c, size_t bytes)
{
	struct slab *s;

	if (bytes < SLAB_MAX_BYTES) {
		s = xmalloc(bytes);
	} else {
		/* cppcheck-suppress invalidFunctionArg */
		s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		BUG_ON(s == MAP_FAILED); /* out of memory, as xmalloc */
	}
	*s = (struct slab){.cap = (uint32_t)((bytes - sizeof(*s)) / sizeof(s->calls[0]))};
	c->slab_bytes += bytes;
	return s;
}

static size_t slab_bytes(const struct slab *s)
{
	return sizeof(*s) + s->cap * sizeof(s->calls[0]);
}

static void slab_free(struct calls *c, struct slab *s)
{
	size_t bytes = slab_bytes(s);

	c->slab_bytes -= bytes;
	if (bytes < SLAB_MAX_BYTES)
		free(s);
	else
		munmap(s, bytes);
}

static void chain_clear(struct calls *c, struct chain *ch)
{
	for (struct slab *s = ch->first, *next; s; s = next) {
		next = s->next;
		slab_free(c, s);
	}
	ch->first = ch->last = NULL;
	ch->cnt = 0;
	ch->in_order = true;
}

void calls_free(struct calls *c)
{
	VEC_FOREACH(&c->chains, ch)
		chain_clear(c, ch);
	vec_release(&c->chains);
	vec_release(&c->names);
	vec_release(&c->aways.items);
	vec_release(&c->parts.items);
	vec_release(&c->shed.items);
	vec_release(&c->coarse.items);
	vec_release(&c->runs);
	hmap_release(&c->by_tid);
	free(c->pub.calls);
	free(c->pub.runs);
	free(c);
}

size_t calls_bytes(const struct calls *c)
{
	return sizeof(*c) + c->slab_bytes + c->pub.cnt * sizeof(*c->pub.calls) +
	       c->chains.cap * sizeof(*c->chains.items) + c->names.cap * sizeof(*c->names.items) +
	       c->runs.cap * sizeof(*c->runs.items) +
	       c->by_tid.cap * (sizeof(struct hmap_entry) + 1);
}

/* ---- the bound */

struct aged {
	uint64_t end_ns;
	uint32_t cnt;
};

static int cmp_aged(const void *pa, const void *pb)
{
	const struct aged *a = pa, *b = pb;

	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* The end of calls such that a share of all ended before it, by slabs. */
static uint64_t cut_for(const struct calls *c)
{
	VEC(struct aged) ages = {0};
	uint64_t cut_ns = 0;
	size_t gone = 0;

	VEC_FOREACH(&c->chains, ch) {
		for (const struct slab *s = ch->first; s; s = s->next)
			vec_push(&ages, ((struct aged){s->end_ns, s->cnt}));
	}
	vec_sort(&ages, cmp_aged);
	for (size_t i = 0; i < ages.cnt && gone <= c->max_cnt / TRIM_SHARE; i++) {
		gone += ages.items[i].cnt;
		cut_ns = ages.items[i].end_ns + 1;
	}
	vec_release(&ages);
	return cut_ns;
}

static void trim(struct calls *c)
{
	c->cut_ns = cut_for(c);
	VEC_FOREACH(&c->chains, ch) {
		struct slab **at = &ch->first;

		ch->last = NULL;
		while (*at) {
			struct slab *s = *at;

			if (s->end_ns >= c->cut_ns) {
				ch->last = s;
				at = &s->next;
				continue;
			}
			*at = s->next;
			ch->cnt -= s->cnt;
			c->cnt -= s->cnt;
			c->pub.dropped_cnt += s->cnt;
			slab_free(c, s);
		}
	}
}

/* ---- intake */

static struct chain *chain_of(struct calls *c, uint32_t tid)
{
	uint64_t *slot;
	struct chain *ch;

	if (c->last_chain < c->chains.cnt && c->chains.items[c->last_chain].tid == tid)
		return &c->chains.items[c->last_chain];
	slot = hmap_find(&c->by_tid, tid);
	if (!slot) {
		if (c->chains.cnt >= THREADS_MAX)
			return NULL;
		ch = vec_add(&c->chains);
		*ch = (struct chain){.tid = tid, .in_order = true};
		slot = hmap_slot(&c->by_tid, tid);
		*slot = c->chains.cnt;
	}
	c->last_chain = (uint32_t)*slot - 1;
	return &c->chains.items[c->last_chain];
}

/* The slab that the next call goes to: each is larger than the one before. */
static struct slab *slab_with_room(struct calls *c, struct chain *ch)
{
	struct slab *s = ch->last;
	size_t bytes = SLAB_MIN_BYTES;

	if (s && s->cnt < s->cap)
		return s;
	if (s)
		bytes = slab_bytes(s) * 4 < c->slab_max_bytes ? slab_bytes(s) * 4
							      : c->slab_max_bytes;
	s = slab_new(c, bytes);
	if (ch->last)
		ch->last->next = s;
	else
		ch->first = s;
	return ch->last = s;
}

/* call->thread is the tid. */
static void put(struct model *m, struct calls *c, const struct call *call)
{
	uint64_t end_ns = call->begin_ns + call->dur_ns;
	struct chain *ch;
	struct slab *s;

	if (end_ns < c->cut_ns) {
		c->pub.dropped_cnt++;
		return;
	}
	if (c->cnt >= c->max_cnt)
		trim(c);
	ch = chain_of(c, call->thread);
	if (!ch) {
		m->limit_cnt++;
		c->pub.dropped_cnt++;
		return;
	}
	s = slab_with_room(c, ch);
	if (call->begin_ns < ch->last_ns && ch->cnt) {
		ch->in_order = false;
		s->breaks += s->cnt > 0;
	}
	ch->last_ns = call->begin_ns;
	s->end_ns = end_ns > s->end_ns ? end_ns : s->end_ns;
	s->calls[s->cnt++] = *call;
	ch->cnt++;
	c->cnt++;
	c->first_ns = call->begin_ns < c->first_ns ? call->begin_ns : c->first_ns;
	c->last_ns = end_ns > c->last_ns ? end_ns : c->last_ns;
	c->seen[call->nr / 64] |= UINT64_C(1) << call->nr % 64;
}

/* Takes back what the last model_finish published, so that more can be put to it. */
static void unpublish(struct model *m, struct calls *c)
{
	const struct code *code = &m->priv->code;

	c->dirty = true;
	for (size_t i = 0; i < c->pub.cnt; i++) {
		struct call call = c->pub.calls[i];

		call.thread = m->priv->threads.items[call.thread].tid;
		call.stack = call.stack == NO_IDX ? 0 : code->stacks.items[call.stack].id;
		put(m, c, &call);
	}
	free(c->pub.calls);
	c->pub.calls = NULL;
	c->pub.cnt = 0;
}

static bool load_call(const struct ev_call *e, struct call *ret)
{
	if (e->tid == 0 || e->begin_ns >> TIME_BITS || e->dur_ns >> TIME_BITS ||
	    (e->begin_ns + e->dur_ns) >> TIME_BITS)
		return false;
	*ret = (struct call){
		.begin_ns = e->begin_ns, .dur_ns = e->dur_ns, .thread = e->tid,
		.stack = e->stack <= EVENT_STACK_MAX ? e->stack : 0, .nr = e->nr, .cpu = e->cpu,
		.result = e->result < CALL_RESULT_CNT ? e->result : CALL_UNKNOWN,
		.kind = e->kind < RES_KIND_CNT ? e->kind : RES_NONE,
		.flags = (uint8_t)(e->flags & ~CALLF_WAIT),
	};
	return true;
}

static bool add_calls(struct model *m, struct calls *c, const struct event_hdr *ev)
{
	const struct ev_calls *head = (const void *)ev;
	const struct ev_call *e = (const void *)(head + 1);
	bool good = true;

	if (ev->size < sizeof(*head) || head->cnt > (ev->size - sizeof(*head)) / sizeof(*e))
		return false;
	if (!c->dirty)
		unpublish(m, c);
	for (const struct ev_call *end = e + head->cnt; e < end; e++) {
		struct call call;

		if (load_call(e, &call))
			put(m, c, &call);
		else
			good = false;
	}
	return good;
}

static bool add_name(struct model *m, struct calls *c, const struct event_hdr *ev)
{
	struct ev_call_name e;
	const char *name;

	EV_LOAD(ev, &e);
	name = model_str(m, e.name);
	if (e.nr >= NRS || !name[0])
		return false;
	while (c->names.cnt <= e.nr)
		vec_push(&c->names, NULL);
	c->names.items[e.nr] = name;
	return true;
}

/* The sum of two windows is what both have. */
static bool add_window(struct model *m, struct calls *c, const struct event_hdr *ev)
{
	const uint32_t all = WINDOWF_SWITCHES | WINDOWF_ALL_STACKS | WINDOWF_KINDS;
	struct model_calls *p = &c->pub;
	struct ev_window e;

	EV_LOAD(ev, &e);
	if (e.begin_ns > ev->ts_ns)
		return false;
	if (!c->has_window) {
		p->begin_ns = e.begin_ns;
		p->end_ns = ev->ts_ns;
		p->flags = e.flags;
	}
	c->has_window = true;
	p->begin_ns = e.begin_ns < p->begin_ns ? e.begin_ns : p->begin_ns;
	p->end_ns = ev->ts_ns > p->end_ns ? ev->ts_ns : p->end_ns;
	p->flags = (p->flags & e.flags & all) | ((p->flags | e.flags) & ~all);
	p->lost_cnt += e.lost_cnt;
	p->skipped_cnt += e.skipped_cnt;
	p->reason = model_str(m, e.reason);
	return true;
}

static bool add_away(struct calls *c, const struct event_hdr *ev)
{
	struct ev_calls_away e;

	EV_LOAD(ev, &e);
	return away_add(&c->aways, e.begin_ns, e.end_ns);
}

static bool add_part(struct calls *c, const struct event_hdr *ev)
{
	struct ev_calls_part e;

	EV_LOAD(ev, &e);
	if (e.end_ns)
		return away_add(&c->parts, e.begin_ns, e.end_ns);
	c->parts_ns = e.begin_ns ? e.begin_ns : 1;
	return true;
}

bool calls_add_coarse(struct model *m, const struct ev_coarse *e)
{
	return !(e->shed & SHED_SHORT) ||
	       away_add(&m->priv->calls->shed, e->begin_ns, e->end_ns);
}

void calls_add_wait(struct model *m, const struct ev_wait *e)
{
	struct calls *c = m->priv->calls;
	struct chain *ch;
	struct call call;

	if (!c->parts_ns)
		return;
	if (!c->dirty)
		unpublish(m, c);
	ch = chain_of(c, e->h.tid);
	if (ch && e->flags & WAITF_PREEMPTED)
		ch->preempted = true;
	if (!call_of_wait(m, e, &call))
		return;
	if (ch && ch->preempted)
		call.flags |= CALLF_SWITCHED;
	if (ch && call.result != CALL_UNFINISHED)
		ch->preempted = false;
	put(m, c, &call);
}

bool calls_add(struct model *m, const struct event_hdr *ev)
{
	struct calls *c = m->priv->calls;

	switch (ev->kind) {
	case EV_CALLS:
		return add_calls(m, c, ev);
	case EV_CALL_NAME:
		return add_name(m, c, ev);
	case EV_CALLS_AWAY:
		return add_away(c, ev);
	case EV_CALLS_PART:
		return add_part(c, ev);
	default:
		return add_window(m, c, ev);
	}
}

void calls_threads(struct model *m)
{
	VEC_FOREACH(&m->priv->calls->chains, ch)
		if (ch->cnt)
			model_thread_get(m, ch->tid, 0);
}

/* ---- into one array */

static uint32_t stack_idx(struct model *m, struct calls *c, uint32_t id)
{
	uint32_t *at = &c->stacks[id];

	if (id == 0)
		return NO_IDX;
	if (*at == 0) {
		uint32_t idx = code_stack_get(m, id);

		*at = idx == NO_IDX ? NO_IDX : idx + 1;
	}
	return *at == NO_IDX ? NO_IDX : *at - 1;
}

/* A thread is in one call at a time: what overlaps the next had returned by then. */
static void cut_overlap(struct call *before, const struct call *next)
{
	if (before->dur_ns <= next->begin_ns - before->begin_ns)
		return;
	before->dur_ns = next->begin_ns - before->begin_ns;
	if (before->result == CALL_UNFINISHED)
		before->result = CALL_UNKNOWN;
}

/*
 * A wait that is no call here: all calls were recorded while it lasted, so there
 * is a better one, or it is another process', whose calls are never recorded.
 */
static bool is_no_call(const struct model *m, uint32_t thread, const struct call *call)
{
	const struct model_calls *p = &m->priv->calls->pub;
	uint32_t proc;

	if (!(call->flags & CALLF_WAIT))
		return false;
	if (!calls_time_in(p->parts, p->part_cnt, call->begin_ns,
			   call->begin_ns + call->dur_ns + 1))
		return true;
	proc = m->threads[thread].proc;
	return proc != NO_IDX && m->procs[proc].peer && !m->procs[proc].target;
}

static void emit(struct model *m, struct calls *c, struct call_run *run, const struct call *call)
{
	struct model_calls *p = &c->pub;
	struct call *last = run->cnt ? &p->calls[p->cnt - 1] : NULL, to = *call;

	if (call->begin_ns + call->dur_ns < c->cut_ns) {
		p->dropped_cnt++;
		return;
	}
	to.thread = (uint32_t)(run - p->runs);
	if (is_no_call(m, to.thread, call))
		return;
	to.stack = stack_idx(m, c, call->stack);
	if (call->begin_ns < p->begin_ns)
		to.flags |= CALLF_BEFORE;
	if (last && call_joins(last, &to)) {
		*last = to;
		return;
	}
	if (last)
		cut_overlap(last, &to);
	p->calls[p->cnt++] = to;
	run->cnt++;
}

static int cmp_call(const void *pa, const void *pb)
{
	const struct call *a = pa, *b = pb;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->dur_ns < b->dur_ns ? -1 : a->dur_ns > b->dur_ns;
}

static void find_runs(struct calls *c, struct slab *s)
{
	const struct call *from = s->calls, *end = s->calls + s->cnt;

	if (s->breaks > RUNS_PER_SLAB)
		qsort(s->calls, s->cnt, sizeof(s->calls[0]), cmp_call);
	while (from < end) {
		const struct call *to = from + 1;

		while (to < end && to->begin_ns >= to[-1].begin_ns)
			to++;
		vec_push(&c->runs, ((struct run){from, to, s, (uint32_t)c->runs.cnt}));
		s->runs_left++;
		from = to;
	}
}

static bool run_before(const struct run *a, const struct run *b)
{
	if (a->at->begin_ns != b->at->begin_ns)
		return a->at->begin_ns < b->at->begin_ns;
	return a->seq < b->seq;
}

static void sift_down(struct run *heap, size_t cnt, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < cnt; at = child) {
		struct run lower = heap[at];

		if (child + 1 < cnt && run_before(&heap[child + 1], &heap[child]))
			child++;
		if (!run_before(&heap[child], &lower))
			return;
		heap[at] = heap[child];
		heap[child] = lower;
	}
}

/* Runs overlap little: the first goes on until another has to come before it. */
static void merge_runs(struct model *m, struct calls *c, struct call_run *to)
{
	struct run *heap = c->runs.items;
	size_t cnt = c->runs.cnt;

	for (size_t i = cnt / 2; i-- > 0;)
		sift_down(heap, cnt, i);
	while (cnt) {
		struct run *top = &heap[0], *next = cnt > 1 ? &heap[1] : NULL;

		if (cnt > 2 && run_before(&heap[2], next))
			next = &heap[2];
		do {
			emit(m, c, to, top->at++);
		} while (top->at < top->end && (!next || run_before(top, next)));
		if (top->at == top->end) {
			if (--top->slab->runs_left == 0)
				slab_free(c, top->slab);
			heap[0] = heap[--cnt];
		}
		sift_down(heap, cnt, 0);
	}
	vec_clear(&c->runs);
}

static void publish_chain(struct model *m, struct calls *c, struct chain *ch, struct call_run *to)
{
	to->first = (uint32_t)c->pub.cnt;
	for (struct slab *s = ch->first, *next; s; s = next) {
		next = s->next;
		if (!ch->in_order) {
			find_runs(c, s);
			continue;
		}
		for (uint32_t i = 0; i < s->cnt; i++)
			emit(m, c, to, &s->calls[i]);
		slab_free(c, s);
	}
	merge_runs(m, c, to);
	ch->first = ch->last = NULL;
	chain_clear(c, ch);
}

static void publish_calls(struct model *m, struct calls *c)
{
	CLEANUP_FREE struct chain **by_thread = xcalloc(m->thread_cnt + 1, sizeof(*by_thread));

	VEC_FOREACH(&c->chains, ch) {
		uint32_t thread = model_thread_by_tid(m, ch->tid);

		if (thread != NO_IDX) {
			by_thread[thread] = ch;
			continue;
		}
		c->pub.dropped_cnt += ch->cnt; /* the table of threads is full */
		chain_clear(c, ch);
	}
	c->pub.calls = xmalloc((c->cnt + 1) * sizeof(*c->pub.calls));
	c->stacks = xcalloc(EVENT_STACK_MAX + 1, sizeof(*c->stacks));
	memset(c->pub.runs, 0, m->thread_cnt * sizeof(*c->pub.runs));
	for (size_t i = 0; i < m->thread_cnt; i++)
		if (by_thread[i])
			publish_chain(m, c, by_thread[i], &c->pub.runs[i]);
	free(c->stacks);
	c->stacks = NULL;
	c->cnt = 0;
	c->dirty = false;
}

/* The part of a window whose record was lost, and where it is whole from. */
static void settle_window(struct calls *c)
{
	struct model_calls *p = &c->pub;

	if (c->first_ns == UINT64_MAX)
		return;
	if (!c->has_window) {
		p->begin_ns = c->first_ns;
		p->end_ns = c->last_ns;
	}
	if (c->last_ns > p->end_ns)
		p->end_ns = c->last_ns;
	if (c->cut_ns > p->begin_ns)
		p->begin_ns = c->cut_ns;
}

/* All of a stream that was cut before it said which. */
static void publish_times(struct calls *c)
{
	struct model_calls *p = &c->pub;

	if (c->parts_ns && !c->has_window && !c->parts.items.cnt)
		away_add(&c->parts, c->parts_ns, p->end_ns + 1);
	away_sort(&c->aways);
	away_sort(&c->parts);
	away_sort(&c->shed);
	away_cross(&c->parts, &c->shed, &c->coarse);
	p->aways = c->aways.items.items;
	p->away_cnt = c->aways.items.cnt;
	p->parts = c->parts.items.items;
	p->part_cnt = c->parts.items.cnt;
	p->coarse = c->coarse.items.items;
	p->coarse_cnt = c->coarse.items.cnt;
}

static void publish_names(struct model *m, struct calls *c)
{
	struct arena *a = &m->priv->pub;
	size_t cnt = c->names.cnt;

	for (size_t nr = NRS; nr-- > cnt;)
		if (c->seen[nr / 64] >> nr % 64 & 1) {
			cnt = nr + 1;
			break;
		}
	while (c->names.cnt < cnt)
		vec_push(&c->names, NULL);
	c->pub.nr_cnt = (uint32_t)cnt;
	c->pub.names = ARENA_ARRAY(a, const char *, cnt + 1);
	for (size_t nr = 0; nr < cnt; nr++)
		c->pub.names[nr] = c->names.items[nr] ? c->names.items[nr]
				 : c->seen[nr / 64] >> nr % 64 & 1
					 ? arena_printf(a, "call-%zu", nr) : UNSEEN_NAME;
}

void calls_publish(struct model *m)
{
	struct calls *c = m->priv->calls;

	settle_window(c);
	publish_times(c);
	c->pub.runs = xreallocarray(c->pub.runs, m->thread_cnt + 1, sizeof(*c->pub.runs));
	if (m->thread_cnt > c->run_cnt)
		memset(c->pub.runs + c->run_cnt, 0,
		       (m->thread_cnt - c->run_cnt) * sizeof(*c->pub.runs));
	c->run_cnt = m->thread_cnt;
	if (c->dirty)
		publish_calls(m, c);
	publish_names(m, c);
}

const char *model_call_name(const struct model *m, unsigned nr)
{
	return nr < m->calls->nr_cnt ? m->calls->names[nr] : UNSEEN_NAME;
}
