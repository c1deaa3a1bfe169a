/* SPDX-License-Identifier: Apache-2.0 */
/* Words for findings about how work is handed out, and for those that hold nobody up. */
#include <string.h>

#include "base/alike.h"
#include "model/calls/calls.h"
#include "verdict/context/figures.h"
#include "verdict/context/context.h"

/* The process, by its first thread: that is where limits are kept. */
static struct party proc_party(const struct court *k, uint32_t proc)
{
	for (size_t i = 0; proc == NO_IDX && i < k->m->proc_cnt; i++) {
		if (k->m->procs[i].target)
			proc = i;
	}
	if (proc == NO_IDX)
		return (struct party){ .comm = "" };
	return (struct party){ .pid = k->m->procs[proc].tgid, .tid = k->m->procs[proc].tgid,
			       .comm = k->m->procs[proc].comm };
}

/* Where clients connect to: "127.0.0.1:80" as it is listened on, or as one was seen to. */
static const char *served_at(struct court *k)
{
	const struct end *best = NULL;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_SERVER && n->proc != NO_IDX && k->m->procs[n->proc].target &&
		    (!best || n->turns + n->txblock_cnt > best->turns + best->txblock_cnt))
			best = n;
	}
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct ev_listen *l = &k->m->listens[i].e;
		uint32_t p = model_proc_by_tgid(k->m, l->tgid);

		if (p != NO_IDX && k->m->procs[p].target && (!best || best->lport == l->lport) &&
		    *model_str(k->m, l->name))
			return model_str(k->m, l->name);
	}
	return best ? best->name : "";
}

/* What the limit is on: connections to whom the process asks most, else those it serves. */
static const char *limited(struct court *k, uint32_t proc)
{
	const struct end *best = NULL;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_CLIENT && n->proc == proc && (!best || n->turns > best->turns))
			best = n;
	}
	if (best)
		return arena_printf(k->arena, "connections to %s", best->name);
	return arena_printf(k->arena, "connection limit of %s", served_at(k));
}

/* Of all watched processes: a server may have its workers in one each.  *ret_busy: never idle. */
static uint32_t alike_cnt(const struct court *k, const struct wgroup *of, uint32_t *ret_busy)
{
	uint32_t cnt = 0;

	*ret_busy = 0;
	for (size_t i = 0; i < k->w->group_cnt; i++) {
		const struct wgroup *g = &k->w->groups[i];

		if (g == of || (g->role == of->role && named_alike(g->comm, of->comm) &&
				k->m->procs[g->proc].target)) {
			cnt += g->thread_cnt;
			*ret_busy += g->busy_cnt;
		}
	}
	return cnt;
}

static const char *pool_text(struct court *k, const struct wgroup *g)
{
	uint32_t busy, cnt = alike_cnt(k, g, &busy);
	const char *role = role_name(g->role);

	if (cnt == 1)
		return arena_printf(k->arena, "The one %s (%s) is busy; requests queue for it.",
				    role, g->comm);
	/* with some at rest the pool is those that are not: see weigh_queue */
	if (g->role == ROLE_T_WORKER && busy > 1 && busy < cnt &&
	    (double)g->idle_ns >= 0.1 * (double)g->life_ns)
		return arena_printf(k->arena, "%u of %u %ss (%s) are always busy, and requests "
				    "queue that the others do not take.", busy, cnt, role,
				    g->comm);
	return arena_printf(k->arena, "All %u %ss (%s) are busy; requests queue for them.", cnt,
			    role, g->comm);
}

void pool_line(struct court *k, struct finding *f)
{
	const struct cand *p = &k->pool;
	uint32_t busy, cnt;

	if (p->ns <= 0 || p->kept_by != f->cls)
		return;
	cnt = alike_cnt(k, &k->w->groups[p->group], &busy);
	say_figures(k, f, "{} of {} requests on average wait for {}{} worker{} ({}) that this "
		    "keeps busy: those that need nothing of it wait too",
		    N_AVG("waiting_requests", p->ns / k->window_ns),
		    N_AVG("open_requests", k->demand_ns / k->window_ns),
		    N_WORD(cnt == 1 ? "the " : "one of the "), N_CNT("workers", cnt),
		    N_WORD(cnt == 1 ? "" : "s"), N_WORD(k->w->groups[p->group].comm));
}

