/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPLACED_FILE_H
#define REPLACED_FILE_H
/*
 * A file that takes the place of an old one when all of it is on the disk, so
 * that a crash or a full disk leaves the old or the new.  What cannot be
 * replaced (a device, a FIFO, a file in a folder that nobody may write to) is
 * written in place.  Links are followed by the kernel's rules; one that another
 * user laid in a folder where everybody may write, or a file there, is refused
 * (-EACCES).  A file system that does not answer is given up on (-ETIMEDOUT,
 * base/timed/timed_fork.h).
 */
struct buf;
struct err;

/* Before long work: refuses what cannot be written, and creates nothing. */
int replaced_file_check(const char *path, struct err *err);

/* With the mode of the old one, and its owner where one may. */
int replaced_file_write(const char *path, const struct buf *bytes, struct err *err);

#endif /* REPLACED_FILE_H */
