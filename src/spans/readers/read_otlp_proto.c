/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP in protobuf: ExportTraceServiceRequest, which TracesData is too.  As
 * the body of a request, or many of them in a row, which by the rules of
 * protobuf is one that is longer.  Other ways to put several in a file:
 *
 *	4 bytes of length, highest first	the Collector's file exporter
 *	1 byte 0 or 1 (packed), then as above	gRPC
 *	a varint of length			writeDelimitedTo and its kin
 *
 * In the first two a message may be packed (zstd, gzip), and be JSON in it.
 *
 * A request may be longer than memory: only a span or a resource must fit the
 * window.  What is broken costs the innermost message whose length is known.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "spans/spans_input.h"
#include "spans/readers/otlp.h"
#include "spans/parse/protobuf.h"
#include "spans/reading.h"

enum { TRACE_ID_LEN = 16, SPAN_ID_LEN = 8, MSG_MIN = 64 };

struct proto {
	struct otlp o;
	struct spans_in *in;
	/* of a message that was packed by itself, the place of which counts for errors */
	bool inside;
	uint64_t inside_off;
};

static uint64_t place(const struct proto *p)
{
	return p->inside ? p->inside_off : in_off(p->in);
}

/* ---- what fits the window: pb is over the bytes there */

static bool value_fields(struct pb m, struct otlp_value *ret)
{
	struct pb_field f;

	*ret = (struct otlp_value){0};
	while (pb_next(&m, &f))
		switch (PB_FIELD(f.num, f.type)) {
		case PB_FIELD(1, PB_LEN): /* string */
			*ret = (struct otlp_value){OTLP_TEXT, (const char *)f.bytes.at,
						   pb_len(&f.bytes), 0};
			break;
		case PB_FIELD(2, PB_VARINT):
			*ret = (struct otlp_value){.kind = OTLP_BOOL, .num = f.value != 0};
			break;
		case PB_FIELD(3, PB_VARINT):
			*ret = (struct otlp_value){.kind = OTLP_NUM,
						   .num = (double)(int64_t)f.value};
			break;
		case PB_FIELD(4, PB_I64):
			*ret = (struct otlp_value){.kind = OTLP_NUM, .num = pb_double(f.value)};
			break;
		case PB_FIELD(5, PB_LEN): /* array, map, bytes */
		case PB_FIELD(6, PB_LEN):
		case PB_FIELD(7, PB_LEN):
			*ret = (struct otlp_value){.kind = OTLP_OTHER};
			break;
		}
	return !m.broken;
}

struct key_value {
	const char *key;
	size_t key_len;
	struct otlp_value value;
};

/*
 * As all SDKs write it and nothing else: the key, then the value, each with a
 * length of one byte, and of the value a text or a number of up to 63 bits.
 */
static bool key_value_usual(struct pb m, struct key_value *ret)
{
	size_t len = pb_len(&m), key_len, rest;
	const uint8_t *at = m.at;
	struct pb number;
	uint64_t v;

	if (len < 6 || at[0] != PB_FIELD(1, PB_LEN) || at[1] >= 0x80 || at[1] + 5u > len)
		return false;
	key_len = at[1];
	ret->key = (const char *)at + 2;
	ret->key_len = key_len;
	at += 2 + key_len;
	rest = len - 2 - key_len - 2;
	if (at[0] != PB_FIELD(2, PB_LEN) || at[1] != rest || rest < 2 || rest >= 0x80)
		return false;
	at += 2;
	if (at[0] == PB_FIELD(1, PB_LEN) && at[1] == rest - 2) {
		ret->value = (struct otlp_value){OTLP_TEXT, (const char *)at + 2, rest - 2, 0};
		return true;
	}
	number = pb_bytes(at + 1, rest - 1);
	if (at[0] != PB_FIELD(3, PB_VARINT) || !pb_varint(&number, &v) || number.at != number.end)
		return false;
	ret->value = (struct otlp_value){.kind = OTLP_NUM, .num = (double)(int64_t)v};
	return true;
}

