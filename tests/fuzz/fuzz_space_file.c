/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are what is inside of a file with a search space; head and
 * checksum are put around them.  What is accepted is written again, reads back
 * as that, can be added to itself, and searched with: the samples in it are the
 * requests that come, slower in each round.
 */
#include "fuzz.h"

#include <string.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/err.h"
#include "base/hash.h"
#include "trace/points.h"
#include "requests/search/control.h"
#include "requests/forest/packed.h"
#include "requests/forest/space.h"
#include "requests/forest/space_file.h"

struct world {
	struct strtab strings;
	struct points points;
	struct space *space;
};

static int unpack(struct world *w, const struct buf *bytes)
{
	struct err err = {0};

	if (!w->space)
		w->space = space_new(&w->points, &w->strings);
	return space_read(bytes->data, bytes->len, &w->points, &w->strings, w->space, &err);
}

static void world_release(struct world *w)
{
	space_free(w->space);
	strtab_release(&w->strings);
	points_release(&w->points);
}

static void use(struct world *w)
{
	struct world other = {0};
	struct buf one = {0}, two = {0};

	space_write(w->space, &w->points, &w->strings, &one);
	BUG_ON(unpack(&other, &one) < 0);
	space_write(other.space, &other.points, &other.strings, &two);
	BUG_ON(one.len != two.len || memcmp(one.data, two.data, one.len) != 0);
	BUG_ON(unpack(&other, &one) < 0);
	buf_release(&one);
	buf_release(&two);
	world_release(&other);
}

enum { SEARCH_ROUNDS = 4, SEARCH_SAMPLES = 8, SEARCH_SPANS = 64 };

/* Some of its spans end later. */
static void slower(const struct trace *t, int64_t by_ns, struct arena *arena, struct trace *ret)
{
	struct span *spans = arena_dup(arena, t->spans, t->span_cnt * sizeof(*spans));

	for (uint32_t i = 0; i < t->span_cnt; i += 1 + i % 3)
		spans[i].end_ns += spans[i].end_ns < INT64_MAX / 2 ? by_ns * (int64_t)i : 0;
	*ret = *t;
	ret->spans = spans;
	ret->id.lo += (uint64_t)by_ns;
}

static void round_of(struct control *c, const struct space_view *v, uint32_t round)
{
	struct control_round ret;
	struct arena arena = {0};
	uint32_t left = SEARCH_SAMPLES;

	for (uint32_t i = 0; i < v->type_cnt; i++) {
		for (uint32_t k = 0; k < v->types[i].sample_cnt && left; k++) {
			struct trace t;

			if (v->types[i].samples[k].span_cnt > SEARCH_SPANS)
				continue;
			left--;
			slower(&v->types[i].samples[k], 1000000 * (int64_t)round, &arena, &t);
			control_add(c, &t);
		}
	}
	control_decide(c, &ret);
	arena_release(&arena);
}

static void search(struct world *w, uint32_t which)
{
	struct control_opts o = {.strategy = (enum strategy)(which / 2), .apart = which % 2,
				 .min_cnt = 2, .age_rounds = 2};
	struct control *c = control_new(w->space, &o, &w->points, &w->strings);
	struct arena arena = {0};
	struct space_view v;

	space_view(w->space, &arena, &v);
	for (uint32_t round = 1; round <= SEARCH_ROUNDS; round++)
		round_of(c, &v, round);
	(void)control_forest(c, &arena);
	control_free(c);
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {0};
	struct buf file = {0};
	struct packer p;

	packer_begin(&p, "space", SPACE_FILE_VERSION, &w.points, &w.strings);
	buf_add(&p.out, data, size);
	packer_end(&p, &file);
	if (unpack(&w, &file) == 0) {
		use(&w);
		for (uint32_t i = 0; i < 2 * STRATEGIES; i++)
			search(&w, i);
	}
	buf_release(&file);
	world_release(&w);
	return 0;
}
