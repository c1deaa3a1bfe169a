/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POINT_LINKS_H
#define POINT_LINKS_H
/*
 * Tracepoints that are on: links of the kernel's multi-uprobe kind, one for each
 * file, or one for each file and process.  Single uprobes are never used: each takes
 * 110 ms to close, and an owner of many cannot be killed while they do.
 *
 *	point_links_open, point_links_close; point_links_differ at the end
 *
 * No other process pays: where a file is run by others, too, or is a library, each
 * process has a link of its own, of POINT_PROCS_MAX processes at most; what these
 * fork later is then not seen.  Else one link has all of them, those to come as well.
 *
 * The kernel takes all off when the descriptors close, whatever ends this process.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;

#define POINT_PROCS_MAX 16
#define POINT_MAX 1023		/* numbers of tracepoints: 0 to this */

struct point_place {
	int fd;			/* the file: borrowed; equal for all places of one file */
	uint64_t file_off;
	uint32_t point;		/* its number in events */
	bool is_program;	/* the file is the processes' executable */
};

struct point_links {		/* all zero is valid and has none */
	VEC(int) fds;
	uint32_t proc_cnt;	/* with links of their own */
	uint32_t left_out_cnt;	/* processes over POINT_PROCS_MAX */
};

/* round: stands above the number in the program's cookie.  All places, or none and -errno. */
int point_links_open(struct point_links *l, int prog_fd, uint32_t round,
		     const struct point_place *places, size_t cnt, const uint32_t *tgids,
		     size_t tgid_cnt, struct err *err);

/* Takes all off; returns when no thread is in the program. */
void point_links_close(struct point_links *l);

struct point_differ {
	uint64_t byte_cnt;	/* other than in the file */
	uint32_t read_cnt;	/* places in processes that were compared */
	uint32_t unread_cnt;	/* that could not be */
};

/* Compares the code at the places in each process with the files. */
void point_links_differ(const struct point_place *places, size_t cnt, const uint32_t *tgids,
			size_t tgid_cnt, struct point_differ *ret);

#endif /* POINT_LINKS_H */
