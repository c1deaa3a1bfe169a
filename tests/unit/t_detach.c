/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/graph/async_split.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cmp.h"
#include "trace_make.h"
#include "unit.h"

struct row {
	const char *what;
	struct {
		uint64_t parent;	/* place + 1 */
		int kind;
		uint64_t follows;
		uint64_t twin;		/* place + 1 of the one whose id it has */
	} spans[7];
	const char *parts;	/* their spans' places + 1, the parts in their order */
};

enum { NO = SPAN_UNKNOWN, SRV = SPAN_SERVER, PRD = SPAN_PRODUCER, CON = SPAN_CONSUMER };

#define S(span_parent, span_kind, ...) {.parent = span_parent, .kind = span_kind, __VA_ARGS__}

static const struct row rows[] = {
	{"no consumer", {S(0, SRV), S(1, PRD), S(2, SRV)}, "123"},
	{"a consumer that begins it", {S(0, CON), S(1, NO)}, "12"},
	{"a consumer below no producer is waited for", {S(0, SRV), S(1, CON), S(2, NO)}, "123"},
	{"below a producer", {S(0, SRV), S(1, PRD), S(2, CON), S(3, NO), S(1, NO)}, "125 34"},
	{"two of one message", {S(0, SRV), S(1, PRD), S(2, CON), S(2, CON), S(4, NO)}, "12 3 45"},
	{"one after the other", {S(0, SRV), S(1, PRD), S(2, CON), S(3, PRD), S(4, CON), S(5, NO)},
	 "12 34 56"},
	{"said to follow", {S(0, SRV), S(1, NO), S(0, CON, .follows = 2), S(3, NO)}, "12 34"},
	{"follows what is not there", {S(0, SRV), S(0, CON, .follows = 77)}, "12"},
	{"follows itself", {S(0, SRV), S(0, CON, .follows = 2)}, "12"},
	{"what follows and is no consumer stays", {S(0, SRV), S(0, SRV, .follows = 1)}, "12"},
	{"the producer was lost", {S(0, SRV), S(77, CON), S(2, NO)}, "123"},
	{"below what is in a ring", {S(2, NO), S(1, PRD), S(2, CON)}, "12 3"},
	{"a ring of consumer and producer", {S(2, CON), S(1, PRD), S(0, SRV)}, "3 12"},
	{"there twice: children go with one of them",
	 {S(0, SRV), S(1, PRD), S(2, CON), S(2, CON, .twin = 3), S(3, NO)}, "12 35 4"},
	{"nothing is left", {S(2, CON), S(1, PRD)}, "12"},
};

struct seen {
	struct buf out;
	const struct made *m;
	uint32_t attr_cnt;
};

static int cmp_begin(const void *a, const void *b)
{
	CMP((*(const struct span *const *)a)->begin_ns, (*(const struct span *const *)b)->begin_ns);
	return 0;
}

static int take(void *ctx, const struct trace *part)
{
	struct seen *s = ctx;
	const struct span *sorted[7];

	for (uint32_t i = 0; i < part->span_cnt; i++)
		sorted[i] = &part->spans[i];
	qsort(sorted, part->span_cnt, sizeof(*sorted), cmp_begin);
	buf_adds(&s->out, s->out.len ? " " : "");
	for (uint32_t i = 0; i < part->span_cnt; i++) {
		const struct attr *a = &part->attrs[sorted[i]->attr_idx];

		char place[8];

		snprintf(place, sizeof(place), "%d", (int)sorted[i]->begin_ns);
		buf_adds(&s->out, place);
		EQ_U(sorted[i]->attr_cnt, 1);
		EQ_S(strtab_str(&s->m->strings, (uint32_t)a->str), place);
		s->attr_cnt++;
	}
	EQ_U(part->attr_cnt, part->span_cnt);
	return 0;
}

/* A span begins at its place, by which it is told whatever the order. */
static void row_check(const struct row *row, uint64_t seed)
{
	struct detach_stats stats = {0};
	struct made m = {0};
	struct seen seen = {.m = &m};
	uint64_t cnt = 0;

	for (; cnt < 7 && (row->spans[cnt].parent || row->spans[cnt].kind); cnt++) {
		uint64_t twin = row->spans[cnt].twin;
		char text[8];
		struct span *span = made_span(&m, twin ? twin : cnt + 1, row->spans[cnt].parent,
					      "s/a", (int64_t)cnt + 1, 100);

		span->kind = (uint8_t)row->spans[cnt].kind;
		if (row->spans[cnt].follows)
			made_ref(&m, row->spans[cnt].follows, SPAN_REF_FOLLOWS);
		snprintf(text, sizeof(text), "%d", (int)cnt + 1);
		made_attr(&m, "place", text);
	}
	if (seed)
		made_shuffle(&m, seed);
	EQ_I(detach_each(made_trace(&m), &m.arena, &stats, take, &seen), 0);
	EQ_S(buf_str(&seen.out), row->parts);
	EQ_U(seen.attr_cnt, cnt);
	OK((stats.part_cnt > 0) == (stats.trace_cnt > 0));
	buf_release(&seen.out);
	made_release(&m);
}

TEST(detach_takes_out_what_messages_began)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ROW(i);
		for (uint64_t seed = 0; seed < 8; seed++)
			row_check(&rows[i], seed);
	}
}

static int refuse(void *ctx, const struct trace *part)
{
	(void)part;
	return ++*(int *)ctx == 2 ? -5 : 0;
}

TEST(detach_stops_when_told)
{
	struct detach_stats stats = {0};
	struct made m = {0};
	int calls = 0;

	made_span(&m, 1, 0, "s/a", 0, 10);
	made_span(&m, 2, 1, "s/b", 0, 10)->kind = SPAN_PRODUCER;
	for (uint64_t i = 3; i < 6; i++)
		made_span(&m, i, 2, "s/c", 5, 10)->kind = SPAN_CONSUMER;
	EQ_I(detach_each(made_trace(&m), &m.arena, &stats, refuse, &calls), -5);
	EQ_I(calls, 2);
	EQ_U(stats.part_cnt, 3);
	made_release(&m);
}
