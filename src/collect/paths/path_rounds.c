/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/paths/path_rounds.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"

#define COUNT_NS (120 * NS_PER_MS)
#define COUNT_STEP_NS (20 * NS_PER_MS)	/* so long a hot one is on at most, and its close */
#define TRIES 5				/* each takes off what is hot among what is left */
/* Later on: twice the share, over so long at least, since slow requests come in bursts. */
#define OVER_NS (500 * NS_PER_MS)
#define OVER_FACTOR 2
#define CPUS_MAX 1024

int path_rounds_start(struct path_rounds *r, int prog_fd, int hits_fd, struct err *err)
{
	int cpus = libbpf_num_possible_cpus();

	*r = (struct path_rounds){.prog_fd = prog_fd, .hits_fd = hits_fd};
	if (cpus < 1 || cpus > CPUS_MAX)
		return err_set(err, -ENOTSUP, "%d CPUs: this is not supported", cpus);
	r->cpu_cnt = cpus;
	return point_price(prog_fd, &r->price, err);
}

void path_rounds_release(struct path_rounds *r)
{
	point_links_close(&r->links);
	vec_release(&r->on);
	vec_release(&r->slow);
	vec_release(&r->hits);
	vec_release(&r->begin_hits);
	vec_release(&r->ever);
}

static uint64_t hits_of(const struct path_rounds *r, uint32_t point)
{
	uint64_t all[CPUS_MAX], sum = 0;

	if (bpf_map_lookup_elem(r->hits_fd, &point, all) < 0)
		return 0;
	for (int i = 0; i < r->cpu_cnt; i++)
		sum += all[i];
	return sum;
}

static double price_of(const struct path_rounds *r, size_t i)
{
	return r->slow.items[i] ? r->price.slow_ns : r->price.fast_ns;
}

void path_rounds_count(struct path_rounds *r)
{
	for (size_t i = 0; i < r->on.cnt; i++) {
		uint64_t hits = hits_of(r, r->on.items[i].point), more = hits - r->hits.items[i];

		r->hits.items[i] = hits;
		r->hit_cnt += more;
		r->cost_ns += (double)more * price_of(r, i);
	}
}

static void note_ever(struct path_rounds *r, const struct point_place *p)
{
	VEC_FOREACH(&r->ever, e)
		if (e->fd == p->fd && e->file_off == p->file_off)
			return;
	vec_push(&r->ever, *p);
}

static int links_on(struct path_rounds *r, const uint32_t *tgids, size_t tgid_cnt, struct err *err)
{
	vec_clear(&r->hits);
	for (size_t i = 0; i < r->on.cnt; i++) {
		vec_push(&r->hits, hits_of(r, r->on.items[i].point));
		note_ever(r, &r->on.items[i]);
	}
	r->round++;
	if (!r->on.cnt)
		return 0;
	return point_links_open(&r->links, r->prog_fd, r->round, r->on.items, r->on.cnt, tgids,
				tgid_cnt, err);
}

static void place_take_off(struct path_rounds *r, size_t at)
{
	r->on.cnt--;
	for (size_t i = at; i < r->on.cnt; i++) {
		r->on.items[i] = r->on.items[i + 1];
		r->slow.items[i] = r->slow.items[i + 1];
		r->hits.items[i] = r->hits.items[i + 1];
	}
}

/* The dearest go until the others cost what they may; how many went. */
static size_t drop_hot(struct path_rounds *r, const uint64_t *before, double seconds,
		       void (*hot)(void *ctx, uint32_t point, double hits_s), void *ctx)
{
	size_t dropped = 0;

	for (;;) {
		double sum = 0, top = 0;
		size_t top_at = 0;

		for (size_t i = 0; i < r->on.cnt; i++) {
			uint32_t point = r->on.items[i].point;
			double rate = (double)(r->hits.items[i] - before[point]) / seconds;
			double cost = rate * price_of(r, i);

			sum += cost;
			if (cost > top) {
				top = cost;
				top_at = i;
			}
		}
		if (sum <= PATH_ROUND_SHARE * NS_PER_SEC)
			return dropped;
		hot(ctx, r->on.items[top_at].point,
		    (double)(r->hits.items[top_at] - before[r->on.items[top_at].point]) / seconds);
		place_take_off(r, top_at);
		dropped++;
	}
}

static bool is_over(const struct path_rounds *r, double cost_before, uint64_t ns)
{
	return r->cost_ns - cost_before > PATH_ROUND_SHARE * (double)ns;
}

/* Counts for a while, less where it is clear before that it is too much; in seconds. */
static double count_for_a_while(struct path_rounds *r)
{
	const struct timespec step = {.tv_nsec = COUNT_STEP_NS};
	uint64_t begin = clock_mono_ns(), now = begin;
	double before = r->cost_ns;

	while (now - begin < COUNT_NS && !stop_requested()) {
		nanosleep(&step, NULL);
		now = clock_mono_ns();
		path_rounds_count(r);
		if (is_over(r, before, COUNT_NS))
			break;
	}
	return (double)(now - begin + 1) / 1e9;
}

int path_rounds_on(struct path_rounds *r, const struct path_round *want, const uint32_t *tgids,
		   size_t tgid_cnt, void (*hot)(void *ctx, uint32_t point, double hits_s),
		   void *ctx, struct err *err)
{
	uint64_t *before = xcalloc(POINT_MAX + 1, sizeof(*before));
	int rc = 0;

	vec_clear(&r->on);
	vec_clear(&r->slow);
	for (size_t i = 0; i < want->cnt && i < POINT_MAX; i++) {
		vec_push(&r->on, want->places[i]);
		vec_push(&r->slow, want->slow[i]);
	}
	for (int i = 0; i <= TRIES && rc == 0; i++) {
		double seconds;

		rc = links_on(r, tgids, tgid_cnt, err);
		if (rc < 0 || !r->on.cnt || i == TRIES)
			break;
		for (size_t k = 0; k < r->on.cnt; k++)
			before[r->on.items[k].point] = r->hits.items[k];
		seconds = count_for_a_while(r);
		if (!drop_hot(r, before, seconds, hot, ctx))
			break;
		point_links_close(&r->links);
	}
	free(before);
	r->begin_ns = clock_mono_ns();
	r->begin_cost_ns = r->cost_ns;
	vec_clear(&r->begin_hits);
	VEC_FOREACH(&r->hits, hits)
		vec_push(&r->begin_hits, *hits);
	return rc;
}

bool path_rounds_over(const struct path_rounds *r, uint32_t *ret_point, double *ret_hits_s)
{
	uint64_t ns = clock_mono_ns() - r->begin_ns;
	double top = -1;

	if (ns < OVER_NS)
		ns = OVER_NS;
	if (!r->on.cnt ||
	    r->cost_ns - r->begin_cost_ns <= OVER_FACTOR * PATH_ROUND_SHARE * (double)ns)
		return false;
	for (size_t i = 0; i < r->on.cnt; i++) {
		double hits = (double)(r->hits.items[i] - r->begin_hits.items[i]);

		if (hits * price_of(r, i) <= top)
			continue;
		top = hits * price_of(r, i);
		*ret_point = r->on.items[i].point;
		*ret_hits_s = hits * 1e9 / (double)ns;
	}
	return true;
}

void path_rounds_off(struct path_rounds *r)
{
	path_rounds_count(r);
	point_links_close(&r->links);
	vec_clear(&r->on);
	vec_clear(&r->slow);
	vec_clear(&r->hits);
}
