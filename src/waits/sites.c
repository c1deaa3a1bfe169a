/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the program a wait is: functions told by their begin, named or not. */
#include "base/hash.h"
#include "model/stack.h"
#include "waits/engine.h"

uint64_t frame_place(const struct model *m, const struct stack *s, uint32_t i)
{
	uint64_t frame = s->frames[s->kernel_cnt + i];
	const struct fn *fn = model_fn(m, frame, s->tgid);

	return fn && fn->off <= FRAME_OFF(frame) ? frame - fn->off : frame;
}

uint64_t stack_site(const struct model *m, uint32_t stack)
{
	const struct stack *s = stack == NO_IDX ? NULL : &m->stacks[stack];
	uint64_t hash = 0;

	for (uint32_t i = 0; s && i < s->user_cnt; i++)
		hash = hash_pair(hash, frame_place(m, s, i));
	return hash;
}