/* The one that rests least. */
static uint32_t busiest_of(const struct court *k, uint32_t group)
{
	uint32_t best = NO_IDX;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++)
		if (k->m->threads[t].tracked && k->w->threads[t].group == group &&
		    (best == NO_IDX || k->w->threads[t].idle_ns < k->w->threads[best].idle_ns))
			best = t;
	return best;
}

/* Mean of the connections that lie in the target's listen queues; where most of them do. */
static double unaccepted(struct court *k, const char **ret_name)
{
	double cnt = 0, most = 0;

	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct listen *l = &k->m->listens[i];
		uint32_t p = model_proc_by_tgid(k->m, l->e.tgid);

		if (p == NO_IDX || !k->m->procs[p].target)
			continue;
		cnt += l->backlog_avg;
		if (l->backlog_avg > most) {
			most = l->backlog_avg;
			*ret_name = model_str(k->m, l->e.name);
		}
	}
	return cnt;
}

static void explain_limit(struct court *k, struct finding *f, const struct cand *c)
{
	const char *at = "";
	double cnt = unaccepted(k, &at);

	f->resource = limited(k, c->top ? c->top->entry_proc : NO_IDX);
	f->culprit = proc_party(k, c->top ? c->top->entry_proc : NO_IDX);
	if (2 * cnt * k->window_ns >= c->ns) {
		f->summary = arena_printf(k->arena,
					  "Connections wait to be accepted at %s though its "
					  "threads have time: a limit of the application on "
					  "connections.", at);
		say_figures(k, f, "{} connections not accepted on average",
			    N_CNT("connections_not_accepted", cnt));
		refute(k, f, "they are taken as fast as they come while as many are open");
		return;
	}
	/* what is read and then waits is of another kind than what nobody reads */
	if (2 * k->w->total.unread_avg * k->window_ns >= c->ns)
		f->summary = arena_printf(k->arena, "%.1f requests on average lie unread though "
					  "its threads have time: a limit of the application on "
					  "requests, or it holds back who sends them (flow "
					  "control).", k->w->total.unread_avg);
	else
		f->summary = "Requests are open that no thread works on and no peer was asked "
			     "for: a limit of the application on connections or requests.";
	refute(k, f, "the answers come from a source that was not watched (shared memory, "
		     "another process)");
}

void explain_queue(struct court *k, struct finding *f, const struct cand *c)
{
	const struct wreq *q = &k->w->total;
	const struct wgroup *g = c->group != NO_IDX ? &k->w->groups[c->group] : NULL;

	if (g) {
		uint32_t t = busiest_of(k, c->group);

		f->summary = pool_text(k, g);
		f->culprit = (struct party){ .pid = k->m->procs[g->proc].tgid, .comm = g->comm };
		if (t != NO_IDX)
			f->culprit.tid = k->m->threads[t].tid;
		f->resource = "worker pool";
		say_figures(k, f, "{}: idle {}, running {}, waiting for a CPU {}, blocked {}",
			    N_WORD(g->comm), N_SHARE("idle", part_of(g->idle_ns, g->life_ns)),
			    N_SHARE("running", part_of(g->run_ns, g->life_ns)),
			    N_SHARE("waiting_for_cpu", part_of(g->runq_ns, g->life_ns)),
			    N_SHARE("blocked", part_of(g->blocked_ns, g->life_ns)));
		if (c->kept_by)
			say(k, f, "what fills it is told above: with a quicker answer there, or "
				  "with more workers, fewer requests wait");
		refute(k, f, "more workers do not raise the rate");
	} else if (c->lock != NO_IDX) {
		const struct lock *l = &k->w->locks[c->lock];

		f->resource = k->m->res[l->res].name;
		f->res_kind = res_kind_name(k->m->res[l->res].kind);
		f->summary = arena_printf(k->arena,
					  "At most %.0f at a time may pass %s; %u threads "
					  "wait for their turn.",
					  l->holders_avg + 0.5, f->resource, l->waiter_cnt);
		f->culprit = party_of(k->m, end_of_line(k, c));
		say_figures(k, f, "{} waits, mean {}, longest {}; {} passed at a time on average",
			    N_CNT("waits", l->wait_cnt),
			    N_NS("mean", (double)l->wait_ns / l->wait_cnt),
			    N_NS("longest", l->max_ns), N_AVG("passed", l->holders_avg));
		refute(k, f, "a higher limit does not raise the rate");
	} else {
		explain_limit(k, f, c);
	}
	if (q->conns)
		say_figures(k, f, "{} requests open and {} unread on average, {} asked of others",
			    N_AVG("open_requests", q->open_avg),
			    N_AVG("unread_requests", q->unread_avg),
			    N_AVG("asked_of_others", q->out_avg));
}

