/* SPDX-License-Identifier: Apache-2.0 */
/* Which waits the model keeps when there are more than it may hold. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "judged.h"
#include "model/keep/pieces.h"
#include "model/model.h"
#include "unit.h"
#include "verdict/context/context.h"
#include "verdict/evidence/shed.h"

#define US UINT64_C(1000)

static struct model *begun(uint32_t max_waits)
{
	struct model *m = model_new(&(struct model_opts){.max_waits = max_waits});
	struct ev_meta meta = {.h = {sizeof(meta), EV_META, 0, 0, NS_PER_SEC},
			       .tick_ns = NS_PER_SEC};

	model_add(m, &meta.h);
	return m;
}

static void tick(struct model *m, uint64_t ns)
{
	struct ev_tick e = {.h = {sizeof(e), EV_TICK, 0, 0, ns}};

	model_add(m, &e.h);
}

static void put(struct model *m, uint32_t tid, unsigned cls, uint64_t off_ns, uint64_t end_ns)
{
	struct ev_wait w = {.h = {sizeof(w), EV_WAIT, 0, tid, end_ns}, .off_ns = off_ns,
			    .wake_ns = end_ns, .tgid = 50, .res = 900 + cls, .cls = (uint8_t)cls,
			    .waker_ctx = WAKER_TIMER};

	model_add(m, &w.h);
}

static void coarse(struct model *m, uint64_t begin_ns, uint64_t end_ns, uint32_t shed)
{
	struct ev_coarse e = {.h = {sizeof(e), EV_COARSE, 0, 0, end_ns}, .begin_ns = begin_ns,
			      .end_ns = end_ns, .shed = shed};

	model_add(m, &e.h);
}

/* Time of the class in waits[] as a share of what is kept. */
static double share_kept(const struct model *m, unsigned cls)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < m->wait_cnt; i++)
		if (m->waits[i].cls == cls)
			ns += m->waits[i].end_ns - m->waits[i].off_ns;
	return (double)ns / (double)m->kept_ns;
}

static double share_all(const struct model *m, unsigned cls)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < m->thread_cnt; i++)
		ns += m->threads[i].ns[ST_WAIT + cls];
	return (double)ns / (double)(m->end_ns - m->begin_ns);
}

/* What must hold of any model. */
static void check_view(const struct model *m)
{
	uint64_t at = m->view_begin_ns, ns = 0;

	OK(m->kept_cnt > 0);
	for (size_t i = 0; i < m->kept_cnt; i++) {
		const struct kept *k = &m->kept[i];

		EQ_U(k->view_ns, at);
		OK(k->begin_ns < k->end_ns);
		OK(i == 0 || k->begin_ns > m->kept[i - 1].end_ns);
		EQ_U(model_view_ns(m, k->begin_ns), k->view_ns);
		EQ_U(model_real_ns(m, k->view_ns), k->begin_ns);
		at += k->end_ns - k->begin_ns;
		ns += k->end_ns - k->begin_ns;
	}
	EQ_U(at, m->view_end_ns);
	EQ_U(ns, m->kept_ns);
	EQ_U(m->view_end_ns, m->end_ns);
	for (size_t t = 0; t < m->thread_cnt; t++) {
		const struct thread *th = &m->threads[t];
		uint64_t end = th->view_begin_ns;

		for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
			const struct wait *w = &m->waits[i];

			EQ_U(w->thread, t);
			OK(w->off_ns >= end && w->wake_ns >= w->off_ns && w->end_ns >= w->wake_ns);
			OK(w->real_end_ns - w->real_off_ns >= w->end_ns - w->off_ns);
			end = w->end_ns;
		}
		OK(end <= th->view_end_ns);
	}
}

/* A thread that waits 2 of 10 ms, in pieces of 100 us, a tenth of them for something else. */
static struct model *mixed(uint32_t max_waits, unsigned seconds)
{
	struct model *m = begun(max_waits);

