/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUTEX_OWNER_H
#define FUTEX_OWNER_H
/*
 * Who holds the lock that a thread sleeps on now, as far as its memory
 * tells: glibc keeps the owner's thread id 8 bytes after a mutex word, a PI
 * futex has it in the word.  A hint: condition variables and other runtimes
 * have other things there, so it is taken only when it names a live thread
 * of a process that can hold the lock.
 */
#include <stdint.h>

/* 0 when it is unknown.  Owner's id is in this process's pid namespace. */
uint32_t owner_of_futex(uint32_t tgid, uint32_t tid);

#endif /* FUTEX_OWNER_H */
