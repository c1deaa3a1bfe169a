/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/points/point_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "collect/proc/mappings.h"
#include "reads/reads.h"

#define CMD_LINK_CREATE 28		/* these two: linux/bpf.h of Linux 6.6 */
#define TYPE_UPROBE_MULTI 48
#define COMPARED 16			/* bytes at each place: the longest instruction */
#define COMPARED_PROCS 256

struct link_create {			/* of union bpf_attr */
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

/* A run of places in the same file, of items sorted by file. */
struct file_run {
	const struct point_place *places;
	size_t cnt;
};

static int by_file(const void *a, const void *b)
{
	const struct point_place *x = a, *y = b;

	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	return (x->file_off > y->file_off) - (x->file_off < y->file_off);
}

static int link_one(struct point_links *l, int prog_fd, uint32_t round, const struct file_run *run,
		    uint32_t pid)
{
	uint64_t *words = xcalloc(run->cnt * 2, sizeof(*words));
	struct link_create attr = {.prog_fd = (uint32_t)prog_fd, .attach_type = TYPE_UPROBE_MULTI,
				   .cnt = (uint32_t)run->cnt, .pid = pid};
	char path[48];
	long fd;

	for (size_t i = 0; i < run->cnt; i++) {
		words[i] = run->places[i].file_off;
		words[run->cnt + i] = (uint64_t)round << 32 | run->places[i].point;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", run->places->fd);
	attr.path = (uintptr_t)path;
	attr.offsets = (uintptr_t)words;
	attr.cookies = (uintptr_t)(words + run->cnt);
	fd = syscall(SYS_bpf, CMD_LINK_CREATE, &attr, sizeof(attr));
	free(words);
	if (fd < 0)
		return -errno;
	vec_push(&l->fds, (int)fd);
	return 0;
}

static uint64_t file_id(dev_t dev, ino_t ino)
{
	return hash_pair((uint64_t)dev, (uint64_t)ino);
}

/* Does a process that was not chosen run this program? */
static bool is_shared(const struct point_place *at, const uint32_t *tgids, size_t tgid_cnt)
{
	CLEANUP_CLOSEDIR DIR *dir = opendir("/proc");
	CLEANUP(hmap_release) struct hmap chosen = {0};
	struct dirent *d;
	struct stat own, st;
	char path[300];

	if (!dir || fstat(at->fd, &own) < 0)
		return true;
	for (size_t i = 0; i < tgid_cnt; i++)
		hmap_put(&chosen, tgids[i], 1);
	while ((d = readdir(dir))) {
		uint32_t pid = (uint32_t)strtoul(d->d_name, NULL, 10);

		if (!pid || hmap_get(&chosen, pid, NULL))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/exe", d->d_name);
		if (stat(path, &st) == 0 &&
		    file_id(st.st_dev, st.st_ino) == file_id(own.st_dev, own.st_ino))
			return true;
	}
	return false;
}

static int link_file(struct point_links *l, int prog_fd, uint32_t round, const struct file_run *run,
		     const uint32_t *tgids, size_t tgid_cnt)
{
	size_t cnt = tgid_cnt < POINT_PROCS_MAX ? tgid_cnt : POINT_PROCS_MAX;
	int rc = -ESRCH;

	if (run->places->is_program && !is_shared(run->places, tgids, tgid_cnt))
		return link_one(l, prog_fd, round, run, 0);
	for (size_t i = 0; i < cnt; i++) {
		int one = link_one(l, prog_fd, round, run, tgids[i]);

		if (one < 0 && one != -ESRCH)	/* a process may be gone */
			return one;
		rc = one == 0 ? 0 : rc;
	}
	l->proc_cnt = (uint32_t)cnt;
	l->left_out_cnt = (uint32_t)(tgid_cnt - cnt);
	return rc;
}

static void each_file(struct point_place *sorted, size_t cnt,
		      bool (*file)(void *ctx, const struct file_run *run), void *ctx)
{
	for (size_t i = 0, next; i < cnt; i = next) {
		struct file_run run = {.places = &sorted[i]};

		for (next = i; next < cnt && sorted[next].fd == sorted[i].fd; next++)
			run.cnt++;
		if (!file(ctx, &run))
			return;
	}
}

struct opening {
	struct point_links *l;
	int prog_fd, rc;
	uint32_t round;
	const uint32_t *tgids;
	size_t tgid_cnt;
};

static bool open_file(void *ctx, const struct file_run *run)
{
	struct opening *o = ctx;

	o->rc = link_file(o->l, o->prog_fd, o->round, run, o->tgids, o->tgid_cnt);
	return o->rc == 0;
}

static struct point_place *sorted_of(const struct point_place *places, size_t cnt)
{
	struct point_place *sorted = xcalloc(cnt + 1, sizeof(*sorted));

	if (cnt)
		memcpy(sorted, places, cnt * sizeof(*sorted));
	qsort(sorted, cnt, sizeof(*sorted), by_file);
	return sorted;
}

int point_links_open(struct point_links *l, int prog_fd, uint32_t round,
		     const struct point_place *places, size_t cnt, const uint32_t *tgids,
		     size_t tgid_cnt, struct err *err)
{
	CLEANUP_FREE struct point_place *sorted = sorted_of(places, cnt);
	struct opening o = {.l = l, .prog_fd = prog_fd, .round = round, .tgids = tgids,
			    .tgid_cnt = tgid_cnt};

	*l = (struct point_links){0};
	each_file(sorted, cnt, open_file, &o);
	if (o.rc == 0)
		return 0;
	point_links_close(l);
	if (o.rc == -EINVAL || o.rc == -EOPNOTSUPP)
		return err_rights(err, o.rc, "the kernel refused to switch tracepoints on "
				  "(multi-uprobe links: Linux 6.6): %s", strerror(-o.rc));
	return err_errno(err, o.rc, "switch %zu tracepoints on", cnt);
}

void point_links_close(struct point_links *l)
{
	VEC_FOREACH(&l->fds, fd)
		close(*fd);
	vec_release(&l->fds);
}

/* ---- comparing */

struct comparing {
	uint32_t tgid;
	const struct mappings *maps;
	struct point_differ *out;
};

static bool is_of(const struct mapping *m, const struct stat *st)
{
	return m->kind == MAPPING_FILE && m->ino == st->st_ino;
}

static void compare_place(struct comparing *c, const struct point_place *p, const struct stat *st)
{
	uint8_t in_file[COMPARED], in_memory[COMPARED];
	long len;

	VEC_FOREACH(&c->maps->items, m) {
		if (!is_of(m, st) || p->file_off < m->off ||
		    p->file_off - m->off + COMPARED > m->end - m->start)
			continue;
		len = pread(p->fd, in_file, COMPARED, (off_t)p->file_off);
		if (len != COMPARED ||
		    reads_mem(c->tgid, c->tgid, m->start + (p->file_off - m->off), in_memory,
			      COMPARED) != COMPARED) {
			c->out->unread_cnt++;
			return;
		}
		c->out->read_cnt++;
		for (int i = 0; i < COMPARED; i++)
			c->out->byte_cnt += in_file[i] != in_memory[i];
		return;
	}
}

static bool compare_file(void *ctx, const struct file_run *run)
{
	struct stat st;

	if (fstat(run->places->fd, &st) < 0)
		return true;
	for (size_t i = 0; i < run->cnt; i++)
		compare_place(ctx, &run->places[i], &st);
	return true;
}

void point_links_differ(const struct point_place *places, size_t cnt, const uint32_t *tgids,
			size_t tgid_cnt, struct point_differ *ret)
{
	CLEANUP_FREE struct point_place *sorted = sorted_of(places, cnt);
	struct mappings maps = {0};

	*ret = (struct point_differ){0};
	for (size_t i = 0; i < tgid_cnt && i < COMPARED_PROCS; i++) {
		struct comparing c = {.tgid = tgids[i], .maps = &maps, .out = ret};

		if (mappings_read(tgids[i], &maps) < 0)
			continue;	/* it ended: nothing is on in it */
		each_file(sorted, cnt, compare_file, &c);
	}
	mappings_release(&maps);
}
