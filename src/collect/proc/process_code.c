/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/proc/process_code.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "collect/proc/procfs.h"
#include "symbols/names/packages.h"
#include "symbols/names/symbols.h"

/* The file in the list that this mapping belongs to, or a new one. */
static struct code_file *file_of(struct process_code *c, const struct mapping *m, uint32_t module)
{
	const char *path = m->kind == MAPPING_CODE ? "[anon]" : m->path;
	struct code_file *f;

	for (size_t i = 0; i < c->files.cnt; i++) {
		f = &c->files.items[i];
		if (f->kind == m->kind && f->module == module && f->deleted == m->deleted &&
		    strcmp(f->path, path) == 0)
			return f;
	}
	f = vec_add(&c->files);
	f->path = arena_strdup(&c->arena, path);
	f->kind = m->kind;
	f->deleted = m->deleted;
	f->module = module;
	f->start = m->start;
	return f;
}

static int open_vdso(struct symbols *s, uint32_t tgid, const struct mapping *m, uint32_t *ret_id,
		     struct err *err)
{
	uint64_t len = m->end - m->start;
	CLEANUP_FREE char *bytes = NULL;
	long got;

	if (len > PROCESS_CODE_VDSO_MAX)
		return err_set(err, -E2BIG, "%llu bytes", (unsigned long long)len);
	bytes = xmalloc(len);
	got = procfs_read_mem(tgid, m->start, bytes, len);
	if (got < 0)
		return err_errno(err, (int)got, "read its memory");
	return symbols_module_bytes(s, "[vdso]", bytes, (size_t)got, ret_id, err);
}

static int open_file(struct symbols *s, uint32_t tgid, const struct mapping *m, uint32_t *ret_id,
		     struct err *err)
{
	CLEANUP_CLOSE int fd = mapping_open(tgid, m);
	char root[32];

	if (fd == -ENOENT && m->deleted)
		return err_set(err, fd,
			       "the file is gone; only root may open what is still mapped");
	if (fd < 0)
		return err_errno(err, fd, "open");
	snprintf(root, sizeof(root), "/proc/%u/root", tgid);
	return symbols_module(s, m->path, fd, root, ret_id, err);
}

int process_code_read(struct symbols *s, uint32_t tgid, struct process_code *ret, struct err *err)
{
	struct process_code c = {.tgid = tgid};
	int code = mappings_read(tgid, &c.maps);

	if (code == -EACCES || code == -EPERM)
		return err_rights(err, code,
				  "process %u is another user's: run heldup as root to read what "
				  "it maps", tgid);
	if (code == -ETIMEDOUT)
		return err_set(err, code,
			       "process %u hangs in the kernel: a thread of it holds its mmap "
			       "lock, so its mappings cannot be read", tgid);
	if (code < 0)
		return err_errno(err, code, "mappings of process %u", tgid);
	VEC_FOREACH(&c.maps.items, m) {
		struct err why = {0};
		uint32_t module = 0;
		int opened = 0;

		if (m->kind == MAPPING_FILE)
			opened = open_file(s, tgid, m, &module, &why);
		else if (m->kind == MAPPING_VDSO)
			opened = open_vdso(s, tgid, m, &module, &why);
		struct code_file *f = file_of(&c, m, module);
		f->bytes += m->end - m->start;
		f->mapping_cnt++;
		if (opened < 0)
			f->problem = arena_strdup(&c.arena, why.msg);
	}
	*ret = c;
	return 0;
}

static const struct mapping *mapping_at(const struct process_code *c, uint64_t addr)
{
	VEC_FOREACH(&c->maps.items, m) {
		if (addr >= m->start && addr < m->end)
			return m;
	}
	return NULL;
}

/* Does not add: each mapping has had its file since process_code_read. */
static const struct code_file *file_at(const struct process_code *c, const struct mapping *m)
{
	const struct code_file *best = NULL;

	VEC_FOREACH(&c->files, f) {
		const char *path = m->kind == MAPPING_CODE ? "[anon]" : m->path;

		if (f->kind == m->kind && f->start <= m->start && strcmp(f->path, path) == 0 &&
		    f->deleted == m->deleted && (!best || f->start > best->start))
			best = f;
	}
	return best;
}

void process_code_name(const struct process_code *c, struct symbols *s, uint64_t addr,
		       struct symbol_name *ret_name, const struct code_file **ret_file)
{
	const struct mapping *m = mapping_at(c, addr);
	const struct code_file *f = m ? file_at(c, m) : NULL;
	uint64_t pc = 0;

	*ret_file = f;
	if (!f || f->kind == MAPPING_CODE || f->kind == MAPPING_VSYSCALL) {
		symbols_jit_name(s, c->tgid, addr, f ? f->path : "?", ret_name);
		return;
	}
	if (symbols_pc_of(s, f->module, addr - m->start + m->off, &pc) < 0)
		symbols_jit_name(s, c->tgid, addr, f->path, ret_name);
	else
		symbols_name(s, f->module, pc, false, ret_name);
}

int process_packages(uint32_t tgid, const char *const *paths, size_t cnt, struct arena *arena,
		     const char ***ret_names)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%u/root", procfs_living_tid(tgid));
	return packages_find(root, paths, cnt, arena, ret_names);
}

void process_code_release(struct process_code *c)
{
	arena_release(&c->arena);
	mappings_release(&c->maps);
	vec_release(&c->files);
	*c = (struct process_code){0};
}
