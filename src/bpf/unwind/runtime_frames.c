/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of an interpreter, beside the native ones of the same stack: a list in
 * the memory of the current task, followed as user space described it
 * (wire/runtimes.h).  Only of threads that user space found in the runtime's own
 * list; a thread whose state has become another's is none.
 *
 * The thread stands still meanwhile, but it may stand between two of its steps:
 * a call that is being made may be missing, or be there already.  Memory that is
 * not resident cannot be read; such a stack has no such frames.
 */
struct hu_rt_shapes_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RT_PROCS_MAX);
	__type(key, u32);
	__type(value, struct rt_shape);
} hu_rt_shapes SEC(".maps");

/* By thread: the address at which its list begins. */
struct hu_rt_threads_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RT_THREADS_MAX);
	__type(key, u32);
	__type(value, u64);
} hu_rt_threads SEC(".maps");

#ifndef HELDUP_NO_STACKS
static __always_inline int rt_stop(struct unw_state *st, u8 end)
{
	st->rec.rt_end = end;
	return 1;
}

/* One frame, and what its pointer leads to behind it: zeros where that is NULL. */
static __always_inline bool rt_read(struct rt_walk *w)
{
	u32 len = w->shape.len & 127, ref_len = w->shape.ref_len & 127;
	u64 ref;

	__builtin_memset(w->elem, 0, sizeof(w->elem));
	if (w->frame >= USER_END || len > sizeof(w->elem) - ref_len ||
	    bpf_probe_read_user(w->elem, len, (void *)w->frame))
		return false;
	ref = w->elem[MASKED(w->shape.ref, RT_ELEM_WORDS - 1)];
	return !ref_len || !ref ||
	       !bpf_probe_read_user((void *)w->elem + len, ref_len, (void *)ref);
}

/* The words of one frame are noted; not 0: it was the last. */
__noinline int rt_step(struct unw_state *st)
{
	struct rt_walk *w;
	u64 word;
	u32 i, at;

	if (!st)
		return 1;
	w = &st->rt;
	if (!w->frame)
		return rt_stop(st, RT_WHOLE);
	if (st->rec.rt_cnt > RT_WORDS_MAX - RT_KEPT)
		return rt_stop(st, RT_DEEP);
	if (!rt_read(w))
		return rt_stop(st, RT_BAD);
	for (i = 0; i < RT_KEPT && i < w->shape.kept_cnt; i++) {
		word = w->elem[MASKED(w->shape.kept[i], RT_ELEM_WORDS - 1)];
		at = w->at;
		if (at >= UNW_FRAME_MAX + RT_WORDS_MAX)
			return rt_stop(st, RT_DEEP);
		st->rec.frames[at] = word;
		st->hash = mix64(st->hash + word);
		w->at = at + 1;
		st->rec.rt_cnt++;
	}
	w->frame = w->elem[MASKED(w->shape.next, RT_ELEM_WORDS - 1)];
	return 0;
}

/* Not 0: no more. */
__noinline int rt_steps(struct unw_state *st)
{
	u32 i;

	if (!st)
		return 1;
	for (i = 0; i < ROUNDS; i++)
		if (rt_step(st))
			return 1;
	return 0;
}

/* To the innermost frame of the list that begins at anchor; false: its memory is not there. */
static __always_inline bool rt_first(struct rt_walk *w, u64 anchor, u64 pthread)
{
	u64 self = 0;
	u32 i;

	if (w->shape.check_off && (!read_user(&self, anchor + w->shape.check_off) ||
				   self != pthread))
		return false;
	for (i = 0; i < RT_STEPS && i < w->shape.step_cnt && anchor; i++)
		if (!read_user(&anchor, anchor + w->shape.steps[i]))
			return false;
	w->frame = anchor;
	return true;
}

/* Those of the current task behind the native ones.  0: its process has no runtime. */
static __always_inline int rt_frames(struct unw_state *st)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u32 pid = cur->pid, tgid = cur->tgid, i;
	const struct rt_shape *shape;
	u64 *anchor;

	if (!st)
		return 0;
	shape = bpf_map_lookup_elem(&hu_rt_shapes, &tgid);
	anchor = shape ? bpf_map_lookup_elem(&hu_rt_threads, &pid) : NULL;
	if (!anchor)
		return 0;
	st->rt.shape = *shape;
	st->rt.at = st->rec.user_cnt + st->rec.kernel_cnt;
	st->rec.rt_cnt = 0;
	st->rec.rt_end = RT_DEEP;
	if (!rt_first(&st->rt, *anchor, pthread_of(cur)))
		st->rec.rt_end = RT_BAD;
	for (i = 0; i < RT_FRAMES_MAX / ROUNDS && st->rec.rt_end != RT_BAD; i++)
		if (rt_steps(st))
			break;
	if (st->rec.rt_end == RT_BAD)
		st->rec.rt_cnt = 0;
	return 1;
}
#endif
