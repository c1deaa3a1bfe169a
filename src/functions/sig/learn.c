/* SPDX-License-Identifier: Apache-2.0 */
#include "functions/sig/learn.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "functions/sig/baselines.h"
#include "functions/units/functions_result.h"
#include "functions/sig/invoke.h"
#include "functions/units/normalize.h"
#include "functions/sig/call_contexts.h"
#include "functions/units/profile.h"
#include "functions/sig/sig_build.h"
#include "model/calls/calls.h"
#include "model/model.h"
#include "model/stack.h"

enum { MINED_MAX = 4 * SIG_EPS_MAX }; /* of one function, most frequent first */

const char **model_call_names(const struct model *m, struct arena *arena, uint32_t *ret_cnt)
{
	const struct model_calls *c = m->calls;
	const char **names = ARENA_ARRAY(arena, const char *, (size_t)c->nr_cnt + 1);

	for (size_t i = 0; i < c->cnt; i++)
		if (!names[c->calls[i].nr])
			names[c->calls[i].nr] = model_call_name(m, c->calls[i].nr);
	*ret_cnt = c->nr_cnt;
	return names;
}

struct learner {
	const struct model *m;
	const struct appfns *app;
	const struct invoked *in;
	struct sig_builder *b;
	const uint16_t *syms;	/* by nr: the builder's symbol */
};

static uint32_t module_of(const struct learner *l, uint32_t fn)
{
	uint32_t mod = l->app->modules[fn];
	struct sig_module sig;

	if (mod == NO_IDX || l->m->modules[mod].kind != MODULE_FILE)
		return SIG_NO_MODULE;
	sig = sig_module_of(&l->m->modules[mod]);
	return sig.name[0] ? sig_builder_module(l->b, &sig) : SIG_NO_MODULE;
}

static uint32_t fn_put(const struct learner *l, uint32_t fn)
{
	const struct fn_calls *seen = &l->in->fns[fn];

	return sig_builder_fn(l->b, &(struct sig_fn){
		.name = l->app->fns[fn].name, .module = module_of(l, fn),
		.begin = l->app->begins[fn], .end = l->app->ends[fn],
		.invocations = seen->seqs.cnt, .calls = seen->calls,
		.self_calls = seen->self_calls});
}

static void fn_learn(const struct learner *l, uint32_t fn)
{
	CLEANUP(arena_release) struct arena arena = {0};
	const struct seqs *seqs = &l->in->fns[fn].seqs;
	struct mined *mined;
	struct episode *eps;
	uint64_t *serial;
	uint32_t place = fn_put(l, fn);
	size_t cnt;

	mined = episodes_mine(seqs, NULL, &arena, &cnt);
	cnt = cnt < MINED_MAX ? cnt : MINED_MAX;
	eps = ARENA_ARRAY(&arena, struct episode, cnt + 1);
	serial = ARENA_ARRAY(&arena, uint64_t, cnt + 1);
	for (size_t i = 0; i < cnt; i++)
		eps[i] = mined[i].ep;
	episodes_fsm(eps, cnt, seqs, serial);
	for (size_t i = 0; i < cnt; i++) {
		bool known = true;

		for (unsigned k = 0; k < eps[i].len; k++) {
			eps[i].syms[k] = l->syms[eps[i].syms[k]];
			known = known && eps[i].syms[k] != SYM_NONE;
		}
		if (known)
			sig_builder_ep(l->b, place, &eps[i], mined[i].support, serial[i]);
	}
}

static void places_put(const struct learner *l, const struct profile *p)
{
	struct sig_place_set seen;

	places_learn(p, &seen);
	VEC_FOREACH(&seen.places, it)
		if (sig_place_into(&it->place, l->syms))
			sig_builder_place(l->b, fn_put(l, it->fn), &it->place);
	sig_places_release(&seen);
}

static uint16_t *symbols(struct sig_builder *b, const char *const *names, uint32_t cnt,
			 struct arena *arena)
{
	uint16_t *syms = ARENA_ARRAY(arena, uint16_t, (size_t)cnt + 1);

	for (uint32_t nr = 0; nr < cnt; nr++)
		syms[nr] = names[nr] && !norm_is_noise(names[nr])
				   ? sig_builder_call(b, names[nr]) : SYM_NONE;
	return syms;
}

static struct learn_stats stats_of(const struct invoked *in)
{
	struct learn_stats s = {.call_cnt = in->call_cnt, .noise_cnt = in->noise_cnt,
				.no_stack_cnt = in->no_stack_cnt, .no_app_cnt = in->no_app_cnt};

	for (size_t i = 0; i < in->fn_cnt; i++)
		s.variants_dropped_cnt += in->fns[i].seqs.dropped_cnt;
	return s;
}

struct sigs *learn_model(const struct model *m, struct arena *arena,
			 struct learn_stats *ret_stats)
{
	CLEANUP(arena_release) struct arena work = {0};
	struct profile profile;
	struct invoked in;
	struct sigs *s;
	struct learner l = {.m = m, .app = appfns_make(m, &work), .in = &in,
			    .b = sig_builder_new()};
	uint32_t name_cnt;
	const char **names = model_call_names(m, &work, &name_cnt);

	invoked_make(&in, m, l.app, norm_noise(names, name_cnt, &work));
	l.syms = symbols(l.b, names, name_cnt, &work);
	for (size_t fn = 0; fn < in.fn_cnt; fn++)
		if (in.fns[fn].seqs.cnt)
			fn_learn(&l, (uint32_t)fn);
	profile_make(&profile, m, &(struct profile_opts){.fns = l.app, .rule = UNITS_WORK}, &work);
	places_put(&l, &profile);
	bases_learn(l.b, &profile);
	profile_release(&profile);
	sig_builder_window(l.b, m->calls->end_ns - m->calls->begin_ns);
	s = sig_builder_finish(l.b, arena);
	*ret_stats = stats_of(&in);
	sig_builder_free(l.b);
	invoked_release(&in);
	return s;
}
