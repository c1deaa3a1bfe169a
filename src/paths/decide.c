/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies the rules in their order.  A gated rule is first held, process by process,
 * against the calls that earlier rules have decided.
 */
#include "paths/paths_int.h"

struct tally {			/* of one process */
	uint32_t known, agree;
};

#define ANSWERED(p, i) ((p)->calls.items[i].answer_ns != 0)

static bool gate(const struct tally *t)
{
	return t->known >= PATH_GATE_CNT && t->agree >= PATH_GATE_AGREE * t->known;
}

static size_t proc_idx(struct paths *p, uint32_t tgid)
{
	return (size_t)(paths_proc(p, tgid) - p->procs.items);
}

static void give(struct paths *p, uint32_t call, enum call_rule rule, uint32_t request)
{
	struct paths_call *c = &p->calls.items[call];

	if (c->request != PATHS_NONE || request == PATHS_NONE || !c->answer_ns)
		return;
	if (p->requests.items[request].shared || p->conns.items[c->conn].shared)
		return;
	if (!paths_fits(&p->requests.items[request], c)) {
		p->result.refused_cnt[rule]++;
		return;
	}
	c->request = request;
	c->rule = rule;
}

static void apply(struct paths *p, enum call_rule rule)
{
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		if (!call_rules[rule].gated || paths_proc(p, p->calls.items[i].tgid)->open[rule])
			give(p, i, rule, p->evidence.items[i].by[rule]);
	}
}

/* Opens the gate of the rule where calls known otherwise agree with it. */
static void calibrate(struct paths *p, enum call_rule rule)
{
	VEC(struct tally) tallies = {0};

	for (size_t i = 0; i < p->procs.cnt; i++)
		vec_add(&tallies);
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		uint32_t is = p->calls.items[i].request, by = p->evidence.items[i].by[rule];
		struct tally *t = &tallies.items[proc_idx(p, p->calls.items[i].tgid)];

		t->known += is != PATHS_NONE && by != PATHS_NONE;
		t->agree += is != PATHS_NONE && by == is;
	}
	for (size_t i = 0; i < p->procs.cnt; i++)
		p->procs.items[i].open[rule] |= !p->procs.items[i].switches &&
						gate(&tallies.items[i]);
	vec_release(&tallies);
}

/*
 * Whether answers lead to replies: nearly all do, or what follows the answer and what
 * followed the request name the same request.
 */
static void calibrate_answers(struct paths *p)
{
	VEC(struct tally) habits = {0}, pairs = {0};

	for (size_t i = 0; i < p->procs.cnt; i++) {
		vec_add(&habits);
		vec_add(&pairs);
	}
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		const struct path_evidence *e = &p->evidence.items[i];
		size_t proc = proc_idx(p, p->calls.items[i].tgid);
		uint32_t ends = e->by[PATH_RULE_ANSWER], begins = e->by[PATH_RULE_READ];

		if (p->calls.items[i].request != PATHS_NONE || !ANSWERED(p, i))
			continue;
		habits.items[proc].known++;
		habits.items[proc].agree += e->led_on;
		pairs.items[proc].known += ends != PATHS_NONE && begins != PATHS_NONE;
		pairs.items[proc].agree += ends != PATHS_NONE && begins == ends;
	}
	for (size_t i = 0; i < p->procs.cnt; i++) {
		const struct tally *h = &habits.items[i];

		p->procs.items[i].open[PATH_RULE_ANSWER] |=
			!p->procs.items[i].switches &&
			((h->known >= PATH_GATE_CNT && h->agree >= PATH_GATE_HABIT * h->known) ||
			 gate(&pairs.items[i]));
	}
	vec_release(&habits);
	vec_release(&pairs);
}

/* ---- the next call of the same request */

static void calibrate_next(struct paths *p)
{
	VEC(struct tally) tallies = {0};

	for (size_t i = 0; i < p->procs.cnt; i++)
		vec_add(&tallies);
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		uint32_t before = p->evidence.items[i].after, is = p->calls.items[i].request;
		struct tally *t = &tallies.items[proc_idx(p, p->calls.items[i].tgid)];

		if (before == PATHS_NONE || is == PATHS_NONE ||
		    p->calls.items[before].request == PATHS_NONE)
			continue;
		t->known++;
		t->agree += p->calls.items[before].request == is;
	}
	for (size_t i = 0; i < p->procs.cnt; i++)
		p->procs.items[i].open[PATH_RULE_NEXT] = !p->procs.items[i].switches &&
							 gate(&tallies.items[i]);
	vec_release(&tallies);
}

