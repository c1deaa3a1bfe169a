/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When a stack is walked, and how it becomes an id.
 *
 * A walk costs some microseconds, ten where the stack is deep; a switch a few
 * hundred nanoseconds.  So a thread is walked at most once in WALK_GAP_NS, and a
 * CPU spends at most WALK_PER_MILLE of its time on walks.  Between two walks a
 * wait gets the id of an earlier one where its fingerprint is the same: system
 * call, pc, sp, rbp and a return address up the stack, now and then a second one
 * further up.  That is checked by a walk every CHECK_NS, CHECKS_PER_SEC times a
 * second on a CPU; a fingerprint that was wrong DOUBT_MAX times is not used again.
 * What gets no id is counted: stacks are a sample of the waits.
 *
 * System calls that are recorded have fingerprints and a budget of their own
 * (stack_at_call), so that neither they nor the waits go short of the other.
 *
 * The id is given at the first sight of a stack, when its frames go out; after
 * that only the id travels.
 */
#define WALK_GAP_NS (10 * 1000 * NSEC_PER_USEC)
#define DUE_GAP_NS (1000 * NSEC_PER_USEC)  /* between two stacks of waits for one resource */
#define DUE_OTHER_NS (250 * NSEC_PER_USEC) /* ... for another */
#define CHECK_NS (200 * 1000 * NSEC_PER_USEC)
#define WALK_PER_MILLE 5       /* of a CPU's time may go to walks of waits and their wakers */
#define WALK_SHED_PER_MILLE 2  /* ... while stacks of short waits are shed */
#define CALL_PER_MILLE 8       /* ... of recorded calls: 500 walks of 16 us a second */
#define WALK_BURST_NS (s64)(500 * NSEC_PER_USEC) /* some 64 walks at once */
#define CHECKS_PER_SEC 64
#define CHECK_GAP_NS (1000 * 1000 * NSEC_PER_USEC / CHECKS_PER_SEC)
#define DOUBT_MAX 2

enum stack_why { STACK_WAIT = 0, STACK_WAKER = 1, STACK_SAMPLE = 2 };

struct hu_stk_cpu_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unw_cpu);
} hu_stk_cpu SEC(".maps");

struct hu_walks_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, UNW_SCRATCH_CNT);
	__type(key, u32);
	__type(value, struct unw_state);
} hu_walks SEC(".maps");

struct hu_stack_seen_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u32);
} hu_stack_seen SEC(".maps");

/* By thread and place: a thread is on one CPU at a time, so nobody shares an entry. */
struct hu_call_stacks_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct thr_stack);
} hu_call_stacks SEC(".maps");

u32 stack_ids = 0; /* given out so far */

/*
 * User space remembers so many ids and no more.  When it lets go of some it
 * counts this up, and what was known before is sent again at its next sight.
 */
u32 stack_epoch = 0;

static __always_inline u64 in_epoch(u64 hash)
{
	return mix64(hash + stack_epoch);
}

static __always_inline void count_walk(struct unw_cpu *c, u32 what)
{
	c->cnt[MASKED(what, UNWC_CNT - 1)]++;
}

/*
 * Tells user space, once, that the mappings of the current task's process are
 * unknown or have changed; wakes it where nothing is known, for the process may
 * not live long.  Global functions, which the verifier looks at once.
 */
