/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PATH_EVENTS_H
#define PATH_EVENTS_H
/*
 * Records of bpf/paths about followed processes: sleeps with their
 * waker, sends and receives on sockets, connects and new threads; and, while
 * `heldup explore` has tracepoints on, entries into functions.  No payload.
 * Compiled by both sides.  Times are CLOCK_MONOTONIC in nanoseconds.
 *
 * Records of one thread come in the order in which they happened; those of
 * several CPUs are to be sorted by ns.
 */
#include <linux/types.h>

enum path_event_kind {
	PATH_WAIT = 1,		/* a sleep that ended; ns: the thread ran again */
	PATH_SEND = 2,		/* bytes were handed to a socket */
	PATH_RECV = 3,		/* bytes were taken from a socket */
	PATH_CONNECT = 4,	/* connect() began; the local port is not known yet */
	PATH_CLONE = 5,		/* tid made the thread or process `other` */
	PATH_POINT = 6,		/* the thread entered a function */
	PATH_GAP = 7,		/* user space: until the next event nothing was recorded */
	PATH_KIND_CNT,
};

#define PATH_NO_CALL 0xffff
#define PATH_PID_MAX (1u << 22)	/* the kernel's own limit */
#define PATH_OWN_NAME 1		/* the socket has a name: it serves */
#define PATH_PEER_NAME 2	/* its peer has one: it asks */

enum path_sock_flag {		/* of PATH_SEND and PATH_RECV, TCP only; in path_event.call */
	PATH_SOCK_FIRST = 1 << 0,	/* its first bytes in this direction */
	PATH_SOCK_UNREAD = 1 << 1,	/* more bytes of the peer have arrived than were read */
	/* The peer had not received all bytes sent before when it sent its last ones. */
	PATH_SOCK_UNACKED = 1 << 2,
};

struct path_wait {
	__u64 off_ns;		/* it left the CPU */
	__u64 wake_ns;		/* it was woken; 0: not seen */
	__u64 word;		/* first argument of the call it slept in: a futex, a descriptor */
	__u64 waker_word;	/* the same of the waker's call */
	__s32 timeout_ms;	/* of epoll_wait; else the third argument */
	__u16 waker_call;	/* PATH_NO_CALL: none */
	__u8 uninterruptible;
	__u8 pad;
};

struct path_sock {
	__u64 cookie;		/* of the socket: never used again while the kernel runs */
	__u32 bytes;
	__u16 lport, rport;	/* host order; 0 for unix sockets */
	union {
		__u8 raddr[16];	/* IPv4 in the first 4 */
		__u64 pair[2];	/* unix sockets: what tells this and its peer from others */
	};
	__u16 family;
	__u16 cpu;
	union {
		__u32 bound;	/* unix sockets: PATH_OWN_NAME | PATH_PEER_NAME */
		__u32 seq;	/* TCP: sequence number of the first of these bytes */
	};
};

struct path_clone {
	__u64 flags;
	__u32 tgid;		/* of the child */
	__u32 pad[7];
};

#define PATH_ARG_CNT 4
#define PATH_PRICE_ROUND 0xffffffff	/* a child that shows what a hit costs: always recorded */

struct path_point {
	__u64 args[PATH_ARG_CNT];	/* integer registers: it may take fewer */
	__u32 point;		/* number of the tracepoint, as it was linked */
	__u32 round;		/* in which it was switched on */
};

struct path_event {
	__u64 ns;
	__u32 tid, tgid;
	__u16 kind;		/* enum path_event_kind */
	__u16 call;		/* PATH_WAIT: its number, or PATH_NO_CALL; else flags */
	__u32 other;		/* PATH_WAIT: the waker's tid, 0 none; PATH_CLONE: the child's */
	union {
		struct path_wait wait;
		struct path_sock sock;
		struct path_clone clone;
		struct path_point point;
	};
};

_Static_assert(sizeof(struct path_event) == 64, "one cache line");

#endif /* PATH_EVENTS_H */
