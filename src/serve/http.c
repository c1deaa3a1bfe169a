/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "intake/address.h"
#include "intake/intake.h"
#include "intake/token.h"
#include "serve/keep/db.h"
#include "serve/judge.h"
#include "serve/settings.h"
#include "serve/keep/status.h"

#define LOG_MAX 1000
#define SERIES_NS (24 * 3600 * NS_PER_SEC)

extern const char embed_serve_html[], embed_serve_css[], embed_serve_js[];

struct http {
	const struct settings *settings;
	struct db *db;
	struct MHD_Daemon *daemon;
	unsigned long long refused_cnt;
};

/*
 * A page of another site can make a browser ask us under a name of its own that leads to
 * the loopback address: then Host has that name.  Behind a proxy with a token any may come.
 */
static bool host_is_own(const char *host, const char *listen)
{
	static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
	struct address at;
	char name[ADDRESS_LEN + 8];

	if (!host || address_parse(listen, &at) < 0)
		return false;
	if (!at.is_loopback)
		return true;
	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++) {
		snprintf(name, sizeof(name), "%s:%u", own[i], at.port);
		if (strcmp(host, own[i]) == 0 || strcmp(host, name) == 0)
			return true;
	}
	snprintf(name, sizeof(name), "%s:%u", at.host, at.port);
	return strcmp(host, name) == 0;
}

static bool has_token(const struct http *h, struct MHD_Connection *c)
{
	const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
	const char *cookie = MHD_lookup_connection_value(c, MHD_COOKIE_KIND, "heldup");
	const char *asked = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");
	const char *token = h->settings->token;

	if (!token || !*token)
		return true;
	return token_bearer(given, token) || (cookie && token_same(cookie, token)) ||
	       (asked && token_same(asked, token));
}

/* Origin, where a browser sends it, ends in the same host as Host. */
static bool is_own_origin(struct MHD_Connection *c)
{
	const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
	const char *at = origin ? strstr(origin, "://") : NULL;

	return !origin || (host && at && strcmp(at + 3, host) == 0);
}

/* ---- answers */

static const char page_policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* The page of `why` carries its own script and style. */
static const char finding_policy[] =
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status, const char *type,
				     const char *policy, struct MHD_Response *r)
{
	enum MHD_Result rc;

	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "Content-Security-Policy", policy);
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned status, const char *type,
				 const char *text)
{
	return send_response(c, status, type, page_policy,
			     MHD_create_response_from_buffer(strlen(text),
							     (void *)(uintptr_t)text,
							     MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result send_error(struct MHD_Connection *c, unsigned status, const char *what)
{
	CLEANUP(buf_release) struct buf out = {0};
	struct json j;

	json_init(&j, &out, JSON_COMPACT);
	json_obj(&j);
	json_kstr(&j, "error", what);
	json_obj_end(&j);
	json_finish(&j);
	return send_text(c, status, "application/json", buf_str(&out));
}

static enum MHD_Result send_file(struct MHD_Connection *c, const char *path, const char *type)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return send_error(c, MHD_HTTP_NOT_FOUND, "it is not kept any more");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return send_error(c, MHD_HTTP_NOT_FOUND, "it is not kept any more");
	}
	return send_response(c, MHD_HTTP_OK, type, finding_policy,
			     MHD_create_response_from_fd((uint64_t)st.st_size, fd));
}

static enum MHD_Result send_status(struct http *h, struct MHD_Connection *c, bool metrics)
{
	CLEANUP(buf_release) struct buf out = {0};
	CLEANUP(status_release) struct status st = {0};
	struct json j;

	if (status_read(h->db, true, &st) < 0)
		return send_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "the store cannot be read");
	if (metrics) {
		status_metrics(&st, &out);
		return send_text(c, MHD_HTTP_OK,
				 "application/openmetrics-text; version=1.0.0; charset=utf-8",
				 buf_str(&out));
	}
	json_init(&j, &out, JSON_COMPACT);
	json_obj(&j);
	status_json(&st, &j);
	json_obj_end(&j);
	json_finish(&j);
	return send_text(c, MHD_HTTP_OK, "application/json", buf_str(&out));
}

