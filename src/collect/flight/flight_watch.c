/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the freeze, once a second and only with the detector on: the socket
 * calls that ended since, in the order of their ends, to flight_anomaly.h.
 */
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "collect/flight/flight_anomaly.h"
#include "collect/flight/flight_int.h"
#include "store/event_calls.h"

/* Beside enum anomaly_op: */
#define OP_GONE 3 /* the conversation ended */
#define OP_AWAY 4 /* the hooks were away until then: answers went unseen */

struct sock_op {
	uint64_t end_ns;
	uint32_t tid;
	uint32_t op;
};

struct flight_watch {
	struct anomaly anomaly;
	uint64_t *seen; /* records of each CPU looked at */
	size_t gap_cnt;	/* looked at */
	uint64_t next_ns;
	VEC(struct sock_op) ops;
};

static uint32_t op_of(uint64_t what)
{
	unsigned result = what >> CALL_RESULT_AT & 7;

	if ((what >> CALL_KIND_AT & 15) != RES_SOCKET)
		return 0;
	switch (what >> CALL_NR_AT & CALL_NR_MAX) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return result == CALL_OK ? ANOMALY_READ : result == CALL_NONE ? OP_GONE : 0;
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_sendfile:
		return result == CALL_OK ? ANOMALY_WRITE : 0;
	case SYS_close:
	case SYS_shutdown:
		return OP_GONE;
	}
	return 0;
}

static void ops_read(struct live_flight *f, struct flight_watch *w, uint64_t now)
{
	for (uint32_t cpu = 0; cpu < f->cpu_cnt; cpu++) {
		uint64_t head = __atomic_load_n(&f->heads[cpu].head, __ATOMIC_ACQUIRE);
		uint64_t at = w->seen[cpu];

		if (head - at > f->ring_cnt / 2) /* it would be overwritten under our eyes */
			at = head - f->ring_cnt / 2;
		for (; at < head; at++) {
			struct call_rec r = *flight_rec(f, cpu, at);
			struct sock_op op = {.op = op_of(r.what)};

			if (!op.op)
				continue;
			op.tid = r.what >> CALL_TID_AT & CALL_TID_MAX;
			op.end_ns = flight_rec_begin(&r, now) + flight_rec_dur(&r);
			vec_push(&w->ops, op);
		}
		w->seen[cpu] = head;
	}
}

static void gaps_read(struct live_flight *f, struct flight_watch *w, uint64_t now)
{
	const struct flight_duty *d = &f->duty;

	for (; w->gap_cnt < d->gap_cnt; w->gap_cnt++) {
		const struct flight_gap *g = &d->gaps[w->gap_cnt % FLIGHT_GAPS];

		vec_push(&w->ops, ((struct sock_op){.end_ns = g->end_ns, .op = OP_AWAY}));
	}
	if (d->back_ns)
		vec_push(&w->ops, ((struct sock_op){.end_ns = now, .op = OP_AWAY}));
}

static int by_end(const void *a, const void *b)
{
	uint64_t x = ((const struct sock_op *)a)->end_ns, y = ((const struct sock_op *)b)->end_ns;

	return (x > y) - (x < y);
}

static bool has_slot(const struct live_flight *f, uint32_t tid)
{
	for (uint32_t i = 0; i < CALL_PROBE; i++)
		if (f->slots[(tid + i) & (CALL_SLOTS - 1)].tid == tid)
			return true;
	return false;
}

/* Threads that ended answer no more. */
static void forget_dead(struct live_flight *f, struct flight_watch *w)
{
	struct hmap_entry e;
	size_t pos = 0;

	w->ops.cnt = 0;
	while (hmap_next(&w->anomaly.reads, &pos, &e))
		if (!has_slot(f, (uint32_t)e.key))
			vec_push(&w->ops, ((struct sock_op){.tid = (uint32_t)e.key}));
	VEC_FOREACH(&w->ops, op)
		anomaly_gone(&w->anomaly, op->tid);
	w->ops.cnt = 0;
}

bool flight_watch(struct live_flight *f, uint64_t now, char *ret_reason, size_t size)
{
	struct flight_watch *w = f->watch;

	if (!f->opts.anomaly || (w && now < w->next_ns))
		return false;
	if (!w) {
		w = f->watch = xcalloc(1, sizeof(*w));
		w->seen = xcalloc(f->cpu_cnt, sizeof(*w->seen));
	}
	w->next_ns = now + NS_PER_SEC;
	forget_dead(f, w);
	ops_read(f, w, now);
	gaps_read(f, w, now);
	qsort(w->ops.items, w->ops.cnt, sizeof(*w->ops.items), by_end);
	VEC_FOREACH(&w->ops, op) {
		if (op->op == OP_GONE)
			anomaly_gone(&w->anomaly, op->tid);
		else if (op->op == OP_AWAY)
			anomaly_away(&w->anomaly);
		else
			anomaly_call(&w->anomaly, op->tid, (enum anomaly_op)op->op, op->end_ns);
	}
	return anomaly_second(&w->anomaly, now, ret_reason, size);
}

void flight_watch_free(struct flight_watch *w)
{
	if (!w)
		return;
	anomaly_release(&w->anomaly);
	vec_release(&w->ops);
	free(w->seen);
	free(w);
}
