/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names come with the events; a frame that has none is called after its
 * module and offset, so that none is dropped.
 */
#include "stacks/fns.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "model/stack.h"

enum { CHAIN_MAX = EVENT_INLINE_MAX + 1 };

bool fns_is_libc(const char *base)
{
	static const char *const names[] = {"libc.so", "libc-", "libpthread", "ld-linux", "ld-musl",
					    "ld-2.", "librt", "linux-vdso", "[vdso]"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

void fns_init(struct fns *f, const struct model *m, struct arena *arena)
{
	*f = (struct fns){.m = m, .arena = arena};
	f->bases = ARENA_ARRAY(arena, const char *, m->module_cnt + 1);
	for (size_t i = 0; i < m->module_cnt; i++)
		f->bases[i] = file_base_name(m->modules[i].path);
}

void fns_release(struct fns *f)
{
	vec_release(&f->fns);
	vec_release(&f->chains);
	hmap_release(&f->by_name);
	hmap_release(&f->by_frame);
}

/* fn's strings live as long as the model, or in the arena. */
static uint32_t fn_get(struct fns *f, const struct stack_fn *fn)
{
	uint64_t key = hash_pair(hash_bytes(fn->name, strlen(fn->name)),
				 hash_bytes(fn->module, strlen(fn->module)) + fn->kind);
	uint64_t *slot = hmap_slot(&f->by_name, key);

	if (*slot == 0) {
		vec_push(&f->fns, *fn);
		*slot = f->fns.cnt;
	}
	return (uint32_t)*slot - 1;
}

uint32_t fns_same(struct fns *f, const struct stack_fn *fn)
{
	return fn_get(f, fn);
}

uint32_t fns_note(struct fns *f, unsigned kind, const char *name)
{
	return fn_get(f, &(struct stack_fn){.name = name, .file = "", .module = "",
					    .kind = (uint8_t)kind});
}

static const char *base_of(const struct fns *f, const struct module *mod)
{
	return mod ? f->bases[mod - f->m->modules] : "";
}

static struct stack_fn nameless(const struct fns *f, uint64_t frame, const struct module *mod,
				uint32_t tgid)
{
	struct stack_fn fn = {.file = "", .module = base_of(f, mod), .nameless = 1};
	uint32_t proc = model_proc_by_tgid(f->m, tgid);
	unsigned long long off = FRAME_OFF(frame);

	if (FRAME_MODULE(frame) == FRAME_KERNEL)
		fn.name = arena_printf(f->arena, "kernel+0x%llx", off);
	else if (mod)
		fn.name = arena_printf(f->arena, "%s+0x%llx", fn.module[0] ? fn.module : "code",
				       off + (unsigned long long)mod->base_vaddr);
	else if (FRAME_MODULE(frame))
		fn.name = arena_printf(f->arena, "module %u+0x%llx", FRAME_MODULE(frame), off);
	else
		fn.name = arena_printf(f->arena, "%s+0x%llx",
				       proc == NO_IDX ? "process" : f->m->procs[proc].comm, off);
	return fn;
}

static unsigned kind_of(uint64_t frame, const struct module *mod)
{
	if (FRAME_MODULE(frame) == FRAME_KERNEL)
		return FN_KERNEL;
	if (FRAME_MODULE(frame) == 0 || (mod && mod->kind >= MODULE_JIT))
		return FN_JIT;
	return FN_USER;
}

/* A source gives a function that only its bounds are known of such a name, too. */
static bool is_nameless(const char *name, const char *module)
{
	size_t len = strlen(module);

	return len && strncmp(name, module, len) == 0 && strncmp(name + len, "+0x", 3) == 0;
}

static unsigned lang_of(const struct module *mod)
{
	if (!mod || mod->kind < MODULE_APP)
		return FN_LANG_NONE;
	return mod->kind == MODULE_APP ? FN_LANG_APP : FN_LANG_LIB;
}

/* A path's last two parts: what tells it from others of the program. */
static const char *short_path(const char *path)
{
	const char *at = path + strlen(path);
	unsigned slashes = 0;

	while (at > path && slashes < 2)
		slashes += *--at == '/';
	return *at == '/' && slashes == 2 ? at + 1 : path;
}

/* "refresh_cache (app/cache.py:118)": a name alone says little in such programs. */
static const char *lang_name(const struct fns *f, const struct fn *fn)
{
	uint32_t line = f->by_definition ? fn->line - fn->off : fn->line;

	if (!*fn->file)
		return fn->name;
	if (!line)
		return arena_printf(f->arena, "%s (%s)", fn->name, short_path(fn->file));
	return arena_printf(f->arena, "%s (%s:%u)", fn->name, short_path(fn->file), line);
}

/* Looks up one frame; its functions go to chains, outermost first. */
static uint32_t chain_make(struct fns *f, uint64_t frame, uint32_t tgid)
{
	const struct module *mod = model_module(f->m, frame);
	const struct fn *fn = model_fn(f->m, frame, tgid);
	unsigned kind = kind_of(frame, mod), lang = lang_of(mod);
	uint32_t inner[CHAIN_MAX], cnt = 0, at = (uint32_t)f->chains.cnt;
	struct stack_fn none;

	for (; fn && cnt < CHAIN_MAX; fn = model_fn_outer(f->m, fn))
		inner[cnt++] = fn_get(f, &(struct stack_fn){
			.name = lang ? lang_name(f, fn) : fn->name, .file = fn->file,
			.kind = (uint8_t)kind, .lang = (uint8_t)lang,
			.module = kind == FN_KERNEL ? "" : base_of(f, mod),
			.nameless = is_nameless(fn->name, base_of(f, mod)),
			.libc = kind == FN_USER && fns_is_libc(base_of(f, mod))});
	if (cnt == 0) {
		none = nameless(f, frame, mod, tgid);
		none.kind = (uint8_t)kind;
		none.libc = kind == FN_USER && fns_is_libc(none.module);
		inner[cnt++] = fn_get(f, &none);
	}
	vec_push(&f->chains, cnt);
	while (cnt)
		vec_push(&f->chains, inner[--cnt]);
	return at;
}

static uint32_t chain_of(struct fns *f, uint64_t frame, uint32_t tgid)
{
	uint64_t key = hash_pair(frame, FRAME_MODULE(frame) == 0 ? tgid : 0), at;

	if (hmap_get(&f->by_frame, key, &at))
		return (uint32_t)at;
	at = chain_make(f, frame, tgid);
	hmap_put(&f->by_frame, key, at);
	return (uint32_t)at;
}

static void path_make(struct fns *f, const struct stack *s, struct stack_path *path)
{
	uint32_t cnt = (uint32_t)s->user_cnt + s->kernel_cnt, fn_cnt = 0, at = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t chain = chain_of(f, s->frames[i], s->tgid); /* moves the items */

		fn_cnt += f->chains.items[chain];
	}
	path->fns = ARENA_ARRAY(f->arena, uint32_t, fn_cnt + 1);
	path->cnt = fn_cnt;
	/* user outermost first, then the kernel's outermost first */
	for (uint32_t i = cnt; i-- > 0;) {
		uint32_t chain = chain_of(f, s->frames[i], s->tgid);

		for (uint32_t k = 0; k < f->chains.items[chain]; k++)
			path->fns[at++] = f->chains.items[chain + 1 + k];
		if (i >= s->kernel_cnt)
			path->user_cnt = at;
	}
}

struct stack_path *fns_paths(struct fns *f)
{
	struct stack_path *paths = ARENA_ARRAY(f->arena, struct stack_path, f->m->stack_cnt + 1);

	for (size_t i = 0; i < f->m->stack_cnt; i++)
		path_make(f, &f->m->stacks[i], &paths[i]);
	return paths;
}
