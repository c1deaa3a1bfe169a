/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions in call frame information come from few hands, each of which
 * writes its own always in the same way:
 *
 *	linkers       the CFA in .plt, which depends on the pc in the entry
 *	glibc         __restore_rt: all registers from the ucontext at rsp
 *	GCC           a realigned stack: CFA = *(rbp - 8), registers at rbp + N
 *	OpenSSL       CFA = *(rsp + N) + 8
 *
 * So they are recognised and not evaluated, which the kernel side could not.
 */
#include <string.h>

#include "symbols/unwind/cfi_int.h"

enum { /* DWARF 5, 7.7.1 */
	OP_DEREF = 0x06,
	OP_PLUS_UCONST = 0x23,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
};

/* DW_OP_bregN off, as which most begin. */
static bool breg_read(struct cfi_bytes *b, uint8_t *ret_reg, int32_t *ret_off)
{
	uint64_t op = cfi_uint(b, 1), reg;
	int64_t off;

	if (op >= OP_BREG0 && op <= OP_BREG31)
		reg = op - OP_BREG0;
	else if (op == OP_BREGX)
		reg = cfi_uleb(b);
	else
		return false;
	off = cfi_sleb(b);
	if (b->bad || reg >= REG_RA || off < INT32_MIN || off > INT32_MAX)
		return false;
	*ret_reg = (uint8_t)reg;
	*ret_off = (int32_t)off;
	return true;
}

/* rsp + 8 + ((rip & 15) >= N) * 8; N is where in its entry a lazy one has pushed its number. */
static bool plt_match(struct cfi_bytes b, struct cfi_state *st)
{
	static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
	static const uint8_t tail[] = {0x2a, 0x33, 0x24, 0x22};
	enum { LIT0 = 0x30, LIT15 = 0x3f };
	uint8_t at;

	if ((size_t)(b.end - b.at) != sizeof(head) + 1 + sizeof(tail) ||
	    memcmp(b.at, head, sizeof(head)) != 0 ||
	    memcmp(b.at + sizeof(head) + 1, tail, sizeof(tail)) != 0)
		return false;
	at = b.at[sizeof(head)];
	if (at < LIT0 || at > LIT15)
		return false;
	st->cfa_how = CFA_PLT;
	st->cfa_reg = REG_RSP;
	st->cfa_off = 8;
	st->cfa_add = at - LIT0;
	return true;
}

void cfi_expr_cfa(struct cfi_bytes b, struct cfi_state *st)
{
	uint64_t add = 0;

	if (plt_match(b, st))
		return;
	st->cfa_how = CFA_ODD;
	st->cfa_add = 0;
	if (!breg_read(&b, &st->cfa_reg, &st->cfa_off))
		return;
	if (b.at == b.end) {
		st->cfa_how = CFA_REG;
		return;
	}
	if (cfi_uint(&b, 1) != OP_DEREF)
		return;
	if (b.at < b.end) {
		if (cfi_uint(&b, 1) != OP_PLUS_UCONST)
			return;
		add = cfi_uleb(&b);
	}
	if (b.bad || b.at < b.end || add > INT16_MAX)
		return;
	st->cfa_how = CFA_DEREF;
	st->cfa_add = (int32_t)add;
}

struct cfi_rule cfi_expr_rule(struct cfi_bytes b)
{
	struct cfi_rule r = {.how = RULE_AT_REG};

	if (!breg_read(&b, &r.reg, &r.off) || b.at < b.end)
		r.how = RULE_ODD;
	return r;
}
