/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/code/code_int.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "collect/emit.h"
#include "symbols/names/symbols.h"

#define IDLE_MAX 6 /* the pause between two scans is doubled so many times */
#define PROCS_MAX 65536
#define SCAN_SHARE 100
#define FRESH_WAIT_NS (30 * NS_PER_MS) /* a process that lives as long gets a set */

struct code *code_new(const struct code_fds *fds, struct symbols *syms)
{
	struct code *c = xcalloc(1, sizeof(*c));
	const char *dir = getenv("HELDUP_CACHE");
	struct err err = {0};

	c->fds = *fds;
	c->syms = syms;
	c->begin_ns = clock_mono_ns();
	c->cache = dir && !*dir ? NULL : cfi_cache_open(dir, &err);
	if (*err.msg)
		log_debug("unwinding tables are not kept: %s", err.msg);
	return c;
}

/*
 * Most of so many are gone.  Those that asked stay, for the kernel side asks
 * once: they are no more than hu_maps holds.
 */
static void procs_drop(struct code *c)
{
	size_t kept = 0;

	hmap_clear(&c->proc_idx);
	VEC_FOREACH(&c->procs, p) {
		if (!p->asked)
			continue;
		c->procs.items[kept++] = *p;
		hmap_put(&c->proc_idx, p->tgid, kept);
	}
	c->procs.cnt = kept;
}

static struct code_proc *proc_of(struct code *c, uint32_t tgid)
{
	uint64_t *slot;
	struct code_proc *p;

	slot = hmap_find(&c->proc_idx, tgid);
	if (slot)
		return &c->procs.items[*slot - 1];
	if (c->procs.cnt >= PROCS_MAX)
		procs_drop(c);
	slot = hmap_slot(&c->proc_idx, tgid);
	p = vec_add(&c->procs);
	p->tgid = tgid;
	*slot = c->procs.cnt;
	return p;
}

void code_batch_add(struct code_batch *b, uint32_t id, int *fd)
{
	vec_push(&b->ids, id);
	vec_push(&b->fds, *fd);
	*fd = -1;
}

static void batch_release(struct code_batch *b)
{
	VEC_FOREACH(&b->fds, fd)
		close(*fd);
	vec_release(&b->fds);
	vec_release(&b->ids);
}

/* After each change of an outer map the kernel waits for its programs: so change many at once. */
static void batch_put(struct code_batch *b, int map_fd)
{
	uint32_t cnt = (uint32_t)b->ids.cnt;

	if (cnt > 1 && bpf_map_update_batch(map_fd, b->ids.items, b->fds.items, &cnt, NULL) == 0)
		return;
	for (size_t i = 0; i < b->ids.cnt; i++)
		if (bpf_map_update_elem(map_fd, &b->ids.items[i], &b->fds.items[i], BPF_ANY) < 0)
			log_debug("put in an inner map: %s", strerror(errno));
}

void code_commit(struct code *c)
{
	batch_put(&c->new_tables, c->fds.tables);
	for (size_t i = 0; i < c->new_modules.cnt; i++)
		bpf_map_update_elem(c->fds.modules, &c->new_tables.ids.items[i],
				    &c->new_modules.items[i], BPF_ANY);
	batch_put(&c->new_sets, c->fds.sets);
	VEC_FOREACH(&c->new_procs, p)
		bpf_map_update_elem(c->fds.procs, &p->tgid, &p->proc, BPF_ANY);
	batch_release(&c->new_tables);
	batch_release(&c->new_sets);
	vec_release(&c->new_modules);
	vec_release(&c->new_procs);
	hmap_clear(&c->opened);
}

