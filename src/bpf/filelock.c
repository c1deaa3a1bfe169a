/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * File locks that are asked for without waiting, and refused.  Who then sleeps
 * for a while and asks again (SQLite does) waits for the lock, not for the timer;
 * the refusal leaves a mark on the thread, and classify looks at it.
 */
#define LOCKS_LOOKED 8 /* at who may hold it, in the kernel's list */

struct lock_look {
	u64 file;
	u64 owner;
	s64 start, end;
	s32 pid;
	u8 type;
};

static __always_inline void lock_look(u64 addr, struct lock_look *ret)
{
	struct file_lock *fl = AS(file_lock, addr);
	struct file_lock___flat *flat;

	ret->start = GET(fl, fl_start);
	ret->end = GET(fl, fl_end);
	if (bpf_core_field_exists(fl->c)) {
		ret->file = (u64)GET(fl, c.flc_file);
		ret->owner = (u64)GET(fl, c.flc_owner);
		ret->type = GET(fl, c.flc_type);
		ret->pid = GET(fl, c.flc_pid);
		return;
	}
	flat = (void *)addr;
	ret->file = (u64)BPF_CORE_READ(flat, fl_file);
	ret->owner = (u64)BPF_CORE_READ(flat, fl_owner);
	ret->type = BPF_CORE_READ(flat, fl_type);
	ret->pid = BPF_CORE_READ(flat, fl_pid);
}

#define LOCK_FITS -1

/*
 * Whose the lock at addr is if it stands against mine, 0 unknown; LOCK_FITS.  A global
 * function, which the verifier looks at once.
 */
__noinline int lock_against(u64 addr, struct lock_look *mine)
{
	struct lock_look l;

	if (!mine)
		return LOCK_FITS;
	lock_look(addr, &l);
	if ((l.type != KLOCK_WRITE && mine->type != KLOCK_WRITE) || l.owner == mine->owner ||
	    l.start > mine->end || mine->start > l.end)
		return LOCK_FITS;
	return l.pid > 0 ? l.pid : 0;
}

/* The process whose lock in the list at head stands against mine; 0: none is named. */
static __noinline u32 lock_holder(u64 head, struct lock_look *mine)
{
	u32 off = bpf_core_field_exists(struct file_lock, c)
			  ? bpf_core_field_offset(struct file_lock, c.flc_list)
			  : bpf_core_field_offset(struct file_lock___flat, fl_list);
	u64 at = long_at((void *)head);
	int whose;
	u32 i;

	for (i = 0; i < LOCKS_LOOKED && at && at != head; i++) {
		whose = lock_against(at - off, mine);
		if (whose != LOCK_FITS)
			return whose;
		at = long_at((void *)at);
	}
	return 0;
}

static __noinline int lock_refused(u64 inode, u64 lock, bool posix)
{
	struct thr *t = thr_current();
	struct file_ref f = {.fd = -1};
	struct lock_look mine;
	u64 flctx;

	if (!t)
		return 0;
	lock_look(lock, &mine);
	flctx = GET_ADDR(inode, inode, i_flctx);
	if (!mine.file || !flctx)
		return 0;
	f.file = (void *)mine.file;
	file_look(&f);
	t->refused_ns = bpf_ktime_get_ns();
	t->refused_res = f.res;
	t->refused_cls = WAIT_FLOCK;
	t->refused_tgid = lock_holder(
		flctx + (posix ? bpf_core_field_offset(struct file_lock_context, flc_posix)
			       : bpf_core_field_offset(struct file_lock_context, flc_flock)),
		&mine);
	res_describe_file(t, &f, t->refused_ns);
	return 0;
}

SEC("tp_btf/posix_lock_inode")
int hu_posix_lock(u64 *ctx)
{
	return (s32)ctx[2] == -KEAGAIN ? lock_refused(ctx[0], ctx[1], true) : 0;
}

SEC("tp_btf/flock_lock_inode")
int hu_flock_lock(u64 *ctx)
{
	return (s32)ctx[2] == -KEAGAIN ? lock_refused(ctx[0], ctx[1], false) : 0;
}
