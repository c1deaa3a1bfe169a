/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef WIRE_CALLS_H
#define WIRE_CALLS_H
/*
 * What the flight recorder leaves in memory that user space maps and reads
 * when it is asked to: a ring of finished calls for each CPU, a slot for each
 * thread with the call it is in, a ring of threads that came and went.
 * Include after wire.h or ktypes.h.
 *
 * A record is two words, so that a call costs one store to one cache line:
 *
 *	when	begin_ns, its low 44 bits (4.8 hours) << 20 | stack id
 *	what	dur 24 | tid 22 | nr 9 | result 3 | kind 4 | flags 2, dur highest
 *
 * dur: the top two bits are the unit (1 ns, 2^10, 2^20), 22 bits the number
 * of units, rounded down: what is under 4 ms is exact, the rest to 0.1 %.
 */

struct call_rec {
	u64 when;
	u64 what;
};
_Static_assert(sizeof(struct call_rec) == 16, "call_rec");

#define CALL_BEGIN_BITS 44
#define CALL_STACK_BITS 20
#define CALL_STACK_MASK ((1u << CALL_STACK_BITS) - 1)
#define CALL_DUR_BITS 22
#define CALL_DUR_MAX ((1u << CALL_DUR_BITS) - 1)
#define CALL_DUR_AT 40
#define CALL_TID_AT 18
#define CALL_TID_MAX 0x3fffffu
#define CALL_NR_AT 9
#define CALL_NR_MAX 0x1ffu
#define CALL_RESULT_AT 6
#define CALL_KIND_AT 2
#define CALL_BLOCKED 1u	 /* CALLF_BLOCKED, CALLF_SWITCHED of store/event_calls.h */
#define CALL_SWITCHED 2u

#define CALL_NR_FOREIGN 511 /* a call by another table of numbers: a 32-bit program's */
#define CALL_NR_NONE 0xffff /* in a slot: was in a call, or none, when the recording began */

/* Setting call_stacks: whose stacks are taken, when they return. */
#define CALL_STACKS_NONE 0
#define CALL_STACKS_SLOW 1 /* over call_slow_ns; of others that blocked one a ms and thread */
#define CALL_STACKS_ALL 2

/* Facts about a call, by its number: call_info[]. */
#define CALLI_FD 1u    /* argument 0 is a descriptor */
#define CALLI_ZERO 2u  /* 0 means that nothing was there: end of file, no event */
#define CALLI_CLOSE 4u /* argument 0 means another file afterwards, or none */
#define CALLI_DUP 8u   /* argument 1 does */
#define CALLI_ALL 16u  /* many descriptors do */
#define CALLI_END 32u  /* does not return */

#define CALL_ERRNO_MAX 544 /* call_errs[]: classes of errors */

/* enum call_result, as far as the kernel side says it. */
#define CALLR_OK 0
#define CALLR_NONE 1
#define CALLR_FAILED 5
#define CALLR_UNKNOWN 7

/* By thread id: its place, or one of the CALL_PROBE next ones where that is taken. */
struct call_slot {
	u32 tid;	/* 0: free */
	u32 files;	/* what its descriptors are cached under */
	u64 begin_ns;	/* of the call it is in, 0: in none */
	u32 nvcsw;	/* when that began */
	u32 csw;	/* switches up to the end of the call before */
	u16 nr;
	u8 more;	/* a thread whose place this is lies further on */
	u8 state;	/* CALL_SWITCHED of the call it is in | call_phase it began in << 1 */
	u32 stack_ms;	/* when the last stack of a short call was taken, in 2^20 ns */
};
_Static_assert(sizeof(struct call_slot) == 32, "call_slot");

#define CALL_SLOTS 65536u /* a power of two */
#define CALL_PROBE 8u
#define CALL_SLOT_CLAIMED 0xffffffffu

/* next place that a CPU writes to; a cache line of its own */
struct call_head {
	u64 head;	/* records written so far */
	u64 other_cnt;	/* calls of threads that are not watched, with call_others */
	u64 pad[6];
};
_Static_assert(sizeof(struct call_head) == 64, "call_head");

#define CALL_TASKS 8192u /* struct wire_task kept, a power of two */
#define CALL_FDS 32768u	 /* kinds of descriptors remembered, a power of two */

#endif /* WIRE_CALLS_H */
