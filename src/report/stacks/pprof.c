/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.proto by hand: a message is a byte string of (field, value) pairs,
 * a nested one is written apart and put in with its length.  Tables that
 * samples point into (strings, functions, locations, mappings) grow while the
 * samples are written; the order of fields in a message is free.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/pbout.h"
#include "model/stack.h"
#include "report/exports.h"
#include "stacks/stacks.h"

/* Field numbers of profile.proto. */
enum {
	P_SAMPLE_TYPE = 1, P_SAMPLE = 2, P_MAPPING = 3, P_LOCATION = 4, P_FUNCTION = 5,
	P_STRING = 6, P_TIME_NS = 9, P_DURATION_NS = 10, P_PERIOD_TYPE = 11, P_PERIOD = 12,
	P_COMMENT = 13, P_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1, TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3,
	LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3,
	MAP_ID = 1, MAP_START = 2, MAP_LIMIT = 3, MAP_OFFSET = 4, MAP_FILE = 5, MAP_BUILD_ID = 6,
	MAP_HAS_FUNCTIONS = 7, MAP_HAS_FILES = 8, MAP_HAS_LINES = 9, MAP_HAS_INLINES = 10,
	LOC_ID = 1, LOC_MAPPING = 2, LOC_ADDRESS = 3, LOC_LINE = 4,
	LINE_FUNCTION = 1, LINE_LINE = 2,
	FN_ID = 1, FN_NAME = 2, FN_SYSTEM_NAME = 3, FN_FILE = 4,
};

enum { VALUE_CNT = 4 };		/* samples, cpu, waits, delay */

struct writer {
	const struct stacks_result *r;
	unsigned modes;
	bool kernel;		/* waits with the kernel's functions */
	struct buf *out;
	struct strtab strs;
	struct hmap fns;	/* string ids of name and file, to id */
	struct hmap locs;	/* frame, process and whether it called, to id */
	struct buf msg, part;	/* of the message being written */
	uint64_t *text_end;	/* by module: highest offset seen */
};

static void put_u64(struct buf *b, unsigned field, uint64_t v)
{
	if (!v)
		return; /* zero is the default */
	pbout_num(b, field, v);
}

static uint64_t fn_id(struct writer *w, const char *name, const char *file)
{
	uint64_t name_id = strtab_add(&w->strs, name), file_id = strtab_add(&w->strs, file);
	CLEANUP(buf_release) struct buf b = {0};
	uint64_t *slot = hmap_slot(&w->fns, name_id << 32 | file_id), id;

	id = *slot;
	if (id)
		return id;
	id = *slot = w->fns.cnt;
	put_u64(&b, FN_ID, id);
	put_u64(&b, FN_NAME, name_id);
	put_u64(&b, FN_SYSTEM_NAME, name_id);
	put_u64(&b, FN_FILE, file_id);
	pbout_bytes(w->out, P_FUNCTION, buf_str(&b), b.len);
	return id;
}

static void put_line(struct writer *w, struct buf *loc, const char *name, const char *file,
		     uint32_t line)
{
	CLEANUP(buf_release) struct buf b = {0};

	put_u64(&b, LINE_FUNCTION, fn_id(w, name, file));
	put_u64(&b, LINE_LINE, line);
	pbout_bytes(loc, LOC_LINE, buf_str(&b), b.len);
}

static void put_nameless(struct writer *w, struct buf *loc, uint64_t frame)
{
	const struct module *mod = model_module(w->r->m, frame);
	char name[128];

	snprintf(name, sizeof(name), "%.80s+0x%llx", FRAME_MODULE(frame) == FRAME_KERNEL ? "kernel"
		 : !mod ? "code" : file_base_name(mod->path),
		 (unsigned long long)(FRAME_OFF(frame) + (mod ? mod->base_vaddr : 0)));
	put_line(w, loc, name, "", 0);
}

/* The function of the frame and those it is inlined into. */
static void put_lines(struct writer *w, struct buf *loc, uint64_t frame, uint32_t tgid)
{
	const struct fn *fn = model_fn(w->r->m, frame, tgid);

	if (!fn)
		put_nameless(w, loc, frame);
	for (; fn; fn = model_fn_outer(w->r->m, fn))
		put_line(w, loc, fn->name, fn->file, fn->line);
}

