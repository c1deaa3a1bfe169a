/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "symbols/names/debuginfod.h"
#include "symbols/names/demangle.h"
#include "symbols/names/lines.h"
#include "symbols/names/module.h"
#include "symbols/names/perfmap.h"

#define BYTES_DEFAULT (UINT64_C(64) << 20)
#define FILES_DEFAULT 400 /* of the usual 1,024 descriptors; a debug file takes a second one */
/* The largest program seen takes 0.1 s; a watch must end in its time. */
#define READ_MS_DEFAULT 5000
#define READ_SHARE 50
#define STRINGS_MAX (1u << 19) /* distinct names and files handed out */
/*
 * A link of 1 Gbit/s brings no more in the time that is waited for it: what
 * does is on this machine or in the next rack, and could fill the disk.
 */
#define DEBUGINFOD_BYTES_PER_MS (UINT64_C(125) * 1000)
#define JIT_RETRY_NS NS_PER_SEC
#define JIT_RETRY_SHARE 20 /* and at least so many times as long as reading it took */

struct jit {
	uint32_t tgid;
	struct perfmap map;
	uint64_t next_ns; /* when it may be read again; 0: never read */
	uint64_t used_seq;
};

struct symbols {
	struct symbols_opts opts;
	VEC(struct module *) modules; /* by id - 1 */
	struct hmap by_key;	      /* hash of a file's or build id's key to id */
	VEC(struct jit) jits;
	struct hmap jit_by_tgid;      /* to index */
	struct strtab strings;
	struct debuginfod *debuginfod;
	bool debuginfod_tried;
	uint64_t debuginfod_left_ns;
	uint64_t begin_ns, read_ns; /* read: of reading tables so far */
	struct lines *lines; /* NULL: not looked for, or not built in */
	struct lines_answer answer; /* used again for each name */
	uint32_t file_cnt; /* modules whose file is open */
	uint64_t copied_bytes; /* tables of the others, which stay */
	uint64_t seq;
	struct symbols_stats stats;
	struct buf raw, fn, full; /* used again for each name */
};

struct symbols *symbols_new(const struct symbols_opts *opts)
{
	struct symbols *s = xcalloc(1, sizeof(*s));

	if (opts)
		s->opts = *opts;
	if (!s->opts.max_bytes)
		s->opts.max_bytes = BYTES_DEFAULT;
	if (!s->opts.read_ms)
		s->opts.read_ms = READ_MS_DEFAULT;
	s->begin_ns = clock_mono_ns();
	if (!s->opts.max_files)
		s->opts.max_files = FILES_DEFAULT;
	s->debuginfod_left_ns = s->opts.debuginfod_ms * NS_PER_MS;
	s->strings.max_cnt = STRINGS_MAX;
	if (s->opts.lines_ms)
		s->lines = lines_new(s->opts.lines_ms);
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	VEC_FOREACH(&s->modules, m)
		module_free(*m);
	VEC_FOREACH(&s->jits, j)
		perfmap_release(&j->map);
	vec_release(&s->modules);
	vec_release(&s->jits);
	hmap_release(&s->by_key);
	hmap_release(&s->jit_by_tgid);
	strtab_release(&s->strings);
	debuginfod_free(s->debuginfod);
	lines_free(s->lines);
	buf_release(&s->raw);
	buf_release(&s->fn);
	buf_release(&s->full);
	free(s);
}

/* ---- modules */

static struct module *module_of(const struct symbols *s, uint32_t id)
{
	return id && id <= s->modules.cnt ? s->modules.items[id - 1] : NULL;
}

static uint64_t hash_of_file(const struct module_key *key)
{
	return hash_bytes(key, sizeof(*key));
}

/* Hash of the parts that all copies of one file share. */
static uint64_t hash_of_build(const struct module *m)
{
	struct {
		uint8_t id[IMAGE_BUILD_ID_MAX + 4];
		uint64_t id_len, size, uid;
	} key = {.id_len = m->build_id_len, .size = m->key.size, .uid = m->key.uid};

	memcpy(key.id, m->build_id, m->build_id_len);
	return ~hash_bytes(&key, sizeof(key));
}

static bool same_build(const struct module *a, const struct module *b)
{
	return a->build_id_len && a->build_id_len == b->build_id_len &&
	       memcmp(a->build_id, b->build_id, a->build_id_len) == 0 &&
	       a->key.size == b->key.size && a->key.uid == b->key.uid;
}

