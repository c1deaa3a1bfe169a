/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only the encodings that linkers write: a table of pairs of signed 4 byte
 * offsets from .eh_frame_hdr, and FDEs of 4 or 8 byte addresses.  Where there
 * is a .debug_frame, or no such table, all entries are read as for unwinding:
 * slower, and only few files are so.  A compiler that writes .debug_frame
 * leaves .eh_frame to the few objects that came from elsewhere (crt1.o).
 */
#include "symbols/names/fde.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "symbols/unwind/cfi.h"
#include "symbols/files/image.h"
#include "symbols/names/symtab.h"

enum { /* DW_EH_PE_* */
	PE_ABS8 = 0x00,
	PE_UDATA4 = 0x03,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_UDATA8 = 0x04,
	PE_FORMAT = 0x0f,
	PE_DATAREL = 0x30,
	PE_OMIT = 0xff,
};

#define AUGMENTATION_MAX 16
#define HDR_LEN 12 /* version, three encodings, .eh_frame's offset, count */

struct bytes {
	const uint8_t *data;
	size_t len;
	uint64_t vaddr;
};

struct fdes {
	struct bytes hdr, frame;
	uint64_t cie_off; /* the one whose encoding is known, .eh_frame's length for none */
	uint8_t encoding;
};

static uint32_t u32_at(const struct bytes *b, size_t off)
{
	uint32_t value;

	memcpy(&value, b->data + off, sizeof(value));
	return value;
}

static int section(struct image *im, const char *name, struct bytes *ret)
{
	const struct image_section *sec = image_find(im, name);
	int ret_code = -ENOENT;

	if (sec)
		ret_code = image_data(im, sec, &ret->data, &ret->len, NULL);
	if (ret_code == 0)
		ret->vaddr = sec->vaddr;
	return ret_code == -ENODATA ? -ENOENT : ret_code;
}

static size_t leb128_len(const struct bytes *b, size_t at, size_t end)
{
	size_t len = 1;

	while (at + len <= end && (b->data[at + len - 1] & 0x80))
		len++;
	return len;
}

/* How this CIE's FDEs write addresses; PE_OMIT when that is unknown. */
static uint8_t cie_encoding(const struct bytes *b, size_t off)
{
	size_t end, at = off + 9; /* length, id, version */
	const char *augmentation;

	if (off + 12 > b->len || u32_at(b, off + 4) != 0)
		return PE_OMIT;
	end = off + 4 + (size_t)u32_at(b, off);
	if (end > b->len)
		return PE_OMIT;
	augmentation = (const char *)b->data + at;
	/* "zPLRSB" is the longest; each FDE may name this CIE anew */
	if (end - at > AUGMENTATION_MAX && !memchr(augmentation, '\0', AUGMENTATION_MAX))
		return PE_OMIT;
	at += strnlen(augmentation, end - at) + 1;
	if (at > end || augmentation[0] == '\0')
		return at > end ? PE_OMIT : PE_ABS8;
	if (augmentation[0] != 'z')
		return PE_OMIT;
	for (int i = 0; i < 4; i++) /* alignments, return address, length of what follows */
		at += at < end ? leb128_len(b, at, end) : 0;
	for (const char *p = augmentation + 1; *p && at < end; p++) {
		if (*p == 'R')
			return b->data[at];
		if (*p == 'L')
			at++;
		else if (*p == 'P') {
			unsigned format = b->data[at] & PE_FORMAT;
			at += format == PE_UDATA4 || format == PE_SDATA4 ? 5 : 9;
		} else if (*p != 'S' && *p != 'B')
			return PE_OMIT;
	}
	return PE_ABS8;
}

