/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks the findings and decides whether any holds the process up.
 *
 * Every threshold here is a share of the requests' time or of the window;
 * its reason stands beside it.  None knows a program, a port or a path.
 */
#include "verdict/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "model/calls/calls.h"
#include "verdict/confidence.h"
#include "verdict/evidence/shed.h"
#include "verdict/context/context.h"

/* A finding must explain this much to be the verdict: less, and mending it is hardly felt. */
#define VERDICT_MIN 0.30
/* ... and this much to be named beside the verdict. */
#define MENTION_MIN 0.15
/* Two findings closer than this can't be told apart by sums that carry a few per cent of error. */
#define TIE 0.08
/*
 * Below this many requests open at a time, waits of less than TINY_NS each
 * hold nobody up: the server rests nine tenths of the time.
 */
#define TINY_OPEN 0.10
#define TINY_NS 5e6
/* Cycles this old are no race that resolves itself. */
#define CYCLE_MIN_NS 500000000ULL

static const struct { const char *name, *title; } names[FIND_CNT] = {
	[FIND_HEALTHY] = { "healthy", "not held up" },
	[FIND_CPU_OWN] = { "cpu-own", "CPU used up by its own load" },
	[FIND_CPU_NEIGHBOUR] = { "cpu-neighbour", "CPU taken by a neighbour" },
	[FIND_CPU_QUOTA] = { "cpu-quota", "held back by a CPU quota" },
	[FIND_LOCK_HELD] = { "lock-held", "lock held too long" },
	[FIND_LOCK_CONVOY] = { "lock-convoy", "lock convoy" },
	[FIND_DEADLOCK] = { "deadlock", "deadlock" },
	[FIND_WORKERS] = { "workers", "too few workers for the queue" },
	[FIND_CONN_LIMIT] = { "conn-limit", "connection or request limit" },
	[FIND_DISK_OWN] = { "disk-own", "disk used up by its own load" },
	[FIND_DISK_NEIGHBOUR] = { "disk-neighbour", "disk taken by a neighbour" },
	[FIND_DISK_LIMIT] = { "disk-limit", "held back by an I/O limit" },
	[FIND_FSYNC] = { "fsync", "waits for fsync or journal" },
	[FIND_MEMORY] = { "memory", "page faults or memory reclaim" },
	[FIND_EXTERNAL] = { "external", "slow external service" },
	[FIND_PEER] = { "peer", "slow local peer" },
	[FIND_LOOP_BLOCKED] = { "loop-blocked", "event loop blocked by one handler" },
	[FIND_CLIENTS] = { "clients", "clients are the slow side" },
	[FIND_UNKNOWN] = { "unknown", "cannot be told from what was seen" },
	[FIND_TIMER] = { "timer", "sleeps on a timer of its own" },
	[FIND_STOPPED] = { "stopped", "stopped by a signal, a debugger or a freezer" },
	[FIND_ENDLESS] = { "endless-loop", "runs without answering" },
	[FIND_DIED] = { "died", "died" },
};

const char *finding_name(unsigned cls)
{
	return cls < FIND_CNT ? names[cls].name : "unknown";
}

const char *finding_title(unsigned cls)
{
	return cls < FIND_CNT ? names[cls].title : "";
}

const char *confidence_name(unsigned conf)
{
	return conf == CONF_HIGH ? "high" : conf == CONF_MEDIUM ? "medium" : "low";
}

static int by_ns(const void *pa, const void *pb)
{
	const struct cand *const *a = pa, *const *b = pb;

	CMP((*b)->ns, (*a)->ns);
	return (*a)->cls - (*b)->cls;
}

static bool is_hold_up(const struct cand *c)
{
	/* a candidate of the bench, never NULL */
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	return c->cls != FIND_HEALTHY && c->cls != FIND_UNKNOWN && c->cls != FIND_CLIENTS;
}

static void finding_add(struct court *k, struct verdict *v, const struct cand *c)
{
	struct cand own = *c;

	/* other carriers of its class are named by themselves */
	own.ns -= own.more_ns;
	explain(k, &v->findings[v->finding_cnt++], &own);
}

