/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVICES_H
#define SERVICES_H
/*
 * The services of a host and the processes of each: those named in the settings,
 * or all that listen on a TCP port.  A service is a systemd unit, a container, or
 * else the process tree of one program.
 *
 *	services_new, services_find now and then, services_put for each EV_TASK,
 *	services_of, services_free
 *
 * A service keeps its place and its name when its processes are replaced.
 * Bounds: LINK_SERVICES_MAX services, SERVICES_PROCESSES_MAX processes; more are
 * left out and counted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/link.h"

struct ev_task;
struct serve_service;

enum { SERVICES_PROCESSES_MAX = 8192, SERVICES_PORTS_MAX = 8, SERVICES_NONE = -1 };

struct service {
	char name[LINK_NAME_LEN];
	char kind[LINK_NAME_LEN]; /* "unit nginx.service", "container web", "program perl" */
	uint32_t pid;		  /* its first process, 0: none lives */
	uint16_t ports[SERVICES_PORTS_MAX];
	uint32_t port_cnt;
	uint32_t process_cnt;	  /* that live */
	bool is_named;		  /* in the settings */
	bool has_changed;	  /* since it was last described to the keeper */
};

struct services {
	struct service items[LINK_SERVICES_MAX];
	uint32_t cnt;
	uint64_t over_cnt, processes_over_cnt; /* beyond the bounds */
	struct services_int *in;
};

/* named: cnt of them from the settings, none: all that listen.  Borrowed. */
struct services *services_new(const struct serve_service *named, size_t named_cnt);
void services_free(struct services *s);

/*
 * Looks at the host again.  add is called for each process that was not of a service
 * before; idle hosts cost a look at their listening sockets.
 */
void services_find(struct services *s, void (*add)(void *ctx, uint32_t tgid), void *ctx);

/* Children of a service's process are of it; what has ended is of none. */
void services_put(struct services *s, const struct ev_task *ev);

/* Index of the service that a process is of, or SERVICES_NONE. */
int services_of(const struct services *s, uint32_t tgid);

/* "unit nginx.service, port 80, 3 processes" */
void services_describe(const struct service *s, char *ret, size_t size);

#endif /* SERVICES_H */
