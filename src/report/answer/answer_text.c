/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer on one screen, in the order in which somebody who was woken up
 * needs it: the verdict in one line, one sentence, the chain from the client
 * to what is waited for, then what supports it, what would refute it, what
 * was not seen, and what the watching cost.
 *
 * The whole stays under LINES_MAX: each part gets the lines that the later
 * ones do not need.  What that cuts is said, and is in -v, --json and --html.
 */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "model/model.h"
#include "report/answer.h"
#include "report/answer/answer_functions.h"
#include "report/answer/answer_tail.h"
#include "report/answer/change.h"
#include "report/facts.h"
#include "report/explore/explore_out.h"
#include "report/lines/pen.h"
#include "report/answer/text_tables.h"
#include "verdict/agreement.h"
#include "verdict/verdict.h"
#include "waits/waits.h"

enum { CHAIN_WORDS = 45 }; /* columns from which on the head of the chain has room for words */
enum { LINES_MAX = 40, HEAD_LINES = 8, STEPS_MAX = 4 };
enum { LABEL_COL = 2, TEXT_COL = 4, PAGE_COLUMNS_MAX = 110 };

static const char *glyph(const struct pen *p, const char *utf8, const char *ascii)
{
	return p->ascii ? ascii : utf8;
}

static void add_party(struct buf *b, const struct party *who)
{
	if (*given(who->comm))
		buf_adds(b, who->comm);
	if (who->pid)
		buf_printf(b, "%s%u", b->len ? " " : "pid ", who->pid);
	if (who->tid && who->tid != who->pid)
		buf_printf(b, "/%u", who->tid);
}

static enum pen_style title_style(const struct finding *f)
{
	switch (f->cls) {
	case FIND_HEALTHY:
	case FIND_CLIENTS:
		return PEN_GOOD;
	case FIND_UNKNOWN:
		return PEN_DOUBT;
	default:
		return PEN_BAD;
	}
}

static void put_title(struct pen *p, const struct finding *f)
{
	CLEANUP(buf_release) struct buf up = { 0 };

	for (const char *s = finding_title(f->cls); *s; s++)
		buf_addch(&up, (char)toupper((unsigned char)*s));
	pen_text(p, title_style(f), buf_str(&up));
}

/* One fact of the first line; on a line of its own where it does not fit. */
static void put_fact(struct pen *p, enum pen_style style, const char *fact)
{
	CLEANUP(buf_release) struct buf clean = { 0 };

	pen_clean(&clean, fact, p->ascii);
	if (p->col + 3 + pen_width(buf_str(&clean)) > p->columns) {
		pen_nl(p);
		pen_to(p, LABEL_COL);
	} else {
		pen_text(p, PEN_DIM, " · ");
	}
	pen_cut(p, style, p->columns - p->col, fact);
}

static void put_verdict_line(struct pen *p, const struct answer *a, const struct finding *f)
{
	CLEANUP(buf_release) struct buf fact = { 0 };
	char share[FMT_MAX];

	put_title(p, f);
	if (f->cls != FIND_UNKNOWN && *given(f->resource))
		put_fact(p, PEN_BOLD, f->resource);
	add_party(&fact, &f->culprit);
	if (fact.len)
		put_fact(p, PEN_BOLD, buf_str(&fact));
	if (f->share > 0 && f->cls != FIND_HEALTHY) {
		buf_clear(&fact);
		buf_printf(&fact, "%s of the %s' time", fmt_share(share, f->share),
			   f->of_tail ? "slow requests" : facts_demand_noun(a));
		put_fact(p, PEN_PLAIN, buf_str(&fact));
	}
	buf_clear(&fact);
	buf_printf(&fact, "%s confidence", confidence_name(f->conf));
	put_fact(p, f->conf == CONF_LOW ? PEN_DOUBT : PEN_PLAIN, buf_str(&fact));
	pen_nl(p);
}

static void put_subject(struct pen *p, const struct answer *a)
{
	const struct wreq *q = &a->waits->total;
	bool open = q->open_oldest_ns > q->answer_max_ns;
	CLEANUP(buf_release) struct buf line = { 0 };
	char n[FMT_MAX], t[FMT_MAX], u[FMT_MAX], v[FMT_MAX];

	buf_printf(&line, "%s%s%s, watched %.1f s (100 %%)", given(a->verdict->subject),
		   a->when ? ", " : "", a->when ? a->when : "", a->verdict->seconds);
	if (q->turns)
		buf_printf(&line, ": %s requests, p50 %s, p99 %s, max %s%s",
			   fmt_count(n, q->turns), fmt_ns(t, q->p50_ns), fmt_ns(u, q->p99_ns),
			   fmt_ns(v, open ? q->open_oldest_ns : q->answer_max_ns),
			   open ? " (still open)" : "");
	pen_wrap(p, PEN_DIM, LABEL_COL, 2, buf_str(&line));
	pen_nl(p);
}

