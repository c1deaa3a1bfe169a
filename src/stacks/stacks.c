/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows, and what each stands for.  Waits: those of one thread in one
 * state on one resource are a group; its stacks share out the group's whole
 * time as they share out the time they were seen in.  Running: all samples
 * of a process weigh the same and share out the time that it ran, since a
 * thread that ran little may have none.
 */
#include "stacks/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/stack.h"
#include "stacks/fns.h"

struct group {
	uint32_t thread, res;
	uint8_t st;
	uint64_t total_ns, seen_ns;
	uint64_t idle_ns;	/* of seen_ns: waits for work */
	uint64_t ended_ns;	/* of waits whose waker's stack is known */
};

struct idle_sum {		/* of waits at one place */
	uint64_t all_ns, idle_ns;
};

struct maker {
	const struct model *m;
	const struct stacks_opts *opts;
	struct stacks_result *r;
	struct hmap by_group;	/* to place plus one */
	VEC(struct group) groups;
	struct hmap by_place;	/* thread, resource and stack, to place in idles plus one */
	VEC(struct idle_sum) idles;
	VEC(struct stack_row) rows;
	struct fns fns;
};

static uint64_t group_key(uint32_t thread, uint32_t res, unsigned st)
{
	return hash_u64((uint64_t)thread << 32 | res) ^ hash_u64(st + 1);
}

static struct group *group_get(struct maker *k, uint32_t thread, uint32_t res, unsigned st)
{
	uint64_t *slot = hmap_slot(&k->by_group, group_key(thread, res, st));

	if (*slot == 0) {
		*vec_add(&k->groups) = (struct group){.thread = thread, .res = res,
						      .st = (uint8_t)st};
		*slot = k->groups.cnt;
	}
	return &k->groups.items[*slot - 1];
}

/* Running time is one group for the process: its first thread stands for it. */
static uint32_t run_thread(const struct maker *k, uint32_t thread)
{
	uint32_t proc = k->m->threads[thread].proc;

	return proc == NO_IDX ? thread : proc;
}

static bool has_frames(const struct model *m, uint32_t stack)
{
	return stack != NO_IDX && m->stacks[stack].user_cnt + m->stacks[stack].kernel_cnt > 0;
}

static bool is_left_out(const struct maker *k, uint32_t thread)
{
	uint32_t proc = k->m->threads[thread].proc;

	return k->opts && k->opts->targets && proc != NO_IDX && !k->m->procs[proc].target;
}

static uint64_t place_key(uint32_t thread, uint32_t res, uint32_t stack)
{
	return hash_pair((uint64_t)thread << 32 | res, stack);
}

static void idle_add(struct maker *k, uint64_t key, uint64_t ns, bool idle)
{
	uint64_t *slot = hmap_slot(&k->by_place, key);

	if (*slot == 0) {
		(void)vec_add(&k->idles);
		*slot = k->idles.cnt;
	}
	k->idles.items[*slot - 1].all_ns += ns;
	k->idles.items[*slot - 1].idle_ns += idle ? ns : 0;
}

/*
 * A thread may sleep at one resource both for work and for a lock (a latch of
 * its own): then each wait says which, and by them each stack.
 */
static void idles_make(struct maker *k)
{
	for (size_t i = 0; k->opts && k->opts->wait_idle && i < k->m->thread_cnt; i++) {
		const struct thread *t = &k->m->threads[i];

		for (uint32_t n = 0; n < t->wait_len; n++) {
			const struct wait *w = &k->m->waits[t->first_wait + n];
			uint64_t ns = w->wake_ns > w->off_ns ? w->wake_ns - w->off_ns : 0;
			bool idle = k->opts->wait_idle[t->first_wait + n];

			if (w->flags & WAITF_PREEMPTED)
				continue;
			idle_add(k, place_key((uint32_t)i, w->res, w->ustack), ns, idle);
			if (w->ustack != NO_IDX)
				idle_add(k, place_key((uint32_t)i, w->res, NO_IDX - 1), ns, idle);
		}
	}
}

