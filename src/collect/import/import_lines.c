/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/import/import_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"

enum { BUFFER = 2 * LINE_MAX_BYTES, PACKED = 1 << 16 };

struct lines_reader {
	int fd;
	int error;		/* the text ends with it */
	bool packed, ended, early, skipping;
	uint64_t line;
	size_t at, len;		/* in text */
	size_t packed_len;
	z_stream z;
	char *text;
	unsigned char *in;	/* packed, or what was read already */
};

struct lines_reader *lines_reader_new(int fd, const void *first, size_t first_len)
{
	static const unsigned char magic[] = {0x1f, 0x8b};
	struct lines_reader *r = xcalloc(1, sizeof(*r));

	r->fd = fd;
	r->text = xmalloc(BUFFER);
	r->in = xmalloc(PACKED + first_len);
	memcpy(r->in, first, first_len);
	r->packed_len = first_len;
	r->packed = first_len >= sizeof(magic) && memcmp(first, magic, sizeof(magic)) == 0;
	if (r->packed && inflateInit2(&r->z, MAX_WBITS + 16) != Z_OK) {
		r->packed = false; /* nothing of it will be understood */
		r->early = true;
	}
	r->z.next_in = r->in;
	r->z.avail_in = (uInt)first_len;
	return r;
}

void lines_reader_free(struct lines_reader *r)
{
	if (!r)
		return;
	if (r->packed)
		inflateEnd(&r->z);
	if (r->fd > STDERR_FILENO)
		close(r->fd);
	free(r->text);
	free(r->in);
	free(r);
}

static size_t read_some(struct lines_reader *r, void *to, size_t len)
{
	ssize_t got;

	do
		got = read(r->fd, to, len);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		r->error = -errno;
	return got > 0 ? (size_t)got : 0;
}

/* As much text as there is at once; 0 at the end. */
static size_t unpack_some(struct lines_reader *r, char *to, size_t len)
{
	r->z.next_out = (unsigned char *)to;
	r->z.avail_out = (uInt)len;
	while (r->z.avail_out == len) {
		int rc;

		if (r->z.avail_in == 0) {
			r->z.next_in = r->in;
			r->z.avail_in = (uInt)read_some(r, r->in, PACKED);
			if (r->z.avail_in == 0) {
				r->early = r->z.total_in != 0; /* not between two members */
				return 0;
			}
		}
		rc = inflate(&r->z, Z_NO_FLUSH);
		if (rc == Z_STREAM_END)
			inflateReset(&r->z); /* more members may follow */
		else if (rc != Z_OK) {
			r->early = true;
			break;
		}
	}
	return len - r->z.avail_out;
}

static size_t get_some(struct lines_reader *r, char *to, size_t len)
{
	size_t first = r->packed_len < len ? r->packed_len : len;

	if (r->packed)
		return unpack_some(r, to, len);
	if (!first)
		return read_some(r, to, len);
	memcpy(to, r->in, first);
	memmove(r->in, r->in + first, r->packed_len - first);
	r->packed_len -= first;
	return first;
}

static void fill(struct lines_reader *r)
{
	size_t got;

	if (r->at) {
		r->len -= r->at;
		memmove(r->text, r->text + r->at, r->len);
		r->at = 0;
	}
	got = r->ended ? 0 : get_some(r, r->text + r->len, BUFFER - r->len);
	r->ended |= got == 0;
	r->len += got;
}

struct text lines_peek(struct lines_reader *r)
{
	while (!r->ended && r->len < PACKED)
		fill(r);
	return (struct text){r->text + r->at, r->text + r->len};
}

int lines_next(struct lines_reader *r, struct text *ret_line)
{
	for (;;) {
		char *from = r->text + r->at, *end = r->text + r->len;
		char *nl = memchr(from, '\n', (size_t)(end - from));
		bool whole = nl || end - from >= LINE_MAX_BYTES || (r->ended && end > from);

		if (!whole) {
			if (r->ended)
				return r->error;
			fill(r);
			continue;
		}
		if (!nl && end - from >= LINE_MAX_BYTES)
			nl = from + LINE_MAX_BYTES - 1; /* the rest is skipped below */
		else if (!nl)
			nl = end;
		r->at = (size_t)(nl - r->text) + (nl < end);
		if (r->skipping) {
			r->skipping = nl < end && *nl != '\n';
			continue;
		}
		r->skipping = nl < end && *nl != '\n';
		r->line++;
		*ret_line = (struct text){from, nl};
		if (nl > from && nl[-1] == '\r')
			ret_line->end--;
		return 1;
	}
}

uint64_t lines_number(const struct lines_reader *r)
{
	return r->line;
}

bool lines_ended_early(const struct lines_reader *r)
{
	return r->early;
}
