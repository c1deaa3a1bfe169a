/* SPDX-License-Identifier: Apache-2.0 */
#include "spans/assemble.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/hash.h"
#include "unit.h"

enum { TRACES = 3000, SPANS = 20 };

struct seen {
	uint64_t hash;		/* of all that came, in its order */
	uint64_t trace_cnt, span_cnt;
	int stop_after;
};

static int take(void *ctx, const struct trace *trace)
{
	struct seen *seen = ctx;

	uint32_t attr_cnt = 0;

	seen->trace_cnt++;
	seen->span_cnt += trace->span_cnt;
	seen->hash = hash_pair(seen->hash, hash_bytes(&trace->id, sizeof(trace->id)));
	for (uint32_t i = 0; i < trace->span_cnt; i++) {
		const struct span *span = &trace->spans[i];
		struct span placeless = *span;

		OK(!i || span[-1].begin_ns <= span->begin_ns);
		OK(span->ref_idx + span->ref_cnt <= trace->ref_cnt);
		attr_cnt += span->attr_cnt;
		placeless.attr_idx = 0;
		seen->hash = hash_pair(seen->hash, hash_bytes(&placeless, sizeof(placeless)));
		seen->hash = hash_pair(seen->hash,
				       hash_bytes(trace->attrs + span->attr_idx,
						  span->attr_cnt * sizeof(struct attr)));
		seen->hash = hash_pair(seen->hash,
				       hash_bytes(trace->refs + span->ref_idx,
						  span->ref_cnt * sizeof(struct span_ref)));
	}
	EQ_U(attr_cnt, trace->attr_cnt);
	return seen->stop_after && seen->trace_cnt == (uint64_t)seen->stop_after ? -ECANCELED : 0;
}

/* The n-th span of all; which of a trace's spans have the same begin is part of the test. */
static int span_add(struct assembler *a, uint64_t n)
{
	struct trace_id id = {hash_u64(n % TRACES), n % TRACES};
	struct attr attrs[3] = {{.key = 1, .type = ATTR_NUM, .num = (double)n}, {.key = 2}, {0}};
	struct span_ref refs[2] = {{.trace = id, .span = n}, {.span = 7, .kind = SPAN_REF_AFTER}};
	struct span span = {
		.id = hash_u64(n) | 1,
		.begin_ns = (int64_t)(hash_u64(n) % 10) - 5,
		.end_ns = 100,
		.service = 3,
		.name = (uint32_t)(n % 7),
		.attr_cnt = n % 4,
		.ref_cnt = n % 3,
	};

	return assembler_add(a, &id, &span, attrs, refs);
}

static struct assembler *all_added(uint64_t max_bytes, const char *dir, uint64_t factor)
{
	struct assembler_opts opts = {.max_bytes = max_bytes, .tmp_dir = dir};
	struct assembler *a = assembler_new(&opts, NULL);

	for (uint64_t i = 0; i < TRACES * SPANS; i++)
		EQ_I(span_add(a, i * factor % (TRACES * SPANS)), 0);
	return a;
}

static void tmp_make(char *dir, size_t size)
{
	snprintf(dir, size, "/tmp/assemble-XXXXXX");
	OK(mkdtemp(dir) != NULL);
}

static void tmp_is_empty(const char *path)
{
	DIR *dir = opendir(path);
	int cnt = 0;

	OK(dir != NULL);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	EQ_I(cnt, 2);
}

TEST(assemble_same_in_memory_and_by_files)
{
	static const struct {
		uint64_t max_bytes, factor;
	} table[] = {{0, 1}, {0, 7919}, {1, 1}, {1, 7919}, {3 << 20, 7919}};
	struct seen first = {0};
	char dir[64];

	tmp_make(dir, sizeof(dir));
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct assembler *a = all_added(table[i].max_bytes, dir, table[i].factor);
		struct assembler_stats stats;
		struct seen seen = {0}, again = {0};
		struct err err = {0};

		ROW(i);
		EQ_I(assembler_finish(a, take, &seen, &stats, &err), 0);
		EQ_S(err.msg, "");
		EQ_I(assembler_finish(a, take, &again, &stats, &err), 0);
		EQ_U(seen.hash, again.hash);
		EQ_U(seen.trace_cnt, TRACES);
		EQ_U(seen.span_cnt, TRACES * SPANS);
		EQ_U(stats.largest_spans, SPANS);
		EQ_U(stats.duplicate_cnt + stats.cut_span_cnt, 0);
		OK((stats.spilled_bytes > 0) == (table[i].max_bytes > 0));
		if (!i)
			first = seen;
		EQ_U(seen.hash, first.hash);
		tmp_is_empty(dir);
		assembler_free(a);
	}
	rmdir(dir);
}

