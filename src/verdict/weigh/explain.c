/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers for each finding: summary, resource, culprit, evidence, refutation. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "verdict/confidence.h"
#include "verdict/context/figures.h"
#include "verdict/context/context.h"

void say(struct court *k, struct finding *f, const char *fmt, ...)
{
	va_list ap;

	if (!f->evidence)
		f->evidence = ARENA_ARRAY(k->arena, const char *, FINDING_LINES);
	if (f->evidence_cnt == FINDING_LINES)
		return;
	va_start(ap, fmt);
	f->evidence[f->evidence_cnt++] = arena_vprintf(k->arena, fmt, ap);
	va_end(ap);
}

void refute(struct court *k, struct finding *f, const char *fmt, ...)
{
	va_list ap;

	if (!f->refute)
		f->refute = ARENA_ARRAY(k->arena, const char *, FINDING_LINES);
	if (f->refute_cnt == FINDING_LINES)
		return;
	va_start(ap, fmt);
	f->refute[f->refute_cnt++] = arena_vprintf(k->arena, fmt, ap);
	va_end(ap);
}

const char *ns_text(struct court *k, double ns)
{
	if (ns >= 10e9)
		return arena_printf(k->arena, "%.0f s", ns / 1e9);
	if (ns >= 1e9)
		return arena_printf(k->arena, "%.1f s", ns / 1e9);
	if (ns >= 10e6)
		return arena_printf(k->arena, "%.0f ms", ns / 1e6);
	if (ns >= 1e6)
		return arena_printf(k->arena, "%.1f ms", ns / 1e6);
	return arena_printf(k->arena, "%.0f us", ns / 1e3);
}

