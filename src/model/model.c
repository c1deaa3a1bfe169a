/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model's front: life cycle, strings, and the records that name
 * processes, threads and resources.  See model_int.h for the way of the rest.
 */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "model/model_int.h"

struct model *model_new(const struct model_opts *opts)
{
	struct model *m = xcalloc(1, sizeof(*m));
	struct model_priv *p = m->priv = xcalloc(1, sizeof(*p));
	uint32_t max_waits = opts && opts->max_waits ? opts->max_waits : MODEL_WAITS_DEFAULT;

	p->no_rows = opts && opts->no_res_ticks;
	p->newest = opts && opts->newest_waits;
	p->max_waits = max_waits < MODEL_WAITS_LIMIT ? max_waits : MODEL_WAITS_LIMIT;
	p->max_longs = p->max_waits / LONG_PART > 16 ? p->max_waits / LONG_PART : 16;
	p->long_take_ns = m->long_min_ns = WAIT_LONG_NS;
	p->slices.width_max = opts && opts->max_slices ? opts->max_slices : MODEL_SLICES_DEFAULT;
	if (p->slices.width_max < 2)
		p->slices.width_max = 2; /* a closed tick and the open one */
	p->calls = calls_new(m, opts ? opts->max_calls : 0);
	m->cmdline = m->kernel = m->hostname = m->selection = "";
	vec_push(&p->strs, ""); /* id 0 */
	return m;
}

void model_free(struct model *m)
{
	struct model_priv *p;

	if (!m)
		return;
	p = m->priv;
	VEC_FOREACH(&p->tracks, t)
		free(t->base);
	vec_release(&p->strs);
	vec_release(&p->threads);
	vec_release(&p->mthreads);
	vec_release(&p->tracks);
	vec_release(&p->procs);
	vec_release(&p->mprocs);
	vec_release(&p->res);
	vec_release(&p->batch);
	vec_release(&p->order);
	vec_release(&p->starts);
	vec_release(&p->waits);
	vec_release(&p->longs);
	vec_release(&p->pairs);
	vec_release(&p->res_ticks);
	vec_release(&p->kept);
	vec_release(&p->view);
	pieces_release(&p->pieces);
	vec_release(&p->file_ticks);
	vec_release(&p->kstacks);
	hmap_release(&p->by_tid);
	hmap_release(&p->by_tgid);
	hmap_release(&p->by_res);
	hmap_release(&p->by_pair);
	hmap_release(&p->by_res_tick);
	hmap_release(&p->by_file_tick);
	hmap_release(&p->by_kstack);
	hmap_release(&p->kstack_idx);
	slices_release(&p->slices);
	tables_release(p);
	code_release(p);
	calls_free(p->calls);
	arena_release(&p->str_arena);
	arena_release(&p->labels);
	arena_release(&p->pub);
	free(p);
	free(m);
}

static bool add_str(struct model *m, const struct event_hdr *ev)
{
	struct model_priv *p = m->priv;
	struct ev_str s;

	EV_LOAD(ev, &s);
	if (ev->size < sizeof(s) || s.len > ev->size - sizeof(s) || s.id == 0)
		return false;
	if (s.id > STR_ID_MAX || p->str_arena.used_bytes + s.len > STR_BYTES_MAX) {
		m->limit_cnt++;
		return true;
	}
	if (s.id < p->strs.cnt && p->strs.items[s.id])
		return false; /* an id is given once */
	while (p->strs.cnt <= s.id)
		vec_push(&p->strs, NULL);
	p->strs.items[s.id] =
		arena_strndup(&p->str_arena, (const char *)ev + sizeof(s), s.len);
	return true;
}

bool model_is_base(const struct model *m, uint64_t first_ns)
{
	return first_ns <= m->begin_ns + m->priv->tick_ns / 4;
}

static bool add_meta(struct model *m, const struct event_hdr *ev)
{
	struct model_priv *p = m->priv;

	if (p->has_meta)
		return false; /* a stream has one beginning */
	p->has_meta = true;
	EV_LOAD(ev, &m->meta);
	p->tick_ns = m->meta.tick_ns ? m->meta.tick_ns : NS_PER_SEC;
	if (m->begin_ns == 0 && ev->ts_ns) {
		m->begin_ns = ev->ts_ns;
		slices_tick(&p->slices, m->begin_ns);
	}
	return true;
}

#define EXIT_SIGNAL(code) ((code) & 0x7f)

/* A tid that was given anew is another thread. */
static uint32_t thread_of_task(struct model *m, const struct ev_task *e)
{
	uint32_t at = model_thread_get(m, e->h.tid, e->tgid);
	const struct mthread *mt;

	if (at == NO_IDX)
		return at;
	mt = &m->priv->mthreads.items[at];
	if (mt->exit_ns && e->op != TASK_EXIT && e->start_boot_ns != mt->start_boot_ns)
		return model_thread_new(m, e->h.tid, e->tgid);
	return at;
}

