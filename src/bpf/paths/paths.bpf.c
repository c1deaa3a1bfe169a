/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests through threads and processes: what wire/path_events.h has, of the
 * followed processes.  An object of its own, loaded for `heldup requests` only:
 * no other command pays for it.
 *
 * A sleep is one record, made when it ends: it has its begin, its waker and
 * the call.  A process is followed when its bit is set; a child of a followed
 * process sets its own.  Nothing hooks system calls.
 *
 * Records go to the ring in batches of a CPU, since a place in the ring costs
 * more than all else.  A program that interrupts another one of the same CPU
 * amid its record sends its own alone.
 */
#include "bpf/typed.h"

#include "bpf/ktypes_io.h"
#include "bpf/regs.h"

#include <bpf/bpf_tracing.h>

#include "wire/path_events.h"

#define PID_WORDS (4194304 / 64)
#define POINT_MAX 1024		/* tracepoints, by number */
#define BATCH 32
#define BATCH_NS 20000000ull
#define MSG_UNREAD (0x2 | 0x2000) /* peeked, or from the queue of errors */
#define STATE_SYN_SENT 2

struct pw_sleep {
	u64 off_ns, wake_ns, word, waker_word;
	s32 timeout_ms;
	u32 waker, slice;
	u16 call, waker_call;
	u8 asleep, uninterruptible;
};

struct pw_batch {
	u32 busy, cnt;
	u64 since_ns;
	struct path_event events[BATCH];
};

struct pw_sleeps_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pw_sleep);
} pw_sleeps SEC(".maps");

struct pw_batches_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pw_batch);
} pw_batches SEC(".maps");

struct pw_ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} pw_ring SEC(".maps");

/* Hits of each tracepoint, whether they are recorded or not. */
struct pw_hits_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, POINT_MAX);
	__type(key, u32);
	__type(value, u64);
} pw_hits SEC(".maps");

unsigned long long pw_followed[PID_WORDS];	/* a bit for each process id */
unsigned long long pw_lost;
unsigned int pw_off;			/* nothing is recorded: between two slices */
unsigned int pw_slice;		/* the present one */
unsigned int pw_round;		/* tracepoints of other rounds are on their way off */
const volatile unsigned char pw_prev_state = 1; /* sched_switch has a fourth argument */

static __always_inline bool followed(u32 tgid)
{
	u32 word = tgid >> 6;

	return word < PID_WORDS && pw_followed[word] >> (tgid & 63) & 1;
}

static __noinline int batch_send(struct pw_batch *b)
{
	u32 cnt;

	if (!b)
		return 0;
	cnt = b->cnt;
	b->cnt = 0;
	if (!cnt || cnt > BATCH)
		return 0;
	if (bpf_ringbuf_output(&pw_ring, b->events, cnt * sizeof(b->events[0]),
			       BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&pw_lost, cnt);
	return 0;
}

static __always_inline struct pw_batch *batch_of_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&pw_batches, &zero);
}

static __noinline int put(const struct path_event *e)
{
	struct pw_batch *b = batch_of_cpu();

	if (!b || !e)
		return 0;
	if (__sync_fetch_and_add(&b->busy, 1)) {
		if (bpf_ringbuf_output(&pw_ring, (void *)e, sizeof(*e), BPF_RB_NO_WAKEUP))
			__sync_fetch_and_add(&pw_lost, 1);
	} else {
		if (!b->cnt)
			b->since_ns = e->ns;
		b->events[b->cnt & (BATCH - 1)] = *e;
		if (++b->cnt >= BATCH || e->ns - b->since_ns > BATCH_NS)
			batch_send(b);
	}
	__sync_fetch_and_add(&b->busy, -1);
	return 0;
}

/* User space runs it on each CPU before it reads the ring for the last time. */
SEC("raw_tp")
int pw_flush(void *ctx __attribute__((unused)))
{
	struct pw_batch *b = batch_of_cpu();

	if (b && !__sync_fetch_and_add(&b->busy, 1))
		batch_send(b);
	if (b)
		__sync_fetch_and_add(&b->busy, -1);
	return 0;
}

