/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STDOUT_FILE_H
#define STDOUT_FILE_H
/*
 * Standard output that is a file: written by a child, since the file's system may
 * have died or be frozen, and then neither a signal nor anything else ends the write.
 * A terminal, a pipe and a device stay as they are.
 *
 * Bounds: TIMED_FORK_WRITE_NS for a write, TIMED_WORKER_STOP_NS once a stop is asked for.
 */

/* Before anything is printed. */
void stdout_file_guard(void);

/* The reason why writing to stdout failed, from errno. */
const char *stdout_file_error(void);

#endif /* STDOUT_FILE_H */
