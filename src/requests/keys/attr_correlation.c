/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cmp.h"
#include "requests/keys/keys_int.h"
#include "requests/stats/tests.h"

/* Share of "among the slowest"; with fewer requests of a value it says nothing. */
static const double slowest_part = 0.05;
enum { RARE_CNT_MIN = 3 };

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

/*
 * Among many values each is rare, and one that is slow is lost among those that are
 * folded.  So where there are more than are kept apart, they are also looked at one by
 * one: is it among the slowest far more often than its share?
 */
struct rare {
	uint32_t label;		/* the one that chance makes least likely */
	double p;		/* of that, among all that were looked at; 1: none */
};

static struct rare rare_find(const struct column *col, struct test_room *room)
{
	uint32_t slowest = (uint32_t)ceil(slowest_part * col->cnt), tried = 0;
	struct rare r = {.p = 1};

	memset(room->cnts, 0, col->distinct_cnt * sizeof(*room->cnts));
	memset(room->order, 0, col->distinct_cnt * sizeof(*room->order));
	for (uint32_t i = 0; i < col->cnt; i++) {
		room->cnts[col->labels[i]]++;
		room->order[col->labels[i]] += room->yr[i] > col->cnt - slowest;
	}
	for (uint32_t v = 0; v < col->distinct_cnt; v++) {
		double p;

		if (room->cnts[v] < RARE_CNT_MIN)
			continue;
		tried++;
		p = stats_hyper_p(col->cnt, slowest, room->cnts[v], room->order[v]);
		if (p < r.p) {
			r.p = p;
			r.label = v;
		}
	}
	r.p = fmin(1, r.p * tried);
	return r;
}

static void set_eta2(const struct column *col, uint32_t labels, struct test_room *room,
		     struct request_key *key)
{
	key->eta2 = eta_squared(room->y, col->cnt, labels, room);
	key->strength = sqrt(fmax(0, 1 - (1 - key->eta2) * (col->cnt - 1) /
					     ((double)col->cnt - labels)));
}

void key_test_values(const struct column *col, const struct target *target,
		     struct test_room *room, struct request_key *key)
{
	uint32_t labels;
	double df1, df2, ranks;
	struct rare rare;

	load_targets(col, target, room);
	labels = fold_labels(col, room);
	df1 = labels - 1.0;
	df2 = (double)col->cnt - labels;
	key->kind = KEY_CATEGORICAL;
	key->p = 1;
	if (df1 < 1 || df2 < 1)
		return;
	ranks = eta_squared(room->yr, col->cnt, labels, room);
	key->p = stats_f_p(ranks / df1 / ((1 - ranks) / df2), df1, df2);
	set_eta2(col, labels, room, key);
	if (col->distinct_cnt < KEY_VALUES_MAX)
		return;
	rare = rare_find(col, room);
	if (rare.p < key->p) {
		for (uint32_t i = 0; i < col->cnt; i++)
			room->labels[i] = col->labels[i] == rare.label;
		set_eta2(col, 2, room, key);
	}
	key->p = fmin(1, 2 * fmin(key->p, rare.p));	/* two were made */
}

static int by_number(const void *a, const void *b, void *ctx)
{
	const double *x = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	CMP(x[i], x[j]);
	CMP(i, j);
	return 0;
}

/* Mean and median of the total at the places order[0..cnt), and how far off their ranks are. */
static void fill_value(const struct test_room *room, const uint32_t *order, uint32_t cnt,
		       double rank_mean, struct key_value *v)
{
	double sorted[SAMPLES_MAX], off = 0;
	uint32_t places[SAMPLES_MAX];

	for (uint32_t i = 0; i < cnt; i++) {
		sorted[i] = room->y[order[i]];
		places[i] = i;
		v->mean_ns += sorted[i] / cnt;
		off += room->yr[order[i]] - rank_mean;
	}
	qsort_r(places, cnt, sizeof(*places), by_number, sorted);
	v->p50_ns = sorted[places[(cnt - 1) / 2]];
	v->cnt = cnt;
	v->weight = off * off / cnt;
}

/* Ranges of about equal counts that do not part equal numbers. */
static uint16_t most_decimals(const struct column *col, const uint32_t *order, uint32_t cnt)
{
	uint16_t most = 0;

	for (uint32_t i = 0; i < cnt; i++)
		if (col->values[order[i]].decimals > most)
			most = col->values[order[i]].decimals;
	return most;
}

static void show_ranges(const struct column *col, struct test_room *room, struct arena *arena,
			struct request_key *key)
{
	struct key_value *values = ARENA_ARRAY(arena, struct key_value, KEY_RANGES);
	uint32_t cnt = col->cnt, shown = 0;
	double all = 0;

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
		v->decimals = most_decimals(col, room->order + first, end - first);
		fill_value(room, room->order + first, end - first, (cnt + 1) / 2.0, v);
		all += v->weight;
	}
	for (uint32_t i = 0; i < shown && all > 0; i++)
		values[i].weight /= all;
	key->values = values;
	key->value_cnt = key->told_cnt = shown;
}

