/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#endif

/* Numbers that older headers lack. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

uint64_t rights_of_watch(void)
{
	/* hooks that come and go, tables of code */
	return RIGHTS_CAP(CAP_BPF) | RIGHTS_CAP(CAP_PERFMON);
}

uint64_t rights_of_priority(void)
{
	return RIGHTS_CAP(CAP_SYS_NICE);
}

uint64_t rights_of_locking(void)
{
	return RIGHTS_CAP(CAP_IPC_LOCK);
}

uint64_t rights_of_users(void)
{
	return RIGHTS_CAP(CAP_SETUID) | RIGHTS_CAP(CAP_SETGID) | RIGHTS_CAP(CAP_SETPCAP);
}

uint64_t rights_of_owners(void)
{
	return RIGHTS_CAP(CAP_CHOWN) | RIGHTS_CAP(CAP_FOWNER);
}

uint64_t rights_of_paths(void)
{
	return RIGHTS_CAP(CAP_DAC_READ_SEARCH) | RIGHTS_CAP(CAP_DAC_OVERRIDE);
}

static int caps_get(struct __user_cap_data_struct *data)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &head, data) < 0 ? -errno : 0;
}

static int caps_set(const struct __user_cap_data_struct *data)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

bool rights_have(uint64_t mask)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return caps_get(data) == 0 &&
	       !(mask & ~(data[0].effective | (uint64_t)data[1].effective << 32));
}

int rights_keep(uint64_t mask)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	int rc = caps_get(data);

	if (rc < 0)
		return rc;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted &= (uint32_t)(mask >> (32 * i));
		data[i].effective &= data[i].permitted;
		data[i].inheritable = 0; /* which ends the ambient ones too */
	}
	return caps_set(data);
}

void rights_effective(bool on)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (caps_get(data) < 0)
		return;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].effective = on ? data[i].permitted : 0;
	caps_set(data);
}

void rights_bound(void)
{
	/* ends at the first number that the kernel does not know */
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
}

int rights_drop_child(void)
{
	rights_bound();
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return rights_keep(RIGHTS_NONE);
}

#ifdef HAVE_SECCOMP

#define CALL(name) SCMP_SYS(name)
/* Newer than the oldest headers we build with; the same on all architectures. */
#define NR_FCHMODAT2 452
#define NR_SETXATTRAT 463

static int add_all(scmp_filter_ctx ctx, uint32_t action, const int *calls, size_t cnt)
{
	int rc = 0;

	/* a call that this architecture has not is a negative number: nothing to say of it */
	for (size_t i = 0; i < cnt && rc == 0; i++)
		rc = calls[i] < 0 ? 0 : seccomp_rule_add(ctx, action, calls[i], 0);
	return rc;
}

static int allow_descriptors(scmp_filter_ctx ctx)
{
	static const int calls[] = {
		CALL(read), CALL(readv), CALL(pread64), CALL(write), CALL(lseek), CALL(close),
		CALL(fstat), CALL(recvmsg), CALL(recvfrom), CALL(sendto), CALL(sendmsg),
		CALL(fcntl), CALL(mmap), CALL(munmap), CALL(mremap), CALL(brk), CALL(madvise),
		CALL(futex), CALL(clock_gettime), CALL(getrandom), CALL(getpid), CALL(gettid),
		CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigreturn),
		CALL(sched_getaffinity), CALL(sched_yield), CALL(restart_syscall), CALL(exit),
		CALL(exit_group), CALL(newfstatat),
	};
	/* memory that may be written and run is what injected code wants */
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(mprotect), 1,
				  SCMP_A2(SCMP_CMP_MASKED_EQ, 4 /* PROT_EXEC */, 0));

	return rc < 0 ? rc : add_all(ctx, SCMP_ACT_ALLOW, calls, sizeof(calls) / sizeof(calls[0]));
}

