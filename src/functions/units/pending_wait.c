/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/pending_wait.h"

#include "model/model.h"

const struct wait *pending_wait(const struct model *m, uint32_t thread)
{
	const struct thread *t = &m->threads[thread];
	const struct wait *w = t->wait_len ? &m->waits[t->first_wait + t->wait_len - 1] : NULL;

	return w && w->flags & WAITF_PENDING ? w : NULL;
}

uint32_t hangs_waits_for(const struct model *m, uint32_t thread)
{
	const struct wait *w = pending_wait(m, thread);

	return w && w->owner_tid ? model_thread_by_tid(m, w->owner_tid) : NO_IDX;
}
