/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the rights, the kernel and its settings. */
#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/fmt.h"
#include "base/path_limit.h"
#include "collect/proc/cgroups.h"
#include "collect/resources/netlink_diag.h"
#include "collect/doctor/doctor.h"
#include "collect/code/ksyms.h"
#include "collect/proc/procfs.h"

#define SMALL_FILE_MAX 4096
#define INIT_PID_NS 0xEFFFFFFCu /* inode of the initial pid namespace, fixed in the kernel */

struct cap {
	const char *name, *cost;
	unsigned nr;
	bool required;
};

static const struct cap caps[] = {
	{"CAP_BPF", "everything: BPF programs may not be loaded", CAP_BPF, true},
	{"CAP_PERFMON", "everything: tracepoints may not be used", CAP_PERFMON, true},
	{"CAP_SYS_PTRACE",
	 "files, lock owners and poll sets of other users' processes",
	 CAP_SYS_PTRACE, false},
	{"CAP_SYS_ADMIN",
	 "sockets in other network namespaces, and proof that nothing stays attached",
	 CAP_SYS_ADMIN, false},
	{"CAP_SYSLOG", "names of kernel functions in waits", CAP_SYSLOG, false},
	{"CAP_DAC_READ_SEARCH", "descriptors of other users' processes",
	 CAP_DAC_READ_SEARCH, false},
};

static uint64_t effective_caps(void)
{
	CLEANUP(buf_release) struct buf b = {0};

	file_read("/proc/self/status", SMALL_FILE_MAX, &b, NULL);
	const char *line = strstr(buf_str(&b), "CapEff:");
	return line ? strtoull(line + 7, NULL, 16) : 0;
}

/* Capabilities of the file are everybody's who may run it. */
static void check_who_may_run(struct doctor *d)
{
	static const struct doctor_mend mend = {
		"anybody on this machine may watch every process with it",
		"chgrp GROUP heldup, chmod 750 heldup, then setcap again",
	};
	struct stat st;

	if (getxattr("/proc/self/exe", "security.capability", NULL, 0) <= 0 ||
	    stat("/proc/self/exe", &st) < 0)
		return;
	if (st.st_mode & S_IXOTH)
		doctor_add(d, DOCTOR_DEGRADED, "rights", "who may run it", &mend,
			   "everybody, with its capabilities (mode %04o)", st.st_mode & 07777);
	else
		doctor_add(d, DOCTOR_OK, "rights", "who may run it", NULL,
			   "its owner and group %u", st.st_gid);
}

void doctor_rights(struct doctor *d)
{
	static const char grant[] =
		"sudo heldup; or for a group that may watch every process of the machine: "
		"chgrp GROUP heldup, chmod 750 heldup, then setcap cap_bpf,cap_perfmon,"
		"cap_sys_ptrace,cap_sys_admin,cap_syslog,cap_dac_read_search+ep heldup";
	uint64_t have = effective_caps();
	uint64_t admin = UINT64_C(1) << CAP_SYS_ADMIN;
	bool is_root = geteuid() == 0;

	doctor_add(d, is_root ? DOCTOR_OK : DOCTOR_INFO, "rights", "user", NULL, "%s",
		   is_root ? "root" : "not root");
	check_who_may_run(d);
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		const struct cap *cap = &caps[i];
		struct doctor_mend mend = {
			.cost = cap->cost,
			.mend = is_root ? "start it with this capability (containers: --cap-add)"
					: grant,
		};
		/* before 5.8 CAP_SYS_ADMIN stood for the first two, and it still implies them */
		uint64_t implied = cap->nr == CAP_BPF || cap->nr == CAP_PERFMON ? admin : 0;
		if (have & (UINT64_C(1) << cap->nr | implied))
			doctor_add(d, DOCTOR_OK, "rights", cap->name, NULL, "effective");
		else
			doctor_add(d, cap->required ? DOCTOR_FAILED : DOCTOR_DEGRADED, "rights",
				   cap->name, &mend, "missing");
	}
}

