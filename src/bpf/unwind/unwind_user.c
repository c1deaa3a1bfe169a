/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user stack of the current task, without frame pointers: each step finds
 * the mapping of the program counter, in its module's table the rule of that
 * place, and by it the caller's registers.
 *
 * The tables come from user space (wire/stacks.h).  Where a mapping has none
 * (code made at run time, a file without call frame information) the frame
 * pointer is followed.  All that is read of the task is hostile: the stack
 * pointer must grow from frame to frame, a caller must lie in an executable
 * mapping, and the walk ends after UNW_USER_MAX frames.
 *
 * One step is a global function: the verifier looks at it once, on its own,
 * and not again at each of the turns of the loop around it; so is that loop.
 */
#include "wire/stacks.h"

#define UNW_PAGE_SHIFT 12
#define UNW_ROW_STEPS 9	 /* UNW_PAGE_ROWS_MAX is less than 2 to that */
#define UNW_FP_MAX (1ull << 20) /* a frame larger than this is none */
#define USER_END (1ull << 47)

enum { REGS_NONE = 0, REGS_ALL = 1, REGS_RBX = 2 }; /* beside rsp and rbp */
enum { REG_RBX = 3, REG_RBP = 6, REG_RSP = 7, REG_CNT = 16 };

/* Frame that the kernel saved before it called the handler of a signal; sp is at its ucontext. */
struct sigframe {
	u64 head[5];
	u64 r8_15[8];
	u64 rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
};

struct rt_walk {
	struct rt_shape shape;
	u32 at;	  /* where the next word goes */
	u32 fp;	  /* index of the next frame pointer */
	u64 frame; /* the next one's address */
	u64 elem[RT_ELEM_WORDS];
};

struct unw_state {
	u64 pc, sp, bp;
	u64 hash;
	u64 first_sp;
	u64 regs[REG_CNT]; /* by DWARF number; known says which are good */
	u32 set;
	u32 map;	/* index of the mapping of the frame before */
	u32 cnt;
	u8 exact;	/* pc is where it stands, not where it will return to */
	u8 known;	/* REGS_* */
	u8 end;		/* enum unw_end */
	u8 own;		/* frames that mean nothing in another process */
	u32 guessed;	/* pc was found by the frame pointer */
	u32 fp_cnt;	/* frames that were left by theirs */
	u32 fresh;	/* no set: the process, whose mappings are in hu_fresh */
	struct unw_exe exe; /* ... or, with an inode, in hu_programs */
	u64 code_lo, code_len, mmap_base;
	u64 slot[2];	/* where two of the return addresses lie, 0 none */
	u64 slot_pc[2];
	struct sigframe sig; /* here, for a program's own stack is small */
	struct rt_walk rt;
	u64 fps[UNW_USER_MAX];
	u8 fp_at[UNW_USER_MAX]; /* ... and their indices */
	struct wire_stack rec;
};

struct hu_modules_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNW_MODULE_MAX);
	__type(key, u32);
	__type(value, struct unw_module);
} hu_modules SEC(".maps");

struct unw_table_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct unw_chunk));
};

struct hu_tables_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNW_MODULE_MAX);
	__type(key, u32);
	__array(values, struct unw_table_map);
} hu_tables SEC(".maps");

struct unw_set_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct unw_set));
};

struct hu_sets_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNW_SET_MAX);
	__type(key, u32);
	__array(values, struct unw_set_map);
} hu_sets SEC(".maps");

/* x & mask, which the compiler may not find needless: verifiers know less of x than it does. */
#define MASKED(x, mask)                                                     \
	({                                                                  \
		u64 masked_ = (x);                                          \
		asm volatile("%0 &= %1" : "+r"(masked_) : "i"(mask));       \
		masked_;                                                    \
	})

#include "bpf/fresh.c"

