/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/proc/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "collect/proc/procfs.h"
#include "reads/reads.h"

#define DELETED " (deleted)"
#define ADDR_MAX (UINT64_C(1) << 47)

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), end_len = strlen(end);

	return len >= end_len && strcmp(s + len - end_len, end) == 0;
}

static uint8_t kind_of(const char *path, uint64_t ino)
{
	if (strcmp(path, "[vdso]") == 0)
		return MAPPING_VDSO;
	if (strcmp(path, "[vsyscall]") == 0)
		return MAPPING_VSYSCALL;
	return ino ? MAPPING_FILE : MAPPING_CODE;
}

/* The kernel writes newlines of a path as \012, and nothing else so. */
static char *unescaped(const char *path)
{
	char *copy = xstrdup(path), *to = copy;

	for (const char *p = path; *p;) {
		if (strncmp(p, "\\012", 4) == 0) {
			*to++ = '\n';
			p += 4;
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
	return copy;
}

static bool joins(const struct mapping *before, const struct mapping *m)
{
	return before->kind == MAPPING_CODE && m->kind == MAPPING_CODE && before->end == m->start;
}

int mappings_add_line(struct mappings *m, const char *line)
{
	struct mapping one = {0};
	char perms[5];
	int path_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &one.start,
		   &one.end, perms, &one.off, &one.dev_major, &one.dev_minor, &one.ino,
		   &path_at) < 7 || !path_at || strlen(perms) != 4)
		return -EINVAL;
	if (perms[2] != 'x')
		return 0;
	one.kind = kind_of(line + path_at, one.ino);
	if (one.kind == MAPPING_VSYSCALL)
		return 0;
	if (one.start >= one.end || one.end > ADDR_MAX || one.start & 4095 || one.end & 4095 ||
	    (m->items.cnt && vec_last(&m->items)->end > one.start))
		return -EINVAL;
	if (m->items.cnt && joins(vec_last(&m->items), &one)) {
		vec_last(&m->items)->end = one.end;
		return 1;
	}
	if (m->items.cnt >= MAPPINGS_MAX) {
		m->cut_cnt++;
		return 0;
	}
	one.path = unescaped(line + path_at);
	if (one.kind == MAPPING_FILE && ends_with(one.path, DELETED)) {
		one.path[strlen(one.path) - strlen(DELETED)] = '\0';
		one.deleted = true;
	}
	vec_push(&m->items, one);
	return 1;
}

void mappings_release(struct mappings *m)
{
	VEC_FOREACH(&m->items, one)
		free(one->path);
	vec_release(&m->items);
	*m = (struct mappings){0};
}

static int read_of(uint32_t tgid, uint32_t tid, struct mappings *ret)
{
	CLEANUP(buf_release) struct buf text = {0};
	long rc = reads_maps(tgid, tid, false, &text);

	mappings_release(ret);
	if (rc < 0)
		return (int)rc;
	for (char *line = text.data, *end; line && *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end) { /* there was no room for the rest */
			ret->cut_cnt++;
			break;
		}
		*end = '\0';
		if (end - line >= MAPPINGS_LINE - 1 || mappings_add_line(ret, line) < 0)
			ret->odd_cnt++;
	}
	return 0;
}

int mappings_read(uint32_t tgid, struct mappings *ret)
{
	int rc = read_of(tgid, tgid, ret);
	uint32_t tid;

	/* a main thread that has ended shows an empty file */
	if (rc < 0 || ret->items.cnt)
		return rc;
	tid = procfs_living_tid(tgid);
	return tid == tgid ? 0 : read_of(tgid, tid, ret);
}

int mapping_open(uint32_t tgid, const struct mapping *m)
{
	struct reads_mapped what = {.dev_major = m->dev_major, .dev_minor = m->dev_minor,
				    .start = m->start, .end = m->end, .ino = m->ino,
				    .path = !m->deleted && strlen(m->path) < PATH_MAX ? m->path
										      : NULL};
	int fd = reads_open_mapped(tgid, tgid, &what);
	uint32_t tid;

	if (fd >= 0 || fd == -ETIMEDOUT)
		return fd;
	tid = procfs_living_tid(tgid);
	return tid == tgid ? fd : reads_open_mapped(tgid, tid, &what);
}

uint64_t mappings_exec_pages(uint32_t tgid)
{
	uint64_t exe_kb, lib_kb;

	tgid = procfs_living_tid(tgid);
	/* the kernel makes these two out of exec_vm: their sum is it again */
	if (procfs_status_u64(tgid, "VmExe", &exe_kb) < 0 ||
	    procfs_status_u64(tgid, "VmLib", &lib_kb) < 0)
		return 0;
	return (exe_kb + lib_kb) / 4;
}