static bool deadlock_add(struct court *k, struct verdict *v)
{
	const struct wcycle *best = NULL;
	struct finding *f;

	for (size_t i = 0; i < k->w->cycle_cnt; i++) {
		const struct wcycle *y = &k->w->cycles[i];

		if (y->pending && y->ns >= CYCLE_MIN_NS && (!best || y->ns > best->ns) &&
		    thread_is_target(k->m, y->thread[0]))
			best = y;
	}
	if (!best)
		return false;
	f = &v->findings[v->finding_cnt++];
	*f = (struct finding){ .cls = FIND_DEADLOCK, .share = 1, .resource = "",
			       .res_kind = "" };
	f->culprit = party_of(k->m, best->thread[0]);
	if (best->res[0] != NO_IDX) {
		f->resource = k->m->res[best->res[0]].name;
		f->res_kind = res_kind_name(k->m->res[best->res[0]].kind);
	}
	f->summary = arena_printf(k->arena, "%u threads wait for each other in a circle, for %s.",
				  best->len, ns_text(k, best->ns));
	f->chain = ARENA_ARRAY(k->arena, struct step, best->len);
	for (uint32_t i = 0; i < best->len; i++) {
		struct step *s = &f->chain[f->chain_len++];
		uint32_t r = best->res[i];

		*s = (struct step){.thread = best->thread[i],
				   .res = r,
				   .does = STEP_WAITS,
				   .like_cnt = 1,
				   .share = 1,
				   .who = party_of(k->m, best->thread[i]),
				   .role = role_name(k->w->threads[best->thread[i]].role),
				   .doing = "waits for a lock that the next one holds",
				   .resource = r != NO_IDX ? k->m->res[r].name : "",
				   .res_kind = r != NO_IDX ? res_kind_name(k->m->res[r].kind) : ""};
		say(k, f, "%s waits for %s, held by %s", thread_label(k, best->thread[i]),
		    r != NO_IDX ? k->m->res[r].name : "a lock",
		    thread_label(k, best->thread[(i + 1) % best->len]));
	}
	functions_add(k, f);
	refute(k, f, "one of the waits has a time limit and ends by itself");
	return true;
}

/* Nothing to speak of: the verdict is that the server rests, or its clients are slow. */
bool at_ease(const struct court *k, const struct cand *top)
{
	double open = k->demand_ns / k->window_ns;
	double each = k->turns > 0 ? top->ns / k->turns : 0;

	if (k->demand_ns <= 0)
		return true;
	return open < TINY_OPEN && each < TINY_NS;
}

/*
 * Threads are known, but of none its states: a trace of system calls, or a
 * kernel that refused to track them.  That nobody waited is no health then.
 */
static bool is_unwatched(const struct court *k)
{
	bool known = k->m->calls->cnt > 0;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (!thread_is_target(k->m, t))
			continue;
		if (k->m->threads[t].tracked)
			return false;
		known = true;
	}
	return known;
}

static void unseen_add(struct court *k, struct verdict *v, const char *text)
{
	size_t cnt = v->unseen_cnt;
	const char **all = v->unseen;

	if (!(cnt & (cnt - 1))) { /* full: room for as many again */
		all = (const char **)arena_alloc_array(k->arena, cnt ? 2 * cnt : 1, sizeof(*all));
		for (size_t i = 0; i < cnt; i++)
			all[i] = v->unseen[i];
	}
	v->unseen = all;
	v->unseen[v->unseen_cnt++] = arena_strdup(k->arena, text);
}

static void calls_losses(struct court *k, struct verdict *v)
{
	const struct model_calls *c = k->m->calls;

	if (c->lost_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu system calls lost",
					      (unsigned long long)c->lost_cnt));
	if (c->dropped_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu system calls over the bound, the "
					      "oldest, left out",
					      (unsigned long long)c->dropped_cnt));
	if (c->skipped_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu lines or records of calls not "
					      "understood",
					      (unsigned long long)c->skipped_cnt));
}

