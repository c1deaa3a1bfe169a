/* SPDX-License-Identifier: Apache-2.0 */
#include "report/answer/answer_functions.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "base/json.h"
#include "functions/functions.h"
#include "report/answer.h"
#include "report/functions/functions_out.h"
#include "report/lines/pen.h"
#include "verdict/agreement.h"
#include "verdict/verdict.h"

/* Published rankings have the culprit among the first five; a screen has room for three. */
enum { TOP = 3, COL_RANK = 3, COL_NAME = 5, COL_SHARE = 43, COL_WHY = 45 };

static const char more[] = "heldup functions -p PID, or -i FILE";

static size_t top_cnt(const struct functions_result *r)
{
	return r->fn_cnt < TOP ? r->fn_cnt : TOP;
}

static void put_fn(struct pen *p, const struct functions_result *r, const struct fn_report *f)
{
	unsigned width = COL_SHARE - 7 - COL_NAME, name = (unsigned)strlen(f->name);
	CLEANUP(buf_release) struct buf why = {0};
	char t[FMT_MAX];

	pen_right(p, PEN_KEY, COL_RANK, (snprintf(t, sizeof(t), "%u", f->rank), t));
	pen_to(p, COL_NAME);
	pen_cut_middle(p, PEN_BOLD, width, f->name);
	if (name + 3 < width) {
		pen_text(p, PEN_DIM, " ");
		pen_cut(p, PEN_DIM, width - name - 1, f->module);
	}
	pen_right(p, PEN_PLAIN, COL_SHARE, fmt_share(t, functions_share(f)));
	pen_to(p, COL_WHY);
	functions_why_words(r, f, &why);
	pen_last(p, PEN_PLAIN, COL_NAME, buf_str(&why));
	pen_nl(p);
}

/* Why there are no functions, in the words of the engine where it has some. */
static const char *none_words(const struct functions_result *r)
{
	if (r->thin & THIN_NO_SIGNATURES)
		return functions_thin_text(THIN_NO_SIGNATURES);
	if (r->thin & THIN_NO_STACKS)
		return functions_thin_text(THIN_NO_STACKS);
	return "no function stands out";
}

static const char *title(const struct answer *a)
{
	const struct functions_result *r = a->functions;

	if (!r->fn_cnt || r->thin & THIN_NO_HARM)
		return "FUNCTIONS";
	return finding_is_its_own(a->verdict->findings[0].cls) ? "FUNCTIONS TO BLAME"
							       : "FUNCTIONS THAT STAND OUT";
}

/* Nobody asks where time goes in a server that is not held up. */
static bool is_idle_talk(const struct answer *a)
{
	unsigned cls = a->verdict->findings[0].cls;

	if (a->agreement && a->agreement->kind == AGREE_DIFFER)
		return false;
	return (cls == FIND_HEALTHY || cls == FIND_CLIENTS) &&
	       a->functions->thin & (THIN_NO_HARM | THIN_SILENT);
}

static void put_head(struct pen *p, const struct answer *a)
{
	const struct functions_result *r = a->functions;
	CLEANUP(buf_release) struct buf line = {0};
	char t[FMT_MAX];

	pen_nl(p);
	pen_text(p, PEN_HEAD, title(a));
	pen_text(p, PEN_DIM, "  ");
	if (r->thin & THIN_NO_HARM)
		buf_adds(&line, "nothing stands out: by where time goes");
	else
		buf_printf(&line, "%s more than usual", fmt_ns(t, r->harm_ns));
	buf_printf(&line, " in %s; all: %s", fmt_ns(t, r->end_ns - r->begin_ns), more);
	pen_wrap(p, PEN_DIM, 2, 2, buf_str(&line));
	pen_nl(p);
}

/* That they say the same needs no word beside the verdict itself. */
static void put_agreement(struct pen *p, const struct agreement *a)
{
	if (!a || a->kind < AGREE_CHAIN)
		return;
	pen_to(p, 2);
	pen_wrap(p, a->kind == AGREE_DIFFER ? PEN_BAD : PEN_DIM, 2, 2, a->words);
	pen_nl(p);
}

void answer_functions_text(struct pen *p, const struct answer *a)
{
	const struct functions_result *r = a->functions;
	CLEANUP(buf_release) struct buf line = {0};

	if (is_idle_talk(a))
		return;
	put_head(p, a);
	functions_outside_words(r, &line);
	if (!r->fn_cnt && !line.len)
		buf_adds(&line, none_words(r));
	if (line.len) {
		pen_to(p, 2);
		pen_wrap(p, r->fn_cnt ? PEN_BAD : PEN_DIM, 2, 2, buf_str(&line));
		pen_nl(p);
	}
	for (size_t i = 0; i < top_cnt(r); i++)
		put_fn(p, r, &r->fns[i]);
	put_agreement(p, a->agreement);
}

static void json_fn(struct json *j, const struct functions_result *r, const struct fn_report *f)
{
	CLEANUP(buf_release) struct buf why = {0};

	functions_why_words(r, f, &why);
	json_obj(j);
	json_ku64(j, "rank", f->rank);
	json_kstr(j, "name", f->name);
	json_kstr(j, "module", f->module);
	json_kf64_dec(j, "score", f->score, 4);
	json_kf64_dec(j, "harm_share", f->harm_share, 4);
	json_kf64_dec(j, "usual_share", f->usual_share, 4);
	json_ku64(j, "tie_size", f->tie_cnt);
	json_kstr(j, "why", buf_str(&why));
	json_obj_end(j);
}

void answer_functions_json(struct json *j, const struct answer *a)
{
	const struct functions_result *r = a->functions;
	CLEANUP(buf_release) struct buf outside = {0};

	functions_outside_words(r, &outside);
	json_kobj(j, "functions");
	json_ku64(j, "calls", r->call_cnt);
	json_ku64(j, "units", r->unit_cnt);
	json_ku64(j, "abnormal_units", r->abnormal_cnt);
	json_ku64(j, "harm_ns", r->harm_ns);
	json_kstr(j, "outside", buf_str(&outside));
	json_ku64(j, "listed", r->fn_cnt);
	json_karr(j, "top");
	for (size_t i = 0; i < top_cnt(r); i++)
		json_fn(j, r, &r->fns[i]);
	json_arr_end(j);
	functions_agreement_json(j, a->agreement);
	functions_not_told_json(j, r);
	json_kstr(j, "more", more);
	json_obj_end(j);
}
