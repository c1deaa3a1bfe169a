/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do about a finding: one sentence that holds for its class, with the
 * figures and names of this one filled in.
 */
#include <string.h>

#include "verdict/context/context.h"

/* "postgres (pid 12)", or what stands for nobody. */
static const char *who(struct court *k, const struct finding *f, const char *nobody)
{
	const struct party *p = &f->culprit;

	if (p->pid && !*p->comm)
		return arena_printf(k->arena, "process %u", p->pid);
	if (p->pid && p->tid && p->tid != p->pid)
		return arena_printf(k->arena, "%s (tid %u of pid %u)", p->comm, p->tid, p->pid);
	if (p->pid)
		return arena_printf(k->arena, "%s (pid %u)", p->comm, p->pid);
	return *p->comm ? p->comm : nobody;
}

static const char *what(const struct finding *f, const char *nothing)
{
	return f->resource && *f->resource ? f->resource : nothing;
}

/* " in read_row", where the stacks tell the function that the chain ends in. */
static const char *place(struct court *k, const struct finding *f)
{
	const struct step *s = f->chain_len ? &f->chain[f->chain_len - 1] : NULL;

	if (!s || !s->fn_cnt || !s->fns[0].name_cnt || s->fns[0].what == FNS_ENDED)
		return "";
	return arena_printf(k->arena, " in %s", s->fns[0].names[0]);
}

static const struct lock *lock_of(const struct court *k, const struct cand *c)
{
	return c && c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
}

/* The first group of which it is so, NULL none. */
static const struct cgroup *group_of(const struct court *k, bool (*is_it)(const struct cgroup *g))
{
	for (size_t i = 0; i < k->m->cgroup_cnt; i++)
		if (is_it(&k->m->cgroups[i]))
			return &k->m->cgroups[i];
	return NULL;
}

static bool is_throttled(const struct cgroup *g)
{
	return g->nr_throttled && g->period_us;
}

static bool has_io_limit(const struct cgroup *g)
{
	return g->io_rbps || g->io_wbps || g->io_riops || g->io_wiops;
}

static const char *of_cpu(struct court *k, const struct finding *f, const struct cand *c)
{
	const struct cgroup *g = group_of(k, is_throttled);

	if (f->cls == FIND_CPU_QUOTA && g)
		return arena_printf(k->arena, "raise cpu.max of cgroup %s (now %.2f CPUs; held "
				    "back in %llu of %llu periods), or make %s compute less",
				    g->path, (double)g->quota_us / (double)g->period_us,
				    (unsigned long long)g->nr_throttled,
				    (unsigned long long)g->nr_periods, who(k, f, "it"));
	if (f->cls == FIND_CPU_QUOTA)
		return "raise cpu.max of its cgroup, or make it compute less";
	if (f->cls == FIND_CPU_NEIGHBOUR && c && c->steal)
		return arena_printf(k->arena, "move to a machine that is not shared: the "
				    "hypervisor keeps %.0f %% of the CPU time for others",
				    100 * k->host_steal);
	if (f->cls == FIND_CPU_NEIGHBOUR)
		return arena_printf(k->arena, "move %s to other CPUs (taskset, cpuset) or give it "
				    "less of these (cpu.weight, cpu.max)",
				    who(k, f, "what else runs here"));
	if (c && c->loop != NO_IDX && k->host_idle >= 0.10)
		return arena_printf(k->arena, "spread what %s computes%s over more threads, or "
				    "make it cheaper: it is one thread, with the CPUs %.0f %% idle",
				    who(k, f, "it"), place(k, f), 100 * k->host_idle);
	return arena_printf(k->arena, "make what %s computes%s cheaper (heldup stacks), or give it "
			    "more CPUs: they are %.0f %% idle", who(k, f, "it"), place(k, f),
			    100 * k->host_idle);
}

static const char *of_lock(struct court *k, const struct finding *f, const struct cand *c)
{
	const struct lock *l = lock_of(k, c);
	const struct step *s = f->chain_len ? &f->chain[f->chain_len - 1] : NULL;
	const char *did = l ? holders_did(k, l) : NULL;

	/* what the one who is named does says more than what all holders did */
	if (f->cls == FIND_LOCK_HELD && s && s->does != STEP_OTHER &&
	    s->who.tid == f->culprit.tid && s->who.tid)
		return arena_printf(k->arena, "have %s let go of %s sooner: it %s%s",
				    who(k, f, "its holder"), what(f, "the lock"), s->doing,
				    place(k, f));
	if (f->cls == FIND_LOCK_HELD)
		return arena_printf(k->arena, "have %s let go of %s sooner%s%s%s",
				    who(k, f, "its holder"), what(f, "the lock"), place(k, f),
				    did ? ": holders were " : "", did ? did : "");
	if (!l)
		return "take the lock less often, or split it";
	return arena_printf(k->arena, "take %s less often or split it: it is wanted %.0f times a "
			    "second and kept %s each time", what(f, "the lock"),
			    (double)l->wait_cnt / (k->window_ns / 1e9),
			    ns_text(k, (double)l->hold_ns));
}

