/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OTLP_H
#define OTLP_H
/*
 * What OTLP's protobuf and JSON have in common: resources whose spans follow,
 * and what of each becomes a span of ours.  The readers call, in the order in
 * which they meet things,
 *
 *	otlp_resource_begin
 *		otlp_resource_*, then otlp_resource_done
 *		otlp_span_begin, o->making.span..., otlp_attr_*, otlp_event, otlp_span_end
 *	otlp_resource_end
 *
 * A resource may follow its spans: these wait for it, up to LATE_MAX.
 *
 * Of a resource are kept: service.name as the service, host.name (or what else
 * tells whose clock it is) as the host, and as attributes of each span those
 * in which instances of a service differ (resource_keys in otlp.c).
 */
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"
#include "trace/trace.h"
#include "spans/reading.h"

enum { OTLP_LATE_MAX = 1 << 16 }; /* spans of one resource that wait for it */

struct otlp_texts;

struct otlp_event {
	int64_t at_ns;
	uint32_t name; /* string id */
};

struct otlp_late { /* a span that waits, with its parts in the vecs below */
	struct trace_id trace;
	struct span span;
	uint64_t off;
	size_t event_idx, event_cnt;
};

struct otlp {
	struct reading *r;
	struct making making; /* the span that is being read */
	VEC(struct otlp_event) events;
	uint32_t service, host;
	unsigned host_rank; /* how good a name it is: 0 best */
	bool known;	    /* the resource was read */
	uint32_t route_keys[2]; /* names of the attributes that are kept with opts.only_route */
	struct making resource; /* only its attrs */
	struct otlp_texts *texts;
	VEC(struct otlp_late) late;
	VEC(struct attr) late_attrs;
	VEC(struct span_ref) late_refs;
	VEC(struct otlp_event) late_events;
};

enum otlp_value_kind {
	OTLP_NONE = 0, /* an empty value */
	OTLP_TEXT,
	OTLP_BOOL,
	OTLP_NUM,
	OTLP_OTHER, /* lists, maps and bytes: not kept */
};

struct otlp_value { /* AnyValue */
	enum otlp_value_kind kind;
	const char *text; /* borrowed */
	size_t len;
	double num; /* OTLP_BOOL: 0 or 1 */
};

void otlp_init(struct otlp *o, struct reading *r);
void otlp_release(struct otlp *o);

void otlp_resource_begin(struct otlp *o);
void otlp_resource_attr(struct otlp *o, const char *key, size_t key_len,
			const struct otlp_value *value);
void otlp_resource_done(struct otlp *o);
/* 0, or what the sink returned. */
int otlp_resource_end(struct otlp *o);

void otlp_span_begin(struct otlp *o, uint64_t off);
/* A name, key or event's name as string id; what repeats is found without the table. */
uint32_t otlp_name(struct otlp *o, const char *text, size_t len);
void otlp_span_attr(struct otlp *o, uint32_t key, const struct otlp_value *value);
/* at_ns as OTLP has it: 0 for none. */
void otlp_event(struct otlp *o, uint64_t at_ns, const char *name, size_t len);
/* Times as OTLP has them; the sign bit of one of them makes the span bad. */
int otlp_span_end(struct otlp *o, uint64_t begin_ns, uint64_t end_ns);

/* The enums as numbers. */
enum span_kind otlp_kind(uint64_t kind);
enum { OTLP_STATUS_ERROR = 2 };

/* Eight bytes, the first the highest, as ids are sent. */
static inline uint64_t otlp_id8(const uint8_t *bytes)
{
	uint64_t v;

	memcpy(&v, bytes, sizeof(v));
	return be64toh(v);
}

#endif /* OTLP_H */
