/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a trace says to events: threads and their open calls, numbers for
 * names, batches.  EV_META can only go out when the first time is known, so
 * it is put by the first import_time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/syscalls.h"
#include "collect/import/import_int.h"

#define TIME_MAX (UINT64_C(1) << 61) /* 73 years: the model takes half of what fits */

struct import *import_new(const char *what, const char *path)
{
	struct import *im = xcalloc(1, sizeof(*im));

	im->what = what;
	im->path = path;
	im->begin_ns = UINT64_MAX;
	im->next_nr = SYSCALL_MAX;
	im->names.max_cnt = IMPORT_NAMES_MAX;
	im->modules.max_cnt = IMPORT_MODULES_MAX;
	return im;
}

void import_free(struct import *im)
{
	if (!im)
		return;
	emit_release(&im->emit);
	vec_release(&im->threads);
	vec_release(&im->nrs);
	hmap_release(&im->by_tid);
	hmap_release(&im->ended);
	hmap_release(&im->stacks);
	hmap_release(&im->frames);
	strtab_release(&im->names);
	strtab_release(&im->modules);
	buf_release(&im->short_name);
	buf_release(&im->full_name);
	free(im);
}

void import_begin(struct import *im, struct event_sink *sink)
{
	emit_to(&im->emit, sink);
}

static void put_meta(struct import *im, uint64_t ns)
{
	char text[EMIT_STR_LEN];
	struct ev_meta meta = {.real_ns = ns, .tick_ns = NS_PER_SEC};

	snprintf(text, sizeof(text), "%s in '%s'", im->what, im->path);
	meta.selection = emit_str(&im->emit, text);
	EMIT(&im->emit, &meta, EV_META, 0, ns);
	im->begun = true;
	im->first_ns = im->last_ns = im->tick_ns = ns;
}

void import_time(struct import *im, uint64_t ns)
{
	ns = ns < TIME_MAX ? ns : TIME_MAX;
	if (!im->begun)
		put_meta(im, ns ? ns : 1);
	if (ns > im->last_ns)
		im->last_ns = ns;
}

/* ---- threads */

struct import_thread *import_thread(struct import *im, uint32_t tid)
{
	struct import_thread *t;
	uint64_t *slot = hmap_find(&im->by_tid, tid);

	if (slot)
		return &im->threads.items[*slot - 1];
	if (tid == 0 || im->threads.cnt >= IMPORT_THREADS_MAX) {
		im->over_cnt += tid != 0;
		return NULL;
	}
	t = vec_add(&im->threads);
	t->tid = tid;
	t->cpu = IMPORT_NO_CPU;
	hmap_put(&im->by_tid, tid, im->threads.cnt);
	return t;
}

void import_task(struct import *im, struct import_thread *t, uint32_t tgid, const char *comm,
		 size_t comm_len)
{
	char name[64];
	uint32_t id = t->comm;

	comm_len = comm_len < sizeof(name) - 1 ? comm_len : sizeof(name) - 1;
	if (comm_len) {
		memcpy(name, comm, comm_len);
		name[comm_len] = '\0';
		id = emit_str(&im->emit, name);
	}
	if ((tgid && t->tgid != tgid) || id != t->comm)
		t->told = false;
	t->tgid = tgid ? tgid : t->tgid;
	t->comm = id;
}

static void put_task(struct import *im, struct import_thread *t, uint32_t op)
{
	struct ev_task e = {.tgid = t->tgid ? t->tgid : t->tid, .op = op, .comm = t->comm,
			    .flags = TASKF_TARGET};

	EMIT(&im->emit, &e, EV_TASK, t->tid, im->last_ns);
	t->told = true;
}

void import_exit(struct import *im, struct import_thread *t, uint64_t ns)
{
	import_time(im, ns);
	if (t->open)
		import_leave(im, t, -1, ns, CALL_UNKNOWN);
	put_task(im, t, TASK_EXIT);
	t->exited = true;
}

/* ---- names */

static int nr_for(struct import *im, const char *name, size_t len)
{
	int nr = syscall_number(name, len);

	return nr >= 0 ? nr : im->next_nr++;
}

