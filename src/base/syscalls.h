/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYSCALLS_H
#define SYSCALLS_H
/*
 * Names and numbers of the system calls of the machine that heldup was built
 * for, from its kernel headers and a list of newer ones.
 */
#include <stddef.h>

#define SYSCALL_MAX 1024 /* all numbers are below: those above are free for others */

/* NULL for a number without a name. */
const char *syscall_name(unsigned nr);

/* name: len bytes.  -ENOENT when this machine has no such call. */
int syscall_number(const char *name, size_t len);

#endif /* SYSCALLS_H */
