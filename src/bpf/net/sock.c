/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sockets of watched processes: which conversation each belongs to, and the
 * hooks at its calls.  What they say of requests: request_times.c.
 *
 * A socket is watched from the first send or receive of a tracked thread on.
 * The hooks run in the calls of every process: others leave after one look at
 * what is kept of this CPU.
 *
 * At 100,000 requests a second each nanosecond here is 0.02 % of a core: no
 * hashing on the way, nothing shared between CPUs but two counters.
 */

#define MSG_PEEK_OR_ERRQUEUE (0x2 | 0x2000)
#define ENDS_MAX 4096
#define SOCKS_DESCRIBED 32
#define TCP_STATE_ESTABLISHED 1
#define TCP_STATE_CLOSE 7
#define TCP_STATE_LISTEN 10

struct sk_ent {			/* by cache line, as struct thr; the third is rare */
	u64 open_ns;	  /* a request is open since, 0 none */
	u64 unread_ns;	  /* data came and was not read, 0 none or not known */
	u64 idle_ns;	  /* the last turn ended */
	u64 sampled_ns;	  /* the last timed turn began */
	u32 weight;	  /* turns since sampled_ns */
	u32 left;	  /* turns until one is timed again, the present one included */
	u32 role;
	u32 first_tid;
	u32 last_tid;
	u32 end_idx;
	u32 tgid;
	u32 rx_seq;	  /* TCP: what had been read when it last sent */
	u64 last_rx_ns, last_tx_ns;
	u64 res;
	u64 queue_ns;	  /* of the open request */
	union {
		u64 idle_add_ns; /* before the open request */
		u64 took_ns;	 /* of the one that is closed, from its first read on */
	};
	u64 txblock_ns;	  /* the send buffer was full since, 0 not */
	u32 rx_bytes, tx_bytes; /* since the last turn */
	u32 tcp;
	u32 counted;	  /* the tid that the open request is counted for, 0 none */
	u64 notready_since_ns, notready_ns, poll_wake_cnt;
	u64 said_ns;	  /* the open request had the first part of its answer, see answers.c */
	u8 soon, late;	  /* of its answers, of 255 */
	u16 said_cnt;	  /* answers that these are of */
	u32 port;	  /* served here, 0 none */
	u32 listed;	  /* list_round in which hu_iter_file saw it */
};

struct hu_socks_map {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sk_ent);
} hu_socks SEC(".maps");

/*
 * Conversations: key to index, and the sums by index, which needs no hashing
 * later.  The sums are per CPU, so that plain additions do: these programs
 * run with preemption off and are never nested.
 */
struct hu_end_idx_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ENDS_MAX);
	__type(key, struct wire_end_key);
	__type(value, u32);
} hu_end_idx SEC(".maps");

struct hu_ends_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ENDS_MAX); /* fewer on machines with many CPUs: see live_bpf.c */
	__type(key, u32);
	__type(value, struct wire_end);
} hu_ends SEC(".maps");

u32 end_cnt = 1; /* 0 is the entry of those that found no place */

static __always_inline struct wire_end *end_of(const struct sk_ent *e)
{
	u32 idx = e->end_idx;

	return idx ? bpf_map_lookup_elem(&hu_ends, &idx) : NULL;
}

static __noinline u32 end_find(const struct wire_end_key *key, const char *name)
{
	struct wire_end *end;
	u32 *found, idx;

	if (!key || !name)
		return 0;
	found = bpf_map_lookup_elem(&hu_end_idx, key);
	if (found)
		return *found;
	idx = __sync_fetch_and_add(&end_cnt, 1);
	end = bpf_map_lookup_elem(&hu_ends, &idx);
	if (!end) {
		count_loss(HU_LOSS_END_MAP);
		return 0;
	}
	if (bpf_map_update_elem(&hu_end_idx, key, &idx, BPF_NOEXIST)) {
		/* another CPU was first: its index counts, this one stays unused */
		found = bpf_map_lookup_elem(&hu_end_idx, key);
		return found ? *found : 0;
	}
	bpf_probe_read_kernel_str(end->name, sizeof(end->name), name);
	return idx;
}

