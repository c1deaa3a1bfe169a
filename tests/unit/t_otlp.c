/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/pbout.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "spans/spans.h"

/* ---- what was read, as text */

struct seen {
	struct strtab strings;
	struct buf text;
};

static void seen_attr(struct seen *s, const struct attr *a)
{
	buf_printf(&s->text, " %s=", strtab_str(&s->strings, a->key));
	if (a->type == ATTR_STR)
		buf_printf(&s->text, "'%s'", strtab_str(&s->strings, (uint32_t)a->str));
	else if (a->type == ATTR_BOOL)
		buf_adds(&s->text, a->num != 0 ? "true" : "false");
	else
		buf_printf(&s->text, "%.17g", a->num);
}

static int seen_span(void *ctx, const struct trace_id *trace, const struct span *span,
		     const struct attr *attrs, const struct span_ref *refs)
{
	struct seen *s = ctx;

	buf_printf(&s->text, "%" PRIx64 ":%" PRIx64 " ", trace->hi, trace->lo);
	if (span->flags & SPANF_POINT)
		buf_printf(&s->text, "point <%" PRIx64, span->parent);
	else
		buf_printf(&s->text, "%" PRIx64 "<%" PRIx64, span->id, span->parent);
	buf_printf(&s->text, " %s/%s@%s", strtab_str(&s->strings, span->service),
		   strtab_str(&s->strings, span->name), strtab_str(&s->strings, span->host));
	buf_printf(&s->text, " k%u f%u %" PRId64 "-%" PRId64, span->kind, span->flags,
		   span->begin_ns, span->end_ns);
	for (uint32_t i = 0; i < span->attr_cnt; i++)
		seen_attr(s, &attrs[i]);
	for (uint32_t i = 0; i < span->ref_cnt; i++)
		buf_printf(&s->text, " ~%" PRIx64 ":%" PRIx64 ":%" PRIx64, refs[i].trace.hi,
			   refs[i].trace.lo, refs[i].span);
	buf_adds(&s->text, "\n");
	return 0;
}

static void seen_release(struct seen *s)
{
	strtab_release(&s->strings);
	buf_release(&s->text);
}

/* The spans and, of what went wrong, the first place and the counts; want is the whole text. */
static void expect(const void *data, size_t len, const char *want)
{
	CLEANUP(seen_release) struct seen s = {0};
	struct span_sink sink = {.ctx = &s, .span = seen_span};
	struct spans_stats st;
	struct err err = {0};
	int rc = spans_read_bytes(data, len, "x", NULL, &s.strings, &sink, &st, &err);

	if (rc < 0)
		buf_printf(&s.text, "! %s\n", err.msg);
	else if (st.bad_cnt)
		buf_printf(&s.text, "bad %" PRIu64 ": %" PRIu64 ": %s\n", st.bad_cnt, st.bad[0].off,
			   st.bad[0].why);
	if (rc == 0 && st.cut)
		buf_printf(&s.text, "cut: %" PRIu64 ": %s\n", st.cut_at.off, st.cut_at.why);
	EQ_S(buf_str(&s.text), want);
}

/* ---- JSON */

#define T "\"traceId\":\"0000000000000001000000000000002a\""
#define TIMES "\"startTimeUnixNano\":\"10\",\"endTimeUnixNano\":\"20\""
#define SPAN(more) "{" T ",\"spanId\":\"00000000000000f1\",\"name\":\"n\"," TIMES more "}"
#define SERVICE "\"resource\":{\"attributes\":[" \
	"{\"key\":\"service.name\",\"value\":{\"stringValue\":\"svc\"}}]}"
#define REQUEST(spans) \
	"{\"resourceSpans\":[{" SERVICE ",\"scopeSpans\":[{\"spans\":[" spans "]}]}]}"
#define SEEN "1:2a f1<0 svc/n@ k0 f0 10-20"

