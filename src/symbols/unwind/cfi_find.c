/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where call frame information is.  Sections by name; where a file has lost its
 * section headers, the place that .eh_frame_hdr names (only that: its search
 * table is not believed).
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "symbols/unwind/cfi_int.h"
#include "symbols/files/image.h"

static int section_add(struct image *im, const char *name, bool debug, struct cfi_sections *s,
		       struct err *err)
{
	const struct image_section *sec = image_find(im, name);
	struct cfi_section *to = &s->list[s->cnt];
	int ret;

	if (!sec || sec->type == SHT_NOBITS)
		return 0;
	if (sec->size > CFI_SECTION_MAX)
		return err_set(err, -E2BIG, "section %s: %llu bytes, limit %d", name,
			       (unsigned long long)sec->size, CFI_SECTION_MAX);
	ret = image_data(im, sec, &to->data, &to->len, err);
	if (ret < 0)
		return ret;
	if (to->len > CFI_SECTION_MAX)
		return err_set(err, -E2BIG, "section %s: %zu bytes, limit %d", name, to->len,
			       CFI_SECTION_MAX);
	to->vaddr = sec->vaddr;
	to->debug = debug;
	s->cnt++;
	return 0;
}

/* .eh_frame_hdr: version, three encodings, then a pointer to .eh_frame. */
static bool hdr_pointer(struct image *im, const struct image_segment *seg, uint64_t *ret_vaddr)
{
	uint8_t raw[20];
	struct cfi_section sec = {.data = raw, .len = sizeof(raw), .vaddr = seg->vaddr};
	struct cfi_bytes b = {raw + 4, raw + sizeof(raw), false};

	if (seg->filesz < sizeof(raw) || image_read(im, seg->off, raw, sizeof(raw), NULL) < 0 ||
	    raw[0] != 1)
		return false;
	*ret_vaddr = cfi_pointer(&sec, &b, raw[1]);
	return !b.bad;
}

static int hdr_follow(struct image *im, struct cfi_sections *s, struct err *err)
{
	uint64_t vaddr, off, left;

	for (size_t i = 0; i < image_segment_cnt(im); i++) {
		const struct image_segment *seg = image_segment(im, i);
		int ret;

		if (seg->type != PT_GNU_EH_FRAME || !hdr_pointer(im, seg, &vaddr) ||
		    image_vaddr_off(im, vaddr, &off, &left) < 0)
			continue;
		if (left > CFI_SECTION_MAX)
			left = CFI_SECTION_MAX; /* it ends with a zero, mostly long before */
		s->own = alloc_big(left);
		if (!s->own)
			return err_set(err, -ENOMEM, "no memory for .eh_frame");
		s->own_len = left;
		ret = image_read(im, off, s->own, left, err);
		if (ret < 0)
			return err_prefix(err, ".eh_frame");
		s->list[s->cnt++] = (struct cfi_section){
			.data = s->own, .len = left, .vaddr = vaddr, .ends_at_zero = true};
		return 0;
	}
	return 0;
}

int cfi_find(struct image *im, struct cfi_sections *ret, struct err *err)
{
	int code = section_add(im, ".eh_frame", false, ret, err);

	if (code == 0 && ret->cnt == 0)
		code = hdr_follow(im, ret, err);
	if (code == 0)
		code = section_add(im, ".debug_frame", true, ret, err);
	if (code == 0 && ret->cnt == 0)
		return err_set(err, -ENODATA, "neither .eh_frame nor .debug_frame");
	return code;
}

void cfi_sections_release(struct cfi_sections *s)
{
	free(s->own);
	s->own = NULL;
	s->cnt = s->own_len = 0;
}