static enum MHD_Result send_log(struct http *h, struct MHD_Connection *c)
{
	const char *since = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "since_ns");
	struct db_filter filter = {
		.service = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "service"),
		.since_ns = since ? strtoull(since, NULL, 10) : 0,
		.max_cnt = LOG_MAX,
	};
	CLEANUP(buf_release) struct buf out = {0};
	struct json j;

	json_init(&j, &out, JSON_COMPACT);
	json_obj(&j);
	if (status_log_json(h->db, &filter, &j) < 0)
		return send_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "the store cannot be read");
	json_obj_end(&j);
	json_finish(&j);
	return send_text(c, MHD_HTTP_OK, "application/json", buf_str(&out));
}

static void minute_json(void *ctx, const struct db_minute *m)
{
	struct json *j = ctx;

	json_obj(j);
	json_ku64(j, "minute_ns", m->minute_ns);
	json_ku64(j, "answers", m->answer_cnt);
	json_ku64(j, "p50_ns", m->p50_ns);
	json_ku64(j, "p99_ns", m->p99_ns);
	json_ku64(j, "open", m->open_max);
	json_ku64(j, "oldest_ns", m->oldest_max_ns);
	json_obj_end(j);
}

static enum MHD_Result send_request_series(struct http *h, struct MHD_Connection *c, const char *id)
{
	CLEANUP(buf_release) struct buf out = {0};
	char *end;
	uint64_t hash = strtoull(id, &end, 16);
	struct json j;

	if (end == id || *end || !hash)
		return send_error(c, MHD_HTTP_BAD_REQUEST, "?request=ID is 16 hex digits");
	json_init(&j, &out, JSON_COMPACT);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/series/1");
	json_kstr(&j, "request", id);
	json_key(&j, "minutes");
	if (request_series_json(h->db, hash, clock_real_ns() - SERIES_NS, &j) < 0)
		return send_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "the store cannot be read");
	json_obj_end(&j);
	json_finish(&j);
	return send_text(c, MHD_HTTP_OK, "application/json", buf_str(&out));
}

static enum MHD_Result send_series(struct http *h, struct MHD_Connection *c)
{
	const char *name = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "service");
	const char *id = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "request");
	CLEANUP(buf_release) struct buf out = {0};
	struct json j;

	if (id)
		return send_request_series(h, c, id);
	if (!name)
		return send_error(c, MHD_HTTP_BAD_REQUEST, "give ?service=NAME or ?request=ID");
	json_init(&j, &out, JSON_COMPACT);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/series/1");
	json_kstr(&j, "service", name);
	json_karr(&j, "minutes");
	if (db_minutes(h->db, name, clock_real_ns() - SERIES_NS, minute_json, &j) < 0)
		return send_error(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "the store cannot be read");
	json_arr_end(&j);
	json_obj_end(&j);
	json_finish(&j);
	return send_text(c, MHD_HTTP_OK, "application/json", buf_str(&out));
}

/* rest: "12", "12/why", "12/capture". */
static enum MHD_Result send_finding(struct http *h, struct MHD_Connection *c, const char *rest,
				    bool page)
{
	char *end, path[4096];
	uint64_t id = strtoull(rest, &end, 10);
	CLEANUP(buf_release) struct buf out = {0};
	struct db_finding f;
	struct json j;

	if (end == rest || *rest == '-' || db_finding(h->db, id, &f) < 0)
		return send_error(c, MHD_HTTP_NOT_FOUND, "there is no such finding");
	if (page && !*end)
		return send_file(c, judge_path(h->settings->state, id, JUDGE_PAGE, path,
					       sizeof(path)), "text/html; charset=utf-8");
	if (strcmp(end, "/why") == 0)
		return send_file(c, judge_path(h->settings->state, id, JUDGE_JSON, path,
					       sizeof(path)), "application/json");
	if (strcmp(end, "/capture") == 0)
		return send_file(c, judge_path(h->settings->state, id, JUDGE_CAPTURE, path,
					       sizeof(path)), "application/octet-stream");
	if (*end)
		return send_error(c, MHD_HTTP_NOT_FOUND, "there is no such page");
	json_init(&j, &out, JSON_COMPACT);
	json_obj(&j);
	json_kstr(&j, "schema", "heldup/show/1");
	status_finding_json(&f, &j);
	json_obj_end(&j);
	json_finish(&j);
	return send_text(c, MHD_HTTP_OK, "application/json", buf_str(&out));
}

