/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes of calls without stacks: which functions signatures tell. */
#include "base/cleanup.h"
#include "functions/sig/learn.h"
#include "functions/sig/sig.h"
#include "scene.h"

#define DIAL "syscall@libc.so.6;dial;serve;loop;main"

/* Signatures of 200 requests with stacks. */
static const struct sigs *learnt(struct scene *c, unsigned sync_ms, struct arena *arena)
{
	begin(c);
	for (unsigned i = 0; i < 200; i++)
		request(c, 2, sync_ms);
	judge_scene(c, arena, NULL);
	return learn_model(synth_model(c->s), arena, &(struct learn_stats){0});
}

/* What was learnt where there were stacks names the function where there are none. */
TEST(functions_signatures_stand_in_for_stacks)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, bad;
	const struct functions_result *r;
	const struct sigs *sigs;

	sigs = learnt(&good, 1, &arena);
	begin(&bad);
	for (unsigned i = 0; i < 200; i++)
		request(&bad, 2, i % 20 == 7 ? 80 : 1);
	r = judge_scene(&bad, &arena, &(struct functions_opts){.calls_only = true});
	EQ_U(r->fn_cnt, 0);
	r = functions_analyse(synth_model(bad.s), sigs,
			      &(struct functions_opts){.calls_only = true}, &arena);
	OK(r->by_signatures);
	OK(fn_named(r, "save")->rank <= 2);
	EQ_U(fn_named(r, "save")->evidence[0].nr, NR_FSYNC);
	HAS(fn_named(r, "save")->evidence[0].episode, "fsync");
	for (size_t i = 0; i < r->fn_cnt; i++)
		OK(strcmp(r->fns[i].name, "reply") != 0 || r->fns[i].rank > 1);
	synth_free(good.s);
	synth_free(bad.s);
}

/* dial always does an fsync, a stat and a futex; note a write. */
static void dialled(struct scene *c, const char *stack)
{
	call(c, NR_POLL, 5, LOOP);
	call(c, NR_READ, 0.01, READ);
	call(c, NR_FSYNC, 0.01, stack);
	call(c, NR_STAT, 0.01, stack);
	call(c, NR_FUTEX, 0.01, stack);
	call(c, NR_WRITE, 0.02, "write@libc.so.6;note;serve;loop;main");
	call(c, NR_READ, 0.01, READ);
}

static const struct sigs *dial_learn(struct scene *c, struct arena *arena)
{
	struct sigs *s;

	begin(c);
	for (unsigned i = 0; i < 200; i++)
		dialled(c, DIAL);
	judge_scene(c, arena, NULL);
	s = learn_model(synth_model(c->s), arena, &(struct learn_stats){0});
	for (uint32_t i = 0; i < s->fn_cnt; i++) /* a file of the first version has none */
		s->fns[i].place_cnt = 0;
	return s;
}

static const struct functions_result *bare(struct scene *c, const struct sigs *sigs,
					   struct arena *arena)
{
	judge_scene(c, arena, NULL);
	return functions_analyse(synth_model(c->s), sigs,
				 &(struct functions_opts){.calls_only = true}, arena);
}

/* A function that begins again and again never gets to the end of its episode. */
TEST(functions_unfinished_episodes_speak_too)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, bad;
	const struct functions_result *r;
	const struct sigs *sigs = dial_learn(&good, &arena);

	begin(&bad);
	for (unsigned i = 0; i < 200; i++) {
		dialled(&bad, NULL);
		for (unsigned k = 0; k < (i % 20 == 7 ? 300 : 0); k++) {
			call(&bad, NR_FSYNC, 0.01, NULL);
			call(&bad, NR_STAT, 0.01, NULL);
		}
	}
	r = bare(&bad, sigs, &arena);
	EQ_S(r->fns[0].name, "dial");
	HAS(fn_named(r, "dial")->evidence[0].episode, "fsync stat futex");
	OK(fn_named(r, "dial")->harm_share > 0.4);
	synth_free(good.s);
	synth_free(bad.s);
}

