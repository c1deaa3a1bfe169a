/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/spans_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/alloc.h"
#include "base/err.h"

enum {
	PACKED = 1 << 17,	/* read at once where it must be unpacked */
	HEAD = 4,		/* tells how it is packed */
	TROUBLE_MAX = 96,
	ASK_MS = 100,		/* while nothing comes: whether to go on waiting */
};

enum packing { PLAIN, GZIP, ZSTD };

struct in_private {
	struct spans_in in;
	int fd;			/* -1: all there is stands in raw */
	enum packing packing;
	bool may_wait;		/* no file: a read may block */
	bool begun;		/* the first bytes were looked at */
	bool ended;		/* no more will come into the window */
	bool stopped, between;	/* between: at the end of a member or frame */
	uint8_t *window;
	size_t cap;		/* of the window, IN_PAD apart */
	const uint8_t *raw;	/* bytes of the file that are not yet taken */
	size_t raw_len;
	uint8_t *raw_buf;
	uint64_t read_bytes, all_bytes;
	z_stream z;
#ifdef HAVE_ZSTD
	ZSTD_DStream *zstd;
#endif
	bool (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
	void *progress_ctx;
	char trouble[TROUBLE_MAX];
};

static void trouble(struct in_private *p, const char *why, const char *detail)
{
	snprintf(p->trouble, sizeof(p->trouble), "%s%s%s", why, detail ? ": " : "",
		 detail ? detail : "");
}

static void ask_to_go_on(struct in_private *p)
{
	if (p->progress && !p->progress(p->progress_ctx, in_done_bytes(&p->in), p->all_bytes))
		p->ended = p->stopped = true;
}

/* A pipe may be silent for hours: Ctrl-C must not wait for what comes next.  false: stopped. */
static bool wait_for_more(struct in_private *p)
{
	struct pollfd one = {.fd = p->fd, .events = POLLIN};

	while (!p->stopped) {
		int rc = poll(&one, 1, ASK_MS);

		if (rc > 0 || (rc < 0 && errno != EINTR))
			return true;
		ask_to_go_on(p);
	}
	return false;
}

static size_t read_some(struct in_private *p, void *to, size_t len)
{
	ssize_t got;

	if (p->fd < 0 || (p->may_wait && !wait_for_more(p)))
		return 0;
	do
		got = read(p->fd, to, len);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		trouble(p, "cannot be read further", strerror(errno));
	p->read_bytes += got > 0 ? (uint64_t)got : 0;
	return got > 0 ? (size_t)got : 0;
}

/* false: the file has no more bytes. */
static bool raw_fill(struct in_private *p)
{
	if (p->raw_len)
		return true;
	p->raw = p->raw_buf;
	p->raw_len = read_some(p, p->raw_buf, PACKED);
	return p->raw_len != 0;
}

static size_t plain_some(struct in_private *p, uint8_t *to, size_t len)
{
	size_t n = p->raw_len < len ? p->raw_len : len;

	if (!n)
		return read_some(p, to, len);
	memcpy(to, p->raw, n);
	p->raw += n;
	p->raw_len -= n;
	return n;
}

/* True if a member follows; other bytes are padding of tapes and pipes, not damage. */
static bool gzip_goes_on(struct in_private *p)
{
	if (!p->between)
		return true;
	while (raw_fill(p) && *p->raw == 0) {
		p->raw++;
		p->raw_len--;
	}
	return p->raw_len != 0;
}

static size_t gzip_some(struct in_private *p, uint8_t *to, size_t len)
{
	p->z.next_out = to;
	p->z.avail_out = (uInt)len;
	while (p->z.avail_out == len && gzip_goes_on(p)) {
		int rc;

		if (!raw_fill(p)) {
			if (!p->trouble[0] && !p->stopped)
				trouble(p, "its gzip data ends in the middle", NULL);
			break;
		}
		p->z.next_in = (Bytef *)(uintptr_t)p->raw;
		p->z.avail_in = (uInt)(p->raw_len < PACKED ? p->raw_len : PACKED);
		p->between = false;
		rc = inflate(&p->z, Z_NO_FLUSH);
		p->raw_len -= (size_t)(p->z.next_in - p->raw);
		p->raw = p->z.next_in;
		if (rc == Z_STREAM_END) {
			inflateReset(&p->z);
			p->between = true;
		} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
			trouble(p, "its gzip data is damaged", p->z.msg);
			p->raw_len = 0;
			break;
		}
	}
	return len - p->z.avail_out;
}

