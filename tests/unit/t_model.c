/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "model/model.h"
#include "synth.h"
#include "unit.h"

#define MS(ns) ((ns) / 1000000)

static uint64_t sum_of(const uint64_t *ns)
{
	uint64_t sum = 0;

	for (int i = 0; i < ST_CNT; i++)
		sum += ns[i];
	return sum;
}

static const struct thread *thread_of(const struct model *m, uint32_t tid)
{
	uint32_t at = model_thread_by_tid(m, tid);

	OK(at != NO_IDX);
	return &m->threads[at];
}

/* The invariant: states are exclusive and fill the life, in the window and in each tick. */
static void check_times(const struct model *m)
{
	for (size_t i = 0; i < m->thread_cnt; i++) {
		const struct thread *t = &m->threads[i];
		uint64_t slices = 0;

		ROW(t->tid);
		if (!t->tracked)
			continue;
		EQ_U(sum_of(t->ns), t->end_ns - t->begin_ns);
		for (uint32_t s = 0; s < t->slice_len; s++)
			slices += sum_of(m->slices[t->first_slice + s].ns);
		EQ_U(slices, t->end_ns - t->begin_ns);
		for (uint32_t w = 1; w < t->wait_len; w++)
			OK(m->waits[t->first_wait + w].off_ns >=
			   m->waits[t->first_wait + w - 1].end_ns);
	}
}

TEST(model_empty)
{
	struct model *m = model_new(NULL);

	model_finish(m);
	EQ_U(m->thread_cnt, 0);
	EQ_U(m->wait_cnt, 0);
	EQ_U(m->bad_event_cnt, 0);
	EQ_S(m->cmdline, "");
	OK(m->end_ns >= m->begin_ns);
	model_free(m);
	model_free(NULL);
}

TEST(model_states_fill_life)
{
	struct synth *s = synth_new(3000);
	const struct thread *t;
	const struct model *m;

	synth_thread(s, 10, 10, "srv");
	synth_thread(s, 11, 10, "worker");
	synth_thread(s, 12, 10, "holder");
	synth_wait(s, 11, WAIT_FUTEX, 7, 100, 900, 910, 12);
	synth_wait(s, 11, WAIT_FUTEX, 7, 1100, 2900, 2900, 12); /* spans two ticks */
	synth_preempted(s, 12, 500, 600);
	synth_pending(s, 10, WAIT_EPOLL, 9, 50);
	m = synth_model(s);
	check_times(m);
	t = thread_of(m, 11);
	EQ_U(MS(t->ns[ST_RUN]), 390);
	EQ_U(MS(t->ns[ST_RUNQ]), 10);
	EQ_U(MS(t->ns[ST_WAIT + WAIT_FUTEX]), 2600);
	EQ_U(t->slice_len, 3);
	EQ_U(MS(m->slices[t->first_slice + 1].ns[ST_WAIT + WAIT_FUTEX]), 900);
	EQ_U(MS(m->slices[t->first_slice + 2].ns[ST_WAIT + WAIT_FUTEX]), 900);
	t = thread_of(m, 12);
	EQ_U(MS(t->ns[ST_RUNQ]), 100);
	EQ_U(MS(t->ns[ST_RUN]), 2900);
	t = thread_of(m, 10);
	EQ_U(MS(t->ns[ST_WAIT + WAIT_EPOLL]), 2950);
	EQ_U(t->wait_len, 1);
	OK(m->waits[t->first_wait].flags & WAITF_PENDING);
	EQ_U(m->waits[t->first_wait].end_ns, m->end_ns);
	synth_free(s);
}

