/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/stats/exemplars.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "requests/stats/histograms.h"

void copies_release(struct copies *c)
{
	VEC_FOREACH(&c->items, copy)
		free(copy->trace);
	vec_release(&c->items);
}

int copy_cmp(const struct copy *a, const struct copy *b)
{
	CMP(a->hash, b->hash);
	CMP(trace_id_cmp(&a->id, &b->id), 0);
	CMP(a->total_ns, b->total_ns);	/* of one trace there may be several requests */
	return 0;
}

static struct trace *trace_dup(const struct trace *from)
{
	size_t bytes = trace_copy_bytes(from);

	return bytes > COPY_BYTES_MAX ? NULL : trace_copy_to(xmalloc(bytes), from);
}

struct places {			/* of one bucket */
	struct copy *first;	/* the lowest */
	struct copy *last;	/* the highest of the others; NULL: there are none */
	uint32_t more_cnt;	/* others */
};

static struct places places_find(struct copies *c, uint32_t bucket)
{
	struct places p = {0};

	VEC_FOREACH(&c->items, copy) {
		struct copy *other = copy;

		if (copy->bucket != bucket)
			continue;
		if (!p.first) {
			p.first = copy;
			continue;
		}
		if (copy_cmp(copy, p.first) < 0) {
			other = p.first;
			p.first = copy;
		}
		if (!p.last || copy_cmp(p.last, other) < 0)
			p.last = other;
		p.more_cnt++;
	}
	return p;
}

static bool is_wanted(const struct places *p, const struct copy *copy)
{
	return !p->first || copy_cmp(copy, p->first) < 0 ||
	       (copy->is_small && (p->more_cnt < COPY_MORE || copy_cmp(copy, p->last) < 0));
}

/* A wanted one, instead of the one that it pushes out. */
static void put(struct copies *c, const struct places *p, const struct copy *copy)
{
	struct copy *out = NULL;

	if (p->first && copy_cmp(copy, p->first) < 0 && !p->first->is_small)
		out = p->first;
	else if (p->more_cnt == COPY_MORE)
		out = p->last;
	if (out) {
		free(out->trace);
		*out = *copy;
	} else {
		vec_push(&c->items, *copy);
	}
}

void copies_add(struct copies *c, const struct trace *trace, uint64_t hash, int64_t total_ns)
{
	struct copy new = {.bucket = bucket_of((uint64_t)total_ns, COPIES_BITS),
			   .is_small = trace_copy_bytes(trace) <= COPY_SMALL_MAX,
			   .hash = hash,
			   .id = trace->id,
			   .total_ns = total_ns};
	struct places places = places_find(c, new.bucket);

	if (!is_wanted(&places, &new))
		return;
	new.trace = trace_dup(trace);
	put(c, &places, &new);
}

void copies_move(struct copies *to, struct copies *from)
{
	VEC_FOREACH(&from->items, copy) {
		struct places places = places_find(to, copy->bucket);

		if (is_wanted(&places, copy))
			put(to, &places, copy);
		else
			free(copy->trace);
	}
	vec_release(&from->items);
}
