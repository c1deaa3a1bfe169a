/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PERFMAP_H
#define PERFMAP_H
/*
 * Names of code made at run time, from the file /tmp/perf-PID.map that Java,
 * Node.js, Python and others write: lines "START SIZE name", numbers in hex.
 * PID and /tmp are those of the process' own namespaces.  The file is only
 * taken when it is a regular one, and no link to one, that belongs to the
 * process' user or to root and was written since the process started.
 *
 *	struct perfmap m = {0};
 *	perfmap_load, perfmap_find ... perfmap_load again when it grew
 *	perfmap_release
 *
 * Code moves and its memory is used again, so of several lines for one address
 * the last in the file counts.  Names stay in the file.  Lines that are none
 * are skipped and counted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct buf;
struct err;

#define PERFMAP_BYTES_MAX (UINT64_C(128) << 20)

enum {
	PERFMAP_ENTRY_MAX = 1 << 20,
	PERFMAP_LINE_MAX = 4096, /* a longer name is cut */
	PERFMAP_BACK_MAX = 256,	 /* entries looked back at for one that reaches further */
};

struct perfmap_entry { /* sorted by start, of equal ones the later line last */
	uint64_t start;
	uint32_t len;
	uint32_t name_off; /* in the file */
	uint32_t seq;	   /* line */
	uint32_t name_len;
};

struct perfmap {
	int fd; /* -1: none */
	bool is_open;
	uint64_t dev, ino;
	uint64_t read_bytes;  /* of the file, whole lines */
	uint64_t tail_hash;   /* of the last bytes before that */
	VEC(struct perfmap_entry) entries;
	uint32_t line_cnt;
	uint64_t refused_cnt; /* lines that are none, or over a bound */
	uint64_t over_bytes;  /* of the file beyond PERFMAP_BYTES_MAX: not read */
};

/*
 * Opens the map of process tgid, or reads what was added to it since; from the
 * start when it was written anew.  *ret_changed (may be NULL): there was more.
 * -ENOENT there is none, -ELOOP it is a link, -EPERM another user's, -ESTALE of
 * an earlier process with this number, -ESRCH no such process; what was read
 * before stays.
 */
int perfmap_load(struct perfmap *m, uint32_t tgid, bool *ret_changed, struct err *err);

/* The same for an open file; for tests and fuzzing. */
int perfmap_load_fd(struct perfmap *m, int fd, bool *ret_changed, struct err *err);

/* The newest entry that holds addr, or NULL. */
const struct perfmap_entry *perfmap_find(const struct perfmap *m, uint64_t addr);

/* "" when the file no longer has it. */
void perfmap_name(const struct perfmap *m, const struct perfmap_entry *e, struct buf *ret_name);

uint64_t perfmap_bytes(const struct perfmap *m);

/* Fine on an all-zero one. */
void perfmap_release(struct perfmap *m);

/* "/tmp/perf-7.map", with the process' own number for itself; -ESRCH. */
int perfmap_path(uint32_t tgid, char *out, size_t out_len);

#endif /* PERFMAP_H */