/* What runs between calls and makes none is known by where a clock saw it. */
static void crunched(struct scene *c, double ms, const char *stack)
{
	double from;

	call(c, NR_POLL, 5, stack ? LOOP : NULL);
	call(c, NR_READ, 0.01, stack ? "read@libc.so.6;fetch;serve;loop;main" : NULL);
	from = c->now;
	c->now += ms;
	if (stack)
		synth_sample(c->s, 11, synth_stack(c->s, 20, stack), from + ms / 2, 1);
	call(c, NR_WRITE, 0.02, stack ? WRITE : NULL);
}

TEST(functions_that_make_no_call_are_told_by_places)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, bad;
	const struct functions_result *r;
	const struct sigs *sigs;

	begin(&good);
	for (unsigned i = 0; i < 200; i++)
		crunched(&good, 0.5, "crunch;serve;loop;main");
	judge_scene(&good, &arena, NULL);
	sigs = learn_model(synth_model(good.s), &arena, &(struct learn_stats){0});
	begin(&bad);
	for (unsigned i = 0; i < 200; i++)
		crunched(&bad, i % 20 == 7 ? 300 : 0.5, NULL);
	r = bare(&bad, sigs, &arena);
	EQ_S(r->fns[0].name, "crunch");
	EQ_U(r->fns[0].evidence[0].nr, NR_OWN);
	EQ_S(r->fns[0].evidence[0].episode, "read ... write");
	synth_free(good.s);
	synth_free(bad.s);
}

/* Two functions that make the same call are told apart by what is called around it. */
static void paired(struct scene *c, double first_ms, double second_ms, bool stacks)
{
	call(c, NR_POLL, 5, stacks ? LOOP : NULL);
	call(c, NR_READ, 0.01, stacks ? "read@libc.so.6;fetch;serve;loop;main" : NULL);
	call(c, NR_FSYNC, first_ms, stacks ? "fsync@libc.so.6;early;serve;loop;main" : NULL);
	call(c, NR_STAT, 0.01, stacks ? "stat@libc.so.6;look_up;serve;loop;main" : NULL);
	call(c, NR_FSYNC, second_ms, stacks ? "fsync@libc.so.6;late;serve;loop;main" : NULL);
	call(c, NR_WRITE, 0.02, stacks ? WRITE : NULL);
}

TEST(functions_of_the_same_calls_are_told_apart_by_places)
{
	for (unsigned late = 0; late < 2; late++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene good, bad;
		const struct functions_result *r;
		const struct sigs *sigs;

		ROW(late);
		begin(&good);
		for (unsigned i = 0; i < 200; i++)
			paired(&good, 1, 1, true);
		judge_scene(&good, &arena, NULL);
		sigs = learn_model(synth_model(good.s), &arena, &(struct learn_stats){0});
		begin(&bad);
		for (unsigned i = 0; i < 200; i++)
			paired(&bad, !late && i % 20 == 7 ? 90 : 1, late && i % 20 == 7 ? 90 : 1,
			       false);
		r = bare(&bad, sigs, &arena);
		EQ_S(r->fns[0].name, late ? "late" : "early");
		HAS(r->fns[0].evidence[0].episode, late ? "stat fsync write" : "read fsync stat");
		synth_free(good.s);
		synth_free(bad.s);
	}
}

/* Calls that nobody made before are told by those before them, and named as what they are. */
TEST(functions_calls_never_learnt_are_the_neighbours)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, bad;
	const struct functions_result *r;
	const struct sigs *sigs;

	sigs = learnt(&good, 0, &arena);
	begin(&bad);
	for (unsigned i = 0; i < 200; i++)
		request(&bad, 2, i % 20 == 7 ? 80 : 1);
	r = bare(&bad, sigs, &arena);
	OK(fn_named(r, "look_up")->rank <= 2);
	EQ_U(fn_named(r, "look_up")->evidence[0].nr, NR_FSYNC);
	synth_free(good.s);
	synth_free(bad.s);
}

