/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in the program a wait is: functions known by their begin, named or not.
 *
 * A database's sessions wait for each other's locks, for their clients and for time to
 * pass in the same epoll or semaphore.  What parts these is the function: the innermost
 * one in which nearly all of a group wait, and hardly anybody else of the program.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/hash.h"
#include "model/stack.h"
#include "waits/waits_int.h"

/* the function a program waits by, its wrapper, and their user */
enum { INNER_FNS = 3 };

uint64_t frame_place(const struct model *m, const struct stack *s, uint32_t i)
{
	uint64_t frame = s->frames[s->kernel_cnt + i];
	const struct fn *fn = model_fn(m, frame, s->tgid);

	return fn && fn->off <= FRAME_OFF(frame) ? frame - fn->off : frame;
}

uint64_t stack_site(const struct model *m, uint32_t stack)
{
	const struct stack *s = stack == NO_IDX ? NULL : &m->stacks[stack];
	uint64_t hash = 0;

	for (uint32_t i = 0; s && i < s->user_cnt; i++)
		hash = hash_pair(hash, frame_place(m, s, i));
	return hash;
}

/* Past the module that makes the system call, which is the C library's where there is one. */
static uint32_t way_in(const struct stack *s)
{
	const uint64_t *frames = s->frames + s->kernel_cnt;
	uint32_t i = 0;

	while (i < s->user_cnt && FRAME_MODULE(frames[i]) == FRAME_MODULE(frames[0]))
		i++;
	return i < s->user_cnt ? i : 0;
}

uint64_t stack_inner_site(const struct model *m, uint32_t stack)
{
	const struct stack *s = stack == NO_IDX ? NULL : &m->stacks[stack];
	uint64_t hash = 0;
	uint32_t from;

	if (!s || !s->user_cnt)
		return 0;
	from = way_in(s);
	for (uint32_t i = from; i < s->user_cnt && i < from + INNER_FNS; i++)
		hash = hash_pair(hash, frame_place(m, s, i));
	return hash;
}

/* All of the group but for stacks that end early. */
#define SITE_ALL 0.9
/* Share of the others' time: what they share with the group is the way into the kernel. */
#define SITE_OTHERS 0.05
/* Share of the group's: waits of its kind that lie outside of it. */
#define SITE_STRAY 0.05

/* Adds ns to each function of a stack, once however often it is in it. */
static void places_add(const struct model *m, const struct stack *s, struct hmap *ns, uint64_t add)
{
	struct hmap seen = { 0 };

	for (uint32_t i = 0; i < s->user_cnt; i++) {
		uint64_t place = frame_place(m, s, i), *again = hmap_slot(&seen, place);

		if (!*again)
			*hmap_slot(ns, place) += add;
		*again = 1;
	}
	hmap_release(&seen);
}

/* Innermost function that nearly all of the group's time is in, and hardly any of the others'. */
static struct site site_find(const struct model *m, const uint64_t *mine, const uint64_t *others)
{
	struct site best = { .stack = NO_IDX };
	struct hmap in = { 0 }, out = { 0 };
	uint64_t in_ns = 0, out_ns = 0, top = 0, ns;
	const struct stack *s = NULL;

	for (uint32_t i = 0; i < m->stack_cnt; i++) {
		if (!m->stacks[i].user_cnt || !(mine[i] + others[i]))
			continue;
		in_ns += mine[i];
		out_ns += others[i];
		places_add(m, &m->stacks[i], &in, mine[i]);
		places_add(m, &m->stacks[i], &out, others[i]);
		if (mine[i] > top) {
			top = mine[i];
			s = &m->stacks[i];
		}
	}
	for (uint32_t i = 0; s && i < s->user_cnt && best.stack == NO_IDX; i++) {
		uint64_t place = frame_place(m, s, i);

		if (!hmap_get(&in, place, &ns) || (double)ns < SITE_ALL * (double)in_ns)
			continue;
		if (!hmap_get(&out, place, &ns) || (double)ns <= SITE_OTHERS * (double)out_ns ||
		    (double)ns <= SITE_STRAY * (double)in_ns)
			best = (struct site){ .stack = (uint32_t)(s - m->stacks), .frame = i };
	}
	hmap_release(&in);
	hmap_release(&out);
	return best;
}

/* Sums of the family's waits by stack: of those in lock l, or of thread t where l is NO_IDX. */
static struct site site_among(const struct engine *e, uint32_t l, uint32_t t, bool waker)
{
	const struct model *m = e->m;
	uint64_t *ns = xcalloc(2 * m->stack_cnt + 1, sizeof(*ns));
	uint32_t family = NO_IDX;
	struct site site;

	BUG_ON(!ns);
	for (size_t i = 0; i < m->wait_cnt && family == NO_IDX; i++)
		if ((l == NO_IDX ? m->waits[i].thread == t : e->wait_lock[i] == l) &&
		    m->threads[m->waits[i].thread].proc != NO_IDX)
			family = e->family[m->threads[m->waits[i].thread].proc];
	for (size_t i = 0; i < m->wait_cnt; i++) {
		const struct wait *w = &m->waits[i];
		uint32_t proc = m->threads[w->thread].proc;
		uint32_t at = waker ? w->waker_stack : w->flags & WAITF_PENDING ?
			sleep_stack(m, w) : w->ustack;
		bool mine = l == NO_IDX ? w->thread == t && w->flags & WAITF_PENDING :
					  e->wait_lock[i] == l;

		if (at == NO_IDX || proc == NO_IDX || e->family[proc] != family ||
		    (l == NO_IDX && w->thread == t && !mine))
			continue;
		ns[mine ? at : m->stack_cnt + at] += w->end_ns - w->off_ns;
	}
	site = site_find(m, ns, ns + m->stack_cnt);
	free(ns);
	return site;
}

void lock_sites(const struct engine *e)
{
	for (uint32_t i = 0; i < e->r->lock_cnt; i++) {
		struct lock *l = &e->r->locks[i];

		l->site = l->release = l->held_in = (struct site){ .stack = NO_IDX };
		if (!l->virt)
			continue;
		l->site = site_among(e, i, NO_IDX, false);
		l->release = site_among(e, i, NO_IDX, true);
		if (l->presumed && l->holder != NO_IDX)
			l->held_in = site_among(e, NO_IDX, l->holder, false);
	}
}
