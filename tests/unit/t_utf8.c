/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "report/exports.h"
#include "unit.h"

/* C1's CSI, DEL, a bidi override, zero width, an Arabic mark, no UTF-8, overlong, a surrogate. */
static const char hostile[] =
	"a\x1b[1m\xc2\x9b" "2J\x7f\xe2\x80\xae;\xe2\x80\x8b\xd8\x9c"
	"\xff\xc0\xaf\xed\xa0\x80 \xc3\xa9";

TEST(utf8_tells_what_is_safe_to_show)
{
	static const struct {
		const char *text;
		size_t len;
		bool unsafe;
	} rows[] = {
		{"a", 1, false}, {"\x1b", 1, true}, {"\x7f", 1, true}, {"\xc2\x9b", 2, true},
		{"\xc2\xa0", 2, false}, {"\xe2\x80\xae", 3, true}, {"\xe2\x81\xa6", 3, true},
		{"\xd8\x9c", 2, true}, {"\xef\xbb\xbf", 3, true}, {"\xe2\x82\xac", 3, false},
		{"\xf0\x9f\x98\x80", 4, false}, {"\xff", 0, false}, {"\xc0\xaf", 0, false},
		{"\xed\xa0\x80", 0, false}, {"\xe2\x82", 0, false}, {"\xf4\x90\x80\x80", 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t cp = 0;

		ROW(i);
		EQ_U(utf8_decode(rows[i].text, strlen(rows[i].text), &cp), rows[i].len);
		if (rows[i].len)
			EQ_I(utf8_is_unsafe(cp), rows[i].unsafe);
	}
}

static void json_of(enum json_flags flags, const char *want)
{
	struct buf out = {0};
	struct json j;

	json_init(&j, &out, flags);
	json_arr(&j);
	json_str(&j, hostile);
	json_arr_end(&j);
	json_finish(&j);
	EQ_S(buf_str(&out), want);
	buf_release(&out);
}

#define BAD "\xef\xbf\xbd"

TEST(utf8_unsafe_characters_are_numbers_in_json)
{
	json_of(JSON_COMPACT, "[\"a\\u001b[1m\\u009b2J\\u007f\\u202e;\\u200b\\u061c"
		BAD BAD BAD BAD BAD BAD " \xc3\xa9\"]\n");
}

TEST(utf8_unsafe_characters_stay_numbers_on_pages)
{
	json_of(JSON_SHOWN, "[\"a\\u001b[1m\\\\u009b2J\\\\u007f\\\\u202e;\\\\u200b\\\\u061c"
		BAD BAD BAD BAD BAD BAD " \xc3\xa9\"]\n");
}

TEST(utf8_folded_names_are_text)
{
	struct buf out = {0};

	export_folded_name(hostile, &out);
	EQ_S(buf_str(&out), "a?[1m?2J??:???????? \xc3\xa9");
	buf_release(&out);
}
