/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINK_H
#define LINK_H
/*
 * Messages between the two halves of `heldup serve`: the watcher, which has the
 * BPF programs and the rights for them, and the keeper, which judges seconds,
 * keeps the store and speaks HTTP without any right.  Over a socket of packets,
 * one message each.  Bounded by the socket: what does not fit is dropped and
 * counted, and the count travels with the next message.
 *
 * The keeper takes what comes for hostile: link_get checks kind, size and texts.
 */
#include <stdbool.h>
#include <stdint.h>

#include "serve/second.h"

enum { LINK_NAME_LEN = 64, LINK_TEXT_LEN = 200, LINK_SERVICES_MAX = 64 };

enum link_kind {
	LINK_SERVICE = 1,  /* watcher: a service that is watched, or what changed of it */
	LINK_SECOND = 2,   /* watcher: a second of one */
	LINK_CAPTURED = 3, /* watcher: the file of an order is whole, or why it is not */
	LINK_COST = 4,	   /* watcher: what the watch costs and lost so far */
	LINK_ORDER = 5,	   /* keeper: freeze the window of a service into a file */
	LINK_ASK = 6,	   /* keeper: the same at once, for a person who asks; LINK_CAPTURED */
	LINK_KIND_CNT
};

struct link_service {
	char name[LINK_NAME_LEN];
	char what[LINK_TEXT_LEN]; /* "unit nginx.service, port 80, 3 processes" */
	uint32_t pid, pad;	  /* its first process, 0: none lives */
};

struct link_captured {
	uint64_t finding;	/* 0: of LINK_ASK, into ASK_CAPTURE; -ENOENT: no such service */
	int32_t code;		/* 0 or -errno */
	uint32_t seq;		/* of the LINK_ASK */
	uint64_t bytes, window_ns, until_ns; /* its length, its end as CLOCK_REALTIME */
};

struct link_cost {
	uint64_t cpu_ns, bpf_ns, rss_bytes, map_bytes, event_cnt, lost_cnt;
	uint64_t since_ns;	/* CLOCK_REALTIME: when the watch began */
	uint64_t services_over_cnt, processes_over_cnt; /* over the bounds: not watched */
	uint64_t ends_over_cnt;	/* conversations whose answers are not counted, over a bound */
};

struct link_order {
	uint64_t finding;
	uint64_t after_ns;	/* so long after the order, to see more of it */
};

struct link_ask {		/* all-zero: the only service */
	uint32_t pid, port;	/* 0: any */
	uint32_t seq, pad;	/* set by the keeper */
	char name[LINK_NAME_LEN]; /* of the service, or its unit or container; "": any */
};

struct link_msg {
	uint32_t kind;		/* enum link_kind */
	uint32_t service;	/* index, below LINK_SERVICES_MAX */
	uint64_t real_ns;
	uint64_t dropped_cnt;	/* messages that did not fit, so far */
	union {
		struct link_service service;
		struct second second;
		struct link_captured captured;
		struct link_cost cost;
		struct link_order order;
		struct link_ask ask;
	} u;
};

struct links {			/* sockets of one process of `heldup serve` */
	int watch;		/* between watcher and keeper */
	int spans;		/* between the process that takes spans in and the keeper */
};

/* False: the socket is full or the other half is gone. */
bool link_put(int fd, const struct link_msg *msg);

/* 1: *ret has a message; 0: none waits; -EPIPE: the other half is gone; -EBADMSG: not one. */
int link_get(int fd, struct link_msg *ret);

#endif /* LINK_H */
