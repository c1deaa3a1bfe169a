/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_answer.h"

#include "base/arena.h"
#include "base/clock.h"
#include "model/model.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

#define BEGIN_NS (1000 * NS_PER_SEC)
#define WINDOW_NS (10 * NS_PER_SEC)
#define TICK_NS NS_PER_SEC
#define HOSTILE "\033[31m</script><b>&\"'\xff\xe2\x80\xae"

enum { TICKS = 10, WAITS_EACH = 40, PID = 4321 };

static void fill_res(struct model *m, struct arena *a)
{
	static const struct res list[] = {
		{ .kind = RES_FUTEX, .name = "futex 0x55d0c0 (lock)", .wait_ns = 60 * NS_PER_SEC,
		  .wait_cnt = 300, .wake_cnt = 300, .waiter_cnt = 7, .waker_cnt = 1, .tgid = PID },
		{ .kind = RES_EPOLL, .name = "epoll fd 5", .wait_ns = 5 * NS_PER_SEC,
		  .wait_cnt = 900, .waiter_cnt = 1, .tgid = PID },
		{ .kind = RES_TIMER, .name = "timer", .wait_ns = 9 * NS_PER_SEC, .wait_cnt = 40,
		  .waiter_cnt = 1 },
		{ .kind = RES_FILE, .name = "/var/lib/" HOSTILE ".log", .wait_ns = NS_PER_SEC,
		  .wait_cnt = 4, .waiter_cnt = 1, .tgid = PID },
	};

	m->res_cnt = sizeof(list) / sizeof(list[0]);
	m->res = arena_dup(a, list, sizeof(list));
}

/* Thread 0 is the event loop, 1 the holder, the others wait for the lock. */
static void fill_thread(struct model *m, struct arena *a, size_t idx)
{
	static const unsigned st[] = { ST_WAIT + WAIT_EPOLL, ST_WAIT + WAIT_TIMER,
				       ST_WAIT + WAIT_FUTEX };
	unsigned wait_st = st[idx < 2 ? idx : 2];
	struct thread *t = &m->threads[idx];

	*t = (struct thread){
		.tid = (uint32_t)(PID + idx), .tgid = PID, .tracked = 1, .begin_ns = m->begin_ns,
		.end_ns = m->end_ns, .wait_cnt = WAITS_EACH,
		.comm = idx == 3 ? HOSTILE : arena_printf(a, "worker-%zu", idx),
		.first_wait = (uint32_t)(idx * WAITS_EACH), .wait_len = WAITS_EACH,
		.first_slice = (uint32_t)(idx * TICKS), .slice_len = TICKS,
	};
	for (size_t i = 0; i < WAITS_EACH; i++) {
		uint64_t off = m->begin_ns + i * (WINDOW_NS / WAITS_EACH) + 10 * NS_PER_MS;

		m->waits[t->first_wait + i] = (struct wait){
			.off_ns = off, .wake_ns = off + 200 * NS_PER_MS,
			.end_ns = off + 215 * NS_PER_MS, .thread = (uint32_t)idx,
			.cls = (uint8_t)(wait_st - ST_WAIT), .waker = NO_IDX, .res = 0,
		};
	}
	for (size_t i = 0; i < TICKS; i++) {
		struct slice *s = &m->slices[t->first_slice + i];

		s->begin_ns = m->begin_ns + i * TICK_NS;
		s->ns[wait_st] = 800 * NS_PER_MS;
		s->ns[ST_RUNQ] = 60 * NS_PER_MS;
		s->ns[ST_RUN] = 140 * NS_PER_MS;
		for (unsigned k = 0; k < ST_CNT; k++)
			t->ns[k] += s->ns[k];
	}
}

static struct model *fill_model(struct arena *a, size_t threads)
{
	struct model *m = ARENA_NEW(a, struct model);

	m->begin_ns = BEGIN_NS;
	m->end_ns = BEGIN_NS + WINDOW_NS;
	m->waits_begin_ns = m->begin_ns;
	m->meta.real_ns = UINT64_C(1790000000) * NS_PER_SEC;
	m->meta.tick_ns = TICK_NS;
	m->meta.cpu_cnt = 2;
	m->cmdline = "heldup why -p 4321";
	m->kernel = "6.1.0";
	m->hostname = "db1";
	m->selection = "pid 4321";
	m->thread_cnt = threads;
	m->threads = ARENA_ARRAY(a, struct thread, threads + 1);
	m->waits = ARENA_ARRAY(a, struct wait, threads * WAITS_EACH + 1);
	m->wait_cnt = threads * WAITS_EACH;
	m->slices = ARENA_ARRAY(a, struct slice, threads * TICKS + 1);
	m->slice_cnt = threads * TICKS;
	m->procs = ARENA_NEW(a, struct proc);
	m->procs[0] = (struct proc){ .tgid = PID, .comm = "mariadbd", .exe = "mariadbd",
				     .cgroup = "/system.slice", .target = 1 };
	m->proc_cnt = 1;
	fill_res(m, a);
	for (size_t i = 0; i < threads; i++)
		fill_thread(m, a, i);
	m->self = (struct ev_self){ .cpu_ns = 61 * NS_PER_MS, .rss_bytes = 31 << 20,
				    .rss_max_bytes = 33 << 20, .events = 123456,
				    .bytes = 9 << 20, .bpf_ns = 30 * NS_PER_MS };
	m->loss.cnt[LOSS_RING] = 12;
	return m;
}

