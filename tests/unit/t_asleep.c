/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that sleep for as long as they are watched: who waits for whom, told by functions. */
#include <string.h>
#include <sys/socket.h>

#include "judged.h"
#include "unit.h"

static struct ev_conn *conn_at(struct synth *s, uint32_t tgid, uint32_t conns, double at_ms)
{
	struct ev_conn *c = synth_event(s, EV_CONN, sizeof(*c), at_ms);

	c->tgid = tgid;
	c->role = ROLE_SERVER;
	c->family = AF_INET;
	c->lport = 5432;
	c->conns = conns;
	c->peer_tgid = 1000 + tgid;
	c->peer_comm = synth_str(s, "psql");
	return c;
}

static void member_of(struct synth *s, uint32_t set, const char *name)
{
	struct ev_member *m = synth_event(s, EV_MEMBER, sizeof(*m), 1);

	m->set_res = set;
	m->tgid = set;
	m->name = synth_str(s, name);
}

/*
 * A process for each connection, all asleep in epoll since before the watch: four in
 * a lock's function, and who has the lock waits for its client or sleeps; another
 * has nothing to do with clients.
 */
static struct synth *asleep_world(bool sleeps, bool more_idle)
{
	static const char *const stacks[] = {
		"epoll_wait@libc.so.6;latch;sleep_in_sql;execute;serve;main",
		"epoll_wait@libc.so.6;latch;read_word;serve;main",
		"epoll_wait@libc.so.6;latch;lock_sleep;acquire;update;execute;serve;main",
		"epoll_wait@libc.so.6;latch;lock_sleep;acquire;delete;execute;serve;main",
		"epoll_wait@libc.so.6;latch;write_log;main",
	};
	struct synth *s = synth_new(1000);

	for (uint32_t t = 90; t < 97; t++) {
		bool idle = t == 90 ? !sleeps : t == 96 && more_idle;
		struct ev_wait *w;

		synth_thread(s, t, t, "db");
		synth_res(s, t, RES_EPOLL, NULL);
		w = synth_pending(s, t, WAIT_EPOLL, t, 0.1);
		w->flags |= WAITF_BEFORE_START;
		w->flags |= t == 90 && sleeps ? WAITF_TIMEOUT_ARG : 0;
		w->ustack = synth_stack(s, t, stacks[idle ? 1 : t == 90 ? 0 : t == 91 ? 3 :
						     t < 95 ? 2 : 4]);
		member_of(s, t, "anon_inode:[signalfd]");
		if (idle)
			member_of(s, t, "socket:[4711]");
		for (int i = 0; i < 2 && (t < 95 || idle); i++)
			conn_at(s, t, 1, i ? 999 : 0);
	}
	return s;
}

TEST(verdict_names_a_lock_by_its_function)
{
	for (int sleeps = 0; sleeps < 2; sleeps++) {
		struct judged j;
		const struct finding *f;

		judge(&j, asleep_world(sleeps, false));
		f = &j.v->findings[0];
		EQ_S(finding_name(f->cls), "lock-held");
		EQ_S(f->resource, "lock in lock_sleep \u2190 acquire of db");
		EQ_U(f->culprit.pid, 90);
		OK(f->conf < CONF_HIGH);
		OK(strstr(f->summary, sleeps ? "sleeps in sleep_in_sql" : "waits for its client"));
		EQ_U(f->chain[f->chain_len - 1].thread, 0);
		judged_release(&j);
	}
}

static bool says(const struct finding *f, const char *text)
{
	for (size_t i = 0; i < f->evidence_cnt; i++) {
		if (!strcmp(f->evidence[i], text))
			return true;
	}
	return false;
}

/* Which of two that wait for their clients has an open transaction is not known. */
TEST(verdict_names_no_holder_of_two)
{
	struct judged j;

	judge(&j, asleep_world(false, true));
	EQ_S(finding_name(j.v->findings[0].cls), "lock-held");
	EQ_U(j.v->findings[0].culprit.pid, 0);
	OK(says(&j.v->findings[0], "it may be db (pid 90), which serves psql (pid 1090)"));
	OK(says(&j.v->findings[0], "it may be db (pid 96), which serves psql (pid 1096)"));
	judged_release(&j);
}