static uint32_t add_module(struct symbols *s, struct module *m)
{
	vec_push(&s->modules, m);
	s->stats.module_cnt++;
	return (uint32_t)s->modules.cnt;
}

#define COPY_MAX (8u << 20) /* of one module over max_files */

/* Now or never: its file is closed. */
static void load_copy(struct symbols *s, struct module *m)
{
	const struct module_load_opts opts = {.copy = true};
	struct module_load_result result;

	if (s->copied_bytes < s->opts.max_bytes)
		module_load(m, &opts, &result);
	else
		module_close(m, "names left out: too many files");
	/* nothing of a copy can be given back later */
	if (symtab_bytes(&m->tab) > COPY_MAX)
		module_close(m, "names left out: too many files, and its table is large");
	s->copied_bytes += symtab_bytes(&m->tab);
	s->stats.refused_cnt += m->problem != NULL;
}

int symbols_module(struct symbols *s, const char *path, int fd, const char *root, uint32_t *ret_id,
		   struct err *err)
{
	struct module_key key;
	struct module *m, *known;
	struct stat st;
	uint64_t id;

	if (fstat(fd, &st) < 0)
		return err_errno(err, -errno, "stat '%s'", path);
	key = module_key_of(&st);
	if (hmap_get(&s->by_key, hash_of_file(&key), &id)) {
		known = module_of(s, (uint32_t)id);
		if (!known->bytes) {
			*ret_id = (uint32_t)id;
			return 0;
		}
	}
	if (s->modules.cnt == SYMBOLS_MODULE_MAX)
		return err_set(err, -ENOSPC, "more than %d files", SYMBOLS_MODULE_MAX);
	m = module_new(path, fd, root, err);
	if (!m) {
		s->stats.refused_cnt++;
		return err && err->code ? err->code : -ENOEXEC;
	}
	if (m->build_id_len && hmap_get(&s->by_key, hash_of_build(m), &id) &&
	    same_build(m, module_of(s, (uint32_t)id))) {
		hmap_put(&s->by_key, hash_of_file(&key), id);
		module_free(m);
		*ret_id = (uint32_t)id;
		return 0;
	}
	*ret_id = add_module(s, m);
	if (s->file_cnt < s->opts.max_files)
		s->file_cnt++;
	else
		load_copy(s, m);
	hmap_put(&s->by_key, hash_of_file(&key), *ret_id);
	if (m->build_id_len)
		hmap_put(&s->by_key, hash_of_build(m), *ret_id);
	return 0;
}

int symbols_module_bytes(struct symbols *s, const char *path, const void *data, size_t len,
			 uint32_t *ret_id, struct err *err)
{
	uint64_t hash = hash_bytes(data, len), id;
	struct module *m;

	if (hmap_get(&s->by_key, hash, &id)) {
		m = module_of(s, (uint32_t)id);
		if (m->bytes && m->bytes_len == len && memcmp(m->bytes, data, len) == 0) {
			*ret_id = (uint32_t)id;
			return 0;
		}
	}
	if (s->modules.cnt == SYMBOLS_MODULE_MAX)
		return err_set(err, -ENOSPC, "more than %d files", SYMBOLS_MODULE_MAX);
	m = module_new_bytes(path, data, len, err);
	if (!m) {
		s->stats.refused_cnt++;
		return err && err->code ? err->code : -ENOEXEC;
	}
	*ret_id = add_module(s, m);
	hmap_put(&s->by_key, hash, *ret_id);
	return 0;
}

int symbols_pc_of(const struct symbols *s, uint32_t module, uint64_t file_off,
		  uint64_t *ret_pc_off)
{
	const struct module *m = module_of(s, module);

	for (size_t i = 0; m && i < m->segment_cnt; i++) {
		const struct module_segment *seg = &m->segments[i];

		/* the first page holds the end of what lies before it in the file */
		if (file_off >= (seg->off & ~UINT64_C(0xfff)) && file_off < seg->off + seg->len) {
			*ret_pc_off = seg->pc + file_off - seg->off;
			return 0;
		}
	}
	return -ENOENT;
}

static uint64_t bytes_in_use(const struct symbols *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->modules.cnt; i++)
		bytes += symtab_bytes(&s->modules.items[i]->tab);
	for (size_t i = 0; i < s->jits.cnt; i++)
		bytes += perfmap_bytes(&s->jits.items[i].map);
	return bytes;
}

