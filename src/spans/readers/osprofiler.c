/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/readers/osprofiler.h"

#include <stdio.h>
#include <string.h>

#include "spans/pending.h"

enum {
	NESTING_MAX = 3,	/* of what an event's info has inside */
	TRACES_MAX = 16,	/* that were begun by one another */
};

void osp_init(struct osp *o, struct reading *r)
{
	*o = (struct osp){.r = r, .pending = pending_new()};
}

void osp_release(struct osp *o)
{
	pending_free(o->pending);
	making_release(&o->info);
	vec_release(&o->begun);
	vec_release(&o->roots);
	vec_release(&o->next_root);
	hmap_release(&o->by_child);
	hmap_release(&o->by_base);
	hmap_release(&o->waits);
}

void osp_span_begin(struct osp_span *s, uint64_t off)
{
	struct making m = s->m;

	*s = (struct osp_span){.m = m};
	making_begin(&s->m, off);
}

void osp_span_release(struct osp_span *s)
{
	making_release(&s->m);
}

void osp_copy(char *to, size_t cap, const struct tok_str *v)
{
	size_t len = v->len < cap ? v->len : cap - 1;

	memcpy(to, v->s, len);
	to[len] = 0;
}

/* ---- an event */

enum part { PART_START, PART_STOP, PART_NOTE };

struct event {
	enum part part;
	int64_t at_ns;
	bool has_at, failed, is_event;
	struct osp_span *span;
};

static enum part part_of(char *name)
{
	static const char *const ends[] = {"-start", "-stop"};
	size_t len = strlen(name);

	for (int i = 0; i < 2; i++) {
		size_t n = strlen(ends[i]);

		if (len > n && strcmp(name + len - n, ends[i]) == 0) {
			name[len - n] = 0;
			return i ? PART_STOP : PART_START;
		}
	}
	return PART_NOTE;
}

static uint64_t id_value(struct osp *o)
{
	struct tok_str v;

	if (jsontok_kind(&o->docs->t) != TOK_STR || !jsontok_str(&o->docs->t, &v))
		return 0;
	return id_span(v.s, v.len);
}

/* True for a key of the tracepoint's place; the user who ran it says nothing of the time. */
static bool is_place(const struct tok_str *key)
{
	return tok_is(key, "pid") || tok_is(key, "thread_id");
}

/* Adds the members of the info, with the names joined by dots. */
static void info_attrs(struct osp *o, struct making *m, const char *path, unsigned nesting)
{
	struct jsontok *t = &o->docs->t;
	char inner[NAME_MAX_LEN];
	struct tok_str key;

	if (jsontok_kind(t) != TOK_OBJ || nesting >= NESTING_MAX || !jsontok_obj(t))
		return; /* skipped by who asks for the next key */
	while (jsontok_key(t, &key)) {
		snprintf(inner, sizeof(inner), "%s.%.*s", path, OSP_TEXT_MAX, key.s);
		if (jsontok_kind(t) == TOK_OBJ)
			info_attrs(o, m, inner, nesting + 1);
		else
			json_attr(o->docs, m, reading_name(o->r, inner, strlen(inner)));
	}
}

static void take_info(struct osp *o, struct event *ev)
{
	struct jsontok *t = &o->docs->t;
	struct making *m = &ev->span->m;
	struct tok_str key, v;
	char name[OSP_TEXT_MAX];

	if (!jsontok_obj(t))
		return;
	while (jsontok_key(t, &key)) {
		if (tok_is(&key, "host")) {
			if (jsontok_str(t, &v))
				m->span.host = reading_name(o->r, v.s, v.len);
		} else if (tok_is(&key, "tracepoint_id")) {
			if (jsontok_str(t, &v))
				osp_copy(ev->span->tracepoint, sizeof(ev->span->tracepoint), &v);
		} else if (tok_is(&key, "child_id")) {
			ev->span->child = id_value(o);
		} else if (tok_is(&key, "wait_for")) {
			ev->span->wait = id_value(o);
		} else if (!is_place(&key)) {
			ev->failed |= tok_is(&key, "etype");
			osp_copy(name, sizeof(name), &key);
			if (jsontok_kind(t) == TOK_OBJ)
				info_attrs(o, &o->info, name, 0);
			else
				json_attr(o->docs, &o->info,
					  reading_name(o->r, name, strlen(name)));
		}
	}
}

