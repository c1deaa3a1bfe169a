/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each variable is laid out as one column over both samples, the good ones
 * first, by hash of the request's id: so nothing depends on the order of files.
 * Values become labels in the order of their first request; of numbers with
 * many values ranges do.
 */
#include "requests/diff/key_changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "trace/points.h"
#include "requests/diff/changes.h"
#include "requests/keys/keys.h"
#include "requests/keys/keys_int.h"
#include "requests/requests_int.h"
#include "requests/stats/tests.h"

/* fewer say nothing by their mean: such a value is compared with all good requests */
enum { VALUE_CNT_MIN = 5 };

/* As for one set: what goes with less than a tenth of it does not explain it. */
static const double slower_min = 0.3, shifted_min = 0.1;

/* Values are listed until they make up so much of it, if they differ by that much, as a z. */
static const double told_part = 0.9, sure_z = 3;

/* More numbers than that become ranges. */
enum { NUMBERS_MAX = 2 * KEY_RANGES };

enum { ROWS_MAX = 2 * SAMPLES_MAX };

struct label {
	uint32_t first;		/* place of the first request that has it */
	uint32_t cnt[2];	/* good, bad */
	double sum[2], square[2];	/* of what they took; squares about the mean */
	double low, high;
	uint16_t decimals;	/* the most */
	double more_ns, error2;	/* what the bad ones took more, and its variance; slower */
	double df;
	bool known;		/* they are enough to tell */
	double weight;
};

/* One variable in both sets. */
struct joined {
	uint32_t point, key;
	uint32_t cnt, good_cnt;
	bool numeric, ranges;
	uint32_t label_cnt, distinct_cnt;
	struct sample_value values[ROWS_MAX];
	double ns[ROWS_MAX];
	uint32_t rows[ROWS_MAX];	/* of its set */
	uint32_t labels[ROWS_MAX];
	struct label of[ROWS_MAX + 1];	/* behind the last: those with too few requests together */
	uint32_t order[ROWS_MAX], same[ROWS_MAX];	/* room */
};

struct found {
	struct key_change change;
	uint64_t hash, text_hash;	/* hash: of which requests have the same value */
	uint32_t type;
};

struct finding {
	const struct requests *good, *bad;
	struct joined *j;
	struct arena *arena;
	const struct type_change *change;
	uint32_t type;
	VEC(struct found) found;
};

/* ---- values to labels */

static uint64_t bits_of(const struct sample_value *v)
{
	uint64_t bits;

	memcpy(&bits, &v->num, sizeof(bits));	/* of a text its id */
	return bits;
}

static int by_value(const void *a, const void *b, void *ctx)
{
	const struct joined *j = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct sample_value *v = &j->values[x], *w = &j->values[y];

	if (j->numeric)
		CMP(v->num, w->num);
	CMP(v->type, w->type);
	CMP(bits_of(v), bits_of(w));
	CMP(x, y);
	return 0;
}

static bool same_value(const struct joined *j, uint32_t a, uint32_t b)
{
	return j->values[a].type == j->values[b].type &&
	       bits_of(&j->values[a]) == bits_of(&j->values[b]);
}

static void count_distinct(struct joined *j)
{
	j->numeric = true;
	for (uint32_t i = 0; i < j->cnt; i++) {
		j->order[i] = i;
		j->numeric &= j->values[i].type == ATTR_NUM && isfinite(j->values[i].num);
	}
	qsort_r(j->order, j->cnt, sizeof(*j->order), by_value, j);
	j->distinct_cnt = 0;
	for (uint32_t i = 0; i < j->cnt; i++)
		j->distinct_cnt += !i || !same_value(j, j->order[i - 1], j->order[i]);
}

