/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose fault a slow disk is: the process's own load, a neighbour's, or a
 * limit set on the cgroup.  Moves the demand of disk-own and fsync.
 *
 * That a thread waited for a file is no evidence of a disk: who waits for a
 * device has a request there meanwhile.  Where it has none the limit of a
 * cgroup kept it back, or whatever else serves the file.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cmp.h"
#include "functions/functions.h"
#include "verdict/chain/chain.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/context/tail.h"
#include "verdict/context/targets.h"
#include "verdict/evidence/forks.h"
#include "verdict/evidence/memory_facts.h"
#include "verdict/evidence/request_lines.h"
#include "verdict/findings/findings.h"
#include "verdict/findings/next_step.h"

/* ---- demand ---- */

static bool claims_disk(const struct context *k, const struct cause *c)
{
	(void)k;
	return c->kind == CAUSE_DISK;
}

static bool claims_fsync(const struct context *k, const struct cause *c)
{
	(void)k;
	return c->kind == CAUSE_FSYNC;
}

/* A device is busy when it has work more than half of the time: queueing doubles the wait there. */
#define DEV_BUSY 0.5
/* Others must do more than the process itself. */
#define OTHERS_MIN 0.5
/* Use this close to a limit is use up to the limit; throttling lets short bursts through. */
#define LIMIT_NEAR 0.6
/* Requests of its own in flight while it waits, on average: it waits for them mostly. */
#define AT_DEVICE_MIN 0.5
/* A device works on a request while it is busy, but for what its queue takes. */
#define WORKED_MIN 0.5
/* One wait may stand for this many requests, one after the other: data, journal, flush, commit. */
#define REQUESTS_EACH 4.0

struct disk_sum { double own_ios, own_sectors;
	double top_sectors; uint32_t top; const char *top_comm; };

/* A kernel thread, which writes for others, or heldup. */
static bool is_no_neighbour(const struct model *m, uint32_t tgid)
{
	uint32_t p = model_proc_by_tgid(m, tgid);

	return p != NO_IDX && (m->procs[p].kthread || m->procs[p].watcher);
}

/* A request costs the device about as much as 64 KiB of transfer: small requests count too. */
#define IO_WEIGHT_SECTORS 128.0

static double weight_of(double ios, double sectors)
{
	return ios * IO_WEIGHT_SECTORS + sectors;
}

static void disk_add(struct disk_sum *s, const struct model *m, const struct disk_use *u)
{
	double w = weight_of(u->ios, u->sectors);

	if (tgid_is_target(m, u->tgid)) {
		s->own_ios += u->ios;
		s->own_sectors += u->sectors;
	} else if (!is_no_neighbour(m, u->tgid) && w > s->top_sectors) {
		s->top_sectors = w;
		s->top = u->tgid;
		s->top_comm = u->comm;
	}
}

static uint32_t busiest_dev(const struct model *m)
{
	uint32_t best = NO_IDX;

	for (size_t i = 0; i < m->dev_cnt; i++) {
		if (best == NO_IDX || m->devs[i].busy_ns > m->devs[best].busy_ns)
			best = i;
	}
	return best;
}

static bool near(double used, double limit, double seconds)
{
	return limit > 0 && used / seconds >= LIMIT_NEAR * limit;
}

static bool waits_for_disk(const struct model *m, const struct wait *w)
{
	bool served = w->waker_ctx == WAKER_TASK && w->waker != NO_IDX &&
		      !(m->threads[w->waker].flags & TASKF_KTHREAD);

	return thread_is_target(m, w->thread) && !served &&
	       (w->cls == WAIT_FILE || w->cls == WAIT_FSYNC || w->cls == WAIT_AIO ||
		w->cls == WAIT_DIRTY);
}

static int by_begin(const void *pa, const void *pb)
{
	const struct wait *const *a = pa, *const *b = pb;

	CMP((*a)->off_ns, (*b)->off_ns);
	return 0;
}

