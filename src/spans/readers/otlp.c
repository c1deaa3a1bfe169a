/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/readers/otlp.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "spans/fold.h"

/*
 * Texts repeat: a service has a hundred names and keys, and most values are
 * few.  Two small tables, in which a text has one place, save looking it up in
 * the table of all strings, which is larger than the CPU's caches.
 */
enum { TEXT_SLOTS = 1024 };

struct text_slot {
	uint32_t len; /* 0: empty */
	uint32_t id;
	struct attr attr; /* of a value: all but the key */
	char text[ATTR_TEXT_MAX];
};

struct otlp_texts {
	struct text_slot names[TEXT_SLOTS];
	struct text_slot values[TEXT_SLOTS];
};

_Static_assert(ATTR_TEXT_MAX % 8 == 0, "hashed by eights");

static uint64_t load8(const char *s)
{
	uint64_t v;

	memcpy(&v, s, 8);
	return v;
}

static uint64_t load4(const char *s)
{
	uint32_t v;

	memcpy(&v, s, 4);
	return v;
}

/* The last eight bytes, or all there are: of one length no two texts have the same. */
static inline uint64_t tail_of(const char *text, size_t len)
{
	if (len >= 8)
		return load8(text + len - 8);
	if (len >= 4)
		return load4(text) | load4(text + len - 4) << 32;
	return (uint64_t)(unsigned char)text[0] | (uint64_t)(unsigned char)text[len / 2] << 8 |
	       (uint64_t)(unsigned char)text[len - 1] << 16;
}

/*
 * Eight bytes a step, the last ones twice where the length is no multiple; each
 * times an odd number of its own, so that no step waits for the one before.
 */
static inline struct text_slot *slot_of(struct text_slot *slots, const char *text, size_t len)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t h = len + tail_of(text, len) * (odd - 2);

	for (size_t i = 0; i + 8 < len; i += 8)
		h += load8(text + i) * (odd + 2 * i);
	h ^= h >> 32;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return &slots[h >> 40 & (TEXT_SLOTS - 1)];
}

/* As memcmp would have it, but for the call. */
static inline bool slot_has(const struct text_slot *slot, const char *text, size_t len)
{
	if (slot->len != len || tail_of(slot->text, len) != tail_of(text, len))
		return false;
	for (size_t i = 0; i + 8 < len; i += 8)
		if (load8(slot->text + i) != load8(text + i))
			return false;
	return true;
}

static void slot_set(struct text_slot *slot, const char *text, size_t len)
{
	memcpy(slot->text, text, len);
	slot->len = (uint32_t)len;
}

uint32_t otlp_name(struct otlp *o, const char *text, size_t len)
{
	struct text_slot *slot;

	if (len == 0 || len > ATTR_TEXT_MAX)
		return reading_name(o->r, text, len);
	slot = slot_of(o->texts->names, text, len);
	if (!slot_has(slot, text, len)) {
		slot->id = reading_name(o->r, text, len);
		slot_set(slot, text, len);
	}
	return slot->id;
}

static void add_text(struct otlp *o, struct making *m, uint32_t key, const char *text, size_t len)
{
	size_t cnt = m->attrs.cnt;
	struct text_slot *slot;
	struct attr a;

	if (len == 0 || len > ATTR_TEXT_MAX || !key || cnt >= ATTRS_MAX) {
		making_text(o->r, m, key, text, len);
		return;
	}
	slot = slot_of(o->texts->values, text, len);
	if (slot_has(slot, text, len)) {
		a = slot->attr;
		a.key = key;
		vec_push(&m->attrs, a);
		return;
	}
	making_text(o->r, m, key, text, len);
	if (m->attrs.cnt == cnt)
		return;
	slot_set(slot, text, len);
	slot->attr = m->attrs.items[cnt];
}

