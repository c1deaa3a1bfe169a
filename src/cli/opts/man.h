/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MAN_H
#define MAN_H
/*
 * Manual pages, made of the same tables as -h.  The Makefile runs them through
 * `heldup help --man [COMMAND]`.
 */
struct buf;
struct cmd;

/* heldup-NAME(1), in man(7). */
void man_command(const struct cmd *cmd, struct buf *out);

/* heldup(1). */
void man_program(struct buf *out);

#endif /* MAN_H */
