/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INFLATE_H
#define INFLATE_H
/*
 * Unpacks the body of a compressed ELF section.
 */
#include <stddef.h>
#include <stdint.h>

struct err;

/*
 * out_len bytes and a NUL, the caller's (free); the caller bounds out_len.
 * type is ELFCOMPRESS_*.  NULL with *err set when the stream does not give
 * exactly that many, or is of a kind this build cannot read (-ENOTSUP).
 */
uint8_t *inflate_new(uint32_t type, const uint8_t *in, size_t in_len, size_t out_len,
		     struct err *err);

#endif /* INFLATE_H */
