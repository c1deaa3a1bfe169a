/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are a file of signatures.  What is accepted reads back as it is
 * written, stays as it is when merged with itself, and can be searched for.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bug.h"
#include "base/err.h"
#include "functions/sig/automaton.h"
#include "functions/units/normalize.h"
#include "functions/rank/context_vote.h"
#include "functions/sig/sig.h"

static void same_bytes(const struct sigs *a, const struct sigs *b)
{
	struct buf x = {0}, y = {0};

	sig_write(a, &x);
	sig_write(b, &y);
	BUG_ON(x.len != y.len || memcmp(x.data, y.data, x.len) != 0);
	buf_release(&x);
	buf_release(&y);
}

static void search(const struct sigs *s, const uint8_t *data, size_t size)
{
	struct automaton *a = automaton_new(s->episodes, s->episode_cnt, NULL, 0);
	uint16_t trace[64];
	size_t cnt = 0;

	for (; cnt < size && cnt < 64; cnt++)
		trace[cnt] = data[size - 1 - cnt] % 16;
	automaton_run(a, trace, cnt, NULL, NULL);
	automaton_free(a);
}

/* Every place is known at least to those that were seen there, whatever calls are named. */
static void ask_places(const struct sigs *s, struct arena *arena)
{
	struct place_index x;
	uint16_t *nr_of = ARENA_ARRAY(arena, uint16_t, (size_t)s->call_cnt + 1);

	for (uint32_t i = 0; i < s->call_cnt; i++)
		nr_of[i] = (uint16_t)(i % 7 == 3 ? SYM_NONE : i);
	place_index_make(&x, s, nr_of);
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		for (uint32_t k = 0; k < s->fns[i].place_cnt; k++) {
			struct place_answer a = place_ask(&x, &s->fns[i].places[k]);

			for (uint32_t v = a.first; v < a.first + a.cnt; v++)
				BUG_ON(x.voters.items[v].fn >= s->fn_cnt ||
				       !(x.voters.items[v].share > 0));
			BUG_ON(a.cnt > PLACE_VOTERS_MAX || (a.home && a.cnt));
		}
	place_index_release(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = {0};
	struct sigs *s, *back;
	struct buf text = {0};
	struct err err = {0};

	if (sig_read(data, size, &arena, &s, &err) == 0) {
		sig_write(s, &text);
		BUG_ON(sig_read(text.data, text.len, &arena, &back, &err) < 0);
		same_bytes(s, back);
		same_bytes(s, sig_merge(s, back, &arena));
		search(s, data, size);
		ask_places(s, &arena);
		sig_check(s, s->modules, s->module_cnt, &arena);
	}
	buf_release(&text);
	arena_release(&arena);
	return 0;
}
