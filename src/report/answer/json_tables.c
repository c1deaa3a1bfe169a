/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/json.h"
#include "model/model.h"
#include "report/answer.h"
#include "report/facts.h"
#include "report/answer/json_parts.h"
#include "waits/waits.h"

static void json_kpid(struct json *j, const char *key, uint32_t id)
{
	if (id)
		json_ku64(j, key, id);
	else
		json_knull(j, key);
}

static void json_who(struct json *j, const char *key, const struct model *m, uint32_t thread)
{
	const struct thread *t = thread < m->thread_cnt ? &m->threads[thread] : NULL;

	if (!t) {
		json_knull(j, key);
		return;
	}
	json_kobj(j, key);
	json_ku64(j, "pid", t->tgid);
	json_ku64(j, "tid", t->tid);
	json_kstr(j, "comm", t->comm);
	json_obj_end(j);
}

static void json_process(struct json *j, const struct model *m, uint32_t proc)
{
	const struct proc *p = proc < m->proc_cnt ? &m->procs[proc] : NULL;

	json_kpid(j, "pid", p ? p->tgid : 0);
	json_kstr(j, "comm", p ? p->comm : "");
}

/* Names of resources are looked up through their index. */
static void json_resource(struct json *j, const char *key, const struct model *m, uint32_t res)
{
	if (res >= m->res_cnt) {
		json_knull(j, key);
		return;
	}
	json_kobj(j, key);
	json_kstr(j, "kind", res_kind_name(m->res[res].kind));
	json_kstr(j, "name", m->res[res].name);
	json_obj_end(j);
}

static void json_states(struct json *j, const uint64_t ns[ST_CNT])
{
	json_kobj(j, "states_ns");
	for (unsigned st = 0; st < ST_CNT; st++) {
		if (ns[st])
			json_ku64(j, state_name(st), ns[st]);
	}
	json_obj_end(j);
}

static void json_thread(struct json *j, const struct answer *a, uint32_t idx)
{
	const struct model *m = a->model;
	const struct thread *t = &m->threads[idx];
	const struct wthread *w = &a->waits->threads[idx];

	json_obj(j);
	json_ku64(j, "pid", t->tgid);
	json_ku64(j, "tid", t->tid);
	json_kstr(j, "comm", t->comm);
	json_kstr(j, "role", role_name(w->role));
	json_ku64(j, "life_ns", t->end_ns - t->begin_ns);
	json_states(j, t->ns);
	json_ku64(j, "iowait_ns", t->iowait_ns);
	json_ku64(j, "idle_ns", w->idle_ns);
	json_ku64(j, "blocked_ns", w->blocked_ns);
	json_ku64(j, "demand_ns", w->demand_ns);
	json_ku64(j, "waits", t->wait_cnt);
	json_ku64(j, "exec_ns", t->exec_ns);
	json_ku64(j, "run_delay_ns", t->run_delay_ns);
	json_ku64(j, "major_faults", t->maj_flt);
	json_ku64(j, "read_bytes", t->read_bytes);
	json_ku64(j, "write_bytes", t->write_bytes);
	json_resource(j, "home", m, w->home_res);
	json_kbool(j, "exited", t->exited);
	json_obj_end(j);
}

/* Rows to write of cnt; what is cut goes to *ret_omitted. */
static size_t limit_rows(size_t cnt, size_t limit, size_t *ret_omitted)
{
	size_t rows = limit && cnt > limit ? limit : cnt;

	*ret_omitted = cnt - rows;
	return rows;
}

static void json_threads(struct json *j, const struct answer *a, size_t limit, size_t *ret_omitted)
{
	struct arena arena = { 0 };
	size_t cnt = 0;
	const uint32_t *order = facts_busy_threads(a, &arena, &cnt);

	cnt = limit_rows(cnt, limit, ret_omitted);
	json_karr(j, "threads");
	for (size_t i = 0; i < cnt; i++)
		json_thread(j, a, order[i]);
	json_arr_end(j);
	arena_release(&arena);
}

