/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HELDUP_H
#define HELDUP_H
/*
 * Tracepoints that `heldup explore --type` switches on and off while the program runs.
 *
 *	heldup_start(&(struct heldup_opts){.service = "cart"});
 *
 *	HELDUP_POINT(checkout, "GET /checkout");
 *	struct heldup_request request;
 *	heldup_request_begin(&request, &checkout, traceparent, tracestate);
 *		HELDUP_SPAN(load, "load cart");
 *		heldup_num(&load, "items", cnt);
 *		heldup_end(&load);
 *	heldup_request_end(&request);
 *
 *	heldup_stop();
 *
 * A disabled tracepoint is a load and a predicted branch: no call, no system call.  Which ones
 * are on is fixed for a request where it begins.  Without a heldup that asks, all are off;
 * what one had enabled goes off by itself when its lease ends (docs/explore-protocol.md).
 *
 * Limits, all counted in heldup_counts: HELDUP_POINTS_MAX tracepoints, HELDUP_KEYS_MAX keys and
 * HELDUP_EVENTS_MAX events of a span, texts of HELDUP_TEXT_MAX - 1 bytes, HELDUP_QUEUE spans
 * that wait to be exported.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HELDUP_API __attribute__((visibility("default")))

enum {
	HELDUP_POINTS_MAX = 1024,
	HELDUP_KEYS_MAX = 6,
	HELDUP_EVENTS_MAX = 4,
	HELDUP_TEXT_MAX = 40,
	HELDUP_QUEUE = 4096,
	HELDUP_HEADER_MAX = 64,	/* of traceparent and tracestate, with the NUL */
};

/* ---- tracepoints */

struct heldup_point {		/* made by HELDUP_POINT alone */
	const char *name;
	uint32_t on;		/* for some request; the library's own thread writes it */
	uint32_t idx;		/* from 1; 0: not known to the library */
};

extern struct heldup_point __start_heldup_points[] __attribute__((visibility("hidden"), weak));
extern struct heldup_point __stop_heldup_points[] __attribute__((visibility("hidden"), weak));

/* A tracepoint of this name; name has to last as long as the program. */
#define HELDUP_POINT(var, text)                                                                    \
	static struct heldup_point var                                                             \
		__attribute__((section("heldup_points"), used, aligned(16))) = {text, 0, 0}

/* ---- life */

struct heldup_opts {		/* a zero field means its default */
	const char *service;	/* $OTEL_SERVICE_NAME, else the program's name */
	const char *endpoint;	/* $HELDUP_ENDPOINT, else http://127.0.0.1:4318 */
	const char *instance;	/* distinguishes processes of one service; its process id */
};

struct heldup_counts {
	uint64_t recorded_cnt;	/* spans that were on */
	uint64_t exported_cnt;	/* of these, sent and accepted */
	uint64_t dropped_cnt;	/* of these, lost: the queue was full, or the sending failed */
	uint64_t key_dropped_cnt, event_dropped_cnt, point_dropped_cnt;
	uint32_t on_cnt;	/* tracepoints that are enabled now */
	uint32_t point_cnt;
	uint64_t epoch;		/* of the present switch state; 0: all are off */
	double span_ns;		/* what a span costs, as measured at the start */
};

/* Starts the two threads of the library.  0 or -errno; again: -EALREADY. */
HELDUP_API int heldup_start_points(const struct heldup_opts *opts, struct heldup_point *from,
				   struct heldup_point *to);
/* Makes the tracepoints of a shared object known, which has its own; 0 or -errno. */
HELDUP_API int heldup_add_points(struct heldup_point *from, struct heldup_point *to);
/* Disables all, exports what there is for at most a second, ends the threads. */
HELDUP_API void heldup_stop(void);
HELDUP_API void heldup_count(struct heldup_counts *ret);

static inline int heldup_start(const struct heldup_opts *opts)
{
	return heldup_start_points(opts, __start_heldup_points, __stop_heldup_points);
}

static inline int heldup_load(void)	/* in a shared object that is opened later */
{
	return heldup_add_points(__start_heldup_points, __stop_heldup_points);
}

/* ---- spans, events, keys */

struct heldup_key {
	const char *name;
	double num;
	char text[HELDUP_TEXT_MAX];	/* "": a number */
};

struct heldup_event {
	const char *name;
	uint64_t at_ns;
};

struct heldup_span {		/* on the stack; only id is set while the tracepoint is off */
	uint64_t id;		/* 0: not recorded */
	uint64_t parent, begin_ns;
	const struct heldup_point *point;
	struct heldup_span *outer;
	uint32_t key_cnt, event_cnt;
	struct heldup_key keys[HELDUP_KEYS_MAX];
	struct heldup_event events[HELDUP_EVENTS_MAX];
};

