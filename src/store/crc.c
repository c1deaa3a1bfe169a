/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum of a chunk of a capture. */
#include <zlib.h>

#include "store/format.h"

uint32_t crc32_of(const void *data, size_t len)
{
	return (uint32_t)crc32_z(0, data, len);
}
