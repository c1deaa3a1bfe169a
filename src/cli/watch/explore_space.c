/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch/explore_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/vec.h"
#include "cli/watch/seen_stacks.h"
#include "cli/watch/watching.h"
#include "collect/points/point_links.h"
#include "collect/proc/mappings.h"
#include "collect/source.h"
#include "model/model.h"
#include "model/stack.h"
#include "stacks/fns.h"
#include "stacks/stacks.h"
#include "waits/waits.h"

/*
 * Ten times the usual rate: a request that is slow once in twenty must be met on the CPU
 * within the few seconds that are watched.
 */
#define SAMPLE_HZ 997
#define DEPTH_MAX 512

struct fn_made {
	uint32_t module;	/* idx in the model's */
	uint64_t pc;		/* its begin */
	const char *name;
	uint64_t ns;
	double depth_ns;	/* depth by time */
	uint32_t row;		/* in which it was counted last: idx + 1 */
};

struct maker {
	const struct model *m;
	struct arena *arena;
	VEC(struct fn_made) fns;
	VEC(struct explore_call) calls;
	struct hmap by_place;	/* module and begin, to idx + 1 */
	struct hmap by_call;	/* caller and callee, to idx + 1 */
	VEC(uint32_t) call_row;	/* by call: row in which it was counted last */
	uint64_t all_ns;
};

static uint32_t fn_at(struct maker *k, uint64_t frame, uint32_t tgid)
{
	const struct module *mod = model_module(k->m, frame);
	const struct fn *fn = model_fn(k->m, frame, tgid), *outer;
	uint64_t pc, *at;

	if (!mod || !fn || mod->kind != MODULE_FILE)
		return EXPLORE_NONE;
	while ((outer = model_fn_outer(k->m, fn)))
		fn = outer;
	pc = FRAME_OFF(frame) - fn->off;
	at = hmap_slot(&k->by_place, hash_pair((uint64_t)(mod - k->m->modules), pc));
	if (!*at) {
		vec_push(&k->fns, ((struct fn_made){.module = (uint32_t)(mod - k->m->modules),
						    .pc = pc, .name = fn->name}));
		*at = k->fns.cnt;
	}
	return (uint32_t)(*at - 1);
}

static void call_take(struct maker *k, uint32_t caller, uint32_t callee, uint64_t ns, uint32_t row)
{
	uint64_t *at = hmap_slot(&k->by_call, hash_pair(caller, callee));

	if (!*at) {
		vec_push(&k->calls, ((struct explore_call){caller, callee, 0}));
		vec_push(&k->call_row, 0);
		*at = k->calls.cnt;
	}
	if (k->call_row.items[*at - 1] == row)	/* recursion */
		return;
	k->call_row.items[*at - 1] = row;
	k->calls.items[*at - 1].ns += ns;
}

static bool is_libc(const struct maker *k, uint32_t fn)
{
	return fns_is_libc(file_base_name(k->m->modules[k->fns.items[fn].module].path));
}

/* Frames are innermost first, those of the kernel before the others. */
static void row_take(struct maker *k, const struct stack_row *row, uint32_t nth)
{
	const struct stack *s = &k->m->stacks[row->stack];
	uint32_t inner = EXPLORE_NONE;

	k->all_ns += row->ns;
	for (uint32_t i = 0; i < s->user_cnt && i < DEPTH_MAX; i++) {
		uint32_t fn = fn_at(k, s->frames[s->kernel_cnt + i], s->tgid);

		if (fn == EXPLORE_NONE)
			continue;
		if (k->fns.items[fn].row != nth) {
			k->fns.items[fn].ns += row->ns;
			k->fns.items[fn].depth_ns += (double)row->ns * (s->user_cnt - i);
		}
		k->fns.items[fn].row = nth;
		if (inner != EXPLORE_NONE && inner != fn)
			call_take(k, fn, inner, row->ns, nth);
		inner = fn;
	}
}

static int by_caller(const void *a, const void *b)
{
	const struct explore_call *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->callee > y->callee) - (x->callee < y->callee);
}

/* ---- files and places */

/* The file that the process maps under this path; a descriptor or -errno. */
static int open_mapped(uint32_t tgid, const char *path)
{
	CLEANUP(mappings_release) struct mappings maps = {0};
	int rc = mappings_read(tgid, &maps);

	if (rc < 0)
		return rc;
	VEC_FOREACH(&maps.items, m)
		if (m->kind == MAPPING_FILE && strcmp(m->path, path) == 0)
			return mapping_open(tgid, m);
	return -1;
}

static bool is_program(uint32_t tgid, int fd)
{
	struct stat st, exe;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/exe", tgid);
	return fstat(fd, &st) == 0 && stat(path, &exe) == 0 && st.st_dev == exe.st_dev &&
	       st.st_ino == exe.st_ino;
}

