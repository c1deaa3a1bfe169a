/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_AWAY_H
#define MODEL_AWAY_H
/*
 * Inside the model: when the recorder of calls was away.  Bounded by AWAYS_MAX;
 * away_add says false to more, and to what is no time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/calls.h"

#define AWAYS_MAX 65536

struct event_hdr;

struct aways { VEC(struct call_away) items; };

bool away_add(struct aways *a, const struct event_hdr *ev);
/* Sorts them, joins what overlaps, and shows them; they stay a's. */
void away_publish(struct aways *a, struct model_calls *ret);

#endif /* MODEL_AWAY_H */
