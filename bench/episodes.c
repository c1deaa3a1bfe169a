/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast episodes are found and learnt.
 *
 *	build/bench/episodes [FILE.sig]
 *
 * With a file its episodes, else 20,000 random ones over 60 calls, which is a
 * large program; the trace is made of episodes and random calls in equal parts,
 * so that most states are visited.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "functions/sig/automaton.h"
#include "functions/sig/episodes.h"
#include "functions/sig/sig.h"

enum { TRACE_LEN = 20000000, EPISODES = 20000, CALLS = 60, INVOCATIONS = 200000 };

static uint32_t rnd(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % below;
}

static int by_episode(const void *a, const void *b)
{
	return episode_cmp(a, b);
}

static struct episode *random_episodes(uint32_t *ret_cnt)
{
	struct episode *eps = xcalloc(EPISODES, sizeof(*eps));
	uint64_t state = 1;
	uint32_t to = 0;

	for (uint32_t i = 0; i < EPISODES; i++) {
		eps[i].len = (uint8_t)(1 + rnd(&state, EPISODE_LEN_MAX));
		for (unsigned k = 0; k < eps[i].len; k++) /* a few calls are most of all */
			eps[i].syms[k] = (uint16_t)rnd(&state, 1 + rnd(&state, CALLS));
	}
	qsort(eps, EPISODES, sizeof(*eps), by_episode);
	for (uint32_t i = 0; i < EPISODES; i++)
		if (i == 0 || episode_cmp(&eps[i], &eps[to - 1]) != 0)
			eps[to++] = eps[i];
	*ret_cnt = to;
	return eps;
}

static uint16_t *trace_of(const struct episode *eps, uint32_t cnt)
{
	uint16_t *trace = xcalloc(TRACE_LEN + EPISODE_LEN_MAX, sizeof(*trace));
	uint64_t state = 2;

	for (size_t at = 0; at < TRACE_LEN;) {
		const struct episode *e = &eps[rnd(&state, cnt)];

		for (unsigned i = 0; i < e->len; i++)
			trace[at++] = e->syms[i];
		for (unsigned i = 0; i < e->len; i++)
			trace[at++ % TRACE_LEN] = (uint16_t)rnd(&state, CALLS);
	}
	return trace;
}

static void find(const char *what, const struct episode *eps, uint32_t cnt, size_t dense_max)
{
	uint64_t begin = clock_mono_ns(), made, found;
	struct automaton *a = automaton_new(eps, cnt, NULL, dense_max);
	uint16_t *trace = trace_of(eps, cnt);
	double secs;

	made = clock_mono_ns() - begin;
	begin = clock_mono_ns();
	found = automaton_run(a, trace, TRACE_LEN, NULL, NULL);
	secs = (double)(clock_mono_ns() - begin) / 1e9;
	printf("%s: %u episodes, %.1f MiB, with the trace made in %.0f ms: %.1f M symbols/s, "
	       "%.2f matches a symbol\n", what, cnt, (double)automaton_bytes(a) / (1 << 20),
	       (double)made / 1e6, TRACE_LEN / secs / 1e6, (double)found / TRACE_LEN);
	automaton_free(a);
	free(trace);
}

static void mine(const struct episode *eps, uint32_t cnt)
{
	struct arena arena = {0};
	struct seqs s = {0};
	uint64_t state = 3, begin, syms = 0;
	size_t mined;
	double secs;

	begin = clock_mono_ns();
	for (uint32_t i = 0; i < INVOCATIONS; i++) {
		uint16_t seq[SEQ_LEN_MAX];
		size_t len = 0;

		for (uint32_t k = 1 + rnd(&state, 4); k; k--) {
			const struct episode *e = &eps[rnd(&state, cnt < 50 ? cnt : 50)];

			for (unsigned n = 0; n < e->len; n++)
				seq[len++] = e->syms[n];
		}
		syms += len;
		seqs_add(&s, seq, len, 1);
	}
	episodes_mine(&s, NULL, &arena, &mined);
	secs = (double)(clock_mono_ns() - begin) / 1e9;
	printf("mining: %u invocations, %zu kept apart, %zu closed episodes: %.2f M symbols/s\n",
	       INVOCATIONS, s.seqs.cnt, mined, (double)syms / secs / 1e6);
	seqs_release(&s);
	arena_release(&arena);
}

int main(int argc, char **argv)
{
	struct arena arena = {0};
	struct buf bytes = {0};
	struct err err = {0};
	struct sigs *s = NULL;
	struct episode *own = NULL, *eps;
	uint32_t cnt;

	if (argc > 1 && (file_read(argv[1], SIG_FILE_MAX, &bytes, &err) < 0 ||
			 sig_read(bytes.data, bytes.len, &arena, &s, &err) < 0)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	eps = s ? s->episodes : (own = random_episodes(&cnt));
	cnt = s ? s->episode_cnt : cnt;
	if (cnt) {
		find("rows", eps, cnt, SIZE_MAX);
		find("compact", eps, cnt, 1);
		mine(eps, cnt);
	}
	free(own);
	buf_release(&bytes);
	arena_release(&arena);
	return cnt == 0;
}