/* Forward along the answers, then back. */
static void apply_next(struct paths *p)
{
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		uint32_t before = p->evidence.items[i].after;

		if (before != PATHS_NONE &&
		    paths_proc(p, p->calls.items[i].tgid)->open[PATH_RULE_NEXT])
			give(p, i, PATH_RULE_NEXT, p->calls.items[before].request);
	}
	for (uint32_t i = (uint32_t)p->calls.cnt; i-- > 0;) {
		uint32_t before = p->evidence.items[i].after;

		if (before != PATHS_NONE &&
		    paths_proc(p, p->calls.items[i].tgid)->open[PATH_RULE_NEXT])
			give(p, before, PATH_RULE_NEXT, p->calls.items[i].request);
	}
}

/* ---- only one request can be it */

struct fits {			/* how many open requests of the process may hold the call */
	uint32_t cnt, request;
};

static bool may_hold(const struct paths *p, uint32_t request, const struct paths_call *c)
{
	const struct paths_request *r = &p->requests.items[request];

	return r->tgid == c->tgid && r->arrival_ns <= c->start_ns &&
	       paths_open_until(p, r) >= c->answer_ns;
}

static void only_one(struct paths *p)
{
	VEC(struct tally) tallies = {0};
	VEC(uint32_t) open = {0};
	size_t next = 0;

	for (size_t i = 0; i < p->procs.cnt; i++)
		vec_add(&tallies);
	for (uint32_t r = 0; r < p->requests.cnt; r++) {
		if (!p->requests.items[r].arrival_ns)
			vec_push(&open, r);
	}
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		const struct paths_call *c = &p->calls.items[i];
		struct tally *t = &tallies.items[proc_idx(p, c->tgid)];
		struct fits f = {0, PATHS_NONE};
		size_t kept = 0;

		for (; next < p->requests.cnt &&
		       p->requests.items[next].arrival_ns <= c->start_ns; next++) {
			if (p->requests.items[next].arrival_ns)
				vec_push(&open, (uint32_t)next);
		}
		for (size_t k = 0; k < open.cnt; k++) {
			uint32_t r = open.items[k];

			if (paths_open_until(p, &p->requests.items[r]) < c->start_ns)
				continue;
			open.items[kept++] = r;
			if (may_hold(p, r, c))
				f = (struct fits){f.cnt + 1, r};
		}
		open.cnt = kept;
		if (!c->answer_ns)
			continue;
		t->known++;
		t->agree += f.cnt == 0;
		if (f.cnt == 1)
			p->evidence.items[i].by[PATH_RULE_ONLY] = f.request;
	}
	for (size_t i = 0; i < p->procs.cnt; i++)
		p->procs.items[i].open[PATH_RULE_ONLY] =
			tallies.items[i].agree <= PATH_ALONE_SHARE * tallies.items[i].known;
	vec_release(&tallies);
	vec_release(&open);
}

/* ---- calls that begin side by side */

static bool overlap(const struct paths_call *a, const struct paths_call *b)
{
	return a->start_ns < b->answer_ns && b->start_ns < a->answer_ns;
}

/* Threads that read requests or answer for many make calls of their own. */
static bool is_pool_call(struct paths *p, const struct paths_call *c)
{
	const struct path_thread *t = paths_thread(p, c->caller, c->tgid);

	return !t->read.cnt && !t->is_busy && c->answered_by == c->caller;
}

/* The call of the same process that is before in order of start; PATHS_NONE at first. */
static void beside(struct paths *p, uint32_t *before)
{
	VEC(uint32_t) last = {0};

	for (size_t i = 0; i < p->procs.cnt; i++)
		vec_push(&last, PATHS_NONE);
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		size_t proc = proc_idx(p, p->calls.items[i].tgid);

		before[i] = last.items[proc];
		if (ANSWERED(p, i))
			last.items[proc] = i;
	}
	vec_release(&last);
}

static void calibrate_sibling(struct paths *p, const uint32_t *before)
{
	VEC(struct tally) tallies = {0};
	struct hmap last = {0};	/* call of each request */

	for (size_t i = 0; i < p->procs.cnt; i++)
		vec_add(&tallies);
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		const struct paths_call *c = &p->calls.items[i];
		struct tally *t = &tallies.items[proc_idx(p, c->tgid)];
		uint64_t other;

		if (c->request == PATHS_NONE)
			continue;
		if (hmap_get(&last, c->request, &other) && overlap(&p->calls.items[other], c)) {
			t->known++;
			t->agree += before[i] == other;
		}
		hmap_put(&last, c->request, i);
	}
	for (size_t i = 0; i < p->procs.cnt; i++)
		p->procs.items[i].open[PATH_RULE_SIBLING] =
			tallies.items[i].known >= PATH_GATE_CNT &&
			tallies.items[i].agree >= PATH_GATE_BESIDE * tallies.items[i].known;
	hmap_release(&last);
	vec_release(&tallies);
}

/*
 * A result wakes nobody that is ready before it is waited for: while its handler still
 * waits for a call that it made earlier and that is answered later.
 */