static const struct idle_sum *idle_sum_of(const struct maker *k, uint32_t thread, uint32_t res,
					  uint32_t stack)
{
	uint64_t at;

	/* no wait with this stack was kept: by all there that have one, then by the others */
	if (!hmap_get(&k->by_place, place_key(thread, res, stack), &at) &&
	    !hmap_get(&k->by_place, place_key(thread, res, NO_IDX - 1), &at) &&
	    !hmap_get(&k->by_place, place_key(thread, res, NO_IDX), &at))
		return NULL;
	return &k->idles.items[at - 1];
}

/* stack: idx, NO_IDX for waits of which none was taken. */
static bool is_idle(const struct maker *k, uint32_t thread, uint32_t res, unsigned st,
		    uint32_t stack)
{
	const struct idle_sum *sum;

	if (!k->opts || st < ST_WAIT)
		return false;
	if (k->opts->idle_threads && k->opts->idle_threads[thread])
		return true;
	sum = idle_sum_of(k, thread, res, stack);
	if (sum)
		return sum->idle_ns * 2 > sum->all_ns;
	return k->opts->home_res && res != NO_IDX && k->opts->home_res[thread] == res;
}

/* How long all of each group took, whether or not a stack was taken. */
static void groups_total(struct maker *k)
{
	const struct model *m = k->m;

	for (size_t i = 0; i < m->thread_cnt; i++) {
		const struct thread *t = &m->threads[i];

		if (!t->tracked || is_left_out(k, (uint32_t)i))
			continue;
		group_get(k, run_thread(k, (uint32_t)i), NO_IDX, ST_RUN)->total_ns +=
			t->ns[ST_RUN];
		if (t->ns[ST_RUNQ])
			group_get(k, (uint32_t)i, NO_IDX, ST_RUNQ)->total_ns += t->ns[ST_RUNQ];
	}
	for (size_t i = 0; i < m->pair_cnt; i++) {
		const struct pair *p = &m->pairs[i];

		if (!is_left_out(k, p->thread))
			group_get(k, p->thread, p->res, ST_WAIT + p->cls)->total_ns += p->ns;
	}
}

/* Weight of a sum; the count for samples, also where their interval is not known. */
static uint64_t weight_of(const struct stack_sum *s)
{
	return s->st == ST_RUN && s->ns == 0 ? s->cnt : s->ns;
}

static uint32_t group_thread(const struct maker *k, const struct stack_sum *s)
{
	return s->st == ST_RUN ? run_thread(k, s->thread) : s->thread;
}

static void groups_seen(struct maker *k)
{
	for (size_t i = 0; i < k->m->stack_sum_cnt; i++) {
		const struct stack_sum *s = &k->m->stack_sums[i];
		struct group *g;

		if (is_left_out(k, s->thread))
			continue;
		g = group_get(k, group_thread(k, s), s->res, s->st);
		g->seen_ns += has_frames(k->m, s->stack) ? weight_of(s) : 0;
		if (has_frames(k->m, s->stack) && is_idle(k, s->thread, s->res, s->st, s->stack))
			g->idle_ns += weight_of(s);
		g->ended_ns += has_frames(k->m, s->waker_stack) ? s->ns : 0;
	}
	VEC_FOREACH(&k->groups, g) {
		uint64_t most = g->seen_ns > g->ended_ns ? g->seen_ns : g->ended_ns;

		if (g->total_ns < most && (g->st != ST_RUN || k->m->meta.sample_ns))
			g->total_ns = most; /* a thread without sums, or clocks apart */
	}
}

static struct stack_row row_of(const struct maker *k, const struct stack_sum *s,
			       const struct group *g, uint64_t seen_ns)
{
	uint64_t weight = weight_of(s);

	return (struct stack_row){
		.mode = s->st == ST_RUN ? STACKS_ON : STACKS_OFF, .st = s->st, .ctx = s->ctx,
		.idle = is_idle(k, s->thread, s->res, s->st, s->stack),
		.thread = s->thread, .res = s->res,
		.waker = s->waker, .stack = s->stack, .waker_stack = s->waker_stack,
		.ns = seen_ns ? (uint64_t)((double)weight / (double)seen_ns *
					   (double)g->total_ns) : 0,
		.seen_ns = s->ns, .cnt = s->cnt,
	};
}

