/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What could have refuted a finding, and how much each doubt costs.  First the
 * rule, which knows numbers only; then where the numbers come from; then what
 * each class should show beside the time that speaks for it.
 */
#include "verdict/confidence.h"

#include <stdarg.h>
#include <string.h>

#include "base/alike.h"
#include "functions/functions.h"
#include "verdict/evidence/shed.h"
#include "verdict/context/tail.h"
#include "verdict/context/context.h"

/*
 * Housekeeping comes by the second or every few: in less there is one spell of it, or none.
 * Five seconds, of which the begin and the end may be cut.
 */
#define WATCH_MIN 4.5
/* Where all of n did the same, up to 3/n of all may not (the rule of three): a tenth here. */
#define REQUESTS_MIN 30
/* Three stalls that are told alike leave little doubt; two may be chance. */
#define STALLS_MIN 3
/* With more than this lost, sums may lean either way; with a fifth they tell little. */
#define LOST_SOME 0.05
#define LOST_MUCH 0.20
/* Explained with room for an error; and less than what speaks for something else. */
#define SHARE_SURE 0.6
#define SHARE_DOUBT 0.4
/* From the p99 on people speak of a slow server. */
#define SLOW_MIN 0.01

static uint8_t share_cost(const struct grounds *g, double error)
{
	double share = g->share - error;

	return share < SHARE_DOUBT ? 2 : share < SHARE_SURE;
}

static uint8_t second_cost(const struct grounds *g, double error)
{
	double share = g->share - error, second = g->second + error;

	if (g->second <= 0)
		return 0;
	return second >= share ? 2 : 2 * second >= share;
}

static uint8_t seen_cost(const struct grounds *g)
{
	if (g->of_tail)
		return g->seen < 2 ? 2 : g->seen < STALLS_MIN;
	return !g->always && g->seen < REQUESTS_MIN;
}

unsigned confidence_level(const struct grounds *g, uint8_t by[DOUBT_CNT])
{
	double error = g->error > 0 ? g->error : 0;
	unsigned sum = 0;

	by[DOUBT_TIME] = g->seconds < WATCH_MIN;
	by[DOUBT_REQUESTS] = seen_cost(g);
	by[DOUBT_LOST] = g->lost > LOST_MUCH ? 2 : g->lost > LOST_SOME;
	by[DOUBT_SAMPLE] = g->error < 0;
	by[DOUBT_SHARE] = share_cost(g, error);
	by[DOUBT_SECOND] = second_cost(g, error);
	by[DOUBT_OPEN] = g->open > 0;
	by[DOUBT_SLOW] = g->slow >= SLOW_MIN;
	by[DOUBT_EVIDENCE] = g->lacks;
	by[DOUBT_SMALL] = g->small;
	by[DOUBT_NOT_TOLD] = g->not_told ? 2 : 0;
	for (unsigned i = 0; i < DOUBT_CNT; i++)
		sum += by[i];
	return sum >= CONF_HIGH - CONF_LOW ? CONF_LOW : CONF_HIGH - sum;
}

/* ---- where the numbers come from ---- */

