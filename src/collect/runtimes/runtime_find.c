/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/runtimes/runtime_find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/search.h"
#include "collect/proc/mappings.h"
#include "collect/proc/procfs.h"
#include "reads/reads.h"

/*
 * A file of a device does what its driver likes when it is read.  Memory that is
 * shared without a name is /dev/zero to the kernel.
 */
static bool is_ordinary(const char *path)
{
	return strcmp(path, "/dev/zero (deleted)") == 0 ||
	       (strncmp(path, "[v", 2) != 0 && strncmp(path, "/dev/", 5) != 0);
}

static void range_add(struct runtime_found *f, const char *line)
{
	struct chain_range r;
	char perms[5];
	int path_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %*u %n", &r.start, &r.end, perms,
		   &path_at) < 3 || !path_at || perms[0] != 'r' || r.start >= r.end)
		return;
	if (!is_ordinary(line + path_at))
		return;
	if (f->ranges.cnt && vec_last(&f->ranges)->end > r.start)
		return;
	if (f->ranges.cnt && vec_last(&f->ranges)->end == r.start)
		vec_last(&f->ranges)->end = r.end;
	else if (f->ranges.cnt < RUNTIME_RANGES_MAX)
		vec_push(&f->ranges, r);
	else
		f->range_cut++;
}

int runtime_found_ranges(struct runtime_found *f)
{
	CLEANUP(buf_release) struct buf text = {0};
	long rc = reads_maps(f->tgid, procfs_living_tid(f->tgid), true, &text);

	if (rc < 0)
		return (int)rc;
	vec_clear(&f->ranges);
	f->range_cut = 0;
	for (char *line = text.data, *end; line && *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			break;
		*end = '\0';
		range_add(f, line);
	}
	return 0;
}

/* ---- memory */

static size_t range_at(const struct runtime_found *f, uint64_t addr)
{
	return SORTED_PREFIX(f->ranges.items, f->ranges.cnt, it, it->end <= addr);
}

static int mem_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct runtime_found *f = ctx;
	size_t at = range_at(f, addr);
	long got;

	if (at >= f->ranges.cnt || f->ranges.items[at].start > addr ||
	    len > f->ranges.items[at].end - addr)
		return -EFAULT;
	got = procfs_read_mem(f->tgid, addr, out, len);
	return got < 0 ? (int)got : got == (long)len ? 0 : -EFAULT;
}

/* 1 where the range that addr lies in is marked by this. */
static size_t range_mark(const struct runtime_found *f, uint64_t addr, bool *is_in)
{
	size_t at = range_at(f, addr);

	if (at >= f->ranges.cnt || is_in[at])
		return 0;
	is_in[at] = true;
	return 1;
}

_Static_assert(2 * CHAIN_ITEMS <= CHAIN_RANGES, "both ends of each list fit");

/* Those in which lists begin and end, then the first ones: a call has room for so many. */
static void ranges_pick(const struct runtime_found *f, struct read_chains *w)
{
	CLEANUP_FREE bool *is_in = xcalloc(f->ranges.cnt + 1, sizeof(*is_in));
	size_t left = CHAIN_RANGES;

	for (uint32_t i = 0; i < w->item_cnt; i++) {
		left -= range_mark(f, w->items[i].anchor, is_in);
		left -= range_mark(f, w->items[i].until - 1, is_in);
	}
	for (size_t i = 0; i < f->ranges.cnt; i++) {
		if (!is_in[i] && !left)
			continue;
		left -= !is_in[i];
		w->ranges[w->range_cnt++] = f->ranges.items[i];
	}
}

long runtime_found_lists(struct runtime_found *f, const struct chain_shape *shape,
			 const struct chain_item *items, size_t cnt, struct buf *out)
{
	CLEANUP_FREE struct read_chains *w = xcalloc(1, sizeof(*w));

	w->tid = f->tgid;
	w->shape = *shape;
	w->item_cnt = (uint32_t)(cnt < CHAIN_ITEMS ? cnt : CHAIN_ITEMS);
	memcpy(w->items, items, w->item_cnt * sizeof(*w->items));
	ranges_pick(f, w);
	return reads_chains(f->tgid, w, out);
}

static long mem_list(void *ctx, const struct chain_shape *shape, uint64_t anchor, struct buf *out)
{
	CLEANUP(buf_release) struct buf bytes = {0};
	struct chain_item item = {.anchor = anchor};
	struct chain_out head;
	long got = runtime_found_lists(ctx, shape, &item, 1, &bytes);

	if (got < 0)
		return got;
	if (bytes.len < sizeof(head))
		return -EIO;
	memcpy(&head, bytes.data, sizeof(head));
	if (head.state != CHAIN_READ ||
	    bytes.len - sizeof(head) < head.cnt * (sizeof(uint64_t) + (size_t)shape->elem_len))
		return -EFAULT;
	buf_add(out, bytes.data + sizeof(head), bytes.len - sizeof(head));
	return head.cnt;
}

/* ---- finding */

/* -ENOENT: this file has no runtime in it. */
static int open_file(struct runtime_found *f, const struct mapping *m)
{
	const struct runtime_mem mem = {f, mem_read, mem_list};
	CLEANUP_CLOSE int fd = mapping_open(f->tgid, m);
	struct runtime_file file = {.name = file_base_name(m->path), .fd = fd,
				    .map_start = m->start, .map_off = m->off};

	if (fd < 0)
		return err_errno(&f->problem, fd, "open %s", file.name);
	return runtime_open(f->lang, &file, &mem, &f->proc, &f->problem);
}

int runtime_find(uint32_t tgid, struct runtime_found *ret)
{
	CLEANUP(mappings_release) struct mappings maps = {0};
	int rc;

	ret->tgid = tgid;
	rc = mappings_read(tgid, &maps);
	if (rc < 0)
		return rc;
	VEC_FOREACH(&maps.items, m) {
		const struct runtime_lang *lang =
			m->kind == MAPPING_FILE ? runtime_lang_of(file_base_name(m->path)) : NULL;

		if (!lang)
			continue;
		if (!ret->ranges.cnt && (rc = runtime_found_ranges(ret)) < 0)
			return rc;
		ret->lang = lang;
		rc = open_file(ret, m);
		if (rc != -ENOENT)
			return 0;
		ret->lang = NULL;
		ret->problem = (struct err){0};
	}
	return 0;
}

void runtime_found_release(struct runtime_found *f)
{
	runtime_free(f->proc);
	vec_release(&f->ranges);
	*f = (struct runtime_found){0};
}
