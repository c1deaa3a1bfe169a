/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PBOUT_H
#define PBOUT_H
/*
 * The wire format of protocol buffers, written: fields appended to a buf one
 * after the other.  Knows no messages: a message inside another is written
 * apart and put in as bytes.  src/spans/parse/protobuf.h reads the same.
 */
#include <stddef.h>
#include <stdint.h>

struct buf;

void pbout_varint(struct buf *b, uint64_t v); /* a bare one, as in packed fields */
void pbout_num(struct buf *b, unsigned field, uint64_t v);
void pbout_i64(struct buf *b, unsigned field, uint64_t v); /* fixed, 8 bytes */
void pbout_bytes(struct buf *b, unsigned field, const void *data, size_t len);
void pbout_str(struct buf *b, unsigned field, const char *str);

/* inner becomes a field of b, and is empty again. */
void pbout_msg(struct buf *b, unsigned field, struct buf *inner);

#endif /* PBOUT_H */
