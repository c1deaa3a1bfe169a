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
#include "functions/automaton.h"
#include "functions/sig.h"

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
		sig_check(s, s->modules, s->module_cnt, &arena);
	}
	buf_release(&text);
	arena_release(&arena);
	return 0;
}
