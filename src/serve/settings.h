/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SETTINGS_H
#define SETTINGS_H
/*
 * What `heldup serve` is to do: from /etc/heldup/heldup.conf (INI), over which
 * the command line goes.  Read once, by the process that starts the others.
 *
 *	settings_init, settings_read for a file, settings_release
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "collect/select.h"
#include "serve/tell/announce.h"

struct err;

#define SETTINGS_FILE "/etc/heldup/heldup.conf"
#define SETTINGS_STATE "/var/lib/heldup"
#define SETTINGS_PORT 4319 /* beside OTLP's 4317 and 4318 */

enum { SETTINGS_SERVICES_MAX = 64, SETTINGS_FILE_MAX = 1 << 20, SETTINGS_ERRORS_MAX = 20 };

struct serve_service {
	const char *name;
	struct select_opts select;
	uint64_t p99_ns;	/* a bound that a person set: slower is a finding; 0: none */
};

struct settings {
	const char *state;	/* directory */
	const char *listen;	/* "ADDRESS:PORT", "" for no page */
	const char *token;	/* NULL: none */
	const char *spans_http, *spans_grpc; /* "ADDRESS:PORT" on which spans are taken, "": not */
	double spans_cpu;	/* share of one CPU for them; over it senders are asked to wait */
	struct announce_opts announce;
	uint64_t keep_bytes, keep_ns;
	uint64_t window_ns;	/* minutes before, kept in memory */
	double budget;		/* share of the CPU time in use, 0: any */
	struct serve_service services[SETTINGS_SERVICES_MAX];
	size_t service_cnt;
	struct arena arena;	/* of the texts */
};

void settings_init(struct settings *s);
void settings_release(struct settings *s);

/*
 * "NAME=port:80", "NAME=unit:nginx.service", "NAME=comm:RE", "NAME=pid:1", "NAME=cgroup:DIR",
 * "NAME=container:C": one service more.  -EINVAL, -E2BIG.
 */
int settings_service(struct settings *s, const char *text, struct err *err);

/*
 * All lines are read; each that is wrong is given to complain, with its number.
 * -EINVAL when there was one, else what opening says.
 */
int settings_read(struct settings *s, const char *path,
		  void (*complain)(void *ctx, int line, const char *what), void *ctx,
		  struct err *err);

#endif /* SETTINGS_H */
