/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/spans/kept_types.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "requests/live/shift.h"
#include "serve/keep/db_requests.h"
#include "serve/spans/span_trouble.h"

#define MINUTES 60
#define HOURS 24
#define MINUTE_NS (60 * NS_PER_SEC)
#define HOUR_NS (3600 * NS_PER_SEC)
#define DAY_NS (HOURS * HOUR_NS)

struct span_time {		/* sums of one minute or hour */
	uint64_t begin_ns;	/* 0: none */
	bool is_changed;	/* since it was put into the store */
	struct live_sums sums;
};

struct kept_type {
	uint64_t hash, first_ns, seen_ns; /* first: since this process began */
	char service[LIVE_SERVICE_LEN], name[LIVE_NAME_LEN];
	struct live_edges edges;
	uint32_t put_edge_cnt;	/* of their names, into the store */
	struct span_time minutes[MINUTES], hours[HOURS];
	struct shift shift;
};

struct kept_types {
	struct db *db;
	struct span_troubles *troubles;
	struct kept_type *items[KEPT_TYPES_MAX];
	uint32_t cnt;
	uint64_t left_out_cnt;
};

/* ---- times */

static struct span_time *time_of(struct kept_type *t, uint64_t ns, uint64_t now_ns)
{
	struct span_time *m = now_ns % DAY_NS / ns % (ns == HOUR_NS ? HOURS : MINUTES) +
			      (ns == HOUR_NS ? t->hours : t->minutes);

	if (m->begin_ns != now_ns - now_ns % ns) {
		memset(m, 0, sizeof(*m));
		m->begin_ns = now_ns - now_ns % ns;
	}
	return m;
}

static void put_time(struct kept_types *k, const struct kept_type *t, uint32_t seconds,
		     struct span_time *m)
{
	struct db_request_sums row;

	if (!m->is_changed)
		return;
	row = (struct db_request_sums){
		.hash = t->hash, .begin_ns = m->begin_ns, .seconds = seconds,
		.cnt = m->sums.cnt, .failed_cnt = m->sums.failed_cnt,
		.p50_ns = live_sums_quantile(&m->sums, 0.5),
		.p99_ns = live_sums_quantile(&m->sums, 0.99),
		.sums = &m->sums, .sums_len = sizeof(m->sums),
	};
	db_request_sums_put(k->db, &row);
	m->is_changed = false;
}

/*
 * The sum of what lies in the last ns, to the minute (or, of a day, the hour) that now is in.
 * Returns how far back it reaches.
 */
static uint64_t window_sum(const struct kept_type *t, uint64_t ns, uint64_t now_ns,
			   struct live_sums *ret)
{
	const struct span_time *times = ns > HOUR_NS ? t->hours : t->minutes;
	size_t cnt = ns > HOUR_NS ? HOURS : MINUTES;
	uint64_t unit = ns > HOUR_NS ? HOUR_NS : MINUTE_NS, from_ns = now_ns;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < cnt; i++) {
		if (times[i].begin_ns + ns <= now_ns - now_ns % unit ||
		    times[i].begin_ns > now_ns)
			continue;
		live_sums_add(ret, &times[i].sums);
		from_ns = times[i].begin_ns < from_ns ? times[i].begin_ns : from_ns;
	}
	if (from_ns < t->first_ns && t->first_ns < now_ns)
		from_ns = t->first_ns;
	return now_ns - from_ns;
}

/* ---- types */

static struct kept_type *find(struct kept_types *k, uint64_t hash)
{
	for (uint32_t i = 0; i < k->cnt; i++)
		if (k->items[i]->hash == hash)
			return k->items[i];
	return NULL;
}

static struct kept_type *type_new(struct kept_types *k, uint64_t hash, uint64_t now_ns)
{
	struct kept_type *t = NULL;

	if (k->cnt < KEPT_TYPES_MAX)
		t = k->items[k->cnt++] = xmalloc(sizeof(*t));
	for (uint32_t i = 0; i < k->cnt && !t; i++)
		if (k->items[i]->seen_ns + HOUR_NS < now_ns)
			t = k->items[i];
	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->hash = hash;
	t->first_ns = now_ns;
	return t;
}

static void add(struct kept_type *t, struct span_time *m, const struct live_slice *s)
{
	live_sums_slice(&m->sums, &t->edges, s);
	m->is_changed = true;
}

static void judge(struct kept_types *k, struct kept_type *t, const struct live_slice *s,
		  uint64_t now_ns)
{
	const struct span_trouble_type type = {t->hash, t->service, t->name};
	struct live_sums slice = {0};
	struct shift_found found = {0};

	live_sums_slice(&slice, &t->edges, s);
	span_trouble_step(k->troubles, &type, shift_slice(&t->shift, &slice, &t->edges, &found),
			  &found, now_ns);
}

