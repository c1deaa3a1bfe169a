/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "fixture_answer.h"
#include "report/answer.h"
#include "report/answer_brief.h"
#include "verdict/verdict.h"

TEST(brief_numbers_of_sentences)
{
	static const struct {
		const char *text, *numbers;
	} rows[] = {
		{"377 waits, 13 s in all, longest 204.5 ms", "377 waits;1.3e+10 ns;2.045e+08 ns;"},
		{"busy 51 % of the time", "0.51 share;"},
		{"at the end 2 KiB lay there; 12 connections.", "2048 bytes;12 connections;"},
		{"srv (pid 26070): 7 requests/s, 0.5 open", "7 requests/s;0.5 open;"},
		{"waits for 10.77.1.2:40587, futex 0x56 of 1.2.3", ""},
		{"1.5 MB/s (of 30 B/s)", "1.5e+06 bytes/s;30 bytes/s;"},
		{"5, and 6", "5 ;6 ;"},
		{"", ""},
		{"1 a 2 a 3 a 4 a 5 a 6 a 7 a 8 a 9 a", "1 a;2 a;3 a;4 a;5 a;6 a;7 a;8 a;"},
		{"3 averyveryveryverylongwordindeed", "3 averyveryveryverylongwo;"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct brief_number numbers[BRIEF_NUMBERS_MAX];
		size_t cnt = brief_numbers(rows[i].text, numbers);
		struct buf b = {0};

		for (size_t k = 0; k < cnt; k++)
			buf_printf(&b, "%.5g %s;", numbers[k].value, numbers[k].unit);
		EQ_S(buf_str(&b), rows[i].numbers);
		buf_release(&b);
	}
}

/* Lists as long as they come, with texts that JSON makes six times as long. */
static void worsen(struct finding *f, const char **texts, size_t cnt)
{
	f->summary = f->next_step = f->resource = f->culprit.comm = texts[0];
	f->evidence = f->refute = f->doubts = texts;
	f->evidence_cnt = f->refute_cnt = f->doubt_cnt = cnt;
	for (size_t i = 0; i < f->chain_len; i++) {
		f->chain[i].who.comm = f->chain[i].role = f->chain[i].doing = texts[0];
	}
}

TEST(brief_is_short_whatever_was_watched)
{
	static const enum fixture_kind kinds[] = {FIXTURE_LOCK, FIXTURE_HEALTHY, FIXTURE_UNKNOWN,
						  FIXTURE_LONG, FIXTURE_EMPTY};
	static char text[5000];
	const char *texts[40];

	memset(text, '\1', sizeof(text) - 1);
	for (size_t i = 0; i < 40; i++)
		texts[i] = text;
	for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct arena arena = {0};
		struct buf out = {0};
		struct answer a = fixture_answer(&arena, kinds[i / 2], 5);

		if (i % 2) {
			struct verdict *v = arena_dup(&arena, a.verdict, sizeof(*v));

			for (size_t k = 0; k < v->finding_cnt; k++)
				worsen(&v->findings[k], texts, 40);
			v->subject = text;
			v->unseen = texts;
			v->unseen_cnt = 40;
			a.verdict = v;
		}
		answer_brief(&a, &out);
		OK(out.len > 300 && out.len <= BRIEF_MAX);
		OK(strchr(buf_str(&out), '\n') == buf_str(&out) + out.len - 1);
		buf_release(&out);
		arena_release(&arena);
	}
}
