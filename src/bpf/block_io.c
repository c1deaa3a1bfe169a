/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Block I/O of all processes: by device, process and operation, and how busy
 * each device is.
 *
 * A request is charged to the task that submits it.  From 6.5 on
 * block_io_start runs there.  Before, block_rq_issue often runs in a worker:
 * then block_bio_queue remembers who brought the bio.  Flushes are only ever
 * seen at issue.  Requests are known by their address.
 */

#define MAPPING_FLAGS 3 /* in page.mapping: anonymous, movable */
#define REQ_OP_MASK 0xff
#define REQ_OP_FLUSH 2

struct rq_ent {
	u64 begin_ns;
	u64 bytes;
	u32 dev;
	u32 tgid;
	u32 tid;
	u32 op; /* as wire_disk_key */
	char comm[WIRE_COMM_LEN];
};

struct bio_who {
	u32 tgid;
	u32 tid;
	char comm[WIRE_COMM_LEN];
};

struct hu_rqs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct rq_ent);
} hu_rqs SEC(".maps");

struct hu_bios_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct bio_who);
} hu_bios SEC(".maps");

struct hu_disks_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct wire_disk_key);
	__type(value, struct wire_disk);
} hu_disks SEC(".maps");

struct hu_devs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__type(key, u32);
	__type(value, struct wire_dev);
} hu_devs SEC(".maps");

static __always_inline u32 disk_op(u32 cmd_flags)
{
	u32 op = cmd_flags & REQ_OP_MASK;

	return op < 3 ? op : 3;
}

static __always_inline u32 rq_dev(struct request *rq)
{
	struct gendisk *disk = AS(request, rq)->q->disk;

	return disk ? (u32)disk->major << 20 | (u32)disk->first_minor : 0;
}

/*
 * One more (step 1) or one less (-1) in flight.  The sums hold ends minus
 * begins, so that they need no time of the last change: the reader adds what
 * is in flight times now.
 */
static __always_inline void dev_step(u32 dev, s32 step, u64 now)
{
	struct wire_dev *d = bpf_map_lookup_elem(&hu_devs, &dev), fresh = {0};
	s32 before;

	if (!d) {
		bpf_map_update_elem(&hu_devs, &dev, &fresh, BPF_NOEXIST);
		d = bpf_map_lookup_elem(&hu_devs, &dev);
	}
	if (!d) {
		count_loss(HU_LOSS_DISK_MAP);
		return;
	}
	before = __sync_fetch_and_add(&d->inflight, step);
	__sync_fetch_and_add(&d->inflight_ns, step > 0 ? -now : now);
	if (before == 0 && step > 0)
		__sync_fetch_and_add(&d->busy_ns, -now);
	else if (before == 1 && step < 0)
		__sync_fetch_and_add(&d->busy_ns, now);
}

static __always_inline void rq_begin(struct request *rq, const struct bio_who *who, u64 now)
{
	u64 key = (u64)rq;
	struct rq_ent e = {
		.begin_ns = now,
		.dev = rq_dev(rq),
		.tgid = who->tgid,
		.tid = who->tid,
		.op = disk_op(rq->cmd_flags),
	};

	bool again = bpf_map_lookup_elem(&hu_rqs, &key) != NULL;

	__builtin_memcpy(e.comm, who->comm, sizeof(e.comm));
	if (bpf_map_update_elem(&hu_rqs, &key, &e, BPF_ANY)) {
		count_loss(HU_LOSS_DISK_MAP);
		return;
	}
	/* one whose end was not seen: its address comes again */
	if (!again)
		dev_step(e.dev, 1, now);
}

/* Kernel threads go by their own id; threads only where tracked. */
static __always_inline void current_who(struct bio_who *who)
{
	struct task_struct *cur = bpf_get_current_task_btf();

	who->tgid = cur->flags & KPF_KTHREAD ? cur->pid : cur->tgid;
	who->tid = thr_of(cur) ? cur->pid : 0;
	bpf_get_current_comm(who->comm, sizeof(who->comm));
}

static __noinline int disk_sum(const struct rq_ent *e, u64 now)
{
	struct wire_disk_key key = {0};
	struct wire_disk *d, fresh = {0};
	u64 lat_ns;

	if (!e)
		return 0;
	key.dev = e->dev;
	key.tgid = e->tgid;
	key.tid = e->tid;
	key.op = e->op;
	lat_ns = since(e->begin_ns, now);
	d = bpf_map_lookup_elem(&hu_disks, &key);
	if (!d) {
		__builtin_memcpy(fresh.comm, e->comm, sizeof(fresh.comm));
		bpf_map_update_elem(&hu_disks, &key, &fresh, BPF_NOEXIST);
		d = bpf_map_lookup_elem(&hu_disks, &key);
	}
	if (!d) {
		count_loss(HU_LOSS_DISK_MAP);
		return 0;
	}
	__sync_fetch_and_add(&d->ios, 1);
	__sync_fetch_and_add(&d->sectors, e->bytes >> 9);
	__sync_fetch_and_add(&d->lat_ns, lat_ns);
	if (lat_ns > d->lat_max_ns)
		d->lat_max_ns = lat_ns;
	return 0;
}