__noinline int maps_ask(u64 now)
{
	struct task_struct *cur = AS(task_struct, bpf_get_current_task_btf());
	struct mm_struct *mm = cur->mm;
	u32 tgid = cur->tgid;
	struct unw_proc fresh = {.asked = 1}, *p;
	struct wire_maps *w;

	if (!mm)
		return 0;
	fresh.seen_vm = mm->exec_vm;
	p = bpf_map_lookup_elem(&hu_maps, &tgid);
	if (p) {
		/* again while it loads its libraries */
		if ((p->set || p->seen_vm == fresh.seen_vm) &&
		    (p->asked || __sync_val_compare_and_swap(&p->asked, 0, 1)))
			return 0;
		p->asked = 1;
		p->seen_vm = fresh.seen_vm;
	} else if (bpf_map_update_elem(&hu_maps, &tgid, &fresh, BPF_NOEXIST)) {
		return 0;
	}
	w = bpf_ringbuf_reserve(&hu_ring, sizeof(*w), 0);
	if (!w) {
		count_loss(HU_LOSS_RING);
		if (p)
			p->asked = 0;
		else
			bpf_map_delete_elem(&hu_maps, &tgid);
		return 0;
	}
	hdr_fill(&w->hdr, WIRE_MAPS, sizeof(*w), tgid, now);
	w->tgid = tgid;
	w->exec_vm = fresh.seen_vm;
	w->start_code = mm->start_code;
	w->mmap_base = mm->mmap_base;
	exe_of(mm, &w->exe);
	w->pad = 0;
	bpf_ringbuf_submit(w, p && p->set ? ring_flags() : BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* The set of the current task's mappings, 0 if there is none; asks where it is not up to date. */
__noinline int maps_set(u64 now)
{
	struct task_struct *cur = AS(task_struct, bpf_get_current_task_btf());
	struct mm_struct *mm = cur->mm;
	u32 tgid = cur->tgid;
	struct unw_proc *p = bpf_map_lookup_elem(&hu_maps, &tgid);

	if (!p || (mm && p->exec_vm != mm->exec_vm))
		maps_ask(now);
	return p ? p->set : 0;
}

/* A forked process has its parent's mappings until it changes them. */
static __always_inline void maps_share(u32 parent, u32 child)
{
	struct unw_proc *p = bpf_map_lookup_elem(&hu_maps, &parent), copy;

	if (!p || !p->set)
		return;
	copy = *p;
	copy.asked = 0;
	bpf_map_update_elem(&hu_maps, &child, &copy, BPF_ANY);
}

static __always_inline void maps_forget(u32 tgid)
{
	if (with_stacks) {
		bpf_map_delete_elem(&hu_maps, &tgid);
		fresh_forget(tgid);
	}
}

static __always_inline bool has_user(struct task_struct *p)
{
	return !(p->flags & (KPF_KTHREAD | KPF_USER_WORKER | KPF_IO_WORKER));
}

/* Is there time for a walk?  per_mille: of the CPU's.  What it takes is charged after it. */
static __always_inline bool walk_allowed(struct unw_budget *b, u32 per_mille, u64 now)
{
	s64 more = since(b->refill_ns, now) * per_mille / 1000;

	if (more > WALK_BURST_NS)
		more = WALK_BURST_NS;
	b->left_ns += more;
	if (b->left_ns > WALK_BURST_NS)
		b->left_ns = WALK_BURST_NS;
	b->refill_ns = now;
	return b->left_ns > 0;
}

#ifdef HELDUP_NO_STACKS
static __always_inline bool stack_is_new(struct task_struct *p, struct thr *t)
{
	return false;
}

static __always_inline u32 stack_recall(struct task_struct *p, struct thr *t)
{
	return 0;
}

static __always_inline u32 stack_walk(void *ctx, struct task_struct *cur, struct thr_stack *k,
				      bool same, u64 now)
{
	return 0;
}

static __always_inline bool stack_due(struct thr *t, u32 why, u64 res, u64 now)
{
	return false;
}

static __always_inline u32 stack_of(void *ctx, struct thr *t, u32 why, u64 now)
{
	return 0;
}

static __always_inline u32 stack_at_call(struct task_struct *cur, u64 now)
{
	return 0;
}
#else
/* Walks the user side of cur into st. */
static __always_inline void walk_user(struct unw_state *st, struct task_struct *cur, u64 now)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(cur);

	if (!AS(task_struct, cur)->mm) /* on its way out, its memory is gone */
		return;
	st->end = UNW_END_NO_MAP;
	if (!userregs_read(regs, &st->pc, &st->sp, &st->bp))
		return;
	userregs_all(regs, st->regs);
	st->first_sp = st->sp;
	st->set = maps_set(now);
	if (!st->set && !fresh_use(st))
		return;
	st->exact = 1;
	st->known = REGS_ALL;
	unw_walk(st);
	if (st->end == UNW_END_NO_MAP)
		maps_ask(now);
}

static __always_inline u32 stack_send(struct unw_state *st, struct task_struct *cur, u64 now)
{
	struct wire_stack *r = &st->rec;
	u64 hash = st->hash, seen = in_epoch(hash), size;
	u32 id = __sync_fetch_and_add(&stack_ids, 1) + 1;

	size = WIRE_STACK_BYTES + (r->user_cnt + r->kernel_cnt + r->rt_cnt) * 8;
	if (size > sizeof(*r))
		return 0;
	hdr_fill(&r->hdr, WIRE_STACK, size, cur->pid, now);
	r->hash = hash;
	r->id = id;
	r->tgid = cur->tgid;
	r->end = st->end;
	if (bpf_ringbuf_output(&hu_ring, r, size, ring_flags())) {
		count_loss(HU_LOSS_RING);
		return 0;
	}
	bpf_map_update_elem(&hu_stack_seen, &seen, &id, BPF_ANY);
	return id;
}

/* All frames are in st.  Its id, 0 none. */
static __always_inline u32 stack_id(struct unw_state *st, struct task_struct *cur,
				    struct unw_cpu *c, u64 now)
{
	u32 *id;
	u64 seen;

	count_walk(c, UNWC_STACKS);
	c->cnt[UNWC_FRAMES] += st->cnt;
	count_walk(c, UNWC_END + st->end);
	if (!st->hash)
		st->hash = 1;
	seen = in_epoch(st->hash);
	id = bpf_map_lookup_elem(&hu_stack_seen, &seen);
	if (id)
		return *id;
	count_walk(c, UNWC_SENT);
	return stack_send(st, cur, now);
}

/* k: what the next stack with this fingerprint will be taken for. */
static __always_inline void remember(struct thr_stack *k, const struct unw_state *st, u64 sp,
				     u64 now)
{
	k->check_ns = now + CHECK_NS;
	k->slot[0] = st->slot[0] ? st->slot[0] - sp : 0;
	k->slot[1] = st->slot[1] ? st->slot[1] - sp : 0;
	k->pc[0] = st->slot_pc[0];
	k->pc[1] = st->slot_pc[1];
}

static __always_inline u32 scratch_take(struct unw_cpu *c)
{
	u32 i;

	for (i = 0; i < UNW_SCRATCH_CNT; i++)
		if (!__sync_val_compare_and_swap(&c->busy[i], 0, 1))
			return i;
	count_walk(c, UNWC_NESTED);
	return UNW_SCRATCH_CNT;
}

/*
 * A stack is taken by functions that are global, for the verifier looks at
 * those once, and at others once for each of the thousand ways by which a
 * switch may come to them.
 *
 * Walks the user side of the current task into a scratch of this CPU: its
 * index, UNW_SCRATCH_CNT when all are in use.
 */
__noinline int stack_begin(u64 now)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u32 zero = 0, i;
	struct unw_cpu *c = bpf_map_lookup_elem(&hu_stk_cpu, &zero);
	struct unw_state *st;

	if (!c)
		return UNW_SCRATCH_CNT;
	i = scratch_take(c);
	st = bpf_map_lookup_elem(&hu_walks, &i);
	if (!st)
		return UNW_SCRATCH_CNT;
	__builtin_memset(st, 0, offsetof(struct unw_state, sig));
	st->end = UNW_END_OUTERMOST;
	st->rec.rt_cnt = 0;
	st->rec.rt_end = RT_NONE;
	if (has_user(cur))
		walk_user(st, cur, now);
	return i;
}