static void files_open(const struct model *m, struct arena *arena, struct explore_space *ret)
{
	ret->files = ARENA_ARRAY(arena, struct explore_file, m->module_cnt + 1);
	ret->file_cnt = m->module_cnt;
	for (size_t i = 0; i < m->module_cnt; i++) {
		const struct module *mod = &m->modules[i];
		CLEANUP_CLOSE int fd = -1;
		struct err err = {0};

		if (mod->kind != MODULE_FILE)
			continue;
		fd = open_mapped(mod->tgid, mod->path);
		if (fd < 0)
			continue;
		ret->files[i].is_program = is_program(mod->tgid, fd);
		ret->files[i].file = point_file_open(fd, &err);
		if (ret->files[i].file)
			ret->function_cnt += point_file_functions(ret->files[i].file);
	}
}

static void places_find(const struct maker *k, struct explore_space *ret)
{
	struct explore_fn *fns = ARENA_ARRAY(k->arena, struct explore_fn, k->fns.cnt + 1);
	struct explore_place *places = ARENA_ARRAY(k->arena, struct explore_place, k->fns.cnt + 1);

	for (size_t i = 0; i < k->fns.cnt; i++) {
		const struct fn_made *f = &k->fns.items[i];
		struct explore_place *p = &places[i];

		p->file = f->module;
		p->refusal = POINT_NO_TABLE;
		if (ret->files[f->module].file)
			p->refusal = (uint8_t)point_file_site(ret->files[f->module].file, f->pc,
							      &p->site);
		ret->refused_cnt[p->refusal]++;
		fns[i] = (struct explore_fn){
			.name = arena_strdup(k->arena, f->name), .ns = f->ns,
			.module = arena_strdup(k->arena,
					       file_base_name(k->m->modules[f->module].path)),
			.depth = f->ns ? f->depth_ns / (double)f->ns : 0,
			.own = !is_libc(k, (uint32_t)i),
			.usable = p->refusal == POINT_OK && i < POINT_MAX};
	}
	ret->places = places;
	ret->graph.fns = fns;
	ret->graph.fn_cnt = k->fns.cnt;
}

void explore_space_of(struct model *m, struct arena *arena, struct explore_space *ret)
{
	struct maker k = {.m = m, .arena = arena};
	struct waits_result *w;
	struct stacks_result *r;

	*ret = (struct explore_space){0};
	w = waits_analyse(m, &(struct waits_opts){.by_wait = true}, arena);
	r = stacks_seen(m, w, false, arena);
	for (size_t i = 0; i < r->row_cnt; i++)
		if (r->rows[i].mode != STACKS_WAKER && r->rows[i].stack != NO_IDX)
			row_take(&k, &r->rows[i], (uint32_t)i + 1);
	vec_sort(&k.calls, by_caller);
	files_open(m, arena, ret);
	places_find(&k, ret);
	ret->graph.calls = arena_dup(arena, k.calls.items ? (void *)k.calls.items : "",
				     k.calls.cnt * sizeof(*k.calls.items));
	ret->graph.call_cnt = k.calls.cnt;
	ret->graph.all_ns = k.all_ns;
	ret->sample_cnt = r->sums[STACKS_ON].cnt;
	ret->watched_ns = m->end_ns - m->begin_ns;
	vec_release(&k.fns);
	vec_release(&k.calls);
	vec_release(&k.call_row);
	hmap_release(&k.by_place);
	hmap_release(&k.by_call);
}

int explore_space_watch(const struct explore_space_opts *opts, struct arena *arena,
			struct explore_space *ret, struct err *err)
{
	struct model *m = model_new(&(struct model_opts){.no_res_ticks = 1});
	struct watching w = {.verb = "reading stacks", .ctrl_c = "end",
			     .duration_ns = opts->duration_ns, .sinks = {model_sink(m)}};
	struct watch_opts watch = {.select = opts->select, .duration_ns = opts->duration_ns,
				   .stacks = 1, .stacks_or_fail = 1, .symbols = opts->symbols,
				   .sample_hz = SAMPLE_HZ, .only_target = 1,
				   .max_cost_ppm = opts->max_cost_ppm, .no_runtime_names = 1,
				   .unfiltered = 1};
	int code = watching_live(&w, &watch, NULL, err);

	*ret = (struct explore_space){0};
	if (code == 0) {
		model_finish(m);
		explore_space_of(m, arena, ret);
	}
	model_free(m);
	return code;
}

void explore_space_release(struct explore_space *s)
{
	for (size_t i = 0; i < s->file_cnt; i++)
		point_file_close(s->files[i].file);
	*s = (struct explore_space){0};
}
