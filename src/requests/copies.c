/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cmp.h"
#include "requests/tails.h"

void copies_release(struct copies *c)
{
	VEC_FOREACH(&c->items, copy)
		free(copy->trace);
	vec_release(&c->items);
}

int copy_cmp(const struct copy *a, const struct copy *b)
{
	CMP(a->hash, b->hash);
	return trace_id_cmp(&a->id, &b->id);
}

static struct trace *trace_dup(const struct trace *from)
{
	size_t spans = from->span_cnt * sizeof(*from->spans);
	size_t attrs = from->attr_cnt * sizeof(*from->attrs);
	size_t refs = from->ref_cnt * sizeof(*from->refs);
	struct trace *t;
	char *at;

	if (sizeof(*t) + spans + attrs + refs > COPY_BYTES_MAX)
		return NULL;
	t = xmalloc(sizeof(*t) + spans + attrs + refs);
	*t = *from;
	at = (char *)(t + 1);
	t->spans = (void *)at;
	if (spans)
		memcpy(at, from->spans, spans);
	at += spans;
	t->attrs = (void *)at;
	if (attrs)
		memcpy(at, from->attrs, attrs);
	at += attrs;
	t->refs = (void *)at;
	if (refs)
		memcpy(at, from->refs, refs);
	return t;
}

static struct copy *find_bucket(struct copies *c, uint32_t bucket)
{
	VEC_FOREACH(&c->items, copy)
		if (copy->bucket == bucket)
			return copy;
	return NULL;
}

void copies_add(struct copies *c, const struct trace *trace, uint64_t hash, int64_t total_ns)
{
	struct copy new = {.bucket = bucket_of((uint64_t)total_ns, COPIES_BITS),
			   .hash = hash,
			   .id = trace->id,
			   .total_ns = total_ns};
	struct copy *old = find_bucket(c, new.bucket);

	if (old && copy_cmp(old, &new) <= 0)
		return;
	new.trace = trace_dup(trace);
	if (old) {
		free(old->trace);
		*old = new;
	} else {
		vec_push(&c->items, new);
	}
}

void copies_move(struct copies *to, struct copies *from)
{
	VEC_FOREACH(&from->items, copy) {
		struct copy *old = find_bucket(to, copy->bucket);

		if (!old) {
			vec_push(&to->items, *copy);
		} else if (copy_cmp(copy, old) < 0) {
			free(old->trace);
			*old = *copy;
		} else {
			free(copy->trace);
		}
	}
	vec_release(&from->items);
}