/* From here on the stack with the fingerprint of k is taken to be id; same: it had one before. */
static __always_inline void stack_learn(struct thr_stack *k, const struct unw_state *st, u32 user,
					u32 id, bool same, struct unw_cpu *c, u64 now)
{
	/* the next may know the mapping, or run another function of a runtime */
	if (st->end == UNW_END_NO_MAP || st->rec.rt_cnt) {
		k->id = 0;
		return;
	}
	if (!id)
		return;
	if (!same) {
		k->doubt = 0;
	} else if (k->user != user) {
		k->doubt++;
		count_walk(c, UNWC_DOUBT);
	}
	remember(k, st, st->first_sp, now);
	k->user = user;
	k->id = id;
}

/* how of stack_end: these bits and the index of the scratch */
#define END_SAME 0x100
#define END_RUNTIME 0x200 /* with the frames that an interpreter has in a list */

/*
 * bytes of the kernel's frames lie behind the user's.  k may be NULL.  Lets go of
 * the scratch; returns the id, 0 none.
 */
__noinline int stack_end(struct unw_state *st, struct thr_stack *k, s64 bytes, u32 how, u64 now)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u32 zero = 0, idx = how & 0xff, id, user;
	struct unw_cpu *c = bpf_map_lookup_elem(&hu_stk_cpu, &zero);

	if (!c || !st)
		return 0;
	user = st->hash;
	if (st->own)
		st->hash = mix64(st->hash + cur->tgid);
	unw_add_kernel(st, bytes);
	if (rt_frames(st, how & END_RUNTIME)) {
		count_walk(c, UNWC_RT + (st->rec.rt_end & 3));
		c->cnt[UNWC_RT_FRAMES] += st->rec.rt_cnt;
	}
	id = stack_id(st, cur, c, now);
	if (k)
		stack_learn(k, st, user, id, how & END_SAME, c, now);
	if (idx < UNW_SCRATCH_CNT)
		c->busy[idx] = 0;
	return id;
}

