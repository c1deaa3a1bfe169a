/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/sig/learnt_homes.h"

#include "functions/sig/sig.h"
#include "functions/units/call_keys.h"
#include "functions/units/feature_kinds.h"
#include "functions/units/normalize.h"
#include "functions/units/work_waits_fn.h"

/* 0: not a wait, or of a call that this window does not have. */
static uint64_t key_of_place(const struct sigs *s, const struct sig_place *p,
			     const uint16_t *nr_of)
{
	uint16_t sym = p->around[SIG_AT], before = p->around[SIG_BEFORE];

	if (sym == SIG_NO_CALL || !(p->what & SIG_BLOCKED) || nr_of[sym] == SYM_NONE)
		return 0;
	if (!(p->what & SIG_FIRST))
		before = sym;
	return call_key_bare(call_class_of(s->call_names[sym]), nr_of[sym],
			     p->what >> SIG_KIND_SHIFT,
			     before == SIG_NO_CALL ? SYM_NONE : nr_of[before]);
}

/* Each stack has one innermost function: by those a wait is counted once. */
void homes_of_sigs(struct homes *h, const struct sigs *s, const uint16_t *nr_of)
{
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		for (uint32_t k = 0; k < s->fns[i].place_cnt; k++) {
			const struct sig_place *p = &s->fns[i].places[k];
			uint64_t key = p->self_cnt ? key_of_place(s, p, nr_of) : 0;

			if (key && p->what & SIG_HOME)
				homes_sum(h, key)->home += (double)p->self_cnt;
			else if (key)
				homes_sum(h, key)->other += (double)p->self_cnt;
		}
}
