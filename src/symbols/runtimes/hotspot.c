/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot: threads of Java, and the frames on a copy of a thread's stack.
 *
 * A thread that waits in the VM or in native code left behind where its frames
 * of Java begin: the last stack pointer, with the frame pointer and perhaps the
 * return address.  From there each frame's kind, by the piece of code that its
 * address lies in, says how to get to the next.  Where the VM called Java, what
 * it had left behind before lies on the stack too.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "symbols/runtimes/hotspot.h"

#define STACK_PIECE 256 /* bytes of the stack in an element */
#define STEPS_MAX 4096	/* frames of all kinds */
#define THREAD_CHECK_NS (2 * (uint64_t)NS_PER_SEC)
/* The interpreter's frames, from the frame pointer: the same from JDK 9 to 25. */
#define INTERPRETED_SP (-8)
#define INTERPRETED_METHOD (-24)
#define INTERPRETED_BYTECODE (-64)

static bool is_file(const char *name)
{
	return strcmp(name, "libjvm.so") == 0;
}

static void own_release(struct runtime_proc *r)
{
	struct hotspot *h = r->own;

	if (!h)
		return;
	free(h->pages);
	vec_release(&h->sites);
	vec_release(&h->calls);
	vec_release(&h->threads);
	hmap_release(&h->by_pc);
	hmap_release(&h->by_thread);
}

/* ---- opening */

static int shape_make(struct runtime_proc *r, struct err *err)
{
	const uint64_t *at = ((const struct hotspot *)r->own)->at;
	const uint64_t parts[] = {at[HS_ANCHOR_SP], at[HS_ANCHOR_PC], at[HS_ANCHOR_FP]};
	uint64_t monitor = at[HS_THREAD_MONITOR] - at[HS_THREAD_ANCHOR];
	uint32_t len = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i] > STACK_PIECE - sizeof(uint64_t))
			return err_set(err, -ENOTSUP, "Java %s has odd threads", r->version);
		if (parts[i] + sizeof(uint64_t) > len)
			len = (uint32_t)(parts[i] + sizeof(uint64_t));
	}
	if (at[HS_THREAD_ANCHOR] > UINT32_MAX / 2)
		return err_set(err, -ENOTSUP, "Java %s has odd threads", r->version);
	/* what it waits for comes with it, where that is not far */
	if (at[HS_THREAD_MONITOR] != HOTSPOT_NONE && monitor <= STACK_PIECE - sizeof(uint64_t) &&
	    monitor + sizeof(uint64_t) > len)
		len = (uint32_t)(monitor + sizeof(uint64_t));
	r->shape = (struct chain_shape){
		.step_cnt = 1, .steps = {(uint32_t)(at[HS_THREAD_ANCHOR] + at[HS_ANCHOR_SP])},
		.elem_len = STACK_PIECE, .stride = STACK_PIECE, .back = sizeof(uint64_t),
		.head_off = (uint32_t)at[HS_THREAD_ANCHOR], .head_len = len,
	};
	return 0;
}

static int open_it(struct runtime_proc *r, const struct runtime_file *f, struct image *im,
		   struct err *err)
{
	struct hotspot *h = xcalloc(1, sizeof(*h));
	struct runtime_range code = {UINT64_MAX, 0};
	int rc;

	(void)f;
	r->own = h;
	rc = hotspot_vm_read(r, im, err);
	if (rc == 0)
		rc = shape_make(r, err);
	if (rc < 0)
		return rc;
	if (hotspot_heaps_read(r) < 0 ||
	    hotspot_u64(r, h->at[HS_CALL_STUB_RETURN], &h->call_stub_return) < 0)
		return err_set(err, -ENOTSUP, "Java %s: its heaps of code cannot be read",
			       r->version);
	for (size_t i = 0; i < h->heap_cnt; i++) {
		code.start = h->heaps[i].low < code.start ? h->heaps[i].low : code.start;
		code.end = h->heaps[i].high > code.end ? h->heaps[i].high : code.end;
	}
	r->loops[r->loop_cnt++] = code;
	return 0;
}

/* ---- threads */

static int thread_read(struct runtime_proc *r, uint64_t addr, struct hotspot_thread *ret)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	uint64_t os;

	if (hotspot_u64(r, addr + at[HS_THREAD_OS], &os) < 0 || !os ||
	    hotspot_u64(r, addr + at[HS_THREAD_STACK_BASE], &ret->until) < 0 ||
	    hotspot_u32(r, os + at[HS_OS_TID], &ret->tid) < 0)
		return -EFAULT;
	if (at[HS_THREAD_STACK_LEN] != HOTSPOT_NONE)
		(void)hotspot_u64(r, addr + at[HS_THREAD_STACK_LEN], &ret->len);
	if (at[HS_OS_PTHREAD] != HOTSPOT_NONE)
		(void)hotspot_u64(r, os + at[HS_OS_PTHREAD], &ret->pthread);
	return 0;
}