	for (unsigned s = 1; s <= seconds; s++) {
		for (unsigned i = 0; i < 2000; i++) {
			uint64_t at = s * NS_PER_SEC + i * 500 * US;
			unsigned cls = hash_pair(s, i) % 10 ? WAIT_FUTEX : WAIT_SOCKET;

			put(m, 50, cls, at + 1, at + 100 * US);
		}
		tick(m, (s + 1) * NS_PER_SEC);
	}
	model_finish(m);
	return m;
}

TEST(sample_is_all_where_it_fits)
{
	struct model *m = mixed(0, 3);

	check_view(m);
	EQ_U(m->wait_cnt, 6000);
	EQ_U(m->waits_dropped_cnt, 0);
	EQ_U(m->kept_cnt, 1);
	EQ_U(m->view_begin_ns, m->begin_ns);
	EQ_U(model_view_ns(m, m->begin_ns + 5), m->begin_ns + 5);
	model_free(m);
}

TEST(sample_is_fair)
{
	struct model *m = mixed(4000, 60);
	double part = (double)m->kept_ns / (double)(m->end_ns - m->begin_ns);

	check_view(m);
	OK(m->wait_cnt <= 4000 && m->wait_cnt > 1000);
	OK(part > 0.01 && part < 0.04);
	OK(m->kept_cnt >= 8);
	OK(m->waits_dropped_cnt > 100000);
	for (unsigned cls = WAIT_FUTEX; cls <= WAIT_SOCKET; cls += WAIT_SOCKET - WAIT_FUTEX) {
		double is = share_kept(m, cls), be = share_all(m, cls);

		OK(is > be - 0.02 && is < be + 0.02);
	}
	/* they come from all of it */
	OK(m->kept[0].begin_ns < m->begin_ns + 15 * NS_PER_SEC);
	OK(m->kept[m->kept_cnt - 1].end_ns > m->end_ns - 15 * NS_PER_SEC);
	EQ_U(m->pairs[0].cnt + m->pairs[1].cnt, 120000);
	model_free(m);
}

/* Each wait of the smaller sample is in the larger one, as long as it was. */
TEST(sample_of_less_is_in_that_of_more)
{
	struct model *more = mixed(16000, 60), *less = mixed(2000, 60);
	size_t at = 0;

	OK(more->kept_ns > less->kept_ns);
	for (size_t i = 0; i < less->wait_cnt; i++) {
		const struct wait *w = &less->waits[i];

		while (at < more->wait_cnt && more->waits[at].real_off_ns < w->real_off_ns)
			at++;
		OK(at < more->wait_cnt);
		EQ_U(more->waits[at].real_off_ns, w->real_off_ns);
		EQ_U(more->waits[at].real_end_ns, w->real_end_ns);
	}
	model_free(more);
	model_free(less);
}

/* 300 ms of each 3 s, ten minutes long. */
TEST(sample_meets_what_is_periodic)
{
	static const uint32_t bounds[] = {1000, 3000, 10000};

	for (size_t b = 0; b < 3; b++) {
		struct model *m = begun(bounds[b]);
		double is;

		ROW(b);
		for (unsigned s = 1; s <= 600; s++) {
			uint64_t at = s * NS_PER_SEC, from = at;

			if (s % 3 == 0)
				put(m, 51, WAIT_TIMER, at + 1, from = at + 300 * NS_PER_MS);
			for (; from < at + NS_PER_SEC; from += 5 * NS_PER_MS)
				put(m, 50, WAIT_FUTEX, from + 1, from + NS_PER_MS);
			tick(m, at + NS_PER_SEC);
		}
		model_finish(m);
		check_view(m);
		is = share_kept(m, WAIT_TIMER);
		OK(is > 0.02 && is < 0.25);
		EQ_U(m->threads[1].long_len, 200); /* and all of them are there whole */
		model_free(m);
	}
}

