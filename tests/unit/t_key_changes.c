/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/diff/key_changes.h"

#include <math.h>
#include <stdio.h>

#include "base/arena.h"
#include "requests/diff/changes.h"
#include "requests/requests.h"

#include "req_make.h"
#include "unit.h"

/* What makes a request's time; the same in both sets but for what bad has else. */
struct world {
	int64_t tenant_us;	/* more for the tenant "core" */
	int64_t version_us;	/* if not 0, every third request is of a new version, which takes */
	uint32_t miss_part;	/* per cent of requests that miss the cache and take 20 ms more */
	int64_t all_us;		/* more for all */
	uint32_t noise_keys;
};

static void request(struct req_maker *m, const struct world *w, uint64_t id)
{
	static const char *const tenants[] = {"acme", "bolt", "core", "dust"};
	int64_t rows = req_random(m, 1000), tenant = req_random(m, 4);
	bool miss = req_random(m, 100) < w->miss_part, new = req_random(m, 3) == 0;
	int64_t us = 5000 + 3 * rows + req_random(m, 2000) + w->all_us + (miss ? 20000 : 0) +
		     (tenant == 1 ? 6000 : 0) + (tenant == 2 ? w->tenant_us : 0);
	char name[24];

	req_begin(m, id);
	req_span(m, 0, "front", "GET /cart", 0, us + (new ? w->version_us : 0));
	req_num(m, "rows", (double)rows);
	req_str(m, "tenant", tenants[tenant]);
	req_str(m, "account", tenants[tenant]);	/* always goes with tenant */
	req_str(m, "cache", miss ? "miss" : "hit");
	req_str(m, "version", new && w->version_us ? "two" : "one");
	for (uint32_t i = 0; i < w->noise_keys; i++) {
		snprintf(name, sizeof(name), "noise %u", i);
		if (i % 2)
			req_num(m, name, (double)req_random(m, 100));
		else
			req_str(m, name, tenants[req_random(m, 4)]);
	}
}

struct both {
	struct req_maker m;
	struct requests *sets[2];
	struct arena arena;
	const struct type_change *change;
	const struct key_changes *keys;
};

static void compare(struct both *b, const struct world *good, const struct world *bad,
		    uint64_t cnt)
{
	const struct world *worlds[2] = {good, bad};
	const struct requests_result *results[2];
	const struct requests_diff *d;

	b->m.random = 17;
	for (int side = 0; side < 2; side++) {
		b->sets[side] = requests_new(NULL, &b->m.strings, &b->m.points);
		for (uint64_t i = 1; i <= cnt; i++) {
			request(&b->m, worlds[side], i + 100000 * (uint64_t)side);
			requests_add(b->sets[side], req_trace(&b->m));
		}
	}
	requests_pair(b->sets[0], b->sets[1]);
	for (int side = 0; side < 2; side++)
		results[side] = requests_finish(b->sets[side], &b->arena);
	d = requests_diff(results[0], results[1], &b->arena);
	b->change = &d->types[0];
	b->keys = key_changes_make(b->sets[0], b->sets[1], d, &b->arena);
}

static void release(struct both *b)
{
	requests_free(b->sets[0]);
	requests_free(b->sets[1]);
	arena_release(&b->arena);
	req_release(&b->m);
}

static const char *text(const struct both *b, uint32_t id)
{
	return strtab_str(&b->m.strings, id);
}

static double near(double got, double want, double off)
{
	return fabs(got - want) <= off;
}

/* Not bolt, which was slow before, and not rows, which take as long as ever. */
TEST(key_changes_name_whom_it_got_slower_for)
{
	const struct world good = {.miss_part = 5}, bad = {.miss_part = 5, .tenant_us = 15000};
	struct both b = {0};
	const struct key_change *c;

	compare(&b, &good, &bad, 500);
	EQ_U(b.keys->cnt, 1);
	c = &b.keys->items[0];
	EQ_U(c->kind, KEY_CHANGE_SLOWER);
	OK(!strcmp(text(&b, c->key), "tenant") || !strcmp(text(&b, c->key), "account"));
	EQ_U(c->alias_cnt, 1);
	EQ_U(c->told_cnt, 1);
	EQ_S(text(&b, c->values[0].str), "core");
	OK(near(c->values[0].bad_ns - c->values[0].good_ns, 15e6, 2e6));
	OK(c->values[0].weight > 0.6 && c->strength > 0.7 && c->q < 1e-6);
	release(&b);
}

TEST(key_changes_know_values_that_are_new)
{
	const struct world good = {.miss_part = 5}, bad = {.miss_part = 5, .version_us = 12000};
	struct both b = {0};
	const struct key_change *c;

	compare(&b, &good, &bad, 500);
	EQ_U(b.keys->cnt, 1);
	c = &b.keys->items[0];
	EQ_S(text(&b, c->key), "version");
	EQ_S(text(&b, c->values[0].str), "two");
	EQ_U(c->values[0].good_cnt, 0);
	OK(isnan(c->values[0].good_ns));
	release(&b);
}

TEST(key_changes_know_values_that_are_more_frequent)
{
	const struct world good = {.miss_part = 10}, bad = {.miss_part = 40};
	struct both b = {0};
	const struct key_change *c;

	compare(&b, &good, &bad, 500);
	EQ_U(b.keys->cnt, 1);
	c = &b.keys->items[0];
	EQ_U(c->kind, KEY_CHANGE_SHIFTED);
	EQ_S(text(&b, c->key), "cache");
	EQ_U(c->told_cnt, 1);
	EQ_S(text(&b, c->values[0].str), "miss");
	OK(near(c->shift_ns, 0.3 * 20e6, 1.5e6));
	OK(near(c->strength, 1, 0.2));
	release(&b);
}

/* All got slower, whatever their values: of 200 keys none has to do with it. */
TEST(key_changes_are_not_chance)
{
	const struct world good = {.miss_part = 5, .noise_keys = 96};
	const struct world bad = {.miss_part = 5, .noise_keys = 96, .all_us = 5000};
	struct both b = {0};

	compare(&b, &good, &bad, 250);
	OK(b.change->low_ns > 0);
	EQ_U(b.keys->cnt, 0);
	release(&b);
}

/* Where nothing changed for sure nothing is to be explained. */
TEST(key_changes_need_a_change)
{
	const struct world same = {.miss_part = 5};
	struct both b = {0};

	compare(&b, &same, &same, 200);
	OK(b.change->low_ns < 0 && b.change->high_ns > 0);
	EQ_U(b.keys->cnt, 0);
	release(&b);
}