TEST(model_sums_by_resource_and_waker)
{
	struct synth *s = synth_new(2000);
	const struct model *m;
	const struct res *r;

	synth_thread(s, 1, 1, "a");
	synth_thread(s, 2, 1, "b");
	synth_thread(s, 3, 1, "c");
	synth_wait(s, 1, WAIT_FUTEX, 7, 100, 200, 200, 2);
	synth_wait(s, 1, WAIT_FUTEX, 7, 300, 700, 700, 2);
	synth_wait(s, 2, WAIT_FUTEX, 7, 800, 900, 900, 1);
	synth_irq_wait(s, 3, WAIT_SOCKET, 8, 100, 1100, 1100, WAKER_NET);
	m = synth_model(s);
	r = &m->res[model_res_by_id(m, 7)];
	EQ_U(MS(r->wait_ns), 600);
	EQ_U(r->wait_cnt, 3);
	EQ_U(r->wake_cnt, 3);
	EQ_U(r->waiter_cnt, 2);
	EQ_U(r->waker_cnt, 2);
	EQ_U(r->both_cnt, 2);
	r = &m->res[model_res_by_id(m, 8)];
	EQ_U(r->waiter_cnt, 1);
	EQ_U(r->waker_cnt, 0);
	EQ_U(m->pair_cnt, 3);
	EQ_U(m->pairs[0].cnt, 2);
	EQ_U(MS(m->pairs[0].max_ns), 400);
	EQ_U(m->pairs[0].waker, model_thread_by_tid(m, 2));
	synth_free(s);
}

TEST(model_rows_per_tick)
{
	struct synth *s = synth_new(3000);
	const struct model *m;
	uint64_t ms[3] = {0}, waits = 0, wakes[3] = {0};

	synth_thread(s, 1, 1, "a");
	synth_thread(s, 2, 1, "b");
	synth_wait(s, 1, WAIT_PIPE, 5, 500, 2250, 2250, 2);
	synth_pending(s, 1, WAIT_PIPE, 5, 2500);
	m = synth_model(s);
	for (size_t i = 0; i < m->res_tick_cnt; i++) {
		const struct res_tick *r = &m->res_ticks[i];
		size_t tick = (r->begin_ns - m->begin_ns) / NS_PER_SEC;

		ms[tick] += MS(r->wait_ns);
		wakes[tick] += r->wake_cnt;
		waits += r->wait_cnt;
		if (r->wake_cnt)
			EQ_U(r->thread, model_thread_by_tid(m, 2));
	}
	EQ_U(ms[0], 500);
	EQ_U(ms[1], 1000);
	EQ_U(ms[2], 250 + 500);
	EQ_U(waits, 1); /* at its end; the second has not ended */
	EQ_U(wakes[2], 1);
	synth_free(s);
}

TEST(model_first_io_goes_to_the_wait_before)
{
	struct synth *s = synth_new(1000);
	const struct model *m;
	const struct thread *t;

	synth_thread(s, 1, 1, "loop");
	synth_sock(s, 20, ROLE_SERVER, 0x7f000001, 4000);
	synth_wait(s, 1, WAIT_EPOLL, 9, 0, 100, 100, 0);
	synth_wait(s, 1, WAIT_EPOLL, 9, 200, 300, 300, 0)->first_io = 20;
	m = synth_model(s);
	t = thread_of(m, 1);
	EQ_U(m->waits[t->first_wait].first_io, model_res_by_id(m, 20));
	EQ_U(m->waits[t->first_wait + 1].first_io, NO_IDX);
	model_finish((struct model *)m); /* again: the same */
	EQ_U(m->waits[t->first_wait].first_io, model_res_by_id(m, 20));
	EQ_S(m->res[model_res_by_id(m, 20)].name, "client 127.0.0.1:4000");
	synth_free(s);
}

TEST(model_files_that_ended_waits)
{
	struct synth *s = synth_new(2000);
	const struct model *m;

	synth_thread(s, 1, 1, "loop");
	synth_wait(s, 1, WAIT_EPOLL, 9, 100, 300, 300, 0);
	synth_wait(s, 1, WAIT_EPOLL, 9, 400, 500, 500, 0)->first_io = 20;
	synth_wait(s, 1, WAIT_TIMER, 0, 600, 700, 700, 0)->first_io = 21;
	synth_wait(s, 1, WAIT_TIMER, 0, 800, 900, 900, 0)->first_io = 22; /* that was no set */
	synth_wait(s, 1, WAIT_EPOLL, 9, 1000, 1100, 1100, 0);
	synth_wait(s, 1, WAIT_EPOLL, 9, 1200, 1500, 1500, 0)->first_io = 20;
	m = synth_model(s);
	EQ_U(m->file_tick_cnt, 3);
	EQ_U(m->file_ticks[0].file, model_res_by_id(m, 20));
	EQ_U(m->file_ticks[0].set, model_res_by_id(m, 9));
	EQ_U(MS(m->file_ticks[0].wait_ns), 200);
	EQ_U(m->file_ticks[1].file, model_res_by_id(m, 21));
	EQ_U(MS(m->file_ticks[1].wait_ns), 100);
	EQ_U(m->file_ticks[2].begin_ns, synth_ns(s, 1000));
	EQ_U(MS(m->file_ticks[2].wait_ns), 100);
	EQ_U(m->file_ticks[2].wait_cnt, 1);
	synth_free(s);
}

