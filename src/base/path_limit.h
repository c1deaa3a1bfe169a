/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PATH_LIMIT_H
#define PATH_LIMIT_H
/*
 * Limits what a process may write by path (Landlock): nothing but what is named.
 * Reading stays as it is, and so do descriptors that are open.  The kernel also
 * refuses such a process the memory of any that is not so limited, root's included.
 *
 *	path_limit_new, path_limit_allow ..., path_limit_apply, path_limit_close
 *
 * Paths that may lie on a file system that is dead are allowed in a child
 * (timed_fork.h): between _share and _unshare it has the limit, too, and what it
 * allows is allowed to all that have it.
 */
struct path_limit;

/* NULL: the kernel has none (Linux before 5.13, or it is switched off). */
struct path_limit *path_limit_new(void);
/* *w may be NULL. */
void path_limit_close(struct path_limit **w);

void path_limit_share(struct path_limit *w);
void path_limit_unshare(struct path_limit *w);

/*
 * A directory: files in it and below may be made, written, replaced and removed.
 * Another file that is there and is none of its own directory's (a device, a pipe):
 * it may be written.  A path that is not there: its nearest directory above.
 * 0 or -errno.
 */
int path_limit_allow(struct path_limit *w, const char *path);

/* For this thread and what it starts from now on, for good; 0 or -errno. */
int path_limit_apply(const struct path_limit *w);

#endif /* PATH_LIMIT_H */
