/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/HTTP by libmicrohttpd: POST /v1/traces.  A request that will fail is
 * received up to the limits all the same, so that its sender reads the answer
 * and not a reset connection; one that announces more than them is not.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "intake/export.h"
#include "intake/intake_int.h"
#include "intake/token.h"

#define SECONDS 30	   /* without a byte, then a connection is closed */
#define MEMORY (64 << 10)  /* of a connection, for its headers and what is read at once */

struct otlp_http {
	struct intake *in;
	struct MHD_Daemon *daemon;
	const char *token;	/* NULL: none is asked for */
	VEC(struct MHD_Connection *) waiting; /* questions without an answer yet */
};

struct post {
	struct body body;
	uint64_t byte_cnt;	/* received */
	enum spans_format format;
	enum export_code code;	/* not EXPORT_OK: it fails, whatever its body is */
	bool answered, asks;
};

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* "application/json; charset=utf-8" is application/json. */
static bool is_type(const char *given, const char *type)
{
	size_t len = strlen(type);

	return given && strncasecmp(given, type, len) == 0 &&
	       (!given[len] || given[len] == ';' || given[len] == ' ');
}

static enum export_code check(const struct otlp_http *h, struct MHD_Connection *c,
			      const char *url, const char *method)
{
	const char *type = header(c, "Content-Type"), *length = header(c, "Content-Length");

	if (h->token && !token_bearer(header(c, "Authorization"), h->token))
		return EXPORT_DENIED;
	if (strcmp(url, "/v1/traces") != 0)
		return EXPORT_NO_PATH;
	if (strcmp(method, "POST") != 0)
		return EXPORT_NO_METHOD;
	if (!is_type(type, "application/x-protobuf") && !is_type(type, "application/json"))
		return EXPORT_NO_TYPE;
	if (!export_packing(header(c, "Content-Encoding")))
		return EXPORT_NO_PACKING;
	return length && strtoull(length, NULL, 10) > INTAKE_BODY_MAX ? EXPORT_LARGE : EXPORT_OK;
}

static enum MHD_Result answer(struct MHD_Connection *c, struct post *p,
			      const struct export_answer *a)
{
	CLEANUP(buf_release) struct buf out = {0};
	char seconds[16];
	struct MHD_Response *r;
	enum MHD_Result rc;

	export_message(a, p->format, &out);
	r = MHD_create_response_from_buffer(out.len, (void *)(uintptr_t)buf_str(&out),
					    MHD_RESPMEM_MUST_COPY);
	MHD_add_response_header(r, "Content-Type", p->format == SPANS_OTLP_JSON
							   ? "application/json"
							   : "application/x-protobuf");
	if (a->retry_s) {
		snprintf(seconds, sizeof(seconds), "%u", a->retry_s);
		MHD_add_response_header(r, "Retry-After", seconds);
	}
	if (a->code == EXPORT_NO_METHOD)
		MHD_add_response_header(r, "Allow", "POST");
	rc = MHD_queue_response(c, export_http_status(a->code), r);
	MHD_destroy_response(r);
	p->answered = true;
	return rc;
}

static const char *arg(void *of, const char *name)
{
	return MHD_lookup_connection_value(of, MHD_GET_ARGUMENT_KIND, name);
}

/* A question that the sink answers; MHD_NO: it is none, and nothing was sent. */
static enum MHD_Result ask(struct otlp_http *h, struct MHD_Connection *c, const char *url,
			   struct post *p)
{
	const struct intake_sink *sink = &h->in->opts.sink;
	CLEANUP(buf_release) struct buf out = {0};
	struct MHD_Response *r;
	enum MHD_Result rc;
	enum intake_asked how = sink->ask && p->code == EXPORT_NO_PATH
					? sink->ask(sink->ctx, url, arg, c, &out)
					: INTAKE_NO_PATH;