static const struct {
	const char *text, *want;
} json_rows[] = {
	{REQUEST(SPAN("")), SEEN "\n"},
	{REQUEST(SPAN("") "," SPAN("")) "\n" REQUEST(SPAN("")) "\n", SEEN "\n" SEEN "\n" SEEN "\n"},
	/* spellings, ids in base64, numbers as numbers and strings, enums as names */
	{"{\"resource_spans\":[{" SERVICE ",\"scope_spans\":[{\"spans\":[{\"trace_id\":"
	 "\"AAAAAAAAAAEAAAAAAAAAKg==\",\"span_id\":\"AAAAAAAAAPE=\",\"parent_span_id\":\"\","
	 "\"name\":\"n\",\"kind\":\"SPAN_KIND_SERVER\",\"start_time_unix_nano\":10,"
	 "\"end_time_unix_nano\":2e1,\"status\":{\"code\":\"STATUS_CODE_ERROR\"}}]}]}]}",
	 "1:2a f1<0 svc/n@ k2 f1 10-20\n"},
	{"{\"batches\":[{" SERVICE ",\"instrumentationLibrarySpans\":[{\"spans\":["
	 SPAN(",\"parentSpanId\":\"00000000000000F0\",\"kind\":3") "]}]}]}",
	 "1:2a f1<f0 svc/n@ k3 f0 10-20\n"},
	{"{\"trace\":{\"resourceSpans\":[{" SERVICE ",\"scopeSpans\":[{\"spans\":[" SPAN("")
	 "]}]}]}}", SEEN "\n"},
	/* the resource after its spans */
	{"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
	 SPAN(",\"attributes\":[{\"key\":\"a\",\"value\":{\"intValue\":\"7\"}}],"
	      "\"events\":[{\"timeUnixNano\":15,\"name\":\"e\"}]") "," SPAN("")
	 "]}]," SERVICE "}]}",
	 SEEN " a=7\n1:2a point <f1 svc/e@ k1 f4 15-15\n" SEEN "\n"},
	/* what a resource gives */
	{"{\"resourceSpans\":[{\"resource\":{\"attributes\":["
	 "{\"key\":\"k8s.pod.name\",\"value\":{\"stringValue\":\"pod-1\"}},"
	 "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"h1\"}},"
	 "{\"key\":\"process.pid\",\"value\":{\"intValue\":12}},"
	 "{\"value\":{\"stringValue\":\"svc\"},\"key\":\"service.name\"}]},"
	 "\"scopeSpans\":[{\"spans\":[" SPAN("") "]}]}]}",
	 "1:2a f1<0 svc/n@h1 k0 f0 10-20 k8s.pod.name='pod-1' host.name='h1'\n"},
	/* attributes of all kinds; what explains nothing or is broken goes alone */
	{REQUEST(SPAN(",\"attributes\":[{\"key\":\"s\",\"value\":{\"stringValue\":\"t\\u00e4\"}},"
		      "{\"key\":\"num\",\"value\":{\"stringValue\":\"42\"}},"
		      "{\"key\":\"i\",\"value\":{\"intValue\":\"-9\"}},"
		      "{\"key\":\"d\",\"value\":{\"doubleValue\":0.5}},"
		      "{\"key\":\"b\",\"value\":{\"boolValue\":true}},"
		      "{\"key\":\"l\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":1}]}}},"
		      "{\"key\":\"x\",\"value\":{\"intValue\":\"none\"}},"
		      "{\"key\":\"y\",\"value\":7},3,{\"key\":\"e\",\"value\":{}},"
		      "{\"key\":\"s\",\"value\":{\"string_value\":\"again\"}}]")),
	 SEEN " s='t\xc3\xa4' num=42 i=-9 d=0.5 b=true s='again'\n"},
	{REQUEST(SPAN(",\"links\":[{" T ",\"spanId\":\"00000000000000f9\",\"attributes\":[]},{}],"
		      "\"events\":[{\"timeUnixNano\":\"12\",\"name\":\"got 12 of 3\","
		      "\"attributes\":[]},{\"name\":\"timeless\"}],"
		      "\"traceState\":\"\",\"flags\":257")),
	 SEEN " ~1:2a:f9\n1:2a point <f1 svc/got # of #@ k1 f4 12-12\n"},
	/* no end */
	{REQUEST("{" T ",\"spanId\":\"00000000000000f1\",\"name\":\"n\",\"startTimeUnixNano\":9}"),
	 "1:2a f1<0 svc/n@ k0 f2 9-9\n"},
	/* a bad span costs that span */
	{REQUEST("{" T ",\"spanId\":\"xyz\"," TIMES "}," SPAN("")),
	 SEEN "\nbad 1: 179: expected a span's id of 16 hex digits, found another value\n"},
	{REQUEST("{" T ",\"spanId\":7," TIMES "}," SPAN("")),
	 SEEN "\nbad 1: 179: expected a string, found a number\n"},
	{REQUEST("{" T ",\"spanId\":\"00000000000000f1\",\"startTimeUnixNano\":\"x\"}," SPAN("")),
	 SEEN "\nbad 1: 218: expected an integer from 0 to 2^64 - 1, found another string\n"},
	{REQUEST("7,[]," SPAN("")), SEEN "\nbad 2: 124: expected an object, found a number\n"},
	{REQUEST("{\"spanId\":\"00000000000000f1\"," TIMES "}," SPAN("")),
	 SEEN "\nbad 1: 124: expected the id of a trace, found none\n"},
	{REQUEST("{" T ",\"spanId\":\"00000000000000f1\"}," SPAN("")),
	 SEEN "\nbad 1: 124: expected a start time in ns since 1970, found none\n"},
	/* a broken line costs what it had left */
	{REQUEST(SPAN("") ",{\"traceId\":}") "\n" REQUEST(SPAN("")) "\n",
	 SEEN "\n" SEEN "\nbad 1: 269: expected a value, found '}'\n"},
	/* a file that ends too early */
	{"{\"resourceSpans\":[{" SERVICE ",\"scopeSpans\":[{\"spans\":[" SPAN("") ",{\"tr",
	 SEEN "\ncut: 262: expected the string's closing quote, found the end of the input\n"},
	{"{\"resourceSpans\":[}", "! x: offset 18: expected a value, found '}'\n"},
	{"{\"resourceSpans\":7}", "! x: offset 17: expected an array, found a number\n"},
	{"{\"resourceSpans\":[]}", ""},
};