static uint64_t loc_id(struct writer *w, uint64_t frame, uint32_t tgid, bool called)
{
	const struct module *mod;
	uint64_t off = FRAME_OFF(frame) - (called && FRAME_OFF(frame));
	uint32_t own = FRAME_MODULE(frame) ? 0 : tgid; /* whose address it is */
	uint64_t key = hash_pair(frame, (uint64_t)own * 2 + called), *slot, id;
	CLEANUP(buf_release) struct buf b = {0};

	slot = hmap_slot(&w->locs, key);
	id = *slot;
	if (id)
		return id;
	id = *slot = w->locs.cnt;
	put_u64(&b, LOC_ID, id);
	mod = model_module(w->r->m, frame);
	if (mod) {
		size_t at = (size_t)(mod - w->r->m->modules);

		put_u64(&b, LOC_MAPPING, at + 1);
		w->text_end[at] = off > w->text_end[at] ? off : w->text_end[at];
		off += mod->base_vaddr;
	} else if (FRAME_MODULE(frame) == FRAME_KERNEL) {
		off |= (uint64_t)FRAME_KERNEL << 48;
	}
	put_u64(&b, LOC_ADDRESS, off);
	put_lines(w, &b, frame, tgid);
	pbout_bytes(w->out, P_LOCATION, buf_str(&b), b.len);
	return id;
}

/* A place that is no function: its own location without an address. */
static uint64_t note_id(struct writer *w, uint32_t fn)
{
	uint64_t *slot = hmap_slot(&w->locs, hash_u64(UINT64_C(1) << 63 | fn)), id;
	CLEANUP(buf_release) struct buf b = {0};

	id = *slot;
	if (id)
		return id;
	id = *slot = w->locs.cnt;
	put_u64(&b, LOC_ID, id);
	put_line(w, &b, w->r->fns[fn].name, "", 0);
	pbout_bytes(w->out, P_LOCATION, buf_str(&b), b.len);
	return id;
}

/*
 * Locations of a stack into part, innermost first, or the other way round.  In
 * the kernel nearly each wait ends in the same function, which tells nothing.
 */
static void put_stack(struct writer *w, uint32_t stack, bool waits, bool inner_first)
{
	const struct stack *s = &w->r->m->stacks[stack];
	uint32_t from = waits && !w->kernel && s->user_cnt ? s->kernel_cnt : 0;
	uint32_t cnt = (uint32_t)s->user_cnt + s->kernel_cnt;

	for (uint32_t i = from; i < cnt; i++) {
		uint32_t at = inner_first ? i : cnt - 1 - (i - from);
		bool called = at != 0 && at != s->kernel_cnt;

		pbout_varint(&w->part, loc_id(w, s->frames[at], s->tgid, called));
	}
}

static void put_label(struct writer *w, const char *key, const char *str, uint64_t num)
{
	put_u64(&w->part, LABEL_KEY, strtab_add(&w->strs, key));
	if (str)
		put_u64(&w->part, LABEL_STR, strtab_add(&w->strs, str));
	put_u64(&w->part, LABEL_NUM, num);
	pbout_msg(&w->msg, SAMPLE_LABEL, &w->part);
}

static void put_labels(struct writer *w, const struct stack_row *row)
{
	const struct model *m = w->r->m;
	const struct thread *t = &m->threads[row->thread];

	put_label(w, "thread", t->comm, 0);
	put_label(w, "tid", NULL, t->tid);
	put_label(w, "pid", NULL, t->tgid);
	if (t->proc != NO_IDX)
		put_label(w, "process", m->procs[t->proc].comm, 0);
	put_label(w, "state", state_name(row->st), 0);
	if (row->res != NO_IDX)
		put_label(w, "resource", m->res[row->res].name, 0);
	if (row->waker != NO_IDX)
		put_label(w, "waker", m->threads[row->waker].comm, 0);
}

static void put_sample(struct writer *w, const struct stack_row *row)
{
	uint64_t values[VALUE_CNT] = {0};

	/* the innermost first: in the waker's view that is the waker's outermost */
	if (row->mode == STACKS_WAKER) {
		put_stack(w, row->waker_stack, true, false);
		pbout_varint(&w->part, note_id(w, w->r->woken));
	}
	if (row->stack != NO_IDX)
		put_stack(w, row->stack, row->mode != STACKS_ON, true);
	else
		pbout_varint(&w->part, note_id(w, w->r->none));
	pbout_msg(&w->msg, SAMPLE_LOCATION, &w->part);
	values[row->mode == STACKS_ON ? 0 : 2] = row->cnt;
	values[row->mode == STACKS_ON ? 1 : 3] = row->ns;
	for (int i = 0; i < VALUE_CNT; i++)
		if (w->modes & (i < 2 ? 1u << STACKS_ON : ~(1u << STACKS_ON)))
			pbout_varint(&w->part, values[i]);
	pbout_msg(&w->msg, SAMPLE_VALUE, &w->part);
	put_labels(w, row);
	pbout_msg(w->out, P_SAMPLE, &w->msg);
}

