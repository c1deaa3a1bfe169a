/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/forest/space_file.h"

#include <errno.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "requests/graph/graph.h"
#include "requests/forest/packed.h"
#include "requests/forest/space.h"

/* The least a thing takes in the file: hashes are 8 bytes, all else one. */
enum {
	STEP_MIN = 5,
	PATH_MIN = 8 + 3,
	CONTEXT_MIN = 5,
	REF_MIN = 2 * 8 + 2,
	SPAN_MIN = 2 * 8 + 8,
	SAMPLE_MIN = 2 * 8 + 2,
	TYPE_MIN = 8 + 7,
	POINT_MIN = 6,
	KEY_MIN = 4,
};

/*
 * A sum of squares of hours, over a million requests, is below this, and the
 * most that a file can have added to one still does not overflow.
 */
#define SUM_MAX ((__int128)1 << 108)

/* Time since 1970 (until 2116), and of one time from another (36 years): 3 of them add up. */
#define AT_MAX (INT64_C(1) << 62)
#define OFF_MAX (INT64_C(1) << 60)
enum { REFS_MAX = 1 << 16 };	/* of one span */

/* ---- writing */

static void put_path(struct packer *p, const struct space_path *path)
{
	put_fixed(p, path->hash);
	put_u64(p, path->critical_cnt);
	put_u64(p, path->branch_cnt);
	put_u64(p, path->step_cnt);
	for (uint32_t i = 0; i < path->step_cnt; i++) {
		const struct space_step *s = &path->steps[i];

		put_point(p, s->point);
		put_u64(p, s->kind);
		put_u64(p, s->parent == UINT32_MAX ? 0 : (uint64_t)s->parent + 1);
		put_i128(p, s->sum_ns);
		put_i128(p, s->sum_sq_ns);
	}
}

static void put_context(struct packer *p, const struct space_context *c)
{
	put_point(p, c->point);
	put_u64(p, c->parent == UINT32_MAX ? 0 : (uint64_t)c->parent + 1);
	put_u64(p, c->span_cnt);
	put_i128(p, c->sum_ns);
	put_i128(p, c->sum_sq_ns);
}

static void put_span(struct packer *p, const struct trace *t, const struct span *s,
		     int64_t base_ns)
{
	put_fixed(p, s->id);
	put_fixed(p, s->parent);
	put_i64(p, s->begin_ns - base_ns);
	put_i64(p, s->end_ns - s->begin_ns);
	put_text(p, s->service);
	put_text(p, s->name);
	put_text(p, s->host);
	put_u64(p, s->kind);
	put_u64(p, s->flags);
	put_u64(p, s->ref_cnt);
	for (uint32_t i = 0; i < s->ref_cnt; i++) {
		const struct span_ref *r = &t->refs[s->ref_idx + i];

		/* that it is in this trace is the rule */
		put_u64(p, trace_id_cmp(&r->trace, &t->id) == 0);
		if (trace_id_cmp(&r->trace, &t->id) != 0) {
			put_fixed(p, r->trace.hi);
			put_fixed(p, r->trace.lo);
		}
		put_fixed(p, r->span);
		put_u64(p, r->kind);
	}
}

static bool near(int64_t a, int64_t b, int64_t max)
{
	int64_t diff;

	return !__builtin_sub_overflow(a, b, &diff) && diff > -max && diff < max;
}

/* Clocks that are a lifetime apart are broken: such a trace is no good sample. */
static bool can_be_put(const struct trace *t)
{
	for (uint32_t i = 0; i < t->span_cnt; i++) {
		const struct span *s = &t->spans[i];

		if (!near(s->begin_ns, 0, AT_MAX) ||
		    !near(s->begin_ns, t->spans[0].begin_ns, OFF_MAX) ||
		    !near(s->end_ns, s->begin_ns, OFF_MAX) || s->ref_cnt > REFS_MAX)
			return false;
	}
	return t->span_cnt > 0;
}

