/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests, as the sockets show them, without knowing any protocol.
 *
 * On a server socket the first receive opens a request and the next send
 * answers it; on a client socket the first send opens and the next receive
 * answers.  Further receives before the answer count as partial; what comes
 * after the answer belongs to it.  Sums go to the conversation's entry (all
 * sockets of one process that serve one port or ask one address).
 *
 * A socket is watched from the first send or receive of a tracked thread on.
 * These hooks run on every call of every process: others leave after a look at
 * the socket and one at the task.
 *
 * A socket that is asked more than a thousand times a second is timed in one
 * turn of SAMPLE_CNT, which counts for all of them.  In the turns between, a
 * clock that only ticks (jiffies) stands in: it costs nothing and still tells
 * a turn that takes long, which is always counted as it is.
 *
 * At 100,000 requests a second each nanosecond here is 0.02 % of a core: no
 * hashing on the way, nothing shared between CPUs but two counters.
 */

#define MSG_PEEK_OR_ERRQUEUE (0x2 | 0x2000)
#define ENDS_MAX 4096
#define SOCKS_DESCRIBED 32
#define TURN_WINDOW_NS (100 * 1000 * NSEC_PER_USEC)
#define TURNS_PER_WINDOW 100
#define SAMPLE_CNT 16
#define SAMPLE_TURN_NS (1000 * NSEC_PER_USEC) /* turns that follow closer are sampled */
#define COARSE_SLOW_NS (12 * 1000 * NSEC_PER_USEC) /* what the coarse clock can tell */
#define TCP_STATE_ESTABLISHED 1
#define TCP_STATE_CLOSE 7
#define TCP_STATE_LISTEN 10
#define MINUS_EAGAIN (-11)
#define SEND_SHUTDOWN 2

struct sk_ent {			/* by cache line, as struct thr; the third is rare */
	u64 open_ns;	  /* a request is open since, 0 none */
	u64 unread_ns;	  /* data arrived and was not read, 0 none */
	u64 idle_ns;	  /* the last turn ended */
	u64 notready_since_ns;
	u32 role;
	u32 left;	  /* turns until one is timed again, the present one included */
	u32 first_tid;
	u32 last_tid;
	u32 tgid;
	u32 end_idx;
	u64 last_rx_ns, last_tx_ns;
	u64 res;
	u64 queue_ns;	  /* of the open request */
	u64 idle_add_ns;  /* before the open request */
	u64 notready_ns;
	u64 txblock_ns;	  /* the send buffer was full since, 0 not */
	u32 rx_bytes, tx_bytes; /* since the last turn */
	u64 poll_wake_cnt;
	u64 sampled_ns;	  /* the last timed turn began */
	u32 weight;	  /* turns since sampled_ns */
	u32 pad;
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

struct hu_listen_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct listen_key);
	__type(value, u32);
} hu_listen SEC(".maps");

struct turn_window {
	u64 begin_ns;
	u64 cnt;
};

struct hu_turns_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct turn_window);
} hu_turns SEC(".maps");

u32 end_cnt = 1; /* 0 is the entry of those that found no place */

static __always_inline u32 hist_idx(u64 ns)
{
	u64 low = 1000;
	u32 i = 0;

	/* binary search by shifts: 24 powers of two */
	if (ns >= low << 16) {
		low <<= 16;
		i = 16;
	}
	if (ns >= low << 8) {
		low <<= 8;
		i += 8;
	}
	if (ns >= low << 4) {
		low <<= 4;
		i += 4;
	}
	if (ns >= low << 2) {
		low <<= 2;
		i += 2;
	}
	if (ns >= low << 1) {
		low <<= 1;
		i += 1;
	}
	i = i * 2 + (ns >= low + low / 2);
	return i < WIRE_HIST_CNT ? i : WIRE_HIST_CNT - 1;
}

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

