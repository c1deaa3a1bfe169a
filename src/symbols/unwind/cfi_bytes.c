/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and pointers as call frame information writes them, none past the end. */
#include "symbols/unwind/cfi_int.h"

uint64_t cfi_uint(struct cfi_bytes *b, size_t size)
{
	uint64_t v = 0;

	if ((size_t)(b->end - b->at) < size) {
		b->bad = true;
		b->at = b->end;
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)b->at[i] << (8 * i);
	b->at += size;
	return v;
}

uint64_t cfi_uleb(struct cfi_bytes *b)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; b->at < b->end; shift += 7) {
		uint8_t byte = *b->at++;

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	b->bad = true;
	return 0;
}

int64_t cfi_sleb(struct cfi_bytes *b)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; b->at < b->end;) {
		uint8_t byte = *b->at++;

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (shift < 64 && byte & 0x40)
			v |= ~UINT64_C(0) << shift;
		return (int64_t)v;
	}
	b->bad = true;
	return 0;
}

void cfi_skip(struct cfi_bytes *b, uint64_t len)
{
	if ((uint64_t)(b->end - b->at) < len) {
		b->bad = true;
		b->at = b->end;
		return;
	}
	b->at += len;
}

static uint64_t pointer_raw(struct cfi_bytes *b, uint8_t format)
{
	switch (format) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return cfi_uint(b, 8);
	case PE_ULEB:
		return cfi_uleb(b);
	case PE_SLEB:
		return (uint64_t)cfi_sleb(b);
	case PE_UDATA2:
		return cfi_uint(b, 2);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)cfi_uint(b, 2);
	case PE_UDATA4:
		return cfi_uint(b, 4);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)cfi_uint(b, 4);
	}
	b->bad = true;
	return 0;
}

/*
 * What is relative to .text, .got or the function has been of no compiler for
 * this machine, and an indirect pc would need the program's memory: bad.
 * (Personalities are indirect; their value is not used.)
 */
uint64_t cfi_pointer(const struct cfi_section *sec, struct cfi_bytes *b, uint8_t enc)
{
	uint64_t here = sec->vaddr + (uint64_t)(b->at - sec->data);

	switch (enc & PE_BASE) {
	case 0:
		return pointer_raw(b, enc & PE_FORMAT);
	case PE_PCREL:
		return here + pointer_raw(b, enc & PE_FORMAT);
	case PE_ALIGNED:
		cfi_skip(b, -here & 7);
		return cfi_uint(b, 8);
	}
	pointer_raw(b, enc & PE_FORMAT);
	b->bad = true;
	return 0;
}
