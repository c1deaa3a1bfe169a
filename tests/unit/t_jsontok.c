/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "spans/spans_input.h"
#include "spans/parse/jsontok.h"

/* Hands out text in two pieces, or byte by byte. */
struct pieces {
	const char *text;
	size_t len, at, cut; /* cut 0: single bytes */
	int fails;	     /* -errno instead of the end */
};

static ssize_t fill(void *ctx, char *buf, size_t cap)
{
	struct pieces *p = ctx;
	size_t len = !p->cut ? 1 : p->at < p->cut ? p->cut - p->at : p->len - p->at;

	if (p->at == p->len)
		return p->fails;
	if (len > p->len - p->at)
		len = p->len - p->at;
	if (len > cap)
		len = cap;
	memcpy(buf, p->text + p->at, len);
	p->at += len;
	return (ssize_t)len;
}

/* A text of what the calls say, so that one call to each is seen. */
static void dump_value(struct jsontok *t, struct buf *out);

static void dump_obj(struct jsontok *t, struct buf *out)
{
	struct tok_str key;

	jsontok_obj(t);
	buf_adds(out, "{");
	while (jsontok_key(t, &key)) {
		EQ_U(strlen(key.s), key.len);
		buf_printf(out, "%s=", key.s);
		if (tok_is(&key, "skip"))
			continue;
		dump_value(t, out);
		if (tok_is(&key, "leave")) {
			jsontok_leave(t);
			break;
		}
	}
	buf_adds(out, "}");
}

static void dump_value(struct jsontok *t, struct buf *out)
{
	struct tok_str s;
	double v;
	bool yes;

	switch (jsontok_kind(t)) {
	case TOK_OBJ:
		dump_obj(t, out);
		break;
	case TOK_ARR:
		jsontok_arr(t);
		buf_adds(out, "[");
		while (jsontok_item(t))
			dump_value(t, out);
		buf_adds(out, "]");
		break;
	case TOK_STR:
		if (jsontok_str(t, &s))
			buf_printf(out, "'%s' ", s.s);
		break;
	case TOK_NUM:
		if (jsontok_f64(t, &v))
			buf_printf(out, "%.17g ", v);
		break;
	case TOK_BOOL:
		if (jsontok_bool(t, &yes))
			buf_adds(out, yes ? "yes " : "no ");
		break;
	case TOK_NULL:
		jsontok_skip(t);
		buf_adds(out, "null ");
		break;
	case TOK_END:
		jsontok_skip(t);
		break;
	}
}

static void dump(struct pieces *p, struct buf *out, struct err *err)
{
	struct jsontok t;

	jsontok_init(&t, fill, p);
	while (jsontok_more(&t)) {
		dump_value(&t, out);
		buf_adds(out, ";");
	}
	if (jsontok_error(&t, err))
		buf_printf(out, "! %s", err->msg);
	jsontok_release(&t);
}