TEST(otlp_json)
{
	for (size_t i = 0; i < sizeof(json_rows) / sizeof(json_rows[0]); i++) {
		ROW(i);
		expect(json_rows[i].text, strlen(json_rows[i].text), json_rows[i].want);
	}
}

/* ---- protobuf */

static void put_attr(struct buf *b, unsigned num, const char *key, struct buf *value)
{
	CLEANUP(buf_release) struct buf kv = {0};

	pbout_str(&kv, 1, key);
	pbout_msg(&kv, 2, value);
	pbout_msg(b, num, &kv);
}

static const uint8_t trace_bytes[16] = {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x2a};
static const uint8_t span_bytes[8] = {0, 0, 0, 0, 0, 0, 0, 0xf1};

static void put_span_head(struct buf *b)
{
	pbout_bytes(b, 1, trace_bytes, 16);
	pbout_bytes(b, 2, span_bytes, 8);
	pbout_str(b, 5, "n");
	pbout_i64(b, 7, 10);
	pbout_i64(b, 8, 20);
}

static void put_resource(struct buf *b)
{
	CLEANUP(buf_release) struct buf value = {0}, resource = {0};

	pbout_str(&value, 1, "svc");
	put_attr(&resource, 1, "service.name", &value);
	pbout_msg(b, 1, &resource);
}

/* A request of the spans in `spans`, which are fields 2 of a scope. */
static void put_request(struct buf *b, struct buf *spans, bool late_resource)
{
	CLEANUP(buf_release) struct buf rs = {0};

	if (!late_resource)
		put_resource(&rs);
	pbout_msg(&rs, 2, spans);
	if (late_resource)
		put_resource(&rs);
	pbout_str(&rs, 3, "https://schema");
	pbout_msg(b, 1, &rs);
}

