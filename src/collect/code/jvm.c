/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's attach protocol: a file .attach_pidN in its working directory or
 * /tmp and SIGQUIT make it listen on the socket /tmp/.java_pidN, N being its
 * pid in its own namespace.  It believes a peer of its own user only.  A
 * process that does not catch SIGQUIT would die of it, so that is looked at
 * first.
 */
#include "collect/code/jvm.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/rights.h"
#include "base/timed/timed_call.h"
#include "collect/proc/procfs.h"

enum {
	STATUS_MAX = 64 * 1024,
	ANSWER_MAX = 512,	/* of what it says only the start is shown */
	STEP_MS = 20,		/* between looks for the socket */
	CHILD_FILES = 64,
	CHILD_LIFE_S = 60,
};

struct target {
	uint32_t tgid, inner_pid;
	uid_t uid;
	gid_t gid;
	int root_fd, mnt_fd;
	uint64_t deadline_ns;
};

/* Second number of a status line: the effective id. */
static int effective_id(const char *status, const char *key, unsigned *ret)
{
	const char *at = strstr(status, key);
	unsigned real;

	return at && sscanf(at + strlen(key), " %u %u", &real, ret) == 2 ? 0 : -ESRCH;
}

static int target_read(struct target *t, struct err *err)
{
	CLEANUP(buf_release) struct buf text = {0};
	unsigned uid, gid;
	char path[48];
	const char *caught;
	unsigned long long mask;

	snprintf(path, sizeof(path), "/proc/%u/status", t->tgid);
	if (file_read(path, STATUS_MAX, &text, NULL) < 0 ||
	    effective_id(buf_str(&text), "\nUid:", &uid) < 0 ||
	    effective_id(buf_str(&text), "\nGid:", &gid) < 0)
		return err_set(err, -ESRCH, "process %u is gone", t->tgid);
	caught = strstr(buf_str(&text), "\nSigCgt:");
	if (!caught || sscanf(caught, "\nSigCgt: %llx", &mask) != 1 ||
	    !(mask & (1ull << (SIGQUIT - 1))))
		return err_set(err, -ENOTSUP,
			       "process %u does not take requests (started with -Xrs?)", t->tgid);
	t->uid = uid;
	t->gid = gid;
	t->inner_pid = procfs_ns_tid(t->tgid);
	if (!t->inner_pid)
		t->inner_pid = t->tgid;
	snprintf(path, sizeof(path), "/proc/%u/root", t->tgid);
	t->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", t->tgid);
	t->mnt_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (t->root_fd < 0 || t->mnt_fd < 0)
		return err_rights(err, -EPERM,
				  "process %u is another user's: run heldup as root to ask it",
				  t->tgid);
	return 0;
}

/* ---- in the child: only calls that need no memory, since others threads may have held locks */

static bool is_late(const struct target *t)
{
	return clock_mono_ns() > t->deadline_ns;
}

static int become(const struct target *t)
{
	if (geteuid() == 0) {
		setns(t->mnt_fd, CLONE_NEWNS); /* where that is refused the root must do */
		if (fchdir(t->root_fd) < 0 || chroot(".") < 0 || setgroups(0, NULL) < 0)
			return -errno;
	}
	if ((getegid() != t->gid && setresgid(t->gid, t->gid, t->gid) < 0) ||
	    (geteuid() != t->uid && setresuid(t->uid, t->uid, t->uid) < 0))
		return -EPERM;
	return chdir("/") < 0 ? -errno : 0;
}

static int connect_to(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return code;
	}
	return fd;
}

/* A socket to the VM, asked to listen where it does not yet. */
static int reach(const struct target *t)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char attach[64];
	int fd, file;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/.java_pid%u", t->inner_pid);
	fd = connect_to(&addr);
	if (fd >= 0)
		return fd;
	snprintf(attach, sizeof(attach), "/tmp/.attach_pid%u", t->inner_pid);
	file = open(attach, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0 && errno != EEXIST)
		return -errno;
	if (file >= 0)
		close(file);
	kill((pid_t)t->tgid, SIGQUIT);
	while (fd < 0 && !is_late(t)) {
		usleep(STEP_MS * 1000);
		fd = connect_to(&addr);
	}
	unlink(attach);
	return fd < 0 ? -ETIME : fd;
}

