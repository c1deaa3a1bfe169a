/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STOP_H
#define STOP_H
/*
 * Ending early: the first SIGINT, SIGTERM or SIGHUP asks the program to stop
 * and print what it has, the second ends it at once.
 */
#include <stdbool.h>

/* Installs the handlers; call once, from main. */
void stop_init(void);

bool stop_requested(void);

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
