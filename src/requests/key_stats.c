/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "requests/keys_int.h"
#include "requests/stats.h"

void key_test_begin(const struct column *col, uint32_t row_cnt, struct test_room *room)
{
	memset(room->places, 0, row_cnt * sizeof(*room->places));
	for (uint32_t i = 0; i < col->cnt; i++)
		room->places[col->rows[i]] = i + 1;
	if (!col->numeric)
		return;
	for (uint32_t i = 0; i < col->cnt; i++)
		room->x[i] = col->values[i].num;
	stats_ranks(room->x, col->cnt, room->order, room->xr);
}

/* The order of all rows is that of these with gaps: nothing needs sorting. */
static void load_targets(const struct column *col, const struct target *target,
			 struct test_room *room)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < col->cnt; i++)
		room->y[i] = target->ns[col->rows[i]];
	for (uint32_t i = 0; cnt < col->cnt; i++) {
		uint32_t place = room->places[target->order[i]];

		if (place)
			room->order[cnt++] = place - 1;
	}
	stats_ranks_in(room->y, room->order, cnt, room->yr);
}

void key_test_number(const struct column *col, const struct target *target,
		     struct test_room *room, struct request_key *key)
{
	load_targets(col, target, room);
	key->kind = KEY_NUMERIC;
	key->r = stats_r(room->x, room->y, col->cnt);
	key->rank_r = stats_r(room->xr, room->yr, col->cnt);
	key->p = stats_r_p(key->rank_r, col->cnt);
	key->eta2 = key->r * key->r;
	key->strength = fabs(key->r);
}

/* Rare values share the last label; returns how many labels there are. */
static uint32_t fold_labels(const struct column *col, struct test_room *room)
{
	uint32_t at_least = 1, kept;

	memset(room->cnts, 0, col->distinct_cnt * sizeof(*room->cnts));
	for (uint32_t i = 0; i < col->cnt; i++)
		room->cnts[col->labels[i]]++;
	do {
		kept = 0;
		for (uint32_t v = 0; v < col->distinct_cnt; v++)
			kept += room->cnts[v] >= at_least;
	} while (kept >= KEY_VALUES_MAX && ++at_least);
	kept = 0;
	for (uint32_t v = 0; v < col->distinct_cnt; v++)
		room->order[v] = room->cnts[v] >= at_least ? kept++ : UINT32_MAX;
	for (uint32_t i = 0; i < col->cnt; i++) {
		uint32_t label = room->order[col->labels[i]];

		room->labels[i] = label == UINT32_MAX ? kept : label;
	}
	return at_least > 1 ? kept + 1 : kept;
}

/* Variance between labels over all of it. */
static double eta_squared(const double *y, uint32_t cnt, uint32_t label_cnt,
			  struct test_room *room)
{
	double mean = 0, between = 0, all = 0;

	memset(room->cnts, 0, label_cnt * sizeof(*room->cnts));
	memset(room->sums, 0, label_cnt * sizeof(*room->sums));
	for (uint32_t i = 0; i < cnt; i++)
		mean += y[i] / cnt;
	for (uint32_t i = 0; i < cnt; i++) {
		room->cnts[room->labels[i]]++;
		room->sums[room->labels[i]] += y[i] - mean;
		all += (y[i] - mean) * (y[i] - mean);
	}
	for (uint32_t v = 0; v < label_cnt; v++)
		if (room->cnts[v])
			between += room->sums[v] * room->sums[v] / room->cnts[v];
	return all > 0 ? fmin(between / all, 1) : 0;
}

void key_test_values(const struct column *col, const struct target *target,
		     struct test_room *room, struct request_key *key)
{
	uint32_t labels;
	double df1, df2, ranks;

	load_targets(col, target, room);
	labels = fold_labels(col, room);
	df1 = labels - 1.0;
	df2 = (double)col->cnt - labels;
	key->kind = KEY_CATEGORICAL;
	key->p = 1;
	if (df1 < 1 || df2 < 1)
		return;
	ranks = eta_squared(room->yr, col->cnt, labels, room);
	key->eta2 = eta_squared(room->y, col->cnt, labels, room);
	key->p = stats_f_p(ranks / df1 / ((1 - ranks) / df2), df1, df2);
	key->strength = sqrt(fmax(0, 1 - (1 - key->eta2) * (col->cnt - 1) / df2));
}