static __always_inline void sleep_begin(struct task_struct *p, u32 state, u64 now)
{
	struct pw_sleep *s = bpf_task_storage_get(&pw_sleeps, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct sysregs regs;

	if (!s)
		return;
	sysregs_read((struct pt_regs *)bpf_task_pt_regs(p), &regs);
	s->off_ns = now;
	s->wake_ns = 0;
	s->waker = 0;
	s->waker_call = PATH_NO_CALL;
	s->call = regs.nr >= 0 && regs.nr < PATH_NO_CALL ? regs.nr : PATH_NO_CALL;
	s->word = regs.arg[0];
	s->timeout_ms = regs.arg[3];
	s->uninterruptible = (state & KSTATE_UNINTERRUPTIBLE) != 0;
	s->slice = pw_slice;
	s->asleep = 1;
}

static __always_inline void sleep_end(struct task_struct *p, u64 now)
{
	struct pw_sleep *s = bpf_task_storage_get(&pw_sleeps, p, 0, 0);
	struct path_event e = {0};

	if (!s || !s->asleep)
		return;
	s->asleep = 0;
	if (s->slice != pw_slice) /* what happened between the slices is not known */
		return;
	e.ns = now;
	e.tid = p->pid;
	e.tgid = p->tgid;
	e.kind = PATH_WAIT;
	e.call = s->call;
	e.other = s->waker;
	e.wait.off_ns = s->off_ns;
	e.wait.wake_ns = s->wake_ns;
	e.wait.word = s->word;
	e.wait.waker_word = s->waker_word;
	e.wait.timeout_ms = s->timeout_ms;
	e.wait.waker_call = s->waker_call;
	e.wait.uninterruptible = s->uninterruptible;
	put(&e);
}

SEC("tp_btf/sched_switch")
int pw_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool from, to;
	u32 state;
	u64 now;

	if (pw_off)
		return 0;
	from = followed(prev->tgid);
	to = followed(next->tgid);
	if (!from && !to)
		return 0;
	now = bpf_ktime_get_ns();
	state = pw_prev_state ? (u32)ctx[3] : prev->__state;
	if (from && !ctx[0] && state & KSTATE_SLEEPS && !(state & KSTATE_DEAD))
		sleep_begin(prev, state, now);
	if (to)
		sleep_end(next, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int pw_waking(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0], *cur;
	struct sysregs regs;
	struct pw_sleep *s;

	if (pw_off || !followed(p->tgid))
		return 0;
	s = bpf_task_storage_get(&pw_sleeps, p, 0, 0);
	if (!s || !s->asleep || s->wake_ns)
		return 0;
	s->wake_ns = bpf_ktime_get_ns();
	cur = bpf_get_current_task_btf();
	if (!followed(cur->tgid))
		return 0;
	sysregs_read((struct pt_regs *)bpf_task_pt_regs(cur), &regs);
	s->waker = cur->pid;
	s->waker_call = regs.nr >= 0 && regs.nr < PATH_NO_CALL ? regs.nr : PATH_NO_CALL;
	s->waker_word = regs.arg[0];
	return 0;
}

static __always_inline u16 swap16(u16 v)
{
	return v >> 8 | v << 8;
}

static __always_inline void sock_fill(struct path_event *e, struct sock *sk)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	struct path_sock *s = &e->sock;

	e->ns = bpf_ktime_get_ns();
	e->tid = cur->pid;
	e->tgid = cur->tgid;
	s->cookie = bpf_get_socket_cookie(sk);
	s->cpu = bpf_get_smp_processor_id();
	s->family = sk->__sk_common.skc_family;
	if (s->family == KAF_UNIX) {
		const void *peer = (const void *)GET_ADDR(unix_sock, sk, peer);

		s->bound = GET_ADDR(unix_sock, sk, addr) ? PATH_OWN_NAME : 0;
		if (peer && GET_ADDR(unix_sock, peer, addr))
			s->bound |= PATH_PEER_NAME;
		s->pair[0] = (u64)sk;
		s->pair[1] = (u64)peer;
		return;
	}
	s->lport = sk->__sk_common.skc_num;
	s->rport = swap16(sk->__sk_common.skc_dport);
	if (s->family == KAF_INET6)
		BPF_CORE_READ_INTO(&s->raddr, sk, __sk_common.skc_v6_daddr);
	else
		*(u32 *)s->raddr = sk->__sk_common.skc_daddr;
}

/*
 * By sequence numbers: bytes of the peer carry the acknowledgement of all that it had
 * received when it sent them.  Who waits for a whole reply leaves nothing unacknowledged.
 */