/* Connections to sockets that listen already; nothing is opened, nobody is asked. */
static int allow_connections(scmp_filter_ctx ctx)
{
	static const int calls[] = {
		CALL(accept4), CALL(accept), CALL(shutdown), CALL(getsockopt), CALL(setsockopt),
		CALL(getsockname), CALL(getpeername), CALL(epoll_ctl), CALL(epoll_wait),
		CALL(epoll_pwait), CALL(poll), CALL(ppoll), CALL(writev), CALL(getrusage),
		CALL(gettimeofday), CALL(clock_nanosleep), CALL(nanosleep), CALL(getppid),
		CALL(kill), CALL(tgkill),
	};
	int rc = add_all(ctx, SCMP_ACT_ALLOW, calls, sizeof(calls) / sizeof(calls[0]));

	return rc < 0 ? rc : allow_descriptors(ctx);
}

/* Files for reading, and those sockets that ask the kernel about sockets, in any network. */
static int allow_looking(scmp_filter_ctx ctx)
{
	const uint64_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	const uint32_t yes = SCMP_ACT_ALLOW;
	int rc = seccomp_rule_add(ctx, yes, CALL(openat), 1,
				  SCMP_A2(SCMP_CMP_MASKED_EQ, writing, 0));

	if (rc == 0 && CALL(open) >= 0)
		rc = seccomp_rule_add(ctx, yes, CALL(open), 1,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, writing, 0));
	if (rc == 0)
		rc = seccomp_rule_add(ctx, yes, CALL(setns), 1,
				      SCMP_A1(SCMP_CMP_EQ, CLONE_NEWNET, 0));
	if (rc == 0)
		rc = seccomp_rule_add(ctx, yes, CALL(bpf), 1,
				      SCMP_A0(SCMP_CMP_EQ, BPF_ENABLE_STATS, 0));
	if (rc == 0)
		rc = seccomp_rule_add(ctx, yes, CALL(socket), 2,
				      SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0),
				      SCMP_A2(SCMP_CMP_EQ, NETLINK_SOCK_DIAG, 0));
	return rc < 0 ? rc : seccomp_rule_add(ctx, yes, CALL(setsockopt), 1,
					      SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET, 0));
}

/* The keeper and the readers that it starts: no program, nothing written. */
static int allow_reads(scmp_filter_ctx ctx)
{
	static const int calls[] = {
		CALL(read), CALL(pread64), CALL(lseek), CALL(close), CALL(getdents64),
		CALL(readlink), CALL(readlinkat), CALL(openat2), CALL(fstat), CALL(newfstatat),
		CALL(stat), CALL(lstat), CALL(statx), CALL(fstatfs), CALL(fcntl),
		CALL(recvmsg), CALL(recvfrom), CALL(sendmsg), CALL(socketpair), CALL(dup2),
		CALL(dup3), CALL(close_range), CALL(memfd_create), CALL(ftruncate),
		CALL(munmap), CALL(mremap), CALL(brk), CALL(madvise), CALL(futex),
		CALL(fork), CALL(clone), CALL(clone3), CALL(wait4), CALL(kill), CALL(tgkill),
		CALL(set_robust_list), CALL(rseq), CALL(getpid), CALL(getppid), CALL(gettid),
		CALL(clock_gettime), CALL(getrandom), CALL(rt_sigaction), CALL(rt_sigprocmask),
		CALL(rt_sigreturn), CALL(restart_syscall), CALL(exit), CALL(exit_group),
	};
	const uint32_t yes = SCMP_ACT_ALLOW;
	int rc = add_all(ctx, yes, calls, sizeof(calls) / sizeof(calls[0]));

	if (rc == 0)
		rc = seccomp_rule_add(ctx, yes, CALL(prctl), 1,
				      SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG, 0));
	if (rc == 0)
		rc = seccomp_rule_add(ctx, yes, CALL(mmap), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, 4 /* PROT_EXEC */, 0));
	if (rc == 0)
		rc = seccomp_rule_add(ctx, yes, CALL(mprotect), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, 4, 0));
	return rc < 0 ? rc : allow_looking(ctx);
}

