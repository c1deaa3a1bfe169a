/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks: switches the clocks on, tells the kernel side about code (code.h),
 * and turns its records into EV_STACK, EV_SAMPLE and names of frames.
 *
 * The kernel side forgets stacks that are rare and numbers them anew at their
 * next sight: stacks are known by their hash, and an event id is given
 * once for each.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/code/code.h"
#include "collect/code/frame_names.h"
#include "collect/live/hooks.h"
#include "collect/code/ksyms.h"
#include "collect/live/live_int.h"
#include "collect/live/live_stacks.h"
#include "collect/proc/procfs.h"
#include "collect/runtimes/runtime_watch.h"
#include "heldup.skel.h"
#include "symbols/names/symbols.h"
#include "wire/stacks.h"

#define SCANS_PER_COMMIT 64 /* until then each holds a descriptor open */
#define DEFAULT_SAMPLE_HZ 99
#define NAMES_NS (40 * NS_PER_MS) /* per tick */
#define NAMES_LAST_NS (5 * NS_PER_SEC)
#define KEPT_MAX (4u << 20) /* frames of stacks that a runtime's may be mixed with: 32 MiB */
#define IDS_MAX (1u << 19) /* of the kernel side; as many of before are kept besides */

struct live_stacks {
	struct code *code;
	struct hmap ids, ids_before; /* of the kernel side, to those of events */
	uint32_t ids_max;
	struct hmap hashes; /* of stacks, to ids of events */
	struct symbols *syms;
	struct frame_names *names;
	bool late; /* code and sleepers are put off until live_stacks_begin */
	bool begun; /* that is over: code of peers is read at once */
	VEC(uint32_t) put_off;
	VEC(struct wire_task) sleepers;
	struct hmap asleep; /* threads to the stacks they slept with when the watch began */
	uint32_t last_id;
	VEC(struct bpf_link *) clocks;
	uint64_t sample_ns;
	uint64_t lost_cnt;  /* stacks whose frames never came */
	struct runtime_watch *runtimes; /* NULL: memory of processes is left alone */
	struct hmap is_mixed; /* ids of events: no native stacks */
	struct hmap mixed;   /* of a native stack and one of a runtime, to an id of events */
	struct hmap locks;   /* of runtimes, by their keys: those that were announced */
	struct hmap natives; /* ids of events to places in kept, plus one */
	VEC(uint64_t) kept;  /* stacks of processes with a runtime: counts, end, frames */
};

/* A CPU that is not there now is left out. */
void live_stacks_clocks(struct live *l)
{
	struct live_stacks *s = l->stacks;
	uint64_t hz = l->opts.sample_hz ? l->opts.sample_hz : DEFAULT_SAMPLE_HZ;
	int cpus = libbpf_num_possible_cpus(), rc = 0;

	if (!s)
		return;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd = hooks_clock_open(cpu, hz);
		struct bpf_link *link;

		if (fd < 0) {
			rc = fd == -ENODEV ? rc : fd;
			continue;
		}
		link = bpf_program__attach_perf_event(l->bpf.skel->progs.hu_sample, fd);
		if (link) {
			vec_push(&s->clocks, link);
			continue;
		}
		rc = -errno;
		close(fd);
	}
	if (s->clocks.cnt)
		s->sample_ns = NS_PER_SEC / hz;
	else
		live_bpf_missing(&l->bpf, "perf_event");
	if (rc < 0)
		log_debug("clock for samples: %s", strerror(-rc));
}

static uint64_t place_of(void *ctx, uint32_t tgid, uint64_t addr)
{
	return code_frame(ctx, tgid, addr);
}

static void runtimes_open(struct live_stacks *s, const struct heldup_bpf *skel, bool always)
{
	const struct runtime_maps maps = {
		.shapes = bpf_map__fd(skel->maps.hu_rt_shapes),
		.threads = bpf_map__fd(skel->maps.hu_rt_threads),
	};

	s->runtimes = runtime_watch_new(place_of, s->code, always);
	runtime_watch_running(s->runtimes, &maps);
}

