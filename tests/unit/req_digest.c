/* SPDX-License-Identifier: Apache-2.0 */
#include "req_make.h"

#include <string.h>

#include "requests/requests.h"

struct digest {
	const struct req_maker *m;
	uint64_t hash;
};

static void put(struct digest *d, const void *data, size_t len)
{
	d->hash = hash_pair(d->hash, hash_bytes(data, len));
}

static void put_num(struct digest *d, double x)
{
	put(d, &x, sizeof(x));
}

static void put_str(struct digest *d, uint32_t id)
{
	const char *str = strtab_str(&d->m->strings, id);

	put(d, str, strlen(str));
}

static void put_point(struct digest *d, uint32_t point)
{
	d->hash = hash_pair(d->hash, point < d->m->points.items.cnt
					     ? d->m->points.items.items[point].hash
					     : point);
}

static void put_latency(struct digest *d, const struct latency *l)
{
	put(d, l, sizeof(*l));
}

static void put_key(struct digest *d, const struct request_key *k)
{
	put_point(d, k->point);
	put_str(d, k->key);
	put(d, &k->edge, sizeof(k->edge));
	put(d, &k->cnt, sizeof(k->cnt));
	put(d, &k->strength, (size_t)((const char *)&k->explains - (const char *)&k->strength));
	for (uint32_t i = 0; i < k->value_cnt; i++) {
		put_str(d, k->values[i].str);
		put(d, &k->values[i].low, sizeof(k->values[i]) - 8);
	}
}

static void put_edge(struct digest *d, const struct request_edge *e)
{
	put_point(d, e->key.from);
	put_point(d, e->key.to);
	put_point(d, e->key.owner);
	put(d, &e->hash, (size_t)((const char *)(e + 1) - (const char *)&e->hash));
}

static void put_group(struct digest *d, const struct request_group *g)
{
	put(d, &g->hash, sizeof(g->hash));
	put_num(d, g->level);
	put_num(d, g->path_cnt);
	for (uint32_t i = 0; i < g->rule_cnt; i++) {
		put_point(d, g->rules[i].point);
		put_num(d, g->rules[i].holds);
	}
	put_num(d, g->effective_cnt);
	put_num(d, g->trimmed_cv);
	put_num(d, g->variance_share);
	put_latency(d, &g->latency);
	for (uint32_t i = 0; i < g->edge_cnt; i++)
		put_edge(d, &g->edges[i]);
	put(d, g->by_share, g->edge_cnt * sizeof(*g->by_share));
	put(d, g->by_time, g->edge_cnt * sizeof(*g->by_time));
	put(d, g->pairs, g->pair_cnt * sizeof(*g->pairs));
	for (uint32_t i = 0; i < g->owner_cnt; i++) {
		put_point(d, g->owners[i].point);
		put_num(d, g->owners[i].share);
		put_num(d, g->owners[i].share_low);
	}
	for (uint32_t i = 0; i < g->key_cnt; i++)
		put_key(d, &g->keys[i]);
	put(d, &g->typical.id, sizeof(g->typical.id));
	put(d, &g->fast.id, sizeof(g->fast.id));
	put(d, &g->slow.id, sizeof(g->slow.id));
	put_num(d, g->slow.percentile);
	put_num(d, g->slow.trace ? g->slow.trace->span_cnt : 0);
}

uint64_t req_digest(const struct req_maker *m, const struct requests_result *result)
{
	struct digest d = {.m = m};

	for (uint32_t t = 0; t < result->type_cnt; t++) {
		const struct request_type *type = &result->types[t];

		put_str(&d, type->name);
		put_num(&d, type->between_share);
		for (uint32_t l = 0; l < type->level_cnt; l++) {
			put_num(&d, type->levels[l].group_cnt);
			put_num(&d, type->levels[l].between_share);
		}
		put_group(&d, type->all);
		for (uint32_t g = 0; g < type->group_cnt; g++)
			put_group(&d, &type->groups[g]);
	}
	for (uint32_t i = 0; i < result->problem_cnt; i++) {
		const struct request_problem *p = &result->problems[i];

		put_num(&d, p->kind);
		put_num(&d, p->type);
		put_num(&d, p->group);
		put_num(&d, p->cost_ns);
		put(&d, p->edges, p->edge_cnt * sizeof(*p->edges));
	}
	for (uint32_t i = 0; i < result->splits.cnt; i++) {
		const struct call_split *s = &result->splits.items[i];

		put_str(&d, m->points.items.items[s->point].name);
		put_num(&d, s->times);
		put_num(&d, s->alias_cnt);
		put_num(&d, s->share);
		put_num(&d, s->squares);
	}
	put(&d, &result->stats, sizeof(result->stats));
	return d.hash;
}
