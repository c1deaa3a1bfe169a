/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOG_H
#define LOG_H
/*
 * Lines to stderr for the person who runs the program: what is missing and
 * what it costs, progress.  Not for results and not for errors that a caller
 * can return.
 */

#include <stdbool.h>

enum log_level {
	LOG_ERROR = 0,
	LOG_WARN = 1, /* the default: this and above */
	LOG_INFO = 2,
	LOG_DEBUG = 3,
};

void log_set_level(enum log_level level);
bool log_shows(enum log_level level);

/* One line; "heldup: " and the newline are added. */
void log_print(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* At debug level: how far a start is, by CLOCK_MONOTONIC and the CPU used so far. */
void log_mark(const char *what);

#define log_error(...) log_print(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_print(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_print(LOG_DEBUG, __VA_ARGS__)

#endif /* LOG_H */
