/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are kept in memory until they are too many; from then on they go to
 * one of PARTS files, by the upper bits of their id's hash, through a buffer
 * each.  A file too large to be read back is parted by the next bits.  Since
 * all goes by the hash from the top, traces come in the same order however
 * often they were parted.
 */
#include "spans/assemble.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/file.h"
#include "spans/assemble_int.h"

enum {
	PART_BITS = 6,
	PARTS = 1 << PART_BITS,
	PART_DEPTH_MAX = 5,	/* 30 bits: what is still too large is one trace, or made to be */
	BUFFER_MIN = 1 << 12,
	BUFFER_MAX = 1 << 18,
	MAX_BYTES_MIN = 1 << 20,
	TMP_DIR_MAX = 3000,
};
#define MAX_BYTES_DEFAULT (UINT64_C(1) << 30)
/* One record may be over it. */
#define MAX_BYTES_MAX (RECORDS_BYTES_MAX / 2)

struct part {
	int fd;			/* -1: nothing written yet */
	struct records buffer;
	uint64_t bytes, cnt;	/* in the file */
};

struct parts {
	struct part part[PARTS];
	int depth;
	int shift;		/* of the hash, to the number of the part */
};

struct assembler {
	uint64_t max_bytes;
	size_t buffer_bytes;
	char *tmp_dir;
	struct records held;
	struct parts *parts;	/* NULL: all is in held */
	struct assembler_stats stats;	/* of what was added */
	struct record_walk walk;
	struct err err;
};

static struct parts *parts_new(int depth)
{
	struct parts *p = xcalloc(1, sizeof(*p));

	p->depth = depth;
	p->shift = 64 - PART_BITS * (depth + 1);
	for (int i = 0; i < PARTS; i++)
		p->part[i].fd = -1;
	return p;
}

static void part_clear(struct part *part)
{
	if (part->fd >= 0)
		close(part->fd);
	records_release(&part->buffer);
	*part = (struct part){.fd = -1};
}

static void parts_free(struct parts *p)
{
	for (int i = 0; p && i < PARTS; i++)
		part_clear(&p->part[i]);
	free(p);
}

struct assembler *assembler_new(const struct assembler_opts *opts, struct err *err)
{
	const char *dir = opts && opts->tmp_dir ? opts->tmp_dir : getenv("TMPDIR");
	uint64_t max = opts && opts->max_bytes ? opts->max_bytes : MAX_BYTES_DEFAULT;
	struct assembler *a;

	if (!dir || !*dir)
		dir = "/var/tmp";
	if (strlen(dir) > TMP_DIR_MAX) {
		err_set(err, -ENAMETOOLONG, "directory for temporary files: name too long");
		return NULL;
	}
	a = xcalloc(1, sizeof(*a));
	a->max_bytes = max < MAX_BYTES_MIN ? MAX_BYTES_MIN
					   : max > MAX_BYTES_MAX ? MAX_BYTES_MAX : max;
	a->buffer_bytes = a->max_bytes / (8 * PARTS);
	if (a->buffer_bytes < BUFFER_MIN)
		a->buffer_bytes = BUFFER_MIN;
	if (a->buffer_bytes > BUFFER_MAX)
		a->buffer_bytes = BUFFER_MAX;
	a->tmp_dir = xstrdup(dir);
	return a;
}

void assembler_free(struct assembler *a)
{
	if (!a)
		return;
	parts_free(a->parts);
	records_release(&a->held);
	record_walk_release(&a->walk);
	free(a->tmp_dir);
	free(a);
}

const char *assembler_why(const struct assembler *a)
{
	return a->err.msg;
}

/* A file without a name; file systems that know none get one for an instant. */
static int tmp_open(const char *dir, struct err *err)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
	char *name;

	if (fd >= 0)
		return fd;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return err_errno(err, -errno, "temporary file in '%s'", dir);
	name = xasprintf("%s/heldup-spans-XXXXXX", dir);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		err_errno(err, -errno, "temporary file in '%s'", dir);
	else
		unlink(name);
	free(name);
	return fd >= 0 ? fd : err->code;
}

static int part_flush(struct assembler *a, struct part *part)
{
	struct records *buffer = &part->buffer;
	int ret;

	if (!buffer->len)
		return 0;
	if (part->fd < 0) {
		part->fd = tmp_open(a->tmp_dir, &a->err);
		if (part->fd < 0)
			return a->err.code;
	}
	ret = file_write_all(part->fd, buffer->data, buffer->len);
	if (ret < 0)
		return err_errno(&a->err, ret, "write temporary file in '%s'", a->tmp_dir);
	part->bytes += buffer->len;
	part->cnt += buffer->cnt;
	records_clear(buffer);
	return 0;
}