static struct module *oldest_module(struct symbols *s)
{
	struct module *oldest = NULL;

	VEC_FOREACH(&s->modules, each) {
		struct module *m = *each;

		if (m->used_seq != s->seq && m->tab.entries.cnt && module_can_reload(m) &&
		    (!oldest || m->used_seq < oldest->used_seq))
			oldest = m;
	}
	return oldest;
}

static struct jit *oldest_jit(struct symbols *s)
{
	struct jit *oldest = NULL;

	VEC_FOREACH(&s->jits, j) {
		if (j->used_seq != s->seq && j->map.entries.cnt &&
		    (!oldest || j->used_seq < oldest->used_seq))
			oldest = j;
	}
	return oldest;
}

/* Gives back the tables that were not used for longest, but never those just used. */
static void make_room(struct symbols *s)
{
	while (bytes_in_use(s) > s->opts.max_bytes + s->copied_bytes) {
		struct module *m = oldest_module(s);
		struct jit *j = oldest_jit(s);

		if (m && (!j || m->used_seq < j->used_seq))
			module_unload(m);
		else if (j)
			perfmap_release(&j->map);
		else
			return;
		s->stats.evicted_cnt++;
	}
}

static bool is_spent(const struct symbols *s)
{
	return s->read_ns > s->opts.read_ms * NS_PER_MS +
			    (clock_mono_ns() - s->begin_ns) / READ_SHARE;
}

static void ensure_loaded(struct symbols *s, struct module *m)
{
	struct module_load_opts opts = {.no_debug_files = s->opts.no_debug_files};
	struct module_load_result result;
	uint64_t start_ns, used_ns;

	m->used_seq = ++s->seq;
	if (m->is_loaded)
		return;
	if (is_spent(s)) {
		s->stats.late_cnt += !m->is_late;
		m->is_late = true;
		return;
	}
	if (s->debuginfod_left_ns && !s->debuginfod_tried) {
		s->debuginfod = debuginfod_new(DEBUGINFOD_BYTES_PER_MS * s->opts.debuginfod_ms);
		s->debuginfod_tried = true;
	}
	start_ns = clock_mono_ns();
	if (s->debuginfod_left_ns)
		opts.debuginfod = s->debuginfod;
	opts.deadline_ns = start_ns + s->debuginfod_left_ns;
	module_load(m, &opts, &result);
	used_ns = clock_mono_ns() - start_ns;
	if (opts.debuginfod)
		s->debuginfod_left_ns -= used_ns < s->debuginfod_left_ns ? used_ns
									 : s->debuginfod_left_ns;
	s->stats.debuginfod_cnt += result.debuginfod_had;
	s->stats.debuginfod_late_cnt += result.debuginfod_late;
	s->stats.debuginfod_over_cnt += result.debuginfod_over;
	s->read_ns += used_ns - result.debuginfod_ns;
	s->stats.refused_cnt += m->problem != NULL;
	s->stats.over_cnt += m->is_over;
	make_room(s);
}

int symbols_module_info(struct symbols *s, uint32_t module, struct symbols_module_info *ret_info)
{
	struct module *m = module_of(s, module);

	if (!m)
		return -ENOENT;
	ensure_loaded(s, m);
	*ret_info = (struct symbols_module_info){
		.path = m->path,
		.build_id = m->build_id,
		.build_id_len = m->build_id_len,
		.source = m->source,
		.debug_path = m->debug_path,
		.fn_cnt = m->tab.named_cnt,
		.fde_cnt = m->tab.bounds_cnt,
		.has_lines = m->has_lines,
		.problem = m->problem || m->is_loaded ? m->problem
						      : "not read: the others took all the time",
		.bytes = symtab_bytes(&m->tab),
	};
	return 0;
}

/* ---- names */

/* Kept as long as s; one that is too long is cut. */
static const char *keep(struct symbols *s, const char *text, size_t len)
{
	uint32_t id;
	bool cut = len > SYMBOLS_NAME_MAX;

	if (cut) {
		char part[SYMBOLS_NAME_MAX + 1];

		memcpy(part, text, SYMBOLS_NAME_MAX - 3);
		memcpy(part + SYMBOLS_NAME_MAX - 3, "...", 4);
		id = strtab_addn(&s->strings, part, SYMBOLS_NAME_MAX);
	} else {
		id = strtab_addn(&s->strings, text, len);
	}
	s->stats.cut_cnt += cut || !id;
	return id ? strtab_str(&s->strings, id) : "[name over the bound]";
}