void kept_types_slice(struct kept_types *k, const struct live_slice *s, uint64_t now_ns)
{
	struct kept_type *t = find(k, s->hash);

	if (!t)
		t = type_new(k, s->hash, now_ns);
	if (!t) {
		k->left_out_cnt++;
		return;
	}
	snprintf(t->service, sizeof(t->service), "%s", s->service);
	snprintf(t->name, sizeof(t->name), "%s", s->name);
	t->seen_ns = now_ns;
	add(t, time_of(t, MINUTE_NS, now_ns), s);
	add(t, time_of(t, HOUR_NS, now_ns), s);
	if (k->troubles)
		judge(k, t, s, now_ns);
}

uint64_t kept_types_left_out(const struct kept_types *k)
{
	return k->left_out_cnt;
}

static void put_edges(struct kept_types *k, struct kept_type *t)
{
	for (; t->put_edge_cnt < t->edges.cnt; t->put_edge_cnt++)
		db_request_edge_put(k->db, t->hash, t->edges.items[t->put_edge_cnt].hash,
				    t->edges.items[t->put_edge_cnt].name);
}

static void put_windows(struct kept_types *k, const struct kept_type *t, uint64_t now_ns)
{
	static const uint32_t seconds[] = {300, 3600, 86400};
	struct db_request row = {.hash = t->hash, .seen_ns = t->seen_ns};
	struct live_sums sums;

	snprintf(row.service, sizeof(row.service), "%s", t->service);
	snprintf(row.name, sizeof(row.name), "%s", t->name);
	for (unsigned i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
		row.seconds = seconds[i];
		row.covered_ns = window_sum(t, seconds[i] * NS_PER_SEC, now_ns, &sums);
		live_sums_view(&sums, &t->edges, &row.view);
		db_request_put(k->db, &row);
	}
}

void kept_types_put(struct kept_types *k, uint64_t now_ns)
{
	for (uint32_t i = 0; i < k->cnt; i++) {
		struct kept_type *t = k->items[i];

		put_edges(k, t);
		put_windows(k, t, now_ns);
		for (int m = 0; m < MINUTES; m++)
			put_time(k, t, 60, &t->minutes[m]);
		for (int h = 0; h < HOURS; h++)
			put_time(k, t, 3600, &t->hours[h]);
	}
	db_requests_forget(k->db, now_ns - DAY_NS, now_ns - 2 * HOUR_NS);
}

/* ---- after a restart */

static void restore_time(void *ctx, const struct db_request_sums *row)
{
	struct kept_types *k = ctx;
	struct kept_type *t = find(k, row->hash);
	struct span_time *m;

	if (!t || row->sums_len != sizeof(m->sums))
		return;
	m = time_of(t, row->seconds * NS_PER_SEC, row->begin_ns);
	memcpy(&m->sums, row->sums, sizeof(m->sums));
	if (m->sums.edge_cnt > LIVE_EDGES_GIVEN)
		memset(&m->sums, 0, sizeof(m->sums));
}

static void restore_type(void *ctx, const struct db_request *row)
{
	struct kept_types *k = ctx;
	struct kept_type *t;

	if (find(k, row->hash) || !(t = type_new(k, row->hash, row->seen_ns)))
		return;
	t->seen_ns = row->seen_ns;
	t->first_ns = 0;
	snprintf(t->service, sizeof(t->service), "%s", row->service);
	snprintf(t->name, sizeof(t->name), "%s", row->name);
}

static void restore_edge(void *ctx, uint64_t hash, uint64_t edge, const char *name)
{
	struct kept_type *t = find(ctx, hash);

	if (t)
		live_edges_name(&t->edges, edge, name);
}

struct kept_types *kept_types_new(struct db *db, struct span_troubles *troubles, uint64_t now_ns)
{
	struct kept_types *k = xcalloc(1, sizeof(*k));

	k->db = db;
	k->troubles = troubles;
	db_requests(db, restore_type, k);
	db_request_sums(db, 0, now_ns - DAY_NS, restore_time, k);
	db_request_edges(db, restore_edge, k);
	for (uint32_t i = 0; i < k->cnt; i++)
		k->items[i]->put_edge_cnt = k->items[i]->edges.cnt;
	return k;
}

void kept_types_free(struct kept_types *k)
{
	if (!k)
		return;
	kept_types_put(k, clock_real_ns());
	for (uint32_t i = 0; i < k->cnt; i++)
		free(k->items[i]);
	free(k);
}