TEST(sample_leaves_out_coarse_time)
{
	struct model *m = begun(0);

	for (unsigned i = 0; i < 1000; i++)
		put(m, 50, WAIT_FUTEX, NS_PER_SEC + i * NS_PER_MS + 1,
		    NS_PER_SEC + i * NS_PER_MS + 500 * US);
	coarse(m, NS_PER_SEC + 100 * NS_PER_MS, NS_PER_SEC + 200 * NS_PER_MS, SHED_SHORT);
	coarse(m, NS_PER_SEC + 200 * NS_PER_MS, NS_PER_SEC + 300 * NS_PER_MS, SHED_WAKERS);
	coarse(m, NS_PER_SEC + 400 * NS_PER_MS, NS_PER_SEC + 450 * NS_PER_MS, SHED_STACKS);
	coarse(m, NS_PER_SEC + 600 * NS_PER_MS + 250 * US, NS_PER_SEC + 700 * NS_PER_MS,
	       SHED_SHORT | SHED_STACKS);
	tick(m, 2 * NS_PER_SEC);
	model_finish(m);
	check_view(m);
	EQ_U(m->kept_cnt, 3);
	EQ_U(m->kept[0].end_ns, NS_PER_SEC + 100 * NS_PER_MS);
	EQ_U(m->kept[1].begin_ns, NS_PER_SEC + 300 * NS_PER_MS);
	EQ_U(m->kept[1].end_ns, NS_PER_SEC + 600 * NS_PER_MS + 250 * US);
	EQ_U(m->kept_ns, 700 * NS_PER_MS + 250 * US);
	EQ_U(m->wait_cnt, 701);
	EQ_U(m->waits[400].end_ns - m->waits[400].off_ns, 250 * US - 1); /* the one at the border */
	EQ_U(m->coarse_ns[0], 150 * NS_PER_MS - 250 * US);
	EQ_U(m->coarse_ns[1], 100 * NS_PER_MS);
	EQ_U(m->coarse_ns[3], 200 * NS_PER_MS - 250 * US);
	model_free(m);
}

/* All is known of the first two seconds, an eighth of the others, in which more is done. */
TEST(sample_evens_out_what_the_source_left_out)
{
	struct model *m = begun(0);
	uint64_t early_ns = 0;

	for (unsigned s = 1; s <= 20; s++) {
		for (unsigned i = 0; i < 1000; i++)
			put(m, 50, WAIT_FUTEX, s * NS_PER_SEC + i * NS_PER_MS + 1,
			    s * NS_PER_SEC + i * NS_PER_MS + (s < 3 ? 100 : 500) * US);
		for (unsigned i = 0; i < 4 && s > 2; i++)
			coarse(m, s * NS_PER_SEC + i * 250 * NS_PER_MS + 31 * NS_PER_MS,
			       s * NS_PER_SEC + (i + 1) * 250 * NS_PER_MS, SHED_SHORT);
		tick(m, (s + 1) * NS_PER_SEC);
	}
	model_finish(m);
	check_view(m);
	for (size_t i = 0; i < m->kept_cnt; i++)
		if (m->kept[i].begin_ns < 3 * NS_PER_SEC)
			early_ns += m->kept[i].end_ns - m->kept[i].begin_ns;
	/* twice as dense as the others at most: 0.5 of 2 s, where those have 2.2 of 18 */
	OK(early_ns > 200 * NS_PER_MS && early_ns < 900 * NS_PER_MS);
	OK(share_all(m, WAIT_FUTEX) > 0.45 && share_kept(m, WAIT_FUTEX) > 0.38);
	model_free(m);
}

/* Where there is no other, coarse time counts: waits without wakers are better than none. */
TEST(sample_of_coarse_time_alone)
{
	struct model *m = begun(0);

	for (unsigned i = 0; i < 1000; i++)
		put(m, 50, WAIT_FUTEX, NS_PER_SEC + i * NS_PER_MS + 1,
		    NS_PER_SEC + i * NS_PER_MS + 500 * US);
	coarse(m, NS_PER_MS, 3 * NS_PER_SEC, SHED_WAKERS);
	coarse(m, NS_PER_MS, 2 * NS_PER_SEC, SHED_WAKERS); /* out of order: refused, no harm */
	tick(m, 2 * NS_PER_SEC);
	model_finish(m);
	check_view(m);
	EQ_U(m->wait_cnt, 1000);
	EQ_U(m->kept_ns, NS_PER_SEC);
	model_free(m);
}

