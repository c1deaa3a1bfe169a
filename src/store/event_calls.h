/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EVENT_CALLS_H
#define EVENT_CALLS_H
/*
 * Stored events that tell of system calls; see event.h for the rules that
 * hold for all.  A window of calls is a run of EV_CALLS and one EV_WINDOW
 * after them; EV_CALL_NAME comes before the first call of its number.
 */
#include "store/event.h"

/* How a system call ended. */
enum call_result {
	CALL_OK = 0,
	CALL_NONE = 1,		/* returned 0 where that is the end of a file, no event, no bytes */
	CALL_AGAIN = 2,		/* EAGAIN, EINPROGRESS, EALREADY */
	CALL_INTR = 3,		/* EINTR and the kernel's restart codes */
	CALL_TIMEOUT = 4,	/* ETIMEDOUT, ETIME, ... */
	CALL_FAILED = 5,	/* any other error */
	CALL_UNFINISHED = 6,	/* had not returned when the window ended: dur_ns is its age */
	CALL_UNKNOWN = 7,	/* its return was not seen, or its source does not tell */
	CALL_RESULT_CNT
};

enum call_flags {
	CALLF_BLOCKED = 1 << 0,	/* the thread gave up its CPU inside the call */
	CALLF_SWITCHED = 1 << 1,/* it left its CPU between the call before and this one */
	CALLF_BEFORE = 1 << 2,	/* began before the window: begin_ns is its begin if known */
	CALLF_KEY = 1 << 3,	/* kind tells of a descriptor's file; else kind is RES_NONE */
	CALLF_WAIT = 1 << 4,	/* in the model only: known from an EV_WAIT */
};

struct ev_call {		/* 32 bytes */
	uint64_t begin_ns, dur_ns;
	uint32_t tid;
	uint32_t stack;		/* EV_STACK id, where it was called, 0 not taken */
	uint16_t nr, cpu;	/* nr: EV_CALL_NAME; cpu 0xffff: not known */
	uint8_t result, kind;	/* enum call_result; enum res_kind of its descriptor */
	uint8_t flags, pad;
};
#define EVENT_CALLS_MAX 240	/* in one event */

/* Many calls, in any order; each names its own thread. */
struct ev_calls { struct event_hdr h; uint32_t cnt, pad; /* then struct ev_call[cnt] */ };

/* Before the first call of that number.  Numbers of the recording machine, or the source's own. */
struct ev_call_name { struct event_hdr h; uint32_t nr, name; };

enum window_flags {
	WINDOWF_SWITCHES = 1 << 0, /* CALLF_BLOCKED and CALLF_SWITCHED can be relied on */
	WINDOWF_STACKS = 1 << 1,   /* stacks of some calls */
	WINDOWF_ALL_STACKS = 1 << 2, /* of all */
	WINDOWF_KINDS = 1 << 3,	   /* kinds of descriptors are known */
	WINDOWF_FOREIGN = 1 << 4,  /* from another program's trace */
	WINDOWF_BLOCKING = 1 << 5, /* of some of the time blocking calls only: EV_CALLS_PART */
};

/* Nothing was recorded from begin_ns to end_ns; before the window's own. */
struct ev_calls_away { struct event_hdr h; uint64_t begin_ns, end_ns; };

/*
 * From begin_ns to end_ns the calls that blocked are known, from EV_WAIT, and no
 * others.  end_ns 0 comes before the first EV_WAIT and says that such times
 * follow: a stream that was cut has nothing else.
 */
struct ev_calls_part { struct event_hdr h; uint64_t begin_ns, end_ns; };

/*
 * In this time the watched processes' calls are here, but for lost_cnt,
 * EV_CALLS_AWAY and EV_CALLS_PART.
 */
struct ev_window {
	struct event_hdr h;
	uint64_t begin_ns;
	uint64_t lost_cnt;	/* calls in the window that were not kept */
	uint64_t skipped_cnt;	/* lines or records of a foreign trace that were not understood */
	uint32_t flags;		/* enum window_flags */
	uint32_t reason;	/* string: what froze it, or the foreign format */
};

_Static_assert(sizeof(struct ev_call) == 32 && sizeof(struct ev_window) == 48, "calls");

#endif /* EVENT_CALLS_H */