/* Several may lack: the one that costs most is told. */
static void lack(struct court *k, struct finding *f, unsigned by, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void lack(struct court *k, struct finding *f, unsigned by, const char *fmt, ...)
{
	va_list ap;

	if (by <= f->lacks)
		return;
	va_start(ap, fmt);
	f->lacks = (uint8_t)by;
	f->lack = arena_vprintf(k->arena, fmt, ap);
	va_end(ap);
}

/* What the requests that the sums are of had beside the finding's own. */
struct rest {
	double error, lost, slow;
	uint64_t hang, hang_ms;	/* requests that hang, the oldest for */
};

static double share_of(const struct court *k, double ns)
{
	return k->demand_ns > 0 ? ns / k->demand_ns : 0;
}

static bool holds_up(unsigned cls)
{
	return cls != FIND_HEALTHY && cls != FIND_UNKNOWN;
}

/* What explains most beside a class; NULL nothing does.  Slow clients are no ill. */
static const struct cand *next_of(const struct court *k, unsigned cls)
{
	const struct cand *best = NULL;

	for (unsigned i = 0; i < FIND_CNT; i++) {
		const struct cand *c = &k->cand[i];

		if (i != cls && holds_up(i) && c->ns > 0 &&
		    !(i == FIND_CLIENTS && cls == FIND_HEALTHY) &&
		    (!best || c->ns > best->ns))
			best = c;
	}
	return best;
}

/*
 * Owed an answer for longer than nearly all took, and than anybody takes for no
 * delay.  Who asks and never gets an answer is in no figure of those answered.
 */
static bool hangs(const struct court *k, const struct ev_conn *c, uint64_t ms)
{
	uint32_t p = model_proc_by_tgid(k->m, c->tgid);

	return p != NO_IDX && k->m->procs[p].target && ms * 1000000 > WAITS_STALL_NS &&
	       ms * 1000000 > k->w->total.p99_ns;
}

static void hanging(const struct court *k, struct rest *r)
{
	const struct wreq *q = &k->w->total;

	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		bool owed = c->role == ROLE_SERVER;
		uint32_t cnt = owed ? c->owe_reply : c->await_reply;
		uint64_t ms = owed ? c->oldest_owe_ms : c->oldest_await_ms;

		if (!cnt || !hangs(k, c, ms))
			continue;
		r->hang += cnt;
		r->hang_ms = ms > r->hang_ms ? ms : r->hang_ms;
	}
	if (!r->hang && is_owed(k)) {
		r->hang = q->owed_cnt ? q->owed_cnt : 1;
		r->hang_ms = (q->owed_cnt ? q->stale_oldest_ns : q->open_oldest_ns) / 1000000;
	}
}

static struct rest rest_of(struct court *k, const struct tail *t)
{
	const struct model *m = k->m;
	double lost = (double)(m->loss.cnt[LOSS_RING] + m->loss.cnt[LOSS_SEQ]);
	double all = (double)(m->wait_cnt + m->waits_dropped_cnt) + lost;
	struct rest r = { .lost = all > 0 ? lost / all : 0 };

	if (m->kept_ns < m->end_ns - m->begin_ns)
		r.error = shed_error(k);
	if (t && t->requests)
		r.slow = (double)t->slow_cnt / (double)t->requests;
	hanging(k, &r);
	return r;
}

/* Part of the work of these classes is to wait for others, so little of it is no hold-up. */
static bool may_be_work(unsigned cls)
{
	return cls == FIND_EXTERNAL || cls == FIND_PEER || cls == FIND_DISK_OWN ||
	       cls == FIND_FSYNC || cls == FIND_TIMER;
}

/* Of a request, as the thresholds of the verdict have it: not felt. */
#define SMALL_NS 5e6

static double each_ns(const struct court *k, const struct finding *f)
{
	return k->turns > 0 ? f->share * k->demand_ns / k->turns : k->window_ns;
}

static struct grounds grounds_of(const struct court *k, const struct finding *f,
				 const struct rest *r)
{
	const struct cand *next = next_of(k, f->cls);
	bool healthy = f->cls == FIND_HEALTHY, requests = k->w->demand_kind == 1;
	struct grounds g = { .seconds = k->window_ns / 1e9, .lost = r->lost, .error = r->error,
			     .share = f->share, .lacks = f->lacks };

	/* which of several it is may be in doubt, what it is is not */
	if (k->cand[f->cls].more_ns > 0)
		g.share = share_of(k, k->cand[f->cls].ns);
	g.seen = (uint64_t)k->turns + k->w->total.open_now;
	g.always = requests || !healthy ? k->demand_ns >= k->window_ns : false;
	g.second = next ? share_of(k, next->ns) : 0;
	g.small = may_be_work(f->cls) && each_ns(k, f) < SMALL_NS;
	switch (f->cls) {
	case FIND_UNKNOWN:
		g.not_told = true;
		g.share = 1;
		g.second = 0;
		break;
	case FIND_HEALTHY:
		/* at ease the little that there is may be anything */
		g.share = !next || at_ease(k, next) ? 1 : share_of(k, k->cand[FIND_HEALTHY].ns);
		g.second = g.share < 1 ? g.second : 0;
		g.seen = requests ? g.seen : 0;
		g.open = r->hang;
		g.slow = r->slow;
		break;
	case FIND_WORKERS:
		/* a pool is named beside what fills it: both hold of the same time */
		g.second = k->pool.ns > 0 ? 0 : g.second;
		break;
	case FIND_CLIENTS:
		g.open = r->hang;
		g.slow = r->slow;
		break;
	case FIND_DEADLOCK:
	case FIND_STOPPED:
	case FIND_ENDLESS:
	case FIND_DIED:
		/* told from the threads themselves: no sum of time speaks against it */
		g.second = 0;
		g.always = true;
		break;
	}
	return g;
}

