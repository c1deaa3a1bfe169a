/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_H
#define COMMON_H
/*
 * HTTP of the servers in this folder: a request is `GET /KIND/ID`, and each call that it
 * makes to the upstream is `GET /ID/N`, N from 0.  KIND says which calls: `one`, `two` in a
 * row, or two at once (`par`).  Errors of the machine end the program with a message.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn {		 /* a connection and what was read of it but not yet used */
	int fd;
	size_t len;
	char buf[4096];
};

struct request {
	char kind[12];
	uint64_t id;
	bool closing;	 /* the reply says `Connection: close` */
};

struct upstreams {	 /* of one blocking thread; dialled when first used, zero before */
	int port;
	struct conn conns[2];
};

uint64_t mono_ns(void);
int number_arg(const char *text);	 /* ends the program where text is no number */
void die(const char *what);

int listen_on(int port);
int accept_on(int fd);			 /* with TCP_NODELAY; -1: interrupted */
int dial(const char *from, int port);	 /* from: own address, NULL: any */
int port_of(int fd, bool peer);

/* One recv into the buffer; false at the end or on an error. */
bool conn_fill(struct conn *c);
/* Takes one whole request off the buffer; false: it is not whole yet. */
bool request_take(struct conn *c, struct request *ret_r);
/* The same for an answer with Content-Length; *ret_closing: the sender will close. */
bool answer_take(struct conn *c, bool *ret_closing);
void send_all(int fd, const char *data, size_t len);

void reply_send(int fd, const struct request *r);
void call_send(int fd, uint64_t id, int n);
/* fill and take until a whole answer is there */
void answer_wait(struct conn *c);
/* All calls of a request, the thread waits for each. */
void calls_make(struct upstreams *u, const struct request *r);

#endif /* COMMON_H */