TEST(assemble_drops_what_is_there_twice)
{
	struct assembler *a = assembler_new(NULL, NULL);
	struct assembler_stats stats;
	struct seen seen = {0};

	for (uint64_t i = 0; i < 40; i++)
		EQ_I(span_add(a, i % 30 * TRACES), 0);
	EQ_I(assembler_finish(a, take, &seen, &stats, NULL), 0);
	EQ_U(seen.span_cnt, 30);
	EQ_U(stats.duplicate_cnt, 10);
	assembler_free(a);
}

/* A trace over the bound loses its last spans, whatever order they came in. */
TEST(assemble_cuts_a_trace_over_the_bound)
{
	struct seen first = {0};

	for (uint64_t factor = 1; factor < 8000; factor += 7918) {
		struct assembler_opts opts = {.max_bytes = 1, .tmp_dir = "/tmp"};
		struct assembler *a = assembler_new(&opts, NULL);
		struct trace_id id = {1, 2};
		struct assembler_stats stats;
		struct seen seen = {0};

		for (uint64_t i = 0; i < 30000; i++) {
			uint64_t n = i * factor % 30000;
			struct span span = {.id = n + 1, .begin_ns = (int64_t)n - 9};

			EQ_I(assembler_add(a, &id, &span, NULL, NULL), 0);
		}
		EQ_I(assembler_finish(a, take, &seen, &stats, NULL), 0);
		EQ_U(seen.trace_cnt, 1);
		EQ_U(stats.cut_trace_cnt, 1);
		EQ_U(stats.cut_span_cnt + seen.span_cnt, 30000);
		OK(seen.span_cnt > 7000 && seen.span_cnt < 10000);
		if (factor == 1)
			first = seen;
		EQ_U(seen.hash, first.hash);
		assembler_free(a);
	}
}

TEST(assemble_stops_when_told)
{
	for (uint64_t max = 0; max < 2; max++) {
		struct assembler *a = all_added(max, "/tmp", 1);
		struct seen seen = {.stop_after = 5};
		struct assembler_stats stats;

		EQ_I(assembler_finish(a, take, &seen, &stats, NULL), -ECANCELED);
		EQ_U(seen.trace_cnt, 5);
		assembler_free(a);
	}
}

TEST(assemble_says_what_a_file_lacks)
{
	struct assembler_opts opts = {.max_bytes = 1, .tmp_dir = "/tmp"};
	struct rlimit limit = {100000, 100000};
	struct assembler_stats stats;
	struct seen seen = {0};
	struct err err = {0};
	struct assembler *a;
	int ret = 0;

	signal(SIGXFSZ, SIG_IGN);
	EQ_I(setrlimit(RLIMIT_FSIZE, &limit), 0);
	a = assembler_new(&opts, NULL);
	for (uint64_t i = 0; i < 200000 && !ret; i++)
		ret = span_add(a, i);
	EQ_I(ret, -EFBIG);
	EQ_S(assembler_why(a), "write temporary file in '/tmp': File too large");
	EQ_I(assembler_finish(a, take, &seen, &stats, &err), -EFBIG);
	EQ_S(err.msg, assembler_why(a));
	EQ_U(seen.trace_cnt, 0);
	assembler_free(a);

	opts.tmp_dir = "/nowhere";
	a = assembler_new(&opts, NULL);
	for (uint64_t i = 0, done = 0; i < 200000 && !done; i++)
		done = span_add(a, i) < 0;
	EQ_S(assembler_why(a), "temporary file in '/nowhere': No such file or directory");
	assembler_free(a);
}
