/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture file as a source.  Everything in it is taken as hostile: sizes
 * are checked against the limits of store/format.h before memory is asked
 * for, checksums before anything is believed, records at event_check.
 *
 * One step delivers up to the next tick.  A file that ends early is read to
 * its last whole chunk; the last step then delivers a note that says how far.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "collect/emit.h"
#include "collect/import/import.h"
#include "collect/source.h"
#include "store/block.h"
#include "store/check.h"
#include "store/format.h"

struct file_source {
	int fd;
	char *path;
	uint64_t off, good_off;		/* read so far; end of the last whole chunk */
	uint64_t file_bytes;		/* 0: not known, a pipe */
	volatile sig_atomic_t stopping;
	bool ended;			/* nothing more is read */
	bool complete;			/* the end chunk was there */
	char why[160];			/* why it ended early */
	struct block_codec *codec;
	unsigned char *stored, *raw;
	size_t raw_len, raw_at;
	struct event_check check;
	uint64_t event_cnt, unknown_chunks, last_ns;
	struct capture_totals totals;
};

/* Bytes read, fewer only at the end of the file; -errno. */
static ssize_t read_full(struct file_source *f, void *to, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(f->fd, (char *)to + got, len - got);

		if (n < 0 && errno == EINTR && !f->stopping)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	f->off += got;
	return (ssize_t)got;
}

/* Ends the reading; the last step tells why. */
static void end_early(struct file_source *f, const char *why)
{
	struct err text = {0};

	f->ended = true;
	err_set(&text, -EBADMSG, "%s", why);
	memcpy(f->why, text.msg, sizeof(f->why) - 1);
}

static int check_header(const struct file_source *f, const struct capture_header *h, ssize_t len,
			struct err *err)
{
	if (len < (ssize_t)sizeof(*h))
		return err_set(err, -EBADMSG, "capture '%s' is cut inside its header at byte %zd: "
			       "nothing can be read", f->path, len);
	if (h->endian == __builtin_bswap32(CAPTURE_ENDIAN))
		return err_set(err, -EBADMSG, "capture '%s' is of a big-endian machine: "
			       "heldup reads little-endian ones only", f->path);
	if (h->endian != CAPTURE_ENDIAN ||
	    h->crc != crc32_of(h, offsetof(struct capture_header, crc)))
		return err_set(err, -EBADMSG, "capture '%s': its header is damaged", f->path);
	if (h->version != CAPTURE_VERSION)
		return err_set(err, -EBADMSG, "capture '%s' has format %u and this heldup reads "
			       "format %d: use the heldup that wrote it, or a newer one",
			       f->path, h->version, CAPTURE_VERSION);
	if (h->header_bytes < sizeof(*h) || h->header_bytes > CAPTURE_HEADER_MAX)
		return err_set(err, -EBADMSG, "capture '%s': its header is damaged", f->path);
	return 0;
}

/* Reads the header of the file, *ret_len bytes of it. */
static int read_header(struct file_source *f, struct capture_header *h, size_t *ret_len,
		       struct err *err)
{
	ssize_t len = read_full(f, h, sizeof(*h));

	if (len < 0)
		return err_errno(err, (int)len, "read '%s'", f->path);
	*ret_len = (size_t)len;
	return 0;
}

static bool is_capture(const struct capture_header *h, size_t len)
{
	return len >= sizeof(h->magic) && memcmp(h->magic, CAPTURE_MAGIC, sizeof(h->magic)) == 0;
}

static int take_header(struct file_source *f, const struct capture_header *h, size_t len,
		       struct err *err)
{
	char more[CAPTURE_HEADER_MAX];
	int rc = check_header(f, h, (ssize_t)len, err);
	size_t left;

	if (rc < 0)
		return rc;
	f->good_off = sizeof(*h);
	left = h->header_bytes - sizeof(*h);
	if (left && read_full(f, more, left) != (ssize_t)left)
		end_early(f, "the file is cut");
	return 0;
}