static __always_inline void rq_end(struct request *rq)
{
	u64 key = (u64)rq, now;
	struct rq_ent *found = bpf_map_lookup_elem(&hu_rqs, &key), e;

	if (!found)
		return;
	now = bpf_ktime_get_ns();
	e = *found;
	bpf_map_delete_elem(&hu_rqs, &key);
	dev_step(e.dev, -1, now);
	disk_sum(&e, now);
}

/*
 * The file that the current thread reads or writes by bio: names what a page
 * fault, which has no descriptor, waits for.  Swap has no file.
 */
static __always_inline void note_file(struct bio *bio)
{
	struct thr *t = thr_of(bpf_get_current_task_btf());
	struct address_space *mapping;
	struct file_ref f = {.kind = RES_FILE, .fd = -1};
	struct super_block *sb;
	struct inode *inode;
	struct page *page;

	if (!t || !bio)
		return;
	page = BPF_CORE_READ(bio, bi_io_vec, bv_page);
	mapping = BPF_CORE_READ(page, mapping);
	if (!mapping || (u64)mapping & MAPPING_FLAGS)
		return;
	inode = BPF_CORE_READ(mapping, host);
	f.mode = BPF_CORE_READ(inode, i_mode);
	if ((f.mode & KS_IFMT) != KS_IFREG)
		return;
	sb = BPF_CORE_READ(inode, i_sb);
	f.dev = BPF_CORE_READ(sb, s_dev);
	f.magic = BPF_CORE_READ(sb, s_magic);
	f.ino = BPF_CORE_READ(inode, i_ino);
	f.res = res_id(RES_FILE, f.dev, f.ino);
	f.inode = inode;
	t->io_res = f.res;
	if (t->seen_res != f.res) {
		t->seen_res = f.res;
		res_describe_file(t, &f, t->state_ns);
	}
}

SEC("tp_btf/block_io_start")
int hu_io_start(u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];
	struct bio_who who;

	count_run(RUN_BLOCK);
	current_who(&who);
	if (who.tid)
		note_file(AS(request, rq)->bio);
	rq_begin(rq, &who, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/block_bio_queue")
int hu_bio_queue(u64 *ctx)
{
	u64 bio = ctx[0];
	struct bio_who who;

	count_run(RUN_BLOCK);
	current_who(&who);
	if (who.tid)
		note_file((struct bio *)ctx[0]);
	bpf_map_update_elem(&hu_bios, &bio, &who, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int hu_rq_issue(u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];
	u64 key = (u64)rq, bio;
	struct bio_who *brought, who;

	count_run(RUN_BLOCK);
	if (has_io_start && (rq->cmd_flags & REQ_OP_MASK) != REQ_OP_FLUSH)
		return 0;
	if (bpf_map_lookup_elem(&hu_rqs, &key)) /* requeued */
		return 0;
	bio = (u64)AS(request, rq)->bio;
	brought = bpf_map_lookup_elem(&hu_bios, &bio);
	if (brought)
		who = *brought;
	else
		current_who(&who);
	rq_begin(rq, &who, bpf_ktime_get_ns());
	return 0;
}

/* May come in parts; the last one ends the request where block_io_done is missing. */
SEC("tp_btf/block_rq_complete")
int hu_rq_complete(u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];
	u32 bytes = ctx[2];
	u64 key = (u64)rq;
	struct rq_ent *e;

	count_run(RUN_BLOCK);
	e = bpf_map_lookup_elem(&hu_rqs, &key);
	if (!e)
		return 0;
	e->bytes += bytes;
	/* flushes are not accounted: no block_io_done comes for them */
	if (e->op == REQ_OP_FLUSH || (!has_io_done && bytes >= rq->__data_len))
		rq_end(rq);
	return 0;
}

/* Becomes part of another request, which goes on for both: it does not end itself. */
SEC("tp_btf/block_rq_merge")
int hu_rq_merge(u64 *ctx)
{
	u64 key = ctx[0];
	struct rq_ent *e = bpf_map_lookup_elem(&hu_rqs, &key);
	u32 dev;

	if (!e)
		return 0;
	dev = e->dev;
	bpf_map_delete_elem(&hu_rqs, &key);
	dev_step(dev, -1, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/block_io_done")
int hu_io_done(u64 *ctx)
{
	count_run(RUN_BLOCK);
	rq_end((struct request *)ctx[0]);
	return 0;
}
