/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that wait, in memory and in the file that takes what is more. */
#include <stdio.h>
#include <stdlib.h>

#include "spans/pending.h"
#include "spans_take.h"

struct want {
	uint64_t next, stop_at;
};

static int check(void *ctx, struct making *m, uint64_t word)
{
	struct want *w = ctx;
	uint64_t i = w->next++;

	if (i == w->stop_at)
		return -ECANCELED;
	EQ_U(word, i * 3);
	EQ_U(m->span.id, i + 1);
	EQ_U(m->trace.lo, i / 7);
	EQ_U(m->off, i * 100);
	EQ_U(m->attrs.cnt, i % 5);
	EQ_U(m->refs.cnt, i % 3);
	for (size_t k = 0; k < m->attrs.cnt; k++)
		OK(m->attrs.items[k].num == (double)(i + k));
	for (size_t k = 0; k < m->refs.cnt; k++)
		EQ_U(m->refs.items[k].span, i * 2 + k);
	return 0;
}

static void add(struct pending *p, uint64_t cnt)
{
	struct making m = {0};

	for (uint64_t i = 0; i < cnt; i++) {
		making_begin(&m, i * 100);
		m.span.id = i + 1;
		m.trace.lo = i / 7;
		for (uint64_t k = 0; k < i % 5; k++)
			vec_push(&m.attrs, ((struct attr){.key = 1, .type = ATTR_NUM,
							  .num = (double)(i + k)}));
		for (uint64_t k = 0; k < i % 3; k++)
			vec_push(&m.refs, ((struct span_ref){.span = i * 2 + k}));
		EQ_I(pending_add(p, &m, i * 3), 0);
	}
	making_release(&m);
}

TEST(spans_pending)
{
	static const uint64_t cnts[] = {0, 1, 1000, PENDING_BYTES / 40, 5};
	struct pending *p = pending_new();

	for (size_t i = 0; i < sizeof(cnts) / sizeof(cnts[0]); i++) {
		struct want w = {0, UINT64_MAX};

		ROW(i);
		add(p, cnts[i]);
		EQ_U(pending_cnt(p), cnts[i]);
		EQ_I(pending_take(p, check, &w), 0);
		EQ_U(w.next, cnts[i]);
		EQ_U(pending_cnt(p), 0);
	}
	pending_free(p);
}

TEST(spans_pending_stopped)
{
	struct pending *p = pending_new();
	struct want w = {0, 10};

	add(p, PENDING_BYTES / 40);
	EQ_I(pending_take(p, check, &w), -ECANCELED);
	EQ_U(w.next, 11);
	EQ_U(pending_cnt(p), 0);
	pending_free(p);
	pending_free(NULL);
}

/* Where no file can be made, what does not fit is an error that says so. */
TEST(spans_pending_no_place)
{
	struct pending *p = pending_new();
	struct making m = {.span = {.id = 1}};
	int rc = 0;

	EQ_I(setenv("TMPDIR", "/proc/self", 1), 0);
	for (size_t i = 0; i < PENDING_BYTES / 40 && rc == 0; i++)
		rc = pending_add(p, &m, 0);
	OK(rc < 0);
	pending_free(p);
}
