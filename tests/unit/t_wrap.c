/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/buf.h"
#include "report/lines/wrap.h"

TEST(wrap_lines_at_blanks)
{
	static const struct {
		const char *text;
		unsigned columns;
		const char *folded;
	} rows[] = {
		{"short\n", 8, "short\n"},
		{"12345678\n\nx", 8, "12345678\n\nx"},
		{"one two three four\n", 8, "one two\n  three\n  four\n"},
		{"one     two      three\n", 12, "one  two\n  three\n"},
		{"  name   12   34  56\n", 14, "  name  12  34\n    56\n"},
		{"abcdefghijklmnop", 8, "abcdefgh\n  ijklmn\n  op"},
		{"               far  in\n", 16, "    far  in\n"},
		{"\033[1mbold word\033[0m end\n", 12, "\033[1mbold word\033[0m\n  end\n"},
		{"ab  12 ms  34 ms  5\n", 14, "ab  12 ms\n  34 ms  5\n"},
		{"HEAD  12 words of prose\n", 18, "HEAD  12 words of\n  prose\n"},
		{"äöü äöü äöü\n", 8, "äöü äöü\n  äöü\n"},
		{"12345678    \n", 8, "12345678\n"},
		{"         \n", 8, "  \n"},
		{"", 8, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out = {0};

		wrap_lines(rows[i].text, rows[i].columns, &out);
		EQ_S(buf_str(&out), rows[i].folded);
		buf_release(&out);
	}
}

TEST(wrap_keeps_columns_of_rows)
{
	static const char rows[] =
		"    between                    visits     takes\n"
		"    \033[1min db SELECT items\033[0m             80   18.8 ms\n"
		"    cache end to the web POST       9    1.2 ms\n"
		"prose that is much too wide for the screen, and has no gaps\n";
	struct buf out = {0};

	wrap_lines(rows, 30, &out);
	EQ_S(buf_str(&out), "    between\n"
	     "              visits     takes\n"
	     "    \033[1min db SELECT items\033[0m\n"
	     "                  80   18.8 ms\n"
	     "    cache end to the web POST\n"
	     "                   9    1.2 ms\n"
	     "prose that is much too wide\n"
	     "  for the screen, and has no\n"
	     "  gaps\n");
	buf_release(&out);
}
