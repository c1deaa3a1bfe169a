/* SPDX-License-Identifier: Apache-2.0 */
#include "synth.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bug.h"
#include "base/clock.h"
#include "base/cmp.h"
#include "base/hash.h"
#include "base/vec.h"

enum { SYNTH_BASE_S = 1000 };

struct synth {
	struct arena arena;
	struct strtab strs, modules, frames, stacks;
	VEC(struct event_hdr *) events;
	VEC(struct ev_thread *) snaps; /* zero, last, zero, last ... */
	VEC(uint32_t) tgids;	/* by thread: tid, tgid, tid, tgid ... */
	uint32_t strs_sent;
	size_t sent;
	uint64_t begin_ns, end_ns;
	uint32_t max_waits;
	struct model *model;
};

uint64_t synth_ns(const struct synth *s, double ms)
{
	return s->begin_ns + (uint64_t)(ms * 1e6 + 0.5);
}

void *synth_event(struct synth *s, unsigned kind, size_t size, double at_ms)
{
	struct event_hdr *ev = arena_alloc(&s->arena, size);

	ev->size = (uint16_t)size;
	ev->kind = (uint8_t)kind;
	ev->ts_ns = synth_ns(s, at_ms);
	vec_push(&s->events, ev);
	return ev;
}

static double end_ms(const struct synth *s)
{
	return (double)(s->end_ns - s->begin_ns) / 1e6;
}

struct synth *synth_new(double window_ms)
{
	struct synth *s = xcalloc(1, sizeof(*s));
	struct ev_meta *meta;

	s->begin_ns = SYNTH_BASE_S * NS_PER_SEC;
	s->end_ns = synth_ns(s, window_ms);
	meta = synth_event(s, EV_META, sizeof(*meta), 0);
	meta->tick_ns = NS_PER_SEC;
	meta->cpu_cnt = 2;
	meta->cmdline = synth_str(s, "synth");
	return s;
}

void synth_sampled(struct synth *s, uint64_t ns)
{
	((struct ev_meta *)s->events.items[0])->sample_ns = ns;
}

void synth_free(struct synth *s)
{
	if (!s)
		return;
	model_free(s->model);
	arena_release(&s->arena);
	strtab_release(&s->strs);
	strtab_release(&s->modules);
	strtab_release(&s->frames);
	strtab_release(&s->stacks);
	vec_release(&s->events);
	vec_release(&s->snaps);
	vec_release(&s->tgids);
	free(s);
}

uint32_t synth_str(struct synth *s, const char *text)
{
	return text ? strtab_add(&s->strs, text) : 0;
}

static bool is_after(const struct event_hdr *a, const struct event_hdr *b)
{
	if ((a->kind == EV_META) != (b->kind == EV_META))
		return b->kind == EV_META;
	return a->ts_ns > b->ts_ns;
}

/* By time; of the same time, as they were made: the last sum told is the one that counts. */
static void events_sort(struct event_hdr **ev, size_t cnt)
{
	for (size_t width = 1; width < cnt; width *= 2) {
		struct event_hdr **to = xcalloc(cnt, sizeof(struct event_hdr *));

		for (size_t from = 0; from < cnt; from += 2 * width) {
			size_t mid = from + width < cnt ? from + width : cnt;
			size_t end = mid + width < cnt ? mid + width : cnt;

			for (size_t i = from, j = mid, k = from; k < end; k++)
				to[k] = i < mid && (j == end || !is_after(ev[i], ev[j])) ?
						ev[i++] : ev[j++];
		}
		memcpy(ev, to, cnt * sizeof(struct event_hdr *));
		free(to);
	}
}

static int play_strs(struct synth *s, struct event_sink *sink)
{
	int err = 0;

	for (; s->strs_sent < s->strs.cnt && err == 0; s->strs_sent++) {
		const char *text = strtab_str(&s->strs, s->strs_sent + 1);
		size_t len = strlen(text), size = sizeof(struct ev_str) + (len + 7) / 8 * 8;
		struct ev_str *ev = arena_alloc(&s->arena, size);

		ev->h = (struct event_hdr){.size = (uint16_t)size, .kind = EV_STR};
		ev->id = s->strs_sent + 1;
		ev->len = (uint32_t)len;
		memcpy(ev + 1, text, len);
		err = sink->put(sink->ctx, &ev->h);
	}
	return err;
}

void synth_coarse(struct synth *s, double begin_ms, double end_ms, uint32_t shed)
{
	struct ev_coarse *ev = synth_event(s, EV_COARSE, sizeof(*ev), end_ms);

	ev->begin_ns = synth_ns(s, begin_ms);
	ev->end_ns = synth_ns(s, end_ms);
	ev->shed = shed;
}

