/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts come in any order and are joined by the larger value, so what is
 * collected is a least upper bound: associative, commutative, idempotent.
 * Cutting a function's episodes to the SIG_EPS_MAX first keeps that, since an
 * episode's place depends on nothing but its own joined support and symbols.
 * What is derived comes after, in sig_derive.c.
 */
#include "functions/sig/sig_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cmp.h"
#include "functions/units/normalize.h"
#include "functions/sig/sig_int.h"
#include "functions/sig/sig_contexts.h"

struct raw_fn {
	uint32_t name;		/* in strings */
	uint32_t module;
	uint64_t begin, end, invocations, calls, self_calls;
	uint32_t first_ep, ep_cnt; /* in eps, once those are sorted */
};

struct raw_ep {
	uint32_t fn;
	struct episode ep;	/* symbols of the builder, then sorted ones */
	uint64_t support, serial;
};

struct raw_module {
	uint32_t name;
	struct sig_module mod;	/* its name is not used */
};

struct sig_builder {
	struct arena arena;	/* of bases */
	struct strtab strings;
	VEC(uint32_t) calls;	/* names in strings */
	struct hmap call_by_name;
	VEC(struct raw_module) modules;
	VEC(struct raw_fn) fns;
	struct hmap fn_by_name;	/* module << 32 | name, to place plus one */
	VEC(struct raw_ep) eps;
	struct hmap ep_by_hash;	/* to place plus one */
	struct sig_place_set places;
	VEC(struct sig_base) bases; /* arrays in the arena */
	uint64_t window_ns, left_out_cnt;
};

struct sig_builder *sig_builder_new(void)
{
	return xcalloc(1, sizeof(struct sig_builder));
}

void sig_builder_free(struct sig_builder *b)
{
	if (!b)
		return;
	arena_release(&b->arena);
	strtab_release(&b->strings);
	vec_release(&b->calls);
	hmap_release(&b->call_by_name);
	vec_release(&b->modules);
	vec_release(&b->fns);
	hmap_release(&b->fn_by_name);
	vec_release(&b->eps);
	hmap_release(&b->ep_by_hash);
	sig_places_release(&b->places);
	vec_release(&b->bases);
	free(b);
}

uint16_t sig_builder_call(struct sig_builder *b, const char *name)
{
	uint32_t str = strtab_add(&b->strings, name);
	uint64_t *slot;

	if (b->calls.cnt >= SIG_CALLS_MAX && !hmap_find(&b->call_by_name, str)) {
		b->left_out_cnt++;
		return SYM_NONE;
	}
	slot = hmap_slot(&b->call_by_name, str);
	if (*slot == 0) {
		vec_push(&b->calls, str);
		*slot = b->calls.cnt;
	}
	return (uint16_t)(*slot - 1);
}

