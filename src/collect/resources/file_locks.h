/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILE_LOCKS_H
#define FILE_LOCKS_H
/*
 * Who holds the file lock (flock, fcntl) that a process waits for, by
 * /proc/locks.  The kernel names processes there, not threads, and an open
 * file description's lock has no process.
 */
#include <stdint.h>

/*
 * The holder of the lock that pid waits for in text, the content of /proc/locks;
 * 0: none is named.  Where several wait in line it is who holds it, not the next.
 */
uint32_t file_locks_holder(const char *text, uint32_t pid);

/* The same, asked of the kernel now; 0 where it cannot be. */
uint32_t file_locks_ask(uint32_t pid);

#endif /* FILE_LOCKS_H */
