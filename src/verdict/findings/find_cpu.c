/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU: computing is work, not a hold-up, until there is no more of it to have.  Then it is
 * the target's own load, a neighbour, or a quota.
 */
#include "base/alike.h"
#include "functions/functions.h"
#include "verdict/chain/chain.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/tail.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/cpu_users.h"
#include "verdict/evidence/forks.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

/* A thread that fills a CPU with the target's own work, this part of the time. */
#define OWN_FULL 0.85
/* The process uses this much of a CPU to be the one who uses the CPUs up. */
#define OWN_MIN 0.30
/* A thread waits for a CPU that is to hold it up: less is what time slices cost on any machine. */
#define RUNQ_MIN 0.05
/* A request that computes this long is felt even on an idle machine. */
#define LONG_RUN_NS 50e6
/* Share of the threads' time together: less is what any thread waits for a CPU. */
#define CPU_WAIT_MIN 0.05

/* ---- demand ---- */

static bool claims_own(const struct context *k, const struct cause *c)
{
	(void)k;
	return c->kind == CAUSE_RUN || c->kind == CAUSE_RUNQ_SELF;
}

static bool claims_neighbour(const struct context *k, const struct cause *c)
{
	(void)k;
	return c->kind == CAUSE_RUNQ_OTHER;
}

static bool claims_quota(const struct context *k, const struct cause *c)
{
	(void)k;
	return c->kind == CAUSE_RUNQ_QUOTA;
}

/* Waits for a CPU in the demand laid on a thread, and its part that the target itself ran in. */
struct queued {
	double self, all;
};

static struct queued *queued_by_thread(const struct context *k)
{
	struct queued *by = ARENA_ARRAY(k->arena, struct queued, k->m->thread_cnt + 1);

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		bool self = c->kind == CAUSE_RUNQ_SELF;

		if (c->thread == NO_IDX || !(self || c->kind == CAUSE_RUNQ_OTHER ||
					     c->kind == CAUSE_RUNQ_QUOTA))
			continue;
		by[c->thread].all += c->ns;
		by[c->thread].self += self ? c->ns : 0;
	}
	return by;
}

/*
 * Running, or runnable while the target has the CPU: time that others take is not its
 * load, its clients on this host among them.
 */
static double thread_cpu(const struct thread *th, const struct cpu_users *users, struct queued q)
{
	double life = th->end_ns > th->begin_ns ? th->end_ns - th->begin_ns : 1;

	if (users->peers + users->beside > 0)
		q.self *= users->own / (users->own + users->peers + users->beside);
	return (th->ns[ST_RUN] + (q.all > 0 ? th->ns[ST_RUNQ] * q.self / q.all : 0)) / life;
}

/* A thread that requests go through and that never rests. */
static uint32_t full_thread(const struct context *k)
{
	const struct queued *queued = queued_by_thread(k);
	struct cpu_users users = cpu_users(k);
	uint32_t best = NO_IDX;
	double most = OWN_FULL;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		const struct thread *th = &k->m->threads[t];
		double cpu;

		if (!thread_is_target(k->m, t) || !thread_is_full(k, t) || k->beside[th->proc])
			continue;
		cpu = thread_cpu(th, &users, queued[t]);
		if (cpu >= most) {
			most = cpu;
			best = t;
		}
	}
	return best;
}

static void neighbour_find(struct context *k)
{
	struct cand *c = &k->cand[FIND_CPU_NEIGHBOUR];
	double best = 0;
	size_t cnt;
	const struct ran *ran = who_ran(k, &cnt);

	for (size_t i = 0; i < cnt && !best; i++) {
		if (!is_neighbour(k, ran[i].first))
			continue;
		best = ran[i].ns;
		c->neighbour = ran[i].first->culprit;
		c->neighbour_comm = ran[i].first->comm;
	}
	c->steal = k->host_steal > 0.10 && best < k->host_steal * k->window_ns;
}

/* The thread wants a CPU for a part of its time and has none, or there is none to have. */
static bool lacks_cpu(const struct context *k, uint32_t t)
{
	const struct thread *th = t != NO_IDX ? &k->m->threads[t] : NULL;

	return k->host_idle < HOST_FULL_IDLE || !th ||
	       th->ns[ST_RUNQ] >= RUNQ_MIN * (th->end_ns - th->begin_ns);
}

