/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wait as the system call that it happened in, for the times in which a
 * recorder took nothing else (EV_CALLS_PART).
 *
 * The call began a little before its thread went to sleep and ended a little
 * after it ran again; one that slept twice is two.  How it ended is not known,
 * but for a timeout.
 */
#include "model/calls/calls_int.h"

#include "model/model_int.h"

/* The kind of the call's first argument, as a recorder of all calls says it. */
static uint8_t kind_of(const struct model *m, const struct ev_wait *e)
{
	uint32_t res = model_res_by_id(m, e->res);
	unsigned kind = res == NO_IDX ? RES_NONE : m->priv->res.items[res].kind;

	if (!(wait_class_traits(e->cls) & WAITC_KEYED))
		return RES_NONE;
	if (e->cls == WAIT_PIPE && kind == RES_CHARDEV)
		return RES_CHARDEV;
	return wait_class_resource(e->cls);
}

static uint8_t result_of(const struct ev_wait *e)
{
	if (e->flags & WAITF_PENDING)
		return CALL_UNFINISHED;
	if (e->flags & WAITF_EXITED)
		return CALL_UNKNOWN;
	return e->waker_ctx == WAKER_TIMER && e->flags & WAITF_TIMEOUT_ARG ? CALL_TIMEOUT
									    : CALL_OK;
}

/* Not of what the thread was made to wait for, wherever it was. */
static bool is_in_call(const struct ev_wait *e)
{
	return !(wait_class_traits(e->cls) & WAITC_FORCED) && e->sysnr >= 0 &&
	       !(e->flags & WAITF_PREEMPTED) && e->h.ts_ns >= e->off_ns && e->off_ns;
}

bool call_of_wait(const struct model *m, const struct ev_wait *e, struct call *ret)
{
	if (!is_in_call(e))
		return false;
	*ret = (struct call){
		.begin_ns = e->off_ns,
		.dur_ns = e->h.ts_ns - e->off_ns,
		.thread = e->h.tid,
		.stack = e->ustack <= EVENT_STACK_MAX ? e->ustack : 0,
		.nr = (uint16_t)e->sysnr,
		.cpu = e->cpu,
		.result = result_of(e),
		.kind = kind_of(m, e),
		.flags = CALLF_BLOCKED | CALLF_WAIT,
	};
	ret->flags |= (ret->kind ? CALLF_KEY : 0) |
		      (e->flags & WAITF_BEFORE_START ? CALLF_BEFORE : 0);
	return true;
}

/* A look at a wait that went on, and what it was in the end. */
static bool is_same(const struct call *a, const struct call *b)
{
	return a->flags & CALLF_WAIT && b->flags & CALLF_WAIT && a->begin_ns == b->begin_ns;
}

/* It went on when all calls began to be recorded, which knew no begin of it. */
static bool goes_on(const struct call *a, const struct call *b)
{
	return a->flags & CALLF_WAIT && !(b->flags & CALLF_WAIT) && a->nr == b->nr &&
	       a->begin_ns + a->dur_ns > b->begin_ns;
}

bool call_joins(const struct call *before, struct call *call)
{
	if (is_same(before, call)) {
		if (before->dur_ns > call->dur_ns)
			*call = *before;
		return true;
	}
	if (!goes_on(before, call))
		return false;
	call->dur_ns += call->begin_ns - before->begin_ns;
	call->begin_ns = before->begin_ns;
	call->flags |= CALLF_BLOCKED;
	if (call->stack == NO_IDX)
		call->stack = before->stack;
	if (!(call->flags & CALLF_KEY)) {
		call->kind = before->kind;
		call->flags |= before->flags & CALLF_KEY;
	}
	return true;
}