static void put_head(struct pen *p, const char *head)
{
	pen_nl(p);
	pen_text(p, PEN_HEAD, head);
}

/* At most max_lines of items; the rest is counted. */
static void put_list(struct pen *p, const char *head, enum pen_style style, unsigned max_lines,
		     const char *const *items, size_t cnt)
{
	unsigned first;

	if (!cnt)
		return;
	put_head(p, head);
	pen_nl(p);
	first = p->line_cnt;
	for (size_t i = 0; i < cnt; i++) {
		unsigned used = p->line_cnt - first;
		unsigned left = max_lines > used ? max_lines - used : 0;
		bool last = i + 1 == cnt;

		if (max_lines && (!left || (left == 1 && !last))) {
			pen_fmt(p, PEN_DIM, "  %s %zu more with -v",
				glyph(p, "…", "..."), cnt - i);
			pen_nl(p);
			return;
		}
		pen_to(p, LABEL_COL);
		pen_text(p, PEN_DIM, "· ");
		left = last ? left : left - 1;
		pen_wrap(p, style, TEXT_COL, !max_lines ? 0 : left < 3 ? left : 3, items[i]);
		pen_nl(p);
	}
}

static void put_step_head(struct pen *p, const struct step *s, const char *mark, unsigned name_end)
{
	CLEANUP(buf_release) struct buf name = { 0 };

	pen_to(p, LABEL_COL);
	pen_text(p, PEN_KEY, mark);
	pen_to(p, TEXT_COL);
	add_party(&name, &s->who);
	if (!name.len)
		buf_adds(&name, *given(s->role) ? s->role : "outside");
	pen_cut(p, PEN_BOLD, name_end - p->col, buf_str(&name));
	if (p->col + 8 > name_end)
		return;
	buf_clear(&name);
	if (*given(s->role) && (s->who.pid || *given(s->who.comm)))
		buf_printf(&name, "  %s", s->role);
	if (s->like_cnt > 1)
		buf_printf(&name, ", %u alike", s->like_cnt);
	pen_cut(p, PEN_DIM, name_end - p->col, buf_str(&name));
}

/* "in lock_page ← read_row ← main (80 %)" */
static void put_fns(struct pen *p, const struct step_fns *f, bool last)
{
	CLEANUP(buf_release) struct buf line = { 0 };
	char t[FMT_MAX];

	pen_to(p, LABEL_COL);
	pen_text(p, PEN_KEY, last ? " " : glyph(p, "│", "|"));
	pen_to(p, TEXT_COL + 2);
	if (f->what == FNS_ENDED) {
		buf_adds(&line, "ended ");
		if (*given(f->who.comm)) {
			buf_adds(&line, "by ");
			buf_adds(&line, f->who.comm);
			buf_adds(&line, " ");
		}
	}
	buf_adds(&line, "in ");
	/* whole names: the outermost says least */
	for (uint32_t i = 0; i < f->name_cnt; i++) {
		size_t len = line.len;

		buf_printf(&line, "%s%s", i ? glyph(p, " ← ", " < ") : "", f->names[i]);
		if (i && pen_width(buf_str(&line)) > p->columns - p->col - 8) {
			buf_truncate(&line, len);
			break;
		}
	}
	pen_cut(p, PEN_DIM, p->columns - p->col - 8, buf_str(&line));
	pen_fmt(p, PEN_DIM, " (%s)", fmt_share(t, f->share));
	pen_nl(p);
}