void live_stacks_open(struct live *l)
{
	const struct heldup_bpf *skel = l->bpf.skel;
	struct live_stacks *s;
	struct code_fds fds;

	if (!skel->rodata->with_stacks)
		return;
	s = xcalloc(1, sizeof(*s));
	fds = (struct code_fds){
		.modules = bpf_map__fd(skel->maps.hu_modules),
		.tables = bpf_map__fd(skel->maps.hu_tables),
		.sets = bpf_map__fd(skel->maps.hu_sets),
		.procs = bpf_map__fd(skel->maps.hu_maps),
		.fresh = bpf_map__fd(skel->maps.hu_fresh),
		.programs = bpf_map__fd(skel->maps.hu_programs),
	};
	s->ids_max = l->opts.stack_ids_max ? l->opts.stack_ids_max : IDS_MAX;
	s->syms = symbols_new(l->opts.symbols);
	s->names = frame_names_new(s->syms, l->ksyms);
	s->code = code_new(&fds, s->syms);
	if (!l->opts.no_runtime_names)
		runtimes_open(s, skel, l->opts.goes_on);
	l->stacks = s;
}

void live_stacks_release(struct live *l)
{
	struct live_stacks *s = l->stacks;

	if (!s)
		return;
	VEC_FOREACH(&s->clocks, link)
		bpf_link__destroy(*link);
	vec_release(&s->clocks);
	vec_release(&s->put_off);
	vec_release(&s->sleepers);
	code_free(s->code);
	hmap_release(&s->ids);
	hmap_release(&s->ids_before);
	hmap_release(&s->hashes);
	hmap_release(&s->asleep);
	hmap_release(&s->mixed);
	hmap_release(&s->is_mixed);
	hmap_release(&s->natives);
	hmap_release(&s->locks);
	vec_release(&s->kept);
	runtime_watch_free(s->runtimes);
	frame_names_free(s->names);
	symbols_free(s->syms);
	free(s);
	l->stacks = NULL;
}

uint64_t live_sample_ns(const struct live *l)
{
	return l->stacks ? l->stacks->sample_ns : 0;
}

static void code_read(struct live *l, const uint32_t *tgids, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		code_scan(l->stacks->code, tgids[i], clock_mono_ns());
		if (i % SCANS_PER_COMMIT != SCANS_PER_COMMIT - 1)
			continue;
		code_commit(l->stacks->code);
		live_bpf_drain(&l->bpf);
	}
	code_commit(l->stacks->code);
}

void live_stacks_watch(struct live *l, const uint32_t *tgids, size_t cnt)
{
	if (!l->stacks)
		return;
	for (size_t i = 0; l->stacks->runtimes && i < cnt; i++)
		runtime_watch_add(l->stacks->runtimes, tgids[i]);
	l->stacks->late = !l->flight && !l->stacks->begun;
	for (size_t i = 0; l->stacks->late && i < cnt; i++)
		vec_push(&l->stacks->put_off, tgids[i]);
	if (!l->stacks->late)
		code_read(l, tgids, cnt);
}

void live_stacks_asked(struct live *l, const struct wire_maps *w)
{
	if (!l->stacks)
		return;
	code_ask(l->stacks->code, w, clock_mono_ns());
	if (l->stacks->runtimes)
		runtime_watch_add(l->stacks->runtimes, w->tgid);
}

void live_stacks_exec(struct live *l, uint32_t tgid)
{
	if (!l->stacks)
		return;
	code_forget(l->stacks->code, tgid);
	if (l->stacks->runtimes)
		runtime_watch_forget(l->stacks->runtimes, tgid);
}

void live_stacks_exit(struct live *l, uint32_t tgid)
{
	if (!l->stacks)
		return;
	/* the kernel side deleted it, but what was read of it may have been put after that */
	bpf_map_delete_elem(bpf_map__fd(l->bpf.skel->maps.hu_maps), &tgid);
	bpf_map_delete_elem(bpf_map__fd(l->bpf.skel->maps.hu_fresh), &tgid);
	live_stacks_exec(l, tgid);
}

