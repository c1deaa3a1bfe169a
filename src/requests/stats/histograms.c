/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/stats/histograms.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"

/* the sum of fewer ranks is not normal enough */
enum { RANKED_MIN = 8 };

uint32_t bucket_of(uint64_t v, uint32_t bits)
{
	uint32_t shift;

	if (v < UINT64_C(1) << bits)
		return (uint32_t)v;
	shift = 63 - (uint32_t)__builtin_clzll(v) - bits;
	return ((shift + 1) << bits) | (uint32_t)((v >> shift) & ((UINT64_C(1) << bits) - 1));
}

uint64_t bucket_low(uint32_t bucket, uint32_t bits)
{
	uint32_t octave = bucket >> bits;
	uint64_t in_octave = bucket & ((1u << bits) - 1);

	return octave ? (in_octave | UINT64_C(1) << bits) << (octave - 1) : in_octave;
}

void hist_release(struct hist *h)
{
	free(h->cnts);
	memset(h, 0, sizeof(*h));
}

/* Makes bucket one of those counted. */
static void hist_reach(struct hist *h, uint32_t bucket)
{
	uint32_t first = h->first, last = h->first + h->bucket_cnt, *cnts;

	if (!h->bucket_cnt)
		first = last = bucket;
	if (bucket >= first && bucket < last)
		return;
	if (bucket < first)
		first = bucket;
	if (bucket >= last)
		last = bucket + 1;
	cnts = xcalloc(last - first, sizeof(*cnts));
	if (h->bucket_cnt)
		memcpy(cnts + (h->first - first), h->cnts, h->bucket_cnt * sizeof(*cnts));
	free(h->cnts);
	h->cnts = cnts;
	h->first = first;
	h->bucket_cnt = last - first;
}

static inline void hist_put(struct hist *h, uint64_t v)
{
	uint32_t bucket = bucket_of(v, HIST_BITS);

	if (!h->bucket_cnt || v < h->min)
		h->min = v;
	if (!h->bucket_cnt || v > h->max)
		h->max = v;
	if (bucket - h->first >= h->bucket_cnt)
		hist_reach(h, bucket);
	h->cnts[bucket - h->first]++;
}

void hist_add(struct hist *h, uint64_t v)
{
	hist_put(h, v);
}

void hists_add(struct hist *hists, const int64_t *took_ns, const uint32_t *cols, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		hist_put(&hists[cols ? cols[i] : i], (uint64_t)took_ns[i]);
}

void hist_merge(struct hist *to, const struct hist *from)
{
	if (!from->bucket_cnt)
		return;
	if (!to->bucket_cnt || from->min < to->min)
		to->min = from->min;
	if (!to->bucket_cnt || from->max > to->max)
		to->max = from->max;
	hist_reach(to, from->first);
	hist_reach(to, from->first + from->bucket_cnt - 1);
	for (uint32_t i = 0; i < from->bucket_cnt; i++)
		to->cnts[from->first - to->first + i] += from->cnts[i];
}

static uint64_t hist_cnt(const struct hist *h)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < h->bucket_cnt; i++)
		cnt += h->cnts[i];
	return cnt;
}

/* The first and the last value that can be in it. */
static void hist_bounds(const struct hist *h, uint32_t i, double *ret_low, double *ret_high)
{
	uint64_t low = bucket_low(h->first + i, HIST_BITS);
	uint64_t high = bucket_low(h->first + i + 1, HIST_BITS) - 1;

	*ret_low = (double)(low < h->min ? h->min : low);
	*ret_high = (double)(high > h->max ? h->max : high);
}

/* Which member is the one that q are not above; from 1. */
static uint64_t rank_of(double q, uint64_t cnt)
{
	double rank = ceil(q * (double)cnt);

	return rank < 1 ? 1 : rank > (double)cnt ? cnt : (uint64_t)rank;
}

void hist_quantiles(const struct hist *h, uint64_t zero_cnt, const double *qs, uint32_t cnt,
		    double *ret)
{
	uint64_t all = hist_cnt(h) + zero_cnt, before = zero_cnt;
	uint32_t bucket = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t rank = rank_of(qs[i], all);
		double low, high;

		ret[i] = 0;
		if (!all || rank <= zero_cnt)
			continue;
		while (bucket < h->bucket_cnt && before + h->cnts[bucket] < rank)
			before += h->cnts[bucket++];
		ret[i] = (double)h->max;
		if (bucket == h->bucket_cnt)
			continue;
		hist_bounds(h, bucket, &low, &high);
		ret[i] = low + (high - low) * ((double)(rank - before) - 0.5) / h->cnts[bucket];
	}
}

