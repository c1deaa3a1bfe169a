/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs of CIEs and FDEs.  Of the registers only rsp, rbp, rbx
 * and the return address are followed; rules of the others are read and dropped.
 */
#include "symbols/unwind/cfi_int.h"

enum { /* DWARF 5, 7.24; the first three have an operand in their low six bits */
	CFA_advance_loc = 0x40,
	CFA_offset = 0x80,
	CFA_restore = 0xc0,
	CFA_nop = 0x00,
	CFA_set_loc = 0x01,
	CFA_advance_loc1 = 0x02,
	CFA_advance_loc2 = 0x03,
	CFA_advance_loc4 = 0x04,
	CFA_offset_extended = 0x05,
	CFA_restore_extended = 0x06,
	CFA_undefined = 0x07,
	CFA_same_value = 0x08,
	CFA_register = 0x09,
	CFA_remember_state = 0x0a,
	CFA_restore_state = 0x0b,
	CFA_def_cfa = 0x0c,
	CFA_def_cfa_register = 0x0d,
	CFA_def_cfa_offset = 0x0e,
	CFA_def_cfa_expression = 0x0f,
	CFA_expression = 0x10,
	CFA_offset_extended_sf = 0x11,
	CFA_def_cfa_sf = 0x12,
	CFA_def_cfa_offset_sf = 0x13,
	CFA_val_offset = 0x14,
	CFA_val_offset_sf = 0x15,
	CFA_val_expression = 0x16,
	CFA_MIPS_advance_loc8 = 0x1d,
	CFA_GNU_args_size = 0x2e,
	CFA_GNU_negative_offset_extended = 0x2f,
};

enum { REMEMBER_MAX = 16 }; /* compilers nest one or two */

struct prog {
	struct cfi_run *run;
	struct cfi_bytes b;
	struct cfi_state *st;
	struct cfi_state kept[REMEMBER_MAX];
	size_t kept_cnt;
};

static struct cfi_rule *rule_of(struct cfi_state *st, uint64_t reg)
{
	switch (reg) {
	case REG_RBX:
		return &st->rbx;
	case REG_RBP:
		return &st->rbp;
	case REG_RSP:
		return &st->rsp;
	case REG_RA:
		return &st->ra;
	}
	return NULL;
}

static void rule_put(struct prog *p, uint64_t reg, struct cfi_rule rule)
{
	struct cfi_rule *r = rule_of(p->st, reg);

	if (r)
		*r = rule;
}

/* Offsets are multiplied first: wrapping is not undefined, what is out of range is odd. */
static int64_t times_data_align(const struct prog *p, uint64_t v)
{
	return (int64_t)(v * (uint64_t)p->run->cie->data_align);
}

static struct cfi_rule rule_at_cfa(int64_t off)
{
	if (off < INT32_MIN || off > INT32_MAX)
		return (struct cfi_rule){.how = RULE_ODD};
	return (struct cfi_rule){.how = RULE_AT_CFA, .off = (int32_t)off};
}

/* The rules so far hold up to here; false when pc would go back or out. */
static bool advance(struct prog *p, uint64_t delta)
{
	struct cfi_run *run = p->run;

	if (delta > UINT32_MAX)
		return false;
	if (delta == 0 || run->pc >= run->limit)
		return true;
	if (run->m)
		cfi_rows_put(run->m, run->pc, p->st, run->cie->signal);
	run->pc = delta > run->limit - run->pc ? run->limit : run->pc + (uint32_t)delta;
	return true;
}

static bool advance_units(struct prog *p, uint64_t units)
{
	return advance(p, (uint32_t)units * p->run->cie->code_align);
}

static bool set_loc(struct prog *p)
{
	const struct cfi_cie *cie = p->run->cie;
	uint64_t to = cfi_pointer(cie->sec, &p->b, cie->fde_enc);

	if (!p->run->m || to < p->run->m->base_vaddr)
		return false;
	to -= p->run->m->base_vaddr;
	return to >= p->run->pc && advance(p, to - p->run->pc);
}

static void cfa_put(struct cfi_state *st, uint64_t reg, int64_t off)
{
	bool fits = reg < REG_RA && off >= INT32_MIN && off <= INT32_MAX;

	st->cfa_how = fits ? CFA_REG : CFA_ODD;
	st->cfa_reg = fits ? (uint8_t)reg : 0;
	st->cfa_off = fits ? (int32_t)off : 0;
	st->cfa_add = 0;
}

/* Only of a CFA that is a register and an offset can one be changed alone. */
static void cfa_off_put(struct cfi_state *st, int64_t off)
{
	if (st->cfa_how == CFA_REG)
		cfa_put(st, st->cfa_reg, off);
	else
		st->cfa_how = CFA_ODD;
}

static struct cfi_bytes block_read(struct prog *p)
{
	uint64_t len = cfi_uleb(&p->b);
	struct cfi_bytes block = {p->b.at, p->b.at, false};

	cfi_skip(&p->b, len);
	block.end = p->b.at;
	return block;
}

static void restore(struct prog *p, uint64_t reg)
{
	const struct cfi_rule *was = rule_of((struct cfi_state *)&p->run->cie->init, reg);

	if (was)
		rule_put(p, reg, *was);
}