void live_stacks_learn(struct live *l, uint64_t now)
{
	if (l->stacks)
		code_step(l->stacks->code, now);
}

void live_stacks_step(struct live *l, uint64_t now)
{
	live_stacks_learn(l, now);
	if (l->stacks)
		code_announce(l->stacks->code, &l->emit, now);
	if (l->stacks && l->stacks->runtimes && !l->stacks->late)
		runtime_watch_step(l->stacks->runtimes, &l->emit, now);
}

/* Frames of the tracing itself lie above those of the scheduler. */
static uint32_t own_frames(struct live *l, const uint64_t *frames, uint32_t cnt)
{
	static const char *const own[] = {"bpf_", "__bpf_", "__traceiter_", "trace_", "perf_",
					  "__perf_"};
	uint32_t skip = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		const char *name = ksyms_name(l->ksyms, frames[i] - 1);
		bool is_own = !*name; /* a program's own code has no name */

		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			is_own |= strncmp(name, own[k], strlen(own[k])) == 0;
		if (!is_own)
			break;
		skip = i + 1;
	}
	return skip < cnt ? skip : 0;
}

/* Frames as in the event: the kernel's first. */
static void native_keep(struct live_stacks *s, const struct ev_stack *ev, const uint64_t *frames)
{
	if (s->kept.cnt >= KEPT_MAX)
		return;
	hmap_put(&s->natives, ev->id, s->kept.cnt + 1);
	vec_push(&s->kept, ev->kernel_cnt);
	vec_push(&s->kept, ev->user_cnt);
	vec_push(&s->kept, ev->end);
	for (uint32_t i = 0; i < (uint32_t)ev->kernel_cnt + ev->user_cnt; i++)
		vec_push(&s->kept, frames[i]);
}

/* EV_STACK with the frames of a record: the kernel's go first.  Its id, 0 over the bound. */
static uint32_t put_stack(struct live *l, const struct wire_stack *w)
{
	struct {
		struct ev_stack ev;
		uint64_t frames[UNW_FRAME_MAX];
	} rec = {0};
	struct live_stacks *s = l->stacks;
	const uint64_t *kernel = w->frames + w->user_cnt;
	uint32_t skip = own_frames(l, kernel, w->kernel_cnt);
	uint32_t kernel_cnt = w->kernel_cnt - skip;

	if (s->last_id >= EVENT_STACK_MAX)
		return 0;
	rec.ev = (struct ev_stack){
		.id = ++s->last_id,
		.tgid = w->tgid,
		.user_cnt = w->user_cnt,
		.kernel_cnt = (uint16_t)kernel_cnt,
		.end = w->end,
	};
	memcpy(rec.frames, kernel + skip, kernel_cnt * sizeof(rec.frames[0]));
	memcpy(rec.frames + kernel_cnt, w->frames, w->user_cnt * sizeof(rec.frames[0]));
	rec.ev.h = (struct event_hdr){
		.size = (uint16_t)(sizeof(rec.ev) + (kernel_cnt + w->user_cnt) * 8),
		.kind = EV_STACK,
		.tid = w->hdr.tid,
		.ts_ns = w->hdr.ts_ns,
	};
	frame_names_add(s->names, rec.frames, kernel_cnt, w->user_cnt, w->tgid);
	emit_put(&l->emit, &rec.ev.h);
	if (s->runtimes && runtime_watch_may(s->runtimes, w->tgid))
		native_keep(s, &rec.ev, rec.frames);
	return s->last_id;
}

/* A native stack (0: none) and what the interpreter ran in it. */
struct mix {
	uint32_t tgid, native, stack;
	bool is_deep; /* not all that it ran */
};

