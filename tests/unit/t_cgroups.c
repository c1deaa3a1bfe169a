/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "collect/proc/cgroup_limits.h"
#include "collect/proc/cgroup_mounts.h"
#include "collect/proc/cgroups.h"
#include "collect/proc/cgroups_int.h"
#include "store/event.h"
#include "unit.h"

TEST(cgroup_lines)
{
	struct cgroup_line line;

	EQ_I(cgroups_parse_line("9:cpu,cpuacct:/a/b\n8:x:/", &line), 0);
	EQ_U(line.controllers_len, 11);
	EQ_U(line.path_len, 4);
	EQ_I(cgroups_parse_line("0::/user.slice/a:b", &line), 0);
	EQ_U(line.controllers_len, 0);
	EQ_U(line.path_len, strlen("/user.slice/a:b"));
	EQ_I(cgroups_parse_line("", &line), -EINVAL);
	EQ_I(cgroups_parse_line("0:", &line), -EINVAL);
	EQ_I(cgroups_parse_line("0::", &line), -EINVAL);
	EQ_I(cgroups_parse_line("0:\n:/x", &line), -EINVAL);
	EQ_I(cgroups_parse_line("0::relative", &line), -EINVAL);

	char huge[4096];
	memset(huge, 'x', sizeof(huge));
	memcpy(huge, "0::/", 4);
	huge[sizeof(huge) - 1] = '\0';
	EQ_I(cgroups_parse_line(huge, &line), -EINVAL);
}

TEST(cgroup_cpu)
{
	struct ev_cgroup ev = {0};

	cgroup_parse_cpu_max("50000 100000\n", &ev);
	EQ_U(ev.quota_us, 50000);
	EQ_U(ev.period_us, 100000);
	cgroup_parse_cpu_max("max 100000\n", &ev);
	EQ_U(ev.quota_us, 0);
	ev.quota_us = 7;
	cgroup_parse_cpu_max("", &ev);
	cgroup_parse_cpu_max("50000", &ev);
	cgroup_parse_cpu_max("99999999999999999999999 1", &ev);
	EQ_U(ev.quota_us, 7);
	cgroup_parse_cpu_stat("nr_periods 5\nnr_throttled 2\nthrottled_time 77\n", &ev);
	EQ_U(ev.nr_throttled, 2);
	EQ_U(ev.throttled_ns, 77);
	cgroup_parse_cpu_stat("usage_usec 1\nnr_periods 5\nnr_throttled 2\nthrottled_usec 3", &ev);
	EQ_U(ev.throttled_ns, 3000);
	cgroup_parse_cpu_stat("throttled_usec 18446744073709551615", &ev);
	EQ_U(ev.throttled_ns, UINT64_MAX);
}

TEST(cgroup_io)
{
	struct ev_cgroup ev = {0};

	cgroup_parse_io_max("8:16 rbps=2097152 wbps=max riops=max wiops=120\n"
			    "8:0 rbps=max wbps=1000 riops=x wiops=30", &ev);
	EQ_U(ev.io_rbps, 2097152);
	EQ_U(ev.io_wbps, 1000);
	EQ_U(ev.io_riops, 0);
	EQ_U(ev.io_wiops, 30);
	EQ_U(cgroup_parse_throttle("8:16 1048576\n8:0 30\n"), 30);
	EQ_U(cgroup_parse_throttle(""), 0);
	EQ_U(cgroup_parse_throttle("8:16"), 0);
	EQ_U(cgroup_parse_throttle("8:16 \n"), 0);
	EQ_U(cgroup_parse_throttle("8:16 99999999999999999999999"), 0);
}

TEST(cgroup_memory)
{
	EQ_U(cgroup_parse_limit("max\n"), 0);
	EQ_U(cgroup_parse_limit("9223372036854771712\n"), 0); /* v1: none */
	EQ_U(cgroup_parse_limit("1048576\n"), 1048576);
	EQ_U(cgroup_parse_limit(""), 0);
}

TEST(cgroup_mount_table)
{
	struct cgroup_mounts m = {0};
	char dir[64];

	cgroup_mounts_parse(&m,
		"22 27 0:21 / /proc rw - proc proc rw\n"
		"32 31 0:29 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
		"41 31 0:38 /box /cg\\040two rw - cgroup2 cgroup2 rw\n"
		"bad line\n"
		"42 31 0:38 / /x rw -");
	EQ_U(m.cnt, 2);
	const struct cgroup_mount *cpu = cgroup_mounts_find(&m, "cpu");
	const struct cgroup_mount *v2 = cgroup_mounts_find(&m, NULL);
	OK(cpu && v2);
	OK(cgroup_mounts_find(&m, "cpuacct") == cpu);
	OK(!cgroup_mounts_find(&m, "memory"));
	OK(!cgroup_mounts_find(&m, "pu"));
	EQ_I(cgroup_mount_dir(cpu, "/", dir, sizeof(dir)), 0);
	EQ_S(dir, "/sys/fs/cgroup/cpu");
	EQ_I(cgroup_mount_dir(v2, "/box/a", dir, sizeof(dir)), 0);
	EQ_S(dir, "/cg two/a");
	EQ_I(cgroup_mount_dir(v2, "/boxer/a", dir, sizeof(dir)), -ENOENT);
	EQ_I(cgroup_mount_dir(cpu, "/a", dir, 5), -ENOENT);
	cgroup_mounts_release(&m);
}
