/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is struct head, then rows and rules as they are in memory:
 * a cache is read on the machine that wrote it.  VERSION goes up with any
 * change of the tables' meaning.
 */
#include "symbols/unwind/cfi_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cmp.h"
#include "base/err.h"
#include "base/file.h"
#include "base/timed/timed_fork.h"
#include "base/vec.h"
#include "symbols/unwind/cfi.h"
#include "symbols/unwind/cfi_int.h"
#include "symbols/files/image.h"
#include "symbols/files/siphash.h"

enum {
	VERSION = 4,
	KEY_LEN = 16,
	SOURCE_MIN = 256 << 10, /* less is read as fast as a cache file */
	NAME_MAX_LEN = 2 * IMAGE_BUILD_ID_MAX + 5,
	ENTRIES_MAX = 4096,
};
#define TRY_NS NS_PER_SEC

static const char SUFFIX[] = ".cfi";

struct head {
	char magic[8];
	uint32_t version;
	uint32_t text_len;
	uint64_t base_vaddr;
	uint64_t source_hash;
	uint64_t row_cnt, ext_cnt;
	uint32_t fde_cnt, bad_cnt, odd_cnt;
	uint32_t pad;
	uint64_t body_hash; /* of all after head */
	uint64_t head_hash; /* of all before this */
};
_Static_assert(sizeof(struct head) == 80, "head");
static const char MAGIC[8] = "HUCFI";

struct cfi_cache {
	int dir;
	uint8_t key[KEY_LEN];
	struct cfi_cache_counts counts;
};