static uint32_t put_mixed(struct live *l, const struct mix *m, uint64_t now)
{
	struct {
		struct ev_stack ev;
		uint64_t frames[EVENT_FRAMES_MAX];
	} rec = {.ev = {.tgid = m->tgid, .end = STACK_WHOLE}};
	struct live_stacks *s = l->stacks;
	struct mixed_parts parts = {0};
	uint64_t at = 0;
	bool cut;

	if (s->last_id >= EVENT_STACK_MAX)
		return m->native;
	if (hmap_get(&s->natives, m->native, &at)) {
		const uint64_t *kept = s->kept.items + at - 1;

		rec.ev.kernel_cnt = (uint16_t)kept[0];
		rec.ev.end = (uint8_t)kept[2];
		parts.native_cnt = kept[1];
		memcpy(rec.frames, kept + 3, kept[0] * sizeof(rec.frames[0]));
		parts.native = kept + 3 + kept[0];
	}
	runtime_watch_parts(s->runtimes, m->tgid, m->stack, &parts);
	rec.ev.id = ++s->last_id;
	rec.ev.user_cnt = (uint16_t)mixed_stack(&parts, rec.frames + rec.ev.kernel_cnt,
						EVENT_FRAMES_MAX - rec.ev.kernel_cnt, &cut);
	if (cut || m->is_deep)
		rec.ev.end = STACK_DEEP;
	rec.ev.h = (struct event_hdr){
		.size = (uint16_t)(sizeof(rec.ev) + (rec.ev.kernel_cnt + rec.ev.user_cnt) * 8u),
		.kind = EV_STACK,
		.ts_ns = now,
	};
	emit_put(&l->emit, &rec.ev.h);
	hmap_put(&s->is_mixed, rec.ev.id, 1);
	return rec.ev.id;
}

/* Its id, made at its first sight. */
static uint32_t mixed_id(struct live *l, const struct mix *m, uint64_t now)
{
	struct live_stacks *s = l->stacks;
	uint64_t *slot = hmap_slot(&s->mixed, hash_pair(hash_pair(m->native, m->stack), m->tgid));

	if (!*slot)
		*slot = put_mixed(l, m, now);
	return (uint32_t)*slot;
}

/* The native stack of a wait becomes one with the program's functions, where these are known. */
static uint32_t stack_mix(struct live *l, const struct wire_wait *w, uint32_t native)
{
	const struct runtime_wait wait = {w->hdr.tid, w->off_ns, w->hdr.ts_ns};
	struct live_stacks *s = l->stacks;
	struct mix m = {.tgid = w->tgid, .native = native};

	if (!s->runtimes || w->flags & WAITF_PREEMPTED || hmap_get(&s->is_mixed, native, NULL))
		return native;
	m.stack = runtime_watch_find(s->runtimes, &wait);
	return m.stack ? mixed_id(l, &m, w->hdr.ts_ns) : native;
}

/* The id of a stack by its hash; its event goes out at the first sight. */
static uint32_t stack_event(struct live *l, const struct wire_stack *w, uint64_t hash)
{
	uint64_t *slot = hmap_find(&l->stacks->hashes, hash);

	if (!slot && l->stacks->last_id >= EVENT_STACK_MAX)
		return 0;
	slot = hmap_slot(&l->stacks->hashes, hash);
	if (!*slot)
		*slot = put_stack(l, w);
	return (uint32_t)*slot;
}

/* The same of one that was taken with frames of an interpreter. */
static uint32_t running_event(struct live *l, const struct wire_stack *w)
{
	size_t cnt = (size_t)w->user_cnt + w->kernel_cnt;
	uint64_t hash = hash_bytes(w->frames, cnt * sizeof(w->frames[0]));
	struct mix m = {.tgid = w->tgid, .is_deep = w->rt_end == RT_DEEP};

	hash = hash_pair(hash, (uint64_t)w->tgid << 32 | (uint64_t)w->user_cnt << 8 | w->end);
	m.native = stack_event(l, w, hash);
	if (l->stacks->runtimes)
		m.stack = runtime_watch_words(l->stacks->runtimes, w->tgid, w->frames + cnt,
					      w->rt_cnt, w->hdr.ts_ns);
	return m.stack ? mixed_id(l, &m, w->hdr.ts_ns) : m.native;
}

