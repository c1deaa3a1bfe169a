/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPLETION_H
#define COMPLETION_H
/*
 * The completion of shells, made of the same tables as -h.  The Makefile runs it
 * through `heldup help --completion SHELL`.
 */
struct buf;

/* shell: bash, zsh or fish, NULL for bash.  -EINVAL: another. */
int completion_put(const char *shell, struct buf *out);

#endif /* COMPLETION_H */
