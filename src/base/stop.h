/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STOP_H
#define STOP_H
/*
 * Ending early: the first SIGINT, SIGTERM or SIGHUP asks the program to stop
 * and print what it has, another one ends it at once.  What follows within
 * STOP_ECHO_NS is the same wish: timeout(1) signals its child and then the
 * group the child is in, a terminal that closes does so through the shell and
 * the kernel.  Nobody presses a key twice on purpose that fast.
 */
#include <stdbool.h>
#include <stddef.h>

#define STOP_ECHO_NS 250000000ULL

/* Installs the handlers, SIGHUP's not under nohup(1); call once, from main. */
void stop_init(void);
/* In a child that is to be another program: ignores what we were started with ignored. */
void stop_child(void);

bool stop_requested(void);

/*
 * The file that is being written, one at a time; NULL: none any more.  Of a
 * program that is ended at once it is removed when it has no more than its
 * first empty_bytes, else its name is printed.  path is copied.
 */
void stop_writes(const char *path, size_t empty_bytes);

/* Readable once a stop was asked for, to be polled beside others; -1 before stop_init. */
int stop_fd(void);

/*
 * SIGUSR1, for what a person may ask of a program that goes on: caught from
 * _init on; _taken is true once for each time it came.
 */
void stop_usr1_init(void);
bool stop_usr1_taken(void);

/* Asks as a signal would; for the end of a --duration or a 'q' key. */
void stop_now(void);

#endif /* STOP_H */
