/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/pbout.h"
#include "intake/intake_int.h"

#define RETRY_BODIES_S 1	/* a body of 8 MiB is read in less */

/*
 * What OTLP says of each: senders try 429 and 503, RESOURCE_EXHAUSTED with a
 * delay and UNAVAILABLE again, and drop what got another status.
 */
static const struct {
	unsigned http, grpc;
	const char *why;
} codes[EXPORT_CODE_CNT] = {
	[EXPORT_OK] = {200, 0, ""},
	[EXPORT_BAD] = {400, 3, "it is no export request of traces"},
	[EXPORT_LARGE] = {413, 8, "the request is too large"},
	[EXPORT_BUSY] = {503, 14, "too much at a time: try again"},
	[EXPORT_DENIED] = {401, 16, "the token is missing: Authorization: Bearer TOKEN"},
	[EXPORT_NO_PATH] = {404, 12, "traces alone are taken: /v1/traces, TraceService/Export"},
	[EXPORT_NO_METHOD] = {405, 12, "POST only"},
	[EXPORT_NO_TYPE] = {415, 3, "application/x-protobuf or application/json"},
	[EXPORT_NO_PACKING] = {415, 12, "packed with gzip, zstd or not at all"},
};

unsigned export_http_status(enum export_code code)
{
	return codes[code].http;
}

unsigned export_grpc_status(enum export_code code)
{
	return codes[code].grpc;
}

static uint64_t *counter_of(struct intake_stats *st, enum export_code code)
{
	switch (code) {
	case EXPORT_OK:
		return &st->request_cnt;
	case EXPORT_BAD:
		return &st->bad_cnt;
	case EXPORT_LARGE:
		return &st->large_cnt;
	case EXPORT_BUSY:
		return &st->busy_cnt;
	case EXPORT_DENIED:
		return &st->denied_cnt;
	default:
		return &st->unsupported_cnt;
	}
}

bool export_packing(const char *name)
{
	return !name || !*name || strcmp(name, "identity") == 0 || strcmp(name, "gzip") == 0 ||
	       strcmp(name, "zstd") == 0;
}

/* ---- bodies */

void body_add(struct intake *in, struct body *body, const void *data, size_t len)
{
	if (body->code != EXPORT_OK)
		return;
	if (body->bytes.len + len > INTAKE_BODY_MAX)
		body->code = EXPORT_LARGE;
	else if (in->body_bytes + len > INTAKE_BODIES_MAX)
		body->code = EXPORT_BUSY;
	if (body->code != EXPORT_OK) {
		body_release(in, body);
		return;
	}
	buf_add(&body->bytes, data, len);
	in->body_bytes += len;
	in->stats.byte_cnt += len;
}

void body_release(struct intake *in, struct body *body)
{
	in->body_bytes -= body->bytes.len;
	buf_release(&body->bytes);
}

/* ---- what becomes of a request */

struct taking {
	struct intake *in;
	uint64_t refused_cnt;
};

static int take_span(void *ctx, const struct trace_id *trace, const struct span *span,
		     const struct attr *attrs, const struct span_ref *refs)
{
	struct taking *t = ctx;
	const struct intake_sink *sink = &t->in->opts.sink;
	int rc = sink->span(sink->span_ctx, trace, span, attrs, refs);

	if (rc == INTAKE_REFUSED)
		t->refused_cnt++;
	else if (rc == 0)
		t->in->stats.span_cnt++;
	return rc < 0 ? rc : 0;
}

void export_fail(struct intake *in, enum export_code code, struct export_answer *ret)
{
	*ret = (struct export_answer){.code = code,
				      .retry_s = code == EXPORT_BUSY ? RETRY_BODIES_S : 0};
	snprintf(ret->why, sizeof(ret->why), "%s", codes[code].why);
	++*counter_of(&in->stats, code);
}

