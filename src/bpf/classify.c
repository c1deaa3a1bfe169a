/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a sleeping thread waits for: from the marks its own hooks left (kernel
 * lock, reclaim, dirty throttling), else from its saved system-call
 * registers.  Runs at switch-out, when the thread is current, and in the
 * iterator for threads that were asleep before (live = false: their memory
 * cannot be read then).
 *
 * Costs are paid by threads that sleep; a call that does not block is free.
 */

#define FUTEX_CMD 0x7f
#define FUTEX_PRIVATE 128
#define FUTEX_OP_WAIT 0
#define FUTEX_OP_LOCK_PI 6
#define FUTEX_OP_WAIT_BITSET 9
#define FUTEX_OP_WAIT_REQUEUE_PI 11
#define FUTEX_OP_LOCK_PI2 13
#define FUTEX2_PRIVATE 128
#define FUTEX_TID_MASK 0x3fffffff
#define REUSE_MAX 64 /* so many waits under 1 ms can be counted for a file that is closed */
#define MUTEX_OWNER_FLAGS 7ull
#define DIRTY_WINDOW_NS (100 * NSEC_PER_USEC)
#define RETRY_NS (1000 * NSEC_PER_USEC) /* asleep so soon after a refusal: tries again */
#define FCNTL_SETLKW 7
#define FCNTL_OFD_SETLKW 38

static __always_inline void wait_by_file(struct thr *t, const struct file_ref *f, u8 op)
{
	t->res = f->res;
	t->op = op;
	switch (f->kind) {
	case RES_SOCKET:
		t->cls = WAIT_SOCKET;
		return;
	case RES_PIPE:
	case RES_CHARDEV:
		t->cls = WAIT_PIPE;
		return;
	case RES_EVENTFD:
		t->cls = WAIT_EVENT;
		return;
	}
	t->cls = WAIT_FILE;
	if (f->f_flags & KO_DIRECT)
		t->flags |= WAITF_DIRECT;
	if (f->f_flags & KO_DSYNC) {
		t->flags |= WAITF_SYNC_FILE;
		if (op == WAIT_OP_WRITE)
			t->cls = WAIT_FSYNC;
	}
}

/*
 * These are global functions, which the verifier looks at once and not for each way that
 * leads to them; task is the address of one.
 */
__noinline int wait_on_fd(u64 task, struct thr *t, u64 fd, u8 op)
{
	struct file_ref f;

	if (!t)
		return 0;
	if (!file_of_fd(task, fd, &f)) {
		t->cls = t->flags & WAITF_UNINT ? WAIT_FILE : WAIT_OTHER;
		return 0;
	}
	wait_by_file(t, &f, op);
	if (t->seen_res != f.res) {
		t->seen_res = f.res;
		res_describe_file(t, &f, t->off_ns);
	}
	return 0;
}

/* sendfile waits for one of its two files: for the socket only while that has no room. */
static __noinline int wait_on_sendfile(u64 task, struct thr *t, u64 out, u64 in)
{
	struct file_ref f;
	struct file *file;
	void *sock;

	if (file_of_fd(task, out, &f) && f.kind == RES_SOCKET) {
		file = AS(file, f.file);
		sock = GET(file, private_data);
		if (!(GET(AS(socket, sock), flags) & KSOCK_NOSPACE))
			return wait_on_fd(task, t, in, WAIT_OP_READ);
	}
	return wait_on_fd(task, t, out, WAIT_OP_WRITE);
}

/* fd names a file of its own class, whatever kind it is. */
__noinline int wait_on_set(u64 task, struct thr *t, u64 fd, u8 kind)
{
	struct file_ref f;
	struct file *file;

	if (!t || !file_of_fd(task, fd, &f))
		return 0;
	if (kind) {
		file = AS(file, f.file);
		f.kind = kind;
		f.res = res_id(kind, GET_ADDR(file, file, private_data), 0);
	}
	t->res = f.res;
	if (t->seen_res != f.res) {
		t->seen_res = f.res;
		res_describe_file(t, &f, t->off_ns);
	}
	return 0;
}

