/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static volatile sig_atomic_t stop_flag, usr1_flag;
static int stop_event = -1;

static void stop_raise(void)
{
	uint64_t one = 1;
	int saved = errno;

	stop_flag = 1;
	if (stop_event >= 0 && write(stop_event, &one, sizeof(one)) < 0)
		stop_flag = 1; /* the counter is full: it is readable already */
	errno = saved;
}

static void stop_handler(int sig)
{
	if (stop_flag) {
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	stop_raise();
}

void stop_init(void)
{
	/* no SA_RESTART: a blocking wait must return to see the flag */
	struct sigaction sa = {.sa_handler = stop_handler};

	sigemptyset(&sa.sa_mask);
	stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

bool stop_requested(void)
{
	return stop_flag;
}

int stop_fd(void)
{
	return stop_event;
}

void stop_now(void)
{
	stop_raise();
}

static void usr1_handler(int sig)
{
	usr1_flag = sig;
}

void stop_usr1_init(void)
{
	struct sigaction sa = {.sa_handler = usr1_handler};

	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
}

bool stop_usr1_taken(void)
{
	bool was = usr1_flag;

	usr1_flag = 0;
	return was;
}
