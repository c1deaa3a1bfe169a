/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches are byte strings of events, oldest first in a ring of pointers.
 * A batch that falls off is folded into the base event by event: base_key
 * says which earlier event a new one replaces.  Strings are only ever added:
 * the source bounds them.  Packed batches are unpacked into one place when they
 * are needed again.
 */
#include "store/tape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "store/block.h"
#include "store/event_calls.h"

enum { TAPE_DEFAULT_BYTES = 12 << 20, STRS_MAX_BYTES = 16 << 20 };

struct batch {
	struct buf bytes;
	size_t raw_len;		/* 0: not packed */
	uint64_t begin_ns, end_ns;
};

struct base_ev {
	uint64_t key;
	uint64_t used;		/* batch that named it last */
	struct event_hdr *ev;	/* NULL: free */
};

struct tape {
	struct tape_opts opts;
	size_t batch_bytes, base_bytes;
	struct block_codec *codec; /* NULL: batches are not packed */
	struct buf packed;
	uint64_t dropped_cnt;
	struct ev_meta meta;
	struct buf strs;	/* EV_STR folded, in order */
	struct hmap idx;	/* base_key to index in base */
	VEC(struct base_ev) base;
	VEC(uint64_t) unused;	/* indexes */
	VEC(struct batch) batches;
	size_t first;		/* batches before it are gone */
	struct batch open;
	uint64_t base_ns;	/* end of the last batch folded */
	uint64_t calls_ns;	/* latest end of a system call in one */
};

struct tape *tape_new(const struct tape_opts *opts)
{
	struct tape *t = xcalloc(1, sizeof(*t));

	if (opts)
		t->opts = *opts;
	if (!t->opts.max_bytes)
		t->opts.max_bytes = TAPE_DEFAULT_BYTES;
	if (t->opts.packed)
		t->codec = block_codec_new();
	return t;
}

void tape_free(struct tape *t)
{
	if (!t)
		return;
	VEC_FOREACH(&t->base, b)
		free(b->ev);
	for (size_t i = t->first; i < t->batches.cnt; i++)
		buf_release(&t->batches.items[i].bytes);
	buf_release(&t->open.bytes);
	buf_release(&t->packed);
	buf_release(&t->strs);
	block_codec_free(t->codec);
	hmap_release(&t->idx);
	vec_release(&t->base);
	vec_release(&t->unused);
	vec_release(&t->batches);
	free(t);
}

static uint64_t key_of(unsigned kind, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t k[4] = {kind, a, b, c};

	return hash_bytes(k, sizeof(k)) | 1;
}

/* Key of stacks and of what names them. */
static uint64_t code_key(const struct event_hdr *ev)
{
	const union {
		struct event_hdr h;
		struct ev_kstack kstack;
		struct ev_module module;
		struct ev_stack stack;
		struct ev_frame frame;
		struct ev_call_name call_name;
	} *u = (const void *)ev;

	switch (ev->kind) {
	case EV_KSTACK:
		return key_of(ev->kind, u->kstack.id, 0, 0);
	case EV_MODULE:
		return key_of(ev->kind, u->module.id, 0, 0);
	case EV_STACK:
		return key_of(ev->kind, u->stack.id, 0, 0);
	case EV_FRAME:
		return key_of(ev->kind, u->frame.frame, u->frame.tgid, u->frame.depth);
	case EV_CALL_NAME:
		return key_of(ev->kind, u->call_name.nr, 0, 0);
	default:
		return 0;
	}
}

