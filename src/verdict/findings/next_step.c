/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/findings/next_step.h"

/* "postgres (pid 12)", or what stands for nobody. */
const char *step_who(struct context *k, const struct finding *f, const char *nobody)
{
	const struct party *p = &f->culprit;

	if (p->pid && !*p->comm)
		return arena_printf(k->arena, "process %u", p->pid);
	if (p->pid && p->tid && p->tid != p->pid)
		return arena_printf(k->arena, "%s (tid %u of pid %u)", p->comm, p->tid, p->pid);
	if (p->pid)
		return arena_printf(k->arena, "%s (pid %u)", p->comm, p->pid);
	return *p->comm ? p->comm : nobody;
}

const char *step_what(const struct finding *f, const char *nothing)
{
	return f->resource && *f->resource ? f->resource : nothing;
}

/* " in read_row", where the stacks tell the function that the chain ends in. */
const char *step_place(struct context *k, const struct finding *f)
{
	const struct step *s = f->chain_len ? &f->chain[f->chain_len - 1] : NULL;

	if (!s || !s->fn_cnt || !s->fns[0].name_cnt || s->fns[0].what == FNS_ENDED)
		return "";
	return arena_printf(k->arena, " in %s", s->fns[0].names[0]);
}
