/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything read is hostile: the stack must grow from frame to frame, a
 * caller must be executable, and the walk ends at the caller's bound.
 */
#include "symbols/unwind/unwind.h"

#include <string.h>

#include "symbols/unwind/cfi.h"

enum { REG_RBX = 3, REG_RBP = 6, REG_RSP = 7 };

#define USER_END (UINT64_C(1) << 47)
#define FRAME_MAX (UINT64_C(1) << 20) /* a frame pointer farther away is none */

struct walk {
	const struct unwind_ops *ops;
	uint64_t reg[UNWIND_REG_CNT]; /* rsp and rbp always, all where exact */
	uint64_t pc;
	bool exact;
	bool has_rbx; /* its value is known, though not exact */
	bool guessed;
	enum unw_end end;
};

static bool stop(struct walk *w, enum unw_end end)
{
	w->end = end;
	return false;
}

static bool read_u64(const struct walk *w, uint64_t addr, uint64_t *ret)
{
	return w->ops->read(w->ops->ctx, addr, ret, sizeof(*ret));
}

/* On to the caller.  Only a frame that has pushed nothing can end where it began. */
static bool next(struct walk *w, uint64_t pc, uint64_t rsp, uint64_t rbp)
{
	if (rsp < w->reg[REG_RSP] || (rsp == w->reg[REG_RSP] && !w->exact))
		return stop(w, UNW_END_BAD_READ);
	if (!pc)
		return stop(w, UNW_END_OUTERMOST);
	if (pc >= USER_END)
		return stop(w, UNW_END_BAD_PC);
	w->pc = pc;
	w->reg[REG_RSP] = rsp;
	w->reg[REG_RBP] = rbp;
	w->exact = w->has_rbx = false;
	return true;
}

static bool step_fp(struct walk *w)
{
	uint64_t rbp = w->reg[REG_RBP], rsp = w->reg[REG_RSP], pair[2];

	w->guessed = true;
	if (rbp < rsp || rbp - rsp > FRAME_MAX || rbp % 8)
		return stop(w, UNW_END_NO_RULE);
	if (!w->ops->read(w->ops->ctx, rbp, pair, sizeof(pair)))
		return stop(w, UNW_END_BAD_READ);
	return next(w, pair[1], rbp + 16, pair[0]);
}

/* An indirect near call (ff /2) that is len bytes long and ends where code does? */
static bool is_call(uint64_t code, unsigned int len)
{
	return (code >> (8 - len) * 8 & 0x38ff) == 0x10ff;
}

static bool follows_call(const struct walk *w, uint64_t pc)
{
	uint64_t code;

	if (!read_u64(w, pc - 8, &code))
		return false;
	return (code >> 24 & 0xff) == 0xe8 || is_call(code, 2) || is_call(code, 3) ||
	       is_call(code, 4) || is_call(code, 6) || is_call(code, 7);
}

/*
 * Code in a file whose tables leave it out: assembly, or what an engine
 * compiled in advance, as V8 its builtins.  The latter keeps frame pointers.
 */
static bool step_guess(struct walk *w)
{
	return step_fp(w) && (follows_call(w, w->pc) || stop(w, UNW_END_NO_RULE));
}

static bool step_row(struct walk *w, const struct unw_row *row)
{
	uint8_t reg = (row->kind & UNW_CFA_MASK) == UNW_RSP ? REG_RSP : REG_RBP;
	uint64_t cfa = w->reg[reg] + (uint64_t)row->cfa_off * 8, rbp = w->reg[REG_RBP], pc;

	if (row->kind & UNW_RBP_SAVED &&
	    !read_u64(w, cfa + (uint64_t)(int64_t)(row->rbp_off * 8), &rbp))
		return stop(w, UNW_END_BAD_READ);
	if (!read_u64(w, cfa - 8, &pc))
		return stop(w, UNW_END_BAD_READ);
	return next(w, pc, cfa, rbp);
}

/* struct ucontext up to its registers, and those, in the kernel's order. */
struct sigframe {
	uint64_t head[5];
	uint64_t r8_15[8];
	uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
};

static bool step_signal(struct walk *w)
{
	struct sigframe f;

	if (!w->ops->read(w->ops->ctx, w->reg[REG_RSP], &f, sizeof(f)))
		return stop(w, UNW_END_BAD_READ);
	if (!f.rip || f.rip >= USER_END)
		return stop(w, UNW_END_BAD_PC);
	w->reg[0] = f.rax;
	w->reg[1] = f.rdx;
	w->reg[2] = f.rcx;
	w->reg[3] = f.rbx;
	w->reg[4] = f.rsi;
	w->reg[5] = f.rdi;
	w->reg[REG_RBP] = f.rbp;
	w->reg[REG_RSP] = f.rsp; /* maybe another stack, below this one */
	memcpy(&w->reg[8], f.r8_15, sizeof(f.r8_15));
	w->pc = f.rip;
	w->exact = true;
	return true;
}