void synth_max_waits(struct synth *s, uint32_t max_waits)
{
	s->max_waits = max_waits;
}

static int play_tick(const struct synth *s, struct event_sink *sink, uint64_t end_ns)
{
	struct ev_tick ev = {.h = {.size = sizeof(ev), .kind = EV_TICK, .ts_ns = end_ns}};

	ev.begin_ns = end_ns > s->begin_ns + NS_PER_SEC ? end_ns - NS_PER_SEC : s->begin_ns;
	return sink->put(sink->ctx, &ev.h);
}

int synth_play(struct synth *s, struct event_sink *sink)
{
	uint64_t tick_ns = s->begin_ns + NS_PER_SEC;
	size_t at = s->sent;
	int err;

	for (size_t i = 0; i + 1 < s->snaps.cnt; i += 2) {
		struct ev_thread *zero = s->snaps.items[i];

		zero->since_ns = s->snaps.items[i + 1]->since_ns;
		if (zero->h.ts_ns < zero->since_ns)
			zero->h.ts_ns = zero->since_ns;
	}
	events_sort(s->events.items + s->sent, s->events.cnt - s->sent);
	err = play_strs(s, sink);
	for (; err == 0; tick_ns += NS_PER_SEC) {
		uint64_t to = tick_ns < s->end_ns ? tick_ns : s->end_ns;

		for (; at < s->events.cnt && err == 0; at++) {
			if (s->events.items[at]->ts_ns > to && to < s->end_ns)
				break;
			err = sink->put(sink->ctx, s->events.items[at]);
		}
		if (err == 0)
			err = play_tick(s, sink, to);
		if (to >= s->end_ns)
			break;
	}
	return err;
}

const struct model *synth_model(struct synth *s)
{
	struct event_sink sink;

	if (!s->model)
		s->model = model_new(&(struct model_opts){.max_waits = s->max_waits});
	sink = model_sink(s->model);
	synth_play(s, &sink);
	s->sent = s->events.cnt;
	model_finish(s->model);
	return s->model;
}

struct ev_task *synth_task(struct synth *s, uint32_t tid, uint32_t tgid, const char *comm,
			   uint32_t flags)
{
	struct ev_task *ev = synth_event(s, EV_TASK, sizeof(*ev), 0);

	ev->h.tid = tid;
	ev->tgid = tgid;
	ev->op = TASK_SEEN;
	ev->flags = flags;
	ev->comm = synth_str(s, comm);
	vec_push(&s->tgids, tid);
	vec_push(&s->tgids, tgid);
	return ev;
}

struct ev_task *synth_thread(struct synth *s, uint32_t tid, uint32_t tgid, const char *comm)
{
	return synth_task(s, tid, tgid, comm, TASKF_TARGET);
}

static uint32_t tgid_of(const struct synth *s, uint32_t tid)
{
	for (size_t i = 0; i + 1 < s->tgids.cnt; i += 2)
		if (s->tgids.items[i] == tid)
			return s->tgids.items[i + 1];
	return tid;
}

struct ev_task *synth_exit(struct synth *s, uint32_t tid, double at_ms)
{
	struct ev_task *ev = synth_event(s, EV_TASK, sizeof(*ev), at_ms);

	ev->h.tid = tid;
	ev->tgid = tgid_of(s, tid);
	ev->op = TASK_EXIT;
	return ev;
}

struct ev_res *synth_res(struct synth *s, uint64_t res, unsigned kind, const char *name)
{
	struct ev_res *ev = synth_event(s, EV_RES, sizeof(*ev), 0);

	ev->res = res;
	ev->kind = (uint8_t)kind;
	ev->fd = -1;
	ev->ino = res;
	ev->name = synth_str(s, name);
	return ev;
}

struct ev_res *synth_sock(struct synth *s, uint64_t res, unsigned role, uint32_t addr,
			  uint16_t port)
{
	struct ev_res *ev = synth_res(s, res, RES_SOCKET, NULL);

	ev->role = (uint8_t)role;
	ev->family = AF_INET;
	ev->sotype = SOCK_STREAM;
	for (int i = 0; i < 4; i++)
		ev->raddr[i] = (uint8_t)(addr >> (24 - 8 * i));
	ev->rport = port;
	return ev;
}

struct ev_wait *synth_wait(struct synth *s, uint32_t tid, unsigned cls, uint64_t res,
			   double off_ms, double wake_ms, double done_ms, uint32_t waker_tid)
{
	struct ev_wait *ev = synth_event(s, EV_WAIT, sizeof(*ev), done_ms);

	ev->h.tid = tid;
	ev->tgid = tgid_of(s, tid);
	ev->off_ns = synth_ns(s, off_ms);
	ev->wake_ns = synth_ns(s, wake_ms);
	ev->res = res;
	ev->cls = (uint8_t)cls;
	ev->sysnr = -1;
	ev->waker_tid = waker_tid;
	ev->waker_tgid = waker_tid ? tgid_of(s, waker_tid) : 0;
	ev->waker_ctx = waker_tid ? WAKER_TASK : WAKER_NONE;
	return ev;
}

