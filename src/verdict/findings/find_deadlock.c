/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for each other in a circle. */
#include "verdict/chain/step_functions.h"
#include "verdict/context/say.h"
#include "verdict/context/targets.h"
#include "verdict/findings/findings.h"

/* Cycles this old are no race that resolves itself. */
#define CYCLE_MIN_NS 500000000ULL

static bool find_deadlock(struct context *k, struct verdict *v)
{
	const struct wcycle *best = NULL;
	struct finding *f;

	for (size_t i = 0; i < k->w->cycle_cnt; i++) {
		const struct wcycle *y = &k->w->cycles[i];

		if (y->pending && y->ns >= CYCLE_MIN_NS && (!best || y->ns > best->ns) &&
		    thread_is_target(k->m, y->thread[0]))
			best = y;
	}
	if (!best)
		return false;
	f = &v->findings[v->finding_cnt++];
	*f = (struct finding){ .cls = FIND_DEADLOCK, .share = 1, .resource = "",
			       .res_kind = "" };
	f->culprit = party_of(k->m, best->thread[0]);
	if (best->res[0] != NO_IDX) {
		f->resource = k->m->res[best->res[0]].name;
		f->res_kind = res_kind_name(k->m->res[best->res[0]].kind);
	}
	f->summary = arena_printf(k->arena, "%u threads wait for each other in a circle, for %s.",
				  best->len, ns_text(k, best->ns));
	f->chain = ARENA_ARRAY(k->arena, struct step, best->len);
	for (uint32_t i = 0; i < best->len; i++) {
		struct step *s = &f->chain[f->chain_len++];
		uint32_t r = best->res[i];

		*s = (struct step){.thread = best->thread[i],
				   .res = r,
				   .does = STEP_WAITS,
				   .like_cnt = 1,
				   .share = 1,
				   .who = party_of(k->m, best->thread[i]),
				   .role = role_name(k->w->threads[best->thread[i]].role),
				   .doing = "waits for a lock that the next one holds",
				   .resource = r != NO_IDX ? k->m->res[r].name : "",
				   .res_kind = r != NO_IDX ? res_kind_name(k->m->res[r].kind) : ""};
		say(k, f, "%s waits for %s, held by %s", thread_label(k, best->thread[i]),
		    r != NO_IDX ? k->m->res[r].name : "a lock",
		    thread_label(k, best->thread[(i + 1) % best->len]));
	}
	functions_add(k, f);
	/* the locks of the circle are in it already */
	k->cand[FIND_LOCK_HELD].ns = k->cand[FIND_LOCK_CONVOY].ns = 0;
	k->more_cnt = 0;
	return true;
}

static const char *next_deadlock(struct context *k, const struct finding *f, const struct cand *c)
{
	(void)c;
	return arena_printf(k->arena, "restart process %u to go on now; then have its threads take "
			    "these %zu locks in one order", f->culprit.pid, f->chain_len);
}

const struct finding_def finding_deadlock = {
	.cls = FIND_DEADLOCK,
	.name = "deadlock",
	.title = "deadlock",
	.find = find_deadlock,
	.refuted_if = "one of the waits has a time limit and ends by itself",
	.next_step = next_deadlock,
	.is_certain = true,
};
