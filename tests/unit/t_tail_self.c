/* SPDX-License-Identifier: Apache-2.0 */
/* Slow requests of a server that asks itself: an answer of its own is no end. */
#include "judged.h"
#include "unit.h"
#include "verdict/context/tail.h"

enum { ENTRY = 21, OTHER = 22, CLIENT = 8, TO_SELF = 5, QUICK = 100000 };

#define REBUILD "copy;rebuild;run_job;main"
#define SERVE "find;get_command;main"

/* ENTRY asks its own port 3 times and waits 300 ms; OTHER runs, if it does, what is given. */
static struct synth *asks_itself(const char *inside, const char *outside)
{
	struct synth *s = synth_new(10000);
	struct ev_end *n = synth_end(s, 20, ROLE_SERVER, 80, QUICK + 3, QUICK * 0.05 + 900);

	synth_thread(s, ENTRY, 20, "entry");
	synth_thread(s, OTHER, 20, "other");
	synth_sock(s, CLIENT, ROLE_SERVER, 0x7f000001, 8080)->tgid = 20;
	synth_sock(s, TO_SELF, ROLE_CLIENT, 0x7f000001, 80)->tgid = 20;
	synth_sock(s, TO_SELF, ROLE_CLIENT, 0x7f000001, 80)->peer_tgid = 20;
	n->hist[10] = QUICK;
	n->hist[36] = 3;
	n->answer_max_ns = 300000000;
	synth_sampled(s, 5000000);
	for (int i = 0; i < 2000; i++) {
		double at = i * 5;
		bool in = i % 600 >= 200 && i % 600 < 260;
		const char *runs = in ? inside : outside;

		if (!in)
			synth_irq_wait(s, ENTRY, WAIT_SOCKET, CLIENT, at + 1, at + 4, at + 4,
				       WAKER_NET);
		if (runs)
			synth_sample(s, OTHER, synth_stack(s, 20, runs), at + 2, 1);
		synth_irq_wait(s, OTHER, WAIT_TIMER, 0, at + 4, at + 4.5, at + 4.5, WAKER_TIMER);
	}
	for (int i = 0; i < 3; i++) {
		double at = 1000 + i * 3000;
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), at + 300);
		struct ev_wait *w = synth_irq_wait(s, ENTRY, WAIT_SOCKET, TO_SELF, at + 1, at + 299,
						   at + 299, WAKER_NET);

		w->own_open = w->proc_open = 1;
		t->res = CLIENT;
		t->role = ROLE_SERVER;
		t->tgid = 20;
		t->h.tid = t->first_tid = ENTRY;
		t->service_ns = 300000000;
	}
	return s;
}

TEST(an_answer_of_its_own_is_what_runs_in_the_stalls_only)
{
	static const struct { const char *inside, *outside, *cls, *function; } rows[] = {
		{ REBUILD, SERVE, "lock-held", "copy" },
		{ SERVE, SERVE, "unknown", "" },
		{ NULL, SERVE, "peer", "" }, /* nothing works: it waits for itself */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct stall_finding *t;
		struct judged j;

		judge(&j, asks_itself(rows[i].inside, rows[i].outside));
		ROW(i);
		t = &j.v->tail->stalls[0];
		if (*rows[i].function) {
			EQ_S(t->function, rows[i].function);
			EQ_U(t->f.conf, CONF_MEDIUM);
			EQ_U(t->f.culprit.tid, OTHER);
		}
		EQ_S(j.v->tail->stall_cnt ? finding_name(t->f.cls) : "unknown", rows[i].cls);
		judged_release(&j);
	}
}
