/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BLOCK_H
#define BLOCK_H
/*
 * Compression of a block of memory, by libzstd.  A build without it writes
 * blocks as they are, and refuses to read compressed ones.
 */
#include <stdbool.h>
#include <stddef.h>

struct block_codec;

struct block_codec *block_codec_new(void);
void block_codec_free(struct block_codec *c);

/*
 * Compressed bytes in out, of room out_max; 0 when it did not get smaller
 * (store it as it is then).
 */
size_t block_pack(struct block_codec *c, const void *in, size_t in_len, void *out, size_t out_max);

/* 0 when exactly out_len bytes came out; -EBADMSG, -ENOTSUP without libzstd. */
int block_unpack(struct block_codec *c, const void *in, size_t in_len, void *out, size_t out_len);

#endif /* BLOCK_H */