const char *thread_label(struct court *k, uint32_t thread)
{
	const struct thread *t;

	if (thread == NO_IDX)
		return "an unknown thread";
	t = &k->m->threads[thread];
	/* an index below thread_cnt; NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	if (t->tid == t->tgid)
		return arena_printf(k->arena, "%s (pid %u)", t->comm, t->tgid);
	return arena_printf(k->arena, "%s (tid %u of pid %u)", t->comm, t->tid, t->tgid);
}

static const struct res *res_of(const struct court *k, uint32_t res)
{
	return res == NO_IDX ? NULL : &k->m->res[res];
}

static void name_res(struct court *k, struct finding *f, uint32_t res)
{
	const struct res *r = res_of(k, res);

	if (!r)
		return;
	f->resource = r->name;
	f->res_kind = res_kind_name(r->kind);
}

static const char *holders_mostly(const struct lock *l, double *ret_share)
{
	uint64_t all = 0, best = 0;
	unsigned top = 0;
	static const char *const words[ST_CNT] = {
		[ST_RUN] = "computing",
		[ST_RUNQ] = "waiting for a CPU",
		[ST_WAIT + WAIT_TIMER] = "sleeping on a timer",
		[ST_WAIT + WAIT_FSYNC] = "in fsync",
		[ST_WAIT + WAIT_FILE] = "waiting for the disk",
		[ST_WAIT + WAIT_SOCKET] = "waiting on a socket",
		[ST_WAIT + WAIT_EPOLL] = "asleep in epoll",
		[ST_WAIT + WAIT_POLL] = "asleep in poll",
		[ST_WAIT + WAIT_FUTEX] = "waiting on another futex",
		[ST_WAIT + WAIT_FAULT] = "waiting for a page",
		[ST_WAIT + WAIT_PIPE] = "waiting on a pipe",
		[ST_WAIT + WAIT_CHILD] = "waiting for a child process",
		[ST_WAIT + WAIT_KLOCK] = "waiting for a kernel lock",
		[ST_WAIT + WAIT_FLOCK] = "waiting for a file lock",
		[ST_WAIT + WAIT_RECLAIM] = "freeing memory",
		[ST_WAIT + WAIT_DIRTY] = "held back as a writer",
		[ST_WAIT + WAIT_THROTTLE] = "out of CPU quota",
		[ST_WAIT + WAIT_STOPPED] = "stopped",
	};

	for (unsigned i = 0; i < ST_CNT; i++) {
		all += l->holder_st[i];
		if (l->holder_st[i] > best) {
			best = l->holder_st[i];
			top = i;
		}
	}
	if (!all)
		return NULL;
	*ret_share = part_of(best, all);
	return words[top] ? words[top] : "in other waits";
}

const char *holders_did(struct court *k, const struct lock *l)
{
	double share;
	const char *did = holders_mostly(l, &share);

	return did ? arena_printf(k->arena, "%s %.0f %% of that time", did, 100 * share) : NULL;
}

/* Who has the lock is the last but one of the chain, and waits for the last by other means. */
static bool holder_waits(const struct court *k, const struct cause *top, const struct lock *l)
{
	return top->via == l->holder && top->thread != l->holder && top->via_res != NO_IDX &&
	       k->m->res[top->via_res].kind != k->m->res[l->res].kind;
}

uint32_t end_of_line(const struct court *k, const struct cand *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
	bool in_line = !c->top || c->top->kind == CAUSE_LOCK || c->top->kind == CAUSE_CYCLE;

	if (l && l->holder != NO_IDX && (in_line || holder_waits(k, c->top, l)))
		return l->holder;
	return c->top ? c->top->thread : NO_IDX;
}

/* What each waits on is its own: the function in which all do names the lock. */
const char *lock_name(struct court *k, const struct lock *l)
{
	const char *site = l->virt ? site_text(k, &l->site, 2) : "";
	uint32_t proc = l->holder != NO_IDX ? k->m->threads[l->holder].proc : NO_IDX;

	if (!*site || proc == NO_IDX)
		return *site ? arena_printf(k->arena, "lock in %s", site) : "";
	return arena_printf(k->arena, "lock in %s of %s", site, k->m->procs[proc].comm);
}

/* ", let go in unlock", and what is known of a holder that did not let go. */
static const char *held_words(struct court *k, const struct cand *c, const struct lock *l)
{
	const char *at = site_text(k, &l->release, 1), *in = site_text(k, &l->held_in, 1);

	if (c->top && holder_waits(k, c->top, l))
		return arena_printf(k->arena, " and waits for %s,",
				    thread_label(k, c->top->thread));
	if (!l->presumed)
		return *at ? arena_printf(k->arena, ", let go in %s,", at) : "";
	if (c->top && c->top->kind == CAUSE_CLIENT)
		return " and waits for its client,";
	if (*in)
		return arena_printf(k->arena, " and %s in %s,", c->top &&
				    c->top->kind == CAUSE_TIMER ? "sleeps" : "waits", in);
	return "";
}

static void explain_lock(struct court *k, struct finding *f, const struct cand *c)
{
	const struct lock *l = c->lock != NO_IDX ? &k->w->locks[c->lock] : NULL;
	const char *did, *name;
	double share;

	if (!l) {
		f->summary = "Threads wait for a lock; its holder was not seen.";
		return;
	}
	name = site_text(k, &l->site, 1);
	name = *name ? arena_printf(k->arena, "a lock in %s", name) : "a lock";
	name_res(k, f, l->res);
	if (*lock_name(k, l))
		f->resource = lock_name(k, l);
	if (l->holder == NO_IDX) {
		f->summary = arena_printf(k->arena, "%u threads wait for %s; who holds it was not "
					  "seen.", l->waiter_cnt, name);
	} else {
		f->culprit = party_of(k->m, end_of_line(k, c));
		f->summary = f->cls == FIND_LOCK_HELD ?
			arena_printf(k->arena, "%s holds %s%s up to %s at a time; %u threads wait "
				     "for it.", thread_label(k, end_of_line(k, c)), name,
				     held_words(k, c, l), ns_text(k, l->hold_ns), l->waiter_cnt) :
			arena_printf(k->arena, "%u threads queue for %s, held only %s at a time "
				     "but wanted all the time.", l->waiter_cnt, name,
				     ns_text(k, l->hold_ns));
	}
	say_figures(k, f, "{} waits, {} in all, longest {}; {} threads waiting on average while "
		    "anyone did", N_CNT("waits", l->wait_cnt), N_NS("waited", l->wait_ns),
		    N_NS("longest", l->max_ns), N_AVG("waiting_threads", l->avg_waiters));
	if (l->presumed && l->holder == NO_IDX) {
		say(k, f, "nobody let go while it was watched, and several sessions wait for their "
			  "clients: one of them may have it, in an open transaction");
	} else if (l->presumed) {
		say(k, f, c->top && c->top->kind == CAUSE_CLIENT ?
		    "nobody let go while it was watched: the holder is the only session that "
		    "waits for its client" :
		    "nobody let go while it was watched: the holder is the one that stopped "
		    "first, before the others");
		refute(k, f, "the others go on while this one still sleeps: watch for longer (-d)");
	} else if (l->virt)
		say_figures(k, f, "each waiter sleeps on something of its own ({} of them): told "
			    "from who wakes whom", N_CNT("waited_for", l->res_cnt));
	say_figures(k, f, "the lock was waited for {} of the time; {} threads held it meanwhile",
		    N_SHARE("time_waited_for", part_of(l->busy_ns, k->window_ns)),
		    N_CNT("holders", l->holder_cnt));
	did = holders_mostly(l, &share);
	if (did)
		say_figures(k, f, "holders were {} {} of that time", N_WORD(did),
			    N_SHARE("holders_did", share));
	if (l->pending_cnt)
		say_figures(k, f, "{} threads still waited when the watch ended",
			    N_CNT("waiting_at_end", l->pending_cnt));
	refute(k, f, "the wakers were not the holders: a hand-off (condition variable) that looks "
		     "like a lock");
}

/*
 * The waits of t's process for res as they were.  A cause counts each once for every
 * request that waited meanwhile: their mean may be over the longest.
 */
void waits_line(struct court *k, struct finding *f, uint32_t t, uint32_t res)
{
	const struct model *m = k->m;
	uint64_t cnt = 0, ns = 0, max_ns = 0;

	for (size_t i = 0; t != NO_IDX && res != NO_IDX && i < m->pair_cnt; i++) {
		const struct pair *p = &m->pairs[i];

		if (p->res != res || m->threads[p->thread].proc != m->threads[t].proc)
			continue;
		cnt += p->cnt;
		ns += p->ns;
		max_ns = p->max_ns > max_ns ? p->max_ns : max_ns;
	}
	if (cnt)
		say_figures(k, f, "{} waits, mean {}, longest {}", N_CNT("waits", cnt),
			    N_NS("mean", (double)ns / cnt), N_NS("longest", max_ns));
}

static void explain_disk(struct court *k, struct finding *f, const struct cand *c)
{
	const struct dev *d = c->dev != NO_IDX ? &k->m->devs[c->dev] : NULL;
	const char *dev = d ? d->name : "the disk";
	const struct res *r = c->top ? res_of(k, c->top->res) : NULL;
	const struct cgroup *full;
	double busy = d ? percent(d->busy_ns, k->window_ns) : 0;

	f->resource = dev;
	f->res_kind = "disk";
	if (f->cls == FIND_FSYNC && r) {
		f->resource = r->name;
		f->res_kind = res_kind_name(r->kind);
	}
	f->culprit = c->top ? party_of(k->m, c->top->thread) : f->culprit;
	switch (f->cls) {
	case FIND_FSYNC:
		f->summary = arena_printf(k->arena, "%s waits for its writes to be made durable: "
					  "fsync of %s.",
					  thread_label(k, c->top ? c->top->thread : NO_IDX),
					  r ? r->name : "a file");
		break;
	case FIND_DISK_LIMIT:
		f->summary = arena_printf(k->arena,
					  "The cgroup's I/O limit holds it back; %s itself "
					  "is %.0f %% busy.",
					  dev, busy);
		break;
	case FIND_DISK_NEIGHBOUR:
		f->culprit = (struct party){ .pid = c->neighbour, .comm = c->neighbour_comm };
		f->summary = arena_printf(k->arena, "%s (pid %u) keeps %s busy (%.0f %%).",
					  c->neighbour_comm, c->neighbour, dev, busy);
		break;
	default:
		f->summary = arena_printf(k->arena, "It waits for %s, which its own requests keep "
					  "%.0f %% busy.", dev, busy);
		break;
	}
	if (r && f->cls != FIND_FSYNC)
		say(k, f, "most of the waiting is on %s", r->name);
	if (c->top)
		waits_line(k, f, c->top->thread, c->top->res);
	full = f->cls == FIND_DISK_OWN ? memory_full(k) : NULL;
	if (full)
		say_figures(k, f, "cgroup {} is at its limit of {} of memory: what it reads does "
			    "not stay there to be read again", N_WORD(full->path),
			    N_MIB("memory_limit", full->mem_limit_bytes));
	if (d)
		say_figures(k, f, "{}: busy {}, {} requests in flight on average", N_WORD(dev),
			    N_SHARE("disk_busy", busy / 100),
			    N_AVG("in_flight", (double)d->inflight_ns / k->window_ns));
	refute(k, f,
	       f->cls == FIND_DISK_LIMIT ? "raising the limit does not make these waits shorter"
					 : "another file or device on the same disk is as slow "
					   "when this process rests");
}

static const char *pid_text(struct court *k, uint32_t pid)
{
	return arena_printf(k->arena, "%u", pid);
}

static void disk_user(struct court *k, struct finding *f, const struct disk_use *u)
{
	static const char *const ops[] = { "reads", "writes", "flushes", "other requests" };

	say_figures(k, f, "{} (pid {}): {} {}/s, {}, mean latency {}", N_WORD(u->comm),
		    N_WORD(pid_text(k, u->tgid)),
		    N_PER_S("disk_requests", u->ios / (k->window_ns / 1e9)), N_WORD(ops[u->op & 3]),
		    N_BYTES_PER_S("disk_bytes", u->sectors * 512 / (k->window_ns / 1e9)),
		    N_NS("disk_latency", (double)u->lat_ns / u->ios));
}

/* Sums of the threads of a process; false where an earlier row has told of them. */
static bool of_process(const struct model *m, size_t idx, struct disk_use *ret)
{
	*ret = m->disk_uses[idx];
	for (size_t i = 0; i < m->disk_use_cnt; i++) {
		const struct disk_use *u = &m->disk_uses[i];

		if (i == idx || u->dev != ret->dev || u->tgid != ret->tgid || u->op != ret->op ||
		    !u->tgid)
			continue;
		if (i < idx)
			return false;
		ret->ios += u->ios;
		ret->sectors += u->sectors;
		ret->lat_ns += u->lat_ns;
	}
	return true;
}

/* The target's own use of the device, then that of others, each largest first. */
static void disk_users(struct court *k, struct finding *f, const struct cand *c)
{
	const struct model *m = k->m;

	for (int own = 1; c->dev != NO_IDX && own >= 0; own--) {
		int said = 0;

		for (size_t i = 0; i < m->disk_use_cnt && said < 2; i++) {
			const struct disk_use *u = &m->disk_uses[i];
			uint32_t p = model_proc_by_tgid(m, u->tgid);
			struct disk_use all;

			if (u->dev != m->devs[c->dev].dev || u->ios < 1 ||
			    (p != NO_IDX && m->procs[p].target) != own)
				continue;
			if (!of_process(m, i, &all))
				continue;
			disk_user(k, f, &all);
			said++;
		}
	}
}

static void limit_lines(struct court *k, struct finding *f)
{
	for (size_t i = 0; i < k->m->cgroup_cnt; i++) {
		const struct cgroup *g = &k->m->cgroups[i];

		if (!g->io_rbps && !g->io_wbps && !g->io_riops && !g->io_wiops)
			continue;
		say_figures(k, f, "cgroup {}: limits read {} B/s {}/s, write {} B/s {}/s (0: none)",
			    N_WORD(g->path), N_RAW_BYTES_PER_S("read_limit", g->io_rbps),
			    N_PER_S("read_limit", g->io_riops),
			    N_RAW_BYTES_PER_S("write_limit", g->io_wbps),
			    N_PER_S("write_limit", g->io_wiops));
	}
}

bool is_child_of_target(const struct court *k, uint32_t tgid)
{
	uint32_t p = model_proc_by_tgid(k->m, tgid);
	uint32_t parent = p != NO_IDX ? model_proc_by_tgid(k->m, k->m->procs[p].ppid) : NO_IDX;

	return parent != NO_IDX && k->m->procs[p].target && k->m->procs[parent].target;
}

/* Memory that a fork made common is copied page by page when one of the two writes to it. */
#define COPIES_MIN 1000 /* faults a second; each takes some microseconds */

void copies_line(struct court *k, struct finding *f)
{
	uint32_t most = NO_IDX;
	double per_s;

	for (uint32_t t = 0; t < k->m->thread_cnt; t++) {
		if (thread_is_target(k->m, t) && !is_child_of_target(k, k->m->threads[t].tgid) &&
		    (most == NO_IDX || k->m->threads[t].min_flt > k->m->threads[most].min_flt))
			most = t;
	}
	per_s = most != NO_IDX ? k->m->threads[most].min_flt / (k->window_ns / 1e9) : 0;
	if (per_s >= COPIES_MIN)
		say_figures(k, f, "{}: {} page faults a second without a disk: after a fork each "
			    "page that it writes to is copied first",
			    N_WORD(thread_label(k, most)), N_PER_S("page_faults", per_s));
}

static void explain_cpu(struct court *k, struct finding *f, const struct cand *c)
{
	uint32_t t = c->loop != NO_IDX ? c->loop : c->top ? c->top->thread : NO_IDX;
	const struct thread *th = t != NO_IDX ? &k->m->threads[t] : NULL;
	double life = th && th->end_ns > th->begin_ns ? th->end_ns - th->begin_ns : 1;

	f->resource = "CPU";
	f->res_kind = "cpu";
	f->culprit = party_of(k->m, t);
	if (f->cls == FIND_CPU_NEIGHBOUR) {
		f->culprit = (struct party){ .pid = c->neighbour, .comm = c->neighbour_comm };
		f->summary = c->steal
				     ? arena_printf(k->arena,
						    "The hypervisor gives %.0f %% of the "
						    "CPU time to other machines.",
						    100 * k->host_steal)
				     : arena_printf(k->arena, "%s (pid %u)%s takes the CPU it "
						    "needs.", c->neighbour_comm, c->neighbour,
						    is_child_of_target(k, c->neighbour) ?
						    ", a child that it forked," : "");
		if (is_child_of_target(k, c->neighbour))
			copies_line(k, f);
		refute(k, f, "the process is as slow when %s rests", c->neighbour_comm);
	} else if (f->cls == FIND_CPU_QUOTA) {
		f->summary = "The CPU quota of its cgroup holds it back.";
		refute(k, f, "a larger quota does not make it faster");
	} else {
		f->summary = arena_printf(k->arena, "It uses all the CPU it can get; %s is the "
					  "busiest.", thread_label(k, t));
		refute(k, f, "the same work is done in less time on the same CPU with another load "
			     "pattern");
	}
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
}

void culprit_lines(struct court *k, struct finding *f)
{
	size_t cnt;
	const struct ran *ran = who_ran(k, &cnt);

	for (size_t i = 0; i < cnt && i < 3 && ran[i].ns >= 0.01 * k->window_ns; i++) {
		const struct culprit *u = ran[i].first;

		say_figures(k, f, "while it waited, {}{} ran for {}", N_WORD(u->culprit ?
			    arena_printf(k->arena, "%s (pid %u)", u->comm, u->culprit) : "nobody"),
			    N_WORD(ran[i].more ? " and others of its name" : ""),
			    N_NS("other_ran", ran[i].ns));
	}
}

static void quota_lines(struct court *k, struct finding *f)
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

static bool serves(const struct model *m, uint32_t proc, const struct end *asked)
{
	for (size_t i = 0; i < m->end_cnt; i++) {
		const struct end *n = &m->ends[i];

		if (n->proc == proc && n->role == ROLE_SERVER && n->family == asked->family &&
		    (asked->rport ? n->lport == asked->rport : !strcmp(n->name, asked->name)))
			return true;
	}
	return false;
}

/*
 * Is p the peer, or one of those who answer for it?  A listening socket is
 * often a master's, which itself does nothing: its children accept.
 */
static bool is_of_peer(const struct court *k, uint32_t p, uint32_t peer, const struct end *asked)
{
	const struct proc *a = &k->m->procs[p], *b = &k->m->procs[peer];

	if (p == peer)
		return true;
	/* init is everybody's parent */
	if (!asked || !(a->ppid == b->tgid || b->ppid == a->tgid ||
			(a->ppid == b->ppid && a->ppid > 1)))
		return false;
	return serves(k->m, p, asked);
}

/* What holds a local peer up: the largest kind of cause of its own demand. */
static void peer_lines(struct court *k, struct finding *f, uint32_t peer, const struct end *asked)
{
	uint8_t *of_peer = ARENA_ARRAY(k->arena, uint8_t, k->m->proc_cnt);
	double all = 0, by_kind[CAUSE_CNT] = { 0 };
	const struct cause *most[CAUSE_CNT] = { NULL }, *top = NULL;
	const char *where;

	for (uint32_t p = 0; p < k->m->proc_cnt; p++)
		of_peer[p] = is_of_peer(k, p, peer, asked);
	for (size_t i = 0; i < k->w->cause_cnt; i++) {
		const struct cause *c = &k->w->causes[i];
		uint32_t p = c->thread != NO_IDX ? k->m->threads[c->thread].proc : NO_IDX;
		bool there = (c->entry_proc != NO_IDX && of_peer[c->entry_proc]) ||
			     (p != NO_IDX && of_peer[p]);

		if (!there || c->kind == CAUSE_IDLE || c->kind == CAUSE_CLIENT)
			continue;
		all += c->ns;
		by_kind[c->kind] += c->ns;
		if (!most[c->kind] || c->ns > most[c->kind]->ns)
			most[c->kind] = c;
		/* a thread for each request makes a cause for each: only their sum tells */
		if (!top || by_kind[c->kind] > by_kind[top->kind])
			top = most[c->kind];
	}
	if (top)
		top = most[top->kind];
	if (!top)
		return;
	where = top->res != NO_IDX && top->kind != CAUSE_TIMER ? k->m->res[top->res].name : "";
	say_figures(k, f, "it is itself held up: {}, {} of its time at work{}{}",
		    N_WORD(cause_words(top->kind)),
		    N_SHARE("peer_held_up", part_of(by_kind[top->kind], all)),
		    N_WORD(*where ? " on " : ""), N_WORD(where));
}

/*
 * What is waited for there before anybody takes the request: the peer's own
 * figure for it, against that of the one who asks.
 */
#define UNTAKEN_MIN_NS 1e6 /* less may be the way there and back */

static void untaken_line(struct court *k, struct finding *f, uint32_t peer, const struct end *n)
{
	double turns = 0, ns = 0, conns = 0, seen = n->turns ? (double)n->service_ns / n->turns : 0;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *e = &k->m->ends[i];

		if (e->role != ROLE_SERVER || e->proc == NO_IDX || e->family != n->family ||
		    !is_of_peer(k, e->proc, peer, n) ||
		    (n->rport ? e->lport != n->rport : strcmp(e->name, n->name) != 0))
			continue;
		turns += e->turns;
		ns += e->service_ns;
		conns += e->conns;
	}
	/* several at once on one connection are not told apart there */
	if ((double)n->service_ns > conns * k->window_ns)
		return;
	if (turns < 1 || seen < 2 * ns / turns || seen - ns / turns < UNTAKEN_MIN_NS)
		return;
	say_figures(k, f, "it answers {} after it was asked, but works only {} on a request: for "
		    "the rest nobody there takes it (too few workers?)",
		    N_NS("peer_answers_after", seen), N_NS("peer_works", ns / turns));
}

