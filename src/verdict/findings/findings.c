/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings in the order in which they claim causes, move demand and are looked for.
 * The order is the rule: what comes first takes what those after it would take as well.
 */
#include "verdict/findings/findings.h"

#include "base/bug.h"

extern const struct finding_def finding_stopped, finding_deadlock, finding_died, finding_endless;
extern const struct finding_def finding_cpu_neighbour, finding_cpu_quota, finding_cpu_own;
extern const struct finding_def finding_conn_limit, finding_workers;
extern const struct finding_def finding_external, finding_peer;
extern const struct finding_def finding_disk_own, finding_disk_neighbour, finding_disk_limit;
extern const struct finding_def finding_fsync, finding_memory;
extern const struct finding_def finding_lock_held, finding_lock_convoy;
extern const struct finding_def finding_clients, finding_loop_blocked, finding_timer;
extern const struct finding_def finding_healthy, finding_unknown;

const struct finding_def *const findings_in_order[] = {
	/*
	 * Seen in the threads themselves.  Who is stopped waits for nothing, so no sum may
	 * say for what; who waits in a circle waits for ever; a dead process beats one that
	 * runs on, which may be what it died of.
	 */
	&finding_stopped,
	&finding_deadlock,
	&finding_died,
	&finding_endless,
	/* The end says why, whatever lock or peer lies on the way: that is then a link. */
	&finding_cpu_neighbour,
	&finding_cpu_quota,
	/* A wait for one of several permits is the limit's, whatever their owners do. */
	&finding_conn_limit,
	/* A peer does what it does for us: its disk and its locks are its own affair. */
	&finding_external,
	&finding_peer,
	/* A disk says more than the lock under which it is waited for. */
	&finding_disk_own, /* moves on what the disk has no request for, before any other asks */
	&finding_disk_neighbour,
	&finding_disk_limit,
	&finding_fsync,
	&finding_memory,
	/* Before computing, timers and clients: their thread has the lock meanwhile. */
	&finding_lock_held,
	&finding_lock_convoy,
	/* Adds demand that no thread waits for; the loop and the queue come after all demand. */
	&finding_clients,
	/* Takes from timer, cpu-own and unknown what one loop does, before those are judged. */
	&finding_loop_blocked,
	&finding_timer,
	/* Gives the queue to what fills the pool, so it must know all of that. */
	&finding_workers,
	/* With the queue known: computing holds up only where there is no CPU left. */
	&finding_cpu_own,
	/* Takes the sleeps of a server that nobody asks, when all is weighed. */
	&finding_healthy,
	/* All that is left. */
	&finding_unknown,
};

const size_t findings_cnt = sizeof(findings_in_order) / sizeof(*findings_in_order);

const struct finding_def *finding_def(unsigned cls)
{
	for (size_t i = 0; i < findings_cnt; i++)
		if (findings_in_order[i]->cls == cls)
			return findings_in_order[i];
	BUG_ON(true);
	return &finding_unknown;
}

const char *finding_name(unsigned cls)
{
	return cls < FIND_CNT ? finding_def(cls)->name : "unknown";
}

const char *finding_title(unsigned cls)
{
	return cls < FIND_CNT ? finding_def(cls)->title : "";
}

bool finding_holds_up(unsigned cls)
{
	return cls < FIND_CNT && !finding_def(cls)->no_hold_up;
}

bool finding_is_its_own(unsigned cls)
{
	return cls < FIND_CNT && !finding_def(cls)->not_its_own;
}
