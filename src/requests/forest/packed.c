/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/forest/packed.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "trace/points.h"

enum {
	SUM_BYTES = 8,
	/* Memory for each byte of a file: a histogram of a few counts is the worst. */
	MEMORY_PER_BYTE = 16,
	MEMORY_MIN = 1 << 20,
};

/* ---- writing */

void packer_begin(struct packer *p, const char *what, unsigned version,
		  const struct points *points, const struct strtab *strings)
{
	*p = (struct packer){.points = points, .strings = strings};
	buf_printf(&p->out, "heldup-%s %u\n", what, version);
}

void put_fixed(struct packer *p, uint64_t value)
{
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	buf_add(&p->out, bytes, sizeof(bytes));
}

void packer_end(struct packer *p, struct buf *out)
{
	put_fixed(p, hash_bytes(p->out.data, p->out.len));
	buf_add(out, p->out.data, p->out.len);
	buf_release(&p->out);
	hmap_release(&p->texts);
	hmap_release(&p->known);
}

static void put_bits(struct packer *p, unsigned __int128 value)
{
	for (; value >= 0x80; value >>= 7)
		buf_addch(&p->out, (char)(0x80 | (unsigned)(value & 0x7f)));
	buf_addch(&p->out, (char)value);
}

void put_u64(struct packer *p, uint64_t value)
{
	put_bits(p, value);
}