/* The file's first line, "" when it cannot be read; lives in the arena. */
static const char *first_line(struct doctor *d, const char *path)
{
	CLEANUP(buf_release) struct buf b = {0};

	file_read(path, SMALL_FILE_MAX, &b, NULL);
	return arena_strndup(d->arena, buf_str(&b), strcspn(buf_str(&b), "\n"));
}

static void check_lockdown(struct doctor *d)
{
	static const struct doctor_mend mend = {
		"reading kernel memory, on which waits are found by",
		"boot with lockdown=integrity or none",
	};
	const char *text = first_line(d, "/sys/kernel/security/lockdown");

	if (!*text)
		doctor_add(d, DOCTOR_INFO, "kernel", "lockdown", NULL,
			   "not shown (securityfs is not mounted); the hooks below are tried");
	else if (strstr(text, "[confidentiality]"))
		doctor_add(d, DOCTOR_DEGRADED, "kernel", "lockdown", &mend, "%s", text);
	else
		doctor_add(d, DOCTOR_OK, "kernel", "lockdown", NULL,
			   "%s; heldup uses tracepoints only, which it allows", text);
}

static void check_pidns(struct doctor *d)
{
	static const struct doctor_mend mend = {
		"everything: the kernel's thread ids are not those seen here",
		"run it on the host, or the container with --pid=host",
	};
	uint64_t ns = procfs_ns((uint32_t)getpid(), "pid");

	if (ns == INIT_PID_NS || ns == 0)
		doctor_add(d, DOCTOR_OK, "kernel", "pid namespace", NULL, "that of the host");
	else
		doctor_add(d, DOCTOR_FAILED, "kernel", "pid namespace", &mend,
			   "one of its own (a container)");
}

static void check_jit(struct doctor *d)
{
	static const struct doctor_mend mend = {"own cost: programs run several times slower",
						"sysctl net.core.bpf_jit_enable=1"};
	const char *text = first_line(d, "/proc/sys/net/core/bpf_jit_enable");

	if (strcmp(text, "0") == 0)
		doctor_add(d, DOCTOR_DEGRADED, "kernel", "BPF JIT", &mend, "switched off");
	else
		doctor_add(d, DOCTOR_OK, "kernel", "BPF JIT", NULL, "%s",
			   *text ? "on" : "always on");
}

static void check_memlock(struct doctor *d)
{
	struct rlimit limit;
	char text[FMT_MAX];

	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return;
	doctor_add(d, DOCTOR_INFO, "kernel", "memlock", NULL,
		   "%s; counts only before Linux 5.11, and is raised there",
		   limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt_bytes(text, limit.rlim_cur));
}

static void check_landlock(struct doctor *d)
{
	static const struct doctor_mend mend = {"safety: a watch of root may read and write any "
						"file", "Linux 5.13 or later, with landlock among "
						"lsm= of the boot line"};
	CLEANUP(path_limit_close) struct path_limit *w = path_limit_new(true);

	doctor_add(d, w ? DOCTOR_OK : DOCTOR_DEGRADED, "kernel", "Landlock", &mend, "%s",
		   w ? "limits the files that a watch reaches" : "absent or switched off");
}

static void check_ksyms(struct doctor *d)
{
	static const struct doctor_mend mend = {"names of kernel functions in waits",
						"run as root, or sysctl kernel.kptr_restrict=0 "
						"kernel.perf_event_paranoid=1"};
	struct ksyms *ks = ksyms_new();
	int usable = ksyms_usable(ks);
	const char *text = first_line(d, "/proc/sys/kernel/kptr_restrict");

	ksyms_free(ks);
	doctor_add(d, usable ? DOCTOR_OK : DOCTOR_DEGRADED, "kernel", "kptr_restrict", &mend,
		   "%s: kernel symbols are %s", *text ? text : "?", usable ? "readable" : "hidden");
}

