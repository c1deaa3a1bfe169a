/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "serve/keeper.h"
#include "serve/link.h"
#include "serve/settings.h"
#include "serve/spans/takes_spans.h"
#include "serve/watcher.h"

#define LINK_BYTES (1 << 20)	 /* a second of 64 services, ten times over */
#define AGAIN_MAX_NS (60 * NS_PER_SEC)
#define SOUND_NS (60 * NS_PER_SEC) /* one that ran so long begins again at once */
#define FIRST_NS (5 * NS_PER_SEC) /* one that ends so soon at first cannot work here at all */
#define END_NS (15 * NS_PER_SEC) /* a child that does not end in this time is killed */
#define STEP_US 100000
#define EXIT_RIGHTS 3

enum { CHILDREN = 3 };

struct child {
	const char *name;
	int (*run)(const struct settings *settings, const struct links *links, struct err *err);
	struct links links;
	size_t idx;		/* of CHILDREN */
	pid_t pid;		/* 0: none runs */
	uint64_t start_ns, again_ns, wait_ns;
	uint32_t start_cnt;
};

static int make_dir(const char *path, struct err *err)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	return err_errno(err, -errno, "make '%s'", path);
}

/* The descriptor that holds the lock, or -errno. */
static int lock(const char *state_dir, struct err *err)
{
	char path[4096];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/serve.lock", state_dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_errno(err, -errno, "open '%s'", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc == -EWOULDBLOCK
		       ? err_set(err, -EBUSY, "heldup serve runs already with '%s'", state_dir)
		       : err_errno(err, rc, "lock '%s'", path);
}

bool serve_runs(const char *state_dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/serve.lock", state_dir);
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* systemd's protocol: a datagram to the socket that it names. */
static void notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;

	if (!len || len >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, len);
	if (*path == '@')
		to.sun_path[0] = '\0';
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (void *)&to,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

/* A child has the ends of others from its parent: who took it over could speak for them. */
static void close_others(const struct child *c, const struct child *all, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (&all[i] == c)
			continue;
		if (all[i].links.watch >= 0)
			close(all[i].links.watch);
		if (all[i].links.spans >= 0)
			close(all[i].links.spans);
	}
}

static void __attribute__((noreturn)) child_main(const struct child *c,
						 const struct settings *settings)
{
	struct err err = {0};
	char name[16];
	int rc;

	snprintf(name, sizeof(name), "heldup-%s", c->name);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == 1)
		_exit(0);
	rc = c->run(settings, &c->links, &err);
	if (rc < 0)
		log_error("%s: %s", c->name, err.msg);
	_exit(rc == 0 ? 0 : err.kind == ERR_RIGHTS ? EXIT_RIGHTS : 1);
}

static int intake_run_child(const struct settings *s, const struct links *links, struct err *err)
{
	const struct takes_spans_opts opts = {.http = s->spans_http, .grpc = s->spans_grpc,
					      .token = s->token, .cpu = s->spans_cpu};

	return takes_spans_run(&opts, links->spans, err);
}

static int start(struct child *c, const struct settings *settings, struct err *err)
{
	pid_t pid = fork();

	if (pid == 0) {
		close_others(c, c - c->idx, CHILDREN);
		child_main(c, settings);
	}
	if (pid < 0)
		return err_errno(err, -errno, "start the %s", c->name);
	c->pid = pid;
	c->start_ns = clock_mono_ns();
	c->start_cnt++;
	return 0;
}

/* One that ended is started again, later each time that it fails at once. */
static int look(struct child *c, const struct settings *settings, struct err *err)
{
	uint64_t now = clock_mono_ns();
	int status;

	if (!c->pid)
		return now >= c->again_ns ? start(c, settings, err) : 0;
	if (waitpid(c->pid, &status, WNOHANG) != c->pid)
		return 0;
	c->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_RIGHTS)
		return err_rights(err, -EPERM, "the %s cannot work with these rights on this "
				  "kernel: heldup doctor says what is missing", c->name);
	if (c->start_cnt == 1 && WIFEXITED(status) && now - c->start_ns < FIRST_NS)
		return err_set(err, -EIO, "the %s could not begin", c->name);
	c->wait_ns = now - c->start_ns > SOUND_NS ? 0 : c->wait_ns ? c->wait_ns * 2 : NS_PER_SEC;
	if (c->wait_ns > AGAIN_MAX_NS)
		c->wait_ns = AGAIN_MAX_NS;
	c->again_ns = now + c->wait_ns;
	log_warn("the %s ended and begins again in %llu s", c->name,
		 (unsigned long long)(c->wait_ns / NS_PER_SEC));
	return 0;
}

static void end(struct child *children, size_t cnt)
{
	uint64_t until_ns = clock_mono_ns() + END_NS;

	for (size_t i = 0; i < cnt; i++)
		if (children[i].pid)
			kill(children[i].pid, SIGTERM);
	for (size_t i = 0; i < cnt; i++) {
		struct child *c = &children[i];

		while (c->pid && waitpid(c->pid, NULL, WNOHANG) != c->pid) {
			if (clock_mono_ns() > until_ns)
				kill(c->pid, SIGKILL);
			usleep(STEP_US);
		}
		c->pid = 0;
	}
}

static int link_open(int *ret_pair, struct err *err)
{
	int bytes = LINK_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_pair) < 0)
		return err_errno(err, -errno, "make a socket");
	for (int i = 0; i < 2; i++)
		setsockopt(ret_pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	return 0;
}

int serve_run(const struct settings *settings, struct err *err)
{
	struct child children[CHILDREN] = {{.name = "keeper", .run = keeper_run},
					   {.name = "watcher", .run = watcher_run, .idx = 1},
					   {.name = "intake", .run = intake_run_child, .idx = 2}};
	const size_t cnt = CHILDREN;
	int watch[2], spans[2], rc = make_dir(settings->state, err);
	char captures[4096];

	snprintf(captures, sizeof(captures), "%s/captures", settings->state);
	if (rc == 0)
		rc = make_dir(captures, err);
	if (rc < 0)
		return rc;
	CLEANUP_CLOSE int held = lock(settings->state, err);
	rc = held < 0 ? held : link_open(watch, err);
	if (rc == 0)
		rc = link_open(spans, err);
	if (rc < 0)
		return rc;
	children[0].links = (struct links){watch[0], spans[0]};
	children[1].links = (struct links){watch[1], -1};
	children[2].links = (struct links){-1, spans[1]};
	notify("READY=1");
	while (rc == 0 && !stop_requested()) {
		for (size_t i = 0; i < cnt && rc == 0; i++)
			rc = look(&children[i], settings, err);
		usleep(STEP_US);
	}
	notify("STOPPING=1");
	end(children, cnt);
	for (int i = 0; i < 2; i++) {
		close(watch[i]);
		close(spans[i]);
	}
	return rc;
}
