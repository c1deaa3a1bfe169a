/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_PAUSES_H
#define MODEL_PAUSES_H
/*
 * Inside the model: times, as when the recorder of calls was away.  Bounded by
 * AWAYS_MAX; away_add says false to more, and to what is no time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/calls/calls.h"

#define AWAYS_MAX 65536

struct aways { VEC(struct call_away) items; };

bool away_add(struct aways *a, uint64_t begin_ns, uint64_t end_ns);
/* Sorts them and joins what overlaps. */
void away_sort(struct aways *a);
/* The common part of both, both sorted. */
void away_cross(const struct aways *a, const struct aways *b, struct aways *ret);

#endif /* MODEL_PAUSES_H */