static void task_to_proc(struct model *m, const struct ev_task *e)
{
	uint32_t at = model_proc_get(m, e->tgid ? e->tgid : e->h.tid);
	struct mproc *mp;
	struct proc *proc;

	if (at == NO_IDX)
		return;
	proc = &m->priv->procs.items[at];
	mp = &m->priv->mprocs.items[at];
	if (e->ppid)
		proc->ppid = e->ppid;
	if (e->comm && (e->h.tid == proc->tgid || !mp->comm_main)) {
		mp->comm = e->comm;
		mp->comm_main = e->h.tid == proc->tgid;
	}
	mp->exe = e->exe ? e->exe : mp->exe;
	mp->cgroup = e->cgroup ? e->cgroup : mp->cgroup;
	if (e->cgroup_id)
		proc->cgroup_id = e->cgroup_id;
	proc->target |= !!(e->flags & TASKF_TARGET);
	proc->peer |= !!(e->flags & TASKF_PEER);
	proc->kthread |= !!(e->flags & TASKF_KTHREAD);
	if (e->op == TASK_EXIT && EXIT_SIGNAL(e->exit_code)) { /* a thread does not die alone */
		proc->died_of = EXIT_SIGNAL(e->exit_code);
		proc->died_ns = e->h.ts_ns;
	}
	proc->watcher |= !!(e->flags & TASKF_WATCHER);
}

static bool add_task(struct model *m, const struct event_hdr *ev)
{
	struct mthread *mt;
	struct thread *t;
	struct ev_task e;
	uint32_t at;

	EV_LOAD(ev, &e);
	if (e.h.tid == 0)
		return false;
	at = thread_of_task(m, &e);
	task_to_proc(m, &e);
	if (at == NO_IDX)
		return true;
	t = &m->priv->threads.items[at];
	mt = &m->priv->mthreads.items[at];
	t->tgid = e.tgid ? e.tgid : t->tgid;
	t->flags |= e.flags;
	t->ns_tid = e.ns_tid ? e.ns_tid : t->ns_tid;
	mt->comm = e.comm ? e.comm : mt->comm;
	if (e.start_boot_ns)
		mt->start_boot_ns = e.start_boot_ns;
	if (mt->task_ns == 0 && e.op != TASK_EXIT)
		mt->task_ns = ev->ts_ns;
	if (e.op == TASK_EXIT && mt->exit_ns == 0)
		mt->exit_ns = ev->ts_ns;
	return true;
}

static bool add_res(struct model *m, const struct event_hdr *ev)
{
	struct ev_res e;
	struct res *r;
	uint32_t at;

	EV_LOAD(ev, &e);
	if (e.res == 0)
		return false;
	at = model_res_get(m, e.res, WAIT_OTHER);
	if (at == NO_IDX)
		return true;
	r = &m->priv->res.items[at];
	*r = (struct res){
		.id = e.res, .kind = e.kind ? e.kind : r->kind, .role = e.role ? e.role : r->role,
		.family = e.family, .sotype = e.sotype, .lport = e.lport, .rport = e.rport,
		.tgid = e.tgid, .dev = e.dev, .fd_or_neg = (uint32_t)e.fd, .magic = e.magic,
		.netns = e.netns, .ino = e.ino, .aux = e.aux, .peer = NO_IDX,
		.peer_tgid = e.peer_tgid ? e.peer_tgid : r->peer_tgid,
		.peer_res = e.peer_res ? e.peer_res : r->peer_res,
		.name = e.name ? model_str(m, e.name) : NULL,
		.peer_comm = e.peer_comm ? model_str(m, e.peer_comm) : r->peer_comm,
	};
	memcpy(r->laddr, e.laddr, sizeof(r->laddr));
	memcpy(r->raddr, e.raddr, sizeof(r->raddr));
	return true;
}

static bool add_wait(struct model *m, const struct event_hdr *ev)
{
	struct ev_wait e;

	EV_LOAD(ev, &e);
	if (e.h.tid == 0 || e.off_ns > ev->ts_ns || ev->ts_ns == 0 || e.wake_ns > ev->ts_ns)
		return false;
	if (e.wake_ns && e.wake_ns < e.off_ns)
		return false;
	if (e.cls >= WAIT_CLASS_CNT)
		e.cls = WAIT_OTHER; /* of a newer writer */
	if (e.waker_ctx >= WAKER_CTX_CNT)
		e.waker_ctx = WAKER_NONE;
	batch_put(m, &e);
	calls_add_wait(m, &e);
	return true;
}

/* The states must fit between its beginning and now, nearly: two clocks were read. */
static bool sums_fit(const struct ev_thread *e)
{
	uint64_t life = e->h.ts_ns - e->since_ns, left;

	if (e->since_ns == 0)
		return true; /* without sums */
	if (e->since_ns > e->h.ts_ns)
		return false;
	left = life + life / 8 + NS_PER_SEC;
	if (e->run_ns > left || e->runq_ns > left - e->run_ns)
		return false;
	left -= e->run_ns + e->runq_ns;
	for (int i = 0; i < WAIT_CLASS_CNT; i++) {
		if (e->wait_ns[i] > left)
			return false;
		left -= e->wait_ns[i];
	}
	return e->iowait_ns <= 2 * (life + NS_PER_SEC) && e->unint_ns <= 2 * (life + NS_PER_SEC);
}