/* It goes on over cuts, and its pending state is not lost in one. */
TEST(sample_view_keeps_what_lasts)
{
	struct model *m = begun(0);
	struct ev_wait w = {.h = {sizeof(w), EV_WAIT, 0, 52, 2 * NS_PER_SEC},
			    .off_ns = 2 * NS_PER_SEC - 50 * NS_PER_MS, .tgid = 50,
			    .cls = WAIT_FUTEX, .flags = WAITF_PENDING};

	put(m, 50, WAIT_TIMER, NS_PER_SEC + 100 * NS_PER_MS, NS_PER_SEC + 500 * NS_PER_MS);
	put(m, 51, WAIT_TIMER, NS_PER_SEC + 200 * NS_PER_MS, NS_PER_SEC + 201 * NS_PER_MS);
	put(m, 51, WAIT_FUTEX, NS_PER_SEC + 250 * NS_PER_MS, NS_PER_SEC + 600 * NS_PER_MS);
	model_add(m, &w.h);
	coarse(m, NS_PER_SEC + 150 * NS_PER_MS, NS_PER_SEC + 300 * NS_PER_MS, SHED_SHORT);
	coarse(m, NS_PER_SEC + 900 * NS_PER_MS, 2 * NS_PER_SEC, SHED_SHORT);
	tick(m, 2 * NS_PER_SEC);
	for (int again = 0; again < 2; again++) {
		model_finish(m);
		check_view(m);
		EQ_U(m->wait_cnt, 3);
		EQ_U(m->waits[0].end_ns - m->waits[0].off_ns, 250 * NS_PER_MS);
		EQ_U(m->waits[0].real_end_ns - m->waits[0].real_off_ns, 400 * NS_PER_MS);
		EQ_U(m->waits[1].end_ns - m->waits[1].off_ns, 300 * NS_PER_MS);
		/* both begin together for the view, and end 100 ms apart as they did */
		EQ_U(m->waits[1].end_ns - m->waits[0].end_ns, 100 * NS_PER_MS);
		OK(m->waits[2].flags & WAITF_PENDING);
		EQ_U(m->waits[2].off_ns, m->view_end_ns);
		EQ_U(m->waits[2].real_end_ns - m->waits[2].real_off_ns, 50 * NS_PER_MS);
		EQ_U(m->long_cnt, 4);
		EQ_U(m->threads[2].long_len, 1);
		EQ_U(m->threads[1].ns[ST_WAIT + WAIT_FUTEX], 350 * NS_PER_MS);
	}
	model_free(m);
}

/* Of 20,000 waits of 1 to 21 ms a thousand may stay. */
TEST(longs_are_the_longest)
{
	struct model *m = begun(4000);
	uint64_t at = NS_PER_SEC, over = 0;
	VEC(uint64_t) lens = {0};

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t len = NS_PER_MS + hash_u64(i) % (20 * NS_PER_MS);

		put(m, 50 + i % 3, WAIT_TIMER, at, at + len);
		put(m, 50 + i % 3, WAIT_FUTEX, at + len + 1, at + len + 100);
		vec_push(&lens, len);
		if (i % 3 == 2)
			at += 25 * NS_PER_MS;
		if (i % 120 == 119)
			tick(m, at);
	}
	model_finish(m);
	OK(m->long_cnt <= 1000 + 3 && m->long_cnt > 500);
	EQ_U(m->long_cnt + m->long_dropped_cnt, 20000);
	for (size_t i = 0; i < lens.cnt; i++)
		over += lens.items[i] >= m->long_min_ns;
	EQ_U(m->long_cnt, over); /* complete from there on, and nothing else */
	for (size_t i = 1; i < m->long_cnt; i++) {
		const struct wait *a = &m->long_waits[i - 1], *b = &m->long_waits[i];

		OK(a->thread < b->thread || (a->thread == b->thread && a->end_ns <= b->off_ns));
		EQ_U(b->off_ns, b->real_off_ns);
	}
	for (size_t t = 0, first = 0; t < m->thread_cnt; t++) {
		EQ_U(m->threads[t].first_long, first);
		first += m->threads[t].long_len;
	}
	vec_release(&lens);
	model_free(m);
}