/* Remembered for a while: reading each at every look would take longer than the looks. */
static const struct hotspot_thread *thread_of(struct runtime_proc *r, uint64_t addr, uint64_t now)
{
	struct hotspot *h = r->own;
	struct hotspot_thread fresh = {.checked_ns = now};
	uint64_t at = 0;

	if (hmap_get(&h->by_thread, addr, &at) &&
	    now - h->threads.items[at - 1].checked_ns < THREAD_CHECK_NS)
		return &h->threads.items[at - 1];
	if (thread_read(r, addr, &fresh) < 0)
		return NULL;
	if (!at && h->threads.cnt >= HOTSPOT_KNOWN_MAX) {
		vec_clear(&h->threads);
		hmap_clear(&h->by_thread);
	}
	if (!at) {
		(void)vec_add(&h->threads);
		at = h->threads.cnt;
		hmap_put(&h->by_thread, addr, at);
	}
	h->threads.items[at - 1] = fresh;
	return &h->threads.items[at - 1];
}

static long threads(struct runtime_proc *r, struct runtime_thread *ret, size_t max)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	CLEANUP_FREE uint64_t *addrs = xcalloc(max + 1, sizeof(*addrs));
	uint64_t list, array, now = clock_mono_ns();
	uint32_t cnt;
	size_t n = 0;

	hotspot_pages_drop(r);
	if (hotspot_u64(r, at[HS_THREAD_LIST], &list) < 0 || !list ||
	    hotspot_u32(r, list + at[HS_LIST_LEN], &cnt) < 0 ||
	    hotspot_u64(r, list + at[HS_LIST_THREADS], &array) < 0)
		return -EFAULT;
	cnt = cnt < max ? cnt : (uint32_t)max;
	if (cnt && hotspot_get(r, array, addrs, cnt * sizeof(*addrs)) < 0)
		return -EFAULT;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct hotspot_thread *t = thread_of(r, addrs[i], now);

		if (t && t->tid)
			ret[n++] = (struct runtime_thread){
				.anchor = addrs[i], .until = t->until, .pthread = t->pthread,
				.ns_tid = t->tid};
	}
	return (long)n;
}

/* ---- the stack */

struct walk {
	struct runtime_proc *r;
	const uint8_t *elems; /* of the stack; each after its address */
	uint64_t low, high;
	uint64_t sp, fp, pc;
	uint64_t now;
	struct runtime_frame *ret;
	size_t cnt;
};

/* A word of the copied stack. */
static int word(const struct walk *w, uint64_t addr, uint64_t *ret)
{
	uint64_t off = addr - w->low;

	if (addr % sizeof(uint64_t) || addr < w->low || addr >= w->high)
		return -EFAULT;
	*ret = runtime_u64(w->elems + off / STACK_PIECE * (sizeof(uint64_t) + STACK_PIECE),
			   sizeof(uint64_t) + off % STACK_PIECE);
	return 0;
}

static int frame_put(struct walk *w, uint64_t method, uint64_t at)
{
	if (w->cnt >= RUNTIME_DEPTH_MAX)
		return -E2BIG;
	w->ret[w->cnt++] = (struct runtime_frame){.code = method, .at = at};
	return 0;
}

static int by_frame_pointer(struct walk *w, uint64_t sp)
{
	uint64_t fp = w->fp;

	if (word(w, fp + 8, &w->pc) < 0 || word(w, fp, &w->fp) < 0)
		return -EBADMSG;
	w->sp = sp;
	return 0;
}

static int interpreted(struct walk *w)
{
	uint64_t method, bytecode, sp;
	int rc;

	if (word(w, w->fp + INTERPRETED_METHOD, &method) < 0 ||
	    word(w, w->fp + INTERPRETED_BYTECODE, &bytecode) < 0 ||
	    word(w, w->fp + INTERPRETED_SP, &sp) < 0)
		return -EBADMSG;
	rc = frame_put(w, method, bytecode);
	return rc < 0 ? rc : by_frame_pointer(w, sp);
}

