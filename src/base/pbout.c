/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pbout.h"

#include <endian.h>
#include <string.h>

#include "base/buf.h"

enum wire_type { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_LEN = 2 };

void pbout_varint(struct buf *b, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		buf_addch(b, (char)(v | 0x80));
	buf_addch(b, (char)v);
}

static void put_key(struct buf *b, unsigned field, enum wire_type type)
{
	pbout_varint(b, (uint64_t)field << 3 | type);
}

void pbout_num(struct buf *b, unsigned field, uint64_t v)
{
	put_key(b, field, WIRE_VARINT);
	pbout_varint(b, v);
}

void pbout_i64(struct buf *b, unsigned field, uint64_t v)
{
	uint64_t le = htole64(v);

	put_key(b, field, WIRE_I64);
	buf_add(b, &le, sizeof(le));
}

void pbout_bytes(struct buf *b, unsigned field, const void *data, size_t len)
{
	put_key(b, field, WIRE_LEN);
	pbout_varint(b, len);
	buf_add(b, data, len);
}

void pbout_str(struct buf *b, unsigned field, const char *str)
{
	pbout_bytes(b, field, str, strlen(str));
}

void pbout_msg(struct buf *b, unsigned field, struct buf *inner)
{
	pbout_bytes(b, field, buf_str(inner), inner->len);
	buf_clear(inner);
}