/* All of one length: none is the longest, and the newer stay. */
TEST(longs_that_are_all_alike)
{
	struct model *m = begun(400);

	for (unsigned i = 0; i < 1000; i++)
		put(m, 50, WAIT_TIMER, NS_PER_SEC + i * 10 * NS_PER_MS,
		    NS_PER_SEC + i * 10 * NS_PER_MS + 5 * NS_PER_MS);
	tick(m, 11 * NS_PER_SEC);
	model_finish(m);
	OK(m->long_cnt >= 50 && m->long_cnt <= 101);
	EQ_U(m->long_cnt + m->long_dropped_cnt, 1000);
	EQ_U(m->long_min_ns, 5 * NS_PER_MS + 1);
	model_free(m);
}

/* What was read after a wait shows although the next one is short or not kept. */
TEST(longs_and_samples_know_what_was_read_after)
{
	struct model *m = begun(2000);
	size_t told = 0;

	for (unsigned i = 0; i < 40000; i++) {
		uint64_t at = NS_PER_SEC + i * 10 * NS_PER_MS;
		struct ev_wait w = {.h = {sizeof(w), EV_WAIT, 0, 50, at + 6 * NS_PER_MS},
				    .off_ns = at, .wake_ns = at + 6 * NS_PER_MS, .tgid = 50,
				    .res = 7, .cls = WAIT_EPOLL, .first_io = 100 + (i + 15) % 16,
				    .seq = i};

		model_add(m, &w.h);
		if (i % 100 == 99)
			tick(m, at + 10 * NS_PER_MS);
	}
	model_finish(m);
	check_view(m);
	OK(m->kept_cnt > 5);
	for (size_t i = 0; i < m->wait_cnt; i++) {
		unsigned n = (unsigned)((m->waits[i].real_off_ns - NS_PER_SEC) / NS_PER_MS / 10);

		if (m->waits[i].first_io == NO_IDX)
			continue;
		EQ_U(m->res[m->waits[i].first_io].id, 100 + n % 16);
		told++;
	}
	OK(told + 2 >= m->wait_cnt);
	for (size_t i = 0; i + 1 < m->long_cnt; i++)
		OK(m->long_waits[i].first_io != NO_IDX);
	model_free(m);
}

/* An hour of 500 waits a second, and of eight coarse times a second. */
TEST(sample_of_an_hour_is_bounded)
{
	struct model *m = begun(10000);
	uint64_t mem = 0;

	for (unsigned s = 1; s <= 3600; s++) {
		for (unsigned i = 0; i < 500; i++) {
			uint64_t at = s * NS_PER_SEC + i * 2 * NS_PER_MS;

			put(m, 50 + i % 4, WAIT_FUTEX, at + 1, at + 100 * US +
			    hash_pair(s, i) % (2 * NS_PER_MS));
		}
		for (unsigned i = 0; i < 8; i++)
			coarse(m, s * NS_PER_SEC + i * 125 * NS_PER_MS,
			       s * NS_PER_SEC + (i * 125 + 60) * NS_PER_MS, SHED_SHORT);
		tick(m, (s + 1) * NS_PER_SEC);
		if (s % 600)
			continue;
		model_finish(m);
		check_view(m);
		OK(m->wait_cnt <= 10000);
		OK(m->long_cnt <= 2504);
		OK(m->mem_bytes < 32 << 20);
		OK(mem == 0 || m->mem_bytes < mem + mem / 2);
		mem = m->mem_bytes;
	}
	OK(m->kept_cnt > 50);
	model_free(m);
}

/* What each 300 ms mostly waits for is drawn anew. */
static struct model *bursts(uint32_t max_waits, unsigned seed)
{
	struct model *m = begun(max_waits);
	struct ev_task t = {.h = {sizeof(t), EV_TASK, 0, 50, NS_PER_SEC}, .tgid = 50,
			    .op = TASK_SEEN, .flags = TASKF_TARGET};

