/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timed/timed_call_int.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

union fd_control {
	char bytes[CMSG_SPACE(TIMED_FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

bool timed_send(int sock, const void *data, size_t len, const int *fds, size_t fd_cnt)
{
	union fd_control control = {0};
	struct iovec iov = {(void *)(uintptr_t)data, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd_cnt) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(fd_cnt * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_cnt * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fd_cnt * sizeof(int));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == (ssize_t)len;
}

ssize_t timed_receive(int sock, void *data, size_t len, int fds[TIMED_FDS_MAX])
{
	union fd_control control = {0};
	struct iovec iov = {data, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	ssize_t got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&msg);

	for (size_t i = 0; i < TIMED_FDS_MAX; i++)
		fds[i] = -1;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len > CMSG_LEN(0))
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return got;
}

/* ---- a reader */

static long answer(const struct timed_ops *ops, const struct timed_question *q, const char *args,
		   char *out, int *ret_fd)
{
	const struct timed_op *op = q->op < ops->cnt ? &ops->list[q->op] : NULL;

	if (!op || !op->fn || q->args_len < op->args_min || q->args_len > op->args_max)
		return -EINVAL;
	return op->fn(args, q->args_len, out, TIMED_CALL_OUT_MAX, ret_fd);
}

static void reader_serve(int sock, const struct timed_ops *ops, char *out)
{
	_Alignas(16) char args[TIMED_CALL_ARGS_MAX + 1];
	struct timed_question q;
	struct iovec iov[] = {{&q, sizeof(q)}, {args, TIMED_CALL_ARGS_MAX}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
	ssize_t got;

	while ((got = recvmsg(sock, &msg, 0)) >= (ssize_t)sizeof(q) &&
	       (size_t)got == sizeof(q) + q.args_len) {
		struct timed_answer a;
		int fd = -1;
		bool sent;

		args[q.args_len] = '\0'; /* text in them ends here at the latest */
		a.rc = answer(ops, &q, args, out, &fd);
		sent = timed_send(sock, &a, sizeof(a), &fd, fd >= 0);
		if (fd >= 0)
			close(fd);
		if (!sent)
			return;
	}
}

/* The keeper keeps only the socket of its descriptors; what ends the keeper ends the reader. */
static void reader_run(int sock, const struct timed_ops *ops, char *out, pid_t keeper)
{
	if (dup2(sock, 3) != 3 || close_range(4, ~0u, 0) < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != keeper)
		_exit(1);
	reader_serve(3, ops, out);
	_exit(0);
}

/* ---- the keeper */

static int memory_make(void)
{
	int fd = memfd_create("heldup-reads", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0) /* a flag of Linux 6.3 */
		fd = memfd_create("heldup-reads", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, TIMED_CALL_OUT_MAX) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Memory of a reader that was left behind is not used again: the kernel may still write to it. */
static pid_t reader_start(const struct timed_ops *ops, int ret_fds[TIMED_FDS_MAX])
{
	int pair[2], memory;
	pid_t pid, self = getpid();
	char *out;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	memory = memory_make();
	out = memory < 0 ? MAP_FAILED
			 : mmap(NULL, TIMED_CALL_OUT_MAX, PROT_READ | PROT_WRITE, MAP_SHARED,
				memory, 0);
	pid = out == MAP_FAILED ? -1 : fork();
	if (pid == 0)
		reader_run(pair[1], ops, out, self);
	if (out != MAP_FAILED)
		munmap(out, TIMED_CALL_OUT_MAX);
	close(pair[1]);
	ret_fds[0] = pair[0];
	ret_fds[1] = memory;
	return pid < 0 ? -EAGAIN : pid;
}

static void fds_close(const int fds[TIMED_FDS_MAX])
{
	for (size_t i = 0; i < TIMED_FDS_MAX; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

static void keeper_serve(int ctl, const struct timed_ops *ops)
{
	struct timed_order order;
	pid_t last = 0;

	while (recv(ctl, &order, sizeof(order), 0) == sizeof(order)) {
		int fds[TIMED_FDS_MAX] = {-1, -1};
		struct timed_reader reader;
		bool sent;

		if (last > 0)
			kill(last, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0) /* not for what does not end */
			;
		reader.pid = last = reader_start(ops, fds);
		sent = timed_send(ctl, &reader, sizeof(reader), fds,
				  reader.pid > 0 ? TIMED_FDS_MAX : 0);
		fds_close(fds);
		if (!sent)
			return;
	}
}

void timed_keeper_run(int ctl, const struct timed_ops *ops, int nice)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
	int null = open("/dev/null", O_RDWR);

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || dup2(ctl, 3) != 3 ||
	    close_range(4, ~0u, 0) < 0)
		_exit(1);
	prctl(PR_SET_NAME, "heldup-reads");
	setpriority(PRIO_PROCESS, 0, nice); /* without the right: at our own */
	if (ops->confine)
		ops->confine();
	keeper_serve(3, ops);
	_exit(0);
}
