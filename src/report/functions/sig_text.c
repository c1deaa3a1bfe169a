/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person wants to know of a file of signatures: how many functions their calls
 * distinguish, which they do not, and what the busiest look like.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cmp.h"
#include "base/fmt.h"
#include "functions/sig/sig.h"
#include "report/lines/pen.h"
#include "report/functions/sig_out.h"
#include "report/lines/table.h"

enum { FNS_SHOWN = 24, EPS_SHOWN = 2, EPS_WANTED = SIG_CHOSEN_MAX, GROUPS_SHOWN = 6,
       MODULES_SHOWN = 8, NAMES_SHOWN = 6, PLACES_WANTED = 4 };

static const char *module_of(const struct sigs *s, const struct sig_fn *fn)
{
	return fn->module == SIG_NO_MODULE ? "-" : s->modules[fn->module].name;
}

struct sums {
	uint32_t known;		/* functions with a signature */
	uint32_t own;		/* nobody else has the same */
	uint32_t once;		/* seen in one invocation only */
	uint32_t few;		/* in groups of at most five */
	uint32_t runs, only_runs; /* seen running between calls; and never in one */
	uint32_t common;	/* only by what more than half of all functions have */
};

static bool is_common(const struct sigs *s, const struct sig_fn *fn)
{
	bool common = fn->ep_cnt > 0;

	for (uint32_t i = 0; i < fn->ep_cnt; i++)
		common = common && s->specificity[fn->eps[i].id] < M_LN2; /* ln(F / (F / 2)) */
	return common;
}

/* Places between calls where it was seen; only: and on the stack of no call. */
static uint32_t runs_cnt(const struct sig_fn *fn, bool *ret_only)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < fn->place_cnt; i++)
		cnt += fn->places[i].around[SIG_AT] == SIG_NO_CALL;
	*ret_only = cnt == fn->place_cnt;
	return cnt;
}

static struct sums sums_of(const struct sigs *s)
{
	struct sums sums = {0};
	bool only;

	for (uint32_t i = 0; i < s->fn_cnt; i++) {
		const struct sig_fn *fn = &s->fns[i];
		uint32_t size = fn->group == SIG_NO_GROUP ? 0 : s->groups[fn->group].cnt;

		sums.known += size > 0;
		sums.own += size == 1;
		sums.few += size > 0 && size <= 5;
		sums.common += is_common(s, fn);
		sums.once += fn->invocations == 1;
		sums.runs += runs_cnt(fn, &only) > 0;
		sums.only_runs += runs_cnt(fn, &only) > 0 && only;
	}
	return sums;
}

static void put_summary(const struct sig_view *v, struct pen *p)
{
	const struct sigs *s = v->sigs;
	struct sums sums = sums_of(s);
	char t[FMT_MAX], own[FMT_MAX], few[FMT_MAX];
	double known = sums.known ? sums.known : 1;

	pen_text(p, PEN_BOLD, v->name);
	pen_fmt(p, PEN_PLAIN, ": %u functions, learnt in %s at the longest", s->fn_cnt,
		fmt_ns(t, s->window_ns));
	pen_nl(p);
	pen_fmt(p, PEN_PLAIN, "  %u (%s) have a signature of their own, %u (%s) share one with "
		"four at most", sums.own, fmt_share(own, sums.own / known), sums.few - sums.own,
		fmt_share(few, (sums.few - sums.own) / known));
	pen_nl(p);
	if (sums.common) {
		pen_fmt(p, PEN_PLAIN, "  %u (%s) are known only by what more than half of all "
			"functions do", sums.common, fmt_share(few, sums.common / known));
		pen_nl(p);
	}
	pen_fmt(p, PEN_PLAIN, "  %u were seen in one invocation only; %u episodes, %u baselines",
		sums.once, s->episode_cnt, s->base_cnt);
	pen_nl(p);
	pen_fmt(p, PEN_PLAIN, "  %u were seen running between calls, %u of them made none",
		sums.runs, sums.only_runs);
	pen_nl(p);
}

static void put_modules(const struct sigs *s, struct pen *p)
{
	static const struct column columns[] = {{"functions", 1, 0}, {"build id", 0, 0},
						{"module", 0, 0}};
	CLEANUP_FREE uint32_t *fns = xcalloc((size_t)s->module_cnt + 1, sizeof(*fns));
	struct table t;

	for (uint32_t i = 0; i < s->fn_cnt; i++)
		if (s->fns[i].module != SIG_NO_MODULE)
			fns[s->fns[i].module]++;
	table_init(&t, columns, 3);
	for (uint32_t i = 0; i < s->module_cnt && i < MODULES_SHOWN; i++) {
		CLEANUP(buf_release) struct buf id = {0};

		for (unsigned k = 0; k < s->modules[i].build_id_len; k++)
			buf_printf(&id, "%02x", s->modules[i].build_id[k]);
		table_cell(&t, "%u", fns[i]);
		table_cell(&t, "%s", id.len ? buf_str(&id) : "none");
		table_cell(&t, "%s", s->modules[i].name);
	}
	table_print(&t, p, "learnt from",
		    s->module_cnt > MODULES_SHOWN ? s->module_cnt - MODULES_SHOWN : 0);
	table_release(&t);
}