/*
 * Walks the current task.  k is filled in where it is not NULL; same: it was
 * that of the present fingerprint before.  No ctx, no frames of the kernel.  An
 * interpreter's go along where k is NULL: fingerprints do not know them.
 * Returns the id, 0 none.
 */
static __noinline u32 stack_walk(void *ctx, struct task_struct *cur __attribute__((unused)),
				 struct thr_stack *k, bool same, u64 now)
{
	u32 idx = stack_begin(now), at;
	struct unw_state *st = bpf_map_lookup_elem(&hu_walks, &idx);
	long bytes = 0;

	if (!st)
		return 0;
	at = st->cnt;
	if (ctx && at <= UNW_USER_MAX)
		bytes = bpf_get_stack(ctx, &st->rec.frames[at], UNW_KERNEL_MAX * sizeof(u64), 0);
	return stack_end(st, k, bytes, idx | (same ? END_SAME : 0) | (k ? 0 : END_RUNTIME), now);
}

/* The same; its time is taken from a budget. */
static __noinline u32 stack_walk_from(struct unw_budget *b, void *ctx, struct thr_stack *k,
				      bool same, u64 now)
{
	u64 began = bpf_ktime_get_ns();
	u32 id = stack_walk(ctx, bpf_get_current_task_btf(), k, same, now);

	if (b)
		b->left_ns -= bpf_ktime_get_ns() - began;
	return id;
}

/*
 * Do the remembered return addresses still lie there?  The upper one, mostly
 * not in the cache, is looked at one time in eight.
 */
__noinline int slots_agree(const struct thr_stack *k, u64 sp, u64 now)
{
	u64 pc;

	if (!k)
		return false;
	if (k->slot[0] && (!read_user(&pc, sp + k->slot[0]) || pc != k->pc[0]))
		return false;
	if (now >> 6 & 7 || !k->slot[1])
		return true;
	return read_user(&pc, sp + k->slot[1]) && pc == k->pc[1];
}

/* May it be used without a walk? */
static __always_inline bool is_fresh(struct thr_stack *k, struct unw_cpu *c, u64 now)
{
	if (now < k->check_ns)
		return true;
	if (now < c->check_ns) {
		k->check_ns = now + CHECK_NS;
		return true;
	}
	c->check_ns = now + CHECK_GAP_NS;
	return false;
}