struct disk_waits { double any_ns, mean_ns; }; /* time in which any thread waited; of one wait */

static struct disk_waits long_disk_waits(const struct context *k)
{
	const struct model *m = k->m;
	const struct wait **sorted = ARENA_ARRAY(k->arena, const struct wait *, m->long_cnt + 1);
	struct disk_waits ret = { 0 };
	uint64_t until = 0, ns = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < m->long_cnt; i++) {
		if (waits_for_disk(m, &m->long_waits[i]))
			sorted[cnt++] = &m->long_waits[i];
	}
	qsort(sorted, cnt, sizeof(*sorted), by_begin);
	for (size_t i = 0; i < cnt; i++) {
		uint64_t begin = sorted[i]->off_ns;
		uint64_t end = sorted[i]->wake_ns ? sorted[i]->wake_ns : sorted[i]->end_ns;

		ns += end - begin;
		begin = begin < until ? until : begin;
		ret.any_ns += end > begin ? end - begin : 0;
		until = end > until ? end : until;
	}
	ret.mean_ns = cnt ? (double)ns / cnt : 0;
	return ret;
}

/*
 * While it waited, requests of its own were at a device; or that is busy with requests
 * that take as long as its waits, which may be for room there.
 */
static bool is_at_device(const struct context *k, double busy)
{
	const struct model *m = k->m;
	struct disk_waits waits = long_disk_waits(k);
	double flight = 0, others = 0, ios = 0;

	for (size_t i = 0; i < m->dev_cnt; i++)
		flight += m->devs[i].inflight_ns;
	for (size_t i = 0; i < m->disk_use_cnt; i++) {
		const struct disk_use *u = &m->disk_uses[i];

		ios += u->ios;
		if (!tgid_is_target(m, u->tgid) && !is_no_neighbour(m, u->tgid))
			others += u->lat_ns;
	}
	if (!m->dev_cnt || flight - others >= AT_DEVICE_MIN * waits.any_ns)
		return true;
	return ios > 0 && busy >= DEV_BUSY && REQUESTS_EACH * flight / ios >= waits.mean_ns;
}

/*
 * The kernel counts a device busy with requests that a limit still holds back: they were
 * sent to it for less than that.
 */
static bool busy_with_held(const struct context *k, uint32_t dev)
{
	const struct model *m = k->m;
	double ns = 0, ios = 0;

	for (size_t i = 0; dev != NO_IDX && i < m->disk_use_cnt; i++) {
		if (m->disk_uses[i].dev != m->devs[dev].dev)
			continue;
		ns += m->disk_uses[i].lat_ns;
		ios += m->disk_uses[i].ios;
	}
	return ios > 0 && ns < WORKED_MIN * m->devs[dev].busy_ns;
}

static bool has_io_limit(const struct cgroup *g)
{
	return g->io_rbps || g->io_wbps || g->io_riops || g->io_wiops;
}

/* The group whose I/O limit the process runs into, or NULL. */
static const struct cgroup *limiting(const struct context *k, const struct disk_sum *s,
				     bool at_device)
{
	double sec = k->window_ns / 1e9;

	for (size_t i = 0; i < k->m->cgroup_cnt; i++) {
		const struct cgroup *g = &k->m->cgroups[i];

		if (!has_io_limit(g) || !tgid_is_target(k->m, g->tgid))
			continue;
		/* flushes and journal writes are throttled for us and charged to the kernel */
		if (near(s->own_ios, g->io_riops, sec) || near(s->own_ios, g->io_wiops, sec) ||
		    near(s->own_sectors * 512, g->io_rbps, sec) ||
		    near(s->own_sectors * 512, g->io_wbps, sec) || !at_device)
			return g;
	}
	return NULL;
}

