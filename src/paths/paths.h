/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATHS_H
#define PATHS_H
/*
 * From what the kernel saw of a server (wire/path_events.h) to its requests, and
 * to which request each call to another server belongs.  No payload is looked at.
 * Pure: no files, no clock, no BPF.
 *
 *	paths_new, paths_serves for each port, paths_add for each event, paths_finish,
 *	paths_result, paths_free
 *
 * A request begins when bytes are read from a connection that serves, and ends
 * with the last bytes sent there before the next read.  A call begins with the
 * connect or the first send on a connection to elsewhere, and ends with the last
 * read before the next send.  Rules and gates are in rules.h; what they do not
 * decide has no request.
 *
 * Where a connection carries several requests at once they are not separable: what
 * was under way together is one request, `shared`, and no call is given to it.
 *
 * All indexes are into the arrays of the result; PATHS_NONE is none.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paths/rules.h"
#include "wire/path_events.h"

#define PATHS_NONE UINT32_MAX

struct paths;

struct paths_request {
	uint32_t tgid;
	uint32_t reader, replier;	/* threads: of the first read, the last send */
	uint32_t conn;
	uint32_t parent;		/* the call of another followed process that it is */
	uint32_t at_arrival;		/* requests of the process that were open when it came */
	uint32_t nth;			/* on its connection, from 0, since the recording began */
	uint64_t arrival_ns;		/* 0: before the recording began */
	uint64_t first_reply_ns, reply_ns; /* 0: none was seen */
	uint64_t cut_ns;		/* it was open when the recording paused; 0: no */
	uint64_t bytes_in, bytes_out;
	bool asks;			/* its reader began a call right after a read of it */
	bool shared;			/* on its connection several are under way at once */
	bool setup;			/* part of a TLS handshake: no request */
	bool overlaps;			/* its peer sent more before it had the whole reply */
	uint64_t worker_ns;		/* another thread was free for it; 0: the reader did it */
	struct path_sock at;		/* as the first event had it */
};

struct paths_call {
	uint32_t tgid;
	uint32_t caller, answered_by;	/* threads */
	uint32_t conn;
	uint32_t request;		/* or PATHS_NONE: unknown */
	uint32_t same_thread;		/* what the caller had read last: for comparison */
	uint8_t rule;			/* enum call_rule */
	uint64_t start_ns, answer_ns, end_ns; /* the last two 0: no answer was seen */
	uint64_t bytes_out, bytes_in;
	uint32_t seq;			/* TCP: of its first byte */
	struct path_sock at;
};

struct paths_wait {			/* a sleep of a thread that worked on a request */
	uint32_t request, tid;
	uint32_t waker;			/* thread, 0 not known */
	uint32_t waker_request;		/* what that one worked on, or PATHS_NONE */
	uint64_t begin_ns, woken_ns, end_ns;
	uint16_t call;
	bool uninterruptible, is_lock;
};

struct paths_result {
	const struct paths_request *requests;	/* by arrival */
	const struct paths_call *calls;		/* by start */
	const struct paths_wait *waits;		/* by request, then begin */
	size_t request_cnt, call_cnt, wait_cnt;
	uint64_t known_cnt[PATH_RULE_CNT];	/* answered calls by rule; [0]: unknown */
	uint64_t refused_cnt[PATH_RULE_CNT];	/* would have left [arrival, last reply] */
	uint64_t shared_cnt, setup_cnt;		/* requests, see above */
	uint64_t shared_call_cnt;		/* answered calls on such connections: unknown */
	uint64_t joined_cnt;			/* requests that are calls of another host's */
	uint64_t bad_cnt;			/* records not understood */
	const uint64_t *shared_conns;		/* cookies of connections like that */
	size_t shared_conn_cnt;
};

struct paths *paths_new(void);
/* NULL is fine. */
void paths_free(struct paths *p);

/* A port on which followed processes listen. */
void paths_serves(struct paths *p, uint16_t port);

/*
 * Events of several hosts: ids of threads and processes from paths_on_host, cookies and
 * pairs of unix sockets made different by the caller, times of one clock, or nearly.  A
 * request is of another host's call by ports and sequence numbers.
 */
#define PATHS_HOST_SHIFT 22
#define PATHS_ID_MASK ((1u << PATHS_HOST_SHIFT) - 1)
#define PATHS_HOSTS_MAX 256
static inline uint32_t paths_on_host(uint32_t host, uint32_t id)
{
	return host << PATHS_HOST_SHIFT | (id & PATHS_ID_MASK);
}
void paths_serves_on(struct paths *p, uint32_t host, uint16_t port);

/* Nothing of the host was recorded from ns to its next event. */
void paths_gap(struct paths *p, uint32_t host, uint64_t ns);

/*
 * A process whose threads switch between tasks without the kernel (Go): its threads
 * say nothing.
 */
void paths_switches(struct paths *p, uint32_t tgid);

/* A connection that is known to carry several requests at once. */
void paths_shares(struct paths *p, uint64_t cookie);

/* e is copied; in any order.  Of an unknown kind: counted. */
void paths_add(struct paths *p, const struct path_event *e);

/* Once, after the last event. */
void paths_finish(struct paths *p);

/* Borrowed until paths_free. */
const struct paths_result *paths_result(const struct paths *p);

/* "127.0.0.1:80", "[::1]:80", "a unix socket": whom the socket talks to. */
enum { PATHS_ADDR_MAX = 64 };
char *paths_addr(char *out, const struct path_sock *s);

#endif /* PATHS_H */