void backlog_lines(struct court *k, struct finding *f)
{
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct ev_listen *l = &k->m->listens[i].e;

		if (l->backlog < 2)
			continue;
		say_figures(k, f, "{} connections wait to be accepted at {} (room for {})",
			    N_CNT("connections_not_accepted", l->backlog),
			    N_WORD(model_str(k->m, l->name)), N_CNT("room", l->backlog_max));
		if (f->cls == FIND_CONN_LIMIT && l->backlog * 2 >= l->backlog_max) {
			f->resource = arena_printf(k->arena, "listen queue of %s",
						   model_str(k->m, l->name));
			f->res_kind = "socket";
			f->summary = arena_printf(k->arena,
						  "Connections wait to be accepted at %s "
						  "faster than they are taken.",
						  model_str(k->m, l->name));
		}
	}
	if (k->m->host.listen_overflows)
		say_figures(k, f, "{} connections refused by full listen queues on this host",
			    N_CNT("connections_refused", k->m->host.listen_overflows));
}

void explain_loop(struct court *k, struct finding *f, const struct cand *c)
{
	const struct thread *th = c->loop != NO_IDX ? &k->m->threads[c->loop] : NULL;
	const struct wthread *w = c->loop != NO_IDX ? &k->w->threads[c->loop] : NULL;

	f->culprit = party_of(k->m, c->loop);
	f->resource = "event loop";
	if (!th)
		return;
	f->summary = arena_printf(k->arena, "One handler keeps the event loop of %s from turning, "
				  "up to %s at a time.", thread_label(k, c->loop),
				  ns_text(k, w->stall_max_ns));
	say_figures(k, f, "{} stalls, {} in all, longest {}, among {} requests",
		    N_CNT("stalls", w->stall_cnt), N_NS("stalled", w->stall_ns),
		    N_NS("longest", w->stall_max_ns), N_CNT("requests", k->turns));
	say_figures(k, f, "in the loop: computing {}, idle {} of the time",
		    N_SHARE("running", part_of(th->ns[ST_RUN], th->end_ns - th->begin_ns)),
		    N_SHARE("idle", part_of(k->w->threads[c->loop].idle_ns,
					    th->end_ns - th->begin_ns)));
	refute(k, f, "every request takes that long: then it is load, not one handler");
}

static void unsent_lines(struct court *k, struct finding *f)
{
	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, c->tgid);

		if (p == NO_IDX || !k->m->procs[p].target || c->role != ROLE_SERVER ||
		    c->unsent_bytes < 1024)
			continue;
		say_figures(k, f, "at the end {} of answers lay in the send buffers of {} "
			    "connections, not yet taken", N_KIB("unsent", c->unsent_bytes),
			    N_CNT("connections_unsent", c->unsent_conns));
	}
}

/* The conversations that clients have with the target. */
static void request_lines(struct court *k, struct finding *f)
{
	for (size_t i = 0; i < k->w->req_cnt && f->evidence_cnt < 3; i++) {
		const struct wreq *q = &k->w->reqs[i];

		if (!k->m->procs[q->proc].target || !q->turns)
			continue;
		say_figures(k, f, "{}: {} requests/s, half within {}, 99 % within {}, {} open on "
			    "average",
			    N_WORD(arena_printf(k->arena, "%s (pid %u)", k->m->procs[q->proc].comm,
						k->m->procs[q->proc].tgid)),
			    N_PER_S("requests", q->turns / (k->window_ns / 1e9)),
			    N_NS("p50", q->p50_ns), N_NS("p99", q->p99_ns),
			    N_AVG("open_requests", q->open_avg));
	}
	owed_line(k, f);
}

