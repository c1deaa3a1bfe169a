/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests, as the sockets show them, without knowing any protocol.
 *
 * On a server socket the first receive opens a request and the next send
 * answers it; on a client socket the first send opens and the next receive
 * answers.  Further receives before the answer count as partial; what comes
 * after the answer belongs to it, but where answers go on (answers.c).  Sums go
 * to the conversation's entry (all sockets of one process that serve one port or
 * ask one address).
 *
 * When a request came, TCP itself knows: it keeps the time of the last data to
 * a tick of the kernel (a jiffy).  Over many requests its error adds up to
 * nothing.  A unix socket's other end tells, by its send.
 *
 * A socket that is asked more than a thousand times a second is timed in one
 * turn of SAMPLE_CNT, which counts for all of them.  In the turns between, a
 * clock that only ticks stands in: it costs next to nothing and still tells a
 * turn that takes long, which is always counted as it is.
 *
 * Where watching costs too much (SHED_TIMING), user space takes hu_recv away
 * for slices of time.  Then the send alone tells a turn on TCP: whether data
 * came since the last send, and when.  Where it came just before, the send is
 * only counted, which costs a tenth of looking the socket up; what was timed
 * stands for those.  Slow turns are sent and summed as they are.
 */

#define TURN_WINDOW_NS (100 * 1000 * NSEC_PER_USEC)
#define TURNS_PER_WINDOW 100 /* slow ones sent by a CPU, and as many that anyone would feel */
#define TURN_FELT_NS (50 * 1000 * NSEC_PER_USEC)
#define TURN_SAMPLE_NS (50 * 1000 * NSEC_PER_USEC) /* one turn of a CPU is sent each, slow or not */
#define SAMPLE_CNT 16
#define SAMPLE_TURN_NS (1000 * NSEC_PER_USEC) /* turns that follow closer are sampled */
#define MINUS_EAGAIN (-11)
#define SEND_SHUTDOWN 2

struct turn_window {
	u64 begin_ns;
	u32 cnt[2]; /* slow; of TURN_FELT_NS and more */
	u64 sample_ns;
};

struct hu_turns_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct turn_window);
} hu_turns SEC(".maps");

/* By conversation: a turn of so many us is slow.  Kept up by user space; 0: a millisecond. */
u32 slow_us[ENDS_MAX] = {0};

u32 recv_off = 0; /* hu_recv is not attached now */

/* The mask forgets which number was added: the paths are checked as one from here on. */
#define STEP(bits)                                                                      \
	if (ns >= low << (bits)) {                                                      \
		low <<= (bits);                                                         \
		i = (i + 2 * (bits)) & 63;                                              \
	}                                                                               \
	asm volatile("" : "+r"(i), "+r"(low)); /* in this order */

/* Binary search by shifts: 24 powers of two, with two buckets each. */
static __always_inline u32 hist_idx(u64 ns)
{
	u64 low = 1000, i = ns >> 58; /* 0, which the verifier does not know */

	STEP(16)
	STEP(8)
	STEP(4)
	STEP(2)
	STEP(1)
	if (ns >= low + low / 2)
		i = (i + 1) & 63;
	asm volatile("" : "+r"(i));
	return i < WIRE_HIST_CNT ? i : WIRE_HIST_CNT - 1;
}

static __always_inline bool turn_allowed(struct turn_window *w, u64 total_ns, u64 now)
{
	if (now - w->begin_ns > TURN_WINDOW_NS) {
		w->begin_ns = now;
		w->cnt[0] = w->cnt[1] = 0;
	}
	return w->cnt[total_ns >= TURN_FELT_NS]++ < TURNS_PER_WINDOW;
}

static __always_inline u64 slow_ns(const struct sk_ent *e)
{
	u32 us = slow_us[e->end_idx & (ENDS_MAX - 1)];

	return us ? us * NSEC_PER_USEC : 1000 * NSEC_PER_USEC;
}