/* A short wait for a CPU may stand for many requests; that makes it no lack of CPU. */
static void weigh_lack(struct context *k)
{
	struct cand *c = &k->cand[FIND_CPU_NEIGHBOUR];

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *x = &k->w->causes[i];

		if (x->kind != CAUSE_RUNQ_OTHER || !proc_is_target(k->m, x->entry_proc) ||
		    lacks_cpu(k, x->thread))
			continue;
		k->cand[FIND_HEALTHY].ns += x->ns;
		c->ns -= x->ns;
	}
	if (c->ns < 1)
		c->ns = 0;
}

static bool asks_target(const struct context *k, uint32_t tgid)
{
	for (size_t i = 0; i < k->m->conn_last_cnt; i++) {
		const struct ev_conn *c = &k->m->conns_last[i];
		uint32_t p = model_proc_by_tgid(k->m, c->tgid);

		if (c->role == ROLE_SERVER && c->peer_tgid == tgid && proc_is_target(k->m, p))
			return true;
	}
	return false;
}

/*
 * The CPUs are used up, and mostly not by the target: what it waits for one is the doing
 * of those who have them, a child that it forked for something else among them.  A client
 * on this host that takes the CPUs is its own slow side.
 */
static bool used_by_others(struct context *k, double runq)
{
	struct cpu_users s = cpu_users(k);
	double self = s.own + s.beside + s.peers, ns = self > 0 ? runq * (1 - s.own / self) : 0;
	struct cand *own = &k->cand[FIND_CPU_OWN], *c = &k->cand[FIND_CPU_NEIGHBOUR];
	const struct culprit *who = s.beside > s.peers ? s.child : s.peer;

	if (s.own >= s.beside + s.peers + s.others)
		return false;
	if (s.beside + s.peers <= s.others)
		who = NULL;
	if (who && who == s.peer && asks_target(k, who->culprit))
		c = &k->cand[FIND_CLIENTS];
	if (who) {
		c->neighbour = who->culprit;
		c->neighbour_comm = who->comm;
	}
	ns = ns < own->ns ? ns : own->ns;
	own->ns -= ns;
	c->ns += ns;
	if (!c->top) {
		c->top = own->top;
		c->top_ns = own->top_ns;
	}
	return true;
}

static double target_run(const struct context *k)
{
	double ns = 0;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (thread_is_target(k->m, t) && !k->beside[k->m->threads[t].proc])
			ns += k->m->threads[t].ns[ST_RUN];
	}
	return ns / k->window_ns;
}

/* The chain ends at the one that is blamed, where most of the demand does. */
static void top_of_thread(const struct context *k, struct cand *own, uint32_t thread)
{
	const struct cause *top = NULL;
	double ns = 0;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->thread != thread || (c->kind != CAUSE_RUN && c->kind != CAUSE_RUNQ_SELF))
			continue;
		ns += c->ns;
		if (!top || c->ns > top->ns)
			top = c;
	}
	if (!top || 2 * ns < own->ns)
		return;
	own->top = top;
	own->top_ns = top->ns;
}

static void weigh_cpu(struct context *k)
{
	struct cand *own = &k->cand[FIND_CPU_OWN];
	double laid = own->ns - k->cpu_queue_ns; /* what lies unread is no work yet */
	double runq = 0, computing;
	uint32_t full;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->kind == CAUSE_RUNQ_SELF && c->lock == NO_IDX &&
		    proc_is_target(k->m, c->entry_proc))
			runq += c->ns;
	}
	computing = laid > runq ? laid - runq : 0;
	children_beside(k);
	full = full_thread(k);
	if (full != NO_IDX) {
		own->loop = full;
		top_of_thread(k, own, full);
	}
	neighbour_find(k);
	weigh_lack(k);
	if (target_run(k) >= OWN_MIN &&
	    (full != NO_IDX || (k->turns > 0 && computing >= LONG_RUN_NS * k->turns)))
		return;
	if (k->host_idle < HOST_FULL_IDLE && runq > 0.2 * laid && !used_by_others(k, runq) &&
	    target_run(k) >= OWN_MIN)
		return;
	/* room left: what is spent computing holds nobody up */
	k->cand[FIND_HEALTHY].ns += own->ns;
	own->ns = 0;
}

