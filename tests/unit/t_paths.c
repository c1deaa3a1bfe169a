/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/vec.h"
#include "paths/paths.h"

enum { PORT = 80, UPSTREAM = 5432, PROC = 100, US = 1000 };
enum { FUTEX = 202, EPOLL_WAIT = 232 };

/*
 * A script of a server: each line is something that a thread does.  Times go up by a
 * microsecond with each line.
 */
struct play {
	struct paths *p;
	uint64_t ns;
};

static struct play play_new(void)
{
	struct play play = {.p = paths_new(), .ns = US};

	paths_serves(play.p, PORT);
	return play;
}

static void put(struct play *play, struct path_event *e, uint32_t tid)
{
	e->ns = play->ns += US;
	e->tid = tid;
	e->tgid = PROC;
	paths_add(play->p, e);
}

static void bytes(struct play *play, uint32_t tid, uint16_t kind, uint64_t conn)
{
	struct path_event e = {.kind = kind, .sock = {.cookie = conn, .bytes = 10, .family = 2}};
	bool asks = conn >= 1000;

	e.sock.lport = asks ? (uint16_t)(40000 + conn) : PORT;
	e.sock.rport = asks ? UPSTREAM : (uint16_t)(50000 + conn);
	put(play, &e, tid);
}

/* Connections below 1000 are clients', others go to the upstream. */
static void gets(struct play *play, uint32_t tid, uint64_t conn)
{
	bytes(play, tid, PATH_RECV, conn);
}

static void sends(struct play *play, uint32_t tid, uint64_t conn)
{
	bytes(play, tid, PATH_SEND, conn);
}

/* The thread slept until now in the call; by: who woke it, 0: nobody that is known. */
static void slept(struct play *play, uint32_t tid, uint16_t call, uint64_t word, uint32_t by)
{
	struct path_event e = {.kind = PATH_WAIT, .call = call, .other = by};

	e.wait.off_ns = play->ns + US / 4;
	e.wait.wake_ns = play->ns + US / 2;
	e.wait.word = e.wait.waker_word = word;
	e.wait.waker_call = by ? FUTEX : PATH_NO_CALL;
	put(play, &e, tid);
}

static const struct paths_result *done(struct play *play)
{
	paths_finish(play->p);
	return paths_result(play->p);
}

/* The connection of the request that the call is of, 0: unknown. */
static uint64_t owner(const struct paths_result *r, size_t call)
{
	return r->calls[call].request == PATHS_NONE ? 0
						    : r->requests[r->calls[call].request].at.cookie;
}

TEST(paths_thread_of_a_connection)
{
	struct play play = play_new();
	const struct paths_result *r;

	gets(&play, 1, 11);
	gets(&play, 2, 12);
	sends(&play, 1, 1001);
	sends(&play, 2, 1002);
	gets(&play, 2, 1002);
	sends(&play, 2, 12);
	gets(&play, 1, 1001);
	sends(&play, 1, 11);
	r = done(&play);
	EQ_U(r->request_cnt, 2);
	EQ_U(r->call_cnt, 2);
	EQ_U(owner(r, 0), 11);
	EQ_U(owner(r, 1), 12);
	EQ_U(r->calls[0].rule, PATH_RULE_THREAD);
	EQ_U(r->requests[1].at_arrival, 1);
	paths_free(play.p);
}

/* A reader queues for workers, which nobody wakes: the reply says whose the call was. */
TEST(paths_worker_that_replies)
{
	struct play play = play_new();
	const struct paths_result *r;

	for (uint64_t i = 1; i <= 6; i++)
		gets(&play, 9, i);
	for (uint64_t i = 1; i <= 6; i += 2) {
		sends(&play, 1, 1001);
		sends(&play, 2, 1002);
		gets(&play, 1, 1001);
		gets(&play, 2, 1002);
		sends(&play, 2, i + 1);
		sends(&play, 1, i);
	}
	r = done(&play);
	EQ_U(r->call_cnt, 6);
	for (size_t i = 2; i < 6; i++) {
		EQ_U(owner(r, i), i + 1);
		EQ_U(r->calls[i].rule, PATH_RULE_FINISH);
	}
	OK(r->requests[3].worker_ns > r->requests[3].arrival_ns);
	paths_free(play.p);
}