static bool key_value_fields(struct pb m, struct key_value *ret)
{
	struct pb_field f;
	bool ok = true;

	if (key_value_usual(m, ret))
		return true;
	*ret = (struct key_value){.key = ""};
	while (ok && pb_next(&m, &f)) {
		if (PB_FIELD(f.num, f.type) == PB_FIELD(1, PB_LEN)) {
			ret->key = (const char *)f.bytes.at;
			ret->key_len = pb_len(&f.bytes);
		} else if (PB_FIELD(f.num, f.type) == PB_FIELD(2, PB_LEN)) {
			ok = value_fields(f.bytes, &ret->value);
		}
	}
	return ok && !m.broken;
}

static bool resource_fields(struct proto *p, struct pb m)
{
	struct pb_field f;
	struct key_value kv;
	bool ok = true;

	while (ok && pb_next(&m, &f)) {
		if (PB_FIELD(f.num, f.type) != PB_FIELD(1, PB_LEN))
			continue;
		ok = key_value_fields(f.bytes, &kv);
		if (ok)
			otlp_resource_attr(&p->o, kv.key, kv.key_len, &kv.value);
	}
	return ok && !m.broken;
}

static bool event_fields(struct proto *p, struct pb m)
{
	struct pb name = pb_bytes("", 0);
	struct pb_field f;
	uint64_t at_ns = 0;

	while (pb_next(&m, &f))
		if (PB_FIELD(f.num, f.type) == PB_FIELD(1, PB_I64))
			at_ns = f.value;
		else if (PB_FIELD(f.num, f.type) == PB_FIELD(2, PB_LEN))
			name = f.bytes;
	if (!m.broken)
		otlp_event(&p->o, at_ns, (const char *)name.at, pb_len(&name));
	return !m.broken;
}

static bool trace_id_of(const struct pb *bytes, struct trace_id *ret)
{
	if (pb_len(bytes) != TRACE_ID_LEN)
		return false;
	ret->hi = otlp_id8(bytes->at);
	ret->lo = otlp_id8(bytes->at + 8);
	return true;
}

static bool link_fields(struct proto *p, struct pb m)
{
	struct pb_field f;
	struct trace_id trace = {0};
	uint64_t span = 0;

	while (pb_next(&m, &f))
		if (PB_FIELD(f.num, f.type) == PB_FIELD(1, PB_LEN))
			trace_id_of(&f.bytes, &trace);
		else if (PB_FIELD(f.num, f.type) == PB_FIELD(2, PB_LEN) &&
			 pb_len(&f.bytes) == SPAN_ID_LEN)
			span = otlp_id8(f.bytes.at);
	if (m.broken)
		return false;
	if (span)
		making_ref(p->o.r, &p->o.making, &trace, span, SPAN_REF_LINK);
	else
		p->o.r->stats->ref_dropped_cnt++;
	return true;
}

static bool status_fields(struct proto *p, struct pb m)
{
	struct pb_field f;

	while (pb_next(&m, &f))
		if (PB_FIELD(f.num, f.type) == PB_FIELD(3, PB_VARINT) &&
		    f.value == OTLP_STATUS_ERROR)
			p->o.making.span.flags |= SPANF_ERROR;
	return !m.broken;
}

static bool attr_fields(struct proto *p, struct pb m)
{
	struct key_value kv;

	if (!key_value_fields(m, &kv))
		return false;
	otlp_span_attr(&p->o, otlp_name(&p->o, kv.key, kv.key_len), &kv.value);
	return true;
}

/* An id of a span, or none at all where it may be; what else makes the span bad. */
static const char *span_id_of(const struct pb *bytes, bool may_be_none, uint64_t *ret)
{
	if (pb_len(bytes) == SPAN_ID_LEN)
		*ret = otlp_id8(bytes->at);
	else if (pb_len(bytes) || !may_be_none)
		return "8 bytes of a span's id";
	return NULL;
}