/* A stack of the kernel's alone is whole unless the source says what stopped it. */
static bool is_cut(const struct model *m, uint32_t stack)
{
	const struct stack *s = &m->stacks[stack];

	return s->end != STACK_WHOLE && (s->user_cnt || s->end != STACK_UNKNOWN);
}

static void count_cut(const struct maker *k, const struct stack_row *row)
{
	if (is_cut(k->m, row->stack))
		k->r->sums[row->mode].cut_ns += row->ns;
}

/* In the waker's view only what has the waker's stack. */
static void add_waker_row(struct maker *k, struct stack_row row)
{
	struct stacks_sum *sum = &k->r->sums[STACKS_WAKER];

	row.mode = STACKS_WAKER;
	if (!has_frames(k->m, row.stack))
		row.stack = NO_IDX;
	sum->covered_ns += row.seen_ns;
	sum->scaled_ns += row.ns;
	sum->cnt += row.cnt;
	vec_push(&k->rows, row);
}

static void add_row(struct maker *k, const struct stack_row *row)
{
	struct stacks_sum *sum = &k->r->sums[row->mode];

	sum->covered_ns += row->seen_ns;
	sum->scaled_ns += row->ns;
	sum->cnt += row->cnt;
	count_cut(k, row);
	vec_push(&k->rows, *row);
}

static void rows_make(struct maker *k)
{
	for (size_t i = 0; i < k->m->stack_sum_cnt; i++) {
		const struct stack_sum *s = &k->m->stack_sums[i];
		const struct group *g;
		struct stack_row row;

		if (is_left_out(k, s->thread) ||
		    (is_idle(k, s->thread, s->res, s->st, s->stack) && !k->opts->idle))
			continue;
		g = group_get(k, group_thread(k, s), s->res, s->st);
		if (has_frames(k->m, s->stack)) {
			row = row_of(k, s, g, g->seen_ns);
			add_row(k, &row);
		}
		if (s->st >= ST_WAIT && has_frames(k->m, s->waker_stack))
			add_waker_row(k, row_of(k, s, g, g->ended_ns));
	}
}

/* As its stacks share out its time; without one it is all for work or all not. */
static uint64_t group_idle_ns(const struct maker *k, const struct group *g)
{
	if (g->seen_ns)
		return (uint64_t)((double)g->idle_ns / (double)g->seen_ns * (double)g->total_ns);
	return is_idle(k, g->thread, g->res, g->st, NO_IDX) ? g->total_ns : 0;
}

/* Totals, and a row for each group of which no stack was taken. */
static void groups_close(struct maker *k)
{
	VEC_FOREACH(&k->groups, g) {
		unsigned mode = g->st == ST_RUN ? STACKS_ON : STACKS_OFF;
		struct stack_row row = {
			.mode = (uint8_t)mode, .st = g->st, .thread = g->thread, .res = g->res,
			.waker = NO_IDX, .stack = NO_IDX, .waker_stack = NO_IDX,
			.ns = g->total_ns,
		};

		uint64_t idle_ns = group_idle_ns(k, g);

		row.idle = idle_ns == g->total_ns && idle_ns;
		if (k->opts && !k->opts->idle) {
			k->r->sums[mode].idle_ns += idle_ns;
			k->r->sums[mode].total_ns += g->total_ns - idle_ns;
			if (row.idle)
				continue;
		} else {
			k->r->sums[mode].total_ns += g->total_ns;
		}
		/* running time without a sample has no thread to show */
		if (g->seen_ns == 0 && g->total_ns && mode != STACKS_ON)
			vec_push(&k->rows, row);
	}
	k->r->sums[STACKS_WAKER].total_ns = k->r->sums[STACKS_OFF].total_ns;
	k->r->sums[STACKS_WAKER].idle_ns = k->r->sums[STACKS_OFF].idle_ns;
}