/*
 * Where the peer is asked, told from the conversations: another thread of ours
 * may have asked than the one that waits, and that one waits for no socket.
 */
static const struct end *asked_at(const struct court *k, const struct proc *peer)
{
	const struct end *best = NULL;

	for (size_t i = 0; i < k->m->end_cnt; i++) {
		const struct end *n = &k->m->ends[i];

		if (n->role == ROLE_CLIENT && n->proc != NO_IDX && k->m->procs[n->proc].target &&
		    n->peer_tgid == peer->tgid && (!best || n->turns > best->turns))
			best = n;
	}
	return best;
}

/* A loop that asks and waits for the answer there and then serves nobody meanwhile. */
static void blocking_line(struct court *k, struct finding *f, const struct cause *c)
{
	uint32_t t = c->via != NO_IDX ? c->via : c->thread;
	const struct res *r = res_of(k, c->via != NO_IDX ? c->via_res : c->res);

	if (t == NO_IDX || !thread_is_target(k->m, t) || !r || r->kind != RES_SOCKET ||
	    k->w->threads[t].role != ROLE_T_LOOP)
		return;
	say(k, f, "%s waits for these answers in its event loop, which serves nobody meanwhile",
	    thread_label(k, t));
}

/* Waits of the target for whatever files that process serves: each may be for another. */
static void served_line(struct court *k, struct finding *f, uint32_t server)
{
	const struct model *m = k->m;
	uint64_t cnt = 0, ns = 0, max_ns = 0;

	for (size_t i = 0; i < m->pair_cnt; i++) {
		const struct pair *p = &m->pairs[i];

		if (p->waker == NO_IDX || m->threads[p->waker].proc != server ||
		    !thread_is_target(m, p->thread) || p->res == NO_IDX ||
		    m->res[p->res].kind != RES_FILE)
			continue;
		cnt += p->cnt;
		ns += p->ns;
		max_ns = p->max_ns > max_ns ? p->max_ns : max_ns;
	}
	if (cnt)
		say_figures(k, f, "{} waits for files that it serves, mean {}, longest {}",
			    N_CNT("waits", cnt), N_NS("mean", (double)ns / cnt),
			    N_NS("longest", max_ns));
}

