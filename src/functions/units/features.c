/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/features.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "model/calls/calls.h"
#include "model/model.h"

struct vectors *vectors_new(const struct model *m, const struct dims *d)
{
	struct vectors *v = xcalloc(1, sizeof(*v));

	v->m = m;
	v->d = d;
	return v;
}

void vectors_free(struct vectors *v)
{
	free(v);
}

static uint64_t call_end(const struct call *c)
{
	return c->begin_ns + c->dur_ns;
}

uint64_t unit_begin_ns(const struct model *m, const struct unit *u)
{
	const struct call *c = &m->calls->calls[u->first];

	return u->at_home ? call_end(c) : c->begin_ns;
}

/* Counts time after the last call as the unit's, until the thread asks for more work. */
uint64_t unit_end_ns(const struct model *m, const struct unit *u)
{
	const struct call *last = &m->calls->calls[u->first + u->cnt - 1];
	const struct call_run *run = &m->calls->runs[last->thread];
	bool has_next = u->first + u->cnt < run->first + run->cnt;
	uint64_t next = has_next ? last[1].begin_ns : 0;

	return next > call_end(last) ? next : call_end(last);
}

static void feature_add(struct vectors *v, unsigned dim, uint64_t ns)
{
	uint64_t bit = UINT64_C(1) << dim % 64, *word = &v->bits[dim / 64];

	if (!(*word & bit)) {
		*word |= bit;
		v->at[dim] = (struct feature){0};
	}
	v->at[dim].cnt++;
	v->at[dim].ns += ns;
	v->busy_ns += ns;
}

uint64_t own_gap_ns(const struct model_calls *all, const struct call *c, const struct call *next)
{
	uint64_t end_ns = call_end(c);
	uint64_t gap_ns = next->begin_ns > end_ns ? next->begin_ns - end_ns : 0;

	if (gap_ns && all->away_cnt + all->coarse_cnt)
		gap_ns -= calls_away_ns(all, end_ns, next->begin_ns);
	return next->flags & CALLF_SWITCHED && gap_ns < OWN_SWITCHED_NS ? 0 : gap_ns;
}

void vectors_of(struct vectors *v, const struct unit *u)
{
	const struct call *calls = v->m->calls->calls + u->first;
	const struct call_run *run = &v->m->calls->runs[calls->thread];
	uint32_t left = run->first + run->cnt - u->first;
	struct feature own = {0};

	memset(v->bits, 0, sizeof(v->bits));
	v->busy_ns = 0;
	v->stuck_dim = DIM_NONE;
	for (uint32_t i = 0; i < u->cnt; i++) {
		unsigned dim = v->d->of_nr[calls[i].nr];
		bool home = i == 0 && u->at_home;

		own.ns += i + 1 < left ? own_gap_ns(v->m->calls, &calls[i], &calls[i + 1]) : 0;
		if (dim == DIM_NONE)
			continue;
		own.cnt++;
		feature_add(v, dim, home ? 0 : calls[i].dur_ns);
		if (!home && calls[i].result == CALL_UNFINISHED && v->d->cls[dim] != CALL_END)
			v->stuck_dim = (uint16_t)dim;
	}
	v->at[DIM_OWN] = own;
	v->busy_ns += own.ns;
	v->cnt = 0;
	v->dims[v->cnt++] = DIM_OWN;
	for (unsigned w = 0; w < DIMS_MAX / 64; w++)
		for (uint64_t left = v->bits[w]; left; left &= left - 1)
			v->dims[v->cnt++] = (uint16_t)(w * 64 +
						       (unsigned)__builtin_ctzll(left));
	if (calls->flags & CALLF_WAIT)
		set_make_part(v->bits);
}
