/* SPDX-License-Identifier: Apache-2.0 */
/* The list of checks: what each found and how to mend it. */
#include "collect/doctor/doctor.h"

#include <stdarg.h>

#include "base/arena.h"

const char *doctor_state_name(enum doctor_state state)
{
	static const char *const names[] = {"ok", "info", "degraded", "failed"};

	return names[state];
}

void doctor_add(struct doctor *d, enum doctor_state state, const char *group, const char *name,
		const struct doctor_mend *mend, const char *fmt, ...)
{
	bool bad = mend && state > DOCTOR_INFO;
	struct doctor_check *c = vec_add(&d->checks);
	va_list ap;

	va_start(ap, fmt);
	*c = (struct doctor_check){
		.state = state,
		.group = group,
		.name = name,
		.detail = arena_vprintf(d->arena, fmt, ap),
		.cost = bad && mend->cost ? mend->cost : "",
		.mend = bad && mend->mend ? mend->mend : "",
	};
	va_end(ap);
}
