/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/files/unxz.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/buf.h"

#ifdef HAVE_LZMA
#include <lzma.h>

enum { STEP = 1 << 20 };

int unxz(const void *data, size_t len, size_t max, uint8_t **ret_data, size_t *ret_len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	struct buf out = {0};
	lzma_ret code = lzma_stream_decoder(&stream, UNXZ_MEMORY_MAX, LZMA_CONCATENATED);

	stream.next_in = data;
	stream.avail_in = len;
	max = max < UNXZ_MAX ? max : UNXZ_MAX;
	while (code == LZMA_OK && out.len < max) {
		size_t step = max - out.len < STEP ? max - out.len : STEP;

		buf_reserve(&out, step);
		stream.next_out = (uint8_t *)out.data + out.len;
		stream.avail_out = step;
		code = lzma_code(&stream, LZMA_FINISH);
		out.len += step - stream.avail_out;
	}
	lzma_end(&stream);
	if (code != LZMA_STREAM_END) {
		buf_release(&out);
		return code == LZMA_OK || code == LZMA_MEMLIMIT_ERROR ? -E2BIG : -EBADMSG;
	}
	*ret_len = out.len;
	*ret_data = (uint8_t *)buf_detach(&out);
	return 0;
}

#else

int unxz(const void *data, size_t len, size_t max, uint8_t **ret_data, size_t *ret_len)
{
	(void)data;
	(void)len;
	(void)max;
	(void)ret_data;
	(void)ret_len;
	return -ENOTSUP;
}

#endif