/*
 * Is it time for another stack of t?  Looking a stack up touches ten cold
 * lines, its own and those of the task's stack, so of many waits for one
 * resource a thousand a second carry one.  A wait for something else, which
 * may be the long one, does not have to stand behind them.
 */
static __always_inline bool stack_due(struct thr *t, u32 why, u64 res, u64 now)
{
	struct thr_stacks *s = &t->stacks;
	u64 due = s->due_ns[why & 1];

	if (with_stacks != STACKS_EACH && now < due &&
	    (s->due_res[why & 1] == res || now + DUE_GAP_NS - DUE_OTHER_NS < due))
		return false;
	s->due_ns[why & 1] = now + DUE_GAP_NS;
	s->due_res[why & 1] = res;
	return true;
}

/*
 * What a thread's place in user space goes by.  kind: one place there, several
 * kinds of wait in the kernel.
 */
static __always_inline u64 place_key(struct task_struct *p, u32 kind, u64 *ret_sp)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(p);
	u64 pc = 0, bp = 0;
	struct sysregs s;

	userregs_read(regs, &pc, ret_sp, &bp);
	sysregs_read(regs, &s);
	return in_epoch(pc ^ mix64(*ret_sp ^ bp << 20) ^ (u64)s.nr << 48) ^ (u64)kind << 56;
}

/* The first of the STACK_WAYS that a key may have. */
static __always_inline u32 place_first(u64 key)
{
	return (u32)(key >> 4) & (THR_STACKS - STACK_WAYS);
}

/* Index of t's place among those it is known by, THR_STACKS: it is new. */
__noinline int place_find(const struct thr *t, u64 key)
{
	u32 i, first = place_first(key), at = THR_STACKS;

	if (!t)
		return THR_STACKS;
	for (i = 0; i < STACK_WAYS; i++)
		at = t->stacks.keys[MASKED(first + i, THR_STACKS - 1)] == key ? first + i : at;
	return at;
}

/* Is t, which goes to sleep, in a place that it was not found in lately? */
static __noinline bool stack_is_new(struct task_struct *p, struct thr *t)
{
	u64 sp = 0;

	if (!p || !t || !has_user(p))
		return false;
	return place_find(t, place_key(p, t->cls, &sp)) == THR_STACKS;
}

/* The stack that t slept with, by its place alone: its memory cannot be read now. */
static __noinline u32 stack_recall(struct task_struct *p, struct thr *t)
{
	const struct thr_stack *k;
	u64 sp = 0;
	u32 at;

	if (!p || !t || !has_user(p))
		return 0;
	at = place_find(t, place_key(p, t->cls, &sp));
	if (at == THR_STACKS)
		return 0;
	k = &t->stacks.known[MASKED(at, THR_STACKS - 1)];
	return k->doubt < DOUBT_MAX ? k->id : 0;
}

#define PICK_SAME 0x100 /* of what stack_pick returns, below 0 and inverted; the rest is an index */

/*
 * The stack of t, the current thread, as its fingerprint tells it: the id, 0:
 * none is to be taken.  Below 0: it is to be walked.
 */