static void __attribute__((format(printf, 3, 4))) name_by_number(struct symbols *s,
								 struct symbol_name *name,
								 const char *fmt, ...)
{
	va_list ap;

	buf_clear(&s->fn);
	va_start(ap, fmt);
	buf_vprintf(&s->fn, fmt, ap);
	va_end(ap);
	name->frames[0].fn = name->frames[0].full = keep(s, buf_str(&s->fn), s->fn.len);
}

static void name_by_symbol(struct symbols *s, struct symbol_name *name, const char *raw)
{
	demangle(raw, &s->fn, &s->full);
	if (name->source == SYMBOL_PLT) {
		buf_adds(&s->fn, "@plt");
		buf_adds(&s->full, "@plt");
	}
	name->frames[0].fn = keep(s, buf_str(&s->fn), s->fn.len);
	name->frames[0].full = keep(s, buf_str(&s->full), s->full.len);
}

/* A function inlined into another, or one that only debug information names. */
static void name_frame(struct symbols *s, struct symbol_frame *f, const char *fn)
{
	demangle(*fn ? fn : "?", &s->fn, &s->full);
	f->fn = keep(s, buf_str(&s->fn), s->fn.len);
	f->full = keep(s, buf_str(&s->full), s->full.len);
}

/* Adds what debug information knows of the same address. */
static void add_lines(struct symbols *s, uint32_t id, uint64_t pc, struct symbol_name *name)
{
	const struct module *m = module_of(s, id);
	struct lines_answer *a = &s->answer;
	int ret;

	if (!s->lines || !m->has_lines || (m->lines_in_debug ? m->debug_fd : m->fd) < 0)
		return;
	ret = lines_find(s->lines, m->lines_in_debug ? m->debug_fd : m->fd, id,
			 m->base_vaddr + pc, a);
	s->stats.lines_late_cnt += ret == -ETIME;
	s->stats.lines_lost_cnt += ret == -EIO;
	if (ret < 0)
		return;
	for (uint32_t i = 0; i < a->frame_cnt && i < SYMBOLS_FRAME_MAX; i++) {
		struct symbol_frame *f = &name->frames[i];
		const struct lines_frame *from = &a->frames[i];

		if (i || (name->source < SYMBOL_DYNSYM && *from->fn))
			name_frame(s, f, from->fn);
		f->file = *from->file ? keep(s, from->file, strlen(from->file)) : NULL;
		f->line = f->file ? from->line : 0;
		name->frame_cnt = i + 1;
	}
}

void symbols_name(struct symbols *s, uint32_t module, uint64_t pc_off, bool is_return,
		  struct symbol_name *ret_name)
{
	struct module *m = module_of(s, module);
	const struct symtab_entry *e = NULL;
	uint64_t pc = pc_off - (is_return && pc_off);

	*ret_name = (struct symbol_name){.frame_cnt = 1, .start = pc_off};
	if (!m) {
		name_by_number(s, ret_name, "?+0x%" PRIx64, pc_off);
		return;
	}
	ensure_loaded(s, m);
	if (pc < UINT32_MAX)
		e = symtab_find(&m->tab, (uint32_t)pc);
	if (!e) {
		name_by_number(s, ret_name, "%s+0x%" PRIx64, m->name, m->base_vaddr + pc_off);
		return;
	}
	ret_name->start = e->pc;
	ret_name->off = (uint32_t)(pc_off - e->pc);
	ret_name->source = symtab_source(&m->tab, e);
	symtab_name(&m->tab, e, &s->raw);
	if (s->raw.len)
		name_by_symbol(s, ret_name, buf_str(&s->raw));
	else
		name_by_number(s, ret_name, "%s+0x%" PRIx64, m->name, m->base_vaddr + e->pc);
	add_lines(s, module, pc, ret_name);
}

/* ---- code made at run time */

/* NULL over the bound. */
static struct jit *jit_of(struct symbols *s, uint32_t tgid)
{
	uint64_t idx;

	if (hmap_get(&s->jit_by_tgid, tgid, &idx))
		return &s->jits.items[idx];
	if (s->jits.cnt == SYMBOLS_JIT_MAX)
		return NULL;
	hmap_put(&s->jit_by_tgid, tgid, s->jits.cnt);
	struct jit *j = vec_add(&s->jits);
	j->tgid = tgid;
	return j;
}