static void put_full_span(struct buf *spans)
{
	CLEANUP(buf_release) struct buf s = {0}, v = {0};

	put_span_head(&s);
	pbout_str(&s, 3, "state");
	pbout_bytes(&s, 4, span_bytes, 8);
	pbout_num(&s, 6, SPAN_CLIENT);
	pbout_str(&v, 1, "text");
	put_attr(&s, 9, "s", &v);
	pbout_num(&v, 2, 1);
	put_attr(&s, 9, "b", &v);
	pbout_num(&v, 3, (uint64_t)-9);
	put_attr(&s, 9, "i", &v);
	pbout_i64(&v, 4, UINT64_C(0x3fe0000000000000));
	put_attr(&s, 9, "d", &v);
	pbout_str(&v, 5, "");
	put_attr(&s, 9, "list", &v);
	pbout_i64(&v, 1, 15);
	pbout_str(&v, 2, "e");
	pbout_msg(&s, 11, &v);
	pbout_bytes(&v, 1, trace_bytes, 16);
	pbout_bytes(&v, 2, span_bytes, 8);
	pbout_msg(&s, 13, &v);
	pbout_str(&v, 2, "why");
	pbout_num(&v, 3, 2);
	pbout_msg(&s, 15, &v);
	pbout_num(&s, 99, 5);
	pbout_str(&s, 100, "unknown");
	pbout_msg(spans, 2, &s);
}

#define FULL "1:2a f1<0 svc/n@ k3 f1 10-20 s='text' b=true i=-9 d=0.5 ~1:2a:f1\n" \
	"1:2a point <f1 svc/e@ k1 f4 15-15\n"

TEST(otlp_proto_fields)
{
	CLEANUP(buf_release) struct buf b = {0}, spans = {0};

	for (int late = 0; late < 2; late++) {
		ROW(late);
		buf_clear(&b);
		put_full_span(&spans);
		put_request(&b, &spans, late);
		expect(b.data, b.len, FULL);
	}
	/* requests in a row are one */
	put_full_span(&spans);
	put_request(&b, &spans, false);
	expect(b.data, b.len, FULL FULL);
}

static void put_be32(struct buf *b, size_t len)
{
	uint32_t be = htobe32((uint32_t)len);

	buf_add(b, &be, sizeof(be));
}

TEST(otlp_proto_framings)
{
	CLEANUP(buf_release) struct buf one = {0}, spans = {0}, b = {0};

	put_full_span(&spans);
	put_request(&one, &spans, false);
	for (int framing = 0; framing < 3; framing++) {
		ROW(framing);
		buf_clear(&b);
		for (int i = 0; i < 2; i++) {
			if (framing == 0)
				pbout_varint(&b, one.len);
			if (framing == 2)
				buf_addch(&b, 0);
			if (framing)
				put_be32(&b, one.len);
			buf_add(&b, one.data, one.len);
		}
		expect(b.data, b.len, FULL FULL);
	}
	/* JSON that the exporter would have packed */
	buf_clear(&b);
	for (int i = 0; i < 2; i++) {
		put_be32(&b, strlen(json_rows[0].text));
		buf_adds(&b, json_rows[0].text);
	}
	expect(b.data, b.len, SEEN "\n" SEEN "\n");
}

static void put_good_span(struct buf *spans)
{
	CLEANUP(buf_release) struct buf s = {0};

	put_span_head(&s);
	pbout_msg(spans, 2, &s);
}

