/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROTOBUF_H
#define PROTOBUF_H
/*
 * The wire format of protocol buffers, read by pulling: one field after the
 * other, in place.  Knows no messages: what a field's number means is the
 * caller's, as is how deep it goes into fields that are messages themselves.
 *
 *	struct pb m = pb_bytes(data, len);
 *	struct pb_field f;
 *	while (pb_next(&m, &f))
 *		switch (PB_FIELD(f.num, f.type)) {
 *		case PB_FIELD(1, PB_LEN):  ... f.bytes ...
 *		case PB_FIELD(7, PB_I64):  ... f.value ...
 *		}
 *	if (m.broken) ...
 *
 * A field of another type than expected matches no case and is so passed over,
 * as one that is unknown is.  Groups, which proto3 does not have, are refused.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pb_type { /* as on the wire */
	PB_VARINT = 0,
	PB_I64 = 1,
	PB_LEN = 2,
	PB_I32 = 5,
};

enum {
	PB_VARINT_MAX = 10,		/* bytes of a number */
	PB_HEAD_MAX = PB_VARINT_MAX * 2, /* of a tag with a number or length behind it */
	PB_NUM_MAX = (1 << 29) - 1,
};

#define PB_FIELD(num, type) ((num) << 3 | (type))

struct pb { /* what is left of a message */
	const uint8_t *at, *end;
	const char *broken; /* what was expected at `at`; NULL */
};

struct pb_field {
	uint32_t num;
	uint32_t type;	/* enum pb_type */
	uint64_t value; /* a number as it stands; of PB_LEN the length */
	struct pb bytes; /* of PB_LEN */
};

static inline struct pb pb_bytes(const void *data, size_t len)
{
	return (struct pb){.at = data, .end = (const uint8_t *)data + len};
}

static inline size_t pb_len(const struct pb *m)
{
	return (size_t)(m->end - m->at);
}

/* As pb_next, for every field. */
bool pb_next_any(struct pb *m, struct pb_field *ret);

/*
 * The next field; false at the end, and when broken.  Nearly all fields of
 * spans have a tag of one byte and a length of one: done here, so that it
 * costs no call and where the caller knows the type no store.
 */
static inline bool pb_next(struct pb *m, struct pb_field *ret)
{
	const uint8_t *at = m->at;

	if (m->end - at < 2 || (at[0] & 0x87) != PB_LEN || at[0] < 8 || at[1] >= 0x80 ||
	    at[1] > m->end - at - 2)
		return pb_next_any(m, ret);
	ret->num = at[0] >> 3;
	ret->type = PB_LEN;
	ret->value = at[1];
	ret->bytes = pb_bytes(at + 2, at[1]);
	m->at = at + 2 + at[1];
	return true;
}

/*
 * Only the tag and, of PB_LEN, the length, whose bytes need not be there: for
 * messages that are not in memory whole.  False when broken or cut off.
 */
bool pb_head(struct pb *m, struct pb_field *ret);

/* A number of up to 64 bits; false, and m->broken set, when there is none. */
bool pb_varint(struct pb *m, uint64_t *ret);

/* Double with these bits. */
double pb_double(uint64_t bits);

#endif /* PROTOBUF_H */
