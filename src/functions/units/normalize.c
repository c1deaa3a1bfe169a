/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/normalize.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "model/calls/calls.h"

bool norm_is_noise(const char *call_name)
{
	/* x86, arm64 and the 32-bit names of the same calls */
	static const char *const names[] = {
		"gettimeofday", "clock_gettime", "clock_gettime64", "time", "getcpu", "mmap",
		"mmap2", "mmap_pgoff", "munmap", "mremap", "mprotect", "madvise", "brk",
		"restart_syscall", "rt_sigreturn", "sigreturn"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(call_name, names[i]) == 0)
			return true;
	return false;
}

uint8_t *norm_noise(const char *const *names, uint32_t cnt, struct arena *arena)
{
	uint8_t *noise = ARENA_ARRAY(arena, uint8_t, (size_t)UINT16_MAX + 1);

	for (uint32_t i = 0; i < cnt && i <= UINT16_MAX; i++)
		noise[i] = names[i] && norm_is_noise(names[i]);
	return noise;
}

/* Room for cnt symbols in all three arrays: no check in the loop that fills them. */
static void norm_reserve(struct norm *n, size_t cnt)
{
	size_t cap = n->cap;

	if (cap >= cnt)
		return;
	n->syms = vec_grow_items(n->syms, &cap, cnt, sizeof(*n->syms));
	cap = n->cap;
	n->first = vec_grow_items(n->first, &cap, cnt, sizeof(*n->first));
	cap = n->cap;
	n->reps = vec_grow_items(n->reps, &cap, cnt, sizeof(*n->reps));
	n->cap = cap;
}

void norm_calls(struct norm *n, const struct call *calls, uint32_t first, uint32_t cnt,
		const uint8_t *noise)
{
	size_t at = 0;

	n->cnt = 0;
	n->noise_cnt = 0;
	norm_reserve(n, cnt);
	for (uint32_t i = first; i < first + cnt; i++) {
		uint16_t nr = calls[i].nr;

		if (noise && noise[nr]) {
			n->noise_cnt++;
			continue;
		}
		if (at && n->syms[at - 1] == nr) {
			n->reps[at - 1]++;
			continue;
		}
		n->syms[at] = nr;
		n->first[at] = i;
		n->reps[at++] = 1;
	}
	n->cnt = at;
}

void norm_release(struct norm *n)
{
	free(n->syms);
	free(n->first);
	free(n->reps);
	*n = (struct norm){0};
}
