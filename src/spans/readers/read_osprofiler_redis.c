/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OSProfiler's events as it keeps them in Redis: JSON objects one behind the
 * other, with nothing, blanks or lines between them, or in a list.  The begin
 * and the end of a span are two events with one trace_id, in any order; only
 * the begin names the tracepoint.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "spans/readers/osprofiler.h"

enum {
	NESTING_MAX = 2,
	HALVES_MAX = 1 << 18,	/* spans of which one half was seen */
};

struct redis {
	struct osp o;
	struct hmap halves;	/* span id -> index + 1 in spans */
	VEC(struct osp_span *) spans;	/* NULL: free */
	VEC(uint64_t) unused;
	struct osp_span now;
	unsigned nesting;
};

static struct osp_span *new_half(struct redis *d, uint64_t id)
{
	struct osp_span *s = xcalloc(1, sizeof(*s));
	uint64_t idx;

	if (d->unused.cnt) {
		idx = vec_pop(&d->unused);
		d->spans.items[idx] = s;
	} else {
		idx = d->spans.cnt;
		vec_push(&d->spans, s);
	}
	hmap_put(&d->halves, id, idx + 1);
	return s;
}

static void drop_half(struct redis *d, uint64_t id, uint64_t idx)
{
	struct osp_span **slot = &d->spans.items[idx];

	osp_span_release(*slot);
	free(*slot);
	*slot = NULL;
	vec_push(&d->unused, idx);
	hmap_del(&d->halves, id);
}

/* The half that begins has all but the end's time. */
static void join_halves(struct osp_span *have, struct osp_span *now)
{
	struct osp_span *start = have->seen_start ? have : now;
	struct osp_span *stop = have->seen_start ? now : have;
	struct osp_span swap;

	start->m.span.end_ns = stop->m.span.end_ns;
	start->has_end = stop->has_end;
	start->seen_stop = true;
	start->m.span.flags |= stop->m.span.flags;
	if (start == have)
		return;
	swap = *have;
	*have = *now;
	*now = swap;
}

static int take_event(struct redis *d)
{
	struct osp_span *now = &d->now, *have;
	uint64_t idx, id;
	int rc;

	osp_span_begin(now, json_off(d->o.docs));
	if (!osp_event(&d->o, now)) {
		json_span_bad(d->o.docs, now->m.off, "event");
		return 0;
	}
	id = now->m.span.id;
	if (now->is_note || !id)
		return osp_span_end(&d->o, now);
	d->o.docs->waiting_cnt++;
	if (hmap_get(&d->halves, id, &idx)) {
		have = d->spans.items[idx - 1];
		if (have->seen_start == now->seen_start) {
			reading_bad(d->o.r, now->m.off, "expected the span's other end, found the "
							"same again");
			return 0;
		}
		join_halves(have, now);
		rc = osp_span_end(&d->o, have);
		drop_half(d, id, idx - 1);
		return rc;
	}
	if (d->halves.cnt >= HALVES_MAX)
		return osp_span_end(&d->o, now); /* open, or bad when it is an end */
	have = new_half(d, id);
	*have = *now;
	*now = (struct osp_span){0};
	return 0;
}

/* Ends halves: one without an end never ended; one without a begin cannot be placed. */
static int end_halves(struct redis *d)
{
	int rc = 0;

	VEC_FOREACH(&d->spans, slot) {
		if (!*slot)
			continue;
		if (rc == 0 && !(*slot)->seen_start)
			reading_bad(d->o.r, (*slot)->m.off,
				    "expected the span's begin, found its end only");
		else if (rc == 0)
			rc = osp_span_end(&d->o, *slot);
		osp_span_release(*slot);
		free(*slot);
	}
	d->spans.cnt = d->unused.cnt = 0;
	hmap_clear(&d->halves);
	return rc;
}

static int take_list(struct redis *d)
{
	struct jsontok *t = &d->o.docs->t;
	int rc = 0;

	if (++d->nesting > NESTING_MAX || jsontok_kind(t) != TOK_ARR)
		rc = take_event(d);
	else if (jsontok_arr(t))
		while (rc == 0 && jsontok_item(t))
			rc = take_list(d);
	d->nesting--;
	return rc;
}

static int take_doc(struct json_docs *docs, void *ctx)
{
	struct redis *d = ctx;

	d->o.docs = docs;
	d->nesting = 0;
	return take_list(d);
}

static int redis_read(struct reading *r)
{
	struct redis d = {0};
	struct json_docs none = {.r = r};
	int rc, joined;

	osp_init(&d.o, r);
	rc = json_docs_read(r, take_doc, &d);
	d.o.docs = &none; /* nothing is broken any more */
	if (rc == 0 || r->stats->cut) {
		joined = end_halves(&d);
		if (joined == 0)
			joined = osp_join(&d.o);
		rc = joined < 0 ? joined : rc;
	}
	end_halves(&d);
	osp_span_release(&d.now);
	vec_release(&d.spans);
	vec_release(&d.unused);
	hmap_release(&d.halves);
	osp_release(&d.o);
	return rc;
}

static bool redis_matches(const char *head, size_t len)
{
	return head_is_json(head, len) && head_has_key(head, len, "base_id", NESTING_MAX + 1) &&
	       head_has_key(head, len, "trace_id", NESTING_MAX + 1);
}

const struct spans_reader reader_osprofiler_redis = {SPANS_OSPROFILER_REDIS, redis_matches,
						     redis_read};