void symbols_jit_forget(struct symbols *s, uint32_t tgid)
{
	uint64_t idx;

	if (!hmap_get(&s->jit_by_tgid, tgid, &idx))
		return;
	perfmap_release(&s->jits.items[idx].map);
	hmap_del(&s->jit_by_tgid, tgid);
	if (idx != s->jits.cnt - 1) {
		s->jits.items[idx] = *vec_last(&s->jits);
		hmap_put(&s->jit_by_tgid, s->jits.items[idx].tgid, idx);
	}
	s->jits.cnt--;
}

/* The entry, after a look whether there is more in the file when there is none. */
static const struct perfmap_entry *jit_find(struct symbols *s, struct jit *j, uint64_t addr)
{
	const struct perfmap_entry *e = perfmap_find(&j->map, addr);
	uint64_t start_ns, took_ns;

	j->used_seq = ++s->seq;
	if (e)
		return e;
	start_ns = clock_mono_ns();
	if (start_ns < j->next_ns)
		return NULL;
	perfmap_load(&j->map, j->tgid, NULL, NULL);
	took_ns = clock_mono_ns() - start_ns;
	j->next_ns = start_ns + (took_ns * JIT_RETRY_SHARE > JIT_RETRY_NS
					 ? took_ns * JIT_RETRY_SHARE : JIT_RETRY_NS);
	make_room(s);
	return perfmap_find(&j->map, addr);
}

/* Addresses without a name share one short name, or each would be a function of its own. */
static void name_unknown(struct symbols *s, struct symbol_name *name, const char *mapping)
{
	name_by_number(s, name, "%s+0x%" PRIx64, mapping, name->start);
	name->frames[0].fn = keep(s, mapping, strlen(mapping));
}

void symbols_jit_name(struct symbols *s, uint32_t tgid, uint64_t addr, const char *mapping,
		      struct symbol_name *ret_name)
{
	struct jit *j = jit_of(s, tgid);
	const struct perfmap_entry *e = j ? jit_find(s, j, addr) : NULL;

	*ret_name = (struct symbol_name){.frame_cnt = 1, .start = addr};
	if (!e) {
		name_unknown(s, ret_name, mapping ? mapping : "[anon]");
		return;
	}
	ret_name->start = e->start;
	ret_name->off = (uint32_t)(addr - e->start);
	ret_name->source = SYMBOL_PERF_MAP;
	perfmap_name(&j->map, e, &s->raw);
	if (s->raw.len)
		name_by_symbol(s, ret_name, buf_str(&s->raw));
	else
		name_by_number(s, ret_name, "[jit]+0x%" PRIx64, e->start);
}

void symbols_jit_info(struct symbols *s, uint32_t tgid, struct symbols_jit_info *ret_info)
{
	struct jit *j = jit_of(s, tgid);
	struct err err = {0};
	int ret;

	*ret_info = (struct symbols_jit_info){0};
	perfmap_path(tgid, ret_info->path, sizeof(ret_info->path));
	if (!j)
		return;
	ret = perfmap_load(&j->map, tgid, NULL, &err);
	if (ret < 0 && ret != -ENOENT)
		snprintf(ret_info->problem, sizeof(ret_info->problem), "%.159s", err.msg);
	ret_info->fn_cnt = (uint32_t)j->map.entries.cnt;
	ret_info->refused_cnt = j->map.refused_cnt;
	ret_info->over_bytes = j->map.over_bytes;
}

const char *symbol_source_name(enum symbol_source source)
{
	static const char *const names[] = {
		[SYMBOL_NONE] = "none",
		[SYMBOL_FDE] = ".eh_frame",
		[SYMBOL_DYNSYM] = ".dynsym",
		[SYMBOL_SYMTAB] = ".symtab",
		[SYMBOL_DEBUGDATA] = ".gnu_debugdata",
		[SYMBOL_DEBUG_FILE] = "debug file",
		[SYMBOL_DEBUGINFOD] = "debuginfod",
		[SYMBOL_PERF_MAP] = "perf map",
		[SYMBOL_PLT] = ".plt",
		[SYMBOL_GO] = "Go's own table",
	};

	return names[source];
}

void symbols_stats(const struct symbols *s, struct symbols_stats *ret_stats)
{
	*ret_stats = s->stats;
	ret_stats->bytes = bytes_in_use(s);
}