static int by_number(const void *a, const void *b, void *ctx)
{
	const double *x = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	CMP(x[i], x[j]);
	CMP(i, j);
	return 0;
}

/* Mean and median of the target at the places order[0..cnt). */
static void fill_value(const double *ns, const uint32_t *order, uint32_t cnt,
		       struct key_value *v)
{
	double sorted[SAMPLES_MAX];
	uint32_t places[SAMPLES_MAX];

	for (uint32_t i = 0; i < cnt; i++) {
		sorted[i] = ns[order[i]];
		places[i] = i;
		v->mean_ns += sorted[i] / cnt;
	}
	qsort_r(places, cnt, sizeof(*places), by_number, sorted);
	v->p50_ns = sorted[places[(cnt - 1) / 2]];
	v->cnt = cnt;
}

/* Ranges of about equal counts that do not part equal numbers. */
static void show_ranges(const struct column *col, struct test_room *room, struct arena *arena,
			struct request_key *key)
{
	struct key_value *values = ARENA_ARRAY(arena, struct key_value, KEY_RANGES);
	uint32_t cnt = col->cnt, shown = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		room->x[i] = col->values[i].num;
		room->order[i] = i;
	}
	qsort_r(room->order, cnt, sizeof(*room->order), by_number, room->x);
	for (uint32_t first = 0, end; first < cnt && shown < KEY_RANGES; first = end) {
		struct key_value *v = &values[shown++];

		end = (uint32_t)((uint64_t)cnt * shown / KEY_RANGES);
		if (end <= first)
			end = first + 1;
		while (end < cnt &&
		       (shown == KEY_RANGES ||
			room->x[room->order[end]] == room->x[room->order[end - 1]]))
			end++;
		v->low = room->x[room->order[first]];
		v->high = room->x[room->order[end - 1]];
		fill_value(room->y, room->order + first, end - first, v);
	}
	key->values = values;
	key->value_cnt = shown;
}

struct by_label {
	const struct column *col;
	const uint32_t *cnts;
};

static int by_label_cnt(const void *a, const void *b, void *ctx)
{
	const struct by_label *l = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	CMP(l->cnts[l->col->labels[j]], l->cnts[l->col->labels[i]]);
	CMP(l->col->labels[i], l->col->labels[j]);	/* by the first request that has it */
	CMP(i, j);
	return 0;
}

static void show_labels(const struct column *col, struct test_room *room, struct arena *arena,
			struct request_key *key)
{
	struct by_label ctx = {.col = col, .cnts = room->cnts};
	struct key_value *values = ARENA_ARRAY(arena, struct key_value, KEY_LISTED_MAX);
	uint32_t shown = 0;

	memset(room->cnts, 0, col->distinct_cnt * sizeof(*room->cnts));
	for (uint32_t i = 0; i < col->cnt; i++) {
		room->cnts[col->labels[i]]++;
		room->order[i] = i;
	}
	qsort_r(room->order, col->cnt, sizeof(*room->order), by_label_cnt, &ctx);
	for (uint32_t i = 0; i < col->cnt && shown < KEY_LISTED_MAX;) {
		const struct sample_value *value = &col->values[room->order[i]];
		struct key_value *v = &values[shown++];
		uint32_t cnt = room->cnts[col->labels[room->order[i]]];

		if (value->type == ATTR_STR)
			v->str = (uint32_t)value->str;
		else
			v->low = v->high = value->num;
		fill_value(room->y, room->order + i, cnt, v);
		i += cnt;
	}
	key->values = values;
	key->value_cnt = shown;
}

void key_show_values(const struct column *col, const double *total_ns, struct test_room *room,
		     struct arena *arena, struct request_key *key)
{
	for (uint32_t i = 0; i < col->cnt; i++)
		room->y[i] = total_ns[col->rows[i]];
	if (key->kind == KEY_NUMERIC)
		show_ranges(col, room, arena, key);
	else
		show_labels(col, room, arena, key);
}