static const struct {
	const char *text, *want;
} documents[] = {
	{"", ""},
	{"  \r\n\t ", ""},
	{"\xef\xbb\xbf{}", "{};"},
	{"\x1e{}\n\x1e[]\n", "{};[];"},
	{"{}\n{}\n[] []", "{};{};[];[];"},
	{"{\"a\":{\"b\":[1,2,{\"c\":null}]},\"d\":true}", "{a={b=[1 2 {c=null }]}d=yes };"},
	{" { \"a\" : [ 1 , false ] } ", "{a=[1 no ]};"},
	{"\"plain\" \"\"", "'plain' ;'' ;"},
	{"{\"\":1,\"\" :2}", "{=1 =2 };"},
	{"{\"key\" \n :\"v\"}", "{key='v' };"},
	{"\"q\\\"b\\\\s\\/ \\b\\f\\n\\r\\t\"", "'q\"b\\s/ \b\f\n\r\t' ;"},
	{"{\"k\\u0065y\":\"\\u00e4\\u20AC\"}", "{key='\xc3\xa4\xe2\x82\xac' };"},
	{"\"\\ud83d\\ude00\"", "'\xf0\x9f\x98\x80' ;"},
	{"\"\\ud83d!\" \"\\ude00\" \"\\ud83d\\u0041\" \"\\u0000\"",
	 "'\xef\xbf\xbd!' ;'\xef\xbf\xbd' ;'\xef\xbf\xbd""A' ;'\xef\xbf\xbd' ;"},
	{"\"raw\ttab\"", "'raw\ttab' ;"},
	{"0 -0 12 -3 1.5 -0.25 1e3 2.5E-3 123456789012345678",
	 "0 ;-0 ;12 ;-3 ;1.5 ;-0.25 ;1000 ;0.0025000000000000001 ;1.2345678901234568e+17 ;"},
	{"0.1 3.141592653589793 1e-400 4.9e-324 179769313486231570000000000000000000000.5",
	 "0.10000000000000001 ;3.1415926535897931 ;0 ;4.9406564584124654e-324 ;"
	 "1.7976931348623156e+38 ;"},
	{"[NaN,Infinity,-Infinity]", "[nan inf -inf ];"},
	{"{\"skip\":{\"a\":[1,\"}]\\\"\",{}]},\"b\":1}", "{skip=b=1 };"},
	{"{\"skip\":\"x\\\\\",\"skip\":-1.5e3,\"skip\":true,\"skip\":[],\"b\":1}",
	 "{skip=skip=skip=skip=b=1 };"},
	{"[{\"leave\":1,\"x\":{\"y\":[2]},\"z\":\"}\"},3]", "[{leave=1 }3 ];"},
	/* broken */
	{"{", "{};! offset 1: expected a key or '}', found the end of the input"},
	{"{\"a\"", "{};! offset 4: expected ':', found the end of the input"},
	{"{\"a\" x", "{};! offset 5: expected ':', found 'x'"},
	{"{\"a\":}", "{a=};! offset 5: expected a value, found '}'"},
	{"{\"a\":1 \"b\":2}", "{a=1 };! offset 7: expected ',' or '}', found '\"'"},
	{"{\"a\":1,}", "{a=1 };! offset 7: expected a key, found '}'"},
	{"{1:2}", "{};! offset 1: expected a key, found '1'"},
	{"[1,]", "[1 ];! offset 3: expected a value, found ']'"},
	{"[1 2]", "[1 ];! offset 3: expected ',' or ']', found '2'"},
	{"[1", "[1 ];! offset 2: expected ',' or ']', found the end of the input"},
	{"[1}", "[1 ];! offset 2: expected ',' or ']', found '}'"},
	{"[\"abc",
	 "[];! offset 5: expected the string's closing quote, found the end of the input"},
	{"[\"abc\\",
	 "[];! offset 6: expected the string's closing quote, found the end of the input"},
	{"[\"\\x\"]", "[];! offset 1: expected a string with JSON's escapes, found '\"'"},
	{"[\"\\u12g4\"]", "[];! offset 1: expected a string with JSON's escapes, found '\"'"},
	{"[\"\\u12\"]", "[];! offset 1: expected a string with JSON's escapes, found '\"'"},
	{"[tru]", "[];! offset 1: expected a value, found 't'"},
	{"[nul", "[null ];! offset 1: expected a value, found 'n'"},
	{"[\x01]", "[];! offset 1: expected a value or ']', found byte 0x01"},
	{"{\"skip\":[}}", "{skip=};! offset 9: expected ']', found '}'"},
	{"{\"skip\":{\"a\":1", "{skip=};! offset 14: expected a closing bracket, "
				"found the end of the input"},
	{"]", ";! offset 0: expected a value, found ']'"},
};

TEST(jsontok_documents_cut_anywhere)
{
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		const char *text = documents[i].text;
		size_t len = strlen(text);

		ROW(i);
		for (size_t cut = 0; cut <= len; cut++) {
			struct pieces p = {.text = text, .len = len, .cut = cut};
			struct buf out = {0};
			struct err err = {0};

			dump(&p, &out, &err);
			EQ_S(buf_str(&out), documents[i].want);
			buf_release(&out);
		}
	}
}

TEST(jsontok_nul_breaks)
{
	static const char in_str[] = "[\"a\0b\"]", between[] = "[1,\0 2]";
	struct pieces p = {.text = in_str, .len = sizeof(in_str) - 1};
	struct buf out = {0};
	struct err err = {0};

	dump(&p, &out, &err);
	EQ_S(buf_str(&out), "[];! offset 3: expected no NUL in a string, found byte 0x00");
	buf_clear(&out);
	p = (struct pieces){.text = between, .len = sizeof(between) - 1};
	dump(&p, &out, &err);
	EQ_S(buf_str(&out), "[1 ];! offset 3: expected a value, found byte 0x00");
	buf_release(&out);
}

TEST(jsontok_read_error)
{
	struct pieces p = {.text = "[1, ", .len = 4, .fails = -EIO};
	struct buf out = {0};
	struct err err = {0};

	dump(&p, &out, &err);
	EQ_S(buf_str(&out), "[1 ];! offset 4: read: Input/output error");
	buf_release(&out);
}