static int parts_add(struct assembler *a, struct parts *p, const struct record *record)
{
	struct part *part = &p->part[record_hash(&record->trace) >> p->shift & (PARTS - 1)];
	const struct attr *attrs = (const struct attr *)(record + 1);

	records_add(&part->buffer, &record->trace, &record->span, attrs,
		    (const struct span_ref *)(attrs + record->span.attr_cnt));
	return part->buffer.len >= a->buffer_bytes ? part_flush(a, part) : 0;
}

static int parts_add_all(struct assembler *a, struct parts *p, const struct records *records)
{
	for (size_t off = 0; off < records->len;) {
		const struct record *record = (const struct record *)(records->data + off);
		int ret = parts_add(a, p, record);

		if (ret < 0)
			return ret;
		off += record_bytes(record);
	}
	return 0;
}

static int spill(struct assembler *a)
{
	if (!a->parts)
		a->parts = parts_new(0);
	a->stats.spilled_bytes += a->held.len;
	if (parts_add_all(a, a->parts, &a->held) < 0)
		return a->err.code;
	records_release(&a->held);
	return 0;
}

static struct span span_cut(struct assembler *a, const struct span *span)
{
	struct span cut = *span;

	if (cut.attr_cnt > ASSEMBLE_ATTRS_MAX) {
		a->stats.cut_attr_cnt += cut.attr_cnt - ASSEMBLE_ATTRS_MAX;
		cut.attr_cnt = ASSEMBLE_ATTRS_MAX;
	}
	if (cut.ref_cnt > ASSEMBLE_REFS_MAX) {
		a->stats.cut_ref_cnt += cut.ref_cnt - ASSEMBLE_REFS_MAX;
		cut.ref_cnt = ASSEMBLE_REFS_MAX;
	}
	return cut;
}

int assembler_add(struct assembler *a, const struct trace_id *trace, const struct span *span,
		  const struct attr *attrs, const struct span_ref *refs)
{
	struct span cut;

	if (a->err.code)
		return a->err.code;
	if (span->attr_cnt > ASSEMBLE_ATTRS_MAX || span->ref_cnt > ASSEMBLE_REFS_MAX) {
		cut = span_cut(a, span);
		span = &cut;
	}
	records_add(&a->held, trace, span, attrs, refs);
	/* Once there are files, what is held is little: the walk needs the rest. */
	if (records_cost(a->held.len, a->held.cnt) <=
	    (a->parts ? a->max_bytes / 8 : a->max_bytes))
		return 0;
	return spill(a);
}

static int parts_flush(struct assembler *a, struct parts *p)
{
	for (int i = 0; i < PARTS; i++) {
		if (part_flush(a, &p->part[i]) < 0)
			return a->err.code;
		records_release(&p->part[i].buffer);
	}
	return 0;
}

/* One record after the other out of a part's file. */
struct part_in {
	const struct part *part;
	struct records window;	/* read and not yet taken */
	size_t taken;
	uint64_t off;		/* of the file, behind window */
};

/* Reads at least need bytes behind what was taken, or says why it cannot. */
static int part_in_fill(struct part_in *in, size_t need, struct err *err)
{
	struct records *w = &in->window;
	size_t want = need > 1 << 20 ? need : 1 << 20;

	if (in->taken)
		memmove(w->data, w->data + in->taken, w->len - in->taken);
	w->len -= in->taken;
	in->taken = 0;
	if (w->cap < want) {
		w->cap = want;
		w->data = xrealloc(w->data, w->cap);
	}
	while (w->len < need) {
		ssize_t got = pread(in->part->fd, w->data + w->len, w->cap - w->len,
				    (off_t)in->off);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_errno(err, got ? -errno : -EIO, "read temporary file");
		w->len += (size_t)got;
		in->off += (uint64_t)got;
	}
	return 0;
}

/* 1 and the record, good until the next; 0 at the end; -errno. */
static int part_in_next(struct part_in *in, const struct record **ret, struct err *err)
{
	const struct record *record;

	if (in->off == in->part->bytes && in->taken == in->window.len)
		return 0;
	if (in->window.len - in->taken < sizeof(*record) &&
	    part_in_fill(in, sizeof(*record), err) < 0)
		return err->code;
	record = (const struct record *)(in->window.data + in->taken);
	if (!record_is_whole(record))
		return err_set(err, -EIO, "temporary file: not what was written");
	if (in->window.len - in->taken < record_bytes(record)) {
		if (part_in_fill(in, record_bytes(record), err) < 0)
			return err->code;
		record = (const struct record *)in->window.data;
	}
	in->taken += record_bytes(record);
	*ret = record;
	return 1;
}