/* A slow turn, or one of a few to compare it with. */
static __noinline int send_turn(struct sk_ent *e, u32 tid, u64 service_ns, u64 now, u32 flags)
{
	u32 zero = 0;
	struct turn_window *win = bpf_map_lookup_elem(&hu_turns, &zero);
	struct wire_turn *w;
	u64 total_ns;
	bool slow;

	if (!e || !win)
		return 0;
	total_ns = e->queue_ns + service_ns;
	slow = total_ns >= slow_ns(e) || flags;
	if (slow && !turn_allowed(win, total_ns, now))
		return 0;
	if (!slow && since(win->sample_ns, now) < TURN_SAMPLE_NS)
		return 0;
	win->sample_ns = now;
	w = bpf_ringbuf_reserve(&hu_ring, sizeof(*w), 0);
	if (!w) {
		count_loss(HU_LOSS_RING);
		return 0;
	}
	__builtin_memset(w, 0, sizeof(*w));
	hdr_fill(&w->hdr, WIRE_TURN, sizeof(*w), tid, now);
	w->res = e->res;
	w->queue_ns = e->queue_ns;
	w->service_ns = service_ns;
	w->tgid = e->tgid;
	w->first_tid = e->first_tid;
	w->role = e->role;
	w->flags = flags | (slow ? TURNF_SLOW : TURNF_SAMPLE);
	bpf_ringbuf_submit(w, ring_flags());
	return 0;
}

/*
 * Requests that are read and not answered, by thread and process, for the waits
 * meanwhile.  Several threads may read and answer on one socket at once: what was
 * counted is taken back once.
 */
static __always_inline void open_add(u32 tid, u32 tgid, s32 step)
{
	__sync_fetch_and_add(&tio_of(tid)->own_open, step);
	__sync_fetch_and_add(&proc_open[tgid & OPEN_MASK], step);
}

static __always_inline void open_count(struct sk_ent *e)
{
	if (e->role == ROLE_SERVER &&
	    __sync_val_compare_and_swap(&e->counted, 0, e->first_tid) == 0)
		open_add(e->first_tid, e->tgid, 1);
}

static __always_inline void open_uncount(struct sk_ent *e)
{
	u32 tid = e->role == ROLE_SERVER ? __sync_lock_test_and_set(&e->counted, 0) : 0;

	if (tid)
		open_add(tid, e->tgid, -1);
}

static __always_inline bool is_coarse(const struct sk_ent *e)
{
	return e->left > 1; /* the last before a timed one ends where its idle time begins */
}

static __always_inline u64 coarse_now(void)
{
	return bpf_jiffies64() * jiffy_ns + jiffy_off;
}

static __always_inline u64 sock_time(const struct sk_ent *e)
{
	return is_coarse(e) ? coarse_now() : bpf_ktime_get_ns();
}

/* TCP's own count of the bytes read from a socket. */
static __always_inline u32 tcp_read_seq(struct sock *sk)
{
	return GET(AS(tcp_sock, sk), copied_seq);
}

static __always_inline bool tcp_has_unread(struct sock *sk)
{
	struct tcp_sock *tp = AS(tcp_sock, sk);

	return GET(tp, rcv_nxt) != GET(tp, copied_seq);
}

/* How long ago the last data came, to a jiffy. */
static __always_inline u64 tcp_came_ns(struct sock *sk)
{
	u32 came = GET(AS(inet_connection_sock, sk), icsk_ack.lrcvtime);
	s32 jiffies = (u32)bpf_jiffies64() - came;

	return jiffies > 0 ? jiffies * jiffy_ns : 0;
}

/*
 * What a socket that is only counted had read when it sent last: a tag of it
 * above the low bits of the sequence number.  Where two share a place the newer
 * has it.
 */
#define SENT_BITS 24
u32 sent_last[65536] = {0};

static __always_inline u32 *sent_of(struct sock *sk)
{
	return &sent_last[sk->__sk_common.skc_hash & 0xffff];
}

static __always_inline u32 sent_tag(struct sock *sk, u32 read)
{
	return (sk->__sk_common.skc_hash & ~0u << SENT_BITS) | (read & ((1u << SENT_BITS) - 1));
}

