/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: a thread a connection, 8 clients with a think time of 5 ms; each
 * request touches 24 random pages of a mapped file.  The page cache hardly
 * ever holds them, because a trimmer thread drops them every 100 ms (as a
 * machine short of memory would), so that nearly every touch is a major fault
 * that waits for the disk.
 * Truth: page faults of that mapping.
 *
 * --reclaim: nothing is dropped by hand; the server is in a memory cgroup of
 * 48 MiB with a mapping of 512 MiB and writes to memory of its own as well, so
 * that its faults wait for reclaim too.
 * Truth: memory, by the cgroup's limit.
 */
#include "load_net.h"
#include "load_sys.h"

#define FILE_MIB 512
#define TOUCHES 24

static char *map;
static int map_fd, reclaiming;

static void *trim(void *arg)
{
	for (;;) {
		load_sleep_us(100000);
		madvise(map, (size_t)FILE_MIB << 20, MADV_DONTNEED);
		posix_fadvise(map_fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	return arg;
}

static void dirty_some(unsigned *seed)
{
	static _Thread_local char *own;	/* 4 MiB a connection */

	if (!own)
		own = malloc(4 << 20);
	for (int i = 0; i < 16; i++)
		own[(size_t)rand_r(seed) % (4 << 20)]++;
}

static void handle(struct load_msg *m)
{
	static _Thread_local unsigned seed;
	unsigned sum = 0;

	if (!seed)
		seed = (unsigned)load_tid();
	for (int i = 0; i < TOUCHES; i++)
		sum += (unsigned char)map[(size_t)rand_r(&seed) % (FILE_MIB * 256u) * 4096];
	if (reclaiming)
		dirty_some(&seed);
	m->pad[0] = (uint8_t)sum;
}

static void serve(void *arg)
{
	const char *path = load.file;

	if (reclaiming)
		load_cgroup_enter();
	map_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (map_fd < 0)
		load_fail(path);
	map = mmap(NULL, (size_t)FILE_MIB << 20, PROT_READ, MAP_SHARED, map_fd, 0);
	if (map == MAP_FAILED)
		load_fail("mmap");
	madvise(map, (size_t)FILE_MIB << 20, MADV_RANDOM);
	if (!reclaiming)
		load_thread("trimmer", trim, NULL);
	load_serve_threads(load_listen(arg, 128, &load.page->port), handle);
}

int main(int argc, char **argv)
{
	struct load_clients c = { .conn_cnt = 8, .think_us = 5000 };
	pid_t pid;

	load_init(argc, argv, "[--reclaim]");
	reclaiming = load_flag("--reclaim");
	load_make_file(load_path("index.db"), FILE_MIB);
	if (reclaiming)
		load_cgroup_set(load_cgroup("memory", "memory") == 1 ? "memory.limit_in_bytes" :
				"memory.max", "50331648");
	pid = load_fork("memory", serve, &c.to);
	c.to.port = load_await(&load.page->port);
	load_fork("client", load_clients_main, &c);
	load_settle(2000);
	load_ready("pid=%d class=memory culprit_pid=%d resource=%s", pid, pid,
		   reclaiming ? "memory" : load.file);
	load_run();
}