struct heldup_context;		/* a request that is traced */

struct heldup_request {
	struct heldup_context *context, *outer;	/* NULL: not traced */
	struct heldup_span *outer_span;
	uint64_t outer_parent;
	struct heldup_span root;
	const char *parent, *state;	/* headers it came with */
};

HELDUP_API void heldup_begin_slow(struct heldup_span *span, struct heldup_point *point);
HELDUP_API void heldup_end_slow(struct heldup_span *span);
HELDUP_API void heldup_num_slow(struct heldup_span *span, const char *key, double value);
HELDUP_API void heldup_text_slow(struct heldup_span *span, const char *key, const char *value);
HELDUP_API void heldup_event_slow(struct heldup_point *point);

/* The load may be torn from nothing: a word.  A compiler must not keep it over calls. */
static inline int heldup_is_on(const struct heldup_point *point)
{
	return __builtin_expect(__atomic_load_n(&point->on, __ATOMIC_RELAXED) != 0, 0);
}

static inline void heldup_begin(struct heldup_span *span, struct heldup_point *point)
{
	span->id = 0;
	if (heldup_is_on(point))
		heldup_begin_slow(span, point);
}

static inline void heldup_end(struct heldup_span *span)
{
	if (__builtin_expect(span->id != 0, 0))
		heldup_end_slow(span);
}

/* Declares a tracepoint and a span and begins it; heldup_end(&span) in the same thread. */
#define HELDUP_SPAN(span, text)                                                                    \
	HELDUP_POINT(span##_point, text);                                                          \
	struct heldup_span span;                                                                   \
	heldup_begin(&span, &span##_point)

/* Keys; the name has to last as long as the program, a text is copied. */
static inline void heldup_num(struct heldup_span *span, const char *key, double value)
{
	if (__builtin_expect(span->id != 0, 0))
		heldup_num_slow(span, key, value);
}

static inline void heldup_text(struct heldup_span *span, const char *key, const char *value)
{
	if (__builtin_expect(span->id != 0, 0))
		heldup_text_slow(span, key, value);
}

/* An instant in the innermost span of this thread that is recorded. */
static inline void heldup_event(struct heldup_point *point)
{
	if (heldup_is_on(point))
		heldup_event_slow(point);
}

/* ---- requests */

extern HELDUP_API uint32_t heldup_any;	/* some request is traced; written as struct heldup_point */

HELDUP_API void heldup_request_begin_slow(struct heldup_request *request,
					  struct heldup_point *point);
HELDUP_API void heldup_request_end_slow(struct heldup_request *request);

/*
 * A request begins in this thread; what the process does for it is in its span.  Headers as
 * they came (W3C trace context), NULL: none; borrowed until heldup_request_end.
 */
static inline void heldup_request_begin(struct heldup_request *request,
					struct heldup_point *point, const char *traceparent,
					const char *tracestate)
{
	request->context = NULL;
	request->root.id = 0;
	request->parent = traceparent;
	request->state = tracestate;
	if (__builtin_expect(__atomic_load_n(&heldup_any, __ATOMIC_RELAXED) != 0, 0))
		heldup_request_begin_slow(request, point);
}

/* In the thread that began it. */
static inline void heldup_request_end(struct heldup_request *request)
{
	if (__builtin_expect(request->context != NULL, 0))
		heldup_request_end_slow(request);
}

/*
 * Headers for what is asked of others now, in this thread; those that came, when the request
 * is not traced.  "" where there is nothing to send.
 */
HELDUP_API void heldup_headers(const struct heldup_request *request,
			       char traceparent[HELDUP_HEADER_MAX],
			       char tracestate[HELDUP_HEADER_MAX]);

/* ---- other threads and queues */

struct heldup_link {		/* "what is done with this comes after what is done here" */
	struct heldup_context *context;
	uint64_t parent;
	struct heldup_context *outer;
	struct heldup_span *outer_span;
	uint64_t outer_parent;
};

/* Where the thread is now.  Goes into the queue, or to the new thread, by value. */
HELDUP_API struct heldup_link heldup_link_take(void);
/* In the thread that goes on with it: what it does is part of that request, until _leave. */
HELDUP_API void heldup_link_enter(struct heldup_link *link);
HELDUP_API void heldup_link_leave(struct heldup_link *link);
/* Of one that nobody enters. */
HELDUP_API void heldup_link_drop(struct heldup_link *link);

#ifdef __cplusplus
}
#endif
#endif /* HELDUP_H */