static struct grounds grounds_of_stall(const struct court *k, const struct stall_finding *s,
				       const struct rest *r)
{
	/* who computes long in a request of its own may be meant to */
	return (struct grounds){ .seconds = k->window_ns / 1e9, .of_tail = true, .seen = s->cnt,
				 .lost = r->lost, .share = s->f.share, .lacks = s->f.lacks,
				 .not_told = s->f.cls == FIND_UNKNOWN ||
					     s->f.cls == FIND_CPU_OWN };
}

static const char *requests_text(struct court *k, const struct grounds *g)
{
	if (!g->of_tail && !g->seen)
		return "no requests were seen";
	return arena_printf(k->arena, "only %llu %s%s", (unsigned long long)g->seen,
			    g->of_tail ? "stall" : "request", g->seen == 1 ? " was seen"
								      : "s were seen");
}

static const char *second_text(struct court *k, const struct finding *f)
{
	const struct cand *next = next_of(k, f->cls);

	return arena_printf(k->arena, "%s explains %.0f %% beside it",
			    next ? finding_title(next->cls) : "another cause",
			    100 * (next ? share_of(k, next->ns) : 0));
}

static const char *doubt_text(struct court *k, const struct finding *f, const struct grounds *g,
			      const struct rest *r, unsigned doubt)
{
	switch (doubt) {
	case DOUBT_TIME:
		return arena_printf(k->arena, "watched for %.1f s only", g->seconds);
	case DOUBT_REQUESTS:
		return requests_text(k, g);
	case DOUBT_LOST:
		return arena_printf(k->arena, "%.0f %% of the records were lost", 100 * g->lost);
	case DOUBT_SAMPLE:
		return "shares are of one stretch of time";
	case DOUBT_SHARE:
		return arena_printf(k->arena, "%.0f %% of the time is not explained%s",
				    100 - 100 * g->share, g->error < 0.005 ? "" :
				    arena_printf(k->arena, ", +-%.0f %%", 100 * g->error));
	case DOUBT_SECOND:
		return second_text(k, f);
	case DOUBT_OPEN:
		return arena_printf(k->arena, "%llu request%s wait%s for an answer, the oldest for "
				    "%s", (unsigned long long)g->open, g->open == 1 ? "" : "s",
				    g->open == 1 ? "s" : "", ns_text(k, r->hang_ms * 1e6));
	case DOUBT_SLOW:
		return arena_printf(k->arena, "%.1f %% of the requests were slow, and why is not "
				    "told", 100 * g->slow);
	case DOUBT_EVIDENCE:
		return f->lack;
	case DOUBT_SMALL:
		return arena_printf(k->arena, "it is %s of a request, which may be its usual work",
				    ns_text(k, each_ns(k, f)));
	default:
		return "what the time went into was not seen, or two causes are as likely";
	}
}