__noinline int stack_pick(struct thr *t, u32 why, u64 now)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u32 zero = 0, at = 0;
	bool same = false;
	struct unw_cpu *c = bpf_map_lookup_elem(&hu_stk_cpu, &zero);
	struct thr_stack *k = NULL;
	u64 key = 0, sp = 0;

	if (!t || !c)
		return 0;
	why &= 1;
	if (has_user(cur)) {
		key = place_key(cur, why ? WAIT_CLASS_CNT : t->cls, &sp);
		at = place_find(t, key);
		if (at == THR_STACKS)
			at = place_first(key) | (t->stacks.turn & (STACK_WAYS - 1));
		at = MASKED(at, THR_STACKS - 1);
		k = &t->stacks.known[at];
		same = t->stacks.keys[at] == key && k->id && slots_agree(k, sp, now);
		if (same && k->doubt < DOUBT_MAX && is_fresh(k, c, now)) {
			count_walk(c, UNWC_REUSED);
			return k->id;
		}
	}
	if (now < t->stacks.next_ns[why] ||
	    !walk_allowed(&c->waits, shed & SHED_STACKS ? WALK_SHED_PER_MILLE : WALK_PER_MILLE,
			  now)) {
		count_walk(c, UNWC_BUDGET);
		return 0;
	}
	t->stacks.next_ns[why] = now + WALK_GAP_NS;
	if (!k)
		return ~THR_STACKS;
	if (!same) {
		t->stacks.keys[MASKED(at, THR_STACKS - 1)] = key;
		k->id = 0;
		t->stacks.turn++;
	}
	return ~(at | (same ? PICK_SAME : 0));
}

/*
 * The stack of the current task, whose thread t is: at its switch-out
 * (STACK_WAIT) or while it wakes another (STACK_WAKER).  0: none was taken.
 */
static __noinline u32 stack_of(void *ctx, struct thr *t, u32 why, u64 now)
{
	u32 zero = 0;
	struct unw_cpu *c = bpf_map_lookup_elem(&hu_stk_cpu, &zero);
	struct thr_stack *k = NULL;
	int got = ~THR_STACKS;

	if (!t || !c)
		return 0;
	if (with_stacks != STACKS_EACH)
		got = stack_pick(t, why, now);
	if (got >= 0)
		return got;
	got = ~got;
	if (!(got & THR_STACKS))
		k = &t->stacks.known[MASKED(got, THR_STACKS - 1)];
	return stack_walk_from(&c->waits, ctx, k, got & PICK_SAME, now);
}

/* The thread's stack for this call at this place, made if need be. */
static __always_inline struct thr_stack *call_known(struct task_struct *cur, struct pt_regs *regs,
						    u64 *ret_sp)
{
	struct thr_stack none = {0};
	u64 key, pc = 0, bp = 0;
	struct thr_stack *k;
	struct sysregs s;

	if (!userregs_read(regs, &pc, ret_sp, &bp))
		return NULL;
	sysregs_read(regs, &s);
	key = in_epoch(mix64(pc ^ mix64(*ret_sp ^ bp << 20) ^ (u64)s.nr << 48) + cur->pid);
	k = bpf_map_lookup_elem(&hu_call_stacks, &key);
	if (k)
		return k;
	bpf_map_update_elem(&hu_call_stacks, &key, &none, BPF_ANY);
	return bpf_map_lookup_elem(&hu_call_stacks, &key);
}

/*
 * The user's stack of the current task at the entry or exit of a system call:
 * for programs at sys_enter and sys_exit.  The kernel's frames would be the
 * tracepoint's own.  0: none was taken.
 */
__noinline int stack_call(u64 now)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	u32 zero = 0;
	struct unw_cpu *c = bpf_map_lookup_elem(&hu_stk_cpu, &zero);
	struct thr_stack *k;
	bool same;
	u64 sp = 0;

	if (!with_stacks || !c || !has_user(cur))
		return 0;
	k = call_known(cur, (void *)bpf_task_pt_regs(cur), &sp);
	if (!k)
		return 0;
	same = k->id && slots_agree(k, sp, now);
	if (same && k->doubt < DOUBT_MAX && with_stacks != STACKS_EACH && is_fresh(k, c, now)) {
		count_walk(c, UNWC_REUSED);
		return k->id;
	}
	if (with_stacks != STACKS_EACH && !walk_allowed(&c->calls, CALL_PER_MILLE, now)) {
		count_walk(c, UNWC_CALL_BUDGET);
		return 0;
	}
	if (!same)
		k->id = 0;
	return stack_walk_from(&c->calls, NULL, k, same, now);
}

static __always_inline u32 stack_at_call(struct task_struct *cur __attribute__((unused)), u64 now)
{
	return stack_call(now);
}
#endif
