/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "symbols/unwind/cfi.h"
#include "symbols/unwind/cfi_cache.h"
#include "symbols/files/image.h"
#include "symbols/files/siphash.h"

/* The test vector of the paper's appendix A. */
TEST(siphash_of_the_paper)
{
	uint8_t key[16], data[15];

	for (uint8_t i = 0; i < 16; i++)
		key[i] = i;
	for (uint8_t i = 0; i < 15; i++)
		data[i] = i;
	EQ_U(siphash(key, data, sizeof(data)), UINT64_C(0xa129ca6149be45e5));
}

struct lab {
	char dir[64];
	struct cfi_cache *cache;
	struct image *im;
};

/* A file with a build id and enough call frame information to be kept. */
static void lab_make(struct lab *l)
{
	int fd = open("/usr/bin/gdb", O_RDONLY);
	struct err err = {0};

	if (fd < 0)
		fd = open("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", O_RDONLY);
	if (fd < 0)
		SKIP("no large library here");
	snprintf(l->dir, sizeof(l->dir), "/tmp/heldup-unit-XXXXXX");
	OK(mkdtemp(l->dir));
	l->im = image_open(fd, &err);
	close(fd);
	OK(l->im);
	l->cache = cfi_cache_open(l->dir, &err);
	EQ_S(err.msg, "");
}

/* The only entry; its path below the directory. */
static void entry_path(const struct lab *l, char *out, size_t len)
{
	const uint8_t *id;
	size_t id_len;
	int at = snprintf(out, len, "%s/", l->dir);

	id = image_build_id(l->im, &id_len);
	for (size_t i = 0; i < id_len; i++)
		at += snprintf(out + at, len - (size_t)at, "%02x", id[i]);
	snprintf(out + at, len - (size_t)at, ".cfi");
}

static void lab_end(struct lab *l)
{
	char path[160];

	entry_path(l, path, sizeof(path));
	unlink(path);
	snprintf(path, sizeof(path), "%s/key", l->dir);
	unlink(path);
	EQ_I(rmdir(l->dir), 0); /* nothing else was left */
	cfi_cache_free(l->cache);
	image_free(l->im);
}

static void same(const struct cfi_table *a, const struct cfi_table *b)
{
	EQ_U(a->row_cnt, b->row_cnt);
	EQ_U(a->ext_cnt, b->ext_cnt);
	EQ_U(a->base_vaddr, b->base_vaddr);
	EQ_U(a->text_len, b->text_len);
	EQ_U(a->fde_cnt, b->fde_cnt);
	EQ_U(a->odd_cnt, b->odd_cnt);
	OK(memcmp(a->rows, b->rows, a->row_cnt * sizeof(*a->rows)) == 0);
	OK(memcmp(a->exts, b->exts, a->ext_cnt * sizeof(*a->exts)) == 0);
}

TEST(cfi_cache_gives_what_was_put)
{
	struct cfi_table made = {0}, got = {0};
	struct lab l = {0};
	struct err err = {0};
	struct stat st;
	char path[160];

	lab_make(&l);
	EQ_I(cfi_cached(l.cache, l.im, &made, &err), 0);
	EQ_U(cfi_cache_counts(l.cache).built_cnt, 1);
	EQ_U(cfi_cache_counts(l.cache).failed_cnt, 0);
	EQ_I(cfi_cached(l.cache, l.im, &got, &err), 0);
	EQ_U(cfi_cache_counts(l.cache).hit_cnt, 1);
	same(&made, &got);
	entry_path(&l, path, sizeof(path));
	EQ_I(stat(path, &st), 0);
	EQ_U(st.st_mode & 0777, 0600);
	cfi_release(&made);
	cfi_release(&got);
	lab_end(&l);
}

/* A file that claims the build id of another, as a hostile container's may. */
TEST(cfi_cache_is_not_fooled_by_a_build_id)
{
	struct cfi_table made = {0}, got = {0};
	const struct image_section *sec;
	struct lab l = {0};
	struct err err = {0};
	struct image *other;
	char *bytes;
	size_t len;

	lab_make(&l);
	EQ_I(cfi_cached(l.cache, l.im, &made, &err), 0);
	len = image_size(l.im);
	bytes = malloc(len);
	EQ_I(image_read(l.im, 0, bytes, len, &err), 0);
	sec = image_find(l.im, ".eh_frame");
	bytes[sec->off + sec->size / 2] ^= 1;
	other = image_open_bytes(bytes, len, &err);
	EQ_I(cfi_cached(l.cache, other, &got, &err), 0);
	EQ_U(cfi_cache_counts(l.cache).hit_cnt, 0);
	EQ_U(cfi_cache_counts(l.cache).stale_cnt, 1);
	image_free(other);
	free(bytes);
	cfi_release(&made);
	cfi_release(&got);
	lab_end(&l);
}

/* Cut, or one bit changed anywhere: built anew, and right. */
TEST(cfi_cache_distrusts_what_it_finds)
{
	struct cfi_table made = {0}, got = {0};
	struct lab l = {0};
	struct err err = {0};
	struct buf file = {0};
	char path[160];
	uint64_t stale = 0;

	lab_make(&l);
	EQ_I(cfi_cached(l.cache, l.im, &made, &err), 0);
	entry_path(&l, path, sizeof(path));
	EQ_I(file_read(path, 64 << 20, &file, &err), 0);
	for (size_t i = 0; i < 40; i++) {
		size_t at = i < 10 ? i * 8 : (file.len - 1) / 40 * (i + 1);
		int fd = open(path, O_WRONLY | O_TRUNC);
		bool cut = i % 8 == 7;

		ROW(i);
		file.data[at] ^= (char)(1 << i % 8);
		EQ_I(file_write_all(fd, file.data, cut ? at : file.len), 0);
		file.data[at] ^= (char)(1 << i % 8);
		close(fd);
		EQ_I(cfi_cached(l.cache, l.im, &got, &err), 0);
		EQ_U(cfi_cache_counts(l.cache).stale_cnt, ++stale);
		same(&made, &got);
		cfi_release(&got);
	}
	EQ_U(cfi_cache_counts(l.cache).hit_cnt, 0);
	buf_release(&file);
	cfi_release(&made);
	lab_end(&l);
}

TEST(cfi_cache_needs_a_private_directory)
{
	struct lab l = {0};
	struct err err = {0};
	char path[160];

	lab_make(&l);
	EQ_I(chmod(l.dir, 0755), 0);
	OK(!cfi_cache_open(l.dir, &err));
	HAS(err.msg, "others may");
	EQ_I(chmod(l.dir, 0700), 0);
	snprintf(path, sizeof(path), "%s-link", l.dir);
	EQ_I(symlink(l.dir, path), 0);
	OK(!cfi_cache_open(path, &err));
	unlink(path);
	lab_end(&l);
}

TEST(cfi_cached_without_a_cache)
{
	struct cfi_table t = {0};
	struct lab l = {0};
	struct err err = {0};

	lab_make(&l);
	EQ_I(cfi_cached(NULL, l.im, &t, &err), 0);
	OK(t.row_cnt);
	EQ_U(cfi_cache_counts(NULL).hit_cnt, 0);
	cfi_release(&t);
	lab_end(&l);
}
