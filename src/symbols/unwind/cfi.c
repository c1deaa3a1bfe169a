/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes.  The first reads the headers of all entries, which stand in the
 * order of the object files; then the FDEs are sorted, unless they are already,
 * and the second runs their programs in the order of addresses, so that rows
 * come out sorted and equal neighbours melt into one.
 *
 * Where FDEs overlap, each ends where the next begins; of several that begin
 * at one place the first counts.
 */
#include "symbols/unwind/cfi.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/search.h"
#include "symbols/unwind/cfi_int.h"
#include "symbols/files/image.h"

enum {
	CIE_MAX = 1 << 18, /* one for each object file at worst */
	HASHED = 3 * 17,   /* bytes of an entry of a hash that was just doubled */
	RBX_ROW_MAX = 16384, /* ld.so has 2,000; in a large file such frames are of leaves */
	PADDING = 16,	   /* fewer bytes between functions are not worth a row */
	RADIX_BITS = 11,
	RADIX = 1 << RADIX_BITS,
};

static void maker_release(struct cfi_maker *m)
{
	vec_release(&m->rows);
	vec_release(&m->exts);
	vec_release(&m->cies);
	vec_release(&m->fdes);
}

/* The CIEs of one section, as the first pass found them. */
struct cie_index {
	struct hmap by_off;
	uint64_t last_off;
	uint32_t last;
	bool has_last;
};

static bool cie_find(struct cie_index *x, uint64_t off, uint32_t *ret_idx)
{
	uint64_t idx;

	if (!x->has_last || x->last_off != off) {
		if (!hmap_get(&x->by_off, off, &idx))
			return false;
		x->last_off = off;
		x->last = (uint32_t)idx;
		x->has_last = true;
	}
	*ret_idx = x->last;
	return true;
}

static int entries_read(struct cfi_maker *m, const struct cfi_section *sec, struct err *err)
{
	struct cie_index x = {0};
	struct cfi_entry e;
	struct cfi_fde fde;
	uint32_t cie;
	int ret = 0;

	for (size_t pos = 0; cfi_entry_next(sec, &pos, &e);) {
		if (e.is_cie && m->cies.cnt < m->cie_max) {
			hmap_put(&x.by_off, e.off, m->cies.cnt);
			cfi_cie_read(sec, &e, vec_add(&m->cies));
			continue;
		}
		m->fde_cnt++;
		if (e.is_cie || !cie_find(&x, e.cie_off, &cie) ||
		    !cfi_fde_read(m, &m->cies.items[cie], &e, &fde)) {
			m->bad_cnt++;
			continue;
		}
		if (m->fdes.cnt >= m->fde_max) {
			ret = err_set(err, -E2BIG, "over %zu FDEs in a file of %zu bytes",
				      m->fde_max, m->file_bytes);
			break;
		}
		fde.cie = cie;
		vec_push(&m->fdes, fde);
	}
	hmap_release(&x.by_off);
	return ret;
}

static bool is_sorted(const struct cfi_maker *m)
{
	for (size_t i = 1; i < m->fdes.cnt; i++)
		if (m->fdes.items[i].pc < m->fdes.items[i - 1].pc)
			return false;
	return true;
}

/* Keeps the order of equals; three passes where qsort would take twenty. */
static void radix_sort(struct cfi_maker *m)
{
	size_t cnt = m->fdes.cnt;
	CLEANUP_FREE struct cfi_fde *other = xmalloc(cnt * sizeof(*other));

	for (unsigned int shift = 0; shift < 32; shift += RADIX_BITS) {
		struct cfi_fde *from = m->fdes.items;
		uint32_t at[RADIX] = {0}, sum = 0;

		for (size_t i = 0; i < cnt; i++)
			at[from[i].pc >> shift & (RADIX - 1)]++;
		for (size_t i = 0; i < RADIX; i++) {
			uint32_t here = at[i];

			at[i] = sum;
			sum += here;
		}
		for (size_t i = 0; i < cnt; i++)
			other[at[from[i].pc >> shift & (RADIX - 1)]++] = from[i];
		m->fdes.items = other;
		other = from;
		m->fdes.cap = cnt;
	}
}