static void put_step(struct pen *p, const struct step *s, bool last)
{
	unsigned share_end = p->columns - 13, name_end = share_end - 9;
	char t[FMT_MAX];

	put_step_head(p, s, last ? glyph(p, "■", "#") : glyph(p, "●", "*"), name_end);
	if (s->share > 0)
		pen_right(p, PEN_BOLD, share_end, fmt_share(t, s->share));
	if (s->per_request_ns)
		pen_right(p, PEN_PLAIN, p->columns, fmt_ns(t, s->per_request_ns));
	pen_nl(p);
	if (!*given(s->doing) && !*given(s->resource))
		return;
	pen_to(p, LABEL_COL);
	pen_text(p, PEN_KEY, last ? " " : glyph(p, "│", "|"));
	pen_to(p, TEXT_COL + 2);
	if (*given(s->resource) && !strstr(given(s->doing), s->resource)) {
		CLEANUP(buf_release) struct buf both = { 0 };

		buf_printf(&both, "%s%s%s", given(s->doing), *given(s->doing) ? ": " : "",
			   s->resource);
		pen_cut(p, PEN_PLAIN, p->columns - p->col, buf_str(&both));
	} else {
		pen_cut(p, PEN_PLAIN, p->columns - p->col, s->doing);
	}
	pen_nl(p);
	for (size_t i = 0; i < s->fn_cnt; i++)
		put_fns(p, &s->fns[i], last);
}

static void put_chain(struct pen *p, const struct answer *a, const struct finding *f, int verbose)
{
	size_t cut_from = f->chain_len, cut_to = cut_from;
	size_t most = p->line_cnt > HEAD_LINES ? STEPS_MAX - 1 : STEPS_MAX;
	bool per_request = false;

	if (!f->chain_len)
		return;
	for (size_t i = 0; i < f->chain_len; i++)
		per_request |= f->chain[i].per_request_ns != 0;
	put_head(p, "WAIT CHAIN");
	if (a->waits->demand_kind == 1 && p->columns >= CHAIN_WORDS)
		pen_text(p, PEN_DIM, "  from the client on");
	pen_right(p, PEN_DIM, p->columns - 13, "share");
	if (per_request)
		pen_right(p, PEN_DIM, p->columns, "per request");
	pen_nl(p);
	if (!verbose && f->chain_len > most) {
		cut_from = (most + 1) / 2;
		cut_to = f->chain_len - most / 2;
	}
	for (size_t i = 0; i < f->chain_len; i++) {
		if (i == cut_from) {
			pen_to(p, LABEL_COL);
			pen_fmt(p, PEN_DIM, "%s %zu steps more with -v", glyph(p, "…", "~"),
				cut_to - cut_from);
			pen_nl(p);
			i = cut_to;
		}
		put_step(p, &f->chain[i], i + 1 == f->chain_len);
	}
}

/* Writes the evidence for each candidate, and what would separate them. */
static void put_candidates(struct pen *p, const struct verdict *v, int verbose)
{
	char t[FMT_MAX];

	for (size_t i = 0; i < v->candidate_cnt; i++) {
		const struct finding *f = &v->candidates[i];
		CLEANUP(buf_release) struct buf head = { 0 };

		buf_printf(&head, "CANDIDATE %c: %s", (int)('A' + (i < 26 ? i : 25)),
			   finding_title(f->cls));
		if (*given(f->resource))
			buf_printf(&head, ", %s", f->resource);
		if (f->share > 0)
			buf_printf(&head, " (%s)", fmt_share(t, f->share));
		pen_nl(p);
		pen_cut(p, PEN_DOUBT, p->columns, buf_str(&head));
		pen_nl(p);
		if (*given(f->summary)) {
			pen_to(p, LABEL_COL);
			pen_wrap(p, PEN_PLAIN, LABEL_COL, 2, f->summary);
			pen_nl(p);
		}
		for (size_t k = 0; k < f->evidence_cnt && (verbose || k < 2); k++) {
			pen_to(p, LABEL_COL);
			pen_text(p, PEN_DIM, "· ");
			pen_wrap(p, PEN_PLAIN, TEXT_COL, verbose ? 0 : 1, f->evidence[k]);
			pen_nl(p);
		}
		for (size_t k = 0; k < f->refute_cnt && (verbose || k < 1); k++) {
			pen_to(p, LABEL_COL);
			pen_text(p, PEN_DIM, "· wrong if: ");
			pen_wrap(p, PEN_PLAIN, TEXT_COL, verbose ? 0 : 2, f->refute[k]);
			pen_nl(p);
		}
	}
}

/* A candidate is described in full above. */
static bool is_candidate(const struct verdict *v, const struct finding *f)
{
	for (size_t i = 0; i < v->candidate_cnt; i++) {
		if (v->candidates[i].cls == f->cls)
			return true;
	}
	return false;
}

