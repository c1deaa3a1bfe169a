/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/so_far.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "model/model.h"
#include "ui/view.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

#define PPM 1000000

struct so_far {
	char *line;		/* NULL: not judged yet */
	struct hmap idle;	/* tid: did nothing at all */
	struct hmap at_res;	/* tid and the kernel's id of a resource, to ppm for work there */
	uint64_t next_ns;
};

struct so_far *so_far_new(void)
{
	return xcalloc(1, sizeof(struct so_far));
}

void so_far_free(struct so_far *s)
{
	if (!s)
		return;
	free(s->line);
	hmap_release(&s->idle);
	hmap_release(&s->at_res);
	free(s);
}

struct at_res {
	uint64_t key, all_ns, idle_ns;
};

/* A thread may wait for work and for a lock at one resource: how much is which, by all waits. */
static void waits_take(struct so_far *s, const struct model *m, const struct thread *t,
		       const uint8_t *wait_idle)
{
	enum { RES_MAX = 16 };	/* of one thread: few wait for work at more than one */
	struct at_res sums[RES_MAX];
	size_t cnt = 0, at;

	for (uint32_t i = 0; i < t->wait_len; i++) {
		const struct wait *w = &m->waits[t->first_wait + i];
		uint64_t key;

		if (w->res == NO_IDX || w->flags & WAITF_PREEMPTED || w->wake_ns <= w->off_ns)
			continue;
		key = hash_pair(t->tid, m->res[w->res].id);
		for (at = 0; at < cnt && sums[at].key != key;)
			at++;
		if (at == RES_MAX)
			continue;
		if (at == cnt)
			sums[cnt++] = (struct at_res){.key = key};
		sums[at].all_ns += w->wake_ns - w->off_ns;
		sums[at].idle_ns += wait_idle[t->first_wait + i] ? w->wake_ns - w->off_ns : 0;
	}
	for (at = 0; at < cnt; at++)
		if (sums[at].idle_ns)
			hmap_put(&s->at_res, sums[at].key,
				 (uint64_t)((double)sums[at].idle_ns / (double)sums[at].all_ns *
					    PPM));
}

static void idle_take(struct so_far *s, const struct model *m, const struct waits_result *w)
{
	hmap_clear(&s->idle);
	hmap_clear(&s->at_res);
	for (size_t i = 0; i < m->thread_cnt; i++) {
		if (w->threads[i].role == ROLE_T_IDLE)
			hmap_put(&s->idle, m->threads[i].tid, 1);
		else
			waits_take(s, m, &m->threads[i], w->wait_idle);
	}
}

/* "LOCK HELD TOO LONG, 99 %, high confidence: cleaner holds it up to 191 ms" */
static char *line_of(const struct verdict *v)
{
	const struct finding *f = &v->findings[0];
	const char *summary = f->summary ? f->summary : "";
	char *line = f->share > 0
		? xasprintf("%s, %.0f %%, %s confidence: %s", finding_title(f->cls),
			    f->share * 100, confidence_name(f->conf), summary)
		: xasprintf("%s, %s confidence: %s", finding_title(f->cls),
			    confidence_name(f->conf), summary);

	for (char *c = line; *c && *c != ',' && *c != ':'; c++)
		*c = (char)toupper((unsigned char)*c);
	return line;
}

void so_far_judge(struct so_far *s, const struct model *m, bool always)
{
	uint64_t begin = clock_mono_ns(), end;
	struct arena arena = {0};
	struct waits_result *w;

	if ((!always && begin < s->next_ns) || m->end_ns <= m->begin_ns)
		return;
	w = waits_analyse(m, &(struct waits_opts){.by_wait = true}, &arena);
	idle_take(s, m, w);
	free(s->line);
	s->line = line_of(verdict_make(m, w, NULL, NULL, &arena));
	arena_release(&arena);
	end = clock_mono_ns();
	s->next_ns = end + (end - begin) * SO_FAR_COST;
}

/* So much of what it did in this group is waiting for work. */
static void to_idle(struct view_thread *t, struct view_proc *p, unsigned group, uint64_t ns)
{
	if (ns > t->group_ns[group])
		ns = t->group_ns[group];
	t->group_ns[group] -= ns;
	t->group_ns[VG_IDLE] += ns;
	if (!p)
		return;
	ns = ns < p->group_ns[group] ? ns : p->group_ns[group];
	p->group_ns[group] -= ns;
	p->group_ns[VG_IDLE] += ns;
}

static struct view_proc *proc_of(struct view *v, uint32_t tgid)
{
	VEC_FOREACH(&v->procs, p)
		if (p->tgid == tgid)
			return p;
	return NULL;
}

static void thread_rests(const struct so_far *s, struct view *v, struct view_thread *t)
{
	struct view_res *r = t->top_res == NO_IDX ? NULL : &v->res.items[t->top_res];
	struct view_proc *p = proc_of(v, t->tgid);
	uint64_t ppm = 0, ns;

	if (hmap_get(&s->idle, t->tid, NULL)) {
		ppm = PPM;
		for (unsigned g = VG_RUNQ + 1; g < VG_IDLE; g++)
			to_idle(t, p, g, UINT64_MAX);
	} else if (!r || !hmap_get(&s->at_res, hash_pair(t->tid, r->id), &ppm)) {
		return;
	}
	ns = (uint64_t)((double)t->top_ns * (double)ppm / PPM);
	if (t->group_ns[VG_IDLE] == 0)
		to_idle(t, p, view_group_of(ST_WAIT + t->top_cls), ns);
	if (r)
		r->wait_ns -= ns < r->wait_ns ? ns : r->wait_ns;
	if (ppm > PPM / 2)
		t->waker = (struct view_waker){.comm = ""};
}

void so_far_to_view(const struct so_far *s, struct view *v)
{
	v->so_far = s->line ? arena_strdup(&v->arena, s->line) : "";
	VEC_FOREACH(&v->threads, t)
		thread_rests(s, v, t);
}