static int cmp_row(const void *pa, const void *pb)
{
	const struct stack_row *a = pa, *b = pb;

	CMP(a->mode, b->mode);
	CMP(b->ns, a->ns);
	CMP(a->thread, b->thread);
	CMP(a->st, b->st);
	CMP(a->res, b->res);
	CMP(a->stack, b->stack);
	CMP(a->waker, b->waker);
	CMP(a->waker_stack, b->waker_stack);
	CMP(a->ctx, b->ctx);
	CMP(a->cnt, b->cnt);
	return 0;
}

static const char *res_text(struct maker *k, uint32_t res)
{
	const struct res *r = &k->m->res[res];
	const char *kind = res_kind_name(r->kind);

	return strncmp(r->name, kind, strlen(kind)) == 0
		       ? r->name : arena_printf(k->fns.arena, "%s %s", kind, r->name);
}

/* Makes the notes that paths begin and end with. */
static void notes_make(struct maker *k)
{
	struct stacks_result *r = k->r;
	const struct model *m = k->m;
	struct fns *f = &k->fns;

	r->procs = ARENA_ARRAY(f->arena, uint32_t, m->proc_cnt + 1);
	r->threads = ARENA_ARRAY(f->arena, uint32_t, m->thread_cnt + 1);
	r->res = ARENA_ARRAY(f->arena, uint32_t, m->res_cnt + 1);
	for (size_t i = 0; i < m->proc_cnt; i++)
		r->procs[i] = fns_note(f, FN_PROC, m->procs[i].comm[0] ? m->procs[i].comm : "?");
	for (size_t i = 0; i < m->thread_cnt; i++)
		r->threads[i] = fns_note(f, FN_THREAD,
					 m->threads[i].comm[0] ? m->threads[i].comm : "?");
	for (size_t i = 0; i < m->res_cnt; i++)
		r->res[i] = fns_note(f, FN_RES, res_text(k, (uint32_t)i));
	for (unsigned st = 0; st < ST_CNT; st++)
		r->states[st] = fns_note(f, FN_RES, st == ST_RUNQ ? "waiting for a CPU"
								  : state_name(st));
	r->none = fns_note(f, FN_NONE, "[no stack taken]");
	r->cut = fns_note(f, FN_CUT, "[stack not whole]");
	r->woken = fns_note(f, FN_WAKER, "-- woken by --");
}

struct stacks_result *stacks_make(const struct model *m, const struct stacks_opts *opts,
				  struct arena *arena)
{
	struct stacks_result *r = ARENA_NEW(arena, struct stacks_result);
	struct maker k = {.m = m, .opts = opts, .r = r};
	size_t at = 0;

	r->m = m;
	fns_init(&k.fns, m, arena);
	idles_make(&k);
	groups_total(&k);
	groups_seen(&k);
	rows_make(&k);
	groups_close(&k);
	vec_sort(&k.rows, cmp_row);
	r->row_cnt = k.rows.cnt;
	r->rows = ARENA_ARRAY(arena, struct stack_row, k.rows.cnt + 1);
	if (k.rows.cnt)
		memcpy(r->rows, k.rows.items, k.rows.cnt * sizeof(*r->rows));
	for (unsigned mode = 0; mode <= STACKS_MODE_CNT; mode++) {
		while (at < r->row_cnt && r->rows[at].mode < mode)
			at++;
		r->first_row[mode] = at;
	}
	r->paths = fns_paths(&k.fns);
	notes_make(&k);
	r->fn_cnt = k.fns.fns.cnt;
	r->fns = arena_dup(arena, k.fns.fns.items, r->fn_cnt * sizeof(*r->fns));
	fns_release(&k.fns);
	hmap_release(&k.by_group);
	hmap_release(&k.by_place);
	vec_release(&k.idles);
	vec_release(&k.groups);
	vec_release(&k.rows);
	return r;
}

struct stacks_result stacks_filter(const struct stacks_result *r,
				   bool (*keep)(const struct stack_row *row, void *ctx), void *ctx,
				   struct arena *arena)
{
	struct stacks_result f = *r;

	f.rows = ARENA_ARRAY(arena, struct stack_row, r->row_cnt + 1);
	f.row_cnt = 0;
	for (unsigned mode = 0; mode < STACKS_MODE_CNT; mode++) {
		f.first_row[mode] = f.row_cnt;
		for (size_t i = r->first_row[mode]; i < r->first_row[mode + 1]; i++)
			if (keep(&r->rows[i], ctx))
				f.rows[f.row_cnt++] = r->rows[i];
	}
	f.first_row[STACKS_MODE_CNT] = f.row_cnt;
	return f;
}

