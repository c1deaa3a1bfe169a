/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor that a thread of Java waits for.  Each thread sleeps on a futex of
 * its own, so nothing that the kernel sees says that they wait for one thing.  The
 * thread knows its ObjectMonitor, which has its holder, as a thread or as a place
 * on a thread's stack, and its object, whose class names it.  The object's first
 * word leads back to the monitor: what does not is not named.
 */
#include <string.h>

#include "symbols/runtimes/hotspot.h"

#define MAJOR_FIRST 16 /* before, the object is not behind a handle */
#define TAG UINT64_C(3)
#define TAG_MONITOR 2
#define SHIFT_MAX 16

static bool is_described(const struct hotspot *h)
{
	static const enum hotspot_item items[] = {
		HS_THREAD_MONITOR, HS_MONITOR_OWNER, HS_MONITOR_OBJECT, HS_OBJECT_CLASS,
		HS_CLASS_BASE, HS_CLASS_SHIFT,
	};

	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		if (h->at[items[i]] == HOTSPOT_NONE)
			return false;
	return h->major >= MAJOR_FIRST;
}

static uint32_t holder(const struct hotspot *h, uint64_t owner)
{
	uint64_t at;

	if (hmap_get(&h->by_thread, owner, &at))
		return h->threads.items[at - 1].tid;
	VEC_FOREACH(&h->threads, t)
		if (owner < t->until && t->until - owner <= t->len)
			return t->tid;
	return 0;
}

/* The class of the monitor's object, appended. */
static int class_put(struct runtime_proc *r, uint64_t monitor, struct buf *out)
{
	const uint64_t *at = ((struct hotspot *)r->own)->at;
	uint64_t handle, object, mark, base, name;
	uint32_t class, shift;

	if (hotspot_u64(r, monitor + at[HS_MONITOR_OBJECT], &handle) < 0 ||
	    hotspot_u64(r, handle, &object) < 0 || hotspot_u64(r, object, &mark) < 0 ||
	    hotspot_u32(r, object + at[HS_OBJECT_CLASS], &class) < 0 ||
	    hotspot_u64(r, at[HS_CLASS_BASE], &base) < 0 ||
	    hotspot_u32(r, at[HS_CLASS_SHIFT], &shift) < 0)
		return -1;
	if (mark != (monitor | TAG_MONITOR) || monitor & TAG || shift > SHIFT_MAX ||
	    hotspot_u64(r, base + ((uint64_t)class << shift) + at[HS_CLASS_NAME], &name) < 0)
		return -1;
	return hotspot_symbol(r, name, true, out);
}

bool hotspot_lock(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		  struct runtime_lock *ret)
{
	const struct hotspot *h = r->own;
	uint64_t off = h->at[HS_THREAD_MONITOR] - h->at[HS_THREAD_ANCHOR], owner;

	if (!cnt || !is_described(h) || off + sizeof(uint64_t) > r->shape.head_len)
		return false;
	ret->addr = runtime_u64(elems + sizeof(uint64_t), off);
	if (!ret->addr)
		return false;
	buf_adds(&ret->name, "monitor of ");
	if (class_put(r, ret->addr, &ret->name) < 0)
		return false;
	if (hotspot_u64(r, ret->addr + h->at[HS_MONITOR_OWNER], &owner) == 0)
		ret->holder_ns_tid = holder(h, owner);
	return true;
}
