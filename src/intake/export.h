/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_H
#define EXPORT_H
/*
 * One export request of OTLP, whichever protocol brought it: its body while it
 * is received, what becomes of it, and the messages that answer it.
 *
 *	body_add for each piece; export_take; export_message; body_release
 *
 * A request that fails before it is whole gets its answer from export_fail.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "spans/spans.h"

struct intake;

enum export_code {
	EXPORT_OK = 0,
	EXPORT_BAD,		/* cannot be understood */
	EXPORT_LARGE,		/* over INTAKE_BODY_MAX or INTAKE_PLAIN_MAX */
	EXPORT_BUSY,		/* try again in retry_s */
	EXPORT_DENIED,		/* the token is missing */
	EXPORT_NO_PATH, EXPORT_NO_METHOD, EXPORT_NO_TYPE, EXPORT_NO_PACKING,
	EXPORT_CODE_CNT,
};

enum {
	EXPORT_WHY_LEN = 160,
	/* Bytes of a body over the limit that are dropped before the connection ends. */
	BODY_SWALLOWED = 64 << 20,
};

struct body {
	struct buf bytes;
	enum export_code code;	/* not EXPORT_OK: it is not kept any more */
};

struct export_answer {
	enum export_code code;
	uint64_t refused_cnt;	/* spans, of a request that succeeded */
	unsigned retry_s;	/* of EXPORT_BUSY */
	char why[EXPORT_WHY_LEN];
};

void body_add(struct intake *in, struct body *body, const void *data, size_t len);
void body_release(struct intake *in, struct body *body);

/* Reads the body behind its first head bytes, or says why not; counted either way. */
void export_take(struct intake *in, const struct body *body, size_t head,
		 enum spans_format format, struct export_answer *ret);

/* The answer to a request that is not read, counted. */
void export_fail(struct intake *in, enum export_code code, struct export_answer *ret);

unsigned export_http_status(enum export_code code);
unsigned export_grpc_status(enum export_code code);

/* ExportTraceServiceResponse, or google.rpc.Status where it failed. */
void export_message(const struct export_answer *a, enum spans_format format, struct buf *out);

/* Whether a packing's name ("gzip") is one that can be read; "" and NULL are none at all. */
bool export_packing(const char *name);

#endif /* EXPORT_H */
