/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a program's full symbol table is, in the order in which it is looked
 * for: in the file itself, packed in .gnu_debugdata, in a separate debug file
 * here, at debuginfod.  The exported names, the stubs of the PLT and the bounds
 * of functions are added to whatever was found, since each table has functions
 * that the others lack.  A Go program has a table of its own, which names all
 * of its functions.
 */
#include "symbols/names/module.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "symbols/names/debugfile.h"
#include "symbols/names/debuginfod.h"
#include "symbols/names/fde.h"
#include "symbols/names/gopcln.h"
#include "symbols/files/unxz.h"

#define PATH_FOR_PEOPLE_MAX 4096

struct module_key module_key_of(const struct stat *st)
{
	return (struct module_key){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u +
			    (uint64_t)st->st_mtim.tv_nsec,
		.ctime_ns = (uint64_t)st->st_ctim.tv_sec * 1000000000u +
			    (uint64_t)st->st_ctim.tv_nsec,
		.uid = st->st_uid,
	};
}

static void note_segments(struct module *m, const struct image *im)
{
	for (size_t i = 0; i < image_segment_cnt(im); i++) {
		const struct image_segment *seg = image_segment(im, i);

		if (seg->type != PT_LOAD || !(seg->flags & PF_X) ||
		    m->segment_cnt == MODULE_SEGMENT_MAX)
			continue;
		m->segments[m->segment_cnt++] = (struct module_segment){
			.off = seg->off, .len = seg->filesz, .pc = seg->vaddr - m->base_vaddr};
	}
}

static struct module *new_of(const char *path, const char *root, const struct image *im)
{
	struct module *m = xcalloc(1, sizeof(*m));
	const uint8_t *id = image_build_id(im, &m->build_id_len);

	m->fd = m->debug_fd = -1;
	m->path = xstrndup(path, PATH_FOR_PEOPLE_MAX);
	m->name = file_base_name(m->path);
	m->root = root ? xstrdup(root) : NULL;
	if (m->build_id_len)
		memcpy(m->build_id, id, m->build_id_len);
	m->base_vaddr = image_base_vaddr(im);
	note_segments(m, im);
	return m;
}

struct module *module_new(const char *path, int fd, const char *root, struct err *err)
{
	struct image *im = image_open(fd, err);
	struct module *m;
	struct stat st;

	if (!im)
		return NULL;
	m = new_of(path, root, im);
	image_free(im);
	m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (m->fd < 0 || fstat(m->fd, &st) < 0) {
		err_errno(err, -errno, "keep '%s' open", path);
		module_free(m);
		return NULL;
	}
	m->key = module_key_of(&st);
	return m;
}

struct module *module_new_bytes(const char *path, const void *data, size_t len, struct err *err)
{
	struct image *im = image_open_bytes(data, len, err);
	struct module *m;

	if (!im)
		return NULL;
	m = new_of(path, NULL, im);
	image_free(im);
	m->bytes = xmalloc(len + 1);
	memcpy(m->bytes, data, len);
	m->bytes_len = len;
	return m;
}

static void __attribute__((format(printf, 2, 3))) tell(struct module *m, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (m->problem)
		return; /* the first is the cause */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m->problem = xstrdup(text);
}

static const char *why(int code)
{
	return code == -E2BIG ? "takes too much memory for a file of this size" : strerror(-code);
}

/* The state of a load; open until symtab_finish. */
struct loading {
	struct module *m;
	int fd; /* where names are read from later, -1: they are copied */
	struct image *im, *packed, *debug;
	uint8_t *packed_bytes;
	struct symtab_text text;
};

static bool add_table(struct loading *l, struct image *im, int fd, const char *table,
		      enum symbol_source source)
{
	int ret = symtab_add(&l->m->tab, im, fd, table, &l->text, source);

	l->m->is_over |= ret == -E2BIG;
	if (ret < 0 && ret != -ENOENT)
		tell(l->m, "%s: %s", table, why(ret));
	if (ret == 0 && source > l->m->source)
		l->m->source = source;
	return ret == 0;
}

