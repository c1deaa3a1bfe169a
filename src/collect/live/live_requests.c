/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums of a conversation over all CPUs and all of its turns, and from
 * which length on its turns are sent one by one.
 *
 * Of a socket asked often not each turn is timed (src/bpf/net/request_times.c): those that
 * are not are counted, and what was timed in the same tick stands for them.
 * Slow turns are summed one by one, so they stand for themselves only.
 */
#include <string.h>

#include "base/clock.h"
#include "collect/live/live_requests.h"
#include "wire/conf.h"

#define SLOW_TIMES 8	     /* a turn of so many medians is slow */
#define SLOW_PER_MINUTE 10.0 /* a bound that catches fewer shows too little to judge by */
#define SLOW_MIN_NS NS_PER_MS /* shorter waits are not recorded one by one either */
#define SLOW_MAX_US UINT32_MAX

/* Lower edge of a bucket, as hist_idx of src/bpf/net/request_times.c puts them. */
static uint64_t bucket_ns(unsigned i)
{
	uint64_t low = 1000ull << (i / 2);

	return i & 1 ? low + low / 2 : low;
}

void live_turns_join(struct wire_end *to, const struct wire_end *per_cpu, int cpu_cnt)
{
	*to = per_cpu[0];
	for (int c = 1; c < cpu_cnt; c++) {
		const struct wire_end *v = &per_cpu[c];

		to->turns += v->turns;
		to->service_ns += v->service_ns;
		to->queue_ns += v->queue_ns;
		to->queue_cnt += v->queue_cnt;
		to->idle_ns += v->idle_ns;
		to->txblock_ns += v->txblock_ns;
		to->txblock_cnt += v->txblock_cnt;
		to->rx_bytes += v->rx_bytes;
		to->tx_bytes += v->tx_bytes;
		to->partial_cnt += v->partial_cnt;
		to->conns += v->conns;
		to->refused += v->refused;
		to->untimed += v->untimed;
		to->slow_cnt += v->slow_cnt;
		to->slow_ns += v->slow_ns;
		to->slow_queue_ns += v->slow_queue_ns;
		if (v->answer_max_ns > to->answer_max_ns)
			to->answer_max_ns = v->answer_max_ns;
		for (int i = 0; i < WIRE_HIST_CNT; i++)
			to->hist[i] += v->hist[i];
		if (v->name[0])
			memcpy(to->name, v->name, sizeof(to->name));
	}
}

/* n is a difference: less than none where a turn turned out slow later, see answer_rest. */
static uint64_t times(uint64_t n, double by)
{
	double grown = (double)(int64_t)n * by;

	return (uint64_t)(int64_t)(grown < 0 ? grown - 0.5 : grown + 0.5);
}

/* How many turns each one that was timed since the last tick stands for. */
static double stands_for(const struct live_turns *t, const struct wire_end *now)
{
	int64_t timed = (int64_t)((now->turns - t->raw.turns) - (now->slow_cnt - t->raw.slow_cnt));

	return timed > 0 ? 1 + (double)(now->untimed - t->raw.untimed) / (double)timed : 1;
}

static void hist_grow(struct live_turns *t, const struct wire_end *now, double by)
{
	for (unsigned i = 0; i < WIRE_HIST_CNT; i++) {
		uint64_t more = now->hist[i] - t->raw.hist[i];

		more = bucket_ns(i) < TURN_SLOW_NS ? times(more, by) : more;
		t->sum.hist[i] += (int64_t)(t->sum.hist[i] + more) < 0 ? -t->sum.hist[i] : more;
	}
}

const struct wire_end *live_turns_all(struct live_turns *t, const struct wire_end *now,
				      double each)
{
	double by = stands_for(t, now) * each;
	uint64_t slow = now->slow_cnt - t->raw.slow_cnt;
	uint64_t slow_ns = now->slow_ns - t->raw.slow_ns;
	uint64_t slow_queue_ns = now->slow_queue_ns - t->raw.slow_queue_ns;
	uint64_t untimed = t->raw.untimed;
	struct wire_end sum = *now;

	hist_grow(t, now, by);
	memcpy(sum.hist, t->sum.hist, sizeof(sum.hist));
	sum.turns = t->sum.turns + slow + times(now->turns - t->raw.turns - slow, by);
	sum.service_ns = t->sum.service_ns + slow_ns +
			 times(now->service_ns - t->raw.service_ns - slow_ns, by);
	sum.queue_ns = t->sum.queue_ns + slow_queue_ns +
		       times(now->queue_ns - t->raw.queue_ns - slow_queue_ns, by);
	sum.queue_cnt = t->sum.queue_cnt + times(now->queue_cnt - t->raw.queue_cnt, by);
	sum.idle_ns = t->sum.idle_ns + times(now->idle_ns - t->raw.idle_ns, by);
	/* where none was timed, those that were not wait for the next tick */
	if ((int64_t)(now->turns - t->raw.turns - slow) > 0)
		untimed = now->untimed;
	t->raw = *now;
	t->raw.untimed = untimed;
	t->sum = sum;
	return &t->sum;
}

static uint64_t cnt_over(const uint64_t *hist, uint64_t ns)
{
	uint64_t cnt = 0;

	for (unsigned i = 0; i < WIRE_HIST_CNT; i++)
		cnt += bucket_ns(i) >= ns ? hist[i] : 0;
	return cnt;
}

/* The upper edge of the bucket that so many turns do not reach. */
static uint64_t quantile_ns(const uint64_t *hist, double q)
{
	uint64_t all = cnt_over(hist, 0), seen = 0;

	for (unsigned i = 0; i < WIRE_HIST_CNT; i++) {
		seen += hist[i];
		if (seen && (double)seen >= q * (double)all)
			return bucket_ns(i + 1);
	}
	return 0;
}

uint32_t live_turns_slow_us(const struct live_turns *t, uint64_t watched_ns)
{
	const uint64_t *hist = t->sum.hist;
	double minutes = (double)watched_ns / 60e9;
	uint64_t high = SLOW_TIMES * quantile_ns(hist, 0.5), low = quantile_ns(hist, 0.99), bound;

	if (!high || minutes <= 0)
		return 0;
	if (low > high) {
		bound = low;
		low = high;
		high = bound;
	}
	bound = (double)cnt_over(hist, high) > SLOW_PER_MINUTE * minutes ? high : low;
	bound = bound < SLOW_MIN_NS ? SLOW_MIN_NS : bound;
	return bound / 1000 < SLOW_MAX_US ? (uint32_t)(bound / 1000) : SLOW_MAX_US;
}