TEST(model_lost_waits_are_made_good_by_the_snapshot)
{
	struct synth *s = synth_new(2000);
	struct ev_thread *ev;
	const struct thread *t;

	synth_thread(s, 1, 1, "a");
	/* of four waits of 200 ms two were lost */
	synth_wait(s, 1, WAIT_FUTEX, 7, 100, 300, 300, 0)->seq = 1;
	synth_wait(s, 1, WAIT_FUTEX, 7, 1100, 1300, 1300, 0)->seq = 4;
	ev = synth_snap(s, 1);
	ev->since_ns = synth_ns(s, 0);
	ev->run_ns = 1200 * NS_PER_MS;
	ev->wait_ns[WAIT_FUTEX] = 800 * NS_PER_MS;
	t = thread_of(synth_model(s), 1);
	check_times(synth_model(s));
	EQ_U(MS(t->ns[ST_WAIT + WAIT_FUTEX]), 800);
	EQ_U(MS(t->ns[ST_RUN]), 1200);
	EQ_U(synth_model(s)->seq_gap_cnt, 2);
	synth_free(s);
}

TEST(model_snapshot_knows_the_state_in_progress)
{
	struct synth *s = synth_new(1000);
	struct ev_thread *ev;
	const struct thread *t;

	synth_thread(s, 1, 1, "a");
	ev = synth_snap(s, 1); /* asleep all the time: its sums are still zero */
	ev->since_ns = synth_ns(s, 0);
	synth_pending(s, 1, WAIT_EPOLL, 9, 0);
	t = thread_of(synth_model(s), 1);
	EQ_U(MS(t->ns[ST_WAIT + WAIT_EPOLL]), 1000);
	synth_free(s);
}

TEST(model_life_is_what_was_tracked)
{
	struct synth *s = synth_new(2000);
	struct ev_thread *ev;
	const struct thread *t;

	synth_thread(s, 1, 1, "late");
	ev = synth_snap(s, 1);
	ev->since_ns = synth_ns(s, 500);
	ev->run_ns = 1000 * NS_PER_MS;
	synth_wait(s, 1, WAIT_TIMER, 0, 0, 1000, 1000, 0)->flags = WAITF_BEFORE_START;
	synth_thread(s, 2, 1, "short");
	synth_wait(s, 2, WAIT_TIMER, 0, 100, 200, 200, 0);
	synth_exit(s, 2, 700);
	t = thread_of(synth_model(s), 1);
	EQ_U(t->begin_ns, synth_ns(s, 500));
	EQ_U(t->end_ns, synth_ns(s, 2000));
	EQ_U(MS(t->ns[ST_WAIT + WAIT_TIMER]), 500);
	t = thread_of(synth_model(s), 2);
	EQ_U(t->exited, 1);
	EQ_U(t->end_ns, synth_ns(s, 700));
	EQ_U(MS(t->ns[ST_RUN]), 600);
	EQ_U(t->slice_len, 1);
	check_times(synth_model(s));
	synth_free(s);
}

TEST(model_ends_are_differences)
{
	struct synth *s = synth_new(2000);
	const struct model *m;
	struct ev_end *ev;

	synth_thread(s, 1, 1, "srv");
	synth_end(s, 1, ROLE_SERVER, 80, 100, 500); /* seen once: all of it */
	for (int i = 0; i < 2; i++) {
		ev = synth_event(s, EV_END, sizeof(*ev), i ? 2000 : 0);
		ev->tgid = 1;
		ev->role = ROLE_CLIENT;
		ev->family = 2;
		ev->rport = 3306;
		ev->raddr[0] = 10;
		ev->turns = i ? 50 : 20;
		ev->hist[3] = i ? 7 : 2;
	}
	m = synth_model(s);
	EQ_U(m->end_cnt, 2);
	EQ_U(m->ends[0].turns, 100);
	EQ_S(m->ends[0].name, "port 80");
	EQ_U(m->ends[1].turns, 30);
	EQ_U(m->ends[1].hist[3], 5);
	EQ_S(m->ends[1].name, "10.0.0.0:3306");
	synth_free(s);
}

