/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/units/app_frames.h"

#include <string.h>

#include "base/arena.h"
#include "model/stack.h"
#include "stacks/fns.h"

/* The parts of a path: owner of a function at one place in it. */
enum place {
	PLACE_SYSTEM,		/* run-time library, kernel, or code without a name */
	PLACE_NATIVE,
	PLACE_LANGUAGE,		/* made at run time, of the language's own classes */
	PLACE_JIT,
};

struct maker {
	struct fns fns;
	const struct model *m;
	struct arena *arena;
	uint64_t *begins, *ends;
	uint32_t *modules;
	uint8_t *places;	/* of the path being made */
	uint64_t *sites;
	uint32_t cap;
};

/* True if text begins with a member of the list. */
static bool begins_with(const char *text, const char *const *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (strncmp(text, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

int appfn_is_system(const struct stack_fn *fn)
{
	/*
	 * Libraries that compilers and the C library bring along; the C library
	 * itself is marked.
	 */
	static const char *const libs[] = {
		"libstdc++.so", "libc++.so", "libc++abi.so", "libgcc_s.so", "libm.so", "libm-",
		"libmvec.so", "libdl.so", "libdl-", "libutil.so", "libanl.so", "libresolv",
		"libnss_", "libatomic.so", "libgomp.so"};

	if (fn->kind == FN_KERNEL || fn->libc)
		return 1;
	return fn->kind == FN_USER && begins_with(fn->module, libs, sizeof(libs) / sizeof(*libs));
}

/*
 * Java writes "int java.util.HashMap.hash(java.lang.Object)" or without the
 * result's type, V8 "LazyCompile:~readSync node:fs:700:18" and "Builtin:...".
 */
static bool is_language(const char *name)
{
	static const char *const classes[] = {"java.", "javax.", "jdk.", "sun.", "com.sun.",
					      "Ljava/", "Ljdk/", "Lsun/", "Interpreter",
					      "StubRoutines", "Builtin:", "BytecodeHandler:",
					      "RegExp:"};
	size_t len = strcspn(name, "(");
	const char *type = memrchr(name, ' ', len), *node;

	if (begins_with(name, classes, sizeof(classes) / sizeof(*classes)) ||
	    (type && begins_with(type + 1, classes, sizeof(classes) / sizeof(*classes))))
		return true;
	node = strstr(name, " node:");
	return node != NULL;
}

static enum place place_of(const struct stack_fn *fn, bool named)
{
	if (appfn_is_system(fn))
		return PLACE_SYSTEM;
	if (fn->kind == FN_USER)
		return PLACE_NATIVE;
	if (fn->lang)
		return fn->lang == FN_LANG_APP ? PLACE_JIT : PLACE_LANGUAGE;
	/* "[anon]" and such: code at run time whose name nobody knows */
	if (fn->kind != FN_JIT || !named || fn->name[0] == '[')
		return PLACE_SYSTEM;
	return is_language(fn->name) ? PLACE_LANGUAGE : PLACE_JIT;
}

/* Notes the place in the file; the outermost of a frame is the function itself. */
static void seen_at(struct maker *mk, uint32_t fn, uint64_t frame, const struct fn *name)
{
	const struct module *mod = model_module(mk->m, frame);
	uint64_t addr;

	if (!mod || mod->kind != MODULE_FILE)
		return;
	addr = FRAME_OFF(frame) + mod->base_vaddr;
	if (mk->modules[fn] == NO_IDX)
		mk->modules[fn] = (uint32_t)(mod - mk->m->modules);
	if (addr + 1 > mk->ends[fn])
		mk->ends[fn] = addr + 1;
	if (name && name->off <= addr)
		addr -= name->off;
	if (mk->begins[fn] == 0 || addr < mk->begins[fn])
		mk->begins[fn] = addr;
}

/* The functions of one frame, outermost first, at place at of the path. */
static uint32_t frame_places(struct maker *mk, const struct stack_path *path, uint32_t at,
			     uint64_t frame, uint32_t tgid)
{
	const struct fn *fn = model_fn(mk->m, frame, tgid);
	bool named = fn != NULL;
	uint32_t cnt = 0;

	do {
		uint32_t place = at + cnt;

		mk->places[place] = (uint8_t)place_of(&mk->fns.fns.items[path->fns[place]], named);
		mk->sites[place] = frame;
		cnt++;
	} while (fn && (fn = model_fn_outer(mk->m, fn)) != NULL);
	fn = model_fn(mk->m, frame, tgid);
	for (uint32_t i = cnt; fn && i-- > 0; fn = model_fn_outer(mk->m, fn)) {
		if (i + 1 < cnt) /* it calls what is inlined into it from a line, not an address */
			mk->sites[at + i] = fn->line;
		if (i == 0)
			seen_at(mk, path->fns[at], frame, fn);
	}
	if (!named)
		seen_at(mk, path->fns[at], frame, NULL);
	return cnt;
}

static uint32_t pick(const struct maker *mk, const struct stack_path *path, enum place want,
		     struct app_frame *out)
{
	uint32_t cnt = 0;

	for (uint32_t i = path->user_cnt; i-- > 0;)
		if (mk->places[i] == want)
			out[cnt++] = (struct app_frame){path->fns[i], i};
	return cnt;
}

static struct app_stack stack_make(struct maker *mk, const struct stack *s,
				   const struct stack_path *path)
{
	struct app_frame *frames = ARENA_ARRAY(mk->arena, struct app_frame, path->user_cnt + 1);
	struct app_stack app = {.frames = frames};
	uint32_t at = 0;

	if (mk->cap < path->user_cnt) {
		mk->cap = 2 * path->user_cnt;
		mk->places = ARENA_ARRAY(mk->arena, uint8_t, mk->cap);
	}
	mk->sites = ARENA_ARRAY(mk->arena, uint64_t, path->user_cnt + 1);
	for (uint32_t i = s->user_cnt; i-- > 0;)
		at += frame_places(mk, path, at, s->frames[s->kernel_cnt + i], s->tgid);
	app.sites = mk->sites;
	app.cnt = pick(mk, path, PLACE_JIT, frames);
	if (app.cnt == 0)
		app.cnt = pick(mk, path, PLACE_LANGUAGE, frames);
	if (app.cnt == 0)
		app.cnt = pick(mk, path, PLACE_NATIVE, frames);
	return app;
}

struct appfns *appfns_make(const struct model *m, struct arena *arena)
{
	struct appfns *a = ARENA_NEW(arena, struct appfns);
	struct app_stack *stacks = ARENA_ARRAY(arena, struct app_stack, m->stack_cnt + 1);
	struct maker mk = {.m = m, .arena = arena};
	struct stack_path *paths;

	fns_init(&mk.fns, m, arena);
	mk.fns.by_definition = true;
	paths = fns_paths(&mk.fns);
	a->fn_cnt = mk.fns.fns.cnt;
	mk.begins = ARENA_ARRAY(arena, uint64_t, a->fn_cnt + 1);
	mk.ends = ARENA_ARRAY(arena, uint64_t, a->fn_cnt + 1);
	mk.modules = ARENA_ARRAY(arena, uint32_t, a->fn_cnt + 1);
	for (size_t i = 0; i < a->fn_cnt; i++)
		mk.modules[i] = NO_IDX;
	for (size_t i = 0; i < m->stack_cnt; i++)
		stacks[i] = stack_make(&mk, &m->stacks[i], &paths[i]);
	a->fns = arena_dup(arena, mk.fns.fns.items, a->fn_cnt * sizeof(*a->fns));
	a->stacks = stacks;
	a->paths = paths;
	a->begins = mk.begins;
	a->ends = mk.ends;
	a->modules = mk.modules;
	fns_release(&mk.fns);
	return a;
}

bool appfn_is_entry(const struct appfns *a, const struct app_stack *st, uint32_t i)
{
	const struct stack_fn *f = &a->fns[st->frames[i].fn];

	return i + 1 < st->cnt && f->kind == FN_USER &&
	       strcmp(f->module, a->fns[st->frames[i + 1].fn].module) != 0;
}
