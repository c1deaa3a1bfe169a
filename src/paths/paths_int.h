/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATHS_INT_H
#define PATHS_INT_H
/*
 * Inside of src/paths.  take.c walks all events once, in order of time: it makes
 * requests and calls and notes for each call which request each rule would give it.
 * thread_rules.c looks at whole threads after it; decide.c applies rules and gates.
 */
#include "base/hash.h"
#include "base/vec.h"
#include "paths/paths.h"

enum path_role { ROLE_NONE, ROLE_SERVES, ROLE_ASKS };

struct path_conn {
	uint64_t cookie;
	uint8_t role;
	uint32_t tgid;
	uint32_t request, call;	/* the present ones, or PATHS_NONE */
	uint32_t nth;
	uint32_t overlap_cnt;	/* exchanges whose end the peer did not wait for */
	uint32_t overlap_call;	/* the last one that was counted, or PATHS_NONE */
	/* Calls that led from a read of it to a send on it, and to that of a later exchange. */
	uint32_t led_cnt, crossed_cnt;
	uint64_t end_ns;	/* the last event on it */
	bool from_begin;	/* its first bytes were seen */
	bool shared;		/* by several requests at once */
};

struct path_evidence {		/* of one call: requests, or PATHS_NONE */
	uint32_t by[PATH_RULE_CNT];
	uint32_t after;		/* the call whose answer its caller had read last */
	bool led_on;		/* its answer led to a reply or to a next call */
};

struct path_thread {
	uint32_t tid, tgid;
	uint32_t read_last;	/* request */
	/* The piece that the last read began; both PATHS_NONE: none. */
	uint32_t of_request, of_answer;
	bool replied;		/* in the piece */
	uint32_t answered_last;	/* call, since it last woke somebody for a result */
	uint32_t woken_for;	/* request of who woke it from idle, until it calls */
	uint64_t ran_ns;	/* it last woke up */
	VEC(uint32_t) read;	/* requests, in order of arrival */
	VEC(uint32_t) replies;	/* requests that it finished, in order of the last reply */
	VEC(uint32_t) called;	/* calls, in order of start */
	VEC(uint32_t) slept;	/* events, in order of time */
	size_t read_before;	/* of read: before the last gap */
	bool is_loop, is_busy;
};

struct path_proc {
	uint32_t tgid;
	uint32_t open_cnt;	/* requests */
	bool switches;		/* between tasks, without the kernel */
	bool open[PATH_RULE_CNT]; /* the gate of the rule */
};

struct path_word {		/* a futex word of a process */
	uint32_t wake_cnt, own_cnt;	/* wakes, and those by a thread that also waited for it */
};

struct path_item {		/* a point in time: an event, or the wake within one */
	uint64_t ns;
	uint32_t event;
	bool is_wake;
};

struct paths {
	VEC(struct path_event) events;
	VEC(struct path_item) items;
	VEC(struct paths_request) requests;
	VEC(struct paths_call) calls;
	VEC(struct path_evidence) evidence; /* by call */
	VEC(struct paths_wait) waits;
	VEC(struct path_conn) conns;
	VEC(struct path_thread) threads;
	VEC(struct path_proc) procs;
	VEC(struct path_word) words;
	struct hmap conn_of, thread_of, proc_of, word_of, ports;
	struct hmap sharing;	/* cookies: paths_shares */
	VEC(uint64_t) shared_conns;
	uint32_t last_host;
	struct paths_result result;
};

struct path_thread *paths_thread(struct paths *p, uint32_t tid, uint32_t tgid);
struct path_proc *paths_proc(struct paths *p, uint32_t tgid);

/* Wakes by threads that wait for the same word: a lock, which hands nothing over. */
bool paths_is_lock(const struct paths *p, uint32_t tgid, uint64_t word);
void paths_words(struct paths *p);

void paths_take(struct paths *p);

/* After take: TLS handshakes, and connections that several requests share at once. */
void paths_conn_shapes(struct paths *p);

/* The second again, after what paths_thread_rules has counted. */
void paths_conns_share(struct paths *p);

/* A call that began at start_ns ended with a reply of this request's connection. */
void paths_call_led(struct paths *p, uint32_t request, uint64_t start_ns);

/* Until when the request may be open: where no reply was seen, for ever in a loop. */
uint64_t paths_open_until(const struct paths *p, const struct paths_request *r);

/* Evidence of PATH_RULE_THREAD and PATH_RULE_FINISH. */
void paths_thread_rules(struct paths *p);

void paths_decide(struct paths *p);

/* After decide: sleeps of threads while they worked on a request. */
void paths_waits(struct paths *p);

/* After decide: requests that are calls of another host's processes. */
void paths_join_hosts(struct paths *p);

/* A connection by its two ends, the one that asks first; 0: not known. */
uint64_t paths_ends_key(const struct path_sock *s, bool asks);

/* Could the call be a part of the request? */
bool paths_fits(const struct paths_request *r, const struct paths_call *c);

#define PATH_SYS_EPOLL_WAIT 232
#define PATH_SYS_EPOLL_PWAIT 281
#define PATH_SYS_EPOLL_PWAIT2 441
#define PATH_SYS_FUTEX 202

#endif /* PATHS_INT_H */
