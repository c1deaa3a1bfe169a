/* SPDX-License-Identifier: Apache-2.0 */
/* The view clock: real time without what is not kept.  See view_clock.h. */
#include "model/keep/pause_spread.h"
#include "model/model_int.h"

/* The last that begins at or before ns; the first if none does. */
#define KEPT_AT(m, field, ns)                                                \
	({                                                                   \
		size_t low_ = 0, high_ = (m)->kept_cnt;                      \
		while (high_ - low_ > 1) {                                   \
			size_t mid_ = low_ + (high_ - low_) / 2;             \
			*((m)->kept[mid_].field <= (ns) ? &low_ : &high_) = mid_; \
		}                                                            \
		&(m)->kept[low_];                                            \
	})

uint64_t model_view_ns(const struct model *m, uint64_t real_ns)
{
	const struct kept *k = KEPT_AT(m, begin_ns, real_ns);

	if (real_ns < k->begin_ns)
		return k->view_ns;
	return k->view_ns + (real_ns < k->end_ns ? real_ns : k->end_ns) - k->begin_ns;
}

uint64_t model_real_ns(const struct model *m, uint64_t view_ns)
{
	const struct kept *k = KEPT_AT(m, view_ns, view_ns);

	if (view_ns < k->view_ns)
		return k->begin_ns;
	return k->begin_ns + view_ns - k->view_ns;
}

static void add_stretches(struct model *m, bool clear)
{
	struct model_priv *p = m->priv;
	uint64_t at = m->waits_begin_ns;
	struct stretch s;
	struct even even;

	even_make(&even, &p->pieces, at, m->end_ns);
	for (; clear ? even_next(&even, at, m->end_ns, &s)
		     : pieces_next(&p->pieces, at, m->end_ns, false, &s); at = s.end_ns) {
		struct kept *last = p->kept.cnt ? vec_last(&p->kept) : NULL;

		if (last && last->end_ns == s.begin_ns)
			last->end_ns = s.end_ns;
		else
			vec_push(&p->kept, ((struct kept){s.begin_ns, s.end_ns, 0}));
	}
	even_release(&even);
}

/* Coarse time counts where there is no other, and all of it where nothing is left. */
static void find_kept(struct model *m)
{
	struct model_priv *p = m->priv;
	uint64_t view_ns = m->end_ns;

	vec_clear(&p->kept);
	if (!p->newest)
		add_stretches(m, true);
	if (p->kept.cnt == 0 && !p->newest)
		add_stretches(m, false);
	if (p->kept.cnt == 0)
		vec_push(&p->kept, ((struct kept){m->waits_begin_ns, m->end_ns, 0}));
	for (size_t i = p->kept.cnt; i-- > 0;) {
		struct kept *k = &p->kept.items[i];

		view_ns -= k->end_ns > k->begin_ns ? k->end_ns - k->begin_ns : 0;
		k->view_ns = view_ns;
	}
	m->kept = p->kept.items;
	m->kept_cnt = p->kept.cnt;
	m->kept_ns = m->end_ns - view_ns;
	m->view_begin_ns = view_ns;
	m->view_end_ns = m->end_ns;
}

static bool is_all_kept(const struct model *m)
{
	return m->kept_cnt == 1 && m->kept[0].begin_ns == m->waits_begin_ns &&
	       m->kept[0].end_ns == m->end_ns;
}

/* false: all of it was cut out.  What still goes on stays, to say so. */
static bool to_view(const struct model *m, struct wait *w)
{
	const struct kept *k = KEPT_AT(m, begin_ns, w->real_off_ns);
	bool had = w->real_end_ns > w->real_off_ns;

	w->off_ns = model_view_ns(m, w->off_ns);
	w->wake_ns = model_view_ns(m, w->wake_ns);
	w->end_ns = model_view_ns(m, w->end_ns);
	if (had || w->flags & WAITF_PENDING)
		return w->end_ns > w->off_ns || w->flags & WAITF_PENDING;
	return k->begin_ns <= w->real_off_ns && w->real_off_ns < k->end_ns;
}

static void view_waits(struct model *m)
{
	struct model_priv *p = m->priv;

	vec_clear(&p->view);
	vec_reserve(&p->view, p->waits.cnt + 1);
	for (size_t t = 0; t < m->thread_cnt; t++) {
		struct thread *th = &m->threads[t];
		uint32_t first = (uint32_t)p->view.cnt;

		for (uint32_t i = th->first_wait; i < th->first_wait + th->wait_len; i++) {
			p->view.items[p->view.cnt] = p->waits.items[i];
			p->view.cnt += to_view(m, &p->view.items[p->view.cnt]);
		}
		th->first_wait = first;
		th->wait_len = (uint32_t)p->view.cnt - first;
	}
	m->waits = p->view.items;
	m->wait_cnt = p->view.cnt;
}

/* After the waits: they are put on the view clock where that is not the real one. */
void kept_publish(struct model *m)
{
	find_kept(m);
	for (size_t i = 0; i < m->thread_cnt; i++) {
		struct thread *t = &m->threads[i];

		t->view_begin_ns = model_view_ns(m, t->begin_ns);
		t->view_end_ns = model_view_ns(m, t->end_ns);
	}
	if (!is_all_kept(m))
		view_waits(m);
}
