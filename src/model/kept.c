/* SPDX-License-Identifier: Apache-2.0 */
/* The view clock: real time without what is not kept.  See kept.h. */
#include "model/priv.h"

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

void kept_publish(struct model *m)
{
	struct model_priv *p = m->priv;

	p->all = (struct kept){m->waits_begin_ns, m->end_ns, m->waits_begin_ns};
	m->kept = &p->all;
	m->kept_cnt = 1;
	m->kept_ns = m->end_ns > m->waits_begin_ns ? m->end_ns - m->waits_begin_ns : 0;
	m->view_begin_ns = m->waits_begin_ns;
	m->view_end_ns = m->end_ns;
	for (size_t i = 0; i < m->thread_cnt; i++) {
		struct thread *t = &m->threads[i];

		t->view_begin_ns = model_view_ns(m, t->begin_ns);
		t->view_end_ns = model_view_ns(m, t->end_ns);
	}
}