struct span_times {
	uint64_t begin_ns, end_ns;
};

static const char whole[] = "a message that is whole";

/* One field of a span but its attributes; what was expected where it is bad. */
static const char *span_field(struct proto *p, const struct pb_field *f, struct span_times *times)
{
	struct making *m = &p->o.making;

	switch (PB_FIELD(f->num, f->type)) {
	case PB_FIELD(1, PB_LEN):
		return trace_id_of(&f->bytes, &m->trace) ? NULL : "16 bytes of a trace's id";
	case PB_FIELD(2, PB_LEN):
		return span_id_of(&f->bytes, false, &m->span.id);
	case PB_FIELD(4, PB_LEN):
		return span_id_of(&f->bytes, true, &m->span.parent);
	case PB_FIELD(5, PB_LEN):
		m->span.name = otlp_name(&p->o, (const char *)f->bytes.at, pb_len(&f->bytes));
		return NULL;
	case PB_FIELD(6, PB_VARINT):
		m->span.kind = (uint8_t)otlp_kind(f->value);
		return NULL;
	case PB_FIELD(7, PB_I64):
		times->begin_ns = f->value;
		return NULL;
	case PB_FIELD(8, PB_I64):
		times->end_ns = f->value;
		return NULL;
	case PB_FIELD(11, PB_LEN):
		return event_fields(p, f->bytes) ? NULL : whole;
	case PB_FIELD(13, PB_LEN):
		return link_fields(p, f->bytes) ? NULL : whole;
	case PB_FIELD(15, PB_LEN):
		return status_fields(p, f->bytes) ? NULL : whole;
	default:
		return NULL;
	}
}

static int span_fields(struct proto *p, struct pb m, uint64_t off)
{
	const uint8_t *from = m.at, *at = m.at;
	struct span_times times = {0};
	const char *expected = NULL;
	struct pb_field f;

	otlp_span_begin(&p->o, off);
	while (!expected && pb_next(&m, &f)) {
		/* most fields are attributes, and they stand side by side */
		if (PB_FIELD(f.num, f.type) == PB_FIELD(9, PB_LEN))
			expected = attr_fields(p, f.bytes) ? NULL : whole;
		else
			expected = span_field(p, &f, &times);
		if (!expected)
			at = m.at;
	}
	if (!expected)
		expected = m.broken;
	if (!expected)
		return otlp_span_end(&p->o, times.begin_ns, times.end_ns);
	reading_bad(p->o.r, p->inside ? off : off + (uint64_t)(at - from),
		    "expected %s in a span's field, found something else", expected);
	return 0;
}

/* ---- what may be longer than the window */

/* f is behind its tag and length; what it leaves of the message is passed over. */
typedef int (*field_fn)(struct proto *p, const struct pb_field *f, uint64_t end);

static int cut_off(struct proto *p)
{
	return reading_cut(p->o.r, place(p), "expected the rest of a message, found the end");
}

/* Behind a field's head: its bytes, or how many there are for one of a fixed size. */
static uint64_t body_len(const struct pb_field *f)
{
	return f->type == PB_LEN ? f->value : f->type == PB_I64 ? 8 : f->type == PB_I32 ? 4 : 0;
}

/*
 * The fields of the message that goes to `end`; UINT64_MAX: to the end of the
 * input.  A length that leads out of it, or a head that is none, ends it: the
 * rest is passed over and counted as one bad span, unless nobody knows where
 * it ends.
 */
