/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi_make.h"

#include <string.h>

#include "base/bug.h"
#include "base/err.h"
#include "symbols/files/image.h"

static void put(struct cfi_make *c, uint64_t v, size_t size)
{
	buf_add(&c->bytes, &v, size); /* this machine is little-endian, as the format */
}

/* Pads and fills in the length of the entry that began at start. */
static void close_entry(struct cfi_make *c, size_t start)
{
	uint32_t len;

	while (c->bytes.len % 8)
		put(c, 0, 1);
	len = (uint32_t)(c->bytes.len - start - 4);
	memcpy(c->bytes.data + start, &len, 4);
}

size_t cfi_make_cie(struct cfi_make *c, const char *aug, uint8_t enc)
{
	static const char init[] = {0x0c, 7, 8, (char)(0x80 + 16), 1};
	size_t start = c->bytes.len;

	put(c, 0, 4);
	put(c, c->debug ? UINT32_MAX : 0, 4);
	put(c, c->debug ? 4 : 1, 1);
	buf_add(&c->bytes, aug, strlen(aug) + 1);
	if (c->debug)
		put(c, 8, 2); /* address size, no segments */
	put(c, 1, 1);
	put(c, 0x78, 1); /* -8 */
	put(c, 16, 1);
	c->aug = aug[0] == 'z';
	c->enc = enc;
	if (c->aug) {
		put(c, (strchr(aug, 'P') ? 6 : 1) + (strchr(aug, 'L') ? 1u : 0), 1);
		for (const char *a = aug + 1; *a; a++) {
			if (*a == 'R')
				put(c, enc, 1);
			if (*a == 'P')
				put(c, 0x9b | UINT64_C(0x1234) << 8, 5);
			if (*a == 'L')
				put(c, 0x1b, 1);
		}
	}
	buf_add(&c->bytes, init, sizeof(init));
	close_entry(c, start);
	return start;
}

static void put_pointer(struct cfi_make *c, uint64_t v, uint8_t enc)
{
	static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8};

	if ((enc & 0x70) == 0x10)
		v -= CFI_MAKE_FRAME + c->bytes.len;
	BUG_ON(!sizes[enc & 15]);
	put(c, v, sizes[enc & 15]);
}

void cfi_make_fde(struct cfi_make *c, size_t cie, uint64_t pc, uint64_t len, const char *prog,
		  size_t prog_len)
{
	size_t start = c->bytes.len;

	put(c, 0, 4);
	put(c, c->debug ? cie : start + 4 - cie, 4);
	put_pointer(c, CFI_MAKE_TEXT + pc, c->enc);
	put_pointer(c, len, c->enc & 15);
	if (c->aug)
		put(c, 0, 1);
	buf_add(&c->bytes, prog, prog_len);
	close_entry(c, start);
}

struct image *cfi_make_image(struct cfi_make *c, struct elf_make *e)
{
	struct err err = {0};

	if (!c->debug)
		put(c, 0, 4);
	elf_make_begin(e);
	elf_make_segment(e, PT_LOAD, PF_R | PF_X, CFI_MAKE_TEXT, CFI_MAKE_TEXT_LEN);
	elf_make_section(e, c->debug ? ".debug_frame" : ".eh_frame", SHT_PROGBITS, CFI_MAKE_FRAME,
			 c->bytes.data, c->bytes.len);
	elf_make_end(e);
	return image_open_bytes(e->file.data, e->file.len, &err);
}

void cfi_make_release(struct cfi_make *c)
{
	buf_release(&c->bytes);
}