static void put_name(struct import *im, unsigned nr, const char *name)
{
	struct ev_call_name e = {.nr = nr, .name = emit_str(&im->emit, name)};

	if (im->named[nr / 64] >> nr % 64 & 1)
		return;
	im->named[nr / 64] |= UINT64_C(1) << nr % 64;
	if (e.name)
		EMIT(&im->emit, &e, EV_CALL_NAME, 0, im->last_ns);
}

int import_nr(struct import *im, const char *name, size_t len)
{
	uint32_t id = strtab_addn(&im->names, name, len);

	if (id == 0) {
		im->over_cnt++;
		return -1;
	}
	if (id > im->nrs.cnt) {
		uint16_t nr = (uint16_t)nr_for(im, name, len);

		vec_push(&im->nrs, nr);
		put_name(im, nr, strtab_str(&im->names, id));
	}
	return im->nrs.items[id - 1];
}

int import_nr_known(struct import *im, uint64_t nr)
{
	char other[32];
	const char *name;

	if (nr >= SYSCALL_MAX)
		return -1;
	if (!(im->named[nr / 64] >> nr % 64 & 1)) {
		name = syscall_name((unsigned)nr);
		snprintf(other, sizeof(other), "call-%u", (unsigned)nr);
		put_name(im, (unsigned)nr, name ? name : other);
	}
	return (int)nr;
}

/* ---- calls */

static void flush(struct import *im)
{
	struct import_calls *c = &im->calls;

	if (!c->head.cnt)
		return;
	c->head.h = (struct event_hdr){
		.size = (uint16_t)(sizeof(c->head) + c->head.cnt * sizeof(c->calls[0])),
		.kind = EV_CALLS, .ts_ns = im->last_ns,
	};
	emit_put(&im->emit, &c->head.h);
	c->head.cnt = 0;
}

void import_call(struct import *im, const struct ev_call *call)
{
	struct import_thread *t = import_thread(im, call->tid);
	struct import_calls *c = &im->calls;
	struct ev_call *to;

	if (!t || call->begin_ns > TIME_MAX || call->dur_ns > TIME_MAX)
		return;
	import_time(im, call->begin_ns + call->dur_ns);
	if (!t->told)
		put_task(im, t, TASK_SEEN);
	if (c->head.cnt == EVENT_CALLS_MAX)
		flush(im);
	to = &c->calls[c->head.cnt++];
	*to = *call;
	if (t->switched)
		to->flags |= CALLF_SWITCHED;
	t->switched = false;
	if (call->begin_ns < im->begin_ns && !(call->flags & CALLF_BEFORE))
		im->begin_ns = call->begin_ns;
	im->call_cnt++;
	im->stack_cnt += call->stack != 0;
}

/* An open call ends without being seen to. */
static void close_unknown(struct import *im, struct import_thread *t, uint64_t ns)
{
	t->call.result = CALL_UNKNOWN;
	t->call.dur_ns = ns > t->call.begin_ns ? ns - t->call.begin_ns : 0;
	t->open = false;
	import_call(im, &t->call);
}

void import_enter(struct import *im, struct import_thread *t, int nr, uint64_t ns)
{
	import_time(im, ns);
	if (t->open)
		close_unknown(im, t, ns);
	t->open = true;
	t->call = (struct ev_call){.begin_ns = ns, .tid = t->tid, .nr = (uint16_t)nr,
				   .cpu = t->cpu, .result = CALL_UNFINISHED};
	if (t->switched)
		t->call.flags |= CALLF_SWITCHED;
	t->switched = false;
	if (!import_never_returns(nr))
		return;
	close_unknown(im, t, ns);
	if (nr == SYS_exit_group && t->tgid)
		hmap_put(&im->ended, t->tgid, ns);
}

void import_leave(struct import *im, struct import_thread *t, int nr, uint64_t ns, int result)
{
	import_time(im, ns);
	if (t->open && nr >= 0 && t->call.nr != nr)
		close_unknown(im, t, ns);
	if (!t->open) {
		if (nr < 0 || import_never_returns(nr))
			return;
		t->call = (struct ev_call){.begin_ns = im->first_ns, .tid = t->tid,
					   .nr = (uint16_t)nr, .cpu = t->cpu,
					   .flags = CALLF_BEFORE};
	}
	t->open = false;
	t->call.result = (uint8_t)result;
	t->call.dur_ns = ns > t->call.begin_ns ? ns - t->call.begin_ns : 0;
	import_call(im, &t->call);
}