/* Two of them, of one socket? */
static __always_inline bool same_socket(u32 a, u32 b)
{
	return a >> SENT_BITS == b >> SENT_BITS;
}

/*
 * Was something sent before the last `bytes`, since the last data came?  Then the
 * other end has said since that it got it, or has not said so yet, or a tag is there.
 */
static __always_inline bool tcp_answered(struct sock *sk, u32 bytes)
{
	u32 came = GET(AS(inet_connection_sock, sk), icsk_ack.lrcvtime);
	struct tcp_sock *tp = AS(tcp_sock, sk);

	return (s32)(GET(tp, rcv_tstamp) - came) > 0 ||
	       (s32)(GET(tp, write_seq) - bytes - GET(tp, snd_una)) > 0 ||
	       *sent_of(sk) == sent_tag(sk, tcp_read_seq(sk));
}

/*
 * Between two calls: was something read after the last send?  Times cannot tell
 * where a client asks again at once: both fall into one jiffy.
 */
static __always_inline bool tcp_owes(struct sock *sk, const struct sk_ent *e)
{
	u32 came = GET(AS(inet_connection_sock, sk), icsk_ack.lrcvtime);
	u32 read = tcp_read_seq(sk), sent = *sent_of(sk), tag = sent_tag(sk, read);

	if (read == e->rx_seq)
		return false;
	if (same_socket(sent, tag))
		return sent != tag;
	return (s32)(came - GET(AS(tcp_sock, sk), lsndtime)) > 0;
}

/* Was something sent that was only counted, since it was looked at last? */
static __always_inline bool tcp_counted(struct sock *sk, const struct sk_ent *e)
{
	u32 sent = *sent_of(sk), tag = sent_tag(sk, e->rx_seq);

	return same_socket(sent, tag) && (s32)((sent - tag) << (32 - SENT_BITS)) > 0;
}

/* A send on a server's socket soon after the request came. */
static __always_inline bool is_quick(struct sock *sk)
{
	return listen_hint[sk->__sk_common.skc_num] && tcp_came_ns(sk) < TURN_SLOW_NS;
}

/* queue_ns: how long it lay there unread. */
static __noinline int turn_open(struct sk_ent *e, u32 tid, u64 now, u64 queue_ns)
{
	e->open_ns = now;
	e->said_ns = 0;
	e->first_tid = tid;
	e->queue_ns = e->role == ROLE_SERVER ? queue_ns : 0;
	e->idle_add_ns = e->idle_ns ? since(e->idle_ns, now - e->queue_ns) : 0;
	open_count(e);
	return 0;
}

/* How many turns the timed one that ends now counts for: it and the untimed ones after it. */
static __always_inline u32 turn_weight(struct sk_ent *e, u64 total_ns)
{
	u64 began = e->sampled_ns;
	u32 before = e->weight;

	e->sampled_ns = e->open_ns;
	e->weight = 1;
	if (jiffy_off && total_ns < TURN_SLOW_NS && began &&
	    e->open_ns - began < before * SAMPLE_TURN_NS)
		e->weight = SAMPLE_CNT;
	e->left = e->weight - 1;
	return e->weight;
}

/*
 * What its client waited: unread and in work.  Unread on TCP is known to a jiffy,
 * so that one may be none; a quantile must not be made of such.
 */
static __always_inline u64 answer_ns(const struct sk_ent *e, u64 service_ns)
{
	return service_ns + (e->tcp && e->queue_ns <= jiffy_ns ? 0 : e->queue_ns);
}

__noinline int turn_sum(struct sk_ent *e, u64 service_ns, u32 weight)
{
	struct wire_end *end = e ? end_of(e) : NULL;
	u64 answer = e ? answer_ns(e, service_ns) : 0;

	if (!end)
		return 0;
	end->turns += weight;
	end->service_ns += service_ns * weight;
	end->idle_ns += e->idle_add_ns * weight;
	end->hist[hist_idx(answer)] += weight;
	if (e->queue_ns) {
		end->queue_ns += e->queue_ns * weight;
		end->queue_cnt += weight;
	}
	if (e->queue_ns + service_ns >= TURN_SLOW_NS) {
		end->slow_cnt += weight;
		end->slow_ns += service_ns * weight;
		end->slow_queue_ns += e->queue_ns * weight;
	}
	end->rx_bytes += e->rx_bytes;
	end->tx_bytes += e->tx_bytes;
	if (answer > end->answer_max_ns)
		end->answer_max_ns = answer;
	e->rx_bytes = e->tx_bytes = 0;
	return 0;
}

