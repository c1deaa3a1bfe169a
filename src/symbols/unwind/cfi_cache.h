/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CFI_CACHE_H
#define CFI_CACHE_H
/*
 * Tables on disk, by build id, for what takes more than a few milliseconds.
 *
 *	cfi_cache_open, cfi_cached ...  cfi_cache_free
 *
 * A build id is what a file says of itself: a container's binary may claim that
 * of the host's libc.  So an entry also names, by a hash with a secret of this
 * cache, the bytes it was made from, and is signed by the same secret.  It is
 * checked like a table of unknown origin when it is read.
 *
 * Bounds: CFI_CACHE_BYTES on disk, the least recently used go first.  The
 * directory is 0700, files are 0600 and appear by rename.
 */
#include <stddef.h>
#include <stdint.h>

struct cfi_cache;
struct cfi_table;
struct err;
struct image;

#define CFI_CACHE_DIR "/var/cache/heldup"
#define CFI_CACHE_BYTES (UINT64_C(256) << 20)

struct cfi_cache_counts {
	uint64_t hit_cnt;
	uint64_t built_cnt;  /* made anew, whether kept or not */
	uint64_t stale_cnt;  /* an entry there was, but damaged or of other bytes */
	uint64_t failed_cnt; /* could not be written */
};

/*
 * dir NULL is CFI_CACHE_DIR; it is made when missing.  NULL with *err set when
 * it cannot be used, as by one who is not root, or where its file system does not
 * answer within a second: go on without.
 */
struct cfi_cache *cfi_cache_open(const char *dir, struct err *err);
void cfi_cache_free(struct cfi_cache *c);

/* As cfi_build, from the cache when it has it and into it when not.  c may be NULL. */
int cfi_cached(struct cfi_cache *c, struct image *im, struct cfi_table *ret, struct err *err);

struct cfi_cache_counts cfi_cache_counts(const struct cfi_cache *c);

/* The bytes of a cache file, for tests; -EBADMSG when they are none, or not signed with key. */
int cfi_cache_parse(const uint8_t key[16], const void *data, size_t len, struct cfi_table *ret,
		    struct err *err);

#endif /* CFI_CACHE_H */
