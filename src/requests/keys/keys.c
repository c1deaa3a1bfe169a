/* SPDX-License-Identifier: Apache-2.0 */
#include "requests/keys/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "trace/points.h"
#include "requests/keys/keys_int.h"
#include "requests/stats/tests.h"

/* Values of which more than every second is new are ids, if texts or great numbers. */
static const double id_part = 0.5;

/* A key that goes with less than a tenth of the variance does not explain it. */
static const double strength_min = 0.3;

/* One that goes with under a hundredth is not worth a line, however sure it is. */
static const double listed_min = 0.1;

/* An edge with less of the variance is not worth a test of its own. */
static const double edge_share_min = 0.1;

struct sheet {			/* a group's sample */
	struct key_cells cells;
	double *total_ns, *edge_ns;
	struct target targets[2];
	uint32_t target_cnt;
};

void key_tests_release(struct key_tests *t)
{
	vec_release(&t->items);
	vec_release(&t->groups);
}

static int by_hash(const void *a, const void *b)
{
	const struct sample *x = *(const struct sample *const *)a;
	const struct sample *y = *(const struct sample *const *)b;

	CMP(x->hash, y->hash);
	CMP(trace_id_cmp(&x->id, &y->id), 0);
	CMP(x->total_ns, y->total_ns);
	return 0;
}

static double edge_took(const struct sample *s, uint64_t edge)
{
	double took = 0;

	for (uint32_t i = 0; i < s->edge_cnt; i++)
		if (s->edges[i] == edge)
			took += (double)s->took_ns[i];
	return took;
}

static void gather(const struct samples *const *samples, uint32_t samples_cnt,
		   struct key_cells *ret)
{
	for (uint32_t l = 0; l < samples_cnt; l++)
		VEC_FOREACH(&samples[l]->heap, s)
			vec_push(&ret->samples, *s);
	vec_sort(&ret->samples, by_hash);
	if (ret->samples.cnt > SAMPLES_MAX)
		ret->samples.cnt = SAMPLES_MAX;
}

/* By counting: there are many, and they come by row. */
void key_cells_make(const struct samples *const *samples, uint32_t samples_cnt, uint32_t var_cnt,
		    struct key_cells *ret)
{
	uint32_t all = 0;

	gather(samples, samples_cnt, ret);
	ret->var_cnt = var_cnt;
	ret->ends = xcalloc(var_cnt + 1, sizeof(*ret->ends));
	VEC_FOREACH(&ret->samples, row)
		for (uint32_t v = 0; v < (*row)->value_cnt; v++)
			ret->ends[(*row)->values[v].var + 1]++;
	for (uint32_t i = 0; i < var_cnt; i++) {
		all += ret->ends[i + 1];
		ret->ends[i + 1] = all;
	}
	ret->rows = xmalloc(((size_t)all + 1) * sizeof(*ret->rows));
	ret->values = xmalloc(((size_t)all + 1) * sizeof(*ret->values));
	/* ends[i] is where those of i begin, until they are put there */
	for (uint32_t i = 0; i < ret->samples.cnt; i++) {
		const struct sample *row = ret->samples.items[i];

		for (uint32_t v = 0; v < row->value_cnt; v++) {
			uint32_t at = ret->ends[row->values[v].var]++;

			ret->rows[at] = i;
			ret->values[at] = row->values[v];
		}
	}
}

void key_cells_release(struct key_cells *cells)
{
	vec_release(&cells->samples);
	free(cells->rows);
	free(cells->values);
	free(cells->ends);
}

static void sheet_target(struct sheet *s, uint32_t edge, const double *ns)
{
	CLEANUP_FREE double *ranks = xmalloc((s->cells.samples.cnt + 1) * sizeof(*ranks));
	struct target *target = &s->targets[s->target_cnt++];

	*target = (struct target){edge, ns, xmalloc((s->cells.samples.cnt + 1) * sizeof(uint32_t))};
	stats_ranks(ns, (uint32_t)s->cells.samples.cnt, target->order, ranks);
}

static void sheet_make(const struct samples *const *samples, uint32_t samples_cnt,
		       const struct request_group *group, uint32_t var_cnt, struct sheet *ret)
{
	const struct request_edge *edge = NULL;

	if (group->edge_cnt)
		edge = &group->edges[group->by_share[0]];
	key_cells_make(samples, samples_cnt, var_cnt, &ret->cells);
	ret->total_ns = xcalloc(ret->cells.samples.cnt + 1, sizeof(double));
	ret->edge_ns = xcalloc(ret->cells.samples.cnt + 1, sizeof(double));
	for (uint32_t i = 0; i < ret->cells.samples.cnt; i++) {
		ret->total_ns[i] = (double)ret->cells.samples.items[i]->total_ns;
		ret->edge_ns[i] = edge ? edge_took(ret->cells.samples.items[i], edge->hash) : 0;
	}
	sheet_target(ret, REQUEST_ALL, ret->total_ns);
	if (edge && edge->share > edge_share_min && group->edge_cnt > 1)
		sheet_target(ret, group->by_share[0], ret->edge_ns);
}

