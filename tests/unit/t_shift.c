/* SPDX-License-Identifier: Apache-2.0 */
/* Request types that become slower: what is noticed, how soon, and how often wrongly. */
#include <math.h>
#include <string.h>

#include "requests/live/shift.h"
#include "unit.h"

#define HOUR (3600 / SHIFT_SLICE_S)

static uint64_t seed;

static double uniform(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

struct host {			/* how the latency of a type behaves */
	double rate;		/* requests a second */
	double sigma;		/* of the logarithm */
	double load;		/* of the logarithm of a level that comes and goes over minutes */
	double stalls;		/* an hour, each of a second, in which requests wait for its end */
	double slow;		/* share of requests that take ten times as long: caches, GC */
};

static uint32_t bucket(double ns)
{
	uint32_t i = 0;

	while (i + 1 < LIVE_BUCKETS && (double)live_bucket_low(i + 1) <= ns)
		i++;
	return i;
}

static void add(struct live_sums *to, double ms)
{
	static const uint64_t hash = 1;

	to->cnt++;
	to->hist[bucket(ms * 1e6)]++;
	to->sum_us += ms * 1e3;
	to->edge_cnt = 1;
	to->edges[0].hash = hash;
	to->edges[0].sum_us += ms * 1e3;
}

static struct live_sums slice(const struct host *h, double *level, double ms)
{
	struct live_sums s = {0};
	double mean = h->rate * SHIFT_SLICE_S;
	int cnt = (int)(mean + sqrt(mean) * normal() + 0.5);
	bool stall = uniform() < h->stalls / HOUR;

	*level = 0.97 * *level + sqrt(1 - 0.97 * 0.97) * h->load * normal();
	for (int i = 0; i < cnt; i++) {
		double took = ms * exp(*level + h->sigma * normal());

		if (uniform() < h->slow)
			took *= 10;
		if (stall && i < cnt / SHIFT_SLICE_S)
			took += 1000 * uniform();
		add(&s, took);
	}
	return s;
}

static const struct host hosts[] = {
	{2, 0.4, 0.1, 2, 0.01}, {20, 0.4, 0.1, 2, 0.01}, {100, 0.5, 0.2, 4, 0.01},
	{20, 0.8, 0.2, 6, 0.005}, {50, 1.2, 0.1, 2, 0}, {10, 0.3, 0.25, 0, 0.02},
};

#define HOSTS (sizeof(hosts) / sizeof(*hosts))

TEST(shift_sound_hours)
{
	static struct shift s;
	struct live_edges edges = {0};
	struct shift_found found;
	unsigned alarm_cnt = 0, hours = 4;

	for (unsigned i = 0; i < HOSTS * hours; i++) {
		double level = 0;

		seed = i + 1;
		memset(&s, 0, sizeof(s));
		for (int k = 0; k < HOUR; k++) {
			struct live_sums one = slice(&hosts[i % HOSTS], &level, 20);

			if (one.cnt)
				alarm_cnt += shift_slice(&s, &one, &edges, &found) == SHIFT_BEGINS;
		}
	}
	/* of 600 such hours one had an alarm: docs/serve.md */
	EQ_U(alarm_cnt, 0);
}

/* Slices until it is noticed; -1: not within two minutes. */
static int noticed(const struct host *h, double factor, struct shift *s,
		   struct shift_found *found)
{
	struct live_edges edges = {.cnt = 1};
	double level = 0;

	memset(s, 0, sizeof(*s));
	seed = 7;
	edges.items[0].hash = 1;
	snprintf(edges.items[0].name, LIVE_EDGE_LEN, "in db SELECT");
	for (int k = 0; k < HOUR / 4; k++) {
		struct live_sums one = slice(h, &level, 20);

		EQ_I(shift_slice(s, &one, &edges, found), SHIFT_SOUND);
	}
	for (int k = 1; k <= 24; k++) {
		struct live_sums one = slice(h, &level, 20 * factor);

		if (shift_slice(s, &one, &edges, found) == SHIFT_BEGINS)
			return k;
	}
	return -1;
}

TEST(shift_is_noticed_with_its_edge)
{
	static struct shift s;
	struct live_edges none = {0};
	struct shift_found found;
	double level = 0;
	int k = noticed(&hosts[1], 3, &s, &found), end = 0;

	OK(k > 0 && k <= 4);
	OK(!found.tail);
	NEAR((double)found.now_ns, 60e6, 15e6);
	NEAR((double)found.usual_ns, 20e6, 4e6);
	EQ_S(found.edge.name, "in db SELECT");
	NEAR(found.edge.share, 1, 0.01);
	for (int i = 1; i < 24 && !end; i++) {
		struct live_sums one = slice(&hosts[1], &level, 20);

		if (shift_slice(&s, &one, &none, &found) == SHIFT_ENDS)
			end = i;
	}
	OK(end > 0 && end <= 5);
	EQ_I(noticed(&hosts[1], 1.2, &s, &found), -1);
}

TEST(shift_that_stays_is_what_is_usual)
{
	static struct shift s;
	struct live_edges none = {0};
	struct shift_found found;
	enum shift_step step = SHIFT_LASTS;
	double level = 0;
	int k;

	OK(noticed(&hosts[1], 3, &s, &found) > 0);
	for (k = 0; k < HOUR && step == SHIFT_LASTS; k++) {
		struct live_sums one = slice(&hosts[1], &level, 60);

		step = shift_slice(&s, &one, &none, &found);
	}
	EQ_I(step, SHIFT_ENDS);
	OK(k > HOUR / 3);
	for (k = 0; k < HOUR / 4; k++) {
		struct live_sums one = slice(&hosts[1], &level, 60);

		EQ_I(shift_slice(&s, &one, &none, &found), SHIFT_SOUND);
	}
}