/* order is by value: labels are ranges of about equal bad counts that part no equal ones. */
static void label_ranges(struct joined *j)
{
	uint32_t bad_cnt = j->cnt - j->good_cnt, seen = 0, label = 0;

	j->ranges = true;
	for (uint32_t i = 0; i < j->cnt; i++) {
		uint64_t full = (uint64_t)bad_cnt * (label + 1) / KEY_RANGES;

		if (i && seen >= full && label + 1 < KEY_RANGES &&
		    !same_value(j, j->order[i - 1], j->order[i]))
			label++;
		j->labels[j->order[i]] = label;
		seen += j->order[i] >= j->good_cnt;
	}
	j->label_cnt = label + 1;
}

/* order is by value, which texts' is by chance: numbered anew by the first that has it. */
static void label_values(struct joined *j)
{
	uint32_t next = 0;

	j->ranges = false;
	for (uint32_t i = 0, first = 0; i < j->cnt; i++) {
		if (i && !same_value(j, j->order[i - 1], j->order[i]))
			first = i;
		j->same[j->order[i]] = j->order[first];	/* the lowest place of it */
	}
	for (uint32_t i = 0; i < j->cnt; i++)
		j->labels[i] = j->same[i] == i ? next++ : j->labels[j->same[i]];
	j->label_cnt = next;
}

/* Values of which more than every second is new are ids, if texts or great whole numbers. */
static bool is_id(const struct joined *j)
{
	if (2 * j->distinct_cnt <= j->cnt)
		return false;
	for (uint32_t i = 0; i < j->cnt && j->numeric; i++)
		if (fabs(j->values[i].num) < KEY_ID_NUMBER ||
		    floor(j->values[i].num) != j->values[i].num)
			return false;
	return true;
}

static void sum_labels(struct joined *j)
{
	memset(j->of, 0, (j->label_cnt + 1) * sizeof(*j->of));
	for (uint32_t i = j->cnt; i-- > 0;) {
		struct label *l = &j->of[j->labels[i]];
		bool bad = i >= j->good_cnt;
		double num = j->values[i].num;

		/* the bad ones come first here: theirs are named where there are any */
		if (!l->cnt[0] && !l->cnt[1])
			l->low = l->high = num;
		if (j->numeric && (bad || !l->cnt[1])) {
			l->low = fmin(l->low, num);
			l->high = fmax(l->high, num);
		}
		l->first = i;
		if (j->values[i].decimals > l->decimals)
			l->decimals = j->values[i].decimals;
		l->cnt[bad]++;
		l->sum[bad] += j->ns[i];
	}
	for (uint32_t i = 0; i < j->cnt; i++) {
		struct label *l = &j->of[j->labels[i]];
		bool bad = i >= j->good_cnt;
		double d = j->ns[i] - l->sum[bad] / l->cnt[bad];

		l->square[bad] += d * d;
	}
}

/* False: nothing can be learnt of it. */
static bool label(struct joined *j)
{
	count_distinct(j);
	if (j->distinct_cnt < 2 || is_id(j))
		return false;
	if (j->numeric && j->distinct_cnt > NUMBERS_MAX)
		label_ranges(j);
	else
		label_values(j);
	if (j->label_cnt < 2)
		return false;
	sum_labels(j);
	return true;
}

/* ---- the two ways */

static double mean_of(const struct joined *j, bool bad)
{
	uint32_t from = bad ? j->good_cnt : 0, to = bad ? j->cnt : j->good_cnt;
	double sum = 0;

	for (uint32_t i = from; i < to; i++)
		sum += j->ns[i];
	return to > from ? sum / (to - from) : NAN;
}

/* Sums of two sets as of one; of squares about their common mean. */
static void add_label(struct label *to, const struct label *from)
{
	for (int bad = 0; bad < 2; bad++) {
		double n = to->cnt[bad], m = from->cnt[bad], d;

		if (!m)
			continue;
		d = n > 0 ? to->sum[bad] / n - from->sum[bad] / m : 0;
		to->square[bad] += from->square[bad] + d * d * n * m / (n + m);
		to->sum[bad] += from->sum[bad];
		to->cnt[bad] += from->cnt[bad];
	}
}

