/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP's protobuf of spans, and the message of OTEP 4719.  A message inside another is written
 * behind a length of fixed width that is filled in when it ends.
 */
#include <endian.h>
#include <string.h>

#include "internal.h"

enum { LEN_BYTES = 5, VARINT = 0, FIXED64 = 1, BYTES = 2, SERVER = 2, INTERNAL = 1 };

struct pb {
	uint8_t *at, *end;
	bool full;
};

static void put(struct pb *p, const void *data, size_t len)
{
	p->full |= (size_t)(p->end - p->at) < len;
	if (p->full)
		return;
	memcpy(p->at, data, len);
	p->at += len;
}

static void put_varint(struct pb *p, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	do {
		bytes[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	} while (v);
	bytes[n - 1] &= 0x7f;
	put(p, bytes, n);
}

static void put_bytes(struct pb *p, uint32_t field, const void *data, size_t len)
{
	put_varint(p, field << 3 | BYTES);
	put_varint(p, len);
	put(p, data, len);
}

static void put_text(struct pb *p, uint32_t field, const char *text)
{
	put_bytes(p, field, text, strlen(text));
}

static void put_number(struct pb *p, uint32_t field, uint64_t v)
{
	put_varint(p, field << 3 | VARINT);
	put_varint(p, v);
}

static void put_fixed(struct pb *p, uint32_t field, uint64_t v)
{
	put_varint(p, field << 3 | FIXED64);
	v = htole64(v);
	put(p, &v, sizeof(v));
}

static void put_id(struct pb *p, uint32_t field, uint64_t hi, const uint64_t *lo)
{
	uint64_t id[2] = {htobe64(hi), lo ? htobe64(*lo) : 0};

	put_bytes(p, field, id, lo ? 16 : 8);
}

static uint8_t *message_begin(struct pb *p, uint32_t field)
{
	uint8_t none[LEN_BYTES] = {0};

	put_varint(p, field << 3 | BYTES);
	put(p, none, sizeof(none));
	return p->at;
}

static void message_end(struct pb *p, uint8_t *begin)
{
	uint32_t len = (uint32_t)(p->at - begin);

	if (p->full)
		return;
	for (int i = 0; i < LEN_BYTES; i++, len >>= 7)
		begin[i - LEN_BYTES] = (uint8_t)((len & 0x7f) | (i < LEN_BYTES - 1 ? 0x80 : 0));
}

static void attr_text(struct pb *p, uint32_t field, const char *key, const char *text)
{
	uint8_t *attr = message_begin(p, field), *value;

	put_text(p, 1, key);
	value = message_begin(p, 2);
	put_text(p, 1, text);
	message_end(p, value);
	message_end(p, attr);
}

static void attr_num(struct pb *p, uint32_t field, const char *key, double num)
{
	uint8_t *attr = message_begin(p, field), *value;
	uint64_t bits;

	put_text(p, 1, key);
	value = message_begin(p, 2);
	if (num >= 0 && num < 9e15 && (double)(uint64_t)num == num) {
		put_number(p, 3, (uint64_t)num);
	} else {
		memcpy(&bits, &num, sizeof(bits));
		put_fixed(p, 4, bits);
	}
	message_end(p, value);
	message_end(p, attr);
}

static void span_put(struct pb *p, const struct record *r)
{
	uint8_t *span = message_begin(p, 2), *event;

	put_id(p, 1, r->trace_hi, &r->trace_lo);
	put_id(p, 2, r->span.id, NULL);
	if (r->span.parent)
		put_id(p, 4, r->span.parent, NULL);
	put_text(p, 5, r->span.point->name);
	put_number(p, 6, r->is_request ? SERVER : INTERNAL);
	put_fixed(p, 7, r->span.begin_ns);
	put_fixed(p, 8, r->end_ns);
	attr_num(p, 9, "heldup.epoch", (double)r->epoch);
	for (uint32_t i = 0; i < r->span.key_cnt; i++) {
		const struct heldup_key *k = &r->span.keys[i];

		if (k->text[0])
			attr_text(p, 9, k->name, k->text);
		else
			attr_num(p, 9, k->name, k->num);
	}
	for (uint32_t i = 0; i < r->span.event_cnt; i++) {
		event = message_begin(p, 11);
		put_fixed(p, 1, r->span.events[i].at_ns);
		put_text(p, 2, r->span.events[i].name);
		message_end(p, event);
	}
	message_end(p, span);
}

static void resource_put(struct pb *p)
{
	uint8_t *resource = message_begin(p, 1);

	attr_text(p, 1, "service.name", settings.service);
	attr_text(p, 1, "service.instance.id", settings.instance);
	attr_text(p, 1, "telemetry.sdk.language", "c");
	message_end(p, resource);
}

size_t otlp_encode(const struct record *records, size_t cnt, uint8_t *out, size_t cap)
{
	struct pb p = {out, out + cap, false};
	uint8_t *all = message_begin(&p, 1), *scope;

	resource_put(&p);
	scope = message_begin(&p, 2);
	for (size_t i = 0; i < cnt; i++)
		span_put(&p, &records[i]);
	message_end(&p, scope);
	message_end(&p, all);
	return p.full ? 0 : (size_t)(p.at - out);
}

size_t otlp_process(uint8_t *out, size_t cap)
{
	struct pb p = {out, out + cap, false};
	uint8_t *attr, *value, *list;

	resource_put(&p);
	attr_text(&p, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	attr = message_begin(&p, 2);
	put_text(&p, 1, "threadlocal.attribute_key_map");
	value = message_begin(&p, 2);
	list = message_begin(&p, 5);
	message_end(&p, list);
	message_end(&p, value);
	message_end(&p, attr);
	return p.full ? 0 : (size_t)(p.at - out);
}
