/* SPDX-License-Identifier: Apache-2.0 */
#include "report/explore/explore_out.h"

#include "base/syscalls.h"
#include "explore/explore.h"
#include "explore/timelines.h"

const char *explore_wait_words(uint32_t kind)
{
	if (kind == PART_WAIT_NONE)
		return NULL;
	if (kind == PART_WAIT_LOCK)
		return "a lock";
	if (kind == PART_WAIT_FAULT)
		return "a page fault";
	return syscall_name(kind);
}

const char *explore_top_words(const struct explore_view *v, uint32_t top)
{
	switch (top) {
	case PART_BEGIN:
		return "before any function that was enabled";
	case PART_ASK:
		return "waiting for an answer that it asked for";
	case PART_QUEUE:
		return "in the queue for a worker";
	default:
		return top < v->graph->fn_cnt ? v->graph->fns[top].name : "not known";
	}
}

const char *explore_end_word(unsigned end)
{
	static const char *const words[] = {
		[EXPLORE_GOING] = "time", [EXPLORE_FOUND] = "found", [EXPLORE_ROUNDS] = "rounds",
		[EXPLORE_QUIET] = "quiet",
	};

	return end < sizeof(words) / sizeof(*words) ? words[end] : "";
}
