/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two steps.  The scan reads /proc/TGID/cgroup of every process (and of the
 * threads of a few, since v1 lets threads of one process sit in different
 * cgroups) and keeps the distinct paths with all their ancestors.  The
 * reading opens each path in the hierarchies it was seen in.  The scan is
 * repeated when the processes change and every RESCAN_NS.  The reading is
 * done at each call for cgroups with a limit; for the others, which are most
 * and tell nothing, once a scan.
 */
#include "collect/proc/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "collect/proc/cgroup_limits.h"
#include "collect/proc/cgroup_mounts.h"
#include "collect/proc/cgroups_int.h"
#include "collect/emit.h"
#include "collect/proc/procfs.h"
#include "reads/reads.h"

#define RESCAN_NS (5 * NS_PER_SEC)
#define RESCAN_MANY_NS (30 * NS_PER_SEC) /* with more than THREAD_SCAN_PROCS */
#define THREAD_SCAN_PROCS 64 /* with more processes only their main threads are looked at */
#define PATH_LEN_MAX 1024

enum hierarchy { HIER_V2, HIER_CPU, HIER_BLKIO, HIER_MEMORY, HIER_CNT };

static const char *const hier_controllers[HIER_CNT] = {NULL, "cpu", "blkio", "memory"};
static void (*const hier_readers[HIER_CNT])(int dir_fd, struct ev_cgroup *ev) = {
	cgroup_read_v2,
	cgroup_read_v1_cpu,
	cgroup_read_v1_blkio,
	cgroup_read_v1_memory,
};

struct group {
	char *path;
	uint32_t tgid;	  /* first that was seen inside */
	uint8_t hiers;	  /* 1 << enum hierarchy */
	bool has_members; /* of the watched ones, not only in a child */
	bool idle;	  /* read since the scan, and without any limit */
};

static void groups_clear(struct cgroups *c)
{
	VEC_FOREACH(&c->groups, g)
		free(g->path);
	vec_clear(&c->groups);
	strtab_release(&c->group_ids);
	c->group_ids = (struct strtab){.max_cnt = CGROUPS_MAX};
}

struct cgroups *cgroups_new(void)
{
	struct cgroups *c = xcalloc(1, sizeof(*c));

	cgroup_mounts_read(&c->mounts);
	c->group_ids.max_cnt = CGROUPS_MAX;
	return c;
}

void cgroups_free(struct cgroups *c)
{
	if (!c)
		return;
	groups_clear(c);
	vec_release(&c->groups);
	strtab_release(&c->group_ids);
	cgroup_mounts_release(&c->mounts);
	buf_release(&c->path);
	free(c);
}

const char *cgroups_mount_v2(const struct cgroups *c)
{
	const struct cgroup_mount *m = cgroup_mounts_find(&c->mounts, NULL);

	return m ? m->dir : "";
}

const char *cgroups_mount_v1(const struct cgroups *c, const char *controller)
{
	const struct cgroup_mount *m = cgroup_mounts_find(&c->mounts, controller);

	return m ? m->dir : "";
}

int cgroups_parse_line(const char *line, struct cgroup_line *ret_line)
{
	const char *end = line + strcspn(line, "\n");
	const char *first = memchr(line, ':', (size_t)(end - line));
	const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;

	if (!second || second[1] != '/')
		return -EINVAL;
	ret_line->controllers = first + 1;
	ret_line->controllers_len = (size_t)(second - first - 1);
	ret_line->path = second + 1;
	ret_line->path_len = (size_t)(end - second - 1);
	return ret_line->path_len < PATH_LEN_MAX ? 0 : -EINVAL;
}

static bool has_controller(const struct cgroup_line *line, const char *controller)
{
	size_t len = strlen(controller);
	const char *p = line->controllers, *end = p + line->controllers_len;

	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		size_t word = (size_t)((comma ? comma : end) - p);
		if (word == len && memcmp(p, controller, len) == 0)
			return true;
		p += word + 1;
	}
	return false;
}

static unsigned line_hiers(const struct cgroup_line *line)
{
	unsigned hiers = line->controllers_len == 0 ? 1u << HIER_V2 : 0;

	for (unsigned h = HIER_CPU; h < HIER_CNT; h++) {
		if (has_controller(line, hier_controllers[h]))
			hiers |= 1u << h;
	}
	return hiers;
}

static void add_group(struct cgroups *c, const char *path, size_t len, uint32_t tgid,
		      unsigned hiers, bool has_members)
{
	uint32_t before = c->group_ids.cnt;
	uint32_t id = strtab_addn(&c->group_ids, path, len);

	if (id == 0) /* over CGROUPS_MAX: counted in refused_cnt */
		return;
	if (c->group_ids.cnt != before) {
		struct group *fresh = vec_add(&c->groups);
		fresh->path = xstrndup(path, len);
		fresh->tgid = tgid;
	}
	struct group *g = &c->groups.items[id - 1];
	g->hiers |= (uint8_t)hiers;
	g->has_members |= has_members;
}

/* The path and all its ancestors, "/" included. */
static void add_path(struct cgroups *c, const struct cgroup_line *line, uint32_t tgid)
{
	unsigned hiers = line_hiers(line);

	if (!hiers)
		return;
	add_group(c, line->path, line->path_len, tgid, hiers, true);
	for (size_t len = line->path_len; len > 1;) {
		while (len > 1 && line->path[len - 1] != '/')
			len--;
		if (len > 1)
			len--; /* the slash, but not that of the root */
		add_group(c, line->path, len, tgid, hiers, false);
	}
}

