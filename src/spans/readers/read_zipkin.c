/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zipkin's second JSON format: a list of spans, a list of lists (one for each
 * trace, as its server answers), or spans line by line.  The two halves of a
 * call have one id when the server's is marked as shared.  An annotation
 * becomes a point, the other end's service the attribute peer.service, the
 * endpoint's address the host.
 */
#include "spans/reading.h"

#include <string.h>

#include "base/hash.h"
#include "spans/parse/json_docs.h"

enum { NESTING_MAX = 3 };	/* lists in lists */

#define US INT64_C(1000)

struct note {
	int64_t at_ns;
	uint32_t name;
};

struct zipkin {
	struct json_docs *docs;
	struct reading *r;
	struct jsontok *t;
	struct making m;
	int64_t duration_ns;
	bool has_begin, has_duration;
	VEC(struct note) notes;
	uint32_t key_peer, key_error;
	unsigned nesting;
};

static void take_endpoint(struct zipkin *z, bool local)
{
	struct docs_key key;
	struct tok_str v;

	if (!jsontok_obj(z->t))
		return;
	while (docs_key(z->t, &key)) {
		if (tok_is(&key, "serviceName") && jsontok_str(z->t, &v)) {
			if (local)
				z->m.span.service = reading_name(z->r, v.s, v.len);
			else
				making_text(z->r, &z->m, z->key_peer, v.s, v.len);
		} else if (local && tok_is(&key, "ipv4") && jsontok_str(z->t, &v)) {
			z->m.span.host = reading_name(z->r, v.s, v.len);
		} else if (local && tok_is(&key, "ipv6") && !z->m.span.host &&
			   jsontok_str(z->t, &v)) {
			z->m.span.host = reading_name(z->r, v.s, v.len);
		}
	}
}

static void take_tags(struct zipkin *z)
{
	struct tok_str key;

	if (!jsontok_obj(z->t))
		return;
	while (jsontok_key(z->t, &key)) {
		uint32_t id = reading_name(z->r, key.s, key.len);

		/* Zipkin: a span with this tag failed, whatever it says */
		if (id == z->key_error)
			z->m.span.flags |= SPANF_ERROR;
		json_attr(z->docs, &z->m, id);
	}
}

static void take_note(struct zipkin *z)
{
	struct note note = {.at_ns = -1};
	struct docs_key key;
	struct tok_str v;

	if (!jsontok_obj(z->t))
		return;
	while (docs_key(z->t, &key)) {
		if (tok_is(&key, "timestamp"))
			json_time(z->t, US, &note.at_ns);
		else if (tok_is(&key, "value") && jsontok_str(z->t, &v))
			note.name = reading_event_name(z->r, v.s, v.len);
	}
	if (note.at_ns < 0 || !note.name || z->notes.cnt >= POINTS_MAX)
		z->r->stats->point_dropped_cnt++;
	else
		vec_push(&z->notes, note);
}

static void take_notes(struct zipkin *z)
{
	if (z->r->opts->no_events) {
		jsontok_skip(z->t);
		return;
	}
	if (!jsontok_arr(z->t))
		return;
	while (jsontok_item(z->t))
		take_note(z);
}

/* Keys whose value is a text. */
static bool text_key(struct zipkin *z, const struct docs_key *key)
{
	struct span *s = &z->m.span;
	struct tok_str v;

	if (tok_is(key, "traceId")) {
		if (jsontok_str(z->t, &v))
			z->m.trace = id_trace(v.s, v.len);
	} else if (tok_is(key, "id")) {
		if (jsontok_str(z->t, &v))
			s->id = id_span(v.s, v.len);
	} else if (tok_is(key, "parentId")) {
		if (jsontok_kind(z->t) == TOK_STR && jsontok_str(z->t, &v))
			s->parent = id_span(v.s, v.len);
	} else if (tok_is(key, "name")) {
		if (jsontok_kind(z->t) == TOK_STR && jsontok_str(z->t, &v))
			s->name = reading_name(z->r, v.s, v.len);
	} else if (tok_is(key, "kind")) {
		if (jsontok_kind(z->t) == TOK_STR && jsontok_str(z->t, &v))
			s->kind = (uint8_t)kind_named(v.s, v.len);
	} else {
		return false;
	}
	return true;
}