static void unix_end(struct synth *s, uint32_t tgid, unsigned role, const char *path)
{
	uint32_t name = synth_str(s, path);
	struct ev_end *ev = synth_end(s, tgid, role, 0, 10, 100);

	ev->family = AF_UNIX;
	ev->name = name;
}

static const struct end *client_of(const struct model *m, const char *path)
{
	for (size_t i = 0; i < m->end_cnt; i++)
		if (m->ends[i].role == ROLE_CLIENT && !strcmp(m->ends[i].name, path))
			return &m->ends[i];
	return NULL;
}

TEST(model_finds_who_serves_a_unix_path)
{
	struct synth *s = synth_new(2000);
	const struct model *m;

	synth_thread(s, 1, 1, "proxy");
	synth_thread(s, 2, 2, "app");
	synth_thread(s, 3, 3, "other");
	unix_end(s, 2, ROLE_SERVER, "/run/app");
	unix_end(s, 2, ROLE_SERVER, "/run/two");
	unix_end(s, 3, ROLE_SERVER, "/run/two");
	unix_end(s, 1, ROLE_CLIENT, "/run/app");
	unix_end(s, 1, ROLE_CLIENT, "/run/two");	/* two serve it: which is not known */
	unix_end(s, 1, ROLE_CLIENT, "/run/gone");
	for (uint32_t t = 5; t < 8; t++) { /* children of one process */
		synth_thread(s, t, t, "child")->ppid = 4;
		unix_end(s, t, ROLE_SERVER, "/run/pool");
	}
	unix_end(s, 1, ROLE_CLIENT, "/run/pool");
	m = synth_model(s);
	EQ_U(client_of(m, "/run/pool")->peer_tgid, 5);
	OK(client_of(m, "/run/app") && client_of(m, "/run/two") && client_of(m, "/run/gone"));
	EQ_U(client_of(m, "/run/app")->peer_tgid, 2);
	EQ_S(client_of(m, "/run/app")->peer_comm, "app");
	EQ_U(client_of(m, "/run/two")->peer_tgid, 0);
	EQ_U(client_of(m, "/run/gone")->peer_tgid, 0);
	synth_free(s);
}

TEST(model_names_what_came_without_name)
{
	static const struct {
		unsigned kind;
		const char *name;
	} rows[] = {
		{RES_FUTEX, "futex 0x40 of srv"},
		{RES_PIPE, "pipe:[64]"},
		{RES_EPOLL, "epoll of srv"},
		{RES_SOCKET, "socket 64"},	  {RES_FILE, "file 64"}, {RES_TIMER, "timer"},
		{RES_MEMORY, "memory"},		  {RES_CHILD, "child of srv"},
		{RES_KIND_CNT + 3, "resource 0x40"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct synth *s = synth_new(1000);

		ROW(i);
		synth_thread(s, 1, 1, "srv");
		synth_res(s, 0x40, rows[i].kind, NULL)->tgid = 1;
		EQ_S(synth_model(s)->res[0].name, rows[i].name);
		synth_free(s);
	}
}

TEST(model_live_view_goes_on_after_finish)
{
	struct model *m = model_new(NULL);
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, NS_PER_SEC}};
	struct ev_wait w = {.h = {sizeof(w), EV_WAIT, 0, 1, 0}, .tgid = 1, .cls = WAIT_FUTEX};
	struct ev_tick tick = {.h = {sizeof(tick), EV_TICK, 0, 0, 0}};

	model_add(m, &meta.h);
	w.off_ns = NS_PER_SEC + 100 * NS_PER_MS;
	w.h.ts_ns = tick.h.ts_ns = 2 * NS_PER_SEC;
	w.flags = WAITF_PENDING;
	model_add(m, &w.h);
	model_add(m, &tick.h);
	model_finish(m);
	EQ_U(MS(m->threads[0].ns[ST_WAIT + WAIT_FUTEX]), 900);
	EQ_U(m->wait_cnt, 1);
	tick.h.ts_ns = 3 * NS_PER_SEC; /* nothing new: it waits on */
	model_add(m, &tick.h);
	model_finish(m);
	EQ_U(MS(m->threads[0].ns[ST_WAIT + WAIT_FUTEX]), 1900);
	check_times(m);
	w.flags = 0;
	w.wake_ns = w.h.ts_ns = 3 * NS_PER_SEC + 500 * NS_PER_MS;
	model_add(m, &w.h);
	tick.h.ts_ns = 4 * NS_PER_SEC;
	model_add(m, &tick.h);
	model_finish(m);
	EQ_U(MS(m->threads[0].ns[ST_WAIT + WAIT_FUTEX]), 2400);
	EQ_U(MS(m->threads[0].ns[ST_RUN]), 500);
	EQ_U(m->wait_cnt, 1);
	EQ_U(m->pairs[0].cnt, 1);
	check_times(m);
	model_free(m);
}