static void fde_run(struct cfi_maker *m, const struct cfi_fde *fde, uint32_t limit)
{
	const struct cfi_cie *cie = &m->cies.items[fde->cie];
	struct cfi_bytes b = {cie->sec->data + fde->off, cie->sec->data + fde->end, false};
	struct cfi_run run = {.m = m, .cie = cie, .pc = fde->pc, .limit = limit};
	struct cfi_state st = cie->init;
	size_t row_cnt = m->rows.cnt;

	if (cfi_prog_run(&run, b, &st))
		return;
	m->bad_cnt++;
	m->rows.cnt = row_cnt;
	cfi_rows_none(m, fde->pc);
}

/* The rows of all FDEs, in order. */
static void fdes_run(struct cfi_maker *m)
{
	uint32_t done = 0; /* where the function before ended */
	size_t next;

	for (size_t i = 0; i < m->fdes.cnt && !m->full; i = next) {
		const struct cfi_fde *fde = &m->fdes.items[i];
		uint32_t limit = fde->pc + fde->len;

		for (next = i + 1; next < m->fdes.cnt && m->fdes.items[next].pc == fde->pc; next++)
			m->bad_cnt++;
		if (next < m->fdes.cnt && m->fdes.items[next].pc < limit)
			limit = m->fdes.items[next].pc;
		if (i && fde->pc - done >= PADDING)
			cfi_rows_none(m, done);
		fde_run(m, fde, limit);
		done = limit;
	}
	if (m->fdes.cnt)
		cfi_rows_none(m, done);
}

static size_t least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

/*
 * What the file may take in memory is shared out: an eighth for CIEs, which are
 * hashed too, three for FDEs, twice while they are sorted, and when these are
 * gone one for rows, of which the layout for the kernel is made: that takes up
 * to four, and a quarter for its pages.
 */
static void maker_bound(struct cfi_maker *m, const struct image *im, const struct cfi_sections *s)
{
	uint64_t room = image_room(im), own = s->own_len;

	room = room > own ? room - own : 0;
	m->file_bytes = image_size(im);
	m->cie_max = least(room / 8 / (sizeof(struct cfi_cie) + HASHED), CIE_MAX);
	m->fde_max = least(room / 8 * 3 / sizeof(struct cfi_fde), CFI_FDE_MAX);
	m->row_max = least(room / 8 / sizeof(struct unw_row), CFI_ROW_MAX);
}

/* All FDEs, not yet sorted. */
static int maker_read(struct cfi_maker *m, const struct cfi_sections *s, struct err *err)
{
	for (size_t i = 0; i < s->cnt; i++) {
		int ret = entries_read(m, &s->list[i], err);

		if (ret < 0)
			return ret;
	}
	if (m->fdes.cnt == 0 && m->fde_cnt)
		return err_set(err, -EBADMSG, "none of its %u FDEs can be used", m->fde_cnt);
	return 0;
}

static void maker_sort(struct cfi_maker *m)
{
	if (!is_sorted(m))
		radix_sort(m);
}

static int machine_check(const struct image *im, struct err *err)
{
	if (image_machine(im) != EM_X86_64)
		return err_set(err, -ENOTSUP, "not for x86-64 (machine %u)", image_machine(im));
	if (image_text_len(im) == 0)
		return err_set(err, -ENODATA, "no executable segment");
	if (image_text_len(im) > UINT32_MAX)
		return err_set(err, -E2BIG, "text over 4 GiB");
	return 0;
}

static void table_take(struct cfi_maker *m, struct cfi_table *ret)
{
	*ret = (struct cfi_table){
		.rows = xreallocarray(m->rows.items, m->rows.cnt + 1, sizeof(*m->rows.items)),
		.row_cnt = m->rows.cnt,
		.exts = m->exts.items,
		.ext_cnt = m->exts.cnt,
		.base_vaddr = m->base_vaddr,
		.text_len = (uint32_t)m->text_len,
		.fde_cnt = m->fde_cnt,
		.bad_cnt = m->bad_cnt,
		.odd_cnt = m->odd_cnt};
	m->rows.items = NULL;
	m->exts.items = NULL;
}

static int maker_open(struct cfi_maker *m, struct image *im, struct cfi_sections *s,
		      struct err *err)
{
	int code = machine_check(im, err);

