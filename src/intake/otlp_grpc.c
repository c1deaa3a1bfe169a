/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/gRPC by nghttp2: one unary method, TraceService/Export.  A connection is
 * a session of nghttp2 over a socket that does not block; a stream is one
 * request, its body the gRPC frame: one byte (packed or not), four of length,
 * the message.
 */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "intake/export.h"
#include "intake/intake_int.h"
#include "intake/token.h"

#define PATH "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
#define FRAME_HEAD 5
#define READ_BYTES (64 << 10)
#define READS_AT_ONCE 16	     /* then the other connections have their turn */
#define WINDOW (1 << 20)	     /* of a stream: what may be under way unasked */
#define WINDOW_ALL (4 << 20)	     /* of a connection */
#define SLOW_NS (30 * NS_PER_SEC)    /* a request of which nothing comes for so long */
#define IDLE_NS (600 * NS_PER_SEC)   /* a connection without any */
#define VALUE_LEN 64		     /* of the headers that matter */

struct conn {
	struct intake_watch watch;
	struct otlp_grpc *g;
	struct conn *prev, *next;
	nghttp2_session *session;
	struct stream *streams;
	const uint8_t *out;	/* nghttp2's, until it is asked for more */
	size_t out_len;
	uint64_t last_ns;
	uint32_t stream_cnt;
	int fd;
	bool waits_to_write, is_dead;
};

struct otlp_grpc {
	struct intake *in;
	struct intake_watch watch;
	const char *token;	/* NULL: none is asked for */
	struct conn *conns;
	uint32_t conn_cnt;
	int listen;
};

struct stream {
	struct stream *prev, *next;
	struct body body;
	uint64_t byte_cnt;
	int32_t id;
	bool path_ok, method_ok, type_ok, token_ok, packing_ok, answered;
	struct export_answer answer;
	struct buf message;	/* with its frame's head */
};

/* ---- headers */

static bool is(const uint8_t *text, size_t len, const char *what)
{
	return len == strlen(what) && memcmp(text, what, len) == 0;
}

static int on_begin(nghttp2_session *s, const nghttp2_frame *frame, void *ctx)
{
	struct conn *c = ctx;
	struct stream *st;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	st = xcalloc(1, sizeof(*st));
	st->id = frame->hd.stream_id;
	st->packing_ok = true;
	st->token_ok = !c->g->token;
	st->next = c->streams;
	if (c->streams)
		c->streams->prev = st;
	c->streams = st;
	c->stream_cnt++;
	nghttp2_session_set_stream_user_data(s, st->id, st);
	return 0;
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t len, uint8_t flags, void *ctx)
{
	struct stream *st = nghttp2_session_get_stream_user_data(s, frame->hd.stream_id);
	const struct conn *c = ctx;
	char text[VALUE_LEN * 8];

	(void)flags;
	if (!st)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)(len < sizeof(text) ? len : 0), (char *)value);
	if (is(name, name_len, ":path"))
		st->path_ok = strcmp(text, PATH) == 0;
	else if (is(name, name_len, ":method"))
		st->method_ok = strcmp(text, "POST") == 0;
	else if (is(name, name_len, "content-type"))
		st->type_ok = strncmp(text, "application/grpc", 16) == 0 &&
			      (!text[16] || text[16] == ';' || strcmp(text + 16, "+proto") == 0);
	else if (is(name, name_len, "grpc-encoding"))
		st->packing_ok = export_packing(text);
	else if (is(name, name_len, "authorization") && c->g->token)
		st->token_ok = token_bearer(text, c->g->token);
	return 0;
}

/* ---- answers */

