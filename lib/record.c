/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and spans of this process.  A thread knows the request that it works for, the span
 * that what begins now belongs to, and the innermost span of its own that is recorded.  A
 * context is shared by the threads that work for one request; the last frees it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "internal.h"

struct where {
	struct heldup_context *context;	/* NULL: the thread works for no traced request */
	uint64_t parent;
	struct heldup_span *open;
};

static __thread struct where where;
struct tally tally;
uint32_t heldup_any;

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* xorshift64*: ids have to differ, no more. */
static uint64_t id_new(void)
{
	static __thread uint64_t state;

	while (!state)
		if (getrandom(&state, sizeof(state), 0) != sizeof(state))
			state = now_ns() ^ (uint64_t)(uintptr_t)&state;
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

static void span_open(struct heldup_span *span, const struct heldup_point *point)
{
	do
		span->id = id_new();
	while (!span->id);
	span->parent = where.parent;
	span->point = point;
	span->outer = where.open;
	span->key_cnt = span->event_cnt = 0;
	where.parent = span->id;
	where.open = span;
	publish_thread(where.context, span->id);
	span->begin_ns = now_ns();
}

static void span_close(struct heldup_span *span, bool is_request)
{
	struct record r;

	r.end_ns = now_ns();
	r.is_request = is_request;
	r.trace_hi = where.context->trace_hi;
	r.trace_lo = where.context->trace_lo;
	r.epoch = where.context->epoch;
	memcpy(&r.span, span, offsetof(struct heldup_span, keys));
	memcpy(r.span.keys, span->keys, span->key_cnt * sizeof(span->keys[0]));
	memcpy(r.span.events, span->events, span->event_cnt * sizeof(span->events[0]));
	tally_add(&tally.recorded, 1);
	if (!queue_put(&r))
		tally_add(&tally.dropped, 1);
	where.parent = span->parent;
	where.open = span->outer;
	publish_thread(where.context, span->parent);
}

static bool point_is_on(const struct heldup_context *c, const struct heldup_point *point)
{
	uint32_t i = point->idx - 1;

	return c->state.all || (point->idx && c->state.on[i / 64] >> (i % 64) & 1);
}

void heldup_begin_slow(struct heldup_span *span, struct heldup_point *point)
{
	if (where.context && point_is_on(where.context, point))
		span_open(span, point);
}

void heldup_end_slow(struct heldup_span *span)
{
	/* One that was ended twice, in another thread or after its request: lost, not wrong. */
	if (where.context && where.open == span)
		span_close(span, false);
	else
		tally_add(&tally.dropped, 1);
	span->id = 0;
}

static struct heldup_key *key_new(struct heldup_span *span, const char *name)
{
	struct heldup_key *k;

	if (span->key_cnt == HELDUP_KEYS_MAX) {
		tally_add(&tally.keys_dropped, 1);
		return NULL;
	}
	k = &span->keys[span->key_cnt++];
	k->name = name;
	k->text[0] = '\0';
	return k;
}

void heldup_num_slow(struct heldup_span *span, const char *key, double value)
{
	struct heldup_key *k = key_new(span, key);

	if (k)
		k->num = value;
}

void heldup_text_slow(struct heldup_span *span, const char *key, const char *value)
{
	struct heldup_key *k = *value ? key_new(span, key) : NULL;

	if (k)
		snprintf(k->text, sizeof(k->text), "%s", value);
}

void heldup_event_slow(struct heldup_point *point)
{
	struct heldup_span *span = where.open;

	if (!where.context || !span || !point_is_on(where.context, point))
		return;
	if (span->event_cnt == HELDUP_EVENTS_MAX) {
		tally_add(&tally.events_dropped, 1);
		return;
	}
	span->events[span->event_cnt++] = (struct heldup_event){point->name, now_ns()};
}

/* ---- requests */

struct headers {
	uint64_t hi, lo, parent;	/* of traceparent */
	uint64_t epoch, type;		/* of tracestate, 0: none of ours */
};

static bool hex(const char *text, int digits, uint64_t *ret)
{
	uint64_t v = 0;

	for (int i = 0; i < digits; i++) {
		char c = text[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	*ret = v;
	return true;
}

/* VERSION-TRACE-SPAN-FLAGS; ids of zeros are none. */
static bool parent_parse(const char *text, struct headers *ret)
{
	return text && strnlen(text, 55) == 55 && text[2] == '-' && text[35] == '-' &&
	       text[52] == '-' && hex(text + 3, 16, &ret->hi) && hex(text + 19, 16, &ret->lo) &&
	       hex(text + 36, 16, &ret->parent) && (ret->hi || ret->lo) && ret->parent;
}

/* heldup=EPOCH-TYPE among what others have there. */
static bool state_header_parse(const char *text, struct headers *ret)
{
	const char *at = text ? strstr(text, "heldup=") : NULL;

	if (!at || (at != text && at[-1] != ',' && at[-1] != ' '))
		return false;
	at += strlen("heldup=");
	return strnlen(at, 33) >= 33 && at[16] == '-' && hex(at, 16, &ret->epoch) &&
	       hex(at + 17, 16, &ret->type);
}

static bool is_chosen(uint32_t share_ppm)
{
	return share_ppm >= 1000000 || id_new() % 1000000 < share_ppm;
}

void heldup_request_begin_slow(struct heldup_request *request, struct heldup_point *point)
{
	struct heldup_context *c;
	struct headers h = {0};
	bool came = parent_parse(request->parent, &h) && state_header_parse(request->state, &h);
	struct type_state state;
	uint64_t epoch;

	if (came ? !state_of_type(h.type, h.epoch, &state, &epoch)
		 : !state_of_name(point->name, &state, &epoch))
		return;
	tally_add(&tally.request_cnt, !came);
	if (!came && !is_chosen(state.share_ppm))
		return;
	c = malloc(sizeof(*c));
	if (!c)
		return;
	*c = (struct heldup_context){.refs = 1, .state = state};
	c->trace_hi = came ? h.hi : id_new();
	c->trace_lo = came ? h.lo : id_new();
	/* the older one: what it shows holds for both */
	c->epoch = came && h.epoch < epoch ? h.epoch : epoch;
	tally_add(&tally.traced_cnt, !came);
	request->context = c;
	request->outer = where.context;
	request->outer_span = where.open;
	request->outer_parent = where.parent;
	where = (struct where){.context = c, .parent = h.parent};
	/* where a request begins it is always seen */
	if (!came || point_is_on(c, point))
		span_open(&request->root, point);
	else
		publish_thread(c, h.parent);
}

static void context_put(struct heldup_context *c)
{
	if (c && __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(c);
}

void heldup_request_end_slow(struct heldup_request *request)
{
	if (where.context != request->context)
		return;
	if (request->root.id)
		span_close(&request->root, true);
	context_put(request->context);
	request->context = NULL;
	where = (struct where){request->outer, request->outer_parent, request->outer_span};
	publish_thread(where.context, where.parent);
}

void heldup_headers(const struct heldup_request *request, char traceparent[HELDUP_HEADER_MAX],
		    char tracestate[HELDUP_HEADER_MAX])
{
	const struct heldup_context *c = where.context;

	if (!c) {
		snprintf(traceparent, HELDUP_HEADER_MAX, "%s",
			 request && request->parent ? request->parent : "");
		snprintf(tracestate, HELDUP_HEADER_MAX, "%s",
			 request && request->state ? request->state : "");
		return;
	}
	snprintf(traceparent, HELDUP_HEADER_MAX, "00-%016llx%016llx-%016llx-01",
		 (unsigned long long)c->trace_hi, (unsigned long long)c->trace_lo,
		 (unsigned long long)where.parent);
	snprintf(tracestate, HELDUP_HEADER_MAX, "heldup=%016llx-%016llx",
		 (unsigned long long)c->epoch, (unsigned long long)c->state.hash);
}

/* ---- links */

struct heldup_link heldup_link_take(void)
{
	struct heldup_link link = {.context = where.context, .parent = where.parent};

	if (link.context)
		__atomic_fetch_add(&link.context->refs, 1, __ATOMIC_RELAXED);
	return link;
}

void heldup_link_enter(struct heldup_link *link)
{
	link->outer = where.context;
	link->outer_parent = where.parent;
	link->outer_span = where.open;
	where = (struct where){.context = link->context, .parent = link->parent};
	publish_thread(where.context, where.parent);
}

void heldup_link_leave(struct heldup_link *link)
{
	where = (struct where){link->outer, link->outer_parent, link->outer_span};
	publish_thread(where.context, where.parent);
	heldup_link_drop(link);
}

void heldup_link_drop(struct heldup_link *link)
{
	context_put(link->context);
	link->context = NULL;
}

/* ---- what a span costs here: the least of some turns, which nothing disturbed */

enum { COST_TURNS = 8, COST_SPANS = 64 };

void cost_measure(void)
{
	static struct heldup_point point = {"cost", 0, 0};
	struct heldup_context c = {.refs = 1, .state = {.all = true}};
	struct where before = where;
	struct tally kept = tally;
	struct record r;
	double least = 1e9;

	where = (struct where){.context = &c};
	for (int turn = 0; turn < COST_TURNS; turn++) {
		uint64_t begin_ns = now_ns();

		for (int i = 0; i < COST_SPANS; i++) {
			struct heldup_span span;

			span.id = 0;
			heldup_begin_slow(&span, &point);
			heldup_num_slow(&span, "n", i);
			heldup_end_slow(&span);
		}
		if ((double)(now_ns() - begin_ns) / COST_SPANS < least)
			least = (double)(now_ns() - begin_ns) / COST_SPANS;
		while (queue_take(&r))
			;
	}
	where = before;
	publish_thread(where.context, where.parent);
	tally = kept;
	tally.span_ns = least;
}
