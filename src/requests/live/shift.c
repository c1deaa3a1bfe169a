/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two rules.  p50: the median of a window is half as long again as its median
 * over the past hour, eight spreads over it, and a fifth over the worst that it
 * was: load that comes and goes moves it less.  p99: of a window one in fifty
 * requests, and five at least, take half as long again as the worst p99 that was:
 * where one in a hundred is over p99, that is twice as many, and by so much.
 * Either must hold for two slices, p99 for three, and in the newest one by itself:
 * a stall is in the requests of two, and is no shift.  The test
 * `shift_sound_hours` says how often they err.
 */
#include "requests/live/shift.h"

#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"

#define REQUESTS_MIN 50	     /* of a window: its median is then 14 % of a spread off */
#define WINDOW_MIN 2	     /* slices: exporters send in bursts of five seconds */
#define LEARN_EVERY 3	     /* slices: windows overlap less */
#define LEARNT_MIN 8	     /* two minutes */
#define BEFORE_SLICES (600 / SHIFT_SLICE_S)
#define HOLDS 2		     /* slices in a row, to begin and to end */
#define TAIL_HOLDS 3	     /* to begin */
#define USUAL_AFTER (1800 / SHIFT_SLICE_S) /* after so long it is what is usual: a new version */
#define SPREADS 8
#define SPREAD_MIN 0.05	     /* of the median: half a bucket of the histograms */
#define P50_TIMES 1.5
#define P50_WORST_TIMES 1.2
#define P50_MORE_NS UINT64_C(2000000)  /* less is felt by nobody */
#define P99_WORST_TIMES 1.5
#define P99_MORE_NS UINT64_C(10000000)
#define P99_SHARE 0.02
#define P99_CNT 5

static int by_size(const void *a, const void *b)
{
	CMP(*(const uint64_t *)a, *(const uint64_t *)b);
	return 0;
}

struct usual {
	double median, spread, worst;
};

static struct usual usual_of(const struct shift *s, int which)
{
	uint32_t cnt = s->learnt_cnt < SHIFT_LEARNT ? s->learnt_cnt : SHIFT_LEARNT;
	uint64_t values[SHIFT_LEARNT] = {0};
	struct usual u = {0};

	if (!cnt)
		return u;
	for (uint32_t i = 0; i < cnt; i++)
		values[i] = s->learnt[i][which];
	qsort(values, cnt, sizeof(*values), by_size);
	u.median = (double)values[cnt / 2];
	u.worst = (double)values[cnt - 1];
	for (uint32_t i = 0; i < cnt; i++)
		values[i] = values[i] > (uint64_t)u.median ? values[i] - (uint64_t)u.median
							   : (uint64_t)u.median - values[i];
	qsort(values, cnt, sizeof(*values), by_size);
	u.spread = 1.4826 * (double)values[cnt / 2];
	if (u.spread < SPREAD_MIN * u.median)
		u.spread = SPREAD_MIN * u.median;
	return u;
}

/* The newest slices that have enough requests; false: all of them have not. */
static bool window_of(const struct shift *s, struct live_sums *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < SHIFT_SLICES && i < s->slice_cnt; i++) {
		if (i >= WINDOW_MIN && ret->cnt >= REQUESTS_MIN)
			return true;
		live_sums_add(ret, &s->slices[(s->slice_cnt - 1 - i) % SHIFT_SLICES]);
	}
	return s->slice_cnt >= WINDOW_MIN && ret->cnt >= REQUESTS_MIN;
}

static uint64_t above(const struct live_sums *w, double ns)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < LIVE_BUCKETS; i++)
		if ((double)live_bucket_low(i) >= ns)
			cnt += w->hist[i];
	return cnt;
}

static bool p50_holds(const struct shift *s, const struct live_sums *w,
		      const struct live_sums *newest, struct shift_found *ret)
{
	struct usual u = usual_of(s, 0);
	uint64_t now = live_sums_quantile(w, 0.5);
	double p50 = (double)now;

	if (p50 < P50_TIMES * u.median || p50 < u.median + SPREADS * u.spread ||
	    p50 < P50_WORST_TIMES * u.worst || p50 < u.median + P50_MORE_NS ||
	    (double)live_sums_quantile(newest, 0.5) < P50_TIMES * u.median)
		return false;
	*ret = (struct shift_found){.now_ns = now, .usual_ns = (uint64_t)u.median};
	return true;
}

static bool p99_holds(const struct shift *s, const struct live_sums *w,
		      const struct live_sums *newest, struct shift_found *ret)
{
	struct usual u = usual_of(s, 1);
	double least = P99_WORST_TIMES * u.worst;
	uint64_t cnt;

	if (least < u.worst + P99_MORE_NS)
		least = u.worst + P99_MORE_NS;
	cnt = above(w, least);
	if (cnt < P99_CNT || (double)cnt < P99_SHARE * (double)w->cnt ||
	    (double)above(newest, least) < P99_SHARE * (double)newest->cnt)
		return false;
	*ret = (struct shift_found){.tail = true, .now_ns = live_sums_quantile(w, 0.99),
				    .usual_ns = (uint64_t)u.median};
	return true;
}

static void learn(struct shift *s, const struct live_sums *slice, const struct live_sums *w)
{
	live_sums_add(&s->before[0], slice);
	if (++s->before_cnt >= BEFORE_SLICES) {
		s->before[1] = s->before[0];
		memset(&s->before[0], 0, sizeof(s->before[0]));
		s->before_cnt = 0;
	}
	if (s->slice_cnt % LEARN_EVERY || !w)
		return;
	s->learnt[s->learnt_cnt % SHIFT_LEARNT][0] = live_sums_quantile(w, 0.5);
	s->learnt[s->learnt_cnt % SHIFT_LEARNT][1] = live_sums_quantile(w, 0.99);
	s->learnt_cnt++;
}

static void find_edge(const struct shift *s, const struct live_sums *w,
		      const struct live_edges *edges, struct shift_found *ret)
{
	struct live_sums before = s->before[0];

	live_sums_add(&before, &s->before[1]);
	live_sums_longer(&before, w, edges, &ret->edge);
}

static enum shift_step lasts(struct shift *s, bool bad)
{
	s->calm_slices = bad ? 0 : s->calm_slices + 1;
	if (++s->lasted_slices <= USUAL_AFTER && s->calm_slices < HOLDS)
		return SHIFT_LASTS;
	if (s->lasted_slices > USUAL_AFTER)
		*s = (struct shift){0};
	s->lasted_slices = s->bad_slices = 0;
	return SHIFT_ENDS;
}

enum shift_step shift_slice(struct shift *s, const struct live_sums *slice,
			    const struct live_edges *edges, struct shift_found *ret)
{
	struct live_sums w;
	bool bad, enough;

	s->slices[s->slice_cnt++ % SHIFT_SLICES] = *slice;
	enough = window_of(s, &w);
	bad = enough && s->learnt_cnt >= LEARNT_MIN &&
	      (p50_holds(s, &w, slice, ret) || p99_holds(s, &w, slice, ret));
	if (bad)
		find_edge(s, &w, edges, ret);
	if (s->lasted_slices)
		return lasts(s, bad);
	s->bad_slices = bad ? s->bad_slices + 1 : 0;
	if (bad && s->bad_slices >= (ret->tail ? TAIL_HOLDS : HOLDS)) {
		s->lasted_slices = 1;
		s->calm_slices = 0;
		return SHIFT_BEGINS;
	}
	if (!bad)
		learn(s, slice, enough ? &w : NULL);
	return SHIFT_SOUND;
}
