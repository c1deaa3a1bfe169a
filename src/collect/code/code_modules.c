/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "collect/code/code_int.h"
#include "collect/proc/procfs.h"
#include "collect/emit.h"
#include "collect/code/unw_layout.h"
#include "symbols/unwind/cfi.h"
#include "symbols/files/image.h"
#include "symbols/names/module.h"
#include "symbols/names/symbols.h"

/*
 * On opening, reading and tables of all files: those of a large server take 0.2 s
 * with an empty cache, ten times that where others have the CPUs, and a watch must
 * end in its time.  In a long one 2 % of its time come on top, for programs that
 * begin later.
 */
#define BUILD_MAX_NS (4 * NS_PER_SEC)
#define BUILD_SHARE 50
#define TABLES_MAX (UINT64_C(64) << 20) /* kept for sleepers; others are made again when needed */
#define MODULES_MAX 65536 /* files, those that are no modules included */

static bool is_spent(const struct code *c)
{
	return c->stats.build_ns > BUILD_MAX_NS + (clock_mono_ns() - c->begin_ns) / BUILD_SHARE;
}

static void image_close(struct image **im)
{
	image_free(*im);
}

static void segments(const struct image *im, struct code_module *mod)
{
	for (size_t i = 0; i < image_segment_cnt(im) && mod->segment_cnt < CODE_SEGMENTS_MAX; i++) {
		const struct image_segment *s = image_segment(im, i);

		if (s->type != PT_LOAD || !(s->flags & PF_X) || !s->filesz)
			continue;
		mod->segments[mod->segment_cnt++] = (struct code_segment){
			.off = s->off, .vaddr = s->vaddr, .len = s->filesz};
	}
}

bool code_base(const struct code_module *mod, const struct mapping *m, uint64_t *ret_base)
{
	for (uint32_t i = 0; i < mod->segment_cnt; i++) {
		const struct code_segment *s = &mod->segments[i];

		/* a mapping begins on the page that the segment begins on, or later */
		if (m->off < (s->off & ~UINT64_C(4095)) || m->off >= s->off + s->len)
			continue;
		*ret_base = m->start - m->off + s->off - s->vaddr + mod->base_vaddr;
		/* text is below 4 GiB: more would run into the number of the module */
		return m->end - *ret_base <= UINT32_MAX;
	}
	return false;
}

static int table_write(struct code *c, uint32_t id, const struct unw_layout *l)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	CLEANUP_CLOSE int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hu_table", sizeof(uint32_t),
					      sizeof(struct unw_chunk), l->chunk_cnt, &opts);

	if (fd < 0)
		return -errno;
	for (uint32_t i = 0; i < l->chunk_cnt; i++)
		if (bpf_map_update_elem(fd, &i, &l->chunks[i], BPF_ANY) < 0)
			return -errno;
	code_batch_add(&c->new_tables, id, &fd);
	vec_push(&c->new_modules, l->module);
	return 0;
}

/* Hands the layout to the kernel side, within the bound of all tables. */
static int table_put(struct code *c, uint32_t id, const struct unw_layout *l)
{
	int rc;

	if (id >= UNW_MODULE_MAX || c->chunk_cnt + l->chunk_cnt > CODE_CHUNK_MAX) {
		c->full = true;
		return -ENOSPC;
	}
	rc = table_write(c, id, l);
	if (rc < 0)
		return rc;
	c->chunk_cnt += l->chunk_cnt;
	c->stats.kernel_bytes += (uint64_t)l->chunk_cnt * sizeof(struct unw_chunk);
	c->stats.table_cnt++;
	return 0;
}

static void table_keep(struct code *c, struct cfi_table *t)
{
	uint64_t bytes = t->row_cnt * sizeof(*t->rows) + t->ext_cnt * sizeof(*t->exts);

	if (c->table_bytes + bytes > TABLES_MAX)
		cfi_release(t);
	else
		c->table_bytes += bytes;
}

/* Without a table the frames of a module are walked by frame pointers. */
static void table_make(struct code *c, struct code_module *mod, struct image *im)
{
	CLEANUP(unw_layout_release) struct unw_layout l = {0};
	struct cfi_table *t = &mod->table;
	struct err err = {0};
	int rc = -ETIME;

	if (is_spent(c))
		c->full = true;
	else
		rc = cfi_cached(c->cache, im, t, &err);
	c->stats.over_cnt += rc == -E2BIG;
	if (rc == 0)
		rc = unw_layout_make(t->rows, t->row_cnt, t->exts, t->ext_cnt, t->text_len, &l);
	if (rc == 0)
		rc = table_put(c, mod->id, &l);
	if (rc == 0) {
		c->stats.row_cnt += t->row_cnt;
		table_keep(c, t);
		return;
	}
	cfi_release(t);
	mod->no_table = true;
	c->stats.refused_cnt += rc != -ENODATA;
	log_debug("%s: no unwinding table: %s", mod->path, *err.msg ? err.msg : strerror(-rc));
}