static __always_inline void futex_owner(struct thr *t, u64 uaddr, u64 val, bool pi)
{
	u32 words[5] = {0};

	if (pi) {
		if (!bpf_probe_read_user(words, sizeof(words[0]), (void *)uaddr))
			t->owner_tid = words[0] & FUTEX_TID_MASK;
		return;
	}
	if ((val != 2 && val != 3) || bpf_probe_read_user(words, sizeof(words), (void *)uaddr) ||
	    words[0] != val)
		return;
	/*
	 * glibc's mutex: { lock, count, owner }, and lock is 2 while someone
	 * waits.  Its rwlock: { readers, writers, phase, futex, pad, pad, writer },
	 * readers wait on phase and writers on futex, which is then 3.
	 */
	if (val == 2)
		t->owner_tid = words[2];
	else
		t->owner_tid = words[4] ? words[4] : words[3];
}

/* The place of a shared futex: the same for all processes that map it. */
struct futex_key {
	u64 ino;
	u64 off;
	u32 dev;
	u32 shared; /* 0: private after all, the mapping is the process's own */
};

struct hu_futexes_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2048);
	__type(key, u64);
	__type(value, struct futex_key);
} hu_futexes SEC(".maps");

struct vma_ask {
	u64 addr;
	struct futex_key key;
};

static long vma_answer(struct task_struct *task __attribute__((unused)),
		       struct vm_area_struct *vma, struct vma_ask *a)
{
	struct file *file = AS(vm_area_struct, vma)->vm_file;
	struct inode *inode;
	struct super_block *sb;

	if (!(vma->vm_flags & KVM_SHARED) || !file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	sb = BPF_CORE_READ(inode, i_sb);
	a->key.ino = BPF_CORE_READ(inode, i_ino);
	a->key.dev = BPF_CORE_READ(sb, s_dev);
	a->key.off = a->addr - vma->vm_start + ((u64)vma->vm_pgoff << 12);
	a->key.shared = 1;
	return 0;
}

static __always_inline bool futex_key_known(u64 id, struct futex_key *ret)
{
	struct futex_key *known = bpf_map_lookup_elem(&hu_futexes, &id);

	if (known)
		*ret = *known;
	return known;
}

/* False: not found out now, because the mapping is locked or the kernel has no way. */
static __noinline bool futex_key_find(struct task_struct *task, u64 id, u64 uaddr,
				      struct futex_key *ret)
{
	struct vma_ask a = {.addr = uaddr};

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
		return false;
	if (bpf_find_vma(task, uaddr, vma_answer, &a, 0))
		return false;
	*ret = a.key;
	bpf_map_update_elem(&hu_futexes, &id, &a.key, BPF_ANY);
	return true;
}

/* For a thread that is not the current one, before what it waits for is looked at. */
static __noinline int futex_learn(struct task_struct *task)
{
	struct futex_key key;
	struct sysregs s;
	u64 id;
	u8 kind;

	if (task->flags & KPF_KTHREAD)
		return 0;
	sysregs_read((struct pt_regs *)bpf_task_pt_regs(task), &s);
	if (s.nr < 0 || s.nr >= SYS_NR_MAX)
		return 0;
	kind = sys_kind[s.nr];
	if (!(kind == SYSK_FUTEX && !(s.arg[1] & FUTEX_PRIVATE)) &&
	    !(kind == SYSK_FUTEX_WAIT2 && !(s.arg[3] & FUTEX2_PRIVATE)))
		return 0;
	id = res_id(RES_FUTEX, task->tgid, s.arg[0]);
	if (!futex_key_known(id, &key))
		futex_key_find(task, id, s.arg[0], &key);
	return 0;
}

__noinline int wait_on_futex(struct thr *t, u64 task, u64 uaddr, u32 private)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct futex_key key = {0};
	u64 id;