static nghttp2_nv pair(const char *name, const char *value)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
			    strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static void base64(const struct buf *from, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = (const uint8_t *)buf_str(from);

	for (size_t i = 0; i < from->len; i += 3) {
		size_t cnt = from->len - i < 3 ? from->len - i : 3;
		uint32_t v = (uint32_t)at[i] << 16 | (cnt > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
			     (cnt > 2 ? at[i + 2] : 0);

		for (size_t k = 0; k <= cnt; k++)
			buf_addch(out, digits[v >> (18 - 6 * k) & 63]);
	}
}

/* The trailer: grpc-status and, where it failed, why and when to try again. */
static size_t trailer(const struct export_answer *a, char status[12], struct buf *details,
		      nghttp2_nv nv[3])
{
	CLEANUP(buf_release) struct buf message = {0};
	size_t cnt = 0;

	snprintf(status, 12, "%u", export_grpc_status(a->code));
	nv[cnt++] = pair("grpc-status", status);
	if (a->code == EXPORT_OK)
		return cnt;
	/* printable ASCII, of which only this is written otherwise */
	nv[cnt++] = pair("grpc-message", strchr(a->why, '%') ? "refused" : a->why);
	if (a->retry_s) {
		export_message(a, SPANS_OTLP_PROTO, &message);
		base64(&message, details);
		nv[cnt++] = pair("grpc-status-details-bin", buf_str(details));
	}
	return cnt;
}

static ssize_t on_read(nghttp2_session *s, int32_t id, uint8_t *to, size_t cap, uint32_t *flags,
		       nghttp2_data_source *source, void *ctx)
{
	struct stream *st = nghttp2_session_get_stream_user_data(s, id);
	CLEANUP(buf_release) struct buf details = {0};
	size_t len = st ? st->message.len : 0;
	nghttp2_nv nv[3];
	char status[12];

	(void)source;
	(void)ctx;
	if (!st || len > cap)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	memcpy(to, buf_str(&st->message), len);
	*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	nghttp2_submit_trailer(s, id, nv, trailer(&st->answer, status, &details, nv));
	return (ssize_t)len;
}

static void answer(struct conn *c, struct stream *st)
{
	static const uint8_t head[FRAME_HEAD];
	nghttp2_data_provider provider = {.read_callback = on_read};
	CLEANUP(buf_release) struct buf details = {0};
	nghttp2_nv nv[6];
	char status[12];
	size_t cnt = 0;

	st->answered = true;
	body_release(c->g->in, &st->body);
	nv[cnt++] = pair(":status", st->answer.code == EXPORT_NO_TYPE ? "415" : "200");
	nv[cnt++] = pair("content-type", "application/grpc");
	nv[cnt++] = pair("grpc-accept-encoding", "identity,gzip,zstd");
	if (st->answer.code != EXPORT_OK) {
		cnt += trailer(&st->answer, status, &details, nv + cnt);
		nghttp2_submit_response(c->session, st->id, nv, cnt, NULL);
		return;
	}
	buf_add(&st->message, head, sizeof(head));
	export_message(&st->answer, SPANS_OTLP_PROTO, &st->message);
	for (unsigned i = 0; i < 4; i++)
		st->message.data[1 + i] =
			(char)((st->message.len - FRAME_HEAD) >> (24 - 8 * i) & 0xff);
	nghttp2_submit_response(c->session, st->id, nv, cnt, &provider);
}

static enum export_code check(const struct stream *st)
{
	if (!st->token_ok)
		return EXPORT_DENIED;
	if (!st->type_ok)
		return EXPORT_NO_TYPE;
	if (!st->path_ok)
		return EXPORT_NO_PATH;
	if (!st->method_ok)
		return EXPORT_NO_METHOD;
	return st->packing_ok ? EXPORT_OK : EXPORT_NO_PACKING;
}

/* The whole request is here. */
static void take(struct conn *c, struct stream *st)
{
	const uint8_t *at = (const uint8_t *)buf_str(&st->body.bytes);
	size_t len = st->body.bytes.len;
	enum export_code code = check(st);
	uint64_t said = 0;

	for (unsigned i = 1; i < FRAME_HEAD && len >= FRAME_HEAD; i++)
		said = said << 8 | at[i];
	if (code == EXPORT_OK && st->body.code == EXPORT_OK &&
	    (len < FRAME_HEAD || at[0] > 1 || said != len - FRAME_HEAD))
		code = EXPORT_BAD;
	if (code != EXPORT_OK)
		export_fail(c->g->in, code, &st->answer);
	else
		export_take(c->g->in, &st->body, FRAME_HEAD, SPANS_OTLP_PROTO, &st->answer);
	answer(c, st);
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
		   void *ctx)
{
	struct stream *st = nghttp2_session_get_stream_user_data(s, id);
	struct conn *c = ctx;

	(void)flags;
	if (!st)
		return 0;
	st->byte_cnt += len;
	if (st->byte_cnt > BODY_SWALLOWED)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (st->answered)
		return 0;
	body_add(c->g->in, &st->body, data, len);
	if (st->body.code == EXPORT_OK)
		return 0;
	export_fail(c->g->in, st->body.code, &st->answer);
	answer(c, st);
	return 0;
}

static int on_frame(nghttp2_session *s, const nghttp2_frame *frame, void *ctx)
{
	struct stream *st = nghttp2_session_get_stream_user_data(s, frame->hd.stream_id);

	if (st && !st->answered && frame->hd.flags & NGHTTP2_FLAG_END_STREAM &&
	    (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS))
		take(ctx, st);
	return 0;
}

static void stream_free(struct conn *c, struct stream *st)
{
	if (st->prev)
		st->prev->next = st->next;
	else
		c->streams = st->next;
	if (st->next)
		st->next->prev = st->prev;
	c->stream_cnt--;
	if (!st->answered)
		c->g->in->stats.broken_cnt++;
	body_release(c->g->in, &st->body);
	buf_release(&st->message);
	free(st);
}

static int on_close(nghttp2_session *s, int32_t id, uint32_t error, void *ctx)
{
	struct stream *st = nghttp2_session_get_stream_user_data(s, id);

	(void)error;
	if (st)
		stream_free(ctx, st);
	return 0;
}

/* ---- connections */

/* False: it is gone. */
static bool write_out(struct conn *c)
{
	for (;;) {
		ssize_t put;

		if (!c->out_len) {
			put = nghttp2_session_mem_send(c->session, &c->out);
			if (put < 0)
				return false;
			c->out_len = (size_t)put;
		}
		if (!c->out_len)
			return true;
		put = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL);
		if (put < 0)
			return errno == EAGAIN || errno == EINTR;
		c->out += put;
		c->out_len -= (size_t)put;
	}
}