static void move(struct context *k, unsigned from, unsigned to)
{
	struct cand *a = &k->cand[from], *b = &k->cand[to];

	if (a->top && (!b->top || a->top_ns > b->top_ns)) {
		b->top = a->top;
		b->top_ns = a->top_ns;
	}
	if (b->lock == NO_IDX)
		b->lock = a->lock;
	if (b->dev == NO_IDX)
		b->dev = a->dev;
	b->ns += a->ns;
	a->ns = 0;
}

#define MAJOR_SHIFT 20 /* of a device's number as the kernel has it */

/*
 * A file system without a device of its own, and that no process serves here, has its
 * files from another host.  With a device, what lies between is not known.
 */
static void without_disk(struct context *k, unsigned from)
{
	const struct cause *top = k->cand[from].top;
	const struct res *r = top && top->res != NO_IDX ? &k->m->res[top->res] : NULL;

	move(k, from, r && r->kind == RES_FILE && r->dev && !(r->dev >> MAJOR_SHIFT) ?
			      FIND_EXTERNAL : FIND_UNKNOWN);
}

static void weigh_disk(struct context *k)
{
	const struct model *m = k->m;
	uint32_t dev = busiest_dev(m);
	struct disk_sum s = { .top_comm = "" };
	double busy, others;
	bool at_device;

	if (k->cand[FIND_DISK_OWN].ns + k->cand[FIND_FSYNC].ns <= 0)
		return;
	for (size_t i = 0; i < m->disk_use_cnt; i++) {
		if (dev != NO_IDX && m->disk_uses[i].dev == m->devs[dev].dev)
			disk_add(&s, m, &m->disk_uses[i]);
	}
	busy = dev != NO_IDX ? m->devs[dev].busy_ns / k->window_ns : 0;
	others = s.top_sectors / (s.top_sectors + weight_of(s.own_ios, s.own_sectors) + 1);
	k->cand[FIND_DISK_OWN].dev = k->cand[FIND_FSYNC].dev = dev;
	k->cand[FIND_DISK_LIMIT].dev = k->cand[FIND_DISK_NEIGHBOUR].dev = dev;
	at_device = is_at_device(k, busy);
	if (limiting(k, &s, at_device && !busy_with_held(k, dev))) {
		move(k, FIND_DISK_OWN, FIND_DISK_LIMIT);
		move(k, FIND_FSYNC, FIND_DISK_LIMIT);
	} else if (!at_device) {
		without_disk(k, FIND_DISK_OWN);
		without_disk(k, FIND_FSYNC);
	} else if (busy >= DEV_BUSY && others >= OTHERS_MIN) {
		move(k, FIND_DISK_OWN, FIND_DISK_NEIGHBOUR);
		move(k, FIND_FSYNC, FIND_DISK_NEIGHBOUR);
		k->cand[FIND_DISK_NEIGHBOUR].neighbour = s.top;
		k->cand[FIND_DISK_NEIGHBOUR].neighbour_comm = s.top_comm;
	}
}

static void weigh_stalls_disk(struct context *k, const struct stall_group *g)
{
	(void)g;
	weigh_disk(k);
}

/* ---- evidence ---- */

static const char *pid_text(struct context *k, uint32_t pid)
{
	return arena_printf(k->arena, "%u", pid);
}

static void disk_user(struct context *k, struct finding *f, const struct disk_use *u)
{
	static const char *const ops[] = { "reads", "writes", "flushes", "other requests" };

	say_figures(k, f, "{} (pid {}): {} {}/s, {}, mean latency {}", N_WORD(u->comm),
		    N_WORD(pid_text(k, u->tgid)),
		    N_PER_S("disk_requests", u->ios / (k->window_ns / 1e9)), N_WORD(ops[u->op & 3]),
		    N_BYTES_PER_S("disk_bytes", u->sectors * 512 / (k->window_ns / 1e9)),
		    N_NS("disk_latency", (double)u->lat_ns / u->ios));
}