void code_announce(struct code *c, struct emit *e, uint64_t now)
{
	for (; c->announced < c->modules.cnt; c->announced++) {
		const struct code_module *mod = &c->modules.items[c->announced];
		struct ev_module ev = {
			.id = mod->id,
			.path = emit_str(e, mod->path),
			.base_vaddr = mod->base_vaddr,
			.build_id_len = mod->build_id_len,
			.kind = mod->kind,
			.tgid = mod->tgid,
		};

		memcpy(ev.build_id, mod->build_id, mod->build_id_len);
		if (mod->id)
			EMIT(e, &ev, EV_MODULE, 0, now);
	}
	if (c->full && !c->told_full)
		emit_note(e, NOTE_LIMIT, now, "unwinding tables are full: stacks through further "
			  "files may be short");
	c->told_full = c->full;
	if (c->sets_full && !c->told_sets_full)
		emit_note(e, NOTE_LIMIT, now, "over %u processes have mappings of their own: "
			  "stacks of further ones may be short", UNW_SET_MAX);
	c->told_sets_full = c->sets_full;
	if (c->denied && !c->told_denied)
		emit_note(e, NOTE_LIMIT, now, "no right to see the code of processes: their "
			  "functions have no names (CAP_SYS_PTRACE)");
	c->told_denied = c->denied;
}

void code_note_denied(struct code *c, int rc)
{
	c->denied |= rc == -EACCES || rc == -EPERM;
}

void code_announce_unread(struct code *c, struct emit *e, uint64_t now)
{
	if (c->stats.over_cnt)
		emit_note(e, NOTE_LIMIT, now, "%llu files with code would take too much memory: "
			  "stacks through them may be short",
			  (unsigned long long)c->stats.over_cnt);
	if (c->stats.refused_cnt > c->stats.over_cnt)
		emit_note(e, NOTE_LIMIT, now, "%llu files with code are damaged or over a limit: "
			  "stacks through them may be short",
			  (unsigned long long)(c->stats.refused_cnt - c->stats.over_cnt));
	if (c->stats.cut_cnt)
		emit_note(e, NOTE_LIMIT, now, "over %d mappings with code in a process (seen "
			  "%llu times): stacks through the rest may be short",
			  MAPPINGS_MAX, (unsigned long long)c->stats.cut_cnt);
	if (c->stats.unread_cnt)
		emit_note(e, NOTE_LIMIT, now, "%llu files with code were not read, for reading "
			  "the others took %.0f s: their frames have no names",
			  (unsigned long long)c->stats.unread_cnt,
			  (double)c->stats.build_ns / NS_PER_SEC);
}

static void describe(struct code_module *mod, const struct image *im, uint32_t tgid,
		     const struct mapping *m)
{
	size_t len;
	const uint8_t *id = image_build_id(im, &len);

	mod->base_vaddr = image_base_vaddr(im);
	mod->tgid = tgid;
	mod->path = xstrdup(m->path);
	mod->kind = m->kind == MAPPING_VDSO ? MODULE_VDSO : MODULE_FILE;
	mod->build_id_len = len < sizeof(mod->build_id) ? (uint8_t)len : sizeof(mod->build_id);
	if (id)
		memcpy(mod->build_id, id, mod->build_id_len);
	segments(im, mod);
}

struct own_vdso {
	const void *data;
	size_t len;
};

/* The same code is mapped into all 64-bit processes, also into this one; empty if it is not. */
static struct own_vdso own_vdso(const struct mapping *m)
{
	CLEANUP(mappings_release) struct mappings own = {0};

	mappings_read((uint32_t)getpid(), &own);
	VEC_FOREACH(&own.items, o)
		if (o->kind == MAPPING_VDSO && o->end - o->start == m->end - m->start)
			return (struct own_vdso){(const void *)o->start, o->end - o->start};
	return (struct own_vdso){"", 0};
}

/*
 * unique: device and inode of the mapping are the file's, and no other file's.
 * Some file systems show those of a superblock that many share.
 */
static uint64_t file_key(int fd, const struct mapping *m, bool *ret_unique)
{
	struct module_key key;
	struct stat st;

	*ret_unique = false;
	if (fd < 0)
		return 1; /* the vdso */
	if (fstat(fd, &st) < 0)
		return 0;
	*ret_unique = st.st_ino == m->ino && major(st.st_dev) == m->dev_major &&
		      minor(st.st_dev) == m->dev_minor;
	key = module_key_of(&st);
	return hash_bytes(&key, sizeof(key));
}