static void fill_waits_tables(struct waits_result *w, struct arena *a, size_t threads)
{
	size_t edges = threads > 2 ? (threads < 12 ? threads : 12) - 2 : 0;

	w->edges = ARENA_ARRAY(a, struct wedge, edges + 2);
	for (size_t i = 0; i < edges; i++)
		w->edges[w->edge_cnt++] = (struct wedge){
			.from = (uint32_t)(i + 2), .to = 1, .res = 0, .ctx = WAKER_TASK,
			.cls = WAIT_FUTEX, .ns = (edges - i) * NS_PER_SEC, .cnt = 40,
			.max_ns = NS_PER_SEC };
	if (threads > 1)
		w->edges[w->edge_cnt++] = (struct wedge){
			.from = 1, .to = NO_IDX, .res = 2, .ctx = WAKER_TIMER, .cls = WAIT_TIMER,
			.ns = NS_PER_SEC, .cnt = 4, .max_ns = NS_PER_SEC };
	w->locks = ARENA_NEW(a, struct lock);
	w->locks[0] = (struct lock){ .res = 0, .res_cnt = 1, .cls = LOCK_LOCK, .waiter_cnt = 7,
				     .holder_cnt = 1, .holder = threads > 1 ? 1 : NO_IDX,
				     .wait_ns = 60 * NS_PER_SEC, .wait_cnt = 300,
				     .max_ns = NS_PER_SEC, .busy_ns = 9 * NS_PER_SEC,
				     .hold_ns = 200 * NS_PER_MS, .avg_waiters = 6.5 };
	w->lock_cnt = 1;
	w->causes = ARENA_NEW(a, struct cause);
	w->causes[0] = (struct cause){ .kind = CAUSE_LOCK, .thread = threads > 1 ? 1 : NO_IDX,
				       .res = 0, .ns = 55 * NS_PER_SEC, .cnt = 300 };
	w->cause_cnt = 1;
}

static struct waits_result *fill_waits(struct arena *a, size_t threads)
{
	struct waits_result *w = ARENA_NEW(a, struct waits_result);

	w->threads = ARENA_ARRAY(a, struct wthread, threads + 1);
	for (size_t i = 0; i < threads; i++)
		w->threads[i] = (struct wthread){ .role = i ? ROLE_T_WORKER : ROLE_T_LOOP,
						  .home_res = i ? NO_IDX : 1,
						  .idle_ns = i ? i * 1000 : 6 * NS_PER_SEC,
						  .blocked_ns = 8 * NS_PER_SEC };
	w->demand_kind = 1;
	w->demand_ns = 60 * NS_PER_SEC;
	w->reqs = ARENA_NEW(a, struct wreq);
	w->reqs[0] = (struct wreq){ .turns = 2940, .p50_ns = 310 * NS_PER_MS,
				    .p99_ns = 980 * NS_PER_MS, .answer_max_ns = NS_PER_SEC,
				    .open_avg = 7.4, .conns = 8, .demand_ns = 60 * NS_PER_SEC };
	w->req_cnt = 1;
	fill_waits_tables(w, a, threads);
	return w;
}

static const char *evidence[] = {
	"8 of 8 workers were in futex wait at once for 91 % of the window, on one address",
	"each hand-over came from thread 4322, 300 of 300; it held the lock 200 ms each time",
	"while it held the lock, thread 4322 slept in clock_nanosleep for 97 % of the time",
	"no request was unread for longer than 0.2 ms: the clients' side is not slow",
};
static const char *refute[] = {
	"the futex is a condition variable that thread 4322 signals by design once per job",
	"requests per second stay the same when the sleep in thread 4322 is taken away",
};
static const char *doubts[] = { "watched for 1.0 s only", "who asked was not seen" };
static const char *unseen[] = {
	"12 events were lost (ring buffer full): sums are right, chains may lack a link",
	"lock owners inside the kernel: tracepoint lock:contention_begin is not there",
};

static struct step *fill_chain(struct arena *a, size_t len)
{
	struct step *chain = ARENA_ARRAY(a, struct step, len + 1);

