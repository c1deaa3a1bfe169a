/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/seen_stacks.h"

#include "base/arena.h"
#include "model/model.h"
#include "stacks/stacks.h"
#include "waits/waits.h"

struct stacks_result *stacks_seen(const struct model *m, const struct waits_result *w, bool idle,
				  struct arena *arena)
{
	uint32_t *home = ARENA_ARRAY(arena, uint32_t, m->thread_cnt + 1);
	uint8_t *resting = ARENA_ARRAY(arena, uint8_t, m->thread_cnt + 1);

	for (size_t i = 0; i < m->thread_cnt; i++) {
		home[i] = w->threads[i].home_res;
		resting[i] = w->threads[i].role == ROLE_T_IDLE;
	}
	return stacks_make(m, &(struct stacks_opts){.home_res = home, .idle_threads = resting,
						    .wait_idle = w->wait_idle,
						    .idle = idle, .targets = true}, arena);
}

static bool is_idle_row(const struct stack_row *row, void *ctx)
{
	(void)ctx;
	return row->idle;
}

struct stacks_result *stacks_seen_idle(const struct model *m, const struct waits_result *w,
				       struct arena *arena)
{
	struct stacks_result *r = stacks_seen(m, w, true, arena);

	*r = stacks_filter(r, is_idle_row, NULL, arena);
	return r;
}
