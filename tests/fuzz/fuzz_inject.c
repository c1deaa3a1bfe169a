/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delays put into traces of any shape: rings of parents and references, spans
 * that end before they begin, times at both ends of what a number holds.
 */
#include "fuzz.h"

#include "base/arena.h"
#include "base/bug.h"
#include "requests/replay/inject.h"

enum { SPANS_MAX = 64, BYTES_EACH = 8 };

/* Mostly small, sometimes as far away as it goes. */
static int64_t time_of(uint8_t byte)
{
	return byte < 250 ? byte * INT64_C(1000) : byte & 1 ? INT64_MAX - byte : INT64_MIN + byte;
}

static bool sane(uint8_t byte)
{
	return byte < 250;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct injection items[2] = {
		{.service = 1, .name = 1, .law = INJECT_CONSTANT, .ns = 5000},
		{.service = 1, .name = 2, .law = INJECT_BY_KEY, .make_key = true, .key = 9,
		 .where = INJECT_EXIT, .ns = INJECT_MAX_NS},
	};
	struct inject_plan plan = {items, 2, 1};
	struct span spans[SPANS_MAX] = {0};
	struct span_ref refs[SPANS_MAX] = {0};
	struct trace t = {.id = {1, 2}, .spans = spans, .refs = refs}, got;
	struct arena a = {0};
	bool all_sane = true;

	for (; size >= BYTES_EACH && t.span_cnt < SPANS_MAX; size -= BYTES_EACH) {
		struct span *s = &spans[t.span_cnt];

		*s = (struct span){.id = data[0] % 32 + 1, .parent = data[1] % 33,
				   .begin_ns = time_of(data[2]), .end_ns = time_of(data[3]),
				   .service = 1, .name = data[4] % 4, .kind = data[5] % 6,
				   .flags = data[5] >> 4, .ref_idx = t.span_cnt,
				   .ref_cnt = data[6] != 0};
		refs[t.span_cnt++] = (struct span_ref){.span = data[6] % 32 + 1,
						       .kind = data[7] % 3};
		all_sane &= sane(data[2]) && sane(data[3]) && data[2] <= data[3];
		data += BYTES_EACH;
	}
	t.ref_cnt = t.span_cnt;
	inject_trace(&t, &plan, &a, &got, NULL);
	BUG_ON(got.span_cnt != t.span_cnt);
	for (uint32_t i = 0; all_sane && i < got.span_cnt; i++)
		BUG_ON(got.spans[i].begin_ns < spans[i].begin_ns);
	arena_release(&a);
	return 0;
}