/* all: what a label that the good ones have not is held against. */
static void hold_against(struct label *l, const struct label *all)
{
	const struct label *good = l->cnt[0] >= VALUE_CNT_MIN ? l : all;
	double n[2] = {good->cnt[0], l->cnt[1]}, part[2];

	l->known = l->cnt[1] >= VALUE_CNT_MIN && good->cnt[0] >= VALUE_CNT_MIN;
	if (!l->known)
		return;
	part[0] = good->square[0] / (n[0] - 1) / n[0];
	part[1] = l->square[1] / (n[1] - 1) / n[1];
	l->more_ns = l->sum[1] / n[1] - good->sum[0] / n[0];
	/* a nanosecond at least: clocks tell no less, and nothing is divided by 0 */
	l->error2 = part[0] + part[1] + 1;
	l->df = l->error2 * l->error2 /
		(part[0] * part[0] / (n[0] - 1) + part[1] * part[1] / (n[1] - 1) + 1e-9);
}

/* Each label's, and behind the last that of those with too few requests; returns the end. */
static uint32_t hold_all(struct joined *j)
{
	struct label all = {0}, *rest = &j->of[j->label_cnt];

	*rest = (struct label){0};
	for (uint32_t v = 0; v < j->label_cnt; v++)
		add_label(&all, &j->of[v]);
	for (uint32_t v = 0; v < j->label_cnt; v++) {
		hold_against(&j->of[v], &all);
		if (!j->of[v].known)
			add_label(rest, &j->of[v]);
	}
	hold_against(rest, &all);
	return j->label_cnt + 1;
}

/*
 * Welch's analysis of variance of what is more, label by label: each has an error of its
 * own, that of the good ones' mean included, so a stall makes no more than doubt.
 */
static double welch_p(const struct joined *j, uint32_t end)
{
	double sum = 0, mean = 0, f = 0, lambda = 0, cnt = 0;

	for (uint32_t v = 0; v < end; v++) {
		if (!j->of[v].known)
			continue;
		cnt++;
		sum += 1 / j->of[v].error2;
		mean += j->of[v].more_ns / j->of[v].error2;
	}
	if (cnt < 2)
		return 1;
	mean /= sum;
	for (uint32_t v = 0; v < end; v++) {
		const struct label *l = &j->of[v];
		double off = l->more_ns - mean, other;

		if (!l->known)
			continue;
		f += off * off / l->error2;
		other = 1 - 1 / l->error2 / sum;
		lambda += other * other / l->df;
	}
	f /= (cnt - 1) * (1 + 2 * (cnt - 2) / (cnt * cnt - 1) * lambda);
	return stats_f_p(f, cnt - 1, fmax(1, (cnt * cnt - 1) / (3 * fmax(lambda, 1e-9))));
}

/* Weights, and how much of the variance of the bad ones is between labels, less chance. */
static double weigh_slower(struct joined *j, uint32_t end)
{
	double mean = 0, cnt = 0, between = 0, chance = 0, within = 0;

	for (uint32_t v = 0; v < end; v++) {
		const struct label *l = &j->of[v];

		if (!l->known)
			continue;
		cnt += l->cnt[1];
		mean += l->cnt[1] * l->more_ns;
	}
	mean /= fmax(cnt, 1);
	for (uint32_t v = 0; v < end; v++) {
		struct label *l = &j->of[v];

		l->weight = 0;
		if (!l->known)
			continue;
		l->weight = l->cnt[1] * (l->more_ns - mean) * (l->more_ns - mean);
		between += l->weight;
		chance += l->cnt[1] * l->error2;
		within += l->square[1];
	}
	for (uint32_t v = 0; v < end && between > 0; v++)
		j->of[v].weight /= between;
	between = fmax(0, between - chance);
	return between > 0 ? between / (between + within) : 0;
}

static bool test_slower(struct joined *j, struct key_change *c)
{
	uint32_t end = hold_all(j);

	c->kind = KEY_CHANGE_SLOWER;
	c->p = welch_p(j, end);
	c->strength = sqrt(weigh_slower(j, end));
	return c->p < 1;
}