static void proc_write(struct code *c, struct code_proc *p, uint64_t vm)
{
	struct unw_proc now = {.set = p->set, .exec_vm = vm}, before = {0};
	bool known = bpf_map_lookup_elem(c->fds.procs, &p->tgid, &before) == 0;

	/* the count that the kernel side saw when it asked: it is not to ask for the same again */
	if (known && before.asked)
		now.exec_vm = before.seen_vm;
	/* no room for its set: what was known stays, and it may ask again, for there may be then */
	if (!p->set)
		now = (struct unw_proc){.set = before.set};
	vec_push(&c->new_procs, ((struct code_entry){p->tgid, now}));
}

/* A process with thousands of mappings that change all the time costs at most 1 % of a core. */
static uint64_t rescan_ns(const struct code_proc *p, uint64_t took_ns)
{
	uint64_t pause = CODE_RESCAN_NS << p->idle;

	return pause > took_ns * SCAN_SHARE ? pause : took_ns * SCAN_SHARE;
}

void code_scan(struct code *c, uint32_t tgid, uint64_t now)
{
	CLEANUP(mappings_release) struct mappings maps = {0};
	uint64_t vm = mappings_exec_pages(tgid), begin = clock_mono_ns();
	struct code_proc *p = proc_of(c, tgid);
	uint32_t id;
	int rc;

	p->asked = false;
	rc = mappings_read(tgid, &maps);
	code_note_denied(c, rc);
	if (rc < 0 || !maps.items.cnt) {
		bpf_map_delete_elem(c->fds.procs, &tgid);
		code_forget(c, tgid);
		return;
	}
	c->stats.scan_cnt++;
	c->stats.cut_cnt += maps.cut_cnt != 0;
	id = code_set_of(c, tgid, &maps);
	p->idle = id != p->set ? 0 : p->idle < IDLE_MAX ? p->idle + 1 : IDLE_MAX;
	p->next_ns = now + rescan_ns(p, p->set ? clock_mono_ns() - begin : 0);
	p->set = id;
	proc_write(c, p, vm);
}

void code_ask(struct code *c, const struct wire_maps *w, uint64_t now)
{
	struct code_proc *p = proc_of(c, w->tgid);

	if (!p->set) {
		if (!p->next_ns) /* a set takes a while to put in place: is it worth one? */
			p->next_ns = now + FRESH_WAIT_NS;
		code_fresh(c, w, now);
	}
	if (!p->asked)
		c->asked_cnt++;
	p->asked = true;
}

void code_step(struct code *c, uint64_t now)
{
	uint32_t left = 0;

	if (!c->asked_cnt)
		return;
	for (size_t i = 0; i < c->procs.cnt; i++) {
		struct code_proc *p = &c->procs.items[i];

		if (!p->asked || p->next_ns > now)
			left += p->asked;
		else
			code_scan(c, p->tgid, now);
	}
	c->asked_cnt = left;
	code_commit(c);
}

void code_forget(struct code *c, uint32_t tgid)
{
	uint64_t idx;

	if (hmap_get(&c->proc_idx, tgid, &idx))
		c->procs.items[idx - 1] = (struct code_proc){.tgid = tgid};
	if (c->syms)
		symbols_jit_forget(c->syms, tgid);
}

void code_stats(const struct code *c, struct code_stats *ret)
{
	*ret = c->stats;
	ret->module_cnt = (uint32_t)c->modules.cnt;
}

void code_free(struct code *c)
{
	if (!c)
		return;
	code_rest(c);
	batch_release(&c->new_tables);
	batch_release(&c->new_sets);
	vec_release(&c->new_modules);
	vec_release(&c->new_procs);
	VEC_FOREACH(&c->modules, m)
		free(m->path);
	VEC_FOREACH(&c->sets, set)
		free(set->parts);
	vec_release(&c->making);
	free(c->places);
	cfi_cache_free(c->cache);
	hmap_release(&c->by_file);
	hmap_release(&c->opened);
	hmap_release(&c->by_id);
	hmap_release(&c->proc_idx);
	vec_release(&c->modules);
	vec_release(&c->sets);
	vec_release(&c->procs);
	vec_release(&c->programs);
	free(c);
}