	for (size_t i = 0; i < len; i++)
		chain[i] = (struct step){
			.thread = (uint32_t)i, .who = { PID, (uint32_t)(PID + i), "mariadbd" },
			.role = "worker", .like_cnt = i == 1 ? 7 : 1,
			.doing = "waits for futex 0x55d0c0 (lock)",
			.resource = "futex 0x55d0c0 (lock)", .res_kind = "futex",
			.share = 0.98 - 0.02 * (double)i, .per_request_ns = 402 * NS_PER_MS,
			.cnt = 300 };
	if (!len)
		return chain;
	chain[0] = (struct step){ .thread = NO_IDX, .who = { 0, 0, "" }, .role = "clients",
				  .doing = "wait for answers from mariadbd (127.0.0.1:3306)",
				  .resource = "", .res_kind = "", .share = 1, .cnt = 2940,
				  .like_cnt = 8 };
	chain[len - 1].doing = "holds it and sleeps in clock_nanosleep";
	chain[len - 1].resource = "timer";
	chain[len - 1].res_kind = "timer";
	return chain;
}

static struct finding lock_finding(struct arena *a, size_t chain_len, size_t evidence_cnt)
{
	struct finding f = {
		.cls = FIND_LOCK_HELD, .conf = CONF_MEDIUM, .share = 0.92,
		.doubts = doubts, .doubt_cnt = 2,
		.next_step = "have mariadbd (tid 4322 of pid 4321) let go of futex 0x55d0c0 "
			     "sooner: holders were sleeping on a timer 97 % of that time",
		.summary = "Thread 4322 holds a lock while it sleeps, 200 ms each time; "
			   "7 workers wait for it with 92 % of the requests' time.",
		.resource = "futex 0x55d0c0 (lock)", .res_kind = "futex",
		.culprit = { PID, PID + 1, "mariadbd" },
		.chain = fill_chain(a, chain_len), .chain_len = chain_len,
		.evidence_cnt = evidence_cnt, .refute_cnt = evidence_cnt,
	};

	f.evidence = ARENA_ARRAY(a, const char *, evidence_cnt + 1);
	f.refute = ARENA_ARRAY(a, const char *, evidence_cnt + 1);
	for (size_t i = 0; i < evidence_cnt; i++) {
		f.evidence[i] = evidence[i % 4];
		f.refute[i] = refute[i % 2];
	}
	return f;
}

static void fill_findings(struct verdict *v, struct arena *a, enum fixture_kind kind)
{
	struct finding *f = v->findings;

	v->finding_cnt = 1;
	switch (kind) {
	case FIXTURE_LOCK:
		f[0] = lock_finding(a, 4, 4);
		f[0].refute_cnt = 2;
		break;
	case FIXTURE_LONG:
		for (size_t i = 0; i < 6; i++)
			f[i] = lock_finding(a, 12, 30);
		v->finding_cnt = 6;
		break;
	case FIXTURE_HEALTHY:
		f[0] = (struct finding){ .cls = FIND_HEALTHY, .conf = CONF_MEDIUM,
					 .doubts = doubts, .doubt_cnt = 2,
					 .next_step = "look at who asks it",
					 .summary = "Requests are answered as they come in.",
					 .resource = "", .res_kind = "", .culprit = { 0, 0, "" },
					 .evidence = evidence + 3, .evidence_cnt = 1 };
		break;
	default:
		f[0] = (struct finding){ .cls = FIND_UNKNOWN, .conf = CONF_LOW,
					 .summary = "Two causes explain it equally well.",
					 .resource = "", .res_kind = "", .culprit = { 0, 0, "" } };
		v->candidates = ARENA_ARRAY(a, struct finding, 2);
		v->candidates[0] = lock_finding(a, 0, 2);
		v->candidates[1] = lock_finding(a, 0, 2);
		v->candidates[1].cls = FIND_WORKERS;
		v->candidate_cnt = kind == FIXTURE_UNKNOWN ? 2 : 0;
	}
}

struct answer fixture_answer(struct arena *arena, enum fixture_kind kind, size_t threads)
{
	struct verdict *v = ARENA_NEW(arena, struct verdict);
	static struct change changes[] = {
		{ "lock wait per request", "ns", 1.2e6, 400e6, 9.1 },
		{ "requests open, mean", "", 0.4, 7.4, 3.0 },
	};

	v->findings = ARENA_ARRAY(arena, struct finding, 8);
	v->subject = "mariadbd (pid 4321), " HOSTILE ", 9 threads";
	v->seconds = 10;
	fill_findings(v, arena, kind);
	if (kind != FIXTURE_EMPTY) {
		v->unseen = unseen;
		v->unseen_cnt = 2;
		v->changes = changes;
		v->change_cnt = kind == FIXTURE_HEALTHY ? 0 : 2;
		v->compared = v->change_cnt > 0;
	}
	return (struct answer){ .model = fill_model(arena, threads),
				.waits = fill_waits(arena, threads), .verdict = v };
}
