/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who had the CPU while a watched thread waited for it: time by (process that
 * waited, process that ran).  Each CPU remembers its last runs.  When a thread
 * comes to run, the runs since it became runnable are shared out.  Threads that
 * take turns make many small shares for few pairs: each CPU adds them up in a
 * table of its own, and takes them to the map when another pair needs the place
 * or hu_flush asks.  Both come with interrupts off.
 */

#define BLAMED_CNT 64	/* pairs in the making on a CPU, a power of two */
#define BLAME_ONE_OF 8	/* under SHED_SHORT one of so many short waits stands for all */

struct hu_culprits_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct wire_culprit_key);
	__type(value, struct wire_culprit);
} hu_culprits SEC(".maps");

struct blamed {
	struct wire_culprit_key key;
	u64 ns;
	u32 cnt;
	u32 tid;
};

struct blamed_cpu {
	struct blamed pairs[BLAMED_CNT];
};

struct hu_blamed_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct blamed_cpu);
} hu_blamed SEC(".maps");

static __always_inline void note_runner(struct runners *r, struct task_struct *prev, u64 clock)
{
	struct runner *e = &r->ran[r->idx++ & (RUNNER_CNT - 1)];

	e->end_ns = clock;
	e->tid = prev->pid;
	e->tgid = prev->flags & KPF_KTHREAD ? prev->pid : prev->tgid;
}

/* Takes a pair to the map; its place is free then.  Global: the verifier looks at it once. */
__noinline int blamed_put(struct blamed *b)
{
	struct wire_culprit *c, fresh = {0};
	struct wire_culprit_key key;

	if (!b || !b->cnt)
		return 0;
	key = b->key;
	c = bpf_map_lookup_elem(&hu_culprits, &key);
	if (c) {
		__sync_fetch_and_add(&c->ns, b->ns);
		__sync_fetch_and_add(&c->cnt, b->cnt);
	} else {
		fresh.ns = b->ns;
		fresh.cnt = b->cnt;
		fresh.tid = b->tid;
		if (bpf_map_update_elem(&hu_culprits, &key, &fresh, BPF_NOEXIST))
			count_loss(HU_LOSS_CULPRIT_MAP);
	}
	b->cnt = 0;
	b->ns = 0;
	return 0;
}

/* weight: how many waits like this one it stands for. */
static __always_inline void blame(u32 victim, const struct runner *by, u64 ns, u32 weight)
{
	u32 zero = 0;
	struct blamed_cpu *all = bpf_map_lookup_elem(&hu_blamed, &zero);
	struct blamed *b;

	if (!all)
		return;
	b = &all->pairs[(victim ^ by->tgid * 7) & (BLAMED_CNT - 1)];
	if (b->key.victim_tgid != victim || b->key.culprit_tgid != by->tgid) {
		blamed_put(b);
		b->key.victim_tgid = victim;
		b->key.culprit_tgid = by->tgid;
	}
	b->ns += ns * weight;
	b->cnt += weight;
	b->tid = by->tid;
}

/* Charges the part of a run that lies in from..end; where that begins, 0: no earlier one. */
__noinline u64 blame_run(u32 victim, u32 idx, u64 from, u64 end, u32 weight)
{
	struct runners *r = this_cpu();
	const struct runner *e;
	u64 begin;

	if (!r)
		return 0;
	e = &r->ran[idx & (RUNNER_CNT - 1)];
	begin = r->ran[(idx - 1) & (RUNNER_CNT - 1)].end_ns;
	if (e->end_ns <= from || !begin)
		return 0;
	if (begin < from)
		begin = from;
	if (end > begin)
		blame(victim, e, end - begin, weight);
	return begin;
}

/* Shares out from..end, when victim waited for this CPU, to those who ran on it. */
__noinline int blame_runners(u32 victim, u64 from, u64 end, u32 weight)
{
	struct runners *r = this_cpu();
	u32 i, first;

	if (!r)
		return 0;
	first = r->idx - 1;
	for (i = 0; i < RUNNER_CNT - 1 && end; i++)
		end = blame_run(victim, first - i, from, end, weight);
	return 0;
}

/* victim waited for this CPU from..end, by the clock of its run queue. */
static __always_inline void blame_wait(u32 victim, u64 from, u64 end)
{
	if (!(shed & SHED_SHORT) || since(from, end) >= WAIT_LONG_NS)
		blame_runners(victim, from, end, 1);
	else if (!(end >> 6 & (BLAME_ONE_OF - 1))) /* by chance: some threads take turns */
		blame_runners(victim, from, end, BLAME_ONE_OF);
}

/* Flushes the sums of this CPU. */
static __noinline int blames_flush(void)
{
	u32 zero = 0, i;
	struct blamed_cpu *all = bpf_map_lookup_elem(&hu_blamed, &zero);

	if (!all)
		return 0;
	for (i = 0; i < BLAMED_CNT; i++)
		blamed_put(&all->pairs[i]);
	return 0;
}