static __always_inline void tcp_fill(struct path_event *e, struct sock *sk)
{
	struct tcp_sock *t = AS(tcp_sock, sk);
	u32 wrote = GET(t, write_seq), acked = GET(t, snd_una);
	u32 read = GET(t, copied_seq), got = GET(t, rcv_nxt);
	u32 first;

	if (e->kind == PATH_RECV) {
		e->sock.seq = read - e->sock.bytes;
		first = got - (u32)GET(t, bytes_received);
		e->call |= wrote != acked ? PATH_SOCK_UNACKED : 0;
	} else {
		e->sock.seq = wrote - e->sock.bytes;
		first = acked - (u32)GET(t, bytes_acked);
	}
	/* The handshake's own number may be counted among those acknowledged. */
	if (e->sock.seq - first <= 1)
		e->call |= PATH_SOCK_FIRST;
	/* Before a send returns a quick peer may have had it whole and sent what comes next. */
	if ((s32)(got - read) > 0 &&
	    (e->kind == PATH_RECV || (s32)(acked - e->sock.seq) <= 0))
		e->call |= PATH_SOCK_UNREAD;
}

static __always_inline bool is_stream(struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;

	return sk->sk_type == KSOCK_STREAM &&
	       (family == KAF_INET || family == KAF_INET6 || family == KAF_UNIX);
}

static __always_inline void bytes_passed(struct sock *sk, int bytes, u16 kind)
{
	struct path_event e = {0};

	if (pw_off || bytes <= 0 || !followed(bpf_get_current_pid_tgid() >> 32) || !is_stream(sk))
		return;
	e.kind = kind;
	e.sock.bytes = bytes;
	sock_fill(&e, sk);
	if (sk->sk_protocol == KIPPROTO_TCP)
		tcp_fill(&e, sk);
	put(&e);
}

SEC("tp_btf/sock_send_length")
int pw_send(u64 *ctx)
{
	bytes_passed((struct sock *)ctx[0], (int)ctx[1], PATH_SEND);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int pw_recv(u64 *ctx)
{
	if (!((int)ctx[2] & MSG_UNREAD))
		bytes_passed((struct sock *)ctx[0], (int)ctx[1], PATH_RECV);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int pw_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct path_event e = {0};

	if (pw_off || (int)ctx[2] != STATE_SYN_SENT ||
	    !followed(bpf_get_current_pid_tgid() >> 32))
		return 0;
	e.kind = PATH_CONNECT;
	sock_fill(&e, sk);
	put(&e);
	return 0;
}

SEC("tp_btf/task_newtask")
int pw_newtask(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[0], *cur = bpf_get_current_task_btf();
	struct path_event e = {0};
	u32 tgid = child->tgid, word = tgid >> 6;

	if (!followed(cur->tgid) || word >= PID_WORDS)
		return 0;
	__sync_fetch_and_or(&pw_followed[word], 1ull << (tgid & 63));
	if (pw_off)
		return 0;
	e.ns = bpf_ktime_get_ns();
	e.tid = cur->pid;
	e.tgid = cur->tgid;
	e.kind = PATH_CLONE;
	e.other = child->pid;
	e.clone.flags = ctx[1];
	e.clone.tgid = tgid;
	put(&e);
	return 0;
}

/* A process id may be given to another program, which is not to be followed. */
SEC("tp_btf/sched_process_exit")
int pw_exit(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 tgid = p->tgid, word = tgid >> 6;

	if (word < PID_WORDS && followed(tgid) && !p->signal->live.counter)
		__sync_fetch_and_and(&pw_followed[word], ~(1ull << (tgid & 63)));
	return 0;
}

/*
 * The entry of a function that `heldup explore` switched on.  The cookie is its
 * number, and above it the round: links are closed while the next ones are on.
 */
SEC("uprobe")
int pw_point(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx), *hits;
	u32 point = (u32)cookie, round = cookie >> 32;
	struct task_struct *cur = bpf_get_current_task_btf();
	struct path_event e = {0};

	hits = bpf_map_lookup_elem(&pw_hits, &point);
	if (!hits)
		return 0;
	++*hits;
	if (round != PATH_PRICE_ROUND &&
	    (pw_off || round != pw_round || !followed(cur->tgid)))
		return 0;
	e.ns = bpf_ktime_get_ns();
	e.tid = cur->pid;
	e.tgid = cur->tgid;
	e.kind = PATH_POINT;
	e.point.point = point;
	e.point.round = round;
	e.point.args[0] = ctx->di;
	e.point.args[1] = ctx->si;
	e.point.args[2] = ctx->dx;
	e.point.args[3] = ctx->cx;
	put(&e);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
