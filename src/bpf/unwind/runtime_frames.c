/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of an interpreter, beside the native ones of the same stack: a list in
 * the memory of the current task, followed as user space described it
 * (wire/runtimes.h).  Only of threads that user space found in the runtime's own
 * list; a thread whose state has become another's is none.
 *
 * The thread does not run while it is read, but may be between two of its steps:
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

/*
 * One frame, and what its pointer leads to behind it: zeros where that is NULL, or where a
 * native frame has something else in its place.
 */
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
	       !bpf_probe_read_user((void *)w->elem + len, ref_len,
				    (void *)(ref + (s64)w->shape.ref_add)) ||
	       w->shape.by_fp;
}

/* The words of the frame that was read are noted; not 0: there is no room. */
static __always_inline int rt_keep(struct unw_state *st)
{
	struct rt_walk *w = &st->rt;
	u64 word;
	u32 i, at;

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
	return 0;
}

/* The next native frame that was left by its frame pointer, if it is one of the runtime's. */
static __always_inline int rt_step_native(struct unw_state *st)
{
	struct rt_walk *w = &st->rt;
	u32 n = w->fp;

	if (n >= st->fp_cnt || n >= UNW_USER_MAX)
		return rt_stop(st, RT_WHOLE);
	w->fp = n + 1;
	w->frame = st->fps[n] - w->shape.back;
	if (!rt_read(w) || !w->elem[MASKED(w->shape.len / 8, RT_ELEM_WORDS - 1)])
		return 0;
	w->elem[RT_ELEM_WORDS - 1] = st->fp_at[n];
	return rt_keep(st);
}

/* One frame; not 0: it was the last. */
__noinline int rt_step(struct unw_state *st)
{
	struct rt_walk *w;

	if (!st)
		return 1;
	w = &st->rt;
	if (st->rec.rt_cnt > RT_WORDS_MAX - RT_KEPT)
		return rt_stop(st, RT_DEEP);
	if (w->shape.by_fp)
		return rt_step_native(st);
	if (!w->frame)
		return rt_stop(st, RT_WHOLE);
	if (!rt_read(w))
		return rt_stop(st, RT_BAD);
	w->frame = w->elem[MASKED(w->shape.next, RT_ELEM_WORDS - 1)];
	return rt_keep(st);
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

/* The list of the current task, from its beginning; false: that is not known, or no longer so. */
static __always_inline bool rt_list(struct unw_state *st, struct task_struct *cur)
{
	u32 pid = cur->pid;
	u64 *anchor = bpf_map_lookup_elem(&hu_rt_threads, &pid);

	if (!anchor)
		return false;
	st->rec.rt_end = rt_first(&st->rt, *anchor, pthread_of(cur)) ? RT_DEEP : RT_BAD;
	return true;
}

/*
 * Those of the current task behind the native ones, of a runtime with a list of its own
 * where lists says so.  0: none are to be had.
 */
static __always_inline int rt_frames(struct unw_state *st, bool lists)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u32 tgid = cur->tgid, i;
	const struct rt_shape *shape;

	if (!lists && !st->fp_cnt)
		return 0;
	shape = bpf_map_lookup_elem(&hu_rt_shapes, &tgid);
	if (!shape || (!lists && !shape->by_fp))
		return 0;
	st->rt.shape = *shape;
	st->rt.at = st->rec.user_cnt + st->rec.kernel_cnt;
	st->rt.fp = 0;
	st->rec.rt_end = RT_DEEP;
	if (!shape->by_fp && !rt_list(st, cur))
		return 0;
	for (i = 0; i < UNW_USER_MAX / ROUNDS && st->rec.rt_end != RT_BAD; i++)
		if (rt_steps(st))
			break;
	if (st->rec.rt_end == RT_BAD)
		st->rec.rt_cnt = 0;
	return 1;
}
#endif
