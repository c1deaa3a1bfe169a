/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/rights.h"
#include "base/path_limit.h"
#include "unit.h"

static uint64_t caps_of(const char *key)
{
	struct buf text = {0};
	const char *at;
	uint64_t mask;

	EQ_I(file_read("/proc/self/status", 1 << 16, &text, NULL), 0);
	at = strstr(buf_str(&text), key);
	OK(at);
	mask = strtoull(at + strlen(key), NULL, 16);
	buf_release(&text);
	return mask;
}

TEST(rights_keep_those_of_the_mask)
{
	uint64_t have = caps_of("CapPrm:");
	uint64_t mask = RIGHTS_CAP(CAP_SYS_PTRACE) | RIGHTS_CAP(CAP_DAC_OVERRIDE);

	EQ_I(rights_keep(mask), 0);
	EQ_U(caps_of("CapPrm:"), have & mask);
	EQ_U(caps_of("CapEff:") & ~mask, 0);
	EQ_I(rights_keep(~UINT64_C(0)), 0); /* gives nothing back */
	EQ_U(caps_of("CapPrm:"), have & mask);
}

TEST(rights_of_a_child_are_none)
{
	EQ_I(rights_drop_child(), 0);
	EQ_U(caps_of("CapPrm:"), 0);
	EQ_U(caps_of("CapEff:"), 0);
	EQ_U(caps_of("CapInh:"), 0);
	EQ_U(caps_of("CapAmb:"), 0);
	if (geteuid() == 0)
		EQ_U(caps_of("CapBnd:"), 0);
	EQ_I(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}

#ifdef __SANITIZE_ADDRESS__
TEST(rights_filter_all)
{
	SKIP("a sanitizer makes calls of its own, which the filters refuse");
}
#else
TEST(rights_filter_leaves_descriptors_and_memory)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int rc = rights_filter(RIGHTS_READS_DESCRIPTORS);
	char byte = 1;
	void *at;

	if (rc == -ENOTSUP || rc == -EINVAL)
		SKIP("no filter of system calls here");
	EQ_I(rc, 0);
	EQ_I(read(zero, &byte, 1), 1);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(at != MAP_FAILED);
	EQ_I(mprotect(at, 4096, PROT_READ | PROT_EXEC), -1);
	EQ_I(open("/dev/zero", O_RDONLY), -1);
	EQ_I(errno, EPERM);
	EQ_I(socket(AF_INET, SOCK_STREAM, 0), -1);
	EQ_I(execl("/bin/true", "true", (char *)NULL), -1);
	EQ_I(kill(getppid(), 0), -1);
}

TEST(rights_filter_of_an_intake_takes_connections_alone)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	int rc, taken;
	char byte = 1;

	EQ_I(bind(listening, (void *)&at, len), 0);
	EQ_I(listen(listening, 1), 0);
	EQ_I(getsockname(listening, (void *)&at, &len), 0);
	EQ_I(connect(client, (void *)&at, len), 0);
	rc = rights_filter(RIGHTS_SERVES_CONNECTIONS);
	if (rc == -ENOTSUP || rc == -EINVAL)
		SKIP("no filter of system calls here");
	EQ_I(rc, 0);
	taken = accept4(listening, NULL, NULL, SOCK_NONBLOCK);
	OK(taken >= 0);
	EQ_I(send(taken, &byte, 1, 0), 1);
	EQ_I(recv(client, &byte, 1, 0), 1);
	EQ_I(socket(AF_INET, SOCK_STREAM, 0), -1);
	EQ_I(errno, EPERM);
	EQ_I(connect(client, (void *)&at, len), -1);
	EQ_I(errno, EPERM);
	EQ_I(open("/dev/zero", O_RDONLY), -1);
	EQ_I(errno, EPERM);
	EQ_I(fork(), -1);
	EQ_I(execl("/bin/true", "true", (char *)NULL), -1);
}

