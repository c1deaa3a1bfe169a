/* SPDX-License-Identifier: Apache-2.0 */
/* Who is blamed for a disk, a file and a CPU: each class of finding has its evidence. */
#include <string.h>

#include "judged.h"
#include "unit.h"

static bool says(const struct finding *f, const char *text)
{
	for (size_t i = 0; i < f->evidence_cnt; i++) {
		if (strstr(f->evidence[i], text))
			return true;
	}
	return false;
}

/* A thread waits for files that another process serves, as far as that is known. */
TEST(verdict_file_of_a_file_system_in_user_space)
{
	for (int watched = 0; watched < 2; watched++) {
		struct synth *s = synth_new(1000);
		struct judged j;

		synth_thread(s, 20, 20, "srv");
		synth_task(s, 60, 60, "fsd", TASKF_PEER);
		synth_res(s, 7, RES_FILE, "/mnt/data");
		synth_dev(s, 8 << 20, "sda", 5, 5);
		synth_res(s, 8, RES_FILE, "/mnt/other");
		synth_wait(s, 20, WAIT_FILE, 8, 970, 985, 985, 60);
		for (int i = 0; i < 10; i++) {
			double b = i * 97;

			synth_wait(s, 20, WAIT_FILE, 7, b + 1, b + 96, b + 96, 60);
			if (watched)
				synth_irq_wait(s, 60, WAIT_TIMER, 0, b + 2, b + 95, b + 95,
					       WAKER_TIMER);
		}
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), "peer");
		EQ_S(j.v->findings[0].culprit.comm, "fsd");
		HAS(j.v->findings[0].summary, "which serves the file /mnt/data");
		OK(says(&j.v->findings[0],
			"11 waits for files that it serves, mean 88 ms, longest 95 ms"));
		judged_release(&j);
	}
}

/* Writes of 83 ms each; a neighbour does a thousand quick reads a second on the device. */
static struct synth *quick_neighbour(uint32_t dev, double own_ms)
{
	struct synth *s = synth_new(1000);
	struct ev_disk *u;

	synth_thread(s, 31, 31, "srv");
	synth_res(s, 7, RES_FILE, "/data/log")->dev = dev;
	for (int i = 0; i < 10; i++)
		synth_irq_wait(s, 31, WAIT_FSYNC, 7, i * 100 + 1, i * 100 + 84, i * 100 + 84,
			       WAKER_BLOCK);
	synth_dev(s, 8 << 20, "sda", 700, 700 + own_ms);
	u = synth_disk(s, 8 << 20, 99, 0, "quick", 8000);
	u->lat_ns = 700000000;
	synth_disk(s, 8 << 20, 31, 1, "srv", 160)->lat_ns = (uint64_t)(own_ms * 1e6);
	return s;
}

/* Who waits for a device has a request there; else a limit, or no disk of this host. */
TEST(verdict_disk_has_its_evidence)
{
	static const struct {
		uint32_t dev;
		double own_ms;
		bool limit;
		const char *cls;
	} cases[] = {
		{ 8 << 20, 800, false, "disk-neighbour" }, { 8 << 20, 5, true, "disk-limit" },
		{ 8 << 20, 5, false, "unknown" }, { 45, 5, false, "external" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct synth *s = quick_neighbour(cases[i].dev, cases[i].own_ms);
		struct judged j;

		if (cases[i].limit) {
			struct ev_cgroup *g = synth_cgroup(s, 0, "/box");

			g->io_wiops = 1000;
			g->tgid = 31;
		}
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), cases[i].cls);
		judged_release(&j);
	}
}

/* In flight all the time, by the kernel's count, but at the device for a moment: held back. */
TEST(verdict_disk_limit_counts_held_requests)
{
	static const double own_ms[] = { 4, 800 };

	for (size_t i = 0; i < sizeof(own_ms) / sizeof(*own_ms); i++) {
		struct synth *s = synth_new(1000);
		struct ev_cgroup *g;
		struct judged j;

		synth_thread(s, 31, 31, "srv");
		synth_res(s, 7, RES_FILE, "/data/log")->dev = 8 << 20;
		for (int k = 0; k < 10; k++)
			synth_irq_wait(s, 31, WAIT_FSYNC, 7, k * 100 + 1, k * 100 + 84,
				       k * 100 + 84, WAKER_BLOCK);
		synth_dev(s, 8 << 20, "sda", 850, 850);
		synth_disk(s, 8 << 20, 31, 1, "srv", 80)->lat_ns = (uint64_t)(own_ms[i] * 1e6);
		g = synth_cgroup(s, 0, "/box");
		g->io_wiops = 25;
		g->tgid = 31;
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), i ? "fsync" : "disk-limit");
		judged_release(&j);
	}
}

/* Four backends that run 8 % each and wait for CPUs that their client and another have. */
static struct synth *used_up(double client_ms, double other_ms, double own_ms, double idle)
{
	struct synth *s = synth_new(1000);
	struct ev_conn *c;
	struct ev_host *h;