/* Shift of the mean by a label's greater share of the requests; 0 where nobody knows. */
static double shift_of(const struct joined *j, const struct label *l, double good_ns)
{
	double more = (double)l->cnt[1] / (j->cnt - j->good_cnt) - (double)l->cnt[0] / j->good_cnt;

	return l->cnt[0] >= VALUE_CNT_MIN ? more * (l->sum[0] / l->cnt[0] - good_ns) : 0;
}

static bool test_shifted(struct joined *j, const struct type_change *t, struct key_change *c)
{
	double good_ns = mean_of(j, false), error2 = 0, spread[2] = {0}, all = 0;
	uint32_t cnt[2] = {j->good_cnt, j->cnt - j->good_cnt};

	c->shift_ns = 0;
	for (uint32_t v = 0; v < j->label_cnt; v++) {
		struct label *l = &j->of[v];
		double shift = shift_of(j, l, good_ns), more, off;

		c->shift_ns += shift;
		more = (double)l->cnt[1] / cnt[1] - (double)l->cnt[0] / cnt[0];
		/* which are more frequent now says it: others are less so for that */
		l->weight = more > 0 ? fabs(shift) : 0;
		all += l->weight;
		if (l->cnt[0] < VALUE_CNT_MIN)
			continue;
		off = l->sum[0] / l->cnt[0] - good_ns;
		error2 += more * more * l->square[0] / (l->cnt[0] - 1.0) / l->cnt[0];
		for (int bad = 0; bad < 2; bad++)
			spread[bad] += off * off * l->cnt[bad] / cnt[bad];
	}
	for (uint32_t v = 0; v < j->label_cnt && all > 0; v++)
		j->of[v].weight /= all;
	error2 += spread[0] / cnt[0] + spread[1] / cnt[1];
	if (!(error2 > 0))
		return false;
	c->kind = KEY_CHANGE_SHIFTED;
	c->strength = c->shift_ns / t->delta_ns;
	c->p = stats_t_p(c->shift_ns / sqrt(error2), cnt[0] + cnt[1] - 2.0);
	return true;
}

/* ---- values to show */

static int by_weight(const void *a, const void *b, void *ctx)
{
	const struct joined *j = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (!j->ranges)
		CMP(j->of[y].weight, j->of[x].weight);
	CMP(x, y);
	return 0;
}

/* Counts the more frequent values that make most of the shift. */
static uint32_t shifted_told(const struct value_change *values, uint32_t cnt)
{
	double told = 0;
	uint32_t ret = 0;

	while (ret < cnt && ret < KEY_VALUES_TOLD && values[ret].weight > 0 && told < told_part)
		told += values[ret++].weight;
	return ret;
}

/* True if the rest, of which it is one, took more without it, and how sure that is. */
static bool differs_from_rest(const struct label *l, double cnt, double sum_ns, double error2)
{
	double n = l->cnt[1], left = cnt - n, mean;

	if (!(left > 0))
		return false;
	mean = (sum_ns - n * l->more_ns) / left;
	error2 = (error2 - n * n * l->error2) / (left * left);
	return fabs(l->more_ns - mean) > sure_z * sqrt(l->error2 + error2);
}

/* By weight until they make up most of it; the first, then those that surely differ. */
static uint32_t slower_told(const struct joined *j, uint32_t shown)
{
	double cnt = 0, sum_ns = 0, error2 = 0, told = 0;
	uint32_t ret = 0;

	for (uint32_t v = 0; v <= j->label_cnt; v++) {
		const struct label *l = &j->of[v];
		double n = l->known ? l->cnt[1] : 0;

		cnt += n;
		sum_ns += n * l->more_ns;
		error2 += n * n * l->error2;
	}
	while (ret < shown && ret < KEY_VALUES_TOLD && told < told_part) {
		const struct label *l = &j->of[j->order[ret]];
		double n = l->cnt[1];

		if (!l->known || (ret && !differs_from_rest(l, cnt, sum_ns, error2)))
			break;
		cnt -= n;
		sum_ns -= n * l->more_ns;
		error2 -= n * n * l->error2;
		told += l->weight;
		ret++;
	}
	return ret;
}

