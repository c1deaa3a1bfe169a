/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one tick.  Threads first (from slices), then resources (from
 * res_ticks), then view_pairs.c walks the waits that touch the tick for
 * wakers, then processes are summed from the threads.
 *
 * A resource gets a row when somebody waited on it or woke on it in the
 * tick; res_row maps the model's index to the row.
 */
#include "ui/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ui/ticks.h"
#include "ui/view_int.h"

static const struct {
	const char *name;
	char letter;
} groups[VG_CNT] = {
	[VG_RUN] = {"run", 'R'},   [VG_RUNQ] = {"runq", 'q'}, [VG_LOCK] = {"lock", 'L'},
	[VG_NET] = {"net", 'N'},   [VG_POLL] = {"poll", '.'}, [VG_DISK] = {"disk", 'D'},
	[VG_MEM] = {"mem", 'M'},   [VG_TIMER] = {"timer", 't'}, [VG_OTHER] = {"other", '-'},
	[VG_IDLE] = {"idle", 'i'},
};

const char *view_group_name(enum view_group g)
{
	return groups[g].name;
}

char view_group_letter(enum view_group g)
{
	return groups[g].letter;
}

enum view_group view_group_of(unsigned st)
{
#define GROUP(id, value, name, resource, cause, group, ...) [WAIT_##id] = (group),
	static const uint8_t of[WAIT_CLASS_CNT] = {WAIT_CLASSES(GROUP)};
#undef GROUP

	if (st < ST_WAIT)
		return st == ST_RUN ? VG_RUN : VG_RUNQ;
	return st < ST_CNT ? of[st - ST_WAIT] : VG_OTHER;
}

const char *view_waker_text(const struct view_waker *w)
{
	switch (w->ctx) {
	case WAKER_NET:
		return w->tid ? w->comm : "[network]";
	case WAKER_TIMER:
		return "[timer]";
	case WAKER_BLOCK:
		return "[disk]";
	case WAKER_IRQ:
		return "[interrupt]";
	case WAKER_SELF:
		return "[self]";
	default:
		return w->comm;
	}
}

struct view *view_new(void)
{
	return xcalloc(1, sizeof(struct view));
}

void view_free(struct view *v)
{
	if (!v)
		return;
	arena_release(&v->arena);
	vec_release(&v->threads);
	vec_release(&v->res);
	vec_release(&v->pairs);
	vec_release(&v->procs);
	free(v);
}

uint32_t view_thread_by_tid(const struct view *v, uint32_t tid)
{
	for (size_t i = 0; i < v->threads.cnt; i++)
		if (v->threads.items[i].tid == tid)
			return (uint32_t)i;
	return NO_IDX;
}

uint32_t view_res_by_id(const struct view *v, uint64_t id)
{
	for (size_t i = 0; i < v->res.cnt; i++)
		if (v->res.items[i].id == id)
			return (uint32_t)i;
	return NO_IDX;
}

/* The slices of a thread that begin in the tick; they are sorted, the newest is wanted most. */
static void add_slices(const struct view_ctx *c, const struct thread *t, struct view_thread *row)
{
	for (uint32_t i = t->slice_len; i-- > 0;) {
		const struct slice *s = &c->m->slices[t->first_slice + i];

		if (s->begin_ns < c->begin_ns)
			break;
		if (s->begin_ns >= c->end_ns)
			continue;
		for (unsigned st = 0; st < ST_CNT; st++) {
			row->ns[st] += s->ns[st];
			row->group_ns[view_group_of(st)] += s->ns[st];
			row->life_ns += s->ns[st];
		}
	}
}

static void add_threads(struct view_ctx *c)
{
	const struct model *m = c->m;
	struct view *v = c->v;

	for (uint32_t i = 0; i < m->thread_cnt; i++) {
		const struct thread *t = &m->threads[i];
		const struct proc *p = t->proc < m->proc_cnt ? &m->procs[t->proc] : NULL;
		struct view_thread row = {.tid = t->tid, .tgid = t->tgid, .top_res = NO_IDX};

		if (!t->tracked)
			continue;
		add_slices(c, t, &row);
		if (row.life_ns == 0)
			continue;
		row.comm = view_str(v, t->comm);
		row.proc_comm = view_str(v, p ? p->comm : "");
		row.exited = t->exited && t->end_ns < c->end_ns;
		row.target = p && p->target;
		row.peer = p && p->peer;
		row.kernel = (t->flags & TASKF_KTHREAD) != 0;
		row.waker.comm = "";
		c->thread_row[i] = (uint32_t)v->threads.cnt;
		vec_push(&v->threads, row);
	}
}

/* The row with the most waiting becomes the one that the thread mostly waits on. */
static void add_to_thread(struct view_thread *t, const struct res_tick *k, uint32_t res)
{
	t->wait_cnt += k->wait_cnt;
	if (k->wait_ns <= t->top_ns)
		return;
	t->top_ns = k->wait_ns;
	t->top_res = res;
	t->top_cls = k->cls;
}

static void add_res_ticks(struct view_ctx *c)
{
	struct view *v = c->v;

	for (size_t i = 0; i < c->m->res_tick_cnt; i++) {
		const struct res_tick *k = &c->m->res_ticks[i];
		uint32_t at;

		if (k->begin_ns < c->begin_ns || k->begin_ns >= c->end_ns)
			continue;
		at = view_res_row(c, k->res, k->cls);
		if (k->thread != NO_IDX && c->thread_row[k->thread] != NO_IDX)
			add_to_thread(&v->threads.items[c->thread_row[k->thread]], k, at);
		if (at == NO_IDX)
			continue;
		v->res.items[at].wait_ns += k->wait_ns;
		v->res.items[at].wait_cnt += k->wait_cnt;
		v->res.items[at].wake_cnt += k->wake_cnt;
	}
}