static void judge(struct court *k, struct finding *f, const struct grounds *g,
		  const struct rest *r)
{
	uint8_t by[DOUBT_CNT];

	f->conf = (uint8_t)confidence_level(g, by);
	f->doubts = ARENA_ARRAY(k->arena, const char *, DOUBT_CNT + 1);
	for (unsigned cost = 2; cost; cost--) {
		for (unsigned i = 0; i < DOUBT_CNT; i++)
			if (by[i] == cost)
				f->doubts[f->doubt_cnt++] = doubt_text(k, f, g, r, i);
	}
}

void confidence_judge(struct court *k, struct verdict *v)
{
	struct rest r = rest_of(k, v->tail);

	for (size_t i = 0; i < v->finding_cnt + v->candidate_cnt; i++) {
		struct finding *f = i < v->finding_cnt ? &v->findings[i]
						       : &v->candidates[i - v->finding_cnt];
		struct grounds g;

		if (f->of_tail)
			continue;
		if (f->cls == FIND_STOPPED && !*f->culprit.comm)
			lack(k, f, 1, "who stops it was not seen");
		g = grounds_of(k, f, &r);
		judge(k, f, &g, &r);
	}
	for (size_t i = 0; v->tail && i < v->tail->stall_cnt; i++) {
		struct stall_finding *s = &v->tail->stalls[i];
		struct grounds g = grounds_of_stall(k, s, &r);

		judge(k, &s->f, &g, &r);
		if (!s->heads)
			continue;
		v->findings[0].conf = s->f.conf;
		v->findings[0].doubts = s->f.doubts;
		v->findings[0].doubt_cnt = s->f.doubt_cnt;
	}
}

/* ---- the other engine ---- */

/* Published rankings have the guilty function among the first five. */
#define FNS_HEARD 5
/* Of all work, what is more than usual: as much as a verdict must explain. */
#define HARM_MIN 0.30

static bool on_chain(const struct finding *f, const char *name)
{
	for (size_t i = 0; i < f->chain_len; i++) {
		for (size_t n = 0; n < f->chain[i].fn_cnt; n++) {
			const struct step_fns *fns = &f->chain[i].fns[n];

			for (uint32_t x = 0; x < fns->name_cnt; x++)
				if (!strcmp(fns->names[x], name))
					return true;
		}
	}
	return false;
}

static bool has_functions(const struct finding *f)
{
	for (size_t i = 0; i < f->chain_len; i++)
		if (f->chain[i].fn_cnt)
			return true;
	return false;
}

/* Does r, of which some function stands out, contradict f? */
static bool contradicts(const struct functions_result *r, const struct finding *f)
{
	if (f->cls == FIND_HEALTHY || f->cls == FIND_CLIENTS)
		return (double)r->harm_ns >= HARM_MIN * (double)r->busy_ns;
	if (!has_functions(f))
		return false;
	for (size_t i = 0; i < r->fn_cnt && r->fns[i].rank <= FNS_HEARD; i++)
		if (on_chain(f, r->fns[i].name))
			return false;
	return true;
}

void confidence_hear(struct verdict *v, const struct functions_result *r, struct arena *arena)
{
	struct finding *f = &v->findings[0];
	const char **doubts;

	/* where nobody's function is to blame, or none stands out, there is nothing to compare */
	if (!r || !r->fn_cnt || r->by_signatures || r->thin & THIN_NO_HARM || r->outside.kind ||
	    f->cls == FIND_UNKNOWN || !contradicts(r, f))
		return;
	doubts = ARENA_ARRAY(arena, const char *, f->doubt_cnt + 1);
	for (size_t i = 0; i < f->doubt_cnt; i++)
		doubts[i] = f->doubts[i];
	doubts[f->doubt_cnt++] = arena_printf(arena, "its system calls point elsewhere: %s first",
					      r->fns[0].name);
	f->doubts = doubts;
	f->conf = f->conf > CONF_LOW ? f->conf - 1 : CONF_LOW;
}

/* ---- what each class should show ---- */