static void add_value(struct otlp *o, struct making *m, uint32_t key, const struct otlp_value *v)
{
	if (v->kind == OTLP_TEXT)
		add_text(o, m, key, v->text, v->len);
	else if (v->kind == OTLP_NUM)
		making_num(o->r, m, key, v->num);
	else if (v->kind == OTLP_BOOL)
		making_bool(o->r, m, key, v->num != 0);
	else
		o->r->stats->attr_passed_cnt++;
}

/* ---- life */

void otlp_init(struct otlp *o, struct reading *r)
{
	*o = (struct otlp){.r = r, .texts = xcalloc(1, sizeof(*o->texts))};
	if (r->opts->only_route) {
		o->route_keys[0] = strtab_add(r->strings, FOLD_ROUTE_KEY);
		o->route_keys[1] = strtab_add(r->strings, FOLD_TEMPLATE_KEY);
	}
}

void otlp_release(struct otlp *o)
{
	making_release(&o->making);
	making_release(&o->resource);
	vec_release(&o->events);
	vec_release(&o->late);
	vec_release(&o->late_attrs);
	vec_release(&o->late_refs);
	vec_release(&o->late_events);
	free(o->texts);
}

/* ---- resources */

/* In what instances of one service differ.  What all of them share explains no difference. */
static const char *const resource_keys[] = {
	"service.version", "service.instance.id", "service.namespace",
	"host.name", "k8s.pod.name", "k8s.node.name",
	"cloud.region", "cloud.availability_zone",
	"deployment.environment.name", "deployment.environment",
};

/* Whose clock the times are of, the best first: a container has its host's. */
static const char *const host_keys[] = {"host.name", "host.id", "k8s.node.name", "k8s.pod.name",
					"container.id"};

#define CNT(array) (sizeof(array) / sizeof((array)[0]))

static size_t find(const char *const *keys, size_t cnt, const char *key, size_t len)
{
	for (size_t i = 0; i < cnt; i++)
		if (strlen(keys[i]) == len && memcmp(keys[i], key, len) == 0)
			return i;
	return cnt;
}

void otlp_resource_begin(struct otlp *o)
{
	o->service = o->host = 0;
	o->host_rank = CNT(host_keys);
	o->known = false;
	making_begin(&o->resource, 0);
}

void otlp_resource_attr(struct otlp *o, const char *key, size_t key_len,
			const struct otlp_value *value)
{
	size_t rank = find(host_keys, CNT(host_keys), key, key_len);

	if (value->kind == OTLP_TEXT && key_len == 12 && memcmp(key, "service.name", 12) == 0)
		o->service = otlp_name(o, value->text, value->len);
	if (value->kind == OTLP_TEXT && value->len && rank < o->host_rank) {
		o->host_rank = (unsigned)rank;
		o->host = otlp_name(o, value->text, value->len);
	}
	if (!o->r->opts->only_route &&
	    find(resource_keys, CNT(resource_keys), key, key_len) < CNT(resource_keys))
		add_value(o, &o->resource, otlp_name(o, key, key_len), value);
}

void otlp_resource_done(struct otlp *o)
{
	o->known = true;
}

/* ---- spans */

/* The span in o->making with o->events goes out, with what its resource gives it. */
static int give(struct otlp *o)
{
	struct making *m = &o->making;
	uint64_t bad_cnt = o->r->stats->bad_cnt;
	int rc;

	m->span.service = o->service;
	m->span.host = o->host;
	for (size_t i = 0; i < o->resource.attrs.cnt && m->attrs.cnt < ATTRS_MAX; i++)
		vec_push(&m->attrs, o->resource.attrs.items[i]);
	rc = reading_span(o->r, m);
	if (rc < 0 || o->r->stats->bad_cnt != bad_cnt)
		return rc;
	for (size_t i = 0; i < o->events.cnt && rc == 0; i++)
		rc = reading_point(o->r, m, (uint32_t)i, o->events.items[i].at_ns,
				   o->events.items[i].name);
	return rc;
}