static void take_base(struct osp_span *s, const struct tok_str *v)
{
	s->m.trace = id_trace(v->s, v->len);
	s->base = id_span(v->s, v->len);
}

static void text_key(struct osp *o, struct event *ev, const struct tok_str *key,
		     const struct tok_str *v)
{
	struct osp_span *s = ev->span;

	if (tok_is(key, "name")) {
		osp_copy(s->name, sizeof(s->name), v);
		ev->part = part_of(s->name);
		ev->is_event = true;
	} else if (tok_is(key, "trace_id")) {
		s->m.span.id = id_span(v->s, v->len);
	} else if (tok_is(key, "parent_id")) {
		s->m.span.parent = id_span(v->s, v->len);
	} else if (tok_is(key, "base_id")) {
		take_base(s, v);
	} else if (tok_is(key, "project")) {
		osp_copy(s->project, sizeof(s->project), v);
	} else if (tok_is(key, "service")) {
		osp_copy(s->service, sizeof(s->service), v);
	} else if (tok_is(key, "tracepoint_id")) {
		osp_copy(s->tracepoint, sizeof(s->tracepoint), v);
	} else if (tok_is(key, "timestamp")) {
		ev->has_at = iso_parse(v->s, v->len, &ev->at_ns);
		if (!ev->has_at)
			jsontok_expected(&o->docs->t, "a date and time");
	}
}

bool osp_event(struct osp *o, struct osp_span *s)
{
	struct event ev = {.part = PART_NOTE, .span = s};
	struct jsontok *t = &o->docs->t;
	struct tok_str key, v;
	char copy[32];
	struct tok_str name;

	if (!jsontok_obj(t))
		return false;
	making_begin(&o->info, 0);
	while (jsontok_key(t, &key)) {
		if (tok_is(&key, "info")) {
			take_info(o, &ev);
			continue;
		}
		/* the key is gone once its value is read; none that matters is longer */
		osp_copy(copy, sizeof(copy), &key);
		name = (struct tok_str){copy, strlen(copy)};
		if (jsontok_kind(t) == TOK_STR && jsontok_str(t, &v))
			text_key(o, &ev, &name, &v);
	}
	if (ev.part == PART_STOP) {
		s->m.span.end_ns = ev.at_ns;
		s->has_end = ev.has_at;
		s->seen_stop = true;
		s->m.span.flags |= ev.failed ? SPANF_ERROR : 0;
	} else {
		s->m.span.begin_ns = ev.at_ns;
		s->has_begin = ev.has_at;
		s->seen_start = true;
		s->is_note = ev.part == PART_NOTE;
		/* what only the end tells (a result) is no reason for what was before */
		VEC_FOREACH(&o->info.attrs, a)
			vec_push(&s->m.attrs, *a);
	}
	return ev.is_event;
}

/* ---- a span */

static void set_names(struct osp *o, struct osp_span *s)
{
	char text[2 * NAME_MAX_LEN + 2];
	size_t project = strlen(s->project);

	/* nova's service nova-compute needs no project before it */
	if (!*s->project || !*s->service)
		snprintf(text, sizeof(text), "%s%s", s->project, s->service);
	else if (strncmp(s->service, s->project, project) == 0 &&
		 (s->service[project] == '-' || !s->service[project]))
		snprintf(text, sizeof(text), "%s", s->service);
	else
		snprintf(text, sizeof(text), "%s-%s", s->project, s->service);
	s->m.span.service = reading_name(o->r, text, strlen(text));
	if (*s->tracepoint && s->is_note)
		snprintf(text, sizeof(text), "%s:%s", s->tracepoint, s->name);
	else
		snprintf(text, sizeof(text), "%s", *s->tracepoint ? s->tracepoint : s->name);
	s->m.span.name = reading_name(o->r, text, strlen(text));
}

