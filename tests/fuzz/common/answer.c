/* SPDX-License-Identifier: Apache-2.0 */
#include "../fuzz.h"

#include "base/arena.h"
#include "base/buf.h"
#include "functions/functions.h"
#include "model/calls/calls.h"
#include "model/model.h"
#include "report/answer.h"
#include "report/exports.h"
#include "report/lines/pen.h"
#include "report/stacks/stacks_out.h"
#include "stacks/stacks.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

/* All that is made of stacks; the other half of the same recording is the base. */
static void fuzz_stacks(const struct model *m, const struct waits_result *w, struct arena *arena)
{
	uint32_t *home = ARENA_ARRAY(arena, uint32_t, m->thread_cnt + 1);
	struct stacks_view v = {.modes = 7, .arena = arena};
	struct pen pen = {.columns = 80};
	struct buf out = {0};
	uint64_t ns;

	for (size_t i = 0; i < m->thread_cnt; i++)
		home[i] = w->threads[i].home_res;
	v.r = stacks_make(m, &(struct stacks_opts){.home_res = home, .targets = true}, arena);
	pen.out = &out;
	for (int i = 0; i < 2; i++) {
		stacks_text(&v, &pen);
		stacks_json(&v, &out, NULL);
		stacks_html(&v, &out);
		v.base = stacks_make(m, NULL, arena);
	}
	export_folded(v.base, 7, arena, &out);
	export_speedscope(v.base, 7, &out);
	export_chrome(v.base, UINT64_MAX, &out, &ns);
	(void)!export_pprof(v.base, 7, true, arena, &out, NULL);
	(void)!export_pprof(v.base, 4, false, arena, &out, NULL);
	buf_release(&out);
}

void fuzz_answer(const struct model *m)
{
	struct arena arena = {0};
	struct buf out = {0};
	struct waits_result *w = waits_analyse(m, NULL, &arena);
	const struct stacks_opts idle = {.idle = true};
	struct answer a = {.model = m, .waits = w,
			   .verdict = verdict_make(m, w, NULL, NULL, &arena),
			   .stacks = stacks_make(m, NULL, &arena),
			   .idle_stacks = stacks_make(m, &idle, &arena),
			   .arena = &arena};
	struct text_opts text = {.columns = 80, .verbose = 1, .colour = 1};

	if (m->calls->cnt)
		a.functions = functions_analyse(m, NULL, NULL, &arena);
	answer_text(&a, &text, &out);
	buf_clear(&out);
	answer_json(&a, &out, NULL);
	buf_clear(&out);
	answer_html(&a, &out);
	buf_release(&out);
	if (m->stack_sum_cnt)
		fuzz_stacks(m, w, &arena);
	arena_release(&arena);
}