/* What is wrong with a span, as bytes behind its good fields, and what is said of it. */
static const struct {
	const char *bytes;
	size_t len;
	const char *want;
} bad_spans[] = {
	{"\x0a\x03""abc", 5, "expected 16 bytes of a trace's id in a span's field"},
	{"\x12\x03""abc", 5, "expected 8 bytes of a span's id in a span's field"},
	{"\x22\x01""a", 3, "expected 8 bytes of a span's id in a span's field"},
	{"\x4a\x02\x0a\x05", 4, "expected a message that is whole in a span's field"},
	{"\x5a\x02\x09\x05", 4, "expected a message that is whole in a span's field"},
	{"\x6a\x01\xff", 3, "expected a message that is whole in a span's field"},
	{"\x7a\x01\x18", 3, "expected a message that is whole in a span's field"},
	{"\x2a\x7f", 2, "expected as many bytes as the length says in a span's field"},
	{"\x39\x01", 2, "expected 8 bytes in a span's field"},
	{"\x85\x01\x01", 3, "expected 4 bytes in a span's field"},
	{"\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11,
	 "expected a varint of 64 bits in a span's field"},
	{"\x30\xff", 2, "expected a varint of 64 bits in a span's field"},
	{"\x07", 1, "expected a tag with a field number in a span's field"},
	{"\x2b", 1, "expected a tag of type varint, 64 bits, 32 bits or length in a span's field"},
};

TEST(otlp_proto_a_bad_span_costs_that_span)
{
	for (size_t i = 0; i < sizeof(bad_spans) / sizeof(bad_spans[0]); i++) {
		CLEANUP(buf_release) struct buf b = {0}, spans = {0}, s = {0}, want = {0};
		size_t off;

		ROW(i);
		put_good_span(&spans);
		put_span_head(&s);
		off = s.len;
		buf_add(&s, bad_spans[i].bytes, bad_spans[i].len);
		off += spans.len + 2;
		pbout_msg(&spans, 2, &s);
		put_good_span(&spans);
		/* 16: tags and lengths of the request's first levels */
		put_request(&b, &spans, false);
		off = (size_t)((char *)memmem(b.data, b.len, bad_spans[i].bytes,
					      bad_spans[i].len) - b.data);
		buf_printf(&want, "%s\n%s\nbad 1: %zu: %s, found something else\n", SEEN, SEEN,
			   off, bad_spans[i].want);
		expect(b.data, b.len, buf_str(&want));
	}
}

/* Every prefix is read as far as it goes, and says that it ends too early. */
TEST(otlp_proto_cut_anywhere)
{
	CLEANUP(buf_release) struct buf b = {0}, spans = {0};

	put_good_span(&spans);
	put_full_span(&spans);
	put_request(&b, &spans, false);
	for (size_t len = 1; len <= b.len; len++) {
		CLEANUP(seen_release) struct seen s = {0};
		struct span_sink sink = {.ctx = &s, .span = seen_span};
		struct spans_stats st;
		struct err err = {0};
		int rc = spans_read_bytes(b.data, len, "x", NULL, &s.strings, &sink, &st, &err);

		ROW(len);
		OK(len == b.len ? rc == 0 && !st.cut : rc < 0 || st.cut);
		OK(strncmp(buf_str(&s.text), SEEN "\n" FULL, s.text.len) == 0);
	}
}

/* A length that leads out of its message costs the message, not what follows. */
TEST(otlp_proto_a_bad_length)
{
	CLEANUP(buf_release) struct buf b = {0}, spans = {0};

	put_good_span(&spans);
	buf_add(&spans, "\x12\x7f", 2);
	put_request(&b, &spans, false);
	put_good_span(&spans);
	put_request(&b, &spans, false);
	expect(b.data, b.len, SEEN "\n" SEEN "\nbad 1: 80: expected a length that ends inside of "
			      "the message\n");
}

TEST(otlp_sink_ends_it)
{
	static const char text[] = REQUEST(SPAN("") "," SPAN(""));
	struct strtab strings = {0};
	struct spans_stats st;
	struct err err = {0};
	int stop(void *ctx, const struct trace_id *trace, const struct span *span,
		 const struct attr *attrs, const struct span_ref *refs)
	{
		(void)trace;
		(void)span;
		(void)attrs;
		(void)refs;
		++*(int *)ctx;
		return -ENOSPC;
	}
	int cnt = 0;
	struct span_sink sink = {.ctx = &cnt, .span = stop};

	EQ_I(spans_read_bytes(text, sizeof(text) - 1, "x", NULL, &strings, &sink, &st, &err),
	     -ENOSPC);
	EQ_I(cnt, 1);
	strtab_release(&strings);
}