	if (!t)
		return 0;
	t->cls = WAIT_FUTEX;
	id = res_id(RES_FUTEX, t->tgid, uaddr);
	if (!private && !futex_key_known(id, &key) && (u64)cur == task)
		futex_key_find(cur, id, uaddr, &key);
	t->res = key.shared ? res_id(RES_FUTEX, key.ino ^ (u64)key.dev << 32, ~key.off) : id;
	if (t->seen_res == t->res)
		return 0;
	t->seen_res = t->res;
	if (key.shared)
		res_describe(t, t->res, RES_FUTEX | key.dev << 8, key.ino, key.off);
	else
		res_describe(t, t->res, RES_FUTEX, uaddr, 0);
	return 0;
}

static __noinline int classify_futex(u64 task, struct thr *t, struct sysregs *s,
				     bool live)
{
	u32 op = s->arg[1] & FUTEX_CMD;
	bool pi = op == FUTEX_OP_LOCK_PI || op == FUTEX_OP_LOCK_PI2;

	wait_on_futex(t, task, s->arg[0], s->arg[1] & FUTEX_PRIVATE);
	if (s->arg[3])
		t->flags |= WAITF_TIMEOUT_ARG;
	if (pi)
		t->op = WAIT_OP_LOCK_PI;
	else if (op == FUTEX_OP_WAIT_REQUEUE_PI)
		t->op = WAIT_OP_REQUEUE;
	if (live && (pi || op == FUTEX_OP_WAIT || op == FUTEX_OP_WAIT_BITSET))
		futex_owner(t, s->arg[0], s->arg[2], pi);
	return 0;
}

struct futex_waitv_arg {
	u64 val;
	u64 uaddr;
	u32 flags;
	u32 reserved;
};

static __noinline int classify_waitv(u64 task, struct thr *t, struct sysregs *s,
				     bool live)
{
	struct futex_waitv_arg w = {0};

	t->op = WAIT_OP_WAITV;
	t->cls = WAIT_FUTEX;
	/* the first of the list stands for all */
	if (live && !bpf_probe_read_user(&w, sizeof(w), (void *)s->arg[0]))
		wait_on_futex(t, task, w.uaddr, w.flags & FUTEX2_PRIVATE);
	if (s->arg[3])
		t->flags |= WAITF_TIMEOUT_ARG;
	return 0;
}

static __always_inline void wait_simple(struct thr *t, u8 cls, u8 kind, u64 key)
{
	t->cls = cls;
	if (!kind)
		return;
	t->res = res_id(kind, key, 0);
	if (t->seen_res != t->res) {
		t->seen_res = t->res;
		res_describe(t, t->res, kind, key, 0);
	}
}

/* A pause of the thread's own choice. */
static __always_inline int wait_on_timer(struct thr *t)
{
	if (!t->refused_ns || since(t->refused_ns, t->off_ns) >= RETRY_NS) {
		wait_simple(t, WAIT_TIMER, RES_TIMER, t->tid);
		return 0;
	}
	t->cls = t->refused_cls;
	if (t->cls == WAIT_SOCKET)
		t->op = WAIT_OP_CONNECT;
	t->res = t->refused_res;
	t->owner_tid = t->refused_tgid;
	return 0;
}

/* The place of the only bit of x that is set. */
static __always_inline int bit_place(u64 x)
{
	return (x & 0xaaaaaaaaaaaaaaaaull ? 1 : 0) | (x & 0xccccccccccccccccull ? 2 : 0) |
	       (x & 0xf0f0f0f0f0f0f0f0ull ? 4 : 0) | (x & 0xff00ff00ff00ff00ull ? 8 : 0) |
	       (x & 0xffff0000ffff0000ull ? 16 : 0) | (x >> 32 ? 32 : 0);
}