/* A frame of known length: the caller's address and frame pointer lie below its end. */
static int by_length(struct walk *w, const struct hotspot_site *s)
{
	const struct hotspot *h = w->r->own;
	int rc = 0;

	for (size_t i = 0; i < s->call_cnt && rc == 0; i++)
		rc = frame_put(w, h->calls.items[s->call_at + i].method,
			       h->calls.items[s->call_at + i].at);
	if (rc < 0)
		return rc;
	if (!s->frame_len)
		return by_frame_pointer(w, w->fp + 2 * sizeof(uint64_t));
	w->sp += s->frame_len;
	return word(w, w->sp - 8, &w->pc) < 0 || word(w, w->sp - 16, &w->fp) < 0 ? -EBADMSG : 0;
}

/* From where a thread left Java; 0 where it had no frames of it. */
static int begin(struct walk *w, uint64_t sp, uint64_t pc, uint64_t fp)
{
	w->sp = sp;
	w->fp = fp;
	w->pc = pc;
	if (!sp)
		return 0;
	if (!pc && word(w, sp - sizeof(uint64_t), &w->pc) < 0)
		return -EBADMSG;
	return 1;
}

/* The VM called Java: what it had left behind before lies in its wrapper of the call. */
static int entry(struct walk *w)
{
	const uint64_t *at = ((const struct hotspot *)w->r->own)->at;
	uint64_t wrapper, sp, pc, fp;

	if (w->cnt)
		w->ret[w->cnt - 1].ends_loop = true;
	if (word(w, w->fp + at[HS_ENTRY_WRAPPER] * sizeof(uint64_t), &wrapper) < 0)
		return -EBADMSG;
	wrapper += at[HS_WRAPPER_ANCHOR];
	if (word(w, wrapper + at[HS_ANCHOR_SP], &sp) < 0 ||
	    word(w, wrapper + at[HS_ANCHOR_PC], &pc) < 0 ||
	    word(w, wrapper + at[HS_ANCHOR_FP], &fp) < 0)
		return -EBADMSG;
	return begin(w, sp, pc, fp);
}

/* To the caller: 1, 0 where there is none, or -errno. */
static int step(struct walk *w)
{
	const struct hotspot_site *s = hotspot_site(w->r, w->pc, w->now);
	int rc;

	if (s && s->orig_pc) {
		if (word(w, w->sp + s->orig_pc, &w->pc) < 0)
			return -EBADMSG;
		s = hotspot_site(w->r, w->pc, w->now);
	}
	if (!s || s->orig_pc)
		return -EBADMSG;
	if (s->kind == HOTSPOT_ENTRY)
		return entry(w);
	rc = s->kind == HOTSPOT_INTERPRETED ? interpreted(w) : by_length(w, s);
	return rc < 0 ? rc : 1;
}

/* The elements of a stack follow each other: what the thread left behind, then the stack. */
static int walk_begin(struct walk *w, const uint8_t *elems, size_t cnt)
{
	const struct hotspot *h = w->r->own;
	const size_t one = sizeof(uint64_t) + STACK_PIECE;
	const uint8_t *head = elems + sizeof(uint64_t);

	if (cnt < 2)
		return 0;
	w->elems = elems + one;
	w->low = runtime_u64(w->elems, 0);
	w->high = w->low + (cnt - 1) * STACK_PIECE;
	if (w->low % sizeof(uint64_t) || w->high < w->low)
		return -EBADMSG;
	for (size_t i = 1; i < cnt; i++)
		if (runtime_u64(elems + i * one, 0) != w->low + (i - 1) * STACK_PIECE)
			return -EBADMSG;
	return begin(w, runtime_u64(head, h->at[HS_ANCHOR_SP]),
		     runtime_u64(head, h->at[HS_ANCHOR_PC]),
		     runtime_u64(head, h->at[HS_ANCHOR_FP]));
}

static long frames(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		   struct runtime_frame *ret)
{
	struct walk w = {.r = r, .ret = ret, .now = clock_mono_ns()};
	int rc;

	hotspot_pages_drop(r);
	rc = walk_begin(&w, elems, cnt);
	for (unsigned i = 0; i < STEPS_MAX && rc > 0; i++) {
		uint64_t sp = w.sp;

		rc = step(&w);
		if (rc > 0 && w.sp <= sp)
			rc = -ELOOP;
	}
	if (rc > 0)
		return -E2BIG;
	return rc < 0 ? rc : (long)w.cnt;
}

const struct runtime_lang runtime_hotspot = {
	.name = "Java", .loops_merge = true, .is_file = is_file, .open = open_it,
	.release = own_release, .threads = threads, .frames = frames, .lock = hotspot_lock,
	.cookie = hotspot_cookie, .describe = hotspot_describe,
};