/* Less than this to spare, and the CPUs are used up. */
#define HOST_FULL_IDLE 0.10
/* Of the window: a thread that lives for one piece of work does not rest in it. */
#define ROOM_LIFE_MIN 0.5
/* Open on average: half of the time it waits for somebody, and for no request that is known. */
#define ASKED_MIN 0.5
/* Of the threads' time together, as one thread: less is what any thread waits for a CPU. */
#define CPU_WAIT_MIN 0.05

static void weigh_states(const struct court *k, double *ret_run, double *ret_runq)
{
	*ret_run = *ret_runq = 0;
	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (!thread_is_target(k->m, t))
			continue;
		*ret_run += (double)k->m->threads[t].ns[ST_RUN];
		*ret_runq += (double)k->m->threads[t].ns[ST_RUNQ];
	}
}

static bool is_full(const struct court *k, uint32_t t)
{
	const struct thread *th = &k->m->threads[t];

	return th->tracked && never_rests(th) &&
	       (double)(th->end_ns - th->begin_ns) >= ROOM_LIFE_MIN * k->window_ns;
}

/* It has the CPUs: a thread of it never rests, or there are none to spare and most are its own. */
static void lacks_own_cpu(struct court *k, struct finding *f, const struct cand *c)
{
	double run, runq, busy = (double)k->m->host.cpu_busy_ns;

	if (c->loop != NO_IDX && is_full(k, c->loop))
		return;
	weigh_states(k, &run, &runq);
	if (k->host_idle >= HOST_FULL_IDLE)
		lack(k, f, 1, "no thread of it runs all the time, and the CPUs are %.0f %% idle",
		     100 * k->host_idle);
	else if (2 * run < busy)
		lack(k, f, 1, "only %.0f %% of what the CPUs do is its own", percent(run, busy));
}

/* Threads wait for a CPU, and who is named runs meanwhile. */
static void lacks_neighbour(struct court *k, struct finding *f, const struct cand *c)
{
	double run, runq, ran = 0;

	weigh_states(k, &run, &runq);
	for (size_t i = 0; i < k->m->culprit_cnt; i++) {
		const struct culprit *u = &k->m->culprits[i];
		uint32_t v = model_proc_by_tgid(k->m, u->victim);

		/* several processes of a program are one neighbour */
		if (u->culprit && v != NO_IDX && k->m->procs[v].target &&
		    named_alike(u->comm, c->neighbour_comm))
			ran += (double)u->ns;
	}
	if (!c->neighbour && !c->steal)
		lack(k, f, 2, "who has the CPUs was not seen");
	if (runq < CPU_WAIT_MIN * k->window_ns)
		lack(k, f, 2, "its threads wait for a CPU only %.1f %% of the time",
		     percent(runq, k->window_ns));
	if (!c->steal && 2 * ran < runq)
		lack(k, f, 10 * ran < runq ? 2 : 1,
		     "%s ran in only %.0f %% of the time that was waited for a CPU",
		     c->neighbour_comm, percent(ran, runq));
}

/*
 * What is not held up has room for more.  Who answers all that wait when its own clock
 * says so may tell them news, or make them wait.
 */
static void lacks_room(struct court *k, struct finding *f)
{
	if (k->w->ticked_ns > k->demand_ns)
		lack(k, f, 2, "%.1f requests were open on average until the server answered them "
		     "all at once: for news, or to make them wait",
		     k->w->ticked_ns / k->window_ns);
	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (!thread_is_target(k->m, t) || !is_full(k, t))
			continue;
		lack(k, f, 1, "%s never rests", thread_label(k, t));
		return;
	}
	if (k->w->total.out_avg - k->w->total.open_avg >= ASKED_MIN)
		lack(k, f, 1, "%.1f questions to others were open on average, %.1f requests to it",
		     k->w->total.out_avg, k->w->total.open_avg);
	if (k->turns > 0 && k->host_idle < HOST_FULL_IDLE)
		lack(k, f, 1, "the CPUs are only %.0f %% idle", 100 * k->host_idle);
}

static void lacks_quota(struct court *k, struct finding *f)
{
	for (size_t i = 0; i < k->m->cgroup_cnt; i++)
		if (k->m->cgroups[i].nr_throttled)
			return;
	lack(k, f, 2, "no cgroup was seen to be held back by a quota");
}