/* The VM's words go to out; they start with a number, 0 for success. */
static int ask(const struct target *t, int out)
{
	/* version, command and three arguments, the last NUL being the literal's own */
	static const char request[] = "1\0jcmd\0Compiler.perfmap\0\0";
	char answer[ANSWER_MAX];
	size_t len = 0;
	int fd = reach(t);

	if (fd < 0)
		return fd;
	if (write(fd, request, sizeof(request)) != sizeof(request))
		return -EPIPE;
	while (len < sizeof(answer)) {
		ssize_t got = read(fd, answer + len, sizeof(answer) - len);

		if (got <= 0)
			break;
		len += (size_t)got;
	}
	if (write(out, answer, len) != (ssize_t)len)
		return -EPIPE;
	return len ? 0 : -EPIPE;
}

/* Ends with the -errno as status. */
static void child(const struct target *t, int out)
{
	struct rlimit files = {CHILD_FILES, CHILD_FILES};
	int code;

	alarm(CHILD_LIFE_S); /* whoever asked has given up by then */
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_NOFILE, &files);
	rights_bound();
	code = become(t);
	/* a peer of the process' user gets no descriptor of root's */
	if (rights_drop_child() < 0 || close_range(3, (unsigned)out - 1, 0) < 0 ||
	    close_range((unsigned)out + 1, ~0u, 0) < 0)
		_exit(EPERM);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user clears it */
	if (code == 0)
		code = ask(t, out);
	_exit(-code);
}

/* ---- in the parent */

/* Reads until the child closes its end; false when time is over. */
static bool drain(int in, uint64_t deadline_ns, char *answer, size_t *ret_len)
{
	for (;;) {
		struct pollfd p = {.fd = in, .events = POLLIN};
		uint64_t now_ns = clock_mono_ns();
		char rest[64];
		char *at = *ret_len < ANSWER_MAX ? answer + *ret_len : rest;
		size_t room = *ret_len < ANSWER_MAX ? ANSWER_MAX - *ret_len : sizeof(rest);

		if (now_ns >= deadline_ns ||
		    poll(&p, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1) <= 0)
			return false;
		ssize_t got = read(in, at, room);
		if (got <= 0)
			return true;
		if (at != rest)
			*ret_len += (size_t)got;
	}
}

static int answer_check(const char *answer, uint32_t tgid, int status, struct err *err)
{
	int code = WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;

	if (code < 0)
		return err_errno(err, code, "ask the Java VM of process %u", tgid);
	if (answer[0] != '0' || answer[1] != '\n' || strstr(answer, "Exception"))
		return err_set(err, -ENOTSUP,
			       "the Java VM of process %u cannot write a perf map (Java 17 and "
			       "newer can)", tgid);
	return 0;
}

int jvm_perfmap(uint32_t tgid, uint32_t timeout_ms, struct err *err)
{
	struct target t = {.tgid = tgid, .root_fd = -1, .mnt_fd = -1,
			   .deadline_ns = clock_mono_ns() + timeout_ms * NS_PER_MS};
	char answer[ANSWER_MAX + 1] = "";
	size_t len = 0;
	int pipe_fds[2], status = 0;
	int ret = target_read(&t, err);

	if (ret == 0 && pipe2(pipe_fds, O_CLOEXEC) < 0)
		ret = err_errno(err, -errno, "pipe");
	if (ret < 0)
		goto out;
	pid_t pid = fork();
	if (pid == 0)
		child(&t, pipe_fds[1]);
	close(pipe_fds[1]);
	bool in_time = pid > 0 && drain(pipe_fds[0], t.deadline_ns + NS_PER_SEC / 2, answer, &len);
	close(pipe_fds[0]);
	if (pid > 0 && !in_time)
		timed_call_end_child(pid);
	else if (pid > 0)
		waitpid(pid, &status, 0);
	if (pid < 0)
		ret = err_errno(err, -errno, "fork");
	else if (!in_time)
		ret = err_set(err, -ETIME, "the Java VM of process %u did not answer within %u ms",
			      tgid, timeout_ms);
	else
		ret = answer_check(answer, tgid, status, err);
out:
	if (t.root_fd >= 0)
		close(t.root_fd);
	if (t.mnt_fd >= 0)
		close(t.mnt_fd);
	return ret;
}