/*
 * A server with ever new stacks (JIT code) would fill any memory.  Ids of
 * before still come, with waits that were long or are in the ring.
 */
static void ids_turn(struct live *l)
{
	struct live_stacks *s = l->stacks;

	hmap_release(&s->ids_before);
	s->ids_before = s->ids;
	s->ids = (struct hmap){0};
	l->bpf.skel->bss->stack_epoch++;
}

void live_stack(struct live *l, const struct wire_stack *w, size_t size)
{
	struct live_stacks *s = l->stacks;

	if (!s || w->user_cnt > UNW_USER_MAX || w->kernel_cnt > UNW_KERNEL_MAX ||
	    w->rt_cnt > RT_WORDS_MAX || size < WIRE_STACK_BYTES + (w->user_cnt + w->kernel_cnt +
						w->rt_cnt) * sizeof(w->frames[0])) {
		l->bpf.bad_cnt++;
		return;
	}
	if (!w->user_cnt && !w->kernel_cnt) /* not even where it stood was known: no stack */
		return;
	if (s->ids.cnt >= s->ids_max)
		ids_turn(l);
	hmap_put(&s->ids, w->id, w->rt_cnt ? running_event(l, w) : stack_event(l, w, w->hash));
}

/* Did it sleep on, while its stack was read? */
static bool still_there(const struct wire_task *w)
{
	struct procfs_syscall call;

	return procfs_syscall(w->hdr.tid, &call) == 0 && call.sp == w->sp && call.pc == w->pc;
}

static void walk_sleeper(struct live *l, const struct wire_task *w)
{
	struct code_regs regs = {.pc = w->pc, .sp = w->sp, .bp = w->bp};
	struct wire_stack rec = {.hdr = w->hdr, .tgid = w->tgid};
	uint32_t cnt = 0;

	rec.end = code_walk(l->stacks->code, w->tgid, &regs, rec.frames, UNW_USER_MAX, &cnt);
	rec.user_cnt = (uint16_t)cnt;
	rec.hash = hash_bytes(rec.frames, cnt * sizeof(rec.frames[0])) ^ rec.end;
	if (cnt && still_there(w))
		hmap_put(&l->stacks->asleep, w->hdr.tid, stack_event(l, &rec, rec.hash));
}

void live_stacks_sleeper(struct live *l, const struct wire_task *w)
{
	if (!l->stacks || !w->pc || w->op != TASK_SEEN)
		return;
	if (l->stacks->late)
		vec_push(&l->stacks->sleepers, *w);
	else
		walk_sleeper(l, w);
}

void live_stacks_begin(struct live *l)
{
	struct live_stacks *s = l->stacks;

	if (!s || !s->late)
		return;
	s->late = false;
	s->begun = true;
	code_read(l, s->put_off.items, s->put_off.cnt);
	if (s->runtimes) /* so that the first samples have their functions */
		runtime_watch_step(s->runtimes, &l->emit, clock_mono_ns());
	VEC_FOREACH(&s->sleepers, w)
		walk_sleeper(l, w);
	vec_release(&s->sleepers);
	vec_release(&s->put_off);
	log_mark("code");
}

uint32_t live_stacks_asleep(const struct live *l, uint32_t tid)
{
	uint64_t id = 0;

	if (l->stacks)
		hmap_get(&l->stacks->asleep, tid, &id);
	return (uint32_t)id;
}

uint32_t live_wait_stack(struct live *l, const struct wire_wait *w)
{
	uint64_t id = 0;

	if (!l->stacks)
		return 0;
	if (w->stack || !l->stacks->asleep.cnt)
		id = live_stack_id(l, w->stack);
	else if (w->flags & WAITF_BEFORE_START)
		hmap_get(&l->stacks->asleep, w->hdr.tid, &id);
	else
		hmap_del(&l->stacks->asleep, w->hdr.tid);
	return stack_mix(l, w, (uint32_t)id);
}