/* The one descriptor that a select waits to read from, -1: others, or none. */
__noinline int select_one(struct sysregs *s)
{
	u64 to_read = 0, to_write = 0;
	u32 fd_cnt = s ? s->arg[0] : 0;

	if (!fd_cnt || fd_cnt > 64 || !s->arg[1] ||
	    bpf_probe_read_user(&to_read, sizeof(to_read), (void *)s->arg[1]))
		return -1;
	if (s->arg[2] && bpf_probe_read_user(&to_write, sizeof(to_write), (void *)s->arg[2]))
		return -1;
	to_read &= ~0ull >> (64 - fd_cnt);
	to_write &= ~0ull >> (64 - fd_cnt);
	return !to_write && to_read && !(to_read & (to_read - 1)) ? bit_place(to_read) : -1;
}

/* Without descriptors it is a sleep, as which older programs use it. */
static __noinline int classify_select(u64 task, struct thr *t, struct sysregs *s, bool live)
{
	int fd;

	if (!s->arg[0] || !(s->arg[1] | s->arg[2] | s->arg[3]))
		return wait_on_timer(t);
	fd = live ? select_one(s) : -1;
	t->cls = WAIT_POLL;
	if (fd >= 0)
		return wait_on_set(task, t, fd, 0);
	wait_simple(t, WAIT_POLL, RES_POLLSET, t->tid);
	return 0;
}

struct pollfd_arg {
	s32 fd;
	s16 events;
	s16 revents;
};

static __noinline int classify_poll(u64 task, struct thr *t, struct sysregs *s,
				    bool live)
{
	struct pollfd_arg p = {0};

	if (!(u32)s->arg[1]) {
		if (t->flags & WAITF_TIMEOUT_ARG)
			return wait_on_timer(t);
		t->cls = WAIT_SIGNAL;
		return 0;
	}
	t->cls = WAIT_POLL;
	if (live && (u32)s->arg[1] == 1 &&
	    !bpf_probe_read_user(&p, sizeof(p), (void *)s->arg[0]) && p.fd >= 0)
		return wait_on_set(task, t, p.fd, 0);
	t->res = res_id(RES_POLLSET, t->tid, s->arg[0]);
	if (t->seen_res != t->res) {
		t->seen_res = t->res;
		res_describe(t, t->res, RES_POLLSET, s->arg[0], s->arg[1]);
	}
	return 0;
}

/* A flat map: one case per kind of call. */
static __noinline int classify_more(u64 task, struct thr *t, struct sysregs *s, u32 kind)
{
	switch (kind) {
	case SYSK_TIMER:
		return wait_on_timer(t);
	case SYSK_CHILD:
		wait_simple(t, WAIT_CHILD, RES_CHILD, t->tgid);
		return 0;
	case SYSK_SIGNAL:
		t->cls = WAIT_SIGNAL;
		return 0;
	case SYSK_SYSV:
		wait_simple(t, WAIT_SYSV, RES_SYSV, s->arg[0]);
		return 0;
	case SYSK_AIO:
		t->cls = WAIT_AIO;
		t->res = res_id(RES_IOURING, t->tgid, s->arg[0]);
		return 0;
	case SYSK_SYNC:
	case SYSK_MSYNC:
		t->cls = WAIT_FSYNC;
		return 0;
	case SYSK_FILE_PATH:
		t->cls = WAIT_FILE;
		return 0;
	case SYSK_PATH_ANY:
		t->cls = t->flags & WAITF_UNINT ? WAIT_FILE : WAIT_PIPE;
		return 0;
	case SYSK_FCNTL:
		if (s->arg[1] != FCNTL_SETLKW && s->arg[1] != FCNTL_OFD_SETLKW)
			return 0;
		/* fall through */
	case SYSK_FLOCK:
		t->cls = WAIT_FLOCK;
		return wait_on_set(task, t, s->arg[0], 0);
	case SYSK_IOURING:
		t->cls = WAIT_IOURING;
		return wait_on_set(task, t, s->arg[0], RES_IOURING);
	}
	return 0;
}

