/* SPDX-License-Identifier: Apache-2.0 */
/* The clients are the slow side: they do not read, send in pieces, or take the CPU. */
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/cpu_users.h"
#include "verdict/evidence/queue_lines.h"
#include "verdict/evidence/request_lines.h"
#include "verdict/evidence/unsent.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

static bool claims_clients(const struct context *k, const struct cause *c)
{
	(void)k;
	return c->kind == CAUSE_CLIENT;
}

static void weigh_clients(struct context *k)
{
	double tx = 0, unsent = unsent_ns(k);

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_SERVER && proc_is_target(k->m, n->proc))
			tx += n->txblock_ns;
	}
	if (unsent > tx)
		tx = unsent;
	/* waits in send are in the causes already */
	if (tx > k->cand[FIND_CLIENTS].ns) {
		k->demand_ns += tx - k->cand[FIND_CLIENTS].ns;
		k->cand[FIND_CLIENTS].ns = tx;
	}
}

static void unsent_lines(struct context *k, struct finding *f)
{
	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, c->tgid);

		if (!proc_is_target(k->m, p) || c->role != ROLE_SERVER ||
		    c->unsent_bytes < 1024)
			continue;
		say_figures(k, f, "at the end {} of answers lay in the send buffers of {} "
			    "connections, not yet taken", N_KIB("unsent", c->unsent_bytes),
			    N_CNT("connections_unsent", c->unsent_conns));
	}
}

static void client_cpu_words(struct context *k, struct finding *f, const struct cand *c)
{
	if (!c->neighbour)
		return;
	f->culprit = (struct party){ .pid = c->neighbour, .comm = c->neighbour_comm };
	f->summary = arena_printf(k->arena, "%s (pid %u) asks it from this host and takes the CPU "
				  "it needs for the answers.", c->neighbour_comm, c->neighbour);
	busiest_line(k, f);
	culprit_lines(k, f);
}

static void client_lines(struct context *k, struct finding *f)
{
	request_lines(k, f);
	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role != ROLE_SERVER || !proc_is_target(k->m, n->proc))
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
}

/* Two small writes for one answer: the second waits for the first's acknowledgement. */
static void held_words(struct context *k, struct finding *f)
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

/* Most of it is for the words of clients, one after the other, while others lie unaccepted. */
static bool is_silence(const struct context *k, const struct cand *c)
{
	double ns = 0;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++)
		ns += thread_is_target(k->m, t) ? (double)k->w->threads[t].silent_ns : 0;
	return 2 * ns > c->ns;
}

static void silence_words(struct context *k, struct finding *f, const struct cand *c)
{
	if (!is_silence(k, c))
		return;
	f->summary = "It waits for a client that has connected and says nothing, and takes no "
		     "other connection meanwhile.";
	queue_lines(k, f);
	refute(k, f, "requests are as slow without clients that connect and do not ask");
}

static void explain_clients(struct context *k, struct finding *f, const struct cand *c)
{
	f->summary = "The server is not held up: it waits for its clients to send or to read.";
	f->resource = arena_printf(k->arena, "clients of %s", served_at(k));
	f->res_kind = "socket";
	held_words(k, f);
	silence_words(k, f, c);
	client_cpu_words(k, f, c);
	client_lines(k, f);
	if (c->top)
		waits_line(k, f, c->top->thread, c->top->res);
}

/* Answers that clients let lie.  Requests that come in pieces may be many of a kind, too. */
static void lacks_readers(struct context *k, struct finding *f, const struct cand *c)
{
	double ns = 0;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_SERVER && proc_is_target(k->m, n->proc))
			ns += (double)n->txblock_ns;
	}
	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *e = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, e->tgid);

		if (e->role == ROLE_SERVER && proc_is_target(k->m, p))
			ns += e->unsent_conns * k->window_ns;
	}
	if (2 * ns < c->ns && !is_silence(k, c))
		lack(k, f, 1, "no answers wait to be read: inferred from requests in pieces alone");
}

static const char *next_clients(struct context *k, const struct finding *f, const struct cand *c)
{
	double held = held_conns(k, NULL);

	if (c && is_silence(k, c))
		return arena_printf(k->arena, "take connections with more threads, or with an "
				    "event loop, or give the %s a time limit for their first "
				    "word",
				    step_what(f, "clients"));
	if (held >= 1)
		return arena_printf(k->arena, "set TCP_NODELAY on the %.0f connections where the "
				    "end of an answer waits for an acknowledgement", held);
	return arena_printf(k->arena, "look at the %s and the way to them: the server waits for "
			    "them %.0f %% of the time", step_what(f, "clients"), 100 * f->share);
}

static bool stall_counts(const struct stall_finding *s)
{
	(void)s;
	return false;
}

static bool yields(const struct context *k, double share, bool felt)
{
	(void)k;
	(void)share;
	(void)felt;
	return true;
}

const struct finding_def finding_clients = {
	.cls = FIND_CLIENTS,
	.name = "clients",
	.title = "clients are the slow side",
	.claims = claims_clients,
	.weigh = weigh_clients,
	.explain = explain_clients,
	.refuted_if = "clients on another host and network see the same delay",
	.lacks = lacks_readers,
	.next_step = next_clients,
	.stall_counts = stall_counts,
	.yields = yields,
	.no_hold_up = true,
	.not_its_own = true,
	.is_held = true,
};
