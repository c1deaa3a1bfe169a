/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/runtimes/runtimes.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/err.h"
#include "symbols/files/image.h"
#include "symbols/runtimes/runtimes_int.h"

static const struct runtime_lang *const langs[] = {
	&runtime_cpython,
	&runtime_php,
	&runtime_hotspot,
	&runtime_ruby,
	&runtime_v8,
};

size_t runtime_lang_cnt(void)
{
	return sizeof(langs) / sizeof(langs[0]);
}

const struct runtime_lang *runtime_lang_at(size_t idx)
{
	return langs[idx];
}

const struct runtime_lang *runtime_lang_of(const char *base_name)
{
	for (size_t i = 0; i < runtime_lang_cnt(); i++)
		if (langs[i]->is_file(base_name))
			return langs[i];
	return NULL;
}

size_t runtime_lang_idx(const struct runtime_lang *l)
{
	size_t i = 0;

	while (i + 1 < runtime_lang_cnt() && langs[i] != l)
		i++;
	return i;
}

const char *runtime_lang_name(const struct runtime_lang *l)
{
	return l->name;
}

/* Address minus value of a symbol, from where the file's code is mapped. */
static int bias_of(const struct image *im, const struct runtime_file *f, uint64_t *ret)
{
	for (size_t i = 0; i < image_segment_cnt(im); i++) {
		const struct image_segment *s = image_segment(im, i);
		uint64_t first = s->off & ~UINT64_C(4095);

		if (s->type != PT_LOAD || !(s->flags & PF_X) || f->map_off < first ||
		    f->map_off >= s->off + s->filesz)
			continue;
		*ret = f->map_start - (s->vaddr + (f->map_off - s->off));
		return 0;
	}
	return -ENOENT;
}

int runtime_open(const struct runtime_lang *l, const struct runtime_file *f,
		 const struct runtime_mem *mem, struct runtime_proc **ret, struct err *err)
{
	struct image *im = image_open(f->fd, err);
	struct runtime_proc *r;
	int rc;

	if (!im)
		return -ENOENT;
	r = xcalloc(1, sizeof(*r));
	*r = (struct runtime_proc){.lang = l, .mem = *mem};
	rc = bias_of(im, f, &r->bias);
	if (rc == 0)
		rc = l->open(r, f, im, err);
	image_free(im);
	if (rc < 0)
		runtime_free(r);
	else
		*ret = r;
	return rc;
}

void runtime_free(struct runtime_proc *r)
{
	if (!r)
		return;
	if (r->lang->release)
		r->lang->release(r);
	free(r->own);
	free(r);
}

const char *runtime_version(const struct runtime_proc *r)
{
	return r->version;
}

const struct chain_shape *runtime_shape(const struct runtime_proc *r)
{
	return &r->shape;
}

size_t runtime_elem_len(const struct runtime_proc *r)
{
	return r->shape.elem_len;
}

long runtime_threads(struct runtime_proc *r, struct runtime_thread *ret, size_t max)
{
	return r->lang->threads(r, ret, max < RUNTIME_THREAD_MAX ? max : RUNTIME_THREAD_MAX);
}

size_t runtime_loops(const struct runtime_proc *r, struct runtime_range ret[RUNTIME_LOOP_MAX])
{
	for (size_t i = 0; i < r->loop_cnt; i++)
		ret[i] = r->loops[i];
	return r->loop_cnt;
}

bool runtime_loops_merge(const struct runtime_proc *r)
{
	return r->lang->loops_merge;
}

bool runtime_by_native(const struct runtime_proc *r)
{
	return r->lang->by_native;
}

long runtime_frames(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		    struct runtime_frame ret[RUNTIME_DEPTH_MAX])
{
	size_t len = sizeof(uint64_t) + r->shape.elem_len;

	if (r->lang->frames)
		return r->lang->frames(r, elems, cnt, ret);
	if (cnt > RUNTIME_DEPTH_MAX)
		return -E2BIG;
	for (size_t i = 0; i < cnt; i++, elems += len) {
		ret[i] = (struct runtime_frame){0};
		if (!r->lang->frame(r, runtime_u64(elems, 0), elems + sizeof(uint64_t), &ret[i]))
			return -EBADMSG;
	}
	return (long)cnt;
}

bool runtime_lock_of(struct runtime_proc *r, const uint8_t *elems, size_t cnt,
		     struct runtime_lock *ret)
{
	*ret = (struct runtime_lock){0};
	return r->lang->lock && r->lang->lock(r, elems, cnt, ret);
}

int runtime_cookie(struct runtime_proc *r, uint64_t code, uint64_t *ret)
{
	return r->lang->cookie(r, code, ret);
}

int runtime_name(struct runtime_proc *r, const struct runtime_frame *f, struct runtime_name *ret)
{
	*ret = (struct runtime_name){0};
	return r->lang->describe(r, f, ret);
}

void runtime_name_release(struct runtime_name *n)
{
	buf_release(&n->fn);
	buf_release(&n->file);
}