static __always_inline u64 name_hash(const char *name)
{
	const u64 *w = (const u64 *)name;
	u64 h = 1;
	int i;

	for (i = 0; i < WIRE_NAME_LEN / 8; i++)
		h = mix64(h ^ w[i]);
	return h;
}

/* Role and conversation of a socket seen for the first time.  d: filled in by res_sock. */
static __noinline int sk_init(struct sock *sk, struct sk_ent *e, struct wire_res *d)
{
	struct wire_end_key key = {0};
	struct listen_key lk = {0};

	if (!e || !d)
		return 0;
	d->ino = BPF_CORE_READ(sk, sk_socket, file, f_inode, i_ino);
	e->res = res_id(RES_SOCKET, d->ino, 0);
	key.tgid = e->tgid;
	key.family = d->family;
	if (d->family == KAF_UNIX) {
		e->role = d->role;
		key.uid = name_hash(d->name);
	} else if (d->family == KAF_INET || d->family == KAF_INET6) {
		lk.netns = d->netns;
		lk.port = d->lport;
		e->role = bpf_map_lookup_elem(&hu_listen, &lk) || !d->rport ? ROLE_SERVER
									    : ROLE_CLIENT;
		if (e->role == ROLE_SERVER) {
			key.lport = d->lport;
			e->port = d->lport;
		} else {
			key.rport = d->rport;
			__builtin_memcpy(key.raddr, d->raddr, sizeof(key.raddr));
		}
	} else {
		e->role = ROLE_UNKNOWN;
	}
	key.role = e->role;
	if (e->role == ROLE_SERVER || e->role == ROLE_CLIENT)
		e->end_idx = end_find(&key, d->name);
	return 0;
}

/*
 * The first sockets of a conversation are described even if nobody ever
 * sleeps on one: the report names them, and who is at the other end.
 */
static __always_inline void sk_describe(const struct sk_ent *e, struct wire_res *d, u32 tid,
					const struct wire_end *end, bool again)
{
	if (!end || end->conns > SOCKS_DESCRIBED || (!res_is_new(e->res) && !again))
		return;
	hdr_fill(&d->hdr, WIRE_RES, sizeof(*d), tid, bpf_ktime_get_ns());
	d->tgid = e->tgid;
	d->res = e->res;
	d->kind = RES_SOCKET;
	d->role = e->role;
	d->fd = -1;
	if (bpf_ringbuf_output(&hu_ring, d, sizeof(*d), ring_flags()))
		count_loss(HU_LOSS_RING);
}

/* As if nothing of what came so far was read at the last send; where nothing came, so it is. */
static __always_inline u32 tcp_seq_before(struct sock *sk)
{
	struct tcp_sock *tp = AS(tcp_sock, sk);
	u32 seq = GET(tp, copied_seq);

	return GET(tp, bytes_received) ? seq - 1 : seq;
}

/* Begins to watch sk when the current thread is tracked. */
static __noinline struct sk_ent *sk_begin(struct sock *sk, bool recv)
{
	struct thr *t = thr_of(bpf_get_current_task_btf());
	bool asks = may_ask_anybody(sk);
	struct wire_res d;
	struct sk_ent *e;
	struct wire_end *end;

	if (!t || t->light || (asks && recv))
		return NULL;
	__builtin_memset(&d, 0, sizeof(d));
	res_sock(&d, sk);
	asks = asks && datagram_to(&d);
	e = bpf_sk_storage_get(&hu_socks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!e) {
		count_loss(HU_LOSS_SOCK_STORAGE);
		return NULL;
	}
	e->tgid = t->tgid;
	e->tcp = sk->sk_protocol == KIPPROTO_TCP;
	if (e->tcp)
		e->rx_seq = tcp_seq_before(sk);
	sk_init(sk, e, &d);
	end = end_of(e);
	if (end)
		end->conns++;
	sk_describe(e, &d, t->tid, end, asks);
	return e;
}