#ifdef HAVE_ZSTD
static size_t zstd_some(struct in_private *p, uint8_t *to, size_t len)
{
	ZSTD_outBuffer out = {to, len, 0};

	while (out.pos == 0) {
		ZSTD_inBuffer in;
		size_t rc;

		/* without input it may still hold output back */
		if (!raw_fill(p) && p->between)
			break;
		in = (ZSTD_inBuffer){p->raw, p->raw_len, 0};
		rc = ZSTD_decompressStream(p->zstd, &out, &in);
		p->raw += in.pos;
		p->raw_len -= in.pos;
		if (ZSTD_isError(rc)) {
			trouble(p, "its zstd data is damaged", ZSTD_getErrorName(rc));
			break;
		}
		p->between = rc == 0;
		if (!p->between && in.pos == 0 && out.pos == 0 && !raw_fill(p)) {
			if (!p->trouble[0] && !p->stopped)
				trouble(p, "its zstd data ends in the middle", NULL);
			break;
		}
	}
	return out.pos;
}
#endif

static size_t some(struct in_private *p, uint8_t *to, size_t len)
{
	if (p->packing == GZIP)
		return gzip_some(p, to, len);
#ifdef HAVE_ZSTD
	if (p->packing == ZSTD)
		return zstd_some(p, to, len);
#endif
	return plain_some(p, to, len);
}

static void unpack_begin(struct in_private *p)
{
	static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};

	if (p->raw_len >= sizeof(gzip) && memcmp(p->raw, gzip, sizeof(gzip)) == 0) {
		p->packing = GZIP;
		if (inflateInit2(&p->z, MAX_WBITS + 16) != Z_OK) {
			trouble(p, "cannot be unpacked", "zlib");
			p->ended = true;
		}
	} else if (p->raw_len >= sizeof(zstd) && memcmp(p->raw, zstd, sizeof(zstd)) == 0) {
		p->packing = ZSTD;
#ifdef HAVE_ZSTD
		p->zstd = ZSTD_createDStream();
		p->ended = !p->zstd;
#else
		trouble(p, "is packed with zstd, which this build cannot read", NULL);
		p->ended = true;
#endif
	}
}

static struct spans_in *in_new(int fd)
{
	struct in_private *p = xcalloc(1, sizeof(*p));

	p->fd = fd;
	p->cap = IN_WINDOW;
	p->window = xmalloc(p->cap + IN_PAD);
	memset(p->window, 0, IN_PAD);
	p->in = (struct spans_in){.at = p->window, .end = p->window, .p = p};
	return &p->in;
}

struct spans_in *in_bytes(const void *data, size_t len)
{
	struct spans_in *in = in_new(-1);

	in->p->raw = data;
	in->p->raw_len = len;
	in->p->read_bytes = in->p->all_bytes = len;
	in->p->begun = true;
	unpack_begin(in->p);
	return in;
}

int in_open(const char *path, struct spans_in **ret, struct err *err)
{
	bool std = strcmp(path, "-") == 0;
	int fd = std ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct in_private *p;
	struct stat st;

	if (fd < 0)
		return err_errno(err, -errno, "open '%s'", path);
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode)) {
		if (!std)
			close(fd);
		return err_set(err, -EISDIR, "%s: is a directory, expected a file of spans", path);
	}
	p = in_new(fd)->p;
	p->all_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	p->may_wait = !S_ISREG(st.st_mode);
	p->raw_buf = xmalloc(PACKED);
	p->raw = p->raw_buf;
	*ret = &p->in;
	return 0;
}