struct ev_wait *synth_irq_wait(struct synth *s, uint32_t tid, unsigned cls, uint64_t res,
			       double off_ms, double wake_ms, double done_ms, unsigned ctx)
{
	struct ev_wait *ev = synth_wait(s, tid, cls, res, off_ms, wake_ms, done_ms, 0);

	ev->waker_ctx = (uint8_t)ctx;
	return ev;
}

struct ev_wait *synth_pending(struct synth *s, uint32_t tid, unsigned cls, uint64_t res,
			      double off_ms)
{
	struct ev_wait *ev = synth_wait(s, tid, cls, res, off_ms, off_ms, end_ms(s), 0);

	ev->wake_ns = 0;
	ev->flags = WAITF_PENDING;
	return ev;
}

struct ev_wait *synth_preempted(struct synth *s, uint32_t tid, double off_ms, double done_ms)
{
	struct ev_wait *ev = synth_wait(s, tid, WAIT_OTHER, 0, off_ms, off_ms, done_ms, 0);

	ev->wake_ns = 0;
	ev->flags = WAITF_PREEMPTED;
	return ev;
}

/* A zero record at the window's start and the one to fill at its end. */
static void *cumulative(struct synth *s, unsigned kind, size_t size, struct event_hdr **ret_zero)
{
	*ret_zero = synth_event(s, kind, size, 0);
	return synth_event(s, kind, size, end_ms(s));
}

struct ev_end *synth_end(struct synth *s, uint32_t tgid, unsigned role, uint16_t port,
			 uint64_t turns, double service_ms)
{
	struct ev_end *ev = synth_event(s, EV_END, sizeof(*ev), end_ms(s));

	ev->tgid = tgid;
	ev->role = (uint8_t)role;
	ev->family = AF_INET;
	if (role == ROLE_SERVER)
		ev->lport = port;
	else
		ev->rport = port;
	ev->turns = turns;
	ev->service_ns = (uint64_t)(service_ms * 1e6);
	ev->answer_max_ns = turns ? ev->service_ns / turns : 0;
	ev->conns = 1;
	return ev;
}

struct ev_proc *synth_proc(struct synth *s, uint32_t tgid)
{
	struct ev_proc *ev = synth_event(s, EV_PROC, sizeof(*ev), end_ms(s));

	ev->tgid = tgid;
	return ev;
}

struct ev_thread *synth_snap(struct synth *s, uint32_t tid)
{
	struct event_hdr *zero;
	struct ev_thread *ev = cumulative(s, EV_THREAD, sizeof(*ev), &zero);

	ev->h.tid = zero->tid = tid;
	ev->tgid = ((struct ev_thread *)zero)->tgid = tgid_of(s, tid);
	vec_push(&s->snaps, (struct ev_thread *)zero);
	vec_push(&s->snaps, ev);
	return ev;
}

struct ev_culprit *synth_culprit(struct synth *s, uint32_t victim_tgid, uint32_t culprit_tgid,
				 const char *comm, double ms)
{
	struct ev_culprit *ev = synth_event(s, EV_CULPRIT, sizeof(*ev), end_ms(s));

	ev->h.tid = culprit_tgid;
	ev->victim_tgid = victim_tgid;
	ev->culprit_tgid = culprit_tgid;
	ev->comm = synth_str(s, comm);
	ev->ns = (uint64_t)(ms * 1e6);
	ev->cnt = 1;
	return ev;
}

struct ev_disk *synth_disk(struct synth *s, uint32_t dev, uint32_t tgid, uint32_t op,
			   const char *comm, uint64_t sectors)
{
	struct ev_disk *ev = synth_event(s, EV_DISK, sizeof(*ev), end_ms(s));

	ev->dev = dev;
	ev->tgid = tgid;
	ev->op = op;
	ev->comm = synth_str(s, comm);
	ev->sectors = sectors;
	ev->ios = (sectors + 7) / 8;
	return ev;
}

struct ev_dev *synth_dev(struct synth *s, uint32_t dev, const char *name, double busy_ms,
			 double inflight_ms)
{
	struct ev_dev *ev = synth_event(s, EV_DEV, sizeof(*ev), end_ms(s));

	ev->dev = dev;
	ev->name = synth_str(s, name);
	ev->busy_ns = (uint64_t)(busy_ms * 1e6);
	ev->inflight_ns = (uint64_t)(inflight_ms * 1e6);
	return ev;
}

