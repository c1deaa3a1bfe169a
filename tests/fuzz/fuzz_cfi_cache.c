/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of cached unwinding tables, with files as they are and with the
 * same ones signed: as if the secret of the cache were known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "fuzz.h"
#include "symbols/unwind/cfi.h"
#include "symbols/unwind/cfi_cache.h"
#include "symbols/files/siphash.h"

enum { HEAD_LEN = 80, ROW_CNT_AT = 32, EXT_CNT_AT = 40, BODY_HASH_AT = 64, HEAD_HASH_AT = 72 };

static const uint8_t key[16] = {1};

static uint64_t u64_at(const uint8_t *data, size_t at)
{
	uint64_t v;

	memcpy(&v, data + at, sizeof(v));
	return v;
}

static void sign(uint8_t *data, size_t size)
{
	uint64_t rows = u64_at(data, ROW_CNT_AT) * sizeof(struct unw_row);
	uint64_t exts = u64_at(data, EXT_CNT_AT) * sizeof(struct unw_ext);
	uint64_t parts[2], hash;

	memcpy(data, "HUCFI\0\0", 8);
	if (rows <= size - HEAD_LEN && exts <= size - HEAD_LEN - rows) {
		parts[0] = siphash(key, data + HEAD_LEN, rows);
		parts[1] = siphash(key, data + HEAD_LEN + rows, exts);
		hash = siphash(key, parts, sizeof(parts));
		memcpy(data + BODY_HASH_AT, &hash, sizeof(hash));
	}
	hash = siphash(key, data, HEAD_HASH_AT);
	memcpy(data + HEAD_HASH_AT, &hash, sizeof(hash));
}

static void parse(const uint8_t *data, size_t size)
{
	struct cfi_table t = {0};

	if (cfi_cache_parse(key, data, size, &t, NULL) < 0) {
		BUG_ON(t.rows || t.exts); /* a failed read changes nothing */
		return;
	}
	BUG_ON(cfi_check(&t, NULL) < 0);
	for (size_t i = 0; i < t.row_cnt; i++)
		BUG_ON(cfi_row(&t, t.rows[i].pc) != &t.rows[i]);
	cfi_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	parse(data, size);
	if (size < HEAD_LEN)
		return 0;
	copy = xmalloc(size);
	memcpy(copy, data, size);
	sign(copy, size);
	parse(copy, size);
	free(copy);
	return 0;
}