	if (how == INTAKE_NO_PATH)
		return MHD_NO;
	p->asks = true;
	if (how == INTAKE_WAITS) {
		MHD_suspend_connection(c);
		vec_push(&h->waiting, c);
		return MHD_YES;
	}
	r = MHD_create_response_from_buffer(out.len, (void *)(uintptr_t)buf_str(&out),
					    MHD_RESPMEM_MUST_COPY);
	MHD_add_response_header(r, "Content-Type", "application/json");
	rc = MHD_queue_response(c, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	p->answered = true;
	return rc;
}

static enum MHD_Result begin(struct otlp_http *h, struct MHD_Connection *c, struct post *p)
{
	struct export_answer a;

	if (is_type(header(c, "Content-Type"), "application/json"))
		p->format = SPANS_OTLP_JSON;
	if (p->code != EXPORT_LARGE)
		return MHD_YES;
	export_fail(h->in, p->code, &a);
	return answer(c, p, &a);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	struct otlp_http *h = ctx;
	struct post *p = *state;
	struct export_answer a;

	(void)version;
	if (!p) {
		p = *state = xcalloc(1, sizeof(*p));
		p->format = SPANS_OTLP_PROTO;
		p->code = check(h, c, url, method);
		if (strcmp(method, "GET") == 0 && ask(h, c, url, p) == MHD_YES)
			return MHD_YES;
		return begin(h, c, p);
	}
	if (p->asks)
		return ask(h, c, url, p);
	if (*upload_size) {
		p->byte_cnt += *upload_size;
		if (p->byte_cnt > BODY_SWALLOWED)
			return MHD_NO;
		if (p->code == EXPORT_OK)
			body_add(h->in, &p->body, upload, *upload_size);
		*upload_size = 0;
		return MHD_YES;
	}
	if (p->code != EXPORT_OK)
		export_fail(h->in, p->code, &a);
	else
		export_take(h->in, &p->body, 0, p->format, &a);
	return answer(c, p, &a);
}

static void completed(void *ctx, struct MHD_Connection *c, void **state,
		      enum MHD_RequestTerminationCode how)
{
	struct otlp_http *h = ctx;
	struct post *p = *state;

	(void)c;
	(void)how;
	if (!p)
		return;
	if (!p->answered)
		h->in->stats.broken_cnt++;
	body_release(h->in, &p->body);
	free(p);
	*state = NULL;
}

static void connection(void *ctx, struct MHD_Connection *c, void **state,
		       enum MHD_ConnectionNotificationCode what)
{
	struct otlp_http *h = ctx;

	(void)c;
	(void)state;
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		h->in->stats.connection_cnt++;
}

int otlp_http_open(struct intake *in, int listen, const char *token, struct otlp_http **ret,
		   struct err *err)
{
	struct otlp_http *h = xcalloc(1, sizeof(*h));
	int rc;

	h->in = in;
	h->token = token;
	h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
				     handle, h,
				     MHD_OPTION_LISTEN_SOCKET, listen,
				     MHD_OPTION_NOTIFY_COMPLETED, completed, h,
				     MHD_OPTION_NOTIFY_CONNECTION, connection, h,
				     MHD_OPTION_CONNECTION_LIMIT, (unsigned)INTAKE_CLIENTS,
				     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SECONDS,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
				     MHD_OPTION_END);
	if (!h->daemon) {
		close(listen);
		free(h);
		return err_set(err, -ENOMEM, "no server could be made");
	}
	rc = intake_watch(in, MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
			  EPOLLIN, NULL);
	if (rc < 0) {
		otlp_http_close(h);
		return err_errno(err, rc, "watch the server");
	}
	*ret = h;
	return 0;
}

void otlp_http_run(struct otlp_http *h)
{
	MHD_run(h->daemon);
}

void otlp_http_wake(struct otlp_http *h)
{
	VEC_FOREACH(&h->waiting, c)
		MHD_resume_connection(*c);
	vec_clear(&h->waiting);
}

void otlp_http_close(struct otlp_http *h)
{
	if (!h)
		return;
	otlp_http_wake(h);
	MHD_stop_daemon(h->daemon);
	vec_release(&h->waiting);
	free(h);
}