/* Unpacked images are in memory three times: sections and names are copied out of them. */
static bool add_packed(struct loading *l)
{
	const struct image_section *sec = image_find(l->im, ".gnu_debugdata");
	uint64_t max = image_room(l->im) / 4;
	struct err err = {0};
	const uint8_t *data;
	size_t len;
	int ret;

	if (!sec)
		return false;
	ret = image_data(l->im, sec, &data, &len, &err);
	if (ret == 0)
		ret = unxz(data, len, max, &l->packed_bytes, &len);
	image_drop(l->im, sec);
	if (ret == 0)
		l->packed = image_open_bytes(l->packed_bytes, len, &err);
	if (!l->packed) {
		l->m->is_over |= ret == -E2BIG;
		tell(l->m, ".gnu_debugdata: %s", err.code ? err.msg : why(ret));
		return false;
	}
	image_reserve(l->im, 3 * len);
	image_limit(l->packed, len);
	return add_table(l, l->packed, -1, ".symtab", SYMBOL_DEBUGDATA);
}

/* A program with C in it names that elsewhere, so this is added to the others. */
static bool add_go(struct loading *l)
{
	struct gopcln g;
	int ret = gopcln_open(l->im, &g);

	if (ret == 0)
		ret = symtab_add_go(&l->m->tab, &g, l->fd, &l->text);
	l->m->is_over |= ret == -E2BIG;
	if (ret < 0 && ret != -ENOENT)
		tell(l->m, "Go's own table: %s", why(ret));
	return ret == 0;
}

/*
 * Entries take an eighth of what the larger file may, and as much again while
 * they are sorted.
 */
static void entries_bound(struct loading *l, const struct image *im)
{
	size_t max = image_room(im) / 8 / sizeof(struct symtab_entry);

	max = max < SYMTAB_MAX ? max : SYMTAB_MAX;
	if (l->m->tab.max < max)
		l->m->tab.max = max;
}

static bool has_info(const struct image *im)
{
	const struct image_section *sec = image_find(im, ".debug_info");

	return sec && sec->type != SHT_NOBITS;
}

/* Takes the descriptor. */
static void take_debug(struct loading *l, int fd, char *path, enum symbol_source source)
{
	struct err err = {0};

	l->m->debug_fd = fd;
	l->m->debug_path = path;
	l->debug = image_open(fd, &err);
	if (!l->debug) {
		tell(l->m, "%s: %s", path, err.msg);
		return;
	}
	l->m->has_lines = l->m->lines_in_debug = has_info(l->debug);
	entries_bound(l, l->debug);
	if (l->m->source != SYMBOL_SYMTAB)
		add_table(l, l->debug, fd, ".symtab", source);
}

/* The separate debug file: for the symbols, or, where those are there, for the lines. */
static void find_debug(struct loading *l, bool has_symtab, const struct module_load_opts *opts,
		       struct module_load_result *result)
{
	struct module *m = l->m;
	char *path = NULL;
	uint64_t begin;
	int fd = -1;

	if (!opts->no_debug_files && m->fd >= 0)
		fd = debugfile_open(l->im, m->path, m->root, &path);
	if (fd >= 0) {
		take_debug(l, fd, path, SYMBOL_DEBUG_FILE);
		return;
	}
	if (!opts->debuginfod || has_symtab || !m->build_id_len || m->fd < 0)
		return;
	begin = clock_mono_ns();
	fd = debuginfod_open(opts->debuginfod, m->build_id, m->build_id_len, opts->deadline_ns,
			     &path);
	result->debuginfod_ns = clock_mono_ns() - begin;
	if (fd == -ETIME) {
		result->debuginfod_late = true;
		tell(m, "debuginfod has not answered in time");
	}
	if (fd == -EFBIG) {
		result->debuginfod_over = true;
		tell(m, "debuginfod sends more than may be fetched");
	}
	if (fd < 0)
		return;
	result->debuginfod_had = true;
	take_debug(l, fd, path, SYMBOL_DEBUGINFOD);
}