	model_add(m, &t.h);
	for (unsigned s = 1; s <= 20; s++) {
		for (unsigned i = 0; i < 1000; i++) {
			uint64_t at = s * NS_PER_SEC + i * NS_PER_MS;
			uint64_t mood = hash_pair(seed, (s * 1000 + i) / 300) % 100;
			bool lock = hash_pair(seed + 1000, s * 1000 + i) % 100 < mood;

			put(m, 50, lock ? WAIT_FUTEX : WAIT_FILE, at + 1,
			    at + (100 + mood * 5) * US);
		}
		tick(m, (s + 1) * NS_PER_SEC);
	}
	model_finish(m);
	return m;
}

TEST(sample_error_is_as_told)
{
	unsigned within = 0, runs = 60;
	double told = 0;

	for (unsigned seed = 1; seed <= runs; seed++) {
		struct model *m = bursts(4000, seed);
		struct arena arena = {0};
		struct waits_result *w = waits_analyse(m, NULL, &arena);
		double off = share_kept(m, WAIT_FUTEX) - share_all(m, WAIT_FUTEX), err;
		struct context k;

		context_init(&k, m, w, &arena);
		err = shed_error(&k);
		OK(err > 0 && err < 0.3);
		told += err / runs;
		within += off < err && off > -err;
		arena_release(&arena);
		model_free(m);
	}
	OK(within >= runs * 85 / 100); /* two standard errors of 20 or so stretches */
	OK(told < 0.15);
}

TEST(pieces_are_halves_of_pieces)
{
	struct pieces a = {0}, b = {0};
	struct stretch s, in;
	uint64_t window = 600 * NS_PER_SEC, was = window;

	for (int i = 0; i < 20 && pieces_halve(&b, window); i++) {
		uint64_t ns = 0;

		ROW(i);
		for (uint64_t at = NS_PER_SEC; pieces_next(&b, at, NS_PER_SEC + window, false, &s);
		     at = s.end_ns) {
			OK(pieces_next(&a, s.begin_ns, s.end_ns, false, &in));
			EQ_U(in.begin_ns, s.begin_ns);
			EQ_U(in.end_ns, s.end_ns);
			ns += s.end_ns - s.begin_ns;
		}
		OK(ns > 0 && ns < was * 0.75);
		was = ns;
		a = b;
	}
	OK(was < window >> 10);
}

/* A lock that tid 11 holds 20 of each 25 ms asleep; 12 and 13 wait for it; ten short waits more. */
static struct synth *busy_lock_world(uint32_t max_waits)
{
	struct synth *s = synth_new(20000);

	synth_max_waits(s, max_waits);
	synth_thread(s, 11, 11, "srv");
	synth_thread(s, 12, 11, "w1");
	synth_thread(s, 13, 11, "w2");
	synth_res(s, 7, RES_FUTEX, "the lock");
	for (int i = 0; i < 800; i++) {
		double b = i * 25;

		synth_irq_wait(s, 11, WAIT_TIMER, 0, b + 0.1, b + 20, b + 20, WAKER_TIMER);
		synth_wait(s, 12, WAIT_FUTEX, 7, b + 0.2, b + 20.1, b + 20.1, 11)->owner_tid = 11;
		synth_wait(s, 13, WAIT_FUTEX, 7, b + 0.3, b + 22, b + 22, 12)->owner_tid = 12;
		for (int k = 0; k < 10; k++)
			synth_irq_wait(s, 13, WAIT_FILE, 0, b + 22.1 + k * 0.2, b + 22.2 + k * 0.2,
				       b + 22.2 + k * 0.2, WAKER_BLOCK);
	}
	return s;
}

