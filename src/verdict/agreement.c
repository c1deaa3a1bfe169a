/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/agreement.h"

#include <string.h>

#include "base/arena.h"
#include "functions/functions.h"
#include "functions/rank/chain_end.h"
#include "verdict/confidence.h"
#include "verdict/context/finding.h"
#include "verdict/context/tail.h"
#include "verdict/external_cause.h"
#include "verdict/findings/findings.h"

/* Published rankings have the function to blame among the first five. */
#define FNS_HEARD 5
/* Share of all work that is more than usual: as much as a verdict must explain. */
#define HARM_MIN 0.30

const char *agreement_name(unsigned kind)
{
	static const char *const names[] = {"nothing", "same", "chain", "differ"};

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "?";
}

/* The program's own of a step's functions, where it runs or waits. */
static bool end_of_step(const struct step *s, struct chain_end *to)
{
	for (size_t i = 0; i < s->fn_cnt; i++) {
		const struct step_fns *fns = &s->fns[i];

		for (uint32_t n = 0; n < fns->name_cnt && fns->what != FNS_ENDED; n++) {
			if (!strcmp(fns->modules[n], "kernel"))
				continue;
			to->names[to->cnt] = fns->names[n];
			to->modules[to->cnt++] = fns->modules[n];
		}
		if (to->cnt)
			return true;
	}
	return false;
}

/* The last step that has functions: behind it are disks, clients, other hosts. */
static struct chain_end end_of(const struct finding *f)
{
	struct chain_end end = {.share = f->share < 1 ? f->share : 1};

	for (size_t i = f->chain_len; i-- > 0;)
		if (end_of_step(&f->chain[i], &end))
			break;
	return end;
}

void agreement_tell(const struct verdict *v, struct functions_opts *opts, struct arena *arena)
{
	struct outside_report *outside = ARENA_NEW(arena, struct outside_report);
	struct chain_end *end = ARENA_NEW(arena, struct chain_end);

	verdict_outside(v, outside);
	opts->outside = outside;
	*end = end_of(&v->findings[0]);
	if (finding_holds_up(v->findings[0].cls))
		opts->end = end;
}

static bool step_has(const struct step *s, const char *name)
{
	for (size_t i = 0; i < s->fn_cnt; i++)
		for (uint32_t n = 0; n < s->fns[i].name_cnt; n++)
			if (!strcmp(s->fns[i].names[n], name))
				return true;
	return false;
}

/* The first five: the listed function that the chain has, NULL none. */
static const char *shared_of(const struct functions_result *r, const struct finding *f)
{
	for (size_t i = 0; i < r->fn_cnt && r->fns[i].rank <= FNS_HEARD; i++)
		for (size_t s = 0; s < f->chain_len; s++)
			if (step_has(&f->chain[s], r->fns[i].name))
				return r->fns[i].name;
	return NULL;
}

static void set(struct agreement *a, unsigned kind, const char *words)
{
	a->kind = (uint8_t)kind;
	a->words = words;
}

/* A server that nothing holds up. */
static void compare_health(struct agreement *a, const struct functions_result *r,
			   struct arena *arena)
{
	double part = r->busy_ns ? (double)r->harm_ns / (double)r->busy_ns : 0;

	if (part < HARM_MIN || r->thin & THIN_NO_HARM)
		set(a, AGREE_SAME, "heldup why finds that nothing holds the requests up: what is "
				   "listed here is where time goes, not who is to blame");
	else
		set(a, AGREE_DIFFER, arena_printf(arena, "heldup why finds that nothing holds the "
			"requests up, but calls took %.0f %% more than usual, in %s first",
			100 * part, a->first));
}