void live_wait_lock(struct live *l, const struct wire_wait *w, struct ev_wait *ev)
{
	const struct runtime_wait wait = {w->hdr.tid, w->off_ns, w->hdr.ts_ns};
	struct live_stacks *s = l->stacks;
	struct runtime_held held;
	uint64_t *slot;

	if (!s || !s->runtimes || w->cls != WAIT_FUTEX || w->flags & WAITF_PREEMPTED ||
	    !runtime_watch_lock(s->runtimes, &wait, &held))
		return;
	slot = hmap_slot(&s->locks, held.key);
	if (!*slot) {
		struct ev_res res = {.res = held.key, .ino = held.addr, .tgid = w->tgid,
				     .kind = RES_FUTEX, .name = emit_str(&l->emit, held.name)};

		*slot = 1;
		EMIT(&l->emit, &res, EV_RES, w->hdr.tid, w->hdr.ts_ns);
	}
	ev->res = held.key;
	if (held.holder_tid != w->hdr.tid && hmap_get(&l->tids, held.holder_tid, NULL))
		ev->owner_tid = held.holder_tid;
}

/* Files whose names were left out for a bound. */
static void names_announce(struct live *l, uint64_t now)
{
	struct symbols_stats s;

	symbols_stats(l->stacks->syms, &s);
	if (s.over_cnt)
		emit_note(&l->emit, NOTE_LIMIT, now, "the names of %llu files would take too much "
			  "memory: some of their functions have none",
			  (unsigned long long)s.over_cnt);
	if (s.late_cnt)
		emit_note(&l->emit, NOTE_LIMIT, now, "the names of %llu files were not read: the "
			  "others took all the time there is", (unsigned long long)s.late_cnt);
}

static void counts_read(struct live *l, uint64_t *ret)
{
	int cpus = libbpf_num_possible_cpus();
	const struct bpf_map *map = l->bpf.skel->maps.hu_stk_cpu;
	CLEANUP_FREE char *values = xcalloc(cpus > 0 ? cpus : 1, bpf_map__value_size(map));
	uint32_t zero = 0;

	if (cpus <= 0 || bpf_map_lookup_elem(bpf_map__fd(map), &zero, values) < 0)
		return;
	for (int cpu = 0; cpu < cpus; cpu++) {
		const struct unw_cpu *c = (const void *)(values + cpu * bpf_map__value_size(map));

		for (int i = 0; i < UNWC_CNT; i++)
			ret[i] += c->cnt[i];
	}
}

/* Interpreted programs that could not be read, and why. */
static void runtimes_announce(struct live *l, uint64_t now)
{
	uint64_t kernel[UNWC_CNT] = {0};
	struct runtime_counts n;
	struct runtime_seen seen;

	if (!l->stacks->runtimes)
		return;
	runtime_watch_counts(l->stacks->runtimes, &n);
	counts_read(l, kernel);
	if (kernel[UNWC_RT + RT_BAD] || kernel[UNWC_RT + RT_DEEP])
		emit_note(&l->emit, NOTE_LIMIT, now, "%llu samples of interpreted programs show "
			  "the interpreter, for its memory was not there, and %llu only the "
			  "innermost functions",
			  (unsigned long long)kernel[UNWC_RT + RT_BAD],
			  (unsigned long long)kernel[UNWC_RT + RT_DEEP]);
	log_debug("runtimes: %llu rounds, %llu looks, %llu ran, %llu bad, %llu over, %llu us",
		  (unsigned long long)n.round_cnt, (unsigned long long)n.look_cnt,
		  (unsigned long long)n.ran_cnt, (unsigned long long)n.bad_cnt,
		  (unsigned long long)n.over_cnt, (unsigned long long)n.cost_ns / 1000);
	for (size_t i = 0; runtime_watch_seen(l->stacks->runtimes, i, &seen); i++)
		if (*seen.problem)
			emit_note(&l->emit, NOTE_LIMIT, now, "pid %u: functions of %s are not "
				  "named: %s", seen.tgid, seen.lang, seen.problem);
	if (n.bad_cnt || n.over_cnt)
		emit_note(&l->emit, NOTE_LIMIT, now, "%llu stacks of interpreted programs were "
			  "damaged, %llu over a limit: they show the interpreter",
			  (unsigned long long)n.bad_cnt, (unsigned long long)n.over_cnt);
}