static void sheet_release(struct sheet *s)
{
	for (uint32_t i = 0; i < s->target_cnt; i++)
		free(s->targets[i].order);
	key_cells_release(&s->cells);
	free(s->total_ns);
	free(s->edge_ns);
}

/* One step of a hash that lives in one run only: the strings' ids are in it. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* The label of a value that has it, else where it may be put. */
static struct seen_value *value_place(struct test_room *room, const struct sample_value *v,
				      uint64_t bits)
{
	uint64_t at = mix(v->type, bits) & (SEEN_VALUES - 1);

	while (room->seen[at].column == room->column &&
	       (room->seen[at].bits != bits || room->seen[at].type != v->type))
		at = (at + 1) & (SEEN_VALUES - 1);
	return &room->seen[at];
}

static bool has_ids(const struct column *col)
{
	return col->distinct_cnt > id_part * col->cnt;
}

/*
 * False, and not all are labelled, where it is clear before the end that texts
 * are ids.
 */
static bool label_values(struct column *col, struct test_room *room)
{
	uint64_t last_bits = 0;
	uint32_t last_type = UINT32_MAX, label = 0;

	col->numeric = true;
	room->column++;
	for (uint32_t i = 0; i < col->cnt; i++) {
		const struct sample_value *v = &col->values[i];
		struct seen_value *seen;
		uint64_t bits;

		memcpy(&bits, &v->num, sizeof(bits)); /* of a text its id */
		if (bits != last_bits || v->type != last_type) {
			seen = value_place(room, v, bits);
			if (seen->column != room->column)
				*seen = (struct seen_value){bits, room->column, v->type,
							    col->distinct_cnt++};
			label = seen->label;
			last_bits = bits;
			last_type = v->type;
			col->numeric &= v->type == ATTR_NUM && isfinite(v->num);
			if (!col->numeric && has_ids(col))
				return false;
		}
		col->labels[i] = label;
	}
	return true;
}

/* Hash of rows and labels. */
static uint64_t column_hash(const struct column *col)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < col->cnt; i++)
		hash = mix(hash, (uint64_t)col->rows[i] << 32 | col->labels[i]);
	return hash;
}

static uint64_t ranks_hash(const double *ranks, uint32_t cnt)
{
	uint64_t hash = cnt, bits;

	for (uint32_t i = 0; i < cnt; i++) {
		memcpy(&bits, &ranks[i], sizeof(bits));
		hash = mix(hash, bits);
	}
	return hash;
}

static bool is_id(const struct column *col)
{
	if (!has_ids(col))
		return false;
	for (uint32_t i = 0; i < col->cnt && col->numeric; i++)
		if (fabs(col->values[i].num) < KEY_ID_NUMBER ||
		    floor(col->values[i].num) != col->values[i].num)
			return false;
	return true;
}

/* Input of the test of one variable of one group. */
struct testing {
	const struct key_space *space;
	const struct request_group *group;
	const struct sheet *sheet;
	struct test_room *room;
	struct arena *arena;
	struct key_tests *tests;
	struct hmap by_values;	/* hash of values, kind and target to index of test and 1 */
};

static bool is_near(const struct request_edge *e, uint32_t point)
{
	return e->key.from == point || e->key.to == point || e->key.owner == point;
}

static int test_text_cmp(const struct key_test *a, const struct key_test *b)
{
	CMP(b->near, a->near);
	CMP(a->text_hash, b->text_hash);
	return 0;
}

/* Keeps one test of those whose variables always vary together. */
static void put_test(struct testing *t, const struct column *col, const struct key_test *new)
{
	uint64_t *slot = hmap_slot(&t->by_values, new->values_hash);
	struct key_test *old;
	uint32_t aliases;

	if (!*slot) {
		vec_push(&t->tests->items, *new);
		*slot = t->tests->items.cnt;
		old = vec_last(&t->tests->items);
		if (old->key.p <= t->space->q_max)
			key_show_values(col, &t->sheet->targets[0], t->room, t->arena, &old->key);
		return;
	}
	old = &t->tests->items.items[*slot - 1];
	aliases = old->key.alias_cnt + 1;
	if (test_text_cmp(new, old) < 0) {
		*old = *new;
		if (old->key.p <= t->space->q_max)
			key_show_values(col, &t->sheet->targets[0], t->room, t->arena, &old->key);
	}
	old->key.alias_cnt = aliases;
}