/* System calls that no part needs which reads foreign files, watches included. */
static int deny_kernel(scmp_filter_ctx ctx)
{
	static const int calls[] = {
		CALL(execve), CALL(execveat), CALL(ptrace), CALL(process_vm_readv),
		CALL(process_vm_writev), CALL(userfaultfd), CALL(io_uring_setup),
		CALL(mount), CALL(umount2), CALL(move_mount), CALL(mount_setattr),
		CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick),
		CALL(open_tree), CALL(pivot_root), CALL(chroot), CALL(unshare),
		CALL(init_module), CALL(finit_module), CALL(delete_module),
		CALL(kexec_load), CALL(kexec_file_load), CALL(reboot), CALL(swapon),
		CALL(swapoff), CALL(settimeofday), CALL(clock_settime), CALL(adjtimex),
		CALL(clock_adjtime), CALL(sethostname), CALL(setdomainname), CALL(acct),
		CALL(quotactl), CALL(iopl), CALL(ioperm), CALL(keyctl), CALL(add_key),
		CALL(request_key), CALL(open_by_handle_at), CALL(name_to_handle_at),
		CALL(pidfd_open), CALL(pidfd_getfd), CALL(pidfd_send_signal), CALL(syslog),
		CALL(personality), CALL(mknod), CALL(mknodat),
	};

	return add_all(ctx, SCMP_ACT_ERRNO(EPERM), calls, sizeof(calls) / sizeof(calls[0]));
}

static int deny_peers(scmp_filter_ctx ctx)
{
	static const int calls[] = {
		CALL(connect), CALL(bind), CALL(listen), CALL(accept), CALL(accept4),
	};

	return add_all(ctx, SCMP_ACT_ERRNO(EPERM), calls, sizeof(calls) / sizeof(calls[0]));
}

static int deny_reach(scmp_filter_ctx ctx)
{
	static const int calls[] = {
		CALL(bpf), CALL(perf_event_open), CALL(socket), CALL(setns),
	};
	int rc = deny_kernel(ctx);

	if (rc == 0)
		rc = deny_peers(ctx);
	return rc < 0 ? rc : add_all(ctx, SCMP_ACT_ERRNO(EPERM), calls,
				     sizeof(calls) / sizeof(calls[0]));
}

static int deny_writing(scmp_filter_ctx ctx)
{
	static const int calls[] = {
		CALL(fork), CALL(vfork), CALL(clone), CALL(clone3), CALL(kill), CALL(creat),
		CALL(unlink), CALL(unlinkat), CALL(rename), CALL(renameat), CALL(renameat2),
		CALL(mkdir), CALL(mkdirat), CALL(rmdir), CALL(link), CALL(linkat),
		CALL(symlink), CALL(symlinkat), CALL(chmod), CALL(fchmod), CALL(fchmodat),
		CALL(chown), CALL(lchown), CALL(fchown), CALL(fchownat), CALL(truncate),
		CALL(ftruncate), CALL(setxattr), CALL(lsetxattr), CALL(fsetxattr),
		CALL(utimensat), CALL(openat2), CALL(setuid), CALL(setresuid), CALL(setgid),
		CALL(setresgid), CALL(setgroups), CALL(capset),
	};
	const uint32_t no = SCMP_ACT_ERRNO(EPERM);
	static const int bits[] = {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC};
	int rc = add_all(ctx, no, calls, sizeof(calls) / sizeof(calls[0]));

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]) && rc == 0; i++) {
		uint64_t bit = (uint64_t)bits[i];

		rc = seccomp_rule_add(ctx, no, CALL(openat), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit));
		if (rc == 0 && CALL(open) >= 0)
			rc = seccomp_rule_add(ctx, no, CALL(open), 1,
					      SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit));
	}
	return rc;
}

