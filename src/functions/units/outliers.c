/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/outliers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "functions/units/functions_result.h"

static double capped(double dev)
{
	return dev > DEV_CAP ? DEV_CAP : dev < -DEV_CAP ? -DEV_CAP : dev;
}

double dev_cnt(const struct centre *c, const struct centre_dim *dim, uint32_t cnt)
{
	bool usual = dim && (double)dim->having >= USUAL_SHARE * (double)c->unit_cnt;
	double mid = usual ? dim->cnt.mid : 0, dev = usual ? dim->cnt.dev : 0;

	if (!cnt)
		return 0;
	return capped((log_cnt(cnt) - mid) / (dev > CNT_SPREAD_MIN ? dev : CNT_SPREAD_MIN));
}

double dev_ns(const struct centre_dim *dim, uint64_t ns, uint32_t cnt)
{
	if (!dim || dim->ns.mid <= 0 || !cnt)
		return 0;
	return capped((log_ns(ns, cnt) - dim->ns.mid) /
		      (dim->ns.dev > NS_SPREAD_MIN ? dim->ns.dev : NS_SPREAD_MIN));
}

double dev_busy(const struct centre *c, uint64_t busy_ns)
{
	return capped((log_ns(busy_ns, 1) - c->busy.mid) /
		      (c->busy.dev > NS_SPREAD_MIN ? c->busy.dev : NS_SPREAD_MIN));
}

/* ---- units to points */

struct maker {
	struct profile *p;
	VEC(struct point) points;
	VEC(struct coord) coords;
	VEC(uint32_t) next;	/* of the same hash, plus one */
	struct hmap by_hash;
	struct coord now[2 * DIMS_MAX];
	uint32_t now_cnt;
};

static void coord_add(struct maker *k, unsigned axis, double dev)
{
	if (fabs(dev) >= DEV_IGNORED)
		k->now[k->now_cnt++] = (struct coord){(uint16_t)axis, (int16_t)dev};
}

static void coords_of(struct maker *k, const struct vectors *v, const struct centre *c)
{
	uint32_t i = 0;

	k->now_cnt = 0;
	for (uint32_t n = 0; n < v->cnt || i < c->dim_cnt;) {
		unsigned mine = n < v->cnt ? v->dims[n] : DIM_NONE;
		unsigned usual = i < c->dim_cnt ? c->dims[i].dim : DIM_NONE;
		unsigned dim = mine < usual ? mine : usual;
		const struct centre_dim *cd = usual == dim ? &c->dims[i++] : NULL;
		const struct feature *f = mine == dim ? &v->at[dim] : NULL;

		n += f != NULL;
		if (dim != DIM_OWN)
			coord_add(k, dim * 2, dev_cnt(c, cd, f ? f->cnt : 0));
		coord_add(k, dim * 2 + 1, f ? dev_ns(cd, f->ns, f->cnt) : 0);
	}
}

static uint32_t point_get(struct maker *k, uint32_t cluster)
{
	uint64_t hash = hash_u64(hash_bytes(k->now, k->now_cnt * sizeof(*k->now)) + cluster);
	uint64_t *slot = hmap_slot(&k->by_hash, hash);
	struct point *pt;

	for (uint32_t i = (uint32_t)*slot; i; i = k->next.items[i - 1]) {
		pt = &k->points.items[i - 1];
		if (pt->cluster == cluster && pt->cnt == k->now_cnt &&
		    (pt->cnt == 0 || memcmp(k->coords.items + pt->first, k->now,
					    pt->cnt * sizeof(*k->now)) == 0))
			return i - 1;
	}
	pt = vec_add(&k->points);
	pt->cluster = cluster;
	pt->first = (uint32_t)k->coords.cnt;
	pt->cnt = k->now_cnt;
	for (uint32_t i = 0; i < k->now_cnt; i++) {
		vec_push(&k->coords, k->now[i]);
		if (k->now[i].at > pt->top)
			pt->top = k->now[i].at;
	}
	vec_push(&k->next, (uint32_t)*slot);
	*slot = k->points.cnt;
	return (uint32_t)k->points.cnt - 1;
}

