/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/spans.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "spans/spans_input.h"
#include "spans/reading.h"

/* Asked in this order: the first that says the head is its own reads the file. */
static const struct spans_reader *const readers[] = {
	&reader_otlp_json,
	&reader_otlp_proto,
	&reader_jaeger,
	&reader_xtrace,
	&reader_xtrace_old,
	&reader_osprofiler,
	&reader_osprofiler_redis,
	&reader_zipkin,
	&reader_csv,
};

static const char *const names[SPANS_FORMAT_CNT] = {
	[SPANS_OTLP_PROTO] = "OTLP protobuf",
	[SPANS_OTLP_JSON] = "OTLP JSON",
	[SPANS_JAEGER] = "Jaeger JSON",
	[SPANS_ZIPKIN] = "Zipkin JSON",
	[SPANS_OSPROFILER] = "OSProfiler report",
	[SPANS_OSPROFILER_REDIS] = "OSProfiler events",
	[SPANS_XTRACE] = "X-Trace JSON",
	[SPANS_XTRACE_OLD] = "X-Trace JSON (older)",
	[SPANS_CSV] = "CSV",
};

const char *spans_format_name(enum spans_format format)
{
	return format < SPANS_FORMAT_CNT ? names[format] : "?";
}

const struct spans_reader *spans_reader_of(enum spans_format format)
{
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i]->format == format)
			return readers[i];
	return NULL;
}

static const struct spans_reader *reader_of(const char *head, size_t len)
{
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i]->matches(head, len))
			return readers[i];
	return NULL;
}

static void skip_mark(struct spans_in *in)
{
	if (in_fill(in, 3) >= 3 && memcmp(in->at, "\xef\xbb\xbf", 3) == 0)
		in->at += 3;
}

static int nothing_read(struct spans_in *in, const char *name, const struct spans_stats *st,
			struct err *err)
{
	if (in_trouble(in))
		return err_set(err, -EBADMSG, "%s: offset %" PRIu64 ": %s", name, in_off(in),
			       in_trouble(in));
	return err_set(err, -EBADMSG, "%s: offset %" PRIu64 ": %s", name, st->cut_at.off,
		       st->cut_at.why);
}

static int read_with(const struct spans_reader *reader, struct reading *r, const char *name,
		     struct err *err)
{
	struct spans_stats *st = r->stats;
	int rc = reader->read(r);

	if (rc < 0 && !st->cut)
		return err_errno(err, rc, "%s", name);
	if (in_trouble(r->in)) {
		st->cut = false; /* it is why the rest could not be understood */
		reading_cut(r, r->in->end_off, "%s", in_trouble(r->in));
	}
	if (st->cut && st->span_cnt == 0)
		return nothing_read(r->in, name, st, err);
	if (st->bad_cnt && st->span_cnt == 0)
		return err_set(err, -EBADMSG, "%s: offset %" PRIu64 ": %s", name, st->bad[0].off,
			       st->bad[0].why);
	return 0;
}

/* Files that people hand in by mistake, and their first bytes. */
static const struct {
	const char *name, *magic;
	size_t len;
} others[] = {
	{"xz", "\xfd" "7zXZ", 5},	{"zip", "PK\x03\x04", 4},
	{"bzip2", "BZh", 3},		{"lz4", "\x04\x22\x4d\x18", 4},
	{"UTF-16", "\xff\xfe", 2},	{"UTF-16", "\xfe\xff", 2},
};

static const char *other_of(const char *head, size_t len)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (len >= others[i].len && memcmp(head, others[i].magic, others[i].len) == 0)
			return others[i].name;
	return NULL;
}

/* Answers of servers to a request for a time without spans. */
static const char *const no_spans[] = {"[]", "{}", "{\"data\":[]"};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Blanks before and in the text do not count. */
static bool begins_with(const char *head, size_t len, const char *text)
{
	for (size_t i = 0; i < len && *text; i++) {
		if (is_blank(head[i]))
			continue;
		if (head[i] != *text++)
			return false;
	}
	return !*text;
}

static bool is_all_blank(const char *head, size_t len)
{
	while (len && is_blank(head[len - 1]))
		len--;
	return !len;
}

static bool is_empty_list(const char *head, size_t len)
{
	for (size_t i = 0; i < sizeof(no_spans) / sizeof(*no_spans); i++) {
		if (begins_with(head, len, no_spans[i]))
			return true;
	}
	return false;
}

static const struct spans_reader *choose(struct spans_in *in, size_t len, const char *name,
					 struct err *err)
{
	const char *head = (const char *)in->at, *other = other_of(head, len);
	bool blank = len < HEAD_MIN && is_all_blank(head, len);
	const struct spans_reader *reader = other || blank ? NULL : reader_of(head, len);

