/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Against a good run: what changed.  Answer times and their rate, what
 * request time is spent on, what is waited for, and in which functions, each
 * as it was and as it is.  What changed less than two runs of one load differ
 * is left out; when nothing is left the two are the same.
 *
 * Largest first, by the degradation score of the metrics' authors
 * (EC-labs/prism): the value itself where there was none before, else relative
 * growth times the value, so that small shares that double do not outrank large
 * ones that grow by half.  Answer times have no share: their growth counts as
 * that of one second a second, which puts them before what makes them up.
 */
#include "verdict/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "base/hash.h"
#include "stacks/diff.h"
#include "verdict/context/targets.h"

#define NONE_BEFORE 0.01 /* s/s: a hundredth of a thread is nobody's trouble */
/* Two captures of one steady load differ by up to so much in what they sum up. */
#define SAME_PART 0.1
/* A quantile is the middle of a bucket, two to a power of two: one further is 0.3 more. */
#define SAME_QUANTILE 0.31
#define SCORE_MAX 100.0 /* of answer times: more says nothing more */

enum {
	CHANGES_MAX = 64,
	OF_KIND_MAX = 8,	/* resources, functions: the largest changes */
};

struct compared {		/* both sides */
	struct context *k;
	struct verdict *v;
	double sec_was, sec_is;
};

static double score(double was, double is)
{
	if (was < NONE_BEFORE)
		return is;
	return (is - was) / was * is;
}

static double part_changed(double was, double is)
{
	double most = was > is ? was : is;

	return most > 0 ? (is > was ? is - was : was - is) / most : 0;
}

static void change_add(struct compared *c, const char *what, const char *unit, double was,
		       double is)
{
	struct verdict *v = c->v;
	bool shares = strcmp(unit, "s/s") == 0;
	double by;

	if (part_changed(was, is) < (strcmp(unit, "ns") == 0 ? SAME_QUANTILE : SAME_PART) ||
	    (shares && was < NONE_BEFORE && is < NONE_BEFORE) || v->change_cnt >= CHANGES_MAX)
		return;
	by = shares ? score(was, is) : was > 0 ? (is - was) / was : is > 0 ? SCORE_MAX : 0;
	if (!shares && by > SCORE_MAX)
		by = SCORE_MAX;
	v->changes[v->change_cnt++] = (struct change){
		.what = what, .unit = unit, .was = was, .is = is, .score = by};
}

static int by_score(const void *pa, const void *pb)
{
	const struct change *a = pa, *b = pb;
	double x = a->score < 0 ? -a->score : a->score, y = b->score < 0 ? -b->score : b->score;

	CMP(y, x);
	return strcmp(a->what, b->what);
}

static double seconds_of(const struct model *m)
{
	return m->end_ns > m->begin_ns ? (double)(m->end_ns - m->begin_ns) / 1e9 : 1;
}

static void compare_requests(struct compared *c, const struct wreq *was, const struct wreq *is)
{
	change_add(c, "requests answered", "1/s", (double)was->turns / c->sec_was,
		   (double)is->turns / c->sec_is);
	if (!was->turns || !is->turns)
		return;
	change_add(c, "p50 of requests", "ns", (double)was->p50_ns, (double)is->p50_ns);
	change_add(c, "p99 of requests", "ns", (double)was->p99_ns, (double)is->p99_ns);
	change_add(c, "longest request", "ns", (double)was->answer_max_ns,
		   (double)is->answer_max_ns);
}

static void demand_by_kind(const struct model *m, const struct waits_result *w, double *ns)
{
	for (size_t i = 0; i < w->cause_cnt; i++) {
		const struct cause *c = &w->causes[i];

		if (proc_is_target(m, c->entry_proc))
			ns[c->kind] += c->ns;
	}
}

static void compare_causes(struct compared *c, const struct model *base,
			   const struct waits_result *bw)
{
	double was[CAUSE_CNT] = { 0 }, is[CAUSE_CNT] = { 0 };

	demand_by_kind(base, bw, was);
	demand_by_kind(c->k->m, c->k->w, is);
	for (unsigned i = 0; i < CAUSE_CNT; i++)
		change_add(c, arena_printf(c->k->arena, "request time, %s", cause_words(i)), "s/s",
			   was[i] / 1e9 / c->sec_was, is[i] / 1e9 / c->sec_is);
}

struct named {			/* a resource of either side, by its name */
	const char *name;
	double ns[2];
};

