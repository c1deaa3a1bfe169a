/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "fixture_answer.h"
#include "report/answer.h"
#include "report/facts.h"
#include "report/lines/pen.h"
#include "verdict/verdict.h"

static const enum fixture_kind kinds[] = { FIXTURE_LOCK, FIXTURE_HEALTHY, FIXTURE_UNKNOWN,
					   FIXTURE_LONG, FIXTURE_EMPTY };
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static char *text_of(enum fixture_kind kind, struct text_opts opts)
{
	struct arena arena = {0};
	struct answer a = fixture_answer(&arena, kind, kind == FIXTURE_EMPTY ? 0 : 9);
	struct buf out = {0};

	answer_text(&a, &opts, &out);
	arena_release(&arena);
	return buf_detach(&out);
}

/* The widest line, in code points; lines are counted into *ret_lines. */
static unsigned widest(const char *text, unsigned *ret_lines)
{
	unsigned max = 0, width = 0;

	*ret_lines = 0;
	for (const char *s = text; *s; s++) {
		if (*s == '\n') {
			max = width > max ? width : max;
			width = 0;
			(*ret_lines)++;
		} else {
			width += ((unsigned char)*s & 0xc0) != 0x80;
		}
	}
	return max;
}

TEST(report_text_fits_a_screen)
{
	static const int columns[] = { 80, 100, 200 };

	for (size_t k = 0; k < KINDS; k++) {
		for (size_t c = 0; c < 3; c++) {
			char *text = text_of(kinds[k], (struct text_opts){ .columns = columns[c] });
			unsigned lines;

			ROW(k * 10 + c);
			OK(widest(text, &lines) <= (unsigned)columns[c]);
			OK(lines <= 40);
			free(text);
		}
	}
}

TEST(report_text_says_the_verdict_first)
{
	char *text = text_of(FIXTURE_LOCK, (struct text_opts){ .columns = 100 });
	char *line = strchr(text, '\n');

	*line = '\0';
	HAS(text, "LOCK HELD TOO LONG");
	HAS(text, "futex 0x55d0c0");
	HAS(text, "4321/4322");
	HAS(text, "92 %");
	HAS(line + 1, "RULE OUT FIRST");
	HAS(line + 1, "NOT COVERED");
	HAS(line + 1, "12 lost");
	HAS(line + 1, "402 ms");
	free(text);
}

TEST(report_text_of_unknown_names_both_candidates)
{
	char *text = text_of(FIXTURE_UNKNOWN, (struct text_opts){ .columns = 80 });

	HAS(text, "CANDIDATE A: lock held too long");
	HAS(text, "CANDIDATE B: ");
	free(text);
}

TEST(report_text_of_healthy_is_short)
{
	char *text = text_of(FIXTURE_HEALTHY, (struct text_opts){ .columns = 80 });
	unsigned lines;

	widest(text, &lines);
	OK(lines <= 17);
	HAS(text, "next step: look at who asks it");
	OK(!strstr(text, "WAIT CHAIN"));
	HAS(text, "confidence medium: watched for 1.0 s only; who asked was not seen");
	free(text);
}

TEST(report_text_lets_no_escape_through)
{
	for (size_t k = 0; k < KINDS; k++) {
		char *text = text_of(kinds[k], (struct text_opts){ .columns = 80, .verbose = 1 });

		ROW(k);
		OK(!strchr(text, '\033'));
		OK(!strstr(text, "\xe2\x80\xae"));
		OK(!strchr(text, (char)0xff));
		free(text);
	}
}

TEST(report_text_in_ascii_is_ascii)
{
	char *text = text_of(FIXTURE_LONG, (struct text_opts){ .columns = 80, .ascii = 1 });

	for (const char *s = text; *s; s++)
		OK((unsigned char)*s < 0x7f);
	free(text);
}

TEST(report_colour_changes_no_word)
{
	char *plain = text_of(FIXTURE_LOCK, (struct text_opts){ .columns = 80 });
	char *styled = text_of(FIXTURE_LOCK, (struct text_opts){ .columns = 80, .colour = 1 });
	char *to = styled;

	OK(strlen(styled) > strlen(plain));
	for (const char *from = styled; *from; from++) {
		if (*from == '\033')
			from = strchr(from, 'm');
		else
			*to++ = *from;
	}
	*to = '\0';
	EQ_S(styled, plain);
	free(plain);
	free(styled);
}

TEST(report_state_parts_add_up)
{
	uint64_t ns[ST_CNT] = {0};
	struct state_part parts[ST_CNT];
	unsigned sum = 0;
	size_t cnt;

	EQ_U(facts_state_parts(ns, parts), 0);
	ns[ST_RUN] = 1;
	ns[ST_RUNQ] = 1;
	ns[ST_WAIT + WAIT_FUTEX] = 1;
	cnt = facts_state_parts(ns, parts);
	EQ_U(cnt, 3);
	for (size_t i = 0; i < cnt; i++)
		sum += parts[i].permille;
	EQ_U(sum, 1000);
	ns[ST_WAIT + WAIT_FSYNC] = 1000000;
	cnt = facts_state_parts(ns, parts);
	EQ_U(parts[0].state, ST_WAIT + WAIT_FSYNC);
}