uint32_t sig_builder_module(struct sig_builder *b, const struct sig_module *mod)
{
	struct raw_module raw = {.name = strtab_add(&b->strings, mod->name), .mod = *mod};

	for (uint32_t i = 0; i < b->modules.cnt; i++) {
		const struct raw_module *old = &b->modules.items[i];

		if (old->name == raw.name && old->mod.build_id_len == mod->build_id_len &&
		    memcmp(old->mod.build_id, mod->build_id, mod->build_id_len) == 0)
			return i;
	}
	if (b->modules.cnt >= SIG_MODULES_MAX) {
		b->left_out_cnt++;
		return SIG_NO_MODULE;
	}
	vec_push(&b->modules, raw);
	return (uint32_t)b->modules.cnt - 1;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint32_t sig_builder_fn(struct sig_builder *b, const struct sig_fn *fn)
{
	uint32_t name = strtab_add(&b->strings, fn->name);
	uint64_t *slot = hmap_slot(&b->fn_by_name, (uint64_t)fn->module << 32 | name);
	struct raw_fn *raw;

	BUG_ON(fn->module != SIG_NO_MODULE && fn->module >= b->modules.cnt);
	if (*slot == 0) {
		raw = vec_add(&b->fns);
		*raw = (struct raw_fn){.name = name, .module = fn->module, .begin = fn->begin};
		*slot = b->fns.cnt;
	}
	raw = &b->fns.items[*slot - 1];
	if (fn->begin && (raw->begin == 0 || fn->begin < raw->begin))
		raw->begin = fn->begin;
	raw->end = larger(raw->end, fn->end);
	raw->invocations = larger(raw->invocations, fn->invocations);
	raw->calls = larger(raw->calls, fn->calls);
	raw->self_calls = larger(raw->self_calls, fn->self_calls);
	return (uint32_t)*slot - 1;
}

/* Support and serial count are joined as one value, by support first. */
void sig_builder_ep(struct sig_builder *b, uint32_t fn, const struct episode *ep,
		    uint64_t support, uint64_t serial)
{
	uint64_t hash = episode_hash(ep) ^ hash_u64(fn + 1), *slot;
	struct raw_ep *raw;

	BUG_ON(fn >= b->fns.cnt || ep->len == 0 || ep->len > EPISODE_LEN_MAX);
	for (;; hash++) {
		slot = hmap_slot(&b->ep_by_hash, hash);
		if (*slot == 0)
			break;
		raw = &b->eps.items[*slot - 1];
		if (raw->fn != fn || episode_cmp(&raw->ep, ep) != 0)
			continue;
		if (support > raw->support || (support == raw->support && serial > raw->serial)) {
			raw->support = support;
			raw->serial = serial;
		}
		return;
	}
	raw = vec_add(&b->eps);
	*raw = (struct raw_ep){.fn = fn, .support = support, .serial = serial};
	memcpy(raw->ep.syms, ep->syms, ep->len * sizeof(*ep->syms));
	raw->ep.len = ep->len;
	*slot = b->eps.cnt;
}

void sig_builder_place(struct sig_builder *b, uint32_t fn, const struct sig_place *place)
{
	BUG_ON(fn >= b->fns.cnt);
	sig_places_add(&b->places, fn, place);
}

void sig_builder_base(struct sig_builder *b, const struct sig_base *base)
{
	struct sig_base copy = *base;

	copy.key = arena_dup(&b->arena, base->key, base->key_cnt * sizeof(*base->key));
	copy.dims = arena_dup(&b->arena, base->dims, base->dim_cnt * sizeof(*base->dims));
	vec_push(&b->bases, copy);
}

void sig_builder_window(struct sig_builder *b, uint64_t window_ns)
{
	b->window_ns = larger(b->window_ns, window_ns);
}

static uint16_t *calls_into(struct sig_builder *b, const struct sigs *s)
{
	uint16_t *map = xcalloc((size_t)s->call_cnt + 1, sizeof(*map));

	for (uint32_t i = 0; i < s->call_cnt; i++)
		map[i] = sig_builder_call(b, s->call_names[i]);
	return map;
}

/* false: a symbol has no place. */
static bool episode_into(struct episode *e, const uint16_t *map)
{
	for (unsigned i = 0; i < e->len; i++) {
		e->syms[i] = map[e->syms[i]];
		if (e->syms[i] == SYM_NONE)
			return false;
	}
	return true;
}

static void fn_into(struct sig_builder *b, const struct sigs *s, struct sig_fn fn,
		    const uint16_t *map)
{
	uint32_t to;

	if (fn.module != SIG_NO_MODULE)
		fn.module = sig_builder_module(b, &s->modules[fn.module]);
	to = sig_builder_fn(b, &fn);
	for (uint32_t i = 0; i < fn.all_cnt; i++) {
		struct episode ep = s->episodes[fn.eps[i].id];

		if (episode_into(&ep, map))
			sig_builder_ep(b, to, &ep, fn.eps[i].support, fn.eps[i].serial);
	}
	for (uint32_t i = 0; i < fn.place_cnt; i++) {
		struct sig_place place = fn.places[i];

		if (sig_place_into(&place, map))
			sig_places_add(&b->places, to, &place);
	}
}

static void base_into(struct sig_builder *b, const struct sig_base *base, const uint16_t *map)
{
	struct sig_base copy = *base;
	uint16_t *syms = xcalloc((size_t)base->key_cnt + 1, sizeof(*syms));
	struct sig_dim *dims = xcalloc((size_t)base->dim_cnt + 1, sizeof(*dims));
	bool whole = true;

	for (uint32_t i = 0; i < base->key_cnt; i++) {
		syms[i] = map[base->key[i]];
		whole = whole && syms[i] != SYM_NONE;
	}
	for (uint32_t i = 0; i < base->dim_cnt; i++) {
		dims[i] = base->dims[i];
		dims[i].sym = map[dims[i].sym];
		whole = whole && dims[i].sym != SYM_NONE;
	}
	copy.key = syms;
	copy.dims = dims;
	if (whole)
		sig_builder_base(b, &copy);
	free(syms);
	free(dims);
}

/* All of s is added. */
static void sig_builder_add(struct sig_builder *b, const struct sigs *s)
{
	uint16_t *map = calls_into(b, s);

	for (uint32_t i = 0; i < s->module_cnt; i++)
		sig_builder_module(b, &s->modules[i]);
	for (uint32_t i = 0; i < s->fn_cnt; i++)
		fn_into(b, s, s->fns[i], map);
	for (uint32_t i = 0; i < s->base_cnt; i++)
		base_into(b, &s->bases[i], map);
	sig_builder_window(b, s->window_ns);
	free(map);
}

struct sigs *sig_merge(const struct sigs *a, const struct sigs *b, struct arena *arena)
{
	struct sig_builder *both = sig_builder_new();
	struct sigs *s;

	sig_builder_add(both, a);
	sig_builder_add(both, b);
	s = sig_builder_finish(both, arena);
	sig_builder_free(both);
	return s;
}

/* ---- finish: everything gets its sorted place */

static int by_string(const void *pa, const void *pb, void *strings)
{
	return strcmp(strtab_str(strings, *(const uint32_t *)pa),
		      strtab_str(strings, *(const uint32_t *)pb));
}

/* By builder symbol, the sorted one. */
static uint16_t *finish_calls(struct sig_builder *b, struct sigs *s, struct arena *arena)
{
	uint16_t *map = xcalloc(b->calls.cnt + 1, sizeof(*map));

	if (b->calls.cnt)
		qsort_r(b->calls.items, b->calls.cnt, sizeof(*b->calls.items), by_string,
			&b->strings);
	s->call_cnt = (uint32_t)b->calls.cnt;
	s->call_names = ARENA_ARRAY(arena, const char *, b->calls.cnt + 1);
	for (uint32_t i = 0; i < s->call_cnt; i++) {
		s->call_names[i] = arena_strdup(arena, strtab_str(&b->strings, b->calls.items[i]));
		map[*hmap_find(&b->call_by_name, b->calls.items[i]) - 1] = (uint16_t)i;
	}
	return map;
}

static int by_module(const void *pa, const void *pb, void *ctx)
{
	const struct sig_builder *b = ctx;
	const struct raw_module *x = &b->modules.items[*(const uint32_t *)pa];
	const struct raw_module *y = &b->modules.items[*(const uint32_t *)pb];
	int order = strcmp(strtab_str(&b->strings, x->name), strtab_str(&b->strings, y->name));

	if (order)
		return order;
	CMP(x->mod.build_id_len, y->mod.build_id_len);
	return memcmp(x->mod.build_id, y->mod.build_id, x->mod.build_id_len);
}

static uint32_t *places(size_t cnt)
{
	uint32_t *order = xcalloc(cnt + 1, sizeof(*order));

	for (size_t i = 0; i < cnt; i++)
		order[i] = (uint32_t)i;
	return order;
}

/* Functions then name the sorted modules. */
static void finish_modules(struct sig_builder *b, struct sigs *s, struct arena *arena)
{
	uint32_t *order = places(b->modules.cnt), *map = places(b->modules.cnt);

	qsort_r(order, b->modules.cnt, sizeof(*order), by_module, b);
	s->module_cnt = (uint32_t)b->modules.cnt;
	s->modules = ARENA_ARRAY(arena, struct sig_module, b->modules.cnt + 1);
	for (uint32_t i = 0; i < s->module_cnt; i++) {
		const struct raw_module *raw = &b->modules.items[order[i]];

		s->modules[i] = raw->mod;
		s->modules[i].name = arena_strdup(arena, strtab_str(&b->strings, raw->name));
		map[order[i]] = i;
	}
	VEC_FOREACH(&b->fns, fn)
		if (fn->module != SIG_NO_MODULE)
			fn->module = map[fn->module];
	free(order);
	free(map);
}

static int by_fn(const void *pa, const void *pb, void *ctx)
{
	const struct sig_builder *b = ctx;
	const struct raw_fn *x = &b->fns.items[*(const uint32_t *)pa];
	const struct raw_fn *y = &b->fns.items[*(const uint32_t *)pb];

	CMP(x->module, y->module);
	return strcmp(strtab_str(&b->strings, x->name), strtab_str(&b->strings, y->name));
}

/* Episodes then name the sorted functions; those of functions over the limit have no place. */
static void finish_fns(struct sig_builder *b, struct sigs *s, struct arena *arena)
{
	uint32_t *order = places(b->fns.cnt), *map = places(b->fns.cnt);

	qsort_r(order, b->fns.cnt, sizeof(*order), by_fn, b);
	s->fn_cnt = b->fns.cnt < SIG_FNS_MAX ? (uint32_t)b->fns.cnt : SIG_FNS_MAX;
	s->left_out_cnt += b->fns.cnt - s->fn_cnt;
	s->fns = ARENA_ARRAY(arena, struct sig_fn, (size_t)s->fn_cnt + 1);
	for (uint32_t i = 0; i < b->fns.cnt; i++) {
		const struct raw_fn *raw = &b->fns.items[order[i]];

		map[order[i]] = i;
		if (i >= s->fn_cnt)
			continue;
		s->fns[i] = (struct sig_fn){
			.name = arena_strdup(arena, strtab_str(&b->strings, raw->name)),
			.module = raw->module, .begin = raw->begin, .end = raw->end,
			.invocations = raw->invocations, .calls = raw->calls,
			.self_calls = raw->self_calls, .group = SIG_NO_GROUP};
	}
	VEC_FOREACH(&b->eps, ep)
		ep->fn = map[ep->fn];
	sig_places_renumber(&b->places, map);
	free(order);
	free(map);
}

static int by_fn_and_rank(const void *pa, const void *pb)
{
	const struct raw_ep *a = pa, *b = pb;

	CMP(a->fn, b->fn);
	CMP(b->support, a->support);
	CMP(b->ep.len, a->ep.len);
	return episode_cmp(&a->ep, &b->ep);
}

/* Keeps the first SIG_EPS_MAX of each function; ids are free for later use. */
static void cut_eps(struct sig_builder *b, struct sigs *s)
{
	size_t to = 0;
	uint32_t fn = UINT32_MAX, cnt = 0;

	vec_sort(&b->eps, by_fn_and_rank);
	VEC_FOREACH(&b->eps, ep) {
		cnt = ep->fn == fn ? cnt + 1 : 0;
		fn = ep->fn;
		if (fn >= s->fn_cnt || cnt >= SIG_EPS_MAX)
			s->left_out_cnt++;
		else
			b->eps.items[to++] = *ep;
	}
	b->eps.cnt = to;
}

static int by_episode(const void *pa, const void *pb, void *ctx)
{
	const struct raw_ep *eps = ctx;

	return episode_cmp(&eps[*(const uint32_t *)pa].ep, &eps[*(const uint32_t *)pb].ep);
}

static void distinct_episodes(struct sig_builder *b, struct sigs *s, struct arena *arena)
{
	uint32_t *order = places(b->eps.cnt);
	struct raw_ep *eps = b->eps.items;

	qsort_r(order, b->eps.cnt, sizeof(*order), by_episode, eps);
	s->episodes = ARENA_ARRAY(arena, struct episode, b->eps.cnt + 1);
	for (size_t i = 0; i < b->eps.cnt; i++) {
		struct episode *ep = &eps[order[i]].ep;

		if (i == 0 || episode_cmp(ep, &s->episodes[s->episode_cnt - 1]) != 0) {
			s->episodes[s->episode_cnt] = *ep;
			s->episodes[s->episode_cnt].id = s->episode_cnt;
			s->episode_cnt++;
		}
		ep->id = s->episode_cnt - 1;
	}
	free(order);
}

static void finish_eps(struct sig_builder *b, struct sigs *s, const uint16_t *map,
		       struct arena *arena)
{
	struct sig_ep *eps;

	VEC_FOREACH(&b->eps, ep)
		episode_into(&ep->ep, map);
	cut_eps(b, s);
	distinct_episodes(b, s, arena);
	eps = ARENA_ARRAY(arena, struct sig_ep, b->eps.cnt + 1);
	for (size_t i = 0; i < b->eps.cnt; i++) {
		const struct raw_ep *raw = &b->eps.items[i];
		struct sig_fn *fn = &s->fns[raw->fn];

		eps[i] = (struct sig_ep){.id = raw->ep.id, .support = raw->support,
					 .serial = raw->serial};
		if (fn->all_cnt++ == 0)
			fn->eps = &eps[i];
	}
}

struct sigs *sig_builder_finish(struct sig_builder *b, struct arena *arena)
{
	struct sigs *s = ARENA_NEW(arena, struct sigs);
	uint16_t *map = finish_calls(b, s, arena);

	s->window_ns = b->window_ns;
	s->left_out_cnt = b->left_out_cnt;
	finish_modules(b, s, arena);
	finish_fns(b, s, arena);
	finish_eps(b, s, map, arena);
	s->left_out_cnt += sig_places_finish(&b->places, map, s, arena);
	sig_bases_finish(s, b->bases.items, b->bases.cnt, map, arena);
	sig_derive(s, arena);
	free(map);
	return s;
}