static void weigh_stalls_neighbour(struct context *k, const struct stall_group *g)
{
	(void)g;
	neighbour_find(k);
}

/* ---- evidence ---- */

static uint32_t busy_thread(const struct cand *c)
{
	return c->loop != NO_IDX ? c->loop : c->top ? c->top->thread : NO_IDX;
}

static void cpu_lines(struct context *k, struct finding *f, const struct cand *c)
{
	uint32_t t = busy_thread(c);
	const struct thread *th = t != NO_IDX ? &k->m->threads[t] : NULL;
	double life = th && th->end_ns > th->begin_ns ? th->end_ns - th->begin_ns : 1;

	if (th)
		say_figures(k, f, "{}: running {}, waiting for a CPU {} of the time",
			    N_WORD(thread_label(k, t)),
			    N_SHARE("running", part_of(th->ns[ST_RUN], life)),
			    N_SHARE("waiting_for_cpu", part_of(th->ns[ST_RUNQ], life)));
	if (k->host_steal > 0.02)
		say_figures(k, f, "all CPUs of the host: {} idle, {} stolen by the hypervisor",
			    N_SHARE("host_idle", k->host_idle),
			    N_SHARE("host_stolen", k->host_steal));
	else
		say_figures(k, f, "all CPUs of the host: {} idle",
			    N_SHARE("host_idle", k->host_idle));
	culprit_lines(k, f);
}

static void resource_cpu(struct context *k, struct finding *f, const struct cand *c)
{
	f->resource = "CPU";
	f->res_kind = "cpu";
	f->culprit = party_of(k->m, busy_thread(c));
}

static void explain_own(struct context *k, struct finding *f, const struct cand *c)
{
	resource_cpu(k, f, c);
	f->summary = arena_printf(k->arena, "It uses all the CPU it can get; %s is the busiest.",
				  thread_label(k, busy_thread(c)));
	cpu_lines(k, f, c);
}

static void explain_neighbour(struct context *k, struct finding *f, const struct cand *c)
{
	bool child = is_child_of_target(k, c->neighbour);

	resource_cpu(k, f, c);
	f->culprit = (struct party){ .pid = c->neighbour, .comm = c->neighbour_comm };
	f->summary = c->steal ? arena_printf(k->arena, "The hypervisor gives %.0f %% of the CPU "
					     "time to other machines.", 100 * k->host_steal) :
				arena_printf(k->arena, "%s (pid %u)%s takes the CPU it needs.",
					     c->neighbour_comm, c->neighbour,
					     child ? ", a child that it forked," : "");
	if (child)
		copies_line(k, f);
	cpu_lines(k, f, c);
}

static void refute_neighbour(struct context *k, struct finding *f, const struct cand *c)
{
	refute(k, f, "the process is as slow when %s rests", c->neighbour_comm);
}

static void quota_lines(struct context *k, struct finding *f)
{
	for (size_t i = 0; i < k->m->cgroup_cnt; i++) {
		const struct cgroup *g = &k->m->cgroups[i];

		if (!g->nr_throttled)
			continue;
		f->resource = g->path;
		f->res_kind = "cgroup";
		say_figures(k, f, "cgroup {}: quota {} of a CPU, held back in {} of {} periods, "
			    "{} in all", N_WORD(g->path),
			    N_SHARE("quota", part_of(g->quota_us, g->period_us)),
			    N_CNT("periods_held_back", g->nr_throttled),
			    N_CNT("periods", g->nr_periods), N_NS("held_back", g->throttled_ns));
	}
}

static void explain_quota(struct context *k, struct finding *f, const struct cand *c)
{
	resource_cpu(k, f, c);
	f->summary = "The CPU quota of its cgroup holds it back.";
	cpu_lines(k, f, c);
	quota_lines(k, f);
}

/* A child of the target that has the CPU: what it is there for. */
static void child_step(struct context *k, struct finding *f, const struct cand *c)
{
	uint32_t t = c->neighbour ? model_thread_by_tid(k->m, c->neighbour) : NO_IDX;
	struct step *s;

	if (!thread_is_target(k->m, t))
		return;
	s = step_thread(k, f, t, f->share);
	s->role = "child";
	s->doing = "has the CPU";
	s->does = STEP_RUNS;
}

