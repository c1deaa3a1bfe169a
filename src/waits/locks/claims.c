/* SPDX-License-Identifier: Apache-2.0 */
#include "waits/locks/claims.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "base/search.h"
#include "base/vec.h"

/* So many, and as many as are apart, are kept before they are merged. */
#define LOOSE_MAX 4096

struct claim { uint64_t begin_ns, end_ns; };
typedef VEC(struct claim) claim_vec;

struct claims {
	claim_vec *of;		/* by thread */
	size_t *merged;		/* how many the last merge left; by thread */
	bool *dirty;		/* some came since; by thread */
	uint32_t thread_cnt;
};

struct claims *claims_new(uint32_t thread_cnt)
{
	struct claims *c = xcalloc(1, sizeof(*c));

	c->of = xcalloc(thread_cnt + 1, sizeof(*c->of));
	c->merged = xcalloc(thread_cnt + 1, sizeof(*c->merged));
	c->dirty = xcalloc(thread_cnt + 1, sizeof(*c->dirty));
	c->thread_cnt = thread_cnt;
	return c;
}

void claims_free(struct claims *c)
{
	if (!c)
		return;
	for (uint32_t t = 0; t < c->thread_cnt; t++)
		vec_release(&c->of[t]);
	free(c->of);
	free(c->merged);
	free(c->dirty);
	free(c);
}

static int by_begin(const void *pa, const void *pb)
{
	const struct claim *a = pa, *b = pb;

	CMP(a->begin_ns, b->begin_ns);
	CMP(a->end_ns, b->end_ns);
	return 0;
}

static void merge(struct claims *c, uint32_t thread)
{
	claim_vec *v = &c->of[thread];
	size_t out = 0;

	vec_sort(v, by_begin);
	for (size_t i = 0; i < v->cnt; i++) {
		struct claim x = v->items[i];

		if (out && x.begin_ns <= v->items[out - 1].end_ns) {
			if (x.end_ns > v->items[out - 1].end_ns)
				v->items[out - 1].end_ns = x.end_ns;
		} else {
			v->items[out++] = x;
		}
	}
	v->cnt = c->merged[thread] = out;
	c->dirty[thread] = false;
}

void claims_add(struct claims *c, uint32_t thread, uint64_t a, uint64_t b)
{
	claim_vec *v = &c->of[thread];

	if (b <= a)
		return;
	if (v->cnt >= 2 * c->merged[thread] + LOOSE_MAX)
		merge(c, thread);
	vec_push(v, ((struct claim){ a, b }));
	c->dirty[thread] = true;
}

bool claims_rest(struct claims *c, uint32_t thread, uint64_t *a, uint64_t *b)
{
	claim_vec *v = &c->of[thread];
	size_t i;

	if (c->dirty[thread])
		merge(c, thread);
	i = SORTED_PREFIX(v->items, v->cnt, it, it->end_ns <= *a);
	if (i < v->cnt && v->items[i].begin_ns <= *a)
		*a = v->items[i++].end_ns;
	if (i < v->cnt && v->items[i].begin_ns < *b)
		*b = v->items[i].begin_ns;
	return *a < *b;
}
