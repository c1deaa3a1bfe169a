/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"

static void sample(struct json *j)
{
	json_obj(j);
	json_ku64(j, "u", UINT64_MAX);
	json_ki64(j, "i", INT64_MIN);
	json_kbool(j, "t", true);
	json_knull(j, "n");
	json_kstr(j, "none", NULL);
	json_karr(j, "plain");
	json_u64(j, 1);
	json_u64(j, 2);
	json_arr_end(j);
	json_karr(j, "empty");
	json_arr_end(j);
	json_kobj(j, "nothing");
	json_obj_end(j);
	json_karr(j, "nested");
	json_obj(j);
	json_kstr(j, "a", "b");
	json_obj_end(j);
	json_arr(j);
	json_arr_end(j);
	json_arr_end(j);
	json_obj_end(j);
	json_finish(j);
}

TEST(json_compact)
{
	struct buf out = {0};
	struct json j;

	json_init(&j, &out, JSON_COMPACT);
	sample(&j);
	EQ_S(buf_str(&out),
	     "{\"u\":18446744073709551615,\"i\":-9223372036854775808,\"t\":true,\"n\":null,"
	     "\"none\":null,\"plain\":[1,2],\"empty\":[],\"nothing\":{},"
	     "\"nested\":[{\"a\":\"b\"},[]]}\n");
	buf_release(&out);
}

TEST(json_pretty)
{
	struct buf out = {0};
	struct json j;

	json_init(&j, &out, JSON_PRETTY);
	sample(&j);
	EQ_S(buf_str(&out), "{\n"
			    "  \"u\": 18446744073709551615,\n"
			    "  \"i\": -9223372036854775808,\n"
			    "  \"t\": true,\n"
			    "  \"n\": null,\n"
			    "  \"none\": null,\n"
			    "  \"plain\": [1, 2],\n"
			    "  \"empty\": [],\n"
			    "  \"nothing\": {},\n"
			    "  \"nested\": [\n"
			    "    {\n"
			    "      \"a\": \"b\"\n"
			    "    },\n"
			    "    []\n"
			    "  ]\n"
			    "}\n");
	buf_release(&out);
}

#define BAD "\xef\xbf\xbd"

TEST(json_strings)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{"", ""},
		{"plain", "plain"},
		{"\"\\/", "\\\"\\\\/"},
		{"\n\t\r\b\x01\x1f", "\\n\\t\\r\\u0008\\u0001\\u001f"},
		{"\x7f", "\\u007f"},
		{"</script>", "\\u003c/script>"},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82"},
		{"a\xffz", "a" BAD "z"},
		{"\xc3", BAD},				/* cut */
		{"\xe2\x82", BAD BAD},			/* cut */
		{"\xc0\x80", BAD BAD},			/* overlong */
		{"\xe0\x9f\xbf", BAD BAD BAD},		/* overlong */
		{"\xed\xa0\x80", BAD BAD BAD},		/* surrogate */
		{"\xf0\x8f\xbf\xbf", BAD BAD BAD BAD},	/* overlong */
		{"\xf4\x90\x80\x80", BAD BAD BAD BAD},	/* over U+10FFFF */
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xe2\x28\xa1", BAD "(" BAD},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out = {0}, want = {0};
		struct json j;

		ROW(i);
		buf_printf(&want, "\"%s\"\n", rows[i].want);
		json_init(&j, &out, JSON_COMPACT);
		json_str(&j, rows[i].in);
		json_finish(&j);
		EQ_S(buf_str(&out), buf_str(&want));
		buf_release(&out);
		buf_release(&want);
	}
}

TEST(json_string_with_a_nul)
{
	struct buf out = {0};
	struct json j;

	json_init(&j, &out, JSON_COMPACT);
	json_strn(&j, "a\0b", 3);
	json_finish(&j);
	EQ_S(buf_str(&out), "\"a\\u0000b\"\n");
	buf_release(&out);
}

TEST(json_numbers_read_back)
{
	static const struct {
		double in;
		const char *want;
	} rows[] = {
		{0, "0"},	      {0.1, "0.1"},	    {1.0 / 3, "0.3333333333333333"},
		{1e300, "1e+300"},    {-2.5, "-2.5"},	    {123456789012.0, "123456789012"},
		{NAN, "null"},	      {INFINITY, "null"},   {5e-324, "4.94066e-324"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out = {0};
		struct json j;

		ROW(i);
		json_init(&j, &out, JSON_COMPACT);
		json_f64(&j, rows[i].in);
		EQ_S(buf_str(&out), rows[i].want);
		if (isfinite(rows[i].in))
			OK(strtod(buf_str(&out), NULL) == rows[i].in);
		buf_release(&out);
	}
}

TEST(json_rounded)
{
	struct buf out = {0};
	struct json j;

	json_init(&j, &out, JSON_COMPACT);
	json_arr(&j);
	json_f64_dec(&j, 0.123456, 3);
	json_f64_dec(&j, 12.0004, 3);
	json_f64_dec(&j, 1e300, 6);
	json_arr_end(&j);
	EQ_S(buf_str(&out), "[0.123,12,1e+300]");
	buf_release(&out);
}

static void key_without_value(struct json *j)
{
	json_obj(j);
	json_key(j, "a");
	json_obj_end(j);
}

static void value_without_key(struct json *j)
{
	json_obj(j);
	json_u64(j, 1);
}

static void key_in_array(struct json *j)
{
	json_arr(j);
	json_key(j, "a");
}

static void wrong_end(struct json *j)
{
	json_arr(j);
	json_obj_end(j);
}

static void not_closed(struct json *j)
{
	json_arr(j);
	json_finish(j);
}

static void too_deep(struct json *j)
{
	for (int i = 0; i <= JSON_DEPTH_MAX; i++)
		json_arr(j);
}

TEST(json_refuses_calls_out_of_order)
{
	static void (*const rows[])(struct json *) = {key_without_value, value_without_key,
						      key_in_array,	 wrong_end,
						      not_closed,	 too_deep};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out = {0};
		struct json j;

		ROW(i);
		json_init(&j, &out, JSON_COMPACT);
		DIES(rows[i](&j));
	}
}

TEST(json_to_file_needs_little_memory)
{
	struct buf out = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&text, &len);
	struct json j;

	json_init(&j, &out, JSON_COMPACT);
	json_to_file(&j, file);
	json_arr(&j);
	for (int i = 0; i < 200000; i++)
		json_u64(&j, 7);
	json_arr_end(&j);
	json_finish(&j);
	fclose(file);
	EQ_U(len, 400002);
	EQ_I(text[0], '[');
	EQ_S(text + len - 4, ",7]\n");
	OK(out.cap < 300000);
	free(text);
	buf_release(&out);
}
