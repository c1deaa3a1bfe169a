/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INROOT_H
#define INROOT_H
/*
 * Opening a file of another process' file system as that process would see it:
 * symbolic links are followed inside its root only, never out of it, never
 * through /proc's magic ones; what is no regular file is not opened at all, so
 * that nothing is set off and nobody is waited for.  A file system that does not
 * answer in time (timed_call.h) gives -ETIMEDOUT.
 */
#include <stdint.h>

/*
 * An ELF file, for reading; a descriptor, or -errno (-ELOOP a magic link, -EINVAL no
 * regular file, -ENOEXEC no ELF file).  root: "/proc/TGID/root", "/" for our own, or,
 * in tests, a folder, which is opened in this process.
 */
int inroot_open(const char *root, const char *path);

/*
 * A file that the process itself is to have written, below "/proc/TGID/root".
 * A link in its place is not followed (-ELOOP): those who may read less than
 * heldup does could lay one to what they may not read.
 */
int inroot_open_own(uint32_t tgid, const char *path);

/* The directory of dpkg's lists; what is opened below it with inroot_open_below stays below it. */
int inroot_open_dir(const char *root, const char *path);
int inroot_open_below(int dir_fd, const char *path);

#endif /* INROOT_H */