/* What a hung call would have been followed by, or came after before the window, is not seen. */
TEST(functions_hung_calls_cut_episodes)
{
	for (unsigned before = 0; before < 2; before++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene good, bad;
		const struct functions_result *r;
		const struct sigs *sigs = dial_learn(&good, &arena);
		struct ev_call *stuck;

		ROW(before);
		begin(&bad);
		for (unsigned i = 0; i < 200; i++)
			dialled(&bad, NULL);
		if (before) {
			call(&bad, NR_POLL, 5, NULL);
			call(&bad, NR_READ, 0.01, NULL);
			call(&bad, NR_FSYNC, 0.01, NULL);
		}
		stuck = call(&bad, NR_STAT, 9000, NULL);
		stuck->result = CALL_UNFINISHED;
		stuck->tid = before ? 11 : 10;
		r = bare(&bad, sigs, &arena);
		OK(fn_named(r, "dial")->rank <= 2); /* its caller's may be seen in full */
		EQ_U(fn_named(r, "dial")->evidence[0].kind, DEV_NEVER);
		HAS(fn_named(r, "dial")->evidence[0].episode, "fsync stat futex");
		EQ_U(r->fns[0].evidence[0].nr, NR_STAT);
		for (size_t i = 0; i < r->fn_cnt; i++) /* note's write is none of it */
			OK(strcmp(r->fns[i].name, "note") != 0);
		synth_free(good.s);
		synth_free(bad.s);
	}
}

/* Too few of a kind to say by themselves what is usual: what was learnt says it. */
TEST(functions_a_learnt_baseline_overrides_the_rule_for_few)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, few;
	const struct functions_result *r;
	const struct sigs *sigs = learnt(&good, 1, &arena);

	OK(sigs->base_cnt >= 1);
	for (unsigned slow = 0; slow < 2; slow++) {
		ROW(slow);
		begin(&few);
		for (unsigned i = 0; i < 3; i++)
			request(&few, 2, slow && i == 1 ? 80 : 1);
		r = judge_scene(&few, &arena, NULL);
		OK(!r->abnormal_cnt || !(r->units[0].reasons & UNIT_BASELINE));
		r = functions_analyse(synth_model(few.s), sigs, NULL, &arena);
		EQ_U(r->abnormal_cnt, slow);
		if (slow) {
			OK(r->units[0].reasons & UNIT_BASELINE);
			EQ_S(r->fns[0].name, "save");
		}
		synth_free(few.s);
	}
	synth_free(good.s);
}

#define ASK "read@libc.so.6;ask;serve;loop;main"

/* Asks another service within the loop, which sleeps for want of work only where idle_ms > 0. */
static void asked(struct scene *c, double idle_ms, double ask_ms, bool stacks)
{
	call(c, NR_POLL, idle_ms, stacks ? LOOP : NULL);
	call(c, NR_READ, 0.01, stacks ? READ : NULL);
	call(c, NR_WRITE, 0.01, stacks ? "write@libc.so.6;ask;serve;loop;main" : NULL);
	call(c, NR_READ, ask_ms, stacks ? ASK : NULL);
	call(c, NR_STAT, 0.01, stacks ? "stat@libc.so.6;look_up;serve;loop;main" : NULL);
	call(c, NR_WRITE, 0.02, stacks ? WRITE : NULL);
}

