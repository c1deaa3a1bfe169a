/* SPDX-License-Identifier: Apache-2.0 */
#ifndef THREAD_LANES_H
#define THREAD_LANES_H
/*
 * One followed request (src/paths) with its threads as rows: when each worked on it,
 * asked another server, or waited, and who held it up.  Nothing for a trace whose spans
 * name no threads.
 */
struct pen;
struct strtab;
struct trace;

void thread_lanes_text(const struct trace *t, const struct strtab *strings, struct pen *p);

#endif /* THREAD_LANES_H */
