/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel side gets of a process when it first asks, before a set of
 * its mappings is made: the mappings themselves, and, for processes of the same
 * program that will be gone too soon even for that, where its code lies in all
 * of them.  The latter is what two processes agree in, counted from the two
 * addresses that are random: libraries that a program loads as it needs them
 * may lie anywhere, and two that loaded different ones do not agree there.
 */
#include <bpf/bpf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/code/code_int.h"

/* One costs 0.1 to 0.2 ms: at most about 1 to 2 % of a core, some at once. */
#define FRESH_GAP_NS (10 * NS_PER_MS)
#define FRESH_BURST 16
#define PROGRAMS_MAX UNW_FRESH_PROCS /* as many as hu_programs holds */

static bool fresh_due(struct code *c, uint64_t now)
{
	uint64_t burst = FRESH_BURST * FRESH_GAP_NS;

	if (c->fresh_ns + burst < now)
		c->fresh_ns = now - burst;
	if (c->fresh_ns > now)
		return false;
	c->fresh_ns += FRESH_GAP_NS;
	return true;
}

static struct code_program *program_of(struct code *c, const struct unw_exe *exe)
{
	VEC_FOREACH(&c->programs, p)
		if (p->exe.ino == exe->ino && p->exe.dev == exe->dev)
			return p;
	if (c->programs.cnt >= PROGRAMS_MAX)
		return NULL;
	(void)vec_add(&c->programs);
	vec_last(&c->programs)->exe = *exe;
	return vec_last(&c->programs);
}

/* Does the mapping lie in the process of b where it lies in that of a? */
static bool lies_same(const struct unw_program *a, const struct unw_map *m,
		      const struct unw_program *b)
{
	for (uint32_t i = 0; i < b->code.cnt; i++) {
		const struct unw_map *o = &b->code.maps[i];

		if (o->module != m->module || o->page_cnt != m->page_cnt ||
		    o->start - o->base != m->start - m->base)
			continue;
		if (o->start - b->start_code == m->start - a->start_code ||
		    o->start - b->mmap_base == m->start - a->mmap_base)
			return true;
	}
	return false;
}

bool code_program_agree(const struct unw_program *a, const struct unw_program *b,
			struct unw_program *ret)
{
	*ret = (struct unw_program){.start_code = a->start_code, .mmap_base = a->mmap_base};
	for (uint32_t i = 0; i < a->code.cnt; i++)
		if (a->code.maps[i].module && lies_same(a, &a->code.maps[i], b))
			ret->code.maps[ret->code.cnt++] = a->code.maps[i];
	for (uint32_t i = ret->code.cnt; i < UNW_FRESH_MAPS; i++)
		ret->code.maps[i].start = INT64_MAX; /* sorts behind all others */
	return ret->code.cnt != 0;
}

/* One more process of a program; the kernel side learns what is known of it from the second on. */
static void program_add(struct code *c, const struct unw_exe *exe, const struct unw_program *now)
{
	struct code_program *p = exe->ino ? program_of(c, exe) : NULL;
	struct unw_program both;

	if (!p)
		return;
	if (p->last.code.cnt && code_program_agree(now, &p->last, &both) &&
	    both.code.cnt > p->told_cnt) {
		p->told_cnt = both.code.cnt;
		bpf_map_update_elem(c->fds.programs, exe, &both, BPF_ANY);
	}
	if (now->code.cnt >= p->last.code.cnt)
		p->last = *now;
}

void code_fresh(struct code *c, const struct wire_maps *w, uint64_t now)
{
	struct unw_program prog = {.start_code = w->start_code, .mmap_base = w->mmap_base};
	CLEANUP(mappings_release) struct mappings maps = {0};

	if (!fresh_due(c, now) || mappings_read(w->tgid, &maps) < 0 || !maps.items.cnt ||
	    maps.items.cnt > UNW_FRESH_MAPS)
		return;
	code_maps_fill(c, w->tgid, &maps, prog.code.maps);
	if (c->new_tables.ids.cnt) /* of files not seen before */
		code_commit(c);
	prog.code.exec_vm = w->exec_vm;
	prog.code.cnt = (uint32_t)maps.items.cnt;
	for (uint32_t i = prog.code.cnt; i < UNW_FRESH_MAPS; i++)
		prog.code.maps[i].start = INT64_MAX; /* sorts behind all others */
	bpf_map_update_elem(c->fds.fresh, &w->tgid, &prog.code, BPF_ANY);
	program_add(c, &w->exe, &prog);
}