static int each_field(struct proto *p, uint64_t end, field_fn fn)
{
	struct spans_in *in = p->in;

	while (in_off(in) < end) {
		size_t have = in_fill(in, PB_HEAD_MAX);
		uint64_t off = in_off(in), len;
		struct pb m = pb_bytes(in->at, end - off < have ? (size_t)(end - off) : have);
		struct pb_field f;
		int rc;

		if (!have)
			return end == UINT64_MAX ? 0 : cut_off(p);
		if (pb_head(&m, &f) && body_len(&f) > end - off - (uint64_t)(m.at - in->at))
			m.broken = "a length that ends inside of the message";
		if (m.broken && (end == UINT64_MAX || have < PB_HEAD_MAX))
			return reading_cut(p->o.r, place(p), "expected %s", m.broken);
		if (m.broken) {
			reading_bad(p->o.r, place(p), "expected %s", m.broken);
			return in_skip(in, end - off) ? 0 : cut_off(p);
		}
		in->at = m.at;
		len = body_len(&f);
		off = in_off(in) + len;
		rc = f.type == PB_LEN ? fn(p, &f, off) : 0;
		if (rc < 0)
			return rc;
		if (in_off(in) < off && !in_skip(in, off - in_off(in)))
			return cut_off(p);
	}
	return 0;
}

/* The field's bytes in the window; false, and counted or cut, when they do not fit. */
static bool body(struct proto *p, const struct pb_field *f, struct pb *ret)
{
	if (f->value > IN_WINDOW_MAX) {
		reading_bad(p->o.r, place(p),
			    "expected a message under 64 MiB, found one of %" PRIu64 " bytes",
			    f->value);
		return false;
	}
	if (in_fill(p->in, f->value) < f->value)
		return false; /* each_field finds that it cannot pass over it */
	*ret = pb_bytes(p->in->at, f->value);
	return true;
}

static int scope_field(struct proto *p, const struct pb_field *f, uint64_t end)
{
	struct pb m;

	(void)end;
	if (f->num != 2 || !body(p, f, &m))
		return 0;
	return span_fields(p, m, place(p));
}

static int resource_spans_field(struct proto *p, const struct pb_field *f, uint64_t end)
{
	struct pb m;

	if (f->num == 2 || f->num == 1000) /* 1000: before scopes had that name */
		return each_field(p, end, scope_field);
	if (f->num != 1 || !body(p, f, &m))
		return 0;
	if (!resource_fields(p, m))
		reading_bad(p->o.r, place(p), "expected a resource that is whole");
	otlp_resource_done(&p->o);
	return 0;
}

static int request_field(struct proto *p, const struct pb_field *f, uint64_t end)
{
	int rc, rc_end;

	if (f->num != 1)
		return 0;
	otlp_resource_begin(&p->o);
	rc = each_field(p, end, resource_spans_field);
	rc_end = otlp_resource_end(&p->o);
	return rc < 0 ? rc : rc_end;
}

/* ---- several requests */

enum framing { BARE, LENGTH4, GRPC, DELIMITED };

/* Do these bytes begin a request that is len bytes long? */
static bool begins_request(const uint8_t *at, size_t have, uint64_t len)
{
	struct pb m = pb_bytes(at, have);
	struct pb_field f;

	if (!pb_head(&m, &f) || f.num != 1 || f.type != PB_LEN ||
	    f.value > len - (uint64_t)(m.at - at))
		return false;
	/* A resource, its spans or its schema's name. */
	return f.value == 0 || m.at == m.end || *m.at == PB_FIELD(1, PB_LEN) ||
	       *m.at == PB_FIELD(2, PB_LEN) || *m.at == PB_FIELD(3, PB_LEN);
}

static bool begins_packed(const uint8_t *at, size_t have)
{
	return have >= 4 && (memcmp(at, "\x28\xb5\x2f\xfd", 4) == 0 ||
			     memcmp(at, "\x1f\x8b\x08", 3) == 0 || memcmp(at, "{\"", 2) == 0);
}

static uint32_t be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Recognises the first message; false: it is none that is known. */
static bool framing_of(const uint8_t *at, size_t have, enum framing *ret)
{
	struct pb m = pb_bytes(at, have);
	uint64_t len;

	*ret = BARE;
	if (begins_request(at, have, UINT64_MAX))
		return true;
	*ret = LENGTH4;
	if (have > 5 && (begins_request(at + 4, have - 4, be32(at)) ||
			 (be32(at) > 4 && begins_packed(at + 4, have - 4))))
		return true;
	*ret = GRPC;
	if (have > 6 && at[0] <= 1 &&
	    (begins_request(at + 5, have - 5, be32(at + 1)) ||
	     (at[0] == 1 && begins_packed(at + 5, have - 5))))
		return true;
	*ret = DELIMITED;
	return pb_varint(&m, &len) && len && begins_request(m.at, pb_len(&m), len);
}

