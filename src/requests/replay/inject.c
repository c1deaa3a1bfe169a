/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace becomes a graph of instants, four for each span:
 *
 *	BEGIN	it begins
 *	IN	and is past what was injected at its entry
 *	END	it ends
 *	DONE	it and all its siblings that ended before it have ended
 *
 * An edge says that one instant comes after another.  An instant with several
 * before it waited for the last of them and then took some time of its own:
 *
 *	own = when - max(when of those before)
 *	new = max(new of those before) + own + injected delay
 *
 * which keeps the slack of everybody who was not the last.  Edges between two
 * clocks carry what to add to get from the one to the other.
 */
#include "requests/replay/inject.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bug.h"
#include "base/hash.h"
#include "base/vec.h"

enum { BEGIN, IN, END, DONE, INSTANTS };

#define NOBODY UINT32_MAX

/* A child may outlive its parent by this part of its own length and still be waited for. */
#define OVERHANG_DIV 8

struct instant {
	int64_t at_ns, delay_ns;
	int64_t last_ns, last_new_ns;	/* of those before it */
	uint32_t missing_cnt;		/* of those before it, not known yet */
	uint32_t first_edge;
	bool has_before, known;
	int64_t new_ns;
};

struct edge {
	uint32_t from, to;
	int64_t off_ns;			/* added to from's time */
};

struct kin {			/* a span among the others */
	uint32_t parent;	/* index or NOBODY */
	uint32_t first_child, child_cnt;
	int64_t off_ns;		/* from its clock to its parent's */
	bool waited, follows;
};

struct inject {
	const struct trace *trace;
	const struct inject_plan *plan;
	struct hmap by_id;
	struct kin *kin;
	uint32_t *children;		/* grouped by parent */
	struct instant *instants;
	VEC(struct edge) edges;
	uint32_t *queue;
};

static uint32_t instant_of(uint32_t span, unsigned which)
{
	return span * INSTANTS + which;
}

/* Since the first span began; bounded, so that sums of what a hostile file says do not overflow. */
static int64_t since(int64_t ns, int64_t zero_ns)
{
	const int64_t most = INT64_C(1) << 58;	/* nine years */
	int64_t diff;

	if (__builtin_sub_overflow(ns, zero_ns, &diff))
		diff = ns < zero_ns ? -most : most;
	return diff > most ? most : diff < -most ? -most : diff;
}

static void add_edge(struct inject *in, uint32_t from, uint32_t to, int64_t off_ns)
{
	struct edge e = {from, to, off_ns};

	vec_push(&in->edges, e);
	in->instants[to].missing_cnt++;
}

static int64_t begin_of(const struct inject *in, uint32_t span)
{
	return in->instants[instant_of(span, BEGIN)].at_ns;
}

static int64_t end_of(const struct inject *in, uint32_t span)
{
	return in->instants[instant_of(span, END)].at_ns;
}

static int64_t length_of(const struct inject *in, uint32_t span)
{
	return end_of(in, span) - begin_of(in, span);
}

/* How the child's times lie inside the parent's, and whether the parent waits for it. */
static void relate(struct inject *in, uint32_t child)
{
	struct kin *k = &in->kin[child];
	bool call = in->trace->spans[k->parent].kind == SPAN_CLIENT &&
		    in->trace->spans[child].kind == SPAN_SERVER;
	int64_t early = begin_of(in, k->parent) - begin_of(in, child);
	int64_t late = end_of(in, child) - end_of(in, k->parent);
	int64_t most = early > late ? early : late;

	k->waited = !k->follows && late <= 0;
	if (k->follows || most <= 0 || length_of(in, child) > length_of(in, k->parent))
		return;
	if (call)
		k->off_ns = (early - late) / 2;
	else if (most <= length_of(in, child) / OVERHANG_DIV)
		k->off_ns = early > 0 ? early : -late;
	else
		return;
	k->waited = true;
}

static bool ref_inside(const struct trace *t, const struct span_ref *r)
{
	bool none = !r->trace.hi && !r->trace.lo;

	return r->kind != SPAN_REF_LINK && (none || trace_id_cmp(&r->trace, &t->id) == 0);
}