/* Made by whoever is first. */
static int key_load(struct cfi_cache *c, struct err *err)
{
	CLEANUP_CLOSE int made = openat(c->dir, "key.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
					0600);
	CLEANUP_CLOSE int fd = -1;

	if (made >= 0) {
		if (getrandom(c->key, KEY_LEN, 0) != KEY_LEN ||
		    file_write_all(made, c->key, KEY_LEN) < 0)
			return err_set(err, -EIO, "cannot write its key");
		linkat(c->dir, "key.new", c->dir, "key", 0); /* keeps one that is there */
		unlinkat(c->dir, "key.new", 0);
	}
	fd = openat(c->dir, "key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && read(fd, c->key, KEY_LEN) == KEY_LEN)
		return 0;
	unlinkat(c->dir, "key.new", 0); /* of one that died: the next makes it */
	return err_set(err, -EBADMSG, "no key in it");
}

static int dir_open(struct cfi_cache *c, const char *dir, struct err *err)
{
	struct stat st;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_errno(err, -errno, "make");
	c->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (c->dir < 0 || fstat(c->dir, &st) < 0)
		return err_errno(err, -errno, "open");
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return err_set(err, -EPERM, "others may read or write it (chmod 700, chown)");
	return key_load(c, err);
}

/* Tries what a watch will do there: a file system that is dead, or frozen, ends none of it. */
static int dir_try(const void *ctx, int talk, struct err *err)
{
	struct cfi_cache c = {.dir = -1};
	int code = dir_open(&c, ctx, err);
	char name[32];

	(void)talk;
	snprintf(name, sizeof(name), "try.%d", getpid());
	if (code == 0) {
		int fd = openat(c.dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		unlinkat(c.dir, name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (c.dir >= 0)
		close(c.dir);
	return code;
}

struct cfi_cache *cfi_cache_open(const char *dir, struct err *err)
{
	struct cfi_cache *c = xcalloc(1, sizeof(*c));

	if (!dir)
		dir = CFI_CACHE_DIR;
	c->dir = -1;
	if (timed_fork(dir_try, dir, TRY_NS, err) < 0 || dir_open(c, dir, err) < 0) {
		err_prefix(err, "cache '%s'", dir);
		cfi_cache_free(c);
		return NULL;
	}
	return c;
}

void cfi_cache_free(struct cfi_cache *c)
{
	if (!c)
		return;
	if (c->dir >= 0)
		close(c->dir);
	free(c);
}

struct cfi_cache_counts cfi_cache_counts(const struct cfi_cache *c)
{
	return c ? c->counts : (struct cfi_cache_counts){0};
}

static bool name_of(const struct image *im, char name[NAME_MAX_LEN])
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *id;
	size_t len;

	id = image_build_id(im, &len);
	for (size_t i = 0; i < len; i++) {
		name[2 * i] = digits[id[i] >> 4];
		name[2 * i + 1] = digits[id[i] & 15];
	}
	memcpy(name + 2 * len, SUFFIX, sizeof(SUFFIX));
	return len > 0;
}

/* All that a table is made from; false when it is not worth a file. */
static bool source_hash(const struct cfi_cache *c, struct image *im, uint64_t *ret)
{
	CLEANUP(cfi_sections_release) struct cfi_sections s = {0};
	uint64_t parts[2 + 3 * CFI_PLT_CNT + 3 * CFI_SECTION_CNT];
	size_t cnt = 2 + 3 * CFI_PLT_CNT, bytes = 0;

	if (cfi_find(im, &s, NULL) < 0)
		return false;
	parts[0] = image_base_vaddr(im);
	parts[1] = image_text_len(im);
	cfi_plt_facts(im, parts + 2);
	for (size_t i = 0; i < s.cnt; i++) {
		parts[cnt++] = siphash(c->key, s.list[i].data, s.list[i].len);
		parts[cnt++] = s.list[i].vaddr;
		parts[cnt++] = s.list[i].debug;
		bytes += s.list[i].len;
	}
	*ret = siphash(c->key, parts, cnt * sizeof(parts[0]));
	return bytes >= SOURCE_MIN;
}

static uint64_t head_hash(const uint8_t key[KEY_LEN], const struct head *h)
{
	return siphash(key, h, offsetof(struct head, head_hash));
}

/* Rows and rules each for themselves: in memory they are not together as in the file. */
static uint64_t body_hash(const uint8_t key[KEY_LEN], const struct head *h, const void *rows,
			  const void *exts)
{
	uint64_t parts[2] = {siphash(key, rows, h->row_cnt * sizeof(struct unw_row)),
			     siphash(key, exts, h->ext_cnt * sizeof(struct unw_ext))};

	return siphash(key, parts, sizeof(parts));
}

static void *part(const uint8_t **at, size_t cnt, size_t size)
{
	void *copy = xmalloc(cnt * size);

	memcpy(copy, *at, cnt * size);
	*at += cnt * size;
	return copy;
}

static int head_check(const uint8_t key[KEY_LEN], const struct head *h, const uint8_t *body,
		      size_t body_len, struct err *err)
{
	if (memcmp(h->magic, MAGIC, sizeof(MAGIC)) != 0 || h->version != VERSION)
		return err_set(err, -EBADMSG, "not a table of this version");
	if (h->head_hash != head_hash(key, h))
		return err_set(err, -EBADMSG, "its head is damaged");
	if (h->row_cnt > CFI_ROW_MAX || h->ext_cnt > CFI_EXT_MAX ||
	    body_len != h->row_cnt * sizeof(struct unw_row) + h->ext_cnt * sizeof(struct unw_ext))
		return err_set(err, -EBADMSG, "its counts are wrong");
	if (h->body_hash != body_hash(key, h, body, body + h->row_cnt * sizeof(struct unw_row)))
		return err_set(err, -EBADMSG, "its rows are damaged");
	return 0;
}

int cfi_cache_parse(const uint8_t key[KEY_LEN], const void *data, size_t len,
		    struct cfi_table *ret, struct err *err)
{
	const uint8_t *at = (const uint8_t *)data + sizeof(struct head);
	struct cfi_table t = {0};
	struct head h;
	int code;

	if (len < sizeof(h))
		return err_set(err, -EBADMSG, "too short");
	memcpy(&h, data, sizeof(h));
	code = head_check(key, &h, at, len - sizeof(h), err);
	if (code < 0)
		return code;
	t = (struct cfi_table){.row_cnt = h.row_cnt,
			       .ext_cnt = h.ext_cnt,
			       .base_vaddr = h.base_vaddr,
			       .text_len = h.text_len,
			       .fde_cnt = h.fde_cnt,
			       .bad_cnt = h.bad_cnt,
			       .odd_cnt = h.odd_cnt};
	t.rows = part(&at, t.row_cnt, sizeof(*t.rows));
	t.exts = part(&at, t.ext_cnt, sizeof(*t.exts));
	code = cfi_check(&t, err);
	if (code < 0)
		cfi_release(&t);
	else
		*ret = t;
	return code;
}

/* 0 and the table; -ENOENT when there is no entry; else it is stale. */
static int load(const struct cfi_cache *c, const char *name, uint64_t source,
		struct cfi_table *ret)
{
	CLEANUP_CLOSE int fd = openat(c->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	CLEANUP_FREE uint8_t *data = NULL;
	const struct head *h;
	struct stat st;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_size < (off_t)sizeof(*h) || (uint64_t)st.st_size > CFI_CACHE_BYTES)
		return -EBADMSG;
	data = alloc_big((size_t)st.st_size);
	if (!data || read(fd, data, (size_t)st.st_size) != st.st_size)
		return -EBADMSG;
	h = (const void *)data;
	if (h->source_hash != source)
		return -EBADMSG;
	futimens(fd, NULL); /* used now */
	return cfi_cache_parse(c->key, data, (size_t)st.st_size, ret, NULL);
}

struct entry {
	char name[NAME_MAX_LEN];
	struct timespec used;
	uint64_t bytes;
};

static int entry_older(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	CMP(x->used.tv_sec, y->used.tv_sec);
	CMP(x->used.tv_nsec, y->used.tv_nsec);
	return 0;
}

/* Makes room for bytes more; what is no entry of ours is left alone. */
static void make_room(const struct cfi_cache *c, uint64_t bytes)
{
	int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	VEC(struct entry) all = {0};
	struct stat st;

	if (!dir)
		return;
	for (struct dirent *d = readdir(dir); d; d = readdir(dir)) {
		size_t len = strlen(d->d_name);
		struct entry e = {0};

		if (len >= NAME_MAX_LEN || !strstr(d->d_name, SUFFIX) || all.cnt == ENTRIES_MAX ||
		    fstatat(c->dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		memcpy(e.name, d->d_name, len);
		e.used = st.st_mtim;
		e.bytes = (uint64_t)st.st_size;
		bytes += e.bytes;
		vec_push(&all, e);
	}
	vec_sort(&all, entry_older);
	for (size_t i = 0; i < all.cnt && bytes > CFI_CACHE_BYTES; i++) {
		unlinkat(c->dir, all.items[i].name, 0);
		bytes -= all.items[i].bytes;
	}
	vec_release(&all);
}

static int write_parts(const struct cfi_cache *c, int fd, struct head *h,
		       const struct cfi_table *t)
{
	size_t rows = t->row_cnt * sizeof(*t->rows), exts = t->ext_cnt * sizeof(*t->exts);
	int ret;

	h->body_hash = body_hash(c->key, h, t->rows, t->exts);
	h->head_hash = head_hash(c->key, h);
	ret = file_write_all(fd, h, sizeof(*h));
	if (ret == 0)
		ret = file_write_all(fd, t->rows, rows);
	return ret < 0 ? ret : file_write_all(fd, t->exts, exts);
}

static int store(const struct cfi_cache *c, const char *name, uint64_t source,
		 const struct cfi_table *t)
{
	struct head h = {.version = VERSION,
			 .text_len = t->text_len,
			 .base_vaddr = t->base_vaddr,
			 .source_hash = source,
			 .row_cnt = t->row_cnt,
			 .ext_cnt = t->ext_cnt,
			 .fde_cnt = t->fde_cnt,
			 .bad_cnt = t->bad_cnt,
			 .odd_cnt = t->odd_cnt};
	char tmp[NAME_MAX_LEN + 16];
	CLEANUP_CLOSE int fd = -1;
	int ret;

	memcpy(h.magic, MAGIC, sizeof(MAGIC));
	make_room(c, sizeof(h) + t->row_cnt * sizeof(*t->rows) + t->ext_cnt * sizeof(*t->exts));
	snprintf(tmp, sizeof(tmp), "new.%d", getpid());
	fd = openat(c->dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	ret = write_parts(c, fd, &h, t);
	if (ret == 0 && renameat(c->dir, tmp, c->dir, name) < 0)
		ret = -errno;
	if (ret < 0)
		unlinkat(c->dir, tmp, 0);
	return ret;
}

int cfi_cached(struct cfi_cache *c, struct image *im, struct cfi_table *ret, struct err *err)
{
	char name[NAME_MAX_LEN];
	uint64_t source = 0;
	bool kept = c && name_of(im, name) && source_hash(c, im, &source);
	int code = kept ? load(c, name, source, ret) : -ENOENT;

	if (code == 0) {
		c->counts.hit_cnt++;
		return 0;
	}
	if (c && code != -ENOENT)
		c->counts.stale_cnt++;
	code = cfi_build(im, ret, err);
	if (c)
		c->counts.built_cnt++;
	if (code == 0 && kept && store(c, name, source, ret) < 0)
		c->counts.failed_cnt++;
	return code;
}