/* Bytes that the function at an FDE has; 0 when it cannot be read. */
static uint64_t fde_len(struct fdes *f, uint64_t off)
{
	const struct bytes *b = &f->frame;
	uint64_t cie, len;

	if (off + 16 > b->len || off + 16 < off)
		return 0;
	len = u32_at(b, off);
	cie = off + 4 - u32_at(b, off + 4);
	if (len < 12 || len > b->len - off - 4 || cie >= off)
		return 0;
	if (cie != f->cie_off) {
		f->encoding = cie_encoding(b, cie);
		f->cie_off = cie;
	}
	switch (f->encoding == PE_OMIT ? PE_FORMAT : f->encoding & PE_FORMAT) {
	case PE_UDATA4:
	case PE_SDATA4:
		return u32_at(b, off + 12);
	case PE_ABS8:
	case PE_UDATA8:
	case PE_SDATA8:
		return len >= 20 ? u32_at(b, off + 16) | (uint64_t)u32_at(b, off + 20) << 32 : 0;
	default:
		return 0;
	}
}

static int bounds_of_hdr(struct image *im, struct symtab_bounds **ret_bounds, size_t *ret_cnt)
{
	struct fdes f = {0};
	struct symtab_bounds *out;
	uint64_t base = image_base_vaddr(im), text_len = image_text_len(im);
	size_t cnt, out_cnt = 0;
	int ret = section(im, ".eh_frame_hdr", &f.hdr);

	if (ret == 0)
		ret = section(im, ".eh_frame", &f.frame);
	if (ret < 0)
		return ret;
	if (f.hdr.len < HDR_LEN || f.hdr.data[0] != 1 || f.hdr.data[2] != PE_UDATA4 ||
	    f.hdr.data[3] != (PE_DATAREL | PE_SDATA4))
		return -EINVAL;
	f.cie_off = f.frame.len;
	cnt = u32_at(&f.hdr, 8);
	if (cnt > FDE_MAX || cnt > (f.hdr.len - HDR_LEN) / 8)
		return -EINVAL;
	out = xcalloc(cnt + 1, sizeof(*out));
	for (size_t i = 0; i < cnt; i++) {
		uint64_t pc = f.hdr.vaddr + (uint64_t)(int32_t)u32_at(&f.hdr, HDR_LEN + i * 8);
		uint64_t fde = f.hdr.vaddr + (uint64_t)(int32_t)u32_at(&f.hdr, HDR_LEN + i * 8 + 4);
		uint64_t len = fde_len(&f, fde - f.frame.vaddr);

		pc -= base;
		if (pc >= text_len || pc >= UINT32_MAX || !len)
			continue;
		if (len > text_len - pc)
			len = text_len - pc;
		if (len > UINT32_MAX - pc)
			len = UINT32_MAX - pc;
		out[out_cnt++] = (struct symtab_bounds){(uint32_t)pc, (uint32_t)len};
	}
	*ret_bounds = out;
	*ret_cnt = out_cnt;
	return 0;
}

static int bounds_of_all(struct image *im, struct symtab_bounds **ret_bounds, size_t *ret_cnt)
{
	CLEANUP_FREE struct cfi_fn *fns = NULL;
	struct symtab_bounds *out;
	struct err err = {0};
	size_t cnt;
	int ret = cfi_functions(im, &fns, &cnt, &err);

	if (ret < 0)
		return ret == -ENODATA ? -ENOENT : ret;
	out = xcalloc(cnt + 1, sizeof(*out));
	for (size_t i = 0; i < cnt; i++)
		out[i] = (struct symtab_bounds){fns[i].pc, fns[i].len};
	*ret_bounds = out;
	*ret_cnt = cnt;
	return 0;
}

int fde_bounds(struct image *im, struct symtab_bounds **ret_bounds, size_t *ret_cnt)
{
	const struct image_section *debug = image_find(im, ".debug_frame");
	int ret;

	if (debug && debug->type != SHT_NOBITS && bounds_of_all(im, ret_bounds, ret_cnt) == 0)
		return 0;
	ret = bounds_of_hdr(im, ret_bounds, ret_cnt);
	return ret == -ENOENT ? bounds_of_all(im, ret_bounds, ret_cnt) : ret;
}