static void add_bounds(struct loading *l)
{
	struct symtab_bounds *bounds = NULL;
	size_t cnt = 0;
	int ret = fde_bounds(l->im, &bounds, &cnt);

	l->m->is_over |= ret == -E2BIG;
	if (ret == -E2BIG)
		tell(l->m, "bounds of functions: %s", why(ret));
	if (ret < 0)
		return;
	symtab_add_bounds(&l->m->tab, bounds, cnt);
	free(bounds);
	if (cnt && l->m->source < SYMBOL_FDE)
		l->m->source = SYMBOL_FDE;
}

static void add_all(struct loading *l, const struct module_load_opts *opts,
		    struct module_load_result *result)
{
	struct module *m = l->m;
	bool has_symtab = add_table(l, l->im, l->fd, ".symtab", SYMBOL_SYMTAB), has_go = false;

	m->has_lines = has_info(l->im);
	if (!has_symtab)
		has_symtab = add_packed(l);
	if (!has_symtab)
		has_symtab = has_go = add_go(l);
	if (!opts->copy && (m->source != SYMBOL_SYMTAB || !m->has_lines))
		find_debug(l, has_symtab, opts, result);
	add_table(l, l->im, l->fd, ".dynsym", SYMBOL_DYNSYM);
	symtab_add_plt(&m->tab, l->im, l->fd, &l->text);
	add_bounds(l);
	if (has_go && m->source < SYMBOL_SYMTAB)
		m->source = SYMBOL_GO;
}

void module_load(struct module *m, const struct module_load_opts *opts,
		 struct module_load_result *ret_result)
{
	struct loading l = {.m = m, .fd = opts->copy ? -1 : m->fd};
	struct err err = {0};

	*ret_result = (struct module_load_result){0};
	if (m->is_loaded)
		return;
	m->is_loaded = true;
	l.im = m->fd >= 0 ? image_open(m->fd, &err)
			  : image_open_bytes(m->bytes, m->bytes_len, &err);
	if (!l.im) {
		tell(m, "%s", err.msg);
		return;
	}
	l.text.base_vaddr = image_base_vaddr(l.im);
	l.text.len = image_text_len(l.im);
	if (l.text.len > UINT32_MAX) { /* a pc offset has 32 bits */
		tell(m, "code over 4 GiB: only its start has names");
		l.text.len = UINT32_MAX;
	}
	entries_bound(&l, l.im);
	/* a copy has the names twice for a while */
	image_reserve(l.im, opts->copy ? image_room(l.im) / 2 : image_room(l.im) / 4);
	add_all(&l, opts, ret_result);
	symtab_finish(&m->tab);
	if (m->tab.over_cnt) {
		m->is_over = true;
		tell(m, "%llu of its functions are left out: they would take too much memory",
		     (unsigned long long)m->tab.over_cnt);
	}
	image_free(l.im);
	image_free(l.packed);
	image_free(l.debug);
	free(l.packed_bytes);
	if (opts->copy && m->fd >= 0) {
		close(m->fd);
		m->fd = -1;
	}
}

bool module_can_reload(const struct module *m)
{
	return m->fd >= 0 || m->bytes;
}

void module_unload(struct module *m)
{
	symtab_release(&m->tab);
	free(m->debug_path);
	free(m->problem);
	m->debug_path = m->problem = NULL;
	if (m->debug_fd >= 0)
		close(m->debug_fd);
	m->debug_fd = -1;
	m->source = SYMBOL_NONE;
	m->has_lines = m->lines_in_debug = m->is_loaded = m->is_over = false;
}

void module_close(struct module *m, const char *problem)
{
	module_unload(m);
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	m->is_loaded = true;
	m->problem = xstrdup(problem);
}

void module_free(struct module *m)
{
	if (!m)
		return;
	module_unload(m);
	if (m->fd >= 0)
		close(m->fd);
	free(m->bytes);
	free(m->path);
	free(m->root);
	free(m);
}