/* By its calls alone a loop that never gets to rest is at home where it is held up. */
TEST(functions_a_loop_goes_home_where_it_did_when_learnt)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, bad;
	const struct functions_result *r;
	const struct sigs *sigs;

	begin(&good);
	for (unsigned i = 0; i < 200; i++)
		asked(&good, 5, 0.2, true);
	judge_scene(&good, &arena, NULL);
	sigs = learn_model(synth_model(good.s), &arena, &(struct learn_stats){0});
	begin(&bad);
	for (unsigned i = 0; i < 200; i++)
		asked(&bad, 0.01, i % 20 == 7 ? 300 : 20, false);
	r = judge_scene(&bad, &arena, &(struct functions_opts){.calls_only = true});
	OK(r->harm_ns < 100000000);
	r = functions_analyse(synth_model(bad.s), sigs,
			      &(struct functions_opts){.calls_only = true}, &arena);
	EQ_U(r->unit_cnt, 200);
	OK(r->harm_ns > 2000000000);
	EQ_S(r->fns[0].name, "ask");
	OK(!(r->thin & THIN_GUESS));
	synth_free(good.s);
	synth_free(bad.s);
}

/* It is said where most of the harm is at no place that was learnt. */
TEST(functions_places_never_learnt_make_a_guess)
{
	static const struct { double ms; bool guess; } rows[] = {{3, false}, {300, true}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP(arena_release) struct arena arena = {0};
		struct scene good, bad;
		const struct functions_result *r;
		const struct sigs *sigs;

		ROW(i);
		begin(&good);
		for (unsigned k = 0; k < 200; k++)
			crunched(&good, 0.5, "crunch;serve;loop;main");
		synth_sampled(good.s, 200000);
		judge_scene(&good, &arena, NULL);
		sigs = learn_model(synth_model(good.s), &arena, &(struct learn_stats){0});
		begin(&bad);
		for (unsigned k = 0; k < 200; k++)
			crunched(&bad, k % 20 == 7 ? rows[i].ms : 0.5, NULL);
		r = bare(&bad, sigs, &arena);
		EQ_S(r->fns[0].name, "crunch");
		EQ_U((r->thin & THIN_GUESS) != 0, rows[i].guess);
		synth_free(good.s);
		synth_free(bad.s);
	}
}

/* As crunched, but it reads a file again and again where it only computed before. */
static void reread(struct scene *c, unsigned times)
{
	call(c, NR_POLL, 5, NULL);
	call(c, NR_READ, 0.01, NULL);
	for (unsigned i = 0; i < times; i++) {
		call(c, NR_STAT, 0.01, NULL);
		call(c, NR_FSYNC, 0.01, NULL);
		c->now += 0.4;
	}
	call(c, NR_WRITE, 0.02, NULL);
}

/* Whoever ran between two calls makes the new ones that are between them now. */
TEST(functions_new_calls_are_of_who_ran_there)
{
	CLEANUP(arena_release) struct arena arena = {0};
	struct scene good, bad;
	const struct functions_result *r;
	const struct sigs *sigs;

	begin(&good);
	for (unsigned i = 0; i < 200; i++) {
		crunched(&good, 0.5, "crunch;serve;loop;main");
		good.now += 4; /* between other calls more is done */
		for (unsigned k = 1; k < 4; k++)
			synth_sample(good.s, 11, synth_stack(good.s, 20, "brood;loop;main"),
				     good.now - k, 1);
		call(&good, NR_STAT, 0.01, "stat@libc.so.6;tidy;loop;main");
	}
	synth_sampled(good.s, 200000);
	judge_scene(&good, &arena, NULL);
	sigs = learn_model(synth_model(good.s), &arena, &(struct learn_stats){0});
	begin(&bad);
	for (unsigned i = 0; i < 200; i++) {
		reread(&bad, i % 20 == 7 ? 40 : 0);
		bad.now += 4;
		call(&bad, NR_STAT, 0.01, NULL);
	}
	r = bare(&bad, sigs, &arena);
	EQ_S(r->fns[0].name, "crunch");
	HAS(r->fns[0].evidence[0].episode, "read");
	OK(r->thin & THIN_GUESS);
	synth_free(good.s);
	synth_free(bad.s);
}