static void show(struct joined *j, struct arena *arena, struct key_change *c)
{
	uint32_t cnt = j->label_cnt < KEY_CHANGE_VALUES_MAX ? j->label_cnt : KEY_CHANGE_VALUES_MAX;
	struct value_change *values = ARENA_ARRAY(arena, struct value_change, cnt);

	for (uint32_t v = 0; v < j->label_cnt; v++)
		j->order[v] = v;
	qsort_r(j->order, j->label_cnt, sizeof(*j->order), by_weight, j);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct label *l = &j->of[j->order[i]];
		const struct sample_value *first = &j->values[l->first];

		values[i] = (struct value_change){
			.truth = first->type == ATTR_BOOL, .decimals = l->decimals,
			.good_cnt = l->cnt[0], .bad_cnt = l->cnt[1],
			.good_ns = l->cnt[0] ? l->sum[0] / l->cnt[0] : NAN,
			.bad_ns = l->cnt[1] ? l->sum[1] / l->cnt[1] : NAN,
			.weight = l->weight};
		if (first->type == ATTR_STR) {
			values[i].str = (uint32_t)first->str;
		} else {
			values[i].low = l->low;
			values[i].high = l->high;
		}
	}
	c->values = values;
	c->value_cnt = cnt;
	c->ranges = j->ranges;
	c->distinct_cnt = j->label_cnt;
	c->told_cnt = j->ranges ? cnt : c->kind == KEY_CHANGE_SLOWER ? slower_told(j, cnt)
								     : shifted_told(values, cnt);
}

/* ---- one type */

static uint64_t hash_of_rows(const struct joined *j)
{
	uint64_t hash = j->good_cnt;

	for (uint32_t i = 0; i < j->cnt; i++)
		hash = hash_pair(hash, (uint64_t)j->rows[i] << 32 | j->labels[i]);
	return hash;
}

static void put(struct finding *f, const struct key_change *c)
{
	struct joined *j = f->j;
	const struct strtab *strings = f->bad->strings;
	struct found new = {.change = *c, .type = f->type};
	const char *name = strtab_str(strings, j->key);

	new.change.point = j->point;
	new.change.key = j->key;
	new.change.good_cnt = j->good_cnt;
	new.change.bad_cnt = j->cnt - j->good_cnt;
	new.change.good_ns = mean_of(j, false);
	new.change.bad_ns = mean_of(j, true);
	new.hash = hash_pair(hash_of_rows(j), c->kind);
	new.text_hash = hash_pair(f->bad->points->items.items[j->point].hash,
				  hash_bytes(name, strlen(name)));
	if (c->p <= f->bad->opts.q_max)
		show(j, f->arena, &new.change);
	vec_push(&f->found, new);
}

static void look_at(struct finding *f)
{
	struct joined *j = f->j;
	struct key_change c = {0};

	if (j->good_cnt < KEY_CNT_MIN || j->cnt - j->good_cnt < KEY_CNT_MIN || !label(j))
		return;
	if (test_slower(j, &c))
		put(f, &c);
	c = (struct key_change){0};
	if (test_shifted(j, f->change, &c))
		put(f, &c);
}

static void append(struct joined *j, const struct key_cells *cells, uint32_t var,
		   const struct sample *const *rows)
{
	for (uint32_t i = var ? cells->ends[var - 1] : 0; i < cells->ends[var]; i++) {
		j->values[j->cnt] = cells->values[i];
		j->rows[j->cnt] = cells->rows[i];
		j->ns[j->cnt++] = (double)rows[cells->rows[i]]->total_ns;
	}
}

static void cells_make(const struct requests *r, const struct type *type, struct arena *arena,
		       struct key_cells *ret)
{
	uint32_t cnt = (uint32_t)type->leaves.cnt;

	key_cells_make(leaves_samples(type->leaves.items, cnt, arena), cnt,
		       (uint32_t)r->vars.items.cnt, ret);
}