__noinline int classify_call(struct thr *t, struct sysregs *s, bool live)
{
	u64 task;
	u32 nr;
	u8 kind;

	if (!t || !s)
		return 0;
	task = s->task;
	nr = s->nr;
	kind = nr < SYS_NR_MAX ? sys_kind[nr] : SYSK_NONE;
	switch (kind) {
	case SYSK_READ:
	case SYSK_SPLICE:
		return wait_on_fd(task, t, s->arg[0], WAIT_OP_READ);
	case SYSK_WRITE:
		return wait_on_fd(task, t, s->arg[0], WAIT_OP_WRITE);
	case SYSK_SENDFILE:
		return wait_on_sendfile(task, t, s->arg[0], s->arg[1]);
	case SYSK_ACCEPT:
		return wait_on_fd(task, t, s->arg[0], WAIT_OP_ACCEPT);
	case SYSK_CONNECT:
		return wait_on_fd(task, t, s->arg[0], WAIT_OP_CONNECT);
	case SYSK_FILE_FD:
		t->cls = WAIT_FILE;
		return wait_on_set(task, t, s->arg[0], 0);
	case SYSK_FSYNC:
		t->cls = WAIT_FSYNC;
		return wait_on_set(task, t, s->arg[0], 0);
	case SYSK_EPOLL:
	case SYSK_EPOLL2:
		t->cls = WAIT_EPOLL;
		if (kind == SYSK_EPOLL ? (s32)s->arg[3] != -1 : s->arg[3] != 0)
			t->flags |= WAITF_TIMEOUT_ARG;
		return wait_on_set(task, t, s->arg[0], RES_EPOLL);
	case SYSK_FUTEX:
		return classify_futex(task, t, s, live);
	case SYSK_FUTEX_WAITV:
		return classify_waitv(task, t, s, live);
	case SYSK_FUTEX_WAIT2:
		wait_on_futex(t, task, s->arg[0], s->arg[3] & FUTEX2_PRIVATE);
		return 0;
	case SYSK_FUTEX_REQUEUE2:
		t->cls = WAIT_FUTEX;
		return 0;
	case SYSK_POLL:
	case SYSK_PPOLL:
		if (kind == SYSK_POLL ? (s32)s->arg[2] != -1 : s->arg[2] != 0)
			t->flags |= WAITF_TIMEOUT_ARG;
		return classify_poll(task, t, s, live);
	case SYSK_SELECT:
		return classify_select(task, t, s, live);
	case SYSK_NONE:
		if (t->flags & WAITF_IOWAIT)
			t->cls = WAIT_FILE;
		return 0;
	}
	return classify_more(task, t, s, kind);
}

/* Sleeps that the thread's own marks explain; true when one does. */
static __always_inline bool classify_marks(struct thr *t)
{
	struct rw_semaphore *rwsem = (void *)t->klock_addr;
	struct mutex *mutex = (void *)t->klock_addr;
	struct task_struct *holder;
	u64 owner = 0;

	if (mutex) {
		t->cls = WAIT_KLOCK;
		t->res = res_id(RES_KLOCK, t->klock_addr, 0);
		/* mutex and rwsem keep their owner at different offsets */
		if (t->klock_flags & LCB_MUTEX)
			owner = BPF_CORE_READ(mutex, owner.counter);
		else if (!(t->klock_flags & (LCB_SPIN | LCB_RT | LCB_PERCPU)))
			owner = BPF_CORE_READ(rwsem, owner.counter);
		holder = (void *)(owner & ~MUTEX_OWNER_FLAGS);
		if (holder)
			t->owner_tid = BPF_CORE_READ(holder, pid);
		res_describe(t, t->res, RES_KLOCK, t->klock_addr, t->klock_flags);
		return true;
	}
	if (t->reclaim_begin_ns) {
		t->cls = WAIT_RECLAIM;
		t->res = res_id(RES_MEMORY, 0, 0);
		return true;
	}
	if (t->dirty_ns && (t->flags & WAITF_UNINT) &&
	    since(t->dirty_ns, t->off_ns) < DIRTY_WINDOW_NS) {
		t->cls = WAIT_DIRTY;
		return true;
	}
	return false;
}