static bool add_thread(struct model *m, const struct event_hdr *ev)
{
	struct mthread *mt;
	struct thread *t;
	struct ev_thread e;
	uint32_t at;

	EV_LOAD(ev, &e);
	if (e.h.tid == 0 || !sums_fit(&e))
		return false;
	at = model_thread_get(m, e.h.tid, e.tgid);
	if (at == NO_IDX)
		return true;
	t = &m->priv->threads.items[at];
	mt = &m->priv->mthreads.items[at];
	if (mt->has_first && ev->ts_ns < t->last.h.ts_ns)
		return true; /* an older one in the same batch */
	if (!mt->has_first)
		t->first = e;
	mt->has_first = mt->snap_new = true;
	t->last = e;
	return true;
}

static bool add_proc(struct model *m, const struct event_hdr *ev)
{
	struct ev_proc e;
	uint32_t at;

	EV_LOAD(ev, &e);
	at = model_proc_get(m, e.tgid);
	if (at == NO_IDX)
		return e.tgid != 0;
	if (!m->priv->mprocs.items[at].has_first)
		m->priv->procs.items[at].first = e;
	m->priv->mprocs.items[at].has_first = true;
	m->priv->procs.items[at].last = e;
	return true;
}

static bool add_coarse(struct model *m, const struct event_hdr *ev)
{
	struct ev_coarse e;

	EV_LOAD(ev, &e);
	if (e.begin_ns > e.end_ns || e.end_ns >> TIME_BITS)
		return false;
	if (e.begin_ns < m->begin_ns)
		e.begin_ns = e.end_ns < m->begin_ns ? e.end_ns : m->begin_ns;
	for (unsigned i = 0; i < SHED_BIT_CNT; i++)
		if (e.shed & 1u << i)
			m->coarse_ns[i] += e.end_ns - e.begin_ns;
	if (e.shed & (SHED_SHORT | SHED_WAKERS))
		whole_coarse(m, e.begin_ns, e.end_ns);
	return e.begin_ns == e.end_ns || calls_add_coarse(m, &e);
}

static bool add_tick(struct model *m, const struct event_hdr *ev)
{
	struct model_priv *p = m->priv;
	struct ev_tick e;

	EV_LOAD(ev, &e);
	if (ev->ts_ns == 0 || (p->slices.begins.cnt && ev->ts_ns <= *vec_last(&p->slices.begins)))
		return false;
	if (p->slices.begins.cnt == 0) { /* the beginning was lost */
		m->begin_ns = e.begin_ns && e.begin_ns < ev->ts_ns ? e.begin_ns : ev->ts_ns - 1;
		slices_tick(&p->slices, m->begin_ns);
	}
	VEC_FOREACH(&p->tracks, t)
		account_untail(m, t);
	slices_tick(&p->slices, ev->ts_ns);
	sums_trim(m);
	batch_work(m);
	return true;
}

static bool dispatch(struct model *m, const struct event_hdr *ev)
{
	switch (ev->kind) {
	case EV_STR:
		return add_str(m, ev);
	case EV_META:
		return add_meta(m, ev);
	case EV_TASK:
		return add_task(m, ev);
	case EV_RES:
		return add_res(m, ev);
	case EV_WAIT:
		return add_wait(m, ev);
	case EV_COARSE:
		return add_coarse(m, ev);
	case EV_TICK:
		return add_tick(m, ev);
	case EV_THREAD:
		return add_thread(m, ev);
	case EV_PROC:
		return add_proc(m, ev);
	case EV_MODULE:
	case EV_STACK:
	case EV_FRAME:
	case EV_SAMPLE:
		return code_add(m, ev);
	case EV_CALLS:
	case EV_CALL_NAME:
	case EV_CALLS_AWAY:
	case EV_CALLS_PART:
	case EV_WINDOW:
		return calls_add(m, ev);
	default:
		return table_add(m, ev);
	}
}

void model_add(struct model *m, const struct event_hdr *ev)
{
	if (ev->size < sizeof(*ev) || ev->size > EVENT_MAX_BYTES || ev->ts_ns >> TIME_BITS) {
		m->bad_event_cnt++;
		return;
	}
	if (ev->kind == 0 || ev->kind >= EV_KIND_CNT) {
		m->unknown_kind_cnt++;
		return;
	}
	if (!dispatch(m, ev))
		m->bad_event_cnt++;
}

static int sink_put(void *ctx, const struct event_hdr *ev)
{
	model_add(ctx, ev);
	return 0;
}

struct event_sink model_sink(struct model *m)
{
	return (struct event_sink){.put = sink_put, .ctx = m};
}