double hist_quantile(const struct hist *h, uint64_t zero_cnt, double q)
{
	double ret;

	hist_quantiles(h, zero_cnt, &q, 1, &ret);
	return ret;
}

double hist_rank(const struct hist *h, uint64_t zero_cnt, uint64_t v)
{
	uint64_t cnt = hist_cnt(h) + zero_cnt;
	uint32_t bucket = bucket_of(v, HIST_BITS);
	double below = v ? (double)zero_cnt : (double)zero_cnt / 2, low, high;

	if (!cnt)
		return 0;
	for (uint32_t i = 0; i < h->bucket_cnt && h->first + i <= bucket; i++) {
		if (h->first + i < bucket) {
			below += h->cnts[i];
			continue;
		}
		hist_bounds(h, i, &low, &high);
		if (high > low)
			below += h->cnts[i] * fmin(fmax(((double)v - low) / (high - low), 0), 1);
		else
			below += v ? h->cnts[i] / 2.0 : 0;
	}
	return below / (double)cnt;
}

static double hist_in(const struct hist *h, uint32_t bucket)
{
	return bucket >= h->first && bucket - h->first < h->bucket_cnt ?
		       h->cnts[bucket - h->first] : 0;
}

double hist_above_p(const struct hist *a, const struct hist *b)
{
	double n = (double)hist_cnt(a), m = (double)hist_cnt(b), all = n + m;
	double over = 0, below = 0, ties = 0, var;
	uint32_t end;

	if (n < RANKED_MIN || m < RANKED_MIN)
		return 1;
	end = a->first + a->bucket_cnt > b->first + b->bucket_cnt ? a->first + a->bucket_cnt
								  : b->first + b->bucket_cnt;
	for (uint32_t i = a->first < b->first ? a->first : b->first; i < end; i++) {
		double in_a = hist_in(a, i), in_b = hist_in(b, i), in = in_a + in_b;

		over += in_a * (below + in_b / 2);
		below += in_b;
		ties += in * in * in - in;
	}
	var = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
	return var > 0 ? 0.5 * erfc((over - n * m / 2) / sqrt(2 * var)) : 1;
}

uint32_t hist_middles(const struct hist *h, struct hist_middle *ret)
{
	uint32_t cnt = 0;
	double low, high;

	for (uint32_t i = 0; i < h->bucket_cnt; i++) {
		if (!h->cnts[i])
			continue;
		hist_bounds(h, i, &low, &high);
		ret[cnt].at = (low + high) / 2;
		ret[cnt++].cnt = h->cnts[i];
	}
	return cnt;
}

void tails_release(struct tails *t)
{
	VEC_FOREACH(&t->buckets, b)
		free(b->sums);
	vec_release(&t->buckets);
	hmap_release(&t->by_no);
	memset(t, 0, sizeof(*t));
}

/* The bucket with room for columns below column_cnt. */
static struct tails_bucket *tails_reach(struct tails *t, uint32_t no, uint32_t column_cnt)
{
	uint64_t *slot = hmap_slot(&t->by_no, no);
	struct tails_bucket *b;

	if (!*slot) {
		b = vec_add(&t->buckets);
		b->no = no;
		*slot = t->buckets.cnt;
		t->unsorted = true;
	}
	b = &t->buckets.items[*slot - 1];
	if (column_cnt > b->column_cnt) {
		b->sums = xreallocarray(b->sums, column_cnt, sizeof(*b->sums));
		memset(b->sums + b->column_cnt, 0,
		       (column_cnt - b->column_cnt) * sizeof(*b->sums));
		b->column_cnt = column_cnt;
	}
	return b;
}

static void tails_extent(struct tails *t, uint64_t min, uint64_t max, uint64_t cnt)
{
	if (!t->cnt || min < t->min)
		t->min = min;
	if (!t->cnt || max > t->max)
		t->max = max;
	t->cnt += cnt;
}

