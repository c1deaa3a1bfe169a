/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CALLS_WAITS_H
#define MODEL_CALLS_WAITS_H
/*
 * Inside the model: blocking calls, made of the waits in them.  Not for a
 * window in which all calls were recorded.
 */
#include <stdbool.h>

struct call;
struct ev_wait;
struct model;

/* false: it was in no call.  ret as the event of a call would say it: thread is the tid. */
bool call_of_wait(const struct model *m, const struct ev_wait *e, struct call *ret);

/* Both are the same call, of one thread, as published; then call has what both tell. */
bool call_joins(const struct call *before, struct call *call);

#endif /* MODEL_CALLS_WAITS_H */
