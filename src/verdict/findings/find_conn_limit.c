/* SPDX-License-Identifier: Apache-2.0 */
/* A limit of the application on how many requests or connections it takes at a time. */
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/lock_facts.h"
#include "verdict/evidence/queue_lines.h"
#include "verdict/evidence/request_lines.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

/*
 * The wait for one's turn is the limit's, whatever those do who have theirs; but no limit
 * is to blame where they wait for a disk or for memory, which more of them would only share.
 */
static bool claims_limit(const struct context *k, const struct cause *c)
{
	if (c->kind == CAUSE_QUEUE)
		return true;
	return lock_is_limit(k, c->lock) && c->kind != CAUSE_DISK && c->kind != CAUSE_FSYNC &&
	       c->kind != CAUSE_MEMORY;
}

/* The process, by its first thread: that is where limits are kept. */
static struct party proc_party(const struct context *k, uint32_t proc)
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

/* The limit is on connections to the peer that is asked most, else on those it serves. */
static const char *limited(struct context *k, uint32_t proc)
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

/* Mean of the connections that lie in the target's listen queues; where most of them do. */
static double unaccepted(struct context *k, const char **ret_name)
{
	double cnt = 0, most = 0;

	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct listen *l = &k->m->listens[i];
		uint32_t p = model_proc_by_tgid(k->m, l->e.tgid);

		if (!proc_is_target(k->m, p))
			continue;
		cnt += l->backlog_avg;
		if (l->backlog_avg > most) {
			most = l->backlog_avg;
			*ret_name = model_str(k->m, l->e.name);
		}
	}
	return cnt;
}

static bool is_unaccepted(struct context *k, const struct cand *c, const char **ret_name)
{
	return 2 * unaccepted(k, ret_name) * k->window_ns >= c->ns;
}

/* A limit that was not seen itself. */
static void explain_unseen(struct context *k, struct finding *f, const struct cand *c)
{
	const char *at = "";

	f->resource = limited(k, c->top ? c->top->entry_proc : NO_IDX);
	f->culprit = proc_party(k, c->top ? c->top->entry_proc : NO_IDX);
	if (is_unaccepted(k, c, &at)) {
		f->summary = arena_printf(k->arena, "Connections wait to be accepted at %s though "
					  "its threads have time: a limit of the application on "
					  "connections.", at);
		say_figures(k, f, "{} connections not accepted on average",
			    N_CNT("connections_not_accepted", unaccepted(k, &at)));
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
}

static void explain_permits(struct context *k, struct finding *f, const struct cand *c)
{
	const struct lock *l = &k->w->locks[c->lock];

	f->resource = k->m->res[l->res].name;
	f->res_kind = res_kind_name(k->m->res[l->res].kind);
	f->summary = arena_printf(k->arena, "At most %.0f at a time may pass %s; %u threads wait "
				  "for their turn.", l->holders_avg + 0.5, f->resource,
				  l->waiter_cnt);
	f->culprit = party_of(k->m, end_of_line(k, c));
	say_figures(k, f, "{} waits, mean {}, longest {}; {} passed at a time on average",
		    N_CNT("waits", l->wait_cnt), N_NS("mean", (double)l->wait_ns / l->wait_cnt),
		    N_NS("longest", l->max_ns), N_AVG("passed", l->holders_avg));
}

/* A listen queue in which half of the room is taken names itself. */
static void name_listen_queue(struct context *k, struct finding *f)
{
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		const struct ev_listen *l = &k->m->listens[i].e;

		if (l->backlog < 2 || l->backlog * 2 < l->backlog_max)
			continue;
		f->resource = arena_printf(k->arena, "listen queue of %s",
					   model_str(k->m, l->name));
		f->res_kind = "socket";
		f->summary = arena_printf(k->arena, "Connections wait to be accepted at %s faster "
					  "than they are taken.", model_str(k->m, l->name));
	}
}

static void explain_limit(struct context *k, struct finding *f, const struct cand *c)
{
	if (c->lock != NO_IDX)
		explain_permits(k, f, c);
	else
		explain_unseen(k, f, c);
	queue_lines(k, f);
	name_listen_queue(k, f);
}

static void refute_limit(struct context *k, struct finding *f, const struct cand *c)
{
	const char *at = "";

	if (c->lock != NO_IDX)
		refute(k, f, "a higher limit does not raise the rate");
	else if (is_unaccepted(k, c, &at))
		refute(k, f, "they are taken as fast as they come while as many are open");
	else
		refute(k, f, "the answers come from a source that was not watched (shared memory, "
		       "another process)");
}

static void lacks_limit(struct context *k, struct finding *f, const struct cand *c)
{
	const char *at = "";

	if (c->lock == NO_IDX && unaccepted(k, &at) < 1)
		lack(k, f, 1, "the limit itself was not seen: nobody works on these requests");
}

static const char *next_limit(struct context *k, const struct finding *f, const struct cand *c)
{
	if (c && c->lock != NO_IDX)
		return arena_printf(k->arena, "raise the limit that lets %.0f at a time pass %s, "
				    "or have those sooner done",
				    k->w->locks[c->lock].holders_avg + 0.5, step_what(f, "it"));
	return arena_printf(k->arena, "let more in at once (%s), or have those that are in sooner "
			    "done%s", step_what(f, "a limit of its own"), queue_words(k));
}

const struct finding_def finding_conn_limit = {
	.cls = FIND_CONN_LIMIT,
	.name = "conn-limit",
	.title = "connection or request limit",
	.carrier = CARRIER_LOCK,
	.claims = claims_limit,
	.explain = explain_limit,
	.refute = refute_limit,
	.lacks = lacks_limit,
	.next_step = next_limit,
	.is_held = true,
};