/* Index of the last mapping of set that begins at pc or below.  Without a branch per step. */
static __always_inline u32 map_find(const struct unw_set *set, u64 pc)
{
	u32 at = 0, half;
	s64 less;

#pragma unroll
	for (half = UNW_MAPS_MAX / 2; half; half /= 2) {
		less = (s64)(set->maps[MASKED(at + half, UNW_MAPS_MAX - 1)].start - pc - 1) >> 63;
		at += half & less;
	}
	return MASKED(at, UNW_MAPS_MAX - 1);
}

/* The set that set lists for pc. */
static __always_inline u32 part_find(const struct unw_set *set, u64 pc)
{
	u32 at = 0, half;
	s64 less;

#pragma unroll
	for (half = UNW_PARTS_MAX / 2; half; half /= 2) {
		less = (s64)(set->parts[MASKED(at + half, UNW_PARTS_MAX - 1)].start - pc - 1) >> 63;
		at += half & less;
	}
	return set->parts[MASKED(at, UNW_PARTS_MAX - 1)].set;
}

static __always_inline struct unw_set *set_at(u32 id)
{
	void *inner = bpf_map_lookup_elem(&hu_sets, &id);
	u32 zero = 0;

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

static __always_inline bool map_holds(const struct unw_map *m, u64 pc)
{
	return pc >= m->start && pc - m->start < (u64)m->page_cnt << UNW_PAGE_SHIFT;
}

/* *pc becomes the address that the mapping's base counts from. */
static __always_inline struct unw_map *map_of(struct unw_state *st, u64 *pc_at)
{
	u64 pc = *pc_at;
	u32 at = MASKED(st->map, UNW_MAPS_MAX - 1);
	struct unw_set *set;

	if (st->fresh)
		return fresh_map_of(st, pc_at);
	set = set_at(st->set);
	if (set && set->part_cnt)
		set = set_at(part_find(set, pc));
	if (!set || set->part_cnt)
		return NULL;
	if (map_holds(&set->maps[at], pc))
		return &set->maps[at];
	at = map_find(set, pc);
	st->map = at;
	return map_holds(&set->maps[at], pc) ? &set->maps[at] : NULL;
}

static __always_inline struct unw_chunk *chunk_of(void *table, u32 idx)
{
	return bpf_map_lookup_elem(table, &idx);
}

/* The rule of the place off in module; its kind is UNW_NONE where there is none. */
static __always_inline void row_find(const struct unw_module *mod, void *table, u32 off,
				     struct unw_row *ret)
{
	u32 page = off >> (mod->page_shift & 31), entry, at, n, i;
	const struct unw_row *row;
	struct unw_chunk *c;
	s64 less;

	if (page >= mod->page_cnt)
		return;
	c = chunk_of(table, page / UNW_CHUNK_PAGES);
	if (!c)
		return;
	entry = c->pages[MASKED(page, UNW_CHUNK_PAGES - 1)];
	at = entry & UNW_SLOT_MASK;
	n = entry >> (32 - UNW_PAGE_ROWS_BITS);
	c = chunk_of(table, mod->row_chunk + at / UNW_CHUNK_ROWS);
	if (!c || !n)
		return;
	for (i = 0; i < UNW_ROW_STEPS && n > 1; i++) {
		u32 half = n / 2;

		less = ((s64)c->rows[MASKED(at + half, UNW_CHUNK_ROWS - 1)].pc - off - 1) >> 63;
		at += half & less;
		n -= half;
	}
	row = &c->rows[MASKED(at, UNW_CHUNK_ROWS - 1)];
	if (row->pc <= off)
		*ret = *row;
}

static __always_inline bool read_user(u64 *ret, u64 addr)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)addr) == 0;
}

static __always_inline int unw_stop(struct unw_state *st, u8 end)
{
	st->end = end;
	return 1;
}