/* reserve: lines of what comes after */
static void put_also(struct pen *p, const struct verdict *v, int verbose, unsigned reserve)
{
	bool full = p->line_cnt + reserve + 4 > LINES_MAX;
	size_t max = verbose ? v->finding_cnt : full ? 2 : 3, told = 0;
	char t[FMT_MAX];

	for (size_t i = 1; i < v->finding_cnt && i < max; i++) {
		const struct finding *f = &v->findings[i];
		CLEANUP(buf_release) struct buf line = { 0 };

		if (is_candidate(v, f))
			continue;
		if (!told++) {
			put_head(p, "ALSO FOUND");
			pen_nl(p);
		}
		buf_printf(&line, "%s", finding_title(f->cls));
		if (f->share > 0)
			buf_printf(&line, " (%s)", fmt_share(t, f->share));
		buf_printf(&line, ": %s", given(f->summary));
		pen_to(p, LABEL_COL);
		pen_text(p, PEN_DIM, "· ");
		pen_wrap(p, PEN_PLAIN, TEXT_COL, verbose ? 0 : 1, buf_str(&line));
		pen_nl(p);
	}
}

enum { CHANGES_SHOWN = 5 };	/* of the baseline, on a screen */

static void put_changes(struct pen *p, const struct verdict *v, int verbose)
{
	if (!v->compared)
		return;
	put_head(p, "AGAINST THE BASELINE");
	pen_nl(p);
	if (!v->change_cnt) {
		pen_to(p, LABEL_COL);
		pen_text(p, PEN_DIM, "· ");
		pen_text(p, PEN_PLAIN, "the same: requests, waits and functions as they were");
		pen_nl(p);
	}
	for (size_t i = 0; i < v->change_cnt && (verbose || i < CHANGES_SHOWN); i++) {
		const struct change *c = &v->changes[i];
		CLEANUP(buf_release) struct buf line = { 0 };

		change_text(c, &line);
		pen_to(p, LABEL_COL);
		pen_text(p, PEN_DIM, "· ");
		pen_wrap(p, PEN_PLAIN, TEXT_COL, verbose ? 0 : 1, buf_str(&line));
		pen_nl(p);
	}
}

static void put_cost(struct pen *p, const struct answer *a)
{
	const struct ev_self *self = &a->model->self;
	uint64_t lost = facts_lost_cnt(a);
	CLEANUP(buf_release) struct buf line = { 0 };
	char t[FMT_MAX], u[FMT_MAX], v[FMT_MAX];

	buf_printf(&line, "cost: %s events, ", fmt_count(t, self->events));
	buf_printf(&line, "%s lost; ", fmt_count(t, lost));
	if (a->model->start_cpu_ns)
		buf_printf(&line, "CPU %s to start, then ", fmt_ns(u, a->model->start_cpu_ns));
	else
		buf_adds(&line, "CPU ");
	buf_printf(&line, "%s", fmt_ns(u, self->cpu_ns - a->model->start_cpu_ns));
	buf_printf(&line, " (%s of a core)", fmt_share(u, facts_self_cpu(a)));
	if (self->bpf_ns)
		buf_printf(&line, " + kernel %s", fmt_ns(u, self->bpf_ns));
	if (self->bpf_ns)
		buf_printf(&line, " (%s)", fmt_share(u, facts_self_bpf(a)));
	if (self->bound_ns && self->cpu_ns + self->bpf_ns > self->bound_ns)
		buf_printf(&line, ", %.1f times --max-cost",
			   (double)(self->cpu_ns + self->bpf_ns) / (double)self->bound_ns);
	buf_printf(&line, "; %s", fmt_bytes(v, self->rss_max_bytes ? self->rss_max_bytes
								   : self->rss_bytes));
	pen_nl(p);
	pen_wrap(p, lost ? PEN_DOUBT : PEN_DIM, LABEL_COL, 2, buf_str(&line));
	pen_nl(p);
}

/* Lines that are left for a part when those after it take reserve. */
static unsigned lines_for(const struct pen *p, const struct text_opts *opts, unsigned most,
			  unsigned reserve)
{
	unsigned used = p->line_cnt + reserve + 2;
	unsigned left = used < LINES_MAX ? LINES_MAX - used : 0;

	if (opts->verbose)
		return 0;
	return left < 2 ? 2 : left < most ? left : most;
}

