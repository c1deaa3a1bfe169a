/* SPDX-License-Identifier: Apache-2.0 */
#include "report/facts.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "report/answer.h"
#include "waits/waits.h"

struct busy {
	uint64_t ns;
	uint32_t idx;
};

static int by_busy(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	CMP(y->ns, x->ns);
	CMP(x->idx, y->idx);
	return 0;
}

static uint64_t busy_ns(const struct answer *a, uint32_t idx)
{
	const struct thread *t = &a->model->threads[idx];
	uint64_t life = t->end_ns - t->begin_ns;
	uint64_t idle = a->waits->threads[idx].idle_ns;

	return idle < life ? life - idle : 0;
}

/* Sorts and leaves the indexes alone, in arena. */
static uint32_t *sorted(struct busy *busy, size_t cnt, struct arena *arena)
{
	uint32_t *out = ARENA_ARRAY(arena, uint32_t, cnt + 1);

	if (cnt)
		qsort(busy, cnt, sizeof(*busy), by_busy);
	for (size_t i = 0; i < cnt; i++)
		out[i] = busy[i].idx;
	return out;
}

uint32_t *facts_busy_threads(const struct answer *a, struct arena *arena, size_t *ret_cnt)
{
	const struct model *m = a->model;
	struct busy *busy = ARENA_ARRAY(arena, struct busy, m->thread_cnt + 1);
	size_t cnt = 0;

	for (size_t i = 0; i < m->thread_cnt; i++) {
		if (m->threads[i].tracked)
			busy[cnt++] = (struct busy){ busy_ns(a, (uint32_t)i), (uint32_t)i };
	}
	*ret_cnt = cnt;
	return sorted(busy, cnt, arena);
}

uint32_t *facts_waited_resources(const struct answer *a, struct arena *arena, size_t *ret_cnt)
{
	const struct model *m = a->model;
	struct busy *busy = ARENA_ARRAY(arena, struct busy, m->res_cnt + 1);
	size_t cnt = 0;

	for (size_t i = 0; i < m->res_cnt; i++) {
		if (m->res[i].wait_cnt || m->res[i].wake_cnt)
			busy[cnt++] = (struct busy){ m->res[i].wait_ns, (uint32_t)i };
	}
	*ret_cnt = cnt;
	return sorted(busy, cnt, arena);
}

static const char *const loss_names[LOSS_CNT] = {
	[LOSS_RING] = "ring",
	[LOSS_TASK_STORAGE] = "task-storage",
	[LOSS_RES_MAP] = "resource-map",
	[LOSS_END_MAP] = "conversation-map",
	[LOSS_CULPRIT_MAP] = "culprit-map",
	[LOSS_DISK_MAP] = "disk-map",
	[LOSS_SEQ] = "sequence-gap",
	[LOSS_STRINGS] = "strings",
	[LOSS_PEERS] = "peers",
	[LOSS_MEMBERS] = "epoll-members",
	[LOSS_SOCK_STORAGE] = "socket-storage",
	[LOSS_KSTACK] = "kernel-stacks",
	[LOSS_MISSED] = "missed-runs",
	[LOSS_STACK_BUDGET] = "stack-budget",
	[LOSS_STACK_MAP] = "stack-mapping",
	[LOSS_STACK_CUT] = "stack-depth",
	[LOSS_STACK_READ] = "stack-memory",
	[LOSS_SAMPLES] = "samples",
	[LOSS_SEARCHES] = "peer-searches",
	[LOSS_FRAME_NAMES] = "frame-names",
	[LOSS_RES_INDEX] = "resource-index",
	[LOSS_BAD_RECORD] = "bad-records",
	[LOSS_MEMBER_SETS] = "event-sets",
};

const char *facts_loss_name(unsigned loss)
{
	return loss < LOSS_CNT ? loss_names[loss] : NULL;
}

uint64_t facts_lost_cnt(const struct answer *a)
{
	const struct model *m = a->model;
	uint64_t sum = m->unknown_kind_cnt + m->bad_event_cnt;

	for (unsigned i = 0; i < LOSS_CNT; i++)
		sum += loss_spares_sums(i) ? 0 : m->loss.cnt[i];
	/* a gap the source did not see itself, in a damaged capture */
	if (m->seq_gap_cnt > m->loss.cnt[LOSS_SEQ])
		sum += m->seq_gap_cnt - m->loss.cnt[LOSS_SEQ];
	return sum;
}

uint64_t facts_window_ns(const struct answer *a)
{
	return a->model->end_ns > a->model->begin_ns ? a->model->end_ns - a->model->begin_ns : 0;
}

double facts_self_cpu(const struct answer *a)
{
	uint64_t window = facts_window_ns(a);

	return window ? (double)(a->model->self.cpu_ns - a->model->start_cpu_ns) / (double)window
		      : 0;
}

double facts_self_bpf(const struct answer *a)
{
	uint64_t window = facts_window_ns(a);

	return window ? (double)a->model->self.bpf_ns / (double)window : 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct state_part *x = a, *y = b;

	CMP(y->ns, x->ns);
	return x->state - y->state;
}

size_t facts_state_parts(const uint64_t ns[ST_CNT], struct state_part parts[ST_CNT])
{
	uint64_t sum = 0;
	size_t cnt = 0, next = 0;
	unsigned left = 1000;

	for (unsigned st = 0; st < ST_CNT; st++) {
		if (!ns[st])
			continue;
		parts[cnt++] = (struct state_part){ .state = (uint8_t)st, .ns = ns[st] };
		sum += ns[st];
	}
	if (!cnt)
		return 0;
	qsort(parts, cnt, sizeof(*parts), by_ns);
	for (size_t i = 0; i < cnt; i++) {
		parts[i].permille = (uint16_t)((double)parts[i].ns / (double)sum * 1000);
		left -= parts[i].permille;
	}
	/* what rounding down left goes to the largest, so that a row adds up */
	for (; left; left--, next = (next + 1) % cnt)
		parts[next].permille++;
	return cnt;
}

const char *facts_demand_noun(const struct answer *a)
{
	return a->waits->demand_kind == 1 ? "requests" : "threads";
}
