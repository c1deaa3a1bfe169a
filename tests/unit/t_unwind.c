/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "symbols/unwind/cfi.h"
#include "symbols/unwind/unwind.h"

enum { TEXT = 0x400000, JIT = 0x700000, STACK = 0x10000, WORDS = 64 };

static struct unw_row rows[] = {
	{.pc = 0x00, .cfa_off = 1, .kind = UNW_RSP}, /* leaf */
	{.pc = 0x10, .cfa_off = 4, .rbp_off = -2, .kind = UNW_RSP | UNW_RBP_SAVED},
	{.pc = 0x20, .cfa_off = 2, .rbp_off = -2, .kind = UNW_RBP | UNW_RBP_SAVED},
	{.pc = 0x30, .kind = UNW_LAST},
	{.pc = 0x40, .kind = UNW_NONE},
	{.pc = 0x50, .cfa_off = 0, .kind = UNW_EXT},
	{.pc = 0x60, .cfa_off = 1, .kind = UNW_EXT},
	{.pc = 0x70, .cfa_off = 2, .kind = UNW_EXT},
	{.pc = 0x80, .cfa_off = 3, .kind = UNW_EXT},
	{.pc = 0x90, .cfa_off = 4, .kind = UNW_EXT},
	{.pc = 0xa0, .cfa_off = 5, .kind = UNW_EXT},
	{.pc = 0xb0, .cfa_off = 6, .kind = UNW_EXT},
	{.pc = 0xc0, .cfa_off = 7, .kind = UNW_EXT},
};
static struct unw_ext exts[] = {
	{.cfa_reg = 7, .ra_base = UNW_B_CFA, .rbp_base = UNW_B_SAME, .flags = UNW_X_PLT,
	 .cfa_off = 8, .ra_off = 11},
	{.cfa_reg = 7, .flags = UNW_X_SIGNAL | UNW_X_DEREF, .cfa_off = 160},
	{.cfa_reg = 6, .ra_base = UNW_B_CFA, .rbp_base = UNW_B_RBP, .flags = UNW_X_DEREF,
	 .cfa_off = -8, .ra_off = -8},
	{.cfa_reg = 7, .ra_base = UNW_B_REG, .rbp_base = UNW_B_SAME, .ra_off = 5},
	{.cfa_reg = 7, .ra_base = UNW_B_CFA, .rbp_base = UNW_B_CFA, .cfa_off = 8, .ra_off = -8,
	 .rbp_off = -16, .flags = UNW_X_DEREF | 1 << UNW_X_ADD},
	{.cfa_reg = 7, .rbp_base = UNW_B_SAME, .cfa_off = 24, .ra_off = -16, .flags = UNW_X_RBX},
	{.cfa_reg = 7, .rbp_base = UNW_B_SAME, .cfa_off = 16, .flags = UNW_X_RBX},
	{.cfa_reg = 3, .rbp_base = UNW_B_SAME, .cfa_off = 16, .ra_off = -16, .flags = UNW_X_RBX},
};

struct world {
	struct cfi_table table;
	uint64_t stack[WORDS]; /* at STACK */
};

static bool find(void *ctx, uint64_t pc, struct unwind_place *ret)
{
	struct world *w = ctx;

	if (pc >= JIT && pc < JIT + 0x1000) {
		*ret = (struct unwind_place){0};
		return true;
	}
	*ret = (struct unwind_place){.table = &w->table, .base = TEXT};
	return pc >= TEXT && pc < TEXT + 0x1000;
}

static bool stack_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct world *w = ctx;
	static const uint8_t call[8] = {0, 0, 0, 0xe8};

	if (addr == TEXT + 0x38 - 8 && len == sizeof(call)) {
		memcpy(buf, call, len);
		return true;
	}
	if (addr < STACK || addr > STACK + sizeof(w->stack) - len)
		return false;
	memcpy(buf, (char *)w->stack + (addr - STACK), len);
	return true;
}

#define AT(i) (STACK + 8 * (uint64_t)(i))