/* The caller's registers are known: on to its frame. */
static __always_inline int unw_next(struct unw_state *st, u64 pc, u64 sp, u64 bp, u64 slot)
{
	/* only a frame that has pushed nothing can end where it began */
	if (sp < st->sp || (sp == st->sp && !st->exact))
		return unw_stop(st, UNW_END_BAD_READ);
	if (!pc)
		return unw_stop(st, UNW_END_OUTERMOST);
	if (pc >= USER_END)
		return unw_stop(st, UNW_END_BAD_PC);
	if (st->cnt == 2) {
		st->slot[0] = slot;
		st->slot_pc[0] = pc;
	} else if (st->cnt == 5) {
		st->slot[1] = slot;
		st->slot_pc[1] = pc;
	}
	st->pc = pc;
	st->sp = sp;
	st->bp = bp;
	st->exact = st->known = 0;
	st->guessed = 0;
	return 0;
}

static __always_inline int step_fp(struct unw_state *st)
{
	u32 n = st->fp_cnt;
	u64 two[2];
	int end;

	if (st->bp < st->sp || st->bp - st->sp > UNW_FP_MAX || st->bp & 7)
		return unw_stop(st, UNW_END_NO_RULE);
	if (bpf_probe_read_user(two, sizeof(two), (void *)st->bp))
		return unw_stop(st, UNW_END_BAD_READ);
	if (n < UNW_USER_MAX) {
		st->fps[n] = st->bp;
		st->fp_at[n] = st->cnt - 1;
		st->fp_cnt = n + 1;
	}
	end = unw_next(st, two[1], st->bp + 16, two[0], st->bp + 8);
	st->guessed = 1;
	return end;
}

static __always_inline bool is_call(u64 code, u32 len)
{
	u32 at = (code >> (8 - len) * 8) & 0xffff; /* opcode and ModRM: near call by reference */

	return (at & 0x38ff) == 0x10ff;
}

/* Does the instruction that ends at pc call something? */
static __always_inline bool follows_call(u64 pc)
{
	u64 code;

	if (!read_user(&code, pc - 8))
		return false;
	return (code >> 24 & 0xff) == 0xe8 || is_call(code, 2) || is_call(code, 3) ||
	       is_call(code, 4) || is_call(code, 6) || is_call(code, 7);
}

/*
 * Code in a file whose tables leave it out: assembly, or what an engine
 * compiled in advance.  The latter keeps frame pointers; that rbp is one must
 * show in the code that it leads to.
 */
static __always_inline int step_guess(struct unw_state *st)
{
	int end = step_fp(st);

	return end || follows_call(st->pc) ? end : unw_stop(st, UNW_END_NO_RULE);
}

/* Most frames: the CFA is at rsp or rbp, the caller's rbp saved beside the return address. */
static __always_inline int step_row(struct unw_state *st, const struct unw_row *row)
{
	u32 kind = row->kind & UNW_CFA_MASK;
	u64 cfa = (kind == UNW_RBP ? st->bp : st->sp) + row->cfa_off * 8;
	u64 two[2], bp = st->bp;

	if (row->kind & UNW_RBP_SAVED) {
		if (row->rbp_off == -2) {
			if (bpf_probe_read_user(two, sizeof(two), (void *)(cfa - 16)))
				return unw_stop(st, UNW_END_BAD_READ);
			return unw_next(st, two[1], cfa, two[0], cfa - 8);
		}
		if (!read_user(&bp, cfa + row->rbp_off * 8))
			return unw_stop(st, UNW_END_BAD_READ);
	}
	if (!read_user(&two[1], cfa - 8))
		return unw_stop(st, UNW_END_BAD_READ);
	return unw_next(st, two[1], cfa, bp, cfa - 8);
}

