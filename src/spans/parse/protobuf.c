/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/parse/protobuf.h"

#include <endian.h>
#include <string.h>

static bool broken(struct pb *m, const char *expected)
{
	m->broken = expected;
	m->end = m->at;
	return false;
}

bool pb_varint(struct pb *m, uint64_t *ret)
{
	const uint8_t *at = m->at;
	uint64_t v = 0;

	if (at < m->end && *at < 0x80) {
		*ret = *at;
		m->at++;
		return true;
	}
	for (unsigned shift = 0; shift < 7 * PB_VARINT_MAX && at < m->end; shift += 7) {
		uint8_t b = *at++;

		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			m->at = at;
			*ret = v;
			return true;
		}
	}
	return broken(m, "a varint of 64 bits");
}

/* Tag and, where it follows, number or length. */
static inline bool head(struct pb *m, struct pb_field *ret)
{
	const uint8_t *from = m->at;
	uint64_t tag;

	if (!pb_varint(m, &tag))
		return false;
	ret->num = (uint32_t)(tag >> 3);
	ret->type = tag & 7;
	if (tag < 8 || tag >> 3 > PB_NUM_MAX) {
		m->at = from;
		return broken(m, "a tag with a field number");
	}
	switch (ret->type) {
	case PB_LEN:
	case PB_VARINT:
		return pb_varint(m, &ret->value);
	case PB_I64:
	case PB_I32:
		return true;
	default:
		m->at = from;
		return broken(m, "a tag of type varint, 64 bits, 32 bits or length");
	}
}

bool pb_head(struct pb *m, struct pb_field *ret)
{
	return head(m, ret);
}

static bool fixed(struct pb *m, struct pb_field *ret)
{
	uint64_t v8;
	uint32_t v4;

	if (ret->type == PB_I64) {
		if (m->end - m->at < 8)
			return broken(m, "8 bytes");
		memcpy(&v8, m->at, 8);
		ret->value = le64toh(v8);
		m->at += 8;
	} else {
		if (m->end - m->at < 4)
			return broken(m, "4 bytes");
		memcpy(&v4, m->at, 4);
		ret->value = le32toh(v4);
		m->at += 4;
	}
	return true;
}

/* A field of 8 bytes, or a number of one, behind a tag of one; false: it is none, or not whole. */
static inline bool next_small(struct pb *m, struct pb_field *ret)
{
	const uint8_t *at = m->at;

	if (m->end - at < 2 || at[0] < 8 || at[0] >= 0x80)
		return false;
	ret->num = at[0] >> 3;
	ret->type = at[0] & 7;
	if (ret->type == PB_I64 && m->end - at >= 9) {
		memcpy(&ret->value, at + 1, 8);
		ret->value = le64toh(ret->value);
		m->at = at + 9;
		return true;
	}
	if (ret->type != PB_VARINT || at[1] >= 0x80)
		return false;
	ret->value = at[1];
	m->at = at + 2;
	return true;
}

bool pb_next_any(struct pb *m, struct pb_field *ret)
{
	if (next_small(m, ret))
		return true;
	if (m->at >= m->end || !head(m, ret))
		return false;
	if (ret->type == PB_VARINT)
		return true;
	if (ret->type != PB_LEN)
		return fixed(m, ret);
	if (ret->value > pb_len(m))
		return broken(m, "as many bytes as the length says");
	ret->bytes = pb_bytes(m->at, ret->value);
	m->at += ret->value;
	return true;
}

double pb_double(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}