static bool state_ops(struct prog *p, uint8_t op)
{
	if (op == CFA_remember_state) {
		if (p->kept_cnt == REMEMBER_MAX)
			return false;
		p->kept[p->kept_cnt++] = *p->st;
		return true;
	}
	if (p->kept_cnt == 0)
		return false;
	*p->st = p->kept[--p->kept_cnt];
	return true;
}

/* flat table */
static bool cfa_ops(struct prog *p, uint8_t op)
{
	struct cfi_state *st = p->st;
	uint64_t reg;

	switch (op) {
	case CFA_def_cfa:
		reg = cfi_uleb(&p->b);
		cfa_put(st, reg, (int64_t)cfi_uleb(&p->b));
		return true;
	case CFA_def_cfa_sf:
		reg = cfi_uleb(&p->b);
		cfa_put(st, reg, times_data_align(p, (uint64_t)cfi_sleb(&p->b)));
		return true;
	case CFA_def_cfa_register:
		reg = cfi_uleb(&p->b);
		if (st->cfa_how == CFA_REG)
			cfa_put(st, reg, st->cfa_off);
		else
			st->cfa_how = CFA_ODD;
		return true;
	case CFA_def_cfa_offset:
		cfa_off_put(st, (int64_t)cfi_uleb(&p->b));
		return true;
	case CFA_def_cfa_offset_sf:
		cfa_off_put(st, times_data_align(p, (uint64_t)cfi_sleb(&p->b)));
		return true;
	case CFA_def_cfa_expression:
		cfi_expr_cfa(block_read(p), st);
		return true;
	}
	return false;
}

/* flat table */
static bool rule_ops(struct prog *p, uint8_t op)
{
	uint64_t reg = cfi_uleb(&p->b), from;

	switch (op) {
	case CFA_offset_extended:
		rule_put(p, reg, rule_at_cfa(times_data_align(p, cfi_uleb(&p->b))));
		return true;
	case CFA_offset_extended_sf:
		rule_put(p, reg, rule_at_cfa(times_data_align(p, (uint64_t)cfi_sleb(&p->b))));
		return true;
	case CFA_GNU_negative_offset_extended:
		rule_put(p, reg, rule_at_cfa(times_data_align(p, 0 - cfi_uleb(&p->b))));
		return true;
	case CFA_restore_extended:
		restore(p, reg);
		return true;
	case CFA_undefined:
		rule_put(p, reg, (struct cfi_rule){.how = RULE_UNDEFINED});
		return true;
	case CFA_same_value:
		rule_put(p, reg, (struct cfi_rule){.how = RULE_SAME});
		return true;
	case CFA_register:
		from = cfi_uleb(&p->b);
		rule_put(p, reg, (struct cfi_rule){.how = from < REG_RA ? RULE_REG : RULE_ODD,
						   .reg = (uint8_t)from});
		return true;
	case CFA_expression:
		rule_put(p, reg, cfi_expr_rule(block_read(p)));
		return true;
	case CFA_val_expression:
		block_read(p);
		rule_put(p, reg, (struct cfi_rule){.how = RULE_ODD});
		return true;
	case CFA_val_offset:
	case CFA_val_offset_sf:
		/* a value, not a place: of rsp, "CFA + 0" is what holds anyway */
		from = cfi_uleb(&p->b);
		rule_put(p, reg, (struct cfi_rule){.how = reg == REG_RSP && !from ? RULE_UNSET
										  : RULE_ODD});
		return true;
	}
	return false;
}

/* flat table */
static bool step(struct prog *p, uint8_t op)
{
	uint8_t low = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_advance_loc:
		return advance_units(p, low);
	case CFA_offset:
		rule_put(p, low, rule_at_cfa(times_data_align(p, cfi_uleb(&p->b))));
		return true;
	case CFA_restore:
		restore(p, low);
		return true;
	}
	switch (op) {
	case CFA_nop:
		return true;
	case CFA_set_loc:
		return set_loc(p);
	case CFA_advance_loc1:
		return advance_units(p, cfi_uint(&p->b, 1));
	case CFA_advance_loc2:
		return advance_units(p, cfi_uint(&p->b, 2));
	case CFA_advance_loc4:
		return advance_units(p, cfi_uint(&p->b, 4));
	case CFA_MIPS_advance_loc8:
		return advance(p, cfi_uint(&p->b, 8));
	case CFA_remember_state:
	case CFA_restore_state:
		return state_ops(p, op);
	case CFA_GNU_args_size: /* what a call pushed; a landing pad's business */
		cfi_uleb(&p->b);
		return true;
	}
	return (op >= CFA_def_cfa && op <= CFA_def_cfa_expression) || op == CFA_def_cfa_sf ||
			       op == CFA_def_cfa_offset_sf
		       ? cfa_ops(p, op)
		       : rule_ops(p, op);
}

bool cfi_prog_run(struct cfi_run *run, struct cfi_bytes b, struct cfi_state *st)
{
	struct prog p; /* not zeroed: kept[] is large and filled before use */

	p.run = run;
	p.b = b;
	p.st = st;
	p.kept_cnt = 0;
	while (p.b.at < p.b.end)
		if (!step(&p, *p.b.at++) || p.b.bad)
			return false;
	if (run->m && run->pc < run->limit)
		cfi_rows_put(run->m, run->pc, st, run->cie->signal);
	return true;
}