/* n: the conversation with it, NULL none. */
static const char *unknown_peer_text(struct court *k, const struct finding *f, const struct end *n)
{
	if (n && is_refused(n))
		return arena_printf(k->arena, "Nobody takes its connections at %s: they are "
				    "refused, and it tries again after a pause.", n->name);
	return arena_printf(k->arena, "It waits for answers from %s%s.",
			    f->resource[0] ? f->resource : n ? n->name : "a peer",
			    f->cls == FIND_PEER ? ", on this host" : "");
}

static void explain_far(struct court *k, struct finding *f, const struct cand *c)
{
	const struct proc *p = c->peer != NO_IDX ? &k->m->procs[c->peer] : NULL;
	const struct end *n = c->end != NO_IDX ? &k->m->ends[c->end] : p ? asked_at(k, p) : NULL;
	const char *name = n ? n->name : "a peer";

	if (c->top && !n)
		name_res(k, f, c->top->via_res != NO_IDX ? c->top->via_res : c->top->res);
	if (n) {
		f->resource = n->name;
		f->res_kind = "socket";
	}
	if (p)
		f->culprit = (struct party){ .pid = p->tgid, .comm = p->comm };
	if (f->cls == FIND_PEER && p) {
		bool file = !n && strcmp(f->res_kind, "file") == 0;

		f->summary = arena_printf(k->arena, "It waits for %s (pid %u) on this host%s%s.",
					  p->comm, p->tgid,
					  n ? " at " : file ? ", which serves the file " : "",
					  n ? name : file ? f->resource : "");
		if (file)
			served_line(k, f, c->peer);
		peer_lines(k, f, c->peer, n);
		if (n)
			untaken_line(k, f, c->peer, n);
	} else if (strcmp(f->res_kind, "file") == 0) {
		f->summary = arena_printf(k->arena, "It waits for the file %s, which no disk of "
					  "this host serves.", f->resource);
		waits_line(k, f, c->top->thread, c->top->res);
	} else {
		f->summary = unknown_peer_text(k, f, n);
		if (p)
			say(k, f, "at that address, on this host: %s (pid %u)", p->comm, p->tgid);
	}
	pool_line(k, f);
	if (c->top)
		blocking_line(k, f, c->top);
	if (n && n->turns)
		say_figures(k, f, "{} requests sent to {}: mean answer after {}, longest {}",
			    N_CNT("requests_sent", n->turns), N_WORD(name),
			    N_NS("mean", (double)n->service_ns / n->turns),
			    N_NS("longest", n->answer_max_ns));
	if (n && n->refused_cnt)
		say_figures(k, f, "{} connections to {} were refused",
			    N_CNT("connections_refused", n->refused_cnt), N_WORD(name));
	if (n)
		unanswered_line(k, f, n);
	if (n && held_conns(k, n) >= 1)
		say_figures(k, f, "on {} connections to it the end of what was asked lay unsent at "
			    "both ends of the watch, kept back until what came before is "
			    "acknowledged (Nagle's algorithm): TCP_NODELAY is not set here",
			    N_CNT("connections_kept_back", held_conns(k, n)));
	if (n && n->open_now)
		say_figures(k, f, "{} requests unanswered at the end, the oldest for {}",
			    N_CNT("unanswered", n->open_now), N_NS("oldest", n->open_oldest_ns));
	refute(k, f, "the peer answers as fast as it is asked, measured at the peer itself");
}