/* ---- nearest neighbours */

static double distance(const struct coord *a, uint32_t na, const struct coord *b, uint32_t nb)
{
	double sum = 0;

	for (uint32_t i = 0, k = 0; i < na || k < nb;) {
		unsigned ax = i < na ? a[i].axis : UINT16_MAX + 1u;
		unsigned bx = k < nb ? b[k].axis : UINT16_MAX + 1u;
		double d = 0;

		if (ax <= bx)
			d += a[i++].at;
		if (bx <= ax)
			d -= b[k++].at;
		sum += d * d;
	}
	return sqrt(sum);
}

struct near { double at[KNN_K]; unsigned cnt; };

/* Keeps the k smallest, in order. */
static void near_add(struct near *n, unsigned k, double d, uint64_t times)
{
	if (k == 0)
		return;
	for (; times && (n->cnt < k || d < n->at[k - 1]); times--) {
		unsigned i = n->cnt < k ? n->cnt++ : k - 1;

		for (; i > 0 && n->at[i - 1] > d; i--)
			n->at[i] = n->at[i - 1];
		n->at[i] = d;
	}
}

void knn_scores(struct point *points, uint32_t n, const struct coord *coords)
{
	uint64_t all = 0;
	unsigned k;

	for (uint32_t i = 0; i < n; i++)
		all += points[i].unit_cnt;
	k = all > KNN_K ? KNN_K : (unsigned)(all ? all - 1 : 0);
	for (uint32_t i = 0; i < n; i++) {
		struct near near = {.cnt = 0};
		double sum = 0;

		near_add(&near, k, 0, points[i].unit_cnt - 1);
		for (uint32_t o = 0; o < n && k && (near.cnt < k || near.at[k - 1] > 0); o++)
			if (o != i)
				near_add(&near, k,
					 distance(coords + points[i].first, points[i].cnt,
						  coords + points[o].first, points[o].cnt),
					 points[o].unit_cnt);
		for (unsigned x = 0; x < near.cnt; x++)
			sum += near.at[x];
		points[i].score = near.cnt ? (float)(sum / near.cnt) : 0;
	}
}

/* ---- one cluster */


struct dist { double at; uint64_t cnt; };

static int cmp_dist(const void *pa, const void *pb)
{
	const struct dist *a = pa, *b = pb;

	return a->at < b->at ? -1 : a->at > b->at;
}

static double weighed_median(struct dist *d, uint32_t n, uint64_t all)
{
	uint64_t sum = 0;

	qsort(d, n, sizeof(*d), cmp_dist);
	for (uint32_t i = 0; i < n; i++) {
		sum += d[i].cnt;
		if (sum * 2 >= all)
			return d[i].at;
	}
	return 0;
}

static double score_limit(struct point *const *points, uint32_t n)
{
	CLEANUP_FREE struct dist *d = xcalloc(n + 1, sizeof(*d));
	double mid, limit;
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++) {
		d[i] = (struct dist){points[i]->score, points[i]->unit_cnt};
		all += points[i]->unit_cnt;
	}
	mid = weighed_median(d, n, all);
	for (uint32_t i = 0; i < n; i++)
		d[i].at = fabs(d[i].at - mid);
	limit = mid + 3 * 1.4826 * weighed_median(d, n, all);
	return limit > SCORE_MIN ? limit : SCORE_MIN;
}

struct coarse {			/* one cluster's points on a coarser grid */
	VEC(struct point) points;
	VEC(struct coord) coords;
	uint32_t *of;		/* by point */
};

