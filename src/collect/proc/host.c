/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/proc/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/timed/timed_call.h"
#include "collect/proc/procfs.h"
#include "reads/reads.h"
#include "store/event.h"

#define HOST_FILE_MAX (1024 * 1024) /* /proc/stat lists every interrupt */

/* The number after "KEY" and blanks at the start of a line; 0 when absent. */
static uint64_t line_u64(const char *text, const char *key)
{
	size_t len = strlen(key);
	uint64_t value = 0;

	for (const char *line = text; line && *line;) {
		if (strncmp(line, key, len) == 0 && strchr(" \t:", line[len]) && line[len]) {
			line += len + 1;
			while (*line == ' ' || *line == '\t')
				line++;
			return procfs_parse_u64(line, UINT64_MAX, &value, NULL) == 0 ? value : 0;
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return 0;
}

static const char *read_text(struct buf *b, const char *path)
{
	buf_clear(b);
	file_read(path, HOST_FILE_MAX, b, NULL); /* what cannot be read stays empty */
	return buf_str(b);
}

static void read_cpu(const char *text, struct ev_host *host)
{
	uint64_t ticks[8] = {0}; /* user nice system idle iowait irq softirq steal */
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);

	if (strncmp(text, "cpu ", 4) != 0)
		return;
	text += 4;
	for (unsigned i = 0; i < 8; i++) {
		while (*text == ' ')
			text++;
		if (procfs_parse_u64(text, UINT64_MAX / tick_ns, &ticks[i], &text) < 0)
			break;
	}
	host->cpu_busy_ns = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) * tick_ns;
	host->cpu_idle_ns = ticks[3] * tick_ns;
	host->cpu_iowait_ns = ticks[4] * tick_ns;
	host->cpu_irq_ns = (ticks[5] + ticks[6]) * tick_ns;
	host->cpu_steal_ns = ticks[7] * tick_ns;
}

uint64_t host_busy_ns(void)
{
	CLEANUP(buf_release) struct buf b = {0};
	struct ev_host host = {0};

	read_cpu(read_text(&b, "/proc/stat"), &host);
	return host.cpu_busy_ns;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" */
static uint64_t pressure_total_us(const char *text)
{
	uint64_t value = 0;
	const char *total = strncmp(text, "some ", 5) == 0 ? strstr(text, "total=") : NULL;

	return total && procfs_parse_u64(total + 6, UINT64_MAX, &value, NULL) == 0 ? value : 0;
}

/*
 * /proc/net/netstat and snmp: a line of names and a line of values, each
 * after "GROUP: ".  The value in the column that has the name.
 */
static uint64_t column_u64(const char *text, const char *group, const char *name)
{
	size_t group_len = strlen(group), name_len = strlen(name);
	const char *names = strstr(text, group);
	const char *values = names ? strchr(names, '\n') : NULL;

	if (!values || strncmp(++values, group, group_len) != 0)
		return 0;
	names += group_len;
	values += group_len;
	while (*names == ' ' && *values == ' ') {
		size_t len = strcspn(++names, " \n");
		values++;
		if (len == name_len && strncmp(names, name, len) == 0) {
			uint64_t value;
			return procfs_parse_u64(values, UINT64_MAX, &value, NULL) == 0 ? value : 0;
		}
		names += len;
		values += strcspn(values, " \n");
	}
	return 0;
}

static void read_tcp(uint32_t tgid, struct buf *b, struct ev_host *host)
{
	const char *text;

	buf_clear(b);
	reads_text(tgid, "net/netstat", HOST_FILE_MAX, b);
	text = buf_str(b);
	host->listen_overflows = column_u64(text, "TcpExt:", "ListenOverflows");
	host->listen_drops = column_u64(text, "TcpExt:", "ListenDrops");
	buf_clear(b);
	reads_text(tgid, "net/snmp", HOST_FILE_MAX, b);
	text = buf_str(b);
	host->tcp_retrans = column_u64(text, "Tcp:", "RetransSegs");
}

void host_read_for(uint32_t tgid, struct ev_host *ret_host)
{
	CLEANUP(buf_release) struct buf b = {0};
	struct event_hdr hdr = ret_host->h;
	const char *text;

	*ret_host = (struct ev_host){.h = hdr};
	read_cpu(read_text(&b, "/proc/stat"), ret_host);

	text = read_text(&b, "/proc/meminfo");
	ret_host->mem_avail_bytes = line_u64(text, "MemAvailable") * 1024;

	text = read_text(&b, "/proc/vmstat");
	ret_host->swap_in = line_u64(text, "pswpin");
	ret_host->swap_out = line_u64(text, "pswpout");
	ret_host->maj_flt = line_u64(text, "pgmajfault");
	ret_host->direct_scan = line_u64(text, "pgscan_direct");

	ret_host->psi_cpu_us = pressure_total_us(read_text(&b, "/proc/pressure/cpu"));
	ret_host->psi_io_us = pressure_total_us(read_text(&b, "/proc/pressure/io"));
	ret_host->psi_mem_us = pressure_total_us(read_text(&b, "/proc/pressure/memory"));

	read_tcp(tgid ? tgid : (uint32_t)getpid(), &b, ret_host);
}

int host_proc_mem(uint32_t tgid, uint64_t *ret_rss_bytes, uint64_t *ret_swap_bytes)
{
	CLEANUP(buf_release) struct buf b = {0};
	uint64_t rss_kb = 0, swap_kb = 0;

	if (reads_text(tgid, "status", PROCFS_FILE_MAX, &b) < 0)
		return -ESRCH;
	/* kernel threads have neither line */
	procfs_parse_status(buf_str(&b), "VmRSS", &rss_kb);
	procfs_parse_status(buf_str(&b), "VmSwap", &swap_kb);
	*ret_rss_bytes = rss_kb * 1024;
	*ret_swap_bytes = swap_kb * 1024;
	return 0;
}

void host_self(struct ev_self *self)
{
	struct rusage use;
	CLEANUP(buf_release) struct buf b = {0};
	uint64_t pages = 0;

	self->cpu_ns = clock_self_cpu_ns() + timed_call_cpu_ns();
	if (getrusage(RUSAGE_SELF, &use) == 0 && use.ru_maxrss > 0)
		self->rss_max_bytes = (uint64_t)use.ru_maxrss * 1024;
	const char *resident = strchr(read_text(&b, "/proc/self/statm"), ' ');
	if (resident)
		procfs_parse_u64(resident + 1, UINT64_MAX / 4096, &pages, NULL);
	self->rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