	if (blank)
		err_set(err, -EBADMSG, "%s: offset 0: expected spans, found blanks", name);
	else if (other)
		err_set(err, -EBADMSG,
			"%s: offset 0: expected spans as they are or packed with gzip or zstd, "
			"found %s", name, other);
	else if (!reader && is_empty_list(head, len))
		err_set(err, -EBADMSG, "%s: offset 0: expected spans, found an empty list", name);
	else if (!reader)
		err_set(err, -EBADMSG,
			"%s: offset 0: expected OTLP, Jaeger, Zipkin, OSProfiler, X-Trace or CSV "
			"whose header names trace, span and begin, found none of these", name);
	return reader;
}

static int read_all(struct spans_in *in, const char *name, struct reading *r, struct err *err)
{
	const struct spans_reader *reader;
	size_t head_len;
	int rc;

	r->in = in;
	if (r->sink->progress)
		in_on_progress(in, r->sink->progress, r->sink->ctx);
	skip_mark(in);
	head_len = in_fill(in, HEAD_MIN);
	r->stats->packed_as = in_packed_as(in);
	if (!head_len && in_stopped(in))
		return err_set(err, -ECANCELED, "%s: offset 0: stopped before anything came", name);
	if (!head_len && !in_trouble(in))
		return err_set(err, -EBADMSG, "%s: offset 0: expected spans, found an empty file",
			       name);
	if (!head_len)
		return nothing_read(in, name, r->stats, err);
	reader = choose(in, head_len, name, err);
	if (!reader)
		return -EBADMSG;
	r->stats->format = reader->format;
	rc = read_with(reader, r, name, err);
	r->stats->plain_bytes = in_off(in);
	r->stats->stopped = in_stopped(in);
	return rc;
}

static void in_free_ptr(struct spans_in **in)
{
	in_free(*in);
}

int spans_read(const char *path, const struct spans_opts *opts, struct strtab *strings,
	       const struct span_sink *sink, struct spans_stats *ret, struct err *err)
{
	static const struct spans_opts none;
	CLEANUP(in_free_ptr) struct spans_in *in = NULL;
	struct reading r = {NULL, opts ? opts : &none, strings, sink, ret};
	int rc;

	*ret = (struct spans_stats){0};
	rc = in_open(path, &in, err);
	if (rc < 0)
		return rc;
	return read_all(in, strcmp(path, "-") == 0 ? "standard input" : path, &r, err);
}

int spans_read_bytes(const void *data, size_t len, const char *name,
		     const struct spans_opts *opts, struct strtab *strings,
		     const struct span_sink *sink, struct spans_stats *ret, struct err *err)
{
	static const struct spans_opts none;
	CLEANUP(in_free_ptr) struct spans_in *in = in_bytes(data, len);
	struct reading r = {NULL, opts ? opts : &none, strings, sink, ret};

	*ret = (struct spans_stats){0};
	return read_all(in, name, &r, err);
}

struct body_limit {
	const struct spans_in *in;
	uint64_t plain_max;
};

static bool is_within(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	const struct body_limit *l = ctx;

	(void)done_bytes;
	(void)all_bytes;
	return in_off(l->in) <= l->plain_max;
}

int spans_read_body(const struct spans_body *body, struct strtab *strings,
		    const struct span_sink *sink, struct spans_stats *ret, struct err *err)
{
	CLEANUP(in_free_ptr) struct spans_in *in = in_bytes(body->data, body->len);
	struct body_limit limit = {in, body->plain_max};
	struct reading r = {in, &body->opts, strings, sink, ret};
	int rc;

	*ret = (struct spans_stats){.format = body->format};
	in_on_progress(in, is_within, &limit);
	if (!in_fill(in, 1) && !in_trouble(in))
		return 0;
	ret->packed_as = in_packed_as(in);
	rc = read_with(spans_reader_of(body->format), &r, "body", err);
	ret->plain_bytes = in_off(in);
	if (in_stopped(in))
		return err_set(err, -E2BIG, "over %" PRIu64 " bytes unpacked", body->plain_max);
	if (rc == 0 && ret->cut)
		return err_set(err, -EBADMSG, "offset %" PRIu64 ": %s", ret->cut_at.off,
			       ret->cut_at.why);
	return rc;
}

int spans_look(const char *path, enum spans_format *ret_format)
{
	CLEANUP(in_free_ptr) struct spans_in *in = NULL;
	const struct spans_reader *reader;
	struct err why = {0};
	int rc = in_open(path, &in, &why);

	if (rc < 0)
		return rc;
	skip_mark(in);
	reader = choose(in, in_fill(in, HEAD_MIN), path, &why);
	if (!reader)
		return -EBADMSG;
	*ret_format = reader->format;
	return 0;
}