/* false: the file ends here. */
static bool read_chunk_header(struct file_source *f, struct chunk_header *h)
{
	ssize_t len = read_full(f, h, sizeof(*h));

	if (len < 0) {
		end_early(f, strerror((int)-len));
		return false;
	}
	if (len < (ssize_t)sizeof(*h)) {
		end_early(f, "the file is cut");
		return false;
	}
	if (h->magic != CHUNK_MAGIC ||
	    h->header_crc != crc32_of(h, offsetof(struct chunk_header, header_crc)) ||
	    h->raw_bytes > CHUNK_RAW_MAX || h->stored_bytes > CHUNK_STORED_MAX ||
	    (h->flags & ~CHUNKF_ZSTD && h->type == CHUNK_EVENTS)) {
		end_early(f, "a chunk is damaged");
		return false;
	}
	return true;
}

static bool read_chunk_body(struct file_source *f, const struct chunk_header *h)
{
	ssize_t len = read_full(f, f->stored, h->stored_bytes);
	int rc = 0;

	if (len < (ssize_t)h->stored_bytes) {
		end_early(f, len < 0 ? strerror((int)-len) : "the file is cut");
		return false;
	}
	if (h->crc != crc32_of(f->stored, h->stored_bytes)) {
		end_early(f, "a chunk is damaged");
		return false;
	}
	if (h->type != CHUNK_EVENTS && h->type != CHUNK_END)
		return true;
	if (h->flags & CHUNKF_ZSTD)
		rc = block_unpack(f->codec, f->stored, h->stored_bytes, f->raw, h->raw_bytes);
	else if (h->raw_bytes == h->stored_bytes)
		memcpy(f->raw, f->stored, h->raw_bytes);
	else
		rc = -EBADMSG;
	if (rc < 0)
		end_early(f, rc == -ENOTSUP ? "it is compressed and this heldup was built "
					      "without libzstd" : "a chunk is damaged");
	return rc == 0;
}

/* Fills raw with the next chunk of events; false at the end. */
static bool next_chunk(struct file_source *f)
{
	struct chunk_header h;

	while (!f->ended && read_chunk_header(f, &h) && read_chunk_body(f, &h)) {
		f->good_off = f->off;
		switch (h.type) {
		case CHUNK_EVENTS:
			f->raw_len = h.raw_bytes;
			f->raw_at = 0;
			return true;
		case CHUNK_END:
			memcpy(&f->totals, f->raw, h.raw_bytes < sizeof(f->totals)
							   ? h.raw_bytes : sizeof(f->totals));
			f->ended = f->complete = true;
			break;
		default:
			f->unknown_chunks++;
		}
	}
	return false;
}

static int put(struct file_source *f, struct event_sink *sink, const struct event_hdr *ev)
{
	f->event_cnt++;
	if (ev->kind != EV_STR)
		f->last_ns = ev->ts_ns;
	return sink->put(sink->ctx, ev);
}

/* Delivers from the chunk up to a tick: 1 there, 0 at the chunk's end, <0 the sink's error. */
static int put_chunk(struct file_source *f, struct event_sink *sink)
{
	while (f->raw_at < f->raw_len) {
		const struct event_hdr *ev = (const void *)(f->raw + f->raw_at);
		enum event_verdict v = event_check(&f->check, ev, f->raw_len - f->raw_at);
		int rc;

		if (v == EVENT_BROKEN) {
			end_early(f, "a record is damaged");
			f->raw_at = f->raw_len;
			return 0;
		}
		f->raw_at += ev->size;
		if (v == EVENT_SKIP)
			continue;
		rc = put(f, sink, ev);
		if (rc < 0)
			return rc;
		if (ev->kind == EV_TICK)
			return 1;
	}
	return 0;
}

/* A note of our own, with a string id that the file did not use. */
static int put_note(struct file_source *f, struct event_sink *sink, enum note_kind what,
		    const char *text)
{
	struct {
		struct ev_str s;
		char text[sizeof(((struct err *)0)->msg) + 8];
	} str = {0};
	struct ev_note note = {.what = what};
	size_t len = strlen(text);
	int rc;

	str.s.id = note.text = ++f->check.str_max;
	str.s.len = (uint32_t)len;
	str.s.h = (struct event_hdr){.kind = EV_STR,
				     .size = (uint16_t)(sizeof(str.s) + (len + 7) / 8 * 8)};
	memcpy(str.text, text, len);
	rc = sink->put(sink->ctx, &str.s.h);
	if (rc < 0)
		return rc;
	note.h = (struct event_hdr){.size = sizeof(note), .kind = EV_NOTE, .ts_ns = f->last_ns};
	return sink->put(sink->ctx, &note.h);
}

