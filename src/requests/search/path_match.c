/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/search/path_match.h"

static bool fits(const struct space_path *p, const struct forest_event *events, uint32_t cnt,
		 uint32_t *ret_steps)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < cnt; i++, at++) {
		while (at < p->step_cnt && (p->steps[at].point != events[i].point ||
					    p->steps[at].kind != events[i].kind))
			at++;
		if (at >= p->step_cnt)
			return false;
		ret_steps[i] = at;
	}
	return true;
}

uint32_t match_path(const struct space_type *type, const struct forest_event *events,
		    uint32_t cnt, uint32_t *ret_steps)
{
	uint32_t best = FOREST_NONE;
	uint64_t best_cnt = 0;

	for (uint32_t i = 0; i < type->path_cnt; i++) {
		const struct space_path *p = &type->paths[i];
		uint64_t seen = p->critical_cnt + p->branch_cnt;

		if (best != FOREST_NONE &&
		    (seen < best_cnt || (seen == best_cnt && p->hash > type->paths[best].hash)))
			continue;
		if (!fits(p, events, cnt, ret_steps))
			continue;
		best = i;
		best_cnt = seen;
	}
	if (best != FOREST_NONE)
		fits(&type->paths[best], events, cnt, ret_steps);
	return best;
}