/* "; 5 of 6 requests wait for their turn", "" where fewer than one does. */
static const char *waiting(struct court *k)
{
	double wait = 0, all = k->demand_ns / k->window_ns;

	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];

		if (c->kind == CAUSE_QUEUE && c->entry_proc != NO_IDX &&
		    k->m->procs[c->entry_proc].target)
			wait += (double)c->ns / k->window_ns;
	}
	for (size_t i = 0; i < k->m->listen_cnt; i++) {
		uint32_t p = model_proc_by_tgid(k->m, k->m->listens[i].e.tgid);

		if (p != NO_IDX && k->m->procs[p].target)
			wait += k->m->listens[i].backlog_avg;
	}
	if (wait < 0.5)
		return "";
	return arena_printf(k->arena, "; %.0f of %.0f requests wait for their turn", wait,
			    all > wait ? all : wait);
}

static const char *of_queue(struct court *k, const struct finding *f, const struct cand *c)
{
	const struct lock *l = lock_of(k, c);
	bool kept = f->chain_len && f->chain[f->chain_len - 1].does != STEP_OTHER;

	if (f->cls == FIND_WORKERS && kept)
		return arena_printf(k->arena, "run more workers (%s), or shorten what keeps each "
				    "of them (%s%s)%s", f->culprit.comm,
				    f->chain[f->chain_len - 1].doing, place(k, f), waiting(k));
	if (f->cls == FIND_WORKERS)
		return arena_printf(k->arena, "run more workers, or find out what keeps them%s",
				    waiting(k));
	if (l)
		return arena_printf(k->arena, "raise the limit that lets %.0f at a time pass %s, "
				    "or have those sooner done", l->holders_avg + 0.5,
				    what(f, "it"));
	return arena_printf(k->arena, "let more in at once (%s), or have those that are in sooner "
			    "done%s", what(f, "a limit of its own"), waiting(k));
}

static const char *of_disk(struct court *k, const struct finding *f, const struct cand *c)
{
	const struct cgroup *g = group_of(k, has_io_limit);
	const struct cause *t = c ? c->top : NULL;

	switch (f->cls) {
	case FIND_DISK_NEIGHBOUR:
		return arena_printf(k->arena, "move %s to another disk than %s, or limit it there "
				    "(io.max)", who(k, f, "who uses it"), what(f, "this"));
	case FIND_DISK_LIMIT:
		return arena_printf(k->arena, "raise io.max of %s%s, or have it do less I/O",
				    g ? "cgroup " : "its cgroup", g ? g->path : "");
	case FIND_FSYNC:
		return arena_printf(k->arena, "sync %s less often (several commits at once), or "
				    "put it on a disk that syncs faster: it takes %s each time",
				    what(f, "the file"),
				    ns_text(k, t && t->cnt ? (double)t->ns / (double)t->cnt : 0));
	default:
		return arena_printf(k->arena, "have %s read and write less on %s%s (more cache, an "
				    "index), or give it a faster disk", who(k, f, "it"),
				    what(f, "the disk"), place(k, f));
	}
}

static const char *of_memory(struct court *k)
{
	const struct cgroup *g = memory_full(k);

	if (g)
		return arena_printf(k->arena, "raise the memory limit of cgroup %s (now %llu MiB), "
				    "or make it use less", g->path,
				    (unsigned long long)g->mem_limit_bytes >> 20);
	return arena_printf(k->arena, "give it more memory, or make it use less: %llu pages were "
			    "read back in", (unsigned long long)k->m->host.maj_flt);
}

static const char *of_far(struct court *k, const struct finding *f, const struct cand *c)
{
	const struct end *n = c && c->end != NO_IDX ? &k->m->ends[c->end] : NULL;
	const char *after = "";

	if (n && n->turns)
		after = arena_printf(k->arena, ": it answers after %s",
				     ns_text(k, (double)n->service_ns / (double)n->turns));
	if (f->culprit.pid)
		return arena_printf(k->arena, "find out what holds %s up (heldup why -p %u)%s",
				    f->culprit.comm, f->culprit.pid, after);
	if (n && is_refused(n))
		return arena_printf(k->arena, "start what should listen at %s; here, give up "
				    "sooner while nobody does", what(f, "the other end"));
	return arena_printf(k->arena, "find out at %s what holds it up; here, ask it less often or "
			    "set a timeout%s", what(f, "the other end"), after);
}

static const char *of_loop(struct court *k, const struct finding *f, const struct cand *c)
{
	uint64_t ns = c && c->loop != NO_IDX ? k->w->threads[c->loop].stall_max_ns : 0;

	return arena_printf(k->arena, "move what %s does%s to a thread of its own%s%s",
			    who(k, f, "the loop"), place(k, f),
			    ns ? ": the loop stands still for up to " : "",
			    ns ? ns_text(k, (double)ns) : "");
}

