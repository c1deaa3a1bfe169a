/* SPDX-License-Identifier: Apache-2.0 */
#include "../fuzz.h"

#include "base/arena.h"
#include "base/buf.h"
#include "model/model.h"
#include "report/answer.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

void fuzz_answer(const struct model *m)
{
	struct arena arena = {0};
	struct buf out = {0};
	struct waits_result *w = waits_analyse(m, NULL, &arena);
	struct answer a = {m, w, verdict_make(m, w, NULL, NULL, &arena)};
	struct text_opts text = {.columns = 80, .verbose = 1, .colour = 1};

	answer_text(&a, &text, &out);
	buf_clear(&out);
	answer_json(&a, &out, NULL);
	buf_clear(&out);
	answer_html(&a, &out);
	buf_release(&out);
	arena_release(&arena);
}