void tails_add(struct tails *t, const int64_t *took_ns, const uint32_t *cols, uint32_t cnt,
	       int64_t total_ns)
{
	uint32_t columns = cols ? 0 : cnt;
	struct tails_bucket *b;

	for (uint32_t i = 0; cols && i < cnt; i++)
		columns = cols[i] >= columns ? cols[i] + 1 : columns;
	b = tails_reach(t, bucket_of((uint64_t)total_ns, TAILS_BITS), columns);
	b->cnt++;
	b->total += (u128)total_ns;
	for (uint32_t i = 0; i < cnt; i++)
		b->sums[cols ? cols[i] : i] += (u128)took_ns[i];
	tails_extent(t, (uint64_t)total_ns, (uint64_t)total_ns, 1);
}

void tails_merge(struct tails *to, const struct tails *from, const uint32_t *cols)
{
	VEC_FOREACH(&from->buckets, f) {
		uint32_t columns = cols ? 0 : f->column_cnt;
		struct tails_bucket *b;

		for (uint32_t i = 0; cols && i < f->column_cnt; i++)
			columns = cols[i] >= columns ? cols[i] + 1 : columns;
		b = tails_reach(to, f->no, columns);
		b->cnt += f->cnt;
		b->total += f->total;
		for (uint32_t i = 0; i < f->column_cnt; i++)
			b->sums[cols ? cols[i] : i] += f->sums[i];
	}
	if (from->cnt)
		tails_extent(to, from->min, from->max, from->cnt);
}

void tails_move(struct tails *t, uint32_t col, uint32_t to)
{
	for (size_t i = 0; i < t->buckets.cnt; i++) {
		struct tails_bucket *b = &t->buckets.items[i];

		if (col >= b->column_cnt)
			continue;
		b = tails_reach(t, b->no, to + 1);
		b->sums[to] += b->sums[col];
		b->sums[col] = 0;
	}
}

static int by_no(const void *a, const void *b)
{
	const struct tails_bucket *x = a, *y = b;

	CMP(x->no, y->no);
	return 0;
}

void tails_sort(struct tails *t)
{
	if (!t->unsorted)
		return;
	vec_sort(&t->buckets, by_no);
	for (size_t i = 0; i < t->buckets.cnt; i++)
		hmap_put(&t->by_no, t->buckets.items[i].no, i + 1);
	t->unsorted = false;
}

static long double bucket_mean(const struct tails_bucket *b)
{
	return (long double)b->total / (long double)b->cnt;
}

double tails_quantile(const struct tails *t, double q)
{
	uint64_t rank = rank_of(q, t->cnt), before = 0;

	VEC_FOREACH(&t->buckets, b) {
		before += b->cnt;
		if (before >= rank)
			return (double)bucket_mean(b);
	}
	return 0;
}

double tails_quantile_of(const struct tails *const *sets, uint32_t cnt, double q)
{
	CLEANUP_FREE size_t *at = xcalloc(cnt + 1, sizeof(*at));
	uint64_t all = 0, before = 0, rank;

	for (uint32_t i = 0; i < cnt; i++)
		all += sets[i]->cnt;
	rank = rank_of(q, all);
	while (before < all) {
		uint32_t no = UINT32_MAX;
		u128 total = 0;
		uint64_t members = 0;

		for (uint32_t i = 0; i < cnt; i++)
			if (at[i] < sets[i]->buckets.cnt && sets[i]->buckets.items[at[i]].no < no)
				no = sets[i]->buckets.items[at[i]].no;
		for (uint32_t i = 0; i < cnt; i++) {
			if (at[i] == sets[i]->buckets.cnt || sets[i]->buckets.items[at[i]].no != no)
				continue;
			members += sets[i]->buckets.items[at[i]].cnt;
			total += sets[i]->buckets.items[at[i]++].total;
		}
		before += members;
		if (before >= rank)
			return (double)((long double)total / (long double)members);
	}
	return INFINITY;
}

double tails_rank(const struct tails *t, uint64_t ns)
{
	uint32_t no = bucket_of(ns, TAILS_BITS);
	double below = 0;

	if (!t->cnt)
		return 0;
	VEC_FOREACH(&t->buckets, b)
		below += b->no < no ? (double)b->cnt : b->no == no ? (double)b->cnt / 2 : 0;
	return below / (double)t->cnt;
}