void explain(struct court *k, struct finding *f, const struct cand *c)
{
	f->cls = c->cls;
	f->resource = f->res_kind = f->summary = f->culprit.comm = "";
	f->share = k->demand_ns > 0 ? c->ns / k->demand_ns : 0;
	switch (c->cls) {
	case FIND_LOCK_HELD:
	case FIND_LOCK_CONVOY:
		explain_lock(k, f, c);
		break;
	case FIND_DISK_OWN:
	case FIND_DISK_LIMIT:
	case FIND_DISK_NEIGHBOUR:
	case FIND_FSYNC:
		explain_disk(k, f, c);
		disk_users(k, f, c);
		if (c->cls == FIND_DISK_LIMIT)
			limit_lines(k, f);
		break;
	case FIND_CPU_OWN:
	case FIND_CPU_NEIGHBOUR:
	case FIND_CPU_QUOTA:
		explain_cpu(k, f, c);
		culprit_lines(k, f);
		if (c->cls == FIND_CPU_QUOTA)
			quota_lines(k, f);
		break;
	case FIND_EXTERNAL:
	case FIND_PEER:
		explain_far(k, f, c);
		break;
	case FIND_WORKERS:
	case FIND_CONN_LIMIT:
		explain_queue(k, f, c);
		backlog_lines(k, f);
		break;
	case FIND_LOOP_BLOCKED:
		explain_loop(k, f, c);
		break;
	case FIND_STOPPED:
		stopped_explain(k, f);
		break;
	default:
		explain_rest(k, f, c);
		break;
	}
	chain_build(k, f, c);
	evidence_weigh(k, f, c);
	next_step(k, f, c);
}
