/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/lock_facts.h"

#include <string.h>

#include "model/stack.h"
#include "stacks/tops.h"
#include "verdict/evidence/cpu_users.h"

/* Holders that run for less than half of the time they have a lock have it for another reason. */
#define HOLDERS_RUN 0.5
/* More than one holder at a time, counted with the error that lost hand-overs bring. */
#define LIMIT_HOLDERS 1.5

bool lock_is_limit(const struct context *k, uint32_t lock)
{
	return lock != NO_IDX && k->w->locks[lock].holders_avg >= LIMIT_HOLDERS;
}

bool computes_for_holders(const struct context *k, const struct cause *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
	double all = 0;
	unsigned role;

	if (!l || c->thread == NO_IDX || (c->kind != CAUSE_RUN && c->kind != CAUSE_RUNQ_SELF))
		return false;
	role = k->w->threads[c->thread].role;
	for (unsigned i = 0; i < ST_CNT; i++)
		all += l->holder_st[i];
	return role != ROLE_T_ENTRY && role != ROLE_T_LOOP && c->thread != l->holder &&
	       never_rests(&k->m->threads[c->thread]) &&
	       l->holder_st[ST_RUN] + l->holder_st[ST_RUNQ] < HOLDERS_RUN * all;
}

const char *holders_mostly(const struct lock *l, double *ret_share)
{
	uint64_t all = 0, best = 0;
	unsigned top = 0;
#define HOLDER(id, value, name, resource, cause, group, metric, object, traits, holder) \
	[ST_WAIT + WAIT_##id] = (holder),
	static const char *const words[ST_CNT] = {
		[ST_RUN] = "computing",
		[ST_RUNQ] = "waiting for a CPU",
		WAIT_CLASSES(HOLDER)
	};
#undef HOLDER
	for (unsigned i = 0; i < ST_CNT; i++) {
		all += l->holder_st[i];
		if (l->holder_st[i] > best) {
			best = l->holder_st[i];
			top = i;
		}
	}
	if (!all)
		return NULL;
	*ret_share = part_of(best, all);
	return words[top] ? words[top] : "in other waits";
}

const char *holders_did(struct context *k, const struct lock *l)
{
	double share;
	const char *did = holders_mostly(l, &share);

	return did ? arena_printf(k->arena, "%s %.0f %% of that time", did, 100 * share) : NULL;
}

/* The holder is the last but one of the chain, and waits for the last by other means. */
bool holder_waits(const struct context *k, const struct cause *top, const struct lock *l)
{
	return top->via == l->holder && top->thread != l->holder && top->via_res != NO_IDX &&
	       k->m->res[top->via_res].kind != k->m->res[l->res].kind;
}

uint32_t end_of_line(const struct context *k, const struct cand *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
	bool in_line = !c->top || c->top->kind == CAUSE_LOCK || c->top->kind == CAUSE_CYCLE;

	if (l && l->holder != NO_IDX && (in_line || holder_waits(k, c->top, l)))
		return l->holder;
	return c->top ? c->top->thread : NO_IDX;
}

/* In the path the site's frame, by its name: a path has inlined functions as well. */
static uint32_t site_at(const struct context *k, const struct site *site)
{
	const struct stack *s = &k->m->stacks[site->stack];
	const struct stack_path *p = &k->s->paths[site->stack];
	const struct fn *fn = model_fn(k->m, s->frames[s->kernel_cnt + site->frame], s->tgid);
	uint32_t in_program = stacks_site(k->s, p);

	/* no further in than the program's own: the C library's say less */
	for (uint32_t i = in_program + 1; fn && i-- > 0;) {
		if (strcmp(k->s->fns[p->fns[i]].name, fn->name) == 0)
			return i;
	}
	return in_program;
}

const char *site_text(struct context *k, const struct site *site, uint32_t max)
{
	uint32_t fns[3], cnt, from;

	if (!k->s || site->stack == NO_IDX || !k->s->paths[site->stack].cnt)
		return "";
	cnt = callers_of(k->s, &k->s->paths[site->stack], site_at(k, site), fns, 3);
	if (!cnt)
		return "";
	from = k->s->fns[fns[0]].nameless && cnt > 1 && !k->s->fns[fns[1]].nameless;
	if (from + 1 >= cnt || max < 2)
		return k->s->fns[fns[from]].name;
	return arena_printf(k->arena, "%s ← %s", k->s->fns[fns[from]].name,
			    k->s->fns[fns[from + 1]].name);
}

/* Each waits on something of its own: the function in which all do names the lock. */
const char *lock_name(struct context *k, const struct lock *l)
{
	const char *site = l->virt ? site_text(k, &l->site, 2) : "";
	uint32_t proc = l->holder != NO_IDX ? k->m->threads[l->holder].proc : NO_IDX;

	if (!*site || proc == NO_IDX)
		return *site ? arena_printf(k->arena, "lock in %s", site) : "";
	return arena_printf(k->arena, "lock in %s of %s", site, k->m->procs[proc].comm);
}