/* Waits for work are nobody's trouble, however long: those of a thread at its usual place. */
static size_t waits_by_name(const struct model *m, const struct waits_result *w, int side,
			    struct hmap *by_name, struct named *rows, size_t cnt)
{
	for (size_t i = 0; i < m->pair_cnt; i++) {
		const struct pair *p = &m->pairs[i];
		const char *name = p->res == NO_IDX ? "" : m->res[p->res].name;
		uint64_t *slot;

		if (!*name || !thread_is_target(m, p->thread) ||
		    w->threads[p->thread].home_res == p->res ||
		    w->threads[p->thread].role == ROLE_T_IDLE)
			continue;
		slot = hmap_slot(by_name, hash_bytes(name, strlen(name)));
		if (!*slot) {
			rows[cnt].name = name;
			*slot = ++cnt;
		}
		rows[*slot - 1].ns[side] += (double)p->ns;
	}
	return cnt;
}

/* Only the largest changes of one kind, so that they leave room for the others. */
static void keep_largest(struct verdict *v, size_t from)
{
	size_t cnt = v->change_cnt - from;

	qsort(v->changes + from, cnt, sizeof(*v->changes), by_score);
	v->change_cnt = from + (cnt < OF_KIND_MAX ? cnt : OF_KIND_MAX);
}

static void compare_resources(struct compared *c, const struct model *base,
			      const struct waits_result *bw)
{
	struct named *rows = ARENA_ARRAY(c->k->arena, struct named,
					 base->pair_cnt + c->k->m->pair_cnt + 1);
	size_t from = c->v->change_cnt, cnt;
	struct hmap by_name = { 0 };

	cnt = waits_by_name(base, bw, 0, &by_name, rows, 0);
	cnt = waits_by_name(c->k->m, c->k->w, 1, &by_name, rows, cnt);
	hmap_release(&by_name);
	for (size_t i = 0; i < cnt; i++) {
		if (c->v->change_cnt + 1 >= CHANGES_MAX)
			keep_largest(c->v, from);
		change_add(c, arena_printf(c->k->arena, "waits for %s", rows[i].name), "s/s",
			   rows[i].ns[0] / 1e9 / c->sec_was, rows[i].ns[1] / 1e9 / c->sec_is);
	}
	keep_largest(c->v, from);
}

static void compare_functions(struct compared *c, const struct stacks_result *base, unsigned mode)
{
	const struct stack_diff *d = diff_make(base, c->k->s, mode, c->k->arena);
	size_t from = c->v->change_cnt;

	for (size_t i = 0; i < d->row_cnt; i++) {
		const struct diff_row *r = &d->rows[i];

		if (c->v->change_cnt + 1 >= CHANGES_MAX)
			keep_largest(c->v, from);
		change_add(c, arena_printf(c->k->arena, "%s %s", mode == STACKS_ON ? "CPU in"
					   : "waits in", d->fns[r->fn].name), "s/s",
			   (double)r->self_ns[0] / 1e9 / c->sec_was,
			   (double)r->self_ns[1] / 1e9 / c->sec_is);
	}
	keep_largest(c->v, from);
}

/* Without waits for work. */
static const struct stacks_result *stacks_of(const struct model *m, const struct waits_result *w,
					     struct arena *arena)
{
	uint32_t *home = ARENA_ARRAY(arena, uint32_t, m->thread_cnt + 1);
	uint8_t *resting = ARENA_ARRAY(arena, uint8_t, m->thread_cnt + 1);

	for (size_t i = 0; i < m->thread_cnt; i++) {
		home[i] = w->threads[i].home_res;
		resting[i] = w->threads[i].role == ROLE_T_IDLE;
	}
	return stacks_make(m, &(struct stacks_opts){.home_res = home, .idle_threads = resting,
						    .wait_idle = w->wait_idle,
						    .targets = true}, arena);
}

void compare(struct context *k, const struct model *base, const struct waits_result *bw,
	     struct verdict *v)
{
	struct compared c = { k, v, seconds_of(base), seconds_of(k->m) };
	const struct stacks_result *all = k->s;

	v->compared = 1;
	v->changes = ARENA_ARRAY(k->arena, struct change, CHANGES_MAX);
	compare_requests(&c, &bw->total, &k->w->total);
	compare_causes(&c, base, bw);
	compare_resources(&c, base, bw);
	if (all && base->stack_sum_cnt) {
		const struct stacks_result *was = stacks_of(base, bw, k->arena);

		k->s = stacks_of(k->m, k->w, k->arena);
		compare_functions(&c, was, STACKS_ON);
		compare_functions(&c, was, STACKS_OFF);
		k->s = all;
	}
	qsort(v->changes, v->change_cnt, sizeof(*v->changes), by_score);
}