/* Most names are found out at the ticks, so that the ring is drained meanwhile. */
void live_stacks_tick(struct live *l, uint64_t now, bool last)
{
	if (!l->stacks)
		return;
	code_rest(l->stacks->code);
	if (l->stacks->runtimes)
		runtime_watch_emit(l->stacks->runtimes, &l->emit, now);
	frame_names_emit(l->stacks->names, &l->emit, now, last ? NAMES_LAST_NS : NAMES_NS);
	if (last) {
		code_announce_unread(l->stacks->code, &l->emit, now);
		names_announce(l, now);
		runtimes_announce(l, now);
	}
}

uint32_t live_stack_id(struct live *l, uint32_t id)
{
	uint64_t known = 0;

	if (!id || !l->stacks)
		return 0;
	if (!hmap_get(&l->stacks->ids, id, &known))
		hmap_get(&l->stacks->ids_before, id, &known);
	if (!known)
		l->stacks->lost_cnt++;
	return (uint32_t)known;
}

void live_sample(struct live *l, const struct wire_sample *w)
{
	struct ev_sample ev = {
		.tgid = w->tgid,
		.stack = live_stack_id(l, w->stack),
		.cpu = w->cpu,
		.cnt = w->cnt,
	};

	EMIT(&l->emit, &ev, EV_SAMPLE, w->hdr.tid, w->hdr.ts_ns);
}

void live_stacks_loss(struct live *l, uint64_t *loss)
{
	uint64_t n[UNWC_CNT] = {0};
	struct code_stats code;

	if (!l->stacks)
		return;
	counts_read(l, n);
	code_stats(l->stacks->code, &code);
	loss[LOSS_STACK_BUDGET] += n[UNWC_BUDGET] + n[UNWC_NESTED] + l->stacks->lost_cnt;
	loss[LOSS_STACK_MAP] += n[UNWC_END + UNW_END_NO_MAP];
	loss[LOSS_STACK_CUT] += n[UNWC_END + UNW_END_DEPTH];
	loss[LOSS_STACK_READ] += n[UNWC_END + UNW_END_BAD_READ];
	loss[LOSS_FRAME_NAMES] += frame_names_refused(l->stacks->names);
	log_debug("stacks: %llu walked, %llu frames, %llu reused, %llu over budget, %llu doubts",
		  (unsigned long long)n[UNWC_STACKS], (unsigned long long)n[UNWC_FRAMES],
		  (unsigned long long)n[UNWC_REUSED], (unsigned long long)n[UNWC_BUDGET],
		  (unsigned long long)n[UNWC_DOUBT]);
	log_debug("stacks: ended %llu %llu %llu %llu %llu %llu %llu",
		  (unsigned long long)n[UNWC_END], (unsigned long long)n[UNWC_END + 1],
		  (unsigned long long)n[UNWC_END + 2], (unsigned long long)n[UNWC_END + 3],
		  (unsigned long long)n[UNWC_END + 4], (unsigned long long)n[UNWC_END + 5],
		  (unsigned long long)n[UNWC_END + 6]);
	log_debug("stacks: %llu with functions of a runtime, in %llu words",
		  (unsigned long long)(n[UNWC_RT + RT_WHOLE] + n[UNWC_RT + RT_DEEP]),
		  (unsigned long long)n[UNWC_RT_FRAMES]);
	log_debug("stacks: %u modules, %u tables, %llu rows, %llu KiB, built in %llu us",
		  code.module_cnt, code.table_cnt, (unsigned long long)code.row_cnt,
		  (unsigned long long)code.kernel_bytes / 1024,
		  (unsigned long long)code.build_ns / 1000);
}

uint64_t live_stacks_bytes(const struct live *l)
{
	struct code_stats code;

	if (!l->stacks)
		return 0;
	code_stats(l->stacks->code, &code);
	return code.kernel_bytes;
}
