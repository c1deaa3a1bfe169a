/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WRITE_LIMIT_H
#define WRITE_LIMIT_H
/*
 * Limits what a process may write by path (Landlock): nothing but what is named.
 * Reading stays as it is, and so do descriptors that are open.  The kernel also
 * refuses such a process the memory of any that is not so limited, root's included.
 *
 *	write_limit_new, write_limit_allow ..., write_limit_apply, write_limit_close
 *
 * Paths that may lie on a file system that is dead are allowed in a child
 * (timed_fork.h): between _share and _unshare it has the limit, too, and what it
 * allows is allowed to all that have it.
 */
struct write_limit;

/* NULL: the kernel has none (Linux before 5.13, or it is switched off). */
struct write_limit *write_limit_new(void);
/* *w may be NULL. */
void write_limit_close(struct write_limit **w);

void write_limit_share(struct write_limit *w);
void write_limit_unshare(struct write_limit *w);

/*
 * A directory: files in it and below may be made, written, replaced and removed.
 * Another file that is there and is none of its own directory's (a device, a pipe):
 * it may be written.  A path that is not there: its nearest directory above.
 * 0 or -errno.
 */
int write_limit_allow(struct write_limit *w, const char *path);

/* For this thread and what it starts from now on, for good; 0 or -errno. */
int write_limit_apply(const struct write_limit *w);

#endif /* WRITE_LIMIT_H */
