/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stop.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static volatile sig_atomic_t stop_flag, usr1_flag;
static int stop_event = -1;
static uint64_t stop_asked_ns;
static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOP_SIGNALS = sizeof(stop_signals) / sizeof(*stop_signals) };
static bool was_ignored[STOP_SIGNALS];

/* For the signal handler, so ready made. */
static struct last_words {
	volatile sig_atomic_t is_set;
	char path[PATH_MAX];
	char text[PATH_MAX + 128];
	size_t empty_bytes, len;
} last_words;

static void stop_raise(void)
{
	uint64_t one = 1;
	int saved = errno;

	stop_flag = 1;
	if (stop_event >= 0 && write(stop_event, &one, sizeof(one)) < 0)
		stop_flag = 1; /* the counter is full: it is readable already */
	errno = saved;
}

static void last_words_say(void)
{
	const struct last_words *w = &last_words;
	struct stat st;

	if (!w->is_set || stat(w->path, &st) < 0)
		return;
	if ((size_t)st.st_size <= w->empty_bytes)
		unlink(w->path);
	else if (write(STDERR_FILENO, w->text, w->len) < 0)
		return; /* nobody listens */
}

static void end_at_once_from_now(int sig)
{
	sigset_t set;

	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void stop_handler(int sig)
{
	uint64_t now_ns = clock_mono_ns();
	int saved = errno;

	if (!stop_flag) {
		stop_asked_ns = now_ns;
		stop_raise();
	} else if (now_ns - stop_asked_ns >= STOP_ECHO_NS) {
		end_at_once_from_now(sig); /* the file of the last words may be on a dead disk */
		last_words_say();
		raise(sig);
	}
	errno = saved;
}

void stop_init(void)
{
	/* no SA_RESTART: a blocking wait must return to see the flag */
	struct sigaction sa = {.sa_handler = stop_handler};

	sigemptyset(&sa.sa_mask); /* one handler at a time: stop_asked_ns is not torn */
	for (int i = 0; i < STOP_SIGNALS; i++)
		sigaddset(&sa.sa_mask, stop_signals[i]);
	stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (int i = 0; i < STOP_SIGNALS; i++) {
		struct sigaction old = {.sa_handler = SIG_DFL};

		sigaction(stop_signals[i], NULL, &old);
		was_ignored[i] = old.sa_handler == SIG_IGN;
		/* a script's background job ignores SIGINT too, but is sent it to end us */
		if (stop_signals[i] != SIGHUP || !was_ignored[i])
			sigaction(stop_signals[i], &sa, NULL);
	}
}

void stop_child(void)
{
	for (int i = 0; i < STOP_SIGNALS; i++)
		if (was_ignored[i])
			signal(stop_signals[i], SIG_IGN);
}

bool stop_requested(void)
{
	return stop_flag;
}

int stop_fd(void)
{
	return stop_event;
}

void stop_writes(const char *path, size_t empty_bytes)
{
	struct last_words *w = &last_words;

	w->is_set = 0;
	if (!path || strlen(path) >= sizeof(w->path)) /* no file can have a longer one */
		return;
	memcpy(w->path, path, strlen(path) + 1);
	w->len = (size_t)snprintf(w->text, sizeof(w->text),
				  "heldup: ended at once: '%s' is readable up to where it ends\n",
				  path);
	w->empty_bytes = empty_bytes;
	w->is_set = 1;
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