static void span_key(struct zipkin *z, const struct docs_key *key)
{
	struct span *s = &z->m.span;
	bool shared;

	if (text_key(z, key))
		return;
	if (tok_is(key, "timestamp"))
		z->has_begin = json_time(z->t, US, &s->begin_ns);
	else if (tok_is(key, "duration"))
		z->has_duration = json_time(z->t, US, &z->duration_ns);
	else if (tok_is(key, "shared") && jsontok_bool(z->t, &shared))
		s->flags |= shared ? SPANF_SHARED : 0;
	else if (tok_is(key, "localEndpoint"))
		take_endpoint(z, true);
	else if (tok_is(key, "remoteEndpoint"))
		take_endpoint(z, false);
	else if (tok_is(key, "tags"))
		take_tags(z);
	else if (tok_is(key, "annotations"))
		take_notes(z);
}

static int take_span(struct zipkin *z)
{
	struct span *s = &z->m.span;
	uint64_t miss_off;
	const char *miss;
	struct docs_key key;
	int rc;

	making_begin(&z->m, json_off(z->docs));
	z->has_begin = z->has_duration = false;
	z->notes.cnt = 0;
	jsontok_obj(z->t);
	while (docs_key(z->t, &key))
		span_key(z, &key);
	if (jsontok_broken(z->t))
		return 0;
	if (!s->id || !z->has_begin) {
		json_span_bad(z->docs, z->m.off, s->id ? "timestamp" : "id");
		return 0;
	}
	jsontok_take_miss(z->t, &miss_off, &miss); /* of what it can do without */
	if (!z->has_duration)
		s->flags |= SPANF_OPEN;
	else if (__builtin_add_overflow(s->begin_ns, z->duration_ns, &s->end_ns))
		s->end_ns = INT64_MAX;
	rc = reading_span(z->r, &z->m);
	for (size_t i = 0; i < z->notes.cnt && rc == 0; i++)
		rc = reading_point(z->r, &z->m, (uint32_t)i, z->notes.items[i].at_ns,
				   z->notes.items[i].name);
	return rc;
}

static int take_list(struct zipkin *z)
{
	int rc = 0;

	if (++z->nesting > NESTING_MAX) {
		jsontok_skip(z->t);
	} else if (jsontok_kind(z->t) == TOK_OBJ) {
		rc = take_span(z);
	} else if (jsontok_kind(z->t) == TOK_ARR && jsontok_arr(z->t)) {
		while (rc == 0 && jsontok_item(z->t))
			rc = take_list(z);
	} else if (!jsontok_broken(z->t)) {
		uint64_t off = json_off(z->docs);

		jsontok_obj(z->t); /* a miss, which says what it is instead */
		json_span_bad(z->docs, off, "span");
	}
	z->nesting--;
	return rc;
}

static int take_doc(struct json_docs *docs, void *ctx)
{
	struct zipkin *z = ctx;

	z->docs = docs;
	z->t = &docs->t;
	z->nesting = 0;
	return take_list(z);
}

static int zipkin_read(struct reading *r)
{
	struct zipkin z = {.r = r};
	int rc;

	z.key_peer = strtab_add(r->strings, "peer.service");
	z.key_error = strtab_add(r->strings, "error");
	rc = json_docs_read(r, take_doc, &z);
	making_release(&z.m);
	vec_release(&z.notes);
	return rc;
}

static bool zipkin_matches(const char *head, size_t len)
{
	return head_is_json(head, len) && head_has_key(head, len, "traceId", NESTING_MAX) &&
	       head_has_key(head, len, "id", NESTING_MAX);
}

const struct spans_reader reader_zipkin = {SPANS_ZIPKIN, zipkin_matches, zipkin_read};