/* Maps, links of its own programs and iterators stay; what others loaded is not touched. */
static int deny_loading(scmp_filter_ctx ctx)
{
	static const int cmds[] = {
		BPF_PROG_LOAD, BPF_BTF_LOAD, BPF_OBJ_PIN, BPF_OBJ_GET, BPF_PROG_ATTACH,
		BPF_PROG_DETACH, BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID,
		BPF_BTF_GET_FD_BY_ID, BPF_LINK_GET_FD_BY_ID, BPF_LINK_UPDATE,
	};
	const uint32_t no = SCMP_ACT_ERRNO(EPERM);
	int rc = seccomp_rule_add(ctx, no, CALL(perf_event_open), 0);

	for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]) && rc == 0; i++)
		rc = seccomp_rule_add(ctx, no, CALL(bpf), 1,
				      SCMP_A0(SCMP_CMP_EQ, (uint64_t)cmds[i], 0));
	/* newer ones, and numbers whose upper half the kernel would not look at */
	return rc < 0 ? rc : seccomp_rule_add(ctx, no, CALL(bpf), 1,
					      SCMP_A0(SCMP_CMP_GT, BPF_ITER_CREATE, 0));
}

/* User 0 needs no right to change the modes of its files: only those that it has open. */
static int deny_modes(scmp_filter_ctx ctx)
{
	static const int calls[] = {
		CALL(chmod), CALL(fchmodat), NR_FCHMODAT2, CALL(chown), CALL(lchown),
		CALL(fchownat), CALL(setxattr), CALL(lsetxattr), NR_SETXATTRAT,
		CALL(truncate),
	};

	return add_all(ctx, SCMP_ACT_ERRNO(EPERM), calls, sizeof(calls) / sizeof(calls[0]));
}

/* All sockets but those that ask the kernel about sockets. */
static int deny_sockets(scmp_filter_ctx ctx)
{
	const uint32_t no = SCMP_ACT_ERRNO(EPERM);
	int rc = deny_peers(ctx);

	if (rc == 0)
		rc = seccomp_rule_add(ctx, no, CALL(socket), 1,
				      SCMP_A0(SCMP_CMP_NE, AF_NETLINK, 0));
	return rc < 0 ? rc : seccomp_rule_add(ctx, no, CALL(socket), 1,
					      SCMP_A2(SCMP_CMP_NE, NETLINK_SOCK_DIAG, 0));
}

/* Sets no_new_privs. */
static int filter_load(scmp_filter_ctx ctx, int rc)
{
	if (rc == 0)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc;
}

int rights_filter_watch(uint32_t let)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int rc;

	if (!ctx)
		return -ENOMEM;
	rc = deny_kernel(ctx);
	if (rc == 0)
		rc = deny_modes(ctx);
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), CALL(setns), 0);
	if (rc == 0 && !(let & RIGHTS_LET_LOAD))
		rc = deny_loading(ctx);
	if (rc == 0 && !(let & RIGHTS_LET_NET))
		rc = deny_sockets(ctx);
	return filter_load(ctx, rc);
}

int rights_filter(enum rights_filter which)
{
	bool few = which == RIGHTS_READS_DESCRIPTORS || which == RIGHTS_SERVES_READS ||
		   which == RIGHTS_SERVES_CONNECTIONS;
	scmp_filter_ctx ctx = seccomp_init(few ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);
	int rc;

	if (!ctx)
		return -ENOMEM;
	if (which == RIGHTS_SERVES_READS)
		rc = allow_reads(ctx);
	else if (which == RIGHTS_SERVES_CONNECTIONS)
		rc = allow_connections(ctx);
	else
		rc = few ? allow_descriptors(ctx) : deny_reach(ctx);
	if (rc == 0 && which == RIGHTS_ONLY_READS_FILES)
		rc = deny_writing(ctx);
	return filter_load(ctx, rc);
}

#else

int rights_filter(enum rights_filter which)
{
	(void)which;
	return -ENOTSUP;
}

int rights_filter_watch(uint32_t let)
{
	(void)let;
	return -ENOTSUP;
}

#endif
