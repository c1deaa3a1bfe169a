/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture writer.  Events gather in one chunk; a chunk is packed and
 * written with one write at each tick, or earlier when it is full.  After a
 * failed write the file is cut back to its last whole chunk.
 *
 * A process that a second signal ends at once says what it leaves: an hour of
 * recording is not thrown away because writing its end took too long.
 */
#include "store/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/stop.h"
#include "store/block.h"
#include "store/format.h"

struct capture {
	int fd;
	char *path;	/* as it will be called; NULL: written in place (stdout, a device) */
	char *partial;	/* as it is called until then */
	const char *shown;
	bool finished;
	int failed;	/* first error, of a write */
	struct err why;
	struct block_codec *codec;
	unsigned char *raw;	/* CHUNK_RAW_AIM + EVENT_MAX_BYTES */
	size_t raw_len;
	uint32_t raw_events;
	unsigned char *out;	/* a chunk as it is stored */
	struct capture_stats stats;
	uint64_t chunk_cnt;
};

enum {
	RAW_ROOM = CHUNK_RAW_AIM + EVENT_MAX_BYTES,
	OUT_ROOM = sizeof(struct chunk_header) + RAW_ROOM,
};

/* -EEXIST for a file that has something else in it. */
static int check_old(const char *path, struct err *err)
{
	char magic[sizeof(CAPTURE_MAGIC) - 1];
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(err, -errno, "look at '%s'", path);
	len = read(fd, magic, sizeof(magic));
	if (len < 0)
		return err_errno(err, -errno, "read '%s'", path);
	if (len == 0 || (len == sizeof(magic) && memcmp(magic, CAPTURE_MAGIC, sizeof(magic)) == 0))
		return 0;
	return err_set(err, -EEXIST,
		       "'%s' exists and is not a heldup capture (--force replaces it)", path);
}

/* A device or FIFO cannot be replaced: it is written in place. */
static int open_in_place(struct capture *c, const char *path, struct err *err)
{
	c->fd = open(path, O_WRONLY | O_CLOEXEC);
	return c->fd < 0 ? err_errno(err, -errno, "open '%s'", path) : 0;
}

static int open_partial(struct capture *c, struct err *err)
{
	c->partial = xasprintf("%s.%d.partial", c->path, (int)getpid());
	c->fd = open(c->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (c->fd < 0 && errno == EEXIST) /* of an earlier process with our id */
		return err_set(err, -EEXIST, "'%s' is in the way: move it away", c->partial);
	if (c->fd < 0)
		return err_errno(err, -errno, "create '%s'", c->partial);
	stop_writes(c->partial, sizeof(struct capture_header));
	return 0;
}

static int open_target(struct capture *c, const char *path, const struct capture_opts *opts,
		       struct err *err)
{
	struct stat st;
	int rc;

	if (strcmp(path, "-") == 0) {
		if (isatty(STDOUT_FILENO))
			return err_usage(err, "standard output is a terminal: redirect it");
		c->fd = STDOUT_FILENO;
		c->shown = "standard output";
		return 0;
	}
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return err_set(err, -EISDIR, "'%s' is a directory: name a file in it",
				       path);
		if (!S_ISREG(st.st_mode))
			return open_in_place(c, path, err);
		rc = opts && opts->force ? 0 : check_old(path, err);
		if (rc < 0)
			return rc;
		c->path = realpath(path, NULL); /* a link goes on pointing at it */
	}
	if (!c->path)
		c->path = xstrdup(path);
	return open_partial(c, err);
}

static int write_out(struct capture *c, const void *data, size_t len)
{
	int rc = file_write_all(c->fd, data, len);

	if (rc == 0) {
		c->stats.stored_bytes += len;
		return 0;
	}
	c->failed = err_errno(&c->why, rc, "write '%s'", c->shown);
	/* back to the last whole chunk; where that cannot be, a reader stops there itself */
	if (c->partial && ftruncate(c->fd, (off_t)c->stats.stored_bytes) < 0)
		return c->failed;
	return c->failed;
}

static int write_header(struct capture *c)
{
	struct capture_header h = {
		.magic = CAPTURE_MAGIC,
		.endian = CAPTURE_ENDIAN,
		.version = CAPTURE_VERSION,
		.header_bytes = sizeof(h),
		.created_real_ns = clock_real_ns(),
	};

	h.crc = crc32_of(&h, offsetof(struct capture_header, crc));
	return write_out(c, &h, sizeof(h));
}

int capture_create(const char *path, const struct capture_opts *opts, struct capture **ret_cap,
		   struct err *err)
{
	struct capture *c = xcalloc(1, sizeof(*c));
	int rc;

	c->fd = -1;
	c->shown = path;
	rc = open_target(c, path, opts, err);
	if (rc == 0)
		rc = write_header(c);
	if (rc < 0) {
		if (c->failed)
			err_set(err, rc, "%s", c->why.msg);
		capture_free(c);
		return rc;
	}
	c->codec = block_codec_new();
	c->raw = xmalloc(RAW_ROOM);
	c->out = xmalloc(OUT_ROOM);
	*ret_cap = c;
	return 0;
}