/* Ten thousand waits of eight threads over five ticks, given in an order of the seed's. */
static struct model *shuffled(unsigned seed, uint32_t max_waits)
{
	struct model_opts opts = {.max_waits = max_waits, .newest_waits = 1};
	struct model *m = model_new(&opts);
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, NS_PER_SEC}};

	model_add(m, &meta.h);
	for (unsigned tick = 0; tick < 5; tick++) {
		struct ev_tick end = {.h = {sizeof(end), EV_TICK, 0, 0, (tick + 2) * NS_PER_SEC}};
		VEC(struct ev_wait) batch = {0};

		for (unsigned i = 0; i < 2000; i++) {
			struct ev_wait *w = vec_add(&batch);

			w->h = (struct event_hdr){sizeof(*w), EV_WAIT, 0, 50 + i % 8, 0};
			w->off_ns = (tick + 1) * NS_PER_SEC + i / 8 * 4 * NS_PER_MS + 1;
			w->wake_ns = w->off_ns + 2 * NS_PER_MS + i;
			w->h.ts_ns = w->wake_ns + 1000;
			w->tgid = 50;
			w->seq = tick * 250 + i / 8;
			w->res = 900 - i % 16;
			w->cls = i % 3 ? WAIT_FUTEX : WAIT_SOCKET;
			w->waker_tid = 40 + i % 5;
			w->waker_ctx = WAKER_TASK;
			w->first_io = i % 3 ? 0 : 900;
		}
		for (size_t i = batch.cnt; seed && i > 1; i--) {
			size_t j = hash_u64(seed * 100000 + i) % i;
			struct ev_wait tmp = batch.items[i - 1];

			batch.items[i - 1] = batch.items[j];
			batch.items[j] = tmp;
		}
		VEC_FOREACH(&batch, w)
			model_add(m, &w->h);
		model_add(m, &end.h);
		vec_release(&batch);
	}
	model_finish(m);
	return m;
}

#define SAME(a, b, items, cnt)                                                            \
	do {                                                                              \
		EQ_U((a)->cnt, (b)->cnt);                                                 \
		OK(memcmp((a)->items, (b)->items, (a)->cnt * sizeof(*(a)->items)) == 0); \
	} while (0)

TEST(model_order_inside_a_batch_does_not_matter)
{
	struct model *a = shuffled(0, 0), *b = shuffled(7, 0);

	check_times(a);
	SAME(a, b, waits, wait_cnt);
	SAME(a, b, pairs, pair_cnt);
	SAME(a, b, res_ticks, res_tick_cnt);
	EQ_U(a->thread_cnt, b->thread_cnt);
	for (size_t i = 0; i < a->thread_cnt; i++) {
		EQ_U(a->threads[i].tid, b->threads[i].tid);
		OK(memcmp(a->threads[i].ns, b->threads[i].ns, sizeof(a->threads[i].ns)) == 0);
	}
	for (size_t i = 0; i < a->res_cnt; i++)
		EQ_U(a->res[i].id, b->res[i].id);
	EQ_U(a->seq_gap_cnt, 0);
	model_free(a);
	model_free(b);
}

TEST(model_newest_waits_win)
{
	struct model *all = shuffled(0, 0), *few = shuffled(3, 1000);
	uint64_t ns_all = 0, ns_few = 0, later = 0;

	OK(few->wait_cnt <= 1000 && few->wait_cnt > 800);
	EQ_U(few->wait_cnt + few->waits_dropped_cnt, all->wait_cnt);
	for (size_t i = 0; i < all->wait_cnt; i++)
		later += all->waits[i].end_ns > few->waits_begin_ns;
	EQ_U(few->wait_cnt, later); /* complete from there on */
	for (size_t i = 0; i < all->pair_cnt; i++)
		ns_all += all->pairs[i].ns;
	for (size_t i = 0; i < few->pair_cnt; i++)
		ns_few += few->pairs[i].ns;
	EQ_U(ns_few, ns_all); /* the sums have them all */
	OK(few->mem_bytes < all->mem_bytes);
	check_times(few);
	model_free(all);
	model_free(few);
}