double tails_effective_cnt(const struct tails *t)
{
	long double mean = 0, squares = 0, fourths = 0;

	VEC_FOREACH(&t->buckets, b)
		mean += (long double)b->total;
	mean /= t->cnt ? (long double)t->cnt : 1;
	VEC_FOREACH(&t->buckets, b) {
		long double d = bucket_mean(b) - mean;

		squares += (long double)b->cnt * d * d;
		fourths += (long double)b->cnt * d * d * d * d;
	}
	return fourths > 0 ? (double)(squares * squares / fourths) : 0;
}

static uint64_t slowest_cnt(const struct tails *t, double part)
{
	uint64_t cnt = (uint64_t)ceil(part * (double)t->cnt);

	return cnt < 1 ? 1 : cnt;
}

/* How many of the bucket are not among the slowest; *left are still to be taken off. */
static uint64_t kept_of(const struct tails_bucket *b, uint64_t *left)
{
	uint64_t off = *left < b->cnt ? *left : b->cnt;

	*left -= off;
	return b->cnt - off;
}

/* Means of the total ([0]) and the columns ([1 + i]) of those kept, and of the others. */
static uint64_t split_means(const struct tails *t, uint64_t off, uint32_t column_cnt,
			    long double *kept, long double *slow)
{
	uint64_t left = off, kept_cnt = t->cnt - off;

	for (size_t i = t->buckets.cnt; i-- > 0;) {
		const struct tails_bucket *b = &t->buckets.items[i];
		long double part = (long double)kept_of(b, &left) / (long double)b->cnt;

		kept[0] += part * (long double)b->total;
		slow[0] += (1 - part) * (long double)b->total;
		for (uint32_t c = 0; c < b->column_cnt && c < column_cnt; c++) {
			kept[1 + c] += part * (long double)b->sums[c];
			slow[1 + c] += (1 - part) * (long double)b->sums[c];
		}
	}
	for (uint32_t c = 0; c <= column_cnt; c++) {
		kept[c] /= kept_cnt ? (long double)kept_cnt : 1;
		slow[c] /= (long double)off;
	}
	return kept_cnt;
}

/*
 * Between buckets only: inside one the total varies by less than its width,
 * which is little where a group's CV is worth looking at.
 */
double tails_trimmed(const struct tails *t, double part, uint32_t column_cnt, double *ret_share)
{
	uint64_t left = slowest_cnt(t, part), kept_cnt;
	CLEANUP_FREE long double *mean = xcalloc(column_cnt + 1, sizeof(*mean));
	CLEANUP_FREE long double *cov = xcalloc(column_cnt + 1, sizeof(*cov));

	memset(ret_share, 0, column_cnt * sizeof(*ret_share));
	if (t->cnt < 2)
		return 0;
	kept_cnt = split_means(t, left, column_cnt, mean, cov);
	memset(cov, 0, (column_cnt + 1) * sizeof(*cov));
	for (size_t i = t->buckets.cnt; i-- > 0;) {
		const struct tails_bucket *b = &t->buckets.items[i];
		long double weight = (long double)kept_of(b, &left) *
				     (bucket_mean(b) - mean[0]);

		cov[0] += weight * (bucket_mean(b) - mean[0]);
		for (uint32_t c = 0; c < column_cnt; c++) {
			long double sum = c < b->column_cnt ? (long double)b->sums[c] : 0;

			cov[1 + c] += weight * (sum / (long double)b->cnt - mean[1 + c]);
		}
	}
	for (uint32_t c = 0; c < column_cnt && cov[0] > 0; c++)
		ret_share[c] = (double)(cov[1 + c] / cov[0]);
	return (double)(cov[0] / (long double)kept_cnt);
}

void tails_slowest(const struct tails *t, double part, uint32_t column_cnt, double *ret_share)
{
	CLEANUP_FREE long double *kept = xcalloc(column_cnt + 1, sizeof(*kept));
	CLEANUP_FREE long double *slow = xcalloc(column_cnt + 1, sizeof(*slow));

	memset(ret_share, 0, column_cnt * sizeof(*ret_share));
	if (t->cnt < 2)
		return;
	split_means(t, slowest_cnt(t, part), column_cnt, kept, slow);
	if (!(slow[0] > kept[0]))
		return;
	for (uint32_t c = 0; c < column_cnt; c++)
		ret_share[c] = (double)((slow[1 + c] - kept[1 + c]) / (slow[0] - kept[0]));
}
