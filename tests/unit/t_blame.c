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
		for (int i = 0; i < 10; i++) {
			double b = i * 100;

			synth_wait(s, 20, WAIT_FILE, 7, b + 1, b + 96, b + 96, 60);
			if (watched)
				synth_irq_wait(s, 60, WAIT_TIMER, 0, b + 2, b + 95, b + 95,
					       WAKER_TIMER);
		}
		judge(&j, s);
		EQ_S(finding_name(j.v->findings[0].cls), "peer");
		EQ_S(j.v->findings[0].culprit.comm, "fsd");
		HAS(j.v->findings[0].summary, "which serves the file /mnt/data");
		OK(says(&j.v->findings[0], "10 waits, mean 95 ms, longest 95 ms"));
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