/* Threads of a pool sleep in one function too, but no connection is theirs. */
TEST(waits_asleep_without_connection_is_idle)
{
	struct judged j;

	judge(&j, asleep_world(true, false));
	for (uint32_t t = 0; t < j.m->thread_cnt; t++)
		if (j.m->threads[t].tid > 94)
			EQ_U(j.w->threads[t].demand_ns, 0);
	judged_release(&j);
}

/*
 * Three threads asleep on a futex each, and as many connections: a pool at rest, or three
 * sessions that wait for each other.  Only an answer that is owed all the while tells.
 */
TEST(waits_as_many_threads_as_connections)
{
	for (int owes = 0; owes < 2; owes++) {
		struct synth *s = synth_new(1000);
		struct judged j;

		for (uint32_t t = 40; t < 44; t++) {
			struct ev_wait *w;

			synth_thread(s, t, 40, "srv");
			synth_res(s, t, RES_FUTEX, NULL);
			w = synth_pending(s, t, WAIT_FUTEX, t, 0.1);
			w->flags |= WAITF_BEFORE_START;
			w->ustack = synth_stack(s, 40, t == 40 ? "futex@libc.so.6;main" :
						"futex@libc.so.6;cond;work;worker_main");
		}
		for (int i = 0; i < 2; i++) {
			struct ev_conn *c = conn_at(s, 40, 3, i ? 999 : 0);

			c->owe_reply = owes;
			c->oldest_owe_ms = owes ? 5000 : 0;
		}
		judge(&j, s);
		EQ_U(j.w->demand_kind, owes ? 1 : 2); /* requests, or lives */
		judged_release(&j);
	}
}

/* All threads lie in the same functions, as in a virtual machine: then the name tells. */
TEST(waits_sessions_by_name)
{
	static const char *const names[] = {"main", "gc", "gc", "worker-1", "worker-2", "worker-3"};
	struct synth *s = synth_new(1000);
	struct judged j;

	for (uint32_t i = 0; i < 6; i++) {
		struct ev_wait *w;

		synth_thread(s, 50 + i, 50, names[i]);
		synth_res(s, 50 + i, i ? RES_FUTEX : RES_SOCKET, NULL);
		w = synth_pending(s, 50 + i, i ? WAIT_FUTEX : WAIT_SOCKET, 50 + i, 0.1);
		w->op = i ? WAIT_OP_NONE : WAIT_OP_ACCEPT;
		w->flags |= WAITF_BEFORE_START;
		w->ustack = synth_stack(s, 50, "futex@libc.so.6;park;run");
	}
	for (int i = 0; i < 2; i++) {
		struct ev_conn *c = conn_at(s, 50, 3, i ? 999 : 0);

		c->owe_reply = 3;
		c->oldest_owe_ms = 5000;
	}
	judge(&j, s);
	for (uint32_t t = 0; t < j.m->thread_cnt; t++)
		EQ_U(j.w->threads[t].role == ROLE_T_ENTRY, j.m->threads[t].tid >= 53);
	judged_release(&j);
}

/* The only thread opens a FIFO that nobody reads: that is at work where an answer is owed. */
TEST(waits_only_thread_opens_a_fifo)
{
	for (int owes = 0; owes < 2; owes++) {
		struct synth *s = synth_new(1000);
		struct judged j;
		struct ev_wait *w;

		synth_thread(s, 60, 60, "httpd");
		w = synth_pending(s, 60, WAIT_PIPE, 0, 0.1);
		w->flags |= WAITF_BEFORE_START;
		w->ustack = synth_stack(s, 60, "open@libc.so.6;send_file;main");
		for (int i = 0; i < 2; i++) {
			struct ev_conn *c = conn_at(s, 60, 3, i ? 999 : 0);

			c->owe_reply = owes;
			c->oldest_owe_ms = owes ? 5000 : 0;
		}
		judge(&j, s);
		EQ_U(j.w->demand_kind, owes ? 1 : 2); /* requests, or lives */
		if (owes) {
			EQ_S(finding_name(j.v->findings[0].cls), "peer");
			OK(strstr(j.v->findings[0].summary, "httpd (pid 60) opens a FIFO"));
		}
		judged_release(&j);
	}
}
