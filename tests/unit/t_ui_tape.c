/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>

#include "base/clock.h"
#include "model/calls/calls.h"
#include "model/model.h"
#include "synth.h"
#include "store/tape.h"

static int put_tape(void *ctx, const struct event_hdr *ev)
{
	tape_add(ctx, ev);
	return 0;
}

static int put_count(void *ctx, const struct event_hdr *ev)
{
	((uint64_t *)ctx)[ev->kind]++;
	return 0;
}

static struct synth *scene(void)
{
	struct synth *s = synth_new(10000);

	synth_thread(s, 10, 10, "server");
	synth_thread(s, 11, 10, "worker");
	synth_thread(s, 12, 10, "sleeper");
	synth_res(s, 7, RES_FUTEX, "lock");
	for (int ms = 0; ms < 10000; ms += 10)
		synth_wait(s, 11, WAIT_FUTEX, 7, ms, ms + 5, ms + 6, 12);
	synth_pending(s, 12, WAIT_FUTEX, 7, 1);
	return s;
}

TEST(ui_tape_gives_back_all_that_fits)
{
	struct synth *s = scene(), *same = scene();
	struct tape *t = tape_new(NULL);
	struct event_sink sink = {put_tape, t};
	uint64_t want[EV_KIND_CNT] = {0}, got[EV_KIND_CNT] = {0};

	synth_play(s, &sink);
	sink = (struct event_sink){put_count, want};
	synth_play(same, &sink);
	sink = (struct event_sink){put_count, got};
	EQ_I(tape_replay(t, &sink), 0);
	for (int k = 0; k < EV_KIND_CNT; k++) {
		ROW(k);
		EQ_U(got[k], want[k]);
	}
	EQ_U(tape_dropped_batches(t), 0);
	EQ_U(tape_begin_ns(t), synth_ns(s, 0));
	tape_free(t);
	synth_free(s);
	synth_free(same);
}

static void same_last_tick(const struct model *full, const struct model *m)
{
	for (uint32_t tid = 11; tid <= 12; tid++) {
		const struct thread *a = &full->threads[model_thread_by_tid(full, tid)];
		const struct thread *b = &m->threads[model_thread_by_tid(m, tid)];

		ROW(tid);
		OK(a->slice_len && b->slice_len);
		for (int st = 0; st < ST_CNT; st++)
			EQ_U(m->slices[b->first_slice + b->slice_len - 1].ns[st],
			     full->slices[a->first_slice + a->slice_len - 1].ns[st]);
	}
}

/* What falls off the front leaves names and counters behind, so that a model can be made. */
TEST(ui_tape_is_bounded_and_still_makes_a_model)
{
	struct synth *s = scene();
	struct tape *t = tape_new(&(struct tape_opts){.max_bytes = 40 << 10});
	struct event_sink sink = {put_tape, t};
	struct model *m = model_new(NULL);
	uint32_t at;

	synth_play(s, &sink);
	OK(tape_dropped_batches(t) > 0);
	OK(tape_bytes(t) < 64 << 10);
	sink = model_sink(m);
	EQ_I(tape_replay(t, &sink), 0);
	model_finish(m);
	EQ_U(m->bad_event_cnt, 0);
	EQ_U(m->begin_ns, tape_begin_ns(t));
	at = model_thread_by_tid(m, 11);
	OK(at != NO_IDX);
	EQ_S(m->threads[at].comm, "worker");
	at = model_res_by_id(m, 7);
	OK(at != NO_IDX);
	EQ_S(m->res[at].name, "lock");
	same_last_tick(synth_model(s), m);
	model_free(m);
	tape_free(t);
	synth_free(s);
}

static int put_fails(void *ctx, const struct event_hdr *ev)
{
	(void)ev;
	return --*(int *)ctx < 0 ? -28 : 0;
}

/* Packed it gives back the same events and takes less room; what is too old falls off. */
TEST(ui_tape_packed)
{
	struct synth *s = scene(), *same = scene();
	struct tape *plain = tape_new(&(struct tape_opts){.keep_ns = 4000000000});
	struct tape *t = tape_new(&(struct tape_opts){.keep_ns = 4000000000, .packed = true});
	struct event_sink sink = {put_tape, t};
	uint64_t want[EV_KIND_CNT] = {0}, got[EV_KIND_CNT] = {0};

	synth_play(s, &sink);
	sink = (struct event_sink){put_tape, plain};
	synth_play(same, &sink);
	sink = (struct event_sink){put_count, want};
	EQ_I(tape_replay_open(plain, &sink), 0);
	sink = (struct event_sink){put_count, got};
	EQ_I(tape_replay_open(t, &sink), 0);
	for (int k = 0; k < EV_KIND_CNT; k++) {
		ROW(k);
		EQ_U(got[k], want[k]);
	}
	OK(got[EV_WAIT] > 300 && got[EV_WAIT] < 600);
	EQ_U(tape_dropped_batches(t), tape_dropped_batches(plain));
	OK(tape_bytes(t) * 2 < tape_bytes(plain));
	tape_free(t);
	tape_free(plain);
	synth_free(s);
	synth_free(same);
}