static bool read_in(struct conn *c)
{
	uint8_t buf[READ_BYTES];

	for (int i = 0; i < READS_AT_ONCE; i++) {
		ssize_t got = recv(c->fd, buf, sizeof(buf), 0);

		if (got < 0)
			return errno == EAGAIN || errno == EINTR;
		if (got == 0 || nghttp2_session_mem_recv(c->session, buf, (size_t)got) != got)
			return false;
		c->last_ns = clock_mono_ns();
	}
	return true;
}

static void on_ready(void *ctx, uint32_t events)
{
	struct conn *c = ctx;
	bool wait;

	if (c->is_dead)
		return;
	if ((events & (EPOLLERR | EPOLLHUP) && !(events & EPOLLIN)) ||
	    (events & EPOLLIN && !read_in(c)) || !write_out(c) ||
	    (!nghttp2_session_want_read(c->session) && !nghttp2_session_want_write(c->session))) {
		c->is_dead = true;
		return;
	}
	wait = c->out_len > 0;
	if (wait != c->waits_to_write)
		intake_watch_events(c->g->in, c->fd, wait ? EPOLLIN | EPOLLOUT : EPOLLIN,
				    &c->watch);
	c->waits_to_write = wait;
}

static int session_open(struct conn *c)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, INTAKE_STREAMS},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
	};
	nghttp2_session_callbacks *calls;
	int rc = nghttp2_session_callbacks_new(&calls);

	if (rc != 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(calls, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(calls, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
	rc = nghttp2_session_server_new(&c->session, calls, c);
	nghttp2_session_callbacks_del(calls);
	if (rc == 0)
		rc = nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 2);
	if (rc == 0)
		rc = nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
							   WINDOW_ALL);
	return rc == 0 ? 0 : -ENOMEM;
}

static void conn_free(struct conn *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		c->g->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->g->conn_cnt--;
	while (c->streams) /* which the session ends without a word */
		stream_free(c, c->streams);
	nghttp2_session_del(c->session);
	close(c->fd);
	free(c);
}

static void conn_new(struct otlp_grpc *g, int fd)
{
	struct conn *c = xcalloc(1, sizeof(*c));

	*c = (struct conn){.watch = {on_ready, c}, .g = g, .fd = fd, .next = g->conns,
			   .last_ns = clock_mono_ns()};
	if (g->conns)
		g->conns->prev = c;
	g->conns = c;
	g->conn_cnt++;
	g->in->stats.connection_cnt++;
	if (session_open(c) < 0 || intake_watch(g->in, fd, EPOLLIN, &c->watch) < 0)
		c->is_dead = true;
}

static void on_connection(void *ctx, uint32_t events)
{
	struct otlp_grpc *g = ctx;
	int fd;

	(void)events;
	while ((fd = accept4(g->listen, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		if (g->conn_cnt < INTAKE_CLIENTS) {
			conn_new(g, fd);
			continue;
		}
		g->in->stats.refused_connection_cnt++;
		close(fd);
	}
}

void otlp_grpc_run(struct otlp_grpc *g)
{
	uint64_t now = clock_mono_ns();
	struct conn *next;

	for (struct conn *c = g->conns; c; c = next) {
		next = c->next;
		if (c->is_dead || now - c->last_ns > (c->stream_cnt ? SLOW_NS : IDLE_NS))
			conn_free(c);
	}
}

int otlp_grpc_open(struct intake *in, int listen, const char *token, struct otlp_grpc **ret,
		   struct err *err)
{
	struct otlp_grpc *g = xcalloc(1, sizeof(*g));
	int rc;

	*g = (struct otlp_grpc){.in = in, .listen = listen, .token = token,
				.watch = {on_connection, g}};
	rc = intake_watch(in, listen, EPOLLIN, &g->watch);
	if (rc < 0) {
		otlp_grpc_close(g);
		return err_errno(err, rc, "watch the socket");
	}
	*ret = g;
	return 0;
}

void otlp_grpc_close(struct otlp_grpc *g)
{
	if (!g)
		return;
	while (g->conns)
		conn_free(g->conns);
	close(g->listen);
	free(g);
}