static const struct {
	const char *text;
	bool ok_u, ok_i;
	uint64_t u;
	int64_t i;
} integers[] = {
	{"0", true, true, 0, 0},
	{"-0", true, true, 0, 0},
	{"18446744073709551615", true, false, UINT64_MAX, 0},
	{"18446744073709551616", false, false, 0, 0},
	{"9223372036854775807", true, true, INT64_MAX, INT64_MAX},
	{"-9223372036854775808", false, true, 0, INT64_MIN},
	{"-9223372036854775809", false, false, 0, 0},
	{"\"1544712660000000123\"", true, true, 1544712660000000123, 1544712660000000123},
	{"\"-7\"", false, true, 0, -7},
	{"1e3", true, true, 1000, 1000},
	{"2.50e1", true, true, 25, 25},
	{"1.5", false, false, 0, 0},
	{"1e300", false, false, 0, 0},
	{"NaN", false, false, 0, 0},
	{"\"\"", false, false, 0, 0},
	{"\"-\"", false, false, 0, 0},
	{"\"0x10\"", false, false, 0, 0},
	{"\" 1\"", false, false, 0, 0},
	{"\"12 \"", false, false, 0, 0},
	{"true", false, false, 0, 0},
	{"null", false, false, 0, 0},
	{"{}", false, false, 0, 0},
};

TEST(jsontok_integers)
{
	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
		struct jsontok t;
		uint64_t u = 5;
		int64_t s = 5;

		ROW(i);
		jsontok_init_mem(&t, integers[i].text, strlen(integers[i].text));
		EQ_I(jsontok_u64(&t, &u), integers[i].ok_u);
		EQ_U(u, integers[i].ok_u ? integers[i].u : 5);
		OK(!jsontok_more(&t) && !jsontok_broken(&t));
		jsontok_release(&t);
		jsontok_init_mem(&t, integers[i].text, strlen(integers[i].text));
		EQ_I(jsontok_i64(&t, &s), integers[i].ok_i);
		EQ_I(s, integers[i].ok_i ? integers[i].i : 5);
		OK(!jsontok_more(&t) && !jsontok_broken(&t));
		jsontok_release(&t);
	}
}

/* A short way for most doubles must say the same as the long one. */
TEST(jsontok_doubles_as_strtod)
{
	srand(3);
	for (int i = 0; i < 100000; i++) {
		struct jsontok t;
		char text[40];
		double got = 0;

		snprintf(text, sizeof(text), i & 1 ? "%.*f" : "%.*g", rand() % 17,
			 (rand() - RAND_MAX / 2) / pow(10, rand() % 14));
		ROW(i);
		jsontok_init_mem(&t, text, strlen(text));
		OK(jsontok_f64(&t, &got));
		OK(got == strtod(text, NULL));
		jsontok_release(&t);
	}
}

TEST(jsontok_misses_cost_the_value)
{
	static const char text[] = "{\"a\":[1,{\"x\":2}],\"b\":\"s\",\"c\":7,\"d\":\"t\",\"e\":{}}";
	struct jsontok t;
	struct tok_str key, s;
	const char *why;
	uint64_t off, u = 0;
	bool yes;

	jsontok_init_mem(&t, text, sizeof(text) - 1);
	OK(!jsontok_take_miss(&t, &off, &why));
	OK(!jsontok_arr(&t) && jsontok_take_miss(&t, &off, &why));
	EQ_U(off, 0);
	EQ_S(why, "expected an array, found an object");
	OK(!jsontok_more(&t) && !jsontok_broken(&t));
	jsontok_release(&t);

	jsontok_init_mem(&t, text, sizeof(text) - 1);
	OK(jsontok_obj(&t));
	OK(jsontok_key(&t, &key) && !jsontok_str(&t, &s));
	OK(jsontok_key(&t, &key) && !jsontok_u64(&t, &u));
	OK(jsontok_take_miss(&t, &off, &why));
	EQ_U(off, 5); /* the first one */
	EQ_S(why, "expected a string, found an array");
	OK(jsontok_key(&t, &key) && !jsontok_bool(&t, &yes));
	OK(jsontok_take_miss(&t, &off, &why));
	EQ_S(why, "expected true or false, found a number");
	OK(jsontok_key(&t, &key) && jsontok_str(&t, &s));
	jsontok_expected(&t, "a trace id in hex");
	OK(jsontok_take_miss(&t, &off, &why));
	EQ_U(off, 35);
	EQ_S(why, "expected a trace id in hex, found another value");
	OK(jsontok_key(&t, &key) && jsontok_obj(&t) && !jsontok_key(&t, &key));
	OK(!jsontok_key(&t, &key) && !jsontok_broken(&t));
	jsontok_release(&t);
}

