/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/weigh/weigh.h"

#include "base/bug.h"
#include "verdict/context/targets.h"
#include "verdict/findings/findings.h"
#include "verdict/weigh/carriers.h"

static void cand_add(struct context *k, unsigned cls, const struct cause *c, double ns)
{
	struct cand *d = &k->cand[cls];

	d->ns += ns;
	if (!d->top || ns > d->top_ns) {
		d->top = c;
		d->top_ns = ns;
	}
}

static const struct finding_def *claimed_by(const struct context *k, const struct cause *c)
{
	for (size_t i = 0; i < findings_cnt; i++)
		if (findings_in_order[i]->claims && findings_in_order[i]->claims(k, c))
			return findings_in_order[i];
	BUG_ON(true); /* unknown claims all */
	return finding_def(FIND_UNKNOWN);
}

/* Parts of c that others have of what cls claims; how much they are. */
static double parts_add(struct context *k, const struct cause *c, unsigned cls)
{
	double all = 0;

	for (size_t i = 0; i < findings_cnt; i++) {
		const struct finding_def *def = findings_in_order[i];
		double part = def->claims_part ? def->claims_part(k, c, cls) : 0;

		if (part > 0)
			cand_add(k, def->cls, c, part * c->ns);
		all += part;
	}
	return all;
}

static void causes_claim(struct context *k)
{
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		unsigned cls = claimed_by(k, c)->cls;

		k->cause_cls[i] = (uint8_t)cls;
		if (!proc_is_target(k->m, c->entry_proc))
			continue;
		cand_add(k, cls, c, (1 - parts_add(k, c, cls)) * c->ns);
		k->demand_ns += c->ns;
	}
	carriers_choose(k);
}

/* One step of the weighing; it moves demand from no other findings than it says. */
static void def_weigh(struct context *k, const struct finding_def *def)
{
	double had[FIND_CNT];

	for (unsigned cls = 0; cls < FIND_CNT; cls++)
		had[cls] = k->cand[cls].ns;
	def->weigh(k);
	for (unsigned cls = 0; cls < FIND_CNT; cls++)
		BUG_ON(k->cand[cls].ns < had[cls] && !(def->moves_from >> cls & 1));
}

void weigh(struct context *k)
{
	causes_claim(k);
	for (size_t i = 0; i < findings_cnt; i++)
		if (findings_in_order[i]->weigh)
			def_weigh(k, findings_in_order[i]);
	carriers_split(k);
}

void weigh_stalls(struct context *k, const struct stall_group *g)
{
	k->of_stalls = true;
	causes_claim(k);
	for (size_t i = 0; i < findings_cnt; i++)
		if (findings_in_order[i]->weigh_stalls)
			findings_in_order[i]->weigh_stalls(k, g);
}