static void fail_reading(struct intake *in, int rc, const struct err *err,
			 struct export_answer *ret)
{
	export_fail(in, rc == -E2BIG ? EXPORT_LARGE : EXPORT_BAD, ret);
	/* it quotes what was sent: printable ASCII alone goes back */
	snprintf(ret->why, sizeof(ret->why), "%.*s", EXPORT_WHY_LEN - 1, err->msg);
	for (char *c = ret->why; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

void export_take(struct intake *in, const struct body *body, size_t head,
		 enum spans_format format, struct export_answer *ret)
{
	struct spans_body what = {buf_str(&body->bytes) + head, body->bytes.len - head, format,
				  INTAKE_PLAIN_MAX, in->opts.spans};
	struct taking taking = {.in = in};
	struct span_sink sink = {.ctx = &taking, .span = take_span};
	unsigned retry_s = in->opts.sink.busy(in->opts.sink.ctx);
	struct spans_stats stats;
	struct err err = {0};
	int rc;

	if (body->code != EXPORT_OK || retry_s) {
		export_fail(in, body->code != EXPORT_OK ? body->code : EXPORT_BUSY, ret);
		if (retry_s)
			ret->retry_s = retry_s;
		return;
	}
	rc = spans_read_body(&what, in->opts.strings, &sink, &stats, &err);
	in->stats.refused_span_cnt += stats.bad_cnt + taking.refused_cnt;
	in->stats.lost_name_cnt += stats.name_dropped_cnt;
	if (rc < 0) {
		fail_reading(in, rc, &err, ret);
		return;
	}
	*ret = (struct export_answer){.refused_cnt = stats.bad_cnt + taking.refused_cnt};
	in->stats.request_cnt++;
	if (stats.bad_cnt)
		snprintf(ret->why, sizeof(ret->why), "bad spans, the first at byte %llu",
			 (unsigned long long)stats.bad[0].off);
	else if (taking.refused_cnt)
		snprintf(ret->why, sizeof(ret->why), "spans over a limit were not taken");
}

/* ---- messages */

static void success_proto(const struct export_answer *a, struct buf *out)
{
	CLEANUP(buf_release) struct buf partial = {0};

	if (!a->refused_cnt)
		return;
	pbout_num(&partial, 1, a->refused_cnt);
	pbout_str(&partial, 2, a->why);
	pbout_msg(out, 1, &partial);
}

/* google.rpc.Status, with google.rpc.RetryInfo where the sender may try again. */
static void status_proto(const struct export_answer *a, struct buf *out)
{
	CLEANUP(buf_release) struct buf delay = {0}, info = {0}, any = {0};

	pbout_num(out, 1, codes[a->code].grpc);
	pbout_str(out, 2, a->why);
	if (!a->retry_s)
		return;
	pbout_num(&delay, 1, a->retry_s);
	pbout_msg(&info, 1, &delay);
	pbout_str(&any, 1, "type.googleapis.com/google.rpc.RetryInfo");
	pbout_msg(&any, 2, &info);
	pbout_msg(out, 3, &any);
}

static void message_json(const struct export_answer *a, struct buf *out)
{
	struct json j;

	json_init(&j, out, JSON_COMPACT);
	json_obj(&j);
	if (a->code != EXPORT_OK) {
		json_ku64(&j, "code", codes[a->code].grpc);
		json_kstr(&j, "message", a->why);
	} else if (a->refused_cnt) {
		json_kobj(&j, "partialSuccess");
		json_ku64(&j, "rejectedSpans", a->refused_cnt);
		json_kstr(&j, "errorMessage", a->why);
		json_obj_end(&j);
	}
	json_obj_end(&j);
	json_finish(&j);
}

void export_message(const struct export_answer *a, enum spans_format format, struct buf *out)
{
	if (format == SPANS_OTLP_JSON)
		message_json(a, out);
	else if (a->code == EXPORT_OK)
		success_proto(a, out);
	else
		status_proto(a, out);
}