static void busiest_line(struct court *k, struct finding *f)
{
	uint32_t best = NO_IDX;
	double most = 0, life;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];

		if (th->tracked && thread_is_target(k->m, t) &&
		    th->ns[ST_RUN] + th->ns[ST_RUNQ] > most) {
			most = th->ns[ST_RUN] + th->ns[ST_RUNQ];
			best = t;
		}
	}
	if (best == NO_IDX) {
		say(k, f, "none of its threads ran");
		return;
	}
	life = k->m->threads[best].end_ns - k->m->threads[best].begin_ns;
	say_figures(k, f, "busiest thread: {}, running {}, waiting for a CPU {} of the time",
		    N_WORD(thread_label(k, best)),
		    N_SHARE("running", part_of(k->m->threads[best].ns[ST_RUN], life)),
		    N_SHARE("waiting_for_cpu", part_of(k->m->threads[best].ns[ST_RUNQ], life)));
}

static void client_cpu_words(struct court *k, struct finding *f, const struct cand *c)
{
	if (!c->neighbour)
		return;
	f->culprit = (struct party){ .pid = c->neighbour, .comm = c->neighbour_comm };
	f->summary = arena_printf(k->arena, "%s (pid %u) asks it from this host and takes the CPU "
				  "it needs for the answers.", c->neighbour_comm, c->neighbour);
	busiest_line(k, f);
	culprit_lines(k, f);
}

static void client_lines(struct court *k, struct finding *f)
{
	request_lines(k, f);
	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role != ROLE_SERVER || n->proc == NO_IDX || !k->m->procs[n->proc].target)
			continue;
		if (n->txblock_ns)
			say_figures(k, f, "{}: answers waited {} for clients to read, {} times",
				    N_WORD(n->name), N_NS("answers_waited", n->txblock_ns),
				    N_CNT("times", n->txblock_cnt));
		if (n->partial_cnt)
			say_figures(k, f, "{}: {} requests came in pieces", N_WORD(n->name),
				    N_CNT("requests_in_pieces", n->partial_cnt));
	}
	unsent_lines(k, f);
	refute(k, f, "clients on another host and network see the same delay");
}

/* Two small writes for one answer: the second waits for the first's acknowledgement. */
static void held_words(struct court *k, struct finding *f)
{
	double held = held_conns(k, NULL);
	double sending = k->cand[FIND_CLIENTS].ns / k->window_ns;

	if (held < 1 || 2 * held < sending)
		return;
	f->summary = "The ends of its answers are kept back until the clients acknowledge what "
		     "came before, which they delay by 40 ms and more: it writes an answer in "
		     "pieces and does not set TCP_NODELAY.";
	say_figures(k, f, "on {} connections a piece smaller than a segment lay unsent both when "
		    "the watch began and when it ended, though there was room (Nagle's algorithm)",
		    N_CNT("connections_kept_back", held));
	refute(k, f, "requests take as long with TCP_NODELAY set, or with each answer written "
		     "at once");
}

const struct cgroup *memory_full(const struct court *k)
{
	for (size_t i = 0; i < k->m->cgroup_cnt; i++) {
		const struct cgroup *g = &k->m->cgroups[i];

		if (g->mem_limit_bytes &&
		    (g->mem_failcnt || g->mem_used_bytes >= 0.98 * g->mem_limit_bytes))
			return g;
	}
	return NULL;
}

/* A cgroup at its limit explains more than the file that is read again and again. */
static void memory_limit_lines(struct court *k, struct finding *f)
{
	const struct cgroup *g = memory_full(k);

	if (g) {
		f->resource = arena_printf(k->arena, "memory limit of cgroup %s", g->path);
		f->res_kind = "memory";
		say_figures(k, f, "cgroup {}: {} of {} used, limit hit {} times", N_WORD(g->path),
			    N_MIB("memory_used", g->mem_used_bytes),
			    N_MIB("memory_limit", g->mem_limit_bytes),
			    N_CNT("limit_hit", g->mem_failcnt));
	}
}

