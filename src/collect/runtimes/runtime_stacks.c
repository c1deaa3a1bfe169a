/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/runtimes/runtime_stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/emit.h"
#include "store/event.h"
#include "symbols/runtimes/runtimes.h"

struct stack_at {
	size_t at, cnt;
	uint64_t checked_ns;
};

struct named {	/* code of a process at one place */
	uint64_t frame, cookie, checked_ns;
};

struct name { /* to be sent */
	uint64_t frame;
	char *fn, *file;
	uint32_t line, def_line;
};

struct runtime_stacks {
	struct runtime_frame list[RUNTIME_DEPTH_MAX]; /* the one that is added */
	VEC(struct mixed_frame) frames;
	VEC(struct stack_at) stacks;
	struct hmap by_list; /* hash of the process and its frames to the stack's number */
	struct hmap by_hash; /* of named frames, whoever has them, to the same */
	VEC(struct named) named;
	struct hmap by_code; /* hash of process, code and place to index + 1 of named */
	struct hmap by_text; /* hash of a name with module, file and line to its frame */
	uint32_t *name_cnt;  /* by module */
	bool *announced;
	VEC(struct name) queue;
	struct runtime_stacks_counts counts;
};

struct runtime_stacks *runtime_stacks_new(void)
{
	struct runtime_stacks *s = xcalloc(1, sizeof(*s));

	s->name_cnt = xcalloc(runtime_lang_cnt() * 2, sizeof(*s->name_cnt));
	s->announced = xcalloc(runtime_lang_cnt() * 2, sizeof(*s->announced));
	return s;
}

static void name_release(struct name *n)
{
	free(n->fn);
	free(n->file);
}

void runtime_stacks_free(struct runtime_stacks *s)
{
	if (!s)
		return;
	VEC_FOREACH(&s->queue, n)
		name_release(n);
	vec_release(&s->queue);
	vec_release(&s->frames);
	vec_release(&s->stacks);
	vec_release(&s->named);
	hmap_release(&s->by_list);
	hmap_release(&s->by_hash);
	hmap_release(&s->by_code);
	hmap_release(&s->by_text);
	free(s->name_cnt);
	free(s->announced);
	free(s);
}

/* ---- names */

/* The frame that stands for a name, made at its first sight; 0: over the bound. */
static uint64_t frame_of(struct runtime_stacks *s, const struct runtime_lang *lang,
			 const struct runtime_name *n)
{
	size_t which = 2 * runtime_lang_idx(lang) + n->is_library;
	uint64_t key = hash_pair(hash_bytes(buf_str(&n->fn), n->fn.len),
				 hash_bytes(buf_str(&n->file), n->file.len));
	uint64_t frame;

	key = hash_pair(key, which << 32 | n->line);
	if (hmap_get(&s->by_text, key, &frame))
		return frame;
	if (s->by_text.cnt >= RUNTIME_NAMES_MAX) {
		s->counts.over_cnt++;
		return 0;
	}
	frame = (uint64_t)RUNTIME_MODULE(which / 2, which & 1) << 48 | ++s->name_cnt[which];
	hmap_put(&s->by_text, key, frame);
	vec_push(&s->queue, ((struct name){.frame = frame, .fn = xstrdup(buf_str(&n->fn)),
					   .file = xstrdup(buf_str(&n->file)), .line = n->line,
					   .def_line = n->def_line}));
	return frame;
}

static int name_it(struct runtime_stacks *s, const struct runtime_list *l,
		   const struct runtime_frame *f, struct named *ret)
{
	struct runtime_name name;
	int rc = runtime_name(l->proc, f, &name);

	if (rc == 0 && name.fn.len) {
		ret->frame = frame_of(s, l->lang, &name);
		ret->cookie = name.cookie;
	}
	runtime_name_release(&name);
	return rc < 0 ? rc : ret->frame ? 0 : -E2BIG;
}

/* The name of one frame, known or asked for.  NULL: there is none. */
static const struct named *named_of(struct runtime_stacks *s, const struct runtime_list *l,
				    const struct runtime_frame *f, uint64_t now)
{
	uint64_t key = hash_pair(hash_pair(l->key, f->code), f->at), at = 0, cookie;
	struct named *n, fresh = {.checked_ns = now};

	if (hmap_get(&s->by_code, key, &at)) {
		n = &s->named.items[at - 1];
		if (now - n->checked_ns < RUNTIME_CHECK_NS)
			return n;
		if (runtime_cookie(l->proc, f->code, &cookie) == 0 && cookie == n->cookie) {
			n->checked_ns = now;
			return n;
		}
	}
	if (!at && s->named.cnt >= RUNTIME_NAMES_MAX) {
		s->counts.over_cnt++;
		return NULL;
	}
	if (name_it(s, l, f, &fresh) < 0)
		return NULL;
	if (at) {
		s->named.items[at - 1] = fresh;
	} else {
		vec_push(&s->named, fresh);
		at = s->named.cnt;
		hmap_put(&s->by_code, key, at);
	}
	return &s->named.items[at - 1];
}