/* Role and conversation of a socket seen for the first time.  d: zeroed scratch. */
static __noinline int sk_init(struct sock *sk, struct sk_ent *e, struct wire_res *d)
{
	struct wire_end_key key = {0};
	struct listen_key lk = {0};

	if (!e || !d)
		return 0;
	res_sock(d, sk);
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
					const struct wire_end *end)
{
	if (!end || end->conns > SOCKS_DESCRIBED || !res_is_new(e->res))
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

/* Begins to watch sk when the current thread is tracked. */
static __noinline struct sk_ent *sk_begin(struct sock *sk)
{
	struct thr *t = thr_of(bpf_get_current_task_btf());
	struct wire_res d;
	struct sk_ent *e;
	struct wire_end *end;

	if (!t || t->light)
		return NULL;
	e = bpf_sk_storage_get(&hu_socks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!e) {
		count_loss(HU_LOSS_SOCK_STORAGE);
		return NULL;
	}
	__builtin_memset(&d, 0, sizeof(d));
	e->tgid = t->tgid;
	sk_init(sk, e, &d);
	end = end_of(e);
	if (end)
		end->conns++;
	sk_describe(e, &d, t->tid, end);
	return e;
}

static __always_inline bool turn_allowed(u64 now)
{
	u32 zero = 0;
	struct turn_window *w = bpf_map_lookup_elem(&hu_turns, &zero);

	if (!w)
		return false;
	if (now - w->begin_ns > TURN_WINDOW_NS) {
		w->begin_ns = now;
		w->cnt = 0;
	}
	return w->cnt++ < TURNS_PER_WINDOW;
}

static __always_inline void send_turn(struct sk_ent *e, u32 tid, u64 service_ns, u64 now)
{
	struct wire_turn *w;

	if (service_ns < turn_min_ns || !turn_allowed(now))
		return;
	w = bpf_ringbuf_reserve(&hu_ring, sizeof(*w), 0);
	if (!w) {
		count_loss(HU_LOSS_RING);
		return;
	}
	__builtin_memset(w, 0, sizeof(*w));
	hdr_fill(&w->hdr, WIRE_TURN, sizeof(*w), tid, now);
	w->res = e->res;
	w->queue_ns = e->queue_ns;
	w->service_ns = service_ns;
	w->tgid = e->tgid;
	w->first_tid = e->first_tid;
	w->role = e->role;
	bpf_ringbuf_submit(w, ring_flags());
}

/* Requests that are read and not answered, by thread and process, for the waits meanwhile. */
static __always_inline void open_count(const struct sk_ent *e, s32 step)
{
	if (e->role != ROLE_SERVER)
		return;
	__sync_fetch_and_add(&tio_of(e->first_tid)->own_open, step);
	__sync_fetch_and_add(&proc_open[e->tgid & OPEN_MASK], step);
}

static __always_inline bool is_coarse(const struct sk_ent *e)
{
	return e->left > 1; /* the last before a timed one ends where its idle time begins */
}

static __always_inline u64 sock_time(const struct sk_ent *e)
{
	return is_coarse(e) ? bpf_jiffies64() * jiffy_ns + jiffy_off : bpf_ktime_get_ns();
}

static __noinline int turn_open(struct sk_ent *e, u32 tid, u64 now)
{
	u64 arrived = e->unread_ns ? e->unread_ns : now;

	e->open_ns = now;
	e->first_tid = tid;
	e->queue_ns = e->role == ROLE_SERVER ? since(arrived, now) : 0;
	e->idle_add_ns = e->idle_ns ? since(e->idle_ns, arrived) : 0;
	open_count(e, 1);
	return 0;
}

/* How many turns the timed one that ends now counts for: it and the untimed ones after it. */
static __always_inline u32 turn_weight(struct sk_ent *e, u64 service_ns)
{
	u64 began = e->sampled_ns;
	u32 before = e->weight;

	e->sampled_ns = e->open_ns;
	e->weight = 1;
	if (jiffy_ns && service_ns < COARSE_SLOW_NS && began &&
	    e->open_ns - began < before * SAMPLE_TURN_NS)
		e->weight = SAMPLE_CNT;
	e->left = e->weight - 1;
	return e->weight;
}

static __noinline int turn_sum(struct sk_ent *e, u64 service_ns, u32 weight)
{
	struct wire_end *end = end_of(e);

	if (!end)
		return 0;
	count_runs(RUN_SOCK_TRACKED, 3 * weight); /* arrival, receive, send */
	end->turns += weight;
	end->service_ns += service_ns * weight;
	end->idle_ns += e->idle_add_ns * weight;
	end->hist[hist_idx(service_ns)] += weight;
	if (e->queue_ns) {
		end->queue_ns += e->queue_ns * weight;
		end->queue_cnt += weight;
	}
	end->rx_bytes += e->rx_bytes;
	end->tx_bytes += e->tx_bytes;
	if (service_ns > end->service_max_ns)
		end->service_max_ns = service_ns;
	e->rx_bytes = e->tx_bytes = 0;
	return 0;
}

static __noinline int turn_close(struct sk_ent *e, u32 tid, u64 now)
{
	u64 service_ns = since(e->open_ns, now);

	open_count(e, -1);
	if (!e->left) {
		turn_sum(e, service_ns, turn_weight(e, service_ns));
		send_turn(e, tid, service_ns, now);
	} else {
		if (service_ns >= COARSE_SLOW_NS) {
			turn_sum(e, service_ns, 1);
			send_turn(e, tid, service_ns, now);
		}
		e->left--;
	}
	e->open_ns = 0;
	e->idle_ns = now;
	return 0;
}

/* A request that will not be answered: the connection ends. */
static __always_inline void turn_abandon(struct sk_ent *e)
{
	if (e->open_ns) {
		open_count(e, -1);
		e->open_ns = 0;
	}
	e->unread_ns = 0;
}

/* answerable: we may still send. */
static __always_inline int on_recv(u32 tid, struct sk_ent *e, s32 bytes, u64 now, bool answerable)
{
	struct tio *io = tio_of(tid);
	struct wire_end *end;

	stall_note(io, now);
	e->last_rx_ns = now;
	e->last_tid = tid;
	if (!io->first_io)
		io->first_io = e->res;
	if (io->polled) {
		io->polled = 0;
		e->poll_wake_cnt++;
	}
	if (!bytes) { /* the other side is done: nothing more will come or be asked */
		if (e->role == ROLE_CLIENT)
			turn_abandon(e);
		return 0;
	}
	e->rx_bytes += bytes;
	if (e->role == ROLE_SERVER) {
		if (!e->open_ns) {
			/* the rest of a request, read by a server that has said its last */
			if (answerable)
				turn_open(e, tid, now);
		} else {
			end = end_of(e);
			if (end)
				end->partial_cnt++;
		}
	} else if (e->role == ROLE_CLIENT && e->open_ns) {
		turn_close(e, tid, now);
	}
	e->notready_since_ns = now;
	e->unread_ns = 0;
	return 0;
}

static __always_inline int on_send(u32 tid, struct sk_ent *e, s32 bytes, u64 now)
{
	struct wire_end *end;

	stall_note(tio_of(tid), now);

	if (bytes <= 0) {
		if (bytes == MINUS_EAGAIN && !e->txblock_ns)
			e->txblock_ns = now;
		return 0;
	}
	e->last_tx_ns = now;
	e->last_tid = tid;
	e->tx_bytes += bytes;
	if (e->txblock_ns) {
		end = end_of(e);
		if (end) {
			end->txblock_ns += since(e->txblock_ns, now);
			end->txblock_cnt++;
		}
		e->txblock_ns = 0;
	}
	if (e->role == ROLE_SERVER && e->open_ns)
		turn_close(e, tid, now);
	else if (e->role == ROLE_CLIENT && !e->open_ns)
		turn_open(e, tid, now);
	return 0;
}

static __always_inline int sock_call(struct sock *sk, s32 bytes, u32 flags, bool recv)
{
	struct sk_ent *e;
	u64 now;
	u32 tid;

	if (recv && (bytes < 0 || flags & MSG_PEEK_OR_ERRQUEUE))
		return 0;
	e = bpf_sk_storage_get(&hu_socks, sk, 0, 0);
	if (!e)
		e = sk_begin(sk);
	if (!e)
		return 0;
	now = sock_time(e);
	tid = bpf_get_current_pid_tgid();
	return recv ? on_recv(tid, e, bytes, now, !(sk->sk_shutdown & SEND_SHUTDOWN))
		    : on_send(tid, e, bytes, now);
}

SEC("tp_btf/sock_recv_length")
int hu_recv(u64 *ctx)
{
	return sock_call((struct sock *)ctx[0], ctx[1], ctx[2], true);
}

SEC("tp_btf/sock_send_length")
int hu_send(u64 *ctx)
{
	return sock_call((struct sock *)ctx[0], ctx[1], ctx[2], false);
}

/* Is the other end on another host?  Ours have the same address, or a loopback one. */
static __always_inline bool sk_is_remote(struct sock *sk)
{
	u32 to = sk->__sk_common.skc_daddr;

	return sk->__sk_common.skc_family == KAF_INET && to != sk->__sk_common.skc_rcv_saddr &&
	       (u8)to != 127;
}

static __always_inline int data_ready(struct sock *sk)
{
	u32 zero = 0;
	struct sk_ent *e;
	struct arrival *a;
	u64 now;

	e = bpf_sk_storage_get(&hu_socks, sk, 0, 0);
	if (!e)
		return 0;
	now = sock_time(e);
	a = bpf_map_lookup_elem(&hu_arrival, &zero);
	if (a) {
		a->at_ns = now;
		a->jiffy = is_coarse(e) ? bpf_jiffies64() : 0;
		a->res = e->res;
		a->role = e->role;
		a->remote = sk_is_remote(sk);
	}
	if (e->unread_ns)
		return 0;
	e->unread_ns = now;
	if (e->notready_since_ns)
		e->notready_ns += since(e->notready_since_ns, now);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int hu_data_ready(u64 *ctx)
{
	return data_ready((struct sock *)ctx[0]);
}

SEC("tp_btf/inet_sock_set_state")
int hu_sk_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	u32 to = ctx[2], one = 1;
	struct listen_key lk = {0};
	struct sk_ent *e;

	if (to == TCP_STATE_LISTEN) {
		lk.netns = sk->__sk_common.skc_net.net->ns.inum;
		lk.port = sk->__sk_common.skc_num;
		bpf_map_update_elem(&hu_listen, &lk, &one, BPF_ANY);
		return 0;
	}
	if (to == TCP_STATE_ESTABLISHED)
		return 0;
	e = bpf_sk_storage_get(&hu_socks, sk, 0, 0);
	if (e && to == TCP_STATE_CLOSE)
		turn_abandon(e);
	return 0;
}

/* Once a tick: the sockets in use.  The reader asks for those active since then. */
SEC("iter/bpf_sk_storage_map")
int hu_iter_sock(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sk_ent *e = ctx->value;
	struct wire_sock w;
	u64 now;

	if (!e || !ctx->sk)
		return 0;
	if (!e->open_ns && !e->unread_ns && e->last_rx_ns < tick_since_ns &&
	    e->last_tx_ns < tick_since_ns)
		return 0;
	__builtin_memset(&w, 0, sizeof(w));
	now = bpf_ktime_get_ns();
	hdr_fill(&w.hdr, WIRE_SOCK, sizeof(w), e->open_ns ? e->first_tid : e->last_tid, now);
	w.res = e->res;
	w.open_since_ns = e->open_ns;
	w.unread_since_ns = e->unread_ns;
	w.last_rx_ns = e->last_rx_ns;
	w.last_tx_ns = e->last_tx_ns;
	w.notready_ns = e->notready_ns;
	if (!e->unread_ns && e->notready_since_ns)
		w.notready_ns += since(e->notready_since_ns, now);
	w.poll_wake_cnt = e->poll_wake_cnt;
	w.tgid = e->tgid;
	w.last_tid = e->last_tid;
	w.role = e->role;
	w.end_idx = e->end_idx;
	bpf_seq_write(ctx->meta->seq, &w, sizeof(w));
	return 0;
}