static void put_sample(struct packer *p, const struct trace *t)
{
	put_fixed(p, t->id.hi);
	put_fixed(p, t->id.lo);
	put_i64(p, t->spans[0].begin_ns);
	put_u64(p, t->span_cnt);
	for (uint32_t i = 0; i < t->span_cnt; i++)
		put_span(p, t, &t->spans[i], t->spans[0].begin_ns);
}

static void put_type(struct packer *p, const struct space_type *t)
{
	uint32_t samples = 0;

	put_fixed(p, t->hash);
	put_point(p, t->point);
	put_u64(p, t->trace_cnt);
	put_i128(p, t->sum_ns);
	put_i128(p, t->sum_sq_ns);
	put_u64(p, t->context_cnt);
	for (uint32_t i = 0; i < t->context_cnt; i++)
		put_context(p, &t->contexts[i]);
	put_u64(p, t->path_cnt);
	for (uint32_t i = 0; i < t->path_cnt; i++)
		put_path(p, &t->paths[i]);
	for (uint32_t i = 0; i < t->sample_cnt; i++)
		samples += can_be_put(&t->samples[i]);
	put_u64(p, samples);
	for (uint32_t i = 0; i < t->sample_cnt; i++)
		if (can_be_put(&t->samples[i]))
			put_sample(p, &t->samples[i]);
}

static void put_view(struct packer *p, const struct space_view *v)
{
	put_u64(p, v->point_cnt);
	for (uint32_t i = 0; i < v->point_cnt; i++) {
		put_point(p, v->points[i].point);
		put_u64(p, (uint64_t)v->points[i].sync |
				   (uint64_t)v->points[i].stray_sync << 1);
		put_u64(p, v->points[i].span_cnt);
		put_u64(p, v->points[i].stray_cnt);
		put_u64(p, v->points[i].trace_cnt);
		put_u64(p, v->points[i].root_cnt);
	}
	put_u64(p, v->key_cnt);
	for (uint32_t i = 0; i < v->key_cnt; i++) {
		put_point(p, v->keys[i].point);
		put_text(p, v->keys[i].key);
		put_u64(p, v->keys[i].seen_cnt);
		put_u64(p, v->keys[i].num_cnt);
	}
	put_u64(p, v->type_cnt);
	for (uint32_t i = 0; i < v->type_cnt; i++)
		put_type(p, &v->types[i]);
	put_u64(p, v->bad_trace_cnt);
	put_u64(p, v->path_dropped_cnt);
	put_u64(p, v->context_dropped_cnt);
	put_u64(p, v->key_dropped_cnt);
	put_u64(p, v->type_dropped_cnt);
}

void space_write(const struct space *s, const struct points *points,
		 const struct strtab *strings, struct buf *out)
{
	struct arena arena = {0};
	struct space_view view;
	struct packer p;

	space_view(s, &arena, &view);
	packer_begin(&p, SPACE_FILE_WHAT, SPACE_FILE_VERSION, points, strings);
	put_view(&p, &view);
	packer_end(&p, out);
	arena_release(&arena);
}

/* ---- reading */

struct loader {
	struct unpacker u;
	struct arena arena;	/* of one type */
	struct space *space;
	uint64_t type;		/* the last one's hash */
	bool any_type;
};

/* Numbers of things that were counted: a sum of them does not come round. */
static uint64_t get_seen(struct unpacker *u)
{
	return get_u64(u, UINT64_MAX >> 20);
}

static __int128 get_sum(struct unpacker *u)
{
	__int128 sum = get_i128(u);

	if (sum < SUM_MAX && sum > -SUM_MAX)
		return sum;
	unpack_bad(u, "a sum is too large");
	return 0;
}

/* The index of one before number i, or UINT32_MAX. */
static uint32_t get_before(struct unpacker *u, uint32_t i)
{
	return (uint32_t)get_u64(u, i) - 1;
}