static __noinline int turn_close(struct sk_ent *e, u32 tid, u64 now)
{
	u64 service_ns = since(e->open_ns, now), total_ns = service_ns + e->queue_ns;

	open_uncount(e);
	if (!e->left) {
		turn_sum(e, service_ns, turn_weight(e, total_ns));
		send_turn(e, tid, service_ns, now, 0);
	} else {
		if (total_ns >= TURN_SLOW_NS) {
			turn_sum(e, service_ns, 1);
			send_turn(e, tid, service_ns, now, 0);
		}
		e->left--;
	}
	e->open_ns = 0;
	e->idle_ns = now;
	e->took_ns = service_ns;
	return 0;
}

/* Apart from who calls it: the verifier would go through all its ways there. */
__noinline int hist_add(struct sk_ent *e, u64 ns, u64 n)
{
	struct wire_end *end = e ? end_of(e) : NULL;

	if (end)
		end->hist[hist_idx(ns)] += n;
	return 0;
}

/*
 * The last request was closed at the first part of its answer, and its client waited
 * for all of it.  It is one turn still, which took longer.
 */
__noinline int answer_rest(struct sk_ent *e)
{
	struct wire_end *end = e ? end_of(e) : NULL;
	u64 rest_ns, first_ns, answer;

	if (!end)
		return 0;
	rest_ns = since(e->idle_ns, e->last_tx_ns);
	first_ns = e->took_ns;
	answer = answer_ns(e, first_ns);
	end->service_ns += rest_ns;
	end->slow_ns += rest_ns;
	if (first_ns + e->queue_ns < TURN_SLOW_NS) {
		end->slow_cnt++;
		end->slow_ns += first_ns;
		end->slow_queue_ns += e->queue_ns;
	}
	if (e->weight <= 1) { /* else it was not summed by itself */
		hist_add(e, answer, -1); /* the sum over the CPUs counts */
		hist_add(e, answer + rest_ns, 1);
	}
	if (answer + rest_ns > end->answer_max_ns)
		end->answer_max_ns = answer + rest_ns;
	send_turn(e, e->last_tid, first_ns + rest_ns, e->last_tx_ns, TURNF_REST);
	e->idle_ns = e->last_tx_ns;
	return 0;
}

/* The client speaks again, or will not: the answer, if one was given, is whole. */
__noinline int answer_over(struct sk_ent *e, u64 now)
{
	if (!e || e->role != ROLE_SERVER)
		return 0;
	if (said_learn(e, now))
		answer_rest(e);
	if (e->said_ns && e->open_ns)
		turn_close(e, e->last_tid, e->last_tx_ns);
	e->said_ns = 0;
	return 0;
}

/* A request whose answer is not seen. */
static __always_inline void turn_drop(struct sk_ent *e)
{
	if (e->open_ns) {
		open_uncount(e);
		e->open_ns = 0;
	}
}

/* A request that will not be answered: the connection ends. */
static __always_inline void turn_abandon(struct sk_ent *e)
{
	turn_drop(e);
	e->unread_ns = 0;
}

/* A turn whose begin was not seen: counted, and summed by itself where it was slow. */
static __always_inline void turn_late(struct sk_ent *e, u32 tid, u64 service_ns, u64 now)
{
	struct wire_end *end;

	if (e->queue_ns + service_ns >= TURN_SLOW_NS) {
		e->idle_add_ns = 0;
		turn_sum(e, service_ns, 1);
		send_turn(e, tid, service_ns, now, 0);
		return;
	}
	end = end_of(e);
	if (end)
		end->untimed++;
}

/*
 * Which part of total_ns a request lay unread: until its thread came back from
 * waiting for sockets, or was done with what it did before.  What had come
 * before the thread went to wait there was read by then: the thread works on
 * several at a time.
 */