static void neighbour_step(struct context *k, struct finding *f, const struct cand *c)
{
	struct step *s;

	if (c->neighbour && thread_is_target(k->m, model_thread_by_tid(k->m, c->neighbour)))
		return;
	s = step_add(k, f, f->share);
	s->role = "neighbour";
	s->who = (struct party){ .pid = c->neighbour, .comm = c->neighbour_comm };
	s->doing = c->steal ? "the hypervisor gave the CPU to others" : "has the CPU";
}

/* ---- what is missing ---- */

static void states_of(const struct context *k, double *ret_run, double *ret_runq)
{
	*ret_run = *ret_runq = 0;
	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (!thread_is_target(k->m, t))
			continue;
		*ret_run += (double)k->m->threads[t].ns[ST_RUN];
		*ret_runq += (double)k->m->threads[t].ns[ST_RUNQ];
	}
}

/* It has the CPUs: a thread of it never rests, or there are none to spare and most are its own. */
static void lacks_own_cpu(struct context *k, struct finding *f, const struct cand *c)
{
	double run, runq, busy = (double)k->m->host.cpu_busy_ns;

	if (c->loop != NO_IDX && thread_is_full(k, c->loop))
		return;
	states_of(k, &run, &runq);
	if (k->host_idle >= HOST_FULL_IDLE)
		lack(k, f, 1, "no thread of it runs all the time, and the CPUs are %.0f %% idle",
		     100 * k->host_idle);
	else if (2 * run < busy)
		lack(k, f, 1, "only %.0f %% of what the CPUs do is its own", percent(run, busy));
}

