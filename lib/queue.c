/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of cells, each with a turn of its own: who has reserved a cell writes it and then
 * hands its turn on.  A thread that is preempted between the two holds back the taker, never
 * another thread that puts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct cell {
	uint64_t turn;
	struct record record;
};

static struct cell *cells;
static uint64_t put_at __attribute__((aligned(64))), take_at __attribute__((aligned(64)));

int queue_init(void)
{
	if (cells)
		return 0;
	cells = calloc(HELDUP_QUEUE, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	for (uint64_t i = 0; i < HELDUP_QUEUE; i++)
		cells[i].turn = i;
	put_at = take_at = 0;
	return 0;
}

/* A record without the keys and events that it does not have. */
static void record_copy(struct record *to, const struct record *from)
{
	size_t keys = from->span.key_cnt * sizeof(from->span.keys[0]);
	size_t events = from->span.event_cnt * sizeof(from->span.events[0]);

	to->trace_hi = from->trace_hi;
	to->trace_lo = from->trace_lo;
	to->epoch = from->epoch;
	to->is_request = from->is_request;
	to->end_ns = from->end_ns;
	memcpy(&to->span, &from->span, offsetof(struct heldup_span, keys));
	memcpy(to->span.keys, from->span.keys, keys);
	memcpy(to->span.events, from->span.events, events);
}

bool queue_put(const struct record *record)
{
	uint64_t at = __atomic_load_n(&put_at, __ATOMIC_RELAXED);

	for (;;) {
		struct cell *c = &cells[at % HELDUP_QUEUE];
		int64_t ahead = (int64_t)(__atomic_load_n(&c->turn, __ATOMIC_ACQUIRE) - at);

		if (ahead < 0)
			return false;
		if (ahead > 0) {
			at = __atomic_load_n(&put_at, __ATOMIC_RELAXED);
		} else if (__atomic_compare_exchange_n(&put_at, &at, at + 1, true,
						       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			record_copy(&c->record, record);
			__atomic_store_n(&c->turn, at + 1, __ATOMIC_RELEASE);
			return true;
		}
	}
}

bool queue_take(struct record *ret)
{
	struct cell *c = &cells[take_at % HELDUP_QUEUE];

	if (__atomic_load_n(&c->turn, __ATOMIC_ACQUIRE) != take_at + 1)
		return false;
	record_copy(ret, &c->record);
	__atomic_store_n(&c->turn, take_at + HELDUP_QUEUE, __ATOMIC_RELEASE);
	__atomic_store_n(&take_at, take_at + 1, __ATOMIC_RELAXED);
	return true;
}

uint32_t queue_cnt(void)
{
	uint64_t cnt = __atomic_load_n(&put_at, __ATOMIC_RELAXED) -
		       __atomic_load_n(&take_at, __ATOMIC_RELAXED);

	return cnt > HELDUP_QUEUE ? HELDUP_QUEUE : (uint32_t)cnt;
}
