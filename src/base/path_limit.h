/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_LIMIT_H
#define PATH_LIMIT_H
/*
 * Limits what a process may write by path (Landlock), and read where that is asked
 * for: nothing but what is named.  Descriptors that are open stay as they are.  The
 * kernel also refuses such a process the memory of any that is not so limited, root's
 * included.
 *
 *	path_limit_new, path_limit_allow ..., path_limit_apply, path_limit_close
 *
 * Paths that may lie on a file system that is dead are allowed in a child
 * (timed_fork.h): between _share and _unshare it has the limit, too, and what it
 * allows is allowed to all that have it.
 */
#include <stdbool.h>

struct path_limit;

/* NULL: the kernel has none (Linux before 5.13, or it is switched off). */
struct path_limit *path_limit_new(bool reads);
/* *w may be NULL. */
void path_limit_close(struct path_limit **w);

void path_limit_share(struct path_limit *w);
void path_limit_unshare(struct path_limit *w);

/*
 * A directory: files in it and below may be read, made, written, replaced and removed.
 * Another file that is there and is none of its own directory's (a device, a pipe):
 * it may be written.  A path that is not there: its nearest directory above.
 * 0 or -errno.
 */
int path_limit_allow(struct path_limit *w, const char *path);

/* A file, or all below a directory, may be read; 0 or -errno. */
int path_limit_allow_reading(struct path_limit *w, const char *path);
/* Allows reading the parts of the host that a watch needs: the list in path_limit.c. */
void path_limit_allow_host(struct path_limit *w);

/* For this thread and what it starts from now on, for good; 0 or -errno. */
int path_limit_apply(const struct path_limit *w);

#endif /* PATH_LIMIT_H */