/* Writes the parts after the evidence; reserves count the lines of those still to come. */
static void put_rest(struct pen *p, const struct verdict *v, const struct text_opts *opts)
{
	const struct finding *f = &v->findings[0];
	bool doubt = f->cls == FIND_UNKNOWN;
	unsigned unseen = v->unseen_cnt ? 4 : 0, cost = 3;
	unsigned also = v->finding_cnt > 1 ? 3 + (v->finding_cnt > 2) : 0;
	unsigned changes = v->compared ? 3 + (v->change_cnt < CHANGES_SHOWN
					      ? (unsigned)v->change_cnt : CHANGES_SHOWN) : 0;
	unsigned refute = f->refute_cnt && !doubt ? 4 : 0;

	put_list(p, "EVIDENCE", PEN_PLAIN,
		 lines_for(p, opts, doubt ? 3 : 8, refute + changes + also + unseen + cost),
		 f->evidence, f->evidence_cnt);
	if (!doubt || opts->verbose)
		put_list(p, "RULE OUT FIRST", PEN_PLAIN,
			 lines_for(p, opts, f->cls == FIND_HEALTHY ? 2 : 4,
				   changes + also + unseen + cost), f->refute, f->refute_cnt);
	put_changes(p, v, opts->verbose);
	put_also(p, v, opts->verbose, unseen + cost);
	put_list(p, "NOT COVERED", PEN_PLAIN, lines_for(p, opts, 5, cost), v->unseen,
		 v->unseen_cnt);
}

/* "confidence medium: watched for 2.0 s only; only 14 requests were seen" */
static void put_doubts(struct pen *p, const struct finding *f, int verbose)
{
	CLEANUP(buf_release) struct buf line = { 0 };

	if (!f->doubt_cnt)
		return;
	buf_printf(&line, "confidence %s: ", confidence_name(f->conf));
	for (size_t i = 0; i < f->doubt_cnt; i++)
		buf_printf(&line, "%s%s", i ? "; " : "", f->doubts[i]);
	pen_to(p, LABEL_COL);
	pen_wrap(p, PEN_DOUBT, LABEL_COL, verbose ? 0 : p->columns < 80 ? 1 : 2, buf_str(&line));
	pen_nl(p);
}

static void put_explored(struct pen *p, const struct answer *a)
{
	if (!a->explore && !a->explore_problem)
		return;
	pen_nl(p);
	pen_text(p, PEN_HEAD, "DEEP");
	pen_text(p, PEN_DIM, "  which function, by tracepoints after the watch");
	pen_nl(p);
	if (a->explore)
		explore_found_text(a->explore, p);
	if (a->explored || a->explore_problem) {
		pen_text(p, PEN_HEAD, "VERDICT");
		pen_to(p, EXPLORE_INDENT);
		pen_wrap(p, PEN_PLAIN, EXPLORE_INDENT, 0,
			 a->explored ? a->explored->words : a->explore_problem);
		pen_nl(p);
	}
}

static void put_finding(struct pen *p, const struct answer *a, const struct text_opts *opts)
{
	const struct verdict *v = a->verdict;
	const struct finding *f = &v->findings[0];

	put_verdict_line(p, a, f);
	if (*given(f->summary)) {
		pen_to(p, LABEL_COL);
		pen_wrap(p, PEN_PLAIN, LABEL_COL, 3, f->summary);
		pen_nl(p);
	}
	if (*given(f->next_step)) {
		pen_to(p, LABEL_COL);
		pen_text(p, PEN_KEY, "next step: ");
		pen_wrap(p, PEN_PLAIN, LABEL_COL, 2, f->next_step);
		pen_nl(p);
	}
	pen_to(p, LABEL_COL);
	put_subject(p, a);
	put_doubts(p, f, opts->verbose);
	if (f->cls != FIND_HEALTHY || opts->verbose)
		put_chain(p, a, f, opts->verbose);
	if (f->cls == FIND_UNKNOWN)
		put_candidates(p, v, opts->verbose);
	answer_tail_text(p, a, opts->verbose);
	if (a->functions)
		answer_functions_text(p, a);
	put_explored(p, a);
	put_rest(p, v, opts);
}

void answer_text(const struct answer *a, const struct text_opts *opts, struct buf *out)
{
	unsigned columns = opts->columns > 0 ? (unsigned)opts->columns : 80;
	struct pen p = { .out = out, .colour = opts->colour != 0, .ascii = opts->ascii != 0 };

	p.columns = columns < PEN_COLUMNS_MIN ? PEN_COLUMNS_MIN
		: columns > PAGE_COLUMNS_MAX ? PAGE_COLUMNS_MAX : columns;
	put_finding(&p, a, opts);
	if (opts->verbose) {
		p.columns = columns < PEN_COLUMNS_MIN ? PEN_COLUMNS_MIN : columns;
		text_tables(&p, a);
	}
	put_cost(&p, a);
}