static __always_inline int step_signal(struct unw_state *st)
{
	struct sigframe *f = &st->sig;

	if (bpf_probe_read_user(f, sizeof(*f), (void *)st->sp))
		return unw_stop(st, UNW_END_BAD_READ);
	if (!f->rip || f->rip >= USER_END)
		return unw_stop(st, UNW_END_BAD_PC);
	__builtin_memcpy(&st->regs[8], f->r8_15, sizeof(f->r8_15));
	st->regs[0] = f->rax;
	st->regs[1] = f->rdx;
	st->regs[2] = f->rcx;
	st->regs[REG_RBX] = f->rbx;
	st->regs[4] = f->rsi;
	st->regs[5] = f->rdi;
	st->pc = f->rip;
	st->sp = f->rsp; /* another stack, maybe below this one */
	st->bp = f->rbp;
	st->exact = 1;
	st->known = REGS_ALL;
	return 0;
}

/* Reads a register of the caller; *ret_slot is where it lies, 0 in a register. */
static __always_inline bool ext_reg(const struct unw_state *st, u8 base, s32 off, u64 cfa, u64 *ret,
				    u64 *ret_slot)
{
	u64 at = cfa;

	if (base == UNW_B_REG) {
		*ret = st->regs[MASKED(off, REG_CNT - 1)];
		*ret_slot = 0;
		return st->known == REGS_ALL;
	}
	if (base == UNW_B_RSP)
		at = st->sp;
	else if (base == UNW_B_RBP)
		at = st->bp;
	*ret_slot = at + off;
	return read_user(ret, *ret_slot);
}

/* As most rows, and rbx is followed besides. */
static __always_inline int step_rbx(struct unw_state *st, const struct unw_ext *x, u64 cfa, u64 bp)
{
	u64 rbx = st->regs[REG_RBX], pc;
	u8 known = st->known;
	int end;

	if (x->ra_off)
		known = read_user(&rbx, cfa + x->ra_off);
	if (!read_user(&pc, cfa - 8))
		return unw_stop(st, UNW_END_BAD_READ);
	end = unw_next(st, pc, cfa, bp, cfa - 8);
	st->regs[REG_RBX] = rbx;
	st->known = known ? REGS_RBX : REGS_NONE;
	return end;
}

static __always_inline int step_ext(struct unw_state *st, const struct unw_ext *x, u32 off)
{
	u64 cfa, bp = st->bp, pc, slot;

	if (x->flags & UNW_X_SIGNAL)
		return step_signal(st);
	if (x->cfa_reg == REG_RSP)
		cfa = st->sp;
	else if (x->cfa_reg == REG_RBP)
		cfa = st->bp;
	else if (st->known == REGS_ALL || (st->known && x->cfa_reg == REG_RBX))
		cfa = st->regs[MASKED(x->cfa_reg, REG_CNT - 1)];
	else
		return unw_stop(st, UNW_END_NO_RULE);
	cfa += x->cfa_off;
	if (x->flags & UNW_X_PLT) {
		if ((off & 15) >= (u32)x->ra_off)
			cfa += 8;
		if (!read_user(&pc, cfa - 8))
			return unw_stop(st, UNW_END_BAD_READ);
		return unw_next(st, pc, cfa, bp, cfa - 8);
	}
	if (x->flags & UNW_X_DEREF) {
		if (!read_user(&cfa, cfa))
			return unw_stop(st, UNW_END_BAD_READ);
		cfa += (x->flags >> UNW_X_ADD) * 8;
	}
	if (x->rbp_base != UNW_B_SAME && !ext_reg(st, x->rbp_base, x->rbp_off, cfa, &bp, &slot))
		return unw_stop(st, UNW_END_BAD_READ);
	if (x->flags & UNW_X_RBX)
		return step_rbx(st, x, cfa, bp);
	if (!ext_reg(st, x->ra_base, x->ra_off, cfa, &pc, &slot))
		return unw_stop(st, UNW_END_BAD_READ);
	return unw_next(st, pc, cfa, bp, slot);
}

