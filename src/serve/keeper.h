/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KEEPER_H
#define KEEPER_H
/*
 * The half of `heldup serve` that judges and keeps: takes each second of each
 * service from the watcher (link.h), asks the rules, opens, updates and closes
 * findings, has captures made and judged, keeps the store and serves the pages.
 * It runs without a capability and may write below the state directory only.
 */
struct err;
struct links;
struct settings;

/* Returns when a stop was asked for (0) or the store failed (-errno). */
int keeper_run(const struct settings *settings, const struct links *links, struct err *err);

#endif /* KEEPER_H */