struct ev_cgroup *synth_cgroup(struct synth *s, uint64_t id, const char *path)
{
	struct event_hdr *zero;
	struct ev_cgroup *ev = cumulative(s, EV_CGROUP, sizeof(*ev), &zero);

	ev->id = ((struct ev_cgroup *)zero)->id = id;
	ev->path = ((struct ev_cgroup *)zero)->path = synth_str(s, path);
	return ev;
}

struct ev_host *synth_host(struct synth *s)
{
	struct event_hdr *zero;

	return cumulative(s, EV_HOST, sizeof(struct ev_host), &zero);
}

/* The module's id; described when new. */
static uint32_t module_of(struct synth *s, uint32_t tgid, const char *name)
{
	struct ev_module *ev;
	uint32_t had = s->modules.cnt, id = strtab_add(&s->modules, name);

	if (s->modules.cnt == had)
		return id;
	ev = synth_event(s, EV_MODULE, sizeof(*ev), 0);
	ev->id = id;
	ev->tgid = tgid;
	ev->path = synth_str(s, arena_printf(&s->arena, "%s%s", name[0] == '[' ? "" : "/usr/lib/",
					     name));
	ev->base_vaddr = 0x1000;
	ev->build_id_len = 20;
	memset(ev->build_id, (int)id, 20);
	return id;
}

/* Its functions, "inner+outer", as names of the frame. */
static void name_frame(struct synth *s, uint64_t frame, uint32_t tgid, char *names)
{
	uint32_t depth = 0;
	char *save = NULL;

	for (const char *c = names; *c; c++)
		depth += *c == '+';
	for (char *fn = strtok_r(names, "+", &save); fn; fn = strtok_r(NULL, "+", &save)) {
		struct ev_frame *ev = synth_event(s, EV_FRAME, sizeof(*ev), 0);

		ev->frame = frame;
		ev->tgid = tgid;
		ev->depth = depth--;
		ev->fn = synth_str(s, fn);
		ev->line = 10 + ev->depth;
		ev->file = synth_str(s, "prog.c");
	}
}

static uint64_t frame_of(struct synth *s, uint32_t tgid, const char *text, bool *ret_kernel)
{
	uint32_t had = s->frames.cnt, id = strtab_add(&s->frames, text);
	char *names = arena_strdup(&s->arena, text), *at = strchr(names, '@');
	const char *module = at ? at + 1 : "prog";
	uint64_t frame = (uint64_t)id << 4;

	if (at)
		*at = 0;
	*ret_kernel = strcmp(module, "k") == 0;
	if (*ret_kernel)
		frame |= (uint64_t)FRAME_KERNEL << 48;
	else if (strcmp(module, "j") != 0)
		frame |= (uint64_t)module_of(s, tgid, module) << 48;
	if (s->frames.cnt != had && names[0] != '?')
		name_frame(s, frame, FRAME_MODULE(frame) ? 0 : tgid, names);
	return frame;
}

uint32_t synth_stack(struct synth *s, uint32_t tgid, const char *text)
{
	uint32_t had = s->stacks.cnt, id = strtab_add(&s->stacks, text), cnt = 0;
	char *copy = arena_strdup(&s->arena, text), *save = NULL;
	uint64_t frames[EVENT_FRAMES_MAX];
	struct ev_stack *ev;
	uint16_t kernel_cnt = 0;

	if (s->stacks.cnt == had)
		return id;
	for (char *fn = strtok_r(copy, ";", &save); fn; fn = strtok_r(NULL, ";", &save)) {
		bool kernel;

		BUG_ON(cnt == EVENT_FRAMES_MAX);
		frames[cnt++] = frame_of(s, tgid, fn, &kernel);
		kernel_cnt += kernel;
	}
	ev = synth_event(s, EV_STACK, sizeof(*ev) + cnt * sizeof(*frames), 0);
	ev->id = id;
	ev->tgid = tgid;
	ev->kernel_cnt = kernel_cnt;
	ev->user_cnt = (uint16_t)(cnt - kernel_cnt);
	ev->end = STACK_WHOLE;
	memcpy(ev + 1, frames, cnt * sizeof(*frames));
	return id;
}

struct ev_sample *synth_sample(struct synth *s, uint32_t tid, uint32_t stack, double at_ms,
			       uint32_t cnt)
{
	struct ev_sample *ev = synth_event(s, EV_SAMPLE, sizeof(*ev), at_ms);

	ev->h.tid = tid;
	ev->tgid = tgid_of(s, tid);
	ev->stack = stack;
	ev->cnt = cnt;
	return ev;
}