static void reclaim_line(struct court *k, struct finding *f, const struct cause *c)
{
	double share = c ? reclaim_share(k->m, c->thread) : 0;

	if (c && share >= 0.01)
		say_figures(k, f, "{}: {} of the time that it ran went into freeing memory first "
			    "(direct reclaim)", N_WORD(thread_label(k, c->thread)),
			    N_SHARE("reclaim", share));
}

/* System calls tell how long each took, not what for or who ended it. */
static void unwatched_words(struct court *k, struct finding *f)
{
	const struct model_calls *calls = k->m->calls;
	uint32_t threads = 0;

	if (!calls->cnt) {
		f->summary = "There are no waits to judge from: its threads were not watched.";
		return;
	}
	f->summary = "There are no waits to judge from, only system calls: they point to "
		     "functions, not to what holds it up.";
	for (size_t t = 0; t < k->m->thread_cnt; t++)
		threads += calls->runs[t].cnt > 0;
	say_figures(k, f, "{} system calls of {} thread{} in {}", N_CNT("calls", calls->cnt),
		    N_CNT("threads", threads), N_WORD(threads == 1 ? "" : "s"),
		    N_NS("window", calls->end_ns - calls->begin_ns));
}

static void unknown_words(struct court *k, struct finding *f, const struct cause *t)
{
	f->summary = "What it waits for was not seen.";
	if (k->unwatched)
		unwatched_words(k, f);
	else if (t && (t->kind == CAUSE_DISK || t->kind == CAUSE_FSYNC))
		f->summary = arena_printf(k->arena, "It waits for %s, but no disk had a request of "
					  "it meanwhile: what for was not seen.",
					  t->res != NO_IDX ? k->m->res[t->res].name : "a file");
}

void explain_rest(struct court *k, struct finding *f, const struct cand *c)
{
	const struct cause *t = c->top;

	switch (f->cls) {
	case FIND_MEMORY:
		f->resource = "memory";
		f->res_kind = "memory";
		if (t && t->res != NO_IDX && k->m->res[t->res].kind == RES_FILE) {
			f->resource = k->m->res[t->res].name;
			f->res_kind = "file";
		}
		memory_limit_lines(k, f);
		f->culprit = t ? party_of(k->m, t->thread) : f->culprit;
		f->summary =
			arena_printf(k->arena, "It waits for memory: page faults that read from "
					       "disk, or reclaim.");
		say_figures(k, f, "host: {} major faults, {} pages swapped in, {} out",
			    N_CNT("major_faults", k->m->host.maj_flt),
			    N_CNT("swapped_in", k->m->host.swap_in),
			    N_CNT("swapped_out", k->m->host.swap_out));
		reclaim_line(k, f, t);
		refute(k, f, "the working set fits: the faults stop when the cache is warm");
		break;
	case FIND_TIMER:
		f->resource = "timer";
		f->res_kind = "timer";
		f->culprit = t ? party_of(k->m, t->thread) : f->culprit;
		f->summary = arena_printf(k->arena,
					  "%s sleeps on a timer%s: a pause, back-off or poll "
					  "interval of its own.",
					  thread_label(k, t ? t->thread : NO_IDX),
					  k->turns > 0 ? " while requests are open" : "");
		refute(k, f, "something that is not watched ends the sleep early when it is ready");
		break;
	case FIND_CLIENTS:
		f->summary =
			"The server is not held up: it waits for its clients to send or to read.";
		f->resource = arena_printf(k->arena, "clients of %s", served_at(k));
		f->res_kind = "socket";
		held_words(k, f);
		client_cpu_words(k, f, c);
		client_lines(k, f);
		break;
	case FIND_UNKNOWN:
		unknown_words(k, f, t);
		break;
	default:
		f->summary = k->unasked ? "Nothing holds it up: nobody asked it anything."
					: "Nothing holds it up.";
		request_lines(k, f);
		busiest_line(k, f);
		refute(k, f, "it is slow at other times: this watch saw only %s",
		       ns_text(k, k->window_ns));
		break;
	}
	if (t && f->cls != FIND_HEALTHY)
		waits_line(k, f, t->thread, t->res);
}