struct path_out {
	uint32_t *fns;
	uint32_t cnt, max;
};

static void out_put(struct path_out *o, uint32_t fn)
{
	if (o->cnt < o->max)
		o->fns[o->cnt++] = fn;
}

static void put_waker(const struct stacks_result *r, const struct stack_row *row,
		      struct path_out *o)
{
	const struct stack_path *p = &r->paths[row->waker_stack];
	uint32_t proc;

	out_put(o, r->woken);
	for (uint32_t i = p->cnt; i-- > 0;)
		out_put(o, p->fns[i]);
	if (is_cut(r->m, row->waker_stack))
		out_put(o, r->cut);
	if (row->waker == NO_IDX)
		return;
	out_put(o, r->threads[row->waker]);
	proc = r->m->threads[row->waker].proc;
	if (proc != NO_IDX && proc != r->m->threads[row->thread].proc)
		out_put(o, r->procs[proc]);
}

uint32_t stacks_path(const struct stacks_result *r, const struct stack_row *row, uint32_t *ret_fns,
		     uint32_t max)
{
	struct path_out o = {.fns = ret_fns, .max = max};
	const struct thread *t = &r->m->threads[row->thread];

	if (t->proc != NO_IDX)
		out_put(&o, r->procs[t->proc]);
	out_put(&o, r->threads[row->thread]);
	if (row->stack == NO_IDX) {
		out_put(&o, r->none);
	} else {
		const struct stack_path *p = &r->paths[row->stack];

		if (is_cut(r->m, row->stack))
			out_put(&o, r->cut);
		for (uint32_t i = 0; i < p->cnt; i++)
			out_put(&o, p->fns[i]);
	}
	if (row->mode != STACKS_ON)
		out_put(&o, row->res != NO_IDX ? r->res[row->res] : r->states[row->st]);
	if (row->mode == STACKS_WAKER)
		put_waker(r, row, &o);
	return o.cnt;
}

/* True for functions that every system call passes first. */
static bool is_kernel_entry(const char *name)
{
	return strncmp(name, "entry_", 6) == 0 || strncmp(name, "do_syscall", 10) == 0 ||
	       strncmp(name, "x64_sys_call", 12) == 0 || strncmp(name, "ret_from_fork", 13) == 0 ||
	       strncmp(name, "asm_", 4) == 0;
}

/* The innermost function of that kind, NO_IDX none. */
static uint32_t innermost(const struct stacks_result *r, const struct stack_path *path,
			  enum stack_fn_lang lang)
{
	for (uint32_t i = path->user_cnt; i-- > 0;)
		if (r->fns[path->fns[i]].lang == lang)
			return i;
	return NO_IDX;
}

uint32_t stacks_site(const struct stacks_result *r, const struct stack_path *path)
{
	uint32_t own = innermost(r, path, FN_LANG_APP);

	if (own == NO_IDX)
		own = innermost(r, path, FN_LANG_LIB);
	if (own != NO_IDX)
		return own;
	for (uint32_t i = path->user_cnt; i-- > 0;)
		if (!r->fns[path->fns[i]].libc)
			return i;
	if (path->user_cnt)
		return 0;
	for (uint32_t i = 0; i + 1 < path->cnt; i++)
		if (!is_kernel_entry(r->fns[path->fns[i]].name))
			return i;
	return path->cnt - 1;
}

const char *stacks_mode_name(unsigned mode)
{
	static const char *const names[STACKS_MODE_CNT] = {"on-cpu", "off-cpu", "waker"};

	return mode < STACKS_MODE_CNT ? names[mode] : "?";
}

const char *stack_end_name(unsigned end)
{
	static const char *const names[STACK_END_CNT] = {
		"unknown", "whole", "no-mapping", "no-rule", "bad-read", "bad-pc", "depth"};

	return end < STACK_END_CNT ? names[end] : "?";
}
