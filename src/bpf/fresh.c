/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Mappings of processes that were seen for the first time just now.  Some
 * servers start a process for each connection, which is gone before its set is
 * in place.  Two ways, faster than a set:
 *
 * User space, which is woken for it, writes the mappings into hu_fresh.
 *
 * What lives too briefly even for that is taken to lie as other processes of
 * its program did (hu_programs): but for two random numbers, which the kernel
 * tells, the same program is mapped in the same way each time.  That is
 * checked once for each process, where its first walk begins.
 */
/* Preallocated: older kernels let a clock's program use no other. */
struct hu_maps_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNW_SET_MAX);
	__type(key, u32);
	__type(value, struct unw_proc);
} hu_maps SEC(".maps");

struct hu_fresh_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNW_FRESH_PROCS);
	__type(key, u32);
	__type(value, struct unw_fresh);
} hu_fresh SEC(".maps");

struct hu_programs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNW_FRESH_PROCS);
	__type(key, struct unw_exe);
	__type(value, struct unw_program);
} hu_programs SEC(".maps");

static __always_inline void fresh_forget(u32 tgid)
{
	bpf_map_delete_elem(&hu_fresh, &tgid);
}

static __always_inline bool fresh_known(u32 tgid, u64 vm)
{
	struct unw_fresh *f = bpf_map_lookup_elem(&hu_fresh, &tgid);

	return f && f->exec_vm == vm;
}

static __always_inline void exe_of(struct mm_struct *mm, struct unw_exe *ret)
{
	ret->ino = BPF_CORE_READ(mm, exe_file, f_inode, i_ino);
	ret->dev = BPF_CORE_READ(mm, exe_file, f_inode, i_sb, s_dev);
	ret->pad = 0;
}

/* The mapping that holds pc, NULL when there is none.  Without a branch per step, as map_find. */
static __always_inline struct unw_map *fresh_find(struct unw_fresh *f, u64 pc)
{
	u32 at = 0, half;
	struct unw_map *m;
	s64 less;

#pragma unroll
	for (half = UNW_FRESH_MAPS / 2; half; half /= 2) {
		less = (s64)(f->maps[MASKED(at + half, UNW_FRESH_MAPS - 1)].start - pc - 1) >> 63;
		at += half & less;
	}
	m = &f->maps[MASKED(at, UNW_FRESH_MAPS - 1)];
	return pc >= m->start && pc - m->start < (u64)m->page_cnt << UNW_PAGE_SHIFT ? m : NULL;
}

/* pc is moved to where it would be in the process that the mappings are of. */
static __always_inline struct unw_map *fresh_map_of(struct unw_state *st, u64 *pc)
{
	u32 tgid = st->fresh;
	struct unw_fresh *f;
	struct unw_program *l;

	if (!st->exe.ino) {
		f = bpf_map_lookup_elem(&hu_fresh, &tgid);
		return f ? fresh_find(f, *pc) : NULL;
	}
	l = bpf_map_lookup_elem(&hu_programs, &st->exe);
	if (!l)
		return NULL;
	*pc += *pc - st->code_lo < st->code_len ? l->start_code - st->code_lo
						: l->mmap_base - st->mmap_base;
	return fresh_find(&l->code, *pc);
}

struct laid_ask {
	u64 start, pages;
	u32 laid;
};

static long laid_answer(struct task_struct *task __attribute__((unused)),
			struct vm_area_struct *vma, struct laid_ask *a)
{
	u64 pages = (vma->vm_end - vma->vm_start) >> UNW_PAGE_SHIFT;

	a->laid = vma->vm_start == a->start && pages == a->pages ? UNW_LAID_YES : UNW_LAID_NO;
	return 0;
}

/* Does the mapping of st->pc lie where the layout says?  UNW_LAID_UNKNOWN: not known now. */
static __always_inline u32 program_check(struct unw_state *st, struct task_struct *cur)
{
	struct laid_ask a = {0};
	u64 pc = st->pc;
	struct unw_map *m = fresh_map_of(st, &pc);

	if (!m || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
		return UNW_LAID_UNKNOWN;
	a.start = m->start + st->pc - pc;
	a.pages = m->page_cnt;
	if (bpf_find_vma(cur, st->pc, laid_answer, &a, 0))
		return UNW_LAID_UNKNOWN;
	return a.laid;
}

/*
 * There is no set for the current task: may st be walked by hu_fresh, or by the
 * layout of its program?  A global function: the verifier looks at it once.
 */
__noinline int fresh_use(struct unw_state *st)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct mm_struct *mm = AS(task_struct, cur)->mm;
	u32 tgid = cur->tgid;
	struct unw_proc *p;

	if (!st || !mm)
		return 0;
	st->fresh = tgid;
	if (fresh_known(tgid, mm->exec_vm))
		return 1;
	p = bpf_map_lookup_elem(&hu_maps, &tgid);
	if (!p || p->laid == UNW_LAID_NO)
		return 0;
	exe_of(mm, &st->exe);
	st->code_lo = mm->start_code;
	st->code_len = mm->end_code - mm->start_code;
	st->mmap_base = mm->mmap_base;
	if (p->laid == UNW_LAID_UNKNOWN)
		p->laid = program_check(st, cur);
	if (p->laid == UNW_LAID_YES)
		return 1;
	st->exe.ino = 0;
	return 0;
}