static int write_chunk(struct capture *c, unsigned type, const void *raw, size_t raw_len,
		       uint32_t event_cnt)
{
	struct chunk_header h = {
		.magic = CHUNK_MAGIC,
		.type = (uint16_t)type,
		.raw_bytes = (uint32_t)raw_len,
		.event_cnt = event_cnt,
	};
	size_t len = block_pack(c->codec, raw, raw_len, c->out + sizeof(h), RAW_ROOM);

	if (len) {
		h.flags = CHUNKF_ZSTD;
	} else {
		len = raw_len;
		memcpy(c->out + sizeof(h), raw, raw_len);
	}
	h.stored_bytes = (uint32_t)len;
	h.crc = crc32_of(c->out + sizeof(h), len);
	h.header_crc = crc32_of(&h, offsetof(struct chunk_header, header_crc));
	memcpy(c->out, &h, sizeof(h));
	c->chunk_cnt++;
	return write_out(c, c->out, sizeof(h) + len);
}

static int flush_chunk(struct capture *c)
{
	int rc;

	if (c->raw_len == 0)
		return 0;
	rc = write_chunk(c, CHUNK_EVENTS, c->raw, c->raw_len, c->raw_events);
	c->raw_len = 0;
	c->raw_events = 0;
	return rc;
}

static void count_event(struct capture *c, const struct event_hdr *ev)
{
	c->stats.event_cnt++;
	c->stats.raw_bytes += ev->size;
	if (ev->kind == EV_META)
		c->stats.begin_ns = ev->ts_ns;
	if (ev->ts_ns > c->stats.end_ns)
		c->stats.end_ns = ev->ts_ns;
	c->stats.tick_cnt += ev->kind == EV_TICK;
	if (ev->kind == EV_LOSS && ev->size >= sizeof(struct ev_loss)) {
		const struct ev_loss *loss = (const void *)ev;

		c->stats.loss_cnt = 0;
		for (unsigned i = 0; i < LOSS_CNT; i++)
			c->stats.loss_cnt += loss_spares_sums(i) ? 0 : loss->cnt[i];
	}
}

int capture_put(struct capture *c, const struct event_hdr *ev, struct err *err)
{
	BUG_ON(ev->size < sizeof(*ev) || ev->size % 8 || ev->size > EVENT_MAX_BYTES);
	if (c->failed)
		return err_set(err, c->failed, "%s", c->why.msg);
	memcpy(c->raw + c->raw_len, ev, ev->size);
	c->raw_len += ev->size;
	c->raw_events++;
	count_event(c, ev);
	if (ev->kind == EV_TICK || c->raw_len >= CHUNK_RAW_AIM)
		flush_chunk(c);
	return c->failed ? err_set(err, c->failed, "%s", c->why.msg) : 0;
}

static int sink_put(void *ctx, const struct event_hdr *ev)
{
	return capture_put(ctx, ev, NULL);
}

struct event_sink capture_sink(struct capture *c)
{
	return (struct event_sink){.put = sink_put, .ctx = c};
}

static int write_end(struct capture *c)
{
	struct capture_totals totals = {
		.event_cnt = c->stats.event_cnt,
		.raw_bytes = c->stats.raw_bytes,
		.chunk_cnt = c->chunk_cnt,
		.begin_ns = c->stats.begin_ns,
		.end_ns = c->stats.end_ns,
	};
	int rc = flush_chunk(c);

	if (rc == 0)
		rc = write_chunk(c, CHUNK_END, &totals, sizeof(totals), 0);
	if (rc == 0 && c->partial && fdatasync(c->fd) < 0)
		rc = c->failed = err_errno(&c->why, -errno, "write '%s'", c->shown);
	return rc;
}

static bool holds_nothing(const struct capture *c)
{
	return c->stats.stored_bytes <= sizeof(struct capture_header);
}

/* Never over a capture that is there: that one is whole. */
static int keep_partial(struct capture *c, struct err *err)
{
	if (!c->partial || holds_nothing(c))
		return err_set(err, c->failed, "%s: nothing was kept", c->why.msg);
	c->finished = true;
	if (link(c->partial, c->path) == 0) {
		unlink(c->partial);
		return err_set(err, c->failed, "%s: '%s' is readable up to where it ends",
			       c->why.msg, c->path);
	}
	return err_set(err, c->failed, "%s: '%s' is readable up to where it ends", c->why.msg,
		       c->partial);
}

int capture_finish(struct capture *c, struct err *err)
{
	if (c->failed || write_end(c) < 0)
		return keep_partial(c, err);
	if (c->partial && rename(c->partial, c->path) < 0)
		return err_errno(err, -errno, "rename '%s' to '%s'", c->partial, c->path);
	c->finished = true;
	return 0;
}

const struct capture_stats *capture_stats(const struct capture *c)
{
	return &c->stats;
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	stop_writes(NULL, 0);
	if (c->partial && !c->finished && holds_nothing(c))
		unlink(c->partial);
	if (c->fd >= 0 && c->fd != STDOUT_FILENO)
		close(c->fd);
	block_codec_free(c->codec);
	free(c->raw);
	free(c->out);
	free(c->path);
	free(c->partial);
	free(c);
}