/* Sums of the threads of a process; false where an earlier row has them. */
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
static void disk_users(struct context *k, struct finding *f, const struct cand *c)
{
	const struct model *m = k->m;

	for (int own = 1; c->dev != NO_IDX && own >= 0; own--) {
		int said = 0;

		for (size_t i = 0; i < m->disk_use_cnt && said < 2; i++) {
			const struct disk_use *u = &m->disk_uses[i];
			uint32_t p = model_proc_by_tgid(m, u->tgid);
			struct disk_use all;

			if (u->dev != m->devs[c->dev].dev || u->ios < 1 ||
			    (proc_is_target(m, p)) != own)
				continue;
			if (!of_process(m, i, &all))
				continue;
			disk_user(k, f, &all);
			said++;
		}
	}
}

static void limit_lines(struct context *k, struct finding *f)
{
	for (size_t i = 0; i < k->m->cgroup_cnt; i++) {
		const struct cgroup *g = &k->m->cgroups[i];

		if (!has_io_limit(g))
			continue;
		say_figures(k, f, "cgroup {}: limits read {} B/s {}/s, write {} B/s {}/s (0: none)",
			    N_WORD(g->path), N_RAW_BYTES_PER_S("read_limit", g->io_rbps),
			    N_PER_S("read_limit", g->io_riops),
			    N_RAW_BYTES_PER_S("write_limit", g->io_wbps),
			    N_PER_S("write_limit", g->io_wiops));
	}
}

static const struct dev *dev_of(const struct context *k, const struct cand *c)
{
	return c->dev != NO_IDX ? &k->m->devs[c->dev] : NULL;
}

static const char *dev_name(const struct context *k, const struct cand *c)
{
	const struct dev *d = dev_of(k, c);

	return d ? d->name : "the disk";
}

static double busy_percent(const struct context *k, const struct cand *c)
{
	const struct dev *d = dev_of(k, c);

	return d ? percent(d->busy_ns, k->window_ns) : 0;
}

static const struct res *file_of(const struct context *k, const struct cand *c)
{
	return c->top && c->top->res != NO_IDX ? &k->m->res[c->top->res] : NULL;
}

static void resource_disk(struct context *k, struct finding *f, const struct cand *c)
{
	f->resource = dev_name(k, c);
	f->res_kind = "disk";
	if (c->top)
		f->culprit = party_of(k->m, c->top->thread);
}

static void disk_lines(struct context *k, struct finding *f, const struct cand *c)
{
	const struct dev *d = dev_of(k, c);

	if (d)
		say_figures(k, f, "{}: busy {}, {} requests in flight on average", N_WORD(d->name),
			    N_SHARE("disk_busy", busy_percent(k, c) / 100),
			    N_AVG("in_flight", (double)d->inflight_ns / k->window_ns));
	disk_users(k, f, c);
}

static void file_lines(struct context *k, struct finding *f, const struct cand *c)
{
	if (file_of(k, c))
		say(k, f, "most of the waiting is on %s", file_of(k, c)->name);
	if (c->top)
		waits_line(k, f, c->top->thread, c->top->res);
}

static void explain_own(struct context *k, struct finding *f, const struct cand *c)
{
	const struct cgroup *full = memory_full(k);

	resource_disk(k, f, c);
	f->summary = arena_printf(k->arena, "It waits for %s, which its own requests keep %.0f %% "
				  "busy.", dev_name(k, c), busy_percent(k, c));
	file_lines(k, f, c);
	if (full)
		say_figures(k, f, "cgroup {} is at its limit of {} of memory: what it reads does "
			    "not stay there to be read again", N_WORD(full->path),
			    N_MIB("memory_limit", full->mem_limit_bytes));
	disk_lines(k, f, c);
}