TEST(model_refuses_and_counts)
{
	struct model *m = model_new(NULL);
	struct ev_wait w = {.h = {sizeof(w), EV_WAIT, 0, 1, 5000}, .off_ns = 6000};
	struct event_hdr h = {.size = 8, .kind = EV_TASK};
	struct ev_str str = {.h = {sizeof(str), EV_STR, 0, 0, 0}, .id = 1, .len = 4000};
	struct ev_tick tick = {.h = {sizeof(tick), EV_TICK, 0, 0, 9000}};

	model_add(m, &w.h); /* ends before it begins */
	model_add(m, &h);   /* shorter than a header */
	model_add(m, &str.h); /* its text is not there */
	h = (struct event_hdr){.size = sizeof(h), .kind = 200};
	model_add(m, &h);
	model_add(m, &tick.h);
	model_add(m, &tick.h); /* time stands still */
	model_finish(m);
	EQ_U(m->bad_event_cnt, 4);
	EQ_U(m->unknown_kind_cnt, 1);
	model_free(m);
}

TEST(model_refuses_snapshots_that_cannot_be)
{
	static const struct {
		uint64_t ts_ns, since_ns, run_ns, wait_ns, iowait_ns;
		uint64_t bad_cnt;
	} rows[] = {
		{9000, 1000, 4000, 4000, 4000, 0},
		{9000, 0, UINT64_MAX, 0, 0, 0}, /* without sums: the rest is not looked at */
		{9000, 9001, 0, 0, 0, 1},
		{9000, 1000, UINT64_MAX, 0, 0, 1},
		{9000, 1000, 0, UINT64_MAX / 2, 0, 1},
		{9000, 1000, 1100000000, 1100000000, 0, 1},
		{9000, 1000, 0, 0, UINT64_MAX, 1},
		{UINT64_MAX, 1000, 0, 0, 0, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct model *m = model_new(NULL);
		struct ev_thread e = {.h = {sizeof(e), EV_THREAD, 0, 1, rows[i].ts_ns}};

		ROW(i);
		e.since_ns = rows[i].since_ns;
		e.run_ns = rows[i].run_ns;
		e.wait_ns[WAIT_FUTEX] = rows[i].wait_ns;
		e.iowait_ns = rows[i].iowait_ns;
		model_add(m, &e.h);
		model_finish(m);
		EQ_U(m->bad_event_cnt, rows[i].bad_cnt);
		model_free(m);
	}
}

TEST(model_shorter_records_have_a_zero_tail)
{
	struct model *m = model_new(NULL);
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, 1000}};
	struct ev_wait w = {.h = {0, EV_WAIT, 0, 1, 5000}, .off_ns = 2000, .wake_ns = 4000};

	w.proc_open = 77; /* behind the end of an older writer's record */
	w.h.size = offsetof(struct ev_wait, sysnr);
	model_add(m, &meta.h);
	model_add(m, &w.h);
	model_finish(m);
	EQ_U(m->wait_cnt, 1);
	EQ_U(m->waits[0].proc_open, 0);
	EQ_U(m->threads[0].ns[ST_WAIT + WAIT_OTHER], 2000);
	EQ_U(m->threads[0].ns[ST_RUNQ], 1000);
	model_free(m);
}

TEST(model_tid_given_anew_is_another_thread)
{
	struct synth *s = synth_new(2000);
	const struct model *m;
	struct ev_task *ev;

	synth_thread(s, 5, 5, "old")->start_boot_ns = 1;
	synth_wait(s, 5, WAIT_TIMER, 0, 100, 200, 200, 0);
	synth_exit(s, 5, 900);
	ev = synth_event(s, EV_TASK, sizeof(*ev), 1100);
	ev->h.tid = ev->tgid = 5;
	ev->op = TASK_FORK;
	ev->start_boot_ns = 2;
	ev->comm = synth_str(s, "new");
	synth_wait(s, 5, WAIT_TIMER, 0, 1200, 1300, 1300, 0);
	m = synth_model(s);
	EQ_U(m->thread_cnt, 2);
	EQ_S(m->threads[0].comm, "old");
	EQ_U(MS(m->threads[0].end_ns - m->threads[0].begin_ns), 900);
	EQ_S(m->threads[1].comm, "new");
	EQ_U(MS(m->threads[1].end_ns - m->threads[1].begin_ns), 900);
	check_times(m);
	synth_free(s);
}

