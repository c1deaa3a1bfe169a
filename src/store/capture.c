/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture writer.  Events gather in one chunk; a chunk is packed and
 * written with one write at each tick, or earlier when it is full, by a child
 * that can be given up on (capture_file.h).  After a failed write the file is
 * cut back to its last whole chunk.
 *
 * A process that a second signal ends at once says what it leaves: an hour of
 * recording is not thrown away because writing its end took too long.
 */
#include "store/capture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "base/timed/timed_fork.h"
#include "store/block.h"
#include "store/capture_file.h"
#include "store/format.h"

struct capture {
	struct timed_worker *file;
	struct capture_file *target; /* of the worker */
	const char *shown;
	int failed;	/* first error, of a write */
	struct err why;
	struct block_codec *codec;
	unsigned char *raw;	/* CHUNK_RAW_AIM + EVENT_MAX_BYTES */
	size_t raw_len;
	uint32_t raw_events;
	unsigned char *out;	/* a chunk as it is stored: the worker's memory */
	struct capture_stats stats;
	uint64_t chunk_cnt;
};

enum {
	RAW_ROOM = CHUNK_RAW_AIM + EVENT_MAX_BYTES,
	OUT_ROOM = sizeof(struct chunk_header) + RAW_ROOM,
};

/* The first error stays. */
static int job(struct capture *c, enum capture_file_op op, size_t len)
{
	int rc = timed_worker_ask(c->file, op, len, TIMED_FORK_WRITE_NS, &c->why);

	if (rc == 0)
		return 0;
	if (timed_worker_is_silent(c->file)) {
		stop_writes(NULL, 0); /* a look at it would not return either */
		err_prefix(&c->why, "write '%s'", c->shown);
	}
	c->failed = rc;
	return rc;
}

static int write_out(struct capture *c, size_t len)
{
	int rc = job(c, CAPTURE_FILE_WRITE, len);

	c->stats.stored_bytes += rc == 0 ? len : 0;
	return rc;
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
	memcpy(c->out, &h, sizeof(h));
	return write_out(c, sizeof(h));
}

static int open_file(struct capture *c, const char *path, bool force, struct err *err)
{
	bool is_stdout = strcmp(path, "-") == 0; /* its reader's end is ours */
	int rc;

	c->shown = is_stdout ? "standard output" : path;
	c->target = capture_file_new(path, force);
	c->file = timed_worker_new(capture_file_do, c->target, OUT_ROOM, is_stdout);
	c->out = timed_worker_shared(c->file);
	rc = timed_worker_ask(c->file, CAPTURE_FILE_OPEN, 0, TIMED_FORK_LOOK_NS, err);
	if (timed_worker_is_silent(c->file))
		err_prefix(err, "open '%s'", path);
	if (rc == 0 && *c->out)
		stop_writes((const char *)c->out, sizeof(struct capture_header));
	return rc;
}

int capture_create(const char *path, const struct capture_opts *opts, struct capture **ret_cap,
		   struct err *err)
{
	struct capture *c = xcalloc(1, sizeof(*c));
	int rc = open_file(c, path, opts && opts->force, err);

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
	return write_out(c, sizeof(h) + len);
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
	if (rc == 0)
		rc = job(c, CAPTURE_FILE_FINISH, 0);
	return rc;
}

static int keep_partial(struct capture *c, struct err *err)
{
	const char *name = (const char *)c->out;

	if (timed_worker_is_silent(c->file))
		return err_set(err, c->failed, "%s: what it got may be in '%s.%d.partial'",
			       c->why.msg, c->shown, (int)getpid());
	if (timed_worker_ask(c->file, CAPTURE_FILE_KEEP, 0, TIMED_FORK_LOOK_NS, NULL) < 0 || !*name)
		return err_set(err, c->failed, "%s: nothing was kept", c->why.msg);
	return err_set(err, c->failed, "%s: '%s' is readable up to where it ends", c->why.msg,
		       name);
}

int capture_finish(struct capture *c, struct err *err)
{
	return c->failed || write_end(c) < 0 ? keep_partial(c, err) : 0;
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
	timed_worker_ask(c->file, CAPTURE_FILE_CLOSE, 0, TIMED_FORK_LOOK_NS, NULL);
	timed_worker_free(c->file);
	capture_file_free(c->target);
	block_codec_free(c->codec);
	free(c->raw);
	free(c);
}