/* The distances of a grid of 1 << shift deviations; points of the same cell are one. */
static void coarsen(struct point *const *points, uint32_t n, const struct coord *coords,
		    unsigned shift, struct coarse *c)
{
	CLEANUP(hmap_release) struct hmap cells = {0};

	vec_clear(&c->points);
	vec_clear(&c->coords);
	for (uint32_t i = 0; i < n; i++) {
		struct point pt = {.first = (uint32_t)c->coords.cnt};
		uint64_t *slot;

		for (uint32_t x = 0; x < points[i]->cnt; x++) {
			struct coord at = coords[points[i]->first + x];

			at.at = (int16_t)(at.at / (1 << shift) * (1 << shift));
			if (at.at)
				vec_push(&c->coords, at);
		}
		pt.cnt = (uint32_t)c->coords.cnt - pt.first;
		slot = hmap_slot(&cells, pt.cnt ? hash_bytes(c->coords.items + pt.first,
							     pt.cnt * sizeof(struct coord)) : 0);
		if (*slot) {
			c->coords.cnt = pt.first;
		} else {
			vec_push(&c->points, pt);
			*slot = c->points.cnt;
		}
		c->of[i] = (uint32_t)*slot - 1;
		c->points.items[c->of[i]].unit_cnt += points[i]->unit_cnt;
	}
}

static void cluster_scores(struct point *const *points, uint32_t n, const struct coord *coords)
{
	struct coarse c = {.of = xcalloc(n + 1, sizeof(*c.of))};
	unsigned shift = 0;
	double limit;

	do
		coarsen(points, n, coords, shift++, &c);
	while (c.points.cnt > POINTS_MAX && 1 << shift <= DEV_CAP);
	if (c.points.cnt > POINTS_MAX)
		c.points.cnt = POINTS_MAX; /* the rest is scored by its distance from the middle */
	knn_scores(c.points.items, (uint32_t)c.points.cnt, c.coords.items);
	for (uint32_t i = 0; i < n; i++)
		points[i]->score = c.of[i] < c.points.cnt ? c.points.items[c.of[i]].score
							  : points[i]->top;
	limit = score_limit(points, n);
	for (uint32_t i = 0; i < n; i++) {
		if (points[i]->score > limit && points[i]->top > 0)
			points[i]->reasons |= UNIT_NEIGHBOUR;
		if (points[i]->top > CENTRE_MAX)
			points[i]->reasons |= UNIT_CENTRE;
	}
	vec_release(&c.points);
	vec_release(&c.coords);
	free(c.of);
}

static void score_all(struct outliers *o, const struct profile *p)
{
	struct point **by_cluster = xcalloc(o->point_cnt + 1, sizeof(struct point *));
	uint32_t *first = xcalloc(p->cluster_cnt + 2, sizeof(*first));

	for (uint32_t i = 0; i < o->point_cnt; i++)
		first[o->points[i].cluster + 1]++;
	for (uint32_t i = 0; i < p->cluster_cnt; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < o->point_cnt; i++)
		by_cluster[first[o->points[i].cluster]++] = &o->points[i];
	for (uint32_t i = 0; i < p->cluster_cnt; i++) {
		uint32_t from = i ? first[i - 1] : 0;

		if (p->clusters[i].unit_cnt >= CLUSTER_UNITS_MIN)
			cluster_scores(by_cluster + from, first[i] - from, o->coords);
	}
	free(by_cluster);
	free(first);
}

void outliers_make(struct outliers *o, struct profile *p, const struct centre *const *centres)
{
	struct vectors *v = vectors_new(p->m, &p->dims);
	struct maker k = {.p = p};

	for (size_t i = 0; i < p->units.units.cnt; i++) {
		struct unit *u = &p->units.units.items[i];

		vectors_of(v, u);
		coords_of(&k, v, centres[u->pattern]);
		u->shape = point_get(&k, u->pattern);
		k.points.items[u->shape].unit_cnt++;
	}
	vectors_free(v);
	*o = (struct outliers){k.points.items, (uint32_t)k.points.cnt, k.coords.items,
			       k.coords.cnt, 0};
	o->bytes = k.points.cap * sizeof(struct point) + k.coords.cap * sizeof(struct coord) +
		   k.next.cap * sizeof(uint32_t) + k.by_hash.cap * 17;
	vec_release(&k.next);
	hmap_release(&k.by_hash);
	score_all(o, p);
}

void outliers_release(struct outliers *o)
{
	free(o->points);
	free(o->coords);
	*o = (struct outliers){0};
}