static void scan_file(struct cgroups *c, uint32_t tid, uint32_t tgid)
{
	CLEANUP(buf_release) struct buf b = {0};

	if (reads_text(tid, "cgroup", PROCFS_FILE_MAX, &b) < 0)
		return; /* gone */
	for (const char *line = buf_str(&b); line && *line;) {
		struct cgroup_line parsed;
		if (cgroups_parse_line(line, &parsed) == 0)
			add_path(c, &parsed, tgid);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
}

struct thread_scan {
	struct cgroups *c;
	uint32_t tgid;
	uint32_t cnt;
};

static int scan_thread(void *ctx, uint32_t tid)
{
	struct thread_scan *scan = ctx;

	if (tid != scan->tgid)
		scan_file(scan->c, tid, scan->tgid);
	return ++scan->cnt >= CGROUPS_THREAD_MAX;
}

static uint64_t set_hash(const uint32_t *tgids, size_t cnt)
{
	return hash_bytes(tgids, cnt * sizeof(*tgids)) ^ cnt;
}

static void scan(struct cgroups *c, const uint32_t *tgids, size_t cnt)
{
	uint64_t now = clock_mono_ns(), hash = set_hash(tgids, cnt);
	bool changed = hash != c->scanned_set;

	uint64_t pause = cnt > THREAD_SCAN_PROCS ? RESCAN_MANY_NS : RESCAN_NS;
	if (!changed && now - c->scanned_ns < pause)
		return;
	c->scanned_ns = now;
	c->scanned_set = hash;
	groups_clear(c);
	for (size_t i = 0; i < cnt; i++) {
		scan_file(c, tgids[i], tgids[i]);
		if (cnt > THREAD_SCAN_PROCS)
			continue;
		struct thread_scan threads = {.c = c, .tgid = tgids[i]};
		procfs_each_id(tgids[i], scan_thread, &threads);
	}
}

static bool has_limit(const struct ev_cgroup *ev)
{
	return ev->quota_us || ev->nr_throttled || ev->io_rbps || ev->io_wbps || ev->io_riops ||
	       ev->io_wiops || ev->mem_limit_bytes || ev->mem_failcnt;
}

static void emit_group(struct cgroups *c, struct emit *e, struct group *g, uint64_t ts_ns)
{
	struct ev_cgroup ev = {.tgid = g->tgid};
	char dir[PATH_LEN_MAX + 256];

	if (g->idle)
		return;
	for (unsigned h = 0; h < HIER_CNT; h++) {
		const struct cgroup_mount *m =
			cgroup_mounts_find(&c->mounts, hier_controllers[h]);
		if (!(g->hiers & 1u << h) || !m ||
		    cgroup_mount_dir(m, g->path, dir, sizeof(dir)) < 0)
			continue;
		CLEANUP_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		struct stat st;
		if (h == HIER_V2 && fstat(fd, &st) == 0)
			ev.id = st.st_ino;
		hier_readers[h](fd, &ev);
	}
	g->idle = !has_limit(&ev);
	if (g->idle && !g->has_members)
		return;
	if (!ev.id)
		ev.id = hash_bytes(g->path, strlen(g->path)) | UINT64_C(1) << 63;
	ev.path = emit_str(e, g->path);
	EMIT(e, &ev, EV_CGROUP, 0, ts_ns);
}

void cgroups_emit(struct cgroups *c, struct emit *e, const uint32_t *tgids, size_t tgid_cnt,
		  uint64_t ts_ns)
{
	scan(c, tgids, tgid_cnt);
	VEC_FOREACH(&c->groups, g)
		emit_group(c, e, g, ts_ns);
	if (c->group_ids.refused_cnt && !c->told_bound) {
		c->told_bound = true;
		emit_note(e, NOTE_LIMIT, ts_ns, "more than %u cgroups: the rest are not read",
			  CGROUPS_MAX);
	}
}

static size_t path_depth(const char *path, size_t len)
{
	size_t depth = 0;

	for (size_t i = 0; i + 1 < len; i++)
		depth += path[i] == '/';
	return len > 1 ? depth : 0;
}

const char *cgroups_path_of(struct cgroups *c, uint32_t tgid)
{
	CLEANUP(buf_release) struct buf b = {0};
	struct cgroup_line best = {0};
	size_t best_depth = 0;

	buf_clear(&c->path);
	if (reads_text(tgid, "cgroup", PROCFS_FILE_MAX, &b) < 0)
		return "";
	for (const char *line = buf_str(&b); line && *line;) {
		struct cgroup_line parsed;
		if (cgroups_parse_line(line, &parsed) == 0) {
			size_t depth = path_depth(parsed.path, parsed.path_len);
			if (parsed.controllers_len == 0 && depth)
				depth += PATH_LEN_MAX; /* v2 wins over any v1 path */
			if (!best.path || depth > best_depth) {
				best = parsed;
				best_depth = depth;
			}
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	if (best.path)
		buf_add(&c->path, best.path, best.path_len);
	return buf_str(&c->path);
}
