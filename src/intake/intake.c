/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "intake/address.h"
#include "intake/intake_int.h"

#define EVENTS 64

static int parse(const char *text, const char *token, struct address *ret, struct err *err)
{
	if (address_parse(text, ret) < 0)
		return err_usage(err, "'%s': give ADDRESS:PORT, such as " INTAKE_HTTP, text);
	if (!ret->is_loopback && (!token || !*token))
		return err_set(err, -EACCES, "'%s' is open to others: set a token", text);
	return 0;
}

int intake_check(const char *address, const char *token, struct err *err)
{
	struct address at;

	return *address ? parse(address, token, &at, err) : 0;
}

/* A socket for one protocol; *ret_token is what its senders are asked for. */
static int listen_on(const struct intake *in, const char *text, const char **ret_token,
		     struct err *err)
{
	struct address at;
	int rc = parse(text, in->opts.token, &at, err);

	*ret_token = at.is_loopback ? NULL : in->opts.token;
	return rc < 0 ? rc : address_listen(&at, err);
}

static int open_both(struct intake *in, struct err *err)
{
	const char *token;
	int fd;

	in->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (in->epoll < 0)
		return err_errno(err, -errno, "make an epoll");
	if (in->opts.http && *in->opts.http) {
		fd = listen_on(in, in->opts.http, &token, err);
		if (fd < 0 || otlp_http_open(in, fd, token, &in->http, err) < 0)
			return err_prefix(err, "spans by HTTP");
	}
	if (in->opts.grpc && *in->opts.grpc) {
		fd = listen_on(in, in->opts.grpc, &token, err);
		if (fd < 0 || otlp_grpc_open(in, fd, token, &in->grpc, err) < 0)
			return err_prefix(err, "spans by gRPC");
	}
	return 0;
}

int intake_open(const struct intake_opts *opts, struct intake **ret, struct err *err)
{
	struct intake *in = xcalloc(1, sizeof(*in));
	int rc;

	in->opts = *opts;
	rc = open_both(in, err);
	if (rc < 0) {
		intake_close(in);
		return rc;
	}
	*ret = in;
	return 0;
}

void intake_close(struct intake *in)
{
	if (!in)
		return;
	otlp_http_close(in->http);
	otlp_grpc_close(in->grpc);
	if (in->epoll >= 0)
		close(in->epoll);
	free(in);
}

void intake_run(struct intake *in, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	int cnt = epoll_wait(in->epoll, events, EVENTS, timeout_ms);

	for (int i = 0; i < cnt; i++) {
		struct intake_watch *watch = events[i].data.ptr;

		if (watch)
			watch->ready(watch->ctx, events[i].events);
	}
	if (in->http)
		otlp_http_run(in->http);
	if (in->grpc)
		otlp_grpc_run(in->grpc);
}

void intake_wake(struct intake *in)
{
	if (in->http)
		otlp_http_wake(in->http);
}

const struct intake_stats *intake_stats(const struct intake *in)
{
	return &in->stats;
}