/* Handlers wait for the results of workers, who wake them. */
TEST(paths_result_that_wakes_its_handler)
{
	struct play play = play_new();
	const struct paths_result *r;

	gets(&play, 1, 11);
	gets(&play, 2, 12);
	sends(&play, 7, 1001);
	sends(&play, 8, 1002);
	gets(&play, 7, 1001);
	slept(&play, 2, FUTEX, 0x2000, 7);
	sends(&play, 2, 12);
	gets(&play, 8, 1002);
	slept(&play, 1, FUTEX, 0x1000, 8);
	sends(&play, 1, 11);
	r = done(&play);
	EQ_U(owner(r, 0), 12);
	EQ_U(owner(r, 1), 11);
	EQ_U(r->calls[0].rule, PATH_RULE_RESULT);
	paths_free(play.p);
}

/* Two results at once: the one that is ready first wakes nobody. */
TEST(paths_result_that_wakes_nobody)
{
	struct play play = play_new();
	const struct paths_result *r;
	uint64_t conn = 10;

	for (int i = 0; i < 50; i++, conn++) {
		gets(&play, 1, conn);
		sends(&play, 7, 1001);
		sends(&play, 8, 1002);
		gets(&play, i % 2 ? 8 : 7, i % 2 ? 1002 : 1001);
		if (i % 2 == 0)
			slept(&play, 1, FUTEX, 0x1000, 7);
		gets(&play, i % 2 ? 7 : 8, i % 2 ? 1001 : 1002);
		slept(&play, 1, FUTEX, 0x1000, i % 2 ? 7 : 8);
		gets(&play, 2, 500 + conn);	/* so that not only one is open */
		sends(&play, 1, conn);
		sends(&play, 2, 500 + conn);
	}
	r = done(&play);
	EQ_U(r->call_cnt, 100);
	for (size_t i = 0; i < 100; i++)
		EQ_U(owner(r, i), 10 + i / 2);
	OK(r->known_cnt[PATH_RULE_SIBLING] + r->known_cnt[PATH_RULE_ONLY] >= 25);
	paths_free(play.p);
}

/* Whoever waits for a lock wakes the next one later: nothing is handed over. */
TEST(paths_lock_hands_nothing_over)
{
	struct play play = play_new();
	const struct paths_result *r;

	for (int i = 0; i < 20; i++) {
		slept(&play, 1, FUTEX, 0x1000, 7);
		slept(&play, 7, FUTEX, 0x1000, 1);
	}
	gets(&play, 1, 11);
	gets(&play, 2, 12);
	sends(&play, 7, 1001);
	gets(&play, 7, 1001);
	slept(&play, 1, FUTEX, 0x1000, 7);
	sends(&play, 2, 12);
	sends(&play, 1, 11);
	r = done(&play);
	EQ_U(owner(r, 0), 0);
	EQ_U(r->known_cnt[PATH_RULE_NONE], 1);
	paths_free(play.p);
}

/* An event loop that replies from the answer, with two requests in flight all the time. */
TEST(paths_loop_that_replies_from_the_answer)
{
	struct play play = play_new();
	const struct paths_result *r;

	gets(&play, 1, 1);
	sends(&play, 1, 1001);
	for (uint64_t i = 2; i <= 80; i++) {
		gets(&play, 1, i);
		sends(&play, 1, 1000 + i);
		slept(&play, 1, EPOLL_WAIT, 3, 0);
		gets(&play, 1, 1000 + i - 1);
		sends(&play, 1, i - 1);
	}
	r = done(&play);
	for (size_t i = 0; i < 79; i++)
		EQ_U(owner(r, i), i + 1);
	EQ_U(r->calls[40].rule, PATH_RULE_ANSWER);
	paths_free(play.p);
}