static void losses_list(struct court *k, struct verdict *v)
{
	static const char *const what[LOSS_CNT] = {
		[LOSS_RING] = "records lost because the ring buffer was full",
		[LOSS_TASK_STORAGE] = "threads that could not be tracked",
		[LOSS_RES_MAP] = "resources not described (map full)",
		[LOSS_END_MAP] = "conversations not counted (map full)",
		[LOSS_CULPRIT_MAP] = "CPU culprits not counted (map full)",
		[LOSS_DISK_MAP] = "disk requests not attributed (map full)",
		[LOSS_SEQ] = "gaps in the records of threads",
		[LOSS_STRINGS] = "names left out",
		[LOSS_PEERS] = "counterpart processes over the bound, not watched",
		[LOSS_MEMBERS] = "files of event sets not listed",
		[LOSS_SOCK_STORAGE] = "sockets that could not be tracked",
		[LOSS_KSTACK] = "kernel stacks not stored",
		[LOSS_MISSED] = "runs of BPF programs missed",
		[LOSS_STACK_MAP] = "stacks that end early (code not known yet)",
		[LOSS_STACK_CUT] = "stacks that end early (deeper than the limit)",
		[LOSS_STACK_READ] = "stacks that end early (memory not readable)",
		[LOSS_SAMPLES] = "samples of running threads not stored",
		[LOSS_SEARCHES] = "searches for a peer's process left out (bounds, rights)",
		[LOSS_FRAME_NAMES] = "frames of stacks without a name (too many)",
		[LOSS_RES_INDEX] = "resources whose other end is not known (too many)",
		[LOSS_BAD_RECORD] = "records of the kernel side not understood",
		[LOSS_MEMBER_SETS] = "event and poll sets whose files could not be read",
	};
	const struct model *m = k->m;
	const char *lines[SHED_LINES_MAX];
	size_t lines_cnt;

	for (unsigned i = 0; i < LOSS_CNT; i++) {
		if (m->loss.cnt[i] && what[i])
			unseen_add(k, v, arena_printf(k->arena, "%llu %s",
						      (unsigned long long)m->loss.cnt[i], what[i]));
	}
	lines_cnt = shed_lines(k, lines);
	for (size_t i = 0; i < lines_cnt; i++)
		unseen_add(k, v, lines[i]);
	if (m->bad_event_cnt + m->unknown_kind_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu records not understood",
					      (unsigned long long)(m->bad_event_cnt +
								   m->unknown_kind_cnt)));
	if (k->w->folded_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu waits without the threads they were "
					      "passed on by (too many combinations)",
					      (unsigned long long)k->w->folded_cnt));
	if (k->w->cut_cnt)
		unseen_add(k, v, arena_printf(k->arena, "%llu chains cut at %d hops",
					      (unsigned long long)k->w->cut_cnt, WAITS_MAX_DEPTH));
	for (size_t i = 0; i < m->note_cnt; i++) {
		if (m->note_kinds[i] != NOTE_INFO)
			unseen_add(k, v, m->notes[i]);
	}
}

static bool is_child(const struct model *m, const struct proc *p)
{
	uint32_t parent = model_proc_by_tgid(m, p->ppid);

	return parent != NO_IDX && m->procs[parent].target;
}

/* The one that the others come from; numbers wrap, so a child's may be lower. */
static bool comes_first(const struct model *m, const struct proc *a, const struct proc *b)
{
	if (is_child(m, a) != is_child(m, b))
		return is_child(m, b);
	return a->tgid < b->tgid;
}

static const char *subject_of(struct court *k)
{
	const struct model *m = k->m;
	const struct proc *p = NULL;
	uint32_t procs = 0, threads = 0, named = 0;

	for (size_t i = 0; i < m->proc_cnt; i++) {
		if (!m->procs[i].target)
			continue;
		if (!p || comes_first(m, &m->procs[i], p))
			p = &m->procs[i];
		procs++;
	}
	for (uint32_t t = 0; t < m->thread_cnt; t++) {
		threads += thread_is_target(m, t) && m->threads[t].tracked;
		named += thread_is_target(m, t);
	}
	threads = threads ? threads : named;
	if (!p)
		return "nothing";
	if (procs > 1)
		return arena_printf(k->arena, "%s (pid %u) and %u more process%s, %u threads",
				    p->comm, p->tgid, procs - 1, procs == 2 ? "" : "es", threads);
	return arena_printf(k->arena, "%s (pid %u), %u thread%s", p->comm, p->tgid, threads,
			    threads == 1 ? "" : "s");
}

static void candidates_add(struct court *k, struct verdict *v, struct cand **order, size_t cnt)
{
	v->candidates = ARENA_ARRAY(k->arena, struct finding, 2);
	for (size_t i = 0; i < cnt && v->candidate_cnt < 2; i++) {
		if (is_hold_up(order[i]) && order[i]->ns > 0)
			explain(k, &v->candidates[v->candidate_cnt++], order[i]);
	}
}

/* Findings beside the verdict. */
static void mention(struct court *k, struct verdict *v, struct cand **order, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (is_hold_up(order[i]) && order[i]->cls != v->findings[0].cls &&
		    order[i]->ns >= MENTION_MIN * k->demand_ns && !at_ease(k, order[i]))
			finding_add(k, v, order[i]);
	}
	if (k->pool.ns > 0 && v->findings[0].cls == k->pool.kept_by)
		finding_add(k, v, &k->pool);
	for (size_t i = 0; i < k->more_cnt; i++) {
		if (v->findings[0].cls != FIND_DEADLOCK && !at_ease(k, &k->more[i]))
			finding_add(k, v, &k->more[i]);
	}
}

