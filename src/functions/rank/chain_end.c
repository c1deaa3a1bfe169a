/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/rank/chain_end.h"

#include <string.h>

#include "base/arena.h"
#include "functions/units/functions_result.h"
#include "functions/rank/rank.h"

static bool is_named(const struct fn_report *f, const struct chain_end *end, uint32_t i)
{
	return !strcmp(f->name, end->names[i]) && !strcmp(f->module, end->modules[i]);
}

/* The listed function that is innermost at the end; r->fn_cnt: none is listed. */
static size_t listed_at(const struct functions_result *r, const struct chain_end *end)
{
	for (uint32_t n = 0; n < end->cnt; n++) {
		for (size_t i = 0; i < r->fn_cnt; i++)
			if (is_named(&r->fns[i], end, n))
				return i;
	}
	return r->fn_cnt;
}

/* Its reason stands before those that it had; the last of them makes room. */
static void reason_put(const struct functions_result *r, struct fn_report *f, double share)
{
	uint32_t keep = f->evidence_cnt < FN_EVIDENCE_MAX ? f->evidence_cnt : FN_EVIDENCE_MAX - 1;

	memmove(f->evidence + 1, f->evidence, keep * sizeof(f->evidence[0]));
	f->evidence[0] = (struct fn_evidence){.nr = NR_OWN, .kind = DEV_ENDS, .self = true,
					      .harm_ns = (uint64_t)(share * (double)r->held_ns),
					      .stack = NO_IDX, .episode = ""};
	f->evidence_cnt = keep + 1;
	if (f->held_share < share)
		f->held_share = share;
}

void chain_end_first(struct functions_result *r, const struct chain_end *end, struct arena *arena)
{
	size_t at = listed_at(r, end);
	struct fn_report *fns = ARENA_ARRAY(arena, struct fn_report, r->fn_cnt + 1), *to = fns;
	double best = r->fn_cnt ? r->fns[0].score : 0;

	if (!(r->thin & THIN_NO_HARM) || !end->cnt)
		return;
	*to = at < r->fn_cnt ? r->fns[at] : (struct fn_report){.name = end->names[0],
							       .module = end->modules[0]};
	to->group = 0;		/* it alone is meant */
	to->score = end->share * COST_WEIGHT > best ? end->share * COST_WEIGHT : best;
	to->place = to->score + 1; /* no tie with what follows */
	reason_put(r, to, end->share);
	for (size_t i = 0; i < r->fn_cnt; i++)
		if (i != at)
			*++to = r->fns[i];
	r->fn_cnt += at == r->fn_cnt;
	if (r->candidate_cnt < r->fn_cnt)
		r->candidate_cnt = r->fn_cnt;
	r->fns = fns;
	rank_ties(r);
	fns[0].place = fns[0].score;
}
