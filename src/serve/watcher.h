/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATCHER_H
#define WATCHER_H
/*
 * The half of `heldup serve` that sees: one watch of all services, with one set
 * of BPF programs, for as long as it runs.  Sends each second of each service to
 * the keeper (link.h) and writes the minutes before to a file when the keeper
 * asks for it.  Runs in a process of its own, that ends when the keeper is gone.
 */
struct err;
struct links;
struct settings;

/* The name of a finding's file below the state directory. */
#define WATCHER_CAPTURE "%s/captures/%llu.heldup"

/* Returns when a stop was asked for (0) or the watch failed (-errno). */
int watcher_run(const struct settings *settings, const struct links *links, struct err *err);

#endif /* WATCHER_H */