static void json_res_row(struct json *j, const struct res *r)
{
	json_obj(j);
	json_kstr(j, "kind", res_kind_name(r->kind));
	json_kstr(j, "name", r->name);
	json_kpid(j, "pid", r->tgid);
	json_kpid(j, "peer_pid", r->peer_tgid);
	json_kstr(j, "peer_comm", r->peer_comm ? r->peer_comm : "");
	json_ku64(j, "wait_ns", r->wait_ns);
	json_ku64(j, "waits", r->wait_cnt);
	json_ku64(j, "wakes", r->wake_cnt);
	json_ku64(j, "waiters", r->waiter_cnt);
	json_ku64(j, "wakers", r->waker_cnt);
	json_obj_end(j);
}

static void json_resources(struct json *j, const struct answer *a, size_t limit,
			   size_t *ret_omitted)
{
	struct arena arena = { 0 };
	size_t cnt = 0;
	const uint32_t *order = facts_waited_resources(a, &arena, &cnt);

	cnt = limit_rows(cnt, limit, ret_omitted);
	json_karr(j, "resources");
	for (size_t i = 0; i < cnt; i++)
		json_res_row(j, &a->model->res[order[i]]);
	json_arr_end(j);
	arena_release(&arena);
}

static void json_edges(struct json *j, const struct answer *a, size_t limit, size_t *ret_omitted)
{
	const struct waits_result *w = a->waits;
	size_t cnt = limit_rows(w->edge_cnt, limit, ret_omitted);

	json_karr(j, "edges");
	for (size_t i = 0; i < cnt; i++) {
		const struct wedge *e = &w->edges[i];

		json_obj(j);
		json_who(j, "from", a->model, e->from);
		json_who(j, "to", a->model, e->to);
		json_kstr(j, "waker", waker_ctx_name(e->ctx));
		json_kstr(j, "state", wait_class_name(e->cls));
		json_resource(j, "resource", a->model, e->res);
		json_ku64(j, "ns", e->ns);
		json_ku64(j, "max_ns", e->max_ns);
		json_ku64(j, "count", e->cnt);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_causes(struct json *j, const struct answer *a, size_t limit, size_t *ret_omitted)
{
	const struct waits_result *w = a->waits;
	size_t cnt = limit_rows(w->cause_cnt, limit, ret_omitted);

	json_karr(j, "causes");
	for (size_t i = 0; i < cnt; i++) {
		const struct cause *c = &w->causes[i];

		json_obj(j);
		json_kstr(j, "cause", cause_name(c->kind));
		json_who(j, "thread", a->model, c->thread);
		json_resource(j, "resource", a->model, c->res);
		json_ku64(j, "ns", c->ns);
		json_ku64(j, "max_ns", c->max_ns);
		json_ku64(j, "count", c->cnt);
		json_ku64(j, "hops", c->depth);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static const char *lock_class(unsigned cls)
{
	static const char *const names[] = { "none", "handoff", "lock", "result" };

	return cls <= LOCK_RESULT ? names[cls] : names[0];
}

static void json_locks(struct json *j, const struct answer *a, size_t limit, size_t *ret_omitted)
{
	const struct waits_result *w = a->waits;
	size_t cnt = limit_rows(w->lock_cnt, limit, ret_omitted);

	json_karr(j, "locks");
	for (size_t i = 0; i < cnt; i++) {
		const struct lock *l = &w->locks[i];

		json_obj(j);
		json_resource(j, "resource", a->model, l->res);
		json_kstr(j, "class", lock_class(l->cls));
		json_kbool(j, "told_from_wakers", l->virt);
		json_ku64(j, "like", l->res_cnt);
		json_ku64(j, "waiters", l->waiter_cnt);
		json_ku64(j, "holders", l->holder_cnt);
		json_who(j, "holder", a->model, l->holder);
		json_ku64(j, "wait_ns", l->wait_ns);
		json_ku64(j, "waits", l->wait_cnt);
		json_ku64(j, "max_ns", l->max_ns);
		json_ku64(j, "busy_ns", l->busy_ns);
		json_ku64(j, "hold_ns", l->hold_ns);
		json_ku64(j, "holder_ns", l->holder_ns);
		json_kf64_dec(j, "waiters_mean", l->avg_waiters, 3);
		json_ku64(j, "waiting_at_end", l->pending_cnt);
		json_states(j, l->holder_st);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_requests(struct json *j, const struct answer *a)
{
	const struct waits_result *w = a->waits;
	double seconds = (double)facts_window_ns(a) / 1e9;

	json_karr(j, "requests");
	for (size_t i = 0; i < w->req_cnt; i++) {
		const struct wreq *r = &w->reqs[i];

		json_obj(j);
		json_process(j, a->model, r->proc);
		json_ku64(j, "turns", r->turns);
		json_kf64_dec(j, "per_second", seconds > 0 ? (double)r->turns / seconds : 0, 3);
		json_ku64(j, "demand_ns", r->demand_ns);
		json_ku64(j, "queue_ns", r->queue_ns);
		json_ku64(j, "service_ns", r->service_ns);
		json_ku64(j, "answer_max_ns", r->answer_max_ns);
		json_ku64(j, "p50_ns", r->p50_ns);
		json_ku64(j, "p99_ns", r->p99_ns);
		json_kf64_dec(j, "open_mean", r->open_avg, 3);
		json_kf64_dec(j, "out_mean", r->out_avg, 3);
		json_kf64_dec(j, "unread_mean", r->unread_avg, 3);
		json_ku64(j, "open_at_end", r->open_now);
		json_ku64(j, "open_oldest_ns", r->open_oldest_ns);
		json_ku64(j, "connections", r->conns);
		json_ku64(j, "tx_blocked_ns", r->txblock_ns);
		json_ku64(j, "partial", r->partial_cnt);
		json_ku64(j, "idle_ns", r->idle_ns);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_ends(struct json *j, const struct model *m, size_t limit, size_t *ret_omitted)
{
	size_t cnt = limit_rows(m->end_cnt, limit, ret_omitted);

	json_karr(j, "conversations");
	for (size_t i = 0; i < cnt; i++) {
		const struct end *e = &m->ends[i];

		json_obj(j);
		json_process(j, m, e->proc);
		json_kstr(j, "role", sock_role_name(e->role));
		json_kstr(j, "name", e->name ? e->name : "");
		json_kpid(j, "peer_pid", e->peer_tgid);
		json_kstr(j, "peer_comm", e->peer_comm ? e->peer_comm : "");
		json_ku64(j, "connections", e->conns);
		json_ku64(j, "turns", e->turns);
		json_ku64(j, "service_ns", e->service_ns);
		json_ku64(j, "answer_max_ns", e->answer_max_ns);
		json_ku64(j, "p50_ns", hist_quantile_ns(e->hist, 0.50, e->answer_max_ns));
		json_ku64(j, "p99_ns", hist_quantile_ns(e->hist, 0.99, e->answer_max_ns));
		json_ku64(j, "queue_ns", e->queue_ns);
		json_ku64(j, "idle_ns", e->idle_ns);
		json_ku64(j, "tx_blocked_ns", e->txblock_ns);
		json_ku64(j, "rx_bytes", e->rx_bytes);
		json_ku64(j, "tx_bytes", e->tx_bytes);
		json_ku64(j, "open_at_end", e->open_now);
		json_ku64(j, "open_oldest_ns", e->open_oldest_ns);
		json_ku64(j, "refused", e->refused_cnt);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_disks(struct json *j, const struct model *m)
{
	static const char *const ops[] = { "read", "write", "flush", "other" };

	json_karr(j, "devices");
	for (size_t i = 0; i < m->dev_cnt; i++) {
		json_obj(j);
		json_ku64(j, "dev", m->devs[i].dev);
		json_kstr(j, "name", m->devs[i].name);
		json_ku64(j, "busy_ns", m->devs[i].busy_ns);
		json_ku64(j, "inflight_ns", m->devs[i].inflight_ns);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_karr(j, "disk_users");
	for (size_t i = 0; i < m->disk_use_cnt; i++) {
		const struct disk_use *d = &m->disk_uses[i];

		json_obj(j);
		json_ku64(j, "dev", d->dev);
		json_kpid(j, "pid", d->tgid);
		json_kstr(j, "comm", d->comm ? d->comm : "");
		json_kstr(j, "op", ops[d->op < 3 ? d->op : 3]);
		json_ku64(j, "ios", d->ios);
		json_ku64(j, "bytes", d->sectors * 512);
		json_ku64(j, "latency_ns", d->lat_ns);
		json_ku64(j, "latency_max_ns", d->lat_max_ns);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_cgroups(struct json *j, const struct model *m)
{
	json_karr(j, "cgroups");
	for (size_t i = 0; i < m->cgroup_cnt; i++) {
		const struct cgroup *c = &m->cgroups[i];

		json_obj(j);
		json_kstr(j, "path", c->path ? c->path : "");
		json_ku64(j, "periods", c->nr_periods);
		json_ku64(j, "throttled", c->nr_throttled);
		json_ku64(j, "throttled_ns", c->throttled_ns);
		json_ku64(j, "quota_ns", c->quota_us * 1000);
		json_ku64(j, "period_ns", c->period_us * 1000);
		json_ku64(j, "read_bytes_limit", c->io_rbps);
		json_ku64(j, "write_bytes_limit", c->io_wbps);
		json_ku64(j, "read_ios_limit", c->io_riops);
		json_ku64(j, "write_ios_limit", c->io_wiops);
		json_ku64(j, "memory_limit_bytes", c->mem_limit_bytes);
		json_ku64(j, "memory_bytes", c->mem_used_bytes);
		json_ku64(j, "memory_limit_hits", c->mem_failcnt);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_takers(struct json *j, const struct model *m, size_t limit, size_t *ret_omitted)
{
	size_t cnt = limit_rows(m->culprit_cnt, limit, ret_omitted);

	json_karr(j, "cpu_takers");
	for (size_t i = 0; i < cnt; i++) {
		const struct culprit *c = &m->culprits[i];

		json_obj(j);
		json_kpid(j, "victim_pid", c->victim);
		json_kpid(j, "pid", c->culprit);
		json_kpid(j, "tid", c->tid);
		json_kstr(j, "comm", c->comm ? c->comm : "");
		json_ku64(j, "ns", c->ns);
		json_ku64(j, "count", c->cnt);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void json_host(struct json *j, const struct ev_host *h)
{
	json_kobj(j, "host");
	json_ku64(j, "cpu_busy_ns", h->cpu_busy_ns);
	json_ku64(j, "cpu_idle_ns", h->cpu_idle_ns);
	json_ku64(j, "cpu_iowait_ns", h->cpu_iowait_ns);
	json_ku64(j, "cpu_steal_ns", h->cpu_steal_ns);
	json_ku64(j, "cpu_irq_ns", h->cpu_irq_ns);
	json_ku64(j, "memory_available_bytes", h->mem_avail_bytes);
	json_ku64(j, "swap_in", h->swap_in);
	json_ku64(j, "swap_out", h->swap_out);
	json_ku64(j, "major_faults", h->maj_flt);
	json_ku64(j, "direct_scan", h->direct_scan);
	json_ku64(j, "listen_overflows", h->listen_overflows);
	json_ku64(j, "listen_drops", h->listen_drops);
	json_ku64(j, "tcp_retransmits", h->tcp_retrans);
	json_obj_end(j);
}

void json_tables(struct json *j, const struct answer *a, const struct row_limits *limits)
{
	struct row_limits cut;

	json_requests(j, a);
	json_threads(j, a, limits->threads, &cut.threads);
	json_resources(j, a, limits->resources, &cut.resources);
	json_edges(j, a, limits->edges, &cut.edges);
	json_causes(j, a, limits->causes, &cut.causes);
	json_locks(j, a, limits->locks, &cut.locks);
	json_ends(j, a->model, limits->ends, &cut.ends);
	json_disks(j, a->model);
	json_cgroups(j, a->model);
	json_takers(j, a->model, limits->takers, &cut.takers);
	json_host(j, &a->model->host);
	json_kobj(j, "omitted");
	json_ku64(j, "threads", cut.threads);
	json_ku64(j, "resources", cut.resources);
	json_ku64(j, "edges", cut.edges);
	json_ku64(j, "causes", cut.causes);
	json_ku64(j, "locks", cut.locks);
	json_ku64(j, "conversations", cut.ends);
	json_ku64(j, "cpu_takers", cut.takers);
	json_obj_end(j);
}