static void note_links(struct osp *o, const struct osp_span *s)
{
	const struct span *span = &s->m.span;

	if (s->child && o->begun.cnt < OSP_LINKS_MAX) {
		struct osp_link link = {s->child, span->id, s->m.trace, s->base};

		hmap_put(&o->by_child, s->child, o->begun.cnt);
		vec_push(&o->begun, link);
	}
	if (s->wait && o->waits.cnt < OSP_LINKS_MAX)
		hmap_put(&o->waits, span->id, s->wait);
	if (span->parent == 0 && s->base && o->roots.cnt < OSP_LINKS_MAX) {
		struct osp_link root = {s->base, span->id, s->m.trace, s->base};
		uint64_t *first = hmap_slot(&o->by_base, s->base);

		vec_push(&o->roots, root);
		vec_push(&o->next_root, *first);
		*first = o->roots.cnt;
	}
}

/* A span that waits says so by its end: a point there is what comes after the other's end. */
static int add_wait_point(struct osp *o, struct osp_span *s)
{
	struct making point = {0};
	int rc;

	making_point(&point, &s->m, 0, s->m.span.end_ns, s->m.span.name);
	hmap_del(&o->waits, s->m.span.id);
	hmap_put(&o->waits, point.span.id, s->wait);
	rc = pending_add(o->pending, &point, s->base);
	making_release(&point);
	return rc;
}

int osp_span_end(struct osp *o, struct osp_span *s)
{
	struct span *span = &s->m.span;
	uint64_t miss_off;
	const char *miss;
	int rc;

	if (jsontok_broken(&o->docs->t))
		return 0;
	if (!span->id || !s->has_begin) {
		json_span_bad(o->docs, s->m.off, span->id ? "begin" : "trace_id");
		return 0;
	}
	jsontok_take_miss(&o->docs->t, &miss_off, &miss);
	if (s->is_note) {
		span->flags |= SPANF_POINT;
		span->end_ns = span->begin_ns;
	} else if (!s->has_end) {
		span->flags |= SPANF_OPEN;
	}
	if (s->base && span->parent == s->base)
		span->parent = 0;
	set_names(o, s);
	note_links(o, s);
	o->docs->waiting_cnt++;
	rc = pending_add(o->pending, &s->m, s->base);
	if (rc == 0 && s->wait && !s->is_note && s->has_end)
		rc = add_wait_point(o, s);
	return rc;
}

/* ---- joining */

static void wait_refs(struct osp *o, struct making *m, uint64_t child)
{
	uint64_t at;

	if (!hmap_get(&o->by_base, child, &at))
		return;
	for (; at; at = o->next_root.items[at - 1])
		making_ref(o->r, m, &m->trace, o->roots.items[at - 1].to, SPAN_REF_AFTER);
}

static int hand_on(void *ctx, struct making *m, uint64_t base)
{
	struct osp *o = ctx;
	uint64_t idx, child;
	bool root = m->span.parent == 0;

	if (!root && hmap_get(&o->by_child, m->span.parent, &idx)) {
		m->span.parent = 0; /* it hangs at the other trace's id, which is no span */
		base = o->begun.items[idx].from;
		root = true;
	}
	for (int i = 0; i < TRACES_MAX && hmap_get(&o->by_child, base, &idx); i++) {
		const struct osp_link *link = &o->begun.items[idx];

		m->trace = link->trace;
		if (i == 0 && root)
			making_ref(o->r, m, &link->trace, link->to, SPAN_REF_FOLLOWS);
		base = link->base;
	}
	if (hmap_get(&o->waits, m->span.id, &child))
		wait_refs(o, m, child);
	VEC_FOREACH(&m->refs, ref)
		ref->trace = m->trace;
	return reading_span(o->r, m);
}

int osp_join(struct osp *o)
{
	int rc = pending_take(o->pending, hand_on, o);

	o->begun.cnt = o->roots.cnt = o->next_root.cnt = 0;
	hmap_clear(&o->by_child);
	hmap_clear(&o->by_base);
	hmap_clear(&o->waits);
	return rc;
}