/* Puts the notes about the file that a reader of the report needs. */
static int put_notes(struct file_source *f, struct event_sink *sink)
{
	struct err text = {0};
	int rc = 0;

	if (f->stopping) {
		rc = put_note(f, sink, NOTE_LIMIT, "reading the capture was stopped early");
	} else if (!f->complete) {
		if (f->file_bytes)
			err_set(&text, -EBADMSG, "capture '%s' is not complete, %s: read to byte "
				"%llu of %llu", f->path, f->why, (unsigned long long)f->good_off,
				(unsigned long long)f->file_bytes);
		else
			err_set(&text, -EBADMSG, "capture '%s' is not complete, %s: read to byte "
				"%llu", f->path, f->why, (unsigned long long)f->good_off);
		rc = put_note(f, sink, NOTE_LIMIT, text.msg);
	}
	if (rc == 0 && f->check.skipped_cnt) {
		err_set(&text, -EBADMSG, "capture '%s': %llu damaged records skipped", f->path,
			(unsigned long long)f->check.skipped_cnt);
		rc = put_note(f, sink, NOTE_LIMIT, text.msg);
	}
	if (rc == 0 && f->unknown_chunks) {
		err_set(&text, -EBADMSG, "capture '%s': %llu parts of a newer heldup skipped",
			f->path, (unsigned long long)f->unknown_chunks);
		rc = put_note(f, sink, NOTE_INFO, text.msg);
	}
	return rc;
}

static int file_step(void *ctx, struct event_sink *sink, struct err *err)
{
	struct file_source *f = ctx;
	int rc = 0;

	while (!f->stopping && rc == 0) {
		if (f->raw_at >= f->raw_len && !next_chunk(f))
			break;
		rc = put_chunk(f, sink);
	}
	if (rc == 0) /* the end: the notes belong to the last batch */
		rc = put_notes(f, sink);
	if (rc < 0)
		return err_errno(err, rc, "take record %llu", (unsigned long long)f->event_cnt);
	return rc;
}

static void file_stop(void *ctx)
{
	((struct file_source *)ctx)->stopping = 1;
}

static void file_free(void *ctx)
{
	struct file_source *f = ctx;

	if (f->fd > STDERR_FILENO)
		close(f->fd);
	block_codec_free(f->codec);
	event_check_release(&f->check);
	free(f->stored);
	free(f->raw);
	free(f->path);
	free(f);
}

static int file_open(struct file_source *f, const char *path, struct err *err)
{
	struct stat st;

	f->path = xstrdup(strcmp(path, "-") == 0 ? "standard input" : path);
	f->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return err_errno(err, -errno, "open '%s'", path);
	if (fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode))
		f->file_bytes = (uint64_t)st.st_size;
	return 0;
}

/* The trace of another program: what was read of it goes along. */
static int file_import(struct file_source *f, const struct capture_header *h, size_t len,
		       struct source **ret_src, struct err *err)
{
	int fd = f->fd, rc;

	f->fd = -1;
	rc = import_open(fd, f->path, h, len, ret_src, err);
	file_free(f);
	return rc;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int source_file(const char *path, struct source **ret_src, struct err *err)
{
	static const struct source_ops ops = {
		.step = file_step,
		.stop = file_stop,
		.free = file_free,
	};
	struct file_source *f;
	struct capture_header h = {0};
	size_t len = 0;
	int rc;

	if (is_dir(path))
		return import_open_dir(path, ret_src, err);
	f = xcalloc(1, sizeof(*f));
	rc = file_open(f, path, err);
	if (rc == 0)
		rc = read_header(f, &h, &len, err);
	if (rc == 0 && !is_capture(&h, len))
		return file_import(f, &h, len, ret_src, err);
	if (rc == 0)
		rc = take_header(f, &h, len, err);
	if (rc < 0) {
		file_free(f);
		return rc;
	}
	f->codec = block_codec_new();
	f->stored = xmalloc(CHUNK_STORED_MAX);
	f->raw = xmalloc(CHUNK_RAW_MAX);
	*ret_src = source_new(&ops, f);
	return 0;
}
