/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a stall: how many, how long, how often, what it was, and who feels it. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "verdict/context/figures.h"
#include "verdict/context/say.h"
#include "verdict/evidence/cpu_users.h"
#include "verdict/evidence/forks.h"
#include "verdict/findings/findings.h"
#include "verdict/tail/tail_int.h"

/* Lengths that differ by less are one number. */
#define SAME_LENGTH 1.1
/* Moments listed. */
enum { MOMENTS_MAX = 6 };

static void fork_lines(struct context *k, const struct appfns *a, const struct cand *c,
		       struct stall_finding *s)
{
	struct forks f = forks_in(k, c, s);
	const char *in;

	if (!f.last)
		return;
	in = tail_runs_in(k, a, (uint32_t)(f.last - k->m->threads));
	if (*in)
		say(k, &s->f, "%s (pid %u) runs in %s", f.last->comm, f.last->tgid, in);
	say_figures(k, &s->f, "in {} of them it forked, last {}: who forks stands still until its "
		    "page tables are copied, the longer the more memory it has",
		    N_CNT("forked", f.cnt), N_WORD(arena_printf(k->arena, "%s (pid %u)",
								f.last->comm, f.last->tgid)));
	copies_line(k, &s->f);
}

static const char *words_of(struct context *k, const struct cand *c, const struct stall_finding *s)
{
	const struct finding_def *def = finding_def(s->f.cls);

	return def->stall_words ? def->stall_words(k, c, s) : def->title;
}

static const char *lengths(struct context *k, const struct stall_finding *s)
{
	if ((double)s->max_ns < SAME_LENGTH * (double)s->min_ns)
		return ns_text(k, (double)s->median_ns);
	return arena_printf(k->arena, "%s to %s", ns_text(k, (double)s->min_ns),
			    ns_text(k, (double)s->max_ns));
}

static const char *spacing(struct context *k, const struct stall_finding *s)
{
	if (s->cnt < 2 || s->every_ns < s->median_ns) /* one beside the other */
		return "";
	if (s->cnt == 2)
		return arena_printf(k->arena, ", %s apart", ns_text(k, (double)s->every_ns));
	return arena_printf(k->arena, ", %s every %s",
			    s->regular ? "one" : "irregular, on average one",
			    ns_text(k, (double)s->every_ns));
}

const char *tail_quantile_name(unsigned q)
{
	static const char *const names[TAIL_QUANTILES] = { "p50", "p90", "p99", "p999" };

	return q < TAIL_QUANTILES ? names[q] : "";
}

static const char *tail_quantile_title(unsigned q)
{
	static const char *const names[TAIL_QUANTILES] = { "p50", "p90", "p99", "p99.9" };

	return q < TAIL_QUANTILES ? names[q] : "";
}

/* "p50 is not affected, p99 and p99.9 are": the quantiles that are, and the largest that is not. */
static const char *quantile_words(struct context *k, const struct stall_finding *s)
{
	CLEANUP(buf_release) struct buf line = { 0 };
	unsigned not = TAIL_QUANTILES, cnt = 0;

	for (unsigned q = 0; q < TAIL_QUANTILES; q++) {
		if (!(s->affects >> q & 1))
			not = q;
	}
	if (not == TAIL_P999)
		return "fewer than one request in a thousand is affected";
	if (not < TAIL_QUANTILES)
		buf_printf(&line, "%s is not affected, ", tail_quantile_title(not));
	for (unsigned q = 0; q < TAIL_QUANTILES; q++) {
		if (s->affects >> q & 1)
			buf_printf(&line, "%s%s", cnt++ ? " and " : "", tail_quantile_title(q));
	}
	buf_adds(&line, cnt > 1 ? " are" : " is");
	return arena_strdup(k->arena, buf_str(&line));
}

static void moments_say(struct context *k, struct stall_finding *s)
{
	CLEANUP(buf_release) struct buf line = { 0 };
	struct figure began[MOMENTS_MAX];
	uint32_t cnt = s->cnt < MOMENTS_MAX ? s->cnt : MOMENTS_MAX;

	buf_adds(&line, "they began ");
	for (uint32_t i = 0; i < cnt; i++) {
		buf_adds(&line, i ? ", {}" : "{}");
		began[i] = N_BARE_S("began", s->stalls[i].begin_ns - k->m->begin_ns);
	}
	buf_printf(&line, "%s s after the watch did", s->cnt > cnt ? ", ..." : "");
	say_figures_of(k, &s->f, buf_str(&line), began, cnt);
}

static void figures_say(struct context *k, const struct waits_tail *t, struct stall_finding *s)
{
	say_figures(k, &s->f, "{} slow request{} in {}, longest {}; half of all {} took {} at "
		    "most, slow is {} and more", N_CNT("slow_requests", s->req_cnt),
		    N_WORD(s->req_cnt == 1 ? "" : "s"), N_WORD(s->cnt == 1 ? "it" : "them"),
		    N_NS("longest", s->max_ns), N_CNT("requests", t->requests),
		    N_NS("p50", t->p50_ns), N_NS("slow_from", t->slow_ns));
	say_figures(k, &s->f, "one of them went on for {} of the time: who asks then has to wait",
		    N_SHARE_DEC("stalled", s->time_share));
	moments_say(k, s);
}

void tail_words(struct context *k, const struct appfns *a, const struct waits_tail *t,
		const struct cand *c, struct stall_finding *s)
{
	const struct finding had = s->f;

	if (finding_def(s->f.cls)->stall_culprit)
		finding_def(s->f.cls)->stall_culprit(k, c, &s->f);
	s->what = words_of(k, c, s);
	s->f.summary = arena_printf(k->arena, "%s of %s%s: %s; %s.",
				    s->cnt == 1 ? "1 stall" :
				    arena_printf(k->arena, "%u stalls", s->cnt), lengths(k, s),
				    spacing(k, s), s->what, quantile_words(k, s));
	s->f.evidence = NULL;
	s->f.figures = NULL;
	s->f.evidence_cnt = 0;
	figures_say(k, t, s);
	if (finding_def(s->f.cls)->stall_forks)
		fork_lines(k, a, c, s);
	for (size_t i = 0; finding_def(s->f.cls)->keeps_lines && i < had.evidence_cnt; i++)
		say_again(k, &s->f, &had, i);
	if (s->cnt == 1)
		refute(k, &s->f, "it does not come again: watch for longer (-d)");
}
