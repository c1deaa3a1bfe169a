/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefork PORT UPSTREAM_PORT PROCESSES: each process takes a lock that all share, accepts,
 * gives the lock back, serves one request, and closes.
 */
#include "common.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

static void serve(int fd, struct upstreams *up)
{
	struct conn c = {.fd = fd};
	struct request r;

	while (!request_take(&c, &r))
		if (!conn_fill(&c)) {
			close(fd);
			return;
		}
	calls_make(up, &r);
	r.closing = true;
	reply_send(fd, &r);
	close(fd);
}

static void work(int listener, int upstream_port, pthread_mutex_t *lock)
{
	struct upstreams up = {.port = upstream_port};

	for (;;) {
		int fd;

		pthread_mutex_lock(lock);
		fd = accept_on(listener);
		pthread_mutex_unlock(lock);
		if (fd >= 0)
			serve(fd, &up);
	}
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t *lock;
	int listener;

	if (argc != 4)
		return 2;
	lock = mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (lock == MAP_FAILED)
		die("mmap");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(lock, &attr);
	listener = listen_on(number_arg(argv[1]));
	for (int i = 0; i < number_arg(argv[3]); i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			work(listener, number_arg(argv[2]), lock);
		}
	for (;;)
		pause();
}
