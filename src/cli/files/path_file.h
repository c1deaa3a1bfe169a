/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_FILE_H
#define PATH_FILE_H
/*
 * What following running servers saw (collect/paths/paths_watch.h) as a file: written
 * by `heldup requests --record`, read instead of watching.  The same calls of a sink,
 * in the same order, so the same answer.
 *
 *	path_file_begin, _port, _process, _event, _slice_end for each, path_file_end
 *	path_file_read or path_file_play, with the same sink as paths_watch
 *
 * A file is of one host, and read on machines of the same byte order.  Everything in it
 * is checked when it is read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_FILE_MAGIC "heldup-paths 1\n"
#define PATH_FILE_MAX ((size_t)1 << 29)	/* bytes; events over it are left out and counted */

struct buf;
struct err;
struct path_event;
struct paths_sink;
struct paths_watched;

struct path_file_head {
	int64_t offset_ns;	/* from CLOCK_MONOTONIC to since 1970 */
	char host[64];
};

void path_file_begin(struct buf *out, const struct path_file_head *head);
void path_file_port(struct buf *out, uint16_t port);
void path_file_process(struct buf *out, uint32_t tgid, const char *comm, bool switches);
/* false: it is left out, since the file is full. */
bool path_file_event(struct buf *out, const struct path_event *e);
void path_file_slice_end(struct buf *out);
void path_file_end(struct buf *out, const struct paths_watched *w);

/* By its first bytes.  "-" and what cannot be read is none. */
bool path_file_is(const char *path);

/* All of a file's bytes appended to out, with its head in *ret. */
int path_file_read(const char *path, struct buf *out, struct path_file_head *ret, struct err *err);

/* -EBADMSG with its offset in err for what heldup did not write. */
int path_file_head(const char *bytes, size_t len, struct path_file_head *ret, struct err *err);
int path_file_play(const char *bytes, size_t len, const struct paths_sink *sink,
		   struct paths_watched *ret, struct err *err);

#endif /* PATH_FILE_H */
