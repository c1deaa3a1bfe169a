/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/external_cause.h"

#include "functions/functions.h"
#include "verdict/findings/findings.h"

/* Share of the demand that must be harmed before calls alone speak of an outside cause. */
#define MOST (2.0 / 3)

void verdict_outside(const struct verdict *v, struct outside_report *ret)
{
	const struct finding *f = v->finding_cnt ? &v->findings[0] : NULL;

	*ret = (struct outside_report){.kind = OUTSIDE_NONE, .who = ""};
	if (!f || f->conf < CONF_HIGH || f->share < MOST || !finding_def(f->cls)->outside)
		return;
	*ret = (struct outside_report){.kind = finding_def(f->cls)->outside, .share = f->share,
				       .who = f->culprit.comm ? f->culprit.comm : "",
				       .words = f->summary};
}