TEST(rights_filter_of_readers_opens_for_reading)
{
	char path[] = "/tmp/heldup-unit.XXXXXX", self[32];
	int fd = mkstemp(path), rc;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	unlink(path); /* later it may not */
	rc = rights_filter(RIGHTS_ONLY_READS_FILES);
	if (rc == -ENOTSUP || rc == -EINVAL)
		SKIP("no filter of system calls here");
	EQ_I(rc, 0);
	OK(open(self, O_RDONLY | O_CLOEXEC) >= 0);
	EQ_I(open(self, O_WRONLY), -1);
	EQ_I(errno, EPERM);
	EQ_I(open(self, O_RDWR), -1);
	EQ_I(open(self, O_RDONLY | O_TRUNC), -1);
	EQ_I(unlink(self), -1);
	EQ_I(errno, EPERM);
	EQ_I(fork(), -1);
	EQ_I(execl("/bin/true", "true", (char *)NULL), -1);
	EQ_I(socket(AF_INET, SOCK_STREAM, 0), -1);
}

TEST(rights_filter_of_commands_writes_files_and_starts_no_program)
{
	char path[] = "/tmp/heldup-unit.XXXXXX";
	int rc = rights_filter(RIGHTS_READS_FILES), status;
	pid_t pid;

	if (rc == -ENOTSUP || rc == -EINVAL)
		SKIP("no filter of system calls here");
	EQ_I(rc, 0);
	OK(mkstemp(path) >= 0);
	EQ_I(unlink(path), 0);
	EQ_I(execl("/bin/true", "true", (char *)NULL), -1);
	EQ_I(socket(AF_INET, SOCK_STREAM, 0), -1);
	EQ_I(syscall(SYS_fspick, -1, "", 0), -1);
	EQ_I(errno, EPERM);
	EQ_I(syscall(SYS_mount_setattr, -1, "", 0, NULL, 0), -1);
	EQ_I(errno, EPERM);
	pid = fork(); /* of heldup itself: who reads what nobody vouches for */
	if (pid == 0)
		_exit(7);
	EQ_I(waitpid(pid, &status, 0), pid);
	EQ_I(WEXITSTATUS(status), 7);
}

/* Refused by the kernel for its size before anything is done, or by a filter: EPERM. */
static int bpf_errno(long cmd)
{
	return syscall(SYS_bpf, cmd, NULL, 1 << 20) < 0 ? errno : 0;
}

static int socket_errno(int family, int protocol)
{
	int fd = socket(family, family == AF_NETLINK ? SOCK_RAW : SOCK_STREAM, protocol);

	return fd < 0 ? errno : 0;
}

TEST(rights_filter_of_watches_loads_and_starts_no_program)
{
	int may_bpf = bpf_errno(BPF_MAP_UPDATE_ELEM);
	int rc = rights_filter_watch(0);

	if (rc == -ENOTSUP || rc == -EINVAL)
		SKIP("no filter of system calls here");
	EQ_I(rc, 0);
	EQ_I(bpf_errno(BPF_PROG_LOAD), EPERM);
	EQ_I(bpf_errno(BPF_MAP_GET_FD_BY_ID), EPERM);
	EQ_I(bpf_errno(BPF_PROG_LOAD | 1l << 32), EPERM);
	EQ_I(bpf_errno(BPF_MAP_UPDATE_ELEM), may_bpf);
	EQ_I(bpf_errno(BPF_LINK_CREATE), may_bpf);
	EQ_I(bpf_errno(BPF_ITER_CREATE), may_bpf);
	EQ_I(execl("/bin/true", "true", (char *)NULL), -1);
	EQ_I(errno, EPERM);
	EQ_I(ptrace(PTRACE_TRACEME, 0, NULL, NULL), -1);
	EQ_I(setns(-1, CLONE_NEWNS), -1);
	EQ_I(errno, EPERM);
	EQ_I(setns(-1, CLONE_NEWNET), -1);
	EQ_I(errno, EPERM);
}

TEST(rights_filter_of_watches_changes_no_mode_by_path)
{
	char path[] = "/tmp/heldup-mode-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC), rc = rights_filter_watch(0);

	OK(fd >= 0);
	if (rc == -ENOTSUP || rc == -EINVAL)
		SKIP("no filter of system calls here");
	EQ_I(rc, 0);
	EQ_I(chmod(path, 04755), -1);
	EQ_I(errno, EPERM);
	EQ_I(fchmodat(AT_FDCWD, path, 0600, 0), -1);
	EQ_I(syscall(452, AT_FDCWD, path, 0600, 0), -1); /* fchmodat2 */
	EQ_I(errno, EPERM);
	EQ_I(lchown(path, 0, 0), -1);
	EQ_I(truncate(path, 0), -1);
	EQ_I(fchmod(fd, 0600), 0); /* as a page is given its own */
	unlink(path);
}