void import_switch(struct import *im, uint32_t tid_out, bool runs)
{
	uint64_t *slot = hmap_find(&im->by_tid, tid_out);
	struct import_thread *t;

	if (!slot)
		return; /* not traced */
	t = &im->threads.items[*slot - 1];
	if (!t->open)
		t->switched = true;
	else if (!runs)
		t->call.flags |= CALLF_BLOCKED;
}

/* ---- batches */

void import_skip(struct import *im, const struct text *line, uint64_t number)
{
	size_t len = text_len(line) < sizeof(im->skipped) - 1 ? text_len(line)
							      : sizeof(im->skipped) - 1;

	if (im->skipped_cnt++)
		return;
	im->skipped_line = number;
	memcpy(im->skipped, line->at, len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)im->skipped[i] < ' ' || im->skipped[i] == 0x7f)
			im->skipped[i] = ' ';
}

static void put_tick(struct import *im)
{
	struct ev_tick e = {.begin_ns = im->tick_ns};

	flush(im);
	if (im->last_ns <= im->tick_ns)
		im->last_ns = im->tick_ns + 1;
	EMIT(&im->emit, &e, EV_TICK, 0, im->last_ns);
	im->tick_ns = im->last_ns;
}

bool import_tick(struct import *im)
{
	if (!im->begun || im->last_ns < im->tick_ns + NS_PER_SEC)
		return false;
	put_tick(im);
	return true;
}

static void put_open(struct import *im)
{
	for (size_t i = 0; i < im->threads.cnt; i++) {
		struct import_thread *t = &im->threads.items[i];
		uint64_t end_ns;

		if (!t->open)
			continue;
		if (hmap_get(&im->ended, t->tgid, &end_ns) && end_ns >= t->call.begin_ns) {
			close_unknown(im, t, end_ns); /* it went with its process */
			continue;
		}
		t->open = false;
		t->call.dur_ns = im->last_ns > t->call.begin_ns ? im->last_ns - t->call.begin_ns
								: 0;
		t->call.result = CALL_UNFINISHED;
		im->open_cnt++;
		import_call(im, &t->call);
	}
}

static void put_window(struct import *im)
{
	struct ev_window w = {
		.begin_ns = im->begin_ns < im->last_ns ? im->begin_ns : im->first_ns,
		.lost_cnt = im->lost_cnt, .skipped_cnt = im->skipped_cnt,
		.flags = im->flags | WINDOWF_FOREIGN, .reason = emit_str(&im->emit, im->what),
	};

	if (im->stack_cnt)
		w.flags |= WINDOWF_STACKS;
	if (im->stack_cnt == im->call_cnt && im->call_cnt)
		w.flags |= WINDOWF_ALL_STACKS;
	EMIT(&im->emit, &w, EV_WINDOW, 0, im->last_ns);
}

static void put_losses(struct import *im)
{
	struct ev_loss loss = {0};

	loss.cnt[LOSS_STRINGS] = im->emit.strs.refused_cnt;
	loss.cnt[LOSS_TASK_STORAGE] = im->over_cnt;
	EMIT(&im->emit, &loss, EV_LOSS, 0, im->last_ns);
	if (im->skipped_cnt)
		emit_note(&im->emit, NOTE_LIMIT, im->last_ns,
			  "%s: %llu lines were not understood, the first is line %llu: %s",
			  im->what, (unsigned long long)im->skipped_cnt,
			  (unsigned long long)im->skipped_line, im->skipped);
	if (im->lost_cnt)
		emit_note(&im->emit, NOTE_LIMIT, im->last_ns, "%s says that it lost %llu events",
			  im->what, (unsigned long long)im->lost_cnt);
}

void import_finish(struct import *im, const char *early)
{
	if (!im->begun)
		put_meta(im, 1);
	put_open(im);
	flush(im);
	put_window(im);
	put_losses(im);
	emit_note(&im->emit, NOTE_LIMIT, im->last_ns,
		  "a trace of %s has system calls and no waits: who waited for whom is not known",
		  im->what);
	if (early)
		emit_note(&im->emit, NOTE_LIMIT, im->last_ns, "%s", early);
	put_tick(im);
}
