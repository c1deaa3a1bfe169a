/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From what a system call names (descriptor, futex address) to the resource:
 * an id that is the same whoever comes to it, and, at its first sight, a
 * WIRE_RES record that describes it.
 *
 * Files that share one anonymous inode (epoll, eventfd, timerfd) differ by the address
 * of their private data.
 */

struct file_ref {
	struct file *file;   /* NULL where only the inode is known */
	struct inode *inode;
	u64 ino;
	u32 dev;
	u32 magic;
	u32 rdev;
	u32 f_flags;
	u16 mode;
	u8 kind; /* enum res_kind */
	u8 pad;
	s32 fd;
	u64 res;
};

static __always_inline u64 mix64(u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static __always_inline u64 res_id(u8 kind, u64 a, u64 b)
{
	u64 id = mix64(mix64(a + 0x9e3779b97f4a7c15ull) ^ (b + ((u64)kind << 56)));

	return id ? id : 1;
}

static __always_inline u8 file_kind(u16 mode, u32 magic)
{
	if (magic == KMAGIC_ANON_INODE)
		return RES_EVENTFD;
	switch (mode & KS_IFMT) {
	case KS_IFSOCK:
		return RES_SOCKET;
	case KS_IFIFO:
		return RES_PIPE;
	case KS_IFCHR:
		return RES_CHARDEV;
	case KS_IFBLK:
		return RES_DISK;
	case KS_IFREG:
	case KS_IFDIR:
		return RES_FILE;
	}
	return RES_EVENTFD;
}

/*
 * What f->file is.  A global function, which the verifier looks at once: pointers
 * that come in f are numbers to it.
 */
__noinline int file_look(struct file_ref *f)
{
	struct super_block *sb;
	struct inode *inode;
	struct file *file;

	if (!f)
		return 0;
	file = AS(file, f->file);
	inode = GET(file, f_inode);
	f->inode = inode;
	sb = GET(inode, i_sb);
	f->mode = GET(inode, i_mode);
	f->ino = GET(inode, i_ino);
	f->magic = GET(sb, s_magic);
	f->dev = GET(sb, s_dev);
	f->kind = file_kind(f->mode, f->magic);
	switch (f->kind) {
	case RES_EVENTFD:
		f->res = res_id(RES_EVENTFD, GET_ADDR(file, file, private_data), 0);
		break;
	case RES_SOCKET:
		f->res = res_id(RES_SOCKET, f->ino, 0);
		break;
	case RES_CHARDEV:
	case RES_DISK:
		f->rdev = GET(inode, i_rdev);
		f->res = res_id(f->kind, f->rdev, 0);
		break;
	case RES_FILE:
		f->f_flags = GET(file, f_flags);
		f->res = res_id(RES_FILE, f->dev, f->ino);
		break;
	default:
		f->res = res_id(f->kind, f->dev, f->ino);
	}
	return 0;
}

/* The file behind a descriptor of the task at that address; false when there is none. */
static __always_inline bool file_of_fd(u64 task, u32 fd, struct file_ref *f)
{
	struct files_struct *files = GET(AS(task_struct, task), files);
	struct fdtable *fdt;

	__builtin_memset(f, 0, sizeof(*f));
	f->fd = fd;
	if (!files)
		return false;
	fdt = GET(files, fdt);
	if (!fdt || fd >= GET(fdt, max_fds))
		return false;
	f->file = ptr_at(GET(fdt, fd) + fd);
	if (!f->file)
		return false;
	file_look(f);
	return true;
}

static __always_inline void res_dentry(struct wire_res *r, struct file *file)
{
	struct dentry *d = BPF_CORE_READ(file, f_path.dentry);
	const unsigned char *name = BPF_CORE_READ(d, d_name.name);

	bpf_probe_read_kernel_str(r->name, sizeof(r->name), name);
}

/* Without a path: one of the names that the inode has. */
static __always_inline void res_alias(struct wire_res *r, struct inode *inode)
{
	struct hlist_node *node = BPF_CORE_READ(inode, i_dentry.first);
	struct dentry *d;

	if (!node)
		return;
	d = (void *)node - bpf_core_field_offset(struct dentry, d_u);
	bpf_probe_read_kernel_str(r->name, sizeof(r->name), BPF_CORE_READ(d, d_name.name));
}

static __always_inline void res_unix(struct wire_res *r, struct sock *sk)
{
	struct unix_sock *u = (struct unix_sock *)sk;
	struct unix_address *addr = BPF_CORE_READ(u, addr);
	struct sock *peer = BPF_CORE_READ(u, peer);
	u64 off = bpf_core_field_offset(struct unix_address, name) +
		  bpf_core_field_offset(struct sockaddr_un, sun_path);

	if (peer) {
		r->aux = BPF_CORE_READ(peer, sk_socket, file, f_inode, i_ino);
		if (!addr) {
			/* the connecting side has no name: show the one it connected to */
			u = (struct unix_sock *)peer;
			addr = BPF_CORE_READ(u, addr);
			r->role = ROLE_CLIENT;
		} else {
			r->role = ROLE_SERVER;
		}
	}
	if (!addr) {
		r->role = ROLE_PAIR;
		return;
	}
	if (BPF_CORE_READ(addr, len) <= 2)
		return;
	if (bpf_probe_read_kernel_str(r->name, sizeof(r->name), (void *)addr + off) == 1) {
		/* abstract: the name begins after a NUL byte */
		r->name[0] = '@';
		bpf_probe_read_kernel_str(r->name + 1, sizeof(r->name) - 1, (void *)addr + off + 1);
	}
}

static __always_inline void res_sock(struct wire_res *r, struct sock *sk)
{
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->sotype = BPF_CORE_READ(sk, sk_type);
	r->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (r->family == KAF_UNIX) {
		res_unix(r, sk);
		return;
	}
	r->lport = BPF_CORE_READ(sk, __sk_common.skc_num);
	r->rport = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (r->family == KAF_INET) {
		*(u32 *)r->laddr = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		*(u32 *)r->raddr = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	} else if (r->family == KAF_INET6) {
		BPF_CORE_READ_INTO(r->laddr, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(r->raddr, sk, __sk_common.skc_v6_daddr);
	}
}

/* True at the first sight of res, by anyone. */
static __always_inline bool res_is_new(u64 res)
{
	u8 one = 1;

	if (bpf_map_lookup_elem(&hu_res_seen, &res))
		return false;
	bpf_map_update_elem(&hu_res_seen, &res, &one, BPF_ANY);
	return true;
}

static __always_inline struct wire_res *res_reserve(u32 tid, u32 tgid, u64 res, u8 kind, u64 now)
{
	struct wire_res *r = bpf_ringbuf_reserve(&hu_ring, sizeof(*r), 0);

	if (!r) {
		count_loss(HU_LOSS_RING);
		bpf_map_delete_elem(&hu_res_seen, &res);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	hdr_fill(&r->hdr, WIRE_RES, sizeof(*r), tid, now);
	r->tgid = tgid;
	r->res = res;
	r->kind = kind;
	r->fd = -1;
	return r;
}

__noinline int res_describe_file(struct thr *t, struct file_ref *f, u64 now)
{
	struct file *file;
	struct wire_res *r;

	if (!t || !f || !res_is_new(f->res))
		return 0;
	file = AS(file, f->file);
	r = res_reserve(t->tid, t->tgid, f->res, f->kind, now);
	if (!r)
		return 0;
	r->fd = f->fd;
	r->ino = f->ino;
	r->magic = f->magic;
	r->dev = f->rdev ? f->rdev : f->dev;
	if (f->kind == RES_SOCKET) {
		struct socket *sock = BPF_CORE_READ(file, private_data);

		res_sock(r, BPF_CORE_READ(sock, sk));
	} else if (file) {
		res_dentry(r, file);
	} else {
		res_alias(r, f->inode);
	}
	bpf_ringbuf_submit(r, ring_flags());
	return 0;
}

/*
 * A resource that is no file: futex, lock, pollset.  ino and aux as wire_res
 * says; kind has the device of a shared futex above its lowest byte.
 */
__noinline int res_describe(struct thr *t, u64 res, u32 kind, u64 ino, u64 aux)
{
	struct wire_res *r;

	if (!t || !res_is_new(res))
		return 0;
	r = res_reserve(t->tid, t->tgid, res, kind & 0xff, t->off_ns);
	if (!r)
		return 0;
	r->dev = kind >> 8;
	r->ino = ino;
	r->aux = aux;
	bpf_ringbuf_submit(r, ring_flags());
	return 0;
}