TEST(jsontok_a_broken_line_costs_the_line)
{
	static const char text[] = "{\"a\":1}\n{\"a\":\"\\q\\n\",\n"
				   " {\"a\":7}\n{\"a\":2}\n{\"a\"\n{\"a\":3}";
	struct pieces p = {.text = text, .len = sizeof(text) - 1};
	struct jsontok t;
	struct tok_str key;
	uint64_t v, sum = 0;
	unsigned broken = 0;

	jsontok_init(&t, fill, &p);
	do {
		while (jsontok_more(&t)) {
			if (!jsontok_obj(&t))
				continue;
			while (jsontok_key(&t, &key))
				if (jsontok_u64(&t, &v))
					sum = sum * 10 + v;
		}
		broken += jsontok_broken(&t);
	} while (jsontok_broken(&t) && jsontok_next_line(&t));
	/* What breaks at the next line's brace takes that line with it. */
	EQ_U(sum, 12);
	EQ_U(broken, 2);
	jsontok_release(&t);
}

TEST(jsontok_depth_is_bounded)
{
	char text[JSONTOK_DEPTH_MAX + 2];
	struct jsontok t;

	memset(text, '[', sizeof(text));
	jsontok_init_mem(&t, text, sizeof(text));
	for (int i = 0; i < JSONTOK_DEPTH_MAX; i++)
		OK(jsontok_arr(&t) && jsontok_item(&t));
	OK(!jsontok_arr(&t) && jsontok_broken(&t));
	jsontok_release(&t);
	jsontok_init_mem(&t, text, sizeof(text));
	jsontok_skip(&t);
	OK(jsontok_broken(&t)); /* never closed */
	EQ_U(jsontok_off(&t), sizeof(text));
	jsontok_release(&t);
}

/* What is not asked for may be as deep as it likes: it costs itself. */
TEST(jsontok_skips_any_depth)
{
	enum { LEVELS = 10 * JSONTOK_DEPTH_MAX };
	char text[2 * LEVELS + 2];
	struct jsontok t;
	int64_t v = 0;

	memset(text, '[', LEVELS);
	memset(text + LEVELS, ']', LEVELS);
	text[2 * LEVELS] = '7';
	text[2 * LEVELS + 1] = 0;
	jsontok_init_mem(&t, text, sizeof(text) - 1);
	OK(jsontok_more(&t));
	jsontok_skip(&t);
	OK(jsontok_more(&t) && jsontok_i64(&t, &v));
	EQ_I(v, 7);
	jsontok_release(&t);
}

static void long_string(size_t len, bool want_fits, bool skip)
{
	CLEANUP(buf_release) struct buf b = {0};
	struct jsontok t;
	struct tok_str s;
	uint64_t off;
	const char *why;

	buf_adds(&b, "[\"");
	buf_addn(&b, 'x', len);
	buf_adds(&b, "\\\\\\\"\", 7]");
	jsontok_init_mem(&t, b.data, b.len);
	OK(jsontok_arr(&t) && jsontok_item(&t));
	if (skip)
		jsontok_skip(&t);
	else if (want_fits)
		OK(jsontok_str(&t, &s) && s.len == len + 2);
	else
		OK(!jsontok_str(&t, &s) && jsontok_take_miss(&t, &off, &why) && off == 1);
	OK(!skip || t.cap < len || len < 1 << 20); /* skipping takes no memory */
	OK(jsontok_item(&t) && jsontok_u64(&t, &off) && off == 7);
	OK(!jsontok_item(&t) && !jsontok_broken(&t));
	jsontok_release(&t);
}

TEST(jsontok_long_strings)
{
	for (size_t len = (128 << 10) - 12; len < (128 << 10) + 3; len++) {
		ROW(len);
		long_string(len, true, false);
		long_string(len, true, true);
	}
	long_string(JSONTOK_STR_MAX - 10, true, false);
	long_string(JSONTOK_STR_MAX, false, false);
	long_string(3 * JSONTOK_STR_MAX, false, false);
	long_string(3 * JSONTOK_STR_MAX, false, true);
}

TEST(jsontok_of_an_input_window)
{
	static const char text[] = "xx[1]\n[2]";
	struct spans_in *in = in_bytes(text, sizeof(text) - 1);
	struct jsontok t;
	uint64_t v, sum = 0;

	OK(in_fill(in, 2) >= 2);
	in->at += 2;
	jsontok_init_in(&t, in);
	EQ_U(jsontok_off(&t), 2);
	while (jsontok_more(&t) && jsontok_arr(&t))
		while (jsontok_item(&t))
			if (jsontok_u64(&t, &v))
				sum += v;
	EQ_U(sum, 3);
	EQ_U(jsontok_off(&t), sizeof(text) - 1);
	jsontok_release(&t);
	in_free(in);
}