static void compare(struct agreement *a, const struct finding *f,
		    const struct functions_result *r, struct arena *arena)
{
	const char *shared = shared_of(r, f), *title = finding_title(f->cls);

	if (r->outside.kind && r->outside.words)
		set(a, AGREE_SAME, "the cause lies outside, as heldup why says: no function is to "
				   "blame");
	else if (!finding_holds_up(f->cls) && f->cls != FIND_UNKNOWN)
		compare_health(a, r, arena);
	else if (f->cls == FIND_UNKNOWN)
		set(a, AGREE_NOTHING, "heldup why cannot tell what holds the requests up: nothing "
				      "confirms this list");
	else if (!*a->end)
		set(a, AGREE_NOTHING, arena_printf(arena, "heldup why says \"%s\", and no "
			"function is on its wait chain", title));
	else if (r->thin & THIN_NO_HARM)
		set(a, AGREE_CHAIN, arena_printf(arena, "no function stands out by its calls: %s "
			"is first, where the wait chain of heldup why ends (%s)", a->first, title));
	else if (shared)
		set(a, AGREE_SAME, arena_printf(arena, "heldup why has %s on its wait chain, too "
			"(%s)", shared, title));
	else
		set(a, AGREE_DIFFER, arena_printf(arena, "heldup why says \"%s\" and its wait "
			"chain ends in %s, but calls point to %s first", title, a->end, a->first));
}

const struct agreement *agreement_make(struct verdict *v, const struct functions_result *r,
				       struct arena *arena)
{
	struct agreement *a = ARENA_NEW(arena, struct agreement);
	const struct finding *f = &v->findings[0];
	struct chain_end end = end_of(f);

	*a = (struct agreement){.verdict = finding_name(f->cls), .words = "", .first = "",
				.end = end.cnt ? end.names[0] : ""};
	if (!r->fn_cnt || r->by_signatures) {
		set(a, AGREE_NOTHING, r->fn_cnt ? "functions are known by signatures only, which "
						  "no wait chain has" : "no functions are listed");
		return a;
	}
	a->first = r->fns[0].name;
	compare(a, f, r, arena);
	if (a->kind == AGREE_DIFFER)
		confidence_differs(v, "its system calls", a->first, arena);
	return a;
}

static bool chain_has(const struct finding *f, const char *name)
{
	for (size_t s = 0; s < f->chain_len; s++)
		if (step_has(&f->chain[s], name))
			return true;
	return false;
}

/* The finding whose chain has it: the first one, or a stall's; NULL none. */
static const struct finding *finding_with(const struct verdict *v, const char *name)
{
	if (chain_has(&v->findings[0], name))
		return &v->findings[0];
	for (size_t i = 0; v->tail && i < v->tail->stall_cnt; i++)
		if (chain_has(&v->tail->stalls[i].f, name))
			return &v->tail->stalls[i].f;
	return NULL;
}

const struct agreement *agreement_explored(struct verdict *v, const char *const *names, size_t cnt,
					   struct arena *arena)
{
	struct agreement *a = ARENA_NEW(arena, struct agreement);
	const struct finding *f = &v->findings[0], *with = NULL;
	struct chain_end end = end_of(f);

	*a = (struct agreement){.verdict = finding_name(f->cls), .first = cnt ? names[0] : "",
				.end = end.cnt ? end.names[0] : "", .words = ""};
	for (size_t i = 0; i < cnt && !with; i++)
		with = finding_with(v, names[i]);
	if (!cnt)
		set(a, AGREE_NOTHING, "tracepoints found no function: the verdict stands alone");
	else if (with)
		set(a, AGREE_SAME, arena_printf(arena, "the wait chain of \"%s\" leads through "
			"it, too", finding_title(with->cls)));
	else if (!end.cnt || !finding_holds_up(f->cls))
		set(a, AGREE_NOTHING, arena_printf(arena, "the verdict is \"%s\", and no "
			"function on its wait chain says more", finding_title(f->cls)));
	else
		set(a, AGREE_DIFFER, arena_printf(arena, "they differ: the wait chain of \"%s\" "
			"ends in %s", finding_title(f->cls), a->end));
	if (a->kind == AGREE_DIFFER)
		confidence_differs(v, "tracepoints", a->first, arena);
	return a;
}
