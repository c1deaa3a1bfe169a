/* SPDX-License-Identifier: Apache-2.0 */
/* Several hold-ups of one class, or one on the way to another: each is named. */
#include <string.h>

#include "judged.h"
#include "unit.h"

static const struct finding *named(const struct verdict *v, const char *cls, const char *resource)
{
	for (size_t i = 0; i < v->finding_cnt; i++) {
		if (strcmp(finding_name(v->findings[i].cls), cls) == 0 &&
		    strcmp(v->findings[i].resource, resource) == 0)
			return &v->findings[i];
	}
	return NULL;
}

/* A loop with four requests open all the time, at two upstreams. */
static struct synth *two_upstreams(double second_ms)
{
	struct synth *s = synth_new(1000);
	struct ev_proc *p;

	synth_thread(s, 20, 20, "loop");
	synth_res(s, 6, RES_EPOLL, NULL);
	synth_sock(s, 4, ROLE_CLIENT, 0x0a000001, 9000);
	synth_sock(s, 5, ROLE_CLIENT, 0x0a000001, 9001);
	for (int i = 0; i < 2; i++) {
		struct ev_sock *k = synth_event(s, EV_SOCK, sizeof(*k), 999);

		synth_sock(s, 8 + i, ROLE_SERVER, 0x7f000001, 80);
		k->res = 8 + i;
		k->tgid = k->last_tid = 20;
		k->role = ROLE_SERVER;
		k->last_rx_ns = synth_ns(s, 990);
	}
	for (int i = 0; i < 10; i++) {
		struct ev_wait *w = synth_irq_wait(s, 20, WAIT_EPOLL, 6, i * 100 + 1, i * 100 + 99,
						   i * 100 + 99, WAKER_NET);

		w->own_open = w->proc_open = 4;
	}
	synth_end(s, 20, ROLE_SERVER, 80, 40, 4000);
	synth_end(s, 20, ROLE_CLIENT, 9000, 40, 3900 - second_ms)->raddr[0] = 10;
	synth_end(s, 20, ROLE_CLIENT, 9001, 40, second_ms)->raddr[0] = 10;
	p = synth_proc(s, 20);
	p->open_ns = 4000000000ULL;
	p->open = 4;
	return s;
}

TEST(carriers_two_upstreams_are_both_named)
{
	const struct finding *a, *b;
	struct judged j;

	judge(&j, two_upstreams(1900));
	a = named(j.v, "external", "10.0.0.0:9000");
	b = named(j.v, "external", "10.0.0.0:9001");
	OK(a && b && j.v->findings == a);
	OK(a->share > 0.45 && a->share < 0.55);
	OK(b->share > 0.42 && b->share < 0.52);
	OK(a->conf > CONF_LOW); /* the class is not in doubt */
	judged_release(&j);
}

TEST(carriers_small_ones_stay_with_the_largest)
{
	struct judged j;

	judge(&j, two_upstreams(200));
	OK(!named(j.v, "external", "10.0.0.0:9001"));
	OK(j.v->findings[0].share > 0.9);
	judged_release(&j);
}

/* A lock whose holder reads from a disk under a limit: both, not the limit alone. */
TEST(carriers_lock_on_the_way_to_the_disk)
{
	struct synth *s = synth_new(1000);
	struct ev_cgroup *g;
	struct judged j;

	for (uint32_t t = 11; t < 14; t++)
		synth_thread(s, t, 11, "srv");
	synth_res(s, 7, RES_FUTEX, "the lock");
	synth_res(s, 8, RES_FILE, "/data/table");
	for (int i = 0; i < 4; i++) {
		double b = i * 250;

		synth_irq_wait(s, 11, WAIT_FILE, 8, b + 1, b + 200, b + 200, WAKER_BLOCK);
		synth_wait(s, 12, WAIT_FUTEX, 7, b + 2, b + 201, b + 201, 11)->owner_tid = 11;
		synth_wait(s, 13, WAIT_FUTEX, 7, b + 3, b + 220, b + 220, 12)->owner_tid = 12;
	}
	synth_dev(s, 8 << 20, "sda", 50, 50);
	synth_disk(s, 8 << 20, 11, 0, "srv", 2000);
	g = synth_cgroup(s, 0, "/box");
	g->tgid = 11;
	g->io_rbps = 1 << 20;
	judge(&j, s);
	EQ_S(finding_name(j.v->findings[0].cls), "disk-limit");
	OK(named(j.v, "lock-held", "the lock"));
	judged_release(&j);
}
