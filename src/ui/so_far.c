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

#define ALL_IDLE UINT64_MAX /* in home: whatever it waits on */

struct so_far {
	char *line;		/* NULL: not judged yet */
	struct hmap home;	/* tid to the kernel's id of where it waits for work */
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
	hmap_release(&s->home);
	free(s);
}

static void homes_take(struct so_far *s, const struct model *m, const struct waits_result *w)
{
	hmap_clear(&s->home);
	for (size_t i = 0; i < m->thread_cnt; i++) {
		const struct wthread *t = &w->threads[i];

		if (t->role == ROLE_T_IDLE)
			hmap_put(&s->home, m->threads[i].tid, ALL_IDLE);
		else if (t->home_res != NO_IDX)
			hmap_put(&s->home, m->threads[i].tid, m->res[t->home_res].id);
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
	w = waits_analyse(m, NULL, &arena);
	homes_take(s, m, w);
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

static void thread_rests(struct view *v, struct view_thread *t, uint64_t home)
{
	struct view_res *r = t->top_res == NO_IDX ? NULL : &v->res.items[t->top_res];
	struct view_proc *p = proc_of(v, t->tgid);

	if (home == ALL_IDLE) {
		for (unsigned g = VG_RUNQ + 1; g < VG_IDLE; g++)
			to_idle(t, p, g, UINT64_MAX);
	} else if (r && r->id == home) {
		to_idle(t, p, view_group_of(ST_WAIT + t->top_cls), t->top_ns);
	} else {
		return;
	}
	if (r)
		r->wait_ns -= t->top_ns < r->wait_ns ? t->top_ns : r->wait_ns;
	t->waker = (struct view_waker){.comm = ""};
}

void so_far_to_view(const struct so_far *s, struct view *v)
{
	v->so_far = s->line ? arena_strdup(&v->arena, s->line) : "";
	VEC_FOREACH(&v->threads, t) {
		uint64_t home;

		if (hmap_get(&s->home, t->tid, &home))
			thread_rests(v, t, home);
	}
}