static const struct {
	uint64_t pc, rsp, rbp, rdi;
	uint64_t stack[12];
	enum unw_end end;
	uint64_t want[8];
} walks[] = {
	/* leaf, a frame on rsp that saves rbp, one on rbp, the outermost */
	{TEXT, AT(0), 7, 0,
	 {TEXT + 0x18, 0, 0, AT(8), TEXT + 0x28, 0, 0, 0, AT(11), TEXT + 0x38},
	 UNW_END_OUTERMOST, {TEXT, TEXT + 0x18, TEXT + 0x28, TEXT + 0x38}},
	/* a return address right after the last instruction: looked up one lower */
	{TEXT, AT(0), 0, 0, {TEXT + 0x40}, UNW_END_OUTERMOST, {TEXT, TEXT + 0x40}},
	/* nothing known, nothing there, no address at all */
	{TEXT, AT(0), 0, 0, {TEXT + 0x48}, UNW_END_NO_RULE, {TEXT, TEXT + 0x48}},
	{TEXT, AT(0), 0, 0, {0x123456}, UNW_END_NO_MAP, {TEXT}},
	{TEXT, AT(0), 0, 0, {0}, UNW_END_OUTERMOST, {TEXT}},
	{TEXT, AT(0), 0, 0, {UINT64_C(1) << 47}, UNW_END_BAD_PC, {TEXT}},
	{TEXT, AT(WORDS), 0, 0, {0}, UNW_END_BAD_READ, {TEXT}},
	/* code made at run time: by the frame pointer, up to where that is none */
	{JIT + 5, AT(0), AT(2), 0, {0, 0, AT(4), JIT + 9, 3, TEXT + 0x38}, UNW_END_OUTERMOST,
	 {JIT + 5, JIT + 9, TEXT + 0x38}},
	{JIT + 5, AT(2), AT(1), 0, {0}, UNW_END_NO_RULE, {JIT + 5}},
	/* a place that the table leaves out: as if with a frame pointer, if that leads to a call */
	{TEXT + 0x48, AT(0), AT(1), 0, {0, AT(4), TEXT + 0x38}, UNW_END_OUTERMOST,
	 {TEXT + 0x48, TEXT + 0x38}},
	{TEXT + 0x48, AT(0), AT(1), 0, {0, AT(4), TEXT + 0x28}, UNW_END_NO_RULE, {TEXT + 0x48}},
	/* a PLT before and after it has pushed a number */
	{TEXT + 0x50, AT(0), 0, 0, {TEXT + 0x38}, UNW_END_OUTERMOST, {TEXT + 0x50, TEXT + 0x38}},
	{TEXT + 0x5b, AT(0), 0, 0, {1, TEXT + 0x38}, UNW_END_OUTERMOST,
	 {TEXT + 0x5b, TEXT + 0x38}},
	/* realigned: *(rbp - 8) is the CFA */
	{TEXT + 0x70, AT(0), AT(3), 0, {0, 0, AT(6), 0, 0, TEXT + 0x38}, UNW_END_OUTERMOST,
	 {TEXT + 0x70, TEXT + 0x38}},
	/* the return address in a register: in the first frame, but in no other */
	{TEXT + 0x80, AT(0), 0, TEXT + 0x38, {0}, UNW_END_OUTERMOST,
	 {TEXT + 0x80, TEXT + 0x38}},
	{TEXT, AT(0), 0, TEXT + 0x38, {TEXT + 0x88}, UNW_END_NO_RULE, {TEXT, TEXT + 0x88}},
	/* *(rsp + 8) + 8 */
	{TEXT + 0x90, AT(0), 0, 0, {0, AT(3), 0, TEXT + 0x38}, UNW_END_OUTERMOST,
	 {TEXT + 0x90, TEXT + 0x38}},
	/* CFA on rbx, which one frame above saved and another left alone */
	{TEXT + 0xa0, AT(0), 0, 0,
	 {0, AT(7), TEXT + 0xb4, 0, TEXT + 0xc4, 0, 0, 0, TEXT + 0x38}, UNW_END_OUTERMOST,
	 {TEXT + 0xa0, TEXT + 0xb4, TEXT + 0xc4, TEXT + 0x38}},
	/* ... and one above whose rows do not say */
	{TEXT, AT(0), 0, 0, {TEXT + 0xc4, 0, TEXT + 0x38}, UNW_END_NO_RULE, {TEXT, TEXT + 0xc4}},
	/* a stack that leads back into itself */
	{TEXT + 0x20, AT(0), AT(0), 0, {AT(0), TEXT + 0x28}, UNW_END_BAD_READ,
	 {TEXT + 0x20, TEXT + 0x28}},
};

static struct unwind_ops ops_of(struct world *w)
{
	w->table = (struct cfi_table){.rows = rows,
				      .row_cnt = sizeof(rows) / sizeof(rows[0]),
				      .exts = exts,
				      .ext_cnt = sizeof(exts) / sizeof(exts[0]),
				      .text_len = 0x1000};
	return (struct unwind_ops){.ctx = w, .find = find, .read = stack_read};
}

TEST(unwind_walks)
{
	for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		struct world w = {0};
		struct unwind_ops ops = ops_of(&w);
		struct unwind_regs regs = {.pc = walks[i].pc};
		struct unwind_frame frames[8];
		enum unw_end end;
		size_t cnt, want = 0;

		ROW(i);
		regs.reg[5] = walks[i].rdi;
		regs.reg[6] = walks[i].rbp;
		regs.reg[7] = walks[i].rsp;
		memcpy(w.stack, walks[i].stack, sizeof(walks[i].stack));
		end = unwind_walk(&ops, &regs, frames, 8, &cnt);
		while (walks[i].want[want])
			want++;
		for (size_t f = 0; f < want && f < cnt; f++)
			EQ_U(frames[f].pc, walks[i].want[f]);
		EQ_U(cnt, want);
		EQ_I(end, walks[i].end);
	}
}

/* What a handler interrupted, on a stack below its own, stands where it stands. */
TEST(unwind_over_a_signal)
{
	struct world w = {0};
	struct unwind_ops ops = ops_of(&w);
	struct unwind_regs regs = {.pc = TEXT};
	struct unwind_frame frames[8];
	size_t cnt;

	regs.reg[7] = AT(20);
	w.stack[20] = TEXT + 0x62;	    /* the handler's return: the ucontext follows */
	w.stack[21 + 5 + 8] = TEXT + 0x38;  /* rdi */
	w.stack[21 + 5 + 10] = AT(40);	    /* rbp */
	w.stack[21 + 5 + 15] = AT(2);	    /* rsp */
	w.stack[21 + 5 + 16] = TEXT + 0x80; /* rip: the first byte of what needs rdi */
	EQ_I(unwind_walk(&ops, &regs, frames, 8, &cnt), UNW_END_OUTERMOST);
	EQ_U(cnt, 4);
	OK(frames[0].exact && !frames[1].exact && frames[2].exact && !frames[3].exact);
	EQ_U(frames[2].pc, TEXT + 0x80);
	EQ_U(frames[3].pc, TEXT + 0x38);
	EQ_I(unwind_walk(&ops, &regs, frames, 3, &cnt), UNW_END_DEPTH);
	EQ_U(cnt, 3);
}