TEST(ui_tape_stops_at_the_sinks_error)
{
	struct synth *s = scene();
	struct tape *t = tape_new(&(struct tape_opts){.max_bytes = 40 << 10});
	struct event_sink sink = {put_tape, t};

	synth_play(s, &sink);
	for (int n = 0; n < 40; n++) {
		int left = n;
		struct event_sink bad = {put_fails, &left};

		ROW(n);
		EQ_I(tape_replay(t, &bad), -28);
	}
	tape_free(t);
	synth_free(s);
}

static void put_calls(struct tape *t, uint64_t second)
{
	struct {
		struct ev_calls head;
		struct ev_call calls[EVENT_CALLS_MAX];
	} ev = {.head = {.h = {sizeof(ev), EV_CALLS, 0, 0, second}, .cnt = EVENT_CALLS_MAX}};
	struct ev_tick tick = {.h = {sizeof(tick), EV_TICK, 0, 0, (second + 1) * 1000},
			       .begin_ns = second * 1000};

	for (uint32_t i = 0; i < EVENT_CALLS_MAX; i++)
		ev.calls[i] = (struct ev_call){.tid = 1, .nr = 5, .begin_ns = second * 1000 + i};
	tape_add(t, &ev.head.h);
	tape_add(t, &tick.h);
}

/* What fell off of a window of system calls is no longer said to be in it; names stay. */
TEST(ui_tape_shortens_a_window_of_calls)
{
	struct tape *t = tape_new(&(struct tape_opts){.max_bytes = 40 << 10});
	struct {
		struct ev_str s;
		char text[8];
	} str = {.s = {.h = {sizeof(str), EV_STR, 0, 0, 0}, .id = 1, .len = 5}, .text = "close"};
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, 1}};
	struct ev_call_name name = {.h = {sizeof(name), EV_CALL_NAME, 0, 0, 0}, .nr = 5, .name = 1};
	struct ev_window w = {.h = {sizeof(w), EV_WINDOW, 0, 0, 21000}, .begin_ns = 1};
	struct ev_tick tick = {.h = {sizeof(tick), EV_TICK, 0, 0, 22000}, .begin_ns = 21000};
	struct model *m = model_new(NULL);
	struct event_sink sink = model_sink(m);

	tape_add(t, &str.s.h);
	tape_add(t, &meta.h);
	tape_add(t, &name.h);
	for (uint64_t second = 1; second <= 20; second++)
		put_calls(t, second);
	tape_add(t, &w.h);
	tape_add(t, &tick.h);
	EQ_I(tape_replay(t, &sink), 0);
	model_finish(m);
	EQ_U(m->bad_event_cnt, 0);
	OK(m->calls->cnt > 0 && m->calls->cnt < 20 * EVENT_CALLS_MAX);
	EQ_U(m->calls->calls[0].begin_ns % 1000, 0);
	OK(m->calls->begin_ns > 1 && m->calls->begin_ns < m->calls->calls[0].begin_ns);
	EQ_U(m->calls->end_ns, 21000);
	EQ_S(model_call_name(m, 5), "close");
	model_free(m);
	tape_free(t);
}

/* A neighbour each tick, which is gone then: what fell off leaves nothing of them behind. */
TEST(ui_tape_forgets_sums_of_the_gone)
{
	struct tape *t = tape_new(&(struct tape_opts){.keep_ns = 2 * NS_PER_SEC});
	uint64_t got[EV_KIND_CNT] = {0};
	struct event_sink sink = {put_count, got};

	for (uint64_t i = 1; i <= 200; i++) {
		struct ev_culprit c = {.h = {.size = sizeof(c), .kind = EV_CULPRIT, .tid = 1,
					     .flags = i % 2 ? 0 : EVENTF_GONE,
					     .ts_ns = i * NS_PER_SEC},
				       .victim_tgid = 1, .culprit_tgid = (uint32_t)(i + 1) / 2,
				       .ns = 5, .cnt = 1};
		struct ev_tick tick = {.h = {.size = sizeof(tick), .kind = EV_TICK,
					     .ts_ns = i * NS_PER_SEC}};

		tape_add(t, &c.h);
		tape_add(t, &tick.h);
	}
	OK(tape_dropped_batches(t) > 100);
	EQ_I(tape_replay(t, &sink), 0);
	OK(got[EV_CULPRIT] < 10);
	tape_free(t);
}
