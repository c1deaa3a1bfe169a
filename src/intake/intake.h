/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INTAKE_H
#define INTAKE_H
/*
 * Takes spans in from programs that export them: OTLP over HTTP (protobuf and
 * JSON) and over gRPC, plain, gzip or zstd, as the official SDKs and the
 * OpenTelemetry Collector send them.  What becomes of a span is the sink's.
 *
 *	intake_open, intake_run as long as wanted, intake_stats, intake_close
 *
 * One thread; all sockets that it will ever listen on are open after
 * intake_open.  Memory is bounded by the limits below.  Bad input, limits and
 * overload are answered by the protocol and counted: export.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spans/spans.h"

struct buf;
struct err;
struct intake;
struct strtab;

#define INTAKE_HTTP "127.0.0.1:4318"
#define INTAKE_GRPC "127.0.0.1:4317"

enum {
	INTAKE_CLIENTS = 512,		/* connections, of each protocol */
	INTAKE_STREAMS = 64,		/* requests at a time of one gRPC connection */
	/* of one request as it is sent: twice what gRPC's servers take unasked */
	INTAKE_BODY_MAX = 8 << 20,
	INTAKE_PLAIN_MAX = 32 << 20,	/* unpacked, which is read as a stream */
	INTAKE_BODIES_MAX = 32 << 20,	/* of all requests that are being received */
	INTAKE_REFUSED = 1,		/* sink's span: this one is not wanted */
};

enum intake_asked {
	INTAKE_NO_PATH,		/* there is no such path */
	INTAKE_ANSWERED,
	INTAKE_WAITS,		/* nothing to say yet: asked again after intake_wake */
};

struct intake_sink {
	void *ctx, *span_ctx;
	/* Asked before a request is read: 0, or how long its sender is to wait, in seconds. */
	unsigned (*busy)(void *ctx);
	/* As span_sink's, of span_ctx; INTAKE_REFUSED: counted, and the sender learns how many. */
	int (*span)(void *ctx, const struct trace_id *trace, const struct span *span,
		    const struct attr *attrs, const struct span_ref *refs);
	/*
	 * Answers a GET of another path with JSON; arg gives a parameter of the question, NULL
	 * where it is not there.  NULL: no other path at all.
	 */
	enum intake_asked (*ask)(void *ctx, const char *path,
				 const char *(*arg)(void *of, const char *name), void *of,
				 struct buf *ret);
};

struct intake_opts {
	const char *http, *grpc;	/* "ADDRESS:PORT"; "" or NULL: not this protocol */
	const char *token;		/* asked of senders where the address is no loopback one */
	struct spans_opts spans;
	struct strtab *strings;		/* of the spans; borrowed, may be emptied between runs */
	struct intake_sink sink;
};

struct intake_stats {
	uint64_t request_cnt;		/* that were read whole and answered with success */
	uint64_t span_cnt;		/* given to the sink and kept */
	uint64_t refused_span_cnt;	/* bad ones, and those that the sink did not want */
	uint64_t lost_name_cnt;		/* names for which there was no room */
	uint64_t bad_cnt;		/* requests that could not be understood */
	uint64_t large_cnt;		/* over a limit of bytes */
	uint64_t unsupported_cnt;	/* another path, method, type or way of packing */
	uint64_t denied_cnt;		/* without the token */
	uint64_t busy_cnt;		/* asked to try again later */
	uint64_t broken_cnt;		/* ended before they were whole */
	uint64_t connection_cnt, refused_connection_cnt;	/* the latter over INTAKE_CLIENTS */
	uint64_t byte_cnt;		/* of bodies, as they were sent */
};

/* All in opts but the texts is copied.  0 or -errno. */
int intake_open(const struct intake_opts *opts, struct intake **ret, struct err *err);
void intake_close(struct intake *in);	/* NULL is fine */

/* Without opening it: 0, -EINVAL for no address, -EACCES for one that needs a token; "" is fine. */
int intake_check(const char *address, const char *token, struct err *err);

/* Serves for up to timeout_ms, or until something came. */
void intake_run(struct intake *in, int timeout_ms);

/* Questions that wait are asked once more: something changed, or they waited long enough. */
void intake_wake(struct intake *in);

/* Borrowed until intake_close. */
const struct intake_stats *intake_stats(const struct intake *in);

#endif /* INTAKE_H */