static __always_inline u64 unread_part(const struct tio *io, u64 before_ns, u64 total_ns, u64 now)
{
	u64 came = now - total_ns;

	if (came < io->home_ns || came >= before_ns)
		return 0;
	/* the coarse clock may be behind the one that before_ns was read from */
	return before_ns - came < total_ns ? before_ns - came : total_ns;
}

/* A send on TCP while hu_recv is away.  before_ns: the last thing of its thread with sockets. */
static __noinline int turn_guess(struct sock *sk, struct sk_ent *e, u32 bytes, u64 before_ns,
				 u64 now)
{
	u32 read = tcp_read_seq(sk), was = e->rx_seq, tid = e->last_tid;
	u64 came_ns = tcp_came_ns(sk);

	if (e->role == ROLE_SERVER && e->open_ns && tcp_counted(sk, e))
		turn_drop(e); /* it had its answer */
	e->said_ns = 0;
	e->rx_seq = read;
	e->rx_bytes += read - was;
	if (!e->first_tid)
		e->first_tid = tid;
	if (e->role == ROLE_SERVER) {
		if (e->open_ns) { /* since before it left */
			turn_close(e, tid, now);
		} else if (read != was && !tcp_answered(sk, bytes)) {
			e->queue_ns = unread_part(tio_of(tid), before_ns, came_ns, now);
			turn_late(e, tid, came_ns - e->queue_ns, now);
			e->idle_ns = now;
		}
		return 0;
	}
	if (e->role != ROLE_CLIENT)
		return 0;
	e->queue_ns = 0;
	if (e->open_ns && read != was)
		turn_late(e, tid, since(e->open_ns, now - came_ns), now);
	if (!e->open_ns || read != was)
		e->open_ns = now;
	return 0;
}

/*
 * How long what is read now lay there.  The first request of a connection may
 * have come while that waited to be accepted, which is another queue.
 */
static __always_inline u64 unread_for(struct sock *sk, const struct sk_ent *e, bool known, u64 now)
{
	if (e->unread_ns)
		return since(e->unread_ns, now);
	return e->tcp && known ? tcp_came_ns(sk) : 0;
}

/* answerable: we may still send. */
static __always_inline int on_recv(struct sock *sk, u32 tid, struct sk_ent *e, s32 bytes, u64 now,
				   bool answerable)
{
	struct tio *io = tio_of(tid);
	bool known = e->last_rx_ns || e->last_tx_ns;
	struct wire_end *end;

	if (sk->sk_type == KSOCK_STREAM)
		answer_over(e, now);
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
				turn_open(e, tid, now, unread_for(sk, e, known, now));
		} else {
			end = end_of(e);
			if (end)
				end->partial_cnt++;
		}
	} else if (e->role == ROLE_CLIENT && e->open_ns) {
		turn_close(e, tid, now);
	}
	if (has_data_ready)
		e->notready_since_ns = now;
	e->unread_ns = 0;
	return 0;
}

/*
 * Datagrams may be read in one go and answered after: one that came while another
 * was open is a request of its own, answered now.  What is left was not.
 */
static __always_inline void datagram_answered(struct sk_ent *e)
{
	struct wire_end *end = recv_off ? NULL : end_of(e);

	if (end)
		end->partial_cnt--; /* the sum over the CPUs counts */
}