static bool matches(const char *head, size_t len)
{
	enum framing framing;

	return framing_of((const uint8_t *)head, len, &framing);
}

/* The length before a message; false when the rest is too short for one. */
static bool frame_len(struct proto *p, enum framing framing, uint64_t *ret)
{
	size_t have = in_fill(p->in, PB_VARINT_MAX), head = framing == GRPC ? 5 : 4;
	struct pb m = pb_bytes(p->in->at, have);

	if (framing == DELIMITED) {
		if (!pb_varint(&m, ret))
			return false;
		p->in->at = m.at;
		return true;
	}
	if (have < head)
		return false;
	*ret = be32(p->in->at + head - 4);
	p->in->at += head;
	return true;
}

/* A message that is packed, or JSON, by itself. */
static int read_inside(struct proto *p, const struct pb *bytes)
{
	struct proto inner = *p;
	struct spans_in *in = in_bytes(bytes->at, pb_len(bytes));
	struct reading r = *p->o.r;
	size_t have = in_fill(in, MSG_MIN);
	bool was_cut = r.stats->cut;
	int rc;

	r.in = in;
	if (have && in->at[0] == '{') {
		rc = reader_otlp_json.read(&r);
	} else {
		otlp_init(&inner.o, &r);
		inner.in = in;
		inner.inside_off = place(p);
		inner.inside = true;
		rc = each_field(&inner, UINT64_MAX, request_field);
		otlp_release(&inner.o);
	}
	/* the end of a message ends no more than that */
	if (r.stats->cut && !was_cut) {
		r.stats->cut = false;
		rc = 0;
		reading_bad(&r, place(p), "%s", r.stats->cut_at.why);
	}
	if (in_trouble(in))
		reading_bad(&r, place(p), "%s", in_trouble(in));
	in_free(in);
	return rc;
}

static int read_frame(struct proto *p, enum framing framing)
{
	struct pb_field f = {.type = PB_LEN};
	uint64_t end;
	struct pb m;
	int rc;

	if (!frame_len(p, framing, &f.value))
		return reading_cut(p->o.r, place(p), "expected the length of a request");
	if (f.value > UINT64_MAX - in_off(p->in))
		return reading_cut(p->o.r, place(p), "expected a length under 2^63");
	end = in_off(p->in) + f.value;
	in_fill(p->in, MSG_MIN);
	if (f.value > 4 && begins_packed(p->in->at, (size_t)(p->in->end - p->in->at)))
		rc = body(p, &f, &m) ? read_inside(p, &m) : 0;
	else
		rc = each_field(p, end, request_field);
	if (rc < 0)
		return rc;
	return in_off(p->in) >= end || in_skip(p->in, end - in_off(p->in)) ? 0 : cut_off(p);
}

static int read_frames(struct proto *p)
{
	enum framing framing;
	int rc = 0;

	if (!framing_of(p->in->at, in_fill(p->in, HEAD_MIN), &framing))
		return reading_cut(p->o.r, place(p), "expected an OTLP request");
	if (framing == BARE)
		return each_field(p, UINT64_MAX, request_field);
	while (rc == 0 && in_fill(p->in, 1))
		rc = read_frame(p, framing);
	return rc;
}

static int read_otlp_proto(struct reading *r)
{
	struct proto p = {.in = r->in};
	int rc;

	otlp_init(&p.o, r);
	rc = read_frames(&p);
	otlp_release(&p.o);
	return rc;
}

const struct spans_reader reader_otlp_proto = {SPANS_OTLP_PROTO, matches, read_otlp_proto};
