/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a view in the making, and the texts in them. */
#include "ui/view_int.h"

/* Tables are small (a few thousand rows) and strings repeat little: plain copies. */
const char *view_str(struct view *v, const char *s)
{
	return s && *s ? arena_strdup(&v->arena, s) : "";
}

uint32_t view_res_row(struct view_ctx *c, uint32_t res, uint8_t cls)
{
	const struct res *r;
	struct view_res *row;

	if (res == NO_IDX || res >= c->m->res_cnt)
		return NO_IDX;
	if (c->res_row[res] != NO_IDX)
		return c->res_row[res];
	r = &c->m->res[res];
	c->res_row[res] = (uint32_t)c->v->res.cnt;
	row = vec_add(&c->v->res);
	row->id = r->id;
	row->kind = r->kind;
	row->cls = cls;
	row->name = view_str(c->v, r->name);
	row->peer = view_str(c->v, r->peer_comm);
	row->waker.comm = "";
	return c->res_row[res];
}

const char *view_task_comm(struct view_ctx *c, uint32_t tid)
{
	uint32_t at = model_thread_by_tid(c->m, tid);

	if (at == NO_IDX)
		return arena_printf(&c->v->arena, "tid %u", tid);
	if (c->thread_row[at] != NO_IDX)
		return c->v->threads.items[c->thread_row[at]].comm;
	return view_str(c->v, c->m->threads[at].comm);
}
