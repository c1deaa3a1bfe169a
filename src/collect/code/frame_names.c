/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/code/frame_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/emit.h"
#include "collect/code/ksyms.h"
#include "store/event.h"
#include "symbols/names/symbols.h"

struct waiting {
	uint64_t frame;
	uint32_t tgid;
	bool is_return;
};

struct frame_names {
	struct symbols *syms;
	struct ksyms *ksyms;
	struct hmap seen;
	VEC(struct waiting) queue;
	size_t done;
	uint64_t refused_cnt;
};

struct frame_names *frame_names_new(struct symbols *syms, struct ksyms *ksyms)
{
	struct frame_names *n = xcalloc(1, sizeof(*n));

	n->syms = syms;
	n->ksyms = ksyms;
	return n;
}

void frame_names_free(struct frame_names *n)
{
	if (!n)
		return;
	hmap_release(&n->seen);
	vec_release(&n->queue);
	free(n);
}

static void add(struct frame_names *n, uint64_t frame, uint32_t tgid, bool is_return)
{
	uint64_t key = FRAME_MODULE(frame) ? frame : frame ^ hash_u64(tgid);
	uint64_t *slot;

	if (n->seen.cnt >= FRAME_NAMES_MAX) {
		n->refused_cnt++;
		return;
	}
	slot = hmap_slot(&n->seen, key);
	if (*slot)
		return;
	*slot = 1;
	vec_push(&n->queue, ((struct waiting){frame, tgid, is_return}));
}

void frame_names_add(struct frame_names *n, const uint64_t *frames, uint32_t kernel_cnt,
		     uint32_t user_cnt, uint32_t tgid)
{
	for (uint32_t i = 0; i < kernel_cnt; i++)
		add(n, frames[i], 0, true);
	for (uint32_t i = 0; i < user_cnt; i++)
		add(n, frames[kernel_cnt + i], tgid, i > 0);
}

static void put_kernel(struct frame_names *n, struct emit *e, uint64_t frame, uint64_t now)
{
	const char *name = ksyms_name(n->ksyms, frame - 1), *own = ksyms_own_program(name);
	struct ev_frame ev = {.frame = frame};
	char text[64];

	if (own) {
		snprintf(text, sizeof(text), "heldup:%s", own);
		name = text;
	}
	ev.fn = emit_str(e, name);
	if (ev.fn)
		EMIT(e, &ev, EV_FRAME, 0, now);
}

static void put_user(struct frame_names *n, struct emit *e, const struct waiting *w, uint64_t now)
{
	uint32_t module = FRAME_MODULE(w->frame);
	struct symbol_name name;

	if (module)
		symbols_name(n->syms, module, FRAME_OFF(w->frame), w->is_return, &name);
	else
		symbols_jit_name(n->syms, w->tgid, w->frame, NULL, &name);
	for (uint32_t depth = 0; depth < name.frame_cnt; depth++) {
		const struct symbol_frame *f = &name.frames[depth];
		struct ev_frame ev = {
			.frame = w->frame,
			.tgid = module ? 0 : w->tgid,
			.depth = depth,
			.fn = emit_str(e, f->fn),
			.file = emit_str(e, f->file),
			.line = f->line,
			.off = name.off,
		};

		EMIT(e, &ev, EV_FRAME, 0, now);
	}
}

void frame_names_emit(struct frame_names *n, struct emit *e, uint64_t now, uint64_t max_ns)
{
	uint64_t until = clock_mono_ns() + max_ns;

	while (n->done < n->queue.cnt) {
		const struct waiting *w = &n->queue.items[n->done++];

		if (FRAME_MODULE(w->frame) == FRAME_KERNEL)
			put_kernel(n, e, w->frame, now);
		else
			put_user(n, e, w, now);
		if (clock_mono_ns() > until)
			return;
	}
	vec_clear(&n->queue);
	n->done = 0;
}

uint64_t frame_names_refused(const struct frame_names *n)
{
	return n->refused_cnt;
}