static void put_type(struct writer *w, unsigned field, const char *type, const char *unit)
{
	put_u64(&w->msg, TYPE_TYPE, strtab_add(&w->strs, type));
	put_u64(&w->msg, TYPE_UNIT, strtab_add(&w->strs, unit));
	pbout_msg(w->out, field, &w->msg);
}

static void put_head(struct writer *w)
{
	const struct model *m = w->r->m;
	bool on = w->modes & 1u << STACKS_ON;

	if (on) {
		put_type(w, P_SAMPLE_TYPE, "samples", "count");
		put_type(w, P_SAMPLE_TYPE, "cpu", "nanoseconds");
	}
	if (w->modes & ~(1u << STACKS_ON)) {
		put_type(w, P_SAMPLE_TYPE, "waits", "count");
		put_type(w, P_SAMPLE_TYPE, "delay", "nanoseconds");
	}
	put_u64(w->out, P_DEFAULT_TYPE, strtab_add(&w->strs, on ? "cpu" : "delay"));
	put_u64(w->out, P_TIME_NS, m->meta.real_ns);
	put_u64(w->out, P_DURATION_NS, m->end_ns - m->begin_ns);
	if (on && m->meta.sample_ns) {
		put_type(w, P_PERIOD_TYPE, "cpu", "nanoseconds");
		put_u64(w->out, P_PERIOD, m->meta.sample_ns);
	}
	put_u64(w->out, P_COMMENT, strtab_add(&w->strs, m->cmdline));
}

static void put_mappings(struct writer *w)
{
	const struct model *m = w->r->m;

	for (size_t i = 0; i < m->module_cnt; i++) {
		const struct module *mod = &m->modules[i];
		char id[2 * EVENT_BUILD_ID_MAX + 1] = "";

		for (int k = 0; k < mod->build_id_len; k++)
			snprintf(id + 2 * k, 3, "%02x", mod->build_id[k]);
		put_u64(&w->msg, MAP_ID, i + 1);
		put_u64(&w->msg, MAP_START, mod->base_vaddr);
		put_u64(&w->msg, MAP_LIMIT, mod->base_vaddr + (w->text_end[i] | 4095) + 1);
		put_u64(&w->msg, MAP_OFFSET, mod->base_vaddr);
		put_u64(&w->msg, MAP_FILE, strtab_add(&w->strs, mod->path));
		put_u64(&w->msg, MAP_BUILD_ID, strtab_add(&w->strs, id));
		for (unsigned f = MAP_HAS_FUNCTIONS; f <= MAP_HAS_INLINES; f++)
			put_u64(&w->msg, f, 1);
		pbout_msg(w->out, P_MAPPING, &w->msg);
	}
}

static int gzip(const struct buf *in, struct buf *out, struct err *err)
{
	z_stream z = {.next_in = (void *)in->data, .avail_in = (uInt)in->len};
	enum { GZIP_WINDOW = 15 + 16 };
	size_t bound;
	int rc;

	if (in->len > UINT32_MAX / 2)
		return err_set(err, -E2BIG, "the profile is too large");
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(err, -ENOMEM, "compress the profile");
	bound = deflateBound(&z, in->len);
	buf_reserve(out, bound);
	z.next_out = (unsigned char *)out->data + out->len;
	z.avail_out = (uInt)bound;
	rc = deflate(&z, Z_FINISH);
	if (rc == Z_STREAM_END)
		out->len += bound - z.avail_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : err_set(err, -EIO, "compress the profile");
}

static void writer_release(struct writer *w)
{
	strtab_release(&w->strs);
	hmap_release(&w->fns);
	hmap_release(&w->locs);
	buf_release(&w->msg);
	buf_release(&w->part);
}

int export_pprof(const struct stacks_result *r, unsigned modes, bool kernel, struct arena *arena,
		 struct buf *out, struct err *err)
{
	CLEANUP(buf_release) struct buf raw = {0};
	CLEANUP(writer_release) struct writer w = {.r = r, .out = &raw, .modes = modes,
						     .kernel = kernel};

	/* one wait must not count in two views */
	if (modes != 1u << STACKS_WAKER)
		w.modes = modes &= ~(1u << STACKS_WAKER);
	w.text_end = ARENA_ARRAY(arena, uint64_t, r->m->module_cnt + 1);
	put_head(&w);
	for (size_t i = 0; i < r->row_cnt; i++)
		if (modes & 1u << r->rows[i].mode)
			put_sample(&w, &r->rows[i]);
	put_mappings(&w);
	pbout_bytes(&raw, P_STRING, "", 0);
	for (uint32_t i = 1; i <= w.strs.cnt; i++) {
		const char *str = strtab_str(&w.strs, i);

		pbout_bytes(&raw, P_STRING, str, strlen(str));
	}
	return gzip(&raw, out, err);
}