/* Who has the lock waits for another process itself: then the lock is but a link. */
static void lacks_end(struct court *k, struct finding *f, const struct lock *l)
{
	const struct step *s = f->chain_len ? &f->chain[f->chain_len - 1] : NULL;
	uint32_t p = s && s->who.pid ? model_proc_by_tgid(k->m, s->who.pid) : NO_IDX;

	if (p != NO_IDX && !k->m->procs[p].target && thread_is_target(k->m, l->holder))
		lack(k, f, 1, "its holder waits for %s (pid %u) itself", s->who.comm, s->who.pid);
}

/* Then it is not the lock that takes the time, but the CPU that its holders wait for. */
static bool holders_queued(const struct lock *l)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < ST_CNT; i++)
		all += l->holder_st[i];
	return 2 * l->holder_st[ST_RUNQ] > all;
}

static void lacks_holder(struct court *k, struct finding *f, const struct cand *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;

	if (c->by_run) {
		lack(k, f, 1, "no lock was seen: its holder is told by what runs in the stalls "
		     "only");
		return;
	}
	/* few waits make no lock, but say who ended them */
	if (!l && c->top && c->top->depth && c->top->thread != NO_IDX)
		return;
	if (!l || l->holder == NO_IDX) {
		lack(k, f, 2, "its holder was not seen");
		return;
	}
	if (l->presumed)
		lack(k, f, 1, "nobody let go of it: its holder is told by who stopped first");
	else if (holders_queued(l))
		lack(k, f, 1, "who has it mostly waits for a CPU");
	else if (l->virt)
		lack(k, f, 1, "no common lock was seen: it is told from who wakes whom");
	lacks_end(k, f, l);
}

static void lacks_queue(struct court *k, struct finding *f, const struct cand *c)
{
	double waiting = 0;

	if (f->cls == FIND_WORKERS) {
		if (c->group == NO_IDX)
			lack(k, f, 2, "no pool was seen that is busy all the time");
		else if (c->top && c->top->kind == CAUSE_UNSEEN)
			lack(k, f, 1, "what its workers wait for was not seen");
		return;
	}
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		uint32_t p = model_proc_by_tgid(k->m, k->m->listens[i].e.tgid);

		if (p != NO_IDX && k->m->procs[p].target)
			waiting += k->m->listens[i].backlog_avg;
	}
	if (c->lock == NO_IDX && waiting < 1)
		lack(k, f, 1, "the limit itself was not seen: nobody works on these requests");
}

static bool is_limited(const struct model *m)
{
	for (size_t i = 0; i < m->cgroup_cnt; i++) {
		const struct cgroup *g = &m->cgroups[i];

		if (g->io_rbps || g->io_wbps || g->io_riops || g->io_wiops)
			return true;
	}
	return false;
}

/* Time that its threads slept for a disk, each by itself. */
static double file_ns(const struct court *k)
{
	double ns = 0;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const uint64_t *st = k->m->threads[t].ns;

		if (thread_is_target(k->m, t))
			ns += (double)st[ST_WAIT + WAIT_FILE] + (double)st[ST_WAIT + WAIT_FSYNC];
	}
	return ns;
}

/*
 * A thread that waits for a disk has a request in flight there.  Half of that may be
 * missed: a page that several wait for is read once.
 */
static void lacks_disk(struct court *k, struct finding *f, const struct cand *c)
{
	const struct dev *d = c->dev != NO_IDX ? &k->m->devs[c->dev] : NULL;
	double waits = file_ns(k), atmost = waits < k->window_ns ? waits : k->window_ns;

	if (f->cls == FIND_DISK_LIMIT) {
		if (!is_limited(k->m))
			lack(k, f, 2, "no cgroup with an I/O limit was seen");
		return;
	}
	if (f->cls == FIND_DISK_NEIGHBOUR && !c->neighbour)
		lack(k, f, 2, "who keeps the disk busy was not seen");
	if (!d)
		lack(k, f, 2, "no disk was seen at work");
	else if (2 * (double)d->busy_ns < atmost && 2 * (double)d->inflight_ns < waits)
		lack(k, f, f->cls == FIND_FSYNC ? 1 : 2, "%s was busy only %.0f %% of the time",
		     d->name, percent((double)d->busy_ns, k->window_ns));
}

