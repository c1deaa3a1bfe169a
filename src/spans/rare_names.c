/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place is a service and what stands before a part of a path, whatever comes behind.
 * Parts are decided from left to right, one in a round: then names that differed in it
 * are the same before the next.
 */
#include "spans/rare_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "trace/trace.h"

#define ROUNDS 4 /* parts of a path that are ids */
#define ID "{id}"

struct value { /* of a place */
	uint64_t place, span_cnt;
};

struct place {
	uint64_t rare_cnt, all_cnt;
};

struct rare {
	struct strtab *strings;
	struct hmap spans; /* service and name as read: their spans */
	struct hmap names; /* the same: name as it is by now */
	struct hmap value_idx, place_idx; /* hash: index + 1 */
	VEC(struct value) values;
	VEC(struct place) places;
};

static uint64_t key_of(uint32_t service, uint32_t name)
{
	return (uint64_t)service << 32 | name;
}

struct rare *rare_new(struct strtab *strings)
{
	struct rare *r = xcalloc(1, sizeof(*r));

	r->strings = strings;
	return r;
}

static void counts_drop(struct rare *r)
{
	hmap_release(&r->value_idx);
	hmap_release(&r->place_idx);
	vec_release(&r->values);
	vec_release(&r->places);
}

void rare_free(struct rare *r)
{
	if (!r)
		return;
	counts_drop(r);
	hmap_release(&r->spans);
	hmap_release(&r->names);
	free(r);
}

void rare_add(struct rare *r, uint32_t service, uint32_t name)
{
	uint64_t key = key_of(service, name);

	if (name && (r->spans.cnt < RARE_NAMES_MAX || hmap_find(&r->spans, key)))
		++*hmap_slot(&r->spans, key);
}

/* The next part of a path at or behind *at, which ends up behind it; its length, 0 none. */
static size_t next_part(const char *name, const char **at)
{
	for (const char *s = *at; *s; s++) {
		size_t len;

		if (*s != '/')
			continue;
		len = strcspn(s + 1, "/ ?&=#,;()[]<>\"'|\t");
		if (!len || (s[1] == '{' && s[len] == '}')) /* a template's own, an id already */
			continue;
		*at = s + 1;
		return len;
	}
	*at = name + strlen(name);
	return 0;
}

static uint64_t place_of(uint32_t service, const char *name, const char *part)
{
	return hash_pair(service, hash_bytes(name, (size_t)(part - name)));
}

static uint64_t value_of(uint64_t place, const char *part, size_t len)
{
	return hash_pair(place, hash_bytes(part, len));
}

static void count_values(struct rare *r)
{
	struct hmap_entry e;

	for (size_t pos = 0; hmap_next(&r->names, &pos, &e);) {
		const char *name = strtab_str(r->strings, (uint32_t)e.value), *at = name;
		uint64_t spans = *hmap_slot(&r->spans, e.key);

		for (size_t len; (len = next_part(name, &at)); at += len) {
			uint64_t place = place_of((uint32_t)(e.key >> 32), name, at);
			uint64_t *idx = hmap_slot(&r->value_idx, value_of(place, at, len));

			if (!*idx) {
				vec_push(&r->values, (struct value){.place = place});
				*idx = r->values.cnt;
			}
			r->values.items[*idx - 1].span_cnt += spans;
		}
	}
}

static void count_places(struct rare *r)
{
	VEC_FOREACH(&r->values, v) {
		uint64_t *idx = hmap_slot(&r->place_idx, v->place);

		if (!*idx) {
			vec_push(&r->places, (struct place){0});
			*idx = r->places.cnt;
		}
		r->places.items[*idx - 1].all_cnt++;
		r->places.items[*idx - 1].rare_cnt += v->span_cnt <= RARE_CNT_MAX;
	}
}

static bool is_id(const struct rare *r, uint64_t place, uint64_t value)
{
	const struct place *p = &r->places.items[*hmap_find(&r->place_idx, place) - 1];

	return p->rare_cnt >= RARE_VALUES_MIN &&
	       p->rare_cnt * 100 >= p->all_cnt * RARE_SHARE_PCT &&
	       r->values.items[*hmap_find(&r->value_idx, value) - 1].span_cnt <= RARE_CNT_MAX;
}

/* The name with its first part that is an id as one; the name itself: there is none. */
static uint32_t one_round(struct rare *r, uint32_t service, uint32_t id)
{
	const char *name = strtab_str(r->strings, id), *at = name;

	for (size_t len; (len = next_part(name, &at)); at += len) {
		CLEANUP(buf_release) struct buf out = {0};
		uint64_t place = place_of(service, name, at);
		uint32_t to;

		if (!is_id(r, place, value_of(place, at, len)))
			continue;
		buf_add(&out, name, (size_t)(at - name));
		buf_adds(&out, ID);
		buf_adds(&out, at + len);
		to = strtab_addn(r->strings, buf_str(&out), out.len);
		return to ? to : id;
	}
	return id;
}

uint64_t rare_settle(struct rare *r)
{
	struct hmap_entry e;
	uint64_t cnt = 0, changed = 1;

	for (size_t pos = 0; hmap_next(&r->spans, &pos, &e);)
		hmap_put(&r->names, e.key, (uint32_t)e.key);
	for (int round = 0; round < ROUNDS && changed; round++) {
		changed = 0;
		count_values(r);
		count_places(r);
		for (size_t pos = 0; hmap_next(&r->names, &pos, &e);) {
			uint32_t to = one_round(r, (uint32_t)(e.key >> 32), (uint32_t)e.value);

			changed += to != e.value;
			*hmap_find(&r->names, e.key) = to;
		}
		counts_drop(r);
	}
	for (size_t pos = 0; hmap_next(&r->names, &pos, &e);)
		cnt += (uint32_t)e.key != e.value;
	return cnt;
}

uint32_t rare_name(const struct rare *r, uint32_t service, uint32_t name)
{
	uint64_t to;

	return hmap_get(&r->names, key_of(service, name), &to) ? (uint32_t)to : name;
}

void rare_trace(const struct rare *r, const struct trace *t, struct arena *arena,
		struct trace *ret)
{
	struct span *spans = NULL;

	*ret = *t;
	for (uint32_t i = 0; i < t->span_cnt; i++) {
		uint32_t to = rare_name(r, t->spans[i].service, t->spans[i].name);

		if (to == t->spans[i].name)
			continue;
		if (!spans)
			spans = arena_dup(arena, t->spans, t->span_cnt * sizeof(*spans));
		spans[i].name = to;
	}
	if (spans)
		ret->spans = spans;
}
