/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLECT_SELECT_H
#define COLLECT_SELECT_H
/*
 * Which processes to look at, as the user wrote it.  All-zero selects
 * nothing.  Filled by cli/opts/select_opts.h, resolved to processes by target.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct select_pids {
	const int32_t *items; /* each above 0 */
	size_t cnt;
};

struct select_opts {
	struct select_pids pids;
	const char *comm;	/* extended regular expression, valid */
	const char *cgroup;	/* path or tail of one */
	const char *unit;	/* systemd unit */
	const char *container;	/* container.h: name, id, pod */
	int64_t port;		/* 0 for none */
	bool all;
	char **command;		/* NULL-terminated, NULL for none */
};

#endif /* COLLECT_SELECT_H */