static void explain_neighbour(struct context *k, struct finding *f, const struct cand *c)
{
	resource_disk(k, f, c);
	f->culprit = (struct party){ .pid = c->neighbour, .comm = c->neighbour_comm };
	f->summary = arena_printf(k->arena, "%s (pid %u) keeps %s busy (%.0f %%).",
				  c->neighbour_comm, c->neighbour, dev_name(k, c),
				  busy_percent(k, c));
	file_lines(k, f, c);
	disk_lines(k, f, c);
}

static void explain_limit(struct context *k, struct finding *f, const struct cand *c)
{
	resource_disk(k, f, c);
	f->summary = arena_printf(k->arena, "The cgroup's I/O limit holds it back; %s itself is "
				  "%.0f %% busy.", dev_name(k, c), busy_percent(k, c));
	file_lines(k, f, c);
	disk_lines(k, f, c);
	limit_lines(k, f);
}

static void explain_fsync(struct context *k, struct finding *f, const struct cand *c)
{
	const struct res *r = file_of(k, c);

	resource_disk(k, f, c);
	if (r) {
		f->resource = r->name;
		f->res_kind = res_kind_name(r->kind);
	}
	f->summary = arena_printf(k->arena, "%s waits for its writes to be made durable: fsync of "
				  "%s.", thread_label(k, c->top ? c->top->thread : NO_IDX),
				  r ? r->name : "a file");
	if (c->top)
		waits_line(k, f, c->top->thread, c->top->res);
	disk_lines(k, f, c);
}

static void disk_step(struct context *k, struct finding *f, const struct cand *c)
{
	struct step *s;

	if (c->dev == NO_IDX)
		return;
	s = step_add(k, f, f->share);
	s->role = "disk";
	s->resource = dev_name(k, c);
	s->res_kind = "disk";
	s->doing = arena_printf(k->arena, "busy %.0f %% of the time",
				100 * k->m->devs[c->dev].busy_ns / k->window_ns);
}

/* ---- what is missing ---- */

/* Time that its threads slept for a disk, each by itself. */
static double file_ns(const struct context *k)
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
static void lacks_work(struct context *k, struct finding *f, const struct cand *c, unsigned by)
{
	const struct dev *d = dev_of(k, c);
	double waits = file_ns(k), atmost = waits < k->window_ns ? waits : k->window_ns;

	if (!d)
		lack(k, f, 2, "no disk was seen at work");
	else if (2 * (double)d->busy_ns < atmost && 2 * (double)d->inflight_ns < waits)
		lack(k, f, by, "%s was busy only %.0f %% of the time", d->name,
		     percent((double)d->busy_ns, k->window_ns));
}

static void lacks_own(struct context *k, struct finding *f, const struct cand *c)
{
	lacks_work(k, f, c, 2);
}

static void lacks_neighbour(struct context *k, struct finding *f, const struct cand *c)
{
	if (!c->neighbour)
		lack(k, f, 2, "who keeps the disk busy was not seen");
	lacks_work(k, f, c, 2);
}

static void lacks_fsync(struct context *k, struct finding *f, const struct cand *c)
{
	lacks_work(k, f, c, 1);
}

/* The first cgroup that has an I/O limit, NULL none. */
static const struct cgroup *limited(const struct context *k)
{
	for (size_t i = 0; i < k->m->cgroup_cnt; i++)
		if (has_io_limit(&k->m->cgroups[i]))
			return &k->m->cgroups[i];
	return NULL;
}

static void lacks_limit(struct context *k, struct finding *f, const struct cand *c)
{
	(void)c;
	if (!limited(k))
		lack(k, f, 2, "no cgroup with an I/O limit was seen");
}

/* ---- what to do ---- */

static const char *next_own(struct context *k, const struct finding *f, const struct cand *c)
{
	(void)c;
	return arena_printf(k->arena, "have %s read and write less on %s%s (more cache, an index), "
			    "or give it a faster disk", step_who(k, f, "it"),
			    step_what(f, "the disk"), step_place(k, f));
}

