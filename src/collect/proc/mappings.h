/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MAPPINGS_H
#define MAPPINGS_H
/*
 * The executable mappings of a process, and the files behind them.  The text
 * is the process's own to shape (paths hold any byte, mappings any number):
 * what is odd is left out and counted.
 *
 *	struct mappings m = {0};
 *	mappings_read(tgid, &m) ... mapping_open ... mappings_release(&m)
 *
 * Bounds: MAPPINGS_MAX, the rest is counted in cut_cnt; lines over
 * MAPPINGS_LINE are odd.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define MAPPINGS_MAX 16384
#define MAPPINGS_LINE 4400	/* PATH_MAX, doubled where bytes are escaped, and the numbers */

enum mapping_kind {
	MAPPING_FILE = 0,
	MAPPING_VDSO = 1,
	MAPPING_CODE = 2, /* no file: made at run time */
	MAPPING_VSYSCALL = 3,
};

struct mapping {
	uint64_t start, end;
	uint64_t off;
	uint64_t ino;
	uint32_t dev_major, dev_minor;
	uint8_t kind; /* enum mapping_kind */
	bool deleted;
	char *path; /* as the process sees it, or "[vdso]", "[anon:...]", "" */
};

struct mappings {
	VEC(struct mapping) items; /* ascending; code without a file is joined where it touches */
	uint32_t cut_cnt;
	uint32_t odd_cnt;
};

/*
 * What is there already is dropped first.  -ESRCH when the process is gone,
 * -EACCES, -ETIMEDOUT when its mmap lock is not let go of (timed_call.h).
 */
int mappings_read(uint32_t tgid, struct mappings *ret);
void mappings_release(struct mappings *m);

/* One line without its newline: 1 it is executable and taken, 0 it is not, -EINVAL. */
int mappings_add_line(struct mappings *m, const char *line);

/*
 * The mapped file itself, whatever its path names by now: descriptor, or
 * -errno.  -ENOENT: it is gone or another one; -EINVAL no regular file;
 * -ENOTSUP on a file system that a process may serve itself (FUSE); -ETIMEDOUT
 * when the process or the file system does not answer.
 */
int mapping_open(uint32_t tgid, const struct mapping *m);

/* Pages of executable mappings as the kernel counts them: mm->exec_vm.  0 unknown. */
uint64_t mappings_exec_pages(uint32_t tgid);

#endif /* MAPPINGS_H */