static bool reg_known(const struct walk *w, uint32_t reg)
{
	return reg == REG_RSP || reg == REG_RBP || (w->exact && reg < UNWIND_REG_CNT) ||
	       (w->has_rbx && reg == REG_RBX);
}

/* A register of the caller's by its rule; false with the reason set. */
static bool place_read(struct walk *w, uint8_t base, int32_t off, uint64_t cfa, uint64_t *ret)
{
	uint64_t addr = cfa;

	switch (base) {
	case UNW_B_SAME:
		return true;
	case UNW_B_REG:
		if (!reg_known(w, (uint32_t)off))
			return stop(w, UNW_END_NO_RULE);
		*ret = w->reg[off];
		return true;
	case UNW_B_RSP:
		addr = w->reg[REG_RSP];
		break;
	case UNW_B_RBP:
		addr = w->reg[REG_RBP];
		break;
	}
	return read_u64(w, addr + (uint64_t)(int64_t)off, ret) || stop(w, UNW_END_BAD_READ);
}

/* As most rows, and rbx is followed besides. */
static bool step_rbx(struct walk *w, const struct unw_ext *x, uint64_t cfa, uint64_t rbp)
{
	uint64_t rbx = w->reg[REG_RBX], pc;
	bool has_rbx = reg_known(w, REG_RBX);

	if (x->ra_off)
		has_rbx = read_u64(w, cfa + (uint64_t)(int64_t)x->ra_off, &rbx);
	if (!read_u64(w, cfa - 8, &pc))
		return stop(w, UNW_END_BAD_READ);
	if (!next(w, pc, cfa, rbp))
		return false;
	w->reg[REG_RBX] = rbx;
	w->has_rbx = has_rbx;
	return true;
}

static bool step_ext(struct walk *w, const struct unw_ext *x, uint64_t off)
{
	uint64_t cfa, pc = 0, rbp = w->reg[REG_RBP];
	int32_t ra_off = x->ra_off;

	if (x->flags & UNW_X_SIGNAL)
		return step_signal(w);
	if (!reg_known(w, x->cfa_reg))
		return stop(w, UNW_END_NO_RULE);
	cfa = w->reg[x->cfa_reg] + (uint64_t)(int64_t)x->cfa_off;
	if (x->flags & UNW_X_DEREF) {
		if (!read_u64(w, cfa, &cfa))
			return stop(w, UNW_END_BAD_READ);
		cfa += (uint64_t)(x->flags >> UNW_X_ADD) * 8;
	}
	if (x->flags & UNW_X_PLT) {
		cfa += (off & 15) >= (uint32_t)x->ra_off ? 8 : 0;
		ra_off = -8;
	}
	if (!place_read(w, x->rbp_base, x->rbp_off, cfa, &rbp))
		return false;
	if (x->flags & UNW_X_RBX)
		return step_rbx(w, x, cfa, rbp);
	if (!place_read(w, x->ra_base, ra_off, cfa, &pc))
		return false;
	return next(w, pc, cfa, rbp);
}

static bool step_table(struct walk *w, const struct cfi_table *t, uint64_t off)
{
	const struct unw_row *row = off < t->text_len ? cfi_row(t, (uint32_t)off) : NULL;

	switch (row ? row->kind & UNW_CFA_MASK : UNW_NONE) {
	case UNW_RSP:
	case UNW_RBP:
		return step_row(w, row);
	case UNW_EXT:
		return step_ext(w, &t->exts[row->cfa_off], off);
	case UNW_LAST:
		return stop(w, UNW_END_OUTERMOST);
	}
	return step_guess(w);
}

enum unw_end unwind_walk(const struct unwind_ops *ops, const struct unwind_regs *regs,
			 struct unwind_frame *ret_frames, size_t max, size_t *ret_cnt)
{
	struct walk w = {.ops = ops, .pc = regs->pc, .exact = true};
	size_t cnt = 0;
	bool more = true;

	memcpy(w.reg, regs->reg, sizeof(w.reg));
	while (more) {
		struct unwind_place place = {0};
		uint64_t pc = w.exact ? w.pc : w.pc - 1;

		if (cnt == max) {
			w.end = UNW_END_DEPTH;
			break;
		}
		if (!ops->find(ops->ctx, pc, &place)) {
			w.end = UNW_END_NO_MAP;
			break;
		}
		ret_frames[cnt] = (struct unwind_frame){.pc = w.pc, .exact = w.exact};
		w.guessed = false;
		more = place.table ? step_table(&w, place.table, pc - place.base) : step_fp(&w);
		ret_frames[cnt].guessed = w.guessed;
		ret_frames[cnt].cfa = more ? w.reg[REG_RSP] : 0;
		cnt++;
	}
	*ret_cnt = cnt;
	return w.end;
}