static const char *next_neighbour(struct context *k, const struct finding *f, const struct cand *c)
{
	(void)c;
	return arena_printf(k->arena, "move %s to another disk than %s, or limit it there "
			    "(io.max)", step_who(k, f, "who uses it"), step_what(f, "this"));
}

static const char *next_limit(struct context *k, const struct finding *f, const struct cand *c)
{
	const struct cgroup *g = limited(k);

	(void)f;
	(void)c;
	return arena_printf(k->arena, "raise io.max of %s%s, or have it do less I/O",
			    g ? "cgroup " : "its cgroup", g ? g->path : "");
}

static const char *next_fsync(struct context *k, const struct finding *f, const struct cand *c)
{
	const struct cause *t = c ? c->top : NULL;

	return arena_printf(k->arena, "sync %s less often (several commits at once), or put it on "
			    "a disk that syncs faster: it takes %s each time",
			    step_what(f, "the file"),
			    ns_text(k, t && t->cnt ? (double)t->ns / (double)t->cnt : 0));
}

/* ---- stalls ---- */

static const char *disk_stall(struct context *k, const struct cand *c,
			      const struct stall_finding *s)
{
	return arena_printf(k->arena, "%s waits for the disk, %s%s",
			    thread_label(k, c->top ? c->top->thread : NO_IDX),
			    step_what(&s->f, "of unknown name"), in_function(k, s, " in"));
}

static const char *fsync_stall(struct context *k, const struct cand *c,
			       const struct stall_finding *s)
{
	return arena_printf(k->arena, "%s waits for fsync of %s%s",
			    thread_label(k, c->top ? c->top->thread : NO_IDX),
			    step_what(&s->f, "a file"), in_function(k, s, " in"));
}

#define DISK_REFUTED \
	"another file or device on the same disk is as slow when this process rests"

const struct finding_def finding_disk_own = {
	.cls = FIND_DISK_OWN,
	.name = "disk-own",
	.title = "disk used up by its own load",
	.claims = claims_disk,
	.moves_from = 1u << FIND_DISK_OWN | 1u << FIND_FSYNC,
	.weigh = weigh_disk,
	.weigh_stalls = weigh_stalls_disk,
	.explain = explain_own,
	.refuted_if = DISK_REFUTED,
	.chain_end = disk_step,
	.lacks = lacks_own,
	.next_step = next_own,
	.stall_words = disk_stall,
	.may_be_work = true,
	.keeps_lines = true,
};

const struct finding_def finding_disk_neighbour = {
	.cls = FIND_DISK_NEIGHBOUR,
	.name = "disk-neighbour",
	.title = "disk taken by a neighbour",
	.explain = explain_neighbour,
	.refuted_if = DISK_REFUTED,
	.chain_end = disk_step,
	.lacks = lacks_neighbour,
	.next_step = next_neighbour,
	.stall_words = disk_stall,
	.outside = OUTSIDE_DISK,
	.not_its_own = true,
	.keeps_lines = true,
};

const struct finding_def finding_disk_limit = {
	.cls = FIND_DISK_LIMIT,
	.name = "disk-limit",
	.title = "held back by an I/O limit",
	.explain = explain_limit,
	.refuted_if = "raising the limit does not make these waits shorter",
	.chain_end = disk_step,
	.lacks = lacks_limit,
	.next_step = next_limit,
	.stall_words = disk_stall,
	.outside = OUTSIDE_DISK,
	.not_its_own = true,
	.keeps_lines = true,
};

const struct finding_def finding_fsync = {
	.cls = FIND_FSYNC,
	.name = "fsync",
	.title = "waits for fsync or journal",
	.claims = claims_fsync,
	.explain = explain_fsync,
	.refuted_if = DISK_REFUTED,
	.chain_end = disk_step,
	.lacks = lacks_fsync,
	.next_step = next_fsync,
	.stall_words = fsync_stall,
	.may_be_work = true,
	.keeps_lines = true,
};
