/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILE_H
#define FILE_H
/*
 * Whole files in one call, for the small ones: /proc, /sys, settings; and
 * what a path ends in.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

/*
 * Appends the file's bytes to out.  -E2BIG when there are more than max_bytes
 * (out then holds the first max_bytes), else the -errno of open or read with
 * out unchanged.  err may be NULL.
 */
int file_read(const char *path, size_t max_bytes, struct buf *out, struct err *err);

/* The same for a path below a directory descriptor, such as an open /proc/PID. */
int file_read_at(int dir_fd, const char *path, size_t max_bytes, struct buf *out, struct err *err);

/* Writes all of it in spite of short writes and signals; 0 or -errno. */
int file_write_all(int fd, const void *data, size_t len);

struct stat;

/*
 * Of what lies in dir: in a folder where everybody may write, what another user laid
 * there is not written to, be it a link (as with fs.protected_symlinks, which may be
 * off) or a file (fs.protected_regular): the user could have aimed it at anything.
 */
bool file_laid_by_another(const struct stat *dir, const struct stat *st);

/* The same of a path, in *ret_st what lies there itself, no link followed. -EACCES, -ENOENT. */
int file_look_own(const char *path, struct stat *ret_st);

/* The part after the last slash, or all of path where there is none; borrowed from path. */
const char *file_base_name(const char *path);

#endif /* FILE_H */