struct rank_sum {		/* of the requests with one value */
	double sum, square;	/* of their ranks */
	double weight;		/* part of what lies between values */
	uint32_t cnt;
};

/* By a z of the sum of its ranks: one in 370 that do not differ. */
static const double sure_z = 3;

static const double told_part = 0.9;

static bool differs(const struct rank_sum *v, const struct rank_sum *rest)
{
	double n = rest->cnt, mean = rest->sum / n, var = rest->square / n - mean * mean;
	double off = v->sum - v->cnt * mean;

	if (v->cnt >= rest->cnt)
		return false;
	var *= v->cnt * (n - v->cnt) / (n - 1);
	return off * off > sure_z * sure_z * var;
}

/*
 * Of values by weight, how many to tell: until they make up most of what lies between all,
 * the first in any case, then those that surely differ from what is not listed yet.
 */
static uint32_t values_told(const struct rank_sum *values, uint32_t cnt, struct rank_sum all)
{
	double told = 0;
	uint32_t ret = 0;

	while (ret < cnt && ret < KEY_VALUES_TOLD && told < told_part &&
	       (!ret || differs(&values[ret], &all))) {
		all.sum -= values[ret].sum;
		all.square -= values[ret].square;
		all.cnt -= values[ret].cnt;
		told += values[ret++].weight;
	}
	return ret;
}

struct by_label {
	const struct column *col;
	const double *weights;	/* by label */
};

static int by_label_weight(const void *a, const void *b, void *ctx)
{
	const struct by_label *l = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	CMP(l->weights[l->col->labels[j]], l->weights[l->col->labels[i]]);
	CMP(l->col->labels[i], l->col->labels[j]);	/* by the first request that has it */
	CMP(i, j);
	return 0;
}

/*
 * What part of the variance between values (of ranks, so that one stalled request is
 * no more than one) each makes, into room->sums; their counts into room->cnts.
 */
static void weigh_labels(const struct column *col, struct test_room *room)
{
	double all = 0;

	memset(room->cnts, 0, col->distinct_cnt * sizeof(*room->cnts));
	memset(room->sums, 0, col->distinct_cnt * sizeof(*room->sums));
	for (uint32_t i = 0; i < col->cnt; i++) {
		room->cnts[col->labels[i]]++;
		room->sums[col->labels[i]] += room->yr[i] - (col->cnt + 1) / 2.0;
		room->order[i] = i;
	}
	for (uint32_t v = 0; v < col->distinct_cnt; v++) {
		room->sums[v] *= room->sums[v] / room->cnts[v];
		all += room->sums[v];
	}
	for (uint32_t v = 0; v < col->distinct_cnt && all > 0; v++)
		room->sums[v] /= all;
}

/* Sums the ranks of the requests at the places order[0..cnt). */
static struct rank_sum sum_ranks(const struct test_room *room, const uint32_t *order,
				 uint32_t cnt)
{
	struct rank_sum ret = {.cnt = cnt};

	for (uint32_t i = 0; i < cnt; i++) {
		ret.sum += room->yr[order[i]];
		ret.square += room->yr[order[i]] * room->yr[order[i]];
	}
	return ret;
}

static void show_labels(const struct column *col, struct test_room *room, struct arena *arena,
			struct request_key *key)
{
	struct by_label ctx = {.col = col, .weights = room->sums};
	struct key_value *values = ARENA_ARRAY(arena, struct key_value, KEY_LISTED_MAX);
	struct rank_sum ranks[KEY_LISTED_MAX], all;
	uint32_t shown = 0;

	weigh_labels(col, room);
	qsort_r(room->order, col->cnt, sizeof(*room->order), by_label_weight, &ctx);
	for (uint32_t i = 0; i < col->cnt && shown < KEY_LISTED_MAX;) {
		const struct sample_value *value = &col->values[room->order[i]];
		uint32_t label = col->labels[room->order[i]], cnt = room->cnts[label];
		struct key_value *v = &values[shown++];

		if (value->type == ATTR_STR)
			v->str = (uint32_t)value->str;
		else
			v->low = v->high = value->num;
		v->truth = value->type == ATTR_BOOL;
		v->decimals = most_decimals(col, room->order + i, cnt);
		fill_value(room, room->order + i, cnt, (col->cnt + 1) / 2.0, v);
		v->weight = room->sums[label];
		ranks[shown - 1] = sum_ranks(room, room->order + i, cnt);
		ranks[shown - 1].weight = v->weight;
		i += cnt;
	}
	key->values = values;
	key->value_cnt = shown;
	all = sum_ranks(room, room->order, col->cnt);
	key->told_cnt = values_told(ranks, shown, all);
}

void key_show_values(const struct column *col, const struct target *total,
		     struct test_room *room, struct arena *arena, struct request_key *key)
{
	load_targets(col, total, room);
	key->mean_ns = 0;
	for (uint32_t i = 0; i < col->cnt; i++)
		key->mean_ns += room->y[i] / col->cnt;
	if (key->kind == KEY_NUMERIC)
		show_ranges(col, room, arena, key);
	else
		show_labels(col, room, arena, key);
}
