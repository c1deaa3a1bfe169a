/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which futex words are locks.  A thread that waits for a lock later holds it and
 * wakes the next; who waits for a result or for work is woken by others only.  A
 * condition's word alternates between neighbours, so the last bits are left out.
 */
#include "paths/paths_int.h"

#define WORD_BITS 4
#define LOCK_SHARE 0.25

static uint64_t word_key(uint32_t tgid, uint64_t word)
{
	return hash_pair(tgid, word >> WORD_BITS);
}

static bool is_futex_wake(const struct path_event *e)
{
	return e->kind == PATH_WAIT && e->call == PATH_SYS_FUTEX && e->other &&
	       e->wait.waker_call == PATH_SYS_FUTEX;
}

void paths_words(struct paths *p)
{
	struct hmap waited = {0};

	VEC_FOREACH(&p->events, e) {
		if (e->kind == PATH_WAIT && e->call == PATH_SYS_FUTEX)
			hmap_put(&waited, hash_pair(word_key(e->tgid, e->wait.word), e->tid), 1);
	}
	VEC_FOREACH(&p->events, e) {
		uint64_t key = word_key(e->tgid, e->wait.word), *at;
		struct path_word *w;

		if (!is_futex_wake(e))
			continue;
		at = hmap_slot(&p->word_of, key);
		if (!*at) {
			vec_add(&p->words);
			*at = p->words.cnt;
		}
		w = &p->words.items[*at - 1];
		w->wake_cnt++;
		w->own_cnt += hmap_get(&waited, hash_pair(key, e->other), NULL);
	}
	hmap_release(&waited);
}

bool paths_is_lock(const struct paths *p, uint32_t tgid, uint64_t word)
{
	const struct path_word *w;
	uint64_t at;

	if (!hmap_get(&p->word_of, word_key(tgid, word), &at))
		return false;
	w = &p->words.items[at - 1];
	return (double)w->own_cnt > LOCK_SHARE * (double)w->wake_cnt;
}
