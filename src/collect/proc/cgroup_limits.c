/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/proc/cgroup_limits.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "collect/proc/procfs.h"
#include "store/event.h"

#define LIMIT_FILE_MAX (64 * 1024)

/* cgroup v1 has "no limit" as LONG_MAX rounded down to pages; no machine has half of it. */
#define NO_LIMIT_MIN (UINT64_C(1) << 60)

static const char *read_text(int dir_fd, const char *name, struct buf *b)
{
	buf_clear(b);
	file_read_at(dir_fd, name, LIMIT_FILE_MAX, b, NULL);
	return buf_str(b);
}

/* "KEY VALUE" at the start of a line. */
static uint64_t stat_u64(const char *text, const char *key)
{
	size_t len = strlen(key);
	uint64_t value = 0;

	for (const char *line = text; line && *line;) {
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return procfs_parse_u64(line + len + 1, UINT64_MAX, &value, NULL) == 0
				       ? value
				       : 0;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return 0;
}

static uint64_t smaller_limit(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a ? a : b;
	return a < b ? a : b;
}

void cgroup_parse_cpu_max(const char *text, struct ev_cgroup *ev)
{
	uint64_t quota = 0, period = 0;
	const char *p = text;

	if (strncmp(p, "max", 3) == 0)
		p += 3;
	else if (procfs_parse_u64(p, UINT64_MAX, &quota, &p) < 0)
		return;
	if (*p != ' ' || procfs_parse_u64(p + 1, UINT64_MAX, &period, NULL) < 0)
		return;
	ev->quota_us = quota;
	ev->period_us = period;
}

void cgroup_parse_cpu_stat(const char *text, struct ev_cgroup *ev)
{
	uint64_t usec = stat_u64(text, "throttled_usec");

	ev->nr_periods = stat_u64(text, "nr_periods");
	ev->nr_throttled = stat_u64(text, "nr_throttled");
	ev->throttled_ns = usec <= UINT64_MAX / 1000 ? usec * 1000 : UINT64_MAX;
	if (!usec)
		ev->throttled_ns = stat_u64(text, "throttled_time");
}

/* "KEY=VALUE" inside one line; 0 for max, absent or not a number. */
static uint64_t key_limit(const char *line, const char *end, const char *key)
{
	const char *p = strstr(line, key);
	uint64_t value = 0;

	if (!p || p >= end)
		return 0;
	return procfs_parse_u64(p + strlen(key), UINT64_MAX, &value, NULL) == 0 ? value : 0;
}

void cgroup_parse_io_max(const char *text, struct ev_cgroup *ev)
{
	for (const char *line = text; *line;) {
		const char *end = line + strcspn(line, "\n");
		ev->io_rbps = smaller_limit(ev->io_rbps, key_limit(line, end, " rbps="));
		ev->io_wbps = smaller_limit(ev->io_wbps, key_limit(line, end, " wbps="));
		ev->io_riops = smaller_limit(ev->io_riops, key_limit(line, end, " riops="));
		ev->io_wiops = smaller_limit(ev->io_wiops, key_limit(line, end, " wiops="));
		line = *end ? end + 1 : end;
	}
}

uint64_t cgroup_parse_throttle(const char *text)
{
	uint64_t smallest = 0;

	for (const char *line = text; *line;) {
		const char *end = line + strcspn(line, "\n");
		const char *blank = memchr(line, ' ', (size_t)(end - line));
		uint64_t value;
		if (blank && procfs_parse_u64(blank + 1, UINT64_MAX - 1, &value, NULL) == 0)
			smallest = smaller_limit(smallest, value);
		line = *end ? end + 1 : end;
	}
	return smallest;
}

uint64_t cgroup_parse_limit(const char *text)
{
	uint64_t value;

	if (procfs_parse_u64(text, UINT64_MAX, &value, NULL) < 0 || value >= NO_LIMIT_MIN)
		return 0;
	return value;
}

static uint64_t read_u64(int dir_fd, const char *name, struct buf *b)
{
	uint64_t value = 0;

	procfs_parse_u64(read_text(dir_fd, name, b), UINT64_MAX, &value, NULL);
	return value;
}

void cgroup_read_v2(int dir_fd, struct ev_cgroup *ev)
{
	CLEANUP(buf_release) struct buf b = {0};

	cgroup_parse_cpu_max(read_text(dir_fd, "cpu.max", &b), ev);
	const char *text = read_text(dir_fd, "cpu.stat", &b);
	if (strstr(text, "nr_periods")) /* absent where v1 has the controller */
		cgroup_parse_cpu_stat(text, ev);
	cgroup_parse_io_max(read_text(dir_fd, "io.max", &b), ev);
	uint64_t max = cgroup_parse_limit(read_text(dir_fd, "memory.max", &b));
	uint64_t high = cgroup_parse_limit(read_text(dir_fd, "memory.high", &b));
	if (smaller_limit(max, high))
		ev->mem_limit_bytes = smaller_limit(max, high);
	uint64_t used = read_u64(dir_fd, "memory.current", &b);
	if (used)
		ev->mem_used_bytes = used;
	text = read_text(dir_fd, "memory.events", &b);
	ev->mem_failcnt += stat_u64(text, "max") + stat_u64(text, "high");
}

void cgroup_read_v1_cpu(int dir_fd, struct ev_cgroup *ev)
{
	CLEANUP(buf_release) struct buf b = {0};

	cgroup_parse_cpu_stat(read_text(dir_fd, "cpu.stat", &b), ev);
	ev->quota_us = read_u64(dir_fd, "cpu.cfs_quota_us", &b); /* -1 is none */
	ev->period_us = read_u64(dir_fd, "cpu.cfs_period_us", &b);
}

void cgroup_read_v1_blkio(int dir_fd, struct ev_cgroup *ev)
{
	CLEANUP(buf_release) struct buf b = {0};
	const struct {
		const char *name;
		uint64_t *limit;
	} files[] = {
		{"blkio.throttle.read_bps_device", &ev->io_rbps},
		{"blkio.throttle.write_bps_device", &ev->io_wbps},
		{"blkio.throttle.read_iops_device", &ev->io_riops},
		{"blkio.throttle.write_iops_device", &ev->io_wiops},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		uint64_t limit = cgroup_parse_throttle(read_text(dir_fd, files[i].name, &b));
		*files[i].limit = smaller_limit(*files[i].limit, limit);
	}
}

void cgroup_read_v1_memory(int dir_fd, struct ev_cgroup *ev)
{
	CLEANUP(buf_release) struct buf b = {0};
	uint64_t limit = cgroup_parse_limit(read_text(dir_fd, "memory.limit_in_bytes", &b));

	ev->mem_limit_bytes = smaller_limit(ev->mem_limit_bytes, limit);
	ev->mem_used_bytes = read_u64(dir_fd, "memory.usage_in_bytes", &b);
	ev->mem_failcnt += read_u64(dir_fd, "memory.failcnt", &b);
}
