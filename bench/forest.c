/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the hypothesis forest takes to be brought up to date and to decide,
 * with many traces in many groups.
 *
 *	build/bench/forest [TRACES]
 *
 * A request calls ten optional operations one after the other, each seen at
 * all times, so that there are 2^10 critical paths; in each four more calls
 * are hidden.  One of the hidden ones is slow.  Told are: a trace added, and
 * each round's decision.  The first round holds all traces, later ones a tenth.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "requests/search/control.h"
#include "requests/forest/space.h"
#include "requests/graph/mask.h"
#include "timing.h"

enum { OPS = 10, CALLS = 4, POINTS = 1 + OPS * (1 + CALLS), TRACES = 100000, LEARN = 2000,
       ROUNDS = 6 };

struct shop {
	struct strtab strings;
	struct points points;
	uint32_t service, names[POINTS];
	VEC(struct span) spans;
	uint32_t slow;		/* name */
	struct trace trace;
};

static void shop_make(struct shop *s)
{
	char name[16];

	s->service = strtab_add(&s->strings, "shop");
	for (uint32_t i = 0; i < POINTS; i++) {
		snprintf(name, sizeof(name), "op%u", i);
		s->names[i] = strtab_add(&s->strings, name);
		points_add(&s->points, &s->strings, s->service, s->names[i]);
	}
}

static uint32_t span_begin(struct shop *s, uint64_t parent, uint32_t name, int64_t at_ns)
{
	struct span span = {.id = s->spans.cnt + 1, .parent = parent, .begin_ns = at_ns,
			    .service = s->service, .name = s->names[name]};

	vec_push(&s->spans, span);
	return (uint32_t)s->spans.cnt - 1;
}

static int64_t op_make(struct shop *s, uint64_t id, uint32_t op, int64_t at_ns)
{
	uint32_t outer = span_begin(s, 1, 1 + op * (1 + CALLS), at_ns);

	for (uint32_t i = 0; i < CALLS; i++) {
		uint32_t name = 2 + op * (1 + CALLS) + i;
		uint32_t inner = span_begin(s, outer + 1, name, at_ns + 10000);

		at_ns += 50000 + (int64_t)(hash_pair(id, name) % 20000);
		if (name == s->slow)
			at_ns += (int64_t)(hash_pair(id, 7) % 4000000);
		s->spans.items[inner].end_ns = at_ns;
	}
	s->spans.items[outer].end_ns = at_ns + 5000;
	return at_ns + 10000;
}

static const struct trace *shop_trace(struct shop *s, uint64_t id)
{
	int64_t at_ns = 10000;

	vec_clear(&s->spans);
	span_begin(s, 0, 0, 0);
	for (uint32_t i = 0; i < OPS; i++)
		if (hash_pair(id, 1000 + i) & 1)
			at_ns = op_make(s, id, i, at_ns);
	s->spans.items[0].end_ns = at_ns;
	s->trace = (struct trace){.id = {1, id}, .spans = s->spans.items,
				  .span_cnt = (uint32_t)s->spans.cnt};
	return &s->trace;
}

/* Adds the traces, as what is on shows them; ms in control_add. */
static double round_add(struct shop *s, struct control *c, uint64_t id, uint32_t cnt)
{
	uint8_t on[POINTS];
	struct arena a = {0};
	double ms = 0, began;

	for (uint32_t i = 0; i < POINTS; i++)
		on[i] = control_wants(c, i);
	for (uint32_t i = 0; i < cnt; i++) {
		struct trace seen;

		trace_strip(shop_trace(s, id + i), on, &s->points, &s->strings, &a, &seen);
		began = now_ms();
		control_add(c, &seen);
		ms += now_ms() - began;
		arena_clear(&a);
	}
	arena_release(&a);
	return ms;
}

static void search_time(struct shop *s, struct control *c, uint32_t traces)
{
	struct control_round r;
	struct arena a = {0};

	for (uint32_t round = 1; round <= ROUNDS; round++) {
		uint32_t cnt = round == 1 ? traces : traces / 10;
		double add = round_add(s, c, round * UINT64_C(10000000), cnt), began = now_ms();

		control_decide(c, &r);
		printf("round %u: %u traces, %.1f us each; decision %.2f ms, %u switched on, "
		       "%u found%s\n", round, cnt, 1000 * add / cnt, now_ms() - began, r.on_cnt,
		       r.located_cnt, r.finished ? ", finished" : "");
		if (r.finished)
			break;
	}
	printf("%u groups at the root\n", control_forest(c, &a)->trees[0].nodes[0].group_cnt);
	arena_release(&a);
}

int main(int argc, char **argv)
{
	struct shop s = {0};
	struct space *space;
	struct control *c;
	double began;

	shop_make(&s);
	space = space_new(&s.points, &s.strings);
	began = now_ms();
	for (uint64_t id = 1; id <= LEARN; id++)
		space_add(space, shop_trace(&s, id));
	printf("learnt from %d traces, %.1f us each\n", LEARN, 1000 * (now_ms() - began) / LEARN);
	for (uint32_t i = 0; i < OPS; i++) {
		struct space_point p = {.point = 1 + i * (1 + CALLS), .sync = true};

		space_put_point(space, &p);
	}
	s.slow = 2 + 3 * (1 + CALLS) + 2;
	began = now_ms();
	c = control_new(space, &(struct control_opts){.apart = true}, &s.points, &s.strings);
	printf("begun in %.1f ms\n", now_ms() - began);
	search_time(&s, c, argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : TRACES);
	control_free(c);
	space_free(space);
	vec_release(&s.spans);
	points_release(&s.points);
	strtab_release(&s.strings);
	return 0;
}
