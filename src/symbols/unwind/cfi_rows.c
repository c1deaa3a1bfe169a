/* SPDX-License-Identifier: Apache-2.0 */
/* From rules of call frame information to rows of an unwind table. */
#include <string.h>

#include "symbols/unwind/cfi_int.h"

enum { WORD = 8, UCONTEXT_RSP = 160, UCONTEXT_RIP = 168 };

/* The rules that fit a row, which are all but a few hundred of a million. */
static bool plain_row(const struct cfi_state *st, struct unw_row *row)
{
	const struct cfi_rule *ra = &st->ra, *rbp = &st->rbp;

	if (st->cfa_how != CFA_REG || (st->cfa_reg != REG_RSP && st->cfa_reg != REG_RBP) ||
	    st->cfa_off % WORD || st->cfa_off < 0 || st->cfa_off / WORD > UINT16_MAX)
		return false;
	if (ra->how != RULE_AT_CFA || ra->off != -WORD || st->rsp.how != RULE_UNSET)
		return false;
	row->cfa_off = (uint16_t)(st->cfa_off / WORD);
	row->kind = st->cfa_reg == REG_RSP ? UNW_RSP : UNW_RBP;
	if (rbp->how == RULE_AT_CFA) {
		if (rbp->off % WORD || rbp->off / WORD < INT8_MIN || rbp->off / WORD > INT8_MAX)
			return false;
		row->rbp_off = (int8_t)(rbp->off / WORD);
		row->kind |= UNW_RBP_SAVED;
		return true;
	}
	/* undefined: no caller needs it */
	return rbp->how <= RULE_UNDEFINED;
}

static bool ext_rule(const struct cfi_rule *r, uint8_t *ret_base, int32_t *ret_off)
{
	*ret_off = r->off;
	switch (r->how) {
	case RULE_AT_CFA:
		*ret_base = UNW_B_CFA;
		return true;
	case RULE_AT_REG:
		*ret_base = r->reg == REG_RSP ? UNW_B_RSP : UNW_B_RBP;
		return r->reg == REG_RSP || r->reg == REG_RBP;
	case RULE_REG:
		*ret_base = UNW_B_REG;
		*ret_off = r->reg;
		return true;
	case RULE_ODD:
		return false;
	}
	*ret_base = UNW_B_SAME;
	*ret_off = 0;
	return true;
}

/* All that a handler's caller had is in the ucontext that the kernel left at rsp. */
static bool is_ucontext(const struct cfi_state *st)
{
	return st->cfa_how == CFA_DEREF && st->cfa_reg == REG_RSP &&
	       st->cfa_off == UCONTEXT_RSP && !st->cfa_add && st->ra.how == RULE_AT_REG &&
	       st->ra.reg == REG_RSP && st->ra.off == UCONTEXT_RIP;
}

static bool ext_make(const struct cfi_state *st, bool signal, struct unw_ext *x)
{
	memset(x, 0, sizeof(*x));
	x->cfa_reg = st->cfa_reg;
	x->cfa_off = st->cfa_off;
	if (!ext_rule(&st->ra, &x->ra_base, &x->ra_off) || x->ra_base == UNW_B_SAME ||
	    !ext_rule(&st->rbp, &x->rbp_base, &x->rbp_off))
		return false;
	if (signal) {
		x->flags = UNW_X_SIGNAL | UNW_X_DEREF;
		return is_ucontext(st);
	}
	if (st->rsp.how != RULE_UNSET)
		return false;
	switch (st->cfa_how) {
	case CFA_REG:
		return true;
	case CFA_DEREF:
		x->flags = (uint8_t)(UNW_X_DEREF | st->cfa_add / WORD << UNW_X_ADD);
		return st->cfa_add % WORD == 0 && st->cfa_add / WORD < 1 << (8 - UNW_X_ADD);
	case CFA_PLT:
		x->flags = UNW_X_PLT;
		if (x->ra_base != UNW_B_CFA || x->ra_off != -WORD)
			return false;
		x->ra_off = st->cfa_add;
		return true;
	}
	return false;
}

/* The rules of most rows, and where rbx is; false when that cannot be said. */
static bool rbx_make(const struct cfi_state *st, struct unw_ext *x)
{
	if (st->cfa_how != CFA_REG || st->ra.how != RULE_AT_CFA || st->ra.off != -WORD ||
	    st->rsp.how != RULE_UNSET)
		return false;
	if (st->rbx.how != RULE_AT_CFA && st->rbx.how > RULE_SAME)
		return false;
	if (!ext_make(st, false, x))
		return false;
	x->flags = UNW_X_RBX;
	x->ra_off = st->rbx.how == RULE_AT_CFA ? st->rbx.off : 0;
	return true;
}

/* Few are distinct, and the newest is the likeliest. */
static bool ext_index(struct cfi_maker *m, const struct unw_ext *x, uint16_t *ret_idx)
{
	enum { LOOK_BACK = 64 }; /* node has 44 in all */
	size_t stop = m->exts.cnt > LOOK_BACK ? m->exts.cnt - LOOK_BACK : 0;

	for (size_t i = m->exts.cnt; i > stop; i--)
		if (memcmp(&m->exts.items[i - 1], x, sizeof(*x)) == 0) {
			*ret_idx = (uint16_t)(i - 1);
			return true;
		}
	if (m->exts.cnt == CFI_EXT_MAX)
		return false;
	*ret_idx = (uint16_t)m->exts.cnt;
	vec_push(&m->exts, *x);
	return true;
}

static bool same_rule(const struct unw_row *a, const struct unw_row *b)
{
	return a->cfa_off == b->cfa_off && a->rbp_off == b->rbp_off && a->kind == b->kind;
}

static void row_push(struct cfi_maker *m, const struct unw_row *row)
{
	if (m->rows.cnt && same_rule(vec_last(&m->rows), row))
		return;
	if (m->rows.cnt >= m->row_max) {
		m->full = true;
		return;
	}
	vec_push(&m->rows, *row);
}

void cfi_rows_put(struct cfi_maker *m, uint32_t pc, const struct cfi_state *st, bool signal)
{
	struct unw_row row = {.pc = pc};
	struct unw_ext x;

	if (m->with_rbx && !signal && rbx_make(st, &x) && ext_index(m, &x, &row.cfa_off)) {
		row.kind = UNW_EXT;
		row_push(m, &row);
		return;
	}
	m->on_rbx |= st->cfa_how == CFA_REG && st->cfa_reg == REG_RBX;
	row = (struct unw_row){.pc = pc};
	if (!signal && plain_row(st, &row)) {
		row_push(m, &row);
		return;
	}
	row = (struct unw_row){.pc = pc};
	if (st->ra.how == RULE_UNDEFINED) {
		row.kind = UNW_LAST;
	} else if (ext_make(st, signal, &x) && ext_index(m, &x, &row.cfa_off)) {
		row.kind = UNW_EXT;
	} else {
		m->odd_cnt++;
		row.cfa_off = 0;
	}
	row_push(m, &row);
}

void cfi_rows_none(struct cfi_maker *m, uint32_t pc)
{
	struct unw_row row = {.pc = pc};

	row_push(m, &row);
}