static void sibling_try(struct paths *p, uint32_t call, uint32_t other)
{
	const struct paths_call *c = &p->calls.items[call], *o = &p->calls.items[other];
	uint32_t *by = &p->evidence.items[call].by[PATH_RULE_SIBLING];

	if (*by == PATHS_NONE && c->request == PATHS_NONE && o->request != PATHS_NONE &&
	    overlap(c, o) && o->answer_ns > c->answer_ns && is_pool_call(p, c) &&
	    paths_fits(&p->requests.items[o->request], c))
		*by = o->request;
}

struct idle_requests {		/* that were answered, and of which no call is known */
	VEC(uint32_t) items;
};

static void idle_find(const struct paths *p, struct idle_requests *idle)
{
	VEC(uint32_t) cnts = {0};
	size_t cnt = 0;

	vec_reserve(&cnts, p->requests.cnt + 1);
	for (uint32_t i = 0; i < p->requests.cnt; i++)
		cnts.items[i] = 0;
	VEC_FOREACH(&p->calls, c) {
		if (c->request != PATHS_NONE)
			cnts.items[c->request]++;
	}
	for (uint32_t i = 0; i < p->requests.cnt; i++) {
		if (cnts.items[i] || !p->requests.items[i].arrival_ns ||
		    p->requests.items[i].shared)
			continue;
		cnt += p->requests.items[i].reply_ns != 0;
		vec_push(&idle->items, i);
	}
	if ((double)cnt > PATH_IDLE_SHARE * (double)p->requests.cnt) /* they make none */
		vec_clear(&idle->items);
	vec_release(&cnts);
}

/* Requests make calls here, and one without any could be whose this call is. */
static bool may_be_idle(const struct paths *p, const struct idle_requests *idle,
			const struct paths_call *c)
{
	VEC_FOREACH(&idle->items, i) {
		const struct paths_request *r = &p->requests.items[*i];

		if (paths_fits(r, c))
			return true;
	}
	return false;
}

static void siblings(struct paths *p)
{
	struct idle_requests idle = {0};
	VEC(uint32_t) before = {0};

	vec_reserve(&before, p->calls.cnt + 1);
	beside(p, before.items);
	calibrate_sibling(p, before.items);
	idle_find(p, &idle);
	for (uint32_t i = 0; i < p->calls.cnt; i++) {
		if (before.items[i] != PATHS_NONE && ANSWERED(p, i) &&
		    p->calls.items[i].request == PATHS_NONE &&
		    !may_be_idle(p, &idle, &p->calls.items[i]))
			sibling_try(p, i, before.items[i]);
	}
	apply(p, PATH_RULE_SIBLING);
	vec_release(&before);
	vec_release(&idle.items);
}

/* ---- from process to process */

static uint64_t host_key(uint32_t tgid, const struct path_sock *s, bool asks)
{
	uint64_t key = paths_ends_key(s, asks);

	return key ? hash_pair(key, tgid >> PATHS_HOST_SHIFT) : 0;
}

/*
 * A request that a call of another followed process is: by the two ends, and by time.
 * Not where several share the connection.
 */
static void parents(struct paths *p)
{
	struct hmap last = {0};	/* call and 1, by the two ports */
	size_t next = 0;

	VEC_FOREACH(&p->requests, r) {
		uint64_t call;

		for (; next < p->calls.cnt; next++) {
			const struct paths_call *c = &p->calls.items[next];
			uint64_t key = host_key(c->tgid, &c->at, true);

			if (p->calls.items[next].start_ns > r->arrival_ns)
				break;
			if (key)
				hmap_put(&last, key, next);
		}
		if (!r->shared && hmap_get(&last, host_key(r->tgid, &r->at, false), &call) &&
		    p->calls.items[call].tgid != r->tgid &&
		    (!p->calls.items[call].end_ns || p->calls.items[call].end_ns >= r->arrival_ns))
			r->parent = (uint32_t)call;
	}
	hmap_release(&last);
}

void paths_decide(struct paths *p)
{
	VEC_FOREACH(&p->calls, c)
		paths_proc(p, c->tgid);
	apply(p, PATH_RULE_THREAD);
	apply(p, PATH_RULE_FINISH);
	apply(p, PATH_RULE_RESULT);
	only_one(p);
	calibrate_answers(p);
	calibrate(p, PATH_RULE_ANSWER);
	apply(p, PATH_RULE_ANSWER);
	calibrate(p, PATH_RULE_READ);
	apply(p, PATH_RULE_READ);
	calibrate_next(p);
	apply_next(p);
	calibrate(p, PATH_RULE_IDLE);
	apply(p, PATH_RULE_IDLE);
	apply(p, PATH_RULE_ONLY);
	siblings(p);
	parents(p);
}