static bool follows_other(const struct trace *t, const struct span *s)
{
	for (uint32_t i = 0; i < s->ref_cnt; i++) {
		const struct span_ref *r = &t->refs[s->ref_idx + i];

		if (r->kind == SPAN_REF_FOLLOWS && ref_inside(t, r))
			return true;
	}
	return false;
}

static uint32_t earliest_root(const struct trace *t)
{
	uint32_t best = NOBODY;

	for (uint32_t i = 0; i < t->span_cnt; i++) {
		const struct span *s = &t->spans[i];

		if (s->parent || s->flags & SPANF_POINT)
			continue;
		if (best == NOBODY || s->begin_ns < t->spans[best].begin_ns ||
		    (s->begin_ns == t->spans[best].begin_ns && s->id < t->spans[best].id))
			best = i;
	}
	return best;
}

/* Makes the first of two spans with one id (a Zipkin call's halves) the parent of others. */
static void find_parents(struct inject *in)
{
	const struct trace *t = in->trace;
	uint32_t root = earliest_root(t);
	uint64_t idx;

	for (uint32_t i = 0; i < t->span_cnt; i++)
		if (!hmap_get(&in->by_id, t->spans[i].id, NULL))
			hmap_put(&in->by_id, t->spans[i].id, i);
	for (uint32_t i = 0; i < t->span_cnt; i++) {
		const struct span *s = &t->spans[i];
		struct kin *k = &in->kin[i];

		k->parent = NOBODY;
		if (s->parent && hmap_get(&in->by_id, s->parent, &idx) && idx != i)
			k->parent = (uint32_t)idx;
		else if (s->parent && root != i)
			k->parent = root;
		k->follows = follows_other(t, s);
		if (k->parent == NOBODY)
			continue;
		relate(in, i);
		in->kin[k->parent].child_cnt++;
	}
}

struct child_key {
	int64_t begin_ns, end_ns;	/* on the parent's clock */
	uint64_t id;
	uint32_t span;
};

static int by_end(const void *pa, const void *pb)
{
	const struct child_key *a = pa, *b = pb;

	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int by_begin(const void *pa, const void *pb)
{
	const struct child_key *a = pa, *b = pb;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* ended goes up to the last child, in order of ends, that had ended when this one began. */
static void order_begins(struct inject *in, uint32_t parent, struct child_key *begins,
			 const struct child_key *ends, uint32_t cnt)
{
	uint32_t ended = 0;

	qsort(begins, cnt, sizeof(*begins), by_begin);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct child_key *c = &begins[i];
		uint32_t before = instant_of(parent, IN);

		/* the first by by_end is the earlier of two at one instant */
		while (ended < cnt && ends[ended].end_ns <= c->begin_ns &&
		       by_end(&ends[ended], c) < 0)
			ended++;
		if (ended && !in->kin[c->span].follows)
			before = instant_of(ends[ended - 1].span, DONE);
		add_edge(in, before, instant_of(c->span, BEGIN), -in->kin[c->span].off_ns);
	}
}

static void order_children(struct inject *in, uint32_t parent, struct child_key *ends,
			   struct child_key *begins)
{
	const struct kin *p = &in->kin[parent];
	uint32_t done = instant_of(parent, IN);

	for (uint32_t i = 0; i < p->child_cnt; i++) {
		uint32_t c = in->children[p->first_child + i];

		ends[i] = (struct child_key){begin_of(in, c) + in->kin[c].off_ns,
					     end_of(in, c) + in->kin[c].off_ns,
					     in->trace->spans[c].id, c};
	}
	memcpy(begins, ends, p->child_cnt * sizeof(*ends));
	qsort(ends, p->child_cnt, sizeof(*ends), by_end);
	for (uint32_t i = 0; i < p->child_cnt; i++) {
		const struct kin *k = &in->kin[ends[i].span];
		uint32_t next = instant_of(ends[i].span, DONE);

		in->instants[next].at_ns = ends[i].end_ns;
		add_edge(in, done, next, 0);
		if (!k->follows)
			add_edge(in, instant_of(ends[i].span, END), next, k->off_ns);
		if (k->waited)
			add_edge(in, instant_of(ends[i].span, END), instant_of(parent, END),
				 k->off_ns);
		done = next;
	}
	order_begins(in, parent, begins, ends, p->child_cnt);
}

static void order_families(struct inject *in, struct arena *arena)
{
	uint32_t cnt = in->trace->span_cnt, next = 0, most = 0;
	uint32_t *filled = ARENA_ARRAY(arena, uint32_t, cnt);
	struct child_key *ends, *begins;

	for (uint32_t i = 0; i < cnt; i++) {
		in->kin[i].first_child = next;
		next += in->kin[i].child_cnt;
		if (in->kin[i].child_cnt > most)
			most = in->kin[i].child_cnt;
	}
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t p = in->kin[i].parent;

		if (p != NOBODY)
			in->children[in->kin[p].first_child + filled[p]++] = i;
	}
	ends = ARENA_ARRAY(arena, struct child_key, most);
	begins = ARENA_ARRAY(arena, struct child_key, most);
	for (uint32_t i = 0; i < cnt; i++)
		if (in->kin[i].child_cnt)
			order_children(in, i, ends, begins);
}