void in_free(struct spans_in *in)
{
	struct in_private *p = in ? in->p : NULL;

	if (!p)
		return;
	if (p->packing == GZIP)
		inflateEnd(&p->z);
#ifdef HAVE_ZSTD
	ZSTD_freeDStream(p->zstd);
#endif
	if (p->fd > STDERR_FILENO)
		close(p->fd);
	free(p->raw_buf);
	free(p->window);
	free(p);
}

/* Not in in_open: whoever opens has not yet said by what the wait can be ended. */
static void begin(struct in_private *p)
{
	p->begun = true;
	/* a pipe may give its first bytes one by one */
	while (p->raw_len < HEAD) {
		size_t got = read_some(p, p->raw_buf + p->raw_len, PACKED - p->raw_len);

		p->raw_len += got;
		if (!got)
			break;
	}
	unpack_begin(p);
}

/* Moves what is left to the front and makes room for want. */
static void window_shift(struct in_private *p, size_t want)
{
	size_t left = (size_t)(p->in.end - p->in.at);

	memmove(p->window, p->in.at, left);
	if (want > p->cap) {
		size_t cap = p->cap;

		while (cap < want)
			cap *= 2;
		p->window = xrealloc(p->window, cap + IN_PAD);
		p->cap = cap;
	}
	p->in.at = p->window;
	p->in.end = p->window + left;
}

static void took(struct in_private *p, size_t got)
{
	p->ended |= got == 0;
	if (!p->stopped)
		ask_to_go_on(p);
}

size_t in_fill(struct spans_in *in, size_t want)
{
	struct in_private *p = in->p;
	size_t have = (size_t)(in->end - in->at);

	if (have >= want || p->ended)
		return have;
	if (!p->begun)
		begin(p);
	if (want > IN_WINDOW_MAX)
		want = IN_WINDOW_MAX;
	window_shift(p, want);
	while (have < want && !p->ended) {
		size_t got = some(p, p->window + have, p->cap - have);

		have += got;
		in->end_off += got;
		took(p, got);
	}
	in->end = p->window + have;
	memset(p->window + have, 0, IN_PAD);
	return have;
}

ssize_t in_read(void *ctx, char *buf, size_t cap)
{
	struct spans_in *in = ctx;
	struct in_private *p = in->p;
	size_t have = (size_t)(in->end - in->at);
	size_t n = have < cap ? have : cap;

	if (!have) { /* past the window */
		n = p->ended ? 0 : some(p, (uint8_t *)buf, cap);
		in->end_off += n;
		took(p, n);
		return (ssize_t)n;
	}
	memcpy(buf, in->at, n);
	in->at += n;
	return (ssize_t)n;
}

bool in_skip(struct spans_in *in, uint64_t len)
{
	while (len) {
		size_t have = in_fill(in, 1);
		size_t n = len < have ? (size_t)len : have;

		if (!have)
			return false;
		in->at += n;
		len -= n;
	}
	return true;
}

void in_on_progress(struct spans_in *in,
		    bool (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes),
		    void *ctx)
{
	in->p->progress = progress;
	in->p->progress_ctx = ctx;
}

uint64_t in_done_bytes(const struct spans_in *in)
{
	return in->p->read_bytes - in->p->raw_len;
}

uint64_t in_all_bytes(const struct spans_in *in)
{
	return in->p->all_bytes;
}

const char *in_packed_as(const struct spans_in *in)
{
	static const char *const names[] = {[PLAIN] = NULL, [GZIP] = "gzip", [ZSTD] = "zstd"};

	return names[in->p->packing];
}

bool in_stopped(const struct spans_in *in)
{
	return in->p->stopped;
}

const char *in_trouble(const struct spans_in *in)
{
	return in->p->trouble[0] ? in->p->trouble : NULL;
}
