/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, processes, resources and strings of the model by what the kernel calls them. */
#include <string.h>

#include "model/model_int.h"

void model_load(const struct event_hdr *ev, void *to, size_t to_size)
{
	size_t size = ev->size < to_size ? ev->size : to_size;

	memcpy(to, ev, size);
	memset((char *)to + size, 0, to_size - size);
}

const char *model_str(const struct model *m, uint32_t id)
{
	const struct model_priv *p = m->priv;

	return id < p->strs.cnt && p->strs.items[id] ? p->strs.items[id] : "";
}

uint32_t model_proc_get(struct model *m, uint32_t tgid)
{
	struct model_priv *p = m->priv;
	struct proc *proc;
	uint64_t at;

	if (hmap_get(&p->by_tgid, tgid, &at))
		return (uint32_t)at;
	if (tgid == 0)
		return NO_IDX;
	if (p->procs.cnt >= PROCS_MAX) {
		m->limit_cnt++;
		return NO_IDX;
	}
	hmap_put(&p->by_tgid, tgid, p->procs.cnt);
	proc = vec_add(&p->procs);
	proc->tgid = tgid;
	proc->comm = proc->exe = proc->cgroup = "";
	(void)vec_add(&p->mprocs);
	return (uint32_t)p->procs.cnt - 1;
}

uint32_t model_thread_new(struct model *m, uint32_t tid, uint32_t tgid)
{
	struct model_priv *p = m->priv;
	struct thread *t;

	if (p->threads.cnt >= THREADS_MAX) {
		m->limit_cnt++;
		return NO_IDX;
	}
	hmap_put(&p->by_tid, tid, p->threads.cnt);
	p->tid_memo.at[tid % MEMO_CNT] = 0; /* may hold another life of this tid */
	t = vec_add(&p->threads);
	t->tid = tid;
	t->tgid = tgid ? tgid : tid;
	t->comm = "";
	t->proc = NO_IDX;
	vec_add(&p->mthreads)->track = NO_IDX;
	model_proc_get(m, t->tgid);
	return (uint32_t)p->threads.cnt - 1;
}

uint32_t model_thread_get(struct model *m, uint32_t tid, uint32_t tgid)
{
	struct model_priv *p = m->priv;
	uint32_t *memo = &p->tid_memo.at[tid % MEMO_CNT];
	uint64_t at;

	if (tid == 0)
		return NO_IDX;
	if (*memo && p->threads.items[*memo - 1].tid == tid)
		return *memo - 1;
	if (!hmap_get(&p->by_tid, tid, &at))
		return model_thread_new(m, tid, tgid);
	*memo = (uint32_t)at + 1;
	return (uint32_t)at;
}

struct track *model_track_get(struct model *m, uint32_t thread)
{
	struct model_priv *p = m->priv;
	struct mthread *mt = &p->mthreads.items[thread];
	struct track *t;

	if (mt->track != NO_IDX)
		return &p->tracks.items[mt->track];
	mt->track = (uint32_t)p->tracks.cnt;
	t = vec_add(&p->tracks);
	t->thread = thread;
	t->row = t->set = NO_IDX;
	return t;
}

uint32_t model_res_get(struct model *m, uint64_t id, unsigned cls)
{
	struct model_priv *p = m->priv;
	uint32_t *memo = &p->res_memo.at[(id ^ id >> 12 ^ id >> 32) % MEMO_CNT];
	struct res *r;
	uint64_t at;

	if (id == 0)
		return NO_IDX;
	if (*memo && p->res.items[*memo - 1].id == id)
		return *memo - 1;
	if (hmap_get(&p->by_res, id, &at)) {
		*memo = (uint32_t)at + 1;
		return (uint32_t)at;
	}
	if (p->res.cnt >= RES_MAX) {
		m->limit_cnt++;
		return NO_IDX;
	}
	hmap_put(&p->by_res, id, p->res.cnt);
	r = vec_add(&p->res);
	r->id = id;
	r->kind = wait_class_resource(cls);
	r->peer = NO_IDX;
	r->peer_comm = "";
	return (uint32_t)p->res.cnt - 1;
}

static uint32_t look_up(const struct hmap *map, uint64_t key)
{
	uint64_t at;

	return hmap_get(map, key, &at) ? (uint32_t)at : NO_IDX;
}

uint32_t model_thread_by_tid(const struct model *m, uint32_t tid)
{
	return look_up(&m->priv->by_tid, tid);
}

uint32_t model_proc_by_tgid(const struct model *m, uint32_t tgid)
{
	return look_up(&m->priv->by_tgid, tgid);
}

uint32_t model_res_by_id(const struct model *m, uint64_t id)
{
	return look_up(&m->priv->by_res, id);
}