void put_i64(struct packer *p, int64_t value)
{
	put_bits(p, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void put_i128(struct packer *p, __int128 value)
{
	put_bits(p, (unsigned __int128)value << 1 ^ (value < 0 ? ~(unsigned __int128)0 : 0));
}

void put_f64(struct packer *p, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_fixed(p, bits);
}

/* The number of what was met before and true, or the next number. */
static bool number_of(struct packer *p, struct hmap *met, uint64_t id)
{
	uint64_t *slot = hmap_slot(met, id);
	bool known = *slot > 0;

	if (!known)
		*slot = met->cnt;
	put_u64(p, *slot);
	return known;
}

void put_str(struct packer *p, const char *str)
{
	size_t len = str ? strlen(str) : 0;

	if (len > PACKED_TEXT_MAX)
		len = PACKED_TEXT_MAX;
	put_u64(p, len);
	buf_add(&p->out, str, len);
}

void put_text(struct packer *p, uint32_t string)
{
	const char *text = strtab_str(p->strings, string);

	if (!*text)
		put_u64(p, 0);
	else if (!number_of(p, &p->texts, string))
		put_str(p, text);
}

void put_point(struct packer *p, uint32_t point)
{
	if (point == UINT32_MAX) {
		put_u64(p, 0);
	} else if (!number_of(p, &p->known, point)) {
		put_text(p, p->points->items.items[point].service);
		put_text(p, p->points->items.items[point].name);
	}
}

/* ---- reading */

bool unpack_bad(struct unpacker *u, const char *what)
{
	if (!u->failed)
		err_set(u->err, -EINVAL, "offset %zu: %s", (size_t)(u->at - u->begin), what);
	u->failed = true;
	u->at = u->end;
	return false;
}

bool unpack_ok(const struct unpacker *u)
{
	return !u->failed;
}

static int check_head(const char *what, unsigned version, const char *head, size_t len,
		      size_t *ret_len, struct err *err)
{
	char want[64];
	unsigned found = 0;
	size_t at = (size_t)snprintf(want, sizeof(want), "heldup-%s ", what);

	if (len < at || memcmp(head, want, at) != 0)
		return err_set(err, -EINVAL, "offset 0: expected 'heldup-%s %u', found something "
			       "else: not a file of heldup's with a %s in it", what, version, what);
	for (; at < len && head[at] >= '0' && head[at] <= '9' && found < 10000; at++)
		found = found * 10 + (unsigned)(head[at] - '0');
	if (at == len || head[at] != '\n')
		return err_set(err, -EINVAL, "offset %zu: no version", at);
	if (found != version)
		return err_set(err, -EINVAL, "version %u of a %s, known is %u", found, what,
			       version);
	*ret_len = at + 1;
	return 0;
}

int unpacker_begin(struct unpacker *u, const char *what, unsigned version, const void *bytes,
		   size_t len, struct err *err)
{
	size_t head = 0;
	uint64_t sum = 0;
	int code;

	*u = (struct unpacker){.begin = bytes, .err = err};
	if (len > PACKED_FILE_MAX)
		return err_set(err, -E2BIG, "over %d MiB", PACKED_FILE_MAX >> 20);
	code = check_head(what, version, bytes, len, &head, err);
	if (code < 0)
		return code;
	if (len - head < SUM_BYTES)
		return err_set(err, -EINVAL, "cut short at %zu bytes", len);
	u->at = u->begin + head;
	u->end = u->begin + len - SUM_BYTES;
	for (int i = 0; i < SUM_BYTES; i++)
		sum |= (uint64_t)u->end[i] << 8 * i;
	if (sum != hash_bytes(bytes, len - SUM_BYTES))
		return err_set(err, -EINVAL, "cut short or damaged: the checksum is another");
	u->left_bytes = MEMORY_MIN + (uint64_t)len * MEMORY_PER_BYTE;
	return 0;
}

int unpacker_end(struct unpacker *u)
{
	if (!u->failed && u->at != u->end)
		unpack_bad(u, "more than was expected");
	return u->failed ? -EINVAL : 0;
}

void unpacker_release(struct unpacker *u)
{
	vec_release(&u->texts);
	vec_release(&u->known);
}

static unsigned __int128 get_bits(struct unpacker *u, unsigned bits)
{
	unsigned __int128 value = 0;

	for (unsigned shift = 0; shift < bits && u->at < u->end; shift += 7) {
		uint8_t byte = *u->at++;
		unsigned __int128 part = byte & 0x7f;

		if (shift + 7 > bits && part >> (bits - shift))
			break;
		value |= part << shift;
		if (!(byte & 0x80))
			return value;
	}
	unpack_bad(u, "expected a number");
	return 0;
}

uint64_t get_u64(struct unpacker *u, uint64_t max)
{
	uint64_t value = (uint64_t)get_bits(u, 64);

	if (value > max) {
		unpack_bad(u, "a number is too large");
		return 0;
	}
	return value;
}

int64_t get_i64(struct unpacker *u)
{
	uint64_t bits = (uint64_t)get_bits(u, 64);

	return (int64_t)(bits >> 1 ^ (bits & 1 ? UINT64_MAX : 0));
}

__int128 get_i128(struct unpacker *u)
{
	unsigned __int128 bits = get_bits(u, 128);

	return (__int128)(bits >> 1 ^ (bits & 1 ? ~(unsigned __int128)0 : 0));
}

uint64_t get_fixed(struct unpacker *u)
{
	uint64_t value = 0;

	if (u->end - u->at < 8) {
		unpack_bad(u, "expected eight bytes");
		return 0;
	}
	for (int i = 0; i < 8; i++)
		value |= (uint64_t)*u->at++ << 8 * i;
	return value;
}

double get_f64(struct unpacker *u)
{
	uint64_t bits = get_fixed(u);
	double value;

	memcpy(&value, &bits, sizeof(value));
	if (!isnan(value))
		return value;
	unpack_bad(u, "not a number");
	return 0;
}

uint32_t get_text(struct unpacker *u)
{
	uint64_t number = get_u64(u, u->texts.cnt + 1), len;
	uint32_t id;

	if (!number)
		return 0;
	if (number <= u->texts.cnt)
		return u->texts.items[number - 1];
	len = get_u64(u, PACKED_TEXT_MAX);
	if (!len || len > (uint64_t)(u->end - u->at) || memchr(u->at, '\0', len)) {
		unpack_bad(u, "expected a text");
		return 0;
	}
	id = strtab_addn(u->strings, (const char *)u->at, len);
	if (!id) {
		unpack_bad(u, "too many texts");
		return 0;
	}
	u->at += len;
	vec_push(&u->texts, id);
	return id;
}

const char *get_str(struct unpacker *u, struct arena *arena)
{
	uint64_t len = get_u64(u, PACKED_TEXT_MAX);
	const char *str;

	if (len > (uint64_t)(u->end - u->at) || memchr(u->at, '\0', len)) {
		unpack_bad(u, "expected a text");
		return "";
	}
	str = arena_strndup(arena, (const char *)u->at, len);
	u->at += len;
	return str;
}

uint32_t get_point(struct unpacker *u)
{
	uint64_t number = get_u64(u, u->known.cnt + 1);
	uint32_t service, name, point;

	if (!number)
		return UINT32_MAX;
	if (number <= u->known.cnt)
		return u->known.items[number - 1];
	service = get_text(u);
	name = get_text(u);
	if (u->failed)
		return UINT32_MAX;
	point = points_add(u->points, u->strings, service, name);
	vec_push(&u->known, point);
	return point;
}

uint32_t get_a_point(struct unpacker *u)
{
	uint32_t point = get_point(u);

	if (point != UINT32_MAX || u->failed)
		return point;
	unpack_bad(u, "expected a tracepoint");
	return UINT32_MAX;
}

uint32_t get_cnt(struct unpacker *u, uint32_t max, size_t min_bytes, size_t item_bytes)
{
	uint64_t cnt = get_u64(u, max);

	if (cnt > (uint64_t)(u->end - u->at) / min_bytes) {
		unpack_bad(u, "more is announced than there are bytes");
		return 0;
	}
	if (cnt * item_bytes > u->left_bytes) {
		unpack_bad(u, "too much for a file of this size");
		return 0;
	}
	u->left_bytes -= cnt * item_bytes;
	return (uint32_t)cnt;
}
