/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/flight/flight_anomaly.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"

#define LEARN_CNT 20	 /* seconds before any can be wrong */
#define ROW_CNT 3	 /* wrong seconds in a row: one may be a checkpoint, a fork, a neighbour */
#define TIMES 4.0	 /* what people call slow, and more than servers vary by themselves */
#define MADS 8.0	 /* of scaled MADs: hardly ever by chance, even where tails are heavy */
#define MAD_SCALE 1.4826 /* of a normal distribution: MAD to standard deviation */
#define ANSWER_MIN_NS (100 * NS_PER_MS)
#define OLDEST_MIN_NS NS_PER_SEC

void anomaly_release(struct anomaly *a)
{
	hmap_release(&a->reads);
	hmap_release(&a->answerers);
}

void anomaly_gone(struct anomaly *a, uint32_t tid)
{
	hmap_del(&a->reads, tid);
	hmap_del(&a->answerers, tid);
}

void anomaly_away(struct anomaly *a)
{
	hmap_clear(&a->reads);
}

void anomaly_call(struct anomaly *a, uint32_t tid, enum anomaly_op op, uint64_t end_ns)
{
	uint64_t begin;

	if (op == ANOMALY_READ) {
		if (a->reads.cnt < ANOMALY_THREADS_MAX && !hmap_get(&a->reads, tid, &begin))
			hmap_put(&a->reads, tid, end_ns);
	} else if (hmap_get(&a->reads, tid, &begin)) {
		uint64_t took_ns = end_ns > begin ? end_ns - begin : 0;

		hmap_del(&a->reads, tid);
		hmap_put(&a->answerers, tid, 1);
		a->sum_ns += took_ns;
		a->most_ns = took_ns > a->most_ns ? took_ns : a->most_ns;
		a->cnt++;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, unsigned cnt)
{
	qsort(values, cnt, sizeof(*values), by_value);
	return values[cnt / 2];
}

/* The value over which a series is anomalous; INFINITY: too little is known of it. */
static double limit_of(const struct anomaly_series *s, bool of_most)
{
	unsigned cnt = s->cnt < ANOMALY_SECONDS ? s->cnt : ANOMALY_SECONDS;
	double sorted[ANOMALY_SECONDS], dev[ANOMALY_SECONDS], mid, base;

	if (cnt < LEARN_CNT)
		return INFINITY;
	memcpy(sorted, s->last, cnt * sizeof(*sorted));
	mid = median(sorted, cnt);
	base = of_most ? sorted[cnt - 1] : mid;
	for (unsigned i = 0; i < cnt; i++)
		dev[i] = fabs(s->last[i] - mid);
	return fmax(TIMES * base, mid + MADS * MAD_SCALE * median(dev, cnt));
}

/* Wrong seconds are not learnt from: they would become what is usual. */
static bool series_add(struct anomaly_series *s, double value, double min, bool of_most)
{
	if (value > min && value > limit_of(s, of_most)) {
		s->bad++;
		return s->bad >= ROW_CNT;
	}
	s->bad = 0;
	s->last[s->cnt++ % ANOMALY_SECONDS] = value;
	if (s->cnt >= 2 * ANOMALY_SECONDS) /* never wraps */
		s->cnt -= ANOMALY_SECONDS;
	return false;
}

bool anomaly_second(struct anomaly *a, uint64_t now, char *ret_reason, size_t size)
{
	uint64_t oldest = 0, mean = a->cnt ? a->sum_ns / a->cnt : 0;
	struct hmap_entry e;
	char text[FMT_MAX];
	size_t pos = 0;
	bool slow, stuck;

	while (hmap_next(&a->reads, &pos, &e))
		if (now > e.value && now - e.value > oldest &&
		    hmap_get(&a->answerers, e.key, NULL))
			oldest = now - e.value;
	slow = a->cnt && series_add(&a->answer, (double)mean, (double)ANSWER_MIN_NS, false);
	if (oldest > OLDEST_MIN_NS && (double)oldest > limit_of(&a->longest, true))
		a->stuck_cnt++;
	else
		a->stuck_cnt = 0;
	stuck = a->stuck_cnt >= ROW_CNT;
	if (a->cnt && !a->stuck_cnt)
		series_add(&a->longest, (double)a->most_ns, (double)OLDEST_MIN_NS, true);
	a->sum_ns = a->cnt = a->most_ns = 0;
	if (stuck)
		snprintf(ret_reason, size, "anomaly: a read from a socket is not answered for %s",
			 fmt_ns(text, oldest));
	else if (slow)
		snprintf(ret_reason, size, "anomaly: answers take %s on average",
			 fmt_ns(text, mean));
	return slow || stuck;
}