static __always_inline int on_send(struct sock *sk, u32 tid, struct sk_ent *e, s32 bytes, u64 now)
{
	struct tio *io = tio_of(tid);
	u64 before_ns = io->last_io_ns;
	struct wire_end *end;

	stall_note(io, now);
	if (bytes <= 0) {
		if (bytes == MINUS_EAGAIN && !e->txblock_ns)
			e->txblock_ns = now;
		return 0;
	}
	if (e->role == ROLE_SERVER && !e->open_ns && since(e->last_tx_ns, now) >= QUIET_NS)
		e->idle_ns = 0; /* what is sent now answers nothing */
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
	if (e->tcp && recv_off)
		return turn_guess(sk, e, bytes, before_ns, now);
	if (e->tcp)
		e->rx_seq = tcp_read_seq(sk);
	if (e->role == ROLE_SERVER && e->open_ns && (e->said_ns || answer_goes_on(e)))
		e->said_ns = e->said_ns ? e->said_ns : now;
	else if (e->role == ROLE_SERVER && e->open_ns)
		turn_close(e, tid, now);
	else if (e->role == ROLE_CLIENT && !e->open_ns)
		turn_open(e, tid, now, 0);
	else if (e->role == ROLE_SERVER && sk->sk_protocol == KIPPROTO_UDP)
		datagram_answered(e);
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
		e = sk_begin(sk, recv);
	if (!e)
		return 0;
	now = sock_time(e);
	tid = bpf_get_current_pid_tgid();
	return recv ? on_recv(sk, tid, e, bytes, now, !(sk->sk_shutdown & SEND_SHUTDOWN))
		    : on_send(sk, tid, e, bytes, now);
}

/* The other end of a unix socket of ours was sent to. */
static __always_inline void unix_came(struct sock *sk)
{
	struct unix_sock *u = bpf_skc_to_unix_sock(sk);
	struct sk_ent *e;

	if (!u || !u->peer)
		return;
	e = bpf_sk_storage_get(&hu_socks, u->peer, 0, 0);
	if (e && !e->unread_ns)
		e->unread_ns = sock_time(e);
}

SEC("tp_btf/sock_recv_length")
int hu_recv(u64 *ctx)
{
	count_run(RUN_RECV);
	if (!is_watched_here()) {
		count_run(RUN_FOREIGN);
		return 0;
	}
	return sock_call((struct sock *)ctx[0], ctx[1], ctx[2], true);
}

SEC("tp_btf/sock_send_length")
int hu_send(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct run_cnts *runs = runs_here();
	struct runners *r = this_cpu();

	if (!r || !runs)
		return 0;
	runs->cnt[RUN_SEND]++;
	if (sk->__sk_common.skc_family == KAF_UNIX && (s32)ctx[1] > 0)
		unix_came(sk);
	if (!is_watched(r)) {
		runs->cnt[RUN_FOREIGN]++;
		return 0;
	}
	if (sk->sk_protocol == KIPPROTO_TCP && (s32)ctx[1] > 0) {
		if (recv_off && is_quick(sk)) {
			runs->cnt[RUN_QUICK]++;
			*sent_of(sk) = sent_tag(sk, tcp_read_seq(sk));
			stall_note(tio_of(r->pid), coarse_now());
			return 0;
		}
		if (!recv_off && listen_hint[sk->__sk_common.skc_num])
			runs->cnt[RUN_ANSWER]++;
	}
	return sock_call(sk, ctx[1], ctx[2], false);
}

static __always_inline int data_ready(struct sock *sk)
{
	struct sk_ent *e = bpf_sk_storage_get(&hu_socks, sk, 0, 0);
	u64 now;

	if (!e || e->unread_ns)
		return 0;
	now = sock_time(e);
	e->unread_ns = now;
	if (e->notready_since_ns)
		e->notready_ns += since(e->notready_since_ns, now);
	return 0;
}

/* Runs at each segment that comes: attached only for a metric that needs it. */
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
		lk.netns = AS(sock, sk)->__sk_common.skc_net.net->ns.inum;
		lk.port = sk->__sk_common.skc_num;
		listen_hint[lk.port & 0xffff] = 1;
		bpf_map_update_elem(&hu_listen, &lk, &one, BPF_ANY);
		return 0;
	}
	if (to == TCP_STATE_ESTABLISHED)
		return 0;
	if ((u32)ctx[1] == TCP_STATE_SYN_SENT && to == TCP_STATE_CLOSE)
		connect_refused(sk);
	e = bpf_sk_storage_get(&hu_socks, sk, 0, 0);
	if (e && (u32)ctx[1] == TCP_STATE_ESTABLISHED)
		answer_over(e, sock_time(e));
	if (e && to == TCP_STATE_CLOSE)
		turn_abandon(e);
	return 0;
}
