/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths, CIEs and FDEs as the LSB describes .eh_frame and DWARF 5 (6.4.1)
 * .debug_frame.  An entry is taken only where the one before it ends: an FDE
 * cannot name any place as its CIE, so work stays linear in the section's size.
 */
#include "symbols/unwind/cfi_int.h"

enum { LEN_64 = 0xffffffff }; /* a length of 64 bits follows */

bool cfi_entry_next(const struct cfi_section *sec, size_t *pos, struct cfi_entry *ret)
{
	const uint8_t *end = sec->data + sec->len;
	struct cfi_bytes b = {sec->data + *pos, end, false};
	size_t id_size = 4;
	uint64_t len, id, id_off;

	do { /* length 0 ends what one object brought; another's may follow */
		ret->off = (uint32_t)(b.at - sec->data);
		len = cfi_uint(&b, 4);
	} while (len == 0 && !b.bad && !sec->ends_at_zero);
	if (len == LEN_64) {
		len = cfi_uint(&b, 8);
		id_size = sec->debug ? 8 : 4;
	}
	if (b.bad || len < id_size || len > (uint64_t)(end - b.at))
		return false;
	id_off = (uint64_t)(b.at - sec->data);
	b.end = b.at + len;
	*pos = (size_t)(b.end - sec->data);
	id = cfi_uint(&b, id_size);
	if (sec->debug) {
		ret->is_cie = id == (id_size == 8 ? UINT64_MAX : UINT32_MAX);
		ret->cie_off = id;
	} else {
		ret->is_cie = id == 0;
		ret->cie_off = id_off - id;
	}
	ret->body = b;
	return true;
}

/* 'S' and 'B' alone, as in .debug_frame, have no data; after 'z' stands the length of it. */
static void augmentation_read(const struct cfi_section *sec, const char *aug, struct cfi_bytes *b,
			      struct cfi_cie *cie)
{
	uint64_t len;
	const uint8_t *end;

	if (aug[0] != 'z') {
		for (; *aug == 'S' || *aug == 'B'; aug++)
			cie->signal |= *aug == 'S';
		b->bad |= *aug != '\0'; /* "eh", of GCC 2, and what nobody knows */
		return;
	}
	cie->has_aug_len = true;
	len = cfi_uleb(b);
	if (len > (uint64_t)(b->end - b->at)) {
		b->bad = true;
		return;
	}
	end = b->at + len;
	for (aug++; *aug; aug++) {
		uint8_t enc;

		if (*aug == 'R') {
			cie->fde_enc = (uint8_t)cfi_uint(b, 1);
		} else if (*aug == 'P') {
			enc = (uint8_t)cfi_uint(b, 1);
			if (enc != PE_OMIT)
				cfi_pointer(sec, b, enc & (PE_FORMAT | PE_ALIGNED));
		} else if (*aug == 'L') {
			cfi_uint(b, 1);
		} else if (*aug == 'S') {
			cie->signal = true;
		} else if (*aug != 'B' && *aug != 'G') { /* arm64's key and tags */
			break; /* unknown: the rest is its business */
		}
	}
	b->at = end;
}

/* The name's end is looked for within the entry: it need not have one. */
static const char *augmentation_name(struct cfi_bytes *b)
{
	const char *name = (const char *)b->at;

	while (b->at < b->end && *b->at)
		b->at++;
	cfi_skip(b, 1);
	return b->bad ? "?" : name;
}

void cfi_cie_read(const struct cfi_section *sec, const struct cfi_entry *e, struct cfi_cie *ret)
{
	struct cfi_bytes b = e->body;
	struct cfi_cie cie = {.sec = sec, .off = e->off, .fde_enc = PE_ABSPTR};
	struct cfi_run run = {.cie = &cie, .limit = UINT32_MAX};
	uint64_t version = cfi_uint(&b, 1);
	const char *aug = augmentation_name(&b);

	if (version >= 4 && cfi_uint(&b, 1) != 8)
		b.bad = true; /* size of an address */
	if (version >= 4 && cfi_uint(&b, 1) != 0)
		b.bad = true; /* segments */
	cie.code_align = cfi_uleb(&b);
	cie.data_align = cfi_sleb(&b);
	cie.ra_reg = version == 1 ? cfi_uint(&b, 1) : cfi_uleb(&b);
	if (version != 1 && version != 3 && version != 4)
		b.bad = true;
	augmentation_read(sec, aug, &b, &cie);
	if (b.bad || cie.ra_reg != REG_RA || cie.code_align > UINT32_MAX ||
	    cie.data_align > INT16_MAX || cie.data_align < INT16_MIN)
		cie.bad = true;
	else if (!cfi_prog_run(&run, b, &cie.init))
		cie.bad = true;
	*ret = cie;
}

bool cfi_fde_read(const struct cfi_maker *m, const struct cfi_cie *cie, struct cfi_entry *e,
		  struct cfi_fde *ret)
{
	struct cfi_bytes *b = &e->body;
	uint64_t pc, len;

	if (cie->bad || cie->fde_enc == PE_OMIT)
		return false;
	pc = cfi_pointer(cie->sec, b, cie->fde_enc);
	len = cfi_pointer(cie->sec, b, cie->fde_enc & PE_FORMAT);
	if (cie->has_aug_len)
		cfi_skip(b, cfi_uleb(b));
	if (b->bad || pc < m->base_vaddr || pc - m->base_vaddr >= m->text_len || !len ||
	    len > m->text_len - (pc - m->base_vaddr))
		return false;
	*ret = (struct cfi_fde){.pc = (uint32_t)(pc - m->base_vaddr),
				.len = (uint32_t)len,
				.off = (uint32_t)(b->at - cie->sec->data),
				.end = (uint32_t)(b->end - cie->sec->data)};
	return true;
}
