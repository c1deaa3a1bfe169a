/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/debugfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "symbols/files/image.h"
#include "symbols/files/inroot.h"

enum { LINK_MAX_LEN = 255, PATH_LEN_MAX = 4096 };

struct want {
	struct image *im;
	const uint8_t *build_id;
	size_t build_id_len;
	uint32_t crc;
	bool has_crc;
};

/* The checksum of .gnu_debuglink is zlib's. */
static bool crc_fits(const struct image *im, uint32_t crc)
{
	uint64_t size = image_size(im);
	uint8_t *chunk;
	bool ok = size <= DEBUGFILE_CRC_MAX;
	uLong sum = crc32(0, NULL, 0);
	enum { CHUNK = 1 << 20 };

	chunk = xmalloc(CHUNK);
	for (uint64_t off = 0; ok && off < size; off += CHUNK) {
		size_t len = size - off < CHUNK ? size - off : CHUNK;

		ok = image_read(im, off, chunk, len, NULL) == 0;
		if (ok)
			sum = crc32(sum, chunk, (uInt)len);
	}
	free(chunk);
	return ok && sum == crc;
}

static bool fits(const struct want *w, int fd)
{
	struct image *im = image_open(fd, NULL);
	const uint8_t *id;
	size_t len;
	bool ok = false;

	if (!im)
		return false;
	id = image_build_id(im, &len);
	if (w->build_id_len && image_find(im, ".symtab"))
		ok = len == w->build_id_len && memcmp(id, w->build_id, len) == 0;
	else if (!w->build_id_len && w->has_crc)
		ok = crc_fits(im, w->crc);
	image_free(im);
	return ok;
}

/* The descriptor of root/path when it is the file wanted; else -1. */
static int attempt(const struct want *w, const char *root, const char *path)
{
	int fd = inroot_open(root, path);

	if (fd >= 0 && !fits(w, fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void build_id_path(const struct want *w, struct buf *out)
{
	buf_clear(out);
	buf_adds(out, "/usr/lib/debug/.build-id/");
	for (size_t i = 0; i < w->build_id_len; i++)
		buf_printf(out, "%s%02x", i == 1 ? "/" : "", w->build_id[i]);
	buf_adds(out, ".debug");
}

/* The link's name, which is a plain file name, and its checksum behind it at a multiple of 4. */
static bool link_of(struct want *w, char name[LINK_MAX_LEN + 1])
{
	const struct image_section *sec = image_find(w->im, ".gnu_debuglink");
	const uint8_t *data;
	size_t len, name_len, crc_at;

	if (!sec || image_data(w->im, sec, &data, &len, NULL) < 0)
		return false;
	name_len = strnlen((const char *)data, len);
	crc_at = (name_len + 4) & ~(size_t)3;
	if (!name_len || name_len > LINK_MAX_LEN || crc_at + 4 > len ||
	    memchr(data, '/', name_len) || data[0] == '.')
		return false;
	memcpy(name, data, name_len + 1);
	memcpy(&w->crc, data + crc_at, sizeof(w->crc));
	w->has_crc = true;
	return true;
}

static int by_link(const struct want *w, const char *root, const char *path, const char *name,
		   struct buf *out)
{
	static const struct {
		const char *before, *between;
	} places[] = {{"", "/"}, {"", "/.debug/"}, {"/usr/lib/debug", "/"}};
	const char *slash = strrchr(path, '/');
	int dir_len = slash && slash - path < PATH_LEN_MAX ? (int)(slash - path) : 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		buf_clear(out);
		buf_printf(out, "%s%.*s%s%s", places[i].before, dir_len, path, places[i].between,
			   name);
		int fd = attempt(w, root, buf_str(out));
		if (fd >= 0)
			return fd;
	}
	return -1;
}

int debugfile_open(struct image *im, const char *path, const char *root, char **ret_path)
{
	const char *roots[] = {root, "/"};
	struct want w = {.im = im};
	CLEANUP(buf_release) struct buf at = {0};
	char link[LINK_MAX_LEN + 1];
	bool has_link;

	w.build_id = image_build_id(im, &w.build_id_len);
	has_link = link_of(&w, link);
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		int fd = -1;

		if (!roots[i])
			continue;
		if (w.build_id_len > 1) {
			build_id_path(&w, &at);
			fd = attempt(&w, roots[i], buf_str(&at));
		}
		if (fd < 0 && has_link && *path == '/')
			fd = by_link(&w, roots[i], path, link, &at);
		if (fd >= 0) {
			*ret_path = buf_detach(&at);
			return fd;
		}
	}
	return -ENOENT;
}