/* ---- stacks */

static uint64_t frames_hash(const struct runtime_frame *frames, size_t cnt, uint64_t hash)
{
	for (size_t i = 0; i < cnt; i++)
		hash = hash_pair(hash ^ frames[i].native,
				 hash_pair(frames[i].code, frames[i].at << 2 |
						   frames[i].is_hidden << 1 |
						   (uint64_t)frames[i].ends_loop));
	return hash;
}

/* Appends the frames of a list; false: one of them has no name. */
static bool frames_add(struct runtime_stacks *s, const struct runtime_list *l, size_t cnt,
		       uint64_t now)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct runtime_frame *f = &s->list[i];
		struct mixed_frame mixed = {.ends_loop = f->ends_loop, .native = f->native};
		const struct named *n;

		if (!f->is_hidden) {
			n = named_of(s, l, f, now);
			if (!n && !runtime_by_native(l->proc))
				return false;
			mixed.frame = n ? n->frame : 0;
		}
		vec_push(&s->frames, mixed);
	}
	return true;
}

static uint32_t stack_put(struct runtime_stacks *s, size_t at, uint64_t now)
{
	const struct mixed_frame *frames = s->frames.items + at;
	size_t cnt = s->frames.cnt - at;
	uint64_t hash = cnt, *slot;

	for (size_t i = 0; i < cnt; i++)
		hash = hash_pair(hash ^ frames[i].native,
				 frames[i].frame ^ (uint64_t)frames[i].ends_loop << 63);
	slot = hmap_slot(&s->by_hash, hash);
	if (*slot) {
		s->frames.cnt = at;
	} else {
		vec_push(&s->stacks, ((struct stack_at){.at = at, .cnt = cnt}));
		*slot = s->stacks.cnt;
	}
	s->stacks.items[*slot - 1].checked_ns = now;
	return (uint32_t)*slot;
}

uint32_t runtime_stacks_add(struct runtime_stacks *s, const struct runtime_list *l, uint64_t now)
{
	long cnt = runtime_frames(l->proc, l->elems, l->cnt, s->list);
	uint64_t hash, known;
	size_t at = s->frames.cnt;
	uint32_t nr;

	if (cnt < 0)
		s->counts.damaged_cnt++;
	if (cnt <= 0)
		return 0;
	hash = frames_hash(s->list, (size_t)cnt, l->key);
	if (hmap_get(&s->by_list, hash, &known) &&
	    now - s->stacks.items[known - 1].checked_ns < RUNTIME_CHECK_NS)
		return (uint32_t)known;
	if (s->stacks.cnt >= RUNTIME_STACKS_MAX || s->frames.cnt >= RUNTIME_FRAMES_MAX) {
		s->counts.over_cnt++;
		return 0;
	}
	if (!frames_add(s, l, (size_t)cnt, now)) {
		s->frames.cnt = at;
		s->counts.damaged_cnt++;
		return 0;
	}
	nr = stack_put(s, at, now);
	if (s->by_list.cnt >= RUNTIME_STACKS_MAX) /* they are found by their names again */
		hmap_clear(&s->by_list);
	hmap_put(&s->by_list, hash, nr);
	return nr;
}

const struct mixed_frame *runtime_stacks_at(const struct runtime_stacks *s, uint32_t nr,
					    size_t *ret_cnt)
{
	const struct stack_at *st = &s->stacks.items[nr - 1];

	*ret_cnt = st->cnt;
	return s->frames.items + st->at;
}

/* ---- events */

static void announce(struct runtime_stacks *s, struct emit *e, uint32_t module, uint64_t now)
{
	size_t which = 65534u - module;
	struct ev_module ev = {.id = module};

	if (s->announced[which])
		return;
	s->announced[which] = true;
	ev.path = emit_str(e, runtime_lang_name(runtime_lang_at(which / 2)));
	ev.kind = which & 1 ? MODULE_APP_LIB : MODULE_APP;
	EMIT(e, &ev, EV_MODULE, 0, now);
}

void runtime_stacks_emit(struct runtime_stacks *s, struct emit *e, uint64_t now)
{
	VEC_FOREACH(&s->queue, n) {
		struct ev_frame ev = {
			.frame = n->frame,
			.fn = emit_str(e, n->fn),
			.file = emit_str(e, n->file),
			.line = n->line,
			.off = n->line > n->def_line ? n->line - n->def_line : 0,
		};

		announce(s, e, FRAME_MODULE(n->frame), now);
		EMIT(e, &ev, EV_FRAME, 0, now);
		name_release(n);
	}
	vec_clear(&s->queue);
}

struct runtime_stacks_counts runtime_stacks_counts(const struct runtime_stacks *s)
{
	return s->counts;
}
