/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/weigh/explain.h"

#include "verdict/chain/chain.h"
#include "verdict/chain/step_functions.h"
#include "verdict/context/say.h"
#include "verdict/findings/findings.h"

static void chain_add(struct context *k, struct finding *f, const struct cand *c)
{
	const struct finding_def *def = finding_def(c->cls);

	if (!chain_begin(k, f, c))
		return;
	if (def->chain_threads)
		def->chain_threads(k, f, c);
	functions_add(k, f);
	if (def->chain_end)
		def->chain_end(k, f, c);
}

static void refute_add(struct context *k, struct finding *f, const struct cand *c)
{
	const struct finding_def *def = finding_def(f->cls);

	if (def->refute && c)
		def->refute(k, f, c);
	if (def->refuted_if)
		refute(k, f, "%s", def->refuted_if);
}

void explain(struct context *k, struct finding *f, const struct cand *c)
{
	const struct finding_def *def = finding_def(c->cls);

	f->cls = c->cls;
	f->resource = f->res_kind = f->summary = f->culprit.comm = "";
	f->share = k->demand_ns > 0 ? c->ns / k->demand_ns : 0;
	if (def->explain)
		def->explain(k, f, c);
	refute_add(k, f, c);
	chain_add(k, f, c);
	if (def->lacks)
		def->lacks(k, f, c);
	next_step(k, f, c);
}

unsigned explain_certain(struct context *k, struct verdict *v)
{
	for (size_t i = 0; i < findings_cnt; i++) {
		const struct finding_def *def = findings_in_order[i];
		struct finding *f = &v->findings[v->finding_cnt];

		if (!def->find || !def->find(k, v))
			continue;
		refute_add(k, f, NULL);
		if (def->lacks)
			def->lacks(k, f, NULL);
		return def->cls;
	}
	return FIND_CNT;
}

/* More workers help as well against a finding that fills a pool. */
void next_step(struct context *k, struct finding *f, const struct cand *c)
{
	const struct cand *p = &k->pool;

	f->next_step = finding_def(f->cls)->next_step(k, f, c);
	if (p->ns <= 0 || p->kept_by != f->cls || p->group == NO_IDX)
		return;
	f->next_step = arena_printf(k->arena, "%s; or run more workers (%s): %.0f of %.0f requests "
				    "wait for one", f->next_step, k->w->groups[p->group].comm,
				    p->ns / k->window_ns, k->demand_ns / k->window_ns);
}