static __always_inline bool is_halted(struct task_struct *task, u32 state)
{
	return state & KSTATE_HALTED || task->jobctl & KJOBCTL_TRAP_FREEZE;
}

/* Fills in the wait that begins at t->off_ns.  state: bits of task_struct.__state. */
static __always_inline void classify(struct task_struct *task, struct thr *t, u32 state, bool live)
{
	struct sysregs s;
	bool marked;

	t->cls = WAIT_OTHER;
	t->op = WAIT_OP_NONE;
	t->res = 0;
	t->owner_tid = 0;
	t->sysnr = -1;
	if (state & KSTATE_UNINTERRUPTIBLE) {
		t->flags |= WAITF_UNINT;
		if (BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait))
			t->flags |= WAITF_IOWAIT;
	}
	if (is_halted(task, state)) {
		t->cls = WAIT_STOPPED;
		return;
	}
	marked = classify_marks(t);
	t->dirty_ns = 0;
	if (task->flags & KPF_KTHREAD) {
		if (!marked && (!(state & KSTATE_UNINTERRUPTIBLE) || state & 0x400))
			t->cls = WAIT_KIDLE;
		return;
	}
	sysregs_read((struct pt_regs *)bpf_task_pt_regs(task), &s);
	s.task = (u64)task;
	t->sysnr = s.nr;
	if (marked)
		return;
	if (s.nr == -1) {
		if (state & KSTATE_UNINTERRUPTIBLE) {
			t->cls = WAIT_FAULT;
			t->res = t->io_res ? t->io_res : res_id(RES_MEMORY, 0, 0);
		}
		return;
	}
	if (s.nr >= 0)
		classify_call(t, &s, live);
	if (!t->res && t->cls == WAIT_FILE)
		t->res = t->io_res;
}

/* Do its number and first argument say what a call waits for? */
static __always_inline bool is_call_on_fd(u32 nr)
{
	u8 kind = nr < SYS_NR_MAX ? sys_kind[MASKED(nr, SYS_NR_MAX - 1)] : SYSK_NONE;

	return kind == SYSK_READ || kind == SYSK_WRITE || kind == SYSK_ACCEPT ||
	       kind == SYSK_EPOLL || kind == SYSK_EPOLL2;
}

/* Are the short waits of t only summed?  Then a call may wait for the same as before. */
static __always_inline bool may_reuse(const struct thr *t)
{
	return t->light || shed & SHED_SHORT;
}

/*
 * Where short waits are not reported one by one, most are the one call from the one
 * place again: what that waits for is then not looked up anew, but at the end of
 * a long one, and its stack is known.  A descriptor that names another file by
 * now is found out at the next call of another kind, or after REUSE_MAX.
 */
static __always_inline bool same_call(struct task_struct *task, struct thr *t, u32 state)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 call, pc = 0, sp = 0, bp = 0;
	struct sysregs s;

	if ((!may_reuse(t) && !(shed & SHED_STACKS)) ||
	    state & (KSTATE_UNINTERRUPTIBLE | KSTATE_DEAD) || is_halted(task, state) ||
	    t->klock_addr || t->reclaim_begin_ns) {
		t->call = 0;
		return false;
	}
	sysregs_read(regs, &s);
	userregs_read(regs, &pc, &sp, &bp);
	call = s.nr < 0 || (!t->light && !is_call_on_fd(s.nr))
		       ? 0 : ((u64)s.nr << 48 ^ s.arg[0] ^ mix64(pc ^ sp << 16)) + 1;
	if (call && t->call == call && ++t->reuses < REUSE_MAX)
		return true;
	t->call = call;
	t->reuses = 0;
	return false;
}
