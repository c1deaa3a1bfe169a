/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAPTURE_FILE_H
#define CAPTURE_FILE_H
/*
 * The file that a capture is written to, as jobs for a worker (base/timed/timed_fork.h):
 * its file system may be dead or go dead, and a watch must end all the same.
 *
 *	capture_file_new, timed_worker_new(capture_file_do, ...)
 *	_OPEN, _WRITE ..., _FINISH or _KEEP, _CLOSE
 *
 * Events go to PATH.PID.partial until _FINISH gives the file its name.  A device or
 * FIFO is written in place.
 */
#include <stdbool.h>

struct capture_file;
struct err;
struct timed_job;

enum capture_file_op {
	CAPTURE_FILE_OPEN,   /* leaves the name of the partial file in the shared memory, or "" */
	CAPTURE_FILE_WRITE,  /* the shared memory's first len bytes; all or, cut back, none */
	CAPTURE_FILE_FINISH,
	CAPTURE_FILE_KEEP,   /* after a failure; leaves the name of what is kept, or "" */
	CAPTURE_FILE_CLOSE,  /* and removes a partial file without events */
};

/* Bytes of shared memory that a name may take. */
#define CAPTURE_FILE_NAME_MAX 8192

/* path is borrowed. */
struct capture_file *capture_file_new(const char *path, bool force);

/* A timed_worker_fn. */
int capture_file_do(void *ctx, const struct timed_job *job, struct err *err);

/* The caller's own copy; NULL is fine. */
void capture_file_free(struct capture_file *f);

#endif /* CAPTURE_FILE_H */