struct giving {
	struct assembler *a;
	int (*trace)(void *ctx, const struct trace *trace);
	void *ctx;
	struct assembler_stats *stats;
	struct err *err;
};

/* The records of part that begin before (UINT64_MAX: all), into memory. */
static int part_load(struct giving *g, const struct part *part, uint64_t before,
		     struct records *ret)
{
	struct part_in in = {.part = part};
	const struct record *record;
	int got;

	while ((got = part_in_next(&in, &record, g->err)) > 0) {
		const struct attr *attrs = (const struct attr *)(record + 1);

		if (before == UINT64_MAX || keysort_signed(record->span.begin_ns) < before)
			records_add(ret, &record->trace, &record->span, attrs,
				    (const struct span_ref *)(attrs + record->span.attr_cnt));
		else
			g->stats->cut_span_cnt++;
	}
	records_release(&in.window);
	return got;
}

/*
 * Up to which begin all records together cost no more than may be: its digits
 * of 16 bits, the uppermost first, by summing what has each digit.  So what is
 * cut does not depend on the order in which spans came.
 */
static int part_cut_find(struct giving *g, const struct part *part, uint64_t *ret_before)
{
	uint64_t *sums = xcalloc(1 << 16, sizeof(*sums));
	uint64_t before = 0, cost = 0;
	int got = 0;

	for (int shift = 48; shift >= 0 && got >= 0; shift -= 16) {
		struct part_in in = {.part = part};
		const struct record *record;
		uint64_t digit = 0;

		memset(sums, 0, (1 << 16) * sizeof(*sums));
		while ((got = part_in_next(&in, &record, g->err)) > 0) {
			uint64_t key = keysort_signed(record->span.begin_ns);

			if (shift == 48 || key >> (shift + 16) == before >> (shift + 16))
				sums[key >> shift & 0xffff] +=
					records_cost(record_bytes(record), 1);
		}
		records_release(&in.window);
		while (digit < 0xffff && cost + sums[digit] <= g->a->max_bytes)
			cost += sums[digit++];
		before |= digit << shift;
	}
	free(sums);
	*ret_before = before;
	return got;
}

static int records_give(struct giving *g, const struct records *records)
{
	return records_walk(records, &g->a->walk, g->trace, g->ctx, g->stats);
}

static int part_give(struct giving *g, const struct part *part, int depth);

static int parts_give(struct giving *g, struct parts *p)
{
	for (int i = 0; i < PARTS; i++) {
		int ret = part_give(g, &p->part[i], p->depth);

		if (ret < 0)
			return ret;
		if (p->depth)
			part_clear(&p->part[i]);	/* its space on disk is free again */
	}
	return 0;
}

static int part_split(struct giving *g, const struct part *part, int depth)
{
	struct parts *p = parts_new(depth);
	struct part_in in = {.part = part};
	const struct record *record;
	int ret;

	while ((ret = part_in_next(&in, &record, g->err)) > 0) {
		ret = parts_add(g->a, p, record);
		if (ret < 0)
			break;
	}
	records_release(&in.window);
	if (!ret)
		ret = parts_flush(g->a, p);
	if (g->a->err.code)
		*g->err = g->a->err;
	if (!ret)
		ret = parts_give(g, p);
	parts_free(p);
	return ret;
}

static int part_give(struct giving *g, const struct part *part, int depth)
{
	struct records records = {0};
	uint64_t before = UINT64_MAX;
	int ret = 0;

	if (!part->bytes)
		return 0;
	if (records_cost(part->bytes, part->cnt) > g->a->max_bytes) {
		if (depth + 1 < PART_DEPTH_MAX)
			return part_split(g, part, depth + 1);
		ret = part_cut_find(g, part, &before);
		g->stats->cut_trace_cnt++;
	}
	if (!ret)
		ret = part_load(g, part, before, &records);
	if (!ret)
		ret = records_give(g, &records);
	records_release(&records);
	return ret;
}

int assembler_finish(struct assembler *a, int (*trace)(void *ctx, const struct trace *trace),
		     void *ctx, struct assembler_stats *ret, struct err *err)
{
	struct err local = {0};
	struct giving g = {a, trace, ctx, ret, err ? err : &local};

	if (!a->err.code && a->parts && !spill(a))
		parts_flush(a, a->parts);
	*ret = a->stats;
	if (a->err.code)
		return err_set(err, a->err.code, "%s", a->err.msg);
	return a->parts ? parts_give(&g, a->parts) : records_give(&g, &a->held);
}
