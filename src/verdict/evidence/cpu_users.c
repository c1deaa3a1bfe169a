/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/evidence/cpu_users.h"

#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "base/hash.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/targets.h"

/* A thread that runs or is runnable this much of the time has no room for another request. */
#define THREAD_FULL 0.85
/* Share of the window: a thread that comes and goes with a request fills nothing. */
#define FULL_LIFE_MIN 0.5

/*
 * Processes that a target forked to do something beside the requests, as a snapshot: no
 * request waits for what they do.
 */
void children_beside(struct context *k)
{
	const struct model *m = k->m;

	k->beside = ARENA_ARRAY(k->arena, bool, m->proc_cnt + 1);
	for (size_t i = 0; i < m->proc_cnt && k->w->demand_kind == 1; i++) {
		uint32_t parent = model_proc_by_tgid(m, m->procs[i].ppid);

		k->beside[i] = m->procs[i].target && proc_is_target(m, parent);
	}
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		uint32_t t = k->w->causes[i].thread;

		if (t != NO_IDX && m->threads[t].proc != NO_IDX)
			k->beside[m->threads[t].proc] = false;
	}
}

/*
 * Who had the CPUs while the target waited for one: itself, children beside the requests,
 * processes it talks to, others.
 */
struct users {
	double own, beside, peers, others;
	const struct culprit *child, *peer; /* the largest of theirs, NULL none */
};

static void most_of(const struct culprit **most, const struct culprit *u)
{
	if (!*most || u->ns > (*most)->ns)
		*most = u;
}

struct cpu_users cpu_users(const struct context *k)
{
	struct cpu_users s = { 0 };

	for (size_t i = 0; i < k->m->culprit_cnt; i++) {
		const struct culprit *u = &k->m->culprits[i];
		uint32_t v = model_proc_by_tgid(k->m, u->victim);
		uint32_t p = model_proc_by_tgid(k->m, u->culprit);

		if (!u->culprit || !proc_is_target(k->m, v))
			continue;
		if (proc_is_target(k->m, p) && k->beside[p]) {
			s.beside += u->ns;
			most_of(&s.child, u);
		} else if (proc_is_target(k->m, p)) {
			s.own += u->ns;
		} else if (p != NO_IDX && k->m->procs[p].peer) {
			s.peers += u->ns;
			most_of(&s.peer, u);
		} else if (p == NO_IDX || !k->m->procs[p].watcher) {
			s.others += u->ns;
		}
	}
	return s;
}

bool never_rests(const struct thread *th)
{
	double life = th->end_ns - th->begin_ns;

	return th->ns[ST_RUN] + th->ns[ST_RUNQ] >= THREAD_FULL * life;
}

bool thread_is_full(const struct context *k, uint32_t t)
{
	const struct thread *th = &k->m->threads[t];

	return th->tracked && never_rests(th) &&
	       (double)(th->end_ns - th->begin_ns) >= FULL_LIFE_MIN * k->window_ns;
}

bool is_neighbour(const struct context *k, const struct culprit *u)
{
	uint32_t v = model_proc_by_tgid(k->m, u->victim);
	uint32_t p = model_proc_by_tgid(k->m, u->culprit);

	return u->culprit && proc_is_target(k->m, v) &&
	       (p == NO_IDX || !(k->m->procs[p].target || k->m->procs[p].peer ||
				 k->m->procs[p].watcher));
}

static int by_ran(const void *pa, const void *pb)
{
	const struct ran *a = pa, *b = pb;

	CMP(b->ns, a->ns);
	CMP(a->first->culprit, b->first->culprit);
	return 0;
}

struct ran *who_ran(const struct context *k, size_t *ret_cnt)
{
	const struct model *m = k->m;
	struct ran *list = ARENA_ARRAY(k->arena, struct ran, m->culprit_cnt + 1);
	struct hmap idx = { 0 };
	size_t cnt = 0;

	for (size_t i = 0; i < m->culprit_cnt; i++) {
		const struct culprit *u = &m->culprits[i];
		uint32_t v = model_proc_by_tgid(m, u->victim);
		uint32_t p = model_proc_by_tgid(m, u->culprit);
		uint64_t name = *u->comm ? hash_bytes(u->comm, strlen(u->comm)) : u->culprit;
		uint64_t *slot;

		if (!proc_is_target(m, v) || (p != NO_IDX && m->procs[p].watcher))
			continue;
		slot = hmap_slot(&idx, hash_pair(name, is_neighbour(k, u)));
		if (!*slot) {
			list[cnt++] = (struct ran){ .first = u };
			*slot = cnt;
		}
		list[*slot - 1].ns += u->ns;
		list[*slot - 1].more |= list[*slot - 1].first->culprit != u->culprit;
	}
	hmap_release(&idx);
	qsort(list, cnt, sizeof(*list), by_ran);
	*ret_cnt = cnt;
	return list;
}

void culprit_lines(struct context *k, struct finding *f)
{
	size_t cnt;
	const struct ran *ran = who_ran(k, &cnt);

	for (size_t i = 0; i < cnt && i < 3 && ran[i].ns >= 0.01 * k->window_ns; i++) {
		const struct culprit *u = ran[i].first;

		say_figures(k, f, "while it waited, {}{} ran for {}", N_WORD(u->culprit ?
			    arena_printf(k->arena, "%s (pid %u)", u->comm, u->culprit) : "nobody"),
			    N_WORD(ran[i].more ? " and others of its name" : ""),
			    N_NS("other_ran", ran[i].ns));
	}
}

/* Memory that a fork made common is copied page by page when one of the two writes to it. */
#define COPIES_MIN 1000 /* faults a second; each takes some microseconds */

void copies_line(struct context *k, struct finding *f)
{
	uint32_t most = NO_IDX;
	double per_s;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (thread_is_target(k->m, t) && !is_child_of_target(k, k->m->threads[t].tgid) &&
		    (most == NO_IDX || k->m->threads[t].min_flt > k->m->threads[most].min_flt))
			most = t;
	}
	per_s = most != NO_IDX ? k->m->threads[most].min_flt / (k->window_ns / 1e9) : 0;
	if (per_s >= COPIES_MIN)
		say_figures(k, f, "{}: {} page faults a second without a disk: after a fork each "
			    "page that it writes to is copied first",
			    N_WORD(thread_label(k, most)), N_PER_S("page_faults", per_s));
}
