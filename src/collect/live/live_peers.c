/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peer processes: those that wake watched threads without being watched, or
 * serve the other end of a pipe or connection they wait on, up to max_peers.
 * Kernel threads, init and heldup itself are not.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/live/live_int.h"
#include "collect/live/live_stacks.h"
#include "heldup.skel.h"

/* Below both it is noise: a signal, a shell. */
#define PEER_MIN_WAIT_NS NS_PER_MS
#define PEER_MIN_CNT 5

/* Was known as a client and serves us as well: its requests count now. */
static void upgrade(struct live *l, struct live_proc *p)
{
	struct proc_ent e = {.flags = TASKF_PEER};

	p->light = false;
	bpf_map__update_elem(l->bpf.skel->maps.hu_procs, &p->tgid, sizeof(p->tgid), &e, sizeof(e),
			     BPF_EXIST);
}

void live_draw_in(struct live *l, uint32_t tgid, bool client)
{
	struct live_proc *p;

	if (tgid <= 1 || tgid == (uint32_t)getpid() || l->opts.only_target)
		return;
	p = live_proc(l, tgid);
	if (p->light && !client)
		upgrade(l, p);
	if (p->flags || p->refused)
		return;
	if (live_is_watcher(l, tgid)) {
		p->refused = true;
		return;
	}
	if (l->peer_cnt >= l->opts.max_peers) {
		p->refused = true;
		l->loss[LOSS_PEERS]++;
		return;
	}
	p->flags = TASKF_PEER;
	p->light = client;
	l->peer_cnt++;
	live_listen(l, tgid);
	live_stacks_watch(l, &tgid, 1); /* its first stack comes at once */
	live_bpf_watch(&l->bpf, tgid, TASKF_PEER | (client ? TASKF_LIGHT : 0), 0);
}

void live_peers(struct live *l)
{
	int fd = bpf_map__fd(l->bpf.skel->maps.hu_peers);
	uint32_t key, next, *pos = NULL;
	uint32_t left = bpf_map__max_entries(l->bpf.skel->maps.hu_peers);
	struct peer_cand c;

	if (l->opts.only_target)
		return;
	/* where the key before was evicted the kernel begins again: not for ever */
	while (left-- && bpf_map_get_next_key(fd, pos, &next) == 0) {
		if (bpf_map_lookup_elem(fd, &next, &c) == 0 &&
		    (c.wait_ns >= PEER_MIN_WAIT_NS || c.cnt >= PEER_MIN_CNT))
			live_draw_in(l, next, c.client_cnt * 2 >= c.cnt);
		key = next;
		pos = &key;
	}
}
