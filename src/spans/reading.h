/* SPDX-License-Identifier: Apache-2.0 */
#ifndef READING_H
#define READING_H
/*
 * What the readers of the formats share.  To add one: 1. read_x.c with a
 * `const struct spans_reader reader_x`, declared below; 2. its value in enum
 * spans_format (spans.h) with its name, and its line in the table, both in
 * spans.c; 3. tests/fuzz/fuzz_x.c.  The test `spans_formats` asks each format
 * for a reader.
 *
 * A reader builds one span at a time:
 *
 *	making_begin(m);
 *	m->trace, m->span.id, ... = ...;  making_text, making_num, making_ref
 *	if ((rc = reading_span(r, m)) < 0) return rc;
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/trace.h"
#include "spans/span_sink.h"

struct spans_in;

/* Real spans have a dozen attributes; one that has more than these says nothing more by them. */
enum {
	ATTRS_MAX = 128, REFS_MAX = 1024, POINTS_MAX = 1024,
	ATTR_TEXT_MAX = 64, NAME_MAX_LEN = 256, /* bytes */
};

struct reading {
	struct spans_in *in;
	const struct spans_opts *opts;	/* never NULL */
	struct strtab *strings;
	const struct span_sink *sink;
	struct spans_stats *stats;
};

struct spans_reader {
	enum spans_format format;
	/* head: the first bytes, at least HEAD_MIN if there are as many; no mark of byte order */
	bool (*matches)(const char *head, size_t len);
	/*
	 * Reads all of r->in.  0; what the sink returned; or what reading_cut
	 * returned, when nothing after that place can be read.
	 */
	int (*read)(struct reading *r);
};

enum { HEAD_MIN = 1 << 16 };

/* NULL when nobody reads the format. */
const struct spans_reader *spans_reader_of(enum spans_format format);

extern const struct spans_reader reader_otlp_proto, reader_otlp_json, reader_csv, reader_jaeger,
	reader_zipkin, reader_osprofiler, reader_osprofiler_redis, reader_xtrace,
	reader_xtrace_old;

struct making {
	struct trace_id trace;
	struct span span;	/* counts of attrs and refs are set by reading_span */
	VEC(struct attr) attrs;
	VEC(struct span_ref) refs;
	uint64_t off;		/* where the span began, for messages */
};

void making_begin(struct making *m, uint64_t off);
void making_release(struct making *m);

/* A text, which is kept as a number or a truth value where it is one. */
void making_text(struct reading *r, struct making *m, uint32_t key, const char *text, size_t len);
void making_num(struct reading *r, struct making *m, uint32_t key, double num);
void making_bool(struct reading *r, struct making *m, uint32_t key, bool truth);
void making_ref(struct reading *r, struct making *m, const struct trace_id *trace, uint64_t span,
		enum span_ref_kind kind);

/*
 * Checks it, counts it and hands it on; one that is bad is counted and loses its
 * id, so that it gets no points.  < 0 only from the sink.
 */
int reading_span(struct reading *r, struct making *m);

/* point becomes an instant of m's span: number idx of it; attributes may follow. */
void making_point(struct making *point, const struct making *m, uint32_t idx, int64_t at_ns,
		  uint32_t name);

/* The same, without attributes, handed on at once. */
int reading_point(struct reading *r, const struct making *m, uint32_t idx, int64_t at_ns,
		  uint32_t name);

/* Counts a span that is not kept and keeps the reason if it is one of the first. */
void reading_bad(struct reading *r, uint64_t off, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Says why nothing more can be read; returns -EBADMSG. */
int reading_cut(struct reading *r, uint64_t off, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Ids: hexadecimal of up to 128 and 64 bits (with or without dashes), others by their hash. */
struct trace_id id_trace(const char *text, size_t len);
uint64_t id_span(const char *text, size_t len);

/* A name for the span, a key or a service: cut at NAME_MAX_LEN. */
uint32_t reading_name(struct reading *r, const char *text, size_t len);

/* Name of a log line or event: numbers in it would make a tracepoint of each. */
uint32_t reading_event_name(struct reading *r, const char *text, size_t len);

/* The whole text as a decimal number; false when it is none or not finite. */
bool num_parse(const char *text, size_t len, double *ret);

/*
 * The whole text, a decimal number with or without a fraction, times unit_ns,
 * exactly; false when it is none or does not fit.
 */
bool time_parse(const char *text, size_t len, int64_t unit_ns, int64_t *ret_ns);

/* YYYY-MM-DD, T or a blank, HH:MM:SS, a fraction, Z or +HH:MM or nothing (then UTC too). */
bool iso_parse(const char *text, size_t len, int64_t *ret_ns);

/* "server", "SPAN_KIND_SERVER", "CLIENT", "2": what formats call the kinds. */
enum span_kind kind_named(const char *text, size_t len);

/* How much of a pod's name is its service's: see read_csv.c. */
size_t pod_service_len(const char *pod, size_t len);

/* Begins with an object or an array. */
bool head_is_json(const char *head, size_t len);

/* Is `"key" :` in the first bytes of a JSON text, inside at most depth brackets? */
bool head_has_key(const char *head, size_t len, const char *key, int depth);

#endif /* READING_H */