TEST(verdict_of_a_sample_is_that_of_all)
{
	static const uint32_t bounds[] = {0, 5000, 1000, 300};
	struct judged j[4];

	for (int i = 0; i < 4; i++) {
		struct judged *k = &j[i];
		double wait_ns, is;

		ROW(i);
		judge(k, busy_lock_world(bounds[i]));
		check_view(k->m);
		EQ_U(k->w->part < 1, i > 0);
		EQ_S(finding_name(k->v->findings[0].cls), finding_name(j[0].v->findings[0].cls));
		EQ_S(k->v->findings[0].resource, "the lock");
		EQ_U(k->v->findings[0].culprit.tid, 11);
		OK(k->v->findings[0].share > j[0].v->findings[0].share - 0.05);
		OK(k->v->findings[0].share < j[0].v->findings[0].share + 0.05);
		wait_ns = (double)j[0].w->locks[0].wait_ns;
		is = (double)k->w->locks[0].wait_ns;
		OK(is > 0.85 * wait_ns && is < 1.15 * wait_ns);
		OK(k->w->locks[0].max_ns > 21 * NS_PER_MS);
		OK(k->w->locks[0].max_ns < 22 * NS_PER_MS);
		EQ_U(k->v->unseen_cnt > 0, i > 0);
		if (i > 0)
			OK(strstr(k->v->unseen[0], "waits under 1 ms, except in "));
	}
	for (int i = 0; i < 4; i++)
		judged_release(&j[i]);
}

/* The same, where the source records short waits for 30 of each 240 ms alone. */
static struct synth *shed_lock_world(void)
{
	struct synth *s = synth_new(20000);

	synth_thread(s, 11, 11, "srv");
	synth_thread(s, 12, 11, "w1");
	synth_thread(s, 13, 11, "w2");
	synth_res(s, 7, RES_FUTEX, "the lock");
	for (int i = 0; i < 83; i++) {
		double from = i * 240 + hash_u64((uint64_t)i) % 200;

		synth_coarse(s, i * 240, from, SHED_SHORT | SHED_STACKS);
		synth_coarse(s, from + 30, i * 240 + 240, SHED_SHORT | SHED_STACKS);
	}
	synth_coarse(s, 19920, 20000, SHED_SHORT | SHED_STACKS | SHED_TIMING);
	for (int i = 0; i < 800; i++) {
		double b = i * 25, from = i / 9.6 * 240;

		from = (int)(b / 240) * 240 + hash_u64((uint64_t)(b / 240)) % 200;
		synth_irq_wait(s, 11, WAIT_TIMER, 0, b + 0.1, b + 20, b + 20, WAKER_TIMER);
		synth_wait(s, 12, WAIT_FUTEX, 7, b + 0.2, b + 20.1, b + 20.1, 11)->owner_tid = 11;
		synth_wait(s, 13, WAIT_FUTEX, 7, b + 0.3, b + 22, b + 22, 12)->owner_tid = 12;
		for (int k = 0; k < 10; k++)
			if (b + 22 >= from && b + 25 < from + 30)
				synth_irq_wait(s, 13, WAIT_FILE, 0, b + 22.1 + k * 0.2,
					       b + 22.2 + k * 0.2, b + 22.2 + k * 0.2, WAKER_BLOCK);
	}
	return s;
}

TEST(verdict_of_what_the_source_left_out)
{
	struct judged all, k;

	judge(&all, busy_lock_world(0));
	judge(&k, shed_lock_world());
	check_view(k.m);
	OK(k.w->part > 0.12 && k.w->part < 0.13);
	EQ_S(finding_name(k.v->findings[0].cls), finding_name(all.v->findings[0].cls));
	EQ_U(k.v->findings[0].culprit.tid, 11);
	OK(k.v->findings[0].share > all.v->findings[0].share - 0.05);
	OK(k.v->findings[0].share < all.v->findings[0].share + 0.05);
	OK(k.w->locks[0].max_ns > 21 * NS_PER_MS && k.w->locks[0].max_ns < 22 * NS_PER_MS);
	EQ_U(k.v->unseen_cnt, 3);
	OK(strstr(k.v->unseen[0], "waits under 1 ms, except in 2.5 of 20.0 s (83 stretches"));
	EQ_S(k.v->unseen[1], "stacks of waits under 1 ms, in 17.5 of 20.0 s, to keep the cost down "
			     "(--max-cost)");
	OK(strstr(k.v->unseen[2], "requests on busy sockets"));
	judged_release(&all);
	judged_release(&k);
}