TEST(rights_filter_of_watches_asks_the_kernel_about_sockets)
{
	int pair[2], rc = rights_filter_watch(0);

	if (rc == -ENOTSUP || rc == -EINVAL)
		SKIP("no filter of system calls here");
	EQ_I(rc, 0);
	EQ_I(socket_errno(AF_NETLINK, NETLINK_SOCK_DIAG), 0);
	EQ_I(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	EQ_I(socket_errno(AF_NETLINK, NETLINK_ROUTE), EPERM);
	EQ_I(socket_errno(AF_INET, 0), EPERM);
	EQ_I(socket_errno(AF_UNIX, 0), EPERM);
}

TEST(rights_filter_of_watches_lets_through_what_is_asked_for)
{
	int may_bpf = bpf_errno(BPF_PROG_LOAD);
	int rc = rights_filter_watch(RIGHTS_LET_LOAD | RIGHTS_LET_NET);

	if (rc == -ENOTSUP || rc == -EINVAL)
		SKIP("no filter of system calls here");
	EQ_I(rc, 0);
	EQ_I(bpf_errno(BPF_PROG_LOAD), may_bpf);
	EQ_I(socket_errno(AF_INET, 0), 0);
	EQ_I(execl("/bin/true", "true", (char *)NULL), -1);
}
#endif

/* In a child of its own, as each case is: nothing takes the limit back. */
TEST(path_limit_lets_only_what_is_named_be_written)
{
	char dir[] = "/tmp/heldup-limit-XXXXXX", other[] = "/tmp/heldup-other-XXXXXX", path[64];
	struct path_limit *w = path_limit_new(false);
	int fd;

	if (!w)
		SKIP("no Landlock here");
	OK(mkdtemp(dir) && mkdtemp(other));
	snprintf(path, sizeof(path), "%s/later/page", dir);
	EQ_I(path_limit_allow(w, path), 0); /* is not there: the directory above is allowed */
	EQ_I(path_limit_allow(w, "/dev/null"), 0);
	EQ_I(path_limit_apply(w), 0);
	path_limit_close(&w);

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	OK(fd >= 0);
	close(fd);
	EQ_I(open("/dev/null", O_WRONLY) >= 0, 1);
	EQ_I(open("/dev/zero", O_WRONLY), -1);
	snprintf(path, sizeof(path), "%s/file", other);
	EQ_I(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1);
	EQ_I(errno, EACCES);
	EQ_I(open("/etc/passwd", O_RDONLY) >= 0, 1);
	EQ_I(rmdir(other), -1);
}

TEST(path_limit_lets_only_what_is_named_be_read)
{
	char dir[] = "/tmp/heldup-limit-XXXXXX", path[64];
	struct path_limit *w = path_limit_new(true);
	int fd;

	if (!w)
		SKIP("no Landlock here");
	OK(mkdtemp(dir));
	EQ_I(path_limit_allow(w, dir), 0);
	EQ_I(path_limit_allow_reading(w, "/etc/hostname"), 0);
	EQ_I(path_limit_allow_reading(w, "/no/such/place"), -ENOENT);
	path_limit_allow_host(w);
	EQ_I(path_limit_apply(w), 0);
	path_limit_close(&w);

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	OK(fd >= 0);
	close(fd);
	OK(open(path, O_RDONLY) >= 0);
	OK(open("/etc/hostname", O_RDONLY) >= 0);
	EQ_I(open("/etc/hostname", O_WRONLY), -1);
	OK(open("/proc/self/status", O_RDONLY) >= 0);
	OK(open("/sys/kernel", O_RDONLY | O_DIRECTORY) >= 0);
	EQ_I(open("/etc/passwd", O_RDONLY), -1);
	EQ_I(errno, EACCES);
	EQ_I(open("/root", O_RDONLY | O_DIRECTORY), -1);
	EQ_I(open("/tmp", O_RDONLY | O_DIRECTORY), -1);
	unlink(path);
	rmdir(dir);
}
