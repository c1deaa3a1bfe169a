/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PACKED_FILE_H
#define PACKED_FILE_H
/*
 * Files of the request engine (requests/forest/packed.h) on disk.  One that is
 * written takes the place of the old one when all of it is on the disk, so
 * that a crash leaves the old or the new.
 */
struct buf;
struct err;

/* All bytes are appended to out; what is in them is for forest_read and the like to judge. */
int packed_file_read(const char *path, struct buf *out, struct err *err);

/*
 * what: "forest".  -EEXIST for a file with something else in it.  A device or
 * FIFO is written in place; "-" is standard output.
 */
int packed_file_write(const char *path, const char *what, const struct buf *bytes,
		      struct err *err);

/* Before long work: refuses what packed_file_write is sure to, and folders nobody may write to. */
int packed_file_check(const char *path, const char *what, struct err *err);

#endif /* PACKED_FILE_H */
