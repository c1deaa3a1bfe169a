/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/files/inflate.h"

#include <elf.h>
#include <errno.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/alloc.h"
#include "base/err.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* the largest ratio of each; a header that claims more is a bomb or damaged */
enum { ZLIB_RATIO_MAX = 1032, ZSTD_RATIO_MAX = 50000, SMALL = 4096 };

static int zlib_into(uint8_t *out, size_t out_len, const uint8_t *in, size_t in_len)
{
	uLongf got = out_len;

	return uncompress(out, &got, in, in_len) == Z_OK && got == out_len ? 0 : -EBADMSG;
}

static int zstd_into(uint8_t *out, size_t out_len, const uint8_t *in, size_t in_len)
{
#ifdef HAVE_ZSTD
	size_t got = ZSTD_decompress(out, out_len, in, in_len);

	return !ZSTD_isError(got) && got == out_len ? 0 : -EBADMSG;
#else
	(void)out, (void)out_len, (void)in, (void)in_len;
	return -ENOTSUP;
#endif
}

uint8_t *inflate_new(uint32_t type, const uint8_t *in, size_t in_len, size_t out_len,
		     struct err *err)
{
	size_t ratio = type == ELFCOMPRESS_ZLIB ? ZLIB_RATIO_MAX : ZSTD_RATIO_MAX;
	uint8_t *out;
	int ret;

	if (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD) {
		err_set(err, -ENOTSUP, "compressed in an unknown way (%u)", type);
		return NULL;
	}
	if (out_len > SMALL && out_len / ratio > in_len) {
		err_set(err, -EBADMSG, "%zu bytes cannot inflate to %zu", in_len, out_len);
		return NULL;
	}
	out = alloc_big(out_len + 1);
	if (!out) {
		err_set(err, -ENOMEM, "no memory for %zu bytes", out_len);
		return NULL;
	}
	ret = type == ELFCOMPRESS_ZLIB ? zlib_into(out, out_len, in, in_len)
				       : zstd_into(out, out_len, in, in_len);
	if (ret == 0) {
		out[out_len] = '\0';
		return out;
	}
	free(out);
	err_set(err, ret, ret == -ENOTSUP ? "compressed with zstd, which this build cannot read"
					  : "damaged compressed data");
	return NULL;
}
