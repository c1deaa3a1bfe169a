/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FRAME_H
#define FRAME_H
/*
 * The frame of the servers with bugs: HTTP on loopback, one thread that
 * accepts and polls, a queue, worker threads, an access log, statistics and
 * a configuration file that is looked at each second.  A server adds routes
 * and its bugs; without --bug it is a sound program.  Servers are built in
 * other ways, too: the thread that polls does all the work itself, or
 * processes accept for themselves and serve one connection at a time.
 *
 *	int main(int argc, char **argv) { return frame_main(argc, argv, &server); }
 *
 * All functions are FN: the compiler may neither inline nor split them, so
 * that each has its name in a stack and a guilty one is never alone.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FN __attribute__((noipa))

struct request {
	int fd;			/* of the client, blocking */
	const char *path, *arg;	/* "/get", "17"; arg "" where there is none */
	const char *body;	/* what came with the head */
	size_t body_len, want;	/* of it, and as announced */
	bool close;		/* set: end the connection after the reply */
};

struct reply { int status; char text[4096]; size_t len; };

typedef void route_fn(struct request *req, struct reply *rep);

struct route { const char *path; route_fn *run; };
struct bug { const char *name, *function, *about; };

enum frame_kind { FRAME_POOL = 0, FRAME_LOOP = 1, FRAME_PROCESSES = 2 };

struct server {
	enum frame_kind kind;
	const struct route *routes;	/* up to path NULL */
	const struct bug *bugs;		/* up to name NULL */
	void (*start)(void);		/* before the first request */
	void (*turn)(void);		/* FRAME_LOOP: after each turn of the loop */
};

struct frame {
	const char *dir;	/* --dir: for files */
	int port, workers;	/* --port, --workers */
	int upstream_port;	/* --upstream: a service that answers */
	int dead_port;		/* --dead: one that does not */
};

extern struct frame frame;

int frame_main(int argc, char **argv, const struct server *server);
bool bug_on(const char *name);

/* Adds text to a reply; what does not fit is cut off. */
void reply_add(struct reply *rep, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void reply_fail(struct reply *rep, int status);

/* NAME in frame.dir, in buf; the number n where fmt has %u. */
const char *path_in(char *buf, size_t len, const char *fmt, unsigned n);
void die(const char *what);
void thread_start(void *(*run)(void *), void *arg, const char *name);
uint64_t now_ns(void);

#endif /* FRAME_H */