/* An event that names the same thing has the same key; 0: not kept in the base. */
static uint64_t base_key(const struct event_hdr *ev)
{
	const union {
		struct event_hdr h;
		struct ev_res res;
		struct ev_end end;
		struct ev_culprit culprit;
		struct ev_disk disk;
		struct ev_dev dev;
		struct ev_cgroup cgroup;
		struct ev_listen listen;
		struct ev_note note;
		struct ev_member member;
	} *u = (const void *)ev;

	switch (ev->kind) {
	case EV_TASK:
	case EV_THREAD:
	case EV_PROC:
	case EV_WAIT: /* pending ones only: see fold_wait */
		return key_of(ev->kind, ev->tid, 0, 0);
	case EV_HOST:
	case EV_SELF:
	case EV_LOSS:
	case EV_CALLS_PART: /* the one that says that others follow */
		return key_of(ev->kind, 0, 0, 0);
	case EV_RES:
		return key_of(ev->kind, u->res.res, 0, 0);
	case EV_END:
		return key_of(ev->kind,
			      (uint64_t)u->end.tgid << 32 | u->end.family << 8 | u->end.role,
			      hash_bytes(u->end.raddr, sizeof(u->end.raddr)) ^ u->end.uid,
			      (uint64_t)u->end.lport << 16 | u->end.rport);
	case EV_CULPRIT:
		return key_of(ev->kind, u->culprit.victim_tgid, u->culprit.culprit_tgid, 0);
	case EV_DISK:
		return key_of(ev->kind, u->disk.dev, (uint64_t)u->disk.tgid << 32 | ev->tid,
			      u->disk.op);
	case EV_DEV:
		return key_of(ev->kind, u->dev.dev, 0, 0);
	case EV_CGROUP:
		return key_of(ev->kind, u->cgroup.id, 0, 0);
	case EV_LISTEN:
		return key_of(ev->kind, u->listen.tgid, u->listen.res, u->listen.lport);
	case EV_NOTE:
		return key_of(ev->kind, u->note.text, 0, 0);
	case EV_MEMBER:
		return key_of(ev->kind, u->member.set_res, (uint64_t)u->member.tgid,
			      (uint64_t)u->member.fd);
	default:
		return code_key(ev);
	}
}

static void base_del(struct tape *t, uint64_t key)
{
	uint64_t at;

	if (!hmap_get(&t->idx, key, &at))
		return;
	hmap_del(&t->idx, key);
	t->base_bytes -= t->base.items[at].ev->size;
	free(t->base.items[at].ev);
	t->base.items[at].ev = NULL;
	vec_push(&t->unused, at);
}