static __always_inline int step_module(struct unw_state *st, u32 id, u64 off)
{
	struct unw_module *mod = bpf_map_lookup_elem(&hu_modules, &id);
	void *table = bpf_map_lookup_elem(&hu_tables, &id);
	struct unw_row row = {0};
	struct unw_chunk *c;
	u32 x;

	if (!mod || !table || !mod->text_len)
		return step_fp(st);
	if (off < mod->text_len)
		row_find(mod, table, off, &row);
	switch (row.kind & UNW_CFA_MASK) {
	case UNW_RSP:
	case UNW_RBP:
		return step_row(st, &row);
	case UNW_LAST:
		return unw_stop(st, UNW_END_OUTERMOST);
	case UNW_EXT:
		x = row.cfa_off;
		c = x < mod->ext_cnt ? chunk_of(table, mod->ext_chunk + x / UNW_CHUNK_EXTS) : NULL;
		if (c)
			return step_ext(st, &c->exts[MASKED(x, UNW_CHUNK_EXTS - 1)], off);
	}
	return step_guess(st);
}

#ifndef HELDUP_NO_STACKS
/* One frame is noted and left; not 0: it was the last. */
__noinline int unw_step(struct unw_state *st)
{
	struct unw_map *m;
	u64 pc, at_pc, off, frame;
	u32 at;

	if (!st)
		return 1;
	if (with_stacks == STACKS_REFUSED)
		*(volatile u64 *)st->sp = 0;
	pc = st->exact ? st->pc : st->pc - 1;
	at_pc = pc;
	m = map_of(st, &at_pc);
	if (!m)
		return unw_stop(st, st->guessed ? UNW_END_NO_RULE : UNW_END_NO_MAP);
	off = at_pc - m->base;
	at = st->cnt;
	if (at >= UNW_USER_MAX)
		return unw_stop(st, UNW_END_DEPTH);
	/* names are looked up at one less than it in all frames but the first */
	frame = at && st->exact ? pc + 1 : st->pc;
	if (m->module)
		frame = (frame - pc + off) | (u64)m->module << 48;
	else
		st->own = 1;
	st->rec.frames[at] = frame;
	st->cnt = at + 1;
	st->hash = mix64(st->hash + frame);
	return m->module ? step_module(st, m->module, off) : step_fp(st);
}

/* Loops in loops: the verifier goes through each round, and a call is one. */
#define ROUNDS 8
_Static_assert(UNW_USER_MAX % ROUNDS == 0 && UNW_KERNEL_MAX % ROUNDS == 0, "whole rounds");

/* Not 0: no more. */
__noinline int unw_steps(struct unw_state *st)
{
	u32 i;

	if (!st)
		return 1;
	for (i = 0; i < ROUNDS; i++) {
		if (unw_step(st))
			return 1;
	}
	return 0;
}

/* All user frames; st->end says why there are no more. */
static __always_inline int unw_walk(struct unw_state *st)
{
	u32 i;

	if (!st)
		return 0;
	for (i = 0; i < UNW_USER_MAX / ROUNDS; i++) {
		if (unw_steps(st))
			return 0;
	}
	st->end = UNW_END_DEPTH;
	return 0;
}

/* Those of one round from the frame `at` on. */
__noinline int unw_add_frames(struct unw_state *st, u32 at, u32 cnt)
{
	u32 i;

	if (!st || at > UNW_FRAME_MAX - ROUNDS)
		return 0;
	for (i = 0; i < ROUNDS; i++) {
		if (i >= cnt)
			return 0;
		st->hash = mix64(st->hash + st->rec.frames[at + i]);
		st->rec.kernel_cnt++;
	}
	return 0;
}

/* bytes of kernel frames lie behind the user's: counts and hashes them. */
__noinline int unw_add_kernel(struct unw_state *st, s64 bytes)
{
	u32 i, at;

	if (!st)
		return 0;
	at = st->cnt;
	st->rec.user_cnt = at;
	st->rec.kernel_cnt = 0;
	if (at > UNW_USER_MAX)
		return 0;
	for (i = 0; i < UNW_KERNEL_MAX; i += ROUNDS) {
		if ((s64)i * 8 >= bytes)
			return 0;
		unw_add_frames(st, at + i, (bytes >> 3) - i);
	}
	return 0;
}
#endif
