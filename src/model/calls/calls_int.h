/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_CALLS_INT_H
#define MODEL_CALLS_INT_H
/*
 * Inside calls.c: times, as when the recorder of calls was away (pauses.c), bounded by
 * AWAYS_MAX: away_add says false to more, and to what is no time; and blocking calls, made of
 * the waits in them (calls_waits.c), not for a window in which all calls were recorded.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/calls/calls.h"

struct ev_wait;
struct model;

#define AWAYS_MAX 65536

struct aways { VEC(struct call_away) items; };

bool away_add(struct aways *a, uint64_t begin_ns, uint64_t end_ns);
/* Sorts them and joins what overlaps. */
void away_sort(struct aways *a);
/* The common part of both, both sorted. */
void away_cross(const struct aways *a, const struct aways *b, struct aways *ret);

/* false: it was in no call.  ret as the event of a call would say it: thread is the tid. */
bool call_of_wait(const struct model *m, const struct ev_wait *e, struct call *ret);

/* Both are the same call, of one thread, as published; then call has what both tell. */
bool call_joins(const struct call *before, struct call *call);

#endif /* MODEL_CALLS_INT_H */
