/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "fixture_answer.h"
#include "report/answer.h"
#include "report/answer/answer_brief.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"

/* Each number stands in its sentence as people read it, with what it is of. */
TEST(brief_numbers_are_those_of_the_sentence)
{
	CLEANUP(arena_release) struct arena arena = {0};
	CLEANUP(buf_release) struct buf out = {0};
	struct answer a = fixture_answer(&arena, FIXTURE_LOCK, 5);
	struct verdict *v = arena_dup(&arena, a.verdict, sizeof(*v));
	struct finding *f = arena_dup(&arena, v->findings, v->finding_cnt * sizeof(*f));
	struct context k = {.arena = &arena};

	f->evidence = NULL;
	f->figures = NULL;
	f->evidence_cnt = 0;
	say(&k, f, "words, 12 of them");
	say_figures(&k, f, "{} waits of {}, longest {}, busy {}; {} read, {} a second",
		    N_CNT("waits", 377), N_WORD("7 {} 8"), N_NS("longest", 204500000),
		    N_SHARE("busy", 0.514), N_KIB("read", 2048), N_BYTES_PER_S("rate", 1.5e6));
	EQ_S(f->evidence[1], "377 waits of 7 {} 8, longest 204 ms, busy 51 %; 2 KiB read, "
	     "1.5 MB/s a second");
	v->findings = f;
	a.verdict = v;
	answer_brief(&a, &out);
	HAS(buf_str(&out), "{\"text\":\"words, 12 of them\",\"numbers\":[]}");
	HAS(buf_str(&out), "\"numbers\":[{\"key\":\"waits\",\"value\":377,\"unit\":\"count\"},"
	    "{\"key\":\"longest\",\"value\":2.045e+08,\"unit\":\"ns\"},"
	    "{\"key\":\"busy\",\"value\":0.514,\"unit\":\"share\"},"
	    "{\"key\":\"read\",\"value\":2048,\"unit\":\"bytes\"},"
	    "{\"key\":\"rate\",\"value\":1.5e+06,\"unit\":\"bytes/s\"}]");
}

/* Lists as long as they come, with texts that JSON makes six times as long. */
static void worsen(struct finding *f, const char **texts, size_t cnt)
{
	f->summary = f->next_step = f->resource = f->culprit.comm = texts[0];
	f->evidence = f->refute = f->doubts = texts;
	f->figures = NULL;
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