TEST(report_page_cannot_be_broken_out_of)
{
	struct arena arena = {0};
	struct answer a = fixture_answer(&arena, FIXTURE_LOCK, 9);
	struct buf out = {0};
	const char *data, *end;

	answer_html(&a, &out);
	data = strstr(buf_str(&out), "id=\"data\">");
	OK(data);
	data = strchr(data, '>') + 1;
	end = strchr(data, '<');
	OK(end && !strncmp(end, "</script>", 9));
	OK(end - data > 1000);
	OK(!strstr(buf_str(&out), "<b>&\""));
	OK(!strstr(buf_str(&out), "{{"));
	buf_release(&out);
	arena_release(&arena);
}

TEST(report_page_asks_nothing_of_the_network)
{
	static const char *const loads[] = { " src=", "href=\"http", "@import", "url(", "fetch(",
					     "XMLHttpRequest", "WebSocket", "import(" };
	struct arena arena = {0};
	struct answer a = fixture_answer(&arena, FIXTURE_EMPTY, 0);
	struct buf out = {0};

	answer_html(&a, &out);
	HAS(buf_str(&out), "default-src 'none'");
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		ROW(i);
		OK(!strstr(buf_str(&out), loads[i]));
	}
	buf_release(&out);
	arena_release(&arena);
}

TEST(report_page_of_many_threads_stays_small)
{
	struct arena arena = {0};
	struct answer a = fixture_answer(&arena, FIXTURE_LONG, 6000);
	struct buf out = {0};

	answer_html(&a, &out);
	OK(out.len < 5 << 20);
	HAS(buf_str(&out), "\"hidden\":5600");
	HAS(buf_str(&out), "\"omitted\":{\"threads\":1000,");
	buf_release(&out);
	arena_release(&arena);
}

/* "[run length, state, parts, ...]" of one thread covers the window and no more. */
TEST(report_timeline_covers_the_window)
{
	struct arena arena = {0};
	struct answer a = fixture_answer(&arena, FIXTURE_LOCK, 1);
	struct buf out = {0};
	const char *s;
	long columns = 0;

	answer_html(&a, &out);
	s = strstr(buf_str(&out), "\"rows\":[[0,[");
	OK(s);
	s += strlen("\"rows\":[[0,[");
	for (; *s == '[' || *s == ','; s = strchr(s, ']') + 1)
		columns += strtol(s + (*s == ',' ? 2 : 1), NULL, 10);
	EQ_I(columns, 240);
	buf_release(&out);
	arena_release(&arena);
}

TEST(report_schema_knows_every_class)
{
	for (unsigned cls = 0; cls < FIND_CNT; cls++) {
		char quoted[64];

		ROW(cls);
		snprintf(quoted, sizeof(quoted), "\"%s\"", finding_name(cls));
		HAS(embed_why_schema_json, quoted);
	}
}

TEST(report_schema_knows_every_loss)
{
	for (unsigned i = 0; i < LOSS_CNT; i++) {
		char quoted[64];

		ROW(i);
		OK(facts_loss_name(i));
		snprintf(quoted, sizeof(quoted), "\"%s\"", facts_loss_name(i));
		HAS(embed_why_schema_json, quoted);
	}
	OK(!facts_loss_name(LOSS_CNT));
}

TEST(report_clean_text)
{
	static const struct {
		const char *in, *out;
		bool ascii;
	} rows[] = {
		{ "plain", "plain", false },
		{ "a\033[2Jb", "a\\x1b[2Jb", false },
		{ "caf\xc3\xa9", "caf\xc3\xa9", false },
		{ "caf\xc3\xa9", "caf?", true },
		{ "\xc3", "\\xc3", false },
		{ "\xc0\xaf", "\\xc0\\xaf", false },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80", false },
		{ "\xc2\x9b" "31m", "\\xc2\\x9b31m", false },
		{ "x\xe2\x80\xae", "x\\xe2\\x80\\xae", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out = {0};

		ROW(i);
		pen_clean(&out, rows[i].in, rows[i].ascii);
		EQ_S(buf_str(&out), rows[i].out);
		buf_release(&out);
	}
}

TEST(report_text_says_by_how_much_the_cost_is_over_its_bound)
{
	static const struct {
		uint64_t bound_ns;
		const char *text; /* NULL: nothing is said of it */
	} rows[] = {
		{ 0, NULL }, { 91000000, NULL }, { 90000000, "1.0 times --max-cost" },
		{ 29000000, "3.1 times --max-cost" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena arena = {0};
		struct answer a = fixture_answer(&arena, FIXTURE_LOCK, 9);
		struct text_opts opts = { .columns = 200 };
		struct model m = *a.model;
		struct buf out = {0};

		ROW(i);
		m.self.bound_ns = rows[i].bound_ns;
		a.model = &m;
		answer_text(&a, &opts, &out);
		OK(!strstr(buf_str(&out), rows[i].text ? rows[i].text : "times --max-cost") ==
		   !rows[i].text);
		buf_release(&out);
		arena_release(&arena);
	}
}
