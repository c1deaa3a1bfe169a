/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HELDUP_INTERNAL_H
#define HELDUP_INTERNAL_H
/*
 * What the files of the library share.  record.c makes spans, queue.c keeps them until
 * export.c sends them; switches.c asks heldup which tracepoints are on and keeps the leases;
 * publish.c shows readers outside which service this is and which request a thread has.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heldup.h"

enum {
	TYPES_MAX = 4,		/* request types of one switch state */
	TYPE_NAME_MAX = 128,
	STATES = 4,		/* the present one and those that requests in flight began with */
	HOST_MAX = 64,
	SERVICE_MAX = 64,
	ANSWER_MAX = 256 << 10,	/* HELDUP_POINTS_MAX names of 200 bytes */
	BODY_MAX = 1 << 20,
};

/* ---- settings, set once by heldup_start */

struct settings {
	char service[SERVICE_MAX], instance[SERVICE_MAX], host[HOST_MAX];
	uint16_t port;
};

extern struct settings settings;

/* ---- switches.c: the switch state */

struct type_state {
	char name[TYPE_NAME_MAX];
	uint64_t hash;		/* of the name */
	uint32_t share_ppm;	/* of the requests that begin here */
	bool all;		/* everything is on: to learn what there is */
	uint64_t on[HELDUP_POINTS_MAX / 64];
};

struct state {
	uint64_t epoch;		/* 0: nothing is on */
	uint32_t type_cnt;
	struct type_state types[TYPES_MAX];
};

/* Copies the type's state: of the epoch, else the present one.  false: the type is not traced. */
bool state_of_type(uint64_t type_hash, uint64_t epoch, struct type_state *ret, uint64_t *ret_epoch);
/* The same of a request that begins here, by its name. */
bool state_of_name(const char *name, struct type_state *ret, uint64_t *ret_epoch);
void state_set(const struct state *next);	/* NULL: all off */
/* The answer of heldup; -EBADMSG and *ret as it was where it is none. */
struct terms {			/* of an answer */
	uint32_t lease_ms;	/* what is on goes off after so long without another one */
	uint32_t again_ms;	/* ask again after so long; 0: at once */
};
int state_parse(const char *text, size_t len, struct state *ret, struct terms *ret_terms);
int switches_begin(void);
void switches_forget(void);	/* in a child: the thread is the parent's */
void switches_end(void);

extern struct heldup_point *points[HELDUP_POINTS_MAX];	/* by idx - 1 */
extern uint32_t point_cnt;

/* ---- record.c */

struct heldup_context {
	uint64_t trace_hi, trace_lo, epoch;
	uint32_t refs;
	struct type_state state;
};

struct record {			/* a span that ended */
	uint64_t trace_hi, trace_lo, epoch;
	bool is_request;
	struct heldup_span span;
	uint64_t end_ns;
};

uint64_t now_ns(void);	/* since 1970 */
void cost_measure(void);

/* counters of struct heldup_counts, added to by any thread */
struct tally {
	uint64_t recorded, exported, dropped, keys_dropped, events_dropped, points_dropped;
	uint64_t request_cnt, traced_cnt;
	double span_ns;
	uint64_t own_ns, ask_ns; /* CPU time of the threads that export, and ask */
};
extern struct tally tally;

static inline void tally_add(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static inline uint64_t tally_get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* ---- queue.c: many threads put, one takes; nobody waits */

int queue_init(void);
bool queue_put(const struct record *record);	/* false: full */
bool queue_take(struct record *ret);
uint32_t queue_cnt(void);

/* ---- export.c */

int export_begin(void);
void export_end(void);
void export_forget(void);

/* ---- http.c */

struct http_reply {
	int status;
	char *body;		/* the caller's, cap bytes */
	size_t cap, len;
};

/* One request on this thread's connection; wait_ms for all of it.  -errno: no reply. */
int http_ask(const char *method, const char *path, const void *body, size_t len, int wait_ms,
	     struct http_reply *reply);
void http_end(void);	/* before the thread ends */

/* ---- publish.c: OTEP 4719 (process) and 4947 (thread) */

void publish_process(void);
void publish_thread(const struct heldup_context *context, uint64_t span);

/* ---- otlp.c */

size_t otlp_encode(const struct record *records, size_t cnt, uint8_t *out, size_t cap);
/* The resource's attributes, and those of OTEP 4947, as OTEP 4719 wants them. */
size_t otlp_process(uint8_t *out, size_t cap);

/* SHA-like quality is not needed: FNV-1a, 64 bits. */
uint64_t text_hash(const char *text);

#endif /* HELDUP_INTERNAL_H */