static void lacks_memory(struct court *k, struct finding *f, const struct cand *c)
{
	const struct ev_host *h = &k->m->host;

	if (!h->maj_flt && !h->swap_in && !memory_full(k) &&
	    (!c->top || reclaim_share(k->m, c->top->thread) <= 0))
		lack(k, f, 2, "no page was read in, and no limit of memory was met");
}

/* Who is waited for was asked something, and on this host is seen itself. */
static void lacks_peer(struct court *k, struct finding *f, const struct cand *c)
{
	const struct end *n = c->end != NO_IDX ? &k->m->ends[c->end] : NULL;
	bool seen = false;

	if (!n && c->peer == NO_IDX)
		lack(k, f, 1, "who is at the other end is not known");
	else if (n && !n->turns && !n->open_now && !n->stale_cnt && !n->refused_cnt)
		lack(k, f, 1, "no request to it was seen");
	for (uint32_t t = 0; t < k->m->thread_cnt && f->cls == FIND_PEER; t++)
		seen |= c->peer != NO_IDX && k->m->threads[t].proc == c->peer &&
			k->m->threads[t].tracked;
	if (f->cls == FIND_PEER && !seen && !(n && is_refused(n)))
		lack(k, f, 1, "what it does meanwhile was not seen");
}

/* Answers that clients let lie.  Requests that come in pieces may be many of a kind, too. */
static void lacks_readers(struct court *k, struct finding *f, const struct cand *c)
{
	double ns = 0;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_SERVER && n->proc != NO_IDX && k->m->procs[n->proc].target)
			ns += (double)n->txblock_ns;
	}
	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *e = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, e->tgid);

		if (e->role == ROLE_SERVER && p != NO_IDX && k->m->procs[p].target)
			ns += e->unsent_conns * k->window_ns;
	}
	if (2 * ns < c->ns)
		lack(k, f, 1, "no answers lie untaken: told only from requests in pieces");
}

static void lacks_place(struct court *k, struct finding *f)
{
	if (!f->chain_len || !f->chain[f->chain_len - 1].fn_cnt)
		lack(k, f, 1, "where in the program it sleeps is not known");
	if (k->w->demand_kind != 1)
		lack(k, f, 1, "no request was seen: it may sleep since nothing is asked of it");
}

void evidence_weigh(struct court *k, struct finding *f, const struct cand *c)
{
	switch (f->cls) {
	case FIND_HEALTHY:
		lacks_room(k, f);
		break;
	case FIND_CPU_OWN:
		lacks_own_cpu(k, f, c);
		break;
	case FIND_CPU_NEIGHBOUR:
		lacks_neighbour(k, f, c);
		break;
	case FIND_CPU_QUOTA:
		lacks_quota(k, f);
		break;
	case FIND_LOCK_HELD:
	case FIND_LOCK_CONVOY:
		lacks_holder(k, f, c);
		break;
	case FIND_WORKERS:
	case FIND_CONN_LIMIT:
		lacks_queue(k, f, c);
		break;
	case FIND_DISK_OWN:
	case FIND_DISK_NEIGHBOUR:
	case FIND_DISK_LIMIT:
	case FIND_FSYNC:
		lacks_disk(k, f, c);
		break;
	case FIND_MEMORY:
		lacks_memory(k, f, c);
		break;
	case FIND_EXTERNAL:
	case FIND_PEER:
		lacks_peer(k, f, c);
		break;
	case FIND_CLIENTS:
		lacks_readers(k, f, c);
		break;
	case FIND_TIMER:
		lacks_place(k, f);
		break;
	}
}