void doctor_kernel(struct doctor *d)
{
	struct utsname un = {0};
	const char *paranoid = first_line(d, "/proc/sys/kernel/perf_event_paranoid");
	const char *schedstats = first_line(d, "/proc/sys/kernel/sched_schedstats");
	const char *delayacct = first_line(d, "/proc/sys/kernel/task_delayacct");

	uname(&un);
	doctor_add(d, DOCTOR_INFO, "kernel", "release", NULL, "%s %s", un.release, un.machine);
	check_pidns(d);
	check_lockdown(d);
	check_jit(d);
	check_memlock(d);
	check_landlock(d);
	check_ksyms(d);
	doctor_add(d, DOCTOR_INFO, "kernel", "perf_event_paranoid", NULL, "%s: not needed",
		   *paranoid ? paranoid : "absent");
	doctor_add(d, DOCTOR_INFO, "kernel", "schedstats", NULL, "%s: not needed",
		   *schedstats ? schedstats : "absent");
	doctor_add(d, DOCTOR_INFO, "kernel", "delay accounting", NULL, "%s: not needed",
		   *delayacct ? delayacct : "absent");
}

static int count_sock(void *ctx, const struct diag_sock *sock)
{
	(void)sock;
	++*(size_t *)ctx;
	return 0;
}

static void check_diag(struct doctor *d)
{
	static const struct doctor_mend inet = {
		"backlogs, connections that wait, --port, processes at the other end of TCP",
		"modprobe tcp_diag",
	};
	static const struct doctor_mend local = {"processes at the other end of unix sockets",
						 "modprobe unix_diag"};
	struct diag_inet_query q = {.family = AF_INET,
				    .proto = IPPROTO_TCP,
				    .states = 1u << DIAG_LISTEN};
	CLEANUP_CLOSE int fd = diag_open(0);
	size_t cnt = 0;
	int err = fd < 0 ? fd : diag_inet(fd, &q, count_sock, &cnt);

	if (err)
		doctor_add(d, DOCTOR_DEGRADED, "files", "tcp_diag", &inet, "%s", strerror(-err));
	else
		doctor_add(d, DOCTOR_OK, "files", "tcp_diag", NULL, "%zu IPv4 listeners", cnt);
	cnt = 0;
	err = fd < 0 ? fd : diag_unix(fd, 1u << DIAG_LISTEN, count_sock, &cnt);
	if (err)
		doctor_add(d, DOCTOR_DEGRADED, "files", "unix_diag", &local, "%s", strerror(-err));
	else
		doctor_add(d, DOCTOR_OK, "files", "unix_diag", NULL, "%zu unix listeners", cnt);
}

static void check_cgroups(struct doctor *d)
{
	static const struct doctor_mend none = {"CPU quota, disk and memory limits",
						"mount -t cgroup2 none /sys/fs/cgroup"};
	struct cgroups *c = cgroups_new();
	const char *v2 = cgroups_mount_v2(c), *v1 = cgroups_mount_v1(c, "cpu");

	if (*v1)
		doctor_add(d, DOCTOR_OK, "files", "cgroups", NULL, "v1 (cpu at %s)%s%s", v1,
			   *v2 ? " and v2 at " : "", v2);
	else if (*v2)
		doctor_add(d, DOCTOR_OK, "files", "cgroups", NULL, "v2 at %s", v2);
	else
		doctor_add(d, DOCTOR_DEGRADED, "files", "cgroups", &none, "not mounted");
	cgroups_free(c);
}

static void check_file(struct doctor *d, const char *name, const char *path,
		       const struct doctor_mend *mend)
{
	bool readable = access(path, R_OK) == 0;

	doctor_add(d, readable ? DOCTOR_OK : DOCTOR_DEGRADED, "files", name, mend, "%s%s", path,
		   readable ? "" : " is missing or not readable");
}

void doctor_files(struct doctor *d)
{
	static const struct doctor_mend pressure = {"pressure of the host in the report",
						    "boot with psi=1"};
	static const struct doctor_mend call = {
		"members of poll sets and owners of locks at the end",
		"a kernel built with CONFIG_HAVE_ARCH_TRACEHOOK"};
	static const struct doctor_mend sys = {"names of block devices",
					       "mount -t sysfs sysfs /sys"};
	static const struct doctor_mend services = {"names of ports", "apt install netbase"};

	check_cgroups(d);
	check_diag(d);
	check_file(d, "pressure", "/proc/pressure/cpu", &pressure);
	check_file(d, "system calls", "/proc/self/syscall", &call);
	check_file(d, "devices", "/sys/dev/block", &sys);
	check_file(d, "services", "/etc/services", &services);
}