/* CLOCK_BOOTTIME was read first, so that it is behind. */
TEST(model_start_is_known_where_clocks_were_read_apart)
{
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, NS_PER_SEC},
			       .boot_off_ns = (uint64_t)-20};
	struct ev_task task = {.h = {sizeof(task), EV_TASK, 0, 5, NS_PER_SEC + 500},
			       .tgid = 5, .op = TASK_FORK, .start_boot_ns = NS_PER_SEC + 400};
	struct model *m = model_new(NULL);

	model_add(m, &meta.h);
	model_add(m, &task.h);
	model_finish(m);
	EQ_U(m->threads[0].start_ns, NS_PER_SEC + 420);
	model_free(m);
}

TEST(model_long_run_keeps_the_newest_ticks)
{
	struct model_opts opts = {.max_slices = 8};
	struct model *m = model_new(&opts);
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, NS_PER_SEC}};
	const struct thread *t;

	model_add(m, &meta.h);
	for (uint64_t i = 1; i < 100; i++) {
		struct ev_wait w = {.h = {sizeof(w), EV_WAIT, 0, 1, i * NS_PER_SEC + 500}};
		struct ev_tick tick = {.h = {sizeof(tick), EV_TICK, 0, 0, (i + 1) * NS_PER_SEC}};

		w.off_ns = w.wake_ns = i * NS_PER_SEC + 400;
		model_add(m, &w.h);
		model_add(m, &tick.h);
		model_finish(m);
	}
	t = &m->threads[0];
	OK(t->slice_len >= 4 && t->slice_len <= 8);
	EQ_U(m->slices[t->first_slice + t->slice_len - 1].begin_ns, 99 * NS_PER_SEC);
	for (uint32_t i = 0; i < t->slice_len; i++)
		EQ_U(sum_of(m->slices[t->first_slice + i].ns), NS_PER_SEC);
	EQ_U(sum_of(t->ns), t->end_ns - t->begin_ns);
	model_free(m);
}

/* Data that came before the watch and stays unread: only the snapshots know of it. */
TEST(model_connections_unread_since_before)
{
	struct synth *s = synth_new(3000);
	const struct model *m;

	synth_proc(s, 7)->unread_ns = 0;
	for (unsigned end = 0; end < 2; end++) {
		struct ev_conn *c = synth_event(s, EV_CONN, sizeof(*c), end ? 3000 : 0);

		c->tgid = 7;
		c->role = ROLE_SERVER;
		c->conns = 8;
		c->unread_conns = 7;
		c->stale_conns = end ? 6 : 7;
	}
	m = synth_model(s);
	EQ_U(m->procs[0].stale_conns, 6);
	EQ_U(m->procs[0].unread_last, 6);
	EQ_U(MS(m->procs[0].unread_ns), 6 * MS(m->end_ns - m->begin_ns));
	synth_free(s);
}

/* Sums are told when they move: one told before the window only did not move in it. */
TEST(model_sum_that_did_not_move_is_zero)
{
	struct synth *s = synth_new(1000);
	struct ev_culprit *ev[4];
	const struct model *m;

	synth_thread(s, 1, 1, "victim");
	for (int i = 0; i < 4; i++)
		ev[i] = synth_culprit(s, 1, i ? i / 2 * 2 + 50 : 50, "neighbour", 400 + 100 * i);
	ev[0]->h.ts_ns -= 2 * NS_PER_SEC; /* 50: a second before the window */
	ev[2]->h.ts_ns -= 2 * NS_PER_SEC; /* 52: then, and at its end */
	ev[1]->culprit_tgid = 51;	  /* 51: at its end only */
	m = synth_model(s);
	for (size_t i = 0; i < m->culprit_cnt; i++) {
		uint32_t tgid = m->culprits[i].culprit;

		EQ_U(MS(m->culprits[i].ns), tgid == 50 ? 0 : tgid == 51 ? 500 : 100);
	}
	EQ_U(m->culprit_cnt, 3);
	synth_free(s);
}