/* Threads wait for a CPU, and who is named runs meanwhile. */
static void lacks_neighbour(struct context *k, struct finding *f, const struct cand *c)
{
	double run, runq, ran = 0;

	states_of(k, &run, &runq);
	for (size_t i = 0; i < k->m->culprit_cnt; i++) {
		const struct culprit *u = &k->m->culprits[i];
		uint32_t v = model_proc_by_tgid(k->m, u->victim);

		/* several processes of a program are one neighbour */
		if (u->culprit && proc_is_target(k->m, v) &&
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

static void lacks_quota(struct context *k, struct finding *f, const struct cand *c)
{
	(void)c;
	for (size_t i = 0; i < k->m->cgroup_cnt; i++)
		if (k->m->cgroups[i].nr_throttled)
			return;
	lack(k, f, 2, "no cgroup was seen to be held back by a quota");
}

/* ---- what to do ---- */

static const char *next_own(struct context *k, const struct finding *f, const struct cand *c)
{
	if (c && c->loop != NO_IDX && k->host_idle >= HOST_FULL_IDLE)
		return arena_printf(k->arena, "spread what %s computes%s over more threads, or "
				    "make it cheaper: it is one thread, with the CPUs %.0f %% idle",
				    step_who(k, f, "it"), step_place(k, f), 100 * k->host_idle);
	return arena_printf(k->arena, "make what %s computes%s cheaper (heldup stacks), or give it "
			    "more CPUs: they are %.0f %% idle", step_who(k, f, "it"),
			    step_place(k, f), 100 * k->host_idle);
}

static const char *next_neighbour(struct context *k, const struct finding *f, const struct cand *c)
{
	if (c && c->steal)
		return arena_printf(k->arena, "move to a machine that is not shared: the "
				    "hypervisor keeps %.0f %% of the CPU time for others",
				    100 * k->host_steal);
	return arena_printf(k->arena, "move %s to other CPUs (taskset, cpuset) or give it less of "
			    "these (cpu.weight, cpu.max)", step_who(k, f, "what else runs here"));
}

static const char *next_quota(struct context *k, const struct finding *f, const struct cand *c)
{
	const struct cgroup *g = NULL;

	(void)c;
	for (size_t i = 0; i < k->m->cgroup_cnt && !g; i++)
		if (k->m->cgroups[i].nr_throttled && k->m->cgroups[i].period_us)
			g = &k->m->cgroups[i];
	if (!g)
		return "raise cpu.max of its cgroup, or make it compute less";
	return arena_printf(k->arena, "raise cpu.max of cgroup %s (now %.2f CPUs; held back in "
			    "%llu of %llu periods), or make %s compute less", g->path,
			    (double)g->quota_us / (double)g->period_us,
			    (unsigned long long)g->nr_throttled,
			    (unsigned long long)g->nr_periods, step_who(k, f, "it"));
}

/* ---- stalls ---- */

/* Once, or in line behind its own load: that is only worth a word where it is this long. */
#define STALL_ALONE_NS 250000000
/*
 * With more threads that want a CPU than there are, each waits for the time slices of the
 * others, 3 to 30 ms each.  Longer is more than its turn.
 */
#define STALL_MIN_NS 100000000

static bool own_stall_counts(const struct stall_finding *s)
{
	return s->cnt > 1 && s->median_ns >= STALL_ALONE_NS;
}

static bool neighbour_stall_counts(const struct stall_finding *s)
{
	return s->cnt > 1 ? s->median_ns >= STALL_MIN_NS : s->max_ns >= STALL_ALONE_NS;
}

static const char *own_stall(struct context *k, const struct cand *c, const struct stall_finding *s)
{
	if (!c->top || c->top->kind != CAUSE_RUN)
		return "waits for a CPU that its own load keeps busy";
	return arena_printf(k->arena, "%s %s%s", thread_label(k, c->top->thread),
			    forks_in(k, c, s).last ? computing_words(k, c, s) : "computes",
			    in_function(k, s, " in"));
}

static const char *neighbour_stall(struct context *k, const struct cand *c,
				   const struct stall_finding *s)
{
	(void)s;
	if (!c->neighbour)
		return "waits for a CPU that others have";
	return arena_printf(k->arena, "waits for a CPU that %s (pid %u) has", c->neighbour_comm,
			    c->neighbour);
}

static const char *quota_stall(struct context *k, const struct cand *c,
			       const struct stall_finding *s)
{
	(void)k;
	(void)c;
	(void)s;
	return "held back by the CPU quota of its cgroup";
}

static bool own_yields(const struct context *k, double share, bool felt)
{
	(void)k;
	(void)share;
	return felt;
}

/* Most requests feel little of it where it explains less than this. */
#define NEIGHBOUR_FELT 0.4

static bool neighbour_yields(const struct context *k, double share, bool felt)
{
	(void)k;
	return felt && share < NEIGHBOUR_FELT;
}

const struct finding_def finding_cpu_own = {
	.cls = FIND_CPU_OWN,
	.name = "cpu-own",
	.title = "CPU used up by its own load",
	.claims = claims_own,
	.moves_from = 1u << FIND_CPU_OWN | 1u << FIND_CPU_NEIGHBOUR,
	.weigh = weigh_cpu,
	.explain = explain_own,
	.refuted_if = "the same work is done in less time on the same CPU with another load "
		      "pattern",
	.lacks = lacks_own_cpu,
	.next_step = next_own,
	.stall_words = own_stall,
	.stall_counts = own_stall_counts,
	.yields = own_yields,
	.is_held = true,
	.stall_is_vague = true,
	.stall_forks = true,
};

const struct finding_def finding_cpu_neighbour = {
	.cls = FIND_CPU_NEIGHBOUR,
	.name = "cpu-neighbour",
	.title = "CPU taken by a neighbour",
	.claims = claims_neighbour,
	.weigh_stalls = weigh_stalls_neighbour,
	.explain = explain_neighbour,
	.refute = refute_neighbour,
	.chain_threads = child_step,
	.chain_end = neighbour_step,
	.lacks = lacks_neighbour,
	.next_step = next_neighbour,
	.stall_words = neighbour_stall,
	.stall_counts = neighbour_stall_counts,
	.yields = neighbour_yields,
	.outside = OUTSIDE_CPU,
	.not_its_own = true,
	.keeps_lines = true,
};

const struct finding_def finding_cpu_quota = {
	.cls = FIND_CPU_QUOTA,
	.name = "cpu-quota",
	.title = "held back by a CPU quota",
	.claims = claims_quota,
	.explain = explain_quota,
	.refuted_if = "a larger quota does not make it faster",
	.lacks = lacks_quota,
	.next_step = next_quota,
	.stall_words = quota_stall,
	.outside = OUTSIDE_CPU,
	.not_its_own = true,
	.keeps_lines = true,
};