static const char *of_clients(struct court *k, const struct finding *f)
{
	double held = held_conns(k, NULL);

	if (held >= 1)
		return arena_printf(k->arena, "set TCP_NODELAY on the %.0f connections where the "
				    "end of an answer waits for an acknowledgement", held);
	return arena_printf(k->arena, "look at the %s and the way to them: the server waits for "
			    "them %.0f %% of the time", what(f, "clients"), 100 * f->share);
}

static const char *of_healthy(struct court *k)
{
	if (k->turns < 1)
		return "watch it while it is asked something: no request came";
	return arena_printf(k->arena, "look at who asks it, or watch again while it is slow: half "
			    "of %.0f requests took %s here", k->turns,
			    ns_text(k, (double)k->w->total.p50_ns));
}

static const char *of_unknown(struct court *k)
{
	if (k->unwatched)
		return "record its waits as root (heldup record -p PID): calls do not tell them";
	return arena_printf(k->arena, "watch for longer than %.0f s, and record system calls for "
			    "the functions (heldup record --calls)", k->window_ns / 1e9);
}

static const char *step_of(struct court *k, const struct finding *f, const struct cand *c)
{
	switch (f->cls) {
	case FIND_CPU_OWN:
	case FIND_CPU_NEIGHBOUR:
	case FIND_CPU_QUOTA:
		return of_cpu(k, f, c);
	case FIND_LOCK_HELD:
	case FIND_LOCK_CONVOY:
		return of_lock(k, f, c);
	case FIND_DEADLOCK:
		return arena_printf(k->arena, "restart process %u to go on now; then have its "
				    "threads take these %zu locks in one order", f->culprit.pid,
				    f->chain_len);
	case FIND_WORKERS:
	case FIND_CONN_LIMIT:
		return of_queue(k, f, c);
	case FIND_DISK_OWN:
	case FIND_DISK_NEIGHBOUR:
	case FIND_DISK_LIMIT:
	case FIND_FSYNC:
		return of_disk(k, f, c);
	case FIND_MEMORY:
		return of_memory(k);
	case FIND_EXTERNAL:
	case FIND_PEER:
		return of_far(k, f, c);
	case FIND_LOOP_BLOCKED:
		return of_loop(k, f, c);
	case FIND_CLIENTS:
		return of_clients(k, f);
	case FIND_TIMER:
		return arena_printf(k->arena, "shorten the sleep of %s%s, or wake it when what it "
				    "sleeps for is there", who(k, f, "the thread"), place(k, f));
	case FIND_STOPPED:
		return arena_printf(k->arena, "find out who stops it%s%s; kill -CONT or a thaw "
				    "of its cgroup lets it go on",
				    f->culprit.pid ? ": " : "",
				    f->culprit.pid ? who(k, f, "") : "");
	case FIND_ENDLESS:
		return arena_printf(k->arena, "see where it loops (heldup stacks -p %u), then "
				    "restart it: %s runs %s", f->culprit.pid, who(k, f, "it"),
				    what(f, "on"));
	case FIND_DIED:
		return arena_printf(k->arena, "read its log and its core dump (coredumpctl info "
				    "%u): it died of %s", f->culprit.pid, what(f, "a signal"));
	case FIND_UNKNOWN:
		return of_unknown(k);
	default:
		return of_healthy(k);
	}
}

/* Where a finding fills a pool, more of that helps as well. */
void next_step(struct court *k, struct finding *f, const struct cand *c)
{
	const struct cand *p = &k->pool;

	f->next_step = step_of(k, f, c);
	if (p->ns <= 0 || p->kept_by != f->cls || p->group == NO_IDX)
		return;
	f->next_step = arena_printf(k->arena, "%s; or run more workers (%s): %.0f of %.0f requests "
				    "wait for one", f->next_step, k->w->groups[p->group].comm,
				    p->ns / k->window_ns, k->demand_ns / k->window_ns);
}

/* Of two candidates the first one's refutation tells which. */
static void unknown_tell(struct court *k, struct verdict *v)
{
	struct finding *f = &v->findings[0];
	const struct finding *a = v->candidates;

	if (f->cls != FIND_UNKNOWN || !v->candidate_cnt || !a->refute_cnt)
		return;
	f->next_step = arena_printf(k->arena, "check whether %s; if not, candidate A holds: %s",
				    a->refute[0], a->next_step);
}

void next_steps_rest(struct court *k, struct verdict *v)
{
	for (size_t i = 0; i < v->finding_cnt; i++)
		if (!v->findings[i].next_step)
			next_step(k, &v->findings[i], NULL);
	for (size_t i = 0; i < v->candidate_cnt; i++)
		if (!v->candidates[i].next_step)
			next_step(k, &v->candidates[i], NULL);
	unknown_tell(k, v);
}