/* The page once asked with ?token= keeps it as a cookie, so that links need not have it. */
static enum MHD_Result send_page(struct http *h, struct MHD_Connection *c)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(embed_serve_html),
		(void *)(uintptr_t)embed_serve_html, MHD_RESPMEM_PERSISTENT);
	char cookie[600];

	if (h->settings->token && *h->settings->token) {
		snprintf(cookie, sizeof(cookie), "heldup=%s; HttpOnly; SameSite=Strict; Path=/",
			 h->settings->token);
		MHD_add_response_header(r, "Set-Cookie", cookie);
	}
	return send_response(c, MHD_HTTP_OK, "text/html; charset=utf-8", page_policy, r);
}

static enum MHD_Result route(struct http *h, struct MHD_Connection *c, const char *url)
{
	if (strcmp(url, "/") == 0)
		return send_page(h, c);
	if (strcmp(url, "/serve.css") == 0)
		return send_text(c, MHD_HTTP_OK, "text/css", embed_serve_css);
	if (strcmp(url, "/serve.js") == 0)
		return send_text(c, MHD_HTTP_OK, "text/javascript", embed_serve_js);
	if (strcmp(url, "/metrics") == 0 || strcmp(url, "/api/services") == 0)
		return send_status(h, c, url[1] == 'm');
	if (strcmp(url, "/api/findings") == 0)
		return send_log(h, c);
	if (strcmp(url, "/api/series") == 0)
		return send_series(h, c);
	if (strncmp(url, "/api/findings/", 14) == 0)
		return send_finding(h, c, url + 14, false);
	if (strncmp(url, "/findings/", 10) == 0)
		return send_finding(h, c, url + 10, true);
	return send_error(c, MHD_HTTP_NOT_FOUND, "there is no such page");
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	struct http *h = ctx;
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)state;
	if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) {
		if (host_is_own(host, h->settings->listen) && is_own_origin(c)) {
			if (has_token(h, c))
				return route(h, c, url);
			h->refused_cnt++;
			return send_error(c, MHD_HTTP_UNAUTHORIZED, "the token is missing: "
					  "Authorization: Bearer TOKEN, or ?token=TOKEN");
		}
		h->refused_cnt++;
		return send_error(c, MHD_HTTP_FORBIDDEN, "asked under another name or by another "
				  "page");
	}
	h->refused_cnt++;
	return send_error(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only");
}

static int settings_fit(const struct settings *s, struct address *ret, struct err *err)
{
	if (address_parse(s->listen, ret) < 0)
		return err_usage(err, "listen '%s': give ADDRESS:PORT, such as 127.0.0.1:%d",
				 s->listen, SETTINGS_PORT);
	if (!ret->is_loopback && (!s->token || !*s->token))
		return err_set(err, -EACCES, "listen '%s' is open to others: set a token, and put "
			       "a proxy with TLS before it", s->listen);
	return 0;
}

int http_check(const struct settings *s, struct err *err)
{
	struct address at;

	if (*s->listen && settings_fit(s, &at, err) < 0)
		return err->code;
	if (intake_check(s->spans_http, s->token, err) < 0)
		return err_prefix(err, "spans-http");
	return intake_check(s->spans_grpc, s->token, err) < 0 ? err_prefix(err, "spans-grpc") : 0;
}

int http_open(const struct settings *settings, struct db *db, struct http **ret, struct err *err)
{
	struct address at;
	struct http *h;
	int rc, fd;

	*ret = NULL;
	if (!*settings->listen)
		return 0;
	rc = settings_fit(settings, &at, err);
	if (rc < 0)
		return rc;
	fd = address_listen(&at, err);
	if (fd < 0)
		return err_prefix(err, "listen '%s'", settings->listen);
	h = xcalloc(1, sizeof(*h));
	h->settings = settings;
	h->db = db;
	h->daemon = MHD_start_daemon(MHD_USE_EPOLL, at.port, NULL, NULL, handle, h,
				     MHD_OPTION_LISTEN_SOCKET, fd,
				     MHD_OPTION_CONNECTION_LIMIT, HTTP_CLIENTS,
				     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_SECONDS,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY,
				     MHD_OPTION_END);
	if (!h->daemon) {
		close(fd);
		free(h);
		return err_set(err, -ENOMEM, "listen '%s': no server could be made",
			       settings->listen);
	}
	*ret = h;
	return 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	MHD_stop_daemon(h->daemon);
	free(h);
}

int http_fd(const struct http *h)
{
	const union MHD_DaemonInfo *info =
		h ? MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;

	return info ? info->epoll_fd : -1;
}

void http_run(struct http *h)
{
	if (h)
		MHD_run(h->daemon);
}

unsigned long long http_refused(const struct http *h)
{
	return h ? h->refused_cnt : 0;
}