static void order_refs(struct inject *in)
{
	const struct trace *t = in->trace;
	uint64_t other;

	for (uint32_t i = 0; i < t->span_cnt; i++) {
		const struct span *s = &t->spans[i];

		for (uint32_t j = 0; j < s->ref_cnt; j++) {
			const struct span_ref *r = &t->refs[s->ref_idx + j];
			uint32_t from, to = instant_of(i, BEGIN);
			int64_t over;

			if (!ref_inside(t, r) || !hmap_get(&in->by_id, r->span, &other) ||
			    other == i)
				continue;
			from = instant_of((uint32_t)other, r->kind == SPAN_REF_AFTER ? END : IN);
			over = in->instants[from].at_ns - in->instants[to].at_ns;
			add_edge(in, from, to, over > 0 ? -over : 0);
		}
	}
}

static uint64_t draw(const struct inject *in, uint64_t what)
{
	const struct trace_id *id = &in->trace->id;

	return hash_pair(hash_pair(in->plan->seed, what), hash_pair(id->hi, id->lo));
}

/* From 0 to below 1. */
static double fraction(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

static const struct attr *attr_of(const struct trace *t, const struct span *s, uint32_t key)
{
	for (uint32_t i = 0; i < s->attr_cnt; i++)
		if (t->attrs[s->attr_idx + i].key == key)
			return &t->attrs[s->attr_idx + i];
	return NULL;
}

/* The nearest one upwards; parents may go round in hostile traces. */
static const struct attr *attr_above(const struct inject *in, uint32_t span, uint32_t key)
{
	for (uint32_t i = 0; span != NOBODY && i < in->trace->span_cnt; i++) {
		const struct attr *a = attr_of(in->trace, &in->trace->spans[span], key);

		if (a)
			return a;
		span = in->kin[span].parent;
	}
	return NULL;
}

static double key_factor(const struct inject *in, const struct injection *j, uint32_t span,
			 uint64_t bits)
{
	const struct attr *a;

	if (j->make_key)
		return (double)(bits % INJECT_KEY_LEVELS);
	a = attr_above(in, span, j->key);
	if (!a)
		return 0;
	if (j->text)
		return a->type == ATTR_STR && a->str == j->text;
	return a->type == ATTR_STR ? 0 : a->num;
}

/* One for each span, or one for the request. */
static uint64_t draw_for(const struct inject *in, uint32_t nth_injection, uint64_t span_id)
{
	uint8_t together = in->plan->items[nth_injection].together;

	if (together)
		return draw(in, hash_pair(1, together));
	return draw(in, hash_pair(hash_pair(2, nth_injection), span_id));
}

static int64_t delay_of(const struct inject *in, uint32_t nth, uint32_t span, uint64_t bits)
{
	const struct injection *j = &in->plan->items[nth];
	double ns = (double)j->ns;

	if (j->share_ppm && draw(in, hash_pair(3, nth)) % 1000000 >= j->share_ppm)
		return 0;
	if (j->law == INJECT_UNIFORM)
		ns *= fraction(bits);
	else if (j->law == INJECT_BY_KEY)
		ns *= key_factor(in, j, span, bits);
	return ns > 0 ? (int64_t)(ns < (double)INJECT_MAX_NS ? ns : (double)INJECT_MAX_NS) : 0;
}

static bool hits(const struct injection *j, const struct span *s)
{
	return s->service == j->service && s->name == j->name;
}

static void set_delays(struct inject *in, struct arena *arena, struct inject_hits *hit)
{
	const struct trace *t = in->trace;
	struct inject_hit *last = ARENA_ARRAY(arena, struct inject_hit,
					      (size_t)t->span_cnt * in->plan->cnt);

	hit->last = last;
	hit->last_cnt = 0;

	for (uint32_t nth = 0; nth < in->plan->cnt; nth++) {
		const struct injection *j = &in->plan->items[nth];

		for (uint32_t i = 0; i < t->span_cnt; i++) {
			bool late = j->where == INJECT_EXIT || t->spans[i].flags & SPANF_POINT;
			int64_t ns;

			if (!hits(j, &t->spans[i]))
				continue;
			ns = delay_of(in, nth, i, draw_for(in, nth, t->spans[i].id));
			in->instants[instant_of(i, late ? END : IN)].delay_ns += ns;
			if (ns > 0)
				last[hit->last_cnt++] = (struct inject_hit){nth, i, late, ns};
			hit->delay_ns += (uint64_t)ns;
		}
	}
	hit->span_cnt += hit->last_cnt;
	hit->trace_cnt += hit->last_cnt > 0;
}

/* Its new time goes to those after it; a node that now knows all of those before it is queued. */
static void know(struct inject *in, uint32_t at, uint32_t *tail)
{
	struct instant *n = &in->instants[at];
	int64_t own = n->has_before ? n->at_ns - n->last_ns : n->at_ns;

	n->new_ns = (n->has_before ? n->last_new_ns : 0) + own + n->delay_ns;
	n->known = true;
	for (size_t i = n->first_edge; i < in->edges.cnt && in->edges.items[i].from == at; i++) {
		const struct edge *e = &in->edges.items[i];
		struct instant *to = &in->instants[e->to];
		int64_t at_ns = n->at_ns + e->off_ns, new_ns = n->new_ns + e->off_ns;

		if (!to->has_before || at_ns > to->last_ns)
			to->last_ns = at_ns;
		if (!to->has_before || new_ns > to->last_new_ns)
			to->last_new_ns = new_ns;
		to->has_before = true;
		if (--to->missing_cnt == 0 && !to->known)
			in->queue[(*tail)++] = e->to;
	}
}

static int by_from(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* In order of dependence; what depends on itself (hostile input) is broken up by index. */
static void solve(struct inject *in)
{
	uint32_t cnt = in->trace->span_cnt * INSTANTS, head = 0, tail = 0, forced = 0;

	vec_sort(&in->edges, by_from);
	for (uint32_t i = 0; i < cnt; i++)
		in->instants[i].first_edge = UINT32_MAX;
	for (uint32_t i = (uint32_t)in->edges.cnt; i-- > 0;)
		in->instants[in->edges.items[i].from].first_edge = i;
	for (uint32_t i = 0; i < cnt; i++)
		if (!in->instants[i].missing_cnt)
			in->queue[tail++] = i;
	for (;;) {
		if (head < tail) {
			uint32_t at = in->queue[head++];

			if (!in->instants[at].known)
				know(in, at, &tail);
			continue;
		}
		while (forced < cnt && in->instants[forced].known)
			forced++;
		if (forced == cnt)
			break;
		know(in, forced, &tail);
	}
}

static int64_t moved(int64_t ns, int64_t by_ns)
{
	int64_t sum;

	return __builtin_add_overflow(ns, by_ns, &sum) ? ns : sum;
}

static void write_spans(const struct inject *in, struct span *spans)
{
	for (uint32_t i = 0; i < in->trace->span_cnt; i++) {
		const struct instant *begin = &in->instants[instant_of(i, BEGIN)];
		const struct instant *end = &in->instants[instant_of(i, END)];

		/* By how much it moved: what was over the bounds stays what it was. */
		spans[i] = in->trace->spans[i];
		spans[i].begin_ns = moved(spans[i].begin_ns, begin->new_ns - begin->at_ns);
		spans[i].end_ns = moved(spans[i].end_ns, end->new_ns - end->at_ns);
		if (spans[i].flags & (SPANF_POINT | SPANF_OPEN))
			spans[i].end_ns = spans[i].begin_ns;
	}
}

/* The spans that are hit get the keys that were made up for them. */
static void write_keys(const struct inject *in, struct arena *arena, struct trace *ret,
		       struct span *spans)
{
	struct attr *attrs;
	uint32_t made = 0, room = 0, next = 0;

	for (uint32_t i = 0; i < ret->span_cnt; i++) {
		for (uint32_t nth = 0; nth < in->plan->cnt; nth++)
			made += in->plan->items[nth].make_key && hits(&in->plan->items[nth],
								      &spans[i]);
		room += spans[i].attr_cnt;
	}
	attrs = ARENA_ARRAY(arena, struct attr, room + made);
	for (uint32_t i = 0; i < ret->span_cnt; i++) {
		const struct attr *old = &in->trace->attrs[spans[i].attr_idx];
		uint32_t first = next;

		for (uint32_t k = 0; k < spans[i].attr_cnt; k++)
			attrs[next++] = old[k];
		for (uint32_t nth = 0; nth < in->plan->cnt; nth++) {
			const struct injection *j = &in->plan->items[nth];
			uint64_t bits = draw_for(in, nth, spans[i].id);

			if (j->make_key && hits(j, &spans[i]))
				attrs[next++] = (struct attr){
					.key = j->key, .type = ATTR_NUM,
					.num = (double)(bits % INJECT_KEY_LEVELS)};
		}
		spans[i].attr_idx = first;
		spans[i].attr_cnt = next - first;
	}
	ret->attrs = attrs;
	ret->attr_cnt = next;
}

void inject_trace(const struct trace *trace, const struct inject_plan *plan, struct arena *arena,
		  struct trace *ret, struct inject_hits *ret_hits)
{
	struct inject in = {.trace = trace, .plan = plan};
	struct span *spans = ARENA_ARRAY(arena, struct span, trace->span_cnt);
	struct arena work = {0};
	struct inject_hits ignored = {0};

	BUG_ON(plan->cnt > INJECT_MAX_CNT);
	in.kin = ARENA_ARRAY(&work, struct kin, trace->span_cnt);
	in.children = ARENA_ARRAY(&work, uint32_t, trace->span_cnt);
	in.instants = ARENA_ARRAY(&work, struct instant, trace->span_cnt * (size_t)INSTANTS);
	in.queue = ARENA_ARRAY(&work, uint32_t, trace->span_cnt * (size_t)INSTANTS);
	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		int64_t begin_ns = since(trace->spans[i].begin_ns, trace->spans[0].begin_ns);
		int64_t end_ns = since(trace->spans[i].end_ns, trace->spans[0].begin_ns);
		int64_t at[INSTANTS] = {begin_ns, begin_ns, end_ns, end_ns};

		for (unsigned k = 0; k < INSTANTS; k++)
			in.instants[instant_of(i, k)].at_ns = at[k];
		add_edge(&in, instant_of(i, BEGIN), instant_of(i, IN), 0);
		add_edge(&in, instant_of(i, IN), instant_of(i, END), 0);
	}
	find_parents(&in);
	order_families(&in, &work);
	order_refs(&in);
	set_delays(&in, arena, ret_hits ? ret_hits : &ignored);
	solve(&in);
	*ret = *trace;
	ret->spans = spans;
	ret->refs = arena_dup(arena, trace->refs, trace->ref_cnt * sizeof(*trace->refs));
	write_spans(&in, spans);
	write_keys(&in, arena, ret, spans);
	vec_release(&in.edges);
	hmap_release(&in.by_id);
	arena_release(&work);
}