/* The first that holds up, computing and clients left aside; NULL when there is none. */
static const struct cand *hold_up(struct cand **order, size_t cnt, size_t skip)
{
	for (size_t i = 0; i < cnt; i++) {
		if (is_hold_up(order[i]) && order[i]->ns > 0 && !skip--)
			return order[i];
	}
	return NULL;
}

static double share_of(const struct court *k, const struct cand *c)
{
	return c && k->demand_ns > 0 ? c->ns / k->demand_ns : 0;
}

/* Most of what is not known are waits for files that no disk had a request for. */
static bool unknown_file(const struct court *k, const struct cand *unknown)
{
	return unknown->top && share_of(k, unknown) >= VERDICT_MIN && !at_ease(k, unknown) &&
	       (unknown->top->kind == CAUSE_DISK || unknown->top->kind == CAUSE_FSYNC);
}

/*
 * order is sorted; decides what findings[0] is.  Computing that has room left
 * holds nobody up however large its share, so it does not compete.
 */
static void decide(struct court *k, struct verdict *v, struct cand **order, size_t cnt)
{
	const struct cand *top = hold_up(order, cnt, 0), *next = hold_up(order, cnt, 1);
	const struct cand *unknown = &k->cand[FIND_UNKNOWN], *clients = &k->cand[FIND_CLIENTS];
	double share = share_of(k, top), second = share_of(k, next);

	if (is_hung(k) && (!top || at_ease(k, top) || share < VERDICT_MIN)) {
		finding_add(k, v, unknown);
		hung_explain(k, v);
	} else if ((k->unwatched || unknown_file(k, unknown)) && (!top || at_ease(k, top))) {
		finding_add(k, v, unknown);
	} else if (!top || at_ease(k, top)) {
		top = clients->ns > VERDICT_MIN * k->demand_ns ? clients : &k->cand[FIND_HEALTHY];
		finding_add(k, v, top);
	} else if (clients->ns > top->ns && clients->ns > unknown->ns) {
		finding_add(k, v, clients);
	} else if (unknown->ns > top->ns ? share_of(k, unknown) >= VERDICT_MIN :
					   share >= VERDICT_MIN && share < 0.5 &&
						   share - second < TIE) {
		finding_add(k, v, unknown);
		candidates_add(k, v, order, cnt);
	} else if (share >= VERDICT_MIN) {
		finding_add(k, v, top);
	} else {
		finding_add(k, v, &k->cand[FIND_HEALTHY]);
	}
	mention(k, v, order, cnt);
}

struct verdict *verdict_make(const struct model *m, const struct waits_result *w,
			     const struct model *base, const struct waits_result *base_waits,
			     struct arena *arena)
{
	struct verdict *v = ARENA_NEW(arena, struct verdict);
	struct cand *order[FIND_CNT];
	struct court k;
	size_t cnt = 0;

	court_init(&k, m, w, arena);
	if (m->stack_sum_cnt)
		k.s = stacks_make(m, &(struct stacks_opts){.idle = true}, arena);
	v->seconds = k.window_ns / 1e9;
	v->findings = ARENA_ARRAY(arena, struct finding, FIND_CNT + CARRIERS_MAX + 3);
	v->subject = subject_of(&k);
	k.unwatched = is_unwatched(&k);
	weigh_causes(&k);
	weigh_disk(&k);
	weigh_clients(&k);
	weigh_loop(&k);
	weigh_queue(&k);
	weigh_cpu(&k);
	weigh_unasked(&k);
	carriers_split(&k);
	for (unsigned i = 0; i < FIND_CNT; i++) {
		if (i != FIND_DEADLOCK)
			order[cnt++] = &k.cand[i];
	}
	qsort(order, cnt, sizeof(*order), by_ns);
	if (stopped_add(&k, v)) {
		mention(&k, v, order, cnt);
	} else if (deadlock_add(&k, v)) {
		/* the locks of the circle are in it already */
		k.cand[FIND_LOCK_HELD].ns = k.cand[FIND_LOCK_CONVOY].ns = 0;
		mention(&k, v, order, cnt);
	} else if (death_add(&k, v)) {
		; /* what it waited for before is no matter any more */
	} else if (spin_add(&k, v)) {
		mention(&k, v, order, cnt);
	} else {
		decide(&k, v, order, cnt);
	}
	next_steps_rest(&k, v);
	tail_judge(&k, v);
	confidence_judge(&k, v);
	names_missing(v);
	if (v->nameless.cnt) {
		v->nameless.at = v->unseen_cnt;
		unseen_add(&k, v, nameless_text(&v->nameless, arena));
	}
	losses_list(&k, v);
	calls_losses(&k, v);
	if (base && base_waits)
		compare(&k, base, base_waits, v);
	return v;
}
