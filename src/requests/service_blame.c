/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/service_blame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/edge_rank.h"

/* A service no edge of which is slow has no part in any, but for one whose other end is so too. */
static const double slower_min = 0.001;

struct partners {		/* two services, or one and itself */
	double log_sum;
	uint32_t edge_cnt;
};

struct found {
	struct service_blame blame;
	const char *name;
	double log_sum;
	uint32_t partner_cnt;
};

struct finding {
	const struct edge_rank_result *rank;
	const struct points *points;
	const struct strtab *strings;
	struct found *services;
	struct partners *pairs;
	uint32_t (*ends)[2];	/* by row: indexes of services */
	uint32_t *pair_of;	/* by row */
	struct hmap by_service, by_pair;	/* index, plus one */
};

static uint32_t service_at(struct finding *f, uint32_t point, uint32_t row)
{
	uint32_t service = f->points->items.items[point].service;
	uint64_t *slot = hmap_slot(&f->by_service, service);

	if (!*slot) {
		*slot = f->by_service.cnt;
		f->services[*slot - 1].blame.service = service;
		f->services[*slot - 1].blame.row = row;
		f->services[*slot - 1].name = strtab_str(f->strings, service);
	}
	return (uint32_t)(*slot - 1);
}

static uint32_t pair_at(struct finding *f, uint32_t a, uint32_t b)
{
	uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
	uint64_t *slot = hmap_slot(&f->by_pair, key);

	if (!*slot)
		*slot = f->by_pair.cnt;
	return (uint32_t)(*slot - 1);
}

/* Rows are in an order that is always the same, so are the numbers given here. */
static void rows_look(struct finding *f)
{
	for (uint32_t i = 0; i < f->rank->edge_cnt; i++) {
		const struct edge_rank_row *row = &f->rank->rows[i];
		struct partners *pair;

		f->ends[i][0] = service_at(f, row->from.point, i);
		f->ends[i][1] = service_at(f, row->to.point, i);
		f->pair_of[i] = pair_at(f, f->ends[i][0], f->ends[i][1]);
		pair = &f->pairs[f->pair_of[i]];
		pair->log_sum += fmax(row->log_ratio, 0);
		pair->edge_cnt++;
	}
}

static void slower_find(struct finding *f)
{
	for (uint32_t i = 0; i < f->rank->edge_cnt; i++) {
		struct partners *pair = &f->pairs[f->pair_of[i]];

		if (!pair->edge_cnt)	/* its edges are in already */
			continue;
		for (int end = 0; end < (f->ends[i][0] == f->ends[i][1] ? 1 : 2); end++) {
			struct found *s = &f->services[f->ends[i][end]];

			s->log_sum += pair->log_sum / pair->edge_cnt;
			s->partner_cnt++;
		}
		pair->edge_cnt = 0;
	}
	for (uint32_t i = 0; i < f->by_service.cnt; i++)
		f->services[i].blame.slower =
			f->services[i].log_sum / (f->services[i].partner_cnt + 1);
}

static double weight_of(const struct finding *f, uint32_t service)
{
	double slower = fmax(f->services[service].blame.slower, slower_min);

	return slower * slower;
}

static void blame_part(struct finding *f, struct service_blames *ret)
{
	for (uint32_t i = 0; i < f->rank->edge_cnt; i++) {
		const struct edge_rank_row *row = &f->rank->rows[i];
		double over = fmax(row->mean_ns - row->usual_ns, 0) * (double)row->visit_cnt;
		double from = weight_of(f, f->ends[i][0]), to = weight_of(f, f->ends[i][1]);

		ret->total_ns += row->mean_ns * (double)row->visit_cnt;
		if (i >= f->rank->row_cnt)	/* not surely longer than usual */
			continue;
		ret->over_ns += over;
		for (int end = 0; end < 2; end++) {
			struct service_blame *b = &f->services[f->ends[i][end]].blame;
			double part = (end ? to : from) / (from + to);

			b->score += row->score * part;
			b->over_ns += over * part;
		}
	}
}

static int found_cmp(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	CMP(y->blame.score, x->blame.score);
	return strcmp(x->name, y->name);
}

const struct service_blames *service_blames_make(const struct edge_rank_result *rank,
						 const struct points *points,
						 const struct strtab *strings,
						 struct arena *arena)
{
	struct service_blames *ret = ARENA_NEW(arena, struct service_blames);
	size_t cnt = rank->edge_cnt + (size_t)1;
	struct finding f = {
		.rank = rank, .points = points, .strings = strings,
		.services = ARENA_ARRAY(arena, struct found, 2 * cnt),
		.pairs = ARENA_ARRAY(arena, struct partners, cnt),
		.ends = arena_alloc(arena, cnt * sizeof(*f.ends)),
		.pair_of = ARENA_ARRAY(arena, uint32_t, cnt),
	};
	struct service_blame *items;

	rows_look(&f);
	slower_find(&f);
	blame_part(&f, ret);
	qsort(f.services, f.by_service.cnt, sizeof(*f.services), found_cmp);
	items = ARENA_ARRAY(arena, struct service_blame, f.by_service.cnt + 1);
	for (uint32_t i = 0; i < f.by_service.cnt && f.services[i].blame.score > 0; i++) {
		items[ret->cnt] = f.services[i].blame;
		items[ret->cnt].slower = exp(items[ret->cnt].slower);
		items[ret->cnt].share = ret->over_ns > 0 ? items[ret->cnt].over_ns / ret->over_ns
							 : 0;
		items[ret->cnt].time_share = items[ret->cnt].over_ns / fmax(ret->total_ns, 1);
		ret->cnt++;
	}
	ret->items = items;
	hmap_release(&f.by_service);
	hmap_release(&f.by_pair);
	return ret;
}
