/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a capture's time. */
#include "base/clock.h"
#include "model/model.h"
#include "store/cut.h"
#include "synth.h"
#include "unit.h"

#define REAL_OFF_NS (UINT64_C(1700000000) * NS_PER_SEC)

struct through {
	struct event_sink to;
};

/* Synthetic events know no time of day. */
static int put_dated(void *ctx, const struct event_hdr *ev)
{
	struct through *t = ctx;
	struct ev_meta meta;

	if (ev->kind != EV_META)
		return t->to.put(t->to.ctx, ev);
	meta = *(const struct ev_meta *)ev;
	meta.real_ns = ev->ts_ns + REAL_OFF_NS;
	return t->to.put(t->to.ctx, &meta.h);
}

/* Ten seconds: a worker waits for half of them, a sleeper all the time, a third from 5 s to 8 s. */
static struct synth *scene(void)
{
	struct synth *s = synth_new(10000);

	synth_thread(s, 10, 10, "server");
	synth_thread(s, 11, 10, "worker");
	synth_thread(s, 12, 10, "sleeper");
	synth_thread(s, 13, 10, "late");
	synth_res(s, 7, RES_FUTEX, "lock");
	for (int ms = 0; ms < 10000; ms += 10)
		synth_wait(s, 11, WAIT_FUTEX, 7, ms, ms + 5, ms + 5, 12);
	synth_wait(s, 13, WAIT_FUTEX, 7, 5000, 8000, 8000, 11);
	synth_pending(s, 12, WAIT_FUTEX, 7, 1);
	return s;
}

static struct model *cut_model(double from_ms, double until_ms, struct cut_time *ret_span)
{
	struct synth *s = scene();
	struct cut_time time = {
		.from_ns = from_ms > 0 ? synth_ns(s, from_ms) + REAL_OFF_NS : 0,
		.until_ns = until_ms > 0 ? synth_ns(s, until_ms) + REAL_OFF_NS : 0,
	};
	struct cut *c = cut_new(&time);
	struct through t = {cut_sink(c)};
	struct model *m = model_new(NULL);
	struct event_sink sink = {put_dated, &t};
	uint64_t begin_ns = synth_ns(s, 0);

	EQ_I(synth_play(s, &sink), 0);
	sink = model_sink(m);
	EQ_I(cut_replay(c, &sink), 0);
	model_finish(m);
	OK(cut_span(c, ret_span));
	ret_span->from_ns -= begin_ns + REAL_OFF_NS;
	ret_span->until_ns -= begin_ns + REAL_OFF_NS;
	cut_free(c);
	synth_free(s);
	return m;
}

static uint64_t state_ms(const struct model *m, uint32_t tid, bool waits)
{
	const struct thread *t = &m->threads[model_thread_by_tid(m, tid)];
	uint64_t ns = 0;

	for (int st = 0; st < ST_CNT; st++)
		ns += (st != ST_RUN && st != ST_RUNQ) == waits ? t->ns[st] : 0;
	return (ns + NS_PER_MS / 2) / NS_PER_MS;
}

/* Each thread's time is that of the part, waits that go on after it too. */
TEST(cut_parts)
{
	static const struct {
		double from_ms, until_ms;
		uint64_t begin_s, end_s, worker_ms, sleeper_ms, late_ms;
	} rows[] = {
		{0, 3000, 0, 3, 1500, 2999, 0},
		{3000, 6000, 3, 6, 1500, 3000, 1000},
		{3100, 6400, 3, 6, 1500, 3000, 1000}, /* the nearest intervals */
		{6000, 0, 6, 10, 2000, 4000, 2000},
		{6000, 7000, 6, 7, 500, 1000, 1000},
		{1000, 99000, 1, 10, 4500, 9000, 3000},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct cut_time span;
		struct model *m = cut_model(rows[i].from_ms, rows[i].until_ms, &span);

		ROW((int)i);
		EQ_U(span.from_ns, rows[i].begin_s * NS_PER_SEC);
		EQ_U(span.until_ns, rows[i].end_s * NS_PER_SEC);
		EQ_U(m->end_ns - m->begin_ns, (rows[i].end_s - rows[i].begin_s) * NS_PER_SEC);
		EQ_U(state_ms(m, 11, true), rows[i].worker_ms);
		EQ_U(state_ms(m, 11, false), rows[i].worker_ms);
		EQ_U(state_ms(m, 12, true), rows[i].sleeper_ms);
		if (rows[i].late_ms)
			EQ_U(state_ms(m, 13, true), rows[i].late_ms);
		model_free(m);
	}
}

static uint64_t at(const struct synth *s, double ms)
{
	return ms < 0 ? synth_ns(s, 0) - (uint64_t)-ms * NS_PER_MS : synth_ns(s, ms);
}

/* A time that the capture does not have. */
TEST(cut_nothing)
{
	static const double rows[][2] = {{20000, 30000}, {20000, 0}, {-2000, -1000}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct synth *s = scene();
		struct cut_time time = {.from_ns = REAL_OFF_NS + at(s, rows[i][0])}, got;
		struct cut *c;
		struct through t;
		struct event_sink sink = {put_dated, &t};

		time.until_ns = rows[i][1] ? REAL_OFF_NS + at(s, rows[i][1]) : 0;
		c = cut_new(&time);
		t.to = cut_sink(c);
		ROW((int)i);
		EQ_I(synth_play(s, &sink), 0);
		OK(!cut_span(c, &got));
		OK(cut_whole(c, &got));
		EQ_U(got.until_ns - got.from_ns, 10 * NS_PER_SEC);
		cut_free(c);
		synth_free(s);
	}
}