/* Who waits for a reply sends nothing more, unless there are several requests at once. */
TEST(paths_several_at_once_on_a_connection)
{
	struct play play = play_new();
	const struct paths_result *r;

	gets(&play, 1, 1);	/* alone, in two parts */
	gets(&play, 1, 1);
	sends(&play, 1, 1001);
	gets(&play, 1, 1001);
	sends(&play, 1, 1);
	gets(&play, 1, 2);	/* one more before the first is answered */
	sends(&play, 1, 1002);
	gets(&play, 1, 2);
	sends(&play, 1, 1003);
	gets(&play, 1, 1003);
	sends(&play, 1, 2);
	gets(&play, 1, 2);	/* on the same connection: is it one? */
	sends(&play, 1, 2);
	r = done(&play);
	EQ_U(r->request_cnt, 3);
	EQ_U(r->shared_cnt, 2);
	OK(!r->requests[0].shared && r->requests[1].shared && r->requests[2].shared);
	paths_free(play.p);
}

/* The same of a TCP connection, with what its sequence numbers say. */
static void passes(struct play *play, uint16_t kind, uint64_t conn, uint32_t cnt, uint16_t flags)
{
	struct path_event e = {.kind = kind, .call = flags,
			       .sock = {.cookie = conn, .bytes = cnt, .family = 2}};
	bool asks = conn >= 1000;

	e.sock.lport = asks ? (uint16_t)(40000 + conn) : PORT;
	e.sock.rport = asks ? UPSTREAM : (uint16_t)(50000 + conn);
	put(play, &e, 1);
}

/* Each request asks the upstream; `early`: exchanges read before a reply was all there. */
static const struct paths_result *overlapping(struct play *play, uint16_t first, uint32_t early)
{
	for (uint32_t i = 0; i < 6; i++) {
		passes(play, PATH_RECV, 1, 10,
		       (uint16_t)((early >> i & 1 ? PATH_SOCK_UNACKED : 0) | (i ? 0 : first)));
		sends(play, 1, 1001);
		gets(play, 1, 1001);
		passes(play, PATH_SEND, 1, 10, 0);
	}
	return done(play);
}