	for (uint32_t t = 50; t < 54; t++) {
		synth_thread(s, t, 50, "srv");
		for (int i = 0; i < 10; i++)
			synth_preempted(s, t, i * 100 + 4, i * 100 + 96);
	}
	synth_task(s, 70, 70, "asker", TASKF_PEER);
	synth_culprit(s, 50, 70, "asker", client_ms);
	synth_culprit(s, 50, 80, "hog", other_ms);
	synth_culprit(s, 50, 50, "srv", own_ms);
	c = synth_event(s, EV_CONN, sizeof(*c), 1000);
	c->tgid = 50;
	c->role = ROLE_SERVER;
	c->peer_tgid = 70;
	h = synth_host(s);
	h->cpu_busy_ns = (uint64_t)((1 - idle) * 2e9);
	h->cpu_idle_ns = (uint64_t)(idle * 2e9);
	return s;
}

TEST(verdict_says_who_uses_the_cpus_up)
{
	static const struct {
		double client, other, own;
		const char *cls, *who;
	} cases[] = {
		{ 400, 3000, 300, "cpu-neighbour", "hog" },
		{ 3000, 400, 300, "clients", "asker" },
		{ 400, 300, 3000, "cpu-own", "srv" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct judged j;

		judge(&j, used_up(cases[i].client, cases[i].other, cases[i].own, 0.01));
		EQ_S(finding_name(j.v->findings[0].cls), cases[i].cls);
		EQ_S(j.v->findings[0].culprit.comm, cases[i].who);
		judged_release(&j);
	}
}

/* On a machine with room: eight threads that wait 3 % of the time for a CPU lack none. */
TEST(verdict_cpu_neighbour_is_waited_for)
{
	for (int much = 0; much < 2; much++) {
		struct synth *s = synth_new(1000);
		struct ev_host *h = synth_host(s);
		double ms = much ? 300 : 30;
		struct judged j;

		for (uint32_t t = 50; t < 58; t++) {
			synth_thread(s, t, 50, "srv");
			synth_irq_wait(s, t, WAIT_EPOLL, 0, 1, 500, 500, WAKER_NET);
			synth_preempted(s, t, 501, 501 + ms);
			synth_irq_wait(s, t, WAIT_EPOLL, 0, 502 + ms, 999, 999, WAKER_NET);
		}
		synth_culprit(s, 50, 80, "hog", 8 * ms);
		h->cpu_busy_ns = 400000000;
		h->cpu_idle_ns = 1600000000;
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), much ? "cpu-neighbour" : "healthy");
		judged_release(&j);
	}
}

/* Two that share a name have more of the CPU than one that has most of any. */
TEST(verdict_cpu_neighbours_of_one_name)
{
	struct synth *s = synth_new(1000);
	struct judged j;

	synth_thread(s, 50, 50, "srv");
	for (int i = 0; i < 10; i++)
		synth_preempted(s, 50, i * 100 + 10, i * 100 + 90);
	synth_culprit(s, 50, 80, "single", 300);
	synth_culprit(s, 50, 81, "twin", 250);
	synth_culprit(s, 50, 82, "twin", 250);
	for (uint32_t p = 90; p < 96; p++) /* gone, and their names with them: not one */
		synth_culprit(s, 50, p, "", 100);
	judge(&j, s);
	EQ_S(j.v->findings[0].culprit.comm, "twin");
	OK(says(&j.v->findings[0], "twin (pid 81) and others of its name ran for 500 ms"));
	judged_release(&j);
}

/* A child without requests has the CPU that the server waits for: no load of the requests'. */
TEST(verdict_cpu_of_a_forked_child)
{
	struct synth *s = synth_new(1000);
	struct ev_host *h;
	struct judged j;

	synth_thread(s, 50, 50, "srv");
	synth_sock(s, 8, ROLE_SERVER, 0x7f000001, 80);
	for (int i = 0; i < 10; i++) {
		struct ev_turn *t = synth_event(s, EV_TURN, sizeof(*t), i * 100 + 96);

		t->res = 8;
		t->role = ROLE_SERVER;
		t->h.tid = t->first_tid = 50;
		synth_preempted(s, 50, i * 100 + 5, i * 100 + 95)->own_open = 1;
	}
	synth_end(s, 50, ROLE_SERVER, 80, 10, 900);
	synth_proc(s, 50)->open_ns = 900000000;
	synth_thread(s, 60, 60, "srv-child")->ppid = 50;
	synth_preempted(s, 60, 990, 995);
	synth_culprit(s, 50, 60, "srv-child", 850);
	h = synth_host(s);
	h->cpu_busy_ns = 1990000000;
	h->cpu_idle_ns = 10000000;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "cpu-neighbour");
	EQ_U(j.v->findings[0].culprit.pid, 60);
	HAS(j.v->findings[0].summary, "a child that it forked");
	judged_release(&j);
}
