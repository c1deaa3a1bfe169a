/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/skew.h"

#include "trace_make.h"
#include "unit.h"

/* A request through three hosts, of which the second and the third are off; some time out. */
static void request_make(struct made *m, uint64_t n, int64_t off_b, int64_t off_c)
{
	int64_t at = (int64_t)n * 1000000000, out = 500000 + (int64_t)(hash_u64(n) % 3000000);
	int64_t back = 500000 + (int64_t)(hash_u64(n + 7) % 3000000);
	int64_t end = at + out + 30000000 + back;
	int64_t stop = n % 50 ? end : end - 20000000;	/* the caller gave up */

	made_clear(m);
	made_span(m, 1, 0, "front/get", at, stop)->host = strtab_add(&m->strings, "host-a");
	made_span(m, 2, 1, "back/get", at + out + off_b, end - back + off_b)->host =
		strtab_add(&m->strings, "host-b");
	made_span(m, 3, 2, "store/get", at + out + 5000000 + off_c, end - back - 6000000 + off_c)
		->host = strtab_add(&m->strings, "host-c");
	m->trace.id.lo = n;
}

static const struct skew_result *learn(struct made *m, struct skew *s, uint64_t cnt,
				       uint64_t factor, int64_t off_b, int64_t off_c)
{
	for (uint64_t i = 0; i < cnt; i++) {
		struct trace trace;

		request_make(m, i * factor % cnt, off_b, off_c);
		trace = *made_trace(m);
		trace.id.lo = i * factor % cnt;
		skew_learn(s, &trace);
	}
	return skew_finish(s);
}

TEST(skew_is_learnt_over_many_requests)
{
	static const struct {
		int64_t off_b, off_c;
		uint32_t moved;
	} table[] = {
		{0, 0, 0}, {40000000, 40000000, 2}, {-3600000000000, 0, 1}, {0, 90000000, 1},
		{300000, 0, 0},	/* within a tick */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct made m = {0};
		struct skew *s = skew_new(&m.strings), *other;
		const struct skew_result *r = learn(&m, s, 2000, 1, table[i].off_b,
						    table[i].off_c), *again;

		ROW(i);
		EQ_U(r->host_cnt, table[i].moved);
		for (uint32_t h = 0; h < r->host_cnt; h++) {
			const struct skew_host *host = &r->hosts[h];
			int64_t want = strtab_str(&m.strings, host->host)[5] == 'b'
					       ? -table[i].off_b : -table[i].off_c;

			/* Ways of out and back are alike, to half a millisecond at their least. */
			OK(host->offset_ns - want < 600000 && want - host->offset_ns < 600000);
			OK(host->broken_after * 10 <= host->broken_before);
		}
		other = skew_new(&m.strings);
		again = learn(&m, other, 2000, 7, table[i].off_b, table[i].off_c);
		EQ_U(again->host_cnt, r->host_cnt);
		for (uint32_t h = 0; h < r->host_cnt; h++)
			EQ_I(again->hosts[h].offset_ns, r->hosts[h].offset_ns);
		skew_free(other);
		skew_free(s);
		made_release(&m);
	}
}

TEST(skew_moves_a_host_as_one)
{
	struct made m = {0};
	struct skew *s = skew_new(&m.strings);
	struct trace mended;
	int64_t by;

	EQ_U(learn(&m, s, 500, 1, 40000000, 0)->host_cnt, 1);
	request_make(&m, 3, 40000000, 0);
	skew_mend(s, made_trace(&m), &m.arena, &mended);
	by = mended.spans[1].begin_ns - m.trace.spans[1].begin_ns;
	OK(by < -39000000 && by > -41000000);
	EQ_I(mended.spans[1].end_ns - m.trace.spans[1].end_ns, by);
	EQ_I(mended.spans[0].begin_ns, m.trace.spans[0].begin_ns);
	EQ_I(mended.spans[2].begin_ns, m.trace.spans[2].begin_ns);
	OK(mended.spans[1].begin_ns > mended.spans[0].begin_ns);
	skew_free(s);
	made_release(&m);
}

/* Nobody's clock is wrong when children that nobody waits for outlive their parents. */
TEST(skew_is_not_seen_in_work_left_behind)
{
	struct made m = {0};
	struct skew *s = skew_new(&m.strings);

	for (uint64_t i = 0; i < 500; i++) {
		struct trace trace;

		made_clear(&m);
		made_span(&m, 1, 0, "front/a", 0, 10000000);
		made_span(&m, 2, 1, "back/b", 1000000, 4000000);
		made_span(&m, 3, 1, "back/c", 2000000, 11000000 + 90000 * (int64_t)i);
		trace = *made_trace(&m);
		trace.id.lo = i;
		skew_learn(s, &trace);
	}
	EQ_U(skew_finish(s)->host_cnt, 0);
	skew_free(s);
	made_release(&m);
}

/* Nor when all of them begin late and many outlive it: a queue is between the two. */
TEST(skew_is_not_seen_in_a_queue)
{
	struct made m = {0};
	struct skew *s = skew_new(&m.strings);

	for (uint64_t i = 0; i < 500; i++) {
		int64_t begin = 1200000 + (int64_t)(hash_u64(i) % 1000000);
		struct trace trace;

		made_clear(&m);
		made_span(&m, 1, 0, "front/a", 0, 10000000);
		made_span(&m, 2, 1, "back/b", begin, i % 5 < 2 ? 11100000 : 7000000);
		trace = *made_trace(&m);
		trace.id.lo = i;
		skew_learn(s, &trace);
	}
	EQ_U(skew_finish(s)->host_cnt, 0);
	skew_free(s);
	made_release(&m);
}