static void get_path(struct loader *l, uint64_t type)
{
	struct unpacker *u = &l->u;
	struct space_path path = {.hash = get_fixed(u)};
	struct space_step *steps;

	path.critical_cnt = get_seen(u);
	path.branch_cnt = get_seen(u);
	path.step_cnt = get_cnt(u, SPACE_STEPS_MAX, STEP_MIN, sizeof(*steps));
	path.steps = steps = ARENA_ARRAY(&l->arena, struct space_step, path.step_cnt);
	for (uint32_t i = 0; i < path.step_cnt && unpack_ok(u); i++) {
		steps[i].point = get_a_point(u);
		steps[i].kind = (uint32_t)get_u64(u, NODE_NOTE);
		steps[i].parent = get_before(u, i);
		steps[i].sum_ns = get_sum(u);
		steps[i].sum_sq_ns = get_sum(u);
	}
	if (unpack_ok(u))
		space_put_path(l->space, type, &path);
}

static void get_contexts(struct loader *l, uint64_t type)
{
	struct unpacker *u = &l->u;
	struct space_context *contexts;
	uint32_t cnt = get_cnt(u, SPACE_CONTEXTS_MAX, CONTEXT_MIN, sizeof(*contexts));

	contexts = ARENA_ARRAY(&l->arena, struct space_context, cnt);
	for (uint32_t i = 0; i < cnt && unpack_ok(u); i++) {
		contexts[i].point = get_a_point(u);
		contexts[i].parent = get_before(u, i);
		contexts[i].span_cnt = get_seen(u);
		contexts[i].sum_ns = get_sum(u);
		contexts[i].sum_sq_ns = get_sum(u);
	}
	if (unpack_ok(u))
		space_put_contexts(l->space, type, contexts, cnt);
}

static int64_t get_at(struct unpacker *u, int64_t base_ns, int64_t max)
{
	int64_t off = get_i64(u);

	if (off < max && off > -max)
		return base_ns + off;
	unpack_bad(u, "a time is too far away");
	return base_ns;
}

static void get_ref(struct unpacker *u, const struct trace_id *own, struct span_ref *r)
{
	r->trace = *own;
	if (get_u64(u, 1) == 0) {
		r->trace.hi = get_fixed(u);
		r->trace.lo = get_fixed(u);
	}
	r->span = get_fixed(u);
	r->kind = (uint32_t)get_u64(u, SPAN_REF_AFTER);
}

struct sample {
	struct trace trace;
	VEC(struct span_ref) refs;
};

static void get_span(struct unpacker *u, struct sample *sample, int64_t base_ns, struct span *s)
{
	s->id = get_fixed(u);
	s->parent = get_fixed(u);
	s->begin_ns = get_at(u, base_ns, OFF_MAX);
	s->end_ns = get_at(u, s->begin_ns, OFF_MAX);
	s->service = get_text(u);
	s->name = get_text(u);
	s->host = get_text(u);
	s->kind = (uint8_t)get_u64(u, SPAN_CONSUMER);
	s->flags = (uint8_t)get_u64(u, SPANF_READ);
	s->ref_idx = (uint32_t)sample->refs.cnt;
	s->ref_cnt = get_cnt(u, REFS_MAX, REF_MIN - 8, sizeof(struct span_ref));
	for (uint32_t i = 0; i < s->ref_cnt && unpack_ok(u); i++)
		get_ref(u, &sample->trace.id, vec_add(&sample->refs));
	if (!s->id)
		unpack_bad(u, "a span without id");
}

static void get_sample(struct loader *l, uint64_t type)
{
	struct unpacker *u = &l->u;
	struct sample sample = {.trace.id.hi = get_fixed(u)};
	struct span *spans;
	int64_t base_ns;

	sample.trace.id.lo = get_fixed(u);
	base_ns = get_at(u, 0, AT_MAX);
	sample.trace.span_cnt = get_cnt(u, SPACE_SAMPLE_SPANS_MAX, SPAN_MIN, sizeof(*spans));
	spans = ARENA_ARRAY(&l->arena, struct span, sample.trace.span_cnt);
	for (uint32_t i = 0; i < sample.trace.span_cnt && unpack_ok(u); i++)
		get_span(u, &sample, base_ns, &spans[i]);
	sample.trace.spans = spans;
	sample.trace.refs = sample.refs.items;
	sample.trace.ref_cnt = (uint32_t)sample.refs.cnt;
	if (unpack_ok(u))
		space_put_sample(l->space, type, &sample.trace);
	vec_release(&sample.refs);
}