static uint64_t mapped_key(const struct mapping *m)
{
	const uint64_t key[] = {m->ino, m->dev_major, m->dev_minor};

	return hash_bytes(key, sizeof(key));
}

static const struct code_module *module_at(const struct code *c, uint64_t idx)
{
	return c->modules.items[idx - 1].id ? &c->modules.items[idx - 1] : NULL;
}

/* The id by which names know it, 0 none. */
static uint32_t module_id(struct code *c, uint32_t tgid, const struct mapping *m, int fd,
			  const struct own_vdso *vdso, struct err *err)
{
	uint32_t id = 0;
	char root[64];
	int rc;

	snprintf(root, sizeof(root), "/proc/%u/root", procfs_living_tid(tgid));
	if (fd >= 0)
		rc = symbols_module(c->syms, m->path, fd, root, &id, err);
	else
		rc = symbols_module_bytes(c->syms, m->path, vdso->data, vdso->len, &id, err);
	return rc < 0 ? 0 : id;
}

/* Index + 1 of the module of a file not seen before. */
static uint64_t module_add(struct code *c, uint32_t tgid, const struct mapping *m, int fd)
{
	struct err err = {0};
	struct own_vdso vdso = fd < 0 ? own_vdso(m) : (struct own_vdso){0};
	CLEANUP(image_close) struct image *im =
		fd < 0 ? image_open_bytes(vdso.data, vdso.len, &err) : image_open(fd, &err);
	struct code_module mod = {0};
	uint64_t idx;

	if (im)
		mod.id = module_id(c, tgid, m, fd, &vdso, &err);
	if (mod.id && hmap_get(&c->by_id, mod.id, &idx))
		return idx; /* a copy of one that is known */
	if (!mod.id) {
		c->stats.refused_cnt++;
		log_debug("%s: no module: %s", m->path, err.msg);
	} else {
		describe(&mod, im, tgid, m);
		table_make(c, &mod, im);
		hmap_put(&c->by_id, mod.id, c->modules.cnt + 1);
	}
	vec_push(&c->modules, mod);
	return c->modules.cnt;
}

/* Index + 1 of a file that is not opened: what others cost was enough. */
static uint64_t module_leave(struct code *c)
{
	c->full = true;
	c->stats.unread_cnt++;
	(void)vec_add(&c->modules);
	return c->modules.cnt;
}

const struct code_module *code_module(struct code *c, uint32_t tgid, const struct mapping *m)
{
	CLEANUP_CLOSE int fd = -1;
	uint64_t begin, key, idx;
	bool unique;

	if (m->kind == MAPPING_FILE && hmap_get(&c->opened, mapped_key(m), &idx))
		return module_at(c, idx);
	if (m->kind == MAPPING_FILE)
		fd = mapping_open(tgid, m);
	begin = clock_mono_ns();
	if (m->kind == MAPPING_FILE)
		code_note_denied(c, fd);
	if (m->kind == MAPPING_CODE || (m->kind == MAPPING_FILE && fd < 0))
		return NULL;
	key = file_key(fd, m, &unique);
	if (!hmap_get(&c->by_file, key, &idx)) {
		if (c->modules.cnt >= MODULES_MAX) {
			c->stats.unread_cnt++;
			return NULL;
		}
		idx = is_spent(c) ? module_leave(c) : module_add(c, tgid, m, fd);
		hmap_put(&c->by_file, key, idx);
		c->stats.build_ns += clock_mono_ns() - begin;
	}
	if (unique)
		hmap_put(&c->opened, mapped_key(m), idx);
	return module_at(c, idx);
}

const struct cfi_table *code_table(struct code *c, uint32_t tgid, const struct mapping *m,
				   uint32_t id)
{
	struct code_module *mod;
	struct err err = {0};
	uint64_t idx;

	if (!hmap_get(&c->by_id, id, &idx))
		return NULL;
	mod = &c->modules.items[idx - 1];
	if (!mod->table.row_cnt && !mod->no_table) {
		CLEANUP_CLOSE int fd = m->kind == MAPPING_FILE ? mapping_open(tgid, m) : -1;
		CLEANUP(image_close) struct image *im = NULL;
		uint64_t begin = clock_mono_ns();

		if (!is_spent(c) && fd >= 0)
			im = image_open(fd, &err);
		if (!im || cfi_cached(c->cache, im, &mod->table, &err) < 0)
			mod->no_table = true;
		c->stats.build_ns += clock_mono_ns() - begin;
	}
	return mod->table.row_cnt ? &mod->table : NULL;
}
