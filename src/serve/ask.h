/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASK_H
#define ASK_H
/*
 * Asks a heldup serve that runs for the minutes that it has in memory: the watcher
 * writes them into one file, which is the asker's to read until it hangs up.
 *
 *	asker: ask_past, close
 *	keeper: ask_open before it gives its rights away, ask_step often,
 *	ask_captured for the watcher's answer, ask_close
 *
 * Over a socket in the state directory, which is root's.  Bounded: one asks at a time,
 * ASK_CLIENTS wait, for ASK_NS; who holds the file for ASK_HOLD_NS is hung up on.
 */
#include <stdbool.h>
#include <stdint.h>

#include "serve/link.h"

struct ask;
struct err;

enum { ASK_CLIENTS = 4 };

#define ASK_NS UINT64_C(20000000000)
#define ASK_HOLD_NS UINT64_C(120000000000)

#define ASK_CAPTURE "%s/captures/past.heldup"

struct ask_answer {
	int32_t code, pad;		/* 0 or -errno: -ENOENT there is no such service */
	uint64_t from_ns, until_ns;	/* CLOCK_REALTIME: what the file has */
	char service[LINK_NAME_LEN];
};

/* The connection, or -errno: -ENOTCONN where no heldup serve runs. */
int ask_past(const char *state_dir, const struct link_ask *who, struct ask_answer *ret,
	     struct err *err);

/* By its name or kind, or a port: what as services_describe gives it. */
bool ask_matches(const struct link_ask *who, const char *name, const char *what);

/* order: hands who asks to the watcher. */
int ask_open(const char *state_dir, void (*order)(void *ctx, const struct link_ask *who),
	     void *ctx, struct ask **ret, struct err *err);
void ask_close(struct ask *a);
void ask_step(struct ask *a);
void ask_captured(struct ask *a, const struct link_captured *c, const char *service);

/* Questions that were refused: too many at once, or no question. */
uint64_t ask_refused(const struct ask *a);

#endif /* ASK_H */