static struct view_proc *proc_row(struct view *v, struct hmap *idx, uint32_t tgid)
{
	uint64_t at;

	if (!hmap_get(idx, tgid, &at)) {
		at = v->procs.cnt;
		hmap_put(idx, tgid, at);
		vec_add(&v->procs)->tgid = tgid;
	}
	return &v->procs.items[at];
}

static void add_procs(struct view_ctx *c, const struct tick *k)
{
	struct view *v = c->v;
	struct hmap idx = {0};

	VEC_FOREACH(&v->threads, t) {
		struct view_proc *p = proc_row(v, &idx, t->tgid);

		p->comm = t->proc_comm;
		p->thread_cnt++;
		p->life_ns += t->life_ns;
		p->wait_cnt += t->wait_cnt;
		p->target = t->target;
		p->peer = t->peer;
		p->kernel = t->kernel;
		for (unsigned st = 0; st < ST_CNT; st++)
			p->ns[st] += t->ns[st];
		for (unsigned g = 0; g < VG_CNT; g++)
			p->group_ns[g] += t->group_ns[g];
	}
	for (size_t i = 0; k && i < k->proc_cnt; i++) {
		const struct tick_proc *s = &k->procs[i];
		struct view_proc *p = proc_row(v, &idx, s->tgid);
		uint32_t at = model_proc_by_tgid(c->m, s->tgid);

		if (!p->comm)
			p->comm = view_str(v, at == NO_IDX ? "" : c->m->procs[at].comm);
		p->turns = s->turns;
		p->service_ns = s->service_ns;
		p->open = s->open;
		p->out = s->out;
		p->unread = s->unread;
		p->rss_bytes = s->rss_bytes;
	}
	hmap_release(&idx);
}

static void add_host(struct view_ctx *c, const struct tick *k)
{
	struct view_host *h = &c->v->host;
	const struct model *m = c->m;
	uint64_t cpu_ns;

	*h = (struct view_host){
		.hostname = view_str(c->v, m->hostname), .kernel = view_str(c->v, m->kernel),
		.selection = view_str(c->v, m->selection), .cpu_cnt = m->meta.cpu_cnt,
		.disk = "", .thread_cnt = (uint32_t)c->v->threads.cnt };
	VEC_FOREACH(&c->v->procs, p) {
		h->peer_cnt += p->peer;
		if (!p->target)
			continue;
		h->turns += p->turns;
		h->open += p->open;
		h->unread += p->unread;
	}
	if (!k || k->end_ns <= k->begin_ns)
		return;
	cpu_ns = k->host.cpu_busy_ns + k->host.cpu_idle_ns + k->host.cpu_iowait_ns +
		 k->host.cpu_steal_ns;
	if (cpu_ns) {
		h->busy = (double)k->host.cpu_busy_ns / (double)cpu_ns;
		h->iowait = (double)k->host.cpu_iowait_ns / (double)cpu_ns;
		h->steal = (double)k->host.cpu_steal_ns / (double)cpu_ns;
		h->irq = (double)k->host.cpu_irq_ns / (double)cpu_ns;
	}
	h->mem_avail_bytes = k->host.mem_avail_bytes;
	h->disk = view_str(c->v, model_str(m, k->dev_name));
	h->disk_busy = (double)k->dev_busy_ns / (double)(k->end_ns - k->begin_ns);
	h->disk_queue = (double)k->dev_inflight_ns / (double)(k->end_ns - k->begin_ns);
	h->self_cpu = (double)k->self_cpu_ns / (double)(k->end_ns - k->begin_ns);
	h->self_rss_bytes = k->self_rss_bytes;
	h->self_events = k->self_events;
	h->lost_tick = k->lost;
	h->lost_all = k->lost_all;
}

static void add_notes(struct view_ctx *c)
{
	struct view *v = c->v;

	v->notes = ARENA_ARRAY(&v->arena, const char *, c->m->note_cnt + 1);
	for (size_t i = 0; i < c->m->note_cnt; i++)
		if (c->m->note_kinds[i] != NOTE_INFO)
			v->notes[v->note_cnt++] = view_str(v, c->m->notes[i]);
}

static void clear(struct view *v)
{
	arena_clear(&v->arena);
	vec_clear(&v->threads);
	vec_clear(&v->res);
	vec_clear(&v->pairs);
	vec_clear(&v->procs);
	v->note_cnt = 0;
	v->so_far = "";
}

void view_build(struct view *v, const struct model *m, const struct ticks *ticks,
		uint64_t begin_ns, uint64_t end_ns)
{
	const struct tick *k = ticks ? ticks_ending(ticks, end_ns) : NULL;
	struct view_ctx c = {.v = v, .m = m, .begin_ns = begin_ns, .end_ns = end_ns};

	clear(v);
	v->begin_ns = begin_ns;
	v->end_ns = end_ns;
	v->since_ns = m->meta.h.ts_ns;
	v->real_ns = m->meta.real_ns + (end_ns - m->meta.h.ts_ns);
	v->model_bytes = m->mem_bytes;
	c.res_row = xmalloc((m->res_cnt + 1) * sizeof(*c.res_row));
	c.thread_row = xmalloc((m->thread_cnt + 1) * sizeof(*c.thread_row));
	memset(c.res_row, 0xff, (m->res_cnt + 1) * sizeof(*c.res_row));
	memset(c.thread_row, 0xff, (m->thread_cnt + 1) * sizeof(*c.thread_row));
	add_threads(&c);
	add_res_ticks(&c);
	view_add_pairs(&c);
	view_add_blame(&c);
	add_procs(&c, k);
	add_host(&c, k);
	add_notes(&c);
	free(c.res_row);
	free(c.thread_row);
}
