/* SPDX-License-Identifier: Apache-2.0 */
#include "store/block.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

#ifdef HAVE_ZSTD
#include <zstd.h>

enum { PACK_LEVEL = 1 };

struct block_codec {
	ZSTD_CCtx *pack; /* made at first use: a reader needs only the other */
	ZSTD_DCtx *unpack;
};

struct block_codec *block_codec_new(void)
{
	return xcalloc(1, sizeof(struct block_codec));
}

void block_codec_free(struct block_codec *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->pack);
	ZSTD_freeDCtx(c->unpack);
	free(c);
}

size_t block_pack(struct block_codec *c, const void *in, size_t in_len, void *out, size_t out_max)
{
	size_t len;

	if (!c->pack)
		c->pack = ZSTD_createCCtx();
	if (!c->pack)
		return 0;
	len = ZSTD_compressCCtx(c->pack, out, out_max, in, in_len, PACK_LEVEL);
	return ZSTD_isError(len) || len >= in_len ? 0 : len;
}

int block_unpack(struct block_codec *c, const void *in, size_t in_len, void *out, size_t out_len)
{
	size_t len;

	if (!c->unpack)
		c->unpack = ZSTD_createDCtx();
	if (!c->unpack)
		return -ENOMEM;
	len = ZSTD_decompressDCtx(c->unpack, out, out_len, in, in_len);
	return ZSTD_isError(len) || len != out_len ? -EBADMSG : 0;
}
#else
struct block_codec {
	char none;
};

struct block_codec *block_codec_new(void)
{
	return xcalloc(1, sizeof(struct block_codec));
}

void block_codec_free(struct block_codec *c)
{
	free(c);
}

size_t block_pack(struct block_codec *c, const void *in, size_t in_len, void *out, size_t out_max)
{
	(void)c, (void)in, (void)in_len, (void)out, (void)out_max;
	return 0;
}

int block_unpack(struct block_codec *c, const void *in, size_t in_len, void *out, size_t out_len)
{
	(void)c, (void)in, (void)in_len, (void)out, (void)out_len;
	return -ENOTSUP;
}
#endif
