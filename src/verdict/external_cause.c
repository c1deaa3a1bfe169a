/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/external_cause.h"

#include "functions/functions.h"
#include "verdict/verdict.h"

/* Of the demand: as much as must be harmed before calls alone speak of an outside cause. */
#define MOST (2.0 / 3)

static uint8_t kind_of(unsigned cls)
{
	switch (cls) {
	case FIND_DISK_NEIGHBOUR:
	case FIND_DISK_LIMIT:
		return OUTSIDE_DISK;
	case FIND_CPU_NEIGHBOUR:
	case FIND_CPU_QUOTA:
		return OUTSIDE_CPU;
	}
	return OUTSIDE_NONE;
}

void verdict_outside(const struct verdict *v, struct outside_report *ret)
{
	const struct finding *f = v->finding_cnt ? &v->findings[0] : NULL;

	*ret = (struct outside_report){.kind = OUTSIDE_NONE, .who = ""};
	if (!f || f->conf < CONF_HIGH || f->share < MOST || !kind_of(f->cls))
		return;
	*ret = (struct outside_report){.kind = kind_of(f->cls), .share = f->share,
				       .who = f->culprit.comm ? f->culprit.comm : "",
				       .words = f->summary};
}