static void type_find(struct finding *f, const struct type *good, const struct type *bad)
{
	CLEANUP(key_cells_release) struct key_cells g = {0};
	CLEANUP(key_cells_release) struct key_cells b = {0};
	struct joined *j = f->j;

	cells_make(f->good, good, f->arena, &g);
	cells_make(f->bad, bad, f->arena, &b);
	for (uint32_t var = 0; var < b.var_cnt; var++) {
		const struct key_var *v = &f->bad->vars.items.items[var];
		uint64_t good_var;

		if (!hmap_get(&f->good->vars.by_pair, (uint64_t)v->point << 32 | v->key, &good_var))
			continue;
		j->point = v->point;
		j->key = v->key;
		j->cnt = 0;
		append(j, &g, (uint32_t)good_var, (const struct sample *const *)g.samples.items);
		j->good_cnt = j->cnt;
		append(j, &b, var, (const struct sample *const *)b.samples.items);
		look_at(f);
	}
}

/* ---- all together */

static int by_same(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	CMP(x->type, y->type);
	CMP(x->hash, y->hash);
	CMP(x->text_hash, y->text_hash);
	return 0;
}

static int by_strength(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	CMP(x->type, y->type);
	CMP(fmin(y->change.strength, 1), fmin(x->change.strength, 1));
	CMP(x->text_hash, y->text_hash);
	CMP(x->change.kind, y->change.kind);
	return 0;
}

/* Keeps one of those that are the same for all requests. */
static void unite_same(struct finding *f)
{
	size_t kept = 0;

	vec_sort(&f->found, by_same);
	for (size_t i = 0; i < f->found.cnt; i++) {
		struct found *last = kept ? &f->found.items[kept - 1] : NULL;
		struct found *this = &f->found.items[i];

		if (last && last->type == this->type && last->hash == this->hash)
			last->change.alias_cnt++;
		else
			f->found.items[kept++] = *this;
	}
	f->found.cnt = kept;
}

static void judge(struct finding *f)
{
	size_t cnt = f->found.cnt, kept = 0;
	CLEANUP_FREE double *p = xmalloc((cnt + 1) * sizeof(*p));
	CLEANUP_FREE double *q = xmalloc((cnt + 1) * sizeof(*q));

	for (size_t i = 0; i < cnt; i++)
		p[i] = f->found.items[i].change.p;
	stats_fdr(p, cnt, q);
	for (size_t i = 0; i < cnt; i++) {
		struct key_change *c = &f->found.items[i].change;

		c->q = q[i];
		if (c->q <= f->bad->opts.q_max &&
		    c->strength >= (c->kind == KEY_CHANGE_SLOWER ? slower_min : shifted_min))
			f->found.items[kept++] = f->found.items[i];
	}
	f->found.cnt = kept;
	vec_sort(&f->found, by_strength);
}

const struct key_changes *key_changes_make(const struct requests *good,
					   const struct requests *bad,
					   const struct requests_diff *d, struct arena *arena)
{
	struct key_changes *ret = ARENA_ARRAY(arena, struct key_changes, d->type_cnt + 1);
	struct finding f = {.good = good, .bad = bad, .arena = arena,
			    .j = xmalloc(sizeof(*f.j))};

	for (f.type = 0; f.type < d->type_cnt; f.type++) {
		f.change = &d->types[f.type];
		if (f.change->low_ns > 0 || f.change->high_ns < 0)
			type_find(&f, good->types.items[f.change->good_type],
				  bad->types.items[f.change->bad_type]);
	}
	unite_same(&f);
	judge(&f);
	VEC_FOREACH(&f.found, found) {
		struct key_changes *k = &ret[found->type];
		struct key_change *items;

		if (!k->items)
			k->items = ARENA_ARRAY(arena, struct key_change, KEY_CHANGES_MAX);
		items = (struct key_change *)(uintptr_t)k->items;
		if (k->cnt < KEY_CHANGES_MAX)
			items[k->cnt++] = found->change;
	}
	vec_release(&f.found);
	free(f.j);
	return ret;
}
