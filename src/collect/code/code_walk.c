/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of threads that were asleep before the watch began: no switch
 * shows them to the kernel side, and a hung server has no others.  What they
 * saved comes from the iterator, memory is read here, and the same tables are
 * followed.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "collect/code/code_int.h"
#include "collect/proc/procfs.h"
#include "symbols/unwind/unwind.h"

#define STACK_AHEAD 4096 /* read at once: most stacks of sleepers are shorter */

struct walker {
	struct code *c;
	uint64_t ahead_at;
	size_t ahead_len;
	uint8_t ahead[STACK_AHEAD];
};

static struct unw_map *place_at(struct code *c, uint64_t pc)
{
	const struct mapping *maps = c->walked.items.items;
	size_t at = SORTED_PREFIX(maps, c->walked.items.cnt, it, it->end <= pc);

	return at < c->walked.items.cnt && maps[at].start <= pc ? &c->places[at] : NULL;
}

static bool find(void *ctx, uint64_t pc, struct unwind_place *ret)
{
	struct walker *w = ctx;
	const struct unw_map *p = place_at(w->c, pc);

	if (!p)
		return false;
	*ret = (struct unwind_place){.base = p->base};
	if (p->module)
		ret->table = code_table(w->c, w->c->walked_tgid,
					&w->c->walked.items.items[p - w->c->places], p->module);
	return true;
}

static bool read_mem(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct walker *w = ctx;

	if (addr >= w->ahead_at && addr - w->ahead_at + len <= w->ahead_len) {
		memcpy(buf, w->ahead + (addr - w->ahead_at), len);
		return true;
	}
	return procfs_read_mem(w->c->walked_tgid, addr, buf, len) == (long)len;
}

/* As the kernel side makes them. */
static uint64_t frame_of(struct code *c, const struct unwind_frame *f, bool first)
{
	const struct unw_map *p = place_at(c, f->exact ? f->pc : f->pc - 1);
	uint64_t pc = f->exact && !first ? f->pc + 1 : f->pc;

	return p && p->module ? (pc - p->base) | (uint64_t)p->module << 48 : pc;
}

static void learn(struct code *c, uint32_t tgid)
{
	if (c->walked_tgid == tgid)
		return;
	c->walked_tgid = tgid;
	if (mappings_read(tgid, &c->walked) < 0)
		mappings_release(&c->walked);
	free(c->places);
	c->places = xcalloc(c->walked.items.cnt + 1, sizeof(*c->places));
	code_maps_fill(c, tgid, &c->walked, c->places);
}

uint8_t code_walk(struct code *c, uint32_t tgid, const struct code_regs *regs,
		  uint64_t *ret_frames, uint32_t max, uint32_t *ret_cnt)
{
	CLEANUP_FREE struct walker *w = xcalloc(1, sizeof(*w));
	CLEANUP_FREE struct unwind_frame *frames = xcalloc(max, sizeof(*frames));
	struct unwind_ops ops = {.ctx = w, .find = find, .read = read_mem};
	struct unwind_regs r = {.pc = regs->pc, .reg = {[6] = regs->bp, [7] = regs->sp}};
	enum unw_end end = UNW_END_NO_MAP;
	size_t cnt = 0;
	long got;

	learn(c, tgid);
	w->c = c;
	got = procfs_read_mem(tgid, regs->sp, w->ahead, sizeof(w->ahead));
	w->ahead_at = regs->sp;
	w->ahead_len = got > 0 ? (size_t)got : 0;
	if (c->walked.items.cnt)
		end = unwind_walk(&ops, &r, frames, max, &cnt);
	for (size_t i = 0; i < cnt; i++)
		ret_frames[i] = frame_of(c, &frames[i], i == 0);
	*ret_cnt = (uint32_t)cnt;
	return end;
}

uint64_t code_frame(struct code *c, uint32_t tgid, uint64_t pc)
{
	const struct unw_map *p;

	learn(c, tgid);
	p = place_at(c, pc);
	return p && p->module ? (pc - p->base) | (uint64_t)p->module << 48 : pc;
}

void code_rest(struct code *c)
{
	VEC_FOREACH(&c->modules, m)
		cfi_release(&m->table);
	c->table_bytes = 0;
	mappings_release(&c->walked);
	c->walked_tgid = 0;
}