static void test_one(struct testing *t, const struct column *col, uint32_t var,
		     const struct target *target, bool as_number)
{
	const struct key_var *v = &t->space->vars->items.items[var];
	const char *name = strtab_str(t->space->strings, v->key);
	struct key_test test = {.owner = (uint32_t)t->tests->groups.cnt - 1};

	test.key.point = v->point;
	test.key.key = v->key;
	test.key.edge = target->edge;
	test.key.cnt = col->cnt;
	test.key.distinct_cnt = col->distinct_cnt;
	test.text_hash = hash_pair(t->space->points->items.items[v->point].hash,
				   hash_bytes(name, strlen(name)));
	test.near = t->group->edge_cnt &&
		    is_near(&t->group->edges[t->group->by_share[0]], v->point);
	if (as_number)
		key_test_number(col, target, t->room, &test.key);
	else
		key_test_values(col, target, t->room, &test.key);
	test.values_hash = hash_pair(col->hash, target->edge);
	if (as_number)
		test.values_hash = hash_pair(test.values_hash, col->ranks_hash);
	put_test(t, col, &test);
}

static void test_var(struct testing *t, uint32_t var, uint32_t first, uint32_t cnt)
{
	struct column col = {.cnt = cnt,
			     .rows = t->sheet->cells.rows + first,
			     .values = t->sheet->cells.values + first,
			     .labels = t->room->col_labels};
	bool labelled;

	if (cnt < KEY_CNT_MIN)
		return;
	labelled = label_values(&col, t->room);
	if (col.distinct_cnt < 2)
		return;
	if (!labelled || is_id(&col)) {
		t->tests->id_cnt++;
		return;
	}
	col.hash = column_hash(&col);
	key_test_begin(&col, (uint32_t)t->sheet->cells.samples.cnt, t->room);
	/* Numbers that always come together need not rise together. */
	if (col.numeric)
		col.ranks_hash = ranks_hash(t->room->xr, cnt);
	for (uint32_t i = 0; i < t->sheet->target_cnt; i++) {
		if (col.numeric && col.distinct_cnt > 2)
			test_one(t, &col, var, &t->sheet->targets[i], true);
		/* of few values each has some requests */
		if (!col.numeric || col.distinct_cnt <= KEY_RANGES * 2)
			test_one(t, &col, var, &t->sheet->targets[i], false);
	}
}

void keys_test(const struct key_space *space, const struct samples *const *samples,
	       uint32_t samples_cnt, struct arena *arena, struct key_tests *tests,
	       struct request_group *group)
{
	struct sheet sheet = {0};
	struct testing t = {.space = space, .group = group, .sheet = &sheet, .arena = arena,
			    .tests = tests, .room = xcalloc(1, sizeof(*t.room))};

	vec_push(&tests->groups, group);
	sheet_make(samples, samples_cnt, group, (uint32_t)space->vars->items.cnt, &sheet);
	for (uint32_t var = 0; var < sheet.cells.var_cnt; var++) {
		uint32_t first = var ? sheet.cells.ends[var - 1] : 0;

		test_var(&t, var, first, sheet.cells.ends[var] - first);
	}
	hmap_release(&t.by_values);
	free(t.room);
	sheet_release(&sheet);
}

static int by_strength(const void *a, const void *b)
{
	const struct key_test *x = a, *y = b;

	CMP(x->owner, y->owner);
	CMP(y->key.explains, x->key.explains);
	CMP(y->key.strength, x->key.strength);
	CMP(y->near, x->near);
	CMP(x->text_hash, y->text_hash);
	CMP(x->key.kind, y->key.kind);
	CMP(y->key.edge, x->key.edge);
	return 0;
}

/* Each variable once, by its strongest test; tests are one group's, strongest first. */
static void list_keys(const struct key_test *tests, size_t cnt, double q_max,
		      struct arena *arena, struct request_group *group)
{
	struct request_key *keys = ARENA_ARRAY(arena, struct request_key, KEY_LISTED_MAX);
	uint32_t listed = 0;

	for (size_t i = 0; i < cnt && listed < KEY_LISTED_MAX; i++) {
		const struct request_key *k = &tests[i].key;
		bool known = k->q > q_max || k->strength < listed_min;

		for (uint32_t j = 0; j < listed; j++)
			known |= keys[j].point == k->point && keys[j].key == k->key;
		if (!known)
			keys[listed++] = *k;
	}
	group->keys = keys;
	group->key_cnt = listed;
}

void keys_judge(const struct key_space *space, struct key_tests *tests, struct arena *arena)
{
	size_t cnt = tests->items.cnt;
	CLEANUP_FREE double *p = xmalloc((cnt + 1) * sizeof(*p));
	CLEANUP_FREE double *q = xmalloc((cnt + 1) * sizeof(*q));

	for (size_t i = 0; i < cnt; i++)
		p[i] = tests->items.items[i].key.p;
	stats_fdr(p, cnt, q);
	for (size_t i = 0; i < cnt; i++) {
		struct request_key *k = &tests->items.items[i].key;

		k->q = q[i];
		k->explains = k->q <= space->q_max && k->strength >= strength_min;
	}
	vec_sort(&tests->items, by_strength);
	for (size_t i = 0, end; i < cnt; i = end) {
		const struct key_test *first = &tests->items.items[i];

		for (end = i + 1; end < cnt && first->owner == tests->items.items[end].owner;)
			end++;
		list_keys(first, end - i, space->q_max, arena,
			  tests->groups.items[first->owner]);
	}
}