static void get_type(struct loader *l)
{
	struct unpacker *u = &l->u;
	struct space_type t = {.hash = get_fixed(u)};
	uint32_t cnt;

	arena_clear(&l->arena);
	if (l->any_type && t.hash <= l->type)
		unpack_bad(u, "types that are not in order");
	l->any_type = true;
	l->type = t.hash;
	t.point = get_a_point(u);
	t.trace_cnt = get_seen(u);
	t.sum_ns = get_sum(u);
	t.sum_sq_ns = get_sum(u);
	if (!unpack_ok(u))
		return;
	space_put_type(l->space, &t);
	get_contexts(l, t.hash);
	cnt = get_cnt(u, SPACE_PATHS_MAX, PATH_MIN, sizeof(struct space_path));
	for (uint32_t i = 0; i < cnt && unpack_ok(u); i++)
		get_path(l, t.hash);
	cnt = get_cnt(u, SPACE_SAMPLES_MAX, SAMPLE_MIN, sizeof(struct trace));
	for (uint32_t i = 0; i < cnt && unpack_ok(u); i++)
		get_sample(l, t.hash);
}

static void get_points(struct loader *l)
{
	struct unpacker *u = &l->u;
	uint32_t cnt = get_cnt(u, UINT32_MAX, POINT_MIN, sizeof(struct space_point));

	for (uint32_t i = 0; i < cnt && unpack_ok(u); i++) {
		struct space_point p = {.point = get_a_point(u)};
		uint64_t flags = get_u64(u, 3);

		p.sync = flags & 1;
		p.stray_sync = flags >> 1;
		p.span_cnt = get_seen(u);
		p.stray_cnt = get_seen(u);
		p.trace_cnt = get_seen(u);
		p.root_cnt = get_seen(u);
		if (unpack_ok(u))
			space_put_point(l->space, &p);
	}
}

static void get_keys(struct loader *l)
{
	struct unpacker *u = &l->u;
	uint32_t cnt = get_cnt(u, UINT32_MAX, KEY_MIN, sizeof(struct space_key));

	for (uint32_t i = 0; i < cnt && unpack_ok(u); i++) {
		struct space_key k = {.point = get_a_point(u)};

		k.key = get_text(u);
		k.seen_cnt = get_seen(u);
		k.num_cnt = get_seen(u);
		if (unpack_ok(u))
			space_put_key(l->space, &k);
	}
}

static void get_space(struct loader *l)
{
	struct unpacker *u = &l->u;
	struct space_view counts = {0};
	uint32_t cnt;

	get_points(l);
	get_keys(l);
	cnt = get_cnt(u, SPACE_TYPES_MAX, TYPE_MIN, sizeof(struct space_type));
	for (uint32_t i = 0; i < cnt && unpack_ok(u); i++)
		get_type(l);
	counts.bad_trace_cnt = get_seen(u);
	counts.path_dropped_cnt = get_seen(u);
	counts.context_dropped_cnt = get_seen(u);
	counts.key_dropped_cnt = get_seen(u);
	counts.type_dropped_cnt = get_seen(u);
	if (unpack_ok(u))
		space_put_counts(l->space, &counts);
}

int space_read(const void *bytes, size_t len, struct points *points, struct strtab *strings,
	       struct space *s, struct err *err)
{
	struct loader l = {0};
	int code = unpacker_begin(&l.u, SPACE_FILE_WHAT, SPACE_FILE_VERSION, bytes, len, err);

	if (code < 0)
		return code;
	l.u.points = points;
	l.u.strings = strings;
	/* a mistake found half way must not leave half of it in s */
	l.space = space_new(points, strings);
	get_space(&l);
	code = unpacker_end(&l.u);
	if (code == 0)
		space_merge(s, l.space);
	unpacker_release(&l.u);
	arena_release(&l.arena);
	space_free(l.space);
	return code;
}