	if (code == 0)
		code = cfi_find(im, s, err);
	if (code < 0)
		return code;
	maker_bound(m, im, s);
	return maker_read(m, s, err);
}

int cfi_build(struct image *im, struct cfi_table *ret, struct err *err)
{
	CLEANUP(cfi_sections_release) struct cfi_sections s = {0};
	CLEANUP(maker_release) struct cfi_maker m = {.base_vaddr = image_base_vaddr(im),
						     .text_len = image_text_len(im)};
	size_t bytes = 0;
	uint32_t bad_cnt;
	int code = maker_open(&m, im, &s, err);

	if (code < 0)
		return code;
	cfi_plt_add(&m, im);
	for (size_t i = 0; i < s.cnt; i++)
		bytes += s.list[i].len;
	/* a row takes five to ten bytes to say */
	vec_reserve(&m.rows, least(bytes / 8 + 16, m.row_max));
	maker_sort(&m);
	bad_cnt = m.bad_cnt;
	fdes_run(&m);
	if (m.on_rbx && m.rows.cnt <= RBX_ROW_MAX) {
		m.with_rbx = true;
		m.rows.cnt = m.exts.cnt = 0;
		m.bad_cnt = bad_cnt;
		m.odd_cnt = 0;
		fdes_run(&m);
	}
	if (m.full)
		return err_set(err, -E2BIG, "over %zu rows in a file of %zu bytes", m.row_max,
			       m.file_bytes);
	table_take(&m, ret);
	return 0;
}

int cfi_functions(struct image *im, struct cfi_fn **ret_fns, size_t *ret_cnt, struct err *err)
{
	CLEANUP(cfi_sections_release) struct cfi_sections s = {0};
	CLEANUP(maker_release) struct cfi_maker m = {.base_vaddr = image_base_vaddr(im),
						     .text_len = image_text_len(im)};
	struct cfi_fn *fns;
	int code = maker_open(&m, im, &s, err);

	if (code < 0)
		return code;
	maker_sort(&m);
	fns = xmalloc((m.fdes.cnt + 1) * sizeof(*fns));
	for (size_t i = 0; i < m.fdes.cnt; i++)
		fns[i] = (struct cfi_fn){m.fdes.items[i].pc, m.fdes.items[i].len};
	*ret_fns = fns;
	*ret_cnt = m.fdes.cnt;
	return 0;
}

void cfi_release(struct cfi_table *t)
{
	free(t->rows);
	free(t->exts);
	memset(t, 0, sizeof(*t));
}

const struct unw_row *cfi_row(const struct cfi_table *t, uint32_t pc)
{
	size_t after = SORTED_PREFIX(t->rows, t->row_cnt, it, it->pc <= pc);

	return after ? &t->rows[after - 1] : NULL;
}

static bool row_ok(const struct cfi_table *t, const struct unw_row *row)
{
	uint8_t kind = row->kind & UNW_CFA_MASK;

	if (row->pc > t->text_len || kind > UNW_LAST ||
	    row->kind & ~(UNW_CFA_MASK | UNW_RBP_SAVED))
		return false;
	return kind != UNW_EXT || row->cfa_off < t->ext_cnt;
}

static bool ext_ok(const struct unw_ext *x)
{
	return x->cfa_reg < REG_RA && x->ra_base <= UNW_B_REG && x->rbp_base <= UNW_B_REG &&
	       x->ra_base != UNW_B_SAME &&
	       (x->ra_base != UNW_B_REG || (uint32_t)x->ra_off < REG_RA) &&
	       (x->rbp_base != UNW_B_REG || (uint32_t)x->rbp_off < REG_RA);
}

int cfi_check(const struct cfi_table *t, struct err *err)
{
	for (size_t i = 0; i < t->row_cnt; i++)
		if (!row_ok(t, &t->rows[i]) || (i && t->rows[i].pc <= t->rows[i - 1].pc))
			return err_set(err, -EBADMSG, "row %zu is wrong", i);
	for (size_t i = 0; i < t->ext_cnt; i++)
		if (!ext_ok(&t->exts[i]))
			return err_set(err, -EBADMSG, "rule %zu is wrong", i);
	return 0;
}