static int cmp_u64(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static bool can_go(const struct base_ev *b)
{
	return b->ev && (b->ev->kind == EV_RES || b->ev->kind == EV_KSTACK ||
			 b->ev->kind == EV_STACK || b->ev->kind == EV_FRAME);
}

/* A frame is used where its stack is. */
static void frames_touch(struct tape *t, const struct ev_stack *st, uint64_t used)
{
	const uint64_t *frames = (const void *)(st + 1);
	uint64_t at;

	for (unsigned i = 0; i < (unsigned)st->user_cnt + st->kernel_cnt; i++) {
		uint32_t tgid = FRAME_MODULE(frames[i]) ? 0 : st->tgid, depth = 0;

		while (hmap_get(&t->idx, key_of(EV_FRAME, frames[i], tgid, depth), &at)) {
			if (t->base.items[at].used < used)
				t->base.items[at].used = used;
			depth++;
		}
	}
}

/* Forgets the half of the resources, stacks and frames that was unused longest. */
static void base_shrink(struct tape *t)
{
	VEC(uint64_t) used = {0};
	uint64_t limit;

	VEC_FOREACH(&t->base, b)
		if (b->ev && b->ev->kind == EV_STACK)
			frames_touch(t, (const struct ev_stack *)b->ev, b->used);
	VEC_FOREACH(&t->base, b)
		if (can_go(b))
			vec_push(&used, b->used);
	vec_sort(&used, cmp_u64);
	limit = used.cnt ? used.items[used.cnt / 2] : 0;
	VEC_FOREACH(&t->base, b)
		if (can_go(b) && b->used <= limit)
			base_del(t, b->key);
	vec_release(&used);
}

static void base_put(struct tape *t, uint64_t key, const struct event_hdr *ev)
{
	struct base_ev *b;
	uint64_t at;

	if (!hmap_get(&t->idx, key, &at)) {
		if (t->base.cnt - t->unused.cnt >= TAPE_BASE_MAX)
			base_shrink(t);
		at = t->unused.cnt ? vec_pop(&t->unused) : t->base.cnt;
		if (at == t->base.cnt)
			vec_add(&t->base);
		hmap_put(&t->idx, key, at);
	}
	b = &t->base.items[at];
	t->base_bytes += ev->size - (b->ev ? b->ev->size : 0u);
	b->ev = xrealloc(b->ev, ev->size);
	memcpy(b->ev, ev, ev->size);
	b->key = key;
	b->used = t->dropped_cnt;
}

static void base_touch(struct tape *t, unsigned kind, uint64_t id)
{
	uint64_t at;

	if (id && hmap_get(&t->idx, key_of(kind, id, 0, 0), &at))
		t->base.items[at].used = t->dropped_cnt;
}

/* A wait is over and done with, but for the one a thread still sleeps in. */
static bool fold_wait(struct tape *t, const struct ev_wait *w)
{
	base_touch(t, EV_RES, w->res);
	if (w->h.size >= sizeof(*w)) { /* an older writer's ends before */
		base_touch(t, EV_STACK, w->ustack);
		base_touch(t, EV_STACK, w->waker_stack);
	}
	if (w->flags & WAITF_PENDING)
		return false;
	base_del(t, key_of(EV_WAIT, w->h.tid, 0, 0));
	return true;
}

/* Folds calls: the kept ones of their window begin after them. */
static void fold_calls(struct tape *t, const struct ev_calls *e)
{
	const struct ev_call *calls = (const void *)(e + 1);

	for (uint32_t i = 0; i < e->cnt; i++) {
		uint64_t end_ns = calls[i].begin_ns + calls[i].dur_ns;

		base_touch(t, EV_STACK, calls[i].stack);
		t->calls_ns = end_ns > t->calls_ns ? end_ns : t->calls_ns;
	}
}

static void fold(struct tape *t, const struct event_hdr *ev)
{
	uint64_t key = base_key(ev);

	if (ev->kind == EV_STR && t->strs.len < STRS_MAX_BYTES)
		buf_add(&t->strs, ev, ev->size);
	if (ev->kind == EV_WAIT && fold_wait(t, (const struct ev_wait *)ev))
		return;
	if (ev->kind == EV_CALLS)
		fold_calls(t, (const struct ev_calls *)ev);
	if (ev->kind == EV_TICK)
		t->base_ns = ev->ts_ns;
	if (ev->kind == EV_TASK && ((const struct ev_task *)ev)->op == TASK_EXIT) {
		base_del(t, key);
		base_del(t, key_of(EV_THREAD, ev->tid, 0, 0));
		base_del(t, key_of(EV_WAIT, ev->tid, 0, 0));
		return;
	}
	if (key && ev->flags & EVENTF_GONE)
		base_del(t, key);
	else if (key)
		base_put(t, key, ev);
}

static const struct event_hdr *event_at(const struct buf *b, size_t off)
{
	return off < b->len ? (const void *)(b->data + off) : NULL;
}

#define FOREACH_EVENT(b, ev)                                                      \
	for (const struct event_hdr *ev = event_at((b), 0); ev;                   \
	     ev = event_at((b), (size_t)((const char *)ev - (b)->data) + ev->size))

/* The events of a batch, valid until the next one is asked for. */
static struct buf batch_events(const struct tape *t, const struct batch *b, struct buf *room)
{
	if (!b->raw_len)
		return b->bytes;
	buf_clear(room);
	buf_reserve(room, b->raw_len);
	if (block_unpack(t->codec, b->bytes.data, b->bytes.len, room->data, b->raw_len) < 0)
		return (struct buf){0}; /* our own bytes: cannot be */
	room->len = b->raw_len;
	return *room;
}

static void drop_first(struct tape *t)
{
	struct batch *b = &t->batches.items[t->first++];
	struct buf room = {0}, events = batch_events(t, b, &room);

	FOREACH_EVENT(&events, ev)
		fold(t, ev);
	buf_release(&room);
	t->batch_bytes -= b->bytes.len;
	buf_release(&b->bytes);
	t->dropped_cnt++;
	if (t->first < 64 || t->first * 2 < t->batches.cnt)
		return;
	t->batches.cnt -= t->first;
	memmove(t->batches.items, t->batches.items + t->first,
		t->batches.cnt * sizeof(*t->batches.items));
	t->first = 0;
}

static void batch_pack(struct tape *t, struct batch *b)
{
	size_t len;

	buf_clear(&t->packed);
	buf_reserve(&t->packed, b->bytes.len);
	len = block_pack(t->codec, b->bytes.data, b->bytes.len, t->packed.data, b->bytes.len);
	if (!len)
		return;
	b->raw_len = b->bytes.len;
	buf_clear(&b->bytes);
	buf_add(&b->bytes, t->packed.data, len);
}

static bool is_full(const struct tape *t)
{
	const struct batch *first = &t->batches.items[t->first];

	if (t->batches.cnt - t->first <= 1)
		return false;
	return t->batch_bytes > t->opts.max_bytes ||
	       (t->opts.keep_ns &&
		first->end_ns + t->opts.keep_ns < t->batches.items[t->batches.cnt - 1].end_ns);
}

static uint64_t last_end_ns(const struct tape *t)
{
	return t->first < t->batches.cnt ? t->batches.items[t->batches.cnt - 1].end_ns
					 : tape_begin_ns(t);
}

static void close_batch(struct tape *t, const struct ev_tick *tick)
{
	t->open.end_ns = tick->h.ts_ns;
	t->open.begin_ns = tick->begin_ns && tick->begin_ns < tick->h.ts_ns
				   ? tick->begin_ns : last_end_ns(t);
	if (t->open.begin_ns > t->open.end_ns)
		t->open.begin_ns = t->open.end_ns;
	if (t->codec)
		batch_pack(t, &t->open);
	t->open.bytes.data = xrealloc(t->open.bytes.data, t->open.bytes.len + 1);
	t->open.bytes.cap = t->open.bytes.len + 1;
	t->batch_bytes += t->open.bytes.len;
	vec_push(&t->batches, t->open);
	t->open = (struct batch){0};
	while (is_full(t))
		drop_first(t);
}

void tape_forget(struct tape *t, uint64_t before_ns)
{
	while (t->first < t->batches.cnt) {
		const struct batch *b = &t->batches.items[t->first];

		/* the half of it that lies after is not worth the other */
		if (b->begin_ns + (b->end_ns - b->begin_ns) / 2 >= before_ns)
			return;
		drop_first(t);
	}
}

/* The strings it names came before it and stay before it. */
static void add_meta(struct tape *t, const struct event_hdr *ev)
{
	memset(&t->meta, 0, sizeof(t->meta));
	memcpy(&t->meta, ev, ev->size < sizeof(t->meta) ? ev->size : sizeof(t->meta));
	t->meta.h.size = sizeof(t->meta);
	buf_add(&t->strs, buf_str(&t->open.bytes), t->open.bytes.len);
	buf_clear(&t->open.bytes);
}

void tape_add(struct tape *t, const struct event_hdr *ev)
{
	if (ev->kind == EV_META) {
		add_meta(t, ev);
		return;
	}
	buf_add(&t->open.bytes, ev, ev->size);
	if (ev->kind == EV_TICK)
		close_batch(t, (const struct ev_tick *)ev);
}

static int replay_window(const struct tape *t, const struct event_hdr *ev, struct event_sink *sink)
{
	struct ev_window w;

	if (ev->size < sizeof(w))
		return sink->put(sink->ctx, ev);
	memcpy(&w, ev, sizeof(w));
	w.h.size = sizeof(w);
	if (w.begin_ns < t->calls_ns)
		w.begin_ns = t->calls_ns < ev->ts_ns ? t->calls_ns : ev->ts_ns;
	return sink->put(sink->ctx, &w.h);
}

static int replay_bytes(const struct tape *t, const struct buf *b, struct event_sink *sink)
{
	int err = 0;

	FOREACH_EVENT(b, ev) {
		err = ev->kind == EV_WINDOW ? replay_window(t, ev, sink)
					    : sink->put(sink->ctx, ev);
		if (err < 0)
			return err;
	}
	return err;
}

/* The base belongs to the first kept batch: no tick ends it. */
static int replay_base(const struct tape *t, struct event_sink *sink)
{
	int err = 0;

	for (size_t i = 0; i < t->base.cnt && err >= 0; i++)
		if (t->base.items[i].ev)
			err = sink->put(sink->ctx, t->base.items[i].ev);
	return err;
}

/* The clock of what is kept begins with the first batch that is complete. */
static struct ev_meta meta_now(const struct tape *t)
{
	struct ev_meta meta = t->meta;

	if (t->dropped_cnt == 0)
		return meta;
	meta.real_ns += t->base_ns - meta.h.ts_ns;
	meta.h.ts_ns = t->base_ns;
	return meta;
}

int tape_replay(const struct tape *t, struct event_sink *sink)
{
	struct ev_meta meta = meta_now(t);
	struct buf room = {0};
	int err = replay_bytes(t, &t->strs, sink);

	if (err >= 0 && meta.h.size)
		err = sink->put(sink->ctx, &meta.h);
	if (err >= 0)
		err = replay_base(t, sink);
	for (size_t i = t->first; i < t->batches.cnt && err >= 0; i++) {
		struct buf events = batch_events(t, &t->batches.items[i], &room);

		err = replay_bytes(t, &events, sink);
	}
	buf_release(&room);
	return err < 0 ? err : 0;
}

int tape_replay_open(const struct tape *t, struct event_sink *sink)
{
	int err = tape_replay(t, sink);

	if (err >= 0)
		err = replay_bytes(t, &t->open.bytes, sink);
	return err < 0 ? err : 0;
}

uint64_t tape_begin_ns(const struct tape *t)
{
	return t->dropped_cnt ? t->base_ns : t->meta.h.ts_ns;
}

size_t tape_bytes(const struct tape *t)
{
	return t->batch_bytes + t->base_bytes + t->strs.len + t->open.bytes.len;
}

uint64_t tape_dropped_batches(const struct tape *t)
{
	return t->dropped_cnt;
}
