/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of traces.  A frame of a trace has a file's path and an address, or
 * only a name; where the address is missing the name's number stands for it,
 * so that equal functions are equal frames.
 */
#include <string.h>

#include "base/alloc.h"
#include "collect/import/import_int.h"
#include "symbols/names/demangle.h"

#define OFF_MASK FRAME_OFF(UINT64_MAX)

void import_stack_begin(struct import *im, uint32_t tgid)
{
	im->stack_tgid = tgid;
	im->user_cnt = im->kernel_cnt = 0;
}

/* A module's id, 0 for code that is in none. */
static uint32_t module_of(struct import *im, const struct import_frame *f)
{
	uint32_t before = im->modules.cnt, id;
	struct text path = f->path;
	char name[EMIT_STR_LEN];
	struct ev_module e = {0};
	size_t len = text_len(&path);

	if (len == 0 || len >= sizeof(name) || path.at[0] == '[')
		return 0; /* [unknown], [anon], [heap] */
	id = strtab_addn(&im->modules, path.at, len);
	if (im->modules.cnt == before)
		return id;
	memcpy(name, path.at, len);
	name[len] = '\0';
	e = (struct ev_module){.id = id, .path = emit_str(&im->emit, name), .tgid = im->stack_tgid};
	if (strstr(name, "/perf-") && strcmp(name + len - 4, ".map") == 0)
		e.kind = MODULE_JIT;
	EMIT(&im->emit, &e, EV_MODULE, 0, im->last_ns);
	return id;
}

/* As a recorder on this machine would name it: without its parameters. */
static uint32_t fn_str(struct import *im, const struct text *fn)
{
	buf_clear(&im->full_name);
	buf_add(&im->full_name, fn->at, text_len(fn));
	if (!memchr(fn->at, '(', text_len(fn)) && !memchr(fn->at, '<', text_len(fn)))
		return emit_str(&im->emit, buf_str(&im->full_name));
	buf_clear(&im->short_name);
	demangle_shorten(buf_str(&im->full_name), false, &im->short_name);
	return emit_str(&im->emit, buf_str(&im->short_name));
}

static void put_frame_name(struct import *im, const struct import_frame *f, uint64_t frame,
			   uint32_t fn)
{
	struct ev_frame e = {.frame = frame, .fn = fn, .depth = f->depth, .off = (uint32_t)f->off};
	uint64_t key[3] = {frame, f->depth, 0}, *slot;

	if (!fn || f->depth > EVENT_INLINE_MAX)
		return;
	if (FRAME_MODULE(frame) == 0)
		e.tgid = (uint32_t)(key[2] = im->stack_tgid);
	if (im->frames.cnt >= IMPORT_FRAMES_MAX)
		return;
	slot = hmap_slot(&im->frames, hash_bytes(key, sizeof(key)));
	if (*slot)
		return;
	*slot = 1;
	EMIT(&im->emit, &e, EV_FRAME, 0, im->last_ns);
}

void import_stack_frame(struct import *im, const struct import_frame *f)
{
	uint32_t fn = text_len(&f->fn) && f->fn.at[0] != '[' ? fn_str(im, &f->fn) : 0;
	uint32_t module = f->kernel ? FRAME_KERNEL : module_of(im, f);
	uint64_t frame = f->addr ? f->addr : (uint64_t)fn << 4;

	frame = (uint64_t)module << 48 | (frame & OFF_MASK);
	if ((frame & OFF_MASK) == 0)
		return; /* nothing is known of it */
	put_frame_name(im, f, frame, fn);
	if (f->depth)
		return;
	if (f->kernel && im->kernel_cnt < IMPORT_STACK_FRAMES)
		im->kernel[im->kernel_cnt++] = frame;
	else if (!f->kernel && im->user_cnt < IMPORT_STACK_FRAMES)
		im->user[im->user_cnt++] = frame;
}

static void put_stack(struct import *im, uint32_t id)
{
	struct {
		struct ev_stack e;
		uint64_t frames[2 * IMPORT_STACK_FRAMES];
	} rec = {.e = {.id = id, .tgid = im->stack_tgid, .user_cnt = im->user_cnt,
		       .kernel_cnt = im->kernel_cnt, .end = STACK_UNKNOWN}};
	size_t cnt = (size_t)im->user_cnt + im->kernel_cnt;

	memcpy(rec.frames, im->kernel, im->kernel_cnt * sizeof(uint64_t));
	memcpy(rec.frames + im->kernel_cnt, im->user, im->user_cnt * sizeof(uint64_t));
	rec.e.h = (struct event_hdr){.size = (uint16_t)(sizeof(rec.e) + cnt * sizeof(uint64_t)),
				     .kind = EV_STACK, .ts_ns = im->last_ns};
	emit_put(&im->emit, &rec.e.h);
}

uint32_t import_stack_end(struct import *im)
{
	uint64_t key[4] = {hash_bytes(im->user, im->user_cnt * sizeof(uint64_t)),
			   hash_bytes(im->kernel, im->kernel_cnt * sizeof(uint64_t)), 0,
			   (uint64_t)im->user_cnt << 16 | im->kernel_cnt};
	uint64_t *slot;

	if (im->user_cnt + im->kernel_cnt == 0)
		return 0;
	for (uint16_t i = 0; i < im->user_cnt; i++)
		if (FRAME_MODULE(im->user[i]) == 0)
			key[2] = im->stack_tgid; /* means another function in another process */
	if (im->stacks.cnt >= EVENT_STACK_MAX)
		return 0;
	slot = hmap_slot(&im->stacks, hash_bytes(key, sizeof(key)));
	if (*slot == 0) {
		*slot = ++im->last_stack;
		put_stack(im, im->last_stack);
	}
	return (uint32_t)*slot;
}
