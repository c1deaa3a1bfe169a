/* SPDX-License-Identifier: Apache-2.0 */
#include "model/keep/pause_spread.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"

enum {
	BIN_BITS = 30, /* 1.07 s */
	/* 34 ms, about as long as what the source records whole at a time */
	UNIT_BITS = 25,
	BINS_MAX = 1 << 20, /* twelve days; a longer window is taken as it is */
};
#define UNEVEN_MAX 2.0 /* to throw less away: evenness costs exactness */
#define PART_MIN 0.125 /* ... and a second with next to nothing shall not cost all others theirs */

struct bin { uint64_t chosen_ns, clear_ns; };

static uint64_t bin_at(const struct even *e, uint64_t ns)
{
	uint64_t bin = (ns >> BIN_BITS) - e->first;

	return bin < e->cnt ? bin : e->cnt - 1;
}

static uint64_t step_end(uint64_t ns, unsigned bits, uint64_t end_ns)
{
	uint64_t next = ((ns >> bits) + 1) << bits;

	return next < end_ns ? next : end_ns;
}

static void add_up(const struct even *e, struct bin *bins, uint64_t at, uint64_t end_ns,
		   bool clear)
{
	struct stretch s;

	while (pieces_next(e->pieces, at, end_ns, clear, &s))
		for (at = s.begin_ns; at < s.end_ns;) {
			uint64_t to = step_end(at, BIN_BITS, s.end_ns);
			struct bin *bin = &bins[bin_at(e, at)];

			*(clear ? &bin->clear_ns : &bin->chosen_ns) += to - at;
			at = to;
		}
}

static double density(const struct bin *bin)
{
	return bin->chosen_ns ? (double)bin->clear_ns / (double)bin->chosen_ns : 0;
}

void even_make(struct even *e, const struct pieces *pieces, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t most = 0;
	double least = 1, use;
	struct bin *bins;

	*e = (struct even){.pieces = pieces, .first = begin_ns >> BIN_BITS};
	if (pieces->coarse.cnt == 0 || begin_ns >= end_ns)
		return;
	e->cnt = (end_ns >> BIN_BITS) - e->first + 1;
	if (e->cnt > BINS_MAX)
		return;
	bins = xcalloc(e->cnt, sizeof(*bins));
	e->parts = xcalloc(e->cnt, sizeof(*e->parts));
	add_up(e, bins, begin_ns, end_ns, false);
	add_up(e, bins, begin_ns, end_ns, true);
	for (uint64_t i = 0; i < e->cnt; i++)
		most = bins[i].chosen_ns > most ? bins[i].chosen_ns : most;
	for (uint64_t i = 0; i < e->cnt; i++) {
		double is = density(&bins[i]);

		/* a part of a second says little */
		if (is > 0 && is < least && bins[i].chosen_ns * 4 >= most)
			least = is;
	}
	use = UNEVEN_MAX * least > PART_MIN ? UNEVEN_MAX * least : PART_MIN;
	for (uint64_t i = 0; i < e->cnt; i++)
		e->parts[i] = density(&bins[i]) > use ? use / density(&bins[i]) : 1;
	free(bins);
}

void even_release(struct even *e)
{
	free(e->parts);
	*e = (struct even){0};
}

static bool is_used(const struct even *e, uint64_t ns)
{
	double part = e->parts[bin_at(e, ns)];

	return part >= 1 || (double)(hash_u64(ns >> UNIT_BITS) >> 32) < part * 4294967296.0;
}

bool even_next(const struct even *e, uint64_t begin_ns, uint64_t end_ns, struct stretch *ret)
{
	struct stretch s;

	if (!e->parts)
		return pieces_next(e->pieces, begin_ns, end_ns, true, ret);
	while (pieces_next(e->pieces, begin_ns, end_ns, true, &s)) {
		while (s.begin_ns < s.end_ns && !is_used(e, s.begin_ns))
			s.begin_ns = step_end(s.begin_ns, UNIT_BITS, s.end_ns);
		begin_ns = s.end_ns;
		if (s.begin_ns >= s.end_ns)
			continue;
		ret->begin_ns = ret->end_ns = s.begin_ns;
		while (ret->end_ns < s.end_ns && is_used(e, ret->end_ns))
			ret->end_ns = step_end(ret->end_ns, UNIT_BITS, s.end_ns);
		return true;
	}
	return false;
}