static void put_groups(const struct sigs *s, struct pen *p)
{
	static const struct column columns[] = {{"functions", 1, 0},
						{"not distinguishable", 0, 0}};
	uint32_t cnt = 0, shown = 0;
	struct table t;

	table_init(&t, columns, 2);
	for (; cnt < s->group_cnt && s->groups[cnt].cnt > 1; cnt++) {
		const struct sig_group *g = &s->groups[cnt];
		CLEANUP(buf_release) struct buf names = {0};

		if (shown == GROUPS_SHOWN)
			continue;
		shown++;
		for (uint32_t i = 0; i < g->cnt && i < NAMES_SHOWN; i++)
			buf_printf(&names, "%s%s", i ? ", " : "", s->fns[g->fns[i]].name);
		if (g->cnt > NAMES_SHOWN)
			buf_adds(&names, ", ...");
		table_cell(&t, "%u", g->cnt);
		table_cell(&t, "%s", buf_str(&names));
	}
	table_print(&t, p, "largest groups with equal signatures", cnt - shown);
	table_release(&t);
}

struct order {
	uint64_t calls;
	uint32_t fn;
};

static int by_calls(const void *pa, const void *pb)
{
	const struct order *a = pa, *b = pb;

	CMP(b->calls, a->calls);
	CMP(a->fn, b->fn);
	return 0;
}

static void episode_words(const struct sigs *s, const struct sig_fn *fn, uint32_t at,
			  struct buf *out)
{
	const struct episode *e = &s->episodes[fn->eps[at].id];
	char share[FMT_MAX];

	for (unsigned i = 0; i < e->len; i++)
		buf_printf(out, "%s%s", i ? " " : "", s->call_names[e->syms[i]]);
	buf_printf(out, " (%s, %.1f)",
		   fmt_share(share, (double)fn->eps[at].support / (double)fn->invocations),
		   s->specificity[fn->eps[at].id]);
}

static const char *call_word(const struct sigs *s, uint16_t sym)
{
	return sym == SIG_NO_CALL ? "-" : s->call_names[sym];
}

/* "read [futex] write" for a call, "read ... write" for the time between two. */
static void place_words(const struct sigs *s, const struct sig_place *p, struct buf *out)
{
	char times[FMT_MAX];
	bool gap = p->around[SIG_AT] == SIG_NO_CALL;

	buf_printf(out, "%s%s %s%s%s %s (%s times)", out->len ? "; " : "",
		   call_word(s, p->around[SIG_BEFORE]), gap ? "" : "[",
		   gap ? "..." : call_word(s, p->around[SIG_AT]), gap ? "" : "]",
		   call_word(s, p->around[SIG_AFTER]), fmt_count(times, p->cnt));
}

static void fn_cells(const struct sigs *s, const struct sig_fn *fn, uint32_t eps, struct table *t)
{
	char calls[FMT_MAX], times[FMT_MAX];
	CLEANUP(buf_release) struct buf words = {0};

	for (uint32_t i = 0; i < fn->ep_cnt && i < eps; i++) {
		buf_adds(&words, i ? "; " : "");
		episode_words(s, fn, i, &words);
	}
	if (fn->ep_cnt > eps)
		buf_printf(&words, "; %u more", fn->ep_cnt - eps);
	for (uint32_t i = 0; i < fn->place_cnt && i < (eps == EPS_WANTED ? PLACES_WANTED : 0); i++)
		place_words(s, &fn->places[i], &words);
	table_cell(t, "%s", fmt_count(calls, fn->calls));
	table_cell(t, "%s", fmt_count(times, fn->invocations));
	table_cell(t, "%u", fn->group == SIG_NO_GROUP ? 0 : s->groups[fn->group].cnt);
	table_cell(t, "%s", fn->name);
	table_cell(t, "%s", module_of(s, fn));
	table_cell(t, "%s", buf_str(&words));
}

static void put_fns(const struct sig_view *v, struct pen *p)
{
	static const struct column columns[] = {
		{"calls", 1, 0}, {"seen", 1, 0}, {"alike", 1, 0}, {"function", 0, 36},
		{"module", 0, 16}, {"episodes (of its invocations, specificity)", 0, 0}};
	const struct sigs *s = v->sigs;
	CLEANUP_FREE struct order *order = xcalloc((size_t)s->fn_cnt + 1, sizeof(*order));
	uint32_t cnt = 0, max = v->wanted_cnt ? UINT32_MAX : FNS_SHOWN, i;
	struct table t;

	for (i = 0; i < s->fn_cnt; i++)
		if (sig_wanted(v, s->fns[i].name))
			order[cnt++] = (struct order){s->fns[i].calls, i};
	qsort(order, cnt, sizeof(*order), by_calls);
	table_init(&t, columns, 6);
	for (i = 0; i < cnt && i < max; i++)
		fn_cells(s, &s->fns[order[i].fn], v->wanted_cnt ? EPS_WANTED : EPS_SHOWN, &t);
	table_print(&t, p, v->wanted_cnt ? "functions" : "functions with the most calls", cnt - i);
	table_release(&t);
}

void sig_text(const struct sig_view *v, struct pen *p)
{
	put_summary(v, p);
	if (v->wanted_cnt == 0) {
		put_modules(v->sigs, p);
		put_groups(v->sigs, p);
	}
	put_fns(v, p);
}
