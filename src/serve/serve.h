/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_H
#define SERVE_H
/*
 * heldup as a service of the host: watches its services all the time, notices by
 * itself that one is in trouble, asks why of the minute before and during, and
 * keeps the answer.
 *
 * Four processes: serve_run's own starts the others and starts them again when
 * they fail; the watcher (watcher.h) has the rights of a watch, the keeper
 * (keeper.h) none, and neither has that which takes spans in (takes_spans.h).
 */
#include <stdbool.h>

struct err;
struct settings;

/* Until a stop is asked for: 0, or -errno when it could not begin. */
int serve_run(const struct settings *settings, struct err *err);

/* A service runs with this state directory. */
bool serve_runs(const char *state_dir);

#endif /* SERVE_H */
