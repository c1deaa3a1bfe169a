/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_H
#define HTTP_H
/*
 * The pages and the API of heldup serve, read only: GET and HEAD, nothing else.
 * libmicrohttpd speaks HTTP inside the keeper's loop, without a thread of its own.
 *
 *	http_open, http_run whenever http_fd is readable or time passed, http_close
 *
 * What is asked must name the host by its own name (Host), come from no other
 * page (Origin), and have the token where there is one.  Bounded: HTTP_CLIENTS
 * connections, each HTTP_MEMORY bytes and HTTP_SECONDS of silence.
 */
struct db;
struct err;
struct http;
struct settings;

enum { HTTP_CLIENTS = 64, HTTP_MEMORY = 32768, HTTP_SECONDS = 15 };

/* May it be served so?  -EINVAL no address, -EACCES an open one without a token. */
int http_check(const struct settings *settings, struct err *err);

/* *ret NULL: nothing is to be served.  -EACCES an open address without a token. */
int http_open(const struct settings *settings, struct db *db, struct http **ret,
	      struct err *err);
void http_close(struct http *h);
int http_fd(const struct http *h);
void http_run(struct http *h);

/* Requests that were refused: wrong host, origin, token or method. */
unsigned long long http_refused(const struct http *h);

#endif /* HTTP_H */