/* A peer that has not acknowledged the reply did not wait for it before it sent more. */
TEST(paths_peer_that_does_not_wait)
{
	static const struct {
		uint16_t first;
		uint32_t early;
		bool shared;
	} cases[] = {
		{0, 0, false},
		{0, 0x8, false},			/* once: an upload answered early */
		{0, 0x28, true},
		{PATH_SOCK_FIRST, 0x6, false},		/* the first two: a handshake */
		{PATH_SOCK_FIRST, 0x18, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct play play = play_new();
		const struct paths_result *r =
			overlapping(&play, cases[i].first, cases[i].early);

		EQ_U(r->request_cnt, 6);
		EQ_U(r->shared_cnt, cases[i].shared ? 6 : 0);
		EQ_U(r->shared_conn_cnt, cases[i].shared);
		EQ_U(r->known_cnt[PATH_RULE_NONE], cases[i].shared ? 6 : 0);
		paths_free(play.p);
	}
}

/* More of the peer lies there when the server sends: it did not wait for that. */
TEST(paths_reply_with_more_unread)
{
	struct play play = play_new();
	const struct paths_result *r;

	for (int i = 0; i < 3; i++) {
		passes(&play, PATH_RECV, 1, 10, 0);
		passes(&play, PATH_SEND, 1, 10, i ? PATH_SOCK_UNREAD : 0);
	}
	r = done(&play);
	EQ_U(r->shared_cnt, 3);
	paths_free(play.p);
}

/* Streams of one connection, in lock step: a call's answer goes out in a later exchange. */
TEST(paths_answer_that_is_a_later_exchanges)
{
	struct play play = play_new();
	const struct paths_result *r;

	gets(&play, 1, 1);
	sends(&play, 1, 1001);
	gets(&play, 1, 1);
	sends(&play, 1, 1002);
	for (uint64_t i = 3; i < 40; i++) {
		gets(&play, 1, 1000 + i - 2);	/* of a stream before: its response */
		sends(&play, 1, 1);
		gets(&play, 1, 1);		/* which its client follows up */
		sends(&play, 1, 1000 + i);
	}
	r = done(&play);
	EQ_U(r->shared_cnt, r->request_cnt);
	EQ_U(r->known_cnt[PATH_RULE_NONE], 37);
	paths_free(play.p);
}

/* Connections to an upstream that carry several calls at once: nothing says whose is whose. */
TEST(paths_upstream_with_several_at_once)
{
	struct play play = play_new();
	const struct paths_result *r;

	for (uint64_t i = 0; i < 4; i++) {
		gets(&play, 1, 1 + i);
		sends(&play, 1, 1001);
		passes(&play, PATH_RECV, 1001, 10, PATH_SOCK_UNACKED);
		sends(&play, 1, 1 + i);
	}
	r = done(&play);
	EQ_U(r->call_cnt, 4);
	EQ_U(r->shared_call_cnt, 4);
	EQ_U(r->known_cnt[PATH_RULE_NONE], 4);
	EQ_U(r->shared_cnt, 0);
	paths_free(play.p);
}

/* What an earlier slice found out is known in the next one from its begin. */
TEST(paths_connection_that_is_known_to_share)
{
	struct play play = play_new();
	const struct paths_result *r;

	paths_shares(play.p, 1);
	gets(&play, 1, 1);
	sends(&play, 1, 1);
	gets(&play, 1, 2);
	sends(&play, 1, 2);
	r = done(&play);
	EQ_U(r->shared_cnt, 1);
	OK(r->requests[0].shared && !r->requests[1].shared);
	paths_free(play.p);
}

/* ---- several hosts */

enum { OTHER = 1, OTHER_PORT = 81 };

/* Bytes between the caller on host 0 and the other one; seq: of the first of them. */
static void crosses(struct play *play, uint32_t host, uint16_t kind, uint32_t seq)
{
	struct path_event e = {.kind = kind, .ns = play->ns += US, .tid = paths_on_host(host, 1),
			       .tgid = paths_on_host(host, PROC),
			       .sock = {.cookie = 1001 + host, .bytes = 10, .family = 2}};

	e.sock.lport = host ? OTHER_PORT : 40001;
	e.sock.rport = host ? 40001 : OTHER_PORT;
	e.sock.seq = seq;
	paths_add(play->p, &e);
}

TEST(paths_request_of_another_host_s_call)
{
	struct play play = play_new();
	const struct paths_result *r;

	paths_serves_on(play.p, OTHER, OTHER_PORT);
	for (uint32_t i = 0; i < 3; i++) {
		gets(&play, 1, 1);
		crosses(&play, 0, PATH_SEND, UINT32_MAX - 14 + 10 * i);	/* over zero */
		crosses(&play, OTHER, PATH_RECV, UINT32_MAX - 14 + 10 * i);
		crosses(&play, OTHER, PATH_SEND, 500 + 10 * i);
		crosses(&play, 0, PATH_RECV, 500 + 10 * i);
		sends(&play, 1, 1);
	}
	crosses(&play, OTHER, PATH_RECV, 9000);		/* of a call that was not seen */
	crosses(&play, OTHER, PATH_SEND, 9000);
	r = done(&play);
	EQ_U(r->request_cnt, 7);
	EQ_U(r->call_cnt, 3);
	EQ_U(r->joined_cnt, 3);
	for (size_t i = 0; i < 3; i++) {
		EQ_U(r->requests[1 + 2 * i].parent, i);
		EQ_U(owner(r, i), 1);
	}
	EQ_U(r->requests[6].parent, PATHS_NONE);
	paths_free(play.p);
}

/* What is under way when the recording pauses has no end, and begins nothing after it. */
TEST(paths_pause_of_the_recording)
{
	struct play play = play_new();
	const struct paths_result *r;

	gets(&play, 1, 1);
	sends(&play, 1, 1001);
	paths_gap(play.p, 0, play.ns + 1);
	gets(&play, 1, 1001);
	sends(&play, 1, 1);
	gets(&play, 1, 1);
	sends(&play, 1, 1);
	r = done(&play);
	EQ_U(r->request_cnt, 3);
	OK(!r->requests[0].reply_ns && !r->requests[1].arrival_ns);
	OK(r->requests[2].arrival_ns && r->requests[2].reply_ns);
	EQ_U(r->calls[0].answer_ns, 0);
	paths_free(play.p);
}

/* Exchanges of one connection: bytes in and out, in turn; 0: no more. */
static void exchanges(struct play *play, uint64_t conn, const uint32_t *sizes)
{
	for (size_t i = 0; sizes[i]; i++)
		passes(play, i % 2 ? PATH_SEND : PATH_RECV, conn, sizes[i],
		       i < 2 ? PATH_SOCK_FIRST : 0);
}

TEST(paths_tls_handshakes)
{
	static const uint32_t tls12[] = {315, 1184, 93, 258, 71, 467, 71, 467, 0};
	static const uint32_t tls13[] = {517, 1337, 80, 542, 130, 460, 0};
	static const uint32_t resumed[] = {517, 137, 51 + 130, 460, 130, 460, 0};
	static const uint32_t plain[] = {315, 1184, 93, 258, 71, 467, 0};
	static const uint32_t other[] = {315, 1184, 94, 258, 71, 467, 0};
	struct play play = play_new();
	const struct paths_result *r;

	exchanges(&play, 1, tls12);
	exchanges(&play, 2, tls13);
	exchanges(&play, 3, resumed);
	r = done(&play);
	EQ_U(r->request_cnt, 10);
	EQ_U(r->setup_cnt, 5);
	OK(r->requests[0].setup && r->requests[1].setup && !r->requests[2].setup);
	OK(r->requests[7].setup && !r->requests[8].setup);
	paths_free(play.p);

	play = play_new();	/* lengths that are the same by chance, once */
	exchanges(&play, 1, plain);
	exchanges(&play, 2, other);
	exchanges(&play, 3, other);
	r = done(&play);
	EQ_U(r->request_cnt, 9);
	EQ_U(r->setup_cnt, 0);
	paths_free(play.p);
}

/* Timers before the call and after the answer: any guess could be wrong, so none is made. */
TEST(paths_loop_with_timers_on_both_sides)
{
	struct play play = play_new();
	const struct paths_result *r;

	for (uint64_t i = 1; i <= 4; i++)
		gets(&play, 1, i);
	for (uint64_t i = 1; i <= 200; i++) {
		gets(&play, 1, i + 4);
		if (i % 3)
			slept(&play, 1, EPOLL_WAIT, 3, 0);
		sends(&play, 1, 1000 + i);
		gets(&play, 1, 1000 + i);
		if (i % 5)
			slept(&play, 1, EPOLL_WAIT, 3, 0);
		sends(&play, 1, i);
	}
	r = done(&play);
	EQ_U(r->call_cnt, 200);
	EQ_U(r->known_cnt[PATH_RULE_NONE], 200);
	paths_free(play.p);
}

/* connect() owns the first exchange, however late its bytes are sent. */
TEST(paths_connect_counts_as_the_send)
{
	struct play play = play_new();
	struct path_event e = {.kind = PATH_CONNECT,
			       .sock = {.cookie = 1001, .rport = UPSTREAM, .family = 2}};
	const struct paths_result *r;

	gets(&play, 1, 11);
	put(&play, &e, 1);
	gets(&play, 1, 12);
	sends(&play, 1, 1001);
	gets(&play, 1, 1001);
	sends(&play, 1, 12);
	sends(&play, 1, 11);
	r = done(&play);
	EQ_U(r->call_cnt, 1);
	EQ_U(owner(r, 0), 11);
	paths_free(play.p);
}

TEST(paths_go_threads_say_nothing)
{
	struct play play = play_new();
	const struct paths_result *r;

	paths_switches(play.p, PROC);
	gets(&play, 1, 11);
	gets(&play, 2, 12);
	sends(&play, 1, 1001);
	gets(&play, 1, 1001);
	sends(&play, 1, 11);
	sends(&play, 2, 12);
	r = done(&play);
	EQ_U(owner(r, 0), 0);
	paths_free(play.p);
}

TEST(paths_events_in_any_order_and_of_no_kind)
{
	struct play play = play_new();
	struct path_event e = {.kind = 77};
	const struct paths_result *r;

	put(&play, &e, 1);
	play.ns = 100 * US;
	sends(&play, 1, 11);
	play.ns = 10 * US;
	gets(&play, 1, 11);
	r = done(&play);
	EQ_U(r->bad_cnt, 1);
	EQ_U(r->request_cnt, 1);
	OK(r->requests[0].reply_ns - r->requests[0].arrival_ns == 90 * US);
	paths_free(play.p);
}

TEST(paths_nothing_at_all)
{
	struct play play = play_new();
	const struct paths_result *r = done(&play);

	EQ_U(r->request_cnt + r->call_cnt + r->wait_cnt, 0);
	paths_free(play.p);
}