#define push_all(to, from)                                                \
	do {                                                              \
		for (size_t i_ = 0; i_ < (from)->cnt; i_++)               \
			vec_push((to), (from)->items[i_]);                \
	} while (0)

static void keep_late(struct otlp *o)
{
	struct otlp_late *late = vec_add(&o->late);
	struct making *m = &o->making;

	*late = (struct otlp_late){.trace = m->trace, .span = m->span, .off = m->off,
				   .event_idx = o->late_events.cnt, .event_cnt = o->events.cnt};
	late->span.attr_idx = (uint32_t)o->late_attrs.cnt;
	late->span.attr_cnt = (uint32_t)m->attrs.cnt;
	late->span.ref_idx = (uint32_t)o->late_refs.cnt;
	late->span.ref_cnt = (uint32_t)m->refs.cnt;
	push_all(&o->late_attrs, &m->attrs);
	push_all(&o->late_refs, &m->refs);
	push_all(&o->late_events, &o->events);
}

static int give_late(struct otlp *o)
{
	struct making *m = &o->making;
	int rc = 0;

	VEC_FOREACH(&o->late, late) {
		making_begin(m, late->off);
		vec_clear(&o->events);
		m->trace = late->trace;
		m->span = late->span;
		for (uint32_t i = 0; i < late->span.attr_cnt; i++)
			vec_push(&m->attrs, o->late_attrs.items[late->span.attr_idx + i]);
		for (uint32_t i = 0; i < late->span.ref_cnt; i++)
			vec_push(&m->refs, o->late_refs.items[late->span.ref_idx + i]);
		for (size_t i = 0; i < late->event_cnt; i++)
			vec_push(&o->events, o->late_events.items[late->event_idx + i]);
		m->span.attr_idx = m->span.ref_idx = 0;
		rc = give(o);
		if (rc < 0)
			break;
	}
	vec_clear(&o->late);
	vec_clear(&o->late_attrs);
	vec_clear(&o->late_refs);
	vec_clear(&o->late_events);
	return rc;
}

int otlp_resource_end(struct otlp *o)
{
	return give_late(o);
}

void otlp_span_begin(struct otlp *o, uint64_t off)
{
	making_begin(&o->making, off);
	vec_clear(&o->events);
}

void otlp_span_attr(struct otlp *o, uint32_t key, const struct otlp_value *value)
{
	if (o->r->opts->only_route && key != o->route_keys[0] && key != o->route_keys[1])
		o->r->stats->attr_passed_cnt++;
	else
		add_value(o, &o->making, key, value);
}

void otlp_event(struct otlp *o, uint64_t at_ns, const char *name, size_t len)
{
	if (o->r->opts->no_events)
		return;
	if (o->events.cnt >= POINTS_MAX || !at_ns || at_ns > INT64_MAX)
		o->r->stats->point_dropped_cnt++;
	else
		vec_push(&o->events, ((struct otlp_event){(int64_t)at_ns,
							  reading_event_name(o->r, name, len)}));
}

int otlp_span_end(struct otlp *o, uint64_t begin_ns, uint64_t end_ns)
{
	struct making *m = &o->making;

	if (!begin_ns || begin_ns > INT64_MAX || end_ns > INT64_MAX) {
		reading_bad(o->r, m->off, "expected a start time in ns since 1970, found %s",
			    begin_ns ? "one after 2262" : "none");
		return 0;
	}
	m->span.begin_ns = (int64_t)begin_ns;
	m->span.end_ns = (int64_t)end_ns;
	if (!end_ns)
		m->span.flags |= SPANF_OPEN;
	if (o->known)
		return give(o);
	if (o->late.cnt >= OTLP_LATE_MAX) {
		o->r->stats->no_service_cnt++;
		return give(o);
	}
	keep_late(o);
	return 0;
}

enum span_kind otlp_kind(uint64_t kind)
{
	return kind <= SPAN_CONSUMER ? (enum span_kind)kind : SPAN_UNKNOWN;
}
